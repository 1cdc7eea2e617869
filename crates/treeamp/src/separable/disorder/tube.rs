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

use std::cell::Cell;

use super::across::{Axis, trapezoid};
use super::breaks::Breaks;
use super::changes::{Hypotheses, Path};
use super::channel::{Pair, X, Z};
use super::panels::{Effort, Sample, integrate};
use super::piece::{Slice, Tube};
use super::rivals::{Rival, SUDDEN, cuts, meeting, places};
use super::segments::{HERMITE, Kind, Segment, quadratic_rule, segments};
use super::{COUNT, D1, D2, Field, M, Q0, V};
use crate::math::special::normal_density;
use crate::scalar::Piece;

/// Standard deviations beyond which there is nothing: $10^{-18}$, for rare events tell as well.
pub(super) const REACH: f64 = 9.0;
/// Standard deviations of the signal beyond which it contributes nothing to a second moment: $10^{-10}$.
const TAIL: f64 = 7.0;
/// Averages across that are taken by panels once the trapezoidal rule has failed.
const WAIT: u32 = 12;
/// Rates from which on a student's change is followed in a variable of its own.
const SHARP_CHANGE: f64 = 1.5;
/// Relative error across a piece and along it, as it is estimated: variances are then within 4e-9 of those at tighter settings.
pub(super) const TOLERANCE: f64 = 1e-8;
const ALONG: f64 = 1.5e-8;
/// The same along a piece of the teacher's own.
const OWN: f64 = 2e-8;
/// The same along a piece for the potential of a student that is not the teacher, which is large where fields are.
const POTENTIAL: f64 = 2e-9;
/// How much smaller they are where the input is hardly seen and most of a piece looks alike.
const FAINT: f64 = 0.5;
/// What the rough values of averages are worth: less where a student changes its mind sharply, and they may be far too large.
const ROUGH: [f64; 2] = [0.1, 1e-3];
/// $\hat m\tau_0$ of both ends from which on pieces are followed: below, they overlap. The input of pieces that are all sloped is also
/// told by the output.
const CLEAR: [f64; 2] = [5.0, 1e2];
const SLOPED: f64 = 0.5;
/// The same of the output alone, where some pieces are flat and some are not.
const SHARP: f64 = 20.0;
/// Steps in which changes of the student are looked for, along a piece and across it.
const ALONG_STEPS: u32 = 160;
const ACROSS_STEPS: u32 = 36;
/// Places across a piece from which they are looked for along it.
const ASIDE: [f64; 5] = [0.0, -3.0, 3.0, -6.5, 6.5];
/// The logarithm of doubts that do not count.
const SURE: f64 = -23.0;
/// The pieces of a teacher's channel.
pub(super) struct Tubes<'a> {
    pair: &'a Pair<'a>,
    /// Those to be followed: all of them, or one half.
    followed: Vec<Tube>,
    /// All of them.
    lines: Vec<Tube>,
    /// The pieces of the student, if it has any.
    student: Option<Hypotheses>,
    /// Relative errors across and along.
    tolerance: [f64; 2],
    /// How many averages across are taken by panels before the trapezoidal rule is tried again.
    wait: Cell<u32>,
}

/// Pieces that are to be followed: always where the student is another, and else if both ends see them clearly and some are sloped.
fn is_followed(pair: &Pair<'_>, pieces: &[Piece]) -> bool {
    if !pair.bayes || pieces.is_empty() {
        return !pieces.is_empty();
    }
    let flat = pieces.iter().filter(|p| p.slope == 0.0).count();
    let clear = |end: usize, from: f64| pair.at[end].m_hat * pair.tau0[end] >= from;
    if flat == 0 {
        return clear(Z, SLOPED) && clear(X, CLEAR[X]);
    }
    // flat pieces leave few inputs to confuse, and panels over the fields do as well
    let simple = pair.symmetric || pieces.len() < 3 || flat == pieces.len();
    !simple && (clear(Z, CLEAR[Z]) && clear(X, CLEAR[X]) || clear(X, SHARP))
}

