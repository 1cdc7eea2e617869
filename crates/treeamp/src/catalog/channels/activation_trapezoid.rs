//! The integral of an activation that is analytic near the real axis, by the trapezoidal rule.
//!
//! The weight is $e^{-u_z(z) - u_x(\varphi(z))}$ up to a constant, with $u_z = \tfrac12 a_z(z - c)^2$ about $c = b_z/a_z$ and
//! $u_x = (x - d)[\tfrac12 a_x(x + d) - b_x] \ge 0$ about the value $d$ that the belief in $x$ prefers among those of $\varphi$. Let $l$ be the sum
//! of both at $z = c$ or $\varphi(z) = d$, whichever is less: where either exceeds $l + n$ the weight is less than $e^{-n}$ times its largest value, and the
//! interval that is left follows from $\varphi^{-1}$. There the rule converges exponentially, so that halving the step squares the error. The
//! sums over even and over odd points are two rules of twice the step: where they agree to [`AGREEMENT`] the sum of both is right to
//! its square. All else is left to the adaptive integral, above all saturated outputs, whose differences would cancel.

#![allow(clippy::inline_always)] // into a loop that compiles to vector instructions

use super::Activation;
use super::activation::Analytic;
use crate::math::mixture::{Bump, height, or_overflow};
use crate::math::vector::{exp, widest};
use crate::scalar::{Tilt, TiltedPair};

/// Weights below $e^{-n}$ of the largest are left out.
const NEGLIGIBLE: f64 = 50.0;
/// The step in units of the narrowest width, $(a_z + a_x \max\varphi'^2)^{-1/2}$. A longer one has fewer points and is halved more often; what
/// is answered stays the same.
const STEP: f64 = 0.4;
/// The step in units of the distance of the singularities of $\varphi$ from the real axis.
const STRIP: f64 = 0.12;
/// Points at most; 40 to 150 are usual.
const MAX_POINTS: usize = 512;
/// Steps that are tried: each half of the one before.
const STEPS: usize = 3;
/// How well the two halves of the points must agree, relative.
const AGREEMENT: f64 = 1e-6;
/// Variances below this fraction of the square are left to differences that do not cancel.
const CANCELLED: f64 = 1e-12;
/// What is left out of the variance of the output is less than this fraction of it.
const LEFT_OUT: f64 = 1e-10;

/// The interval outside of which the weight is negligible.
fn interval(law: &Activation, z: Tilt, x: Tilt) -> Option<(f64, f64)> {
    let centre = z.b / z.a;
    let around = |reach: f64| (centre - reach, centre + reach);
    if x.a == 0.0 && x.b == 0.0 {
        return Some(around((2.0 * NEGLIGIBLE / z.a).sqrt()));
    }
    let inverse = law.inverse.as_ref()?;
    let (low, high) = law.range;
    let best = (x.b / x.a).clamp(low, high);
    let value = law.value(centre);
    let mut least = (value - best) * (0.5 * x.a).mul_add(value + best, -x.b);
    let inside = |x: f64| x > low && x < high;
    if inside(best) {
        let off = inverse(best).0 - centre;
        least = least.min(0.5 * z.a * off * off);
    }
    let depth = NEGLIGIBLE + least;
    let (from, to) = around((2.0 * depth / z.a).sqrt());
    // the root of a p^2 / 2 + |g| p = depth
    let slope = x.a.mul_add(best, -x.b).abs();
    let reach = 2.0 * depth / (slope + (slope * slope + 2.0 * x.a * depth).sqrt());
    let bound = |x: f64, otherwise: f64| if inside(x) { inverse(x).0 } else { otherwise };
    let from = from.max(bound(best - reach, f64::NEG_INFINITY));
    let to = to.min(bound(best + reach, f64::INFINITY));
    (from < to).then_some((from, to))
}

/// The points and their weights: $z_i$ from the first on, $\varphi(z_i)$, $e^{-u}$.
struct Points {
    count: usize,
    first: f64,
    step: f64,
    /// The point of the largest weight.
    top: (f64, f64),
    images: [f64; MAX_POINTS],
    weights: [f64; MAX_POINTS],
}

