//! Additive Gaussian noise $x = z + \sqrt\Delta\,\xi$, with $\Delta \ge 0$.
//!
//! Messages are exact: $a_{f\to x} = \frac{a_z}{1 + \Delta a_z}$, $b_{f\to x} = \frac{b_z}{1 + \Delta a_z}$,
//! and the same backwards (Tree-AMP paper, Gaussian noise channel).

use std::f64::consts::TAU;
use std::sync::Arc;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::belief::Message as _;
use crate::belief::{Gaussian, SignalSpec, Structure, product_excess};
use crate::catalog::likelihoods::GaussianLikelihood;
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{
    ALL_STRUCTURES, Arity, BeliefError, Context, EnsembleRule, Factor, GaussianFactor,
    GenerativeRule, PosteriorRule, ProximalRule, all_alike, gaussian_ensemble_rule,
    gaussian_proximal_rule, log_normal_sum, quadratic_energy,
};
use crate::separable::ObservedLaw;

/// Additive Gaussian noise.
#[derive(Debug, Clone)]
pub struct GaussianNoise {
    noise_variance: f64,
}

impl GaussianNoise {
    /// Catalogue name.
    pub const NAME: &'static str = "gaussian_noise";

    /// Noise of variance $\Delta \ge 0$.
    ///
    /// # Errors
    /// A negative or non-finite variance.
    pub fn new(noise_variance: f64) -> Result<Self, ModelError> {
        if noise_variance >= 0.0 && noise_variance.is_finite() {
            return Ok(Self { noise_variance });
        }
        Err(parameter(
            Self::NAME,
            "noise_variance",
            "finite and not negative",
            noise_variance,
        ))
    }

    /// The variance $\Delta$.
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        self.noise_variance
    }

    /// $E x^2 = \tau_z + \Delta$.
    #[must_use]
    pub fn second_moment(&self, tau_z: f64) -> f64 {
        tau_z + self.noise_variance
    }
}

impl Factor for GaussianNoise {
    fn name(&self) -> &str {
        Self::NAME
    }

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

    fn observe(&self, y: &[f64]) -> Result<Option<Arc<dyn Factor>>, String> {
        let law = GaussianLikelihood::new(self.noise_variance).map_err(|e| e.to_string())?;
        Ok(Some(Arc::new(law.observed(y).map_err(|e| e.to_string())?)))
    }

    fn observe_unspecified(&self) -> Result<Option<Arc<dyn Factor>>, String> {
        let law = GaussianLikelihood::new(self.noise_variance).map_err(|e| e.to_string())?;
        Ok(Some(Arc::new(law.unspecified())))
    }

