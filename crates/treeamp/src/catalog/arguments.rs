//! Plain arguments of a module: numbers, shapes, matrices and arrays, by the names of its parameters.

use std::sync::Arc;

use num_complex::Complex;

use super::channels::LinearEnsemble;
use super::module::{Made, Module, Parameter, ParameterKind};
use crate::belief::{Element, SignalSpec};
use crate::error::{ModelError, parameter};
use crate::factor::Factor;
use crate::math::complex_matrix::ComplexMatrix;
use crate::math::matrix::Matrix;
use crate::operator::StandIn;
use crate::scalar::{Elem, ScalarLikelihood, ScalarLoss, ScalarPrior};
use crate::separable::{
    IidLaw as _, LossChannel, OutputChannel, PartsPrior, Penalty, PenaltyLaw as _,
};

/// The size of the variable that a prior starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Size {
    /// An array of this shape.
    Shape(Vec<usize>),
    /// In the limit of large sizes, as many times the size of the reference.
    Limit(f64),
}

/// The matrix of a linear channel.
#[derive(Debug, Clone)]
pub enum MatrixArgument {
    /// A real one.
    Real(Matrix),
    /// A complex one.
    Complex(ComplexMatrix),
    /// In the limit, where only its spectrum is known.
    Limit(LinearEnsemble),
    /// One that is not drawn, of which only the shape is known.
    StandIn(StandIn),
}

/// An array of numbers, row by row; real and imaginary parts interleaved where it is complex.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayArgument {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its entries.
    pub values: Vec<f64>,
    /// They are complex.
    pub complex: bool,
}

/// The value of a parameter.
#[derive(Debug, Clone)]
pub enum Argument {
    /// A number.
    Number(f64),
    /// A count or an axis.
    Count(usize),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// The size of a variable.
    Size(Size),
    /// A list of sizes.
    Shape(Vec<usize>),
    /// A word of a choice.
    Word(String),
    /// A matrix.
    Matrix(MatrixArgument),
    /// An array of numbers.
    Array(ArrayArgument),
    /// Truth values, with their shape where that is known.
    Mask(Vec<bool>, Option<Vec<usize>>),
}

impl Argument {
    /// A small value of a kind.
    pub(super) fn example(kind: ParameterKind) -> Self {
        let unit = |i: usize, j: usize| f64::from(u8::from(i == j));
        match kind {
            ParameterKind::Number => Self::Number(1.0),
            ParameterKind::Count => Self::Count(2),
            ParameterKind::Axis => Self::Count(0),
            ParameterKind::Numbers => Self::Numbers(vec![1.0]),
            ParameterKind::Size => Self::Size(Size::Shape(vec![4])),
            ParameterKind::Shape => Self::Shape(vec![4]),
            ParameterKind::Choice(words) => Self::Word(words.first().copied().unwrap_or("").into()),
            ParameterKind::Matrix => match Matrix::from_fn(4, 4, unit) {
                Ok(w) => Self::Matrix(MatrixArgument::Real(w)),
                Err(_) => Self::Number(1.0),
            },
            ParameterKind::Data => Self::Array(ArrayArgument {
                shape: vec![4],
                values: vec![1.0; 4],
                complex: false,
            }),
            ParameterKind::Mask => Self::Mask(vec![true; 4], Some(vec![4])),
        }
    }

    /// It as the argument of a parameter. An array stands for a list of numbers too, which then has a shape, and for truth values.
    fn taken(&self, module: &Module, p: &Parameter) -> Result<Self, ModelError> {
        let refused = |expected: String, got: String| parameter(module.name, p.name, expected, got);
        let Self::Array(array) = self else {
            let same = self.is(p.kind).then(|| self.clone());
            return same.ok_or_else(|| refused(format!("a {}", p.kind), self.describe()));
        };
        let real = matches!(p.kind, ParameterKind::Numbers | ParameterKind::Mask);
        if real && array.complex {
            return Err(refused("real".to_owned(), "complex numbers".to_owned()));
        }
        match p.kind {
            ParameterKind::Numbers | ParameterKind::Data => Ok(self.clone()),
            ParameterKind::Mask => {
                let other = |x: &f64| ![0.0, 1.0].contains(x);
                if let Some(i) = array.values.iter().position(other) {
                    let got = format!("{} at index {i}", array.values[i]);
                    return Err(refused("zeros and ones".to_owned(), got));
                }
                let observed = array.values.iter().map(|x| *x != 0.0).collect();
                Ok(Self::Mask(observed, Some(array.shape.clone())))
            }
            _ => Err(refused(format!("a {}", p.kind), self.describe())),
        }
    }

