//! The unitary discrete Fourier transform in any number of dimensions,
//! $x_k = \frac{1}{\sqrt N}\sum_n z_n e^{-2\pi i\,k\cdot n}$, of a complex or a real signal.
//!
//! $W^T W = I$: the input is its own coordinates, $V = I$, $U = W$. A real signal of $N$ numbers becomes
//! $2N$ of them under an isometry, not a unitary map.

use super::{LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::fourier::Fourier;

/// The unitary DFT of signals of one shape.
#[derive(Debug)]
pub struct UnitaryDft {
    input: SignalSpec,
    output: SignalSpec,
    fourier: Fourier,
    modes: Modes,
}

impl UnitaryDft {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "dft";

    /// The transform of a real or complex signal.
    ///
    /// # Errors
    /// An empty signal.
    pub fn new(input: &SignalSpec) -> Result<Self, ModelError> {
        not_empty(Self::NAME, input)?;
        let output = SignalSpec::complex(input.shape.clone());
        let modes = Modes::constant(1.0, input.len(), 1, output.len());
        Ok(Self {
            input: plain(input),
            // always the complex transform: the output has all coefficients
            fourier: Fourier::new(&input.shape, false),
            output,
            modes,
        })
    }

    fn is_real(&self) -> bool {
        self.input.element == Element::Real
    }

    /// How many transforms have been made.
    #[must_use]
    pub fn transforms(&self) -> usize {
        self.fourier.transforms()
    }
}

/// The signal itself, whatever the belief on it.
pub(super) fn plain(spec: &SignalSpec) -> SignalSpec {
    match spec.element {
        Element::Real => SignalSpec::real(spec.shape.clone()),
        Element::Complex => SignalSpec::complex(spec.shape.clone()),
    }
}

pub(super) fn not_empty(module: &str, input: &SignalSpec) -> Result<(), ModelError> {
    if input.is_empty() || input.ratio.is_some() {
        let expected = "a signal with at least one component";
        return Err(parameter(module, "input", expected, input));
    }
    Ok(())
}

impl LinearOperator for UnitaryDft {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.fourier.scratch_len() + self.output.len()
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (wide, scratch) = scratch.split_at_mut(self.output.len());
        if self.is_real() {
            for (c, z) in wide.chunks_exact_mut(2).zip(z) {
                c[0] = *z;
                c[1] = 0.0;
            }
            self.fourier.analyse(wide, out, scratch);
        } else {
            self.fourier.analyse(z, out, scratch);
        }
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (wide, scratch) = scratch.split_at_mut(self.output.len());
        wide.copy_from_slice(x);
        if self.is_real() {
            self.fourier.synthesise_in_place(wide, scratch);
            for (out, c) in out.iter_mut().zip(wide.chunks_exact(2)) {
                *out = c[0];
            }
        } else {
            self.fourier.synthesise(wide, out, scratch);
        }
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }
}

impl SingularSystem for UnitaryDft {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, columns: usize) -> usize {
        LinearOperator::scratch_len(self, columns)
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(z);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.adjoint(x, out, scratch);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(y);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.apply(y, out, scratch);
    }
}