impl Points {
    /// `None` where they would be too many.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn new(
        analytic: Analytic,
        (z, x): (Tilt, Tilt),
        (first, last): (f64, f64),
        step: f64,
    ) -> Option<Self> {
        let count = ((last - first) / step).ceil() + 1.0;
        if !(count <= MAX_POINTS as f64) {
            return None;
        }
        let mut points = Self {
            count: count as usize,
            first,
            step,
            top: (0.0, 0.0),
            images: [0.0; MAX_POINTS],
            weights: [0.0; MAX_POINTS],
        };
        let images = &mut points.images[..points.count];
        for (i, image) in images.iter_mut().enumerate() {
            *image = (i as f64).mul_add(step, first);
        }
        (analytic.images)(images);
        points.weigh(z, x);
        Some(points)
    }

    /// $e^{-u}$ at every point, 1 at the top.
    fn weigh(&mut self, z: Tilt, x: Tilt) {
        self.top = (self.at(0), self.images[0]);
        for i in 1..self.count {
            if self.rise(z, x, i) > 0.0 {
                self.top = (self.at(i), self.images[i]);
            }
        }
        widest(
            #[inline(always)]
            || {
                for i in 0..self.count {
                    self.weights[i] = exp(self.rise(z, x, i));
                }
            },
        );
    }

    #[inline(always)]
    fn at(&self, i: usize) -> f64 {
        (i as f64).mul_add(self.step, self.first)
    }

    /// How much higher the exponent is at a point than at the top, as products.
    #[inline(always)]
    fn rise(&self, z: Tilt, x: Tilt, i: usize) -> f64 {
        let (at, image) = (self.at(i), self.images[i]);
        let in_z = (at - self.top.0) * (-0.5 * z.a).mul_add(at + self.top.0, z.b);
        let in_x = (image - self.top.1) * (-0.5 * x.a).mul_add(image + self.top.1, x.b);
        in_z + in_x
    }

    /// $\sum_i w_i (1, t, d, t^2, d^2)$ with $t = z_i - z_0$, $d = x_i - x_0$ from the top, over even and over odd points.
    fn sums(&self) -> [[f64; 5]; 2] {
        let mut sums = [[0.0; 5]; 2];
        for i in 0..self.count {
            let (w, t, d) = (
                self.weights[i],
                self.at(i) - self.top.0,
                self.images[i] - self.top.1,
            );
            let terms = [w, w * t, w * d, w * t * t, w * d * d];
            for (sum, term) in sums[i % 2].iter_mut().zip(terms) {
                *sum += term;
            }
        }
        sums
    }
}

/// The joint log-partition and moments; `None` where this rule does not suffice.
pub(super) fn trapezoidal(law: &Activation, z: Tilt, x: Tilt) -> Option<TiltedPair> {
    let analytic = law.analytic?;
    if !(z.a > 0.0 && x.a >= 0.0) {
        return None;
    }
    let (first, last) = interval(law, z, x)?;
    // the slope of the named activations is largest at zero, or at the right end
    let slope = |z: f64| (law.difference)(z, 1e-3) / 1e-3;
    let steepest = slope(0.0_f64.clamp(first, last)).max(slope(last));
    let narrow = (x.a * steepest).mul_add(steepest, z.a).sqrt();
    let mut step = (STEP / narrow).min(STRIP * analytic.strip);
    for _ in 0..STEPS {
        let points = Points::new(analytic, (z, x), (first, last), step)?;
        if let Some(sums) = points.moments() {
            return points.pair(law, (z, x), sums);
        }
        step *= 0.5;
    }
    None
}

impl Points {
    /// Mass, means from the top, and variances; `None` where the two halves of the points do not agree. The top is no more than a few deviations
    /// from the mean, so that differences of squares keep their digits.
    fn moments(&self) -> Option<Bump<2>> {
        let [even, odd] = self.sums();
        let agreed = |k: usize| {
            let sum = even[k] + odd[k];
            ((even[k] - odd[k]).abs() <= AGREEMENT * sum).then_some(sum)
        };
        let (mass, square_z, square_x) = (agreed(0)?, agreed(3)?, agreed(4)?);
        let (z, x) = ((even[1] + odd[1]) / mass, (even[2] + odd[2]) / mass);
        Some(Bump {
            mass,
            mean: [z, x],
            variance: [square_z / mass - z * z, square_x / mass - x * x],
        })
    }

