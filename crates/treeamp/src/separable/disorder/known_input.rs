//! A smooth channel whose input is known next to exactly: it is linear within what is left of the input.
//!
//! With $P = a_z + a_x\varphi'(z_0)^2$ the Bayes-optimal averages run over the teacher's input alone,
//! $v_z = E[1/P]$ and $v_x = E[\varphi'^2/P]$, up to relative terms of order $a_x/a_z^2$ and $a_x^2/a_z^3$. The excess over the tilt of the
//! input is $-\frac12a_x\varphi(z_0)^2 + b_x\varphi(z_0)$, up to terms of order $a_x/a_z$.

use super::breaks::Breaks;
use super::channel::{Pair, X, Z};
use super::panels::{Effort, Sample, integrate};
use super::{COUNT, MASS, POTENTIAL, Q, V};

/// What is left out, relative.
const LEFT_OUT: f64 = 1e-10;
/// Half step of the derivative: its error is of fourth order.
const STEP: f64 = 2e-3;

/// The averages, where the channel is smooth and its input is known well enough; else `None`.
pub(super) fn average(pair: &Pair<'_>) -> Option<[f64; COUNT]> {
    let [z, x] = &pair.at;
    let left_out = match pair.target {
        Some(_) => ((1.0 + x.a) / (z.a * z.a)).max(x.a * x.a / z.a.powi(3)),
        None => (1.0 + x.a) / z.a,
    };
    let known = z.a > 0.0 && x.a >= 0.0 && left_out < LEFT_OUT;
    if !(pair.bayes && known && pair.teacher.is_smooth()) {
        return None;
    }
    let map = |z: f64| pair.teacher.map(z).unwrap_or(f64::NAN);
    let slope = |z: f64| {
        let rise = |h: f64| map(z + h) - map(z - h);
        (8.0 * rise(STEP) - rise(2.0 * STEP)) / (12.0 * STEP)
    };
    let sample = &mut |z0: f64| {
        let (x0, s) = (map(z0), slope(z0));
        let exponent = z.tau0_hat * z0 * z0 + x.tau0_hat * x0 * x0;
        let weight = (-0.5 * exponent - pair.log_z0).exp();
        let p = x.a.mul_add(s * s, z.a);
        Sample::plain([weight, weight / p, weight * s * s / p, weight * x0 * x0])
    };
    let mut breaks = Breaks::new();
    breaks.component(0.0, pair.tau0[Z].sqrt());
    let [mass, v_z, v_x, x0] = integrate(sample, &breaks.sorted(), Effort::plain());
    let end = pair.target.unwrap_or(X);
    let v = if end == Z { v_z } else { v_x };
    let mut sums = [0.0; COUNT];
    (sums[MASS], sums[V], sums[Q]) = (mass, v, pair.tau0[end] - v);
    sums[POTENTIAL] = potential(pair, x0);
    Some(sums)
}

/// $E[X]$ over the tilts of the marked ends, or $E[A]$, given $E\,x_0^2$.
fn potential(pair: &Pair<'_>, x0: f64) -> f64 {
    let [z, x] = &pair.at;
    // of the tilts that are not left out
    let tilt = |end: usize| {
        let at = &pair.at[end];
        let square = at.m_hat.mul_add(pair.tau0[end], 1.0) * at.m_hat / at.a;
        0.5 * square + 0.5 * (std::f64::consts::TAU / at.a).ln()
    };
    let output = (x.m_hat - 0.5 * x.a) * x0;
    let mut value = output;
    if !(z.excess && pair.sharp[Z]) {
        value += tilt(Z);
    }
    if x.excess && pair.sharp[X] {
        value -= tilt(X);
    }
    value
}
