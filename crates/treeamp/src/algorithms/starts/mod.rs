//! Where a run starts: away from a symmetric point, near an estimate, or from many places at once.
//!
//! A model that does not change when all signs (or phases) do has a fixed point at which every mean is
//! zero, and a run from flat messages stays there. A seeded [`push`] leaves it; a [`spectral_estimate`] starts in the
//! right direction; [`Restarts`] tries several starts and keeps all the fixed points it finds.

mod restarts;
mod spectral;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

pub use restarts::{FixedPoint, RestartReport, Restarts, Start};
pub use spectral::spectral_estimate;

use super::ExpectationPropagation;
use crate::engine::{EdgeMessage, Initial, START_STREAM};
use crate::error::RunError;
use crate::model::{Direction, Tree};

/// First messages that lean to a random side: $b = s\,\xi/\sqrt v$ towards every variable from what it goes into, with standard normal
/// $\xi$ from the seed, and $v$ the variance of the variable before anything is known about its sign. A strength $s$ of
/// 1 is a mean as large as the variable itself.
///
/// # Errors
/// A model that cannot run, or a strength that is not positive.
///
/// ```
/// use treeamp::algorithms::push;
/// use treeamp::prelude::*;
/// // |z| of a symmetric signal: a flat start stays at the mean zero for ever
/// let w = Matrix::from_fn(60, 30, |i, j| ((7 * i + 13 * j + i * j) as f64).sin() * 0.25)?;
/// let model = (source(GaussianPrior::new(0.0, 1.0)?.iid(30)) >> var("x") >> Linear::new(w)? >> var("z")
///     >> PiecewiseLinear::abs() >> var("y")).build()?;
/// let y = model.sample(1)?;
/// let posterior = model.condition("y", y.get("y")?)?;
/// let flat = ExpectationPropagation.on(&posterior)?.run(&mut ())?;
/// assert!(flat.mean("x")?.iter().all(|r| r.abs() < 1e-9));
/// let start = push(&posterior, 0.3, 0)?;
/// let pushed = ExpectationPropagation.on(&posterior)?.initial(start).run(&mut ())?;
/// assert!(pushed.mean("x")?.iter().any(|r| r.abs() > 1e-3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn push(tree: &Tree, strength: f64, seed: u64) -> Result<Initial, RunError> {
    if !(strength > 0.0 && strength.is_finite()) {
        return Err(RunError::Option {
            option: "strength",
            expected: "positive and finite".to_owned(),
            got: strength.to_string(),
        });
    }
    let before = ExpectationPropagation
        .on(tree)?
        .max_sweeps(1)
        .acceleration(false)
        .run(&mut ())?;
    let mut messages = Vec::new();
    for (e, edge) in tree.edges().iter().enumerate() {
        if edge.direction == Direction::Forward {
            continue;
        }
        let variable = &tree.variables()[edge.variable];
        let v = before.marginal(&variable.name)?.average_variance();
        let scale = if v > 0.0 && v.is_finite() {
            strength / v.sqrt()
        } else {
            strength
        };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(START_STREAM + e as u64);
        let draw = |_| -> f64 {
            let xi: f64 = StandardNormal.sample(&mut rng);
            scale * xi
        };
        messages.push(EdgeMessage {
            factor: tree.factors()[edge.factor].name.clone(),
            variable: variable.name.clone(),
            precision: 0.0,
            linear: (0..variable.spec.len()).map(draw).collect(),
        });
    }
    Ok(Initial::Given(messages))
}

/// First messages that know a variable with this precision, $b = a\,\hat x$, from everything around it. What its prior
/// says counts from the second sweep on.
///
/// # Errors
/// An unknown variable, an estimate of another length, or a precision that is not positive.
pub fn near(
    tree: &Tree,
    variable: &str,
    estimate: &[f64],
    precision: f64,
) -> Result<Initial, RunError> {
    let node = &tree.variables()[tree.variable(variable)?];
    let option = |expected: String, got: String| RunError::Option {
        option: "initial",
        expected,
        got,
    };
    if estimate.len() != node.spec.len() {
        let expected = format!(
            "an estimate of {} numbers for `{variable}`",
            node.spec.len()
        );
        return Err(option(expected, estimate.len().to_string()));
    }
    if !(precision > 0.0 && precision.is_finite()) {
        let expected = "a positive and finite precision".to_owned();
        return Err(option(expected, precision.to_string()));
    }
    let edges = node.edges.iter().map(|e| tree.edges()[*e]);
    let messages = edges.map(|edge| EdgeMessage {
        factor: tree.factors()[edge.factor].name.clone(),
        variable: variable.to_owned(),
        precision,
        linear: estimate.iter().map(|x| precision * x).collect(),
    });
    Ok(Initial::Given(messages.collect()))
}
