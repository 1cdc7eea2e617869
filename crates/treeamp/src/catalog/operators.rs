//! Small instances of every linear operator, the list of them, and the tests' linear channels.

use std::sync::Arc;

use num_complex::Complex64;

use crate::belief::SignalSpec;
use crate::catalog::channels::{Convolution, Rotation};
use crate::error::ModelError;
use crate::math::complex_matrix::ComplexMatrix;
use crate::math::matrix::Matrix;
use crate::operator::{
    BlockDiagonal, Boundary, CircularConvolution, ComplexDense, ComplexOnReal, Composition, Dense,
    DiagonalScaling, Filter, FiniteDifference, LinearOperator, MatrixFree, MultiChannelConvolution,
    SparseMatrix, Stack, SubSampledDft, SubSampling, Unitary,
};

/// Numbers without a pattern, in $(-1, 1)$.
fn entry(i: usize) -> f64 {
    (1.7 * i as f64 + 0.3 * (i as f64).powi(2)).sin()
}

/// A dense matrix, or a reflection $I - 2uu^T$.
///
/// # Errors
/// Never for sizes of at least one.
pub fn dense(rows: usize, cols: usize, orthogonal: bool) -> Result<Dense, ModelError> {
    if orthogonal {
        let norm: f64 = (0..cols).map(|i| entry(i + 1).powi(2)).sum();
        let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
        let w = Matrix::from_fn(rows, cols, |i, j| {
            unit(i, j) - 2.0 * entry(i + 1) * entry(j + 1) / norm
        });
        return w.map(Dense::new);
    }
    Matrix::from_fn(rows, cols, |i, j| entry(cols * i + j)).map(Dense::new)
}

fn complex_matrix(rows: usize, cols: usize) -> Result<ComplexMatrix, ModelError> {
    ComplexMatrix::from_fn(rows, cols, |i, j| {
        Complex64::new(entry(cols * i + j), entry(cols * i + j + 50))
    })
}

/// A complex matrix on a complex signal.
///
/// # Errors
/// Never for sizes of at least one.
pub fn complex_dense(rows: usize, cols: usize) -> Result<ComplexDense, ModelError> {
    complex_matrix(rows, cols).map(ComplexDense::new)
}

/// A complex matrix on a real signal.
///
/// # Errors
/// Never.
pub fn complex_on_real() -> Result<ComplexOnReal, ModelError> {
    complex_matrix(3, 5).and_then(ComplexOnReal::new)
}

/// The reflection $I - 2uu^H$.
///
/// # Errors
/// Never.
pub fn unitary() -> Result<Unitary, ModelError> {
    let u = |i: usize| Complex64::new(entry(i + 1), entry(i + 20));
    let norm: f64 = (0..5).map(|i| u(i).norm_sqr()).sum();
    let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
    let w = ComplexMatrix::from_fn(5, 5, |i, j| unit(i, j) - 2.0 * u(i) * u(j).conj() / norm);
    w.and_then(Unitary::new)
}

/// Real factors, one of them zero.
///
/// # Errors
/// Never.
pub fn diagonal() -> Result<DiagonalScaling, ModelError> {
    DiagonalScaling::new(&SignalSpec::real([4]), vec![1.5, -0.4, 0.0, 2.0])
}

/// Complex factors.
///
/// # Errors
/// Never.
pub fn complex_diagonal() -> Result<DiagonalScaling, ModelError> {
    let factors = (0..5).map(|i| Complex64::new(entry(i), entry(i + 9)));
    DiagonalScaling::complex(&SignalSpec::complex([5]), factors.collect())
}

/// A Gaussian blur.
///
/// # Errors
/// Widths that do not fit.
pub fn blur(signal: &SignalSpec, sigma: &[f64]) -> Result<CircularConvolution, ModelError> {
    CircularConvolution::new(signal, &Filter::GaussianBlur(sigma.to_vec()))
}

/// A kernel that is not symmetric.
///
/// # Errors
/// A signal without two axes of at least three.
pub fn kernel(signal: &SignalSpec) -> Result<CircularConvolution, ModelError> {
    let filter = Filter::CentredKernel {
        shape: vec![2, 3],
        entries: (0..6).map(entry).collect(),
    };
    CircularConvolution::new(signal, &filter)
}

/// A complex kernel.
///
/// # Errors
/// Never.
pub fn complex_kernel() -> Result<CircularConvolution, ModelError> {
    let filter = Filter::ComplexKernel {
        shape: vec![2, 2],
        entries: (0..4)
            .map(|i| Complex64::new(entry(i), entry(i + 5)))
            .collect(),
    };
    CircularConvolution::new(&SignalSpec::complex([3, 4]), &filter)
}

