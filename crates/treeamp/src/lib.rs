//! Compositional inference in high-dimensional, tree-structured models.
//!
//! Declare a tree of priors, channels and likelihoods over high-dimensional variables, and run
//! expectation propagation on it: posterior means and variances, and the evidence.
//!
//! ```
//! use treeamp::prelude::*;
//!
//! let w = Matrix::from_rows(2, 3, &[1.0, 0.5, -0.2, 0.0, 1.0, 0.3])?;
//! let model = (source(GaussBernoulli::new(0.5, 0.0, 1.0)?.iid(3)) >> var("x")
//!     >> Linear::new(w)? >> var("z")
//!     >> GaussianNoise::new(0.01)? >> var("y")).build()?;
//! let truth = model.sample(0)?;
//! let observed = model.condition("y", truth.get("y")?)?;
//! let report = ExpectationPropagation.on(&observed)?.run(&mut ())?;
//! println!("{}: x = {:?} ± {:.3}", report.termination, report.mean("x")?, report.variance("x")?.sqrt());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`math`] | numerics that have never heard of a graph |
//! | [`belief`] | Gaussian beliefs $(a, b)$, moments $(r, v)$, shapes |
//! | [`scalar`] | the traits of scalar laws: $A$, $r = \partial_b A$, $v = \partial^2_b A$ |
//! | [`operator`] | linear maps with adjoint and spectrum: Fourier, convolution, gradient, sparse, matrix-free |
//! | [`factor`] | the trait of factors and their capabilities |
//! | [`separable`] | from a scalar law to a factor |
//! | [`catalog`] | the priors, likelihoods and channels |
//! | [`metrics`] | errors of an estimate, also up to a global sign or phase |
//! | [`model`] | declarations, the validated tree, observations, samples, drawings |
//! | [`engine`] | the loop: plan, sweep, damping, observers, report |
//! | [`algorithms`] | expectation propagation, maximum a posteriori, state evolution |
//! | [`prelude`], [`extend`] | what users import, and what authors of laws, factors and operators import besides |
//! | [`with_threads`] | how many threads the products of a run use |
//! | [`testing`] | conformance checks, also for your own laws |

pub mod algorithms;
pub mod belief;
pub mod catalog;
pub mod engine;
pub mod error;
pub mod extend;
pub mod factor;
pub mod math;
pub mod metrics;
pub mod model;
pub mod operator;
pub mod prelude;
pub mod scalar;
pub mod separable;
pub mod testing;
mod threads;

pub use error::{FactorError, ModelError, RunError};
pub use num_complex::Complex;
pub use threads::with_threads;
