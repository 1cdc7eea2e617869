//! Douglas-Rachford splitting.
//!
//! A tree has two colours. With a precision $\rho$ on every link between a red and a black factor, and
//! $G = \sum_{\text{red}} E_k$, $H = \sum_{\text{black}} E_k$ (a variable with three factors or more is a factor of its own
//! that holds its copies together),
//!
//! $$u = \mathrm{prox}_G(s),\qquad w = \mathrm{prox}_H(2u - s),\qquad s \leftarrow s + (w - u):$$
//!
//! the messages of a sweep, $b' = 2\rho u - b$, at precisions that stay, and half a step. The map is averaged in the norm
//! of $\rho$, so that $w - u \to 0$ for any convex energies that have a minimiser.

use std::ops::ControlFlow;

use super::acceleration::Acceleration;
use super::balance::change;
use super::certificate::Certificate;
use super::movement::Movement;
use super::point::{Solution, point_at};
use super::problem::Problem;
use super::ray::{Fall, falls};
use crate::belief::Gaussian;
use crate::engine::{Bound, FallbackEnd, Verdict, Watch};
use crate::error::RunError;
use crate::math::ROUNDING;
use crate::model::Tree;

/// When a splitting ends, and how it goes there.
#[derive(Debug, Clone, Copy)]
pub(in crate::algorithms) struct Settings {
    /// The relative primal-dual gap of a minimiser.
    pub gap: f64,
    /// How far two factors may disagree on a place, and how far the point may be from the minimiser, by how it has moved; both relative.
    /// `None` where the gap alone counts.
    pub places: Option<(f64, f64)>,
    /// Evaluations of all modes after which it gives up.
    pub limit: usize,
    /// Steps before the precisions are first balanced; every time it takes twice as many, so that they change finitely often.
    pub first_epoch: usize,
    /// Residuals of places and of slopes this far apart are brought together, by at most the second at a time.
    pub imbalance: (f64, f64),
    /// Links stay within this factor of each other, in their units.
    pub apart: f64,
    /// The certificate is computed whenever steps have grown by one part in so many: it costs about two of them.
    pub checks: usize,
}

impl Settings {
    /// To a relative gap, and where none is asked for to the accuracy of places that is promised, $10^{-6}$ of their scale.
    pub fn new(gap: Option<f64>) -> Self {
        Self {
            gap: gap.unwrap_or(0.5 * super::certificate::ENERGY),
            places: gap.is_none().then_some((1e-8, 1e-6)),
            limit: 100_000,
            first_epoch: 10,
            imbalance: (1.5, 10.0),
            apart: 1e3,
            checks: 7,
        }
    }
}

/// Who watches is told about so many first steps, and then about one in so many: messages cost about as much as a step.
const WATCHED: usize = 10;
/// Steps before constraints are said not to hold together.
const EARLY: usize = 100;
/// They do not where the residual $w - u$ stays the same, to this fraction, and is larger than that.
const STEADY: f64 = 1e-3;
/// Where steps are alike $\rho$ changes by this.
const DRIFT: f64 = 10.0;
/// A minimiser that is found is polished in half as many steps again, and so many more.
const POLISH: usize = 20;
/// Precisions stay within this factor of their units, and are no smaller than the second times them at the end: beside a smaller one slopes have
/// less than nine digits.
const WIDEST: f64 = 1e13;
const RESOLVING: f64 = 1e-6;
/// The energy falls without bound where it falls as far as one looks at every check while the largest place grows by this.
const GROWTH: f64 = 100.0;

/// A splitting under way.
pub(super) struct Solver<'t> {
    problem: Problem<'t>,
    settings: Settings,
    acceleration: Acceleration,
    movement: Movement,
    pub steps: usize,
    /// The last disagreement on a link, relative to its scale.
    pub disagreement: f64,
    epoch_end: usize,
    /// A minimiser that was found, and the last of the steps that add digits to it.
    found: Option<Vec<Gaussian>>,
    polish: Option<usize>,
    next_check: usize,
    /// The point at the last check.
    last_point: Option<Solution>,
    /// The largest place since which the energy falls as far as one looks at every check.
    falls_since: Option<f64>,
    /// At the last check the energy fell to an infimum as far as one looks: what that is called where no minimiser is found.
    to_infimum: Option<Fall>,
    /// The residual $w - u$ at the last check whose point was not feasible.
    last_residual: Vec<f64>,
}

impl<'t> Solver<'t> {
    pub fn new(tree: &'t Tree, start: &[Gaussian], settings: Settings) -> Self {
        let problem = Problem::new(tree, start);
        let mut acceleration = Acceleration::new(problem.s.len());
        acceleration.restart(problem.precisions());
        Self {
            last_residual: vec![0.0; problem.s.len()],
            problem,
            acceleration,
            movement: Movement::new(),
            steps: 0,
            disagreement: f64::INFINITY,
            epoch_end: settings.first_epoch,
            found: None,
            polish: None,
            next_check: 1,
            last_point: None,
            falls_since: None,
            to_infimum: None,
            settings,
        }
    }

