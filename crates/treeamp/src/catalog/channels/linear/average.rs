//! State evolution of a linear channel from the spectrum of $W^T W$ alone.
//!
//! In the basis of $V$ every mode is a scalar Gaussian pair with
//! $\hat m_\lambda = \hat m_z + \lambda\hat m_x$ (and the same for $\hat q$, $\hat\tau$, $a$, $\hat\tau_0$), and
//! $z$ averages over $\lambda$, $\alpha x$ over $\lambda$ with weight $\lambda$.

use std::f64::consts::TAU;

use crate::belief::{OverlapFields, Overlaps};
use crate::error::{FactorError, brief};
use crate::factor::Averaged;
use crate::math::spectrum::Spectrum;

const Z: usize = 0;
const X: usize = 1;

/// The averages at given fields.
pub(super) struct Average<'a> {
    spectrum: &'a Spectrum,
    at: Averaged<'a>,
}

impl<'a> Average<'a> {
    pub fn new(spectrum: &'a Spectrum, at: Averaged<'a>) -> Self {
        Self { spectrum, at }
    }

    /// $E[w\,f(\lambda)]$ where $w = 1$ for $z$ and $\lambda/\alpha$ for $x$.
    fn expect(&self, target: usize, f: impl Fn(f64) -> f64) -> f64 {
        if target == Z {
            self.spectrum.expect(f)
        } else {
            self.spectrum
                .expect(|l| if l > 0.0 { l * f(l) } else { 0.0 })
                / self.spectrum.alpha()
        }
    }

    fn mode(l: f64, field: impl Fn(usize) -> f64) -> f64 {
        // an infinite field at x is not seen by a mode with λ = 0
        if l > 0.0 {
            field(Z) + l * field(X)
        } else {
            field(Z)
        }
    }

    fn a(&self, l: f64) -> f64 {
        Self::mode(l, |p| self.at.fields[p].a())
    }

    fn tau0(&self, l: f64) -> f64 {
        1.0 / Self::mode(l, |p| self.at.tau0_hat[p])
    }

    /// Every mode is a proper Gaussian, the student's and the teacher's.
    pub fn check(&self) -> Result<(), FactorError> {
        let bad = |l: f64| !(self.a(l) > 0.0 && self.tau0(l) > 0.0);
        match self.spectrum.nodes().iter().find(|(l, _)| bad(*l)) {
            None => Ok(()),
            Some((l, _)) => Err(FactorError::Improper(format!(
                "the mode with eigenvalue {} has precision {}",
                brief(*l),
                brief(self.a(*l))
            ))),
        }
    }

    pub fn overlaps(&self, target: usize) -> Overlaps {
        let fields = self.at.fields;
        let tau0 = self.expect(target, |l| self.tau0(l));
        if fields[Z].a() == f64::INFINITY {
            // a known input: all modes are known
            let (m, v, err) = (tau0, 0.0, 0.0);
            return Overlaps { m, v, err, tau0 };
        }
        let v = self.expect(target, |l| 1.0 / self.a(l));
        if fields[X].a() == f64::INFINITY {
            // a known output: modes with λ > 0 are known, the others keep their prior
            let z = fields[Z];
            let share = |l: f64| if l > 0.0 { 1.0 } else { z.m_hat / z.a() };
            let m = self.expect(target, |l| share(l) * self.tau0(l));
            let c = m / tau0;
            let noise = |l: f64| {
                if l > 0.0 {
                    0.0
                } else {
                    z.q_hat / z.a().powi(2)
                }
            };
            let err = self.expect(target, |l| (share(l) - c).powi(2) * self.tau0(l) + noise(l));
            return Overlaps { m, v, err, tau0 };
        }
        let share = |l: f64| Self::mode(l, |p| fields[p].m_hat) / self.a(l);
        let m = self.expect(target, |l| share(l) * self.tau0(l));
        let c = m / tau0;
        let err = self.expect(target, |l| {
            let noise = Self::mode(l, |p| fields[p].q_hat) / self.a(l).powi(2);
            (share(l) - c).powi(2) * self.tau0(l) + noise
        });
        Overlaps { m, v, err, tau0 }
    }

