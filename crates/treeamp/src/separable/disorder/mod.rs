//! State evolution of separable factors: averages over the disorder $b \sim \mathcal N(\hat m x_0, \hat q)$.
//!
//! A student of law $A(a, b)$ sees a teacher of law $A_0$ through the field $b$. With $a_* = \hat m^2/\hat q + \hat\tau_0$ and
//! $b_* = \hat m b/\hat q$ the field is distributed as $p(b) = \mathcal N(b; 0, \hat q)\, e^{A_0(a_*, b_*) - A_0(\hat\tau_0, 0)}$, and given the
//! field the teacher's signal has mean $r_0(a_*, b_*)$ and variance $v_0(a_*, b_*)$. Hence
//!
//! $$m = E[r_0 r],\quad q = E[r^2],\quad v = E[v(a, b)],\quad \bar A = E[A(a, b)],\quad a = \hat q + \hat\tau.$$
//!
//! - At high precision $A_0$ and $b^2/2\hat q$ are both large, and nearly cancel. The weight is then formed from
//!   the excess $X_0 = A_0 - b_*^2/2a_* - \frac12\ln\frac{2\pi}{a_*}$ of the teacher's law instead,
//!   $\ln p(b) = X_0(a_*, b_*) - \frac{\hat\tau_0 b^2}{2(\hat m^2 + \hat\tau_0\hat q)} - \frac12\ln(\hat m^2 + \hat\tau_0\hat q) - A_0(\hat\tau_0, 0)$.
//! - `err` $= E[(r - c\,x_0)^2]$, $c = m/\tau_0$, is a small number when the student is right. It is assembled from
//!   averages of the difference $d = r - k r_0$ with $k = \hat m/a$, the value of $c$ at high precision:
//!   $E[d^2] + 2(k - c)E[d r_0] + (k - c)^2 E[r_0^2] + c^2 E[v_0]$ with $k - c = (k E[v_0] - E[d r_0])/\tau_0$.
//! - Where student and teacher are one law and their fields agree (the Bayes-optimal case), $r = r_0$,
//!   $m = E[r^2]$ and `err` $= m v/\tau_0$.

mod across;
mod branch_points;
mod breaks;
mod channel;
mod channel_entropy;
mod channel_rule;
mod circular;
mod circular_channel;
mod constellation;
mod counts;
mod crossovers;
mod entropy;
mod gaussian;
mod known_input;
mod likelihood;
mod line;
mod modulus;
mod outputs;
mod penalty;
mod piece;
mod piece_lines;
mod piece_odds;
mod prior;
mod rules;
mod segments;
mod tabulated;
mod two_outputs;

pub(super) use likelihood::noise_entropy;

use crate::belief::{OverlapFields, Overlaps};
use crate::error::FactorError;
use crate::scalar::{ScalarView, Symmetry, Tilt};

/// How many averages are taken together.
const COUNT: usize = 9;
const MASS: usize = 0;
const POTENTIAL: usize = 1;
const Q: usize = 2;
const V: usize = 3;
const M: usize = 4;
const Q0: usize = 5;
const V0: usize = 6;
const D1: usize = 7;
const D2: usize = 8;

/// Relative error of an average over one field (of that of the absolute value, where signs change).
const SINGLE: f64 = 1e-12;
/// The same for a student that is not the teacher: two laws with features of their own.
const MISMATCHED: f64 = 1e-10;
/// The same of an outer integral of two, and of the inner one, which must be smoother than the outer
/// one can see.
const OUTER: f64 = 1e-9;
const INNER: f64 = 1e-9;

/// Largest deviation of the mass of the disorder from one.
const MASS_TOLERANCE: f64 = 1e-7;

/// Variance, in units of $\tau_0$, below which a signal is certain, and accuracy is absolute.
const CERTAIN: f64 = 1e-16;

/// What the student and the teacher say about one value of the field: $A, r, v$ and $r_0, v_0$.
#[derive(Debug, Clone, Copy)]
struct Point {
    /// $A$, or its excess.
    log_z: f64,
    r: f64,
    v: f64,
    r0: f64,
    v0: f64,
}

impl Point {
    /// The nine averaged quantities, times `weight`.
    fn weighted(&self, weight: f64, k: f64) -> [f64; COUNT] {
        let Self {
            log_z,
            r,
            v,
            r0,
            v0,
        } = *self;
        let d = r - k * r0;
        [
            weight,
            weight * log_z,
            weight * r * r,
            weight * v,
            weight * r0 * r,
            weight * r0 * r0,
            weight * v0,
            weight * d * r0,
            weight * d * d,
        ]
    }
}

/// The averages over all fields.
#[derive(Debug, Clone, Copy)]
struct Sums([f64; COUNT]);

impl Sums {
    fn zero() -> Self {
        Self([0.0; COUNT])
    }

    fn add(&mut self, part: &[f64; COUNT]) {
        for (total, x) in self.0.iter_mut().zip(part) {
            *total += x;
        }
    }