    pub fn evaluations(&self) -> usize {
        self.problem.evaluations
    }

    /// Runs to its end, and leaves messages there.
    pub fn run(
        &mut self,
        messages: &mut [Gaussian],
        watch: &mut dyn Watch<Gaussian>,
    ) -> Result<FallbackEnd, RunError> {
        while self.evaluations() < self.settings.limit {
            let (norm, disagreement) = self.problem.evaluate()?;
            let problem = &mut self.problem;
            if self.acceleration.rejects(norm, &mut problem.s) {
                continue;
            }
            self.steps += 1;
            self.disagreement = disagreement;
            if self.steps <= WATCHED || self.steps.is_multiple_of(WATCHED) {
                self.problem.messages_into(messages)?;
                if let ControlFlow::Break(reason) = watch.after_step(messages, disagreement) {
                    return Ok(FallbackEnd::Stopped(reason));
                }
            }
            if self.looks()
                && let Some(end) = self.check(messages)?
            {
                return Ok(end);
            }
            if self.steps >= self.epoch_end {
                self.epoch_end *= 2;
                if self.balance() {
                    continue;
                }
            }
            if self.acceleration.drifts() && self.polish.is_none() {
                self.follow_drift();
                continue;
            }
            let problem = &mut self.problem;
            problem.before.copy_from_slice(&problem.w);
            // two plain steps before a balance show the residual of slopes
            if self.steps + 2 >= self.epoch_end {
                problem.s.copy_from_slice(&problem.plain);
            } else {
                self.acceleration
                    .advance(&mut problem.s, &problem.gap, &problem.plain, norm);
            }
        }
        self.problem.messages_into(messages)?;
        if let Some(found) = &self.found {
            messages.clone_from_slice(found);
            return Ok(FallbackEnd::Stationary);
        }
        if let Some(Fall {
            factor, variable, ..
        }) = self.to_infimum.take()
        {
            let verdict = Verdict::InfimumNotAttained { factor, variable };
            return Ok(FallbackEnd::Rejected(verdict));
        }
        let (bound, reached) = (Bound::Evaluations, self.evaluations());
        Ok(FallbackEnd::Limit { bound, reached })
    }

    fn looks(&self) -> bool {
        let sooner = self.settings.places.is_some() && self.disagreement <= self.movement.level;
        self.steps >= self.next_check || sooner || self.disagreement <= ROUNDING
    }

    /// The end, if the certificate or the differences of iterates tell it.
    fn check(&mut self, messages: &mut [Gaussian]) -> Result<Option<FallbackEnd>, RunError> {
        self.next_check = self.steps + 1 + self.steps / self.settings.checks;
        let tree = self.problem.tree;
        self.problem.messages_into(messages)?;
        let Ok(certificate) = Certificate::of(tree, messages) else {
            return Ok(None);
        };
        let accurate = match (&certificate.point, self.settings.places) {
            (Err(_), _) => false,
            (Ok(_), None) => true,
            (Ok(point), Some((disagreement, left))) => {
                self.movement
                    .note(tree, point, (self.steps, self.disagreement));
                let still = self.movement.left <= left && self.disagreement <= disagreement;
                still || self.disagreement <= ROUNDING
            }
        };
        let holds = accurate && certificate.holds(self.settings.gap);
        if let Some(last) = self.polish.filter(|last| holds || self.steps >= *last) {
            let exact = self.disagreement <= ROUNDING;
            if holds && (exact || self.steps >= last) {
                return Ok(Some(FallbackEnd::Stationary));
            }
            self.polish = self.polish.filter(|_| holds);
        } else if holds {
            let exact = self.disagreement <= ROUNDING && self.fraction() >= RESOLVING;
            if self.settings.places.is_none() || exact {
                return Ok(Some(FallbackEnd::Stationary));
            }
            let last = self.steps + POLISH + self.steps / 2;
            self.found = Some(messages.to_vec());
            self.polish = Some(last);
            self.next_check = last;
            // beside small precisions slopes have few digits
            if self.fraction() < RESOLVING {
                let change = RESOLVING / self.fraction();
                self.rescale(&vec![change; self.problem.layout.links.len()]);
            }
            return Ok(None);
        }
        let forbidden = match &certificate.point {
            Err(RunError::Infeasible { factor, .. }) => Some(factor.clone()),
            _ => None,
        };
        let places = self.problem.at_channels(messages);
        if let Ok(point) = point_at(tree, &places) {
            let last = self.last_point.replace(point);
            let pair = last.as_ref().zip(self.last_point.as_ref());
            let fall = pair.and_then(|(last, point)| falls(tree, last, point));
            let (to_infimum, fall) = match fall {
                Some(fall) if fall.to_infimum => (Some(fall), None),
                fall => (None, fall),
            };
            self.to_infimum = to_infimum;
            let since = fall
                .as_ref()
                .map(|now| self.falls_since.unwrap_or(now.size));
            self.falls_since = since;
            if let (Some(now), Some(first)) = (fall, since)
                && now.size > GROWTH * first
            {
                let Fall {
                    factor, variable, ..
                } = now;
                let verdict = Verdict::Unbounded { factor, variable };
                return Ok(Some(FallbackEnd::Rejected(verdict)));
            }
        }
        let forbidden = forbidden.filter(|_| {
            let agreed = self.settings.places.map_or(STEADY, |(d, _)| d);
            self.disagreement <= agreed || self.is_steady()
        });
        Ok(forbidden.map(|factor| FallbackEnd::Rejected(Verdict::Infeasible { factor })))
    }

