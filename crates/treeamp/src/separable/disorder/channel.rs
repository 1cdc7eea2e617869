//! State evolution of a separable channel: the fields $b_z, b_x$ of both ends.
//!
//! The average is nested, $b_z$ outside and $b_x$ inside. Given $b_z$ the teacher's input is nearly Gaussian, of
//! precision $a_{*z}$ around $b_{*z}/a_{*z}$; its images through the channel tell where $b_x$ lives. It is the only route for smooth laws, but for those
//! whose input is known.

use std::cell::Cell;

use super::OUTER;
use super::breaks::Breaks;
use super::piece::Slice;
use super::{COUNT, Field, POTENTIAL, Point, V, floors, known_input, piece_lines, two_outputs};
use crate::math::quadrature::panels::{Effort, Monitor, Sample, integrate};
use crate::scalar::{Landmark, Piece, ScalarView, Tilt, TiltedPair};

pub(super) const Z: usize = 0;
pub(super) const X: usize = 1;
/// Relative error of an inner average: at 1e-9 masses of tanh at a sharp output are off by 2e-7, at 1e-11 averages take a quarter longer.
const INNER: f64 = 1e-10;
/// Weight, relative to the heaviest break, of what is nothing; for the variance of $x$, which may itself be
/// next to nothing, and for the other averages.
const EMPTY: [f64; 2] = [1e-40, 1e-21];

/// A teacher and a student channel at the fields of both ends.
pub(super) struct Pair<'a> {
    pub student: &'a dyn ScalarView,
    pub teacher: &'a dyn ScalarView,
    pub at: [Field; 2],
    /// The end whose overlaps are asked for; `None` for the potential.
    pub target: Option<usize>,
    /// $A_0(\hat\tau_0, 0)$.
    pub log_z0: f64,
    pub tau0: [f64; 2],
    /// The weight is formed from the excess over the tilt of this end.
    pub sharp: [bool; 2],
    pub bayes: bool,
    /// Only one sign of $b_z$ need be looked at.
    pub symmetric: bool,
    /// The factor of $r_0$ in $d = r - k r_0$: that of the target's field, unless an average finds a better one.
    pub k: Cell<f64>,
}

