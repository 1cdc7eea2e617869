//! State evolution of a separable prior: one field.

use super::line::{Law, Line};
use super::rules::view_of;
use super::{
    Field, POTENTIAL, Sums, circular, constellation, entropy, gaussian, is_same, per_component,
    recovered,
};
use crate::belief::Overlaps;
use crate::error::FactorError;
use crate::factor::{Averaged, Factor};
use crate::scalar::{Elem, ScalarPrior, ScalarView, Symmetry, Tilt, Tilted};
use crate::separable::SeparablePrior;

/// The teacher's law at its own tilt.
pub(super) fn teacher_at(teacher: &dyn ScalarView, tau0_hat: f64) -> Result<Tilted, FactorError> {
    let t = teacher.prior(Tilt {
        a: tau0_hat,
        b: 0.0,
    });
    let t = t.ok_or_else(|| {
        FactorError::Unsupported("a prior is averaged over a prior only".to_owned())
    })?;
    if teacher.symmetry() == Symmetry::Constellation {
        return Ok(constellation::at_rest(&teacher.constellation(), tau0_hat));
    }
    if t.log_z.is_finite() && t.variance.is_finite() {
        return Ok(t);
    }
    let beside = if tau0_hat == 0.0 {
        String::new()
    } else {
        format!(" beside a belief of precision {tau0_hat:e}")
    };
    Err(FactorError::Improper(format!(
        "a law that data are drawn from must have a second moment, and this prior has none{beside}"
    )))
}

