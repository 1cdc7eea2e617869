//! Copies $x_1 = \dots = x_k = z$: natural parameters add, as on a variable.

use rand::Rng;

use super::gaussian_channel::{GaussianChannel, Kernel};
use super::gaussian_theory::{FewScalars, Theory};
use crate::belief::{Gaussian, Message as _, SignalSpec, product_excess, product_log_partition};
use crate::catalog::module::{Module, Signals, count};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{Arity, GaussianFactor, Incoming};

/// Copies of one input.
pub type Duplicate = GaussianChannel<DuplicateKernel>;

/// The kernel of [`Duplicate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateKernel {
    pub(super) copies: usize,
}

impl Duplicate {
    /// `copies` outputs equal to the input.
    ///
    /// # Errors
    /// No copy at all.
    pub fn new(copies: usize) -> Result<Self, ModelError> {
        if copies == 0 {
            return Err(parameter(Self::NAME, "copies", "at least 1", 0));
        }
        let kernel = DuplicateKernel { copies };
        Ok(Self { kernel })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "several copies of the input",
        formula: "x_k = z for every k",
        tex: r"x_1 = \dots = x_n = z",
        parameters: &[count("copies", "number of outputs").called("n")],
        signals: Signals::Any,
        constructor: |a| a.channel(Self::new(a.count("copies")?)?),
        ..Module::CHANNEL
    };
}

impl Kernel for DuplicateKernel {
    const NAME: &'static str = "duplicate";

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: self.copies,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![inputs[0].clone(); self.copies])
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        out.set_flat();
        for port in (0..incoming.len()).filter(|p| *p != target) {
            out.add_assign(incoming.get(port));
        }
        Ok(())
    }

    /// That of all messages on one variable.
    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let mut total = incoming.get(0).clone();
        Ok(product_excess(incoming.iter(), &mut total))
    }

    fn log_partition(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let mut total = incoming.get(0).clone();
        Ok(product_log_partition(incoming.iter(), &mut total))
    }

    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        for x in outputs {
            x.copy_from_slice(inputs[0]);
        }
    }

    fn theory(&self) -> Theory<'_> {
        Theory::Scalars(self)
    }
}

/// One scalar at every port.
impl FewScalars for DuplicateKernel {
    fn law(&self) -> GaussianFactor {
        GaussianFactor::copies(self.copies + 1)
    }

    fn extrinsic(&self, a: &[f64], target: usize) -> f64 {
        let others = a.iter().enumerate().filter(|(p, _)| *p != target);
        others.map(|(_, a)| a).sum()
    }

    fn log_det(&self, a: &[f64]) -> f64 {
        a.iter().sum::<f64>().ln()
    }
}
