//! The overlaps and the potential of a separable channel.

use std::cell::Cell;

use super::channel::{Pair, X, Z};
use super::line::SHARP;
use super::{Field, POTENTIAL, Sums, circular_channel, is_same, is_symmetric};
use crate::belief::Overlaps;
use crate::error::FactorError;
use crate::factor::Averaged;
use crate::scalar::{ScalarView, Symmetry, Tilt, TiltedPair};

/// The teacher's channel at its own tilts.
pub(super) fn teacher_at(
    teacher: &dyn ScalarView,
    tau0_hat: &[f64],
) -> Result<TiltedPair, FactorError> {
    let flat = |a: f64| Tilt { a, b: 0.0 };
    let t = teacher.channel(flat(tau0_hat[Z]), flat(tau0_hat[X]));
    let t = t.ok_or_else(|| {
        FactorError::Unsupported("a channel is averaged over a channel only".to_owned())
    })?;
    if t.log_z.is_finite() && t.variance_z.is_finite() && t.variance_x.is_finite() {
        return Ok(t);
    }
    Err(FactorError::Improper(format!(
        "the teacher's channel has no second moments at tau0_hat = {:e}, {:e}",
        tau0_hat[Z], tau0_hat[X]
    )))
}

pub(super) fn second_moments(t: &TiltedPair) -> [f64; 2] {
    [
        t.mean_z * t.mean_z + t.variance_z,
        t.mean_x * t.mean_x + t.variance_x,
    ]
}

/// The averages of a student channel over a teacher channel: the overlaps at `target`, or the
/// potential.
pub(super) fn averages(
    student: &dyn ScalarView,
    teacher: &dyn ScalarView,
    at: Averaged<'_>,
    target: Option<usize>,
) -> Result<(Overlaps, f64), FactorError> {
    let t0 = teacher_at(teacher, at.tau0_hat)?;
    let tau0 = second_moments(&t0);
    let same = is_same(student, teacher);
    let field = |end: usize| Field::new(&at.fields[end], at.tau0_hat[end], same);
    let fields = [field(Z)?, field(X)?];
    let end = target.unwrap_or(X);
    let bayes = fields.iter().all(|f| f.bayes);
    let soft = [Z, X].map(|i| fields[i].softened(tau0[i]));
    let mut pair = Pair {
        student,
        teacher,
        at: soft,
        target,
        log_z0: t0.log_z,
        tau0,
        sharp: [Z, X].map(|i| {
            let f = &soft[i];
            !f.is_silent() && f.m_hat * f.m_hat * tau0[i] > SHARP * f.q_hat
        }),
        bayes,
        symmetric: is_symmetric(student, teacher),
        k: Cell::new(soft[end].k),
    };
    if student.symmetry() == Symmetry::Circular {
        let pair = circular_channel::Pair {
            student,
            teacher,
            at: soft,
            end,
            log_z0: t0.log_z,
            tau0,
            sharp: pair.sharp,
        };
        let at = Field {
            bayes,
            ..fields[end]
        };
        let sums = Sums(pair.average()).checked(&at)?;
        return Ok((sums.overlaps(&at, tau0[end]), sums.0[POTENTIAL]));
    }
    let (teacher, student) = (
        pair.tabulated(teacher, true),
        pair.tabulated(student, false),
    );
    if let Some(table) = &teacher {
        pair.teacher = &**table;
    }
    if let Some(table) = &student {
        pair.student = &**table;
    }
    let sums = Sums(pair.average());
    let at = Field {
        bayes,
        k: pair.k.get(),
        ..fields[end]
    };
    let sums = sums.checked(&at)?;
    Ok((sums.overlaps(&at, tau0[end]), sums.0[POTENTIAL]))
}
