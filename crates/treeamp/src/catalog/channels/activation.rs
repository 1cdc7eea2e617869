//! Smooth activation $p(x \mid z) = \delta(x - \varphi(z))$ for any function $\varphi$, by quadrature.
//!
//! # Moments
//! One-dimensional integrals of $e^{-\frac12 a_z z^2 + b_z z - \frac12 a_x \varphi(z)^2 + b_x \varphi(z)}$ over its own maxima.
//!
//! # Limits
//! Finite wherever the integral is. A saturated output keeps its variance (down to $10^{-300}$) when the
//! difference $\varphi(z + t) - \varphi(z)$ is given in a form that does not cancel, as it is for the named ones.
//! Features of $\varphi$ are looked for at scales from about 0.1 up: rescale $z$ for sharper ones.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, deterministic channel.

use std::f64::consts::{FRAC_PI_2, PI};
use std::fmt;
use std::sync::Arc;

use rand::Rng;

use super::activation_integral::{ActivationIntegral, Function};
use super::activation_table::ActivationTable;
use super::activation_trapezoid::trapezoidal;
use crate::catalog::likelihoods::ActivationLikelihood;
use crate::catalog::module::Module;
use crate::error::{ModelError, parameter};
use crate::math::special::{sigmoid, softplus};
use crate::math::vector::{exp, widest};
use crate::scalar::{ScalarChannel, ScalarView, Tilt, TiltedPair};

type Map = Arc<dyn Fn(f64) -> f64 + Send + Sync>;
type Difference = Arc<dyn Fn(f64, f64) -> f64 + Send + Sync>;
/// $y \mapsto (\varphi^{-1}(y), |d\varphi^{-1}/dy|)$.
pub(crate) type Inverse = Arc<dyn Fn(f64) -> (f64, f64) + Send + Sync>;

/// What is known of an activation that is analytic near the real axis.
#[derive(Clone, Copy)]
pub(super) struct Analytic {
    /// The distance of its singularities from the real axis.
    pub(super) strip: f64,
    /// Takes points to their images, in place.
    pub(super) images: fn(&mut [f64]),
    /// Images are right to the rounding of this number, or of themselves if that is larger.
    pub(super) unit: f64,
}

/// The channel $x = \varphi(z)$.
#[derive(Clone)]
pub struct Activation {
    name: String,
    map: Map,
    pub(super) difference: Difference,
    pub(super) range: (f64, f64),
    pub(super) inverse: Option<Inverse>,
    /// Where it is known to be analytic near the real axis.
    pub(super) analytic: Option<Analytic>,
}

impl Activation {
    /// The channel of a function given as code.
    #[must_use]
    pub fn new(name: impl Into<String>, map: Arc<dyn Fn(f64) -> f64 + Send + Sync>) -> Self {
        let f = Arc::clone(&map);
        Self {
            name: name.into(),
            map,
            difference: Arc::new(move |z, t| f(z + t) - f(z)),
            range: (f64::NEG_INFINITY, f64::INFINITY),
            inverse: None,
            analytic: None,
        }
    }

    /// Gives $(z, t) \mapsto \varphi(z + t) - \varphi(z)$ in a form that keeps its digits where $\varphi$ saturates.
    #[must_use]
    pub fn with_difference(mut self, f: Arc<dyn Fn(f64, f64) -> f64 + Send + Sync>) -> Self {
        self.difference = f;
        self
    }

    /// Gives the open interval of values of $\varphi$.
    ///
    /// # Errors
    /// Unless `lower < upper`.
    pub fn with_range(mut self, lower: f64, upper: f64) -> Result<Self, ModelError> {
        if !(lower < upper) {
            return Err(parameter(
                "activation",
                "range",
                "ascending",
                format!("{lower}, {upper}"),
            ));
        }
        self.range = (lower, upper);
        Ok(self)
    }

    /// Gives $y \mapsto (\varphi^{-1}(y), |d\varphi^{-1}/dy|)$, so that the output can be observed.
    #[must_use]
    pub fn with_inverse(mut self, f: Arc<dyn Fn(f64) -> (f64, f64) + Send + Sync>) -> Self {
        self.inverse = Some(f);
        self
    }

    /// $\tanh z$.
    #[must_use]
    pub fn tanh() -> Self {
        let inverse = |y: f64| (y.atanh(), 1.0 / ((1.0 - y) * (1.0 + y)));
        Self {
            range: (-1.0, 1.0),
            analytic: Some(Analytic {
                strip: FRAC_PI_2,
                images: tanh_images,
                unit: 1.0,
            }),
            ..Self::new("tanh", Arc::new(f64::tanh))
        }
        .with_difference(Arc::new(tanh_difference))
        .with_inverse(Arc::new(inverse))
    }

    /// $1/(1 + e^{-z})$.
    #[must_use]
    pub fn sigmoid() -> Self {
        let inverse = |y: f64| (y.ln() - (-y).ln_1p(), 1.0 / (y * (1.0 - y)));
        Self {
            range: (0.0, 1.0),
            analytic: Some(Analytic {
                strip: PI,
                images: sigmoid_images,
                unit: 0.0,
            }),
            ..Self::new("sigmoid", Arc::new(sigmoid))
        }
        .with_difference(Arc::new(|z, t| 0.5 * tanh_difference(0.5 * z, 0.5 * t)))
        .with_inverse(Arc::new(inverse))
    }

    /// $\ln(1 + e^z)$.
    #[must_use]
    pub fn softplus() -> Self {
        let inverse = |y: f64| (y + (-(-y).exp_m1()).ln(), -1.0 / (-y).exp_m1());
        Self {
            range: (0.0, f64::INFINITY),
            analytic: Some(Analytic {
                strip: PI,
                images: |z| z.iter_mut().for_each(|z| *z = softplus(*z)),
                unit: 0.0,
            }),
            ..Self::new("softplus", Arc::new(softplus))
        }
        .with_difference(Arc::new(softplus_difference))
        .with_inverse(Arc::new(inverse))
    }

