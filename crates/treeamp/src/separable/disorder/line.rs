//! The average over one field: a prior, or a likelihood at one output.

use super::breaks::Breaks;
use super::{COUNT, Field, MASS, POTENTIAL, Point, V, V0, floors};
use super::{MISMATCHED, OUTER, SINGLE};
use crate::math::quadrature::panels::{Effort, Monitor, Sample, integrate};
use crate::scalar::{Landmark, Tilt, Tilted};

/// $\hat m^2\tau_0/\hat q$ from which on the weight is formed from the excess of the teacher's law.
pub(super) const SHARP: f64 = 1e3;

/// $b^2/\hat q$ from which on the tails of a law take the same form: $A_0$ and $b^2/2\hat q$ have few digits left of their difference.
const FAR: f64 = 1e6;
/// Share of an average in a tail that is left out.
const NO_TAIL: f64 = 1e-13;
/// Distance, as a ratio, over which the power of a tail is measured.
const OCTAVES: f64 = 1024.0;

/// $\hat m^2\tau_0/\hat q$ below which the potential is a small difference.
const FAINT: f64 = 0.1;
/// Change of a trapezoidal sum, relative, whose square is left after it.
const SETTLED: f64 = 1e-6;
/// Halvings of its step, and points of the first one on either side.
const HALVINGS: usize = 4;
const POINTS: i32 = 60;
/// Density, in units of that at the top, at which it ends.
const NOTHING: f64 = 1e-17;
/// Density, in units of the width of the disorder, beyond which there is nothing.
const NEGLIGIBLE: f64 = 1e-30;

/// A law with everything but its tilt fixed.
pub(super) struct Law<'a> {
    /// $A, r, v$.
    pub tilted: &'a dyn Fn(Tilt) -> Tilted,
    /// The excess of $A$ over that of the tilt.
    pub excess: &'a dyn Fn(Tilt) -> f64,
    /// Both, where they are one integral.
    pub both: &'a dyn Fn(Tilt) -> Option<(Tilted, f64)>,
    /// Where it lives and changes its form.
    pub marks: &'a [Landmark],
}

/// A teacher and a student seen through one field.
pub(super) struct Line<'a> {
    /// The field, of positive $\hat q$ unless it is silent.
    pub at: Field,
    /// The teacher's law.
    pub teacher: Law<'a>,
    /// The student's law.
    pub student: Law<'a>,
    /// Fields at which the student's mean has a corner.
    pub corners: Vec<f64>,
    /// $A_0(\hat\tau_0, 0)$.
    pub log_z0: f64,
    /// $\tau_0$.
    pub tau0: f64,
    /// The average has mass one: it is not one output of several.
    pub whole: bool,
    /// Both laws are even: fields of one sign count twice.
    pub even: bool,
}

/// $D + e^{-D} - 1$.
pub(super) fn gain(d: f64) -> f64 {
    if d.abs() < 1e-3 {
        0.5 * d * d * (1.0 - d / 3.0 * (1.0 - d / 4.0 * (1.0 - d / 5.0)))
    } else {
        d + (-d).exp_m1()
    }
}

/// What averages have beyond the end of the range, where a heavy tail is a power of $b$: the densities of a law with $\nu$ degrees of freedom fall as
/// $b^{-\nu - 1}$, and averages that grow as $b^2$ are nearly all tail when $\nu$ is next to two. A tail that does not fall fast enough is infinite.
fn add_tail<const N: usize>(
    sums: &mut [f64; N],
    end: f64,
    mut values: impl FnMut(f64) -> [f64; N],
) {
    let here = values(end);
    let counts = |x: f64, sum: f64| (x * end).abs() > NO_TAIL * sum.abs();
    if !here.iter().zip(&*sums).any(|(x, sum)| counts(*x, *sum)) {
        return;
    }
    let there = values(end * OCTAVES);
    for ((sum, x), far) in sums.iter_mut().zip(here).zip(there) {
        if counts(x, *sum) {
            let excess = -(far / x).ln() / OCTAVES.ln() - 1.0;
            *sum += if excess > 0.0 {
                x * end.abs() / excess
            } else {
                f64::INFINITY
            };
        }
    }
}

fn add(sums: &mut [f64; COUNT], part: &[f64; COUNT]) {
    for (sum, x) in sums.iter_mut().zip(part) {
        *sum += x;
    }
}

