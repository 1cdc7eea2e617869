//! The average of a smooth student over a smooth teacher's signal and the noise of both fields, however sharp these are.
//!
//! Given the signal $z_0, x_0 = \varphi_0(z_0)$ the fields are independent, $b_i = \hat m_ix_{0,i} + \sqrt{\hat q_i}\,\xi_i$, and nothing is asked of the teacher's law. However sharp the
//! fields, a smooth student changes on the scale of the noise: sums over a lattice of step $h$ leave $\epsilon = e^{-2\pi d/h}$ with the distance $d$ of
//! the nearest poles. Two lattices, shifted by half a step in both directions, differ by $2\epsilon$; their mean is off by no more, and by $\epsilon^{\sqrt2}$ for a smooth student.

use super::breaks::Breaks;
use super::channel::{Pair, X, Z};
use super::piece::Slice;
use super::{COUNT, Field, SINGLE};
use crate::math::quadrature::panels::{Effort, Sample, integrate};
use crate::math::special::normal_density;

/// First step, in units of the noise.
const STEP: f64 = 0.9;
/// Times that the step is halved: a student that still is not smooth is not smooth within the noise.
const HALVINGS: u32 = 1;
/// Standard deviations of the noise beyond which there is nothing: $10^{-11}$.
const REACH: f64 = 7.0;
/// Relative difference of the two lattices whose power is negligible.
const CLOSE: f64 = 2e-8;
/// Relative error of the average over the signal: tables of the student's law are worth little more.
const TOLERANCE: f64 = 1e-8;
/// Exponent of signals that are too rare to count.
const RARE: f64 = -27.0;

/// The averages, where student and teacher are smooth; `None` as well if the student is not smooth within the noise.
pub(super) fn average(pair: &Pair<'_>) -> Option<[f64; COUNT]> {
    let smooth = pair.student.is_smooth() && pair.teacher.is_smooth();
    if !smooth || pair.at.iter().any(Field::is_silent) {
        return None;
    }
    let mut breaks = Breaks::nested();
    breaks.component(0.0, pair.tau0[Z].sqrt());
    if pair.symmetric {
        breaks.clip(0.0, f64::INFINITY);
    }
    let breaks = breaks.sorted();
    // what counts, from one lattice and no refinement
    let once = &mut |z0: f64| {
        let values = signal_at(pair, z0).map(|signal| lattice(pair, &signal, STEP, 0.0).0);
        Sample::plain(values.unwrap_or([0.0; COUNT]))
    };
    let unrefined = Effort {
        floor: [f64::INFINITY; COUNT],
        ..Effort::plain(SINGLE)
    };
    let rough = integrate(once, &breaks, unrefined);
    let needed = pair.floor();
    let scale = std::array::from_fn(|k| needed[k].max(rough[k].abs()));
    let mut all_smooth = true;
    let sample = &mut |z0: f64| {
        let signal = signal_at(pair, z0).filter(|_| all_smooth);
        let values = signal.map(|signal| over_noise(pair, &signal, &scale));
        let values = values.unwrap_or(Some([0.0; COUNT]));
        all_smooth &= values.is_some();
        Sample::plain(values.unwrap_or([0.0; COUNT]))
    };
    let effort = Effort {
        floor: needed,
        tolerance: TOLERANCE,
        ..Effort::plain(SINGLE)
    };
    let sums = integrate(sample, &breaks, effort);
    let both = if pair.symmetric { 2.0 } else { 1.0 };
    all_smooth.then(|| sums.map(|x| both * x))
}

/// A signal of the teacher and its density; `None` if it is too rare.
fn signal_at(pair: &Pair<'_>, z0: f64) -> Option<Slice> {
    let x0 = pair.teacher.map(z0)?;
    let [z, x] = &pair.at;
    let exponent = -0.5 * (z.tau0_hat * z0).mul_add(z0, x.tau0_hat * x0 * x0);
    (exponent > RARE).then(|| Slice {
        density: (exponent - pair.log_z0).exp(),
        mean: [z0, x0],
        variance: [0.0; 2],
    })
}

/// The average over both noises at one signal; `None` if it is not smooth.
fn over_noise(pair: &Pair<'_>, signal: &Slice, total: &[f64; COUNT]) -> Option<[f64; COUNT]> {
    let mut step = STEP;
    for _ in 0..=HALVINGS {
        let (one, size) = lattice(pair, signal, step, 0.0);
        let (two, _) = lattice(pair, signal, step, 0.5);
        let differ = |k: usize| {
            let scale = size[k].max(total[k]);
            scale.is_finite() && !((one[k] - two[k]).abs() <= CLOSE * scale)
        };
        if !(0..COUNT).any(differ) {
            return Some(std::array::from_fn(|k| 0.5 * (one[k] + two[k])));
        }
        step *= 0.5;
    }
    None
}

/// Sums over one lattice, of the averages and of their absolute values.
#[allow(clippy::cast_possible_truncation)] // a few dozen
fn lattice(pair: &Pair<'_>, signal: &Slice, step: f64, shift: f64) -> ([f64; COUNT], [f64; COUNT]) {
    let (mut sum, mut size) = ([0.0; COUNT], [0.0; COUNT]);
    let half = (REACH / step).ceil() as i32;
    let place = |i: i32| step * (f64::from(i) + shift);
    let field = |end: usize, noise: f64| {
        let at = &pair.at[end];
        at.m_hat.mul_add(signal.mean[end], at.q_hat.sqrt() * noise)
    };
    for i in -half..=half {
        for j in -half..=half {
            let (u, w) = (place(i), place(j));
            if u.hypot(w) > REACH {
                continue;
            }
            let weight = signal.density * step * step * normal_density(u) * normal_density(w);
            let values = pair.given([field(Z, u), field(X, w)], signal, weight);
            for k in 0..COUNT {
                sum[k] += values[k];
                size[k] += values[k].abs();
            }
        }
    }
    (sum, size)
}
