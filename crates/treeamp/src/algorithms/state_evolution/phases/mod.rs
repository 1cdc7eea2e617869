//! Thresholds and phases of a family of models indexed by a ratio $\alpha$.
//!
//! Bayes-optimal state evolution is monotone, so its uninformed and informed starts lead to the
//! extreme fixed points. They coincide outside the hard phase; inside it the one with the smaller
//! entropy of the measurements is what the data allow, and the uninformed one is what expectation
//! propagation attains.

use super::{BayesOptimal, Evolution, StateEvolution};
use crate::error::RunError;
use crate::model::Tree;

/// An uninformed start is given this much (in units of $1/\tau_0$), so that it leaves a symmetric point
/// that it would otherwise keep for ever.
const PUSH: f64 = 1e-4;
/// A push small enough for linear stability.
const TINY: f64 = 1e-14;
/// Places at which a transition is looked for when both ends of the range are beyond it.
const SCAN: u32 = 24;
/// Two fixed points are one when their errors differ by less than this, relative.
const SAME: f64 = 1e-4;

/// A family of models, from the ratio to the tree.
pub type Family<'f> = dyn Fn(f64) -> Result<Tree, RunError> + 'f;

/// How a threshold is sought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// The smallest ratio considered.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// The accuracy of the ratio.
    pub tolerance: f64,
    /// Sweeps after which a fixed point counts as not reached.
    pub max_sweeps: usize,
}

impl Search {
    /// Between two ratios, to 1e-4.
    #[must_use]
    pub fn between(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            tolerance: 1e-4,
            max_sweeps: 5000,
        }
    }

    /// With another accuracy.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    fn check(&self) -> Result<(), RunError> {
        let option = |option, expected: &str, got: f64| {
            Err(RunError::Option {
                option,
                expected: expected.to_owned(),
                got: got.to_string(),
            })
        };
        if !(self.low > 0.0 && self.low.is_finite()) {
            return option("low", "positive and finite", self.low);
        }
        if !(self.high > self.low && self.high.is_finite()) {
            return option("high", "finite and above `low`", self.high);
        }
        if !(self.tolerance > 0.0) {
            return option("tolerance", "positive", self.tolerance);
        }
        Ok(())
    }

    /// The ratio at which `above` turns from false to true.
    fn bisect(
        &self,
        what: &str,
        above: impl Fn(f64) -> Result<bool, RunError>,
    ) -> Result<f64, RunError> {
        self.check()?;
        let (mut low, mut high) = (self.low, self.high);
        let missing = |why: String| RunError::NotDefined {
            what: what.to_owned(),
            why,
        };
        if !above(high)? {
            return Err(missing(format!("it lies above the range, {high}")));
        }
        if above(low)? {
            // also true far below, where there is one fixed point: look for the last place where it is not
            let step = (high - low) / f64::from(SCAN);
            let mut found = None;
            for k in (1..SCAN).rev() {
                let alpha = low + step * f64::from(k);
                if !above(alpha)? {
                    found = Some(alpha);
                    break;
                }
            }
            low =
                found.ok_or_else(|| missing(format!("there is none between {low} and {high}")))?;
        }
        while high - low > self.tolerance {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if above(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(0.5 * (low + high))
    }
}

/// Which phase a point is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Uninformed and informed starts agree: expectation propagation is optimal.
    Easy,
    /// A better fixed point has the smaller entropy, and expectation propagation does not find it.
    Hard,
    /// The signal cannot be recovered: a better fixed point has the larger entropy, or noiseless
    /// outputs are fewer than the unknowns.
    Impossible,
}

/// One fixed point.
#[derive(Debug, Clone)]
pub struct FixedPoint {
    /// The predicted error of the signal.
    pub mse: f64,
    /// The entropy of the measurements; `None` where the fixed point has perfect recovery of a
    /// continuous signal through a noiseless output, and it diverges.
    pub entropy: Option<f64>,
    /// The state.
    pub evolution: Evolution<BayesOptimal>,
}

/// The fixed points at one point of a phase diagram.
#[derive(Debug, Clone)]
pub struct PhaseReport {
    /// What expectation propagation attains.
    pub uninformed: FixedPoint,
    /// What is reached from the solution.
    pub informed: FixedPoint,
    /// The error the data allow: that of the fixed point with the smaller entropy.
    pub mmse: f64,
    /// The phase.
    pub phase: Phase,
}

/// From a slight push, the fixed point that expectation propagation attains.
fn uninformed(
    tree: &Tree,
    signal: &str,
    max_sweeps: usize,
) -> Result<Evolution<BayesOptimal>, RunError> {
    let theory = StateEvolution::new(tree)?.max_sweeps(max_sweeps);
    let tau0 = theory.teacher().tau0[tree.variable(signal)?];
    reached(theory.starting_from(&[(signal, PUSH / tau0)])?.run()?)
}

