//! Thresholds without iteration: noiseless linear measurements.
//!
//! Whatever its eigenvalues, a linear channel of rank $r < 1$ (per unknown) whose outputs are known sends back
//! $s = r/v$, so that the fixed points are the solutions of $r = s\,\mathrm{mmse}(s)$, and the uninformed start reaches recovery
//! where there is none: $r > \sup_s s\,\mathrm{mmse}(s)$.

use crate::belief::OverlapFields;
use crate::catalog::channels::GaussianNoise;
use crate::error::RunError;
use crate::factor::{Averaged, Factor, downcast};
use crate::model::{FactorNode, Tree};
use crate::scalar::ScalarView;

/// Scan of $\ln(s\tau_0)$: from 1e-4 to 1e8 in quarters.
const STEP: f64 = 0.25;
const FROM: i32 = -36;
const TO: i32 = 74;

/// The algorithmic threshold of noiseless linear measurements, the supremum over $s$ of $s\,\mathrm{mmse}(s)$ of the prior:
/// no iteration, so nothing slows down near it.
///
/// # Errors
/// When the prior has no ensemble rule, or gives a signal that is always zero.
pub fn noiseless_linear_threshold(prior: &dyn Factor) -> Result<f64, RunError> {
    let missing = || RunError::MissingRules {
        algorithm: "state evolution",
        missing: vec![(prior.name().to_owned(), "ensemble")],
    };
    let rule = prior.ensemble().ok_or_else(missing)?;
    let failed = |source| RunError::Factor {
        factor: prior.name().to_owned(),
        source,
    };
    let tau0 = rule.second_moment(&[0.0], 0).map_err(failed)?;
    if !(tau0 > 0.0) {
        return Err(RunError::NotDefined {
            what: "the algorithmic threshold".to_owned(),
            why: format!("a signal of `{}` is always zero", prior.name()),
        });
    }
    // s → ∞
    let limit = rule.unknown_dimension(&[0.0], 0).map_err(failed)?;
    let value = |log_s: f64| -> Result<f64, RunError> {
        let s = log_s.exp() / tau0;
        let fields = [OverlapFields {
            m_hat: s,
            q_hat: s,
            tau_hat: 0.0,
        }];
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[0.0],
        };
        Ok(s * rule.overlaps(prior, at, 0).map_err(failed)?.v)
    };
    Ok(supremum(value)?.max(limit))
}

/// The supremum of a function of $\ln s$: a coarse scan, then a golden section around the best.
fn supremum(value: impl Fn(f64) -> Result<f64, RunError>) -> Result<f64, RunError> {
    let mut best = (f64::NEG_INFINITY, 0.0);
    for k in FROM..=TO {
        let x = STEP * f64::from(k);
        let y = value(x)?;
        if y > best.0 {
            best = (y, x);
        }
    }
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (best.1 - STEP, best.1 + STEP);
    // the value is flat there: 1e-8 of the place is 1e-16 of it
    while high - low > 1e-8 {
        let width = high - low;
        let (left, right) = (high - golden * width, low + golden * width);
        if value(left)? > value(right)? {
            high = right;
        } else {
            low = left;
        }
    }
    Ok(value(0.5 * (low + high))?.max(best.0))
}

/// Whether the uninformed start recovers the signal, of a tree that is a prior on it, a linear channel
/// and its noiseless output; `None` for any other tree.
pub(super) fn recovers(tree: &Tree, signal: &str) -> Result<Option<bool>, RunError> {
    let index = tree.variable(signal)?;
    let Some(Chain {
        prior,
        linear,
        output,
        noise: Noise::None,
    }) = chain(tree, index)
    else {
        return Ok(None);
    };
    let noiseless = output.factor.scalar().and_then(ScalarView::gaussian);
    if !noiseless.is_some_and(|(_, noise)| noise == 0.0) {
        return Ok(None);
    }
    let Some(spectrum) = linear.factor.spectrum() else {
        return Ok(None);
    };
    let rank = spectrum.rank();
    if rank >= 1.0 {
        return Ok(Some(true));
    }
    Ok(Some(
        rank > noiseless_linear_threshold(prior.factor.as_ref())?,
    ))
}

/// A signal with a prior, a channel and an output.
pub(super) struct Chain<'t> {
    pub prior: &'t FactorNode,
    pub linear: &'t FactorNode,
    /// A likelihood, or an activation seen through noise.
    pub output: &'t FactorNode,
    /// The noise beside it.
    pub noise: Noise,
}

/// Gaussian noise beside an output, and its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Noise {
    None,
    /// Added to what goes into a likelihood.
    Before(f64),
    /// Added to what comes out of an activation.
    After(f64),
}

/// The factors of prior, signal, channel, output, with or without noise of its own behind it.
pub(super) fn chain(tree: &Tree, signal: usize) -> Option<Chain<'_>> {
    if !(3..=4).contains(&tree.factors().len()) {
        return None;
    }
    let variable = |node: &FactorNode, port: usize| tree.edges()[node.edges[port]].variable;
    let behind = |index: usize, ports: usize| {
        let fits =
            |f: &&FactorNode| f.inputs == 1 && f.edges.len() == ports && variable(f, 0) == index;
        tree.factors().iter().find(fits)
    };
    let is_prior = |f: &&FactorNode| f.inputs == 0 && f.edges.len() == 1;
    let prior = tree.factors().iter().find(is_prior)?;
    let linear = behind(signal, 2)?;
    let z = variable(linear, 1);
    if variable(prior, 0) != signal {
        return None;
    }
    if let (Some(output), 3) = (behind(z, 1), tree.factors().len()) {
        return Some(Chain {
            prior,
            linear,
            output,
            noise: Noise::None,
        });
    }
    let channel = behind(z, 2)?;
    let last = behind(variable(channel, 1), 1)?;
    let law = last.factor.scalar().and_then(ScalarView::gaussian);
    let after = law.filter(|(_, delta)| *delta > 0.0);
    let (output, noise) = if let Some((_, delta)) = after {
        (channel, Noise::After(delta))
    } else {
        let before = downcast::<GaussianNoise>(channel.factor.as_ref())?;
        let delta = Some(before.noise_variance()).filter(|delta| *delta > 0.0)?;
        (last, Noise::Before(delta))
    };
    Some(Chain {
        prior,
        linear,
        output,
        noise,
    })
}
