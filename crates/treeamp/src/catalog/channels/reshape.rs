//! The same numbers in another shape: messages pass unchanged.

use rand::Rng;

use super::duplicate::DuplicateKernel;
use super::gaussian_channel::{GaussianChannel, Kernel};
use super::gaussian_theory::{FewScalars, Theory};
use crate::belief::{Element, Gaussian, SignalSpec};
use crate::catalog::module::{Module, Parameter, ParameterKind};
use crate::error::{FactorError, ShapeError};
use crate::factor::{Arity, GaussianFactor, Incoming};

/// What the output looks like.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Shape(Vec<usize>),
    Parts,
    Complex,
}

/// A change of shape, or of complex numbers to pairs of real ones and back.
pub type Reshape = GaussianChannel<ReshapeKernel>;

/// The kernel of [`Reshape`]: one copy, of another shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ReshapeKernel {
    target: Target,
}

/// The numbers of the signal stay where they are.
const COPY: DuplicateKernel = DuplicateKernel { copies: 1 };

impl Reshape {
    fn towards(target: Target) -> Self {
        let kernel = ReshapeKernel { target };
        Self { kernel }
    }

    /// To a shape with as many components, in row-major order.
    #[must_use]
    pub fn to(shape: impl Into<Vec<usize>>) -> Self {
        Self::towards(Target::Shape(shape.into()))
    }

    /// From a complex array to the real array of its parts, with a last axis (re, im).
    #[must_use]
    pub fn parts() -> Self {
        Self::towards(Target::Parts)
    }

    /// From a real array with a last axis (re, im) to a complex array.
    #[must_use]
    pub fn complex() -> Self {
        Self::towards(Target::Complex)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "another shape",
        formula: "x = z, entries in the same order",
        tex: r"x = z",
        parameters: &[Parameter::required(
            "shape",
            ParameterKind::Shape,
            "as many entries as before",
        )],
        constructor: |a| a.channel(Self::to(a.shape("shape")?)),
        ..Module::OPERATOR
    };
}

impl Kernel for ReshapeKernel {
    const NAME: &'static str = "reshape";

    fn summary(&self) -> String {
        match &self.target {
            Target::Shape(shape) => format!("{shape:?}"),
            Target::Parts => "complex to parts".to_owned(),
            Target::Complex => "parts to complex".to_owned(),
        }
    }

    fn arity(&self) -> Arity {
        COPY.arity()
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let input = &inputs[0];
        let refuse = |expected: String| ShapeError {
            port: 0,
            expected,
            got: format!("shape {input}"),
        };
        if input.ratio.is_some() {
            return Err(refuse("a signal with a shape".to_owned()));
        }
        let output = match &self.target {
            Target::Shape(shape) => {
                let output = SignalSpec {
                    shape: shape.clone(),
                    ..input.clone()
                };
                if output.count() != input.count() {
                    let count = output.count();
                    return Err(refuse(format!("{count} components, for shape {shape:?}")));
                }
                output
            }
            Target::Parts => {
                if input.element == Element::Real {
                    return Err(refuse("a complex signal".to_owned()));
                }
                let mut shape = input.shape.clone();
                shape.push(2);
                SignalSpec::real(shape)
            }
            Target::Complex => match input.shape.split_last() {
                Some((2, shape)) if input.element == Element::Real => SignalSpec::complex(shape),
                _ => {
                    return Err(refuse(
                        "a real signal whose last axis is (re, im)".to_owned(),
                    ));
                }
            },
        };
        Ok(vec![output])
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        COPY.message(incoming, target, out)
    }

    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        COPY.excess(incoming)
    }

    fn log_partition(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        COPY.log_partition(incoming)
    }

    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        COPY.sample(inputs, outputs, rng);
    }

    fn theory(&self) -> Theory<'_> {
        Theory::Scalars(self)
    }
}

impl FewScalars for ReshapeKernel {
    fn law(&self) -> GaussianFactor {
        COPY.law()
    }

    fn extrinsic(&self, a: &[f64], target: usize) -> f64 {
        COPY.extrinsic(a, target)
    }

    fn log_det(&self, a: &[f64]) -> f64 {
        COPY.log_det(a)
    }
}
