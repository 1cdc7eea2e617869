//! Gaussian noise of a variance per observation, $p(y_i \mid z_i) = \mathcal N(y_i; z_i, \Delta_i)$.
//!
//! # Moments
//! Those of a Gaussian law of mean $y_i$ and variance $\Delta_i$ under the tilt. Next to a diagonal belief the message is constant,
//! $(1/\Delta_i, y_i/\Delta_i)$; next to one precision for all components it is that of the moments.
//!
//! # Limits
//! Diverges for $a \le -1/\Delta_i$. State evolution takes the given variances for their law.
//!
//! # Reference
//! Aitken, "On least squares and linear combination of observations", Proc. R. Soc. Edinburgh 55 (1936).

use std::borrow::Cow;
use std::sync::Arc;

use rand::Rng;

use super::GaussianLikelihood;
use crate::catalog::module::{Domain, Module, numbers};
use crate::error::{ModelError, parameter};
use crate::math::special::HALF_LN_2PI;
use crate::scalar::{OutputMeasure, ScalarLikelihood, Tilt, Tilted};

/// $y_i = z_i + \sqrt{\Delta_i}\,\xi_i$, observed.
#[derive(Debug, Clone, PartialEq)]
pub struct HeteroscedasticNoise {
    /// None of a single variance: that of all components, or of one.
    variances: Option<Arc<[f64]>>,
    /// Of the signal, where it was given.
    shape: Option<Arc<[usize]>>,
    /// The law of one component.
    own: GaussianLikelihood,
}

impl HeteroscedasticNoise {
    /// Gaussian noise of these variances, one per observation; one alone is that of all.
    ///
    /// # Errors
    /// Unless there is at least one, and all are positive and finite.
    pub fn new(variances: &[f64]) -> Result<Self, ModelError> {
        let refused = |x: f64, i: usize| {
            let got = format!("{x} at index {i}");
            parameter(Self::NAME, "variances", "positive and finite", got)
        };
        for (i, x) in variances.iter().enumerate() {
            if !(*x > 0.0 && x.is_finite()) {
                return Err(refused(*x, i));
            }
        }
        let Some(first) = variances.first() else {
            let expected = "one per observation";
            return Err(parameter(Self::NAME, "variances", expected, "none"));
        };
        Ok(Self {
            variances: (variances.len() > 1).then(|| variances.into()),
            shape: None,
            own: GaussianLikelihood::new(*first)?,
        })
    }

    /// The same variances as an array, which must have the signal's shape.
    #[must_use]
    pub fn of_shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.shape = Some(shape.into().into());
        self
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Gaussian noise of a variance per observation, to be observed",
        formula: "p(x_i | z_i) = N(x_i; z_i, variances_i)",
        tex: r"p(x_i \mid z_i) = N(x_i; z_i, \Delta_i)",
        notes: r"Next to diagonal beliefs its message is constant: precision $1/\Delta_i$.",
        parameters: &[numbers(
            "variances",
            &[1.0],
            Domain::Positive,
            "the variance of every observation, or of all",
        )
        .called(r"\Delta")],
        constructor: |a| {
            let law = Self::new(a.numbers("variances")?)?;
            a.likelihood(match a.shape_of("variances") {
                Some(shape) => law.of_shape(shape),
                None => law,
            })
        },
        ..Module::LIKELIHOOD
    };
}

impl ScalarLikelihood for HeteroscedasticNoise {
    const NAME: &'static str = "heteroscedastic_noise";
    type Output = f64;

    fn components(&self) -> Option<usize> {
        self.variances.as_ref().map(|all| all.len())
    }

    fn shape(&self) -> Option<&[usize]> {
        self.shape.as_deref()
    }

    fn of(&self, i: usize) -> Cow<'_, Self> {
        let variance = self.variances.as_ref().and_then(|all| all.get(i));
        match variance.map(|v| GaussianLikelihood::new(*v)) {
            Some(Ok(own)) => Cow::Owned(Self {
                variances: None,
                shape: None,
                own,
            }),
            _ => Cow::Borrowed(self),
        }
    }

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        self.own.tilted(y, a, b)
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        self.own.sample(z, rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        self.own.log_density(y, z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        self.own.check(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        self.own.excess(y, a, b)
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        let t = self.own.tilted(y, a, b);
        Some((t.mean, t.variance))
    }

    /// The least noise stands for all.
    fn outputs(&self) -> Option<OutputMeasure> {
        let all = self.variances.iter().flat_map(|all| all.iter().copied());
        let own = self.own.noise_variance();
        let least = all.chain(own).fold(f64::INFINITY, f64::min);
        Some(OutputMeasure::noisy(least))
    }

    /// That of all components alike.
    fn noise_variance(&self) -> Option<f64> {
        let alike = self.variances.is_none();
        alike.then(|| self.own.noise_variance()).flatten()
    }

    /// $E_i[\tfrac12\ln 2\pi e\Delta_i]$.
    fn noise_entropy(&self) -> Option<f64> {
        let Some(all) = &self.variances else {
            return self.own.noise_entropy();
        };
        let sum: f64 = all.iter().map(|v| 0.5 * v.ln()).sum();
        Some(0.5 + HALF_LN_2PI + sum / all.len() as f64)
    }

    fn as_gaussian(&self, y: f64) -> Option<Tilt> {
        self.own.as_gaussian(y)
    }
}
