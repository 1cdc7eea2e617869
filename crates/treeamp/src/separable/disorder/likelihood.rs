//! State evolution of a separable likelihood: the field $b$ and the output $y$.
//!
//! The teacher's $z_0 \sim \mathcal N(0, 1/\hat\tau_0)$ gives the output. Outputs of positive probability are averaged one by one,
//! over $b$ alone. Where $y = \varphi(z_0)$ has a density the average runs over $z_0$ and $b = \hat m z_0 + \sqrt{\hat q}\,\xi$, the
//! signal being known; where the output is noisy it runs over $y$ and $b$. Components whose laws differ, of a variance each, are averaged in
//! their shares.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::breaks::Breaks;
use super::gaussian::{self, log_gaussian};
use super::line::{Law, Line};
use super::tabulated::Tabulated;
use super::{
    COUNT, D1, D2, Field, M, MASS, POTENTIAL, Point, Q, Sums, V, circular, entropy, floors,
    is_same, is_symmetric, recovered,
};
use super::{INNER, OUTER};
use crate::belief::{OverlapFields, Overlaps};
use crate::error::FactorError;
use crate::factor::Averaged;
use crate::math::quadrature::panels::{Effort, Monitor, Sample, integrate};
use crate::math::quadrature::{legendre, rule16};
use crate::math::special::{HALF_LN_2PI, normal_density};
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarView, Symmetry, Tilt, Tilted};

/// An overlap $m$ that is next to none, as a fraction of $\sqrt{q\tau_0}$.
const UNSEEN: f64 = 1e-5;

/// Relative error of inner averages that tell which of them matter.
const ROUGH: f64 = 1e-2;
/// Deviations of the noise up to which the student must be a Gaussian for a rule of three points, and how nearly.
pub(super) const REACH: f64 = 8.0;
const STRAIGHT: f64 = 1e-11;

/// Log-mass of an octave of outputs that is left out.
const TAIL: f64 = -25.0;

/// Counts that are averaged one by one.
const FIRST_COUNTS: u32 = 32;
/// Counts beyond which there is no rate.
const LAST_COUNT: f64 = 1e15;
/// Probability of a block of counts that is the last.
const NO_COUNTS: f64 = 1e-11;
/// Blocks of more counts than this are integrals.
const LONG_BLOCK: f64 = 16_384.0;

/// Nodes and weights of a sum over the integers from `start` on, `len` of them: exact for polynomials of degree 15, and an
/// integral for very long blocks. With $\ell_j(x) = w_j\sum_k(2k+1)P_k(t_j)P_k(x)$ at the Legendre nodes $t_j$ the weights are
/// $\sum_i\ell_j(x_i)$.
fn block_rule(start: f64, len: f64) -> impl Iterator<Item = (f64, f64)> {
    let rule = rule16();
    let mut totals = [0.0; 16];
    totals[0] = len;
    let mut i = 1.0;
    while len <= LONG_BLOCK && i <= len {
        let x = (2.0 * i - 1.0) / len - 1.0;
        let (mut p, mut before) = (1.0, 0.0);
        for (k, total) in totals.iter_mut().enumerate().skip(1) {
            let k = k as f64;
            (p, before) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k, p);
            *total += p;
        }
        i += 1.0;
    }
    (0..16).map(move |j| {
        let x = 2.0 * rule.nodes[j] - 1.0;
        let terms = totals.iter().enumerate();
        let sum: f64 = terms
            .map(|(k, total)| (2.0 * k as f64 + 1.0) * legendre(k, x).0 * total)
            .sum();
        (
            len.mul_add(rule.nodes[j], start - 0.5),
            rule.weights[j] * sum,
        )
    })
}

/// A teacher and a student likelihood at one field.
pub(super) struct Pair<'a> {
    pub student: &'a dyn ScalarView,
    pub teacher: &'a dyn ScalarView,
    pub at: Field,
    pub tau0: f64,
}

