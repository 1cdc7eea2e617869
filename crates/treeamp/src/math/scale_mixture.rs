//! Gaussian laws of random variance, $p(x) = \int \mathcal N(x; m, V)\, dP(V)$, tilted by $e^{-\frac12 a x^2 + b x}$.
//!
//! Given $V$ the tilted law is normal with mean $m + c g$ and variance $g = V/(1 + aV)$, $c = b - am$, and has mass
//! $(1 + aV)^{-1/2} e^{c^2 g/2}$. What is left is an integral over $y = \ln V$ or the like, of a smooth function that vanishes at both
//! ends: the trapezoidal rule converges exponentially. Masses fall like powers of $V$, so that most points would lie in the tails. With
//! $y = t + e^{t - t_1} - e^{t_0 - t}$ the rule is in $t$, and a tail of length $L$ takes $\ln L$ of it.

use super::mixture::Bump;

/// The weight of one variance, of mass $f e^{h}$ in units of the mixture's own choice.
#[derive(Debug, Clone, Copy)]
pub struct Weighed {
    /// $f$.
    pub factor: f64,
    /// $h$.
    pub exponent: f64,
    /// $g = V/(1 + aV)$.
    pub variance: f64,
    /// $1 - ag = 1/(1 + aV)$: what the mean keeps of the distance from $b/a$.
    pub kept: f64,
}

/// The part of the axis outside of which the log-mass falls on either side.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Where the fall to the left begins.
    pub low: f64,
    /// Where the fall to the right begins.
    pub high: f64,
    /// To the left it falls like an exponential of $-y$, and not like $y$: nothing is to be gained there.
    pub steep: bool,
}

/// Logarithms this far below the largest are nothing: masses of variances that are larger by as much count.
const NEGLIGIBLE: f64 = 76.0;
/// Points on either side: where there are more the axis has no end.
const POINTS: u32 = 100_000;

/// The integral so far.
struct Integral {
    /// The largest log-mass, the unit of masses.
    top: f64,
    sum: Bump<1>,
    kept: f64,
}

impl Integral {
    /// Adds a point of the rule; false if it is nothing.
    fn add(&mut self, point: Weighed, slope: f64, c: f64) -> bool {
        let log_mass = (point.factor * slope).ln() + point.exponent;
        if !(log_mass > self.top - NEGLIGIBLE) {
            return false;
        }
        if log_mass > self.top {
            self.sum.mass *= (self.top - log_mass).exp();
            self.top = log_mass;
        }
        let mass = (log_mass - self.top).exp();
        self.kept += (point.kept - self.kept) * (mass / (self.sum.mass + mass));
        self.sum.absorb(&Bump {
            mass,
            mean: [c * point.variance],
            variance: [point.variance],
        });
        true
    }
}

/// $\ln\int e^{\text{log mass}(y)}\,dy$ with mean and variance, by steps of `step` in $t$; means are $c g$, without $m$. The last is the mean
/// of $1/(1 + aV)$.
pub fn integrate(
    weight: impl Fn(f64) -> Weighed,
    c: f64,
    extent: Extent,
    step: f64,
) -> (f64, Bump<1>, f64) {
    let mut total = Integral {
        top: f64::NEG_INFINITY,
        sum: Bump::point([0.0], 0.0),
        kept: 0.0,
    };
    let (low, high) = (extent.low, extent.high);
    for (start, step) in [(0, step), (1, -step)] {
        // e^{t - t_1} and e^{t_0 - t}, from point to point
        let (grow, shrink) = (step.exp(), (-step).exp());
        let (mut up, mut down) = ((low - high).exp(), f64::from(u8::from(!extent.steep)));
        if start > 0 {
            (up, down) = (up * grow, down * shrink);
        }
        for i in start..POINTS {
            let t = step.mul_add(f64::from(i), low);
            let counts = total.add(weight(t + up - down), 1.0 + up + down, c);
            // inside anything may rise again
            if !counts && (t > high || t < low) {
                break;
            }
            (up, down) = (up * grow, down * shrink);
        }
    }
    let log_mass = total.top + (step * total.sum.mass).ln();
    (log_mass, total.sum, total.kept)
}