impl<'a> Tubes<'a> {
    /// The pieces of a piecewise linear channel, where they are to be followed.
    pub fn of(pair: &'a Pair<'a>) -> Option<Self> {
        let mut pieces = pair.teacher.pieces();
        if !is_followed(pair, &pieces) {
            return None;
        }
        let tube = |piece: &Piece| Tube::new(piece, &pair.at);
        let lines = pieces.iter().map(tube).collect();
        if pair.symmetric {
            // the positive half, twice
            pieces.retain(|p| p.end > 0.0);
            pieces.iter_mut().for_each(|p| p.start = p.start.max(0.0));
        }
        let followed = pieces.iter().map(tube).collect();
        Some(Self {
            pair,
            followed,
            lines,
            student: Hypotheses::of(pair),
            tolerance: match (pair.target, pair.at[Z].m_hat * pair.tau0[Z] < CLEAR[Z]) {
                (None, _) if !pair.bayes => [TOLERANCE, POTENTIAL],
                (_, true) if pair.bayes => [TOLERANCE, OWN].map(|x| FAINT * x),
                _ if pair.bayes => [TOLERANCE, OWN],
                _ => [TOLERANCE, ALONG],
            },
            wait: Cell::new(0),
        })
    }

    /// The signals of a piece at a place along it.
    fn slice(&self, tube: &Tube, t: f64) -> Slice {
        let tilt = [Z, X].map(|i| self.pair.at[i].tau0_hat);
        tube.slice(t, tilt, self.pair.log_z0)
    }

    /// What a step along a piece and one across it add to the fields.
    fn steps(&self, tube: &Tube) -> [[f64; 2]; 2] {
        let [c, d] = tube.along;
        let noise = [Z, X].map(|i| self.pair.at[i].q_hat.sqrt());
        [[noise[Z] * c, noise[X] * d], [-noise[Z] * d, noise[X] * c]]
    }

    /// The averaged quantities at a place across a piece. Where the student is another the signal is known from the place
    /// along the piece alone, and the teacher's law is not asked.
    fn values(&self, tube: &Tube, [t, n]: [f64; 2], slice: &Slice, weight: f64) -> [f64; COUNT] {
        let fields = self.fields(tube, t, n);
        if self.pair.bayes {
            self.pair.weighted(fields, weight)
        } else {
            self.pair.facing(fields, slice, weight)
        }
    }

    /// The fields at a place along and across a piece.
    fn fields(&self, tube: &Tube, t: f64, n: f64) -> [f64; 2] {
        let [c, d] = tube.along;
        let noise = [Z, X].map(|i| self.pair.at[i].q_hat.sqrt());
        [
            noise[Z] * c.mul_add(t, -d * n),
            noise[X] * (tube.offset + d.mul_add(t, c * n)),
        ]
    }

    /// The panels along a piece.
    fn panels(&self, tube: &Tube) -> Vec<f64> {
        let tilt = [Z, X].map(|i| self.pair.at[i].tau0_hat);
        let Piece {
            start,
            end,
            offset,
            slope,
        } = tube.piece;
        let curvature = tilt[X].mul_add(slope * slope, tilt[Z]);
        let (centre, spread) = if curvature > 0.0 {
            let sd = 1.0 / curvature.sqrt();
            (-tilt[X] * slope * offset / curvature, sd)
        } else {
            (0.0, self.pair.tau0[Z].sqrt())
        };
        let k = tube.length;
        let mut breaks = Breaks::nested();
        breaks.component(k * centre, (k * spread).hypot(1.0));
        breaks.clip(k * start - REACH, k * end + REACH);
        if slope == 0.0 {
            breaks.clip(
                k * (centre - TAIL * spread) - REACH,
                k * (centre + TAIL * spread) + REACH,
            );
        }
        breaks.border(k * start, 1.0);
        breaks.border(k * end, -1.0);
        if self.pair.bayes {
            self.lines
                .iter()
                .for_each(|o| meeting(tube, o, &mut breaks));
        } else if let Some(range) = breaks.range() {
            self.students_changes(tube, range, &mut breaks);
        }
        breaks.sorted()
    }

    /// Breaks where the student changes its mind along a piece. Seen from a place across, the change moves by $\partial_n/\partial_t$, and where its
    /// path is curved it may be far from the one in the middle.
    fn students_changes(&self, tube: &Tube, range: [f64; 2], breaks: &mut Breaks) {
        let Some(student) = &self.student else {
            return;
        };
        let [along, across] = self.steps(tube);
        for n in ASIDE {
            let path = Path {
                from: self.fields(tube, 0.0, n),
                step: along,
                range,
            };
            for change in student.changes(&path, ALONG_STEPS) {
                let rate = |step: [f64; 2]| {
                    let [z, x] = change.gradient;
                    z.mul_add(step[Z], x * step[X]).abs()
                };
                let (along, across) = (rate(along), rate(across));
                if n != 0.0 {
                    breaks.passing(change.place, across.hypot(1.0) / along);
                } else if change.sudden {
                    breaks.change(change.place, along, across);
                } else {
                    breaks.crossing(change.place, across.hypot(1.0) / along);
                }
            }
        }
    }

