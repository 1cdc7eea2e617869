//! The average over the noise across a piece of a channel, by the trapezoidal rule.

use std::f64::consts::PI;

use super::COUNT;
use super::tube::{REACH, TOLERANCE};

/// Terms that are nothing, relative.
const NOTHING: f64 = 1e-9;
/// Points on either side at most.
const POINTS: i32 = 60;

/// The variable $y$ in which the rule has equal steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// $n_0$.
    place: f64,
    /// $s$ in $n = n_0 + s\sinh y$; `None` for the noise itself, $n = y$.
    scale: Option<f64>,
    /// The first step.
    step: f64,
    /// How near poles are to the axis.
    pole: f64,
    /// What the first change leaves at least, for corners may make poles that are nearer.
    leaves: f64,
    /// A change that is far from convergence.
    hopeless: f64,
    /// The rule does not end before it is this far from the middle.
    least: f64,
}

impl Axis {
    /// The noise itself: a step of one integrates a Gaussian to $10^{-8}$, and half of it exactly. Odds of rate $\rho$ have poles at $\pi/\rho$;
    /// those that the ends of pieces make are no nearer than at a rate of 2.5.
    pub fn plain(fastest: f64) -> Self {
        Self {
            place: 0.0,
            scale: None,
            step: 1.0,
            pole: PI / (fastest + 2.5),
            leaves: 0.03,
            hopeless: 1e-2,
            least: 0.0,
        }
    }

    /// Around one change at $n_0$ of rate $\rho$, $n = n_0 + \frac5\rho\sinh y$: the poles of the odds move away from the axis, and the Gaussian stays
    /// bounded up to $|\mathrm{Im}\,y| = \pi/4$. Half of that is counted on, for there are the poles of other changes.
    pub fn around(place: f64, rate: f64) -> Self {
        Self {
            place,
            scale: Some(5.0 / rate),
            step: 0.5,
            pole: 0.38,
            leaves: 0.0,
            hopeless: 0.1,
            least: 1.5,
        }
    }

    /// The noise at $y$, and $dn/dy$.
    fn at(&self, y: f64) -> [f64; 2] {
        match self.scale {
            None => [y, 1.0],
            Some(s) => [s.mul_add(y.sinh(), self.place), s * y.cosh()],
        }
    }
}

/// The sums of a rule with equal steps.
struct Sums {
    values: [f64; COUNT],
    sizes: [f64; COUNT],
}

impl Sums {
    fn add(&mut self, axis: &Axis, f: &mut impl FnMut(f64) -> [f64; COUNT], y: f64) {
        let [n, stretch] = axis.at(y);
        if n.abs() > REACH + 0.5 {
            return;
        }
        for (k, value) in f(n).iter().enumerate() {
            self.values[k] += stretch * value;
            self.sizes[k] += stretch * value.abs();
        }
    }
}

/// $\int f$ over the noise across a piece by the trapezoidal rule; `None` if it does not converge in three steps.
///
/// A pole at the distance $d$ from the axis makes an error $c\,\epsilon$, $\epsilon = e^{-2\pi d/h}$, and halving the step squares $\epsilon$. The first change is
/// $c\,\epsilon$ and leaves $c\,\epsilon^2$; the second change tells $\epsilon$ itself. Further out than `quiet` nothing changes any more, and the
/// rule ends where terms are nothing.
pub(super) fn trapezoid(
    f: &mut impl FnMut(f64) -> [f64; COUNT],
    floor: &[f64; COUNT],
    axis: &Axis,
    quiet: f64,
) -> Option<[f64; COUNT]> {
    let mut sums = Sums {
        values: [0.0; COUNT],
        sizes: [0.0; COUNT],
    };
    let mut step = axis.step;
    let reach = first(&mut sums, f, floor, axis, quiet);
    let needed = |k: &usize| floor[*k].is_finite();
    let mut before = f64::NAN;
    for level in 0..2 {
        let last = sums.values;
        let [low, high] = reach.map(|i| i << level);
        for i in -low..high {
            sums.add(axis, f, step * (f64::from(i) + 0.5));
        }
        let change = (0..COUNT).filter(needed).map(|k| {
            let gap = step * (0.5 * sums.values[k] - last[k]).abs();
            let scale = (0.5 * step * sums.sizes[k]).max(floor[k]);
            if gap > 0.0 { gap / scale } else { 0.0 }
        });
        let change = change.fold(0.0, f64::max);
        let left = if level == 0 {
            change * (-2.0 * PI * axis.pole / step).exp().max(axis.leaves)
        } else {
            change * (change / before).powi(2)
        };
        step *= 0.5;
        if left <= TOLERANCE {
            return Some(sums.values.map(|x| step * x));
        }
        if !(change < axis.hopeless) {
            return None;
        }
        before = change;
    }
    None
}

/// The sums of the first step, and how many points they have below the middle and above.
fn first(
    sums: &mut Sums,
    f: &mut impl FnMut(f64) -> [f64; COUNT],
    floor: &[f64; COUNT],
    axis: &Axis,
    quiet: f64,
) -> [i32; 2] {
    sums.add(axis, f, 0.0);
    [-1, 1].map(|side| {
        for i in 1..=POINTS {
            let y = axis.step * f64::from(side * i);
            let earlier = sums.sizes;
            sums.add(axis, f, y);
            let counts = |k: usize| {
                let scale = sums.sizes[k].max(floor[k] / axis.step);
                floor[k].is_finite() && sums.sizes[k] - earlier[k] > NOTHING * scale
            };
            let n = axis.at(y)[0].abs();
            let far = n > quiet && y.abs() > axis.least;
            if n >= REACH || far && !(0..COUNT).any(counts) {
                return i;
            }
        }
        POINTS
    })
}
