//! The average over both fields of a piecewise linear channel, along each piece and across it.
//!
//! In units of its noise the pair of fields is $(u, w) = (b_z/\sqrt{\hat q_z}, b_x/\sqrt{\hat q_x})$, and a signal on the piece $x = x_i + \gamma_i z$ lies on the
//! straight line $(\kappa_z z, \kappa_x(x_i + \gamma_i z))$, $\kappa = \hat m/\sqrt{\hat q}$, with independent noise of unit variance in all directions. So the field
//! across the line is that noise alone, and the one along it, $t = \kappa_i z + \xi$ with $\kappa_i^2 = \kappa_z^2 + \gamma_i^2\kappa_x^2$, has the density
//!
//! $$p_i(t) = \int_{R_i} dz\,e^{-\frac12\hat\tau_{0,z}z^2 - \frac12\hat\tau_{0,x}(x_i + \gamma_i z)^2 - A_0}\,\mathcal N(t; \kappa_i z, 1).$$
//!
//! The pieces are summed. However sharp the fields, what is averaged changes across a piece on the scale of the noise, and
//! along it on that of the signal, but for the noise around its ends.
//!
//! Without this route `rare_confusions_of_two_inputs` and `mismatched_updates_against_references` fail.

use std::cell::Cell;

use super::across::SURE;
use super::breaks::Breaks;
use super::channel::{Pair, X, Z};
use super::crossovers::meeting;
use super::piece::{PieceLine, Slice};
use super::piece_odds::{Change, Path, PieceOdds};
use super::segments::HERMITE;
use super::{COUNT, D1, D2, M, Q0};
use crate::math::quadrature::panels::{Effort, Sample, integrate};
use crate::scalar::Piece;

/// Standard deviations beyond which there is nothing: $10^{-18}$, for rare events tell as well.
pub(super) const REACH: f64 = 9.0;
/// Standard deviations of the signal beyond which it contributes nothing to a second moment: $10^{-10}$.
const TAIL: f64 = 7.0;
/// Relative error across a piece and along it, as it is estimated: variances are then within 4e-9 of those at tighter settings.
pub(super) const TOLERANCE: f64 = 1e-8;
const ALONG: f64 = 1.5e-8;
/// The same along a piece of the teacher's own.
const OWN: f64 = 2e-8;
/// The same along a piece for the potential of a student that is not the teacher, which is large where fields are.
const POTENTIAL: f64 = 2e-9;
/// How much smaller they are where the input is hardly seen and most of a piece looks alike.
const FAINT: f64 = 0.5;
/// What the rough values of averages are worth: less where a student passes sharply from one piece to another, and they may be far too large.
const ROUGH: [f64; 2] = [0.1, 1e-3];
/// $\hat m\tau_0$ of the input below which it is hardly seen.
const HARDLY_SEEN: f64 = 5.0;
/// Steps in which changes of the student are looked for along a piece.
const ALONG_STEPS: u32 = 160;

/// The pieces of a teacher's channel.
pub(super) struct PieceLines<'a> {
    pub pair: &'a Pair<'a>,
    /// Those that are followed: all of them, or one half.
    followed: Vec<PieceLine>,
    /// All of them.
    pub lines: Vec<PieceLine>,
    /// The pieces of the student, if it has any.
    pub student: Option<PieceOdds>,
    /// Relative errors across and along.
    pub tolerance: [f64; 2],
    /// How many averages across are taken by panels before the trapezoidal rule is tried again.
    pub wait: Cell<u32>,
}

impl<'a> PieceLines<'a> {
    /// The pieces of a piecewise linear teacher; `None` for any other.
    pub fn of(pair: &'a Pair<'a>) -> Option<Self> {
        let pieces = pair.teacher.pieces();
        if pieces.is_empty() {
            return None;
        }
        let line = |piece: &Piece| PieceLine::new(piece, &pair.at);
        let lines = pieces.iter().map(line).collect();
        let followed = pair.followed_pieces().iter().map(line).collect();
        Some(Self {
            pair,
            followed,
            lines,
            student: PieceOdds::of(pair),
            tolerance: match (pair.target, pair.at[Z].m_hat * pair.tau0[Z] < HARDLY_SEEN) {
                (None, _) if !pair.bayes => [TOLERANCE, POTENTIAL],
                (_, true) if pair.bayes => [TOLERANCE, OWN].map(|x| FAINT * x),
                _ if pair.bayes => [TOLERANCE, OWN],
                _ => [TOLERANCE, ALONG],
            },
            wait: Cell::new(0),
        })
    }

    /// The signals of a piece at a place along it.
    pub fn slice(&self, line: &PieceLine, t: f64) -> Slice {
        let tilt = [Z, X].map(|i| self.pair.at[i].tau0_hat);
        line.slice(t, tilt, self.pair.log_z0)
    }

    /// What a step along a piece and one across it add to the fields.
    pub fn steps(&self, line: &PieceLine) -> [[f64; 2]; 2] {
        let [c, d] = line.along;
        let noise = [Z, X].map(|i| self.pair.at[i].q_hat.sqrt());
        [[noise[Z] * c, noise[X] * d], [-noise[Z] * d, noise[X] * c]]
    }

