//! The weight $e^{g(x)}$, $g(x) = -\tfrac12 a x^2 + b x$, on an interval: mass, mean and variance.
//!
//! Masses are relative to $e^{g}$ at an *anchor*, the highest point of the interval or an end close
//! to it, so they neither overflow nor cancel. Reference: appendix E.1 of Baker et al.,
//! "Tree-AMP: compositional inference with tree approximate message passing", JMLR 24 (2023).

use std::f64::consts::FRAC_1_SQRT_2;

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, StandardNormal};

use super::mixture::Bump;
use super::quadrature::rule32;
use super::special::{
    SQRT_FRAC_PI_2, erfcx, normal_density, normal_probability_around_zero, tail_moments,
};

/// Exponents below the top by more than this are nothing: $e^{-45} = 3\cdot10^{-20}$.
const NEGLIGIBLE: f64 = 45.0;
/// Intervals narrower than this many standard deviations are integrated numerically, because the
/// closed form of the variance is a small difference.
const NARROW: f64 = 0.5;
/// The largest fall of the exponent over one panel of the 32-point rule.
const PANEL_FALL: f64 = 30.0;

/// Mass (in units of $e^{g(\text{anchor})}$), mean and variance of a truncated normal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truncated {
    /// Where the exponent is the unit of mass.
    pub anchor: f64,
    /// $\int e^{g(x) - g(\text{anchor})} dx$.
    pub mass: f64,
    /// Mean, inside the closed interval.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
}

impl Truncated {
    fn reflect(self) -> Self {
        Self {
            anchor: -self.anchor,
            mean: -self.mean,
            ..self
        }
    }

    /// As a component of a mixture.
    #[must_use]
    pub fn bump(&self) -> Bump<1> {
        Bump {
            mass: self.mass,
            mean: [self.mean],
            variance: [self.variance],
        }
    }
}

/// Moments of $e^{-\frac12 a x^2 + b x}$ on $[\text{lo}, \text{hi}]$ for any sign of $a$; `None` where the
/// integral diverges.
#[must_use]
#[inline]
pub fn truncated(a: f64, b: f64, lo: f64, hi: f64) -> Option<Truncated> {
    match (lo.is_finite(), hi.is_finite()) {
        (true, true) => Some(interval(a, b, lo, hi)),
        (true, false) => half_line(a, b, lo),
        (false, true) => half_line(a, -b, -hi).map(Truncated::reflect),
        (false, false) => whole_line(a, b),
    }
}

fn whole_line(a: f64, b: f64) -> Option<Truncated> {
    let (mean, variance) = (b / a, 1.0 / a);
    (a > 0.0 && mean.is_finite() && variance.is_finite()).then(|| Truncated {
        anchor: mean,
        mass: 2.0 * SQRT_FRAC_PI_2 * variance.sqrt(),
        mean,
        variance,
    })
}

/// $x \ge l$.
#[inline]
fn half_line(a: f64, b: f64, l: f64) -> Option<Truncated> {
    if a <= 0.0 {
        let length = -1.0 / b;
        return (a == 0.0 && b < 0.0).then(|| Truncated {
            anchor: l,
            mass: length,
            mean: l + length,
            variance: length * length,
        });
    }
    let sd = 1.0 / a.sqrt();
    let s = a.mul_add(l, -b) * sd;
    if s > 0.0 {
        return Some(decaying_half_line(s, sd, l));
    }
    // the mode is inside: normal density and probability at s, h = density / probability
    let mode = b / a;
    let density = (-0.5 * s * s).exp();
    let twice_probability = 2.0 - density * erfcx(-s * FRAC_1_SQRT_2);
    let h = density / (SQRT_FRAC_PI_2 * twice_probability);
    mode.is_finite().then(|| Truncated {
        anchor: mode,
        mass: SQRT_FRAC_PI_2 * sd * twice_probability,
        mean: h.mul_add(sd, mode).max(l),
        variance: (1.0 - h * (h - s)) * sd * sd,
    })
}

/// $x \ge l$ when the mode is below $l$, by $s$ standard deviations.
#[inline]
fn decaying_half_line(s: f64, sd: f64, l: f64) -> Truncated {
    let (mass, mean, variance) = tail_moments(s);
    Truncated {
        anchor: l,
        mass: mass * sd,
        mean: mean.mul_add(sd, l),
        variance: variance * sd * sd,
    }
}

/// $l \le x \le u$.
fn interval(a: f64, b: f64, l: f64, u: f64) -> Truncated {
    let (slope_l, slope_u) = ((-a).mul_add(l, b), (-a).mul_add(u, b));
    if a <= 0.0 {
        return convex(a, b, l, u);
    }
    if slope_l > 0.0 && slope_u < 0.0 {
        return around_mode(a, b, l, u);
    }
    if slope_l > 0.0 {
        return interval(a, -b, -u, -l).reflect();
    }
    let (width, c) = (u - l, -slope_l);
    if width * (0.5 * a).mul_add(width, c) > NEGLIGIBLE {
        let sd = 1.0 / a.sqrt();
        let t = decaying_half_line(c * sd, sd, l);
        return Truncated {
            mean: t.mean.min(u),
            ..t
        };
    }
    falling(a, c, l, width)
}

