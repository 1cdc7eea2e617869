//! The algebra of declarations: `source(prior) >> var("x") >> channel >> var("z") >> likelihood`.
//!
//! `>>` chains and `+` places side by side. A variable works out its own degree: one variable
//! before several factors feeds them all, one variable after several factors is shared by them.
//! Operators never panic: the first error waits for [`Fragment::build`].

use std::ops::{Add, Shr};
use std::sync::Arc;

use super::assemble::{LooseFactor, LooseVariable, assemble};
use super::tree::Tree;
use crate::belief::Structure;
use crate::error::ModelError;
use crate::factor::Factor;

/// An open end of a fragment.
#[derive(Debug, Clone, Copy)]
enum End {
    Variable(usize),
    Port { factor: usize, port: usize },
}

/// A piece of a model, with open ends on its left (heads) and right (tails).
#[derive(Debug, Clone, Default)]
pub struct Fragment {
    variables: Vec<LooseVariable>,
    factors: Vec<LooseFactor>,
    heads: Vec<End>,
    tails: Vec<End>,
    label: String,
    error: Option<ModelError>,
}

/// A variable to be placed in a fragment.
#[derive(Debug, Clone)]
pub struct Var {
    name: String,
    structure: Structure,
    fan_out: usize,
}

/// A variable with isotropic beliefs.
#[must_use]
pub fn var(name: &str) -> Var {
    Var {
        name: name.to_owned(),
        structure: Structure::Isotropic,
        fan_out: 1,
    }
}

impl Var {
    /// Offers `n` ends to its right, for variables that stand side by side.
    #[must_use]
    pub fn fan_out(mut self, n: usize) -> Self {
        self.fan_out = n;
        self
    }

    /// One precision per component.
    #[must_use]
    pub fn diagonal(self) -> Self {
        self.belief(Structure::Diagonal)
    }

    /// A full precision matrix.
    #[must_use]
    pub fn full(self) -> Self {
        self.belief(Structure::Full)
    }

    /// One matrix per `dim` consecutive components of a row.
    #[must_use]
    pub fn block(self, dim: usize) -> Self {
        self.belief(Structure::Block { dim })
    }

    /// Chooses the structure of the beliefs on this variable.
    #[must_use]
    pub fn belief(mut self, structure: Structure) -> Self {
        self.structure = structure;
        self
    }
}

/// The head of a chain: a prior (only the first operand needs it, a rule of the language).
#[must_use]
pub fn source(factor: impl Factor) -> Fragment {
    factor.into_fragment()
}

/// The head of a branch that starts with a channel or a likelihood:
/// `var("x") >> (branch(likelihood) + channel >> var("z"))`.
#[must_use]
pub fn branch(factor: impl Factor) -> Fragment {
    factor.into_fragment()
}

/// A factor under a name of its own.
#[must_use]
pub fn named(name: &str, factor: impl Factor) -> Fragment {
    let mut fragment = factor.into_fragment();
    name.clone_into(&mut fragment.label);
    fragment.factors[0].name = Some(name.to_owned());
    fragment
}

/// Whatever can stand in a declaration.
pub trait IntoFragment {
    /// The piece it is.
    fn into_fragment(self) -> Fragment;
}

impl IntoFragment for Fragment {
    fn into_fragment(self) -> Fragment {
        self
    }
}

impl IntoFragment for Var {
    fn into_fragment(self) -> Fragment {
        let end = End::Variable(0);
        Fragment {
            label: self.name.clone(),
            variables: vec![LooseVariable {
                name: self.name,
                structure: self.structure,
            }],
            heads: vec![end],
            tails: vec![end; self.fan_out],
            ..Fragment::default()
        }
    }
}

impl<F: Factor> IntoFragment for F {
    fn into_fragment(self) -> Fragment {
        let arity = self.arity();
        let open = usize::MAX;
        let port = |port| End::Port { factor: 0, port };
        Fragment {
            label: self.name().to_owned(),
            heads: (0..arity.inputs).map(port).collect(),
            tails: (arity.inputs..arity.inputs + arity.outputs)
                .map(port)
                .collect(),
            factors: vec![LooseFactor {
                name: None,
                factor: Arc::new(self),
                inputs: vec![open; arity.inputs],
                outputs: vec![open; arity.outputs],
            }],
            ..Fragment::default()
        }
    }
}

