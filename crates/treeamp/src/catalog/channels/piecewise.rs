//! Piecewise linear channel $p(x \mid z) = \delta(x - \varphi(z))$, $\varphi(z) = x_i + \gamma_i z$ on the region $R_i$.
//!
//! # Moments
//! On $R_i$ the joint weight is a truncated normal in $z$ of precision $a_z + \gamma_i^2 a_x$ and linear term
//! $b_z + \gamma_i (b_x - a_x x_i)$; the regions are then a mixture, with variances within plus between.
//!
//! # Limits
//! Finite where every unbounded region has positive precision, or zero precision and a decaying slope.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, piecewise linear activation.

use rand::Rng;

use super::regions::{Region, Regions};
use crate::catalog::likelihoods::PiecewiseLikelihood;
use crate::catalog::module::{Domain, Module, number};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{AnchoredMixture, Bump};
use crate::math::truncated_normal::{End, Quadratic, truncated_quadratic};
use crate::scalar::{Landmark, Parity, Piece, ScalarChannel, Tilt, TiltedPair};

const INF: f64 = f64::INFINITY;
/// Standard deviations beyond which a Gaussian is nothing.
const REACH: f64 = 8.0;

/// A piecewise linear activation: sign, absolute value, `ReLU` and their relatives.
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseLinear {
    name: String,
    regions: Regions,
}

impl PiecewiseLinear {
    /// The function with these regions, in ascending order.
    ///
    /// # Errors
    /// Unless the regions cover the line without gap or overlap, with finite offsets and slopes.
    pub fn new(name: impl Into<String>, regions: &[Region]) -> Result<Self, ModelError> {
        Ok(Self {
            name: name.into(),
            regions: Regions::new("piecewise_linear", regions)?,
        })
    }

    /// $\pm 1$, and $+1$ at zero.
    #[must_use]
    pub fn sign() -> Self {
        Self::known("sign", &[(0.0, -1.0, 0.0), (INF, 1.0, 0.0)])
    }

    /// $|z|$.
    #[must_use]
    pub fn abs() -> Self {
        Self::known("abs", &[(0.0, 0.0, -1.0), (INF, 0.0, 1.0)])
    }

    /// $\max(0, z)$.
    #[must_use]
    pub fn relu() -> Self {
        Self::known("relu", &[(0.0, 0.0, 0.0), (INF, 0.0, 1.0)])
    }

    /// $z$ clipped to $[-1, 1]$.
    #[must_use]
    pub fn hard_tanh() -> Self {
        Self::known(
            "hard_tanh",
            &[(-1.0, -1.0, 0.0), (1.0, 0.0, 1.0), (INF, 1.0, 0.0)],
        )
    }

    /// $-z$ below `shift`, $z$ from there on.
    ///
    /// # Errors
    /// Unless the shift is finite.
    pub fn asymmetric_abs(shift: f64) -> Result<Self, ModelError> {
        if !shift.is_finite() {
            return Err(parameter("asymmetric_abs", "shift", "finite", shift));
        }
        Ok(Self::known(
            "asymmetric_abs",
            &[(shift, 0.0, -1.0), (INF, 0.0, 1.0)],
        ))
    }

    /// $z$ for positive $z$, `slope` times $z$ else.
    ///
    /// # Errors
    /// Unless the slope is finite.
    pub fn leaky_relu(slope: f64) -> Result<Self, ModelError> {
        if !slope.is_finite() {
            return Err(parameter("leaky_relu", "slope", "finite", slope));
        }
        Ok(Self::known(
            "leaky_relu",
            &[(0.0, 0.0, slope), (INF, 0.0, 1.0)],
        ))
    }

    /// Zero below $-L$, one above $L$, $\tfrac12 + z/2L$ between, with $L$ the `knee`.
    ///
    /// # Errors
    /// Unless the knee is positive and finite.
    pub fn hard_sigmoid(knee: f64) -> Result<Self, ModelError> {
        let slope = 0.5 / knee;
        if !(knee > 0.0 && slope > 0.0 && slope.is_finite()) {
            return Err(parameter(
                "hard_sigmoid",
                "knee",
                "positive and finite",
                knee,
            ));
        }
        Ok(Self::known(
            "hard_sigmoid",
            &[(-knee, 0.0, 0.0), (knee, 0.5, slope), (INF, 1.0, 0.0)],
        ))
    }

    /// $\operatorname{sign}(|z| - K)$ with half width $K$ = `width`.
    ///
    /// # Errors
    /// Unless the width is positive and finite.
    pub fn symmetric_door(width: f64) -> Result<Self, ModelError> {
        if !(width > 0.0 && width.is_finite()) {
            return Err(parameter(
                "symmetric_door",
                "width",
                "positive and finite",
                width,
            ));
        }
        Ok(Self::known(
            "symmetric_door",
            &[(-width, 1.0, 0.0), (width, -1.0, 0.0), (INF, 1.0, 0.0)],
        ))
    }

