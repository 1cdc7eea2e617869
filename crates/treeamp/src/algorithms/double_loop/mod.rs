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

mod ascent;
mod inner;

use std::ops::ControlFlow;

use crate::belief::{Gaussian, Structure};
use crate::engine::{FallbackEnd, FallbackReport, Options, Watch};
use crate::error::RunError;
use crate::model::{Tree, Variable};
use ascent::Ascent;
use inner::Dual;

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
/// A variance below this fraction of the second moment has vanished. If all have, the signal is recovered.
const VANISHED: f64 = 1e-13;
/// If some have, and the free energy has since fallen by this many nats, it falls without bound,
/// like $\frac n2\ln v$: that of a discrete signal is flat by then.
const FALL: f64 = 1.0;
/// The fall is counted after this many steps: recovery itself is a fall.
const SETTLING: usize = 5;

/// Minimises the Bethe free energy from the messages of a run, by edge, and leaves there those of the
/// stationary point.
///
/// # Errors
/// A factor that cannot compute its log-partition.
pub(super) fn double_loop(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
) -> Result<FallbackReport, RunError> {
    let structured = |v: &&Variable| v.spec.structure != Structure::Isotropic;
    if let Some(v) = tree.variables().iter().find(structured) {
        return Err(RunError::NotDefined {
            what: "a double loop".to_owned(),
            why: format!(
                "variable `{}` has {} beliefs, expected isotropic ones",
                v.name, v.spec.structure
            ),
        });
    }
    let mut dual = Dual::new(tree, messages)?;
    let mut ascent = Ascent::new(dual.dimension());
    let mut out = FallbackReport {
        method: "double loop",
        steps: 0,
        evaluations: 0,
        residual: f64::INFINITY,
        free_energy: Vec::with_capacity(OUTER_LIMIT),
        end: FallbackEnd::Limit,
    };
    let (mut change, mut reach, mut energy) = (0.1, 1.0, f64::INFINITY);
    // steps since a variance vanished, and the free energy once that had settled
    let (mut since, mut high) = (0, f64::INFINITY);
    let mut kept = dual.clone();
    for step in 1..=OUTER_LIMIT {
        let goal = (INNER_FRACTION * change).max(0.1 * options.tolerance);
        let mismatch = ascent.maximise(&mut dual, goal);
        let now = dual.free_energy()?;
        if now > energy + ROUNDING * dual.scale() && reach > 1.0 {
            // the longer step was too long: the plain one cannot be
            let spent = dual.evaluations;
            dual.clone_from(&kept);
            dual.evaluations = spent;
            reach = 1.0;
        } else {
            reach *= OUTER_GROWTH;
            energy = energy.min(now);
            kept.clone_from(&dual);
            out.free_energy.push(now);
        }
        change = dual.outer_step(reach)?;
        out.steps = step;
        out.evaluations = dual.evaluations;
        out.residual = change.max(mismatch);
        dual.messages_into(messages);
        if let ControlFlow::Break(reason) = watch.after_step(messages, out.residual) {
            out.end = FallbackEnd::Stopped(reason);
            break;
        }
        let vanished = dual.vanished(VANISHED);
        since = if vanished.is_some() { since + 1 } else { 0 };
        if since <= SETTLING {
            high = now;
        }
        match vanished {
            Some((_, true)) => {
                out.end = FallbackEnd::Recovered;
                break;
            }
            Some((variable, false)) if high - now > FALL => {
                let variable = variable.to_owned();
                out.end = FallbackEnd::Unbounded { variable };
                break;
            }
            _ => {}
        }
        if dual.evaluations > EVALUATION_LIMIT {
            break;
        }
        if out.residual < options.tolerance {
            out.end = FallbackEnd::Stationary;
            break;
        }
    }
    Ok(out)
}
