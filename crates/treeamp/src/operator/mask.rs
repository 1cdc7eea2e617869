//! Sub-sampling: the observed entries of a signal, in row-major order. $W W^T = I$: $U = I$, $V^T = W$.

use super::dft::{not_empty, plain};
use super::{LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};

/// The selection of observed entries.
#[derive(Debug)]
pub struct SubSampling {
    input: SignalSpec,
    output: SignalSpec,
    observed: Vec<usize>,
    lanes: usize,
    modes: Modes,
}

impl SubSampling {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "mask";

    /// Keeps the entries of `input` where `mask`, row-major, is true.
    ///
    /// # Errors
    /// A mask of another length than the signal, or with nothing observed.
    pub fn new(input: &SignalSpec, mask: &[bool]) -> Result<Self, ModelError> {
        not_empty(Self::NAME, input)?;
        let observed = observed(Self::NAME, input, mask)?;
        let input = plain(input);
        let output = SignalSpec {
            shape: vec![observed.len()],
            ..input.clone()
        };
        let lanes = if input.element == Element::Real { 1 } else { 2 };
        let modes = Modes::constant(1.0, observed.len(), lanes, output.len());
        Ok(Self {
            input,
            output,
            observed,
            lanes,
            modes,
        })
    }

    fn select(&self, z: &[f64], out: &mut [f64]) {
        for (out, i) in out.chunks_exact_mut(self.lanes).zip(&self.observed) {
            out.copy_from_slice(&z[self.lanes * i..self.lanes * (i + 1)]);
        }
    }

    fn spread(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (x, i) in x.chunks_exact(self.lanes).zip(&self.observed) {
            out[self.lanes * i..self.lanes * (i + 1)].copy_from_slice(x);
        }
    }
}

/// A mask that has a shape has the signal's.
pub(crate) fn check_shape(
    module: &str,
    input: &SignalSpec,
    shape: Option<&[usize]>,
) -> Result<(), ModelError> {
    match shape {
        Some(shape) if shape != input.shape => {
            let expected = format!("of shape {:?}, the signal's", input.shape);
            Err(parameter(
                module,
                "mask",
                expected,
                format!("shape {shape:?}"),
            ))
        }
        _ => Ok(()),
    }
}

/// The places where a mask is true.
pub(super) fn observed(
    module: &str,
    input: &SignalSpec,
    mask: &[bool],
) -> Result<Vec<usize>, ModelError> {
    if mask.len() != input.count() {
        let expected = format!("of {} entries, as a signal of shape {input}", input.count());
        return Err(parameter(module, "mask", expected, mask.len()));
    }
    let seen = mask.iter().enumerate().filter(|(_, seen)| **seen);
    let seen: Vec<usize> = seen.map(|(i, _)| i).collect();
    if seen.is_empty() {
        let got = "nothing observed";
        return Err(parameter(
            module,
            "mask",
            "with at least one observed entry",
            got,
        ));
    }
    Ok(seen)
}

impl LinearOperator for SubSampling {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("{} of {}", self.observed.len(), self.input.count())
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.select(z, out);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.spread(x, out);
    }

    fn entries(&self) -> Option<Vec<(usize, usize, f64)>> {
        let lanes = self.lanes;
        let of = |(k, i): (usize, &usize)| {
            let i = *i;
            (0..lanes).map(move |lane| (lanes * k + lane, lanes * i + lane, 1.0))
        };
        Some(self.observed.iter().enumerate().flat_map(of).collect())
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }
}

impl SingularSystem for SubSampling {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        0
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.select(z, out);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(x);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        self.spread(y, out);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(y);
    }
}
