//! Concatenation $x = (z_1; \dots; z_k)$ along an axis, and its inverse, splitting. The formulas are in
//! `pieces.rs`, those of full beliefs in `dense_pieces.rs`.

use std::fmt::Debug;

use rand::Rng;

use super::gaussian_channel::{GaussianChannel, Kernel};
use super::gaussian_theory::Theory;
use super::pieces::{Pieces, together};
use crate::belief::{Gaussian, OverlapFields, Overlaps, SignalSpec, Structure};
use crate::catalog::module::{Module, Parameter, ParameterKind, axis, count};
use crate::error::{FactorError, ModelError, ShapeError, brief, parameter};
use crate::factor::{Arity, Averaged, EnsembleRule, Factor, GaussianFactor, Incoming, downcast};

/// Puts several inputs together along an axis.
pub type Concatenate = GaussianChannel<Partition<Inputs>>;

/// Takes an input apart along an axis.
pub type Split = GaussianChannel<Partition<Sizes>>;

/// The kernel of [`Concatenate`] and [`Split`]: a whole and its pieces, one way or the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition<W> {
    way: W,
    axis: usize,
    /// Known once the shapes of the signals are.
    pieces: Option<Pieces>,
}

/// So many inputs become one output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inputs(usize);

/// One input becomes outputs of these sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(Vec<usize>);

impl Concatenate {
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
        Ok(Self::of(Inputs(inputs), axis))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "several inputs end to end",
        formula: "x = (z_1, z_2, ...)",
        tex: r"x = (z_1; \dots; z_n)",
        parameters: &[
            count("inputs_count", "number of inputs").called("n"),
            axis("the axis along which they are put end to end"),
        ],
        constructor: |a| a.channel(Self::along(a.count("axis")?, a.count("inputs_count")?)?),
        ..Module::OPERATOR
    };
}

impl Split {
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
        Ok(Self::of(Sizes(sizes), axis))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "several pieces of the input",
        formula: "(x_1, x_2, ...) = z",
        tex: r"(x_1; \dots; x_n) = z",
        parameters: &[
            Parameter::required(
                "sizes",
                ParameterKind::Shape,
                "a list: the size of every piece",
            ),
            axis("the axis along which it is cut"),
        ],
        constructor: |a| a.channel(Self::along(a.count("axis")?, a.shape("sizes")?.to_vec())?),
        ..Module::OPERATOR
    };
}

impl<W> GaussianChannel<Partition<W>> {
    fn of(way: W, axis: usize) -> Self {
        let pieces = None;
        let kernel = Partition { way, axis, pieces };
        Self { kernel }
    }
}

/// From pieces to the whole, or back.
pub trait Way: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Catalogue name.
    const NAME: &'static str;
    /// The whole is its output.
    const JOINS: bool;

    /// A short text of its parameters.
    fn summary(&self) -> String {
        String::new()
    }

    /// Number of inputs and outputs.
    fn arity(&self) -> Arity;

    /// The signals it gives for the signals it takes.
    ///
    /// # Errors
    /// When an input has a shape it cannot take.
    fn output_specs(
        &self,
        axis: usize,
        inputs: &[SignalSpec],
    ) -> Result<Vec<SignalSpec>, ShapeError>;
}

impl Way for Inputs {
    const NAME: &'static str = "concatenate";
    const JOINS: bool = true;

    fn arity(&self) -> Arity {
        Arity {
            inputs: self.0,
            outputs: 1,
        }
    }

    fn output_specs(
        &self,
        axis: usize,
        inputs: &[SignalSpec],
    ) -> Result<Vec<SignalSpec>, ShapeError> {
        together(inputs, axis).map(|whole| vec![whole])
    }
}

impl Way for Sizes {
    const NAME: &'static str = "split";
    const JOINS: bool = false;

    fn summary(&self) -> String {
        format!("{:?}", self.0)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: self.0.len(),
        }
    }

    fn output_specs(
        &self,
        axis: usize,
        inputs: &[SignalSpec],
    ) -> Result<Vec<SignalSpec>, ShapeError> {
        let (input, sizes) = (&inputs[0], &self.0);
        let total: usize = sizes.iter().sum();
        if input.ratio.is_some() || input.shape.get(axis) != Some(&total) {
            let expected = format!("{total} along axis {axis}, for pieces {sizes:?}");
            return Err(ShapeError {
                port: 0,
                expected,
                got: format!("shape {input}"),
            });
        }
        let piece = |size: &usize| {
            let mut spec = input.clone();
            spec.shape[axis] = *size;
            spec
        };
        Ok(sizes.iter().map(piece).collect())
    }
}

impl<W: Way> Partition<W> {
    fn known(&self) -> Result<&Pieces, FactorError> {
        self.pieces.as_ref().ok_or_else(|| {
            FactorError::Unsupported("the shapes of its signals are not known".to_owned())
        })
    }
}

impl<W: Way> Kernel for Partition<W> {
    const NAME: &'static str = W::NAME;
    const STRUCTURES: &'static [Structure] =
        &[Structure::Isotropic, Structure::Diagonal, Structure::Full];

    fn summary(&self) -> String {
        self.way.summary()
    }

    fn arity(&self) -> Arity {
        self.way.arity()
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        self.way.output_specs(self.axis, inputs)
    }

    fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Self>, ShapeError> {
        let outputs = self.output_specs(inputs)?;
        let (whole, parts, ports) = if W::JOINS {
            (&outputs[0], inputs, (inputs.len(), 0))
        } else {
            (&inputs[0], outputs.as_slice(), (0, 1))
        };
        let sizes: Vec<usize> = parts.iter().map(|s| s.shape[self.axis]).collect();
        Ok(Some(Self {
            pieces: Some(Pieces::new(whole, &sizes, self.axis, ports)),
            ..self.clone()
        }))
    }

    fn is_bound(&self) -> bool {
        self.pieces.is_some()
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        self.known()?.message(incoming, target, out)
    }

    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        self.known()?.excess(incoming)
    }

    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let Some(pieces) = &self.pieces else { return };
        if W::JOINS {
            let inputs = inputs.iter().enumerate();
            inputs.for_each(|(i, z)| pieces.insert(i, z, &mut outputs[0]));
        } else {
            let outputs = outputs.iter_mut().enumerate();
            outputs.for_each(|(i, x)| pieces.extract(i, inputs[0], x));
        }
    }

    fn passes_exact(&self) -> bool {
        false
    }

    fn theory(&self) -> Theory<'_> {
        Theory::Own(self)
    }
}

impl<W: Way> EnsembleRule for Partition<W> {
    fn reference(&self) -> usize {
        self.pieces.as_ref().map_or(0, |p| p.whole)
    }

    fn pairs_with(&self, teacher: &dyn Factor) -> bool {
        downcast::<GaussianChannel<Self>>(teacher).is_some()
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
        let potential = |g: GaussianFactor, at: Averaged<'_>| g.prior_potential(at.tau0_hat);
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
                "a piece has precision {}",
                brief(a)
            )))
        })
    }
}
