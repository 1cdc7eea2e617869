//! Where a student of a piecewise linear channel passes from one of its pieces to another.
//!
//! Its pieces are hypotheses about a pair of fields. That of piece $j$ is highest at $z_j$, the vertex of
//! $h_j(z) = -\frac12a_zz^2 + b_zz - \frac12a_xx^2 + b_xx$, $x = x_j + \gamma_jz$, kept between its ends. Where the highest hypothesis changes from $j$ to $k$
//! the log-odds have the gradient $(z_j - z_k, x_j - x_k)$ in the fields, and where the vertex of the highest
//! leaves its piece the law bends within one deviation of it.

use super::channel::{Pair, X, Z};
use crate::scalar::Piece;

/// A line in the plane of the fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    /// The fields at zero.
    pub from: [f64; 2],
    /// What a unit adds to them.
    pub step: [f64; 2],
    /// Its ends.
    pub range: [f64; 2],
}

impl Path {
    fn at(&self, s: f64) -> [f64; 2] {
        [Z, X].map(|i| self.step[i].mul_add(s, self.from[i]))
    }
}

/// A change of the highest hypothesis, or of its form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// Where on the path.
    pub place: f64,
    /// The gradient of what changes, per unit of either field.
    pub gradient: [f64; 2],
    /// One hypothesis gives way to another, far from it.
    pub sudden: bool,
}

/// The hypotheses of a student.
#[derive(Debug)]
pub(super) struct PieceOdds {
    pieces: Vec<Piece>,
    a: [f64; 2],
}

/// The best of a hypothesis.
#[derive(Debug, Clone, Copy)]
struct Best {
    piece: usize,
    /// Below its start, inside, beyond its end.
    side: i8,
    z: [f64; 2],
    height: f64,
}

impl Best {
    /// The same piece, and the same side of it.
    fn is_like(&self, other: &Self) -> bool {
        (self.piece, self.side) == (other.piece, other.side)
    }
}

impl PieceOdds {
    /// Of a piecewise linear student; `None` for any other, or if one of its pieces has no vertex.
    pub fn of(pair: &Pair<'_>) -> Option<Self> {
        let (pieces, a) = (pair.student.pieces(), [pair.at[Z].a, pair.at[X].a]);
        let proper = |p: &Piece| a[Z] + p.slope * p.slope * a[X] > 0.0;
        (!pieces.is_empty() && pieces.iter().all(proper)).then_some(Self { pieces, a })
    }

    fn precision(&self, p: &Piece) -> f64 {
        self.a[X].mul_add(p.slope * p.slope, self.a[Z])
    }

    fn best(&self, j: usize, b: [f64; 2]) -> Best {
        let p = &self.pieces[j];
        let a = self.precision(p);
        let pull = p.slope.mul_add((-self.a[X]).mul_add(p.offset, b[X]), b[Z]);
        let vertex = pull / a;
        let z = vertex.max(p.start).min(p.end);
        let x = p.slope.mul_add(z, p.offset);
        // the mass around the highest point, up to a factor of two
        let width = 1.0 / ((a * (vertex - z)).abs() + (a / std::f64::consts::TAU).sqrt());
        let height = z * (-0.5 * self.a[Z]).mul_add(z, b[Z])
            + x * (-0.5 * self.a[X]).mul_add(x, b[X])
            + width.ln();
        let side = i8::from(vertex > p.end) - i8::from(vertex < p.start);
        Best {
            piece: j,
            side,
            z: [z, x],
            height,
        }
    }

    fn highest(&self, b: [f64; 2]) -> Best {
        let mut top = self.best(0, b);
        for j in 1..self.pieces.len() {
            let other = self.best(j, b);
            if other.height > top.height {
                top = other;
            }
        }
        top
    }