    /// `None` where digits were lost, or where what was left out may count.
    fn pair(&self, law: &Activation, (z, x): (Tilt, Tilt), sums: Bump<2>) -> Option<TiltedPair> {
        let (top_z, top_x) = self.top;
        let [variance_z, variance_x] = sums.variance;
        let farthest = (law.range.1 - law.range.0).min(self.count as f64 * self.step);
        let left_out = (-NEGLIGIBLE).exp() * farthest * farthest;
        let unit = law.analytic?.unit;
        let enough = variance_z > CANCELLED * top_z * top_z
            && variance_x > CANCELLED * (top_x * top_x).max(unit)
            && left_out < LEFT_OUT * variance_x;
        let tops = height(z.a, z.b, top_z) + height(x.a, x.b, top_x);
        enough.then(|| TiltedPair {
            log_z: or_overflow(tops + (sums.mass * self.step).ln()),
            mean_z: top_z + sums.mean[0],
            variance_z,
            mean_x: top_x + sums.mean[1],
            variance_x,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::activation_integral::{ActivationIntegral, Function};
    use super::*;

    /// The adaptive integral alone.
    fn adaptive(law: &Activation, z: Tilt, x: Tilt) -> TiltedPair {
        let function = Function {
            value: &|z| law.value(z),
            difference: &*law.difference,
        };
        ActivationIntegral::new(function, z, x).evaluate().unwrap()
    }

    /// Both ways agree to 1e-9 wherever this one answers: at all precisions and fields, where the two beliefs contradict each other, and where the
    /// posterior has two peaks. Of usual beliefs it answers nearly all.
    #[test]
    fn both_rules_agree() {
        let (mut usual, mut answered) = (0, 0);
        for law in [
            Activation::tanh(),
            Activation::sigmoid(),
            Activation::softplus(),
        ] {
            for (i, a_z) in [1e-6, 0.01, 0.3, 1.0, 4.0, 100.0, 1e6]
                .into_iter()
                .enumerate()
            {
                for (j, a_x) in [0.0, 1e-6, 0.1, 1.0, 10.0, 300.0, 1e6]
                    .into_iter()
                    .enumerate()
                {
                    for k in 0..9 {
                        let mean = [-8.0, -3.0, -1.0, -0.2, 0.0, 0.4, 1.5, 3.0, 9.0][k];
                        let target =
                            [-1.5, -0.5, 0.05, 0.3, 0.5, 0.8, 0.99, 1.2, 2.0][(4 * k + i + j) % 9];
                        let (z, x) = (
                            Tilt {
                                a: a_z,
                                b: a_z * mean,
                            },
                            Tilt {
                                a: a_x,
                                b: a_x * target,
                            },
                        );
                        let is_usual = (0.3..=100.0).contains(&a_z)
                            && (0.1..=300.0).contains(&a_x)
                            && mean.abs() <= 3.0;
                        usual += usize::from(is_usual);
                        let Some(quick) = trapezoidal(&law, z, x) else {
                            continue;
                        };
                        answered += usize::from(is_usual);
                        let slow = adaptive(&law, z, x);
                        let near = |x: f64, y: f64| (x - y).abs() <= 1e-9 * y.abs();
                        let (sd_z, sd_x) = (slow.variance_z.sqrt(), slow.variance_x.sqrt());
                        assert!(
                            (quick.mean_z - slow.mean_z).abs() <= 1e-9 * (sd_z + slow.mean_z.abs())
                                && (quick.mean_x - slow.mean_x).abs()
                                    <= 1e-9 * (sd_x + slow.mean_x.abs())
                                && near(quick.variance_z, slow.variance_z)
                                && near(quick.variance_x, slow.variance_x)
                                && (quick.log_z - slow.log_z).abs()
                                    <= 1e-9 * slow.log_z.abs().max(1.0),
                            "{law:?} {z:?} {x:?}: {quick:?} {slow:?}"
                        );
                    }
                }
            }
        }
        assert!(answered * 100 >= usual * 95, "{answered} of {usual}");
    }
}
