//! A radius of the plane under a tilt: the weight $\rho\,e^{-\frac12 a\rho^2 + b\rho}$ on $\rho > 0$.
//!
//! With $\rho = t/\sqrt a$ and $s = -b/\sqrt a$ the moments are ratios of $I_k = \int_0^\infty t^k e^{-st - t^2/2}dt$:
//! $I_{k+1} = k I_{k-1} - s I_k$, so $q_k = I_k/I_{k-1}$ obeys $q_{k+1} = k/q_k - s$. The mass is $I_0 q_1/a$, the mean radius
//! $q_2/\sqrt a$, the variance $q_2(q_3 - q_2)/a = (2 - q_2/q_1)/a$.

use std::f64::consts::FRAC_1_SQRT_2;

use super::special::{HALF_LN_2PI, SQRT_FRAC_PI_2, erfcx, log_normal_cdf};
use crate::scalar::Tilted;

/// From here on the recurrence is run backwards.
const BACKWARDS_FROM: f64 = 1.0;

/// $\ln$ of the mass, mean and variance of the radius; divergent unless $a > 0$, or $a = 0$ and $b < 0$.
#[must_use]
#[inline]
pub fn radius(a: f64, b: f64) -> Tilted {
    radius_with_excess(a, b).0
}

/// The same with $\ln$ of the mass less $b^2/2a$, which is not the difference of the two (for $a > 0$).
#[must_use]
#[inline]
pub fn radius_with_excess(a: f64, b: f64) -> (Tilted, f64) {
    if a == 0.0 && b < 0.0 {
        let t = Tilted {
            log_z: -2.0 * (-b).ln(),
            mean: -2.0 / b,
            variance: 2.0 / (b * b),
        };
        return (t, f64::NAN);
    }
    if !(a > 0.0) {
        return (Tilted::divergent(1.0), f64::INFINITY);
    }
    let root = a.sqrt();
    let s = -b / root;
    let peak = 0.5 * s * s;
    let (log_z, excess, mean, variance) = if s < 0.0 {
        let log_i0 = HALF_LN_2PI + log_normal_cdf(-s);
        let q1 = (-peak - log_i0).exp() - s;
        let q2 = 1.0 / q1 - s;
        let excess = log_i0 + q1.ln();
        (excess + peak, excess, q2, 2.0 - q2 / q1)
    } else {
        let i0 = SQRT_FRAC_PI_2 * erfcx(s * FRAC_1_SQRT_2);
        let (q1, q2, q3) = ratios(s, i0);
        let variance = if s < BACKWARDS_FROM {
            2.0 - q2 / q1
        } else {
            q2 * (q3 - q2)
        };
        let log_z = (i0 * q1).ln();
        (log_z, log_z - peak, q2, variance)
    };
    let t = Tilted {
        log_z: log_z - a.ln(),
        mean: mean / root,
        variance: variance / a,
    };
    (t, excess - a.ln())
}

/// $q_1, q_2, q_3$ at $s \ge 0$. Forwards they lose $s^2$ ulps per step; backwards, $q_k = k/(s + q_{k+1})$ from
/// $q_k \approx \sqrt k$, they converge the faster the larger $s$.
#[inline]
fn ratios(s: f64, i0: f64) -> (f64, f64, f64) {
    if s < BACKWARDS_FROM {
        let q1 = 1.0 / i0 - s;
        let q2 = 1.0 / q1 - s;
        return (q1, q2, 2.0 / q2 - s);
    }
    let depth: u32 = if s > 15.0 {
        10
    } else if s > 5.0 {
        30
    } else if s > 2.0 {
        100
    } else {
        280
    };
    let mut q = [0.0; 3];
    let mut next = 0.5 * ((s * s + 4.0 * f64::from(depth)).sqrt() - s);
    for k in (1..depth).rev() {
        next = f64::from(k) / (s + next);
        if k <= 3 {
            q[k as usize - 1] = next;
        }
    }
    (q[0], q[1], q[2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::quadrature::integrate;

    #[test]
    fn it_is_its_integral() {
        for s in [
            -1e6, -300.0, -30.0, -8.0, -3.0, -1.0, -0.1, 0.0, 0.3, 0.99, 1.01, 1.99, 2.01, 4.0,
            5.5, 14.0, 16.0, 100.0, 1e4, 1e8,
        ] {
            for a in [1.0, 1e-6, 1e8] {
                let b = -s * f64::sqrt(a);
                let t = radius(a, b);
                let sd = t.variance.sqrt();
                assert!(t.variance > 0.0 && t.mean > 0.0 && t.log_z.is_finite());
                let f = |r: f64| {
                    let peak = if b > 0.0 { 0.5 * b / a * b } else { 0.0 };
                    let exponent = if b > 0.0 {
                        -0.5 * a * (r - b / a).powi(2)
                    } else {
                        (b - 0.5 * a * r) * r
                    };
                    let w = (exponent + r.ln() - (t.log_z - peak)).exp();
                    let d = (r - t.mean) / sd;
                    [w, w * d, w * d * d]
                };
                let cuts = (-24..=80).map(|i| t.mean + 0.5 * f64::from(i) * sd);
                let mut breaks: Vec<f64> = cuts.filter(|r| *r > 0.0).collect();
                if breaks[0] > 0.5 * sd || t.mean < 13.0 * sd {
                    breaks.insert(0, 0.0);
                }
                let sum = integrate(f, &breaks, 1e-13);
                // the exponent of the check itself is rounded at s²/2
                let tolerance = 1e-11 + 1e-15 * s.clamp(0.0, 100.0).powi(2);
                let mass_tolerance = tolerance + 4e-16 * s.min(0.0).powi(2);
                assert!((sum[0] - 1.0).abs() < mass_tolerance, "{s} {a}: {sum:?}");
                assert!(
                    (sum[1] / sum[0]).abs() < 1e-9f64.max(1e-15 * s.abs()),
                    "{s} {a}: {sum:?}"
                );
                assert!(
                    (sum[2] / sum[0] - 1.0).abs() < tolerance.max(1e-10),
                    "{s} {a}: {sum:?}"
                );
            }
        }
    }

    #[test]
    fn limits() {
        assert!(radius(-1.0, -3.0).log_z.is_infinite());
        assert!(radius(0.0, 1.0).variance.is_infinite());
        assert!(radius(0.0, 0.0).variance.is_infinite());
        let (near, at) = (radius(1e-12, -2.0), radius(0.0, -2.0));
        assert!((near.mean - at.mean).abs() < 1e-11 && (near.log_z - at.log_z).abs() < 1e-11);
    }
}
