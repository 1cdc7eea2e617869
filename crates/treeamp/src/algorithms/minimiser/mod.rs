//! The minimiser of a tree of convex energies, $\min_x\sum_k E_k(x_k)$.
//!
//! [`links`] turns the tree into a problem of two blocks, [`problem`] has the modes of both, [`solver`] brings them together, and
//! [`certificate`] says when a point is a minimiser.

mod acceleration;
mod balance;
pub(super) mod certificate;
mod links;
mod movement;
pub(super) mod point;
mod problem;
mod ray;
mod solver;

use crate::belief::{Gaussian, Message as _};
use crate::engine::{FallbackEnd, FallbackReport, Watch};
use crate::error::RunError;
use crate::model::{Edge, Tree};

use certificate::{Certificate, check_convex};
pub(super) use solver::Settings;
use solver::Solver;

/// Goes to a minimiser, from the messages of a run by edge, and leaves there messages that stand for it.
///
/// # Errors
/// An energy that is not convex, or a factor that fails.
pub(super) fn minimise(
    tree: &Tree,
    messages: &mut [Gaussian],
    settings: Settings,
    watch: &mut dyn Watch<Gaussian>,
) -> Result<FallbackReport, RunError> {
    check_convex(tree)?;
    // sweeps that went astray are no start
    let near = Certificate::of(tree, messages).is_ok_and(|c| c.gap < 1.0);
    if !near {
        let flat = |e: &Edge| Gaussian::flat(&tree.variables()[e.variable].spec);
        let edges = messages.iter_mut().zip(tree.edges());
        edges.for_each(|(message, e)| message.copy_from(&flat(e)));
    }
    let mut solver = Solver::new(tree, messages, settings);
    let mut end = solver.run(messages, watch)?;
    if let FallbackEnd::Limit { .. } = end
        && Certificate::of(tree, messages).is_ok_and(|c| c.holds(2.0 * settings.gap))
    {
        end = FallbackEnd::Stationary;
    }
    Ok(FallbackReport {
        method: "splitting",
        steps: solver.steps,
        evaluations: solver.evaluations(),
        residual: solver.disagreement,
        sweep_residual: None,
        free_energy: Vec::new(),
        descent: None,
        reverted: false,
        smoothing: None,
        end,
    })
}