/// From several channels to several channels.
///
/// # Errors
/// No channel.
pub fn multi_channel(inputs: usize, outputs: usize) -> Result<MultiChannelConvolution, ModelError> {
    let kernel = |o: usize, i: usize| (0..4).map(|k| entry(4 * (o * inputs + i) + k)).collect();
    let kernels: Vec<Vec<Vec<f64>>> = (0..outputs)
        .map(|o| (0..inputs).map(|i| kernel(o, i)).collect())
        .collect();
    MultiChannelConvolution::new(&SignalSpec::real([inputs, 3, 4]), &[2, 2], &kernels)
}

/// A gradient.
///
/// # Errors
/// A signal without axes.
pub fn gradient(signal: &SignalSpec, boundary: Boundary) -> Result<FiniteDifference, ModelError> {
    FiniteDifference::new(signal, boundary)
}

/// Three in five, in no order.
fn some(n: usize) -> Vec<bool> {
    (0..n).map(|i| (i * i + i / 3) % 5 < 3).collect()
}

/// A selection.
///
/// # Errors
/// An empty signal.
pub fn mask(signal: &SignalSpec) -> Result<SubSampling, ModelError> {
    SubSampling::new(signal, &some(signal.count()))
}

/// Some frequencies.
///
/// # Errors
/// An empty signal.
pub fn masked_dft(signal: &SignalSpec) -> Result<SubSampledDft, ModelError> {
    SubSampledDft::new(signal, &some(signal.count()))
}

/// A sparse matrix.
///
/// # Errors
/// Never.
pub fn sparse() -> Result<SparseMatrix, ModelError> {
    let triplets: Vec<(usize, usize, f64)> = (0..18)
        .map(|k| (k % 7, (k * k + 2) % 9, entry(k)))
        .collect();
    SparseMatrix::from_triplets(7, 9, &triplets)
}

fn shared(operator: impl LinearOperator) -> Arc<dyn LinearOperator> {
    Arc::new(operator)
}

/// Blocks with a singular system.
///
/// # Errors
/// Never.
pub fn block_diagonal() -> Result<BlockDiagonal, ModelError> {
    let parts = vec![
        shared(dense(3, 4, false)?),
        shared(diagonal()?),
        shared(mask(&SignalSpec::real([6]))?),
    ];
    BlockDiagonal::new(parts)
}

/// Blocks of which one has no singular system.
///
/// # Errors
/// Never.
pub fn block_diagonal_with_sparse() -> Result<BlockDiagonal, ModelError> {
    let signal = SignalSpec::real([5]);
    let blur = CircularConvolution::new(&signal, &Filter::GaussianBlur(vec![0.6]))?;
    BlockDiagonal::new(vec![shared(sparse()?), shared(blur)])
}

/// A mask after a blur.
///
/// # Errors
/// Never.
pub fn composition() -> Result<Composition, ModelError> {
    let signal = SignalSpec::real([4, 5]);
    let third = SignalSpec::real([some(20).iter().filter(|s| **s).count()]);
    let scale = DiagonalScaling::new(&third, (0..third.len()).map(|i| 1.0 + entry(i)).collect())?;
    Composition::new(vec![
        shared(blur(&signal, &[0.7])?),
        shared(mask(&signal)?),
        shared(scale),
    ])
}

/// Two views of one signal.
///
/// # Errors
/// Never.
pub fn stack() -> Result<Stack, ModelError> {
    let signal = SignalSpec::real([9]);
    let sub = mask(&signal)?;
    Stack::new(vec![
        shared(sparse()?),
        shared(sub),
        shared(blur(&signal, &[1.1])?),
    ])
}

/// Two functions: the cumulative sum and its adjoint.
///
/// # Errors
/// Never.
pub fn matrix_free() -> Result<MatrixFree, ModelError> {
    let signal = SignalSpec::real([8]);
    let running = |z: &f64, sum: &mut f64| {
        *sum += z;
        *sum
    };
    MatrixFree::new(
        "cumulative_sum",
        &signal,
        &signal,
        move |z, out| {
            let mut sum = 0.0;
            out.iter_mut()
                .zip(z)
                .for_each(|(o, z)| *o = running(z, &mut sum));
        },
        move |x, out| {
            let mut sum = 0.0;
            let pairs = out.iter_mut().zip(x).rev();
            pairs.for_each(|(o, x)| *o = running(x, &mut sum));
        },
    )
}

