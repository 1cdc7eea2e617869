//! Channels, and one line each in [`for_each_channel!`](crate::for_each_channel) (on components),
//! [`for_each_linear!`](crate::for_each_linear) or [`for_each_shape!`](crate::for_each_shape).

mod activation;
mod activation_grid;
mod activation_integral;
mod activation_table;
mod activation_trapezoid;
mod bias;
mod concatenate;
mod dense_pieces;
mod dense_sum;
mod duplicate;
mod gaussian_channel;
mod gaussian_noise;
mod gaussian_theory;
mod linear;
mod low_rank;
mod modulus;
mod pieces;
mod piecewise;
mod regions;
mod reshape;
mod rotation;
mod shaped;
mod sum;

pub use activation::Activation;
pub(crate) use activation::Inverse;
pub use bias::Bias;
pub use concatenate::{Concatenate, Split};
pub use duplicate::Duplicate;
pub use gaussian_channel::{GaussianChannel, Kernel};
pub use gaussian_noise::GaussianNoise;
pub use gaussian_theory::{FewScalars, Theory};
pub use linear::{IterativeOptions, Linear, LinearEnsemble};
pub use low_rank::{LowRankFactorization, LowRankGram};
pub use modulus::Modulus;
pub use piecewise::PiecewiseLinear;
pub use regions::Region;
pub(crate) use regions::{Preimage, Regions};
pub use reshape::Reshape;
pub use rotation::Rotation;
pub use shaped::{Convolution, Dft, Gradient, Mask, MaskedDft, RealDft};
pub use sum::Sum;

/// Calls `$callback!` with `name(MODULE) => instance, [outputs];` for every real channel on components: its entry in the
/// catalogue, and the law that conformance tests check.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_channel {
    ($callback:ident) => {
        $callback! {
            sign($crate::catalog::channels::PiecewiseLinear::SIGN) => Ok($crate::catalog::channels::PiecewiseLinear::sign()), [1.0, -1.0];
            abs($crate::catalog::channels::PiecewiseLinear::ABS) => Ok($crate::catalog::channels::PiecewiseLinear::abs()), [0.7, 1.9];
            asymmetric_abs($crate::catalog::channels::PiecewiseLinear::ASYMMETRIC_ABS) => $crate::catalog::channels::PiecewiseLinear::asymmetric_abs(0.4), [0.2, 0.7];
            relu($crate::catalog::channels::PiecewiseLinear::RELU) => Ok($crate::catalog::channels::PiecewiseLinear::relu()), [0.0, 1.2];
            leaky_relu($crate::catalog::channels::PiecewiseLinear::LEAKY_RELU) => $crate::catalog::channels::PiecewiseLinear::leaky_relu(0.1), [-0.3, 1.2];
            hard_tanh($crate::catalog::channels::PiecewiseLinear::HARD_TANH) => Ok($crate::catalog::channels::PiecewiseLinear::hard_tanh()), [-1.0, 0.3, 1.0];
            hard_sigmoid($crate::catalog::channels::PiecewiseLinear::HARD_SIGMOID) => $crate::catalog::channels::PiecewiseLinear::hard_sigmoid(1.5), [0.0, 0.3, 1.0];
            symmetric_door($crate::catalog::channels::PiecewiseLinear::SYMMETRIC_DOOR) => $crate::catalog::channels::PiecewiseLinear::symmetric_door(0.8), [1.0, -1.0];
            tanh($crate::catalog::channels::Activation::TANH) => Ok($crate::catalog::channels::Activation::tanh()), [-0.6, 0.1];
            sigmoid($crate::catalog::channels::Activation::SIGMOID) => Ok($crate::catalog::channels::Activation::sigmoid()), [0.3, 0.8];
            softplus($crate::catalog::channels::Activation::SOFTPLUS) => Ok($crate::catalog::channels::Activation::softplus()), [0.2, 1.5];
        }
    };
}

/// The same for channels from complex to real components.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_complex_channel {
    ($callback:ident) => {
        $callback! {
            modulus($crate::catalog::channels::Modulus::MODULE) => Ok($crate::catalog::channels::Modulus), [0.4, 2.0];
        }
    };
}

