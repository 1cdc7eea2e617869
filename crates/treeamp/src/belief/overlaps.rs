//! Order parameters of a teacher-student pair and their conjugate fields.

/// Conjugates of the overlaps on one edge: the student sees the signal through
/// $b \sim \mathcal N(\hat m x_0, \hat q)$ and assumes a precision $a = \hat q + \hat\tau$.
///
/// In the Bayes-optimal setting $\hat m = \hat q$ and $\hat\tau = \hat\tau_0$, the teacher's own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OverlapFields {
    /// $\hat m$.
    pub m_hat: f64,
    /// $\hat q$.
    pub q_hat: f64,
    /// $\hat\tau$.
    pub tau_hat: f64,
}

impl OverlapFields {
    /// The student's precision $a = \hat q + \hat\tau$.
    #[must_use]
    pub fn a(&self) -> f64 {
        self.q_hat + self.tau_hat
    }
}

/// Order parameters of one variable, per component.
///
/// `err` $= E\{(r - c\,x_0)^2\}$ with $c = m/\tau_0$ stands for $q$: with it $\hat q = a^2\,$`err` has
/// no cancellation at high precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overlaps {
    /// $m = E\,x_0 r$.
    pub m: f64,
    /// $v = E\,v$, the variance the student claims.
    pub v: f64,
    /// $E\{(r - c\,x_0)^2\}$, $c = m/\tau_0$.
    pub err: f64,
    /// The teacher's second moment $\tau_0$.
    pub tau0: f64,
}

impl Overlaps {
    /// $q = E\,r^2 = \mathrm{err} + m^2/\tau_0$.
    #[must_use]
    pub fn q(&self) -> f64 {
        self.err + self.m * (self.m / self.tau0)
    }

    /// $\tau = q + v$.
    #[must_use]
    pub fn tau(&self) -> f64 {
        self.q() + self.v
    }

    /// The mean squared error $\tau_0 - 2m + q = \mathrm{err} + (\tau_0 - m)^2/\tau_0$.
    #[must_use]
    pub fn mse(&self) -> f64 {
        let gap = self.tau0 - self.m;
        // squares of very small and very large signals are out of range; a signal that is not known yet has
        // no second moment
        if self.tau0 == 0.0 {
            self.err
        } else {
            self.err + gap * (gap / self.tau0)
        }
    }
}
