//! Closed forms for a Gaussian student.

use super::Field;
use crate::belief::Overlaps;
use crate::math::special::HALF_LN_2PI;
use crate::scalar::Tilted;

/// A Gaussian student's overlaps and potential.
pub(super) struct Closed {
    pub overlaps: Overlaps,
    pub potential: f64,
}

/// $\ln(1 + a v)$.
fn log_one_plus(a: f64, v: f64) -> f64 {
    (a * v).ln_1p()
}

/// A Gaussian prior $\mathcal N(\mu, s)$ against any teacher of mean $\mu_0$, variance $s_0$ and second moment $\tau_0 = \mu_0^2 + s_0$. With $u = 1/(1 + a s)$
/// the student's mean is $r = u\mu + u s\,b$:
///
/// $m = u\mu\mu_0 + u s\,\hat m\tau_0$, `err` $= u^2\mu^2 s_0/\tau_0 + u^2s^2\hat q$, $v = u s$,
/// $\bar A = \tfrac12 u\,[s(\hat q + \hat m^2\tau_0) + \mu(2\hat m\mu_0 - a\mu)] - \tfrac12\ln(1 + a s)$.
///
/// `None` where the student's law is improper.
pub(super) fn prior(at: &Field, own: (f64, f64), teacher: &Tilted) -> Option<Closed> {
    let (mean, s) = own;
    let (mean0, tau0) = (teacher.mean, teacher.second_moment());
    let t = at.a.mul_add(s, 1.0);
    if !(t > 0.0) {
        return None;
    }
    let u = 1.0 / t;
    let (offset, rate) = (u * mean, u * s);
    let share = if tau0 > 0.0 {
        teacher.variance / tau0
    } else {
        0.0
    };
    let square = at.m_hat * at.m_hat * tau0 + at.q_hat;
    let bracket = s * square + mean * (2.0 * at.m_hat * mean0 - at.a * mean);
    Some(Closed {
        overlaps: Overlaps {
            m: offset * mean0 + rate * at.m_hat * tau0,
            v: rate,
            err: offset * offset * share + rate * rate * at.q_hat,
            tau0,
        },
        potential: 0.5 * u * bracket - 0.5 * log_one_plus(at.a, s),
    })
}

/// A Gaussian likelihood of noise $\Delta$ against a teacher of noise $\Delta_0$. With $u = 1/(1 + a\Delta)$ the student's mean is
/// $r = u(y + \Delta b)$:
///
/// $m = u(1 + \hat m\Delta)\tau_0$, `err` $= u^2(\Delta_0 + \hat q\Delta^2)$, $v = u\Delta$,
/// $\bar A = \tfrac12 u\,[\Delta(\hat q + \hat m^2\tau_0) + 2\hat m\tau_0 - a(\tau_0 + \Delta_0)] - \tfrac12\ln(1 + a\Delta)$.
///
/// `None` where the student's law is improper.
pub(super) fn likelihood(at: &Field, noise: f64, noise0: f64, tau0: f64) -> Option<Closed> {
    let t = at.a.mul_add(noise, 1.0);
    if !(t > 0.0) {
        return None;
    }
    let u = 1.0 / t;
    let signal = at.m_hat * tau0;
    let bracket = noise * (at.q_hat + at.m_hat * signal) + 2.0 * signal - at.a * (tau0 + noise0);
    Some(Closed {
        overlaps: Overlaps {
            m: u * at.m_hat.mul_add(noise, 1.0) * tau0,
            v: u * noise,
            err: u * u * (noise0 + at.q_hat * noise * noise),
            tau0,
        },
        potential: 0.5 * u * bracket - 0.5 * log_one_plus(at.a, noise),
    })
}

/// $\tfrac12\ln\frac{2\pi}{a}$.
pub(super) fn log_gaussian(a: f64) -> f64 {
    HALF_LN_2PI - 0.5 * a.ln()
}