/// Hands the line of a student and a teacher to `f`, with the teacher's law at its own tilt.
fn with_line<T>(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    at: Field,
    f: impl FnOnce(&Line<'_>) -> T,
) -> Result<T, FactorError> {
    let t0 = teacher_at(teacher, at.tau0_hat)?;
    let tau0 = t0.second_moment();
    let nothing = Tilted::divergent(0.0);
    let (marks0, marks) = (teacher.landmarks(None), student.landmarks(None));
    let line = Line {
        at: at.softened(tau0),
        teacher: Law {
            tilted: &|x| teacher.prior(x).unwrap_or(nothing),
            excess: &|x| teacher.prior_excess(x).unwrap_or(f64::INFINITY),
            both: &|_| None,
            marks: &marks0,
        },
        student: Law {
            tilted: &|x| student.prior(x).unwrap_or(nothing),
            excess: &|x| student.prior_excess(x).unwrap_or(f64::INFINITY),
            both: &|_| None,
            marks: &marks,
        },
        corners: student.corners(at.a),
        log_z0: t0.log_z,
        tau0,
        whole: true,
        even: false,
    };
    Ok(f(&line))
}

/// The averages of a student prior over a teacher prior: overlaps and potential.
pub(super) fn averages(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    at: Averaged<'_>,
) -> Result<(Overlaps, f64), FactorError> {
    let (fields, tau0_hat) = (&at.fields[0], at.tau0_hat[0]);
    let t0 = teacher_at(teacher, tau0_hat)?;
    let tau0 = t0.second_moment();
    if recovered(fields) {
        let overlaps = Overlaps {
            m: tau0,
            v: 0.0,
            err: 0.0,
            tau0,
        };
        return Ok((overlaps, f64::INFINITY));
    }
    let at = Field::new(fields, tau0_hat, is_same(student, teacher))?;
    let flat = student.prior(Tilt { a: at.a, b: 0.0 });
    if at.a == 0.0 && flat.is_some_and(|t| !t.variance.is_finite()) {
        return Err(FactorError::Improper(
            "the student's law has no second moment, and no average at precision 0".to_owned(),
        ));
    }
    if let Some(own) = student.gaussian() {
        let closed = gaussian::prior(&at, own, &t0);
        return closed
            .map(|c| (c.overlaps, c.potential))
            .ok_or_else(|| improper(&at));
    }
    if student.symmetry() == Symmetry::Circular {
        let sums = over_lengths(student, teacher, at, &t0)?;
        return Ok((sums.overlaps(&at, tau0), sums.0[POTENTIAL]));
    }
    if student.symmetry() == Symmetry::Constellation {
        let sums = over_plane(student, teacher, at, tau0)?;
        return Ok((sums.overlaps(&at, tau0), sums.0[POTENTIAL]));
    }
    let sums = with_line(student, teacher, at, |line| Sums(line.average()))?.checked(&at)?;
    Ok((sums.overlaps(&at, tau0), sums.0[POTENTIAL]))
}

/// The averages of circular complex priors.
fn over_lengths(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    at: Field,
    t0: &Tilted,
) -> Result<Sums, FactorError> {
    let tau0 = t0.second_moment();
    let pair = circular::Pair {
        student,
        teacher,
        at: at.softened(tau0),
        tau0,
    };
    Sums(pair.prior(t0.log_z)).checked(&at)
}

/// The averages of complex priors of finitely many values.
fn over_plane(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    at: Field,
    tau0: f64,
) -> Result<Sums, FactorError> {
    let laws = [teacher.constellation(), student.constellation()];
    let plane = constellation::Plane::new(&laws, at.softened(tau0), tau0);
    plane.average()?.checked(&at)
}

fn improper(at: &Field) -> FactorError {
    FactorError::Improper(format!("the student's precision is {:e}", at.a))
}

/// $H$ at a field that averages can take.
pub(super) fn entropic(
    prior: &dyn ScalarView,
    at: Averaged<'_>,
    t0: &Tilted,
) -> Result<f64, FactorError> {
    let field = Field::new(&at.fields[0], at.tau0_hat[0], true)?;
    let (tau0, log_z0) = (t0.second_moment(), per_component(prior) * t0.log_z);
    entropy::of_line(field, tau0, log_z0, |field| {
        if prior.symmetry() == Symmetry::Circular {
            return over_lengths(prior, prior, field, t0);
        }
        if prior.symmetry() == Symmetry::Constellation {
            return over_plane(prior, prior, field, tau0);
        }
        with_line(prior, prior, field, |line| Sums(line.average()))?.checked(&field)
    })
}

impl<E: Elem, P: ScalarPrior<E>> SeparablePrior<P, E> {
    /// $E[P(x \neq 0 \mid b)]$ of a law with an atom of mass $p_0$ at zero: the fraction of components that the student's posterior
    /// holds to be present, from $P(x = 0 \mid b) = p_0\,e^{-A(a, b)}$.
    ///
    /// In the Bayes-optimal case it is $1 - p_0$ at any precision; its distance from there measures a mismatch.
    ///
    /// # Errors
    /// A law without an atom at zero; else as the overlaps of this prior.
    pub fn posterior_sparsity(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
    ) -> Result<f64, FactorError> {
        let atoms = self.law().atoms().into_iter();
        let absent: f64 = atoms
            .filter(|(x, _)| x.norm_sqr() == 0.0)
            .map(|(_, p)| p)
            .sum();
        // two independent parts are each absent with the root of the mass of the pair
        let absent = match self.law().part() {
            Some(_) => absent.sqrt(),
            None => absent,
        };
        let (student, teacher) = (view_of(self)?, view_of(teacher)?);
        let plane = student.symmetry() == Symmetry::Constellation;
        if plane || !(absent > 0.0) {
            let why = if plane {
                "which is known of real and of circular laws only"
            } else {
                "which has no atom at zero"
            };
            let name = Factor::name(self);
            return Err(FactorError::Unsupported(format!(
                "the sparsity of `{name}`, {why}"
            )));
        }
        let field = Field::new(&at.fields[0], at.tau0_hat[0], is_same(student, teacher))?;
        let present = |b: f64| {
            let log_z = student.prior(Tilt { a: field.a, b }).map(|t| t.log_z);
            -(absent.ln() - log_z.unwrap_or(f64::INFINITY)).exp_m1()
        };
        if student.symmetry() == Symmetry::Circular {
            let t0 = teacher_at(teacher, field.tau0_hat)?;
            let tau0 = t0.second_moment();
            let pair = circular::Pair {
                student,
                teacher,
                at: field.softened(tau0),
                tau0,
            };
            return Ok(pair.prior_expectation(t0.log_z, &present));
        }
        with_line(student, teacher, field, |line| line.expectation(&present))
    }
}
