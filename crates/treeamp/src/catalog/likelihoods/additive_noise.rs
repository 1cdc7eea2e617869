//! Additive noise $y = z + \xi$ of a law that is a prior too: $p(y \mid z) = p_\xi(y - z)$ is in $z$ the same law about $y$, as all these are even.

use rand::Rng;

use super::check_finite;
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarLikelihood, ScalarPrior, Tilted};

/// An even law of a component, as that of noise.
pub trait NoiseLaw: ScalarPrior + Copy {
    /// Catalogue name of the noise.
    const NOISE: &'static str;

    /// Its moments are found by quadrature.
    const BY_QUADRATURE: bool;

    /// The same law about another centre.
    #[must_use]
    fn moved(self, mean: f64) -> Self;

    /// Its entropy in nats.
    fn entropy(&self) -> f64;

    /// The tilted law together with its excess, where one integral gives both.
    fn with_excess(&self, _a: f64, _b: f64) -> Option<(Tilted, f64)> {
        None
    }
}

/// $y = z + \xi$ with $\xi$ of an even law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdditiveNoise<P> {
    /// The law of the noise.
    pub(super) noise: P,
}

impl<P: NoiseLaw> ScalarLikelihood for AdditiveNoise<P> {
    const NAME: &'static str = P::NOISE;
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        self.noise.moved(y).tilted(a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        let mut own = self.noise.parameters();
        own.retain(|(name, _)| *name != "mean");
        own
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        z + self.noise.sample(rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        self.noise.log_density(y - z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_finite(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        self.noise.moved(y).excess(a, b)
    }

    fn tilted_with_excess(&self, y: f64, a: f64, b: f64) -> Option<(Tilted, f64)> {
        self.noise.moved(y).with_excess(a, b)
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        self.noise.moved(y).mode(a, b)
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        let marks = self.noise.landmarks().into_iter();
        let scales = marks.map(|mark| mark.width).filter(|width| *width > 0.0);
        Some(OutputMeasure::Density(scales.collect()))
    }

    fn is_tabulated(&self) -> bool {
        P::BY_QUADRATURE
    }

    fn parity(&self) -> Option<Parity> {
        Some(Parity::Odd)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        self.noise.moved(y).landmarks()
    }

    fn noise_entropy(&self) -> Option<f64> {
        Some(self.noise.entropy())
    }
}
