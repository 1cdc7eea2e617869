//! State evolution of a separable likelihood: overlaps, potential and entropies from the averages over its outputs. Components whose laws
//! differ, of a variance each, are averaged in their shares.

use std::collections::BTreeMap;

use super::gaussian::{self, log_gaussian};
use super::outputs::{Pair, unknown_outputs};
use super::tabulated::Tabulated;
use super::{Field, POTENTIAL, Sums, circular, entropy, is_same, recovered};
use crate::belief::{OverlapFields, Overlaps};
use crate::error::FactorError;
use crate::factor::Averaged;
use crate::math::special::HALF_LN_2PI;
use crate::scalar::{OutputMeasure, ScalarView, Symmetry};

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

/// The pairs of different laws among the components; `None` if all are alike. Gaussian ones are distinguished by their variances.
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
