//! What the catalogue says of a module: its names, its formula, its parameters, and how it is made.
//!
//! Every law has a constant `MODULE` beside its code. Model files, the command line and the Python package know a law
//! by that constant alone.

use std::fmt;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::arguments::{Argument, Arguments};
use crate::belief::{SignalSpec, Structure};
use crate::error::{ModelError, parameter};
use crate::factor::Factor;

/// The place of a module in a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The law of a variable: outputs only.
    Prior,
    /// An energy of a variable, taken at its mode: outputs only.
    Penalty,
    /// A channel whose output must be observed.
    Likelihood,
    /// An energy of the input of an observed output, taken at its mode.
    Loss,
    /// Inputs and outputs.
    Channel,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prior => "prior",
            Self::Penalty => "penalty",
            Self::Likelihood => "likelihood",
            Self::Loss => "loss",
            Self::Channel => "channel",
        })
    }
}

/// The signals at the ports of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signals {
    /// Real or complex; the output is what the input is.
    Any,
    /// Real at all ports.
    Real,
    /// Complex at all ports.
    Complex,
    /// From a complex input to a real output.
    ComplexToReal,
    /// From a real or complex input to a complex output.
    ToComplex,
    /// From real rows to one real number each.
    Rows,
}

impl fmt::Display for Signals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "any",
            Self::Real => "real",
            Self::Complex => "complex",
            Self::ComplexToReal => "complex to real",
            Self::ToComplex => "to complex",
            Self::Rows => "rows to real",
        })
    }
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// A number.
    Number,
    /// A count from 1.
    Count,
    /// An axis of an array, from 0.
    Axis,
    /// A list of numbers.
    Numbers,
    /// The size of the variable that a prior starts: a count, or a list of sizes.
    Size,
    /// A size, or a list of sizes.
    Shape,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A matrix.
    Matrix,
    /// An array of numbers.
    Data,
    /// An array of truth values.
    Mask,
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "number",
            Self::Count => "count",
            Self::Axis => "axis",
            Self::Numbers => "list of numbers",
            Self::Size | Self::Shape => "size or list of sizes",
            Self::Choice(words) => return write!(f, "choice of {}", words.join(", ")),
            Self::Matrix => "file or ensemble",
            Self::Data | Self::Mask => "data file",
        })
    }
}

/// The values that a parameter may have; of a list, each of its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Whatever its kind takes.
    Any,
    /// Finite.
    Real,
    /// Finite or infinite.
    Extended,
    /// Finite, and above the one of this domain before it.
    Ordered,
    /// Positive and finite.
    Positive,
    /// Not negative, finite.
    NotNegative,
    /// From 0 to 1.
    Unit,
    /// Between 0 and 1, without these.
    InsideUnit,
    /// Positive, of sum 1.
    Probabilities,
    /// Of a matrix: $R^T R = 1$.
    Orthogonal,
}

impl Domain {
    /// Whether it has this number.
    #[must_use]
    pub fn contains(self, x: f64) -> bool {
        match self {
            Self::Any | Self::Orthogonal => true,
            Self::Real | Self::Ordered => x.is_finite(),
            Self::Extended => !x.is_nan(),
            Self::Positive => x > 0.0 && x.is_finite(),
            Self::NotNegative => x >= 0.0 && x.is_finite(),
            Self::Unit => (0.0..=1.0).contains(&x),
            Self::InsideUnit => x > 0.0 && x < 1.0,
            Self::Probabilities => x > 0.0 && x <= 1.0,
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any | Self::Real => "any",
            Self::Extended => "may be infinite",
            Self::Ordered => "finite, in ascending order",
            Self::Positive => "positive",
            Self::NotNegative => "not negative",
            Self::Unit => "from 0 to 1",
            Self::InsideUnit => "between 0 and 1, without these",
            Self::Probabilities => "positive, of sum 1",
            Self::Orthogonal => "orthogonal",
        })
    }
}