impl Pair<'_> {
    fn tilted(view: &dyn ScalarView, y: f64, z: Tilt) -> Tilted {
        view.likelihood(y, z).unwrap_or(Tilted::divergent(0.0))
    }

    fn both(&self, parity: Parity) -> bool {
        let laws = [self.student, self.teacher];
        laws.iter().all(|law| law.parity() == Some(parity))
    }

    /// The student can explain this output.
    fn check(&self, y: f64) -> Result<(), FactorError> {
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
    fn with_line<T>(&self, y: f64, f: impl FnOnce(&Line<'_>) -> T) -> T {
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

    /// Counts: the first one by one, then in blocks that double.
    fn counts(&self) -> Result<[f64; COUNT], FactorError> {
        let mut sums = Sums::zero();
        for y in 0..FIRST_COUNTS {
            let part = self.count(f64::from(y), &sums.0)?;
            sums.add(&part);
        }
        let mut start = f64::from(FIRST_COUNTS);
        while start < LAST_COUNT {
            let mut block = Sums::zero();
            for (y, weight) in block_rule(start, start) {
                block.add(&self.count(y, &sums.0)?.map(|x| weight * x));
            }
            sums.add(&block.0);
            if block.0[MASS].abs() < NO_COUNTS {
                break;
            }
            start *= 2.0;
        }
        Ok(sums.0)
    }

    /// The law is analytic in a count, which need not be an integer. Given it, the field is $\mathcal N(\hat m\mu, \hat q + \hat m^2 s)$ with the moments
    /// $\mu, s$ of the signal, but for its form.
    fn count(&self, y: f64, seen: &[f64; COUNT]) -> Result<[f64; COUNT], FactorError> {
        self.check(y.round())?;
        let at = &self.at;
        let rest = Tilt {
            a: at.tau0_hat,
            b: 0.0,
        };
        let signal = Self::tilted(self.teacher, y, rest);
        let width = at.q_hat.sqrt().hypot(at.m_hat * signal.variance.sqrt());
        let smooth = |line: &Line<'_>| {
            let quiet = at.is_silent() || !(width > 0.0);
            let about_top = (!quiet).then(|| line.about_top((at.m_hat * signal.mean, width), seen));
            about_top.flatten().unwrap_or_else(|| line.average())
        };
        Ok(self.with_line(y, smooth))
    }

    fn average(&self) -> Result<Sums, FactorError> {
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

fn unknown_outputs() -> FactorError {
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

/// $\tau_0 = 1/\hat\tau_0$ of the input.
pub(super) fn second_moment(tau0_hat: f64) -> Result<f64, FactorError> {
    if tau0_hat > 0.0 && tau0_hat.is_finite() {
        return Ok(1.0 / tau0_hat);
    }
    Err(FactorError::Improper(format!(
        "the teacher's input has tau0_hat = {tau0_hat:e}, not a positive number"
    )))
}

/// Components that are alike, of a student and a teacher.
struct Kind {
    student: Option<Box<dyn ScalarView>>,
    teacher: Option<Box<dyn ScalarView>>,
    /// Their share of all components.
    share: f64,
}

/// The pairs of different laws among the components; `None` if all are alike. Gaussian ones are told apart by their variances.
fn kinds(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
) -> Result<Option<Vec<Kind>>, FactorError> {
    let n = match (student.components(), teacher.components()) {
        (None, None) => return Ok(None),
        (Some(n), Some(n0)) if n != n0 => {
            return Err(FactorError::Unsupported(format!(
                "the student has {n} components of their own laws, and the teacher {n0}"
            )));
        }
        (Some(n), _) | (_, Some(n)) => n,
    };
    let mut found = BTreeMap::new();
    let share = 1.0 / n as f64;
    for i in 0..n {
        let of = |law: &dyn ScalarView| law.components().and_then(|_| law.component(i));
        let (own, own0) = (of(student), of(teacher));
        let key = |law: &Option<Box<dyn ScalarView>>| match law {
            None => (0, 0),
            Some(law) => law
                .gaussian()
                .map_or((1, i as u64), |(_, noise)| (2, noise.to_bits())),
        };
        let kind = found.entry([key(&own), key(&own0)]).or_insert(Kind {
            student: own,
            teacher: own0,
            share: 0.0,
        });
        kind.share += share;
    }
    Ok(Some(found.into_values().collect()))
}

/// The averages of a student likelihood over a teacher likelihood: overlaps and potential. Where the laws of the components differ, with
/// $c_i = m_i/\tau_0$ and their mean $c$, `err` $= E_i[\text{err}_i + (c_i - c)^2\tau_0]$.
pub(super) fn averages(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    at: Averaged<'_>,
) -> Result<(Overlaps, f64), FactorError> {
    let same = is_same(student, teacher);
    let Some(kinds) = kinds(student, teacher)? else {
        return of_one(student, teacher, same, at);
    };
    let (mut m, mut v, mut err, mut square, mut potential) = (0.0, 0.0, 0.0, 0.0, 0.0);
    let tau0 = second_moment(at.tau0_hat[0])?;
    let mut parts = Vec::with_capacity(kinds.len());
    for kind in &kinds {
        let own = kind.student.as_deref().unwrap_or(student);
        let own0 = kind.teacher.as_deref().unwrap_or(teacher);
        let (part, own_potential) = of_one(own, own0, same, at)?;
        m += kind.share * part.m;
        v += kind.share * part.v;
        err += kind.share * part.err;
        potential += kind.share * own_potential;
        parts.push((kind.share, part.m));
    }
    for (share, own) in parts {
        square += share * (own - m) * ((own - m) / tau0);
    }
    let err = err + square;
    Ok((Overlaps { m, v, err, tau0 }, potential))
}

/// The same for one law on all components.
fn of_one(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    same: bool,
    at: Averaged<'_>,
) -> Result<(Overlaps, f64), FactorError> {
    let (fields, tau0_hat) = (&at.fields[0], at.tau0_hat[0]);
    let tau0 = second_moment(tau0_hat)?;
    if recovered(fields) {
        let overlaps = Overlaps {
            m: tau0,
            v: 0.0,
            err: 0.0,
            tau0,
        };
        return Ok((overlaps, f64::INFINITY));
    }
    let at = Field::new(fields, tau0_hat, same)?;
    if let (Some((_, noise)), Some((_, noise0))) = (student.gaussian(), teacher.gaussian()) {
        let closed = gaussian::likelihood(&at, noise, noise0, tau0);
        return closed.map(|c| (c.overlaps, c.potential)).ok_or_else(|| {
            FactorError::Improper(format!("the student's precision is {:e}", at.a))
        });
    }
    let plane = circular::Pair {
        student,
        teacher,
        at: at.softened(tau0),
        tau0,
    };
    if teacher.outputs().is_none() {
        return Err(unknown_outputs());
    }
    let sums = match student.symmetry() {
        Symmetry::Circular => plane.output()?,
        Symmetry::Ray => plane.ray(),
        _ => on_line(student, teacher, plane.at, tau0)?,
    };
    let sums = sums.checked(&at)?;
    Ok((sums.overlaps(&at, tau0), sums.0[POTENTIAL]))
}

/// The averages of real laws, each in a table where that is worth it.
fn on_line(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    at: Field,
    tau0: f64,
) -> Result<Sums, FactorError> {
    let own = Tabulated::new(student, at.a);
    let own0 = Tabulated::new(teacher, at.star(0.0).a);
    let pair = Pair {
        student: own.as_ref().map_or(student, |table| table),
        teacher: own0.as_ref().map_or(teacher, |table| table),
        at,
        tau0,
    };
    pair.average()
}

/// $H$ at a field that averages can take; $\frac12\ln(a\tau) + \frac12\ln 2\pi e(\Delta + \frac1a)$ for a Gaussian output of noise $\Delta$.
pub(super) fn entropic(
    likelihood: &dyn ScalarView,
    at: Averaged<'_>,
    tau0: f64,
) -> Result<f64, FactorError> {
    if let Some(kinds) = kinds(likelihood, likelihood)? {
        let mut total = 0.0;
        for kind in &kinds {
            let law = kind.student.as_deref().unwrap_or(likelihood);
            total += kind.share * entropic(law, at, tau0)?;
        }
        return Ok(total);
    }
    if let Some((_, noise)) = likelihood.gaussian() {
        // aτ(Δ + 1/a) = τ + Δ(1 + m̂τ)
        let spread = tau0 + noise * (1.0 + at.fields[0].m_hat * tau0);
        return Ok(0.5 + HALF_LN_2PI + 0.5 * spread.ln());
    }
    let field = Field::new(&at.fields[0], at.tau0_hat[0], true)?;
    entropy::of_line(field, tau0, log_gaussian(at.tau0_hat[0]), |field| {
        if likelihood.symmetry() == Symmetry::Circular {
            let plane = circular::Pair {
                student: likelihood,
                teacher: likelihood,
                at: field.softened(tau0),
                tau0,
            };
            return plane.output()?.checked(&field);
        }
        on_line(likelihood, likelihood, field.softened(tau0), tau0)?.checked(&field)
    })
}

/// $\hat m\tau_0$ of a field that knows the signal.
const KNOWN: f64 = 1e12;

/// $E\,H[y \mid z]$ over $z \sim \mathcal N(0, \tau)$ for outputs with noise, `None` for others: $-E[X]$ of a field that knows $z$. What is left over,
/// $\tfrac1{2a}$ times the Fisher information, is next to nothing.
pub(in super::super) fn noise_entropy(likelihood: &dyn ScalarView, tau: f64) -> Option<f64> {
    let outputs = likelihood.outputs().filter(OutputMeasure::has_noise);
    if outputs.is_none() || likelihood.symmetry() != Symmetry::Line {
        return None;
    }
    let m_hat = KNOWN / tau;
    let fields = [OverlapFields {
        m_hat,
        q_hat: m_hat,
        tau_hat: 1.0 / tau,
    }];
    let at = Averaged {
        fields: &fields,
        tau0_hat: &[1.0 / tau],
    };
    let entropy = entropic(likelihood, at, tau).ok()?;
    // less what is left of the signal, ½ ln aτ
    Some(entropy - 0.5 * KNOWN.ln_1p())
}

#[cfg(test)]
mod tests {
    use super::block_rule;

    /// Sums of powers over integers, and of a smooth function over a long block.
    #[test]
    fn blocks_of_counts_are_summed() {
        for (start, len) in [(32.0, 32.0), (64.0, 64.0), (1024.0, 512.0)] {
            for power in [0, 1, 7, 15] {
                let f = |y: f64| ((y - start) / len).powi(power);
                let sum: f64 = block_rule(start, len).map(|(y, w)| w * f(y)).sum();
                let mut exact = 0.0;
                let mut y = start;
                while y < start + len {
                    exact += f(y);
                    y += 1.0;
                }
                assert!(
                    (sum / exact - 1.0).abs() < 1e-12,
                    "{start} {power}: {sum} {exact}"
                );
            }
        }
        let sum: f64 = block_rule(65536.0, 65536.0).map(|(y, w)| w / y).sum();
        let exact: f64 = (65536..131_072).map(|y| 1.0 / f64::from(y)).sum();
        assert!((sum / exact - 1.0).abs() < 1e-9, "{sum} {exact}");
    }
}
