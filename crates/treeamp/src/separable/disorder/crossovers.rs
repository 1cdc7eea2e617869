//! Where other pieces are as near as one: across it and along it. (Without the places across `mismatched_updates_against_references` fails,
//! without those along `extreme_precisions` and `rare_confusions_of_two_inputs`.)

use super::breaks::Breaks;
use super::piece::PieceLine;
use super::piece_lines::REACH;

/// Odds that change faster than this across a piece are sudden, and cuts are laid around the change at this distance times the
/// inverse of the rate.
pub(super) const SUDDEN: f64 = 3.0;
const AROUND: f64 = 8.0;
const FAR: f64 = 25.0;
/// Sudden changes that are rare enough for the trapezoidal rule to be tried.
const NEAR: f64 = 2.5;

/// Breaks along a piece because of another one: where its outputs begin, and where their lines cross. At a distance $s$ from the
/// crossing the other line is as near as the piece at $s\tan\frac\theta2$ across, $\theta$ being their angle.
pub(super) fn meeting(line: &PieceLine, other: &PieceLine, breaks: &mut Breaks) {
    let own = line.piece;
    if own.slope != 0.0 {
        for border in [other.piece.start, other.piece.end] {
            let x = other.piece.slope.mul_add(border, other.piece.offset);
            let z = (x - own.offset) / own.slope;
            if z > own.start && z < own.end {
                breaks.shadow(line.length * z, 1.0 / line.along[1].abs());
            }
        }
    }
    let ([c, d], [e, f]) = (line.along, other.along);
    let (sine, cosine) = (d * e - c * f, (c * e + d * f).abs());
    if sine != 0.0 {
        let crossing = (other.offset - line.offset) * e / sine;
        breaks.crossing(crossing, (1.0 + cosine) / sine.abs());
    }
}

/// A place across a piece where another one is as near.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crossover {
    pub place: f64,
    /// How fast the odds of the two change there.
    pub rate: f64,
}

impl Crossover {
    /// A change of at least this rate that the trapezoidal rule does not see.
    pub fn is_near(&self, rate: f64) -> bool {
        self.rate >= rate && self.place.abs() < NEAR
    }
}

/// The places where another piece is as near as this one, at `t` along it.
///
/// Across the piece the distance to the other line is $\alpha + \beta n$, and to one of its ends $|(s, e - n)|$.
pub(super) fn places(line: &PieceLine, other: &PieceLine, t: f64) -> Vec<Crossover> {
    let ([c, d], [e, f]) = (line.along, other.along);
    let gap = line.offset - other.offset;
    let (alpha, beta) = (e.mul_add(d * t + gap, -f * c * t), c.mul_add(e, d * f));
    let (low, high) = (
        other.length * other.piece.start,
        other.length * other.piece.end,
    );
    // the foot on the other line of a point across this one
    let foot = |n: f64| e.mul_add(c * t - d * n, f * (gap + d * t + c * n));
    let lines = [alpha / (1.0 - beta), -alpha / (1.0 + beta)].map(|n| {
        let rate = (beta * (alpha + beta * n) - n).abs();
        let inside = foot(n) >= low - 1.0 && foot(n) <= high + 1.0;
        inside.then_some(Crossover { place: n, rate })
    });
    let ends = [low, high].map(|end| {
        let along = c.mul_add(e * end, d * (f * end - gap)) - t;
        let across = c.mul_add(f * end - gap, -d * e * end);
        let n = 0.5 * (across + along * along / across);
        let beyond = foot(n) <= low + 1.0 || foot(n) >= high - 1.0;
        beyond.then_some(Crossover {
            place: n,
            rate: across.abs(),
        })
    });
    let all = lines.into_iter().chain(ends).flatten();
    all.filter(|r| r.place.abs() < REACH && r.rate > 1e-6)
        .collect()
}

/// Panels across a piece: of the width of the noise, and around sudden changes, where the poles of odds of rate $\rho$ are at a distance $\pi/\rho$
/// from the axis.
pub(super) fn cuts(crossovers: &[Crossover]) -> Vec<f64> {
    let mut cuts = vec![-REACH, -2.5, 2.5, REACH];
    for r in crossovers.iter().filter(|r| r.rate >= SUDDEN) {
        let (near, far) = (AROUND / r.rate, FAR / r.rate);
        let (low, high) = (r.place - near, r.place + near);
        cuts.retain(|c| c.abs() == REACH || *c < low - 0.5 || *c > high + 0.5);
        cuts.extend(
            [low, r.place, high]
                .iter()
                .filter(|c| c.abs() < REACH - 0.5),
        );
        // what is left of a change must not pass unseen between the nodes of the next panel
        if far < 0.5 {
            let tails = [r.place - far, r.place + far];
            cuts.extend(tails.iter().filter(|c| c.abs() < REACH - 0.5));
        }
    }
    cuts.sort_by(f64::total_cmp);
    cuts
}
