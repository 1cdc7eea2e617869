//! Priors: one law per file. The list with an instance of each is `for_each_prior!`.

mod binary;
mod circular_gauss_bernoulli;
mod circular_gaussian;
mod exponential;
mod gauss_bernoulli;
mod gaussian;
mod gaussian_mixture;
mod interval;
mod mixture_row;
mod natural;
mod positive;

pub use binary::Binary;
pub use circular_gauss_bernoulli::CircularGaussBernoulli;
pub use circular_gaussian::CircularGaussian;
pub use exponential::Exponential;
pub use gauss_bernoulli::GaussBernoulli;
pub use gaussian::GaussianPrior;
pub use gaussian_mixture::GaussianMixture;
pub use interval::Interval;
pub use mixture_row::MixtureRow;
pub use natural::NaturalPrior;
pub use positive::Positive;