impl Fragment {
    /// Places `other` in the same piece and returns its heads and tails, renumbered.
    fn absorb(&mut self, other: Fragment) -> (Vec<End>, Vec<End>) {
        let (dv, df) = (self.variables.len(), self.factors.len());
        let shift = |v: usize| if v == usize::MAX { v } else { v + dv };
        let renumber = |end: End| match end {
            End::Variable(v) => End::Variable(v + dv),
            End::Port { factor, port } => End::Port {
                factor: factor + df,
                port,
            },
        };
        self.variables.extend(other.variables);
        self.factors.extend(other.factors.into_iter().map(|mut f| {
            f.inputs
                .iter_mut()
                .chain(&mut f.outputs)
                .for_each(|v| *v = shift(*v));
            f
        }));
        self.error = self.error.take().or(other.error);
        let heads = other.heads.into_iter().map(renumber).collect();
        (heads, other.tails.into_iter().map(renumber).collect())
    }

    fn chain(mut self, other: Fragment) -> Fragment {
        let (left, right) = (self.label.clone(), other.label.clone());
        let tails = std::mem::take(&mut self.tails);
        let (heads, new_tails) = self.absorb(other);
        let joined = match (tails.as_slice(), heads.as_slice()) {
            ([End::Variable(_)], many) if !many.is_empty() => {
                many.iter().all(|h| self.join(tails[0], *h))
            }
            (many, [End::Variable(_)]) if !many.is_empty() => {
                many.iter().all(|t| self.join(*t, heads[0]))
            }
            (l, r) if l.len() == r.len() && !l.is_empty() => {
                l.iter().zip(r).all(|(t, h)| self.join(*t, *h))
            }
            _ => false,
        };
        if !joined && self.error.is_none() {
            self.error = Some(ModelError::Chain {
                left: format!("`{left}`"),
                right: format!("`{right}`"),
                offered: describe_ends(&tails, "output"),
                taken: describe_ends(&heads, "input"),
            });
        }
        self.tails = new_tails;
        self.label = right;
        self
    }

    fn beside(mut self, other: Fragment) -> Fragment {
        self.label = format!("{} + {}", self.label, other.label);
        let (heads, tails) = self.absorb(other);
        self.heads.extend(heads);
        self.tails.extend(tails);
        self
    }

    /// A link needs one variable and one factor.
    fn join(&mut self, tail: End, head: End) -> bool {
        let ((End::Variable(variable), End::Port { factor, port })
        | (End::Port { factor, port }, End::Variable(variable))) = (tail, head)
        else {
            return false;
        };
        let f = &mut self.factors[factor];
        let inputs = f.inputs.len();
        let slot = if port < inputs {
            &mut f.inputs[port]
        } else {
            &mut f.outputs[port - inputs]
        };
        *slot = variable;
        true
    }

    /// Validates the model.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn build(self) -> Result<Tree, ModelError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for f in &self.factors {
            for (side, ends) in [("input", &f.inputs), ("output", &f.outputs)] {
                if ends.contains(&usize::MAX) {
                    let factor = f.name.clone().unwrap_or_else(|| f.factor.name().to_owned());
                    return Err(ModelError::OpenEnd { factor, side });
                }
            }
        }
        assemble(&self.variables, self.factors, Vec::new())
    }
}

fn describe_ends(ends: &[End], port: &str) -> String {
    let variables = ends
        .iter()
        .filter(|e| matches!(e, End::Variable(_)))
        .count();
    match (variables, ends.len() - variables) {
        (0, 0) => "nothing".to_owned(),
        (v, 0) => format!("{v} variable(s)"),
        (0, p) => format!("{p} factor {port}(s)"),
        (v, p) => format!("{v} variable(s) and {p} factor {port}(s)"),
    }
}

impl<T: IntoFragment> Shr<T> for Fragment {
    type Output = Fragment;
    fn shr(self, right: T) -> Fragment {
        self.chain(right.into_fragment())
    }
}

impl<T: IntoFragment> Shr<T> for Var {
    type Output = Fragment;
    fn shr(self, right: T) -> Fragment {
        self.into_fragment().chain(right.into_fragment())
    }
}

impl<T: IntoFragment> Add<T> for Fragment {
    type Output = Fragment;
    fn add(self, right: T) -> Fragment {
        self.beside(right.into_fragment())
    }
}

impl<T: IntoFragment> Add<T> for Var {
    type Output = Fragment;
    fn add(self, right: T) -> Fragment {
        self.into_fragment().beside(right.into_fragment())
    }
}
