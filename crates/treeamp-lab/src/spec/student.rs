//! `[student]`: the parameters and factors of a mismatched student.

use super::file::{FactorEntry, ModelFile, Reader, path};
use super::node::Entry;
use super::{Setting, SpecError};

/// The key of the factors that a student has of its own.
const FACTOR: &str = "factor";

impl Reader<'_> {
    /// Numbers in place of parameters, and `[[student.factor]]` in place of factors.
    pub(super) fn student(&self, entry: &Entry, file: &mut ModelFile) -> Result<(), SpecError> {
        for e in self.table(entry, "")? {
            if e.key == FACTOR {
                file.student_factors = self.factors(e)?;
            } else {
                file.student.push(self.number("student", e)?);
            }
        }
        Ok(())
    }
}

impl ModelFile {
    /// Every number of the student is a parameter, and every factor stands in the place of one of the teacher's.
    pub(super) fn check_student(&self, entries: &[Entry]) -> Result<(), SpecError> {
        let mut known: Vec<&str> = self.parameters.iter().map(|(n, _)| n.as_str()).collect();
        known.push(FACTOR);
        let reader = Reader::new(&self.name);
        for entry in entries.iter().filter(|e| e.key == "student") {
            reader.known(reader.table(entry, "")?, "student", "parameter", &known)?;
        }
        for (k, own) in self.student_factors.iter().enumerate() {
            let others = |f: &&FactorEntry| f.replaces(own);
            let (teachers, twice) = (
                self.factors.iter().filter(others).count(),
                self.student_factors[..k].iter().any(|f| f.replaces(own)),
            );
            if teachers != 1 || twice {
                let got = if twice { 2 } else { teachers };
                let of = if twice { "student" } else { "teacher" };
                let reason = format!(
                    "expected the inputs and outputs of one factor of the {of}, got those of {got}"
                );
                return Err(self.error(own.line, &path("student.factor", own.label()), reason));
            }
        }
        Ok(())
    }

    /// The student differs from the teacher.
    #[must_use]
    pub fn is_mismatched(&self) -> bool {
        !self.student.is_empty() || !self.student_factors.is_empty()
    }

    /// An error of the student as a whole.
    pub(crate) fn student_error(&self, reason: String) -> SpecError {
        let line = self.student_factors.first().map_or(0, |f| f.line);
        self.error(line, "student", reason)
    }

    /// The student's model: its own factors in the places of the teacher's. What can be set stays the same.
    #[must_use]
    pub fn of_student(&self) -> Self {
        let mut file = self.clone();
        for own in &mut file.student_factors {
            let place = file.factors.iter_mut().find(|f| f.replaces(own));
            if let Some(teacher) = place {
                std::mem::swap(teacher, own);
            }
        }
        file
    }

    /// The student's parameters: those of `[student]` in place of the teacher's.
    #[must_use]
    pub fn student_setting(&self, setting: &Setting) -> Setting {
        let beliefs = self.student.iter();
        beliefs.fold(setting.clone(), |s, (name, value)| s.with(name, *value))
    }
}

impl FactorEntry {
    /// It has the place of another one: the same inputs and outputs.
    fn replaces(&self, other: &Self) -> bool {
        self.inputs == other.inputs && self.outputs == other.outputs
    }
}