    /// It is of this kind.
    fn is(&self, kind: ParameterKind) -> bool {
        matches!(
            (self, kind),
            (Self::Number(_), ParameterKind::Number)
                | (Self::Count(_), ParameterKind::Count | ParameterKind::Axis)
                | (Self::Numbers(_), ParameterKind::Numbers)
                | (Self::Size(_), ParameterKind::Size)
                | (Self::Shape(_), ParameterKind::Shape)
                | (Self::Word(_), ParameterKind::Choice(_))
                | (Self::Matrix(_), ParameterKind::Matrix)
                | (Self::Array(_), ParameterKind::Data)
                | (Self::Mask(..), ParameterKind::Mask)
        )
    }

    fn describe(&self) -> String {
        match self {
            Self::Number(x) => x.to_string(),
            Self::Count(n) => n.to_string(),
            Self::Numbers(x) => format!("{x:?}"),
            Self::Size(size) => format!("{size:?}"),
            Self::Shape(shape) => format!("{shape:?}"),
            Self::Word(word) => word.clone(),
            Self::Matrix(_) => "a matrix".to_owned(),
            Self::Array(_) => "an array".to_owned(),
            Self::Mask(..) => "truth values".to_owned(),
        }
    }
}

impl From<f64> for Argument {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}

impl From<usize> for Argument {
    fn from(n: usize) -> Self {
        Self::Count(n)
    }
}

impl From<Vec<f64>> for Argument {
    fn from(x: Vec<f64>) -> Self {
        Self::Numbers(x)
    }
}

impl From<&str> for Argument {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

impl From<Matrix> for Argument {
    fn from(w: Matrix) -> Self {
        Self::Matrix(MatrixArgument::Real(w))
    }
}

/// The arguments of a module, and where it stands.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    module: &'static str,
    values: Vec<(String, Argument)>,
    inputs: Vec<SignalSpec>,
    on_parts: bool,
}

impl Arguments {
    /// None yet: what is not given has its default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With the value of a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Argument>) -> Self {
        self.values.push((name.to_owned(), value.into()));
        self
    }

    /// On an array of this shape: the `size` of a prior.
    #[must_use]
    pub fn sized(self, shape: impl Into<Vec<usize>>) -> Self {
        self.with("size", Argument::Size(Size::Shape(shape.into())))
    }

    /// In the limit of large sizes, `ratio` times the size of the reference: the `size` of a prior.
    #[must_use]
    pub fn in_the_limit(self, ratio: f64) -> Self {
        self.with("size", Argument::Size(Size::Limit(ratio)))
    }

    /// On these input signals, as far as they are known.
    #[must_use]
    pub fn on(mut self, inputs: Vec<SignalSpec>) -> Self {
        self.inputs = inputs;
        self
    }

    /// A real prior on both parts of complex components.
    #[must_use]
    pub fn on_parts(mut self) -> Self {
        self.on_parts = true;
        self
    }

    /// With the defaults of a module; each argument is of the kind of its parameter.
    pub(super) fn complete(&self, module: &Module) -> Result<Self, ModelError> {
        let stray = |(name, _): &&(String, Argument)| module.parameter(name).is_none();
        if let Some((name, _)) = self.values.iter().find(stray) {
            let known: Vec<&str> = module.parameters.iter().map(|p| p.name).collect();
            let expected = format!("among {}", known.join(", "));
            return Err(parameter(module.name, "name", expected, name));
        }
        let mut values = Vec::new();
        for p in module.parameters {
            let value = match self.find(p.name) {
                Some(value) => value.taken(module, p)?,
                None if p.default.is_some() => p.example(),
                None => return Err(parameter(module.name, p.name, "given", "nothing")),
            };
            values.push((p.name.to_owned(), value));
        }
        Ok(Self {
            module: module.name,
            values,
            ..self.clone()
        })
    }

    fn find(&self, name: &str) -> Option<&Argument> {
        self.values.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    fn missing(&self, name: &'static str) -> ModelError {
        parameter(self.module, name, "given", "nothing")
    }
}

