//! The modulus $x = |z|$ of a complex signal, as a channel between two hidden variables.
//!
//! # Moments
//! With $a = a_z + a_x$, $b = |b_z| + b_x$ and $e_0(\kappa) = e^{-\kappa}I_0(\kappa)$ the radius $\rho = |z| = x$ has the weight
//! $2\pi\rho\,e_0(|b_z|\rho)\,e^{-\frac12 a\rho^2 + b\rho}$ on $\rho > 0$, whose integral is $e^A$. $r_x = E\rho$, $v_x = \mathrm{Var}\rho$; given $\rho$
//! the phase is a von Mises law around $b_z$, so $r_z = E[\rho R(|b_z|\rho)]\,b_z/|b_z|$ and
//! $v_z = \tfrac12(E\rho^2 - |r_z|^2)$ per real component. The integral is taken by Gauss-Legendre panels.
//!
//! # Limits
//! Diverges for $a < 0$, and for $a = 0$ unless $b < 0$. A known $x$ is the modulus likelihood.

use std::f64::consts::TAU;

use num_complex::Complex;
use rand::Rng;

use crate::catalog::likelihoods::ModulusLikelihood;
use crate::catalog::module::{Module, Signals};
use crate::math::bessel::circle;
use crate::math::quadrature::rule16;
use crate::scalar::{Elem, ScalarChannel, Symmetry, Tilt, TiltedPair};

/// Widths of the Gaussian factor beyond which there is nothing: $e^{-40}$.
const REACH: f64 = 9.0;
/// At most this many panels.
const PANELS: usize = 12;

/// $x = |z|$: complex in, real out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Modulus;

/// The law of the radius: the exponent is $-\frac12 a\rho^2 + b\rho + \ln\rho\,e_0(c\rho)$.
struct Radius {
    a: f64,
    b: f64,
    /// $|b_z|$.
    c: f64,
}

/// $\ln$ of the integral without the peak of the Gaussian factor, and the moments.
struct RadiusMoments {
    log_mass: f64,
    mean: f64,
    variance: f64,
    /// $E[\rho(1 - R)]$.
    lag: f64,
}

impl Radius {
    /// Where the Gaussian factor is largest, $b/a$ or 0.
    fn peak(&self) -> f64 {
        if self.b > 0.0 { self.b / self.a } else { 0.0 }
    }

    /// Ascending ends of panels over all the mass; returns how many.
    fn breaks(&self, out: &mut [f64; PANELS + 1]) -> usize {
        let Self { a, b, c } = *self;
        let width = 1.0 / a.sqrt();
        let peak = self.peak();
        // on the right side of a falling exponent: ½aρ² - bρ = REACH²/2
        let (low, high, unit) = if b > 0.0 {
            (
                (peak - REACH * width).max(0.0),
                peak + REACH * width,
                width.min(peak.max(0.5 * width)),
            )
        } else {
            let fall = 0.5 * REACH * REACH;
            let high = 2.0 * fall / (-b + (b * b + 2.0 * a * fall).sqrt());
            (0.0, high, high / REACH)
        };
        let mut n = 0;
        let mut push = |x: f64| {
            let far = n == 0 || x > out[n - 1] + 1e-3 * unit;
            if n <= PANELS && x >= low && x <= high && far {
                out[n] = x;
                n += 1;
            }
        };
        push(low);
        // ρ e₀(cρ) bends from ρ to √ρ near ρ = 1/c
        if low == 0.0 {
            let bend = 1.0 / c;
            for x in [0.5, 2.0, 8.0, 40.0].map(|k| k * bend) {
                if x < 0.7 * (high - low) {
                    push(x);
                }
            }
        }
        if b > 0.0 {
            for k in [-3.0, 0.0, 3.0] {
                push(peak + k * width);
            }
        } else {
            for k in [0.08, 0.3] {
                push(k * high);
            }
        }
        push(high);
        n
    }

    fn moments(&self) -> RadiusMoments {
        let mut ends = [0.0; PANELS + 1];
        let n = self.breaks(&mut ends);
        let rule = rule16();
        let peak = self.peak();
        let (mut mass, mut first, mut second, mut lag) = (0.0, 0.0, 0.0, 0.0);
        // moments around the peak of the Gaussian factor: ρ - peak loses no digits
        for pair in ends[..n].windows(2) {
            let length = pair[1] - pair[0];
            for (node, weight) in rule.nodes.iter().zip(&rule.weights) {
                let rho = length.mul_add(*node, pair[0]);
                let step = rho - peak;
                let exponent = if peak > 0.0 {
                    -0.5 * self.a * step * step
                } else {
                    (-0.5 * self.a).mul_add(rho, self.b) * rho
                };
                let on = circle(self.c * rho);
                let w = length * weight * rho * (exponent + on.log_scaled).exp();
                mass += w;
                first += w * step;
                second += w * step * step;
                lag += w * rho * on.gap;
            }
        }
        let shift = first / mass;
        RadiusMoments {
            log_mass: (TAU * mass).ln(),
            mean: peak + shift,
            variance: second / mass - shift * shift,
            lag: lag / mass,
        }
    }
}

