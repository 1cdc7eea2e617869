//! The validated factor graph: a tree of named variables and factors, immutable.

use std::sync::Arc;

use super::assemble::check_blocks;
use crate::belief::{SignalSpec, Structure};
use crate::error::ModelError;
use crate::factor::{Factor, Workspace};

/// Which way a message to a variable travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Along the generation: from a factor to the variable it produces.
    Forward,
    /// Against it: from a factor to a variable it consumes.
    Backward,
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        })
    }
}

/// A hidden variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Its place in [`Tree::variables`].
    pub index: usize,
    /// Its name, unique in the tree.
    pub name: String,
    /// Its shape and beliefs.
    pub spec: SignalSpec,
    /// Its edges.
    pub edges: Vec<usize>,
}

/// A factor and its place in the tree.
#[derive(Debug, Clone)]
pub struct FactorNode {
    /// Its name, unique in the tree: the module's name, with `#2`, `#3` on repetition.
    pub name: String,
    /// The name was given, and stays when the factor turns into its likelihood.
    pub named: bool,
    /// The module.
    pub factor: Arc<dyn Factor>,
    /// Its edges by port, inputs first.
    pub edges: Vec<usize>,
    /// How many of them are inputs.
    pub inputs: usize,
}

/// A link between a factor's port and a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Index of the factor.
    pub factor: usize,
    /// Port of the factor.
    pub port: usize,
    /// Index of the variable.
    pub variable: usize,
    /// Forward when the factor produces the variable.
    pub direction: Direction,
}

/// A validated tree. Built by [`Fragment::build`](super::Fragment::build) or
/// [`TreeBuilder`](super::TreeBuilder); never edited.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(super) variables: Vec<Variable>,
    pub(super) factors: Vec<FactorNode>,
    pub(super) edges: Vec<Edge>,
    /// Factors, sources first.
    pub(super) order: Vec<usize>,
    /// Names and values of what has been observed.
    pub(super) observed: Vec<(String, Vec<f64>)>,
}

impl Tree {
    /// The hidden variables, in the order of declaration.
    #[must_use]
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The factors, in the order of declaration.
    #[must_use]
    pub fn factors(&self) -> &[FactorNode] {
        &self.factors
    }

    /// The edges.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Indices of the factors in topological order, sources first.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// What has been observed by [`condition`](Self::condition), with its values.
    #[must_use]
    pub fn observed(&self) -> &[(String, Vec<f64>)] {
        &self.observed
    }

    /// The index of a variable.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn variable(&self, name: &str) -> Result<usize, ModelError> {
        self.variables
            .iter()
            .position(|v| v.name == name)
            .ok_or_else(|| {
                let names: Vec<String> = self
                    .variables
                    .iter()
                    .map(|v| format!("`{}`", v.name))
                    .collect();
                ModelError::UnknownVariable {
                    variable: name.to_owned(),
                    known: names.join(", "),
                }
            })
    }

    /// The edge between a factor and a variable, both by name.
    #[must_use]
    pub fn edge(&self, factor: &str, variable: &str) -> Option<usize> {
        self.edges.iter().position(|e| {
            self.factors[e.factor].name == factor && self.variables[e.variable].name == variable
        })
    }

    /// The same model with beliefs of this structure at every variable. A precision for each component ([`Structure::Diagonal`]) is what a model
    /// with sparse differences of an image needs, where one for all of them collapses:
    ///
    /// ```
    /// use treeamp::prelude::*;
    /// # let y = vec![0.9, 1.1, 1.0, 0.0, 0.1, -0.1];
    /// let jumps = GaussBernoulli::new(0.2, 0.0, 1.0)?.shaped([1, 6]);
    /// let model = (source(GaussianPrior::new(0.0, 4.0)?.iid(6)) >> var("x")
    ///     >> (branch(GaussianLikelihood::new(0.01)?.observed(y)?) + (branch(Gradient::periodic()) + jumps >> var("z")))).build()?;
    /// let each = model.with_beliefs(Structure::Diagonal)?;
    /// let report = ExpectationPropagation.on(&each)?.run(&mut ())?;
    /// assert_eq!(report.marginal("x")?.variance.diagonal().count(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// What a factor cannot do with it, the plan of an algorithm says.
    ///
    /// # Errors
    /// Blocks that do not divide the rows of a variable.
    pub fn with_beliefs(&self, structure: Structure) -> Result<Self, ModelError> {
        let mut tree = self.clone();
        for variable in &mut tree.variables {
            if let Structure::Block { dim } = structure {
                check_blocks(&variable.name, &variable.spec, dim)?;
            }
            variable.spec.structure = structure;
        }
        Ok(tree)
    }

    /// The same tree with isotropic beliefs.
    pub(crate) fn isotropic(&self) -> Self {
        let mut tree = self.clone();
        for variable in &mut tree.variables {
            variable.spec.structure = Structure::Isotropic;
        }
        tree
    }

    /// The factors at a variable that produce it.
    pub(super) fn sources(&self, variable: usize) -> impl Iterator<Item = usize> + '_ {
        let edges = self.variables[variable]
            .edges
            .iter()
            .map(|e| self.edges[*e]);
        edges
            .filter(|e| e.direction == Direction::Forward)
            .map(|e| e.factor)
    }

    /// The other edges of the variable of an edge: what they say is the cavity of that edge.
    pub(crate) fn others(&self, edge: usize) -> impl Iterator<Item = usize> + '_ {
        let edges = self.variable_at(edge).edges.iter().copied();
        edges.filter(move |other| *other != edge)
    }

    /// The variable of an edge.
    #[must_use]
    pub fn variable_at(&self, edge: usize) -> &Variable {
        &self.variables[self.edges[edge].variable]
    }

    /// The factor of an edge.
    #[must_use]
    pub fn factor_at(&self, edge: usize) -> &FactorNode {
        &self.factors[self.edges[edge].factor]
    }

    /// A workspace for a factor.
    #[must_use]
    pub fn workspace(&self, factor: usize) -> Workspace {
        self.factors[factor]
            .factor
            .workspace(&self.port_specs(factor))
    }

    /// A workspace for every factor.
    #[must_use]
    pub fn workspaces(&self) -> Vec<Workspace> {
        (0..self.factors.len()).map(|f| self.workspace(f)).collect()
    }

    /// The signals at the ports of a factor.
    #[must_use]
    pub fn port_specs(&self, factor: usize) -> Vec<SignalSpec> {
        let node = &self.factors[factor];
        node.edges
            .iter()
            .map(|e| self.variables[self.edges[*e].variable].spec.clone())
            .collect()
    }
}
