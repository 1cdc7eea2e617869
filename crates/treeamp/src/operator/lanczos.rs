//! The spectrum of $W^T W$ from products alone: exact on small operators, by seeded stochastic Lanczos
//! on large ones.
//!
//! $m$ Lanczos steps from a random probe give the Gauss quadrature of its spectral measure. Traces and
//! log-determinants come from one set of nodes, drawn once from the seed, and are derivatives of each
//! other. Steps go on until bounds on both sides of $E\,\frac{1}{\sigma + \lambda}$ meet, at the smallest $\sigma$ that
//! the rule is made for, and probes until their measured spread is small.

use std::sync::OnceLock;

use faer::{Mat, Side};

use super::jacobi::{Gram, Stop, jacobi};
use super::probes::{Estimate, Goal, Scatter};
use super::{LinearOperator, dot_test};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::spectrum::Spectrum;

/// Eigenvalues below this fraction of the largest are zero.
const ZERO: f64 = 1e-12;
/// The shift of a spectrum that is estimated for no precision in particular, relative to the largest
/// eigenvalue.
const SHIFT: f64 = 1e-4;

/// Up to so many times the size of [`LanczosOptions::exact`], all eigenvalues cost less than an estimate that
/// plain probes do not give.
const WIDER: usize = 2;

/// How a spectrum is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LanczosOptions {
    /// Random probes; 0 for as many as the accuracy needs, by their measured spread.
    pub probes: usize,
    /// Most Lanczos steps per probe (20 000). Fewer are made when the bounds on both sides meet.
    pub steps: usize,
    /// Seed of the probes (0).
    pub seed: u64,
    /// Standard error of estimated variances, relative (0.004: the 2% of a variance are five of them).
    pub accuracy: f64,
    /// Standard error of an estimated $\frac12\ln\det$, in nats (infinite: whatever the other probes give, which
    /// [`log_evidence_error`](crate::engine::Report::log_evidence_error) gives). Probes scatter by about $\sqrt n$ nats each.
    pub evidence: f64,
    /// Operators whose smaller side is at most this have all their eigenvalues computed instead (2048, two
    /// seconds); up to twice this, where the estimate is not as accurate as it should be: probes scatter too
    /// much, or as many steps as there are eigenvalues are not enough.
    pub exact: usize,
}

impl Default for LanczosOptions {
    fn default() -> Self {
        Self {
            probes: 0,
            steps: 20_000,
            seed: 0,
            accuracy: 0.004,
            evidence: f64::INFINITY,
            exact: 2048,
        }
    }
}

impl LanczosOptions {
    /// # Errors
    /// No step at all, an accuracy that is not between 0 and 1, an error of the evidence that is not positive.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        if self.steps == 0 {
            return Err(parameter("lanczos", "steps", "at least 1", 0));
        }
        if !(self.accuracy > 0.0 && self.accuracy < 1.0) {
            let expected = "between 0 and 1";
            return Err(parameter("lanczos", "accuracy", expected, self.accuracy));
        }
        if !(self.evidence > 0.0) {
            return Err(parameter("lanczos", "evidence", "positive", self.evidence));
        }
        Ok(())
    }
}

/// The estimated spectrum of $W^T W$; exact where the smaller side is at most [`LanczosOptions::exact`].
///
/// # Errors
/// An operator that fails the [`dot_test`], products that are not finite, or an eigenproblem that does not
/// converge.
pub fn estimated_spectrum(
    operator: &dyn LinearOperator,
    options: LanczosOptions,
) -> Result<Spectrum, FactorError> {
    dot_test(operator, options.seed).map_err(|error| FactorError::Failed(error.to_string()))?;
    if let Some(exact) = exact_spectrum(operator, options)? {
        return Ok(exact);
    }
    let shift = SHIFT * largest_eigenvalue(operator, options)?;
    Ok(resolved_spectrum(operator, options, shift, &All::new())?.spectrum)
}

/// The spectrum with all eigenvalues of an operator beyond [`LanczosOptions::exact`], computed when an estimate
/// first needs it.
pub(crate) type All = OnceLock<Result<Spectrum, FactorError>>;

/// A spectrum that is good for $E\,\frac{1}{\sigma + \lambda}$ from a given $\sigma$ upwards.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub spectrum: Spectrum,
    /// Why it is not as accurate as it should be.
    pub doubt: Option<String>,
    /// What the probes leave open.
    pub scatter: Scatter,
}

impl Resolved {
    fn certain(spectrum: Spectrum) -> Self {
        Self {
            spectrum,
            doubt: None,
            scatter: Scatter::default(),
        }
    }
}

/// The spectrum with every eigenvalue computed, where the operator is small enough.
pub(crate) fn exact_spectrum(
    operator: &dyn LinearOperator,
    options: LanczosOptions,
) -> Result<Option<Spectrum>, FactorError> {
    let mut gram = Gram::new(operator);
    if gram.len() > options.exact {
        return Ok(None);
    }
    let nodes = exact(&mut gram)?;
    completed(operator, nodes).map(Some)
}

