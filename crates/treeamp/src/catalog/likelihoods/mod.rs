//! Likelihoods: one law per file, and one line of [`for_each_likelihood!`](crate::for_each_likelihood) each.

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

/// Calls `$callback!` with `name(MODULE) => instance, [observations];` for every likelihood of a real signal. Those of
/// channels have the entry of their channel, and no `(MODULE)` here; a law of outputs alone has its own.
#[macro_export]
macro_rules! for_each_likelihood {
    ($callback:ident) => {
        $callback! {
            gaussian => $crate::catalog::likelihoods::GaussianLikelihood::new(0.3), [0.4, -2.0];
            noiseless => $crate::catalog::likelihoods::GaussianLikelihood::new(0.0), [0.4, -2.0];
            sign => $crate::catalog::observed(&$crate::catalog::channels::PiecewiseLinear::sign()), [1.0, -1.0];
            hard_tanh => $crate::catalog::observed(&$crate::catalog::channels::PiecewiseLinear::hard_tanh()), [-1.0, 0.3, 1.0];
            tanh => $crate::catalog::observed(&$crate::catalog::channels::Activation::tanh()), [-0.6, 0.1];
        }
    };
}

/// The same for likelihoods of a complex signal.
#[macro_export]
macro_rules! for_each_complex_likelihood {
    ($callback:ident) => {
        $callback! {
            modulus => Ok($crate::catalog::likelihoods::ModulusLikelihood), [0.4, 2.0];
            phase($crate::catalog::likelihoods::PhaseLikelihood::MODULE) => Ok($crate::catalog::likelihoods::PhaseLikelihood),
                [$crate::Complex::new(1.0, 0.0), $crate::Complex::new(-0.6, 0.8)];
            gaussian_parts => $crate::catalog::likelihoods::GaussianLikelihood::new(0.3)
                .map($crate::separable::PartsLikelihood::new), [$crate::Complex::new(0.4, -2.0)];
        }
    };
}
