//! Modified Bessel functions $I_0$, $I_1$ of the circle: $\frac1{2\pi}\int e^{x\cos\theta}d\theta = I_0(x)$.

use std::f64::consts::TAU;

/// From here on the asymptotic series reaches rounding: its smallest term is near $e^{-2x}$.
const ASYMPTOTIC_FROM: f64 = 20.0;

/// What a law on the circle with concentration $x \ge 0$ needs, all to full relative accuracy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Circle {
    /// $\ln I_0(x) - x$, the scaled logarithm.
    pub log_scaled: f64,
    /// $\ln I_0(x)$.
    pub log_i0: f64,
    /// $R = I_1(x)/I_0(x)$, the mean of $\cos\theta$.
    pub ratio: f64,
    /// $1 - R$.
    pub gap: f64,
    /// $1 - R^2$, twice the variance per real component.
    pub spread: f64,
}

/// The functions of the circle at $x \ge 0$.
#[must_use]
#[inline]
pub fn circle(x: f64) -> Circle {
    if x < ASYMPTOTIC_FROM {
        by_series(x)
    } else {
        by_asymptotics(x)
    }
}

/// $I_0 = \sum_k \frac{t^k}{k!^2}$ and $I_1 = \frac x2\sum_k\frac{t^k}{k!(k+1)!}$ with $t = x^2/4$: positive terms only. $\ln I_0$ is taken
/// from $I_0 - 1$, which keeps its digits near zero.
fn by_series(x: f64) -> Circle {
    let t = 0.25 * x * x;
    let (mut term, mut rest, mut first) = (1.0_f64, 0.0_f64, 1.0_f64);
    let mut k = 1.0;
    loop {
        term *= t / (k * k);
        rest += term;
        first += term / (k + 1.0);
        if term <= 1e-17 * rest {
            break;
        }
        k += 1.0;
    }
    let i0 = 1.0 + rest;
    let i1 = 0.5 * x * first;
    let log_i0 = rest.ln_1p();
    Circle {
        log_scaled: log_i0 - x,
        log_i0,
        ratio: i1 / i0,
        gap: (i0 - i1) / i0,
        spread: (i0 - i1) * (i0 + i1) / (i0 * i0),
    }
}

/// $\sqrt{2\pi x}\,e^{-x} I_\nu = \sum_k (-1)^k\frac{(4\nu^2 - 1)(4\nu^2 - 9)\cdots(4\nu^2 - (2k-1)^2)}{k!\,(8x)^k}$. The difference $I_0 - I_1$ is summed by
/// itself: its first term is $1/2x$.
fn by_asymptotics(x: f64) -> Circle {
    let unit = 0.125 / x;
    let (mut term0, mut term1) = (1.0_f64, 1.0_f64);
    let (mut i0, mut difference) = (1.0_f64, 0.0_f64);
    for k in 1..40 {
        let k = f64::from(k);
        let odd = (2.0 * k - 1.0).powi(2);
        term0 *= odd * unit / k;
        term1 *= (odd - 4.0) * unit / k;
        i0 += term0;
        difference += term0 - term1;
        if term0 <= 1e-17 * difference {
            break;
        }
    }
    let gap = difference / i0;
    let log_scaled = i0.ln() - 0.5 * (TAU * x).ln();
    Circle {
        log_scaled,
        log_i0: x + log_scaled,
        ratio: 1.0 - gap,
        gap,
        spread: gap * (2.0 - gap),
    }
}

