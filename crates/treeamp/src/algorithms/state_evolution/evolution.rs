//! The result of a state evolution.

use super::Teacher;
use super::teacher::not_reached;
use super::theory::Theory;
use crate::belief::Overlaps;
use crate::engine::{Marginal, Objective, Report, Termination};
use crate::error::{ModelError, RunError};
use crate::model::Tree;

/// What the theory predicts about one variable, per component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction(pub Overlaps);

/// Order parameters of a variable: three numbers, or matrices for rows of several components.
pub trait OrderParameters: Marginal {
    /// The overlaps of teacher and student.
    type Overlaps: Clone;

    /// The overlaps.
    fn overlaps(&self) -> Self::Overlaps;

    /// The mean squared error of the student, per component.
    fn mse(&self) -> f64;
}

impl OrderParameters for Prediction {
    type Overlaps = Overlaps;

    fn overlaps(&self) -> Overlaps {
        self.0
    }

    fn mse(&self) -> f64 {
        self.0.mse()
    }
}

impl Marginal for Prediction {
    fn copy_from(&mut self, other: &Self) {
        *self = *other;
    }

    fn forget(&mut self) {
        self.0.v = f64::INFINITY;
        self.0.err = f64::INFINITY;
    }

    fn second_moment(&self) -> f64 {
        self.0.tau0
    }

    fn variance(&self) -> f64 {
        self.0.v
    }

    /// A thousandth of the signal is no rounding.
    fn errs(&self) -> bool {
        self.0.mse() > 1e-3 * self.0.tau0
    }

    /// Relative, so that a fixed point with a small error is reached as well as one with a large one. An error holds the square of
    /// $\tau_0 - m$, whose rounding may be all that is left of it.
    fn change(&self, previous: &Self, _: f64) -> f64 {
        let relative = |x: f64, y: f64, rounding: f64| {
            let (gap, scale) = ((x - y).abs(), x.abs().max(y.abs()));
            if gap > rounding { gap / scale } else { 0.0 }
        };
        let rounding = (8.0 * f64::EPSILON).powi(2) * self.0.tau0;
        let variances = relative(self.0.v, previous.0.v, 0.0);
        variances.max(relative(self.0.mse(), previous.0.mse(), rounding))
    }
}

/// A finished state evolution: predictions, trace, free entropy.
#[derive(Debug, Clone)]
pub struct Evolution<A: Theory> {
    /// The run itself: termination, trace, messages.
    pub report: Report<A>,
    /// The teacher's moments.
    pub teacher: Teacher,
    /// $A_N$, the log-normalisation of the student's law; 0 for a Bayesian network.
    pub normalisation: f64,
    /// Why the prediction is a heuristic, factor by factor; empty where it is exact in the limit.
    pub heuristics: Vec<String>,
    /// The first continuous output without noise: entropies diverge where the signal is recovered through it.
    pub noiseless_output: Option<String>,
    /// Why the law is not normalised by its factors: there are no entropies then.
    pub unnormalised: Option<String>,
}

impl<A: Theory> Evolution<A> {
    /// Overlaps of a variable.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn overlaps(
        &self,
        variable: &str,
    ) -> Result<<A::Marginal as OrderParameters>::Overlaps, ModelError> {
        self.report
            .marginal(variable)
            .map(OrderParameters::overlaps)
    }

    /// The variance the student will claim, per component.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn variance(&self, variable: &str) -> Result<f64, ModelError> {
        self.report.marginal(variable).map(Marginal::variance)
    }

    /// The mean squared error the student will make, per component.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn mse(&self, variable: &str) -> Result<f64, ModelError> {
        self.report.marginal(variable).map(OrderParameters::mse)
    }

    /// How the run ended: a fixed point that was not reached is no answer.
    #[must_use]
    pub fn termination(&self) -> &Termination {
        &self.report.termination
    }

    /// Whether a fixed point was reached.
    #[must_use]
    pub fn is_converged(&self) -> bool {
        self.report.termination.is_converged()
    }

    /// Itself, if a fixed point was reached.
    pub(super) fn reached(self) -> Result<Self, RunError> {
        if self.is_converged() {
            return Ok(self);
        }
        let what = format!("a fixed point of {}", A::NAME);
        Err(not_reached(&what, self.termination()))
    }

    /// The prediction is not exact in the limit; [`heuristics`](Self::heuristics) says why.
    #[must_use]
    pub fn is_heuristic(&self) -> bool {
        !self.heuristics.is_empty()
    }

    /// The averaged Bethe objective $\bar A$ per component of the first variable, with its tree
    /// decomposition.
    ///
    /// # Errors
    /// When a potential cannot be computed.
    pub fn free_entropy(&self) -> Result<&Objective, RunError> {
        self.report.objective.as_ref().map_err(Clone::clone)
    }

    /// Bayes-optimal: the entropy of the measurements; mismatched: their cross-entropy, what the
    /// student needs to encode them. $-\bar A + A_N$, in nats per component of the first variable.
    ///
    /// # Errors
    /// [`RunError::NotReached`] when the run ended without a fixed point; [`RunError::NotDefined`] where the signal is
    /// recovered exactly through a noiseless continuous output, and for a model that is not a Bayesian network; a
    /// potential that cannot be computed.
    pub fn entropy(&self) -> Result<f64, RunError> {
        let what = "the entropy of the measurements";
        self.check_defined(what)?;
        let entropy = self.normalisation - self.free_entropy()?.total;
        if entropy.is_finite() {
            return Ok(entropy);
        }
        Err(RunError::NotDefined {
            what: what.to_owned(),
            why: "it is infinite: something is known exactly".to_owned(),
        })
    }

    /// There is a fixed point, and it has entropies.
    pub(super) fn check_defined(&self, what: &str) -> Result<(), RunError> {
        if let Some(why) = &self.unnormalised {
            return Err(RunError::NotDefined {
                what: what.to_owned(),
                why: why.clone(),
            });
        }
        self.check_finite(what)
    }

    /// The same, up to the constant that the factors of a law may not know.
    pub(super) fn check_finite(&self, what: &str) -> Result<(), RunError> {
        let Termination::Converged { perfect_recovery } = self.termination() else {
            let point = "the fixed point that entropies belong to";
            return Err(not_reached(point, self.termination()));
        };
        match self.noiseless_output.as_ref().filter(|_| *perfect_recovery) {
            None => Ok(()),
            Some(output) => Err(RunError::NotDefined {
                what: what.to_owned(),
                why: format!(
                    "it diverges where the signal is recovered through the noiseless output `{output}`"
                ),
            }),
        }
    }
}

/// The first output that is continuous and has no noise.
pub(super) fn noiseless_output(tree: &Tree) -> Option<String> {
    let mut outputs = tree.factors().iter().filter(|f| f.inputs == f.edges.len());
    let noiseless = outputs.find(|f| f.factor.is_noiseless());
    noiseless.map(|f| f.name.clone())
}
