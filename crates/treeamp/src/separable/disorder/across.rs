//! Averages across a piece of a channel at one place along it.

use super::channel::{X, Z};
use super::crossovers::{Crossover, SUDDEN, cuts, places};
use super::piece::{PieceLine, Slice};
use super::piece_lines::{PieceLines, REACH, TOLERANCE};
use super::piece_odds::{Path, PieceOdds};
use super::segments::{HERMITE, Kind, Segment, quadratic_rule, segments};
use super::{COUNT, D2, Field, V};
use crate::math::quadrature::panels::{Effort, Sample, integrate};
use crate::math::quadrature::trapezoid::{Reach, trapezoid};
use crate::math::special::normal_density;

/// Averages across that are taken by panels once the trapezoidal rule has failed: neighbours that take turns between the two differ by more than a
/// fixed point is reached to, and `students_of_the_same_model_over_a_grid` fails.
const WAIT: u32 = 12;
/// Rates from which on a student's change is for panels at once.
const SHARP_CHANGE: f64 = 1.5;
/// The logarithm of doubts that do not count.
pub(super) const SURE: f64 = -23.0;
/// Steps in which changes of the student are looked for across a piece.
const ACROSS_STEPS: u32 = 36;

impl PieceLines<'_> {
    /// The line across a piece at a place along it.
    fn path(&self, line: &PieceLine, t: f64) -> Path {
        let [_, step] = self.steps(line);
        Path {
            from: self.fields(line, t, 0.0),
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
        let doubt = |s: &PieceOdds| s.doubt(path, ACROSS_STEPS, end, least);
        self.student.as_ref().is_some_and(|s| doubt(s) < SURE)
    }

    /// Where the student passes from one of its pieces to another.
    fn students_crossovers(student: &PieceOdds, path: &Path) -> Vec<Crossover> {
        let step = path.step;
        let crossover = |place: f64, [z, x]: [f64; 2]| Crossover {
            place,
            rate: z.mul_add(step[Z], x * step[X]).abs(),
        };
        let changes = student.changes(path, ACROSS_STEPS).into_iter();
        changes.map(|c| crossover(c.place, c.gradient)).collect()
    }

    /// Where other pieces are as near as this one, across it at one place along it.
    fn crossovers(&self, line: &PieceLine, t: f64, path: &Path) -> Vec<Crossover> {
        if !self.pair.bayes {
            let student = self.student.as_ref();
            return student.map_or_else(Vec::new, |s| Self::students_crossovers(s, path));
        }
        let places = self.lines.iter().flat_map(|other| places(line, other, t));
        // the nearest on either side
        let (up, down): (Vec<Crossover>, Vec<Crossover>) = places.partition(|r| r.place > 0.0);
        let nearest = |side: Vec<Crossover>| {
            let by_distance =
                |x: &Crossover, y: &Crossover| x.place.abs().total_cmp(&y.place.abs());
            side.into_iter().min_by(by_distance)
        };
        [nearest(up), nearest(down)].into_iter().flatten().collect()
    }

    /// The average across a piece at one place along it: by the trapezoidal rule, or panels where that does not do.
    pub fn across(&self, line: &PieceLine, t: f64, floor: [f64; COUNT]) -> [f64; COUNT] {
        let slice = self.slice(line, t);
        if slice.density == 0.0 {
            return [0.0; COUNT];
        }
        if self.pair.at.iter().any(Field::is_silent) {
            return self.values(line, [t, 0.0], &slice, slice.density);
        }
        let sample = &mut |n: f64| {
            let weight = slice.density * normal_density(n);
            self.values(line, [t, n], &slice, weight)
        };
        let path = self.path(line, t);
        if self.is_sure(&path, slice.density, &floor) {
            return self.by_rule(line, t, &slice, HERMITE);
        }
        let crossovers = self.crossovers(line, t, &path);
        if let Some(segments) = segments(&crossovers) {
            return self.by_segments(line, t, &slice, &path, (&segments, floor));
        }
        if let Some(sums) = self.by_trapezoid(sample, &floor, &crossovers) {
            return sums;
        }
        let effort = Effort {
            monitored: None,
            floor,
            tolerance: self.tolerance[0],
            empty: 0.0,
        };
        let cuts = cuts(&crossovers);
        integrate(&mut |n| Sample::plain(sample(n)), &cuts, effort)
    }

    /// The same by the trapezoidal rule; where it failed for a neighbour it is not tried at once again. (Without it
    /// `students_of_the_same_model_over_a_grid` fails: panels that are split or not make averages leap.)
    fn by_trapezoid(
        &self,
        f: &mut impl FnMut(f64) -> [f64; COUNT],
        floor: &[f64; COUNT],
        crossovers: &[Crossover],
    ) -> Option<[f64; COUNT]> {
        let bayes = self.pair.bayes;
        let far = |far: f64, r: &Crossover| far.max(r.place.abs());
        // the teacher's own crossovers are only the nearest
        let quiet = if bayes {
            REACH
        } else {
            crossovers.iter().fold(0.0, far) + 2.0
        };
        let reach = Reach {
            end: REACH,
            quiet,
            tolerance: TOLERANCE,
        };
        let fastest = crossovers.iter().fold(0.0, |rate: f64, r| rate.max(r.rate));
        let near = if bayes { SUDDEN } else { SHARP_CHANGE };
        if self.wait.get() == 0 && !crossovers.iter().any(|r| r.is_near(near)) {
            let sums = trapezoid(f, floor, fastest, reach);
            if sums.is_some() {
                return sums;
            }
            self.wait.set(WAIT);
        }
        self.wait.set(self.wait.get().saturating_sub(1));
        None
    }

    /// The same where all that is averaged is a polynomial of degree two in the noise.
    pub fn by_rule(
        &self,
        line: &PieceLine,
        t: f64,
        slice: &Slice,
        rule: [(f64, f64); 3],
    ) -> [f64; COUNT] {
        let mut sums = [0.0; COUNT];
        for (n, share) in rule {
            let values = self.values(line, [t, n], slice, share * slice.density);
            (0..COUNT).for_each(|k| sums[k] += values[k]);
        }
        sums
    }

    /// The average across a piece at one place along it, where the student passes sharply from one piece to another.
    fn by_segments(
        &self,
        line: &PieceLine,
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
                let values = self.by_rule(line, t, slice, quadratic_rule(segment.ends()));
                (0..COUNT).for_each(|k| sums[k] += values[k]);
                continue;
            }
            let sample = &mut |y: f64| {
                let (n, stretch) = segment.place(y);
                let weight = slice.density * normal_density(n) * stretch;
                Sample::plain(self.values(line, [t, n], slice, weight))
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
}