    /// The line across a piece at a place along it.
    fn path(&self, tube: &Tube, t: f64) -> Path {
        let [_, step] = self.steps(tube);
        Path {
            from: self.fields(tube, t, 0.0),
            step,
            range: [-REACH, REACH],
        }
    }

    /// The student is sure of one piece at all places across: its mean is then linear in the noise, and its variance constant.
    fn is_sure(&self, path: &Path, density: f64, floor: &[f64; COUNT]) -> bool {
        let (end, least) = match self.pair.target {
            Some(end) => (end, floor[V].min(floor[D2]) / density),
            None => (Z, 1.0),
        };
        let doubt = |s: &Hypotheses| s.doubt(path, ACROSS_STEPS, end, least);
        self.student.as_ref().is_some_and(|s| doubt(s) < SURE)
    }

    /// Where the student changes its mind across a piece.
    fn students_rivals(student: &Hypotheses, path: &Path) -> Vec<Rival> {
        let step = path.step;
        let rival = |place: f64, [z, x]: [f64; 2]| Rival {
            place,
            rate: z.mul_add(step[Z], x * step[X]).abs(),
        };
        let changes = student.changes(path, ACROSS_STEPS).into_iter();
        changes.map(|c| rival(c.place, c.gradient)).collect()
    }

    /// Where other pieces are as near as this one, across it at one place along it.
    fn rivals(&self, tube: &Tube, t: f64, path: &Path) -> Vec<Rival> {
        if !self.pair.bayes {
            let student = self.student.as_ref();
            return student.map_or_else(Vec::new, |s| Self::students_rivals(s, path));
        }
        let places = self.lines.iter().flat_map(|other| places(tube, other, t));
        // the nearest on either side
        let (up, down): (Vec<Rival>, Vec<Rival>) = places.partition(|r| r.place > 0.0);
        let nearest = |side: Vec<Rival>| {
            let by_distance = |x: &Rival, y: &Rival| x.place.abs().total_cmp(&y.place.abs());
            side.into_iter().min_by(by_distance)
        };
        [nearest(up), nearest(down)].into_iter().flatten().collect()
    }

    /// The average across a piece at one place along it: by the trapezoidal rule, or panels where that does not do.
    fn across(&self, tube: &Tube, t: f64, floor: [f64; COUNT]) -> [f64; COUNT] {
        let slice = self.slice(tube, t);
        if slice.density == 0.0 {
            return [0.0; COUNT];
        }
        if self.pair.at.iter().any(Field::is_silent) {
            return self.values(tube, [t, 0.0], &slice, slice.density);
        }
        let sample = &mut |n: f64| {
            let weight = slice.density * normal_density(n);
            self.values(tube, [t, n], &slice, weight)
        };
        let path = self.path(tube, t);
        if self.is_sure(&path, slice.density, &floor) {
            return self.by_rule(tube, t, &slice, HERMITE);
        }
        let rivals = self.rivals(tube, t, &path);
        if let Some(segments) = segments(&rivals) {
            return self.by_segments(tube, t, &slice, &path, (&segments, floor));
        }
        if let Some(sums) = self.by_trapezoid(sample, &floor, &rivals) {
            return sums;
        }
        let effort = Effort {
            monitored: None,
            floor,
            tolerance: self.tolerance[0],
            empty: 0.0,
        };
        let cuts = cuts(&rivals);
        integrate(&mut |n| Sample::plain(sample(n)), &cuts, effort)
    }

