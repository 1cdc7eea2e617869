//! A symmetric matrix on the components of a signal, stored by its structure.

use super::{SignalSpec, Structure};

/// A symmetric matrix: one number (isotropic), a diagonal, diagonal blocks, or all of it.
///
/// Natural parameters add entry by entry whatever the structure, so the group laws of messages
/// need only [`data`](Self::data).
#[derive(Debug, Clone, PartialEq)]
pub struct SymMatrix {
    structure: Structure,
    dim: usize,
    data: Vec<f64>,
}

impl SymMatrix {
    /// The zero matrix on a signal.
    #[must_use]
    pub fn zeros(spec: &SignalSpec) -> Self {
        let dim = spec.len();
        let stored = match spec.structure {
            Structure::Isotropic => 1,
            Structure::Diagonal => dim,
            Structure::Block { dim: block } => dim * block,
            Structure::Full => dim * dim,
        };
        Self {
            structure: spec.structure,
            dim,
            data: vec![0.0; stored],
        }
    }

    /// How it is stored.
    #[must_use]
    pub fn structure(&self) -> Structure {
        self.structure
    }

    /// Number of rows.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The stored entries.
    #[must_use]
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// The stored entries, to write.
    pub fn data_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The one number of an isotropic matrix.
    ///
    /// # Panics
    /// Never on a matrix of the structure that the planner checked.
    #[must_use]
    pub fn scalar(&self) -> f64 {
        debug_assert_eq!(
            self.structure,
            Structure::Isotropic,
            "checked by the planner"
        );
        self.data[0]
    }

    /// Sets the one number of an isotropic matrix.
    pub fn set_scalar(&mut self, value: f64) {
        debug_assert_eq!(
            self.structure,
            Structure::Isotropic,
            "checked by the planner"
        );
        self.data[0] = value;
    }

    /// The average of the diagonal, $\frac1n \mathrm{tr}$.
    #[must_use]
    pub fn mean_diagonal(&self) -> f64 {
        match self.structure {
            Structure::Isotropic => self.data[0],
            Structure::Diagonal => self.data.iter().sum::<f64>() / self.dim as f64,
            Structure::Block { dim: block } => {
                let rows = (0..self.dim).map(|i| self.data[i * block + i % block]);
                rows.sum::<f64>() / self.dim as f64
            }
            Structure::Full => {
                (0..self.dim)
                    .map(|i| self.data[i * self.dim + i])
                    .sum::<f64>()
                    / self.dim as f64
            }
        }
    }
}
