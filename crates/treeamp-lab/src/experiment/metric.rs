//! How far an estimate is from the truth.

use treeamp::ModelError;
use treeamp::metrics::{mse, mse_up_to_sign};

/// A measure of error or agreement, per component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// Mean squared error, $\frac1N|\hat x - x|^2$.
    #[default]
    Mse,
    /// Mean squared error up to the global sign, for even outputs.
    SignMse,
    /// Overlap $\hat x\cdot x / N$.
    Overlap,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mse, Self::SignMse, Self::Overlap];

    /// Its name in tables and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::SignMse => "sign_mse",
            Self::Overlap => "overlap",
        }
    }

    /// Its value for an estimate.
    ///
    /// # Errors
    /// Arrays of different lengths, or empty ones.
    ///
    /// ```
    /// use treeamp_lab::experiment::Metric;
    /// assert_eq!(Metric::Mse.of(&[1.0, 2.0], &[-1.0, -2.0])?, 10.0);
    /// assert_eq!(Metric::SignMse.of(&[1.0, 2.0], &[-1.0, -2.0])?, 0.0);
    /// assert_eq!(Metric::Overlap.of(&[1.0, 2.0], &[-1.0, -2.0])?, -2.5);
    /// # Ok::<(), treeamp::ModelError>(())
    /// ```
    pub fn of(self, estimate: &[f64], truth: &[f64]) -> Result<f64, ModelError> {
        let error = mse(estimate, truth)?;
        Ok(match self {
            Self::Mse => error,
            Self::SignMse => mse_up_to_sign(estimate, truth)?,
            Self::Overlap => {
                let products = estimate.iter().zip(truth).map(|(x, y)| x * y);
                products.sum::<f64>() / truth.len() as f64
            }
        })
    }
}
