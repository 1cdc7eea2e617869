//! Random complex matrices, $E|W_{ij}|^2$ being one over the number of columns.

use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::Complex;
use treeamp::error::ModelError;
use treeamp::math::complex_matrix::ComplexMatrix;

use super::stream;

fn standard_complex(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Mat<Complex<f64>> {
    // E|w|² = 1
    let half = std::f64::consts::FRAC_1_SQRT_2;
    Mat::from_fn(rows, cols, |_, _| {
        let (re, im): (f64, f64) = (StandardNormal.sample(rng), StandardNormal.sample(rng));
        Complex::new(half * re, half * im)
    })
}

/// Independent circular Gaussian entries with $E|W_{ij}|^2 = 1/N$, $N$ the number of columns.
///
/// # Errors
/// An empty matrix.
pub fn complex_gaussian(rows: usize, cols: usize, seed: u64) -> Result<ComplexMatrix, ModelError> {
    let w = standard_complex(rows, cols, &mut stream(seed));
    let scale = (cols as f64).sqrt().recip();
    ComplexMatrix::from_fn(rows, cols, |i, j| w[(i, j)] * scale)
}

/// Uniform (Haar) among the complex matrices with orthonormal rows, $W W^H = I_M$, when there are at most as many
/// rows as columns; otherwise among those with orthonormal columns, $W^H W = I_N$.
///
/// As [`orthogonal`](super::orthogonal), with the phases of the diagonal of $R$ in place of its signs.
///
/// # Errors
/// An empty matrix.
pub fn unitary(rows: usize, cols: usize, seed: u64) -> Result<ComplexMatrix, ModelError> {
    let (tall, wide) = (rows.max(cols), rows.min(cols));
    if wide == 0 {
        // the matrix says what is wrong with its shape
        return ComplexMatrix::from_fn(rows, cols, |_, _| Complex::ZERO);
    }
    let qr = standard_complex(tall, wide, &mut stream(seed)).qr();
    let (q, r) = (qr.compute_thin_Q(), qr.thin_R());
    let entry = |i: usize, j: usize| q[(i, j)] * (r[(j, j)] / r[(j, j)].norm());
    if rows >= cols {
        ComplexMatrix::from_fn(rows, cols, entry)
    } else {
        ComplexMatrix::from_fn(rows, cols, |i, j| entry(j, i))
    }
}

/// A product $A B$ of two independent complex Gaussian matrices, $A$ of $M \times K$ and $B$ of $K \times N$, each with
/// $E|\cdot|^2$ one over its number of columns: `inner` is $K$.
///
/// # Errors
/// An empty matrix.
pub fn complex_gaussian_product(
    rows: usize,
    inner: usize,
    cols: usize,
    seed: u64,
) -> Result<ComplexMatrix, ModelError> {
    let mut rng = stream(seed);
    let a = standard_complex(rows, inner, &mut rng);
    let w = a * standard_complex(inner, cols, &mut rng);
    let scale = (inner as f64 * cols as f64).sqrt().recip();
    ComplexMatrix::from_fn(rows, cols, |i, j| w[(i, j)] * scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use treeamp::math::spectrum::Spectrum;

    #[test]
    fn complex_matrices_have_the_spectrum_of_their_ensemble()
    -> Result<(), Box<dyn std::error::Error>> {
        use treeamp::catalog::channels::Linear;
        use treeamp::factor::Factor;
        use treeamp::operator::ComplexDense;
        let (m, k, n) = (240, 160, 200);
        let cases = [
            (complex_gaussian(m, n, 1)?, Spectrum::marchenko_pastur(1.2)?),
            (unitary(m, n, 1)?, Spectrum::column_orthogonal(1.2)?),
            (
                complex_gaussian_product(m, k, n, 1)?,
                Spectrum::gaussian_product(1.2, 0.8)?,
            ),
        ];
        for (i, (w, law)) in cases.into_iter().enumerate() {
            let channel = Linear::of(ComplexDense::new(w));
            let spectrum = channel.spectrum().ok_or("no spectrum")?;
            for gamma in [0.1, 1.0, 10.0] {
                let gap = spectrum.eta(gamma) - law.eta(gamma);
                // one draw of this size fluctuates by less than 1/n in a linear statistic
                assert!(gap.abs() < 1e-2, "{i}: {gap} at {gamma}");
            }
        }
        assert_eq!(unitary(4, 3, 7)?, unitary(4, 3, 7)?);
        assert_ne!(unitary(4, 3, 7)?, unitary(4, 3, 8)?);
        for empty in [complex_gaussian(0, 3, 0), unitary(3, 0, 0)] {
            assert!(empty.is_err());
        }
        Ok(())
    }

    /// Without the phases, the diagonal of $R$ would be positive and $Q$ not uniform.
    #[test]
    fn the_unitary_law_has_no_preferred_direction() -> Result<(), ModelError> {
        let traces: Vec<Complex<f64>> = (0..2000)
            .map(|seed| {
                let w = unitary(3, 3, seed)?;
                Ok(w.get(0, 0) + w.get(1, 1) + w.get(2, 2))
            })
            .collect::<Result<_, ModelError>>()?;
        // under the uniform law the trace has mean zero and E|tr|² = 1
        let mean = traces.iter().sum::<Complex<f64>>() / 2000.0;
        let square = traces.iter().map(Complex::norm_sqr).sum::<f64>() / 2000.0;
        assert!(mean.norm() < 0.1, "{mean}");
        assert!((square - 1.0).abs() < 0.15, "{square}");
        Ok(())
    }
}
