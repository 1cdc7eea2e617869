//! The modules: one law per file, and the only list of them.
//!
//! A law is in the catalogue when it has a line here: `for_each_prior!`, `for_each_likelihood!` and
//! `for_each_channel!` call a macro of yours with `name => instance` for every law, and the conformance tests
//! are such a macro.

pub mod channels;
mod gaussian_tilt;
pub mod likelihoods;
pub mod priors;

/// Calls `$callback!` with `name => instance` for every prior.
#[macro_export]
macro_rules! for_each_prior {
    ($callback:ident) => {
        $callback! {
            gaussian => $crate::catalog::priors::GaussianPrior::new(0.4, 1.7),
            binary => $crate::catalog::priors::Binary::new(0.3),
            gauss_bernoulli => $crate::catalog::priors::GaussBernoulli::new(0.3, 0.2, 1.5),
            gaussian_mixture => $crate::catalog::priors::GaussianMixture::new(
                &[0.2, 0.5, 0.3], &[-1.5, 0.0, 1.0], &[0.3, 0.0, 0.8],
            ),
            positive => $crate::catalog::priors::Positive::new(0.5, 2.0),
            interval => $crate::catalog::priors::Interval::new(-1.0, 2.0, 0.3, 0.6),
            exponential => $crate::catalog::priors::Exponential::new(0.8),
        }
    };
}

/// Calls `$callback!` with `name => instance, [observations]` for every likelihood.
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

/// Calls `$callback!` with `name => instance, [outputs]` for every real channel.
#[macro_export]
macro_rules! for_each_channel {
    ($callback:ident) => {
        $callback! {
            sign => Ok($crate::catalog::channels::PiecewiseLinear::sign()), [1.0, -1.0];
            abs => Ok($crate::catalog::channels::PiecewiseLinear::abs()), [0.7, 1.9];
            asymmetric_abs => $crate::catalog::channels::PiecewiseLinear::asymmetric_abs(0.4), [0.2, 0.7];
            relu => Ok($crate::catalog::channels::PiecewiseLinear::relu()), [0.0, 1.2];
            leaky_relu => $crate::catalog::channels::PiecewiseLinear::leaky_relu(0.1), [-0.3, 1.2];
            hard_tanh => Ok($crate::catalog::channels::PiecewiseLinear::hard_tanh()), [-1.0, 0.3, 1.0];
            hard_sigmoid => $crate::catalog::channels::PiecewiseLinear::hard_sigmoid(1.5), [0.0, 0.3, 1.0];
            symmetric_door => $crate::catalog::channels::PiecewiseLinear::symmetric_door(0.8), [1.0, -1.0];
            tanh => Ok($crate::catalog::channels::Activation::tanh()), [-0.6, 0.1];
            sigmoid => Ok($crate::catalog::channels::Activation::sigmoid()), [0.3, 0.8];
            softplus => Ok($crate::catalog::channels::Activation::softplus()), [0.2, 1.5];
        }
    };
}

/// Calls `$callback!` with `name => instance` for every complex prior.
#[macro_export]
macro_rules! for_each_complex_prior {
    ($callback:ident) => {
        $callback! {
            circular_gaussian => $crate::catalog::priors::CircularGaussian::new(1.7),
            circular_gauss_bernoulli => $crate::catalog::priors::CircularGaussBernoulli::new(0.3, 1.5),
            gaussian_parts => $crate::catalog::priors::GaussianPrior::new(0.4, 1.7)
                .map($crate::separable::PartsPrior::new),
        }
    };
}

/// Calls `$callback!` with `name => instance, [observations]` for every likelihood of a complex signal.
#[macro_export]
macro_rules! for_each_complex_likelihood {
    ($callback:ident) => {
        $callback! {
            modulus => Ok($crate::catalog::likelihoods::ModulusLikelihood), [0.4, 2.0];
            phase => Ok($crate::catalog::likelihoods::PhaseLikelihood),
                [$crate::Complex::new(1.0, 0.0), $crate::Complex::new(-0.6, 0.8)];
            gaussian_parts => $crate::catalog::likelihoods::GaussianLikelihood::new(0.3)
                .map($crate::separable::PartsLikelihood::new), [$crate::Complex::new(0.4, -2.0)];
        }
    };
}

/// Calls `$callback!` with `name => instance, [outputs]` for every channel from complex to real.
#[macro_export]
macro_rules! for_each_complex_channel {
    ($callback:ident) => {
        $callback! {
            modulus => Ok($crate::catalog::channels::Modulus), [0.4, 2.0];
        }
    };
}

/// The likelihood of a channel's output.
///
/// # Errors
/// If the channel has none.
pub fn observed<C: crate::scalar::ScalarChannel>(
    channel: &C,
) -> Result<C::Likelihood, crate::ModelError> {
    channel.likelihood().ok_or_else(|| {
        crate::error::parameter(
            "observed",
            "channel",
            "one whose output can be observed",
            channel.name(),
        )
    })
}
