//! Quadrature on a line, and nothing else: rules, adaptive panels, where to lay them, sums with equal steps.
//!
//! - `gauss_legendre`: rules of 16 and 32 points.
//! - `panels`: adaptive integration of several functions at once, with monitors for what falls between the nodes.
//! - `peaks`: the first panels, from the places and widths of what is known to happen on the line.
//! - `trapezoid`: sums with equal steps, which converge exponentially for analytic functions.
//! - `normal`: averages over standard normal variables, one or two by panels and more of them at random.
//! - `halving`: slow and simple, for tests.

mod gauss_legendre;
mod halving;
pub(crate) mod normal;
pub(crate) mod panels;
pub(crate) mod peaks;
pub(crate) mod trapezoid;

pub use gauss_legendre::{GaussLegendre, legendre, rule16, rule32};
pub use halving::integrate;