impl Modulus {
    /// The tilted pair, and $\ln$ of the integral without the peak of the Gaussian factor.
    fn solve(z: Tilt<Complex<f64>>, x: Tilt) -> Option<(TiltedPair<Complex<f64>, f64>, f64)> {
        let size = z.b.norm();
        let law = Radius {
            a: z.a + x.a,
            b: size + x.b,
            c: size,
        };
        let proper = law.a > 0.0 || (law.a == 0.0 && law.b < 0.0);
        if !proper {
            return None;
        }
        let m = law.moments();
        let along = m.mean - m.lag;
        let mean_z = if size > 0.0 {
            Elem::scale(z.b, along / size)
        } else {
            Complex::ZERO
        };
        // E ρ² - |r_z|² = Var ρ + (E ρ - |r_z|)(E ρ + |r_z|)
        let variance_z = 0.5 * (m.variance + m.lag * (2.0 * m.mean - m.lag));
        let peak = law.peak();
        let pair = TiltedPair {
            log_z: m.log_mass + 0.5 * law.b * peak,
            mean_z,
            variance_z,
            mean_x: m.mean,
            variance_x: m.variance,
        };
        Some((pair, m.log_mass))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: "modulus",
        summary: "modulus of a complex signal",
        formula: "x = |z|",
        tex: r"x = |z|",
        notes: r"Observed, $z = x e^{i\theta}$ with a von Mises law of the phase: $r = x\,\frac{I_1(|b| x)}{I_0(|b| x)}\,\frac b{|b|}$, $v = \frac12(x^2 - |r|^2)$ per real component.",
        signals: Signals::ComplexToReal,
        constructor: |a| a.channel(Self),
        ..Module::CHANNEL
    };
}

impl ScalarChannel for Modulus {
    type In = Complex<f64>;
    type Out = f64;
    type Likelihood = ModulusLikelihood;

    fn name(&self) -> &'static str {
        "modulus"
    }

    fn tilted(&self, z: Tilt<Complex<f64>>, x: Tilt) -> TiltedPair<Complex<f64>, f64> {
        Self::solve(z, x).map_or(TiltedPair::divergent(Complex::ZERO, 0.0), |s| s.0)
    }

    /// The exponents as completed squares: $\frac{b^2}{2a} - \frac{|b_z|^2}{2a_z} - \frac{b_x^2}{2a_x} =
    /// -\frac{a_z a_x}{2a}(\frac{|b_z|}{a_z} - \frac{b_x}{a_x})^2$.
    fn tilted_with_excess(
        &self,
        z: Tilt<Complex<f64>>,
        x: Tilt,
        over: [bool; 2],
    ) -> (TiltedPair<Complex<f64>, f64>, f64) {
        let Some((pair, log_mass)) = Self::solve(z, x) else {
            return (TiltedPair::divergent(Complex::ZERO, 0.0), f64::INFINITY);
        };
        let (size, a) = (z.b.norm(), z.a + x.a);
        let peaked = size + x.b > 0.0;
        let square = match over {
            _ if !peaked => {
                let z_part = if over[0] { size * size / z.a } else { 0.0 };
                let x_part = if over[1] { x.b * x.b / x.a } else { 0.0 };
                -0.5 * (z_part + x_part)
            }
            [true, true] => {
                let gap = size / z.a - x.b / x.a;
                -0.5 * (z.a / a * x.a * gap) * gap
            }
            // b²/2a - c²/2a_z = [b_x(2c + b_x) - a_x c²/a_z]/2a
            [true, false] => 0.5 * (x.b * (2.0 * size + x.b) - x.a * size / z.a * size) / a,
            [false, true] => 0.5 * (size * (2.0 * x.b + size) - z.a * x.b / x.a * x.b) / a,
            [false, false] => 0.5 * (size + x.b) / a * (size + x.b),
        };
        let z_volume = if over[0] { (TAU / z.a).ln() } else { 0.0 };
        let x_volume = if over[1] { 0.5 * (TAU / x.a).ln() } else { 0.0 };
        (pair, log_mass + square - z_volume - x_volume)
    }

    fn sample(&self, z: Complex<f64>, _: &mut dyn Rng) -> f64 {
        z.norm()
    }

    fn map(&self, z: Complex<f64>) -> Option<f64> {
        Some(z.norm())
    }

    fn likelihood(&self) -> Option<ModulusLikelihood> {
        Some(ModulusLikelihood)
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Circular
    }
}
