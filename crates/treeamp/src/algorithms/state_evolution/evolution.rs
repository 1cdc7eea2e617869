//! The result of a state evolution.

use super::Teacher;
use super::teacher::not_reached;
use crate::belief::Overlaps;
use crate::engine::{Algorithm, Marginal, Objective, Report, Termination};
use crate::error::{ModelError, RunError};
use crate::model::Tree;

/// What the theory predicts about one variable, per component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction(pub Overlaps);

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

    /// Relative, so that a fixed point with a small error is reached as well as one with a large one.
    fn change(&self, previous: &Self, _: f64) -> f64 {
        let relative = |x: f64, y: f64| {
            let scale = x.abs().max(y.abs());
            if scale > 0.0 {
                (x - y).abs() / scale
            } else {
                0.0
            }
        };
        relative(self.0.v, previous.0.v).max(relative(self.0.mse(), previous.0.mse()))
    }
}

/// A finished state evolution: predictions, trace, free entropy.
#[derive(Debug, Clone)]
pub struct Evolution<A: Algorithm<Marginal = Prediction>> {
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

impl<A: Algorithm<Marginal = Prediction>> Evolution<A> {
    /// Overlaps of a variable.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn overlaps(&self, variable: &str) -> Result<Overlaps, ModelError> {
        self.report.marginal(variable).map(|p| p.0)
    }

    /// The variance the student will claim, per component.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn variance(&self, variable: &str) -> Result<f64, ModelError> {
        self.overlaps(variable).map(|o| o.v)
    }

    /// The mean squared error the student will make, per component.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn mse(&self, variable: &str) -> Result<f64, ModelError> {
        self.overlaps(variable).map(|o| o.mse())
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
