//! Concatenation $x = (z_1; \dots; z_k)$ along an axis, and its inverse, splitting. The formulas are in
//! `pieces.rs`, those of full beliefs in `dense_pieces.rs`.

use std::sync::Arc;

use rand::Rng;

use super::pieces::{Pieces, together};
use crate::belief::{Gaussian, OverlapFields, Overlaps, SignalSpec, Structure};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{
    Arity, Averaged, BeliefError, Context, EnsembleRule, Factor, GaussianFactor, GenerativeRule,
    PosteriorRule, ProximalRule, all_alike, gaussian_proximal_rule,
};

/// Beliefs that both take, the same on all their variables.
const STRUCTURES: &[Structure] = &[Structure::Isotropic, Structure::Full];

/// Puts several inputs together along an axis.
#[derive(Debug, Clone)]
pub struct Concatenate {
    inputs: usize,
    axis: usize,
    pieces: Option<Pieces>,
}

impl Concatenate {
    /// Catalogue name.
    pub const NAME: &'static str = "concatenate";

    /// Of so many inputs, along the first axis.
    ///
    /// # Errors
    /// No input.
    pub fn new(inputs: usize) -> Result<Self, ModelError> {
        Self::along(0, inputs)
    }

    /// Of so many inputs, along an axis.
    ///
    /// # Errors
    /// No input.
    pub fn along(axis: usize, inputs: usize) -> Result<Self, ModelError> {
        if inputs == 0 {
            return Err(parameter(Self::NAME, "inputs", "at least 1", 0));
        }
        Ok(Self {
            inputs,
            axis,
            pieces: None,
        })
    }
}

/// Takes an input apart along an axis.
#[derive(Debug, Clone)]
pub struct Split {
    sizes: Vec<usize>,
    axis: usize,
    pieces: Option<Pieces>,
}

impl Split {
    /// Catalogue name.
    pub const NAME: &'static str = "split";

    /// Into pieces of these sizes along the first axis.
    ///
    /// # Errors
    /// No piece, or an empty one.
    pub fn new(sizes: Vec<usize>) -> Result<Self, ModelError> {
        Self::along(0, sizes)
    }

    /// Into pieces of these sizes along an axis.
    ///
    /// # Errors
    /// No piece, or an empty one.
    pub fn along(axis: usize, sizes: Vec<usize>) -> Result<Self, ModelError> {
        if sizes.is_empty() || sizes.contains(&0) {
            let expected = "at least one, all positive";
            return Err(parameter(
                Self::NAME,
                "sizes",
                expected,
                format!("{sizes:?}"),
            ));
        }
        Ok(Self {
            sizes,
            axis,
            pieces: None,
        })
    }
}

impl Factor for Concatenate {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: self.inputs,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        together(inputs, self.axis).map(|whole| vec![whole])
    }

    fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
        let whole = together(inputs, self.axis)?;
        let sizes: Vec<usize> = inputs.iter().map(|s| s.shape[self.axis]).collect();
        let pieces = Pieces::new(&whole, &sizes, self.axis, (self.inputs, 0));
        Ok(Some(Arc::new(Self {
            pieces: Some(pieces),
            ..self.clone()
        })))
    }

    fn structures(&self) -> &'static [Structure] {
        STRUCTURES
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        all_alike(STRUCTURES, ports)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        self.pieces.as_ref().map(|_| self as &dyn EnsembleRule)
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        self.pieces.as_ref().map(|_| self as &dyn PosteriorRule)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        self.pieces.as_ref().map(|_| self as &dyn ProximalRule)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        self.pieces.as_ref().map(|_| self as &dyn GenerativeRule)
    }
}

