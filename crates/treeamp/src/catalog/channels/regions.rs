//! The regions of a piecewise linear function $\varphi(z) = x_i + \gamma_i z$ for $z \in R_i$.

use crate::error::{ModelError, parameter};
use crate::scalar::{OutputMeasure, Parity};

/// One linear region: $\varphi(z) = \text{offset} + \text{slope}\cdot z$ on $\text{start} \le z < \text{end}$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// Lower end, possibly $-\infty$.
    pub start: f64,
    /// Upper end, possibly $+\infty$.
    pub end: f64,
    /// Value $x_i$ of the line at $z = 0$.
    pub offset: f64,
    /// Slope $\gamma_i$; zero for a flat region.
    pub slope: f64,
}

impl Region {
    /// $\varphi$ on this region.
    #[must_use]
    #[inline]
    pub fn value(&self, z: f64) -> f64 {
        // a flat region must give its value at infinite ends too
        if self.slope == 0.0 {
            self.offset
        } else {
            self.slope.mul_add(z, self.offset)
        }
    }

    /// The smallest and largest value of the region.
    #[must_use]
    pub fn image(&self) -> (f64, f64) {
        let (first, last) = (self.value(self.start), self.value(self.end));
        (first.min(last), first.max(last))
    }
}

/// Where the output is `y`: points of the sloped regions, or the flat regions at that value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Preimage {
    /// $z$, with the weight $1/|\gamma|$ of its Jacobian.
    Point(f64, f64),
    /// A whole interval, an atom of the law of $y$.
    Interval(f64, f64),
}

/// Adjacent regions that cover the line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Regions {
    list: Vec<Region>,
    /// The image of each region.
    images: Vec<(f64, f64)>,
    /// Every value is taken once, in a sloped region.
    invertible: bool,
}

impl Regions {
    #[allow(clippy::float_cmp)] // neighbours share their border exactly
    pub(crate) fn new(module: &'static str, list: &[Region]) -> Result<Self, ModelError> {
        let refuse = |expected, got: String| Err(parameter(module, "regions", expected, got));
        let (Some(first), Some(last)) = (list.first(), list.last()) else {
            return refuse("at least one", "none".into());
        };
        if first.start != f64::NEG_INFINITY || last.end != f64::INFINITY {
            return refuse(
                "a cover of the line",
                format!("{} to {}", first.start, last.end),
            );
        }
        for region in list {
            if !(region.start < region.end) {
                return refuse(
                    "of positive length",
                    format!("{} to {}", region.start, region.end),
                );
            }
            if !(region.offset.is_finite() && region.slope.is_finite()) {
                return refuse("of finite offset and slope", format!("{region:?}"));
            }
        }
        if let Some(w) = list.windows(2).find(|w| w[0].end != w[1].start) {
            return refuse(
                "without gap or overlap",
                format!("{} then {}", w[0].end, w[1].start),
            );
        }
        let images: Vec<(f64, f64)> = list.iter().map(Region::image).collect();
        let rising =
            list.iter().all(|r| r.slope > 0.0) && images.windows(2).all(|w| w[0].1 <= w[1].0);
        let falling =
            list.iter().all(|r| r.slope < 0.0) && images.windows(2).all(|w| w[0].0 >= w[1].1);
        Ok(Self {
            list: list.to_vec(),
            images,
            invertible: rising || falling,
        })
    }

    pub(crate) fn invertible(&self) -> bool {
        self.invertible
    }

