//! Priors: one law per file, and one line of [`for_each_prior!`](crate::for_each_prior) each.

mod binary;
mod circular_gauss_bernoulli;
mod circular_gaussian;
mod circular_gaussian_mixture;
mod complex_alphabet;
mod exponential;
mod finite_alphabet;
mod gamma;
mod gauss_bernoulli;
mod gaussian;
mod gaussian_mixture;
mod iid_row;
mod interval;
mod laplace;
mod logistic_prior;
mod mixture_row;
mod natural;
mod nonnegative_gaussian_mixture;
mod positive;
mod qam;
mod regularised_horseshoe;
mod spike;
mod spike_laplace;
mod spike_student_t;
mod student_t;
mod uniform;
pub(in crate::catalog) mod weights;

pub use binary::Binary;
pub use circular_gauss_bernoulli::CircularGaussBernoulli;
pub use circular_gaussian::CircularGaussian;
pub use circular_gaussian_mixture::CircularGaussianMixture;
pub use complex_alphabet::ComplexAlphabet;
pub use exponential::Exponential;
pub use finite_alphabet::FiniteAlphabet;
pub use gamma::Gamma;
pub use gauss_bernoulli::GaussBernoulli;
pub use gaussian::GaussianPrior;
pub use gaussian_mixture::GaussianMixture;
pub use iid_row::IidRow;
pub use interval::Interval;
pub use laplace::Laplace;
pub use logistic_prior::LogisticPrior;
pub use mixture_row::MixtureRow;
pub use natural::NaturalPrior;
pub use nonnegative_gaussian_mixture::NonnegativeGaussianMixture;
pub use positive::Positive;
pub use qam::Qam;
pub use regularised_horseshoe::RegularisedHorseshoe;
pub use spike_laplace::SpikeLaplace;
pub use spike_student_t::SpikeStudentT;
pub use student_t::StudentT;
pub use uniform::Uniform;

/// Calls `$callback!` with `name(MODULE) => instance;` for every prior: its entry in the catalogue, and the law that
/// conformance tests check.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_prior {
    ($callback:ident) => {
        $callback! {
            gaussian($crate::catalog::priors::GaussianPrior::MODULE) => $crate::catalog::priors::GaussianPrior::new(0.4, 1.7);
            gauss_bernoulli($crate::catalog::priors::GaussBernoulli::MODULE) => $crate::catalog::priors::GaussBernoulli::new(0.3, 0.2, 1.5);
            binary($crate::catalog::priors::Binary::MODULE) => $crate::catalog::priors::Binary::new(0.3);
            gaussian_mixture($crate::catalog::priors::GaussianMixture::MODULE) => $crate::catalog::priors::GaussianMixture::new(&[0.2, 0.5, 0.3], &[-1.5, 0.0, 1.0], &[0.3, 0.0, 0.8]);
            positive($crate::catalog::priors::Positive::MODULE) => $crate::catalog::priors::Positive::new(0.5, 2.0);
            interval($crate::catalog::priors::Interval::MODULE) => $crate::catalog::priors::Interval::new(-1.0, 2.0, 0.3, 0.6);
            exponential($crate::catalog::priors::Exponential::MODULE) => $crate::catalog::priors::Exponential::new(0.8);
            laplace($crate::catalog::priors::Laplace::MODULE) => $crate::catalog::priors::Laplace::new(0.3, 0.7);
            uniform($crate::catalog::priors::Uniform::MODULE) => $crate::catalog::priors::Uniform::new(-0.8, 1.7);
            finite_alphabet($crate::catalog::priors::FiniteAlphabet::MODULE) => $crate::catalog::priors::FiniteAlphabet::new(&[-1.5, 0.5, 2.0], &[0.3, 0.5, 0.2]);
            spike_laplace($crate::catalog::priors::SpikeLaplace::MODULE) => $crate::catalog::priors::SpikeLaplace::new(0.3, 0.9);
            nonnegative_gaussian_mixture($crate::catalog::priors::NonnegativeGaussianMixture::MODULE) => $crate::catalog::priors::NonnegativeGaussianMixture::new(&[0.4, 0.6], &[-0.5, 2.0], &[0.25, 1.0]);
            student_t($crate::catalog::priors::StudentT::MODULE) => $crate::catalog::priors::StudentT::new(6.0, 0.3, 0.8);
            regularised_horseshoe($crate::catalog::priors::RegularisedHorseshoe::MODULE) => $crate::catalog::priors::RegularisedHorseshoe::new(0.4, 2.0);
            logistic_prior($crate::catalog::priors::LogisticPrior::MODULE) => $crate::catalog::priors::LogisticPrior::new(0.3, 0.5);
            gamma($crate::catalog::priors::Gamma::MODULE) => $crate::catalog::priors::Gamma::new(2.5, 1.5);
            spike_student_t($crate::catalog::priors::SpikeStudentT::MODULE) => $crate::catalog::priors::SpikeStudentT::new(0.3, 6.0, 0.8);
        }
    };
}

/// The same for complex priors; a line without an entry is one more instance for the tests.
// public for the tests of this crate, which go through the list
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_complex_prior {
    ($callback:ident) => {
        $callback! {
            circular_gaussian($crate::catalog::priors::CircularGaussian::MODULE) => $crate::catalog::priors::CircularGaussian::new(1.7);
            circular_gauss_bernoulli($crate::catalog::priors::CircularGaussBernoulli::MODULE) => $crate::catalog::priors::CircularGaussBernoulli::new(0.3, 1.5);
            circular_gaussian_mixture($crate::catalog::priors::CircularGaussianMixture::MODULE) => $crate::catalog::priors::CircularGaussianMixture::new(&[0.3, 0.7], &[2.0, 0.1]);
            qam($crate::catalog::priors::Qam::MODULE) => $crate::catalog::priors::Qam::points(16);
            complex_alphabet($crate::catalog::priors::ComplexAlphabet::MODULE) => $crate::catalog::priors::ComplexAlphabet::new(&[1.3, -0.2, -0.2], &[0.1, 0.966_025_403_784_438_6, -0.766_025_403_784_438_6], &[1.0 / 3.0; 3]);
            gaussian_parts => $crate::catalog::priors::GaussianPrior::new(0.4, 1.7)
                .map($crate::separable::PartsPrior::new);
        }
    };
}
