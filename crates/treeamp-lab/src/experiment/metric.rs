//! How far an estimate is from the truth.

use treeamp::ModelError;
use treeamp::belief::Element;
use treeamp::metrics::{mse, mse_up_to_phase, mse_up_to_sign};

/// A measure of error or agreement, per component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// Mean squared error, $\frac1N|\hat x - x|^2$.
    #[default]
    Mse,
    /// Mean squared error up to the global sign, for even outputs.
    SignMse,
    /// Mean squared error per real component up to the global phase of a complex signal.
    PhaseMse,
    /// Overlap $\hat x\cdot x / N$.
    Overlap,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mse, Self::SignMse, Self::PhaseMse, Self::Overlap];

    /// The error up to the symmetry that a signal may have: its sign, or its phase.
    #[must_use]
    pub fn symmetric(element: Element) -> Self {
        match element {
            Element::Real => Self::SignMse,
            Element::Complex => Self::PhaseMse,
        }
    }

    /// It has a meaning for such signals: real ones have no phase.
    #[must_use]
    pub fn applies_to(self, element: Element) -> bool {
        self != Self::PhaseMse || element == Element::Complex
    }

    /// Its name in tables and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::SignMse => "sign_mse",
            Self::PhaseMse => "phase_mse",
            Self::Overlap => "overlap",
        }
    }

    /// Its value for an estimate.
    ///
    /// # Errors
    /// Arrays of different lengths, or empty ones; for the phase, an odd number of parts.
    ///
    /// ```
    /// use treeamp_lab::experiment::Metric;
    /// assert_eq!(Metric::Mse.of(&[1.0, 2.0], &[-1.0, -2.0])?, 10.0);
    /// assert_eq!(Metric::SignMse.of(&[1.0, 2.0], &[-1.0, -2.0])?, 0.0);
    /// // i (1 + 2i) = -2 + i
    /// assert_eq!(Metric::PhaseMse.of(&[1.0, 2.0], &[-2.0, 1.0])?, 0.0);
    /// assert_eq!(Metric::Overlap.of(&[1.0, 2.0], &[-1.0, -2.0])?, -2.5);
    /// # Ok::<(), treeamp::ModelError>(())
    /// ```
    pub fn of(self, estimate: &[f64], truth: &[f64]) -> Result<f64, ModelError> {
        let error = mse(estimate, truth)?;
        Ok(match self {
            Self::Mse => error,
            Self::SignMse => mse_up_to_sign(estimate, truth)?,
            Self::PhaseMse => mse_up_to_phase(estimate, truth)?,
            Self::Overlap => {
                let products = estimate.iter().zip(truth).map(|(x, y)| x * y);
                products.sum::<f64>() / truth.len() as f64
            }
        })
    }
}