    /// From `(end, offset, slope)` of consecutive regions known to be valid.
    fn known(name: &str, ends: &[(f64, f64, f64)]) -> Self {
        let mut start = f64::NEG_INFINITY;
        let list: Vec<Region> = ends
            .iter()
            .map(|&(end, offset, slope)| Region {
                start: std::mem::replace(&mut start, end),
                end,
                offset,
                slope,
            })
            .collect();
        Self::new(name, &list).expect("the regions of a known activation cover the line")
    }

    /// $\varphi(z)$.
    #[must_use]
    pub fn value(&self, z: f64) -> f64 {
        self.regions.value(z)
    }

    /// The entry of the sign in the catalogue.
    pub const SIGN: Module = Module {
        name: "sign",
        summary: "sign",
        formula: "x = sign z",
        tex: r"x = \operatorname{sign}(z)",
        notes: r"Observed, $x = \pm1$ and $z$ is a normal truncated to the side of $x$.",
        constructor: |a| a.channel(Self::sign()),
        ..Module::CHANNEL
    };

    /// The entry of the absolute value in the catalogue.
    pub const ABS: Module = Module {
        name: "abs",
        summary: "absolute value",
        formula: "x = |z|",
        tex: r"x = |z|",
        notes: r"Observed, $z = \pm x$: $r = x\tanh(b x)$, $v = x^2 - r^2$.",
        constructor: |a| a.channel(Self::abs()),
        ..Module::CHANNEL
    };

    /// The entry of the absolute value with a jump in the catalogue.
    pub const ASYMMETRIC_ABS: Module = Module {
        name: "asymmetric_abs",
        summary: "absolute value with a jump",
        formula: "x = -z below shift, z from there on",
        tex: r"x = -z\ \text{below}\ s,\ x = z\ \text{from there on}",
        parameters: &[number("shift", 1e-4, Domain::Real, "where the sign changes").called("s")],
        constructor: |a| a.channel(Self::asymmetric_abs(a.number("shift")?)?),
        ..Module::CHANNEL
    };

    /// The entry of the rectifier in the catalogue.
    pub const RELU: Module = Module {
        name: "relu",
        summary: "rectifier",
        formula: "x = max(0, z)",
        tex: r"x = \max(0, z)",
        notes: r"Observed, $z = x$ where $x > 0$, else a normal truncated to $z \le 0$.",
        constructor: |a| a.channel(Self::relu()),
        ..Module::CHANNEL
    };

    /// The entry of the leaky rectifier in the catalogue.
    pub const LEAKY_RELU: Module = Module {
        name: "leaky_relu",
        summary: "leaky rectifier",
        formula: "x = z for z > 0, slope z else",
        tex: r"x = z\ \text{for}\ z \ge 0,\ x = \gamma z\ \text{else}",
        parameters: &[
            number("slope", 0.1, Domain::Real, "slope of the negative side").called(r"\gamma"),
        ],
        constructor: |a| a.channel(Self::leaky_relu(a.number("slope")?)?),
        ..Module::CHANNEL
    };

    /// The entry of the clipped identity in the catalogue.
    pub const HARD_TANH: Module = Module {
        name: "hard_tanh",
        summary: "clipped identity",
        formula: "x = min(1, max(-1, z))",
        tex: r"x = \max(-1, \min(1, z))",
        constructor: |a| a.channel(Self::hard_tanh()),
        ..Module::CHANNEL
    };

    /// The entry of the clipped line in the catalogue.
    pub const HARD_SIGMOID: Module = Module {
        name: "hard_sigmoid",
        summary: "clipped line from 0 to 1",
        formula: "x = min(1, max(0, 1/2 + z / (2 knee)))",
        tex: r"x = \max(0, \min(1, \frac12 + \frac z{2L}))",
        parameters: &[number("knee", 2.5, Domain::Positive, "where it is clipped").called("L")],
        constructor: |a| a.channel(Self::hard_sigmoid(a.number("knee")?)?),
        ..Module::CHANNEL
    };

    /// The entry of the symmetric door in the catalogue.
    pub const SYMMETRIC_DOOR: Module = Module {
        name: "symmetric_door",
        aliases: &["door"],
        summary: "symmetric door",
        formula: "x = sign(|z| - width)",
        tex: r"x = \operatorname{sign}(|z| - K)",
        parameters: &[number("width", 1.0, Domain::Positive, "half-width of the door").called("K")],
        constructor: |a| a.channel(Self::symmetric_door(a.number("width")?)?),
        ..Module::CHANNEL
    };
}

impl PiecewiseLinear {
    /// The regions under both tilts, or a point of the unbounded one whose mass diverges.
    #[inline]
    fn mixture(&self, z: Tilt, x: Tilt) -> Result<AnchoredMixture<2>, f64> {
        let mut sum = AnchoredMixture::new([z.a, x.a], [z.b, x.b]);
        for (r, (low, high)) in self.regions.iter() {
            let Some(t) = truncated_quadratic(exponent(r, z, x)) else {
                return Err(0.0_f64.max(r.start).min(r.end));
            };
            // the output of a flat region is certain, also where the variance of z overflows
            let variance = if r.slope == 0.0 {
                0.0
            } else {
                r.slope * r.slope * t.variance
            };
            // rounding must not carry the mean of x out of the image
            sum.add(
                [t.anchor, r.value(t.anchor)],
                Bump {
                    mass: t.mass,
                    mean: [t.mean, r.value(t.mean).max(low).min(high)],
                    variance: [t.variance, variance],
                },
            );
        }
        Ok(sum)
    }
}

