//! Normal tails and logistic functions, at full relative accuracy on the whole line.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// $\sqrt{\pi/2}$.
pub const SQRT_FRAC_PI_2: f64 = 1.253_314_137_315_500_3;
/// $\tfrac12 \ln 2\pi$.
pub const HALF_LN_2PI: f64 = 0.918_938_533_204_672_7;

/// Scaled complementary error function $e^{x^2} \operatorname{erfc}(x)$.
#[must_use]
pub fn erfcx(x: f64) -> f64 {
    puruspe::erfcx(x)
}

/// $\ln \Phi(x)$, the log-probability that a standard normal is below $x$.
// public for the tests of this crate, which have closed forms in it
#[doc(hidden)]
#[must_use]
pub fn log_normal_cdf(x: f64) -> f64 {
    if x < 0.0 {
        (0.5 * erfcx(-x * FRAC_1_SQRT_2)).ln() - 0.5 * x * x
    } else {
        (-0.5 * libm::erfc(x * FRAC_1_SQRT_2)).ln_1p()
    }
}

/// Standard normal density.
#[must_use]
pub fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() * (0.5 / SQRT_FRAC_PI_2)
}

/// Standard normal probability of $[\alpha, \beta]$ for $\alpha \le 0 \le \beta$: a sum of two
/// non-negative terms, so nothing cancels.
#[must_use]
pub fn normal_probability_around_zero(alpha: f64, beta: f64) -> f64 {
    0.5 * (libm::erf(beta / SQRT_2) + libm::erf(-alpha / SQRT_2))
}

/// $1/(1+e^{-x})$.
#[must_use]
#[inline]
pub fn sigmoid(x: f64) -> f64 {
    // e^{-|x|} never overflows, and the smaller of the two answers keeps its digits
    let e = (-x.abs()).exp();
    if x < 0.0 {
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + e)
    }
}

/// $\ln(1+e^{x})$.
#[must_use]
#[inline]
pub fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// $\ln(e^{x} + e^{y})$; either may be $-\infty$.
#[must_use]
pub fn log_add_exp(x: f64, y: f64) -> f64 {
    let (low, high) = if x < y { (x, y) } else { (y, x) };
    if high == f64::NEG_INFINITY {
        high
    } else {
        high + (low - high).exp().ln_1p()
    }
}

/// Moments of $e^{-st - t^2/2}$ on $t > 0$ for $s \ge 0$: the mass $I_0$, the mean $q_1$ and the
/// variance, none of which cancels however far the tail.
#[must_use]
#[inline]
pub fn tail_moments(s: f64) -> (f64, f64, f64) {
    let mass = SQRT_FRAC_PI_2 * erfcx(s * FRAC_1_SQRT_2);
    let (mean, variance) = if s < FRACTION_FROM {
        near_tail(s, mass)
    } else {
        far_tail(s)
    };
    (mass, mean, variance)
}

/// From here on the continued fraction of `far_tail` has converged to rounding at a depth of 24, and
/// from six times as far to $10^{-13}$ at a depth of 6.
const FRACTION_FROM: f64 = 5.0;

/// $I_{k+1} = k I_{k-1} - s I_k$, hence $q_1 = 1/I_0 - s$ and $q_2 = 1/q_1 - s$ with $q_k = I_k/I_{k-1}$.
#[inline]
fn near_tail(s: f64, mass: f64) -> (f64, f64) {
    let q1 = 1.0 / mass - s;
    let q2 = 1.0 / q1 - s;
    (q1, q1 * (q2 - q1))
}

/// $q_k = k/(s + q_{k+1})$, run backwards without divisions: $q_k = (k/s)\, e_{k+1}/e_k$ with
/// $e_k = e_{k+1} + (k+1)\, s^{-2} e_{k+2}$. The recurrence of `near_tail` would lose $s^2$ ulps.
#[inline]
fn far_tail(s: f64) -> (f64, f64) {
    let inverse = 1.0 / s;
    let r = inverse * inverse;
    let (mut e1, mut e2, mut e3) = (1.0, 1.0, 1.0);
    let depth: u32 = if s < 6.0 * FRACTION_FROM { 24 } else { 6 };
    for k in (1..=depth).rev() {
        (e1, e2, e3) = (e1 + f64::from(k + 1) * r * e2, e1, e2);
    }
    let q1 = inverse * e2 / e1;
    let q2 = 2.0 * inverse * e3 / e2;
    (q1, q1 * (q2 - q1))
}

/// $\psi(x) = \tfrac{d}{dx}\ln\Gamma(x)$ for $x > 0$: by $\psi(x) = \psi(x + 1) - \tfrac1x$ from where six terms of its series leave $10^{-16}$.
#[must_use]
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 12.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let tail = 1.0 / 252.0 - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * (691.0 / 32760.0)));
    sum + x.ln() - 0.5 / x - r * (1.0 / 12.0 - r * (1.0 / 120.0 - r * tail))
}

