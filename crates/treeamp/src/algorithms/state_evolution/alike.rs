//! A teacher's factor and a student's, declared apart, may be one law: then the Bayes-optimal averages hold for the pair, and the
//! Nishimori line maps to itself.

use std::sync::Arc;

use crate::factor::Factor;
use crate::model::Tree;

/// The teacher's factors beside the student's: the student's own where they are one law.
pub(super) fn paired_teachers(teacher: &Tree, student: &Tree) -> Vec<Arc<dyn Factor>> {
    let pairs = teacher.factors().iter().zip(student.factors());
    let teachers = pairs.map(|(t, s)| {
        let own = is_alike(t.factor.as_ref(), s.factor.as_ref());
        Arc::clone(if own { &s.factor } else { &t.factor })
    });
    teachers.collect()
}

/// One object, or one law.
pub(super) fn is_alike(teacher: &dyn Factor, student: &dyn Factor) -> bool {
    std::ptr::addr_eq(teacher, student) || student.same_law(teacher)
}
