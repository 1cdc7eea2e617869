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

use rand::Rng;

use super::log_dirac;
use crate::catalog::channels::{Activation, Inverse};
use crate::math::mixture::{height, log_normal};
use crate::scalar::{OutputMeasure, ScalarLikelihood, Tilt, Tilted};

/// An observed [`Activation`](crate::catalog::channels::Activation).
#[derive(Clone)]
pub struct ActivationLikelihood {
    channel: Activation,
    inverse: Inverse,
}

impl ActivationLikelihood {
    pub(crate) fn new(channel: Activation, inverse: Inverse) -> Self {
        Self { channel, inverse }
    }
}

impl PartialEq for ActivationLikelihood {
    fn eq(&self, other: &Self) -> bool {
        self.channel == other.channel
    }
}

impl fmt::Debug for ActivationLikelihood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActivationLikelihood on {:?}", self.channel.range())
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
        self.channel.value(z)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        log_dirac(self.channel.value(z) - y)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        let (low, high) = self.channel.range();
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
        Some(self.channel.value(z))
    }

    fn as_gaussian(&self, y: f64) -> Option<Tilt> {
        Some(Tilt {
            a: f64::INFINITY,
            b: (self.inverse)(y).0,
        })
    }
}
