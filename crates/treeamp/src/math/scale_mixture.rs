//! Gaussian laws of random variance, $p(x) = \int \mathcal N(x; m, V)\, dP(V)$, tilted by $e^{-\frac12 a x^2 + b x}$.
//!
//! Given $V$ the tilted law is normal with mean $m + c g$ and variance $g = V/(1 + aV)$, $c = b - am$, and has mass
//! $(1 + aV)^{-1/2} e^{c^2 g/2}$. What is left is an integral over $y = \ln V$ or the like, of a smooth function that vanishes at both
//! ends: the trapezoidal rule converges exponentially.

use super::mixture::Bump;

/// The weight of one variance.
#[derive(Debug, Clone, Copy)]
pub struct Weighed {
    /// Log of its mass in units of the mixture's own choice.
    pub log_mass: f64,
    /// $g = V/(1 + aV)$.
    pub variance: f64,
}

/// Logarithms this far below the largest are nothing.
const NEGLIGIBLE: f64 = 50.0;

/// $\ln\int e^{\text{log mass}(y)}\,dy$ with mean and variance, by steps of `step` from `low` to `high`; means are $c g$, without $m$.
///
/// `roughness` bounds how much the log-mass may rise between the points of a coarse grid, of sixteen steps; whatever is far below
/// its top there is left out.
pub fn integrate(
    weight: impl Fn(f64) -> Weighed,
    c: f64,
    (low, high): (f64, f64),
    step: f64,
    roughness: f64,
) -> (f64, Bump<1>) {
    let mut top = f64::NEG_INFINITY;
    let count = ((high - low) / step).ceil().max(1.0);
    let coarse = 16.0 * step;
    let cells = (count / 16.0).ceil();
    let mut cell = 0.0;
    // a range without an end has no integral
    let cells = if cells.is_finite() { cells } else { 0.0 };
    while cell <= cells {
        top = top.max(weight(coarse.mul_add(cell, low)).log_mass);
        cell += 1.0;
    }
    let mut sum = Bump::point([0.0], 0.0);
    let threshold = top - NEGLIGIBLE - roughness;
    let mut before = f64::NEG_INFINITY;
    cell = 0.0;
    while cell <= cells {
        let start = coarse.mul_add(cell, low);
        let after = weight(start + coarse).log_mass;
        let here = weight(start).log_mass;
        if before.max(here).max(after) > threshold {
            for i in 0..16 {
                let w = weight(step.mul_add(f64::from(i), start));
                sum.absorb(&Bump {
                    mass: (w.log_mass - top).exp() * step,
                    mean: [c * w.variance],
                    variance: [w.variance],
                });
            }
        }
        before = here;
        cell += 1.0;
    }
    (top + sum.mass.ln(), sum)
}
