//! Observed phase $y = z/|z|$ of a complex signal.
//!
//! # Moments
//! $z = \rho y$ with the plane's measure $\rho\,d\rho$: the radius has the weight $\rho\,e^{-\frac12 a\rho^2 + \beta\rho}$ on $\rho > 0$ with
//! $\beta = \mathrm{Re}(\bar y b)$. $A = \ln\int_0^\infty\rho\,e^{-\frac12 a\rho^2 + \beta\rho}d\rho$, $r = y\,E\rho$, variance $\tfrac12\mathrm{Var}\rho$ per real
//! component. $A$ is that of the density of $y$ with respect to the angle.
//!
//! # Limits
//! Diverges for $a < 0$, and for $a = 0$ unless $\beta < 0$.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), appendix E, phase likelihood, whose formula misses the factor $\rho$.

use num_complex::Complex;
use rand::Rng;

use super::log_dirac;
use crate::catalog::module::{Module, Signals};
use crate::math::rayleigh::radius;
use crate::scalar::{Elem, OutputMeasure, ScalarLikelihood, Symmetry, Tilted};

/// How far from one the modulus of a phase may be.
const ROUNDING: f64 = 1e-6;

/// $y = z/|z|$, observed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PhaseLikelihood;

impl PhaseLikelihood {
    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: "phase",
        summary: "phase of a complex signal, to be observed",
        formula: "x = z / |z|",
        tex: r"x = z/|z|",
        notes: r"$z = \rho x$ with the weight $\rho\,e^{-\frac12 a\rho^2 + \beta\rho}$ of the radius, $\beta = \mathrm{Re}(\bar x b)$: $r = x\,E\rho$, $v = \frac12\mathrm{Var}\rho$ per real component.",
        signals: Signals::Complex,
        constructor: |a| a.likelihood(Self),
        ..Module::LIKELIHOOD
    };
}

impl ScalarLikelihood<Complex<f64>> for PhaseLikelihood {
    const NAME: &'static str = "phase_likelihood";
    type Output = Complex<f64>;

    #[inline]
    fn tilted(&self, y: Complex<f64>, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        let y = Elem::scale(y, 1.0 / y.norm());
        let t = radius(a, y.dot(b));
        Tilted {
            log_z: t.log_z,
            mean: Elem::scale(y, t.mean),
            variance: 0.5 * t.variance,
        }
    }

    fn sample(&self, z: Complex<f64>, _: &mut dyn Rng) -> Complex<f64> {
        phase(z)
    }

    fn log_density(&self, y: Complex<f64>, z: Complex<f64>) -> f64 {
        log_dirac((phase(z) - y).norm())
    }

    fn check(&self, y: Complex<f64>) -> Result<(), String> {
        if (y.norm() - 1.0).abs() <= ROUNDING {
            return Ok(());
        }
        Err(format!(
            "expected a complex number of modulus 1, got {y} of modulus {}",
            y.norm()
        ))
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        Some(OutputMeasure::smooth())
    }

    fn map(&self, z: Complex<f64>) -> Option<Complex<f64>> {
        Some(phase(z))
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Ray
    }
}

/// $z/|z|$, and 1 at zero.
fn phase(z: Complex<f64>) -> Complex<f64> {
    let size = z.norm();
    if size > 0.0 {
        Elem::scale(z, 1.0 / size)
    } else {
        Complex::ONE
    }
}
