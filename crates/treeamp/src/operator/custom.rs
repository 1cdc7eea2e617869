//! Matrix-free: an operator given by two functions.

use std::fmt;

use super::dft::{not_empty, plain};
use super::{LinearOperator, dot_test};
use crate::belief::SignalSpec;
use crate::error::{ModelError, parameter};
use crate::math::spectrum::Spectrum;

type Map = Box<dyn Fn(&[f64], &mut [f64]) + Send + Sync>;

/// An operator given by `apply` and `adjoint`. Complex signals are interleaved (re, im).
pub struct MatrixFree {
    name: String,
    input: SignalSpec,
    output: SignalSpec,
    apply: Map,
    adjoint: Map,
    spectrum: Option<Spectrum>,
}

impl fmt::Debug for MatrixFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        write!(f, "MatrixFree({name}: {} -> {})", self.input, self.output)
    }
}

impl MatrixFree {
    /// `apply(z, out)` writes $W z$, `adjoint(x, out)` writes $W^T x$; `out` holds anything before.
    /// The dot test is run on them here.
    ///
    /// # Errors
    /// An empty signal, or an adjoint that fails the dot test ([`ModelError::Adjoint`]).
    pub fn new(
        name: &str,
        input: &SignalSpec,
        output: &SignalSpec,
        apply: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
        adjoint: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Self, ModelError> {
        not_empty(name, input)?;
        not_empty(name, output)?;
        let operator = Self {
            name: name.to_owned(),
            input: plain(input),
            output: plain(output),
            apply: Box::new(apply),
            adjoint: Box::new(adjoint),
            spectrum: None,
        };
        dot_test(&operator, 0)?;
        Ok(operator)
    }

    /// Gives the spectrum of $W^T W$, which is otherwise estimated.
    ///
    /// # Errors
    /// An aspect ratio other than the operator's.
    pub fn with_spectrum(mut self, spectrum: Spectrum) -> Result<Self, ModelError> {
        let alpha = self.output.len() as f64 / self.input.len() as f64;
        if (spectrum.alpha() - alpha).abs() > 1e-9 * alpha {
            let expected = format!("of aspect ratio {alpha}");
            return Err(parameter(
                &self.name,
                "spectrum",
                expected,
                spectrum.alpha(),
            ));
        }
        self.spectrum = Some(spectrum);
        Ok(self)
    }
}

impl LinearOperator for MatrixFree {
    fn name(&self) -> &str {
        &self.name
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        (self.apply)(z, out);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        (self.adjoint)(x, out);
    }

    fn known_spectrum(&self) -> Option<Spectrum> {
        self.spectrum.clone()
    }
}