    /// Refuses averages that are not finite, or whose disorder has not mass one.
    fn checked(self, at: &Field) -> Result<Self, FactorError> {
        if self.0.iter().any(|x| !x.is_finite()) {
            return Err(FactorError::Improper(format!(
                "an average at precision {:e} is not finite",
                at.a
            )));
        }
        if (self.0[MASS] - 1.0).abs() > MASS_TOLERANCE {
            return Err(FactorError::Failed(format!(
                "the disorder has mass {} instead of 1: the teacher's law changes too sharply for the average",
                self.0[MASS]
            )));
        }
        Ok(self)
    }

    fn overlaps(&self, at: &Field, tau0: f64) -> Overlaps {
        let s = &self.0;
        if at.bayes {
            let (m, v) = (s[Q], s[V]);
            return Overlaps {
                m,
                v,
                err: m * (v / tau0),
                tau0,
            };
        }
        let m = s[M];
        let c = m / tau0;
        let gap = (at.k * s[V0] - s[D1]) / tau0;
        let err = s[D2] + 2.0 * gap * s[D1] + gap * gap * s[Q0] + c * c * s[V0];
        Overlaps {
            m,
            v: s[V],
            err: err.max(0.0),
            tau0,
        }
    }
}

/// The fields on one edge, with the student's precision and what else the averages share.
#[derive(Debug, Clone, Copy)]
struct Field {
    m_hat: f64,
    q_hat: f64,
    /// The student's precision.
    a: f64,
    tau0_hat: f64,
    /// Teacher and student are one law with the same fields.
    bayes: bool,
    /// The factor of $r_0$ in $d = r - k r_0$.
    k: f64,
    /// The potential is averaged less that of the tilt: $E[X]$ in the place of $E[A]$.
    excess: bool,
}

impl Field {
    /// Checks and completes the fields of an edge; `same` says that teacher and student are one law.
    #[allow(clippy::float_cmp)] // the Bayes-optimal case is exact equality
    fn new(fields: &OverlapFields, tau0_hat: f64, same: bool) -> Result<Self, FactorError> {
        let OverlapFields {
            m_hat,
            q_hat,
            tau_hat,
        } = *fields;
        let a = fields.a();
        if !(q_hat >= 0.0 && m_hat.is_finite() && a.is_finite() && tau0_hat.is_finite()) {
            return Err(FactorError::Improper(format!(
                "its averaged field has m_hat = {m_hat:e}, q_hat = {q_hat:e}, tau_hat = {tau_hat:e}, tau0_hat = {tau0_hat:e}"
            )));
        }
        let bayes = same && m_hat == q_hat && tau_hat == tau0_hat;
        let guess = m_hat / a;
        let k = if bayes || !guess.is_finite() || guess.abs() > 1e3 {
            1.0
        } else {
            guess
        };
        Ok(Self {
            m_hat,
            q_hat,
            a,
            tau0_hat,
            bayes,
            k,
            excess: false,
        })
    }

    /// Nothing is seen of the signal, and the field is zero.
    fn is_silent(&self) -> bool {
        self.m_hat == 0.0 && self.q_hat == 0.0
    }

    /// $a_*, b_*$: the teacher's tilt given the field.
    fn star(&self, b: f64) -> Tilt {
        if self.bayes {
            return Tilt { a: self.a, b };
        }
        let ratio = self.m_hat / self.q_hat;
        Tilt {
            a: self.m_hat.mul_add(ratio, self.tau0_hat),
            b: ratio * b,
        }
    }

    /// A field without noise, $b = \hat m x_0$, is given one of $10^{-7}$ of the signal: averages are smooth in
    /// $\hat q$, and move by $10^{-14}$.
    fn softened(mut self, tau0: f64) -> Self {
        if self.q_hat <= 0.0 && self.m_hat != 0.0 {
            self.q_hat = (1e-7 * self.m_hat).powi(2) * tau0;
        }
        self
    }
}

/// Totals of the nine averages below which they need not be known to their own accuracy: $A$ and $d$ may
/// be zero up to rounding, and the Bayes-optimal case needs the first four only.
fn floors(at: &Field, tau0: f64) -> [f64; COUNT] {
    let mut floor = [0.0; COUNT];
    floor[V] = CERTAIN * tau0;
    floor[POTENTIAL] = if at.excess {
        1.0
    } else {
        1e-5 * (at.a.abs() + at.m_hat.abs()) * tau0
    };
    if at.bayes {
        floor[M..].fill(f64::INFINITY);
    } else {
        floor[D1] = 1e-5 * tau0;
        floor[D2] = 1e-20 * tau0;
    }
    floor
}

/// What turns the log-partition of an element into that per real component.
fn per_component(view: &dyn ScalarView) -> f64 {
    if view.symmetry() == Symmetry::Line {
        1.0
    } else {
        0.5
    }
}

/// Teacher and student share a symmetry: fields of either sign contribute alike.
fn is_symmetric(student: &dyn ScalarView, teacher: &dyn ScalarView) -> bool {
    student.parity().is_some() && student.parity() == teacher.parity()
}

/// Both views are one object.
fn is_same(student: &dyn ScalarView, teacher: &dyn ScalarView) -> bool {
    std::ptr::addr_eq(student, teacher)
}

/// A field known exactly at infinite precision: the student recovers the signal.
fn recovered(fields: &OverlapFields) -> bool {
    fields.m_hat == f64::INFINITY && fields.q_hat == f64::INFINITY
}
