//! Likelihoods: one law per file. The list with an instance of each is `for_each_likelihood!`.

mod activation;
mod gaussian;
mod modulus;
mod phase;
mod piecewise;

pub use activation::ActivationLikelihood;
pub use gaussian::GaussianLikelihood;
pub use modulus::ModulusLikelihood;
pub use phase::PhaseLikelihood;
pub use piecewise::PiecewiseLikelihood;

/// $\ln \delta(d)$.
fn log_dirac(d: f64) -> f64 {
    if d == 0.0 {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    }
}

fn check_finite(y: f64) -> Result<(), String> {
    if y.is_finite() {
        Ok(())
    } else {
        Err(format!("expected a finite number, got {y}"))
    }
}
