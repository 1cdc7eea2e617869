//! Several starts of one run.

use std::fmt;

use super::push;
use crate::algorithms::{ExpectationPropagation, Posterior};
use crate::belief::Element;
use crate::engine::{Initial, Observer, Options, Termination};
use crate::error::RunError;
use crate::metrics::{mse, mse_up_to_phase, mse_up_to_sign};
use crate::model::Tree;

/// The default strength of the pushes.
const STRENGTH: f64 = 0.3;
/// Moments that differ by less than this fraction of the second moment are those of one fixed point.
const SAME: f64 = 1e-3;

/// Where a run started.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// As the options say.
    Plain,
    /// A push from this seed.
    Push(u64),
    /// Messages given under this name.
    Given(String),
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("plain"),
            Self::Push(seed) => write!(f, "push, seed {seed}"),
            Self::Given(name) => f.write_str(name),
        }
    }
}

/// Expectation propagation from several starts.
///
/// The fixed points that are reached are distinguished up to a global sign, or phase, and the one of the largest
/// evidence is best. A signal that is known exactly counts as larger than any number: its noiseless outputs have no finite
/// density. A run whose evidence has no limit ([`RunError::WithoutLimit`]) comes last.
#[derive(Debug, Clone)]
pub struct Restarts<'t> {
    tree: &'t Tree,
    options: Options,
    strength: f64,
    starts: Vec<(Start, Option<Initial>)>,
}

/// A fixed point that some starts led to.
#[derive(Debug, Clone)]
pub struct FixedPoint {
    /// The run with the smallest residual that ended here.
    pub posterior: Posterior,
    /// All starts that led here.
    pub starts: Vec<Start>,
}

/// What several starts found.
#[derive(Debug, Clone)]
pub struct RestartReport {
    /// The fixed points, the best first. Empty when no run settled.
    pub fixed_points: Vec<FixedPoint>,
    /// The runs that did not settle, with their starts.
    pub unsettled: Vec<(Start, Posterior)>,
}

impl RestartReport {
    /// The fixed point of the largest evidence; without one, a run that did not settle.
    ///
    /// # Errors
    /// When there was no start at all.
    pub fn best(&self) -> Result<&Posterior, RunError> {
        let settled = self.fixed_points.first().map(|f| &f.posterior);
        let other = || self.unsettled.first().map(|(_, p)| p);
        settled.or_else(other).ok_or(RunError::Option {
            option: "starts",
            expected: "at least one".to_owned(),
            got: "none".to_owned(),
        })
    }
}

/// The evidence, infinite at a fixed point where it is not defined: the density of its noiseless outputs diverges. Where it has no
/// limit because only some variances vanish it says nothing for a fixed point, which comes last.
fn rank(posterior: &Posterior) -> f64 {
    match posterior.log_evidence() {
        Ok(evidence) => evidence,
        Err(RunError::NotDefined { .. }) => f64::INFINITY,
        Err(_) => f64::NEG_INFINITY,
    }
}

impl<'t> Restarts<'t> {
    /// No start yet.
    #[must_use]
    pub fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            options: Options::default(),
            strength: STRENGTH,
            starts: Vec::new(),
        }
    }

    /// The options of every run; their initial messages are those of [`plain`](Self::plain).
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// The strength of the pushes (0.3), in standard deviations of each variable.
    #[must_use]
    pub fn strength(mut self, strength: f64) -> Self {
        self.strength = strength;
        self
    }

    /// Also from the initial messages of the options.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.starts.push((Start::Plain, None));
        self
    }

    /// Also from a push of every seed.
    #[must_use]
    pub fn pushes(mut self, seeds: impl IntoIterator<Item = u64>) -> Self {
        let pushes = seeds.into_iter().map(|seed| (Start::Push(seed), None));
        self.starts.extend(pushes);
        self
    }

    /// Also from these messages, such as those [`near`](super::near) an estimate.
    #[must_use]
    pub fn from(mut self, name: &str, initial: Initial) -> Self {
        let start = Start::Given(name.to_owned());
        self.starts.push((start, Some(initial)));
        self
    }

    /// Runs them all.
    ///
    /// # Errors
    /// A model that cannot run, an option out of range.
    pub fn run(&self) -> Result<RestartReport, RunError> {
        self.observed_by(&mut ())
    }

    /// The same, with an observer of every run. One that it stops is the last.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    pub fn observed_by(
        &self,
        observer: &mut impl Observer<ExpectationPropagation>,
    ) -> Result<RestartReport, RunError> {
        let mut report = RestartReport {
            fixed_points: Vec::new(),
            unsettled: Vec::new(),
        };
        for (start, given) in &self.starts {
            let initial = match (start, given) {
                (Start::Push(seed), _) => push(self.tree, self.strength, *seed)?,
                (_, Some(initial)) => initial.clone(),
                (_, None) => self.options.initial.clone(),
            };
            let engine = ExpectationPropagation.on(self.tree)?;
            let engine = engine.options(self.options.clone()).initial(initial);
            let posterior = engine.run(observer)?;
            let stopped = matches!(posterior.termination, Termination::Stopped(_));
            if posterior.termination.is_converged() {
                self.sort_in(&mut report.fixed_points, start, posterior)?;
            } else {
                report.unsettled.push((start.clone(), posterior));
            }
            if stopped {
                break;
            }
        }
        report
            .fixed_points
            .sort_by(|x, y| rank(&y.posterior).total_cmp(&rank(&x.posterior)));
        Ok(report)
    }

    fn sort_in(
        &self,
        known: &mut Vec<FixedPoint>,
        start: &Start,
        posterior: Posterior,
    ) -> Result<(), RunError> {
        for point in known.iter_mut() {
            if self.same(&point.posterior, &posterior)? {
                point.starts.push(start.clone());
                if posterior.residual() < point.posterior.residual() {
                    point.posterior = posterior;
                }
                return Ok(());
            }
        }
        known.push(FixedPoint {
            posterior,
            starts: vec![start.clone()],
        });
        Ok(())
    }

    /// All moments agree, up to a sign or a phase.
    fn same(&self, one: &Posterior, other: &Posterior) -> Result<bool, RunError> {
        for variable in self.tree.variables() {
            let name = &variable.name;
            let (x, y) = (one.marginal(name)?, other.marginal(name)?);
            let distance = match variable.spec.element {
                Element::Real => mse_up_to_sign(&x.mean, &y.mean)?,
                Element::Complex => mse_up_to_phase(&x.mean, &y.mean)?,
            };
            let distance = distance.min(mse(&x.mean, &y.mean)?);
            let scale = x.second_moment().min(y.second_moment());
            let gap = (x.average_variance() - y.average_variance()).abs();
            if distance > SAME * scale || gap > SAME * scale {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prelude::*;

    /// A known signal is above every evidence, one without a limit below.
    #[test]
    fn evidences_without_a_limit_come_last() {
        let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(2))
            >> var("x")
            >> GaussianNoise::new(0.5).unwrap()
            >> var("y");
        let model = model.build().unwrap();
        let model = model.condition("y", &[1.0, -2.0]).unwrap();
        let number = ExpectationPropagation.on(&model).unwrap();
        let number = number.run(&mut ()).unwrap();
        let text = String::new;
        let mut known = number.clone();
        known.objective = Err(RunError::NotDefined {
            what: text(),
            why: text(),
        });
        let mut none = number.clone();
        none.objective = Err(RunError::WithoutLimit {
            what: text(),
            variable: text(),
            why: text(),
        });
        assert!(rank(&known) > rank(&number) && rank(&number) > rank(&none));
    }
}
