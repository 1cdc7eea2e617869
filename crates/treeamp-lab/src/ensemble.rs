//! Random matrices. Any integer is a seed; the stream is apart from those of
//! [`Tree::sample`](treeamp::model::Tree::sample), so one seed can serve for both.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::error::ModelError;
use treeamp::math::matrix::Matrix;

/// The stream of the matrices: far from those of a model's factors, which count from zero.
const STREAM: u64 = u64::MAX;

/// Independent Gaussian entries of mean zero and variance $1/N$, $N$ the number of columns: then
/// $W x$ has the scale of $x$.
///
/// # Errors
/// An empty matrix.
///
/// ```
/// let w = treeamp_lab::ensemble::gaussian(200, 400, 0)?;
/// assert!((w.square_norm() / 200.0 - 1.0).abs() < 0.05);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn gaussian(rows: usize, cols: usize, seed: u64) -> Result<Matrix, ModelError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    let scale = (cols as f64).sqrt().recip();
    Matrix::from_fn(rows, cols, |_, _| {
        let xi: f64 = StandardNormal.sample(&mut rng);
        scale * xi
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides() -> Result<(), ModelError> {
        assert_eq!(gaussian(3, 4, 7)?, gaussian(3, 4, 7)?);
        assert_ne!(gaussian(3, 4, 7)?, gaussian(3, 4, 8)?);
        assert!(gaussian(0, 4, 0).is_err());
        Ok(())
    }
}