/// A fixed point that was not reached is no answer.
fn reached(evolution: Evolution<BayesOptimal>) -> Result<Evolution<BayesOptimal>, RunError> {
    if evolution.is_converged() {
        return Ok(evolution);
    }
    let what = "a fixed point of state evolution".to_owned();
    Err(RunError::NotReached {
        what,
        termination: evolution.termination().to_string(),
    })
}

fn informed(
    tree: &Tree,
    signal: &str,
    max_sweeps: usize,
) -> Result<Evolution<BayesOptimal>, RunError> {
    reached(
        StateEvolution::new(tree)?
            .max_sweeps(max_sweeps)
            .informed(&[signal])?
            .run()?,
    )
}

fn same(x: f64, y: f64, tau0: f64) -> bool {
    (x - y).abs() <= SAME * x.max(y) || x.max(y) < 1e-7 * tau0
}

/// Both fixed points at one point, their entropies, and the phase.
///
/// # Errors
/// An unknown signal, a factor without a rule, a fixed point that is not reached.
pub fn phase_report(tree: &Tree, signal: &str) -> Result<PhaseReport, RunError> {
    let search = Search::between(1e-9, 1.0);
    let (low, high) = (
        uninformed(tree, signal, search.max_sweeps)?,
        informed(tree, signal, search.max_sweeps)?,
    );
    let tau0 = low.overlaps(signal)?.tau0;
    let point = |evolution: Evolution<BayesOptimal>| -> Result<FixedPoint, RunError> {
        let mse = evolution.mse(signal)?;
        let diverges = mse < 1e-7 * tau0 && continuous_margin(tree, signal)?.is_some();
        let entropy = if diverges {
            None
        } else {
            Some(evolution.information(tree)?.entropy)
        };
        Ok(FixedPoint {
            mse,
            entropy,
            evolution,
        })
    };
    let (uninformed, informed) = (point(low)?, point(high)?);
    let informed_wins = match (informed.entropy, uninformed.entropy) {
        (Some(i), Some(u)) => i < u,
        // the coefficient of ln(1/v): outputs against unknowns
        _ => continuous_margin(tree, signal)?.is_some_and(|margin| margin > 0.0),
    };
    let one = same(uninformed.mse, informed.mse, tau0);
    let margin = continuous_margin(tree, signal)?;
    let recovered = uninformed.mse < 1e-7 * tau0;
    let phase = if margin.is_some_and(|m| m < 0.0) && one {
        Phase::Impossible
    } else if margin.is_some_and(|m| m > 0.0) && !recovered {
        // recovery is possible, even where its basin is too small for the informed start
        Phase::Hard
    } else if one {
        Phase::Easy
    } else if informed_wins {
        Phase::Hard
    } else {
        Phase::Impossible
    };
    let mmse = match phase {
        Phase::Impossible => uninformed.mse,
        Phase::Hard if margin.is_some() => 0.0,
        _ => informed.mse,
    };
    Ok(PhaseReport {
        uninformed,
        informed,
        mmse,
        phase,
    })
}

/// For noiseless continuous outputs the entropy of the recovered phase behaves like
/// $(d - \sum_k\alpha_k d_k)\frac12\ln\frac1v$: the dimension of the signal against that of the outputs. Returns the
/// difference $\sum_k\alpha_k d_k - d$, or `None` when an output has noise or is discrete.
fn continuous_margin(tree: &Tree, signal: &str) -> Result<Option<f64>, RunError> {
    let teacher = StateEvolution::new(tree)?.teacher().clone();
    let index = tree.variable(signal)?;
    let size = tree.variables()[index].spec.relative_size();
    let mut margin = 0.0;
    let mut any = false;
    for node in tree.factors() {
        let edge = tree.edges()[node.edges[0]];
        let variable = &tree.variables()[edge.variable];
        let Some(rule) = node.factor.ensemble() else {
            continue;
        };
        let is_likelihood = node.inputs == node.edges.len();
        let is_prior = node.inputs == 0 && variable.index == index;
        if !(is_likelihood || is_prior) {
            continue;
        }
        if is_likelihood && node.factor.noise_entropy().is_some() {
            return Ok(None);
        }
        // 1 - a v, and a v, at a very large precision
        let tau0_hat = [teacher.to_factor[edge.factor][0]];
        let m_hat = 1e10 / teacher.tau0[variable.index];
        let fields = [crate::belief::OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat: tau0_hat[0],
        }];
        let at = crate::factor::Averaged {
            fields: &fields,
            tau0_hat: &tau0_hat,
        };
        let o = rule
            .overlaps(node.factor.as_ref(), at, 0)
            .map_err(|source| RunError::Factor {
                factor: node.name.clone(),
                source,
            })?;
        let unknown = (fields[0].a() * o.v).clamp(0.0, 1.0);
        if is_likelihood {
            any = true;
            margin += variable.spec.relative_size() / size * (1.0 - unknown);
        } else {
            margin -= unknown;
        }
    }
    Ok(any.then_some(margin))
}