/// $e^x K_0(x)$ and $e^x K_1(x)$ for $x > 0$.
///
/// $K_\nu(x) = \int_0^\infty e^{-x\cosh t}\cosh\nu t\,dt$ by the trapezoidal rule, which converges like $e^{-\pi^2/h}$: the integrand is
/// analytic in a strip and falls doubly exponentially.
#[must_use]
pub fn scaled_k(x: f64) -> (f64, f64) {
    let h = (0.6 / x.sqrt()).min(0.25);
    let (mut k0, mut k1) = (0.5, 0.5);
    let mut t = h;
    loop {
        // cosh t - 1 = 2 sinh²(t/2)
        let rise = 2.0 * (0.5 * t).sinh().powi(2);
        let w = (-x * rise).exp();
        k0 += w;
        k1 += w * (1.0 + rise);
        if x * rise > 40.0 {
            return (h * k0, h * k1);
        }
        t += h;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::quadrature::integrate;

    /// $\frac1\pi\int_0^\pi e^{x(\cos\theta - 1)}(1, 1 - \cos\theta)\,d\theta$, with $1 - \cos\theta = 2\sin^2\frac\theta2$.
    fn defining(x: f64) -> [f64; 2] {
        let f = |t: f64| {
            let lag = 2.0 * (0.5 * t).sin().powi(2);
            let w = (-x * lag).exp() / std::f64::consts::PI;
            [w, w * lag]
        };
        let width = (1.0 / x.max(1.0)).sqrt();
        let cuts = [0.0, 2.0, 5.0, 10.0].map(|c: f64| (c * width).min(std::f64::consts::PI));
        let mut breaks = cuts.to_vec();
        breaks.push(std::f64::consts::PI);
        breaks.dedup();
        integrate(f, &breaks, 1e-15)
    }

    #[test]
    fn they_are_their_integrals() {
        for x in [
            0.0, 1e-8, 1e-3, 0.1, 1.0, 3.0, 8.0, 15.0, 19.99, 20.01, 50.0, 1e3, 1e6, 1e10,
        ] {
            let c = circle(x);
            let [mass, lag] = defining(x);
            let near = |what: &str, got: f64, expected: f64, tolerance: f64| {
                assert!(
                    (got - expected).abs() <= tolerance * expected.abs(),
                    "{what} at {x}: {got:e}, {expected:e}"
                );
            };
            // rounding of the quadrature, and of I0 - I1 where they are close
            near("I0", c.log_scaled.exp(), mass, 2e-14);
            near("1 - R", c.gap, lag / mass, 1e-13);
            let gap = lag / mass;
            near("1 - R²", c.spread, gap * (2.0 - gap), 1e-13);
            assert!((c.ratio + c.gap - 1.0).abs() < 1e-15);
        }
    }

    const EULER: f64 = 0.577_215_664_901_532_9;

    /// The Wronskian $I_0 K_1 + I_1 K_0 = 1/x$, and $K_0$ near zero and far out.
    #[test]
    fn second_kind() {
        for x in [1e-8, 1e-3, 0.1, 0.7, 1.0, 2.5, 6.0, 19.0, 30.0, 1e3, 1e7] {
            let (c, (k0, k1)) = (circle(x), scaled_k(x));
            let wronskian = x * c.log_scaled.exp() * (k1 + c.ratio * k0);
            assert!((wronskian - 1.0).abs() < 2e-14, "{x}: {wronskian}");
        }
        let x = 1e-8;
        assert!((scaled_k(x).0 / (-(0.5 * x).ln() - EULER) - 1.0 - x).abs() < 1e-14);
        // the first terms of the asymptotic series
        let x = 1e6;
        let far = (0.25 * TAU / x).sqrt() * (1.0 - 0.125 / x);
        assert!((scaled_k(x).0 / far - 1.0).abs() < 1e-13);
    }

    #[test]
    fn near_zero_by_series() {
        for x in [1e-3, 1e-6, 1e-12, 1e-100] {
            let c = circle(x);
            // ln I0 = x²/4 - x⁴/64, R = x/2 - x³/16
            let log = 0.25 * x * x * (1.0 - x * x / 16.0);
            assert!((c.log_i0 - log).abs() <= 1e-13 * log, "{x}");
            let ratio = 0.5 * x * (1.0 - x * x / 8.0);
            assert!((c.ratio - ratio).abs() <= 1e-13 * ratio, "{x}");
        }
    }
}