/// $\ln\frac{k^k e^{-k}}{\Gamma(k)}$ for $k > 0$: the logarithm of a gamma law's $x\,p(x)$ at its top, of no large terms. From 16 up by four terms
/// of Stirling's series, the next of which is below $10^{-14}$.
#[must_use]
pub fn log_gamma_peak(k: f64) -> f64 {
    if k < 16.0 {
        return k * k.ln() - k - libm::lgamma(k);
    }
    let inverse = 1.0 / k;
    let r = inverse * inverse;
    let rest = inverse * (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0)));
    0.5 * k.ln() - HALF_LN_2PI - rest
}

/// $x\,(e^u - 1 - u)$ for $x \ge 0$: what a gamma or Poisson exponent loses at a distance $u$ of logarithms from its top. By its series where
/// the difference has no digits.
#[must_use]
#[inline]
pub fn deviance(x: f64, u: f64) -> f64 {
    if u.abs() < 0.01 {
        let tail = 1.0 + u / 5.0 * (1.0 + u / 6.0 * (1.0 + u / 7.0));
        x * (0.5 * u * u) * (1.0 + u / 3.0 * (1.0 + u / 4.0 * tail))
    } else {
        x * (u.exp_m1() - u)
    }
}

/// $\ln(1 + p\,(e^u - 1))$ for $0 \le p \le \tfrac12$ and any $u$, with $\ln p$ for a $p$ that underflows.
#[must_use]
#[inline]
pub fn log_blend(p: f64, log_p: f64, u: f64) -> f64 {
    if u < 700.0 && p > 0.0 {
        (p * u.exp_m1()).ln_1p()
    } else {
        // without the 1 - p next to one, which is nothing then
        softplus(u + log_p)
    }
}

/// $pu - \ln(1 + p\,(e^u - 1))$ at $p = 1/(1 + e^{-x})$ for any $u$: the bend of $-\ln(1 + e^x)$.
#[inline]
pub fn softplus_bend(x: f64) -> impl Fn(f64) -> f64 {
    let (p, q) = (sigmoid(x), sigmoid(-x));
    let (log_p, log_q) = (-softplus(-x), -softplus(x));
    move |u: f64| {
        // with the smaller of the two, which keeps the digits of small bends
        if p <= q {
            p.mul_add(u, -log_blend(p, log_p, u))
        } else {
            q.mul_add(-u, -log_blend(q, log_q, -u))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means and variances of the tail of a normal law at both depths of the fraction, by $q_1 = 1/I_0 - s$ at 60 digits.
    #[test]
    #[allow(clippy::unreadable_literal)] // reference values
    fn tails() {
        let exact = [
            (5.0, 0.1865039671258421, 0.03269643461711223),
            (8.0, 0.1213681122361127, 0.01432488344334091),
            (14.99, 0.06613015655565927, 0.004335755624591547),
            (15.0, 0.06608682716782204, 0.004330123757559894),
            (16.0, 0.06202098965450605, 0.003817562370178783),
            (20.0, 0.04975306852785054, 0.002463261615052164),
            (29.99, 0.0332707088050005, 0.001104502873647857),
            (30.0, 0.03325966743367704, 0.001103771511890091),
            (45.0, 0.02220032834359522, 0.0004923699596514471),
            (1000.0, 0.0009999980000099999, 9.999940000499995e-7),
        ];
        for (s, mean, variance) in exact {
            let (_, seen_mean, seen_variance) = tail_moments(s);
            assert!((seen_mean / mean - 1.0).abs() < 1e-14, "{s}: {seen_mean:e}");
            assert!(
                (seen_variance / variance - 1.0).abs() < 2e-13,
                "{s}: {seen_variance:e}"
            );
        }
    }

    /// Against the sum of logarithms that $\ln\Gamma$ is, whose rounding is that of $\sqrt k$ terms of its size.
    #[test]
    fn peaks_of_gamma_laws() {
        let mut log_gamma = 0.0;
        for i in 1..2000_u32 {
            let k = f64::from(i);
            let direct = k * k.ln() - k - log_gamma;
            let most = 1e-15 * (1.0 + log_gamma) * k.sqrt();
            let ours = log_gamma_peak(k);
            assert!((ours - direct).abs() <= most, "{k}: {ours} {direct}");
            log_gamma += k.ln();
        }
        // (1/2) ln(10^12/2π), less 1/12 of 10^-12
        let far = log_gamma_peak(1e12);
        assert!((far - 12.896_572_024_759_518).abs() < 1e-14, "{far}");
    }

    /// Against all terms of its series.
    #[test]
    fn deviances_keep_their_digits() {
        for u in [1e-9, -3e-5, 2e-3, -9.9e-3, 9.9e-3, 1.1e-2, -0.3, 0.9_f64] {
            let (mut term, mut sum) = (u, 0.0);
            for n in 2..40 {
                term *= u / f64::from(n);
                sum += term;
            }
            let gap = (deviance(3.0, u) / (3.0 * sum) - 1.0).abs();
            // beyond the series the difference of two numbers of the size of u
            let most = if u.abs() < 0.01 {
                1e-14
            } else {
                1e-15 / u.abs()
            };
            assert!(gap < most.max(1e-15), "{u}: {gap:e}");
        }
    }
}