    /// The same by the trapezoidal rule, in the noise or around the one change that is sharp; where it failed for a neighbour it is not
    /// tried at once again.
    fn by_trapezoid(
        &self,
        f: &mut impl FnMut(f64) -> [f64; COUNT],
        floor: &[f64; COUNT],
        rivals: &[Rival],
    ) -> Option<[f64; COUNT]> {
        let bayes = self.pair.bayes;
        let far = |far: f64, r: &Rival| far.max(r.place.abs());
        // the teacher's own rivals are only the nearest
        let quiet = if bayes {
            REACH
        } else {
            rivals.iter().fold(0.0, far) + 2.0
        };
        let mut sharp = rivals.iter().filter(|r| r.rate >= SHARP_CHANGE);
        let one = if bayes { None } else { sharp.next() };
        let fastest = rivals.iter().fold(0.0, |rate: f64, r| rate.max(r.rate));
        let near = if bayes { SUDDEN } else { SHARP_CHANGE };
        if self.wait.get() == 0 && !rivals.iter().any(|r| r.is_near(near)) {
            let sums = trapezoid(f, floor, &Axis::plain(fastest), quiet);
            if sums.is_some() {
                return sums;
            }
            self.wait.set(WAIT);
        }
        self.wait.set(self.wait.get().saturating_sub(1));
        let one = one.filter(|_| sharp.next().is_none())?;
        trapezoid(f, floor, &Axis::around(one.place, one.rate), quiet)
    }

    /// The same where all that is averaged is a polynomial of degree two in the noise.
    fn by_rule(&self, tube: &Tube, t: f64, slice: &Slice, rule: [(f64, f64); 3]) -> [f64; COUNT] {
        let mut sums = [0.0; COUNT];
        for (n, share) in rule {
            let values = self.values(tube, [t, n], slice, share * slice.density);
            (0..COUNT).for_each(|k| sums[k] += values[k]);
        }
        sums
    }

    /// The average across a piece at one place along it, where the student changes its mind sharply.
    fn by_segments(
        &self,
        tube: &Tube,
        t: f64,
        slice: &Slice,
        path: &Path,
        (segments, floor): (&[Segment], [f64; COUNT]),
    ) -> [f64; COUNT] {
        let mut sums = [0.0; COUNT];
        // first the changes: the rest need not be known better than they are
        let (quiet, changing): (Vec<&Segment>, Vec<&Segment>) =
            segments.iter().partition(|s| s.kind == Kind::Quiet);
        for segment in changing.into_iter().chain(quiet) {
            let part = Path {
                range: segment.ends(),
                ..*path
            };
            let quiet = segment.kind == Kind::Quiet && !segment.is_short();
            if quiet && self.is_sure(&part, slice.density, &floor) {
                let values = self.by_rule(tube, t, slice, quadratic_rule(segment.ends()));
                (0..COUNT).for_each(|k| sums[k] += values[k]);
                continue;
            }
            let sample = &mut |y: f64| {
                let (n, stretch) = segment.place(y);
                let weight = slice.density * normal_density(n) * stretch;
                Sample::plain(self.values(tube, [t, n], slice, weight))
            };
            let effort = Effort {
                monitored: None,
                floor: std::array::from_fn(|k| floor[k].max(sums[k].abs())),
                tolerance: self.tolerance[0],
                empty: 0.0,
            };
            let values = integrate(sample, &segment.cuts, effort);
            (0..COUNT).for_each(|k| sums[k] += values[k]);
        }
        sums
    }

    /// Which averages across matter, from one place in the middle of every panel; and the best $k$, for which $d = r - k r_0$ is smallest.
    fn rough(&self, panels: &[Vec<f64>], needed: [f64; COUNT]) -> [f64; COUNT] {
        let mut rough = needed;
        let mut response = [0.0; 2];
        let worth = ROUGH[usize::from(!self.pair.bayes)];
        for (tube, panels) in self.followed.iter().zip(panels) {
            for w in panels.windows(2) {
                let t = 0.5 * (w[0] + w[1]);
                let values = self.by_rule(tube, t, &self.slice(tube, t), HERMITE);
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
        let panels: Vec<Vec<f64>> = self.followed.iter().map(|tube| self.panels(tube)).collect();
        let rough = self.rough(&panels, needed);
        let mut total = [0.0; COUNT];
        for (tube, panels) in self.followed.iter().zip(&panels) {
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
            let sample = &mut |t: f64| Sample::plain(self.across(tube, t, floor));
            let part = integrate(sample, panels, effort);
            (0..COUNT).for_each(|k| total[k] += part[k]);
        }
        let both = if self.pair.symmetric { 2.0 } else { 1.0 };
        total.map(|x| both * x)
    }
}