    /// The averaged quantities at a place across a piece. Where the student is another the signal is known from the place
    /// along the piece alone, and the teacher's law is not asked.
    pub fn values(
        &self,
        line: &PieceLine,
        [t, n]: [f64; 2],
        slice: &Slice,
        weight: f64,
    ) -> [f64; COUNT] {
        let fields = self.fields(line, t, n);
        if self.pair.bayes {
            self.pair.weighted(fields, weight)
        } else {
            self.pair.given(fields, slice, weight)
        }
    }

    /// The fields at a place along and across a piece.
    pub fn fields(&self, line: &PieceLine, t: f64, n: f64) -> [f64; 2] {
        let [c, d] = line.along;
        let noise = [Z, X].map(|i| self.pair.at[i].q_hat.sqrt());
        [
            noise[Z] * c.mul_add(t, -d * n),
            noise[X] * (line.offset + d.mul_add(t, c * n)),
        ]
    }

    /// The panels along a piece.
    fn panels(&self, line: &PieceLine) -> Vec<f64> {
        let tilt = [Z, X].map(|i| self.pair.at[i].tau0_hat);
        let own = line.piece;
        let curvature = tilt[X].mul_add(own.slope * own.slope, tilt[Z]);
        let (centre, spread) = if curvature > 0.0 {
            let sd = 1.0 / curvature.sqrt();
            (-tilt[X] * own.slope * own.offset / curvature, sd)
        } else {
            (0.0, self.pair.tau0[Z].sqrt())
        };
        let k = line.length;
        let mut breaks = Breaks::nested();
        breaks.component(k * centre, (k * spread).hypot(1.0));
        breaks.clip(k * own.start - REACH, k * own.end + REACH);
        if own.slope == 0.0 {
            breaks.clip(
                k * (centre - TAIL * spread) - REACH,
                k * (centre + TAIL * spread) + REACH,
            );
        }
        breaks.border(k * own.start, 1.0);
        breaks.border(k * own.end, -1.0);
        if self.pair.bayes {
            self.lines
                .iter()
                .for_each(|o| meeting(line, o, &mut breaks));
        } else if let Some(range) = breaks.range() {
            self.students_changes(line, range, &mut breaks);
        }
        breaks.sorted()
    }

    /// Breaks where the student passes from one piece to another along a piece, and where a hypothesis that still counts fades. (Without the former
    /// `mismatched_updates_against_references` fails, without the latter `bayes_optimal_updates_are_those_of_a_copy`.)
    fn students_changes(&self, line: &PieceLine, range: [f64; 2], breaks: &mut Breaks) {
        let Some(student) = &self.student else {
            return;
        };
        let [along, across] = self.steps(line);
        let path = Path {
            from: self.fields(line, 0.0, 0.0),
            step: along,
            range,
        };
        let rates = |change: &Change| {
            let [z, x] = change.gradient;
            [along, across].map(|step| z.mul_add(step[Z], x * step[X]).abs())
        };
        for fade in student.fading(&path, SURE) {
            let [along, across] = rates(&fade);
            breaks.shadow(fade.place, across.hypot(1.0) / along);
        }
        for change in student.changes(&path, ALONG_STEPS) {
            let [along, across] = rates(&change);
            if change.sudden {
                breaks.change(change.place, along, across);
            } else {
                breaks.crossing(change.place, across.hypot(1.0) / along);
            }
        }
    }

    /// Which averages across matter, from one place in the middle of every panel; and the best $k$, for which $d = r - k r_0$ is smallest.
    fn rough(&self, panels: &[Vec<f64>], needed: [f64; COUNT]) -> [f64; COUNT] {
        let mut rough = needed;
        let mut response = [0.0; 2];
        let worth = ROUGH[usize::from(!self.pair.bayes)];
        for (line, panels) in self.followed.iter().zip(panels) {
            for w in panels.windows(2) {
                let t = 0.5 * (w[0] + w[1]);
                let values = self.by_rule(line, t, &self.slice(line, t), HERMITE);
                response[0] += (w[1] - w[0]) * values[M];
                response[1] += (w[1] - w[0]) * values[Q0];
                for (f, x) in rough.iter_mut().zip(values) {
                    *f += worth * (w[1] - w[0]) * x.abs();
                }
            }
        }
        let k = response[0] / response[1];
        if !self.pair.bayes && k.is_finite() {
            self.pair.k.set(k);
            // these were of another k
            (rough[D1], rough[D2]) = (needed[D1], needed[D2]);
        }
        rough
    }

    /// The average over all pieces.
    pub fn average(&self) -> [f64; COUNT] {
        let needed = self.pair.floor();
        let panels: Vec<Vec<f64>> = self.followed.iter().map(|line| self.panels(line)).collect();
        let rough = self.rough(&panels, needed);
        let mut total = [0.0; COUNT];
        for (line, panels) in self.followed.iter().zip(&panels) {
            let length = panels
                .last()
                .zip(panels.first())
                .map_or(1.0, |(b, a)| b - a);
            let floor = rough.map(|f| f / length);
            let effort = Effort {
                monitored: None,
                floor: rough,
                tolerance: self.tolerance[1],
                empty: 0.0,
            };
            let sample = &mut |t: f64| Sample::plain(self.across(line, t, floor));
            let part = integrate(sample, panels, effort);
            (0..COUNT).for_each(|k| total[k] += part[k]);
        }
        let both = if self.pair.symmetric { 2.0 } else { 1.0 };
        total.map(|x| both * x)
    }
}
