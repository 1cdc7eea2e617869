//! The scalar penalty $E(x)$.

use std::fmt::Debug;

use super::{Tilt, Tilted};

/// An energy of one component, known by its proximal map:
/// $A(a, b) = \max_x\{-E(x) - \tfrac12 a x^2 + b x\}$.
pub trait ScalarPenalty: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Name in messages, drawings and the catalogue.
    fn name(&self) -> &str;

    /// $A$, the mode $r = \partial_b A = \mathrm{prox}_{E/a}(b/a)$ and its curvature $v = \partial_b r$, for $a > 0$. Where there
    /// is no mode: [`Tilted::divergent`].
    fn proximal(&self, a: f64, b: f64) -> Tilted;

    /// $E(x)$; infinite outside a constraint.
    fn energy(&self, x: f64) -> f64;

    /// The closed set where the energy is finite.
    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The $b$ at which the mode has a corner at precision `a`, for averages over it.
    fn corners(&self, _a: f64) -> Vec<f64> {
        Vec::new()
    }

    /// What it says before it has heard anything: a belief of about its scale. Flat if it has none.
    fn nominal(&self) -> Tilt {
        Tilt { a: 0.0, b: 0.0 }
    }

    /// The natural parameters if the penalty is quadratic: its message is then constant.
    fn as_gaussian(&self) -> Option<Tilt> {
        None
    }

    /// The energy is convex.
    fn is_convex(&self) -> bool {
        true
    }

    /// The parameters by name, for descriptions.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