    /// The open interval of its values.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.range
    }

    /// $\varphi(z)$.
    #[must_use]
    pub fn value(&self, z: f64) -> f64 {
        (self.map)(z)
    }

    /// The entry of the hyperbolic tangent in the catalogue.
    pub const TANH: Module = Module {
        name: "tanh",
        summary: "hyperbolic tangent",
        formula: "x = tanh z",
        tex: r"x = \tanh z",
        notes: r"By quadrature.",
        constructor: |a| a.channel(Self::tanh()),
        ..Module::CHANNEL
    };

    /// The entry of the logistic function in the catalogue.
    pub const SIGMOID: Module = Module {
        name: "sigmoid",
        summary: "logistic function",
        formula: "x = 1 / (1 + e^(-z))",
        tex: r"x = 1/(1 + e^{-z})",
        notes: r"By quadrature.",
        constructor: |a| a.channel(Self::sigmoid()),
        ..Module::CHANNEL
    };

    /// The entry of the smooth rectifier in the catalogue.
    pub const SOFTPLUS: Module = Module {
        name: "softplus",
        summary: "smooth rectifier",
        formula: "x = ln(1 + e^z)",
        tex: r"x = \ln(1 + e^z)",
        notes: r"By quadrature.",
        constructor: |a| a.channel(Self::softplus()),
        ..Module::CHANNEL
    };
}

/// The same function: one of the library's own by name, another by its code.
impl PartialEq for Activation {
    fn eq(&self, other: &Self) -> bool {
        let own = self.analytic.is_some() && other.analytic.is_some();
        self.name == other.name
            && self.range == other.range
            && (own || Arc::ptr_eq(&self.map, &other.map))
    }
}

impl fmt::Debug for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Activation({})", self.name)
    }
}

impl ScalarChannel for Activation {
    type In = f64;
    type Out = f64;
    type Likelihood = ActivationLikelihood;

    fn name(&self) -> &str {
        &self.name
    }

    fn tilted(&self, z: Tilt, x: Tilt) -> TiltedPair {
        if let Some(pair) = trapezoidal(self, z, x) {
            return pair;
        }
        let function = Function {
            value: &*self.map,
            difference: &*self.difference,
        };
        let (low, high) = self.range;
        let inside = |x: f64| x.max(low).min(high);
        let or = |x: f64, other: f64| if x.is_nan() { other } else { x };
        match ActivationIntegral::new(function, z, x).evaluate() {
            Some(pair) => TiltedPair {
                mean_x: inside(or(pair.mean_x, self.value(pair.mean_z))),
                // an output that overflows has no finite second moment
                variance_x: or(pair.variance_x, f64::INFINITY),
                ..pair
            },
            None => TiltedPair::divergent(0.0, inside(self.value(0.0))),
        }
    }

    fn sample(&self, z: f64, _rng: &mut dyn Rng) -> f64 {
        self.value(z)
    }

    fn map(&self, z: f64) -> Option<f64> {
        Some(self.value(z))
    }

    fn tabulated(&self, a: [f64; 2], reach: f64) -> Option<Box<dyn ScalarView>> {
        self.analytic?;
        Some(Box::new(ActivationTable::new(self, a, reach)?))
    }

    fn is_smooth(&self) -> bool {
        self.analytic.is_some()
    }

    fn likelihood(&self) -> Option<ActivationLikelihood> {
        let inverse = Arc::clone(self.inverse.as_ref()?);
        Some(ActivationLikelihood::new(self.clone(), inverse))
    }
}

/// $\tanh z = (1 - e^{-2|z|})/(1 + e^{-2|z|})$ with the sign of $z$.
fn tanh_images(z: &mut [f64]) {
    widest(
        #[inline(always)]
        || {
            for z in z {
                let e = exp(-2.0 * z.abs());
                *z = ((1.0 - e) / (1.0 + e)).copysign(*z);
            }
        },
    );
}

/// $1/(1 + e^{-z})$, from the exponential that decays.
fn sigmoid_images(z: &mut [f64]) {
    widest(
        #[inline(always)]
        || {
            for z in z {
                let e = exp(-z.abs());
                *z = (if *z < 0.0 { e } else { 1.0 }) / (1.0 + e);
            }
        },
    );
}

/// $\tanh(z + t) - \tanh z = \sinh t / (\cosh(z + t) \cosh z)$, all exponentials decaying.
fn tanh_difference(z: f64, t: f64) -> f64 {
    let (far, near, step) = ((z + t).abs(), z.abs(), t.abs());
    let scale = (step - far - near).min(0.0).exp();
    let numerator = -2.0 * (-2.0 * step).exp_m1() * scale;
    (numerator / ((1.0 + (-2.0 * far).exp()) * (1.0 + (-2.0 * near).exp()))).copysign(t)
}

/// $\ln(1 + e^{z+t}) - \ln(1 + e^z) = \ln(1 + \sigma(z)(e^t - 1))$, in the form that does not cancel.
fn softplus_difference(z: f64, t: f64) -> f64 {
    let end = z + t;
    if t.abs() < 0.5 {
        (sigmoid(z) * t.exp_m1()).ln_1p()
    } else if z > 0.0 && end > 0.0 {
        // ln(1 + e^z) = z + ln(1 + e^{-z}), and the remainders differ by less than t
        t + ((-end).exp().ln_1p() - (-z).exp().ln_1p())
    } else {
        softplus(end) - softplus(z)
    }
}
