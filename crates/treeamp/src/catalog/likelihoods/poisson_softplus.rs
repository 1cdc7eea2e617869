//! Poisson counts of rate $\mu = \ln(1 + e^z)$, $p(y \mid z) = \mu^y e^{-\mu}/y!$.
//!
//! # Moments
//! By quadrature about the top of $y\ln\mu - \mu - \tfrac12 a z^2 + bz$, which is concave.
//!
//! # Limits
//! Finite for $a > 0$, and for $a = 0$ as long as $-y < b < 1$.
//!
//! # Reference
//! Park and Pillow, "Receptive field inference with localized priors", PLoS Comput. Biol. 7 (2011), for the rate.

use rand::Rng;

use super::check_count;
use super::poisson::{draw, log_probability};
use crate::catalog::module::Module;
use crate::math::log_concave::{self, Concave};
use crate::math::special::{sigmoid, softplus, softplus_bend};
use crate::scalar::{Landmark, OutputMeasure, ScalarLikelihood, Tilted};

/// Counts of rate $\ln(1 + e^z)$.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PoissonSoftplusLikelihood;

impl PoissonSoftplusLikelihood {
    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "Poisson counts of rate ln(1 + e^z), to be observed",
        formula: "p(x | z) = μ^x e^(-μ) / x!, μ = ln(1 + e^z), x = 0, 1, 2, ...",
        tex: r"p(x \mid z) = \frac{\mu^x e^{-\mu}}{x!},\quad \mu = \ln(1 + e^z),\quad x = 0, 1, 2, \ldots",
        notes: r"Moments by quadrature to a relative accuracy of $10^{-8}$ or better.",
        constructor: |a| a.likelihood(Self),
        ..Module::LIKELIHOOD
    };
}

/// Inputs below which $\mu = e^z$ up to the second order.
const SMALL: f64 = -16.0;

/// $\ln\ln(1 + e^z)$.
fn log_rate(z: f64) -> f64 {
    if z < SMALL {
        z - 0.5 * z.exp()
    } else {
        softplus(z).ln()
    }
}

/// $\ln\ln(1 + e^z) - z$.
fn log_rate_less(z: f64) -> f64 {
    if z < SMALL {
        -0.5 * z.exp()
    } else {
        softplus(z).ln() - z
    }
}

/// $y\ln\mu - \mu - \ln y!$.
struct Count(f64);

impl Count {
    /// $\mu'/\mu$ and $(\mu'/\mu)'/(\mu'/\mu) = 1 - \mu' - \mu'/\mu$, without the difference for small $e^z$.
    fn relative(z: f64) -> (f64, f64) {
        let e = z.exp();
        if z < SMALL {
            return (1.0 - 0.5 * e, -0.5 * e);
        }
        let (rate, share) = (softplus(z), sigmoid(z));
        let fall = if e < 1e-3 {
            // (ln(1 + e) - e)/ln(1 + e) by its series
            e * (-0.5 + e * (1.0 / 3.0 - e * (0.25 - e / 5.0))) / (rate / e)
        } else {
            1.0 - share - share / rate
        };
        (
            share / rate,
            if e < 1e-3 { fall * (1.0 - share) } else { fall },
        )
    }
}

impl Concave for Count {
    fn value(&self, z: f64) -> f64 {
        log_probability(self.0, log_rate(z), softplus(z))
    }

    fn slope(&self, z: f64) -> (f64, f64) {
        let (share, (relative, fall)) = (sigmoid(z), Self::relative(z));
        (
            self.0 * relative - share,
            self.0 * relative * fall - share * sigmoid(-z),
        )
    }

    /// $y[\ln\frac{\mu(z + t)}{\mu(z)} - \tfrac{\mu'}\mu t] - [\mu(z + t) - \mu(z) - \mu' t]$.
    fn bend(&self, z: f64) -> impl Fn(f64) -> f64 {
        let (y, rate, share) = (self.0, softplus(z), sigmoid(z));
        let (relative, _) = Self::relative(z);
        let (log_here, small, linear) = (log_rate(z), z.exp(), softplus_bend(z));
        move |t: f64| {
            let of_rate = linear(t);
            if y == 0.0 {
                return of_rate;
            }
            if z < SMALL {
                // ln μ(x) - x is small where x is of any size
                let beyond = log_rate_less(z + t) + 0.5 * small * (1.0 + t);
                return y * beyond + of_rate;
            }
            let ratio = share.mul_add(t, -of_rate) / rate;
            let log_rise = if ratio > -0.5 {
                ratio.ln_1p()
            } else {
                log_rate(z + t) - log_here
            };
            y * relative.mul_add(-t, log_rise) + of_rate
        }
    }

    fn slopes(&self) -> (f64, f64) {
        (-1.0, self.0)
    }

    fn start(&self, a: f64, b: f64) -> f64 {
        let y = self.0;
        if a > 0.0 && y + b < 0.0 {
            return (y + b) / a;
        }
        // y/z = az + (1 - b) at large z
        let c = 1.0 - b;
        let root = c.hypot(2.0 * (a * y).sqrt());
        let z = if c > 0.0 {
            2.0 * y / (c + root)
        } else {
            (root - c) / (2.0 * a)
        };
        if z.is_finite() { z } else { y }
    }
}

impl ScalarLikelihood for PoissonSoftplusLikelihood {
    const NAME: &'static str = "poisson_softplus";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        log_concave::tilted(&Count(y), a, b)
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        draw(softplus(z), rng)
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        Count(y).value(z)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_count(y)
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        log_concave::excess(&Count(y), a, b)
    }

    fn tilted_with_excess(&self, y: f64, a: f64, b: f64) -> Option<(Tilted, f64)> {
        Some(log_concave::tilted_with_excess(&Count(y), a, b))
    }

    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        Some(log_concave::mode(&Count(y), a, b))
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Counts)
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        vec![Landmark::spread(y, (y + 1.0).sqrt())]
    }
}
