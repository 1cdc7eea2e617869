//! The average over the noise across a piece where the student passes sharply from one piece to another: windows around the changes, and segments
//! between them.
//!
//! Where the student is sure of one hypothesis all that is averaged is a quadratic polynomial in the noise, and its average over a
//! segment follows from three values and the moments $\int\mathcal N$, $\int n\,\mathcal N$, $\int n^2\mathcal N$ there.
//!
//! Without windows `mismatched_updates_against_references` fails.

use super::crossovers::Crossover;
use super::piece_lines::REACH;
use crate::math::special::{normal_density, normal_probability_around_zero};

/// Rates from which on a change has a window of its own.
const SHARP: f64 = 12.0;
/// Half a window, and its inner cuts, in units of the inverse rate.
const WINDOW: f64 = 25.0;
const INNER: f64 = 8.0;
/// Scale of the variable $y$ in a window, $n = n_0 + \frac c\rho\sinh y$: the poles of the logistic function at $n_0 \pm i\pi/\rho$ are then no nearer to
/// the axis than $\pi/2$.
const SCALE: f64 = 2.0;
/// Standard deviations beyond which nothing is left where nothing is rare: $10^{-12}$.
const TAIL: f64 = 7.0;
/// One panel does for segments up to this length.
const LONG: f64 = 6.0;
/// Shorter segments are integrated as they are.
const SHORT: f64 = 0.1;

/// The Gauss-Hermite rule for polynomials of degree five, of which all that is averaged where the student is sure has two.
pub(super) const HERMITE: [(f64, f64); 3] = [
    (0.0, 2.0 / 3.0),
    (-1.732_050_807_568_877_2, 1.0 / 6.0),
    (1.732_050_807_568_877_2, 1.0 / 6.0),
];

/// A part of the line across a piece.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// Its ends, and cuts between them.
    pub cuts: Vec<f64>,
    /// What happens in it.
    pub kind: Kind,
}

/// What happens in a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// The student does not pass sharply from one piece to another.
    Quiet,
    /// It does so once: the cuts are those of $y$, and $n = n_0 + s\sinh y$.
    Change {
        /// $n_0$.
        place: f64,
        /// $s$.
        scale: f64,
    },
    /// It does so several times.
    Changes,
}

impl Segment {
    pub fn ends(&self) -> [f64; 2] {
        [self.cuts[0], self.cuts[self.cuts.len() - 1]]
    }

    /// Where a value of the variable is, and how much it is stretched there.
    pub fn place(&self, y: f64) -> (f64, f64) {
        match self.kind {
            Kind::Change { place, scale } => (scale.mul_add(y.sinh(), place), scale * y.cosh()),
            Kind::Quiet | Kind::Changes => (y, 1.0),
        }
    }

    pub fn is_short(&self) -> bool {
        let [low, high] = self.ends();
        high - low < SHORT
    }
}

/// The line cut at sharp changes; `None` if there are none.
pub(super) fn segments(crossovers: &[Crossover]) -> Option<Vec<Segment>> {
    let mut windows: Vec<(Vec<f64>, Kind)> = Vec::new();
    let mut sharp: Vec<&Crossover> = crossovers.iter().filter(|r| r.rate >= SHARP).collect();
    sharp.sort_by(|x, y| x.place.total_cmp(&y.place));
    for r in sharp {
        let steps = [-WINDOW, -INNER, 0.0, INNER, WINDOW];
        let cuts = steps.map(|s| r.place + s / r.rate);
        match windows.last_mut() {
            Some((last, kind)) if last[last.len() - 1] > cuts[0] => {
                last.extend(cuts);
                last.sort_by(f64::total_cmp);
                *kind = Kind::Changes;
            }
            _ => {
                let (place, scale) = (r.place, SCALE / r.rate);
                windows.push((cuts.to_vec(), Kind::Change { place, scale }));
            }
        }
    }
    if windows.is_empty() {
        return None;
    }
    let far = crossovers
        .iter()
        .any(|r| r.rate < SHARP && r.place.abs() > TAIL - 2.0);
    let mut out = Vec::new();
    let mut from = -REACH;
    for (mut cuts, kind) in windows {
        cuts.retain(|c| c.abs() < REACH);
        let (Some(&low), Some(&high)) = (cuts.first(), cuts.last()) else {
            continue;
        };
        out.push(quiet(from, low, far));
        if let Kind::Change { place, scale } = kind {
            let y = |n: f64| ((n - place) / scale).asinh();
            cuts = vec![y(low), y(high)];
            if low < place && place < high {
                cuts.insert(1, 0.0);
            }
        }
        out.push(Segment { cuts, kind });
        from = high;
    }
    out.push(quiet(from, REACH, far));
    out.retain(|s| s.cuts.len() > 1 && s.ends()[0] < s.ends()[1]);
    Some(out)
}

/// Between sharp changes: nothing is rare there, and `far` says whether anything soft happens beyond [`TAIL`].
fn quiet(low: f64, high: f64, far: bool) -> Segment {
    let tail = if far { REACH } else { TAIL };
    let (low, high) = (low.max(-tail), high.min(tail));
    let mut cuts = vec![low, high];
    if high - low > LONG {
        let inside = |c: &&f64| **c > low + 0.5 && **c < high - 0.5;
        cuts.extend([-2.5, 2.5].iter().filter(inside));
        cuts.sort_by(f64::total_cmp);
    }
    Segment {
        cuts,
        kind: Kind::Quiet,
    }
}

/// Three places in a segment and their weights, exact for a quadratic polynomial times the normal density.
pub(super) fn quadratic_rule([low, high]: [f64; 2]) -> [(f64, f64); 3] {
    let (p, q) = (normal_density(low), normal_density(high));
    let mass = normal_probability_around_zero(low, high);
    let first = p - q;
    let second = mass + low * p - high * q;
    let length = high - low;
    let at = [0.1, 0.5, 0.9].map(|s| length.mul_add(s, low));
    std::array::from_fn(|j| {
        let (x, y) = (at[(j + 1) % 3], at[(j + 2) % 3]);
        let scale = (at[j] - x) * (at[j] - y);
        let weight = (second - (x + y) * first + x * y * mass) / scale;
        (at[j], weight)
    })
}