fn pair(sum: &AnchoredMixture<2>) -> TiltedPair {
    let bump = sum.bump();
    TiltedPair {
        log_z: sum.log_mass(),
        mean_z: bump.mean[0],
        variance_z: bump.variance[0],
        mean_x: bump.mean[1],
        variance_x: bump.variance[1],
    }
}

fn is_atom(mark: &Landmark) -> bool {
    !mark.edge && mark.width == 0.0
}

/// The joint exponent on a region as a function of $z$. Slopes at the borders are taken from both beliefs
/// there, so that neighbouring regions agree.
#[inline]
fn exponent(r: &Region, z: Tilt, x: Tilt) -> Quadratic {
    let a = (r.slope * r.slope).mul_add(x.a, z.a);
    let b = r.slope.mul_add((-x.a).mul_add(r.offset, x.b), z.b);
    let end = |place: f64| {
        let output = (-x.a).mul_add(r.value(place), x.b);
        End {
            place,
            slope: (-z.a).mul_add(place, z.b) + r.slope * output,
        }
    };
    Quadratic {
        a,
        vertex: b / a,
        lo: end(r.start),
        hi: end(r.end),
    }
}

impl ScalarChannel for PiecewiseLinear {
    type In = f64;
    type Out = f64;
    type Likelihood = PiecewiseLikelihood;

    fn name(&self) -> &str {
        &self.name
    }

    fn tilted(&self, z: Tilt, x: Tilt) -> TiltedPair {
        match self.mixture(z, x) {
            Ok(sum) => pair(&sum),
            Err(z) => TiltedPair::divergent(z, self.value(z)),
        }
    }

    fn tilted_with_excess(&self, z: Tilt, x: Tilt, over: [bool; 2]) -> (TiltedPair, f64) {
        match self.mixture(z, x) {
            Ok(sum) => (pair(&sum), sum.log_excess(over)),
            Err(z) => (TiltedPair::divergent(z, self.value(z)), INF),
        }
    }

    /// The knees, and where two slopes $\gamma$ and $-\gamma$ mirror one another: half way between the two
    /// inputs of an output.
    fn landmarks(&self) -> Vec<Landmark> {
        let ends = self.regions.iter().map(|(r, _)| r.end);
        let mut marks: Vec<Landmark> = ends.filter(|z| z.is_finite()).map(Landmark::at).collect();
        for (r, _) in self.regions.iter().filter(|(r, _)| r.slope != 0.0) {
            let mirrored = |s: &&Region| s.start > r.start && s.slope + r.slope == 0.0;
            let others = self.regions.iter().map(|(s, _)| s).filter(mirrored);
            marks.extend(others.map(|s| Landmark::at((s.offset - r.offset) / (2.0 * r.slope))));
        }
        marks
    }

    fn images(&self, mean: f64, deviation: f64) -> Vec<Landmark> {
        let (low, high) = (mean - REACH * deviation, mean + REACH * deviation);
        let near = |r: &&Region| r.start < high && r.end > low;
        let marks = self
            .regions
            .iter()
            .map(|(r, _)| r)
            .filter(near)
            .flat_map(|r| {
                let place = r.value(mean.max(r.start).min(r.end));
                let body = Landmark::spread(place, (r.slope * deviation).abs());
                // a sloped region has an edge where it ends
                let edge = [r.start, r.end].map(|z| {
                    (r.slope != 0.0 && z > low && z < high).then(|| Landmark::edge(r.value(z)))
                });
                [Some(body), edge[0], edge[1]].into_iter().flatten()
            });
        let mut marks: Vec<Landmark> = marks.collect();
        // an atom hides the edge next to it
        let atoms: Vec<f64> = marks
            .iter()
            .filter(|m| is_atom(m))
            .map(|m| m.place)
            .collect();
        marks.retain(|m| !m.edge || !atoms.contains(&m.place));
        marks.dedup();
        marks
    }

    fn pieces(&self) -> Vec<Piece> {
        let piece = |r: &Region| Piece {
            start: r.start,
            end: r.end,
            offset: r.offset,
            slope: r.slope,
        };
        self.regions.iter().map(|(r, _)| piece(r)).collect()
    }

    fn parity(&self) -> Option<Parity> {
        self.regions.parity()
    }

    fn sample(&self, z: f64, _rng: &mut dyn Rng) -> f64 {
        self.value(z)
    }

    fn map(&self, z: f64) -> Option<f64> {
        Some(self.value(z))
    }

    fn likelihood(&self) -> Option<PiecewiseLikelihood> {
        Some(PiecewiseLikelihood::new(self.regions.clone()))
    }
}
