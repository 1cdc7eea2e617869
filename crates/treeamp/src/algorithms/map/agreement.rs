//! Whether the energy of a minimiser is the Bethe objective of the messages that found it: at a fixed point both are the least
//! energy, and off it they differ to first order where the energy has corners, and by $\|Wx - y\|^2/2\Delta$ where there is
//! hardly any noise. Where the least energy is zero, what is left of it is the rounding of places, and is compared with that.

use super::MaximumAPosteriori;
use super::solution::{Solution, placed};
use crate::belief::Gaussian;
use crate::engine::Algorithm as _;
use crate::engine::graph::Graph;
use crate::error::{FactorError, RunError};
use crate::factor::Incoming;
use crate::model::Tree;

/// They agree when they differ by less than this fraction of the sum of all energies.
pub(super) const AGREEMENT: f64 = 5e-9;
/// A run that is said to have converged has its objective to this fraction.
const PROMISED: f64 = 1e-8;
/// Places are known to this fraction of their scale at best: the residual at which the splitting has nothing left to do.
const ROUNDING: f64 = 1e-13;

/// The solution of messages by edge.
pub(super) fn solution_of(tree: &Tree, messages: &[Gaussian]) -> Result<Solution, RunError> {
    let beliefs = Graph::new(tree, messages).places();
    placed(tree, &messages.iter().collect::<Vec<_>>(), &beliefs)
}

/// The energy of the solution is the objective. An infeasible one agrees with nothing.
pub(super) fn energies_agree(tree: &Tree, messages: &[Gaussian]) -> bool {
    energy_gap(tree, messages) <= AGREEMENT
}

/// What is left to say of a run at rest whose energy is not the objective to the accuracy that is promised.
pub(super) fn disagreement(tree: &Tree, messages: &[Gaussian]) -> Option<RunError> {
    let gap = energy_gap(tree, messages);
    (!(gap <= PROMISED)).then(|| RunError::NotReached {
        what: "a minimiser".to_owned(),
        termination: format!(
            "messages are at rest, but the energy where they have it differs from their objective by {gap:.1e} of the energies"
        ),
    })
}

/// How far the energy of the solution is from the objective, as a fraction of the sum of all energies, to which the rounding of
/// places adds what would just agree; infinite where it is not feasible.
pub(super) fn energy_gap(tree: &Tree, messages: &[Gaussian]) -> f64 {
    let (Ok(solution), Ok(least)) = (solution_of(tree, messages), least_energy(tree, messages))
    else {
        return f64::INFINITY;
    };
    let scale: f64 = solution.energies.iter().map(|(_, e)| e.abs()).sum();
    let gap = (solution.energy() - least).abs();
    let rounding = solution.change_of_energies(tree, ROUNDING);
    // both are zero where all energies are
    if gap == 0.0 {
        0.0
    } else {
        gap / (scale + rounding / AGREEMENT)
    }
}

/// $-A = -\sum_f A_f - \sum_x A_x + \sum_{(f,x)} A_x$, summed from excesses.
fn least_energy(tree: &Tree, messages: &[Gaussian]) -> Result<f64, FactorError> {
    let mut total = 0.0;
    for (f, node) in tree.factors().iter().enumerate() {
        let mut site = Graph::new(tree, messages).site(f);
        total -= site.envelope()?.1;
        for (e, cavity) in node.edges.iter().zip(site.messages) {
            let variable = tree.variable_at(*e);
            let both = [messages[*e].clone(), cavity];
            let mut scratch = Gaussian::flat(&variable.spec);
            let incoming = Incoming::new(&both, &[0, 1]);
            let potential = MaximumAPosteriori.variable_potential(variable, incoming, &mut scratch);
            total += potential.excess;
        }
    }
    for variable in tree.variables() {
        let mut scratch = Gaussian::flat(&variable.spec);
        let incoming = Incoming::new(messages, &variable.edges);
        total -= MaximumAPosteriori
            .variable_potential(variable, incoming, &mut scratch)
            .excess;
    }
    Ok(total)
}