/// $a > 0$ and the mode inside.
fn around_mode(a: f64, b: f64, l: f64, u: f64) -> Truncated {
    let root = a.sqrt();
    let (alpha, beta) = (a.mul_add(l, -b) / root, a.mul_add(u, -b) / root);
    if (u - l) * root < NARROW {
        return falling(a, a.mul_add(l, -b), l, u - l);
    }
    let probability = normal_probability_around_zero(alpha, beta);
    let (low, high) = (normal_density(alpha), normal_density(beta));
    let shift = (low - high) / probability;
    Truncated {
        anchor: b / a,
        mass: 2.0 * SQRT_FRAC_PI_2 * probability / root,
        mean: (b / a + shift / root).max(l).min(u),
        variance: (1.0 + (alpha * low - beta * high) / probability - shift * shift) / a,
    }
}

/// $a \le 0$: the weight falls from both ends towards the vertex, or from one end to the other.
fn convex(a: f64, b: f64, l: f64, u: f64) -> Truncated {
    let (slope_l, slope_u) = ((-a).mul_add(l, b), (-a).mul_add(u, b));
    if slope_l >= 0.0 && slope_u > 0.0 {
        return convex(a, -b, -u, -l).reflect();
    }
    if slope_u <= 0.0 {
        return falling(a, -slope_l, l, u - l);
    }
    let from_l = falling(a, -slope_l, l, (slope_l / a).min(u - l));
    let from_u = falling(a, slope_u, -u, (-slope_u / a).min(u - l)).reflect();
    // g(u) - g(l) as a product
    let gap = 0.5 * (u - l) * (slope_l + slope_u);
    let (mut high, mut low, anchor) = if gap > 0.0 {
        (from_u.bump(), from_l.bump(), u)
    } else {
        (from_l.bump(), from_u.bump(), l)
    };
    low.mass *= (-gap.abs()).exp();
    high.absorb(&low);
    Truncated {
        anchor,
        mass: high.mass,
        mean: high.mean[0],
        variance: high.variance[0],
    }
}

/// Quadrature of $e^{-ct - \frac12 a t^2}$ on $0 \le t \le \text{width}$, $x = l + t$, when it falls throughout
/// (or hardly rises). Moments are centred before they are squared.
fn falling(a: f64, c: f64, l: f64, width: f64) -> Truncated {
    // for a < 0 the vertex is not inside, so the exponent stays below -ct/2
    let reach = if c * width > 2.0 * NEGLIGIBLE {
        2.0 * NEGLIGIBLE / c
    } else {
        width
    };
    let fall = reach * (0.5 * a).mul_add(reach, c).max(c);
    let panels = 1 + (fall / PANEL_FALL).min(8.0) as u32;
    let length = reach / f64::from(panels);
    let rule = rule32();
    let mut sum = Bump::point([0.0], 0.0);
    for panel in 0..panels {
        let start = f64::from(panel) * length;
        let (mut mass, mut first) = (0.0, 0.0);
        let mut values = [0.0; 32];
        for (value, (node, weight)) in values.iter_mut().zip(rule.nodes.iter().zip(&rule.weights)) {
            let t = length.mul_add(*node, start);
            *value = weight * (-t * (0.5 * a).mul_add(t, c)).exp();
            mass += *value;
            first += *value * node;
        }
        let mean = first / mass;
        let spread: f64 = values
            .iter()
            .zip(&rule.nodes)
            .map(|(w, x)| w * (x - mean) * (x - mean))
            .sum();
        sum.absorb(&Bump {
            mass: mass * length,
            mean: [length.mul_add(mean, start)],
            variance: [spread / mass * length * length],
        });
    }
    Truncated {
        anchor: l,
        mass: sum.mass,
        mean: (l + sum.mean[0]).min(l + width),
        variance: sum.variance[0],
    }
}

/// A draw from the normal of `mean` and `sd` restricted to $[\text{lo}, \text{hi}]$, by rejection.
///
/// Reference: C. Robert, "Simulation of truncated normal variables" (1995).
pub fn sample(mean: f64, sd: f64, lo: f64, hi: f64, rng: &mut dyn Rng) -> f64 {
    let (alpha, beta) = ((lo - mean) / sd, (hi - mean) / sd);
    let y = if beta < 0.0 {
        -standard_sample(-beta, -alpha, rng)
    } else {
        standard_sample(alpha, beta, rng)
    };
    y.mul_add(sd, mean).max(lo).min(hi)
}

fn standard_sample(alpha: f64, beta: f64, rng: &mut dyn Rng) -> f64 {
    let top = alpha.max(0.0);
    // the cheapest envelope: uniform, normal or exponential
    let uniform = (beta - alpha) * alpha.max(0.8) < 1.5;
    let rate = 0.5 * (alpha + alpha.hypot(2.0));
    loop {
        let y = if uniform {
            let y = (beta - alpha).mul_add(rng.random::<f64>(), alpha);
            if rng.random::<f64>().ln() > 0.5 * (top - y) * (top + y) {
                continue;
            }
            y
        } else if alpha <= 0.25 {
            StandardNormal.sample(rng)
        } else {
            let step: f64 = Exp1.sample(rng);
            let y = alpha + step / rate;
            if rng.random::<f64>().ln() > -0.5 * (y - rate) * (y - rate) {
                continue;
            }
            y
        };
        if (alpha..=beta).contains(&y) {
            return y;
        }
    }
}
