//! The leading eigenvector of $W^T\,\mathrm{diag}(T(y))\,W$: an estimate of a signal seen through its moduli.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::belief::Element;
use crate::engine::START_STREAM;
use crate::error::{ModelError, parameter};
use crate::operator::LinearOperator;

/// Steps of the power method.
const STEPS: usize = 600;
/// It ends when the direction turns by less than this, squared.
const STILL: f64 = 1e-12;
/// Steps that find the largest singular value well enough for a shift.
const SHIFT_STEPS: usize = 30;
/// Random vectors that tell the size of the matrix.
const PROBES: usize = 16;
/// $T$ is cut off below: very small moduli say no more than small ones.
const LEAST: f64 = -3.0;

/// An estimate of $x$ from $y = |Wx|$, real or complex, up to its sign or phase: the leading eigenvector of
/// $W^T\,\mathrm{diag}(T(y))\,W$ with $T(y) = 1 - \overline{y^2}/y^2$, which is the best there is for a matrix of independent entries, of
/// the size that the data say. It knows something from the weak recovery threshold on.
///
/// # Errors
/// Data of another length, negative or not finite, or all zero; an operator that is zero.
pub fn spectral_estimate(
    operator: &dyn LinearOperator,
    y: &[f64],
    seed: u64,
) -> Result<Vec<f64>, ModelError> {
    let (n, m) = (operator.input().len(), operator.output().len());
    let lanes = match operator.output().element {
        Element::Real => 1,
        Element::Complex => 2,
    };
    if y.len() * lanes != m {
        let expected = format!("{} moduli", m / lanes);
        return Err(parameter("spectral estimate", "y", expected, y.len()));
    }
    if let Some(bad) = y.iter().find(|y| !(**y >= 0.0 && y.is_finite())) {
        return Err(parameter(
            "spectral estimate",
            "y",
            "finite and not negative",
            bad,
        ));
    }
    // in units of the largest: squares of moduli may be out of range
    let unit = y.iter().copied().fold(0.0, f64::max);
    if unit == 0.0 {
        return Err(parameter("spectral estimate", "y", "not all zero", 0));
    }
    let power = y.iter().map(|y| (y / unit).powi(2)).sum::<f64>() / y.len() as f64;
    let weight = |y: &f64| (1.0 - power / (y / unit).powi(2)).max(LEAST);
    let weights: Vec<f64> = y.iter().map(weight).collect();
    let mut map = Weighted {
        operator,
        weights: &weights,
        lanes,
        output: vec![0.0; m],
        scratch: vec![0.0; operator.scratch_len(1)],
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(START_STREAM);
    let mut x: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
    normalise(&mut x);
    let mut next = vec![0.0; n];
    let mut largest = 0.0;
    for _ in 0..SHIFT_STEPS {
        map.apply(&x, &mut next, false);
        largest = normalise(&mut next);
        std::mem::swap(&mut x, &mut next);
    }
    if !(largest > 0.0) {
        let expected = "not zero, and finite";
        return Err(parameter(
            "spectral estimate",
            "operator",
            expected,
            largest,
        ));
    }
    // above all negative eigenvalues
    let shift = 1.1 * largest * -LEAST.max(weights.iter().copied().fold(0.0, f64::min));
    for _ in 0..STEPS {
        map.apply(&x, &mut next, true);
        next.iter_mut().zip(&x).for_each(|(y, x)| *y += shift * x);
        normalise(&mut next);
        let along: f64 = next.iter().zip(&x).map(|(x, y)| x * y).sum();
        std::mem::swap(&mut x, &mut next);
        if 1.0 - along * along < STILL {
            break;
        }
    }
    // a signal of this mean square has images of the mean square that is seen
    let mean_square = power * y.len() as f64 / map.frobenius(&mut next, &mut rng);
    let size = unit * (mean_square * n as f64).sqrt();
    x.iter_mut().for_each(|x| *x *= size);
    Ok(x)
}

/// $x \mapsto W^T\,\mathrm{diag}(T)\,W x$.
struct Weighted<'a> {
    operator: &'a dyn LinearOperator,
    weights: &'a [f64],
    lanes: usize,
    output: Vec<f64>,
    scratch: Vec<f64>,
}

impl Weighted<'_> {
    fn apply(&mut self, x: &[f64], out: &mut [f64], weighted: bool) {
        self.operator.apply(x, &mut self.output, &mut self.scratch);
        if weighted {
            for (z, t) in self.output.chunks_mut(self.lanes).zip(self.weights) {
                z.iter_mut().for_each(|z| *z *= t);
            }
        }
        self.operator.adjoint(&self.output, out, &mut self.scratch);
    }

    /// $\|W\|_F^2$, from random vectors.
    fn frobenius(&mut self, x: &mut [f64], rng: &mut ChaCha8Rng) -> f64 {
        let mut sum = 0.0;
        for _ in 0..PROBES {
            x.iter_mut().for_each(|x| *x = StandardNormal.sample(rng));
            self.operator.apply(x, &mut self.output, &mut self.scratch);
            sum += self.output.iter().map(|z| z * z).sum::<f64>();
        }
        sum / PROBES as f64
    }
}

/// Makes it a unit vector, and returns its length.
fn normalise(x: &mut [f64]) -> f64 {
    let size = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    if size > 0.0 {
        x.iter_mut().for_each(|x| *x /= size);
    }
    size
}
