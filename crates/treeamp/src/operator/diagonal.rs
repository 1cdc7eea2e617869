//! Diagonal scaling $x_n = d_n z_n$, real or complex: $s = |d|$, $V = I$, $U = \mathrm{diag}(d/|d|)$.

use num_complex::Complex64;

use super::dft::{not_empty, plain};
use super::{LinearOperator, Modes, SingularSystem, multiply};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};

/// Entry by entry multiplication.
#[derive(Debug)]
pub struct DiagonalScaling {
    signal: SignalSpec,
    scale: Scale,
    modes: Modes,
}

/// The factors and their phases.
#[derive(Debug)]
enum Scale {
    Real(Vec<f64>),
    Complex(Vec<Complex64>, Vec<Complex64>),
}

impl DiagonalScaling {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "diagonal";

    /// Real factors on a real or complex signal.
    ///
    /// # Errors
    /// A number of factors other than the signal's, NaN or infinity.
    pub fn new(signal: &SignalSpec, factors: Vec<f64>) -> Result<Self, ModelError> {
        check(signal, factors.len(), factors.iter().all(|d| d.is_finite()))?;
        if signal.element == Element::Complex {
            let complex = factors.iter().map(|d| Complex64::new(*d, 0.0)).collect();
            return Self::complex(signal, complex);
        }
        let values = factors.iter().map(|d| d.abs()).collect();
        Ok(Self {
            modes: Modes::new(values, 1, &[1.0], signal.len()),
            signal: plain(signal),
            scale: Scale::Real(factors),
        })
    }

    /// Complex factors on a complex signal.
    ///
    /// # Errors
    /// A real signal, a number of factors other than the signal's, NaN or infinity.
    pub fn complex(signal: &SignalSpec, factors: Vec<Complex64>) -> Result<Self, ModelError> {
        check(signal, factors.len(), factors.iter().all(|d| d.is_finite()))?;
        if signal.element == Element::Real {
            let expected = "complex, for complex factors";
            return Err(parameter(Self::NAME, "signal", expected, signal));
        }
        let values = factors.iter().map(|d| d.norm()).collect();
        let phases = factors.iter().map(|d| phase(*d)).collect();
        Ok(Self {
            modes: Modes::new(values, 2, &[2.0], signal.len()),
            signal: plain(signal),
            scale: Scale::Complex(factors, phases),
        })
    }

    fn turn(&self, y: &mut [f64], conjugate: bool) {
        match &self.scale {
            Scale::Real(d) => {
                let negative = y.iter_mut().zip(d).filter(|(_, d)| **d < 0.0);
                negative.for_each(|(y, _)| *y = -*y);
            }
            Scale::Complex(_, phases) => multiply(y, phases, conjugate),
        }
    }

    fn scale(&self, y: &mut [f64], conjugate: bool) {
        match &self.scale {
            Scale::Real(d) => y.iter_mut().zip(d).for_each(|(y, d)| *y *= d),
            Scale::Complex(d, _) => multiply(y, d, conjugate),
        }
    }
}

/// $d/|d|$, 1 for zero.
pub(super) fn phase(d: Complex64) -> Complex64 {
    let size = d.norm();
    if size > 0.0 {
        d / size
    } else {
        Complex64::new(1.0, 0.0)
    }
}

fn check(signal: &SignalSpec, factors: usize, finite: bool) -> Result<(), ModelError> {
    not_empty(DiagonalScaling::NAME, signal)?;
    if factors != signal.count() {
        let expected = format!("{} of them, as a signal of shape {signal}", signal.count());
        return Err(parameter(
            DiagonalScaling::NAME,
            "factors",
            expected,
            factors,
        ));
    }
    if !finite {
        let got = "NaN or infinity";
        return Err(parameter(DiagonalScaling::NAME, "factors", "finite", got));
    }
    Ok(())
}

impl LinearOperator for DiagonalScaling {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn input(&self) -> &SignalSpec {
        &self.signal
    }

    fn output(&self) -> &SignalSpec {
        &self.signal
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(z);
        self.scale(out, false);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(x);
        self.scale(out, true);
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        let lanes = self.modes.lanes();
        let square = |i: usize| self.modes.value(i / lanes).powi(2);
        Some((0..self.signal.len()).map(square).collect())
    }
}

impl SingularSystem for DiagonalScaling {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        0
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(z);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(x);
        self.turn(out, true);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(y);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(y);
        self.turn(out, false);
    }
}
