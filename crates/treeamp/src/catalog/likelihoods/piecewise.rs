//! Piecewise linear output $y = \varphi(z)$, $\varphi(z) = x_i + \gamma_i z$ on the region $R_i$, observed.
//!
//! # Moments
//! A value $y$ of sloped regions leaves the points $z_i = (y - x_i)/\gamma_i$ with weights $1/|\gamma_i|$; the value of
//! flat regions leaves those intervals. Both are mixtures: points and truncated normals under the tilt.
//!
//! # Limits
//! Finite for every $a$ unless an unbounded interval remains. One point alone pins $z$, of variance zero.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, piecewise linear, sign and absolute value likelihoods.

use rand::Rng;

use super::log_dirac;

use crate::catalog::channels::{Preimage, Regions};
use crate::math::mixture::{AnchoredMixture, Bump};
use crate::math::truncated_normal::truncated;
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, Tilt, Tilted};

/// An observed [`PiecewiseLinear`](crate::catalog::channels::PiecewiseLinear) activation.
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseLikelihood {
    regions: Regions,
}

impl PiecewiseLikelihood {
    pub(crate) fn new(regions: Regions) -> Self {
        Self { regions }
    }

    /// The preimages of `y` under the tilt, or a point of the unbounded one whose mass diverges.
    #[inline]
    fn mixture(&self, y: f64, a: f64, b: f64) -> Result<AnchoredMixture<1>, f64> {
        let mut sum = AnchoredMixture::new([a], [b]);
        for preimage in self.regions.preimages(y) {
            match preimage {
                Preimage::Point(z, weight) => sum.add([z], Bump::point([z], weight)),
                Preimage::Interval(lo, hi) => {
                    let t = truncated(a, b, lo, hi).ok_or(0.0_f64.max(lo).min(hi))?;
                    sum.add([t.anchor], t.bump());
                }
            }
        }
        Ok(sum)
    }
}

impl ScalarLikelihood for PiecewiseLikelihood {
    const NAME: &'static str = "piecewise_linear";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        match self.mixture(y, a, b) {
            Ok(sum) => {
                let Bump { mean, variance, .. } = *sum.bump();
                Tilted {
                    log_z: sum.log_mass(),
                    mean: mean[0],
                    variance: variance[0],
                }
            }
            Err(z) => Tilted::divergent(z),
        }
    }

    fn moments(&self, y: f64, a: f64, b: f64) -> (f64, f64) {
        match self.mixture(y, a, b) {
            Ok(sum) => (sum.bump().mean[0], sum.bump().variance[0]),
            Err(z) => (z, f64::INFINITY),
        }
    }

    fn sample(&self, z: f64, _rng: &mut dyn Rng) -> f64 {
        self.regions.value(z)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        let gap = self.regions.value(z) - y;
        let atom = self
            .regions
            .preimages(y)
            .any(|p| matches!(p, Preimage::Interval(..)));
        if atom && gap == 0.0 {
            0.0
        } else {
            log_dirac(gap)
        }
    }

    /// 0 when every output is one of finitely many values.
    fn noise_entropy(&self) -> Option<f64> {
        self.regions
            .iter()
            .all(|(r, _)| r.slope == 0.0)
            .then_some(0.0)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        self.regions.check(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        match self.mixture(y, a, b) {
            Ok(sum) => sum.log_excess([true]),
            Err(_) => f64::INFINITY,
        }
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(self.regions.outputs())
    }

    fn map(&self, z: f64) -> Option<f64> {
        Some(self.regions.value(z))
    }

    fn parity(&self) -> Option<Parity> {
        self.regions.parity()
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        let places = self.regions.preimages(y).flat_map(|p| match p {
            Preimage::Point(z, _) => [z, f64::NAN],
            Preimage::Interval(lo, hi) => [lo, hi],
        });
        places.filter(|z| z.is_finite()).map(Landmark::at).collect()
    }

    fn support(&self, y: f64) -> (f64, f64) {
        self.regions
            .preimages(y)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                let (first, last) = match p {
                    Preimage::Point(z, _) => (z, z),
                    Preimage::Interval(lo, hi) => (lo, hi),
                };
                (low.min(first), high.max(last))
            })
    }

    fn as_gaussian(&self, y: f64) -> Option<Tilt> {
        // an invertible output pins z, whatever y
        let point = self
            .regions
            .preimages(y)
            .next()
            .filter(|_| self.regions.invertible());
        point.map(|_| Tilt {
            a: f64::INFINITY,
            b: self.support(y).0,
        })
    }
}
