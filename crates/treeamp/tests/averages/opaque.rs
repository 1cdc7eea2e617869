//! Laws whose closed forms are not seen: their averages are integrated.

use rand::Rng;
use treeamp::scalar::{
    Landmark, OutputMeasure, Parity, ScalarLikelihood, ScalarPrior, Tilt, Tilted,
};

/// A law that offers its moments and nothing that would spare an integral.
#[derive(Debug, Clone, PartialEq)]
pub struct Opaque<L>(pub L);

impl<P: ScalarPrior> ScalarPrior for Opaque<P> {
    const NAME: &'static str = P::NAME;

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        self.0.tilted(a, b)
    }

    fn moments(&self, a: f64, b: f64) -> (f64, f64) {
        self.0.moments(a, b)
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.0.excess(a, b)
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.0.sample(rng)
    }

    fn log_density(&self, x: f64) -> f64 {
        self.0.log_density(x)
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        self.0.atoms()
    }

    fn support(&self) -> (f64, f64) {
        self.0.support()
    }

    fn landmarks(&self) -> Vec<Landmark> {
        self.0.landmarks()
    }
}

impl<L: ScalarLikelihood<Output = f64>> ScalarLikelihood for Opaque<L> {
    const NAME: &'static str = L::NAME;
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        self.0.tilted(y, a, b)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        self.0.excess(y, a, b)
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        self.0.sample(z, rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        self.0.log_density(y, z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        self.0.check(y)
    }

    fn support(&self, y: f64) -> (f64, f64) {
        self.0.support(y)
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        self.0.outputs()
    }

    fn map(&self, z: f64) -> Option<f64> {
        self.0.map(z)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        self.0.landmarks(y)
    }

    fn parity(&self) -> Option<Parity> {
        self.0.parity()
    }

    fn as_gaussian(&self, y: f64) -> Option<Tilt> {
        self.0.as_gaussian(y)
    }
}