    /// How far the student is from knowing one piece and its interior across a path of unit noise: the largest logarithm, relative, of what
    /// other hypotheses and the ends of its own add to the mean and to the variance of an end; a variance below `least` is none.
    pub fn doubt(&self, path: &Path, points: u32, end: usize, least: f64) -> f64 {
        let step = (path.range[1] - path.range[0]) / f64::from(points);
        let known = self.highest(path.at(path.range[0])).piece;
        let p = &self.pieces[known];
        let a = self.precision(p);
        let slope = if end == Z { 1.0 } else { p.slope };
        let own = (slope * slope / a).max(least);
        // the output of a flat piece is known wherever its input lies
        let flat = end == X && p.slope == 0.0;
        let mut doubt = f64::NEG_INFINITY;
        for i in 0..=points {
            let place = step.mul_add(f64::from(i), path.range[0]);
            let b = path.at(place);
            let top = self.highest(b);
            if top.piece != known || top.side != 0 && !flat {
                return f64::INFINITY;
            }
            let inside = (top.z[Z] - p.start).min(p.end - top.z[Z]);
            let mut at = if flat {
                f64::NEG_INFINITY
            } else {
                -0.5 * a * inside * inside
            };
            for j in (0..self.pieces.len()).filter(|j| *j != known) {
                let other = self.best(j, b);
                let gap = top.z[end] - other.z[end];
                let share = (gap * gap / own).max(1.0).ln();
                at = at.max(other.height - top.height + share);
            }
            doubt = doubt.max((-0.5 * place).mul_add(place, at));
        }
        doubt
    }

    /// The changes along a path that `points` equal steps can tell.
    pub fn changes(&self, path: &Path, points: u32) -> Vec<Change> {
        let step = (path.range[1] - path.range[0]) / f64::from(points);
        let mut found = Vec::new();
        let mut last = (path.range[0], self.highest(path.at(path.range[0])));
        for i in 1..=points {
            let place = step.mul_add(f64::from(i), path.range[0]);
            let next = (place, self.highest(path.at(place)));
            // a step may hold several
            for _ in 0..self.pieces.len() {
                if next.1.is_like(&last.1) {
                    break;
                }
                let (change, beyond) = self.located(path, last, next);
                found.push(change);
                last = beyond;
            }
            last = next;
        }
        found
    }

    /// Where the vertex of a hypothesis passes an end of its piece on a path, of those that are not the highest there and count: within
    /// `doubt` of the highest, in the logarithm. Beyond the end the hypothesis fades within its deviation.
    pub fn fading(&self, path: &Path, doubt: f64) -> Vec<Change> {
        let mut found = Vec::new();
        for (j, p) in self.pieces.iter().enumerate() {
            let a = self.precision(p);
            let pull = |b: [f64; 2]| p.slope.mul_add((-self.a[X]).mul_add(p.offset, b[X]), b[Z]);
            let start = pull(path.from);
            let rate = p.slope.mul_add(path.step[X], path.step[Z]);
            let unit = 1.0 / a.sqrt();
            for end in [p.start, p.end].into_iter().filter(|e| e.is_finite()) {
                let place = (a * end - start) / rate;
                if !(place > path.range[0] && place < path.range[1]) {
                    continue;
                }
                let b = path.at(place);
                let top = self.highest(b);
                if top.piece != j && self.best(j, b).height > top.height + doubt {
                    found.push(Change {
                        place,
                        gradient: [unit, p.slope * unit],
                        sudden: false,
                    });
                }
            }
        }
        found
    }

    /// The first change between two places that differ, and the place beyond it.
    fn located(&self, path: &Path, from: (f64, Best), to: (f64, Best)) -> (Change, (f64, Best)) {
        let ((mut low, below), (mut high, mut above)) = (from, to);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if !(low < middle && middle < high) {
                break;
            }
            let top = self.highest(path.at(middle));
            if top.is_like(&below) {
                low = middle;
            } else {
                (high, above) = (middle, top);
            }
        }
        let place = 0.5 * (low + high);
        // the vertex passes an end, in units of its deviation
        let knee = |j: usize| {
            let p = &self.pieces[j];
            let unit = 1.0 / self.precision(p).sqrt();
            [unit, p.slope * unit]
        };
        let b = path.at(place);
        let (one, other) = (self.best(below.piece, b), self.best(above.piece, b));
        let gap = [Z, X].map(|i| one.z[i] - other.z[i]);
        // neighbours that meet at their common end are told apart by no more than a deviation
        let units = [knee(below.piece), knee(above.piece)];
        let rate = |g: [f64; 2]| g[Z].mul_add(path.step[Z], g[X] * path.step[X]).abs();
        let knee = if rate(units[0]) > rate(units[1]) {
            units[0]
        } else {
            units[1]
        };
        let sudden = rate(gap) > rate(knee);
        let change = Change {
            place,
            gradient: if sudden { gap } else { knee },
            sudden,
        };
        (change, (high, above))
    }
}
