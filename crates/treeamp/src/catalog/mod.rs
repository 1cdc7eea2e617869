//! The modules: one law per file, and the only list of them.
//!
//! A law is in the catalogue when it has a line here: `for_each_prior!`, `for_each_likelihood!` and
//! `for_each_channel!` call a macro of yours with `name => instance` for every law, and the conformance tests
//! are such a macro.

pub mod channels;
mod gaussian_tilt;
pub mod likelihoods;
pub mod operators;
pub mod penalties;
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

/// Calls `$callback!` with `name => instance, [shape]` for every penalty.
#[macro_export]
macro_rules! for_each_penalty {
    ($callback:ident) => {
        $callback! {
            l1 => $crate::catalog::penalties::L1::new(0.7), [6];
            l21 => $crate::catalog::penalties::L21::new(0.7), [2, 3];
            box_constraint => $crate::catalog::penalties::BoxConstraint::new(-0.4, 0.9), [6];
            non_negative => $crate::catalog::penalties::NonNegative::new(), [6];
            quadratic => $crate::catalog::penalties::Quadratic::new(1.3, 0.4), [6];
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

/// Calls `$callback!` with `name => instance` for every linear operator, real and complex.
#[macro_export]
macro_rules! for_each_operator {
    ($callback:ident) => {
        $callback! {
            orthogonal => $crate::catalog::operators::dense(6, 6, true),
            dense => $crate::catalog::operators::dense(5, 7, false),
            complex_dense => $crate::catalog::operators::complex_dense(4, 6),
            complex_dense_tall => $crate::catalog::operators::complex_dense(6, 4),
            complex_on_real => $crate::catalog::operators::complex_on_real(),
            unitary => $crate::catalog::operators::unitary(),
            diagonal => $crate::catalog::operators::diagonal(),
            complex_diagonal => $crate::catalog::operators::complex_diagonal(),
            dft_of_real => $crate::operator::UnitaryDft::new(&$crate::belief::SignalSpec::real([6])),
            dft_of_complex => $crate::operator::UnitaryDft::new(&$crate::belief::SignalSpec::complex([3, 4])),
            dft_in_three_dimensions => $crate::operator::UnitaryDft::new(&$crate::belief::SignalSpec::complex([2, 3, 2])),
            real_dft => $crate::operator::OrthogonalDft::new(&$crate::belief::SignalSpec::real([7])),
            real_dft_of_image => $crate::operator::OrthogonalDft::new(&$crate::belief::SignalSpec::real([4, 6])),
            real_dft_in_three_dimensions => $crate::operator::OrthogonalDft::new(&$crate::belief::SignalSpec::real([2, 3, 5])),
            blur => $crate::catalog::operators::blur(&$crate::belief::SignalSpec::real([5, 6]), &[0.8, 0.4]),
            blur_of_complex => $crate::catalog::operators::blur(&$crate::belief::SignalSpec::complex([7]), &[0.7]),
            differential => $crate::operator::CircularConvolution::new(
                &$crate::belief::SignalSpec::real([4, 5]), &$crate::operator::Filter::Differential { axis: 0 }),
            laplacian => $crate::operator::CircularConvolution::new(
                &$crate::belief::SignalSpec::real([2, 3, 4]), &$crate::operator::Filter::Laplacian),
            convolution => $crate::catalog::operators::kernel(&$crate::belief::SignalSpec::real([4, 6])),
            convolution_of_complex => $crate::catalog::operators::complex_kernel(),
            multi_channel_convolution => $crate::catalog::operators::multi_channel(3, 2),
            multi_channel_convolution_tall => $crate::catalog::operators::multi_channel(2, 3),
            gradient => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::real([8]), $crate::operator::Boundary::Periodic),
            gradient_of_image => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::real([4, 5]), $crate::operator::Boundary::Periodic),
            gradient_of_complex => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::complex([3, 4]), $crate::operator::Boundary::Periodic),
            gradient_neumann => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::real([4, 5]), $crate::operator::Boundary::Neumann),
            gradient_zero => $crate::catalog::operators::gradient(&$crate::belief::SignalSpec::complex([3, 4]), $crate::operator::Boundary::Zero),
            sub_sampling => $crate::catalog::operators::mask(&$crate::belief::SignalSpec::real([3, 4])),
            sub_sampling_of_complex => $crate::catalog::operators::mask(&$crate::belief::SignalSpec::complex([7])),
            sub_sampled_dft => $crate::catalog::operators::masked_dft(&$crate::belief::SignalSpec::complex([9])),
            sub_sampled_dft_of_real => $crate::catalog::operators::masked_dft(&$crate::belief::SignalSpec::real([4, 6])),
            sub_sampled_dft_of_odd => $crate::catalog::operators::masked_dft(&$crate::belief::SignalSpec::real([5, 7])),
            sparse => $crate::catalog::operators::sparse(),
            block_diagonal => $crate::catalog::operators::block_diagonal(),
            block_diagonal_with_sparse => $crate::catalog::operators::block_diagonal_with_sparse(),
            composition => $crate::catalog::operators::composition(),
            stack => $crate::catalog::operators::stack(),
            matrix_free => $crate::catalog::operators::matrix_free(),
        }
    };
}

/// Calls `$callback!` with `name => instance, [inputs]` for every channel that moves numbers about.
#[macro_export]
macro_rules! for_each_shape {
    ($callback:ident) => {
        $callback! {
            reshape => Ok($crate::catalog::channels::Reshape::to([3, 4])),
                [$crate::belief::SignalSpec::real([2, 6])];
            reshape_of_complex => Ok($crate::catalog::channels::Reshape::to([6])),
                [$crate::belief::SignalSpec::complex([2, 3])];
            parts => Ok($crate::catalog::channels::Reshape::parts()), [$crate::belief::SignalSpec::complex([5])];
            complex => Ok($crate::catalog::channels::Reshape::complex()), [$crate::belief::SignalSpec::real([3, 2])];
            concatenate => $crate::catalog::channels::Concatenate::new(3), [
                $crate::belief::SignalSpec::real([4]),
                $crate::belief::SignalSpec::real([2]),
                $crate::belief::SignalSpec::real([3])
            ];
            concatenate_columns => $crate::catalog::channels::Concatenate::along(1, 2), [
                $crate::belief::SignalSpec::complex([2, 3]),
                $crate::belief::SignalSpec::complex([2, 1])
            ];
            split => $crate::catalog::channels::Split::new(vec![4, 1, 2]), [$crate::belief::SignalSpec::real([7])];
            split_columns => $crate::catalog::channels::Split::along(1, vec![2, 3]),
                [$crate::belief::SignalSpec::complex([2, 5])];
            duplicate => $crate::catalog::channels::Duplicate::new(3), [$crate::belief::SignalSpec::real([5])];
            duplicate_of_complex => $crate::catalog::channels::Duplicate::new(2),
                [$crate::belief::SignalSpec::complex([5])];
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
