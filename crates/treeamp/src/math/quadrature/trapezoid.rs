//! The trapezoidal rule over the line: sums with equal steps $h$.
//!
//! For an analytic function a pole at the distance $d$ from the axis makes an error $c\,\epsilon$, $\epsilon = e^{-2\pi d/h}$, and halving the step squares $\epsilon$.
//! The first change is $c\,\epsilon$ and leaves $c\,\epsilon^2$; the second change gives $\epsilon$ itself.

use std::f64::consts::PI;

/// Terms that are nothing, relative.
const NOTHING: f64 = 1e-9;
/// Points on either side at most.
const POINTS: i32 = 60;

/// The first step: it integrates a normal density to $10^{-8}$, and half of it exactly.
const STEP: f64 = 1.0;
/// Odds of rate $\rho$ have poles at $\pi/\rho$ from the axis; others are no nearer than at this rate.
const OTHERS: f64 = 2.5;
/// What the first change leaves at least, for corners may make poles that are nearer.
const LEAVES: f64 = 0.03;
/// A change that is far from convergence.
const HOPELESS: f64 = 1e-2;

/// How far and how well.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    /// Beyond this there is nothing.
    pub end: f64,
    /// Beyond this nothing changes any more: the rule ends where terms are nothing.
    pub quiet: f64,
    /// Relative error.
    pub tolerance: f64,
}

/// The sums of a rule with equal steps.
struct Sums<const K: usize> {
    values: [f64; K],
    sizes: [f64; K],
}

impl<const K: usize> Sums<K> {
    fn add(&mut self, end: f64, f: &mut impl FnMut(f64) -> [f64; K], x: f64) {
        if x.abs() > end + 0.5 {
            return;
        }
        for (k, value) in f(x).iter().enumerate() {
            self.values[k] += value;
            self.sizes[k] += value.abs();
        }
    }
}

/// $\int f$ for functions that fall like the normal density, with logistic steps of some rate at most; `None` if the rule does not converge in
/// three steps. A total below `floor` need not be known relative to itself; infinite for one that is not needed.
pub(crate) fn trapezoid<const K: usize>(
    f: &mut impl FnMut(f64) -> [f64; K],
    floor: &[f64; K],
    fastest: f64,
    reach: Reach,
) -> Option<[f64; K]> {
    let mut sums = Sums {
        values: [0.0; K],
        sizes: [0.0; K],
    };
    let (mut step, pole) = (STEP, PI / (fastest + OTHERS));
    let points = first(&mut sums, f, floor, reach);
    let needed = |k: &usize| floor[*k].is_finite();
    let mut before = f64::NAN;
    for level in 0..2 {
        let last = sums.values;
        let [low, high] = points.map(|i| i << level);
        for i in -low..high {
            sums.add(reach.end, f, step * (f64::from(i) + 0.5));
        }
        let change = (0..K).filter(needed).map(|k| {
            let gap = step * (0.5 * sums.values[k] - last[k]).abs();
            let scale = (0.5 * step * sums.sizes[k]).max(floor[k]);
            if gap > 0.0 { gap / scale } else { 0.0 }
        });
        let change = change.fold(0.0, f64::max);
        let left = if level == 0 {
            change * (-2.0 * PI * pole / step).exp().max(LEAVES)
        } else {
            change * (change / before).powi(2)
        };
        step *= 0.5;
        if left <= reach.tolerance {
            return Some(sums.values.map(|x| step * x));
        }
        if !(change < HOPELESS) {
            return None;
        }
        before = change;
    }
    None
}

/// The sums of the first step, and how many points they have below the middle and above.
fn first<const K: usize>(
    sums: &mut Sums<K>,
    f: &mut impl FnMut(f64) -> [f64; K],
    floor: &[f64; K],
    reach: Reach,
) -> [i32; 2] {
    sums.add(reach.end, f, 0.0);
    [-1, 1].map(|side| {
        for i in 1..=POINTS {
            let x = STEP * f64::from(side * i);
            let earlier = sums.sizes;
            sums.add(reach.end, f, x);
            let counts = |k: usize| {
                let scale = sums.sizes[k].max(floor[k] / STEP);
                floor[k].is_finite() && sums.sizes[k] - earlier[k] > NOTHING * scale
            };
            let far = x.abs() > reach.quiet;
            if x.abs() >= reach.end || far && !(0..K).any(counts) {
                return i;
            }
        }
        POINTS
    })
}

/// $\sum_i h f(x_0 + ih)$ over `half` points on either side and the middle.
pub(crate) fn equal_steps<const K: usize>(
    f: &mut impl FnMut(f64) -> [f64; K],
    centre: f64,
    step: f64,
    half: i32,
) -> [f64; K] {
    let mut sums = [0.0; K];
    for i in -half..=half {
        let values = f(step.mul_add(f64::from(i), centre));
        (0..K).for_each(|k| sums[k] += step * values[k]);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::integrate;
    use super::*;
    use crate::math::special::{normal_density, sigmoid};

    const REACH: Reach = Reach {
        end: 9.0,
        quiet: 9.0,
        tolerance: 1e-8,
    };

    /// A normal density times $1$, $x^2$ and a logistic step of a rate.
    fn step(place: f64, rate: f64) -> impl Fn(f64) -> [f64; 3] {
        move |x| [1.0, x * x, sigmoid(rate * (x - place))].map(|f| f * normal_density(x))
    }

    fn check(found: [f64; 3], f: &impl Fn(f64) -> [f64; 3], place: f64, word: &str) {
        let mut cuts = vec![-10.0, -3.0, 3.0, 10.0, place];
        cuts.sort_by(f64::total_cmp);
        let exact = integrate(f, &cuts, 1e-13);
        for k in 0..3 {
            assert!(
                (found[k] - exact[k]).abs() < 1e-8 * exact[k],
                "{word}: {found:?} {exact:?}"
            );
        }
    }

    #[test]
    fn smooth_functions_of_normal_noise() {
        for rate in [0.1, 1.0, 2.0] {
            let f = step(0.4, rate);
            let found = trapezoid(&mut |x| f(x), &[0.0; 3], rate, REACH);
            check(found.expect("it converges"), &f, 0.4, &rate.to_string());
        }
    }

    /// A sharp step fails, and is not passed off as converged.
    #[test]
    fn sharp_steps_are_refused() {
        for rate in [30.0, 300.0] {
            let f = step(0.4, rate);
            let plain = trapezoid(&mut |x| f(x), &[0.0; 3], rate, REACH);
            assert!(plain.is_none(), "{plain:?}");
        }
    }

    /// What is not needed does not keep the rule from ending.
    #[test]
    fn only_what_is_needed_counts() {
        let f = step(0.4, 300.0);
        let floor = [0.0, 0.0, f64::INFINITY];
        let found = trapezoid(&mut |x| f(x), &floor, 1.0, REACH).expect("it converges");
        assert!((found[0] - 1.0).abs() < 1e-8 && (found[1] - 1.0).abs() < 1e-8);
    }

    #[test]
    fn equal_steps_are_exact_for_a_normal_law() {
        let density = &mut |x: f64| [normal_density(x - 0.7), x * normal_density(x - 0.7)];
        let [mass, mean] = equal_steps(density, 0.7, 0.6, 15);
        assert!((mass - 1.0).abs() < 1e-15 && (mean - 0.7).abs() < 1e-15);
    }
}
