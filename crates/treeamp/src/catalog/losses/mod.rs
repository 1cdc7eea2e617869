//! Losses $E(z; y)$ of observed outputs, for maximum a posteriori estimation: one per file, and one line of
//! [`for_each_loss!`](crate::for_each_loss) each. The likelihoods that are log-concave have a mode too: `logistic`, `poisson` and the like are
//! the logistic loss and the Poisson deviance.

mod hinge;
mod huber;
mod quantile;
mod squared_hinge;

pub use hinge::Hinge;
pub use huber::Huber;
pub use quantile::Quantile;
pub use squared_hinge::SquaredHinge;

use crate::catalog::module::{Domain, Parameter, number};
use crate::error::{ModelError, parameter};

/// What a loss is multiplied by.
const STRENGTH: Parameter = number(
    "strength",
    1.0,
    Domain::Positive,
    "what the loss is multiplied by",
)
.called("s");

/// Strengths and thresholds are positive.
fn check_positive(module: &str, name: &'static str, x: f64) -> Result<f64, ModelError> {
    if x > 0.0 && x.is_finite() {
        return Ok(x);
    }
    Err(parameter(module, name, "positive and finite", x))
}

/// Calls `$callback!` with `name(MODULE) => instance, [observations];` for every loss: its entry in the catalogue, and what conformance
/// tests check.
#[macro_export]
macro_rules! for_each_loss {
    ($callback:ident) => {
        $callback! {
            hinge($crate::catalog::losses::Hinge::MODULE) => $crate::catalog::losses::Hinge::new(0.7), [1.0, -1.0];
            squared_hinge($crate::catalog::losses::SquaredHinge::MODULE) => $crate::catalog::losses::SquaredHinge::new(0.7), [1.0, -1.0];
            huber($crate::catalog::losses::Huber::MODULE) => $crate::catalog::losses::Huber::new(0.7, 0.5), [0.4, -2.0];
            quantile($crate::catalog::losses::Quantile::MODULE) => $crate::catalog::losses::Quantile::new(0.7, 0.2), [0.4, -2.0];
        }
    };
}
