//! Averages of a separable likelihood over its outputs: those of positive probability one by one, over the field $b$ alone; where
//! $y = \varphi(z_0)$ has a density over $z_0$ and $b = \hat m z_0 + \sqrt{\hat q}\,\xi$, the signal being known; where the output is noisy over $y$
//! and $b$.

use std::cell::Cell;

use super::breaks::Breaks;
use super::gaussian::log_gaussian;
use super::line::{Law, Line};
use super::{COUNT, D1, D2, Field, INNER, M, OUTER, Point, Q, Sums, V, floors, is_symmetric};
use crate::error::FactorError;
use crate::math::quadrature::panels::{Effort, Monitor, Sample, integrate};
use crate::math::special::normal_density;
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarView, Tilt, Tilted};

/// An overlap $m$ that is next to none, as a fraction of $\sqrt{q\tau_0}$.
const UNSEEN: f64 = 1e-5;

/// Relative error of inner averages that tell which of them matter.
const ROUGH: f64 = 1e-2;
/// Deviations of the noise up to which the student must be a Gaussian for a rule of three points, and how nearly.
pub(super) const REACH: f64 = 8.0;
const STRAIGHT: f64 = 1e-11;

/// Log-mass of an octave of outputs that is left out.
const TAIL: f64 = -25.0;

/// A teacher and a student likelihood at one field.
pub(super) struct Pair<'a> {
    pub student: &'a dyn ScalarView,
    pub teacher: &'a dyn ScalarView,
    pub at: Field,
    pub tau0: f64,
}

