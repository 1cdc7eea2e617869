//! Penalties and constraints $E(x)$ of maximum a posteriori estimation: one per file, and one line of
//! [`for_each_penalty!`](crate::for_each_penalty) each.

mod box_constraint;
mod custom;
mod l1;
mod l21;
mod non_negative;
mod quadratic;

pub use box_constraint::BoxConstraint;
pub use custom::CustomPenalty;
pub use l1::L1;
pub use l21::L21;
pub use non_negative::NonNegative;
pub use quadratic::Quadratic;

use crate::error::{ModelError, parameter};

/// Strengths are not negative.
fn check_strength(module: &str, strength: f64) -> Result<f64, ModelError> {
    if strength >= 0.0 && strength.is_finite() {
        return Ok(strength);
    }
    let expected = "not negative and finite";
    Err(parameter(module, "strength", expected, strength))
}

/// Calls `$callback!` with `name(MODULE) => instance, [shape];` for every penalty: its entry in the catalogue, and what
/// conformance tests check.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_penalty {
    ($callback:ident) => {
        $callback! {
            l1($crate::catalog::penalties::L1::MODULE) => $crate::catalog::penalties::L1::new(0.7), [6];
            l21($crate::catalog::penalties::L21::MODULE) => $crate::catalog::penalties::L21::new(0.7), [2, 3];
            non_negative($crate::catalog::penalties::NonNegative::MODULE) => $crate::catalog::penalties::NonNegative::new(), [6];
            box_constraint($crate::catalog::penalties::BoxConstraint::MODULE) => $crate::catalog::penalties::BoxConstraint::new(-0.4, 0.9), [6];
            quadratic($crate::catalog::penalties::Quadratic::MODULE) => $crate::catalog::penalties::Quadratic::new(1.3, 0.4), [6];
        }
    };
}