/// The value of a parameter that is not given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Preset {
    /// A number.
    Number(f64),
    /// A count or an axis.
    Count(usize),
    /// Some numbers.
    Numbers(&'static [f64]),
    /// One of the words of a choice.
    Word(&'static str),
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(x) => write!(f, "{x}"),
            Self::Count(n) => write!(f, "{n}"),
            Self::Numbers(x) => write!(f, "{x:?}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// A parameter of a module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// Its name: that of the constructor's argument.
    pub name: &'static str,
    /// What it takes.
    pub kind: ParameterKind,
    /// The values it may have.
    pub domain: Domain,
    /// What it is when not given; `None` where it must be.
    pub default: Option<Preset>,
    /// It is a number that can be estimated from data.
    pub learnable: bool,
    /// Its symbol in the formula, in TeX.
    pub symbol: &'static str,
    /// What it means.
    pub doc: &'static str,
}

impl Parameter {
    /// A parameter without a default.
    #[must_use]
    pub const fn required(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            domain: Domain::Any,
            default: None,
            learnable: false,
            symbol: "",
            doc,
        }
    }

    /// With a default.
    #[must_use]
    pub const fn or(mut self, preset: Preset) -> Self {
        self.default = Some(preset);
        self
    }

    /// With values in a domain.
    #[must_use]
    pub const fn within(mut self, domain: Domain) -> Self {
        self.domain = domain;
        self
    }

    /// One that can be estimated from data.
    #[must_use]
    pub const fn learned(mut self) -> Self {
        self.learnable = true;
        self
    }

    /// With a symbol in the formula.
    #[must_use]
    pub const fn called(mut self, symbol: &'static str) -> Self {
        self.symbol = symbol;
        self
    }

    /// What it means, with its domain where that says something.
    #[must_use]
    pub fn meaning(&self) -> String {
        match self.domain {
            Domain::Any | Domain::Real => self.doc.to_owned(),
            domain => format!("{}, {domain}", self.doc),
        }
    }

    /// The default, or else a small value of its kind.
    pub(super) fn example(&self) -> Argument {
        match (self.default, self.kind) {
            (Some(Preset::Number(x)), _) => Argument::Number(x),
            (Some(Preset::Count(n)), _) => Argument::Count(n),
            (Some(Preset::Numbers(x)), _) => Argument::Numbers(x.to_vec()),
            (Some(Preset::Word(word)), _) => Argument::Word(word.to_owned()),
            (None, kind) => Argument::example(kind),
        }
    }
}

/// A number with a default.
#[must_use]
pub const fn number(
    name: &'static str,
    default: f64,
    domain: Domain,
    doc: &'static str,
) -> Parameter {
    Parameter::required(name, ParameterKind::Number, doc)
        .or(Preset::Number(default))
        .within(domain)
}

/// A mean $m$, zero by default.
#[must_use]
pub const fn mean(doc: &'static str) -> Parameter {
    number("mean", 0.0, Domain::Real, doc).called("m").learned()
}

/// A variance $\sigma^2$, one by default.
#[must_use]
pub const fn variance(doc: &'static str) -> Parameter {
    number("variance", 1.0, Domain::Positive, doc)
        .called(r"\sigma^2")
        .learned()
}

/// A list of numbers with a default.
#[must_use]
pub const fn numbers(
    name: &'static str,
    default: &'static [f64],
    domain: Domain,
    doc: &'static str,
) -> Parameter {
    Parameter::required(name, ParameterKind::Numbers, doc)
        .or(Preset::Numbers(default))
        .within(domain)
}

/// A count, 2 by default.
#[must_use]
pub const fn count(name: &'static str, doc: &'static str) -> Parameter {
    Parameter::required(name, ParameterKind::Count, doc).or(Preset::Count(2))
}

/// An axis, the first by default.
#[must_use]
pub const fn axis(doc: &'static str) -> Parameter {
    Parameter::required("axis", ParameterKind::Axis, doc).or(Preset::Count(0))
}

/// The size of the variable that a prior starts.
pub const SIZE: Parameter = Parameter::required(
    "size",
    ParameterKind::Size,
    "number of components, or a list of sizes",
);

/// A factor, shared.
pub type Made = Result<Arc<dyn Factor>, ModelError>;

/// An entry of the catalogue.
///
/// ```
/// use treeamp::catalog::{self, Arguments};
/// let module = catalog::module("gauss_bernoulli").expect("in the catalogue");
/// assert_eq!(module.formula, "p(x) = (1 - rho) δ(x) + rho N(x; mean, variance)");
/// let prior = module.make(&Arguments::new().sized([10]).with("rho", 0.1))?;
/// assert_eq!(prior.summary(), "rho=0.1, mean=0, variance=1");
/// # Ok::<(), treeamp::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// Other names that stand for it.
    pub aliases: &'static [&'static str],
    /// Its place in a model.
    pub role: Role,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Its law, as plain text in the names of its parameters.
    pub formula: &'static str,
    /// Its law, in TeX.
    pub tex: &'static str,
    /// Its moments, or what else is worth knowing, as text with formulas in TeX between dollars.
    pub notes: &'static str,
    /// Its parameters, in the order of its constructor.
    pub parameters: &'static [Parameter],
    /// The signals at its ports.
    pub signals: Signals,
    /// It exists in the limit of large sizes, where only ratios matter.
    pub limit: bool,
    /// Makes the factor from arguments that are all there.
    pub constructor: fn(&Arguments) -> Made,
}