/// The ratio above which a slight overlap grows: linear stability of the uninformed point.
///
/// # Errors
/// [`RunError::NotDefined`] when the uninformed point is informative by itself (odd outputs, a signal
/// with a mean), or the transition lies outside the range.
pub fn weak_recovery(family: &Family<'_>, signal: &str, search: Search) -> Result<f64, RunError> {
    let growth = |alpha: f64| -> Result<f64, RunError> {
        let tree = family(alpha)?;
        let theory = StateEvolution::new(&tree)?;
        let tau0 = theory.teacher().tau0[tree.variable(signal)?];
        let mut overlaps = Vec::new();
        let mut watch = |view: &crate::engine::SweepView<'_, BayesOptimal>| {
            overlaps.push(view.marginal(signal).map_or(0.0, |p| p.0.m));
            std::ops::ControlFlow::Continue(())
        };
        let theory = theory
            .starting_from(&[(signal, TINY / tau0)])?
            .max_sweeps(24)
            .tolerance(0.0);
        theory.observed_by(&mut watch)?;
        if overlaps.first().is_some_and(|m| *m > 1e-6 * tau0) {
            return Err(RunError::NotDefined {
                what: "a weak-recovery transition".to_owned(),
                why: "the uninformed point already has an overlap with the signal".to_owned(),
            });
        }
        // growth per sweep once the fastest direction dominates
        match overlaps.as_slice() {
            [.., x, y] if *x > 0.0 => Ok(y / x),
            _ => Ok(0.0),
        }
    };
    search.bisect("the weak-recovery threshold", |alpha| {
        Ok(growth(alpha)? > 1.0)
    })
}

/// The ratio above which the uninformed start reaches the informed fixed point: the end of the hard
/// phase.
///
/// # Errors
/// [`RunError::NotDefined`] when there is no such transition in the range.
pub fn algorithmic_threshold(
    family: &Family<'_>,
    signal: &str,
    search: Search,
) -> Result<f64, RunError> {
    search.bisect("the algorithmic threshold", |alpha| {
        let tree = family(alpha)?;
        let low = uninformed(&tree, signal, search.max_sweeps)?;
        let high = informed(&tree, signal, search.max_sweeps)?;
        let tau0 = low.overlaps(signal)?.tau0;
        Ok(same(low.mse(signal)?, high.mse(signal)?, tau0))
    })
}

/// The ratio at which a second, informed fixed point appears: the start of the hard (or impossible)
/// phase.
///
/// # Errors
/// [`RunError::NotDefined`] when there is no such transition in the range.
pub fn informed_threshold(
    family: &Family<'_>,
    signal: &str,
    search: Search,
) -> Result<f64, RunError> {
    search.bisect("the informed threshold", |alpha| {
        let tree = family(alpha)?;
        let low = uninformed(&tree, signal, search.max_sweeps)?;
        let high = informed(&tree, signal, search.max_sweeps)?;
        let tau0 = low.overlaps(signal)?.tau0;
        Ok(!same(low.mse(signal)?, high.mse(signal)?, tau0))
    })
}

/// The ratio above which the data determine the better fixed point: where the entropies of the two
/// cross. For noiseless continuous outputs it is where the outputs outnumber the unknowns.
///
/// # Errors
/// [`RunError::NotDefined`] when there is no such transition in the range.
pub fn information_threshold(
    family: &Family<'_>,
    signal: &str,
    search: Search,
) -> Result<f64, RunError> {
    search.bisect("the information-theoretic threshold", |alpha| {
        let tree = family(alpha)?;
        if let Some(margin) = continuous_margin(&tree, signal)? {
            return Ok(margin > 0.0);
        }
        Ok(phase_report(&tree, signal)?.phase != Phase::Impossible)
    })
}

/// The algorithmic threshold of noiseless linear measurements with independent entries,
/// $\alpha = \sup_s s\,\mathrm{mmse}(s)$ of the prior: no iteration, so nothing slows down near it.
///
/// # Errors
/// When the prior has no ensemble rule.
pub fn noiseless_linear_threshold(prior: &dyn crate::factor::Factor) -> Result<f64, RunError> {
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
    let value = |log_s: f64| -> Result<f64, RunError> {
        let s = log_s.exp() / tau0;
        let fields = [crate::belief::OverlapFields {
            m_hat: s,
            q_hat: s,
            tau_hat: 0.0,
        }];
        let at = crate::factor::Averaged {
            fields: &fields,
            tau0_hat: &[0.0],
        };
        Ok(s * rule.overlaps(prior, at, 0).map_err(failed)?.v)
    };
    // a coarse scan from 1e-4 to 1e8, then a golden section around the best
    let step = 0.25;
    let mut best = (f64::NEG_INFINITY, 0.0);
    for k in -36..=74 {
        let x = step * f64::from(k);
        let y = value(x)?;
        if y > best.0 {
            best = (y, x);
        }
    }
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = (best.1 - step, best.1 + step);
    for _ in 0..40 {
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
