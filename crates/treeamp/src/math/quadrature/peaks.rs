//! The first panels of an integral, from what is known to happen on the line: peaks, steps and corners, each with a place and a width.
//!
//! Features are laid into panels from the widest to the narrowest, and only where the panels there are so far much wider than the
//! feature: where a narrow one lies inside a wide one the panels are graded, and where many coincide they are not multiplied.

/// A panel of at most this many widths resolves a feature, or shows that it must be split.
const COARSE: f64 = 7.5;
/// Panels are not cut shorter than this many widths of a feature.
const SHORT: f64 = 1.5;
/// Doublings of the range until nothing is left outside.
const DOUBLINGS: usize = 40;

#[derive(Debug, Clone, Copy)]
struct Feature {
    centre: f64,
    width: f64,
    cuts: &'static [f64],
}

/// Features of an integrand, and the range of the integral.
#[derive(Debug)]
pub(crate) struct Peaks {
    features: Vec<Feature>,
    corners: Vec<f64>,
    low: f64,
    high: f64,
}

impl Peaks {
    /// No features, and no range.
    pub fn new() -> Self {
        Self {
            features: Vec::new(),
            corners: Vec::new(),
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        }
    }

    /// A feature, with cuts at these distances on both sides in units of its width. It does not widen the range; one whose place or width is
    /// not a number is left out.
    pub fn feature(&mut self, centre: f64, width: f64, cuts: &'static [f64]) {
        if centre.is_finite() && width.is_finite() && width > 0.0 {
            self.features.push(Feature {
                centre,
                width,
                cuts,
            });
        }
    }

    /// The range covers this distance from a place.
    pub fn cover(&mut self, centre: f64, distance: f64) {
        if centre.is_finite() && distance.is_finite() {
            self.low = self.low.min(centre - distance);
            self.high = self.high.max(centre + distance);
        }
    }

    /// A corner of the integrand: always a cut.
    pub fn corner(&mut self, place: f64) {
        if place.is_finite() {
            self.corners.push(place);
        }
    }

    /// The range so far, if there is anything in it.
    pub fn range(&self) -> Option<[f64; 2]> {
        (self.low < self.high).then_some([self.low, self.high])
    }

    /// Only what lies between these ends.
    pub fn clip(&mut self, low: f64, high: f64) {
        self.low = self.low.max(low);
        self.high = self.high.min(high);
    }

    /// Moves the ends out by doubling until `negligible` holds there.
    pub fn extend(&mut self, negligible: impl Fn(f64) -> bool) {
        if !(self.low < self.high) {
            return;
        }
        let mut step = 0.5 * (self.high - self.low);
        for _ in 0..DOUBLINGS {
            let (left, right) = (negligible(self.low), negligible(self.high));
            if left && right {
                break;
            }
            if !left {
                self.corners.push(self.low);
                self.low -= step;
            }
            if !right {
                self.corners.push(self.high);
                self.high += step;
            }
            step *= 2.0;
        }
    }

    /// The ends and the cuts between them, ascending; nothing for an empty range.
    pub fn sorted(mut self) -> Vec<f64> {
        let (low, high) = (self.low, self.high);
        if !(low < high) {
            return Vec::new();
        }
        let mut out = vec![low, high];
        for c in self.corners {
            insert(&mut out, c, 0.0, 1e-13 * c.abs());
        }
        self.features.sort_by(|x, y| y.width.total_cmp(&x.width));
        for f in &self.features {
            for cut in f.cuts {
                let step = cut * f.width;
                insert(&mut out, f.centre - step, COARSE * f.width, SHORT * f.width);
                insert(&mut out, f.centre + step, COARSE * f.width, SHORT * f.width);
            }
        }
        out
    }
}

/// Cuts the panel around `place` if it is wider than `coarse` and its ends are further than `margin`.
fn insert(sorted: &mut Vec<f64>, place: f64, coarse: f64, margin: f64) {
    let i = sorted.partition_point(|x| *x < place);
    if i == 0 || i == sorted.len() {
        return;
    }
    let (lo, hi) = (sorted[i - 1], sorted[i]);
    let margin = margin.max(1e-13 * (lo.abs() + hi.abs()));
    if hi - lo > coarse && place - lo > margin && hi - place > margin {
        sorted.insert(i, place);
    }
}

#[cfg(test)]
mod tests {
    use super::super::panels::{Effort, Sample, integrate};
    use super::*;
    use crate::math::special::normal_density;

    const CUTS: &[f64] = &[3.0, 8.0, 13.0];

    /// Normal densities of every width, laid into one another, are all found: their masses add up.
    #[test]
    fn narrow_peaks_inside_wide_ones_are_found() {
        let parts = [(0.0, 1.0), (0.3, 1e-3), (0.3 + 1e-4, 1e-7), (-4.0, 0.2)];
        let mut peaks = Peaks::new();
        for (centre, width) in parts {
            peaks.feature(centre, width, CUTS);
            peaks.cover(centre, 13.0 * width);
        }
        let sorted = peaks.sorted();
        let mut points = 0;
        let sample = &mut |x: f64| {
            points += 1;
            let density = |(c, w): &(f64, f64)| normal_density((x - c) / w) / w;
            Sample::plain([parts.iter().map(density).sum::<f64>()])
        };
        let [mass] = integrate(sample, &sorted, Effort::plain(1e-12));
        assert!((mass - 4.0).abs() < 1e-11, "{mass}");
        assert!(points < 1500, "{points}");
    }

    /// Features that coincide do not multiply the panels, and none is shorter than its feature asks for.
    #[test]
    fn panels_are_not_shorter_than_needed() {
        let mut peaks = Peaks::new();
        peaks.cover(0.0, 13.0);
        for i in 0..100 {
            peaks.feature(0.01 * f64::from(i), 1.0, CUTS);
        }
        let sorted = peaks.sorted();
        assert!(
            sorted.windows(2).all(|w| w[1] - w[0] >= SHORT),
            "{sorted:?}"
        );
        assert!(sorted.len() < 12, "{sorted:?}");
    }

    #[test]
    fn ranges_are_clipped_extended_and_may_be_empty() {
        assert!(Peaks::new().sorted().is_empty());
        let mut peaks = Peaks::new();
        peaks.cover(0.0, 2.0);
        peaks.cover(f64::NAN, 1.0);
        peaks.corner(1.0);
        peaks.corner(f64::INFINITY);
        peaks.feature(0.5, f64::NAN, CUTS);
        peaks.clip(0.0, f64::INFINITY);
        assert_eq!(peaks.range(), Some([0.0, 2.0]));
        peaks.extend(|x| x.abs() > 100.0 || x <= 0.0);
        let sorted = peaks.sorted();
        assert!(
            sorted[0] == 0.0 && sorted[sorted.len() - 1] > 100.0,
            "{sorted:?}"
        );
        assert!(sorted.contains(&1.0) && sorted.contains(&2.0), "{sorted:?}");
    }
}