impl Factor for Split {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("{:?}", self.sizes)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: self.sizes.len(),
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let input = &inputs[0];
        let total: usize = self.sizes.iter().sum();
        if input.ratio.is_some() || input.shape.get(self.axis) != Some(&total) {
            let expected = format!(
                "{total} along axis {}, for pieces {:?}",
                self.axis, self.sizes
            );
            return Err(ShapeError {
                port: 0,
                expected,
                got: format!("shape {input}"),
            });
        }
        let piece = |size: &usize| {
            let mut spec = input.clone();
            spec.shape[self.axis] = *size;
            spec
        };
        Ok(self.sizes.iter().map(piece).collect())
    }

    fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
        self.output_specs(inputs)?;
        let pieces = Pieces::new(&inputs[0], &self.sizes, self.axis, (0, 1));
        Ok(Some(Arc::new(Self {
            pieces: Some(pieces),
            ..self.clone()
        })))
    }

    fn structures(&self) -> &'static [Structure] {
        STRUCTURES
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        all_alike(STRUCTURES, ports)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        self.pieces.as_ref().map(|_| self as &dyn EnsembleRule)
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        self.pieces.as_ref().map(|_| self as &dyn PosteriorRule)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        self.pieces.as_ref().map(|_| self as &dyn ProximalRule)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        self.pieces.as_ref().map(|_| self as &dyn GenerativeRule)
    }
}

impl GenerativeRule for Concatenate {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        if let Some(pieces) = &self.pieces {
            let inputs = inputs.iter().enumerate();
            inputs.for_each(|(i, z)| pieces.insert(i, z, &mut outputs[0]));
        }
    }
}

impl GenerativeRule for Split {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        if let Some(pieces) = &self.pieces {
            let outputs = outputs.iter_mut().enumerate();
            outputs.for_each(|(i, x)| pieces.extract(i, inputs[0], x));
        }
    }
}

macro_rules! rules_of_pieces {
    ($channel:ty) => {
        impl $channel {
            fn known(&self) -> Result<&Pieces, FactorError> {
                self.pieces.as_ref().ok_or_else(|| {
                    FactorError::Unsupported("the shapes of its signals are not known".to_owned())
                })
            }
        }

        impl PosteriorRule for $channel {
            fn message(
                &self,
                context: &mut Context<'_>,
                target: usize,
                out: &mut Gaussian,
            ) -> Result<(), FactorError> {
                self.known()?.message(context.incoming, target, out)
            }

            fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
                let incoming = context.incoming;
                let own: f64 = incoming.iter().map(Gaussian::own_potential).sum();
                Ok(self.excess(context)? + own)
            }

            fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
                self.known()?.excess(context.incoming)
            }
        }

        impl EnsembleRule for $channel {
            fn reference(&self) -> usize {
                self.pieces.as_ref().map_or(0, |p| p.whole)
            }

            fn pairs_with(&self, teacher: &dyn Factor) -> bool {
                teacher.name() == Self::NAME && teacher.arity() == self.arity()
            }

            fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
                Ok(self.known()?.second_moment(tau0_hat, target))
            }

            fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
                let fields = vec![OverlapFields::default(); tau0_hat.len()];
                let at = Averaged {
                    fields: &fields,
                    tau0_hat,
                };
                let potential =
                    |g: GaussianFactor, at: Averaged<'_>| g.prior_potential(at.tau0_hat);
                self.known()?.mean(at, potential)
            }

            fn overlaps(
                &self,
                _: &dyn Factor,
                at: Averaged<'_>,
                target: usize,
            ) -> Result<Overlaps, FactorError> {
                Ok(self.known()?.overlaps(at, target))
            }

            fn extrinsic_precision(
                &self,
                at: Averaged<'_>,
                target: usize,
            ) -> Result<Option<f64>, FactorError> {
                Ok(Some(self.known()?.extrinsic_precision(at, target)))
            }

            fn potential(&self, _: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
                self.known()?.mean(at, |g, at| g.potential(&g, at))
            }

            /// $\frac12\ln\frac{a + a'}{\hat\tau_0 + \hat\tau_0'}$ of every piece: the whole and the part are copies.
            fn entropic_potential(
                &self,
                _: &dyn Factor,
                at: Averaged<'_>,
                _: &[(f64, f64)],
            ) -> Result<f64, FactorError> {
                self.known()?.mean(at, |_, at| {
                    let a: f64 = at.fields.iter().map(OverlapFields::a).sum();
                    let ratio = a / at.tau0_hat.iter().sum::<f64>();
                    if ratio > 0.0 {
                        return Ok(0.5 * ratio.ln());
                    }
                    Err(FactorError::Improper(format!(
                        "a piece has precision {a:e}"
                    )))
                })
            }
        }
    };
}

rules_of_pieces!(Concatenate);
rules_of_pieces!(Split);

gaussian_proximal_rule!(Concatenate, |_| true, |_, _| 0.0);

gaussian_proximal_rule!(Split, |_| true, |_, _| 0.0);