impl Pair<'_> {
    pub(super) fn tilted(view: &dyn ScalarView, y: f64, z: Tilt) -> Tilted {
        view.likelihood(y, z).unwrap_or(Tilted::divergent(0.0))
    }

    fn both(&self, parity: Parity) -> bool {
        let laws = [self.student, self.teacher];
        laws.iter().all(|law| law.parity() == Some(parity))
    }

    /// The student can explain this output.
    pub(super) fn check(&self, y: f64) -> Result<(), FactorError> {
        self.student.check_output(y).map_err(|reason| {
            FactorError::Contradiction(format!(
                "the teacher gives an output that the student holds impossible: {reason}"
            ))
        })
    }

    /// An output of positive probability: the average over $b$, of mass $P(y)$.
    fn atom(&self, y: f64) -> Result<[f64; COUNT], FactorError> {
        self.check(y)?;
        Ok(self.at_output(y))
    }

    /// The average over $b$ at an output, of mass $P(y)$ or $p(y)$.
    #[allow(clippy::redundant_closure_for_method_calls)] // the method alone has not every lifetime
    fn at_output(&self, y: f64) -> [f64; COUNT] {
        self.with_line(y, |line| line.average())
    }

    /// Hands the line of an output to `f`.
    pub(super) fn with_line<T>(&self, y: f64, f: impl FnOnce(&Line<'_>) -> T) -> T {
        let (student, teacher) = (self.student, self.teacher);
        // the signal itself is a Gaussian component
        let mut marks0 = teacher.landmarks(Some(y));
        marks0.push(Landmark::spread(0.0, self.tau0.sqrt()));
        let marks = student.landmarks(Some(y));
        let line = Line {
            at: self.at,
            teacher: Law {
                tilted: &|z| Self::tilted(teacher, y, z),
                excess: &|z| teacher.likelihood_excess(y, z).unwrap_or(f64::INFINITY),
                both: &|z| teacher.likelihood_with_excess(y, z),
                marks: &marks0,
            },
            student: Law {
                tilted: &|z| Self::tilted(student, y, z),
                excess: &|z| student.likelihood_excess(y, z).unwrap_or(f64::INFINITY),
                both: &|z| student.likelihood_with_excess(y, z),
                marks: &marks,
            },
            corners: Vec::new(),
            log_z0: log_gaussian(self.at.tau0_hat),
            tau0: self.tau0,
            whole: false,
            even: self.both(Parity::Even),
        };
        f(&line)
    }

    /// The student's point at an output and a field, the signal being known.
    fn known(&self, y: f64, z0: f64, b: f64) -> Point {
        let z = Tilt { a: self.at.a, b };
        let t = Self::tilted(self.student, y, z);
        let log_z = if self.at.excess {
            let excess = self.student.likelihood_excess(y, z);
            excess.unwrap_or(f64::INFINITY)
        } else {
            t.log_z
        };
        Point {
            log_z,
            r: t.mean,
            v: t.variance,
            r0: z0,
            v0: 0.0,
        }
    }

    /// $E_\xi$ of the nine quantities at $b = \text{centre} + \text{width}\cdot\xi$; without a `floor`, roughly.
    fn over_noise(
        &self,
        y: f64,
        (centre, width): (f64, f64),
        point: &dyn Fn(f64) -> Point,
        floor: Option<[f64; COUNT]>,
    ) -> [f64; COUNT] {
        let k = self.at.k;
        if width == 0.0 {
            return point(centre).weighted(1.0, k);
        }
        let (floor, tolerance) = match floor {
            Some(floor) => (floor, INNER),
            None => (floors(&self.at, self.tau0), ROUGH),
        };
        if self.student.quadratic(y) || is_straight(point, (centre, width), &floor) {
            // everything is a polynomial of degree two: three points of Gauss-Hermite are exact
            let mut sums = Sums::zero();
            let far = 3.0_f64.sqrt() * width;
            sums.add(&point(centre).weighted(2.0 / 3.0, k));
            sums.add(&point(centre - far).weighted(1.0 / 6.0, k));
            sums.add(&point(centre + far).weighted(1.0 / 6.0, k));
            return sums.0;
        }
        let mut breaks = Breaks::nested();
        breaks.component(centre, width);
        breaks.student(&self.student.landmarks(Some(y)), self.at.a);
        // an even student whose field knows nothing: fields of one sign, twice, but for what is odd
        let even = centre == 0.0 && self.student.parity() == Some(Parity::Even);
        if even {
            breaks.clip(0.0, f64::INFINITY);
        }
        let sample = &mut |b: f64| {
            let p = point(b);
            let weight = normal_density((b - centre) / width) / width;
            Sample {
                values: p.weighted(weight, k),
                weight,
                rise: [p.r, 0.0],
                slope: [p.v, 0.0],
            }
        };
        let effort = Effort {
            monitored: Some(
                [Monitor {
                    against: V,
                    scale: self.tau0.sqrt(),
                }; 2],
            ),
            floor,
            tolerance,
            empty: 0.0,
        };
        let mut sums = integrate(sample, &breaks.sorted(), effort);
        if even {
            sums = sums.map(|x| 2.0 * x);
            (sums[M], sums[D1]) = (0.0, 0.0);
        }
        sums
    }

    /// A stretch of the $z$-axis where the output has a density.
    fn curve(&self, low: f64, high: f64, corners: &[f64]) -> Result<[f64; COUNT], FactorError> {
        let at = &self.at;
        let sd = self.tau0.sqrt();
        let mut breaks = Breaks::nested();
        breaks.component(0.0, sd);
        breaks.clip(low, high);
        // the scale on which the field tells two inputs apart
        let fine = if at.m_hat == 0.0 {
            sd
        } else {
            (at.q_hat.sqrt() / at.m_hat.abs()).min(sd)
        };
        breaks.around(low, fine);
        breaks.around(high, fine);
        for y in corners {
            for mark in self.teacher.landmarks(Some(*y)) {
                breaks.corner(mark.place);
                breaks.around(mark.place, fine);
            }
        }
        self.changes(&mut breaks, low, high);
        self.branch_points(&mut breaks, low, high, corners);
        let node = |z: f64, floor: Option<[f64; COUNT]>| {
            let y = self.teacher.map(z).unwrap_or(f64::NAN);
            let field = (at.m_hat * z, at.q_hat.sqrt());
            let point = |b: f64| self.known(y, z, b);
            (
                y,
                normal_density(z / sd) / sd,
                self.inner(y, field, &point, floor),
            )
        };
        self.outer(&breaks.sorted(), &node)
    }

    /// The inner average, or an output that the student holds impossible.
    fn inner(
        &self,
        y: f64,
        field: (f64, f64),
        point: &dyn Fn(f64) -> Point,
        floor: Option<[f64; COUNT]>,
    ) -> Option<[f64; COUNT]> {
        self.student.check_output(y).ok()?;
        Some(self.over_noise(y, field, point, floor))
    }

    /// The outer average of `node`, which gives the output, the weight and the inner average. A rough
    /// pass tells which inner averages matter.
    #[allow(clippy::type_complexity)] // written once
    fn outer(
        &self,
        breaks: &[f64],
        node: &dyn Fn(f64, Option<[f64; COUNT]>) -> (f64, f64, Option<[f64; COUNT]>),
    ) -> Result<[f64; COUNT], FactorError> {
        let mut floor = floors(&self.at, self.tau0);
        for w in breaks.windows(2) {
            let (_, weight, values) = node(0.5 * (w[0] + w[1]), None);
            let share = 0.1 * (w[1] - w[0]) * weight;
            for (f, x) in floor.iter_mut().zip(values.unwrap_or([0.0; COUNT])) {
                *f += share * x.abs();
            }
        }
        // the overlap of a field that does not know the signal is zero, up to rounding
        let nothing = UNSEEN * (10.0 * floor[Q] * self.tau0).sqrt();
        floor[M] += nothing;
        let mut totals = floors(&self.at, self.tau0);
        totals[M] += nothing;
        let refused = Cell::new(None);
        let sample = &mut |x: f64| {
            let (y, weight, values) = node(x, Some(floor));
            let Some(mut values) = values else {
                refused.set(Some(y));
                return Sample::plain([0.0; COUNT]);
            };
            for x in &mut values {
                *x *= weight;
            }
            Sample::plain(values)
        };
        let effort = Effort {
            monitored: None,
            floor: totals,
            tolerance: OUTER,
            empty: 0.0,
        };
        let sums = integrate(sample, breaks, effort);
        match refused.get() {
            Some(y) => self.check(y).map(|()| sums),
            None => Ok(sums),
        }
    }

    /// $y = z + \sqrt\Delta\,\xi$ between two ends: given $y$ the field is $\mathcal N(\hat m\mu, \hat q + \hat m^2 s)$ with $\mu, s$ the moments of $z_0$ given $y$.
    fn noisy(&self, noise: f64, low: f64, high: f64) -> Result<[f64; COUNT], FactorError> {
        let at = &self.at;
        let total = self.tau0 + noise;
        let (sd, shrink, s) = (total.sqrt(), self.tau0 / total, self.tau0 * noise / total);
        let mut breaks = Breaks::nested();
        breaks.component(0.0, sd);
        breaks.clip(low, high);
        let width = (at.q_hat + at.m_hat * at.m_hat * s).sqrt();
        // the signal given both: a precision-weighted mean
        let variance = at.q_hat * s / (at.q_hat + at.m_hat * at.m_hat * s);
        let node = |y: f64, floor: Option<[f64; COUNT]>| {
            let mean = shrink * y;
            let point = |b: f64| {
                let (r0, v0) = if width == 0.0 {
                    (mean, s)
                } else {
                    let gain = at.m_hat * s / (width * width);
                    (mean + gain * (b - at.m_hat * mean), variance)
                };
                Point {
                    v0,
                    ..self.known(y, r0, b)
                }
            };
            let field = (at.m_hat * mean, width);
            (
                y,
                normal_density(y / sd) / sd,
                self.inner(y, field, &point, floor),
            )
        };
        self.outer(&breaks.sorted(), &node)
    }

    /// A density of the output on the whole line, of some scales at a given signal.
    fn dense(&self, scales: &[f64]) -> Result<[f64; COUNT], FactorError> {
        let mut breaks = Breaks::nested();
        for scale in scales {
            breaks.component(0.0, self.tau0.sqrt().hypot(*scale));
        }
        let rest = Tilt {
            a: self.at.tau0_hat,
            b: 0.0,
        };
        // tails need not be Gaussian: until no mass is left in an octave
        breaks.extend(|y| {
            let log_density = self.teacher.likelihood_excess(y, rest);
            log_density.unwrap_or(f64::INFINITY) + y.abs().ln() < TAIL
        });
        let symmetric = is_symmetric(self.student, self.teacher);
        if symmetric {
            breaks.clip(0.0, f64::INFINITY);
        }
        let node = |y: f64, _: Option<[f64; COUNT]>| (y, 1.0, self.atom(y).ok());
        let sums = self.outer(&breaks.sorted(), &node)?;
        Ok(sums.map(|x| if symmetric { 2.0 * x } else { x }))
    }

    pub fn average(&self) -> Result<Sums, FactorError> {
        let Some(outputs) = self.teacher.outputs() else {
            return Err(unknown_outputs());
        };
        let mut sums = Sums::zero();
        match outputs {
            OutputMeasure::Modulus => {
                return Err(FactorError::Unsupported(
                    "the modulus of a complex signal has no average over a real one".to_owned(),
                ));
            }
            OutputMeasure::Counts => sums.add(&self.counts()?),
            OutputMeasure::Density(scales) => sums.add(&self.dense(&scales)?),
            OutputMeasure::Finite(ys) => {
                // outputs of one sign, twice
                let odd = self.both(Parity::Odd);
                for y in ys.into_iter().filter(|y| !odd || *y >= 0.0) {
                    let twice = if odd && y > 0.0 { 2.0 } else { 1.0 };
                    sums.add(&self.atom(y)?.map(|x| twice * x));
                }
            }
            OutputMeasure::PushForward {
                noise_variance,
                atoms,
                curves,
                mut corners,
            } => {
                for y in atoms {
                    sums.add(&self.atom(y)?);
                }
                if noise_variance > 0.0 {
                    for (low, high) in curves {
                        sums.add(&self.noisy(noise_variance, low, high)?);
                    }
                    return Ok(sums);
                }
                if let Some(OutputMeasure::PushForward { corners: own, .. }) =
                    self.student.outputs()
                {
                    corners.extend(own);
                }
                let symmetric = is_symmetric(self.student, self.teacher);
                for (low, high) in curves {
                    // the positive half, twice
                    let (low, both) = if symmetric {
                        (low.max(0.0), 2.0)
                    } else {
                        (low, 1.0)
                    };
                    if low < high {
                        let half = self.curve(low, high, &corners)?;
                        sums.add(&half.map(|x| both * x));
                    }
                }
            }
        }
        Ok(sums)
    }
}

pub(super) fn unknown_outputs() -> FactorError {
    let why = "the teacher's likelihood does not say how its outputs are distributed";
    FactorError::Unsupported(why.to_owned())
}

/// All through the noise the student is a Gaussian: its mean, which is monotone, rises by just what a constant variance makes it
/// rise.
fn is_straight(
    point: &dyn Fn(f64) -> Point,
    (centre, width): (f64, f64),
    floor: &[f64; COUNT],
) -> bool {
    let p = point(centre);
    let rise = REACH * width * p.v;
    let variance = STRAIGHT * (p.v + floor[V]);
    // what the mean may be off, for averages of squares of differences and of itself
    let mean = STRAIGHT * floor[D2].min(floor[Q]).sqrt() + 1e-15 * (p.r.abs() + rise);
    [-1.0, 1.0].iter().all(|side| {
        let far = point(centre + side * REACH * width);
        (far.v - p.v).abs() <= variance && (far.r - p.r - side * rise).abs() <= mean
    })
}
