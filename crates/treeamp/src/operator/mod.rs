//! Linear operators $x = W z$ that are not dense matrices: each has its adjoint, its spectrum, and,
//! where a fast change of basis exists, its singular system $W = U S V^T$ at the cost of a transform.
//!
//! Storage is `f64` always. A complex signal is interleaved (re, im), so that a complex operator is a
//! real one of twice the size, and its adjoint is the one of $\mathrm{Re}\langle\cdot,\cdot\rangle$.
//! A unitary map of $\mathbb C^N$ is orthogonal on $\mathbb R^{2N}$; the DFT of a real signal is an
//! isometry $\mathbb R^N \to \mathbb R^{2N}$.

mod combine;
mod complex_dense;
mod convolution;
mod custom;
mod dense;
mod dft;
mod diagonal;
mod dot_test;
mod gradient;
mod jacobi;
mod lanczos;
mod mask;
mod multi_convolution;
mod probes;
mod real_dft;
mod sparse;
mod stand_in;
mod subsampled_dft;

use std::fmt::Debug;
use std::sync::Arc;

pub use combine::{BlockDiagonal, Composition, Stack};
pub use complex_dense::{ComplexDense, ComplexOnReal, Unitary};
pub use convolution::{CircularConvolution, Filter};
pub use custom::MatrixFree;
pub use dense::Dense;
pub use dft::UnitaryDft;
pub use diagonal::DiagonalScaling;
pub(crate) use dot_test::dot;
pub use dot_test::dot_test;
pub use gradient::{Boundary, FiniteDifference};
pub(crate) use lanczos::{All, Resolved, exact_spectrum, largest_eigenvalue, resolved_spectrum};
pub use lanczos::{LanczosOptions, estimated_spectrum};
pub use mask::SubSampling;
pub(crate) use mask::check_shape;
pub use multi_convolution::MultiChannelConvolution;
pub use real_dft::OrthogonalDft;
pub use sparse::SparseMatrix;
pub use stand_in::StandIn;
pub use subsampled_dft::SubSampledDft;

use crate::belief::SignalSpec;
use crate::error::FactorError;
pub use crate::math::modes::Modes;
use crate::math::spectrum::Spectrum;

/// A linear map between two signals, on interleaved real storage. Object safe.
///
/// Most operators have one input shape. [`Dense`] also takes every column of a matrix at once, and
/// finds their number from the length of what it is given.
pub trait LinearOperator: Debug + Send + Sync + 'static {
    /// Name in messages and drawings.
    fn name(&self) -> &str;

    /// A short text of its parameters.
    fn summary(&self) -> String {
        format!("{} -> {}", self.input(), self.output())
    }

    /// The signal it takes.
    fn input(&self) -> &SignalSpec;

    /// The signal it gives.
    fn output(&self) -> &SignalSpec;

    /// The signal it gives for one that may have several columns.
    ///
    /// # Errors
    /// What it expects, for a signal it does not take.
    fn output_for(&self, input: &SignalSpec) -> Result<SignalSpec, String> {
        if input.same_signal(self.input()) {
            Ok(self.output().clone())
        } else {
            Err(format!("shape {}", self.input()))
        }
    }

    /// How many `f64` of scratch its methods need, for a signal of so many columns.
    fn scratch_len(&self, _columns: usize) -> usize {
        0
    }

    /// `out = W z`.
    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// `out = W^T x`, with $\langle W z, x\rangle = \langle z, W^T x\rangle$ over real components.
    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// `out = W z` for vectors laid end to end, by default one after the other.
    fn apply_to_each(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let outputs = out.chunks_exact_mut(self.output().len());
        let pairs = z.chunks_exact(self.input().len()).zip(outputs);
        pairs.for_each(|(z, out)| self.apply(z, out, scratch));
    }

    /// `out = W^T x` for vectors laid end to end, by default one after the other.
    fn adjoint_of_each(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let outputs = out.chunks_exact_mut(self.input().len());
        let pairs = x.chunks_exact(self.output().len()).zip(outputs);
        pairs.for_each(|(x, out)| self.adjoint(x, out, scratch));
    }

    /// The dot test was run on it where it was made.
    fn is_tested(&self) -> bool {
        false
    }

    /// The operators that it is made of, if it is: a failed dot test looks for the wrong one among them.
    fn parts(&self) -> &[Arc<dyn LinearOperator>] {
        &[]
    }

    /// What a product with one column costs, in the unit of [`Cost`](crate::factor::Cost): by default the products of its parts, or a fast
    /// transform.
    fn product_cost(&self) -> f64 {
        let parts = self.parts();
        if parts.is_empty() {
            let len = self.input().len().max(self.output().len()) as f64;
            return TRANSFORM * len * (len + 1.0).log2();
        }
        parts.iter().map(|p| p.product_cost()).sum()
    }

    /// Its singular system is that of a matrix, to be computed; by default it is not.
    fn decomposes(&self) -> bool {
        false
    }

    /// It has the shape of a matrix that was not drawn: nothing can be run on it.
    fn is_stand_in(&self) -> bool {
        false
    }

    /// Its singular system, if it has a fast one.
    ///
    /// # Errors
    /// When a decomposition that it needs fails.
    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(None)
    }

    /// Row, column and value of its entries in the real storage, where these are few: of a sparse matrix. Entries at the same place add up. Messages of
    /// diagonal beliefs then come from a sparse factorisation.
    fn entries(&self) -> Option<Vec<(usize, usize, f64)>> {
        None
    }

    /// The diagonal of $W^T W$ where it is cheap: the preconditioner of iterative solutions.
    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        None
    }

    /// The squared norms of the rows where they are cheap: the diagonal of $W W^T$.
    fn row_norms(&self) -> Option<Vec<f64>> {
        None
    }

    /// The spectrum of $W^T W$ where it is known without a singular system.
    fn known_spectrum(&self) -> Option<Spectrum> {
        None
    }

    /// Why state evolution is a heuristic for this operator; `None` for matrices that can be drawn
    /// from a rotationally invariant ensemble.
    fn heuristic(&self) -> Option<&'static str> {
        Some(STRUCTURED)
    }
}