impl Line<'_> {
    /// $a_*, b_*$.
    fn star(&self, b: f64) -> Tilt {
        self.at.star(b)
    }

    fn is_sharp(&self) -> bool {
        let at = &self.at;
        at.m_hat * (at.m_hat * self.tau0) > SHARP * at.q_hat
    }

    /// The weight at a field is formed from the excess of the teacher's law.
    fn by_excess(&self, b: f64) -> bool {
        let at = &self.at;
        let far = self.whole && at.m_hat != 0.0 && (b / at.q_hat) * b > FAR;
        self.is_sharp() || (far && self.star(b).a > 0.0)
    }

    /// The field says so little that $\bar A - A_0$ is a small difference of averages. It is then taken from
    /// $E[e^{-D}] = 1$ for $D = A - A_0$, as $E[D + e^{-D} - 1]$.
    fn is_faint(&self) -> bool {
        let at = &self.at;
        self.whole && at.bayes && !at.excess && at.m_hat * (at.m_hat * self.tau0) < FAINT * at.q_hat
    }

    /// $\ln p(b)$ from $X_0(a_*, b_*)$.
    fn log_weight_sharp(&self, b: f64, excess: f64) -> f64 {
        let Field {
            m_hat,
            q_hat,
            tau0_hat,
            ..
        } = self.at;
        // the square of m̂ may overflow
        let spread = 1.0 + tau0_hat * (q_hat / m_hat) / m_hat;
        let x = b / m_hat;
        excess
            - 0.5 * tau0_hat * x * x / spread
            - 0.5 * spread.ln()
            - m_hat.abs().ln()
            - self.log_z0
    }

    /// $\ln p(b)$ from $A_0(a_*, b_*)$.
    fn log_weight(&self, b: f64, log_z: f64) -> f64 {
        let q = self.at.q_hat;
        log_z - 0.5 * (b / q) * b - 0.5 * (std::f64::consts::TAU * q).ln() - self.log_z0
    }

    /// The point at a field, from what is known of the teacher there already.
    fn point(&self, b: f64, teacher: Option<Tilted>, excess0: Option<f64>) -> Point {
        let tilt = Tilt { a: self.at.a, b };
        let (own, own_excess) = if self.at.bayes {
            let t = teacher.unwrap_or_else(|| (self.student.tilted)(tilt));
            (t, excess0)
        } else {
            let both = self.at.excess.then(|| (self.student.both)(tilt)).flatten();
            let t = both.map_or_else(|| (self.student.tilted)(tilt), |(t, _)| t);
            (t, both.map(|(_, excess)| excess))
        };
        let t0 = if self.at.bayes {
            own
        } else {
            teacher.unwrap_or_else(|| (self.teacher.tilted)(self.star(b)))
        };
        let log_z = if self.at.excess {
            own_excess.unwrap_or_else(|| (self.student.excess)(tilt))
        } else {
            own.log_z
        };
        Point {
            log_z,
            r: own.mean,
            v: own.variance,
            r0: t0.mean,
            v0: t0.variance,
        }
    }

    /// $p(b)$, and the moments unless it is zero.
    fn visit(&self, b: f64) -> (f64, Option<Point>) {
        let star = self.star(b);
        let sharp = self.by_excess(b);
        let both = (sharp || self.at.excess).then(|| (self.teacher.both)(star));
        let (log_weight, teacher, excess) = match both.flatten() {
            Some((t, excess)) if sharp => (self.log_weight_sharp(b, excess), Some(t), Some(excess)),
            Some((t, excess)) => (self.log_weight(b, t.log_z), Some(t), Some(excess)),
            None if sharp => {
                let excess = (self.teacher.excess)(star);
                (self.log_weight_sharp(b, excess), None, Some(excess))
            }
            None => {
                let t = (self.teacher.tilted)(star);
                (self.log_weight(b, t.log_z), Some(t), None)
            }
        };
        let weight = log_weight.exp();
        if weight > 0.0 {
            (weight, Some(self.point(b, teacher, excess)))
        } else {
            (0.0, None)
        }
    }

    fn breaks(&self) -> Vec<f64> {
        let at = &self.at;
        let mut breaks = match (at.bayes, self.whole) {
            (true, _) => Breaks::new(),
            (false, true) => Breaks::mismatched(),
            (false, false) => Breaks::output(),
        };
        breaks.teacher(self.teacher.marks, at.m_hat, at.q_hat);
        breaks.student(self.student.marks, at.a);
        self.corners.iter().for_each(|b| breaks.corner(*b));
        if at.bayes || self.whole {
            // the tails of a law need not be Gaussian
            let unit = at.q_hat.sqrt().max(at.m_hat.abs() * self.tau0.sqrt());
            breaks.extend(|b| self.weight(b) * unit < NEGLIGIBLE);
        }
        if self.even {
            breaks.clip(0.0, f64::INFINITY);
        }
        breaks.sorted()
    }

    fn weight(&self, b: f64) -> f64 {
        let log_weight = if self.by_excess(b) {
            self.log_weight_sharp(b, (self.teacher.excess)(self.star(b)))
        } else {
            self.log_weight(b, (self.teacher.tilted)(self.star(b)).log_z)
        };
        log_weight.exp()
    }

    /// Averages that are zero up to rounding need no accuracy of their own, and some are not needed.
    fn effort(&self) -> Effort<COUNT> {
        Effort {
            monitored: Some([
                Monitor {
                    against: V,
                    scale: self.tau0.sqrt(),
                },
                Monitor {
                    against: V0,
                    scale: 0.0,
                },
            ]),
            floor: floors(&self.at, self.tau0),
            tolerance: match (self.at.bayes, self.whole) {
                (true, _) => SINGLE,
                (false, true) => MISMATCHED,
                (false, false) => OUTER,
            },
            empty: 0.0,
        }
    }

    /// The nine quantities at a field, times its density.
    fn sample(&self, b: f64, faint: bool) -> Sample<COUNT> {
        let at = &self.at;
        let (weight, Some(p)) = self.visit(b) else {
            return Sample::plain([0.0; COUNT]);
        };
        // dr/db = v and dr0/db = v0 m̂/q̂
        let (rise0, slope0) = if at.m_hat == 0.0 || at.bayes {
            (0.0, 0.0)
        } else {
            (at.q_hat / at.m_hat * p.r0, p.v0)
        };
        let mut values = p.weighted(weight, at.k);
        if faint {
            values[POTENTIAL] = weight * gain(p.log_z - self.log_z0);
        }
        Sample {
            values,
            weight,
            rise: [p.r, rise0],
            slope: [p.v, slope0],
        }
    }

    /// The nine averages of an analytic weight with one top, near a place and of a width, by the trapezoidal rule: its error is squared when the
    /// step is halved. Averages that are next to nothing beside `seen` need no accuracy of their own. `None` where that is not reached.
    pub fn about_top(
        &self,
        (place, width): (f64, f64),
        seen: &[f64; COUNT],
    ) -> Option<[f64; COUNT]> {
        let values = |b: f64| self.sample(b, false).values;
        let mut sums = values(place);
        let (mut top, mut ends) = (sums[MASS], [0_i32; 2]);
        for (end, side) in ends.iter_mut().zip([-1.0, 1.0]) {
            loop {
                *end += 1;
                if *end > POINTS {
                    return None;
                }
                let part = values((side * width).mul_add(f64::from(*end), place));
                add(&mut sums, &part);
                top = part[MASS].max(top);
                if !(part[MASS] > NOTHING * top) {
                    break;
                }
            }
        }
        let floor = floors(&self.at, self.tau0);
        let (mut step, mut points) = (width, [-ends[0], ends[1]]);
        for _ in 0..HALVINGS {
            // the points between
            let mut between = [0.0; COUNT];
            for i in points[0]..points[1] {
                let b = step.mul_add(f64::from(i) + 0.5, place);
                add(&mut between, &values(b));
            }
            let changes = sums.iter().zip(&between);
            let mut scales = sums.iter().zip(seen).zip(floor);
            let settled = changes.into_iter().all(|(x, y)| {
                let scale = scales.next().map_or(0.0, |((x, seen), floor)| {
                    (step * x).abs() + seen.abs() + floor
                });
                step * (x - y).abs() <= SETTLED * scale
            });
            add(&mut sums, &between);
            (step, points) = (0.5 * step, points.map(|n| 2 * n));
            if settled {
                return Some(sums.map(|x| step * x));
            }
        }
        None
    }

    /// The nine averages, of total mass $E[1]$.
    pub fn average(&self) -> [f64; COUNT] {
        let at = &self.at;
        if at.is_silent() {
            let t0 = (self.teacher.tilted)(Tilt {
                a: at.tau0_hat,
                b: 0.0,
            });
            let mass = (t0.log_z - self.log_z0).exp();
            return self.point(0.0, Some(t0), None).weighted(mass, at.k);
        }
        let faint = self.is_faint();
        let sample = &mut |b: f64| self.sample(b, faint);
        let breaks = self.breaks();
        let mut sums = integrate(sample, &breaks, self.effort());
        if self.whole {
            for end in [breaks.first(), breaks.last()].into_iter().flatten() {
                add_tail(&mut sums, *end, |b| sample(b).values);
            }
        }
        if self.even {
            sums = sums.map(|x| 2.0 * x);
        }
        if faint {
            sums[POTENTIAL] += self.log_z0;
        }
        sums
    }

    /// $E[f(b)]$ for a function bounded by one.
    pub fn expectation(&self, f: &dyn Fn(f64) -> f64) -> f64 {
        if self.at.is_silent() {
            return f(0.0);
        }
        let sample = &mut |b: f64| {
            let weight = self.weight(b);
            Sample::plain([weight, if weight > 0.0 { weight * f(b) } else { 0.0 }])
        };
        let [mass, mean] = integrate(sample, &self.breaks(), Effort::plain(SINGLE));
        mean / mass
    }
}
