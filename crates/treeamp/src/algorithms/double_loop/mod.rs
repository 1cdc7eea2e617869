//! The double loop of Heskes and Zoeter (expectation consistency of Opper and Winther): a minimisation of the
//! same Bethe free energy that a fixed point of expectation propagation makes stationary.
//!
//! With $n_x$ factors at variable $x$, $F = \sum_f \mathrm{KL}(q_f\|f) + \sum_x (n_x - 1)\,H(q_x)$. The entropies are
//! concave: their tangents at beliefs $\theta_x$ bound $F$ from above by a convex problem, whose dual is
//!
//! $$F(\theta) = \max_\lambda\; -\sum_f A_f[\lambda_f] + \sum_x (n_x - 1) A_x[\theta_x], \qquad
//! \sum_{f\ni x} \lambda_{fx} = (n_x - 1)\,\theta_x .$$
//!
//! Inner loop: $\lambda$, by a quasi-Newton ascent of the concave dual, until all factors agree on the moments of
//! every variable. Outer loop: $\theta_x$ becomes the belief with those moments, and $F$ never increases. A
//! stationary point is a fixed point of expectation propagation with messages $\theta_x - \lambda_{fx}$.

mod inner;

use crate::belief::Gaussian;
use crate::engine::{DoubleLoop, DoubleLoopEnd, Options};
use crate::error::RunError;
use crate::model::Tree;
use inner::{Ascent, Dual};

/// Outer steps after which it gives up.
const OUTER_LIMIT: usize = 1000;
/// Evaluations of all moments after which it gives up, about as many sweeps.
const EVALUATION_LIMIT: usize = 10_000;
/// An inner loop solves its problem to this fraction of the last outer change.
const INNER_FRACTION: f64 = 0.1;
/// Growth of the outer step while the free energy falls.
const OUTER_GROWTH: f64 = 1.5;
/// Rounding of the free energy, relative to the log-partitions it is made of.
const ROUNDING: f64 = 1e-12;
/// A variance below this fraction of the second moment has vanished. If all have, the signal is recovered;
/// if some have and $F$ falls by more than a nat in five steps, it falls like $\frac n2\ln v$, without bound.
const VANISHED: f64 = 1e-13;
const FALL_STEPS: usize = 5;
const FALL: f64 = 1.0;

/// Minimises the Bethe free energy from the messages of a run, by edge, and leaves there those of the
/// stationary point.
///
/// # Errors
/// A factor that cannot compute its log-partition.
pub(super) fn double_loop(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
) -> Result<DoubleLoop, RunError> {
    let mut dual = Dual::new(tree, messages)?;
    let mut ascent = Ascent::new(dual.dimension());
    let mut out = DoubleLoop {
        outer_steps: 0,
        evaluations: 0,
        residual: f64::INFINITY,
        free_energy: Vec::with_capacity(OUTER_LIMIT),
        end: DoubleLoopEnd::Limit,
    };
    let (mut change, mut reach, mut energy) = (0.1, 1.0, f64::INFINITY);
    let mut kept = dual.clone();
    for step in 1..=OUTER_LIMIT {
        let goal = (INNER_FRACTION * change).max(0.1 * options.tolerance);
        let mismatch = ascent.maximise(&mut dual, goal);
        let now = dual.free_energy()?;
        if now > energy + ROUNDING * dual.scale() && reach > 1.0 {
            // the longer step was too long: the plain one cannot be
            dual.clone_from(&kept);
            reach = 1.0;
        } else {
            reach *= OUTER_GROWTH;
            energy = energy.min(now);
            kept.clone_from(&dual);
            out.free_energy.push(now);
        }
        change = dual.outer_step(reach)?;
        out.outer_steps = step;
        out.evaluations = dual.evaluations;
        out.residual = change.max(mismatch);
        let earlier = out.free_energy.iter().rev().nth(FALL_STEPS);
        let falls = earlier.is_some_and(|f| f - now > FALL);
        if let Some(end) = dual.vanishing(VANISHED, falls) {
            out.end = end;
            break;
        }
        if dual.evaluations > EVALUATION_LIMIT {
            break;
        }
        if out.residual < options.tolerance {
            out.end = DoubleLoopEnd::Stationary;
            break;
        }
    }
    dual.messages_into(messages);
    Ok(out)
}