    /// The regions with their images.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Region, (f64, f64))> {
        self.list.iter().zip(self.images.iter().copied())
    }

    #[inline]
    pub(crate) fn value(&self, z: f64) -> f64 {
        let last = &self.list[self.list.len() - 1];
        self.list
            .iter()
            .find(|r| z < r.end)
            .unwrap_or(last)
            .value(z)
    }

    /// Every solution of $\varphi(z) = y$. An atom of $y$ outweighs the points of measure zero there.
    #[inline]
    pub(crate) fn preimages(&self, y: f64) -> impl Iterator<Item = Preimage> {
        let atom = self.list.iter().any(|r| is_flat_at(r, y));
        // images are half-open from below: at a jump of the density of y its right limit is taken,
        // except at the top of the range
        let inside = move |r: &Region, (low, high): (f64, f64), closed: bool| {
            r.slope != 0.0 && low <= y && (y < high || closed && y <= high)
        };
        let top = !atom && !self.iter().any(|(r, image)| inside(r, image, false));
        self.iter().filter_map(move |(r, image)| {
            if atom {
                is_flat_at(r, y).then_some(Preimage::Interval(r.start, r.end))
            } else {
                let z = ((y - r.offset) / r.slope).max(r.start).min(r.end);
                inside(r, image, top).then(|| Preimage::Point(z, 1.0 / r.slope.abs()))
            }
        })
    }

    /// How $y = \varphi(z)$ is distributed: atoms of the flat regions, densities of the others.
    pub(crate) fn outputs(&self) -> OutputMeasure {
        let (flat, sloped): (Vec<&Region>, Vec<&Region>) =
            self.list.iter().partition(|r| r.slope == 0.0);
        let mut atoms: Vec<f64> = flat.iter().map(|r| r.offset).collect();
        atoms.sort_by(f64::total_cmp);
        atoms.dedup();
        if sloped.is_empty() {
            return OutputMeasure::Finite(atoms);
        }
        let ends = sloped.iter().flat_map(|r| {
            let (low, high) = r.image();
            [low, high]
        });
        OutputMeasure::PushForward {
            noise_variance: 0.0,
            corners: ends.filter(|y| y.is_finite()).collect(),
            curves: sloped.iter().map(|r| (r.start, r.end)).collect(),
            atoms,
        }
    }

    /// The symmetry of $\varphi$, up to the values at single points.
    #[allow(clippy::float_cmp)] // mirrored regions are exact
    pub(crate) fn parity(&self) -> Option<Parity> {
        let mirrored = |sign: f64| {
            let pairs = self.list.iter().zip(self.list.iter().rev());
            pairs.into_iter().all(|(r, s)| {
                r.start == -s.end && r.offset == sign * s.offset && r.slope == -sign * s.slope
            })
        };
        if mirrored(1.0) {
            Some(Parity::Even)
        } else {
            mirrored(-1.0).then_some(Parity::Odd)
        }
    }

    /// "expected ..., got ..." for a value that $\varphi$ never takes.
    pub(crate) fn check(&self, y: f64) -> Result<(), String> {
        if y.is_finite() && self.preimages(y).next().is_some() {
            return Ok(());
        }
        let low = self
            .images
            .iter()
            .fold(f64::INFINITY, |low, image| low.min(image.0));
        let high = self
            .images
            .iter()
            .fold(f64::NEG_INFINITY, |high, image| high.max(image.1));
        let (low, high) = (self.level_at(low), self.level_at(high));
        let expected = if self.list.iter().all(|r| r.slope == 0.0) {
            let mut atoms: Vec<f64> = self.list.iter().map(|r| r.offset).collect();
            atoms.sort_by(|p, q| q.total_cmp(p));
            atoms.dedup();
            let names: Vec<String> = atoms.iter().map(|value| format!("{value:+}")).collect();
            names.join(" or ")
        } else {
            match (low.is_finite(), high.is_finite()) {
                (true, true) => format!("a number from {low} to {high}"),
                (true, false) => format!("a number from {low} up"),
                (false, true) => format!("a number up to {high}"),
                (false, false) => "a finite number".to_owned(),
            }
        };
        Err(format!("expected {expected}, got {y}"))
    }

    /// The value of the flat region that `end` of a sloped one meets up to rounding, which would come out as -5.6e-17 instead of 0.
    fn level_at(&self, end: f64) -> f64 {
        let flat = self.list.iter().filter(|r| r.slope == 0.0);
        let mut levels = flat.map(|r| r.offset);
        let met = levels.find(|level| (level - end).abs() < 1e-12 * (1.0 + level.abs()));
        met.unwrap_or(end)
    }
}

#[inline]
#[allow(clippy::float_cmp)] // atoms are exact values
fn is_flat_at(region: &Region, y: f64) -> bool {
    region.slope == 0.0 && region.offset == y
}
