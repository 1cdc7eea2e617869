//! The adjoint dot test $\langle W z, x\rangle = \langle z, W^T x\rangle$.
//!
//! Of vectors $z \in R^n$, $x \in R^m$ of independent normal entries. A product that is summed in floats of unit $\epsilon$ is off by an error
//! $e$ of norm $\sqrt n\,\epsilon\|W z\|$: the roundings of its $n$ terms add up as a random walk. That error knows nothing of $x$, so
//! $\langle e, x\rangle$ is normal with this standard deviation, and likewise on the other side.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::LinearOperator;
use crate::error::ModelError;

/// How far the two sides may be apart in 64 bits, relative to the norms of their vectors.
const TOLERANCE: f64 = 1e-9;
/// Standard deviations of rounding that are let through: a normal number is beyond with probability 1e-15.
const DEVIATIONS: f64 = 8.0;
/// Pairs of random vectors: a wrong entry hides from one pair with probability zero, a branch of the
/// user's code might.
const PAIRS: usize = 3;

/// Runs the dot test on seeded normal vectors. Where it fails on an operator that is made of others, it is
/// run on those, to name the one that is wrong.
///
/// # Errors
/// [`ModelError::Adjoint`] with both sides when they differ, or when one is NaN; [`ModelError::Overflow`] when a
/// product is infinite.
pub fn dot_test(operator: &dyn LinearOperator, seed: u64) -> Result<(), ModelError> {
    // one pair at a time: all at once would hold more arrays than a run
    let Err(error) = tested(operator, seed, 1) else {
        return Ok(());
    };
    for (i, part) in operator.parts().iter().enumerate() {
        dot_test(part.as_ref(), seed).map_err(|e| inside(e, operator.name(), i + 1))?;
    }
    Err(error)
}

/// The error of a part, under the name of the whole.
fn inside(error: ModelError, whole: &str, number: usize) -> ModelError {
    let named = |part: String| format!("{whole}, part {number}: {part}");
    match error {
        ModelError::Adjoint {
            operator,
            forward,
            backward,
        } => ModelError::Adjoint {
            operator: named(operator),
            forward,
            backward,
        },
        ModelError::Overflow { operator } => ModelError::Overflow {
            operator: named(operator),
        },
        other => other,
    }
}

/// The same for an operator that multiplies several vectors in one pass over its entries: all pairs at once.
pub(super) fn dot_test_at_once(operator: &dyn LinearOperator, seed: u64) -> Result<(), ModelError> {
    tested(operator, seed, PAIRS)
}

fn tested(operator: &dyn LinearOperator, seed: u64, at_once: usize) -> Result<(), ModelError> {
    let (n, m) = (operator.input().len(), operator.output().len());
    let mut scratch = vec![0.0; operator.scratch_len(1)];
    let (mut forward, mut backward) = (vec![0.0; at_once * m], vec![0.0; at_once * n]);
    for first in (0..PAIRS).step_by(at_once) {
        let (mut z, mut x) = (Vec::new(), Vec::new());
        for pair in first..first + at_once {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(pair as u64);
            z.extend((0..n).map(|_| -> f64 { StandardNormal.sample(&mut rng) }));
            x.extend((0..m).map(|_| -> f64 { StandardNormal.sample(&mut rng) }));
        }
        operator.apply_to_each(&z, &mut forward, &mut scratch);
        operator.adjoint_of_each(&x, &mut backward, &mut scratch);
        let products = forward
            .chunks_exact_mut(m)
            .zip(backward.chunks_exact_mut(n));
        let vectors = z.chunks_exact(n).zip(x.chunks_exact(m));
        for (vectors, products) in vectors.zip(products) {
            agree(operator.name(), vectors, products)?;
        }
    }
    Ok(())
}

/// One pair of vectors and their products, which are rescaled.
fn agree(
    name: &str,
    (z, x): (&[f64], &[f64]),
    (forward, backward): (&mut [f64], &mut [f64]),
) -> Result<(), ModelError> {
    let units = [unit_of(forward), unit_of(backward)];
    // entries of 1e200 have no squares: both sides in units of the largest entry
    let unit = largest(forward).max(largest(backward));
    if unit == f64::INFINITY {
        let operator = name.to_owned();
        return Err(ModelError::Overflow { operator });
    }
    if unit > 0.0 {
        let both = forward.iter_mut().chain(&mut *backward);
        both.for_each(|p| *p /= unit);
    }
    let (left, right) = (dot(forward, x), dot(z, backward));
    let norms = [norm(forward), norm(backward)];
    let scale = norms[0] * norm(x) + norm(z) * norms[1];
    let rounding = (rounding_of(z.len(), units[0]) * norms[0])
        .hypot(rounding_of(x.len(), units[1]) * norms[1]);
    if !((left - right).abs() <= TOLERANCE * scale + DEVIATIONS * rounding) {
        return Err(ModelError::Adjoint {
            operator: name.to_owned(),
            forward: unit * left,
            backward: unit * right,
        });
    }
    Ok(())
}

/// The relative error $\sqrt n\,\epsilon$ of a sum of $n$ terms.
fn rounding_of(terms: usize, unit: f64) -> f64 {
    (terms as f64).sqrt() * unit
}

/// The unit $\epsilon$ of the floats that an operator computes in: that of 32 bits where its products all are such numbers.
fn unit_of(products: &[f64]) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the question is whether it loses something"
    )]
    let is_single = |x: &f64| f64::from(*x as f32).to_bits() == x.to_bits();
    if products.iter().all(is_single) {
        return f64::from(f32::EPSILON);
    }
    f64::EPSILON
}

/// $\langle x, y\rangle$ in eight sums at once, which the processor can add side by side.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (x_rest, y_rest) = (
        x.chunks_exact(LANES).remainder(),
        y.chunks_exact(LANES).remainder(),
    );
    for (x, y) in x.chunks_exact(LANES).zip(y.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

/// The largest $|x_i|$ of those that are numbers.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| x.abs().max(m))
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}
