//! Pairs of a teacher and a student: whether they fit, and how much their evidences differ.

use super::evolution::noiseless_output;
use super::teacher::rule;
use super::{Evolution, ReplicaSymmetric};
use crate::belief::OverlapFields;
use crate::engine::{Message, Term};
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, Factor};
use crate::math::spectrum::Spectrum;
use crate::model::{FactorNode, Tree};

/// Teacher and student share variables, wiring and sizes, and every pair of factors can be averaged.
pub(super) fn check_pair(teacher: &Tree, student: &Tree) -> Result<(), RunError> {
    let differ = |reason: String| RunError::Mismatch { reason };
    let (tv, sv) = (teacher.variables(), student.variables());
    if tv.len() != sv.len() || teacher.factors().len() != student.factors().len() {
        return Err(differ(format!(
            "expected the same tree, got {} variables and {} factors against {} and {}",
            tv.len(),
            teacher.factors().len(),
            sv.len(),
            student.factors().len()
        )));
    }
    for (t, s) in tv.iter().zip(sv) {
        if t.name != s.name || !t.spec.same_signal(&s.spec) {
            let (t, s) = (
                format!("`{}` {}", t.name, t.spec),
                format!("`{}` {}", s.name, s.spec),
            );
            return Err(differ(format!(
                "expected the same variables, got {t} against {s}"
            )));
        }
    }
    for (t, s) in teacher.factors().iter().zip(student.factors()) {
        let ends = |tree: &Tree, edges: &[usize]| -> Vec<usize> {
            edges.iter().map(|e| tree.edges()[*e].variable).collect()
        };
        if t.inputs != s.inputs || ends(teacher, &t.edges) != ends(student, &s.edges) {
            let what = format!(
                "factors `{}` and `{}` are wired differently",
                t.name, s.name
            );
            return Err(differ(what));
        }
        if let Some(rule) = s.factor.ensemble()
            && !rule.pairs_with(t.factor.as_ref())
        {
            return Err(differ(unpaired(t, s)));
        }
    }
    Ok(())
}

/// Why the teacher's factor `t` cannot stand on the other side of the student's `s`.
fn unpaired(t: &FactorNode, s: &FactorNode) -> String {
    let what = format!("student `{}` cannot face teacher `{}`", s.name, t.name);
    match (t.factor.spectrum(), s.factor.spectrum()) {
        (Some(own), Some(other)) => format!(
            "{what}: expected the same spectrum, got {} against {}",
            described(own),
            described(other)
        ),
        (Some(_), None) => format!("{what}: expected a linear channel"),
        _ if t.factor.name() == s.factor.name() => what,
        _ => format!(
            "{what}: expected two factors of one kind, got `{}` against `{}`",
            t.factor.name(),
            s.factor.name()
        ),
    }
}

/// Aspect ratio, rank and the range of the eigenvalues that are not zero.
fn described(spectrum: &Spectrum) -> String {
    let positive = spectrum
        .nodes()
        .iter()
        .map(|(l, _)| *l)
        .filter(|l| *l > 0.0);
    let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(low, high), l| {
        (low.min(l), high.max(l))
    });
    format!(
        "alpha = {:.4}, rank {:.4}, eigenvalues {low:.4} to {high:.4} of mean {:.4}",
        spectrum.alpha(),
        spectrum.rank(),
        spectrum.mean()
    )
}

/// The fields of the cavity at every port of a factor.
fn cavities(tree: &Tree, to_variable: &[OverlapFields], edges: &[usize]) -> Vec<OverlapFields> {
    let cavity = |e: &usize| {
        let mut sum = OverlapFields::default();
        tree.others(*e)
            .for_each(|o| sum.add_assign(&to_variable[o]));
        sum
    };
    edges.iter().map(cavity).collect()
}

