//! Whether a teacher's factor and a student's, declared apart, are one law.
//!
//! Then the Bayes-optimal averages hold for the pair, and the Nishimori line maps to itself.

use std::sync::Arc;

use crate::factor::Factor;
use crate::model::Tree;
use crate::scalar::{ScalarView, Tilt, Tilted};

/// Precisions, fields and outputs at which laws are compared.
const PRECISIONS: [f64; 4] = [0.3, 2.0, 47.0, 1.3e4];
const FIELDS: [f64; 5] = [-3.1, 0.0, 0.7, 12.0, 160.0];
const OUTPUTS: [f64; 6] = [-1.0, 0.0, 0.4, 1.0, 1.7, 6.0];

/// The teacher's factors as the student's face them: the student's own where they are one law.
pub(super) fn faced(teacher: &Tree, student: &Tree) -> Vec<Arc<dyn Factor>> {
    let pairs = teacher.factors().iter().zip(student.factors());
    let faced = pairs.map(|(t, s)| {
        let own = is_alike(t.factor.as_ref(), s.factor.as_ref());
        Arc::clone(if own { &s.factor } else { &t.factor })
    });
    faced.collect()
}

/// One object, one spectrum, scalar laws that agree to the last bit, or the same declaration.
pub(super) fn is_alike(teacher: &dyn Factor, student: &dyn Factor) -> bool {
    if std::ptr::addr_eq(teacher, student) {
        return true;
    }
    if teacher.name() != student.name() || teacher.arity() != student.arity() {
        return false;
    }
    if teacher.spectrum().is_some() || student.spectrum().is_some() {
        return teacher.spectrum() == student.spectrum();
    }
    match (teacher.scalar(), student.scalar()) {
        (Some(x), Some(y)) => is_same_law(x, y),
        (None, None) => format!("{teacher:?}") == format!("{student:?}"),
        _ => false,
    }
}

fn is_same_law(x: &dyn ScalarView, y: &dyn ScalarView) -> bool {
    let declared = x.symmetry() == y.symmetry()
        && x.parity() == y.parity()
        && x.outputs() == y.outputs()
        && x.gaussian() == y.gaussian()
        && x.pieces() == y.pieces()
        && x.landmarks(None) == y.landmarks(None);
    declared && tilts().all(|t| agrees(x, y, t))
}

fn tilts() -> impl Iterator<Item = Tilt> {
    let fields = |a: f64| FIELDS.into_iter().map(move |b| Tilt { a, b });
    PRECISIONS.into_iter().flat_map(fields)
}

/// Both say the same at a tilt, as priors, likelihoods or channels.
fn agrees(x: &dyn ScalarView, y: &dyn ScalarView, z: Tilt) -> bool {
    let bits = |t: Tilted| [t.log_z, t.mean, t.variance].map(f64::to_bits);
    let output = |view: &dyn ScalarView, y: f64| match view.check_output(y) {
        Ok(()) => view.likelihood(y, z).map(bits),
        Err(_) => None,
    };
    let both = |view: &dyn ScalarView, b: f64| {
        let t = view.channel(z, Tilt { a: 1.6, b })?;
        let all = [t.log_z, t.mean_z, t.variance_z, t.mean_x, t.variance_x];
        Some(all.map(f64::to_bits))
    };
    x.prior(z).map(bits) == y.prior(z).map(bits)
        && OUTPUTS.iter().all(|o| output(x, *o) == output(y, *o))
        && [-2.0, 0.3].iter().all(|b| both(x, *b) == both(y, *b))
}