/// The channel of a reflection.
///
/// # Errors
/// Never for sizes of at least one.
pub fn rotation(n: usize) -> Result<Rotation, ModelError> {
    Rotation::new(dense(n, n, true)?.matrix().clone())
}

/// The channel of a kernel that is not symmetric.
///
/// # Errors
/// Never.
pub fn convolution() -> Result<Convolution, ModelError> {
    let (shape, entries) = (vec![2, 2], (0..4).map(entry).collect());
    Ok(Convolution::new(Filter::Kernel { shape, entries }))
}

/// Calls `$callback!` with `name => instance` for every linear operator, real and complex.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_operator {
    ($callback:ident) => {
        $callback! {
            orthogonal => $crate::catalog::operators::dense(6, 6, true),
            dense => $crate::catalog::operators::dense(5, 7, false),
            complex_dense => $crate::catalog::operators::complex_dense(4, 6),
            complex_dense_tall => $crate::catalog::operators::complex_dense(6, 4),
            complex_on_real => $crate::catalog::operators::complex_on_real(),
            unitary => $crate::catalog::operators::unitary(),
            diagonal => $crate::catalog::operators::diagonal(),
            complex_diagonal => $crate::catalog::operators::complex_diagonal(),
            dft_of_real => $crate::operator::UnitaryDft::new(&$crate::belief::SignalSpec::real([6])),
            dft_of_complex => $crate::operator::UnitaryDft::new(&$crate::belief::SignalSpec::complex([3, 4])),
            dft_in_three_dimensions => $crate::operator::UnitaryDft::new(&$crate::belief::SignalSpec::complex([2, 3, 2])),
            real_dft => $crate::operator::OrthogonalDft::new(&$crate::belief::SignalSpec::real([7])),
            real_dft_of_image => $crate::operator::OrthogonalDft::new(&$crate::belief::SignalSpec::real([4, 6])),
            real_dft_in_three_dimensions => $crate::operator::OrthogonalDft::new(&$crate::belief::SignalSpec::real([2, 3, 5])),
            blur => $crate::catalog::operators::blur(&$crate::belief::SignalSpec::real([5, 6]), &[0.8, 0.4]),
            blur_of_complex => $crate::catalog::operators::blur(&$crate::belief::SignalSpec::complex([7]), &[0.7]),
            differential => $crate::operator::CircularConvolution::new(
                &$crate::belief::SignalSpec::real([4, 5]), &$crate::operator::Filter::Differential { axis: 0 }),
            laplacian => $crate::operator::CircularConvolution::new(
                &$crate::belief::SignalSpec::real([2, 3, 4]), &$crate::operator::Filter::Laplacian),
            convolution => $crate::catalog::operators::kernel(&$crate::belief::SignalSpec::real([4, 6])),
            convolution_of_complex => $crate::catalog::operators::complex_kernel(),
            multi_channel_convolution => $crate::catalog::operators::multi_channel(3, 2),
            multi_channel_convolution_tall => $crate::catalog::operators::multi_channel(2, 3),
            gradient => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::real([8]), $crate::operator::Boundary::Periodic),
            gradient_of_image => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::real([4, 5]), $crate::operator::Boundary::Periodic),
            gradient_of_complex => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::complex([3, 4]), $crate::operator::Boundary::Periodic),
            gradient_neumann => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::real([4, 5]), $crate::operator::Boundary::Neumann),
            gradient_zero => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::complex([3, 4]), $crate::operator::Boundary::Zero),
            sub_sampling => $crate::catalog::operators::mask(&$crate::belief::SignalSpec::real([3, 4])),
            sub_sampling_of_complex => $crate::catalog::operators::mask(&$crate::belief::SignalSpec::complex([7])),
            sub_sampled_dft => $crate::catalog::operators::masked_dft(&$crate::belief::SignalSpec::complex([9])),
            sub_sampled_dft_of_real => $crate::catalog::operators::masked_dft(&$crate::belief::SignalSpec::real([4, 6])),
            sub_sampled_dft_of_odd => $crate::catalog::operators::masked_dft(&$crate::belief::SignalSpec::real([5, 7])),
            sparse => $crate::catalog::operators::sparse(),
            block_diagonal => $crate::catalog::operators::block_diagonal(),
            block_diagonal_with_sparse => $crate::catalog::operators::block_diagonal_with_sparse(),
            composition => $crate::catalog::operators::composition(),
            stack => $crate::catalog::operators::stack(),
            matrix_free => $crate::catalog::operators::matrix_free(),
        }
    };
}