/// Reads an argument of one kind.
macro_rules! reader {
    ($(#[$doc:meta])* $name:ident, $variant:ident, $value:ident => $read:expr, $type:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// If there is none of that name and kind.
        pub fn $name(&self, name: &'static str) -> Result<$type, ModelError> {
            match self.find(name) {
                Some(Argument::$variant($value)) => Ok($read),
                _ => Err(self.missing(name)),
            }
        }
    };
}

/// What constructors of modules read.
impl Arguments {
    reader!(/// A number.
        number, Number, x => *x, f64);
    reader!(/// A count, or an axis.
        count, Count, n => *n, usize);
    reader!(/// A list of sizes.
        shape, Shape, shape => shape, &[usize]);
    reader!(/// A word of a choice.
        word, Word, word => word, &str);
    reader!(/// A matrix.
        matrix, Matrix, w => w, &MatrixArgument);
    reader!(/// An array.
        array, Array, x => x, &ArrayArgument);

    /// A list of numbers, or those of an array, row by row.
    ///
    /// # Errors
    /// If there are none of that name.
    pub fn numbers(&self, name: &'static str) -> Result<&[f64], ModelError> {
        match self.find(name) {
            Some(Argument::Numbers(x)) => Ok(x),
            Some(Argument::Array(x)) => Ok(&x.values),
            _ => Err(self.missing(name)),
        }
    }

    /// The shape of numbers that were given as an array of more than one axis: that of the signal, where there is one number per component.
    #[must_use]
    pub fn shape_of(&self, name: &str) -> Option<Vec<usize>> {
        match self.find(name) {
            Some(Argument::Array(x)) if x.shape.len() > 1 => Some(x.shape.clone()),
            _ => None,
        }
    }

    /// Truth values, with their shape where that is known.
    ///
    /// # Errors
    /// If there are none of that name.
    pub fn mask(&self, name: &'static str) -> Result<(&[bool], Option<&[usize]>), ModelError> {
        match self.find(name) {
            Some(Argument::Mask(observed, shape)) => Ok((observed, shape.as_deref())),
            _ => Err(self.missing(name)),
        }
    }

    /// The number of components of the first input, as far as it is known.
    #[must_use]
    pub fn components(&self) -> Option<usize> {
        self.inputs.first().map(SignalSpec::count)
    }

    /// The first input is complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        let first = self.inputs.first();
        first.is_some_and(|spec| spec.element == Element::Complex)
    }

    fn size(&self) -> Result<&Size, ModelError> {
        match self.find("size") {
            Some(Argument::Size(size)) => Ok(size),
            _ => Err(self.missing("size")),
        }
    }

    /// A real law on every component of the variable that is asked for, or on both parts of each.
    ///
    /// # Errors
    /// Without a `size`.
    pub fn prior<P: ScalarPrior>(&self, law: P) -> Made {
        if self.on_parts {
            return self.prior_of(PartsPrior::new(law));
        }
        self.prior_of(law)
    }

    /// A complex law on every component of the variable that is asked for.
    ///
    /// # Errors
    /// Without a `size`.
    pub fn complex_prior<P: ScalarPrior<Complex<f64>>>(&self, law: P) -> Made {
        self.prior_of(law)
    }

    fn prior_of<E: Elem, P: ScalarPrior<E>>(&self, law: P) -> Made {
        Ok(match self.size()? {
            Size::Shape(shape) => Arc::new(law.shaped(shape.clone())),
            Size::Limit(ratio) => Arc::new(law.limit_of(*ratio)),
        })
    }

    /// A penalty of the variable that is asked for.
    ///
    /// # Errors
    /// Without a `size`.
    pub fn penalty<P: Penalty>(&self, law: P) -> Made {
        Ok(match self.size()? {
            Size::Shape(shape) => Arc::new(law.shaped(shape.clone())),
            Size::Limit(ratio) => Arc::new(law.limit_of(*ratio)),
        })
    }

    /// A law of outputs alone, as a channel whose output must be observed.
    ///
    /// # Errors
    /// Never.
    pub fn likelihood<E: Elem, L: ScalarLikelihood<E>>(&self, law: L) -> Made {
        Ok(Arc::new(OutputChannel::new(self.module, law)))
    }

    /// A loss, as a channel whose output must be observed.
    ///
    /// # Errors
    /// Never.
    pub fn loss<L: ScalarLoss>(&self, loss: L) -> Made {
        Ok(Arc::new(LossChannel::new(loss)))
    }

    /// A channel.
    ///
    /// # Errors
    /// Never.
    pub fn channel(&self, factor: impl Factor) -> Made {
        Ok(Arc::new(factor))
    }
}
