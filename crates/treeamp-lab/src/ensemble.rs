//! Random matrices. Any integer is a seed; the stream is apart from those of
//! [`Tree::sample`](treeamp::model::Tree::sample), so one seed can serve for both.

mod complex;

use faer::Mat;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use treeamp::error::ModelError;
use treeamp::math::matrix::Matrix;

pub use complex::{complex_gaussian, complex_gaussian_product, unitary};

/// The stream of the matrices: far from those of a model's factors, which count from zero.
const STREAM: u64 = u64::MAX;
/// Probabilities sum to one up to this.
const ROUNDING: f64 = 1e-9;
/// A variance below this is that of a constant.
const CONSTANT: f64 = 1e-12;

fn stream(seed: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    rng
}

fn standard(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    Mat::from_fn(rows, cols, |_, _| StandardNormal.sample(rng))
}

fn refuse(
    module: &str,
    name: &'static str,
    expected: &str,
    got: impl std::fmt::Display,
) -> ModelError {
    ModelError::Parameter {
        module: module.to_owned(),
        name,
        expected: expected.to_owned(),
        got: got.to_string(),
    }
}

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
    let mut rng = stream(seed);
    let scale = (cols as f64).sqrt().recip();
    Matrix::from_fn(rows, cols, |_, _| {
        let xi: f64 = StandardNormal.sample(&mut rng);
        scale * xi
    })
}

/// Independent signs, $\pm 1/\sqrt N$ with equal probabilities, $N$ the number of columns.
///
/// # Errors
/// An empty matrix.
///
/// ```
/// let w = treeamp_lab::ensemble::binary(2, 4, 0)?;
/// assert_eq!(w.get(1, 3).abs(), 0.5);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn binary(rows: usize, cols: usize, seed: u64) -> Result<Matrix, ModelError> {
    let mut rng = stream(seed);
    let size = (cols as f64).sqrt().recip();
    Matrix::from_fn(rows, cols, |_, _| {
        let up: bool = StandardUniform.sample(&mut rng);
        if up { size } else { -size }
    })
}

/// Independent entries $-c$, $0$ and $c$ with the given probabilities, in this order. The scale is
/// $c = 1/\sqrt{N (p_- + p_+ - (p_+ - p_-)^2)}$, $N$ the number of columns, so that the variance is
/// $1/N$. With $p_- \ne p_+$ the entries have a mean, which adds one large singular value to the bulk.
///
/// # Errors
/// An empty matrix; probabilities that are negative, do not sum to one, or leave no randomness.
///
/// ```
/// let w = treeamp_lab::ensemble::ternary(100, 200, [0.1, 0.8, 0.1], 0)?;
/// assert!((w.square_norm() / 100.0 - 1.0).abs() < 0.1);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn ternary(
    rows: usize,
    cols: usize,
    probabilities: [f64; 3],
    seed: u64,
) -> Result<Matrix, ModelError> {
    let [minus, zero, plus] = probabilities;
    let proper = probabilities.iter().all(|p| (0.0..=1.0).contains(p))
        && (minus + zero + plus - 1.0).abs() <= ROUNDING;
    if !proper {
        let got = format!("{probabilities:?}");
        let expected = "three numbers from 0 to 1 that sum to 1";
        return Err(refuse("ternary matrix", "probabilities", expected, got));
    }
    let variance = minus + plus - (plus - minus).powi(2);
    if !(variance > CONSTANT) {
        let got = format!("{probabilities:?}");
        let expected = "such that the entries vary";
        return Err(refuse("ternary matrix", "probabilities", expected, got));
    }
    let mut rng = stream(seed);
    let size = (cols as f64 * variance).sqrt().recip();
    Matrix::from_fn(rows, cols, |_, _| {
        let u: f64 = StandardUniform.sample(&mut rng);
        if u < minus {
            -size
        } else if u < minus + plus {
            size
        } else {
            0.0
        }
    })
}

/// Uniform among the matrices with orthonormal rows, $W W^T = I_M$, when there are at most as many
/// rows as columns; otherwise among those with orthonormal columns, $W^T W = I_N$.
///
/// $Q$ of the decomposition $Q R$ of a Gaussian matrix, its columns signed so that the diagonal of $R$
/// is positive: without the signs the law is not uniform (Haar).
///
/// # Errors
/// An empty matrix.
///
/// ```
/// let w = treeamp_lab::ensemble::orthogonal(3, 5, 0)?;
/// let dot = |i, k| (0..5).map(|j| w.get(i, j) * w.get(k, j)).sum::<f64>();
/// assert!((dot(0, 0) - 1.0).abs() < 1e-12 && dot(0, 1).abs() < 1e-12);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn orthogonal(rows: usize, cols: usize, seed: u64) -> Result<Matrix, ModelError> {
    let (tall, wide) = (rows.max(cols), rows.min(cols));
    if wide == 0 {
        // the matrix says what is wrong with its shape
        return Matrix::from_fn(rows, cols, |_, _| 0.0);
    }
    let qr = standard(tall, wide, &mut stream(seed)).qr();
    let (q, r) = (qr.compute_thin_Q(), qr.thin_R());
    let entry = |i: usize, j: usize| {
        if r[(j, j)] < 0.0 {
            -q[(i, j)]
        } else {
            q[(i, j)]
        }
    };
    if rows >= cols {
        Matrix::from_fn(rows, cols, entry)
    } else {
        Matrix::from_fn(rows, cols, |i, j| entry(j, i))
    }
}

