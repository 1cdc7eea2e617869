//! A Gaussian $\mathcal N(x; m, v)$ under a tilt, with $u = 1/(1 + a v)$.

use crate::math::mixture::or_overflow;
use crate::math::special::HALF_LN_2PI;
use crate::scalar::Tilted;

/// $r = u(m + b v)$, variance $u v$, $A = \tfrac12 u\,[v b^2 + m(2b - a m)] - \tfrac12 \ln(1 + a v)$; an atom
/// at $m$ for $v = 0$. Divergent at $m$ where $1 + a v \le 0$.
#[inline]
pub(crate) fn gaussian_tilt(mean: f64, variance: f64, a: f64, b: f64) -> Tilted {
    let t = a.mul_add(variance, 1.0);
    if t.is_nan() || t <= 0.0 {
        return Tilted::divergent(mean);
    }
    Tilted {
        log_z: gain(mean, variance, a, b) - 0.5 * log_one_plus(a, variance),
        mean: b.mul_add(variance, mean) / t,
        variance: variance / t,
    }
}

/// Its mode, which is its mean, and the derivative in $b$.
pub(crate) fn gaussian_mode(mean: f64, variance: f64, a: f64, b: f64) -> (f64, f64) {
    let tilted = gaussian_tilt(mean, variance, a, b);
    (tilted.mean, tilted.variance)
}

/// $\tfrac12 u\,[v b^2 + m(2b - a m)]$: the exponent at the tilted mean, prior included.
#[inline]
pub(crate) fn gain(mean: f64, variance: f64, a: f64, b: f64) -> f64 {
    gain_of(mean, variance, a, b, a.mul_add(variance, 1.0))
}

/// The same where $1 + av$ is known.
#[allow(clippy::inline_always)] // into loops that compile to vector instructions
#[inline(always)]
pub(crate) fn gain_of(mean: f64, variance: f64, a: f64, b: f64, denominator: f64) -> f64 {
    let bracket = (variance * b).mul_add(b, mean * (-a).mul_add(mean, 2.0 * b));
    or_overflow(0.5 * bracket / denominator)
}

/// $\ln(1 + a v)$, to full accuracy near both $a v = 0$ and $a v = -1$.
#[inline]
pub(crate) fn log_one_plus(a: f64, variance: f64) -> f64 {
    let product = a * variance;
    if product.abs() < 0.5 {
        product.ln_1p()
    } else {
        a.mul_add(variance, 1.0).ln()
    }
}

/// $\ln \mathcal N(x; m, v)$.
pub(crate) fn log_normal_density(x: f64, mean: f64, variance: f64) -> f64 {
    let d = x - mean;
    -0.5 * d * d / variance - 0.5 * variance.ln() - HALF_LN_2PI
}
