//! Natural priors $p(x) = e^{\lambda_0^T\phi(x) - A_z[\lambda_0]}$: a law declared by the type of its variable and its natural
//! parameters (Tree-AMP paper, appendix E).
//!
//! The log-partition is that of the variable with added parameters, $A_f[\lambda] = A_z[\lambda + \lambda_0] - A_z[\lambda_0]$ (and
//! $-\tfrac a2$ for a binary variable, whose square is one). Each is one of the laws of the catalogue in other
//! parameters:
//!
//! | variable | $\phi(x)$ | parameters | law |
//! |---|---|---|---|
//! | real | $x, -\tfrac12x^2$ | $b, a$ | Gaussian |
//! | binary, $\pm1$ | $x$ | $b = \tfrac12\ln\tfrac{p_+}{p_-}$ | binary |
//! | sparse | $x, -\tfrac12x^2, \delta(x)$ | $b, a, \eta$ | Gauss-Bernoulli |
//! | interval | $x, -\tfrac12x^2$ on $[l, u]$ | $b, a$ | truncated normal |
//! | positive | the same on $x \ge 0$ | $b, a$ | positive |

use super::{Binary, GaussBernoulli, GaussianPrior, Interval, Positive};
use crate::error::{ModelError, parameter};

/// The ways to declare a law by a type of variable and natural parameters.
#[derive(Debug, Clone, Copy)]
pub struct NaturalPrior;

impl NaturalPrior {
    /// Name in errors.
    pub const NAME: &'static str = "natural";

    /// A real variable: $e^{-\frac12 a x^2 + b x}$, the Gaussian of mean $b/a$ and variance $1/a$.
    ///
    /// # Errors
    /// Unless $a$ is positive and both are finite.
    pub fn real(a: f64, b: f64) -> Result<GaussianPrior, ModelError> {
        check(a, b)?;
        GaussianPrior::new(b / a, 1.0 / a)
    }

    /// A binary variable: $e^{b x}$ on $x = \pm1$, $p_+ = \sigma(2b)$.
    ///
    /// # Errors
    /// Unless $b$ is finite.
    pub fn binary(b: f64) -> Result<Binary, ModelError> {
        check(1.0, b)?;
        Binary::with_field(b)
    }

    /// A sparse variable: weight $e^\eta$ at zero and $e^{-\frac12 a x^2 + b x}$ elsewhere; its log-odds of being non-zero are
    /// $\xi = \frac{b^2}{2a} + \frac12\ln\frac{2\pi}{a} - \eta$.
    ///
    /// # Errors
    /// Unless $a$ is positive and all are finite.
    pub fn sparse(a: f64, b: f64, eta: f64) -> Result<GaussBernoulli, ModelError> {
        check(a, b)?;
        if !eta.is_finite() {
            return Err(parameter(Self::NAME, "eta", "finite", eta));
        }
        let xi = 0.5 * b * b / a + 0.5 * (std::f64::consts::TAU / a).ln() - eta;
        GaussBernoulli::with_log_odds(xi, b / a, 1.0 / a)
    }

    /// A variable on the interval $[l, u]$: $e^{-\frac12 a x^2 + b x}$ there.
    ///
    /// # Errors
    /// Unless $a$ is positive, both are finite, and `lower < upper`.
    pub fn interval(lower: f64, upper: f64, a: f64, b: f64) -> Result<Interval, ModelError> {
        check(a, b)?;
        Interval::new(lower, upper, b / a, 1.0 / a)
    }

    /// A variable $x \ge 0$: $e^{-\frac12 a x^2 + b x}$ there. With $a = 0$ and $b < 0$ that is [`Exponential`](super::Exponential).
    ///
    /// # Errors
    /// Unless $a$ is positive and both are finite.
    pub fn positive(a: f64, b: f64) -> Result<Positive, ModelError> {
        check(a, b)?;
        Positive::new(b / a, 1.0 / a)
    }
}

fn check(a: f64, b: f64) -> Result<(), ModelError> {
    let name = NaturalPrior::NAME;
    if !(a > 0.0 && a.is_finite()) {
        return Err(parameter(name, "a", "positive and finite", a));
    }
    if !b.is_finite() {
        return Err(parameter(name, "b", "finite", b));
    }
    Ok(())
}