/// Random features: a non-linearity of a product of two Gaussian matrices,
/// $$W_{ij} = \frac{f(u_{ij}) - \mu}{\sigma\sqrt N},\qquad u = \frac{1}{\sqrt N} G H,$$
/// with $G$ of $M \times N$ and $H$ of $N \times N$ standard Gaussian entries. Each $u_{ij}$ is close to a
/// standard Gaussian, so with $\mu$ and $\sigma^2$ the mean and the variance of $f(\xi)$,
/// $\xi \sim \mathcal N(0, 1)$, the entries have mean zero and variance $1/N$. They are not independent
/// unless $f$ is orthogonal to the linear functions, and the spectrum is not that of [`gaussian`].
///
/// # Errors
/// An empty matrix; a function that is constant, or not finite.
///
/// ```
/// let w = treeamp_lab::ensemble::random_features(100, 200, |u| u.max(0.0), 0)?;
/// assert!((w.square_norm() / 100.0 - 1.0).abs() < 0.1);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn random_features(
    rows: usize,
    cols: usize,
    f: impl Fn(f64) -> f64,
    seed: u64,
) -> Result<Matrix, ModelError> {
    let (mean, variance) = gaussian_moments(&f);
    if !(mean.is_finite() && variance.is_finite()) {
        let got = format!("mean {mean} and variance {variance}");
        let expected = "finite on the Gaussian";
        return Err(refuse("random features", "f", expected, got));
    }
    if !(variance > CONSTANT * mean.powi(2).max(f64::MIN_POSITIVE)) {
        let got = format!("the constant {mean}");
        return Err(refuse("random features", "f", "not constant", got));
    }
    let mut rng = stream(seed);
    let g = standard(rows, cols, &mut rng);
    let u = g * standard(cols, cols, &mut rng);
    let root = (cols as f64).sqrt();
    let scale = (variance.sqrt() * root).recip();
    Matrix::from_fn(rows, cols, |i, j| scale * (f(u[(i, j)] / root) - mean))
}

