//! Additive Gaussian noise $x = z + \sqrt\Delta\,\xi$, with $\Delta \ge 0$.
//!
//! Messages are exact: $a_{f\to x} = \frac{a_z}{1 + \Delta a_z}$, $b_{f\to x} = \frac{b_z}{1 + \Delta a_z}$,
//! and the same backwards (Tree-AMP paper, Gaussian noise channel).

use std::f64::consts::TAU;
use std::sync::Arc;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::gaussian_channel::{GaussianChannel, Kernel};
use super::gaussian_theory::{FewScalars, Theory};
use crate::belief::{Gaussian, Message as _, SignalSpec, noise_excess, noise_log_partition};
use crate::catalog::likelihoods::GaussianLikelihood;
use crate::catalog::module::{Domain, Module, Signals, number};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{Arity, Factor, GaussianFactor, Incoming, quadratic_energy};
use crate::separable::ObservedLaw;

/// Additive Gaussian noise.
pub type GaussianNoise = GaussianChannel<NoiseKernel>;

/// The kernel of [`GaussianNoise`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseKernel {
    noise_variance: f64,
}

impl GaussianNoise {
    /// Noise of variance $\Delta \ge 0$.
    ///
    /// # Errors
    /// A negative or non-finite variance.
    pub fn new(noise_variance: f64) -> Result<Self, ModelError> {
        if noise_variance >= 0.0 && noise_variance.is_finite() {
            let kernel = NoiseKernel { noise_variance };
            return Ok(Self { kernel });
        }
        Err(parameter(
            Self::NAME,
            "variance",
            "finite and not negative",
            noise_variance,
        ))
    }

    /// The variance $\Delta$.
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        self.kernel.noise_variance
    }

    /// $E x^2 = \tau_z + \Delta$.
    #[must_use]
    pub fn second_moment(&self, tau_z: f64) -> f64 {
        tau_z + self.kernel.noise_variance
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "additive Gaussian noise",
        formula: "p(x|z) = N(x; z, variance)",
        tex: r"p(x|z) = N(x; z, \Delta)",
        notes: r"Observed, $r = \frac{y + \Delta b}{1 + \Delta a}$, $v = \frac\Delta{1 + \Delta a}$: the message is constant, $(1/\Delta, y/\Delta)$. A variance of zero is a noiseless observation.",
        parameters: &[number(
            "variance",
            1.0,
            Domain::NotNegative,
            "variance of the noise",
        )
        .called(r"\Delta")
        .learned()],
        signals: Signals::Any,
        constructor: |a| a.channel(Self::new(a.number("variance")?)?),
        ..Module::CHANNEL
    };
}

impl Kernel for NoiseKernel {
    const NAME: &'static str = "gaussian_noise";

    fn summary(&self) -> String {
        format!("noise_variance={}", self.noise_variance)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![inputs[0].clone()])
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        out.copy_from(incoming.get(1 - target));
        out.add_noise(self.noise_variance)
    }

    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        noise_excess(incoming.get(0), incoming.get(1), self.noise_variance)
    }

    fn log_partition(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        noise_log_partition(incoming.get(0), incoming.get(1), self.noise_variance)
    }

    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        let std = self.noise_variance.sqrt();
        for (x, z) in outputs[0].iter_mut().zip(inputs[0]) {
            let xi: f64 = StandardNormal.sample(&mut *rng);
            *x = z + std * xi;
        }
    }

    fn noise_variance(&self) -> f64 {
        self.noise_variance
    }

    /// $\|x - z\|^2/2\Delta$.
    fn energy(&self, places: &[&[f64]]) -> f64 {
        let pairs = places[0].iter().copied().zip(places[1].iter().copied());
        quadratic_energy(pairs, self.noise_variance)
    }

    fn passes_exact(&self) -> bool {
        false
    }

    fn observe(&self, y: Option<&[f64]>) -> Result<Option<Arc<dyn Factor>>, String> {
        let law = GaussianLikelihood::new(self.noise_variance).map_err(|e| e.to_string())?;
        Ok(Some(match y {
            Some(y) => Arc::new(law.observed(y).map_err(|e| e.to_string())?),
            None => Arc::new(law.unspecified()),
        }))
    }

    fn theory(&self) -> Theory<'_> {
        Theory::Scalars(self)
    }
}

impl FewScalars for NoiseKernel {
    /// $(z, x)$ with precision $\frac1\Delta(z - x)^2$; one scalar when there is no noise.
    fn law(&self) -> GaussianFactor {
        if self.noise_variance == 0.0 {
            return GaussianFactor::copies(2);
        }
        let p = 1.0 / self.noise_variance;
        // z and the noise itself: in z and x a large 1/Δ would hide their precisions
        GaussianFactor {
            ports: vec![vec![1.0, 0.0], vec![1.0, 1.0]],
            coupling: vec![vec![0.0, 0.0], vec![0.0, p]],
            log_normaliser: 0.5 * (TAU * self.noise_variance).ln(),
        }
    }

    /// $a/(1 + \Delta a)$, with the limit $1/\Delta$.
    fn extrinsic(&self, a: &[f64], target: usize) -> f64 {
        let (a, delta) = (a[1 - target], self.noise_variance);
        if a == f64::INFINITY {
            1.0 / delta
        } else {
            a / (1.0 + delta * a)
        }
    }

    fn log_det(&self, a: &[f64]) -> f64 {
        (a[0] + a[1] + self.noise_variance * a[0] * a[1]).ln()
    }
}
