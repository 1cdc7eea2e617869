//! A symmetric matrix on the components of a signal, stored by its structure.

use std::ops::Range;

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

/// Components per partial sum: fixed, so that a sum does not depend on how the work is split.
pub(crate) const CHUNK: usize = 1024;

/// A sum in eight lanes, which are added at the end.
fn lane_sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let whole = values.chunks_exact(8);
    let rest = whole.remainder();
    whole.for_each(|eight| lanes.iter_mut().zip(eight).for_each(|(sum, x)| *sum += x));
    lanes.iter().chain(rest).sum()
}

impl SymMatrix {
    /// The zero matrix on a signal.
    #[must_use]
    pub fn zeros(spec: &SignalSpec) -> Self {
        let dim = spec.len();
        Self {
            structure: spec.structure,
            dim,
            data: vec![0.0; spec.structure.stored_len(dim)],
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

    /// Becomes `value` times the identity, whatever the structure.
    pub fn set_identity(&mut self, value: f64) {
        match self.structure {
            Structure::Isotropic | Structure::Diagonal => self.data.fill(value),
            Structure::Block { .. } | Structure::Full => {
                self.data.fill(0.0);
                for i in 0..self.dim {
                    let at = self.diagonal_place(i);
                    self.data[at] = value;
                }
            }
        }
    }

    /// Sets every stored entry from its row and column; an isotropic matrix takes the first.
    pub fn fill_with(&mut self, mut entry: impl FnMut(usize, usize) -> f64) {
        let (structure, dim) = (self.structure, self.dim);
        for (at, x) in self.data.iter_mut().enumerate() {
            *x = match structure {
                Structure::Isotropic | Structure::Diagonal => entry(at, at),
                Structure::Block { dim: block } => {
                    let (i, j) = (at / block, at % block);
                    entry(i, i / block * block + j)
                }
                Structure::Full => entry(at / dim, at % dim),
            };
        }
    }

    /// Where the diagonal entry `i` is stored.
    fn diagonal_place(&self, i: usize) -> usize {
        match self.structure {
            Structure::Isotropic => 0,
            Structure::Diagonal => i,
            Structure::Block { dim: block } => i * block + i % block,
            Structure::Full => i * self.dim + i,
        }
    }

    /// The entry in row `i` and column `j`, zero outside the structure.
    #[must_use]
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        match self.structure {
            _ if i == j => self.data[self.diagonal_place(i)],
            Structure::Full => self.data[i * self.dim + j],
            Structure::Block { dim: block } if i / block == j / block => {
                self.data[i * block + j % block]
            }
            _ => 0.0,
        }
    }

    /// The diagonal, one number per component.
    pub fn diagonal(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        (0..self.dim).map(|i| self.data[self.diagonal_place(i)])
    }

    /// The number of each component, of an isotropic or a diagonal matrix; `None` of a dense one.
    pub(crate) fn by_component(&self) -> Option<impl Fn(usize) -> f64 + Copy + '_> {
        let step = match self.structure {
            Structure::Isotropic => 0,
            Structure::Diagonal => 1,
            Structure::Block { .. } | Structure::Full => return None,
        };
        Some(move |i: usize| self.data[step * i])
    }

    /// The one number that all components share, of an isotropic matrix: loops over components keep it out of them.
    pub(crate) fn shared(&self) -> Option<f64> {
        (self.structure == Structure::Isotropic).then(|| self.data[0])
    }

    /// Takes `f(i)` for every one of `count` components: each its own on a diagonal, their average in an isotropic matrix, in sums over
    /// fixed chunks. A dense matrix stays as it is.
    pub(crate) fn set_by_component(&mut self, count: usize, mut f: impl FnMut(usize) -> f64) {
        match self.structure {
            Structure::Isotropic => {
                let chunks = (0..count).step_by(CHUNK);
                let sums = chunks.map(|start| {
                    let chunk = start..(start + CHUNK).min(count);
                    chunk.map(&mut f).sum::<f64>()
                });
                self.data[0] = sums.sum::<f64>() / count as f64;
            }
            Structure::Diagonal => {
                let each = self.data.iter_mut().enumerate();
                each.for_each(|(i, x)| *x = f(i));
            }
            Structure::Block { .. } | Structure::Full => {}
        }
    }

    /// As [`set_by_component`](Self::set_by_component), of values that are written chunk by chunk.
    pub(crate) fn set_by_chunks(
        &mut self,
        count: usize,
        mut write: impl FnMut(Range<usize>, &mut [f64]),
    ) {
        let chunks = (0..count).step_by(CHUNK);
        let chunks = chunks.map(|start| start..(start + CHUNK).min(count));
        match self.structure {
            Structure::Isotropic => {
                let mut values = [0.0; CHUNK];
                let sums = chunks.map(|chunk| {
                    let values = &mut values[..chunk.len()];
                    write(chunk, values);
                    lane_sum(values)
                });
                self.data[0] = sums.sum::<f64>() / count as f64;
            }
            Structure::Diagonal => {
                chunks.for_each(|chunk| write(chunk.clone(), &mut self.data[chunk]));
            }
            Structure::Block { .. } | Structure::Full => {}
        }
    }

    /// The average of the diagonal, $\frac1n \mathrm{tr}$.
    #[must_use]
    pub fn mean_diagonal(&self) -> f64 {
        match self.structure {
            Structure::Isotropic => self.data[0],
            _ => self.diagonal().sum::<f64>() / self.dim as f64,
        }
    }
}
