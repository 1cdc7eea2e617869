//! State evolution of the modulus $y = |z|$ of a complex signal, as one integral.
//!
//! Given $y$ the student's law depends on the concentration $\kappa = y|b|$ alone, up to the scale $y$: the integral over $y$
//! at fixed $\kappa$ is a Bessel function of the second kind. With $c = |\hat m|/\hat q$, $\alpha = \hat\tau_0 + \hat m^2/\hat q$ and $\omega = \sqrt{\alpha/\hat q}$
//!
//! $$p(\kappa) = \frac{\hat\tau_0\kappa}{\hat q}\,I_0(c\kappa)\,K_0(\omega\kappa),\qquad
//! E[y^2; \kappa] = \frac{\hat\tau_0\kappa^2}{\hat q\sqrt{\alpha\hat q}}\,I_0(c\kappa)\,K_1(\omega\kappa),$$
//!
//! and given $\kappa$ and $y$ the teacher's signal has mean $y R(c\kappa)$ along $b$. In $\ln\kappa$ the integrands are analytic in a strip
//! of half-width $\pi/2$ and fall off exponentially, so that the trapezoidal rule of step $h$ errs by $e^{-\pi^2/h}$.

use super::{COUNT, Field, MASS, POTENTIAL, Point};
use crate::math::bessel::{circle, scaled_k};
use crate::math::quadrature::trapezoid::equal_steps;
use crate::scalar::{ScalarView, Tilt};

/// Step in $\ln\kappa$.
const STEP: f64 = 0.27;
/// $-\ln$ of what is left out at either end.
const FALL: f64 = 38.0;
/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// The nine averages, per real component, for a field that is not silent.
pub(super) fn average(student: &dyn ScalarView, at: &Field, tau0: f64) -> [f64; COUNT] {
    let c = at.m_hat.abs() / at.q_hat;
    let alpha = at.tau0_hat + c * at.m_hat.abs();
    let omega = (alpha / at.q_hat).sqrt();
    // ω - c without the difference: ω² - c² = τ̂₀/q̂
    let rate = at.tau0_hat / at.q_hat / (omega + c);
    let scale = 1.0 / (alpha * at.q_hat).sqrt();
    // p ~ κ² ln κ in ln κ below 1/ω, e^{-rate κ} at the top
    let (low, high) = (-omega.ln() - 0.5 * FALL, (FALL / rate).ln());
    #[allow(clippy::cast_possible_truncation)] // some hundred
    let half = (0.5 * (high - low) / STEP).ceil() as i32;
    let sample = &mut |log_kappa: f64| {
        let kappa = log_kappa.exp();
        let seen = circle(c * kappa);
        let (k0, k1) = scaled_k(omega * kappa);
        let common = kappa * (kappa / (at.q_hat * tau0)) * (seen.log_scaled - rate * kappa).exp();
        // at y = 1; both moments scale with y
        let Some(t) = student.likelihood(1.0, Tilt { a: 0.0, b: kappa }) else {
            return [f64::NAN; COUNT];
        };
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let point = Point {
            log_z: 0.0,
            r: half * t.mean,
            v: t.variance,
            r0: half * seen.ratio.copysign(at.m_hat),
            v0: 0.5 * seen.spread,
        };
        let mut values = point.weighted(common * kappa * scale * k1, at.k);
        (values[MASS], values[POTENTIAL]) = (common * k0, 0.5 * common * k0 * t.log_z);
        values
    };
    let step = 0.5 * (high - low) / f64::from(half);
    let mut sums = equal_steps(sample, 0.5 * (low + high), step, half);
    // A = ln y + A(1, κ) - ½ a y², with E ln y of a Rayleigh length
    sums[POTENTIAL] += 0.25 * ((2.0 * tau0).ln() - EULER) - 0.5 * at.a * tau0;
    sums
}

#[cfg(test)]
mod tests {
    use super::super::circular::Pair;
    use super::super::{Field, Sums};
    use super::average;
    use crate::belief::OverlapFields;
    use crate::catalog::likelihoods::ModulusLikelihood;
    use crate::scalar::{OutputMeasure, ScalarView, Symmetry, Tilt, Tilted};
    use crate::separable::{ObservedLaw, SeparableLikelihood};
    use num_complex::Complex;

    /// The modulus as any function of the length: averaged by two integrals.
    struct Plain(SeparableLikelihood<ModulusLikelihood, Complex<f64>>);

    impl ScalarView for Plain {
        fn symmetry(&self) -> Symmetry {
            Symmetry::Circular
        }
        fn likelihood(&self, y: f64, z: Tilt) -> Option<Tilted> {
            self.0.likelihood(y, z)
        }
        fn outputs(&self) -> Option<OutputMeasure> {
            Some(OutputMeasure::smooth())
        }
        fn map(&self, z: f64) -> Option<f64> {
            Some(z)
        }
    }

    #[test]
    fn one_integral_is_two() -> Result<(), crate::FactorError> {
        let plain = Plain(ModulusLikelihood.unspecified());
        for (m_hat, q_hat, tau_hat, tau0) in [
            (1e-3, 1e-3, 1.0, 1.0),
            (0.7, 0.7, 0.5, 2.0),
            (0.5, 1.3, 0.9, 1.5),
            (2.0, 0.3, 1.0, 1.0),
            (50.0, 20.0, 1.0, 1.0),
            (1e4, 1e4, 1.0, 1.0),
        ] {
            let fields = OverlapFields {
                m_hat,
                q_hat,
                tau_hat,
            };
            let at = Field::new(&fields, 1.0 / tau0, false)?;
            let one = average(&plain, &at, tau0);
            let pair = Pair {
                student: &plain,
                teacher: &plain,
                at,
                tau0,
            };
            let Sums(two) = pair.output()?;
            for (k, (x, y)) in one.iter().zip(two).enumerate() {
                // two integrals are good to 1e-9
                let scale = y.abs().max(1e-3);
                assert!((x - y).abs() < 3e-9 * scale, "{k} at {m_hat}: {x} {y}");
            }
        }
        Ok(())
    }
}