    fn structures(&self) -> &'static [Structure] {
        ALL_STRUCTURES
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        all_alike(ALL_STRUCTURES, ports)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn gaussian_average(&self) -> Option<GaussianFactor> {
        Some(self.average())
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        Some(self)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl PosteriorRule for GaussianNoise {
    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let other = incoming.get(1 - target);
        if other.structure() != Structure::Isotropic {
            out.copy_from(other);
            return out.add_noise(self.noise_variance);
        }
        let (delta, a) = (self.noise_variance, other.precision.scalar());
        out.copy_from(other);
        if delta == 0.0 {
            return Ok(());
        }
        let shrink = if other.is_pinned() {
            delta
        } else {
            1.0 + delta * a
        };
        if shrink <= 0.0 {
            return Err(FactorError::Improper(format!(
                "the incoming precision {a:e} is not above -1/noise_variance"
            )));
        }
        out.precision.set_scalar(if other.is_pinned() {
            1.0 / delta
        } else {
            a / shrink
        });
        out.linear.iter_mut().for_each(|b| *b /= shrink);
        Ok(())
    }

    /// Per component, with $D = a_x + a_z + \Delta a_x a_z$:
    /// $A = \frac{(b_z + b_x)^2 + \Delta(a_x b_z^2 + a_z b_x^2)}{2D} + \frac12\ln\frac{2\pi}{D}$.
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let (z, x) = (incoming.get(0), incoming.get(1));
        if z.structure() != Structure::Isotropic {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.excess(context)? + own);
        }
        let (delta, az, ax) = (
            self.noise_variance,
            z.precision.scalar(),
            x.precision.scalar(),
        );
        let n = z.len() as f64;
        let pairs = z.linear.iter().zip(&x.linear);
        if z.is_pinned() && x.is_pinned() {
            return Ok(log_normal_sum(pairs.map(|(m, k)| m - k), delta));
        }
        if z.is_pinned() || x.is_pinned() {
            // ln ∫ dz N(m; z, Δ) g(z), g the finite side
            let (free, pin) = if z.is_pinned() { (x, z) } else { (z, x) };
            let a = free.precision.scalar();
            let shrink = 1.0 + delta * a;
            if shrink <= 0.0 {
                return Ok(f64::INFINITY);
            }
            let terms = free.linear.iter().zip(&pin.linear);
            let square: f64 = terms
                .map(|(b, m)| delta * b * b + m * (2.0 * b - a * m))
                .sum();
            return Ok(0.5 * square / shrink - 0.5 * n * shrink.ln());
        }
        let d = ax + az + delta * ax * az;
        if d <= 0.0 || 1.0 + delta * az <= 0.0 {
            return Ok(f64::INFINITY);
        }
        let square: f64 = pairs
            .map(|(bz, bx)| (bz + bx).powi(2) + delta * (ax * bz * bz + az * bx * bx))
            .sum();
        Ok(0.5 * square / d + 0.5 * n * (TAU / d).ln())
    }

    /// $\ln\mathcal N(\hat z; \hat x, \frac1{a_z} + \frac1{a_x} + \Delta)$ for proper or pinned ends.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let (z, x) = (incoming.get(0), incoming.get(1));
        if z.structure() != Structure::Isotropic {
            // the noisy z is a density where z is one
            let (mut noisy, mut total) = (z.clone(), z.clone());
            noisy.add_noise(self.noise_variance)?;
            let constant = z.noise_constant(&noisy, self.noise_variance)?;
            return Ok(product_excess([&noisy, x].into_iter(), &mut total) + constant);
        }
        let (az, ax) = (z.precision.scalar(), x.precision.scalar());
        if az <= 0.0 || ax <= 0.0 {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.log_partition(context)? - own);
        }
        let variance = 1.0 / az + 1.0 / ax + self.noise_variance;
        let (sz, sx) = (z.mean_scale(), x.mean_scale());
        let gaps = z
            .linear
            .iter()
            .zip(&x.linear)
            .map(|(bz, bx)| bz * sz - bx * sx);
        Ok(log_normal_sum(gaps, variance))
    }
}

impl GenerativeRule for GaussianNoise {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        let std = self.noise_variance.sqrt();
        for (x, z) in outputs[0].iter_mut().zip(inputs[0]) {
            let xi: f64 = StandardNormal.sample(&mut *rng);
            *x = z + std * xi;
        }
    }
}

impl GaussianNoise {
    /// $(z, x)$ with precision $\frac1\Delta(z - x)^2$; one scalar when there is no noise.
    fn average(&self) -> GaussianFactor {
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
}

gaussian_ensemble_rule!(
    GaussianNoise,
    |channel, a, target| {
        // a/(1 + Δa), with the limit 1/Δ
        let (a, delta) = (a[1 - target], channel.noise_variance);
        if a == f64::INFINITY {
            1.0 / delta
        } else {
            a / (1.0 + delta * a)
        }
    },
    |channel, a| (a[0] + a[1] + channel.noise_variance * a[0] * a[1]).ln()
);

gaussian_proximal_rule!(
    GaussianNoise,
    |channel| channel.noise_variance == 0.0,
    |channel, places| {
        let pairs = places[0].iter().copied().zip(places[1].iter().copied());
        quadratic_energy(pairs, channel.noise_variance)
    }
);
