//! How far an estimate is from the truth.

use treeamp::ModelError;
use treeamp::belief::{Element, SignalSpec, Structure};
use treeamp::metrics::{mse, mse_up_to_permutation, mse_up_to_phase, mse_up_to_sign};

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
    /// Mean squared error up to a permutation of the columns, for rows of units that outputs do not tell apart.
    PermutationMse,
    /// Overlap $\hat x\cdot x / N$.
    Overlap,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Mse,
        Self::SignMse,
        Self::PhaseMse,
        Self::PermutationMse,
        Self::Overlap,
    ];

    /// The error up to the symmetry that a signal may have: its sign, or its phase.
    #[must_use]
    pub fn symmetric(element: Element) -> Self {
        match element {
            Element::Real => Self::SignMse,
            Element::Complex => Self::PhaseMse,
        }
    }

    /// The error up to the symmetry that a signal with these beliefs may have: rows with a matrix each are those of units, which outputs may
    /// not tell apart.
    #[must_use]
    pub fn up_to_symmetry(spec: &SignalSpec) -> Self {
        match spec.structure {
            Structure::Block { .. } => Self::PermutationMse,
            _ => Self::symmetric(spec.element),
        }
    }

    /// It has a meaning for such signals: real ones have no phase, and only rows have columns to be permuted.
    #[must_use]
    pub fn applies_to(self, spec: &SignalSpec) -> bool {
        match self {
            Self::PhaseMse => spec.element == Element::Complex,
            Self::PermutationMse => spec.structure.same_kind(Structure::Block { dim: 0 }),
            _ => true,
        }
    }

    /// Its value for an estimate of a signal of this shape.
    ///
    /// # Errors
    /// As [`of`](Self::of), and more than eight columns to be permuted.
    pub fn of_signal(
        self,
        spec: &SignalSpec,
        estimate: &[f64],
        truth: &[f64],
    ) -> Result<f64, ModelError> {
        match (self, spec.structure) {
            (Self::PermutationMse, Structure::Block { dim }) => {
                mse_up_to_permutation(estimate, truth, dim)
            }
            _ => self.of(estimate, truth),
        }
    }

    /// Its name in tables and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::SignMse => "sign_mse",
            Self::PhaseMse => "phase_mse",
            Self::PermutationMse => "permutation_mse",
            Self::Overlap => "overlap",
        }
    }

    /// Its value for an estimate; columns stay as they are ([`of_signal`](Self::of_signal) permutes them).
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
            Self::Mse | Self::PermutationMse => error,
            Self::SignMse => mse_up_to_sign(estimate, truth)?,
            Self::PhaseMse => mse_up_to_phase(estimate, truth)?,
            Self::Overlap => {
                let products = estimate.iter().zip(truth).map(|(x, y)| x * y);
                products.sum::<f64>() / truth.len() as f64
            }
        })
    }
}