/// Calls `$callback!` with `name(MODULE) => instance, [inputs];` for every linear channel, noise and sum.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_linear {
    ($callback:ident) => {
        $callback! {
            linear($crate::catalog::channels::Linear::MODULE) => $crate::catalog::operators::dense(5, 6, false).map($crate::catalog::channels::Linear::of), [$crate::belief::SignalSpec::real([6])];
            rotation($crate::catalog::channels::Rotation::MODULE) => $crate::catalog::operators::rotation(6), [$crate::belief::SignalSpec::real([6])];
            bias($crate::catalog::channels::Bias::MODULE) => $crate::catalog::channels::Bias::new(vec![0.3, -0.2, 1.5]), [$crate::belief::SignalSpec::real([3])];
            gaussian_noise($crate::catalog::channels::GaussianNoise::MODULE) => $crate::catalog::channels::GaussianNoise::new(0.3), [$crate::belief::SignalSpec::real([6])];
            sum($crate::catalog::channels::Sum::MODULE) => $crate::catalog::channels::Sum::new(2), [$crate::belief::SignalSpec::real([6]), $crate::belief::SignalSpec::real([6])];
            dft($crate::catalog::channels::Dft::MODULE) => Ok($crate::catalog::channels::Dft), [$crate::belief::SignalSpec::complex([3, 4])];
            real_dft($crate::catalog::channels::RealDft::MODULE) => Ok($crate::catalog::channels::RealDft), [$crate::belief::SignalSpec::real([4, 3])];
            gaussian_blur($crate::catalog::channels::Convolution::GAUSSIAN_BLUR) => $crate::catalog::channels::Convolution::gaussian_blur(0.7), [$crate::belief::SignalSpec::real([4, 3])];
            laplacian($crate::catalog::channels::Convolution::LAPLACIAN) => Ok($crate::catalog::channels::Convolution::laplacian()), [$crate::belief::SignalSpec::real([4, 3])];
            convolution($crate::catalog::channels::Convolution::MODULE) => $crate::catalog::operators::convolution(), [$crate::belief::SignalSpec::real([4, 3])];
            gradient($crate::catalog::channels::Gradient::MODULE) => Ok($crate::catalog::channels::Gradient::periodic()), [$crate::belief::SignalSpec::real([4, 3])];
            mask($crate::catalog::channels::Mask::MODULE) => Ok($crate::catalog::channels::Mask::new(vec![true, false, true, true])), [$crate::belief::SignalSpec::real([4])];
            masked_dft($crate::catalog::channels::MaskedDft::MODULE) => Ok($crate::catalog::channels::MaskedDft::new(vec![true, false, true, true])), [$crate::belief::SignalSpec::complex([4])];
        }
    };
}

/// The same for products of hidden matrices.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_low_rank {
    ($callback:ident) => {
        $callback! {
            low_rank($crate::catalog::channels::LowRankFactorization::MODULE) => $crate::catalog::channels::LowRankFactorization::new(1), [$crate::belief::SignalSpec::real([6]), $crate::belief::SignalSpec::real([5])];
            low_rank_gram($crate::catalog::channels::LowRankGram::MODULE) => $crate::catalog::channels::LowRankGram::new(1), [$crate::belief::SignalSpec::real([6])];
        }
    };
}

/// The same for every channel that moves numbers about; a line without an entry is one more instance for the tests.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_shape {
    ($callback:ident) => {
        $callback! {
            reshape($crate::catalog::channels::Reshape::MODULE) => Ok($crate::catalog::channels::Reshape::to([3, 4])),
                [$crate::belief::SignalSpec::real([2, 6])];
            reshape_of_complex => Ok($crate::catalog::channels::Reshape::to([6])),
                [$crate::belief::SignalSpec::complex([2, 3])];
            parts => Ok($crate::catalog::channels::Reshape::parts()), [$crate::belief::SignalSpec::complex([5])];
            complex => Ok($crate::catalog::channels::Reshape::complex()), [$crate::belief::SignalSpec::real([3, 2])];
            concatenate($crate::catalog::channels::Concatenate::MODULE) => $crate::catalog::channels::Concatenate::new(3), [
                $crate::belief::SignalSpec::real([4]),
                $crate::belief::SignalSpec::real([2]),
                $crate::belief::SignalSpec::real([3])
            ];
            concatenate_columns => $crate::catalog::channels::Concatenate::along(1, 2), [
                $crate::belief::SignalSpec::complex([2, 3]),
                $crate::belief::SignalSpec::complex([2, 1])
            ];
            split($crate::catalog::channels::Split::MODULE) => $crate::catalog::channels::Split::new(vec![4, 1, 2]), [$crate::belief::SignalSpec::real([7])];
            split_columns => $crate::catalog::channels::Split::along(1, vec![2, 3]),
                [$crate::belief::SignalSpec::complex([2, 5])];
            duplicate($crate::catalog::channels::Duplicate::MODULE) => $crate::catalog::channels::Duplicate::new(3), [$crate::belief::SignalSpec::real([5])];
            duplicate_of_complex => $crate::catalog::channels::Duplicate::new(2),
                [$crate::belief::SignalSpec::complex([5])];
        }
    };
}
