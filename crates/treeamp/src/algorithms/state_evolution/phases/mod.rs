//! Thresholds and phases of a family of models indexed by a ratio $\alpha$.
//!
//! Bayes-optimal state evolution is monotone, so its uninformed and informed starts lead to the
//! extreme fixed points. They coincide outside the hard phase; inside it the one with the smallest
//! entropy of the measurements, of these two and of those between them, is what the data allow, and the uninformed one is what
//! expectation propagation attains.

mod dimension;
mod l1;
mod map;
mod report;
mod scan;
mod thresholds;

pub use l1::{l1_threshold, l1_transition};
pub use map::noiseless_linear_threshold;
pub(super) use map::{Branch, Noise, Star};
pub use report::{FixedPoint, Phase, PhaseReport, phase_report, phase_report_at};
pub use thresholds::{
    algorithmic_threshold, information_threshold, informed_threshold, weak_recovery,
};

use self::scan::Scan;
use super::{BayesOptimal, Evolution, StateEvolution};
use crate::error::RunError;
use crate::model::Tree;

/// Places at which a transition is looked for when the ends of the range do not enclose it.
const SCAN: u32 = 24;

/// A family of models, from the ratio to the tree.
pub type Family<'f> = dyn Fn(f64) -> Result<Tree, RunError> + 'f;

fn check(option: &'static str, fits: bool, expected: &str, got: f64) -> Result<(), RunError> {
    if fits {
        return Ok(());
    }
    Err(RunError::Option {
        option,
        expected: expected.to_owned(),
        got: got.to_string(),
    })
}

/// How the uninformed and the informed fixed point are reached, and distinguished.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedPoints {
    /// The knowledge $\hat m\tau_0$ that an uninformed start is given, so that it leaves a symmetric point that it
    /// would otherwise keep for ever (1e-4).
    pub push: f64,
    /// The knowledge $\hat m\tau_0$ that an informed start is given (1e8).
    pub informed: f64,
    /// Two fixed points are one when their errors differ by less than this, relative (1e-4).
    pub same: f64,
    /// An error below this fraction of $\tau_0$ is perfect recovery (1e-7).
    pub recovered: f64,
    /// A fixed point is reached when variances change by less than this in a sweep, relative (1e-9).
    pub tolerance: f64,
    /// Sweeps after which it counts as not reached (20,000).
    pub max_sweeps: usize,
}

impl Default for FixedPoints {
    fn default() -> Self {
        Self {
            push: 1e-4,
            informed: 1e8,
            same: 1e-4,
            recovered: 1e-7,
            tolerance: 1e-9,
            max_sweeps: 20_000,
        }
    }
}

impl FixedPoints {
    /// With another knowledge at the uninformed start.
    #[must_use]
    pub fn push(mut self, push: f64) -> Self {
        self.push = push;
        self
    }

    /// With another knowledge at the informed start.
    #[must_use]
    pub fn knowledge(mut self, informed: f64) -> Self {
        self.informed = informed;
        self
    }

    /// With another difference below which two fixed points are one.
    #[must_use]
    pub fn same_below(mut self, same: f64) -> Self {
        self.same = same;
        self
    }

    /// With another error below which the signal is recovered.
    #[must_use]
    pub fn recovered_below(mut self, recovered: f64) -> Self {
        self.recovered = recovered;
        self
    }

    /// With another accuracy of the fixed points.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// With another limit of sweeps.
    #[must_use]
    pub fn max_sweeps(mut self, max_sweeps: usize) -> Self {
        self.max_sweeps = max_sweeps;
        self
    }

    fn check(&self) -> Result<(), RunError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        check(
            "push",
            self.push >= 0.0 && self.push.is_finite(),
            "finite and not negative",
            self.push,
        )?;
        check(
            "informed",
            positive(self.informed),
            "positive and finite",
            self.informed,
        )?;
        check(
            "same",
            positive(self.same),
            "positive and finite",
            self.same,
        )?;
        check(
            "recovered",
            positive(self.recovered),
            "positive and finite",
            self.recovered,
        )?;
        check(
            "tolerance",
            positive(self.tolerance),
            "positive and finite",
            self.tolerance,
        )
    }

    /// The fixed point that expectation propagation attains.
    pub(super) fn uninformed(
        &self,
        tree: &Tree,
        signals: &[&str],
    ) -> Result<Evolution<BayesOptimal>, RunError> {
        self.from(tree, signals, self.push)
    }

    /// The fixed point reached from the solution.
    pub(super) fn informed(
        &self,
        tree: &Tree,
        signals: &[&str],
    ) -> Result<Evolution<BayesOptimal>, RunError> {
        self.from(tree, signals, self.informed)
    }

    fn from(
        &self,
        tree: &Tree,
        signals: &[&str],
        knowledge: f64,
    ) -> Result<Evolution<BayesOptimal>, RunError> {
        self.theory(tree)?
            .starting_with(signals, knowledge)?
            .fixed_point()
    }

    /// State evolution as accurate as asked for.
    fn theory<'t>(&self, tree: &'t Tree) -> Result<StateEvolution<'t>, RunError> {
        self.check()?;
        Ok(StateEvolution::new(tree)?
            .max_sweeps(self.max_sweeps)
            .tolerance(self.tolerance))
    }

    /// Two errors are those of one fixed point.
    pub(super) fn same(&self, x: f64, y: f64, tau0: f64) -> bool {
        (x - y).abs() <= self.same * x.max(y) || x.max(y) < self.recovered * tau0
    }

    fn recovers(&self, mse: f64, tau0: f64) -> bool {
        mse < self.recovered * tau0
    }
}

