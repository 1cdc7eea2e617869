//! Weights $e^{\varphi(z) - \frac12 a z^2 + b z}$ of a concave $\varphi$: their top, and quadrature about it.
//!
//! About the top $z_*$ the exponent is $h(t) = [\varphi(z_* + t) - \varphi(z_*) - t\varphi'(z_*)] - \tfrac12 a t^2 + st$, where the slope
//! $s = b - az_* + \varphi'(z_*)$ is zero up to rounding. No term of it is a difference of large numbers if $\varphi$ states the bracket
//! directly. Panels of Gauss-Legendre points are halved until the last Legendre coefficients of the weight are small.

use super::mixture::{height, or_overflow};
use super::quadrature::rule16;
use super::special::HALF_LN_2PI;
use crate::scalar::Tilted;

/// A concave function $\varphi$ on the line.
pub trait Concave {
    /// $\varphi(z)$.
    fn value(&self, z: f64) -> f64;

    /// $\varphi'(z)$ and $\varphi''(z)$.
    fn slope(&self, z: f64) -> (f64, f64);

    /// $t \mapsto \varphi(z + t) - \varphi(z) - t\varphi'(z)$.
    fn bend(&self, z: f64) -> impl Fn(f64) -> f64;

    /// The limits of $\varphi'$ at $+\infty$ and $-\infty$, in this order.
    fn slopes(&self) -> (f64, f64);

    /// A place near the top under a tilt of precision $a \ge 0$; of any accuracy.
    fn start(&self, a: f64, b: f64) -> f64;
}

/// The top of a tilted weight.
#[derive(Debug, Clone, Copy)]
pub struct Top {
    /// $z_*$.
    pub place: f64,
    /// $\varphi'(z_*)$.
    pub slope: f64,
    /// $a - \varphi''(z_*)$.
    pub curvature: f64,
    /// $b - az_* + \varphi'(z_*)$, the rounding of zero.
    rest: f64,
}

/// Steps of Newton's method; bisection alone needs some hundred.
const STEPS: usize = 200;
/// A step of this many deviations leaves an error of its square.
const CLOSE: f64 = 1e-8;

/// The place where the tilted weight is largest; `None` if it has no finite integral.
pub fn top(phi: &impl Concave, a: f64, b: f64) -> Option<Top> {
    top_from(|z| phi.slope(z), phi.slopes(), || phi.start(a, b), a, b)
}

/// The same from $\varphi'$ and $\varphi''$, the limits of $\varphi'$ at $+\infty$ and $-\infty$, and a place to start from.
fn top_from(
    phi: impl Fn(f64) -> (f64, f64),
    (least, most): (f64, f64),
    start: impl Fn() -> f64,
    a: f64,
    b: f64,
) -> Option<Top> {
    // at a = 0 the exponent must fall on both sides
    if !(a > 0.0 || (a == 0.0 && least + b < 0.0 && most + b > 0.0)) || !b.is_finite() {
        return None;
    }
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    if a > 0.0 {
        (low, high) = ((b + least) / a, (b + most) / a);
    }
    let mut z = start().max(low).min(high);
    let mut width = f64::INFINITY;
    for i in 0..STEPS {
        let (slope, bend) = phi(z);
        let rest = (-a).mul_add(z, b) + slope;
        let curvature = a - bend;
        if rest > 0.0 {
            low = low.max(z);
        } else {
            high = high.min(z);
        }
        let step = rest / curvature;
        let next = z + step;
        // closer than that only rounding decides
        let rounding = 4.0 * f64::EPSILON * z.abs();
        let found = step * step * curvature < CLOSE * CLOSE
            || step.abs() <= rounding
            || high - low <= rounding;
        if found && step.is_finite() {
            let place = next.max(low).min(high);
            let (slope, bend) = phi(place);
            let top = Top {
                place,
                slope,
                curvature: a - bend,
                rest: (-a).mul_add(place, b) + slope,
            };
            return (top.place.is_finite() && top.curvature.is_finite()).then_some(top);
        }
        // Newton's method may go to and fro between two places: the bracket must shrink
        let gap = high - low;
        let stuck = i % 4 == 3 && gap.is_finite() && gap >= 0.5 * width;
        if i % 4 == 3 {
            width = gap;
        }
        z = if next > low && next < high && !stuck {
            next
        } else if low.is_finite() && high.is_finite() {
            0.5 * (low + high)
        } else if high.is_finite() {
            high - 2.0 * high.abs().max(1.0)
        } else if low.is_finite() {
            low + 2.0 * low.abs().max(1.0)
        } else {
            return None;
        };
    }
    None
}

/// Mass, mean and variance of a weight about its top.
pub struct Moments {
    /// In units of the weight at the top.
    pub mass: f64,
    /// Of the distance from the top.
    pub mean: f64,
    /// The variance.
    pub variance: f64,
}

/// Fall of the exponent beyond which nothing is left: a mass of $e^{-41}$.
const DEPTH: f64 = 41.0;
/// A fall of the exponent behind which an edge that no node sees has next to no mass: $e^{-20}$.
const SEEN: f64 = 20.0;
/// Last Legendre coefficients of a resolved panel, in units of the mean weight. The error of the integral is of the order of their square.
const RESOLVED: f64 = 1e-11;
/// Panels waiting to be halved.
const STACK: usize = 256;
/// Panels in all: where rounding leaves none resolved.
const PANELS: usize = 600;

