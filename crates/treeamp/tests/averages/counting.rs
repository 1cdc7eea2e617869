//! Laws that count their evaluations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::Rng;
use treeamp::scalar::{
    Landmark, OutputMeasure, Parity, Piece, ScalarChannel, ScalarLikelihood, ScalarPrior, Tilt,
    Tilted, TiltedPair,
};

/// A law and the number of its evaluations so far.
#[derive(Debug, Clone)]
pub struct Counting<L> {
    law: L,
    count: Arc<AtomicUsize>,
}

impl<L: PartialEq> PartialEq for Counting<L> {
    fn eq(&self, other: &Self) -> bool {
        self.law == other.law
    }
}

impl<L> Counting<L> {
    pub fn new(law: L) -> Self {
        Self {
            law,
            count: Arc::new(AtomicUsize::new(0)),
        }
    }

    /// The law itself.
    #[allow(dead_code)] // not every test needs it
    pub fn law(&self) -> &L {
        &self.law
    }

    /// A handle on the count.
    pub fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.count)
    }

    fn tick(&self) -> &L {
        self.count.fetch_add(1, Ordering::Relaxed);
        &self.law
    }
}

impl<P: ScalarPrior> ScalarPrior for Counting<P> {
    const NAME: &'static str = P::NAME;

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        self.tick().tilted(a, b)
    }

    fn moments(&self, a: f64, b: f64) -> (f64, f64) {
        self.tick().moments(a, b)
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.tick().excess(a, b)
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.law.sample(rng)
    }

    fn log_density(&self, x: f64) -> f64 {
        self.law.log_density(x)
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        self.law.atoms()
    }

    fn support(&self) -> (f64, f64) {
        self.law.support()
    }

    fn landmarks(&self) -> Vec<Landmark> {
        self.law.landmarks()
    }
}

impl<L: ScalarLikelihood<Output = f64>> ScalarLikelihood for Counting<L> {
    const NAME: &'static str = L::NAME;
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        self.tick().tilted(y, a, b)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        self.tick().excess(y, a, b)
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        self.law.sample(z, rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        self.law.log_density(y, z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        self.law.check(y)
    }

    fn support(&self, y: f64) -> (f64, f64) {
        self.law.support(y)
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        self.law.outputs()
    }

    fn map(&self, z: f64) -> Option<f64> {
        self.law.map(z)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        self.law.landmarks(y)
    }

    fn parity(&self) -> Option<Parity> {
        self.law.parity()
    }

    fn as_gaussian(&self, y: f64) -> Option<Tilt> {
        self.law.as_gaussian(y)
    }
}

impl<C: ScalarChannel<In = f64, Out = f64>> ScalarChannel for Counting<C> {
    type In = f64;
    type Out = f64;
    type Likelihood = C::Likelihood;

    fn name(&self) -> &str {
        ScalarChannel::name(&self.law)
    }

    fn tilted(&self, z: Tilt, x: Tilt) -> TiltedPair {
        self.tick().tilted(z, x)
    }

    fn tilted_with_excess(&self, z: Tilt, x: Tilt, over: [bool; 2]) -> (TiltedPair, f64) {
        self.tick().tilted_with_excess(z, x, over)
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        ScalarChannel::sample(&self.law, z, rng)
    }

    fn map(&self, z: f64) -> Option<f64> {
        ScalarChannel::map(&self.law, z)
    }

    fn likelihood(&self) -> Option<C::Likelihood> {
        ScalarChannel::likelihood(&self.law)
    }

    fn landmarks(&self) -> Vec<Landmark> {
        ScalarChannel::landmarks(&self.law)
    }

    fn parity(&self) -> Option<Parity> {
        ScalarChannel::parity(&self.law)
    }

    fn images(&self, mean: f64, deviation: f64) -> Vec<Landmark> {
        ScalarChannel::images(&self.law, mean, deviation)
    }

    fn pieces(&self) -> Vec<Piece> {
        ScalarChannel::pieces(&self.law)
    }
}