/// The signal, and all variables that have a prior: who knows the solution knows the others as well.
fn unknowns<'a>(tree: &'a Tree, signal: &'a str) -> Vec<&'a str> {
    let sources = tree.factors().iter().filter(|node| node.inputs == 0);
    let names = sources.flat_map(|node| {
        let variable = |e: &usize| tree.variables()[tree.edges()[*e].variable].name.as_str();
        node.edges.iter().map(variable)
    });
    let mut names: Vec<&str> = names.filter(|name| *name != signal).collect();
    names.push(signal);
    names
}

/// How a threshold is sought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// The smallest ratio considered.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// The accuracy of the ratio.
    pub tolerance: f64,
    /// How fixed points are reached where they are needed.
    pub points: FixedPoints,
}

impl Search {
    /// Between two ratios, to 1e-4.
    #[must_use]
    pub fn between(low: f64, high: f64) -> Self {
        Self {
            low,
            high,
            tolerance: 1e-4,
            points: FixedPoints::default(),
        }
    }

    /// With another accuracy.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// With another limit of sweeps for every fixed point.
    #[must_use]
    pub fn max_sweeps(mut self, max_sweeps: usize) -> Self {
        self.points.max_sweeps = max_sweeps;
        self
    }

    /// With fixed points reached otherwise.
    #[must_use]
    pub fn points(mut self, points: FixedPoints) -> Self {
        self.points = points;
        self
    }

    fn check(&self) -> Result<(), RunError> {
        let (low, high) = (self.low, self.high);
        check(
            "low",
            low > 0.0 && low.is_finite(),
            "positive and finite",
            low,
        )?;
        check(
            "high",
            high > low && high.is_finite(),
            "finite and above `low`",
            high,
        )?;
        check(
            "tolerance",
            self.tolerance > 0.0,
            "positive",
            self.tolerance,
        )?;
        self.points.check()
    }

    /// The ratio at which `above` turns from false to true: the last such place of the range.
    fn bisect(
        &self,
        what: &str,
        above: impl Fn(f64) -> Result<bool, RunError>,
    ) -> Result<f64, RunError> {
        self.check()?;
        let (mut low, mut high) = self.bracket(what, &above)?;
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

    /// As [`bisect`](Self::bisect), with a guess that is taken if the transition is there. `above` may also tell the error of the uninformed
    /// fixed point.
    fn around(
        &self,
        guess: Option<f64>,
        what: &str,
        above: impl Fn(f64) -> Result<(bool, Option<f64>), RunError>,
    ) -> Result<f64, RunError> {
        let scan = Scan::default();
        let above = |alpha: f64| Ok::<_, RunError>(scan.note(alpha, above(alpha)?));
        if let Some(guess) = guess {
            let (low, high) = (guess - 0.5 * self.tolerance, guess + 0.5 * self.tolerance);
            let inside = low >= self.low && high <= self.high;
            if inside && !above(low)? && above(high)? {
                return Ok(guess);
            }
        }
        let missed = match self.bisect(what, above) {
            Err(missed @ RunError::NoTransition { .. }) => missed,
            found => return found,
        };
        match scan.bracket(self.tolerance, above)? {
            Some((low, high)) => Self { low, high, ..*self }.bisect(what, above),
            None => Err(missed),
        }
    }

    /// The ratio at which `f` turns from negative to positive, by false position.
    fn root(&self, what: &str, f: impl Fn(f64) -> Result<f64, RunError>) -> Result<f64, RunError> {
        self.check()?;
        let (mut low, mut high) = self.bracket(what, |alpha| Ok(f(alpha)? > 0.0))?;
        let (mut below, mut above) = (f(low)?, f(high)?);
        while high - low > self.tolerance {
            let straight = low - below * (high - low) / (above - below);
            // a little past the root, so that both ends move; the middle when that fails
            let inward = if straight - low < high - straight {
                1.0
            } else {
                -1.0
            };
            let guess = straight + inward * 0.4 * self.tolerance;
            let middle = 0.5 * (low + high);
            let place = if guess > low && guess < high {
                guess
            } else {
                middle
            };
            if place <= low || place >= high {
                break;
            }
            let value = f(place)?;
            if value > 0.0 {
                // halving the other value keeps an end from staying for ever
                (high, above, below) = (place, value, 0.5 * below);
            } else {
                (low, below, above) = (place, value, 0.5 * above);
            }
        }
        Ok(0.5 * (low + high))
    }

    /// Two ratios with the transition between them: the ends of the range, or else a place inside. What a
    /// phase has may also hold where there is only one fixed point, below it or above.
    fn bracket(
        &self,
        what: &str,
        above: impl Fn(f64) -> Result<bool, RunError>,
    ) -> Result<(f64, f64), RunError> {
        let (low, high) = (self.low, self.high);
        let mut right = (high, above(high)?);
        let first = above(low)?;
        if right.1 && !first {
            return Ok((low, high));
        }
        let step = (high - low) / f64::from(SCAN);
        let mut any = right.1;
        for k in (0..SCAN).rev() {
            let alpha = low + step * f64::from(k);
            let left = (alpha, if k == 0 { first } else { above(alpha)? });
            if right.1 && !left.1 {
                return Ok((left.0, right.0));
            }
            any |= left.1;
            right = left;
        }
        Err(RunError::NoTransition {
            what: what.to_owned(),
            low,
            high,
            holds: any,
        })
    }
}