    /// The residual is the same as at the last point that was not feasible: constraints keep their distance.
    fn is_steady(&mut self) -> bool {
        let residual = &self.problem.gap;
        let pairs = residual.iter().zip(&self.last_residual);
        let change: f64 = pairs.map(|(x, y)| (x - y).powi(2)).sum();
        let size: f64 = residual.iter().map(|x| x * x).sum();
        self.last_residual.copy_from_slice(residual);
        self.steps > EARLY && change < STEADY * STEADY * size && self.disagreement > STEADY
    }

    /// Brings the relative residuals of places, $w - u$, and of slopes, $w - w_{\text{before}}$, together on every link by a change of its
    /// $\rho$, and says whether any changed. Links stay within a factor of each other, in their units.
    fn balance(&mut self) -> bool {
        let problem = &self.problem;
        let links = problem.layout.links.iter();
        let wanted: Vec<f64> = links
            .clone()
            .map(|l| {
                let (s, u, w) = (l.of(&problem.s), l.of(&problem.u), l.of(&problem.w));
                let change = change((s, u), w, l.of(&problem.before), self.settings.imbalance);
                l.rho / l.unit * change
            })
            .collect();
        let logs: f64 = wanted.iter().map(|f| f.ln()).sum();
        let middle = (logs / wanted.len().max(1) as f64).exp();
        let apart = self.settings.apart;
        let new = wanted.iter().zip(links);
        let changes = new.map(|(f, l)| f.clamp(middle / apart, middle * apart) * l.unit / l.rho);
        let changes: Vec<f64> = changes.collect();
        let changed = changes.iter().any(|c| (c - 1.0).abs() > f64::EPSILON);
        if changed {
            self.rescale(&changes);
        }
        changed
    }

    /// Along a direction that the energy hardly sees a step is its slope over $\rho$, the same again and again, and $\rho$ is too large; where
    /// it is too small, slopes drift at places that stay.
    fn follow_drift(&mut self) {
        let problem = &self.problem;
        let norm = |x: &dyn Fn(usize) -> f64| -> f64 {
            let squares = problem.precisions().enumerate();
            squares.map(|(i, rho)| rho * x(i) * x(i)).sum()
        };
        let places = norm(&|i| problem.w[i] - problem.before[i]);
        let all = norm(&|i| problem.gap[i]);
        let change = if places > 0.25 * all {
            1.0 / DRIFT
        } else {
            DRIFT
        };
        self.rescale(&vec![change; self.problem.layout.links.len()]);
    }

    /// The least precision, as a fraction of its unit.
    fn fraction(&self) -> f64 {
        let fractions = self.problem.layout.links.iter().map(|l| l.rho / l.unit);
        fractions.fold(f64::INFINITY, f64::min)
    }

    /// Multiplies the $\rho$ of every link, within bounds, at the same places and slopes.
    fn rescale(&mut self, changes: &[f64]) {
        let problem = &mut self.problem;
        for (link, change) in problem.layout.links.iter_mut().zip(changes) {
            let rho = (link.rho * change).clamp(link.unit / WIDEST, link.unit * WIDEST);
            let change = rho / link.rho;
            link.rho = rho;
            let range = link.start..link.start + link.len;
            let from = problem.plain[range.clone()]
                .iter()
                .zip(&problem.w[range.clone()]);
            let parts = problem.s[range].iter_mut().zip(from);
            parts.for_each(|(s, (new, x))| *s = x + (new - x) / change);
        }
        self.acceleration.restart(self.problem.precisions());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gap_of_ones_own_places_count() {
        let (own, given) = (Settings::new(None), Settings::new(Some(1e-5)));
        assert!(own.places.is_some() && given.places.is_none());
        assert!((given.gap - 1e-5).abs() < 1e-20 && own.gap < 1e-8);
    }
}
