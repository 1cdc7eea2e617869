//! Penalties $e^{-E(x)}$: what is asked of one, and its way into a model.

use std::fmt::Debug;

use super::penalised::{Penalised, Place};
use super::{chunked_sum, fill_moments, within};
use crate::scalar::{ScalarPenalty, Tilt, Tilted};

/// An energy $E(x)$ of an array, known by its proximal map. Every [`ScalarPenalty`] is one, component by
/// component.
pub trait Penalty: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Name in messages, drawings and the catalogue.
    fn name(&self) -> &str;

    /// Writes the mode $\mathrm{argmin}_x\{E(x) + \tfrac12 a\|x\|^2 - b^T x\}$ of an array of this shape and gives
    /// $v = \frac1n\mathrm{tr}\,\partial_b x^*$; infinite where there is no mode.
    fn proximal(&self, shape: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64;

    /// $E(x)$; infinite outside a constraint.
    fn energy(&self, shape: &[usize], x: &[f64]) -> f64;

    /// Says what is wrong with a shape it cannot take.
    ///
    /// # Errors
    /// What it expects.
    fn check_shape(&self, _shape: &[usize]) -> Result<(), String> {
        Ok(())
    }

    /// The curvature $v$ of [`proximal`](Self::proximal) smoothed: slopes are those of chords between
    /// $b_i \pm h$, so that $v$ is continuous in $b$. `None` if it has none but the exact one.
    fn smoothed(&self, _shape: &[usize], _a: f64, _b: &[f64], _h: f64) -> Option<f64> {
        None
    }

    /// What it says before it has heard anything: a belief of about its scale, the same on every component. Flat if
    /// it has none.
    fn nominal(&self, _shape: &[usize]) -> Tilt {
        Tilt { a: 0.0, b: 0.0 }
    }

    /// The natural parameters if the penalty is quadratic and the same on every component.
    fn as_gaussian(&self) -> Option<Tilt> {
        None
    }

    /// The energy is convex.
    fn is_convex(&self) -> bool {
        true
    }

    /// The $b$ at which the mode of one component has a corner at precision `a`.
    fn corners(&self, _a: f64) -> Vec<f64> {
        Vec::new()
    }

    /// The proximal map of component `i`, if the penalty acts on each alone.
    fn component(&self, _i: usize, _a: f64, _b: f64) -> Option<Tilted> {
        None
    }

    /// The parameters by name, for descriptions.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

impl<P: ScalarPenalty> Penalty for P {
    fn name(&self) -> &str {
        ScalarPenalty::name(self)
    }

    fn proximal(&self, _: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64 {
        fill_moments(mode, |i| {
            let t = ScalarPenalty::proximal(self, a, b[i]);
            (t.mean, t.variance)
        })
    }

    fn energy(&self, _: &[usize], x: &[f64]) -> f64 {
        let (inside, support) = (within(x), self.support());
        chunked_sum(x.len(), |i| {
            ScalarPenalty::energy(self, inside(support, x[i]))
        })
    }

    fn smoothed(&self, _: &[usize], a: f64, b: &[f64], h: f64) -> Option<f64> {
        let mode = |b: f64| ScalarPenalty::proximal(self, a, b).mean;
        let rise = chunked_sum(b.len(), |i| mode(b[i] + h) - mode(b[i] - h));
        Some(rise / (2.0 * h * b.len() as f64))
    }

    fn nominal(&self, _: &[usize]) -> Tilt {
        ScalarPenalty::nominal(self)
    }

    fn as_gaussian(&self) -> Option<Tilt> {
        ScalarPenalty::as_gaussian(self)
    }

    fn is_convex(&self) -> bool {
        ScalarPenalty::is_convex(self)
    }

    fn corners(&self, a: f64) -> Vec<f64> {
        ScalarPenalty::corners(self, a)
    }

    fn component(&self, _: usize, a: f64, b: f64) -> Option<Tilted> {
        Some(ScalarPenalty::proximal(self, a, b))
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        ScalarPenalty::parameters(self)
    }
}

/// Gives every penalty the way into a model.
pub trait PenaltyLaw: Penalty {
    /// The penalty of a vector of `n` components, at its source.
    fn iid(self, n: usize) -> Penalised<Self> {
        self.shaped([n])
    }

    /// The penalty of an array, at its source.
    fn shaped(self, shape: impl Into<Vec<usize>>) -> Penalised<Self> {
        let (shape, ratio) = (shape.into(), None);
        Penalised::new(self, Place::Source { shape, ratio })
    }

    /// The penalty of a signal in the limit of infinite size, the reference that ratios refer to. For theory only.
    fn limit(self) -> Penalised<Self> {
        self.limit_of(1.0)
    }

    /// The penalty of a signal in the limit of infinite size, `ratio` times the size of the reference.
    fn limit_of(self, ratio: f64) -> Penalised<Self> {
        let (shape, ratio) = (Vec::new(), Some(ratio));
        Penalised::new(self, Place::Source { shape, ratio })
    }

    /// The penalty of a variable that something else produces: `var("z") >> L1::new(0.5)?.at_end()`.
    fn at_end(self) -> Penalised<Self> {
        Penalised::new(self, Place::End(Vec::new()))
    }
}

impl<P: Penalty> PenaltyLaw for P {}
