//! Observed modulus $y = |z|$ of a complex signal, $p(y \mid z) = \delta(y - |z|)$.
//!
//! # Moments
//! On the circle $|z| = y$ the tilt is a von Mises law of concentration $\kappa = |b| y$. With $R = I_1/I_0$ at $\kappa$:
//! $A = \ln 2\pi y + \ln I_0(\kappa) - \tfrac12 a y^2$, $r = y R\, b/|b|$, variance $\tfrac12 y^2(1 - R^2)$ per real component.
//!
//! # Limits
//! Finite for every $a$. $y = 0$ pins $z$ at zero, with density zero: $A = -\infty$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, modulus likelihood and phase variable.

use num_complex::Complex;
use rand::Rng;

use super::{check_finite, log_dirac};
use crate::math::bessel::circle;
use crate::math::special::HALF_LN_2PI;
use crate::scalar::{Elem, OutputMeasure, ScalarLikelihood, Symmetry, Tilted};

/// $y = |z|$, observed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModulusLikelihood;

impl ScalarLikelihood<Complex<f64>> for ModulusLikelihood {
    const NAME: &'static str = "modulus_likelihood";
    type Output = f64;

    #[inline]
    fn tilted(&self, y: f64, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        let c = circle(y * b.norm());
        let (mean, variance) = self.moments(y, a, b);
        Tilted {
            log_z: (2.0 * HALF_LN_2PI + y.ln() + c.log_i0) - 0.5 * (a * y) * y,
            mean,
            variance,
        }
    }

    #[inline]
    fn moments(&self, y: f64, _: f64, b: Complex<f64>) -> (Complex<f64>, f64) {
        let size = b.norm();
        let c = circle(y * size);
        let mean = if size > 0.0 {
            Elem::scale(b, y * c.ratio / size)
        } else {
            Complex::ZERO
        };
        (mean, 0.5 * (y * c.spread) * y)
    }

    fn sample(&self, z: Complex<f64>, _: &mut dyn Rng) -> f64 {
        z.norm()
    }

    fn log_density(&self, y: f64, z: Complex<f64>) -> f64 {
        log_dirac(y - z.norm())
    }

    fn check(&self, y: f64) -> Result<(), String> {
        check_finite(y)?;
        if y >= 0.0 {
            return Ok(());
        }
        Err(format!("expected a number from 0 up, got {y}"))
    }

    /// $\ln\frac{2\pi y a}{2\pi} + \ln[e^{-\kappa}I_0(\kappa)] - \tfrac12 a (y - |b|/a)^2$.
    fn excess(&self, y: f64, a: f64, b: Complex<f64>) -> f64 {
        let size = b.norm();
        let gap = y - size / a;
        y.ln() + a.ln() + circle(y * size).log_scaled - 0.5 * (a * gap) * gap
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::Modulus)
    }

    fn map(&self, z: Complex<f64>) -> Option<f64> {
        Some(z.norm())
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Circular
    }
}
