//! What a state at rest is, for means and for modes. It is decided here and nowhere else, from top to bottom.

mod contradiction;
mod optimality;

use super::expectation_propagation::ExpectationPropagation;
use super::map::{MaximumAPosteriori, pins};
use super::minimiser::certificate::{Certificate, ENERGY, check_convex};
use super::penalties::penalties;
use crate::engine::{
    Contradiction, ContradictionKind, EvidenceLimit, KNOWN, PLAIN, Probe, Verdict,
};
use crate::error::RunError;
use contradiction::contradicting_factor;
use optimality::not_optimal;

/// Of expectation propagation: plain sweeps must not lead away, as from a variance that the residual hardly sees; a channel by approximate message
/// passing must have the variances of its exact route; no factor may contradict a signal that is as good as known; the means beside a penalty
/// must be optimal for it, where precisions have grown and nothing moves any more; and the evidence must have a limit.
///
/// # Errors
/// A factor that fails for good.
pub(super) fn of_means(
    probe: &mut Probe<'_, '_, ExpectationPropagation>,
) -> Result<Verdict, RunError> {
    if !probe.stays_in_plain_sweeps() {
        return Ok(Verdict::NotStationary {
            moving: true,
            why: format!("{PLAIN} plain sweeps lead away from it"),
        });
    }
    if let Some((factor, why)) = probe.route_objection()? {
        return Ok(Verdict::NotIid { factor, why });
    }
    if probe.is_known(KNOWN)
        && let Some(found) = contradicting_factor(probe.tree(), probe.marginals())
    {
        return Ok(Verdict::Contradicted(found));
    }
    if let Some(why) = not_optimal(probe.tree(), probe.messages()) {
        return Ok(Verdict::NotStationary { moving: false, why });
    }
    Ok(of_evidence(probe))
}

/// The density of noisy or discrete outputs is bounded, and so is the evidence: an objective that is not tells that a variance has collapsed. That of
/// outputs without noise may be infinite, and a penalty has none.
fn of_evidence(probe: &mut Probe<'_, '_, ExpectationPropagation>) -> Verdict {
    let (tree, settled, sharpest) = (probe.tree(), probe.settled(), probe.sharpest_variable());
    let bounded = !probe.has_unbounded_density() && penalties(tree).next().is_none();
    let evidence = probe.evidence();
    if bounded {
        let collapsed = |variable: &str, why: &str| Verdict::collapsed(tree, variable, why);
        match &evidence.limit {
            EvidenceLimit::DependsOnWidth { variable, why } => return collapsed(variable, why),
            EvidenceLimit::Diverging { why } if settled == Verdict::Settled => {
                return collapsed(sharpest, why);
            }
            EvidenceLimit::Infinite => {
                let why = "the objective is infinite, and the density of the outputs is not";
                return collapsed(sharpest, why);
            }
            _ => {}
        }
    }
    let objective = evidence.objective.as_ref().ok();
    let excluding = objective.and_then(|o| o.excluding_factor());
    excluding.map_or(settled, |factor| {
        Verdict::Contradicted(Contradiction {
            factor: factor.to_owned(),
            kind: ContradictionKind::Excluded,
        })
    })
}

/// Of modes: the certificate of a minimiser must hold. Where the minimiser may still take over it must hold with some margin, and no penalty without an
/// active coordinate may have pinned its variable, for messages to a pin no longer count.
pub(super) fn of_modes(probe: &Probe<'_, '_, MaximumAPosteriori>) -> Verdict {
    let (tree, messages, gap) = (probe.tree(), probe.messages(), probe.options().gap);
    let certificate = Certificate::of(tree, messages).ok();
    if !probe.may_fall_back() || check_convex(tree).is_err() {
        // without a mode there is nothing to compare
        let objection = certificate.and_then(|c| c.objection(gap.unwrap_or(ENERGY)));
        return objection.unwrap_or(Verdict::Settled);
    }
    let why = match certificate {
        Some(c) if c.holds(gap.unwrap_or(0.5 * ENERGY)) => {
            if !pins::idle(tree, messages) {
                return Verdict::Settled;
            }
            "a penalty has pinned its variable"
        }
        _ => "the certificate of a minimiser does not hold",
    };
    Verdict::NotStationary {
        moving: false,
        why: why.to_owned(),
    }
}