    /// The extrinsic precision $1/v - a$ without the difference, as in expectation propagation.
    pub fn extrinsic(&self, target: usize) -> f64 {
        let (az, ax) = (self.at.fields[Z].a(), self.at.fields[X].a());
        let v = self.expect(target, |l| 1.0 / self.a(l));
        if ax == f64::INFINITY {
            let rank = self.spectrum.rank();
            return match target {
                Z => rank / v,
                // lim of d_x / v_x: every output is seen, or the message is infinite
                _ if rank >= self.spectrum.alpha() * (1.0 - 1e-12) => {
                    let inverse = self
                        .spectrum
                        .expect(|l| if l > 0.0 { 1.0 / l } else { 0.0 });
                    az * inverse / self.spectrum.alpha()
                }
                _ => f64::INFINITY,
            };
        }
        if target == Z {
            return self.spectrum.expect(|l| ax * l / self.a(l)) / v;
        }
        let alpha = self.spectrum.alpha();
        let seen = self
            .spectrum
            .expect(|l| if l > 0.0 { az / self.a(l) } else { 0.0 });
        let unseen = alpha - self.spectrum.rank();
        (seen + unseen.max(0.0)) / (alpha * v)
    }

    /// The fields sent to an output that is known exactly, as $a_x = \hat m_x = \hat q_x \to \infty$. With $s = E_x\lambda^{-2}$,
    /// $u = a_z - \hat m_z$ and $g = E_x[\tau_\lambda/\lambda]/\tau_0$, where $E_x$ weighs modes by $\lambda/\alpha$:
    ///
    /// $a = a_z s,\quad \hat m = a_z s - u g,\quad \hat q = \hat q_z s + u^2 E_x[\tau_\lambda(1/\lambda - g)^2]$.
    ///
    /// `None` where the outputs depend on each other, and each is known from the others, or all of them from the input.
    pub fn towards_known_output(&self) -> Option<OverlapFields> {
        if self.at.fields[Z].a() == f64::INFINITY {
            return None;
        }
        if self.spectrum.rank() < self.spectrum.alpha() * (1.0 - 1e-12) {
            return None;
        }
        let z = self.at.fields[Z];
        let s = self.expect(X, |l| 1.0 / (l * l));
        let g = self.expect(X, |l| self.tau0(l) / l) / self.expect(X, |l| self.tau0(l));
        let u = z.a() - z.m_hat;
        let spread = self.expect(X, |l| self.tau0(l) * (1.0 / l - g).powi(2));
        let q_hat = z.q_hat * s + u * u * spread;
        Some(OverlapFields {
            m_hat: z.a() * s - u * g,
            q_hat,
            tau_hat: z.a() * s - q_hat,
        })
    }

    /// $I = \frac12 E_\lambda\ln a_\lambda\tau_\lambda$ in the Bayes-optimal setting.
    pub fn information(&self) -> f64 {
        let fields = self.at.fields;
        // a τ = 1 + m̂ τ, without the sum
        self.spectrum
            .expect(|l| 0.5 * (Self::mode(l, |p| fields[p].m_hat) * self.tau0(l)).ln_1p())
    }

    /// $\bar A = E_\lambda[\frac{\hat m_\lambda^2\tau_\lambda + \hat q_\lambda}{2 a_\lambda} + \frac12\ln\frac{2\pi}{a_\lambda}]$.
    pub fn potential(&self) -> f64 {
        let fields = self.at.fields;
        self.spectrum.expect(|l| {
            let (m, q) = (
                Self::mode(l, |p| fields[p].m_hat),
                Self::mode(l, |p| fields[p].q_hat),
            );
            let a = self.a(l);
            0.5 * (m * m * self.tau0(l) + q) / a + 0.5 * (TAU / a).ln()
        })
    }
}

/// $\tau_0$ of a port at given $\hat\tau_0$.
pub(super) fn second_moment(spectrum: &Spectrum, tau0_hat: &[f64], target: usize) -> f64 {
    let tau = |l: f64| 1.0 / (tau0_hat[Z] + l * tau0_hat[X]);
    if target == Z {
        spectrum.expect(tau)
    } else {
        spectrum.expect(|l| l * tau(l)) / spectrum.alpha()
    }
}

/// $A^{(0)} = \frac12 E_\lambda\ln\frac{2\pi}{\hat\tau_\lambda}$.
pub(super) fn prior_potential(spectrum: &Spectrum, tau0_hat: &[f64]) -> f64 {
    spectrum.expect(|l| 0.5 * (TAU / (tau0_hat[Z] + l * tau0_hat[X])).ln())
}
