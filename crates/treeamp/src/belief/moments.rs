//! Mean and covariance of a belief.

use super::{Gaussian, SignalSpec, SymMatrix};

/// The moments of one variable: mean $r$ and covariance, per real component.
#[derive(Debug, Clone, PartialEq)]
pub struct Moments {
    /// Mean $r$, row-major.
    pub mean: Vec<f64>,
    /// Variance $v$: its average over the components (isotropic), one per component (diagonal), or the covariance
    /// matrix, whole or block by block.
    pub variance: SymMatrix,
}

impl Moments {
    /// Zero mean and variance on a signal.
    #[must_use]
    pub fn zeros(spec: &SignalSpec) -> Self {
        Self {
            mean: vec![0.0; spec.len()],
            variance: SymMatrix::zeros(spec),
        }
    }

    /// Zero mean and variance, of the size and structure of a message.
    #[must_use]
    pub fn like(message: &Gaussian) -> Self {
        let mut variance = message.precision.clone();
        variance.data_mut().fill(0.0);
        Self {
            mean: vec![0.0; message.len()],
            variance,
        }
    }

    /// Average variance per real component.
    #[must_use]
    pub fn average_variance(&self) -> f64 {
        self.variance.mean_diagonal()
    }

    /// $\tau = \frac1n\|r\|^2 + v$, the second moment the belief claims.
    #[must_use]
    pub fn second_moment(&self) -> f64 {
        mean_square(&self.mean) + self.average_variance()
    }

    /// Copies in place.
    pub fn copy_from(&mut self, other: &Self) {
        self.mean.copy_from_slice(&other.mean);
        self.variance
            .data_mut()
            .copy_from_slice(other.variance.data());
    }
}

pub(crate) fn mean_square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64
}