/// The spectrum by probes, resolved at the shift $\sigma$; with all eigenvalues, where probes do not give it and
/// the operator is not too large.
pub(crate) fn resolved_spectrum(
    operator: &dyn LinearOperator,
    mut options: LanczosOptions,
    shift: f64,
    all: &All,
) -> Result<Resolved, FactorError> {
    let mut gram = Gram::new(operator);
    if !(shift > 0.0) {
        // no product is anything but zero
        let spectrum = completed(operator, vec![(0.0, 1.0)])?;
        return Ok(Resolved::certain(spectrum));
    }
    let free = options.probes == 0;
    let small = gram.len() <= WIDER.saturating_mul(options.exact);
    if small && free {
        // more steps cost more than all eigenvalues
        options.steps = options.steps.min(gram.len());
    }
    let goal = Goal {
        options,
        shift,
        zeros: operator.input().len() as f64 / gram.len() as f64 - 1.0,
    };
    let mut estimate = goal.plain(&mut gram);
    // not `>`: an error may be NaN
    let scatters = !(estimate.error <= options.accuracy && estimate.log_error <= options.evidence);
    let short = !(estimate.gap <= options.accuracy);
    if free && small && (scatters || short) {
        return whole(&mut gram, all);
    }
    if free && scatters {
        estimate = goal.refined(&mut gram, estimate);
    }
    let doubt = doubt(&estimate, options, gram.len());
    let (nodes, scatter) = match estimate.nodes() {
        Err(_) if small => return whole(&mut gram, all),
        Err(error) => return Err(with_way_out(&error, gram.len())),
        Ok(nodes) => nodes,
    };
    let spectrum = completed(operator, nodes)?;
    Ok(Resolved {
        spectrum,
        doubt,
        scatter,
    })
}

/// All eigenvalues, computed once.
fn whole(gram: &mut Gram<'_>, all: &All) -> Result<Resolved, FactorError> {
    let compute = || completed(gram.operator, exact(gram)?);
    all.get_or_init(compute).clone().map(Resolved::certain)
}

/// What never fails for want of accuracy.
fn way_out(small: usize) -> String {
    format!("compute all eigenvalues (`LanczosOptions::exact` of at least {small})")
}

fn with_way_out(error: &FactorError, small: usize) -> FactorError {
    FactorError::Failed(format!("{error}; give its spectrum, or {}", way_out(small)))
}

/// Why an estimate is not as accurate as was asked for.
fn doubt(estimate: &Estimate, options: LanczosOptions, small: usize) -> Option<String> {
    let (error, gap, log_error) = (estimate.error, estimate.gap, estimate.log_error);
    let accuracy = options.accuracy;
    let way_out = way_out(small);
    if !(gap <= accuracy) {
        Some(format!(
            "its Lanczos rules: expected bounds of the variance within {accuracy:.1e} of each other \
             in {} steps, got {gap:.1e}; give its spectrum, allow more `steps`, or {way_out}",
            options.steps
        ))
    } else if !(log_error <= options.evidence) {
        Some(format!(
            "its random probes: expected a standard error of the evidence of {:.1e} nats, got \
             {log_error:.1e}; allow a larger `evidence`, or {way_out}",
            options.evidence
        ))
    } else if !(error <= accuracy) {
        Some(format!(
            "its random probes: expected a standard error of the variance of {accuracy:.1e}, got \
             {error:.1e}; give its spectrum, allow a larger `accuracy`, or {way_out}"
        ))
    } else {
        None
    }
}

/// The largest eigenvalue of $W^T W$, or a little more.
pub(crate) fn largest_eigenvalue(
    operator: &dyn LinearOperator,
    options: LanczosOptions,
) -> Result<f64, FactorError> {
    let mut gram = Gram::new(operator);
    let n = gram.len();
    let start = super::probes::signs(n, options.seed, u64::MAX);
    let stop = Stop {
        shift: 1.0,
        steps: (n.min(20), n.min(20)),
        gap: None,
        share: 0.0,
    };
    let largest = jacobi(&mut gram, start, stop).largest();
    if largest.is_finite() {
        return Ok(largest);
    }
    Err(not_finite(operator))
}

fn not_finite(operator: &dyn LinearOperator) -> FactorError {
    let name = operator.name();
    FactorError::Failed(format!("the products of `{name}` are not finite"))
}

/// From the nodes of the smaller side, whose weights add up to one: the other zeros of $W^T W$ follow.
fn completed(
    operator: &dyn LinearOperator,
    mut nodes: Vec<(f64, f64)>,
) -> Result<Spectrum, FactorError> {
    if nodes.iter().any(|(l, w)| !l.is_finite() || !w.is_finite()) {
        return Err(not_finite(operator));
    }
    let largest = nodes.iter().fold(0.0_f64, |m, (l, _)| m.max(*l));
    for (l, _) in &mut nodes {
        if *l <= ZERO * largest {
            *l = 0.0;
        }
    }
    let alpha = operator.output().len() as f64 / operator.input().len() as f64;
    if alpha < 1.0 {
        nodes.iter_mut().for_each(|(_, w)| *w *= alpha);
        nodes.push((0.0, 1.0 - alpha));
    }
    Spectrum::from_nodes(nodes, alpha).map_err(|e| FactorError::Failed(e.to_string()))
}

fn exact(gram: &mut Gram<'_>) -> Result<Vec<(f64, f64)>, FactorError> {
    let n = gram.len();
    let mut dense = Mat::<f64>::zeros(n, n);
    let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
    for j in 0..n {
        unit[j] = 1.0;
        gram.apply(&unit, &mut column);
        unit[j] = 0.0;
        for (i, c) in column.iter().enumerate() {
            dense[(i, j)] = *c;
        }
    }
    if dense.norm_max().is_finite() {
        let values = dense.self_adjoint_eigenvalues(Side::Lower);
        let failed = |_| FactorError::Failed("the eigenproblem did not converge".to_owned());
        let weight = 1.0 / n as f64;
        return Ok(values
            .map_err(failed)?
            .into_iter()
            .map(|l| (l.max(0.0), weight))
            .collect());
    }
    Err(not_finite(gram.operator))
}