/// Operations for an entry of a matrix that multiplies a vector, which waits for memory.
pub(crate) const MATRIX_ENTRY: f64 = 8.0;
/// Operations of a fast transform, per number and doubling.
const TRANSFORM: f64 = 5.0;

/// Why state evolution of a structured operator is a heuristic.
pub(crate) const STRUCTURED: &str = "a structured operator is not drawn from a rotationally \
     invariant ensemble: only its spectrum enters the prediction";

/// $W = U S V^T$ in coordinates: orthonormal modes on both sides.
///
/// Coordinates may be redundant (a real signal under an FFT): $V^T$ is then an isometry onto a
/// subspace that every function of $S$ keeps. Multiplicities in [`Modes`] make traces right.
pub trait SingularSystem: Debug + Send + Sync {
    /// The singular values and their multiplicities.
    fn modes(&self) -> &Modes;

    /// How many `f64` of scratch its methods need, for a signal of so many columns.
    fn scratch_len(&self, columns: usize) -> usize;

    /// How many `f64` a refinement of $V S^{-1} U^T x$ needs, 0 if it needs no refinement.
    fn spare_len(&self, _columns: usize) -> usize {
        0
    }

    /// Coordinates are dear: a channel keeps those of both messages beside the ones it works on. Where
    /// they cost a transform it works in place, two arrays instead of three, four transforms a sweep.
    fn keeps_coordinates(&self) -> bool {
        false
    }

    /// `out = V^T z`.
    fn analyse_input(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// `out = U^T x`.
    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]);

    /// `out = V y`; `y` is overwritten.
    fn to_input(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]);

    /// `out = U y`; `y` is overwritten.
    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]);
}

/// `x` and a copy of it multiplied complex number by complex number.
pub(crate) fn multiply(x: &mut [f64], by: &[num_complex::Complex64], conjugate: bool) {
    for (x, h) in x.chunks_exact_mut(2).zip(by) {
        let c = num_complex::Complex64::new(x[0], x[1]) * if conjugate { h.conj() } else { *h };
        x[0] = c.re;
        x[1] = c.im;
    }
}

/// $W z$ in fresh memory, for where time does not matter.
#[must_use]
pub fn applied(operator: &dyn LinearOperator, z: &[f64]) -> Vec<f64> {
    let columns = z.len() / operator.input().len();
    let mut scratch = vec![0.0; operator.scratch_len(columns)];
    let mut out = vec![0.0; columns * operator.output().len()];
    operator.apply(z, &mut out, &mut scratch);
    out
}
