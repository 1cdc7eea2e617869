//! A smooth channel whose input is known next to exactly, from its own field or from that of its output: it is linear as far as the
//! posterior reaches.
//!
//! Given the teacher's $z_0$ the posterior of $z$ is a normal law of precision $p = a_z + a_x\varphi'(z_0)^2$ around it, so that
//!
//! $$v_z = E\frac1p,\qquad v_x = E\frac{\varphi'^2}p,\qquad \bar A = E\Big[\sum_i(\hat m_i - \tfrac12a_i)\,x_{0,i}^2 + \frac{E\,g^2}{2p} + \tfrac12\ln\frac{2\pi}p\Big]$$
//!
//! with the gradient $g$ of the exponent at $z_0$, $E\,g^2 = \hat m_z + \varphi'^2\hat m_x + (\hat\tau_zz_0 + \varphi'\hat\tau_xx_0)^2$. What is left out is of the relative size
//! $\frac{a_x(\varphi''^2 + |\varphi'\varphi'''|)}{p^2} + \frac{(a_x\varphi'\varphi'')^2}{p^3}$, and is averaged along.
//!
//! Without this route no test of averages fails: averages of sigmoid at sharp fields are off by up to 3e-6, and take a hundred times as long.

use super::breaks::Breaks;
use super::channel::{Pair, X, Z};
use super::{COUNT, MASS, POTENTIAL, Q, SINGLE, V};
use crate::math::quadrature::panels::{Effort, Sample, integrate};

/// What is left out, relative.
const LEFT_OUT: f64 = 1e-10;
/// Precision of the posterior, in units of $1/\tau_0$, below which nothing is known.
const KNOWN: f64 = 1e4;
/// Step of the derivatives: their errors are of fourth order.
const STEP: f64 = 2e-3;

/// $\varphi', \varphi'', \varphi'''$ by differences.
fn derivatives(map: &dyn Fn(f64) -> f64, z: f64) -> [f64; 3] {
    let f = |i: f64| map(i.mul_add(STEP, z));
    let odd = |i: f64| f(i) - f(-i);
    let even = |i: f64| f(i) + f(-i) - 2.0 * f(0.0);
    [
        (8.0 * odd(1.0) - odd(2.0)) / (12.0 * STEP),
        (16.0 * even(1.0) - even(2.0)) / (12.0 * STEP * STEP),
        (odd(2.0) - 2.0 * odd(1.0)) / (2.0 * STEP.powi(3)),
    ]
}

/// The averages, where the channel is smooth and its input is known well enough; else `None`.
pub(super) fn average(pair: &Pair<'_>) -> Option<[f64; COUNT]> {
    let [z, x] = &pair.at;
    let sharp = z.a.max(x.a) * pair.tau0[Z] > KNOWN && z.a > 0.0 && x.a >= 0.0;
    if !(pair.bayes && sharp && pair.teacher.is_smooth()) {
        return None;
    }
    let map = |z: f64| pair.teacher.map(z).unwrap_or(f64::NAN);
    let sample = &mut |z0: f64| {
        let (x0, [s, curvature, third]) = (map(z0), derivatives(&map, z0));
        let exponent = z.tau0_hat * z0 * z0 + x.tau0_hat * x0 * x0;
        let weight = (-0.5 * exponent - pair.log_z0).exp();
        let p = x.a.mul_add(s * s, z.a);
        let left_out = x.a * (curvature * curvature + (s * third).abs()) / (p * p)
            + (x.a * s * curvature / p).powi(2) / p;
        let terms = match pair.target {
            Some(X) => [s * s / p, s * s / p * left_out],
            Some(_) => [1.0 / p, left_out / p],
            None => [potential(pair, [z0, x0], s, p), left_out],
        };
        Sample::plain([weight, weight * terms[0], weight * terms[1]])
    };
    let mut breaks = Breaks::new();
    breaks.component(0.0, pair.tau0[Z].sqrt());
    let [mass, value, left_out] = integrate(sample, &breaks.sorted(), Effort::plain(SINGLE));
    let scale = pair.target.map_or(1.0, |_| value);
    if !(left_out < LEFT_OUT * scale) {
        return None;
    }
    let mut sums = [0.0; COUNT];
    sums[MASS] = mass;
    match pair.target {
        Some(end) => (sums[V], sums[Q]) = (value, pair.tau0[end] - value),
        None => sums[POTENTIAL] = value,
    }
    Some(sums)
}

/// $A$ or the excess over the tilts of the marked ends, averaged over the noise given the teacher's $z_0, x_0$. The large terms of an
/// excess cancel, $(\hat m - \frac12a)x_0^2 - \frac{\hat m^2x_0^2}{2a} = -\frac{\hat\tau_0^2x_0^2}{2a}$.
fn potential(pair: &Pair<'_>, signal: [f64; 2], slope: f64, p: f64) -> f64 {
    let at = &pair.at;
    let drift = at[Z]
        .tau0_hat
        .mul_add(signal[Z], slope * at[X].tau0_hat * signal[X]);
    let gradient = (slope * slope).mul_add(at[X].m_hat, at[Z].m_hat) + drift * drift;
    let log_width = |a: f64| 0.5 * (std::f64::consts::TAU / a).ln();
    let ends = [Z, X].map(|i| {
        let square = signal[i] * signal[i];
        if at[i].excess && pair.sharp[i] {
            let share = 0.5 * at[i].m_hat / at[i].a;
            -0.5 * (at[i].tau0_hat / at[i].a) * at[i].tau0_hat * square - share - log_width(at[i].a)
        } else {
            (at[i].m_hat - 0.5 * at[i].a) * square
        }
    });
    ends[Z] + ends[X] + 0.5 * gradient / p + log_width(p)
}