/// A distance at which the exponent has fallen by [`DEPTH`] to twice that.
fn reach(h: &impl Fn(f64) -> f64, side: f64, guess: f64) -> f64 {
    let (mut near, mut far, mut t) = (0.0, f64::INFINITY, guess);
    for _ in 0..STEPS {
        let fall = -h(side * t);
        if fall < DEPTH {
            near = t;
        } else if fall <= 2.0 * DEPTH {
            break;
        } else {
            // also where it is not a number
            far = t;
        }
        t = if far < f64::INFINITY {
            0.5 * (near + far)
        } else {
            2.0 * t
        };
    }
    t
}

/// $\int e^{h(t)} dt$ of an exponent with one top, at zero, with the moments of $d(t)$.
pub fn moments(h: &impl Fn(f64) -> f64, curvature: f64, d: impl Fn(f64) -> f64) -> Moments {
    let deviation = 1.0 / curvature.sqrt();
    let guess = (2.0 * DEPTH).sqrt() * deviation;
    let (left, right) = (reach(h, -1.0, guess), reach(h, 1.0, guess));
    // of a concave exponent the mass is at least that
    let unit = ((left + right) / (2.0 * DEPTH)).min(deviation);
    let rule = rule16();
    let (mut todo, mut waiting) = ([(0.0, 0.0); STACK], 0);
    for (side, reach) in [(-1.0, left), (1.0, right)] {
        // an edge behind which nothing is left may be next to the end, past the last node: panels halve towards it, until one sees the fall
        let (mut near, mut far) = (0.5 * reach, reach);
        while -h(side * near) < SEEN && waiting < STACK / 2 {
            let middle = 0.5 * (near + reach);
            todo[waiting] = if side < 0.0 {
                (-middle, -near)
            } else {
                (near, middle)
            };
            waiting += 1;
            near = middle;
        }
        if near > 0.5 * reach {
            todo[waiting] = if side < 0.0 {
                (-reach, -near)
            } else {
                (near, reach)
            };
            waiting += 1;
            far = 0.5 * reach;
        }
        // panels that halve towards the top, however narrow it is
        for i in 0..STACK / 4 {
            let last = far <= 2.5 * deviation && i > 2;
            let near = if last { 0.0 } else { 0.5 * far };
            todo[waiting] = if side < 0.0 {
                (-far, -near)
            } else {
                (near, far)
            };
            waiting += 1;
            if last {
                break;
            }
            far = near;
        }
    }
    let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
    let mut panels = 0;
    while waiting > 0 {
        waiting -= 1;
        panels += 1;
        let (lo, hi) = todo[waiting];
        let width = hi - lo;
        let weights: [f64; 16] = std::array::from_fn(|i| h(width.mul_add(rule.nodes[i], lo)).exp());
        let done = rule.tail_size(&weights) * width <= RESOLVED * unit;
        if done || panels + waiting > PANELS || waiting + 2 > STACK {
            for i in 0..16 {
                let t = d(width.mul_add(rule.nodes[i], lo));
                let w = width * rule.weights[i] * weights[i];
                mass += w;
                first += w * t;
                second += w * t * t;
            }
        } else {
            let middle = 0.5 * (lo + hi);
            todo[waiting] = (lo, middle);
            todo[waiting + 1] = (middle, hi);
            waiting += 2;
        }
    }
    let mean = first / mass;
    // the mean of a log-concave law is within √3 deviations of its top: nothing is lost
    let variance = second / mass - mean * mean;
    Moments {
        mass,
        mean,
        variance,
    }
}

/// The top and the integral about it; `None` where that diverges.
fn integral(phi: &impl Concave, a: f64, b: f64) -> Option<(Top, Moments)> {
    let top = top(phi, a, b)?;
    let bend = phi.bend(top.place);
    let h = |t: f64| bend(t) + t * (-0.5 * a).mul_add(t, top.rest);
    let sums = moments(&h, top.curvature, |t| t);
    (sums.mass > 0.0 && sums.variance > 0.0 && sums.variance.is_finite()).then_some((top, sums))
}

/// $A$, $r$ and $v$.
pub fn tilted(phi: &impl Concave, a: f64, b: f64) -> Tilted {
    tilted_with_excess(phi, a, b).0
}

/// $A - \tfrac{b^2}{2a} - \tfrac12\ln\tfrac{2\pi}a$ for $a > 0$: the top is $\varphi'(z_*)/a$ away from $b/a$.
pub fn excess(phi: &impl Concave, a: f64, b: f64) -> f64 {
    tilted_with_excess(phi, a, b).1
}

/// Both from one integral.
pub fn tilted_with_excess(phi: &impl Concave, a: f64, b: f64) -> (Tilted, f64) {
    let Some((top, sums)) = integral(phi, a, b) else {
        return (Tilted::divergent(0.0), f64::INFINITY);
    };
    let (value, log_mass) = (phi.value(top.place), sums.mass.ln());
    let t = Tilted {
        log_z: or_overflow(value + height(a, b, top.place) + log_mass),
        mean: top.place + sums.mean,
        variance: sums.variance,
    };
    let away = top.slope - top.rest;
    let excess = value - 0.5 * away * (away / a) + 0.5 * a.ln() - HALF_LN_2PI + log_mass;
    (t, excess)
}

/// The top and its derivative in $b$; without one, some place and an infinite derivative.
pub fn mode(phi: &impl Concave, a: f64, b: f64) -> (f64, f64) {
    mode_at(top(phi, a, b))
}

/// The same from slopes alone, as [`top_from`] takes them.
pub fn mode_from(
    phi: impl Fn(f64) -> (f64, f64),
    slopes: (f64, f64),
    start: f64,
    a: f64,
    b: f64,
) -> (f64, f64) {
    mode_at(top_from(phi, slopes, || start, a, b))
}

fn mode_at(top: Option<Top>) -> (f64, f64) {
    top.map_or((0.0, f64::INFINITY), |top| (top.place, 1.0 / top.curvature))
}