/// The teacher's own field of the same ratio of signal to noise, $\hat m^2/\hat q$.
fn matched(field: &OverlapFields, tau_hat: f64) -> OverlapFields {
    let snr = if field.q_hat == f64::INFINITY {
        f64::INFINITY
    } else if field.q_hat > 0.0 {
        field.m_hat * field.m_hat / field.q_hat
    } else {
        0.0
    };
    OverlapFields {
        m_hat: snr,
        q_hat: snr,
        tau_hat,
    }
}

/// $[\bar A^{(0)}(\hat m^2/\hat q) - A^{(0)}] - [\bar A - A]$ of one factor.
fn divergence(
    teacher: &dyn Factor,
    student: &FactorNode,
    at: Averaged<'_>,
) -> Result<f64, RunError> {
    let failed = |source: FactorError| RunError::Factor {
        factor: student.name.clone(),
        source,
    };
    let tilts: Vec<f64> = at.fields.iter().map(|f| f.tau_hat).collect();
    let (own, other) = (
        rule(teacher).map_err(failed)?,
        rule(student.factor.as_ref()).map_err(failed)?,
    );
    let alone = other.prior_potential(&tilts).ok().filter(|a| a.is_finite());
    let Some(alone) = alone else {
        return Err(RunError::NotDefined {
            what: format!("the divergence at `{}`", student.name),
            why: format!(
                "the student's law under the tilt tau_hat = {tilts:?} that it believes in cannot be normalised"
            ),
        });
    };
    let pairs = at.fields.iter().zip(at.tau0_hat);
    let local: Vec<OverlapFields> = pairs.map(|(f, tau_hat)| matched(f, *tau_hat)).collect();
    let local = Averaged {
        fields: &local,
        tau0_hat: at.tau0_hat,
    };
    let terms = || -> Result<f64, FactorError> {
        let matched = own.potential(teacher, local)? - own.prior_potential(at.tau0_hat)?;
        Ok(matched - (other.potential(teacher, at)? - alone))
    };
    let value = terms().map_err(failed)?;
    if value.is_finite() {
        return Ok(value);
    }
    Err(RunError::NotDefined {
        what: format!("the divergence at `{}`", student.name),
        why: "both evidences are infinite: something is known exactly".to_owned(),
    })
}

impl Evolution<ReplicaSymmetric> {
    /// The Kullback-Leibler terms of the mismatched decomposition, one per factor: how much the local
    /// student's evidence differs from the local teacher's,
    /// $K_k = [\bar A_k^{(0)}(\hat m^2/\hat q) - A_k^{(0)}] - [\bar A_k - A_k]$, per component of the factor's reference
    /// port. Zero when they are the same.
    ///
    /// # Errors
    /// [`RunError::NotReached`] when the run ended without a fixed point; [`RunError::NotDefined`] where the student's law
    /// alone, under the tilt that it believes in, cannot be normalised, and where the signal is recovered exactly through
    /// a noiseless continuous output, or the teacher alone has one; and when a potential cannot be computed.
    pub fn divergences(&self, teacher: &Tree, student: &Tree) -> Result<Vec<Term>, RunError> {
        check_pair(teacher, student)?;
        let what = "the divergence of every factor";
        self.check_defined(what)?;
        if let (Some(output), None) = (noiseless_output(teacher), noiseless_output(student)) {
            return Err(RunError::NotDefined {
                what: what.to_owned(),
                why: format!(
                    "`{output}` is a noiseless output of the teacher, and the student's has noise: they differ without bound"
                ),
            });
        }
        let to_variable: Vec<OverlapFields> =
            self.report.messages.iter().map(|(_, _, m)| *m).collect();
        let pairs = teacher.factors().iter().zip(student.factors());
        let term = |(k, (t, s)): (usize, (&FactorNode, &FactorNode))| {
            let fields = cavities(student, &to_variable, &s.edges);
            let at = Averaged {
                fields: &fields,
                tau0_hat: &self.teacher.to_factor[k],
            };
            let value = divergence(t.factor.as_ref(), s, at)?;
            Ok(Term {
                name: s.name.clone(),
                value,
                excess: value,
            })
        };
        pairs.enumerate().map(term).collect()
    }
}
