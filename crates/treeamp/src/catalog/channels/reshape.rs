//! The same numbers in another shape: messages pass unchanged.

use rand::Rng;

use super::Duplicate;
use crate::belief::{Element, SignalSpec, Structure};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    ALL_STRUCTURES, Arity, BeliefError, EnsembleRule, Factor, GaussianFactor, GenerativeRule,
    PosteriorRule, ProximalRule, all_alike, gaussian_ensemble_rule,
};

/// What the output looks like.
#[derive(Debug, Clone)]
enum Target {
    Shape(Vec<usize>),
    Parts,
    Complex,
}

/// A change of shape, or of complex numbers to pairs of real ones and back.
#[derive(Debug, Clone)]
pub struct Reshape {
    target: Target,
    copy: Duplicate,
}

impl Reshape {
    /// Catalogue name.
    pub const NAME: &'static str = "reshape";

    fn towards(target: Target) -> Self {
        Self {
            target,
            copy: Duplicate::once(),
        }
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

    fn average(&self) -> GaussianFactor {
        self.copy.average()
    }
}

impl Factor for Reshape {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        match &self.target {
            Target::Shape(shape) => format!("{shape:?}"),
            Target::Parts => "complex to parts".to_owned(),
            Target::Complex => "parts to complex".to_owned(),
        }
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
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

    fn structures(&self) -> &'static [Structure] {
        ALL_STRUCTURES
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        all_alike(ALL_STRUCTURES, ports)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn gaussian_average(&self) -> Option<GaussianFactor> {
        Some(self.average())
    }

    fn passes_exact(&self, _: &[SignalSpec], _: usize, _: usize) -> bool {
        true
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        self.copy.posterior()
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        self.copy.proximal()
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl GenerativeRule for Reshape {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        outputs[0].copy_from_slice(inputs[0]);
    }
}

gaussian_ensemble_rule!(Reshape, |_, a, target| a[1 - target], |_, a| (a[0] + a[1])
    .ln());
