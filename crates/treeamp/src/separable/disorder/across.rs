//! The average over the noise across a piece of a channel, by the trapezoidal rule.

use std::f64::consts::PI;

use super::COUNT;
use super::tube::TOLERANCE;

/// First step across a piece, by which a Gaussian is integrated to $10^{-8}$, and exactly by half of it, and its number on either side.
const STEP: f64 = 1.0;
const POINTS: i32 = 9;
/// The poles that the ends of pieces make are no nearer than those of odds of this rate.
const ENDS: f64 = 2.5;
/// Terms that are nothing, relative.
const NOTHING: f64 = 1e-12;
/// A change that is far from convergence.
const HOPELESS: f64 = 1e-2;

/// $\int f$ over the noise across a piece by the trapezoidal rule; `None` if it does not converge in three steps.
///
/// A pole at the distance $d$ from the axis makes an error $c\,\epsilon$, $\epsilon = e^{-2\pi d/h}$, and halving the step squares $\epsilon$. The first change is
/// $c\,\epsilon$ and leaves $c\,\epsilon^2$: odds of rate $\rho$ have poles at $\pi/\rho$, and the ends of pieces at two or more. The second change tells $\epsilon$
/// itself. Further out than `quiet` nothing changes any more, and the rule ends where terms are nothing.
pub(super) fn trapezoid(
    f: &mut impl FnMut(f64) -> [f64; COUNT],
    floor: &[f64; COUNT],
    fastest: f64,
    quiet: f64,
) -> Option<[f64; COUNT]> {
    let (mut sum, mut size) = ([0.0; COUNT], [0.0; COUNT]);
    let mut add = |f: &mut dyn FnMut(f64) -> [f64; COUNT], n: f64| {
        let values = f(n);
        for k in 0..COUNT {
            sum[k] += values[k];
            size[k] += values[k].abs();
        }
        (sum, size)
    };
    let mut step = STEP;
    let (mut last, mut sizes) = add(f, 0.0);
    let mut reach = [0; 2];
    for (side, reach) in reach.iter_mut().enumerate() {
        while *reach < POINTS {
            let earlier = sizes;
            *reach += 1;
            let i = if side == 0 { -*reach } else { *reach };
            (last, sizes) = add(f, step * f64::from(i));
            let counts = |k: usize| sizes[k] - earlier[k] > NOTHING * sizes[k].max(floor[k] / step);
            if f64::from(*reach) > quiet && !(0..COUNT).any(|k| floor[k].is_finite() && counts(k)) {
                break;
            }
        }
    }
    let mut before = f64::NAN;
    for level in 0..2 {
        let [low, high] = reach.map(|i| i << level);
        let (mut fine, mut size) = ([0.0; COUNT], [0.0; COUNT]);
        for i in -low..high {
            (fine, size) = add(f, step * (f64::from(i) + 0.5));
        }
        let change = (0..COUNT).filter(|k| floor[*k].is_finite()).map(|k| {
            let gap = step * (0.5 * fine[k] - last[k]).abs();
            let scale = (0.5 * step * size[k]).max(floor[k]);
            if gap > 0.0 { gap / scale } else { 0.0 }
        });
        let change = change.fold(0.0, f64::max);
        step *= 0.5;
        let left = if level == 0 {
            change * (-2.0 * PI * PI / (STEP * (fastest + ENDS))).exp()
        } else {
            change * (change / before).powi(2)
        };
        if left <= TOLERANCE {
            return Some(fine.map(|x| step * x));
        }
        if !(change < HOPELESS) {
            return None;
        }
        (last, before) = (fine, change);
    }
    None
}
