//! Outputs that see $w = z + \sqrt\Delta\,\xi$ and not $z$ itself.
//!
//! $\int\mathcal N(w; z, \Delta)\,e^{-\frac12 a z^2 + bz}dz = (1 + a\Delta)^{-1/2}\,e^{\Delta b^2/2(1 + a\Delta)}\,e^{-\frac12 a' w^2 + b' w}$ with $a' = a/(1 + a\Delta)$ and
//! $b' = b/(1 + a\Delta)$. Given $w$, $z$ has the mean $(w + \Delta b)/(1 + a\Delta)$ and the variance $\Delta/(1 + a\Delta)$ per real component.

use crate::math::log_concave::mode_from;
use crate::math::mixture::{Bump, height, log_normal, or_overflow};
use crate::math::special::normal_density;
use crate::math::truncated_normal::truncated;
use crate::scalar::{Elem, Tilted};

/// Noise of variance $\Delta$ per real component between an input and what an output sees of it, under the tilt $a, b$ of the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise<E = f64> {
    /// $a'$.
    pub a: f64,
    /// $b'$.
    pub b: E,
    /// $1/(1 + a\Delta)$.
    gain: f64,
    /// $\Delta b/(1 + a\Delta)$.
    shift: E,
    /// $\Delta/(1 + a\Delta)$.
    spread: f64,
    /// $\Delta b^2/2(1 + a\Delta) - \tfrac12\ln(1 + a\Delta)$, the last term once per real component.
    log_mass: f64,
}

impl<E: Elem> Noise<E> {
    /// `None` where the integral over the noise diverges.
    pub fn at(variance: f64, a: f64, b: E) -> Option<Self> {
        let width = a.mul_add(variance, 1.0);
        if !(width > 0.0) {
            return None;
        }
        let gain = 1.0 / width;
        let spread = variance * gain;
        let log_mass = 0.5 * b.dot(b.scale(spread)) - 0.5 * E::REAL_LEN as f64 * width.ln();
        Some(Self {
            a: a * gain,
            b: b.scale(gain),
            gain,
            shift: b.scale(spread),
            spread,
            log_mass,
        })
    }

    /// The moments of the input from those of what is seen.
    pub fn lifted(&self, seen: Tilted<E>) -> Tilted<E> {
        Tilted {
            log_z: or_overflow(self.log_mass + seen.log_z),
            mean: seen.mean.scale(self.gain).minus(self.shift.scale(-1.0)),
            variance: (self.gain * seen.variance).mul_add(self.gain, self.spread),
        }
    }
}

impl Noise {
    /// The same of a mixture.
    pub fn tilted(&self, log_z: f64, seen: &Bump<1>) -> Tilted {
        self.lifted(Tilted {
            log_z,
            mean: seen.mean[0],
            variance: seen.variance[0],
        })
    }
}

/// What is seen is in an interval.
pub(super) fn interval(noise: Noise, lo: f64, hi: f64) -> Tilted {
    let Some(t) = truncated(noise.a, noise.b, lo, hi) else {
        return Tilted::divergent(0.0_f64.max(lo).min(hi));
    };
    let log_z = height(noise.a, noise.b, t.anchor) + t.mass.ln();
    noise.tilted(log_z, &t.bump())
}

/// The log-probability that what is seen is in an interval, for $a > 0$: $w$ is normal about $b/a$.
pub(super) fn interval_excess(noise: Noise, lo: f64, hi: f64) -> f64 {
    truncated(noise.a, noise.b, lo, hi).map_or(f64::INFINITY, |t| {
        log_normal(t.anchor, noise.a, noise.b) + t.mass.ln()
    })
}

/// $\ln P(\text{lo} < z + \sqrt\Delta\,\xi < \text{hi})$.
pub(super) fn log_probability(z: f64, variance: f64, lo: f64, hi: f64) -> f64 {
    if variance <= 0.0 {
        return if lo < z && z <= hi {
            0.0
        } else {
            f64::NEG_INFINITY
        };
    }
    let a = 1.0 / variance;
    truncated(a, z * a, lo, hi).map_or(f64::NEG_INFINITY, |t| {
        log_normal(t.anchor, a, z * a) + t.mass.ln()
    })
}

/// The mode of $\ln P(\text{lo} < z + \sqrt\Delta\,\xi < \text{hi}) - \tfrac12 a z^2 + bz$ and its derivative in $b$; an infinite derivative where
/// there is none. Without noise it is the projection on the interval.
///
/// The log-probability has the slope $(E[w] - z)/\Delta$ and the second derivative $(\mathrm{Var}[w] - \Delta)/\Delta^2$, where $w$ is the normal
/// about $z$ that is cut. Where next to nothing is cut these differences have no digits, and the densities at the ends take their place.
pub(super) fn interval_mode(variance: f64, lo: f64, hi: f64, a: f64, b: f64) -> (f64, f64) {
    if variance <= 0.0 {
        return projection(lo, hi, a, b);
    }
    let deviation = variance.sqrt();
    let at_end = |end: f64, z: f64| {
        let u = (end - z) / deviation;
        let density = normal_density(u);
        // also of an end at infinity
        (density, if density > 0.0 { u * density } else { 0.0 })
    };
    let slope = |z: f64| {
        let precision = 1.0 / variance;
        let Some(cut) = truncated(precision, z * precision, lo, hi) else {
            return (f64::NAN, f64::NAN);
        };
        if cut.variance < 0.5 * variance {
            let second = (cut.variance * precision - 1.0) * precision;
            return ((cut.mean - z) * precision, second);
        }
        let mass = log_probability(z, variance, lo, hi).exp();
        let ((low, low_first), (high, high_first)) = (at_end(lo, z), at_end(hi, z));
        let first = (low - high) / mass;
        let second = (low_first - high_first) / mass - first * first;
        (first / deviation, second * precision)
    };
    // far from its interval the log-probability is a parabola
    let limit = |end: f64, side: f64| {
        if end.is_finite() {
            side * f64::INFINITY
        } else {
            0.0
        }
    };
    let nearest = if a > 0.0 { b / a } else { 0.0 };
    let start = nearest.max(lo).min(hi);
    mode_from(slope, (limit(hi, -1.0), limit(lo, 1.0)), start, a, b)
}

/// $\min(\max(b/a, \text{lo}), \text{hi})$, which moves with $b$ strictly inside.
fn projection(lo: f64, hi: f64, a: f64, b: f64) -> (f64, f64) {
    if !(a > 0.0) {
        return (0.0_f64.max(lo).min(hi), f64::INFINITY);
    }
    let free = b / a;
    let inside = free > lo && free < hi;
    (free.max(lo).min(hi), if inside { 1.0 / a } else { 0.0 })
}
