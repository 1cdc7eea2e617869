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

/// One end of an interval, possibly infinite, with the slope $g'$ there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// Where it is.
    pub place: f64,
    /// $g'(\text{place}) = b - a\,\text{place}$; of no meaning at infinity.
    pub slope: f64,
}

/// A quadratic exponent on an interval, by its curvature, vertex and ends.
///
/// The slopes carry all digits of the distance between the ends and the vertex: compute them from the
/// terms of the problem rather than from sums of large terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quadratic {
    /// Precision $a = -g''$, of any sign.
    pub a: f64,
    /// $b/a$, used when $a > 0$ and it lies inside.
    pub vertex: f64,
    /// Lower end.
    pub lo: End,
    /// Upper end.
    pub hi: End,
}

impl Quadratic {
    fn reflect(self) -> Self {
        let turn = |end: End| End {
            place: -end.place,
            slope: -end.slope,
        };
        Self {
            a: self.a,
            vertex: -self.vertex,
            lo: turn(self.hi),
            hi: turn(self.lo),
        }
    }

    fn width(&self) -> f64 {
        self.hi.place - self.lo.place
    }
}

/// Moments of $e^{-\frac12 a x^2 + b x}$ on $[\text{lo}, \text{hi}]$ for any sign of $a$; `None` where the
/// integral diverges.
#[must_use]
#[inline]
pub fn truncated(a: f64, b: f64, lo: f64, hi: f64) -> Option<Truncated> {
    // a fused product costs a call on plain x86-64: not at infinity
    let slope = |x: f64| {
        if x.is_finite() {
            (-a).mul_add(x, b)
        } else {
            0.0
        }
    };
    let end = |place: f64| End {
        place,
        slope: slope(place),
    };
    truncated_quadratic(Quadratic {
        a,
        vertex: b / a,
        lo: end(lo),
        hi: end(hi),
    })
}

/// Moments of $e^{g}$ on the interval of `g`; `None` where the integral diverges.
#[must_use]
#[inline]
pub fn truncated_quadratic(g: Quadratic) -> Option<Truncated> {
    match (g.lo.place.is_finite(), g.hi.place.is_finite()) {
        (true, true) => Some(interval(g)),
        (true, false) => half_line(g),
        (false, true) => half_line(g.reflect()).map(Truncated::reflect),
        (false, false) => whole_line(g),
    }
}

fn whole_line(g: Quadratic) -> Option<Truncated> {
    let (mean, variance) = (g.vertex, 1.0 / g.a);
    (g.a > 0.0 && mean.is_finite() && variance.is_finite()).then(|| Truncated {
        anchor: mean,
        mass: 2.0 * SQRT_FRAC_PI_2 * variance.sqrt(),
        mean,
        variance,
    })
}

/// From the lower end to infinity.
#[inline]
fn half_line(g: Quadratic) -> Option<Truncated> {
    let l = g.lo.place;
    if g.a <= 0.0 {
        let length = -1.0 / g.lo.slope;
        return (g.a == 0.0 && length > 0.0 && length.is_finite()).then_some(Truncated {
            anchor: l,
            mass: length,
            mean: l + length,
            variance: length * length,
        });
    }
    let sd = 1.0 / g.a.sqrt();
    let s = -g.lo.slope * sd;
    if s > 0.0 {
        return Some(decaying_half_line(s, sd, l));
    }
    // the mode is inside: normal density and probability at s, h = density / probability
    let density = (-0.5 * s * s).exp();
    let twice_probability = 2.0 - density * erfcx(-s * FRAC_1_SQRT_2);
    let h = density / (SQRT_FRAC_PI_2 * twice_probability);
    g.vertex.is_finite().then(|| Truncated {
        anchor: g.vertex.max(l),
        mass: SQRT_FRAC_PI_2 * sd * twice_probability,
        mean: (g.vertex + h * sd).max(l),
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
        mean: l + mean * sd,
        variance: variance * sd * sd,
    }
}

/// Both ends finite.
fn interval(g: Quadratic) -> Truncated {
    if g.a <= 0.0 {
        return convex(g);
    }
    if g.lo.slope > 0.0 && g.hi.slope < 0.0 {
        return around_mode(g);
    }
    if g.lo.slope > 0.0 {
        return interval(g.reflect()).reflect();
    }
    let (width, c) = (g.width(), -g.lo.slope);
    if width * (0.5 * g.a * width + c) > NEGLIGIBLE {
        let sd = 1.0 / g.a.sqrt();
        let t = decaying_half_line(c * sd, sd, g.lo.place);
        return Truncated {
            mean: t.mean.min(g.hi.place),
            ..t
        };
    }
    falling(g.a, c, g.lo.place, width)
}

/// $a > 0$ and the mode inside.
fn around_mode(g: Quadratic) -> Truncated {
    let root = g.a.sqrt();
    if g.width() * root < NARROW {
        return falling(g.a, -g.lo.slope, g.lo.place, g.width());
    }
    let (alpha, beta) = (-g.lo.slope / root, -g.hi.slope / root);
    let probability = normal_probability_around_zero(alpha, beta);
    let (low, high) = (normal_density(alpha), normal_density(beta));
    let shift = (low - high) / probability;
    let inside = |x: f64| x.max(g.lo.place).min(g.hi.place);
    Truncated {
        anchor: inside(g.vertex),
        mass: 2.0 * SQRT_FRAC_PI_2 * probability / root,
        mean: inside(g.vertex + shift / root),
        variance: (1.0 + (alpha * low - beta * high) / probability - shift * shift) / g.a,
    }
}

/// $a \le 0$: the weight falls from both ends towards the vertex, or from one end to the other.
fn convex(g: Quadratic) -> Truncated {
    let (lo, hi, width) = (g.lo, g.hi, g.width());
    if lo.slope >= 0.0 && hi.slope > 0.0 {
        return convex(g.reflect()).reflect();
    }
    if hi.slope <= 0.0 {
        return falling(g.a, -lo.slope, lo.place, width);
    }
    let from_lo = falling(g.a, -lo.slope, lo.place, (lo.slope / g.a).min(width));
    let from_hi = falling(g.a, hi.slope, -hi.place, (-hi.slope / g.a).min(width)).reflect();
    // g(hi) - g(lo) as a product
    let gap = 0.5 * width * (lo.slope + hi.slope);
    let (mut high, mut low, anchor) = if gap > 0.0 {
        (from_hi.bump(), from_lo.bump(), hi.place)
    } else {
        (from_lo.bump(), from_hi.bump(), lo.place)
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
    let panels = (1..8)
        .find(|n| fall <= PANEL_FALL * f64::from(*n))
        .unwrap_or(8);
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