impl Module {
    const NONE: Self = Self {
        name: "",
        aliases: &[],
        role: Role::Channel,
        summary: "",
        formula: "",
        tex: "",
        notes: "",
        parameters: &[],
        signals: Signals::Real,
        limit: true,
        constructor: |_| Err(parameter("module", "constructor", "given", "nothing")),
    };
    /// What real priors have in common.
    pub const PRIOR: Self = Self {
        role: Role::Prior,
        ..Self::NONE
    };
    /// What penalties have in common.
    pub const PENALTY: Self = Self {
        role: Role::Penalty,
        ..Self::NONE
    };
    /// What likelihoods without a channel have in common.
    pub const LIKELIHOOD: Self = Self {
        role: Role::Likelihood,
        ..Self::NONE
    };
    /// What likelihoods of rows have in common.
    pub const ROW_LIKELIHOOD: Self = Self {
        role: Role::Likelihood,
        signals: Signals::Rows,
        ..Self::NONE
    };
    /// What losses have in common.
    pub const LOSS: Self = Self {
        role: Role::Loss,
        ..Self::NONE
    };
    /// What channels on real components have in common.
    pub const CHANNEL: Self = Self::NONE;
    /// What linear channels that need a shape have in common.
    pub const OPERATOR: Self = Self {
        signals: Signals::Any,
        limit: false,
        ..Self::NONE
    };

    /// The parameter of that name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }

    /// The module as a factor. Arguments that are not given have their defaults.
    ///
    /// # Errors
    /// An argument that is missing, of another kind, outside its domain, or of no parameter.
    pub fn make(&self, arguments: &Arguments) -> Made {
        (self.constructor)(&arguments.complete(self)?)
    }

    /// A signal that it takes, of a few components.
    fn signal(&self) -> SignalSpec {
        match self.signals {
            Signals::Complex | Signals::ComplexToReal => SignalSpec::complex([4]),
            Signals::Any | Signals::Real | Signals::ToComplex => SignalSpec::real([4]),
            Signals::Rows => SignalSpec {
                structure: Structure::Block { dim: 2 },
                ..SignalSpec::real([4, 2])
            },
        }
    }

    /// The module with small arguments, on a few components.
    ///
    /// # Errors
    /// Never for a module whose defaults are in their domains.
    pub fn example(&self) -> Made {
        let inputs = vec![self.signal(); 2];
        let mut arguments = Arguments::new().on(inputs.clone());
        for p in self.parameters {
            arguments = arguments.with(p.name, p.example());
        }
        let factor = self.make(&arguments)?;
        let arity = factor.arity().inputs.min(inputs.len());
        let bound = factor.bind(&inputs[..arity]);
        Ok(bound.ok().flatten().unwrap_or(factor))
    }

    /// The example with its output observed, at a draw of it.
    fn observed(&self, factor: &dyn Factor) -> Option<Arc<dyn Factor>> {
        let input = self.signal();
        let outputs = factor.output_specs(std::slice::from_ref(&input)).ok()?;
        let mut y: Vec<Vec<f64>> = outputs.iter().map(|s| vec![0.0; s.len()]).collect();
        let z = vec![1.0; input.len()];
        let rng = &mut ChaCha8Rng::seed_from_u64(0);
        factor.generator()?.sample(&[&z], &mut y, rng);
        factor.observe(y.first()?).ok().flatten()
    }

    /// What it supports, found by asking an instance: `inference`, `mode`, `theory`, `sampling`, and `likelihood` when
    /// it has one of its own for an observed output, which is pinned otherwise.
    ///
    /// # Errors
    /// When no instance can be made.
    pub fn supports(&self) -> Result<Vec<&'static str>, ModelError> {
        let factor = self.example()?;
        let likelihood = matches!(factor.observe_unspecified(), Ok(Some(_)));
        // a law of outputs alone can do what it can do once they are observed
        let observed = match self.role {
            Role::Likelihood => self.observed(&*factor),
            Role::Loss => {
                let ones = vec![1.0; self.signal().len()];
                factor.observe(&ones).ok().flatten()
            }
            _ => None,
        };
        let acting = observed.as_ref().unwrap_or(&factor);
        // also of a teacher of its own kind: its outputs must be known
        let of_components = acting.ensemble().is_some_and(|e| e.pairs_with(&**acting));
        let theory = of_components || acting.row_ensemble().is_some();
        let all = [
            ("inference", acting.posterior().is_some()),
            ("mode", acting.proximal().is_some()),
            ("theory", theory),
            ("sampling", factor.generator().is_some()),
            ("likelihood", likelihood && factor.arity().inputs > 0),
        ];
        let has = all.into_iter().filter(|(_, is)| *is);
        Ok(has.map(|(name, _)| name).collect())
    }
}