impl Pair<'_> {
    /// The pieces of a piecewise linear teacher that are averaged over: all of them, or the positive half where it counts twice.
    pub fn followed_pieces(&self) -> Vec<Piece> {
        let mut pieces = self.teacher.pieces();
        if self.symmetric {
            pieces.retain(|p| p.end > 0.0);
            pieces.iter_mut().for_each(|p| p.start = p.start.max(0.0));
        }
        pieces
    }

    /// $a_*, b_*$ of an end.
    fn star(&self, end: usize, b: f64) -> Tilt {
        let at = &self.at[end];
        if self.bayes {
            return Tilt { a: at.a, b };
        }
        if at.is_silent() {
            return Tilt {
                a: at.tau0_hat,
                b: 0.0,
            };
        }
        let ratio = at.m_hat / at.q_hat;
        Tilt {
            a: at.m_hat.mul_add(ratio, at.tau0_hat),
            b: ratio * b,
        }
    }

    /// The Gaussian measure of the field at an end, less the part of the tilt in the excess.
    fn log_measure(&self, end: usize, b: f64) -> f64 {
        let Field {
            m_hat,
            q_hat,
            tau0_hat,
            ..
        } = self.at[end];
        if self.at[end].is_silent() {
            0.0
        } else if self.sharp[end] {
            let spread = m_hat * m_hat + tau0_hat * q_hat;
            -0.5 * tau0_hat * (b / spread) * b - 0.5 * spread.ln()
        } else {
            -0.5 * (b / q_hat) * b - 0.5 * (std::f64::consts::TAU * q_hat).ln()
        }
    }

    fn student_at(&self, bz: f64, bx: f64) -> TiltedPair {
        self.student_with_excess(bz, bx).0
    }

    /// The student's law at a pair of fields, and its potential or the excess that is asked for.
    fn student_with_excess(&self, bz: f64, bx: f64) -> (TiltedPair, f64) {
        let (z, x) = (self.at[Z].a, self.at[X].a);
        let (z, x) = (Tilt { a: z, b: bz }, Tilt { a: x, b: bx });
        // one law may have a table as the teacher's alone
        let law = if self.bayes {
            self.teacher
        } else {
            self.student
        };
        let nothing = TiltedPair::divergent(0.0, 0.0);
        if self.at[X].excess {
            let both = law.channel_with_excess(z, x, self.sharp);
            return both.unwrap_or((nothing, f64::INFINITY));
        }
        let t = law.channel(z, x).unwrap_or(nothing);
        (t, t.log_z)
    }

    /// $\ln\frac{r - c}{c' - r}$ of the student's mean $r$ half way between two atoms $c < c'$ of the output.
    fn log_odds(&self, bz: f64, low: Landmark, high: Landmark) -> Option<f64> {
        if low.width > 0.0 || high.width > 0.0 || !(low.place < high.place) {
            return None;
        }
        let bx = 0.5 * self.at[X].a * (low.place + high.place);
        let r = self.student_at(bz, bx).mean_x;
        let odds = (r - low.place) / (high.place - r);
        (odds > 0.0).then(|| odds.ln())
    }

    /// A law in a cheaper form, at the precisions of the teacher or of the student.
    pub(super) fn tabulated(
        &self,
        view: &dyn ScalarView,
        starred: bool,
    ) -> Option<Box<dyn ScalarView>> {
        if self.bayes && !starred {
            return None;
        }
        let at = &self.at[Z];
        // rare signals and rare noise may meet
        let far = 8.0 * at.m_hat.mul_add(self.tau0[Z].sqrt(), at.q_hat.sqrt());
        if starred {
            let (z, x) = (self.star(Z, far), self.star(X, 0.0));
            view.tabulated([z.a, x.a], (z.b / z.a).abs())
        } else {
            view.tabulated([at.a, self.at[X].a], (far / at.a).abs())
        }
    }

    /// What teacher and student say at a pair of fields, and the weight of the pair if it is not zero.
    fn visit(&self, bz: f64, bx: f64) -> Option<(f64, Point)> {
        let (z, x) = (self.star(Z, bz), self.star(X, bx));
        let measure = self.log_measure(Z, bz) + self.log_measure(X, bx) - self.log_z0;
        let nothing = (TiltedPair::divergent(0.0, 0.0), f64::INFINITY);
        let (t0, excess) = if self.sharp[Z] || self.sharp[X] {
            let both = self.teacher.channel_with_excess(z, x, self.sharp);
            both.unwrap_or(nothing)
        } else {
            let t = self.teacher.channel(z, x).unwrap_or(nothing.0);
            (t, t.log_z)
        };
        let weight = (excess + measure).exp();
        if !(weight > 0.0) {
            return None;
        }
        let t = if self.bayes {
            t0
        } else {
            self.student_at(bz, bx)
        };
        let end = self.target.unwrap_or(X);
        let of = |t: &TiltedPair| {
            if end == Z {
                (t.mean_z, t.variance_z)
            } else {
                (t.mean_x, t.variance_x)
            }
        };
        let ((mut r, v), (mut r0, v0)) = (of(&t), of(&t0));
        if self.at[end].is_silent() {
            (r, r0) = (settled(r, v), settled(r0, v0));
        }
        let point = Point {
            log_z: if self.at[X].excess { excess } else { t.log_z },
            r,
            v,
            r0,
            v0,
        };
        Some((weight, point))
    }

    /// The averaged quantities at a pair of fields, with a weight other than that of the pair.
    pub(super) fn weighted(&self, [bz, bx]: [f64; 2], weight: f64) -> [f64; COUNT] {
        match self.visit(bz, bx) {
            Some((_, point)) => point.weighted(weight, self.k.get()),
            None => [0.0; COUNT],
        }
    }

    /// The same where the signal is known by other means, and nothing is asked of the teacher's law.
    pub(super) fn given(&self, [bz, bx]: [f64; 2], signal: &Slice, weight: f64) -> [f64; COUNT] {
        let end = self.target.unwrap_or(X);
        let (t, log_z) = self.student_with_excess(bz, bx);
        let (mut r, v) = if end == Z {
            (t.mean_z, t.variance_z)
        } else {
            (t.mean_x, t.variance_x)
        };
        if self.at[end].is_silent() {
            r = settled(r, v);
        }
        let point = Point {
            log_z,
            r,
            v,
            r0: signal.mean[end],
            v0: signal.variance[end],
        };
        point.weighted(weight, self.k.get())
    }

    /// All averaged quantities at a pair of fields.
    fn sample(&self, bz: f64, bx: f64) -> Sample<COUNT> {
        let Some((weight, point)) = self.visit(bz, bx) else {
            return Sample::plain([0.0; COUNT]);
        };
        // the mean of x rises with b_x as its variance says
        let rise = if self.target == Some(X) {
            point.r
        } else {
            f64::NAN
        };
        Sample {
            values: point.weighted(weight, self.k.get()),
            weight,
            rise: [rise, 0.0],
            slope: [point.v, 0.0],
        }
    }

    /// Which averages are needed, and to what accuracy.
    pub(super) fn floor(&self) -> [f64; COUNT] {
        let Some(end) = self.target else {
            let mut floor = [f64::INFINITY; COUNT];
            floor[..=POTENTIAL].fill(0.0);
            return floor;
        };
        let at = Field {
            bayes: self.bayes,
            ..self.at[end]
        };
        let mut floor = floors(&at, self.tau0[end]);
        floor[POTENTIAL] = f64::INFINITY;
        floor
    }

    /// The average over $b_x$ at one $b_z$.
    fn inner(&self, bz: f64, floor: [f64; COUNT]) -> [f64; COUNT] {
        let at = &self.at[X];
        if at.is_silent() {
            return self.sample(bz, 0.0).values;
        }
        let images = |view: &dyn ScalarView, z: Tilt| {
            if z.a > 0.0 {
                view.images(z.b / z.a, 1.0 / z.a.sqrt())
            } else {
                Vec::new()
            }
        };
        let mut marks0 = images(self.teacher, self.star(Z, bz));
        if marks0.is_empty() {
            marks0.push(Landmark::spread(0.0, self.tau0[X].sqrt()));
        }
        let own = Tilt {
            a: self.at[Z].a,
            b: bz,
        };
        let marks = images(self.student, own);
        let mut breaks = Breaks::nested();
        breaks.teacher(&marks0, at.m_hat, at.q_hat);
        breaks.students_transitions(&marks, at.a, |low, high| {
            self.log_odds(bz, low, high).unwrap_or(0.0)
        });
        let effort = Effort {
            monitored: Some(
                [Monitor {
                    against: V,
                    scale: self.tau0[X].sqrt(),
                }; 2],
            ),
            floor,
            tolerance: INNER,
            empty: EMPTY[usize::from(self.target != Some(X))],
        };
        integrate(&mut |bx| self.sample(bz, bx), &breaks.sorted(), effort)
    }

    pub(super) fn average(&self) -> [f64; COUNT] {
        if let Some(sums) = two_outputs::average(self) {
            return sums;
        }
        if let Some(lines) = piece_lines::PieceLines::of(self) {
            return lines.average();
        }
        if let Some(sums) = known_input::average(self) {
            return sums;
        }
        let at = &self.at[Z];
        let needed = self.floor();
        if at.is_silent() {
            return self.inner(0.0, needed);
        }
        let mut breaks = Breaks::nested();
        let width = at.q_hat.sqrt().hypot(at.m_hat * self.tau0[Z].sqrt());
        breaks.component(0.0, width);
        for mark in self.teacher.landmarks(None) {
            breaks.knee(at.m_hat * mark.place, at.q_hat.sqrt());
        }
        for mark in self.student.landmarks(None) {
            breaks.bend(at.a * mark.place, at.a.abs().sqrt());
        }
        if self.symmetric {
            breaks.clip(0.0, f64::INFINITY);
        }
        let breaks = breaks.sorted();
        // which inner averages matter: one pass without refinement
        let mut floor = needed;
        for w in breaks.windows(2) {
            let values = self.inner(0.5 * (w[0] + w[1]), [f64::INFINITY; COUNT]);
            for (f, x) in floor.iter_mut().zip(values) {
                *f += 0.1 * (w[1] - w[0]) * x.abs();
            }
        }
        // an inner average is a density in b_z: in units of the outer measure
        let unit = 1.0 / width;
        for f in &mut floor {
            *f *= unit;
        }
        let effort = Effort {
            monitored: None,
            floor: needed,
            tolerance: OUTER,
            empty: 0.0,
        };
        let node = &mut |bz| Sample::plain(self.inner(bz, floor));
        let both = if self.symmetric { 2.0 } else { 1.0 };
        integrate(node, &breaks, effort).map(|x| both * x)
    }
}

/// Zero for a mean that is zero up to rounding: symmetric laws at a field of zero.
fn settled(mean: f64, variance: f64) -> f64 {
    if mean.abs() <= 8.0 * f64::EPSILON * variance.sqrt() {
        0.0
    } else {
        mean
    }
}
