//! Invertible activation $y = \varphi(z)$, observed without noise: $p(y \mid z) = \delta(y - \varphi(z))$.
//!
//! # Moments
//! $z$ is pinned at $z_y = \varphi^{-1}(y)$: $r = z_y$, $v = 0$, $A = -\tfrac12 a z_y^2 + b z_y + \ln |d\varphi^{-1}/dy|$.
//!
//! # Limits
//! Finite for every $a$. Values outside the open range of $\varphi$ are refused.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, deterministic channel.

use std::fmt;
use std::sync::Arc;

use rand::Rng;

use super::log_dirac;
use crate::catalog::channels::Inverse;
use crate::math::mixture::{height, log_normal};
use crate::scalar::{OutputMeasure, ScalarLikelihood, Tilt, Tilted};

/// An observed [`Activation`](crate::catalog::channels::Activation).
#[derive(Clone)]
pub struct ActivationLikelihood {
    map: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    inverse: Inverse,
    range: (f64, f64),
}

impl ActivationLikelihood {
    pub(crate) fn new(
        map: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
        inverse: Inverse,
        range: (f64, f64),
    ) -> Self {
        Self {
            map,
            inverse,
            range,
        }
    }
}

impl fmt::Debug for ActivationLikelihood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActivationLikelihood on {:?}", self.range)
    }
}

impl ScalarLikelihood for ActivationLikelihood {
    const NAME: &'static str = "activation";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        let (z, jacobian) = (self.inverse)(y);
        Tilted {
            log_z: height(a, b, z) + jacobian.ln(),
            mean: z,
            variance: 0.0,
        }
    }

    fn sample(&self, z: f64, _rng: &mut dyn Rng) -> f64 {
        (self.map)(z)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        log_dirac((self.map)(z) - y)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        let (low, high) = self.range;
        if y > low && y < high && (self.inverse)(y).0.is_finite() {
            return Ok(());
        }
        Err(match (low.is_finite(), high.is_finite()) {
            (true, true) => format!("expected a number strictly between {low} and {high}, got {y}"),
            (true, false) => format!("expected a finite number above {low}, got {y}"),
            (false, true) => format!("expected a finite number below {high}, got {y}"),
            (false, false) => format!("expected a finite number, got {y}"),
        })
    }

    fn support(&self, y: f64) -> (f64, f64) {
        let (z, _) = (self.inverse)(y);
        (z, z)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        let (z, jacobian) = (self.inverse)(y);
        log_normal(z, a, b) + jacobian.ln()
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::smooth())
    }

    fn map(&self, z: f64) -> Option<f64> {
        Some((self.map)(z))
    }

    fn as_gaussian(&self, y: f64) -> Option<Tilt> {
        Some(Tilt {
            a: f64::INFINITY,
            b: (self.inverse)(y).0,
        })
    }
}