/// Mean and variance of $f(\xi)$, $\xi$ standard Gaussian, by the midpoint rule: exponentially accurate for
/// smooth functions, and exact about a kink or jump at zero.
fn gaussian_moments(f: impl Fn(f64) -> f64) -> (f64, f64) {
    const CELLS: u32 = 4000;
    const REACH: f64 = 10.0;
    let cell = 2.0 * REACH / f64::from(CELLS);
    let nodes: Vec<(f64, f64)> = (0..CELLS)
        .map(|k| {
            let x = (f64::from(k) + 0.5) * cell - REACH;
            ((-0.5 * x * x).exp(), f(x))
        })
        .collect();
    let total: f64 = nodes.iter().map(|n| n.0).sum();
    let mean = nodes.iter().map(|(w, y)| w * y).sum::<f64>() / total;
    let square = nodes.iter().map(|(w, y)| w * (y - mean).powi(2));
    (mean, square.sum::<f64>() / total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use treeamp::error::FactorError;
    use treeamp::math::spectrum::Spectrum;

    type Sampler = fn(usize, usize, u64) -> Result<Matrix, ModelError>;

    const ALL: [(&str, Sampler); 5] = [
        ("gaussian", gaussian),
        ("binary", binary),
        ("ternary", |m, n, s| ternary(m, n, [0.2, 0.6, 0.2], s)),
        ("orthogonal", orthogonal),
        ("features", |m, n, s| random_features(m, n, f64::tanh, s)),
    ];

    #[test]
    fn the_seed_decides() -> Result<(), ModelError> {
        for (name, draw) in ALL {
            assert_eq!(draw(5, 7, 7)?, draw(5, 7, 7)?, "{name}");
            assert_ne!(draw(5, 7, 7)?, draw(5, 7, 8)?, "{name}");
        }
        Ok(())
    }

    #[test]
    fn empty_matrices_are_refused() {
        for (name, draw) in ALL {
            for (m, n) in [(0, 4), (4, 0), (0, 0)] {
                let said = draw(m, n, 0).map_or_else(|e| e.to_string(), |_| String::new());
                assert!(said.contains(&format!("{m} x {n}")), "{name}: {said}");
            }
        }
    }

    /// Mean and mean square of the entries, in units of $1/\sqrt N$ and $1/N$.
    fn moments(w: &Matrix) -> (f64, f64) {
        let (m, n) = (w.rows() as f64, w.cols() as f64);
        let all = (0..w.rows()).flat_map(|i| (0..w.cols()).map(move |j| (i, j)));
        let mean = all.map(|(i, j)| w.get(i, j)).sum::<f64>() / (m * n.sqrt());
        (mean, w.square_norm() / m)
    }

    #[test]
    fn moments_are_those_promised() -> Result<(), ModelError> {
        // the rows of an orthogonal matrix, and of independent entries: both have norm one
        for (name, draw) in ALL {
            let (mean, square) = moments(&draw(300, 600, 3)?);
            assert!(mean.abs() < 0.02, "{name}: {mean}");
            assert!((square - 1.0).abs() < 0.02, "{name}: {square}");
        }
        let w = ternary(300, 600, [0.1, 0.3, 0.6], 3)?;
        let (mean, square) = moments(&w);
        let variance: f64 = 0.7 - 0.25;
        assert!((mean - 0.5 / variance.sqrt()).abs() < 0.02, "{mean}");
        assert!((square - mean * mean - 1.0).abs() < 0.02, "{square}");
        let relu = random_features(300, 600, |u| u.max(0.0), 3)?;
        let (mean, square) = moments(&relu);
        assert!(
            mean.abs() < 0.02 && (square - 1.0).abs() < 0.02,
            "{mean} {square}"
        );
        Ok(())
    }

    #[test]
    fn independent_entries_have_the_marchenko_pastur_spectrum()
    -> Result<(), Box<dyn std::error::Error>> {
        let law = Spectrum::marchenko_pastur(0.5)?;
        for (name, draw) in &ALL[..3] {
            let spectrum = Spectrum::of(&draw(300, 600, 1)?)?;
            for gamma in [0.1, 1.0, 10.0, 100.0] {
                let gap = spectrum.eta(gamma) - law.eta(gamma);
                assert!(gap.abs() < 1e-2, "{name}: {gap} at {gamma}");
            }
        }
        Ok(())
    }

    #[test]
    fn rows_or_columns_are_orthonormal() -> Result<(), ModelError> {
        for (m, n) in [(40, 90), (90, 40), (50, 50), (1, 7), (7, 1)] {
            let w = orthogonal(m, n, 5)?;
            let view = w.view();
            let gram = if m <= n {
                view * view.transpose()
            } else {
                view.transpose() * view
            };
            for i in 0..m.min(n) {
                for j in 0..m.min(n) {
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((gram[(i, j)] - expected).abs() < 1e-10, "{m} x {n}");
                }
            }
        }
        Ok(())
    }

    /// Without the signs, Householder reflections leave the first entry negative or positive always.
    #[test]
    fn the_orthogonal_law_has_no_preferred_direction() -> Result<(), ModelError> {
        let mut traces = Vec::new();
        for seed in 0..2000 {
            let w = orthogonal(3, 3, seed)?;
            traces.push(w.get(0, 0) + w.get(1, 1) + w.get(2, 2));
        }
        // under the uniform law the trace has mean zero and variance one
        let mean = traces.iter().sum::<f64>() / 2000.0;
        let square = traces.iter().map(|t| t * t).sum::<f64>() / 2000.0;
        assert!(mean.abs() < 0.1, "{mean}");
        assert!((square - 1.0).abs() < 0.15, "{square}");
        Ok(())
    }

    #[test]
    fn linear_features_are_a_product_of_gaussians() -> Result<(), Box<dyn std::error::Error>> {
        // the fourth moment of a product of two square Gaussian matrices is 3, of one it is 2
        let fourth =
            |w: &Matrix| -> Result<f64, FactorError> { Ok(Spectrum::of(w)?.expect(|x| x * x)) };
        let one = fourth(&gaussian(300, 300, 2)?)?;
        let two = fourth(&random_features(300, 300, |u| u, 2)?)?;
        assert!((one - 2.0).abs() < 0.1, "{one}");
        assert!((two - 3.0).abs() < 0.15, "{two}");
        // an even function has no linear part: as if the entries were independent
        let even = fourth(&random_features(300, 300, |u| u * u, 2)?)?;
        assert!(even < 2.5, "{even}");
        Ok(())
    }

    #[test]
    fn bad_parameters_are_refused() {
        for p in [
            [0.5, 0.5, 0.5],
            [-0.1, 0.6, 0.5],
            [f64::NAN, 0.5, 0.5],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0],
        ] {
            let said = ternary(2, 2, p, 0).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(said.contains("`probabilities`"), "{p:?}: {said}");
        }
        let bad: [fn(f64) -> f64; 4] = [|_| 1.0, |_| 0.0, |_| f64::NAN, f64::sqrt];
        for f in bad {
            let said =
                random_features(2, 2, f, 0).map_or_else(|e| e.to_string(), |_| String::new());
            assert!(said.contains("`f`"), "{said}");
        }
    }
}
