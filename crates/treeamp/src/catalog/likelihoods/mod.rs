//! Likelihoods: one law per file, and one line of [`for_each_likelihood!`](crate::for_each_likelihood) each.

mod activation;
mod additive_noise;
mod behind_noise;
mod censored;
mod gaussian;
mod heteroscedastic_noise;
mod laplace_noise;
mod logistic;
mod modulus;
mod negative_binomial;
mod outlier_noise;
mod phase;
mod piecewise;
mod poisson;
mod poisson_softplus;
mod probit;
mod quantised;
mod rician_modulus;
mod row_function;
mod sign_committee;
mod softmax;
mod student_t_noise;

pub use activation::ActivationLikelihood;
pub use additive_noise::AdditiveNoise;
pub use censored::Censored;
pub use gaussian::GaussianLikelihood;
pub use heteroscedastic_noise::HeteroscedasticNoise;
pub use laplace_noise::LaplaceNoise;
pub use logistic::LogisticLikelihood;
pub use modulus::ModulusLikelihood;
pub use negative_binomial::NegativeBinomial;
pub use outlier_noise::OutlierNoise;
pub use phase::PhaseLikelihood;
pub use piecewise::PiecewiseLikelihood;
pub use poisson::PoissonLikelihood;
pub use poisson_softplus::PoissonSoftplusLikelihood;
pub use probit::ProbitLikelihood;
pub use quantised::Quantised;
pub use rician_modulus::RicianModulus;
pub use row_function::RowFunction;
pub use sign_committee::SignCommittee;
pub use softmax::Softmax;
pub use student_t_noise::StudentTNoise;

/// $\ln \delta(d)$.
fn log_dirac(d: f64) -> f64 {
    if d == 0.0 {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    }
}

pub(super) fn check_finite(y: f64) -> Result<(), String> {
    if y.is_finite() {
        Ok(())
    } else {
        Err(format!("expected a finite number, got {y}"))
    }
}

pub(super) fn check_label(y: f64) -> Result<(), String> {
    // NaN is none
    if (y.abs() - 1.0).abs() <= 0.0 {
        Ok(())
    } else {
        Err(format!("expected +1 or -1, got {y}"))
    }
}

/// Counts up to $2^{53}$, which are exact.
fn check_count(y: f64) -> Result<(), String> {
    if y > 9_007_199_254_740_992.0 {
        Err(format!("expected a count of at most 2^53, got {y:e}"))
    } else if y >= 0.0 && y.fract() == 0.0 {
        Ok(())
    } else {
        Err(format!("expected a count 0, 1, 2, ..., got {y}"))
    }
}

/// Calls `$callback!` with `name(MODULE) => instance, [observations];` for every likelihood of a real signal. Those of
/// channels have the entry of their channel, and no `(MODULE)` here; a law of outputs alone has its own.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_likelihood {
    ($callback:ident) => {
        $callback! {
            gaussian => $crate::catalog::likelihoods::GaussianLikelihood::new(0.3), [0.4, -2.0];
            noiseless => $crate::catalog::likelihoods::GaussianLikelihood::new(0.0), [0.4, -2.0];
            sign => $crate::catalog::observed(&$crate::catalog::channels::PiecewiseLinear::sign()), [1.0, -1.0];
            hard_tanh => $crate::catalog::observed(&$crate::catalog::channels::PiecewiseLinear::hard_tanh()), [-1.0, 0.3, 1.0];
            logistic($crate::catalog::likelihoods::LogisticLikelihood::MODULE) => Ok::<_, $crate::ModelError>($crate::catalog::likelihoods::LogisticLikelihood::default()), [1.0, -1.0];
            flipped_logistic => $crate::catalog::likelihoods::LogisticLikelihood::new(0.1), [1.0, -1.0];
            probit($crate::catalog::likelihoods::ProbitLikelihood::MODULE) => $crate::catalog::likelihoods::ProbitLikelihood::new(0.4, 0.1), [1.0, -1.0];
            poisson($crate::catalog::likelihoods::PoissonLikelihood::MODULE) => Ok::<_, $crate::ModelError>($crate::catalog::likelihoods::PoissonLikelihood), [0.0, 3.0];
            poisson_softplus($crate::catalog::likelihoods::PoissonSoftplusLikelihood::MODULE) => Ok::<_, $crate::ModelError>($crate::catalog::likelihoods::PoissonSoftplusLikelihood), [0.0, 3.0];
            laplace_noise($crate::catalog::likelihoods::LaplaceNoise::MODULE) => $crate::catalog::likelihoods::LaplaceNoise::new(0.6), [0.4, -2.0];
            student_t_noise($crate::catalog::likelihoods::StudentTNoise::MODULE) => $crate::catalog::likelihoods::StudentTNoise::new(3.0, 0.7), [0.4, -2.0];
            outlier_noise($crate::catalog::likelihoods::OutlierNoise::MODULE) => $crate::catalog::likelihoods::OutlierNoise::new(0.3, 9.0, 0.1), [0.4, -2.0];
            heteroscedastic_noise($crate::catalog::likelihoods::HeteroscedasticNoise::MODULE) => $crate::catalog::likelihoods::HeteroscedasticNoise::new(&[0.3]), [0.4, -2.0];
            negative_binomial($crate::catalog::likelihoods::NegativeBinomial::MODULE) => $crate::catalog::likelihoods::NegativeBinomial::new(1.5), [0.0, 3.0];
            quantised($crate::catalog::likelihoods::Quantised::MODULE) => $crate::catalog::likelihoods::Quantised::new(0.2, &[-0.5, 0.7]), [0.0, 1.0, 2.0];
            censored($crate::catalog::likelihoods::Censored::MODULE) => $crate::catalog::likelihoods::Censored::new(-0.3, 0.4), [-0.3, 0.9];
            tanh => $crate::catalog::observed(&$crate::catalog::channels::Activation::tanh()), [-0.6, 0.1];
        }
    };
}

/// The same for likelihoods of a complex signal.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_complex_likelihood {
    ($callback:ident) => {
        $callback! {
            modulus => Ok($crate::catalog::likelihoods::ModulusLikelihood), [0.4, 2.0];
            phase($crate::catalog::likelihoods::PhaseLikelihood::MODULE) => Ok($crate::catalog::likelihoods::PhaseLikelihood),
                [$crate::Complex::new(1.0, 0.0), $crate::Complex::new(-0.6, 0.8)];
            rician_modulus($crate::catalog::likelihoods::RicianModulus::MODULE) => $crate::catalog::likelihoods::RicianModulus::new(0.3), [0.4, 2.0];
            gaussian_parts => $crate::catalog::likelihoods::GaussianLikelihood::new(0.3)
                .map($crate::separable::PartsLikelihood::new), [$crate::Complex::new(0.4, -2.0)];
        }
    };
}

/// The same for likelihoods of a row of fields.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_row_likelihood {
    ($callback:ident) => {
        $callback! {
            sign_committee($crate::catalog::likelihoods::SignCommittee::MODULE) => $crate::catalog::likelihoods::SignCommittee::new(2), [1.0, 0.0, -1.0];
            softmax($crate::catalog::likelihoods::Softmax::MODULE) => $crate::catalog::likelihoods::Softmax::new(2), [0.0, 1.0];
        }
    };
}
