//! Masses, means and variances of mixtures, merged one component at a time.

use rand::{Rng, RngExt};

use crate::scalar::Tilted;

/// The index of one of these weights, drawn with its probability; they add up to one but for rounding.
pub fn draw(weights: impl ExactSizeIterator<Item = f64>, rng: &mut dyn Rng) -> usize {
    let last = weights.len().saturating_sub(1);
    let mut left = rng.random::<f64>();
    let chosen = weights.take(last).position(|weight| {
        left -= weight;
        left < 0.0
    });
    chosen.unwrap_or(last)
}

/// Mass, mean and variance of a weight on $D$ coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bump<const D: usize> {
    /// Total mass.
    pub mass: f64,
    /// Mean of each coordinate.
    pub mean: [f64; D],
    /// Variance of each coordinate.
    pub variance: [f64; D],
}

impl<const D: usize> Bump<D> {
    /// A point mass.
    #[must_use]
    pub fn point(place: [f64; D], mass: f64) -> Self {
        Self {
            mass,
            mean: place,
            variance: [0.0; D],
        }
    }

    /// The sum of the two weights: variance within plus between, every term non-negative.
    #[inline]
    pub fn absorb(&mut self, other: &Self) {
        // also skips NaN and the empty component
        if !(other.mass > 0.0) {
            return;
        }
        if self.mass <= 0.0 {
            *self = *other;
            return;
        }
        let total = self.mass + other.mass;
        let (q, p) = (self.mass / total, other.mass / total);
        for d in 0..D {
            let (own, new) = (self.mean[d], other.mean[d]);
            let step = new - own;
            self.variance[d] =
                q * self.variance[d] + p * other.variance[d] + (p * step) * (q * step);
            // from the heavier mean, and never beyond either: supports are convex
            let mean = if p < 0.5 {
                p.mul_add(step, own)
            } else {
                (-q).mul_add(step, new)
            };
            self.mean[d] = mean.max(own.min(new)).min(own.max(new));
        }
        self.mass = total;
    }
}

/// A mixture of bumps under the exponent $G(x) = \sum_d -\tfrac12 a_d x_d^2 + b_d x_d$.
///
/// Each component is given relative to $e^{G}$ at an anchor of its own; only differences of $G$
/// between anchors are formed, as products, so that heights of $10^{20}$ compare to the last digit.
#[derive(Debug, Clone, Copy)]
pub struct AnchoredMixture<const D: usize> {
    a: [f64; D],
    b: [f64; D],
    anchor: [f64; D],
    scale: f64,
    sum: Bump<D>,
}

impl<const D: usize> AnchoredMixture<D> {
    /// The empty mixture under the tilt `a`, `b`.
    #[must_use]
    pub fn new(a: [f64; D], b: [f64; D]) -> Self {
        Self {
            a,
            b,
            anchor: [0.0; D],
            scale: 0.0,
            sum: Bump::point([0.0; D], 0.0),
        }
    }

    /// Adds a component whose mass is in units of $e^{G(\text{anchor})}$.
    #[inline]
    pub fn add(&mut self, anchor: [f64; D], bump: Bump<D>) {
        self.add_scaled(anchor, 0.0, bump);
    }

    /// Adds a component whose mass is in units of $e^{G(\text{anchor}) + \text{scale}}$.
    #[inline]
    pub fn add_scaled(&mut self, anchor: [f64; D], scale: f64, mut bump: Bump<D>) {
        if self.sum.mass <= 0.0 {
            (self.anchor, self.scale) = (anchor, scale);
            self.sum = bump;
            return;
        }
        let gap: f64 = (0..D)
            .map(|d| {
                let (x, x0) = (anchor[d], self.anchor[d]);
                (x - x0) * (-0.5 * self.a[d]).mul_add(x + x0, self.b[d])
            })
            .sum();
        let gap = gap + (scale - self.scale);
        if gap > 0.0 {
            self.sum.mass *= (-gap).exp();
            (self.anchor, self.scale) = (anchor, scale);
        } else {
            bump.mass *= gap.exp();
        }
        self.sum.absorb(&bump);
    }

    /// Means and variances, with the mass relative to the anchor.
    #[must_use]
    pub fn bump(&self) -> &Bump<D> {
        &self.sum
    }

    /// Log of the total mass; $-\infty$ for the empty mixture, $+\infty$ where heights overflow.
    #[must_use]
    pub fn log_mass(&self) -> f64 {
        let height: f64 = (0..D)
            .map(|d| height(self.a[d], self.b[d], self.anchor[d]))
            .sum();
        or_overflow(height + self.scale + self.sum.mass.ln())
    }

    /// Log of the mass in units of the tilt's own, $\sqrt{2\pi/a_d}\,e^{b_d^2/2a_d}$ for every marked coordinate; $a_d$
    /// must be positive there, and only the distance of the anchor from $b_d/a_d$ enters.
    #[must_use]
    pub fn log_excess(&self, over: [bool; D]) -> f64 {
        let excess: f64 = (0..D)
            .map(|d| {
                let of = if over[d] { log_normal } else { height_at };
                of(self.anchor[d], self.a[d], self.b[d])
            })
            .sum();
        excess + self.scale + self.sum.mass.ln()
    }
}

impl AnchoredMixture<1> {
    /// The whole, of one coordinate, as a law under its tilt.
    #[must_use]
    pub fn tilted(&self) -> Tilted {
        Tilted {
            log_z: self.log_mass(),
            mean: self.sum.mean[0],
            variance: self.sum.variance[0],
        }
    }
}

/// $\ln\mathcal N(x; \tfrac ba, \tfrac1a)$.
#[must_use]
#[inline]
pub fn log_normal(x: f64, a: f64, b: f64) -> f64 {
    let d = x - b / a;
    0.5 * (a / std::f64::consts::TAU).ln() - 0.5 * (a * d) * d
}

/// $+\infty$ for the difference of two overflowing terms.
#[must_use]
#[inline]
pub fn or_overflow(x: f64) -> f64 {
    if x.is_nan() { f64::INFINITY } else { x }
}

fn height_at(x: f64, a: f64, b: f64) -> f64 {
    height(a, b, x)
}

/// $-\tfrac12 a x^2 + b x$.
#[must_use]
#[inline]
pub fn height(a: f64, b: f64, x: f64) -> f64 {
    x * (-0.5 * a).mul_add(x, b)
}
