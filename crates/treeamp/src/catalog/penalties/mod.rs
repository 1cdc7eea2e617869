//! Penalties and constraints $E(x)$ of maximum a posteriori estimation: one per file, the list with an instance of
//! each is `for_each_penalty!`.

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
