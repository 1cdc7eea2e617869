//! Validation: from nodes and wires to a [`Tree`], or the first thing that is wrong.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::tree::{Direction, Edge, FactorNode, Tree, Variable};
use crate::belief::{SignalSpec, Structure};
use crate::error::{ModelError, ShapeError};
use crate::factor::Factor;

/// More components than this do not fit in an address space.
const LARGEST: usize = usize::MAX >> 8;

/// A factor before it is placed: an optional name, the module, its inputs and outputs.
#[derive(Debug, Clone)]
pub(super) struct LooseFactor {
    pub name: Option<String>,
    pub factor: Arc<dyn Factor>,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
}

/// A variable before its shape is known.
#[derive(Debug, Clone)]
pub(super) struct LooseVariable {
    pub name: String,
    pub structure: Structure,
}

/// The plain builder beneath the `>>` and `+` of [`Fragment`](super::Fragment).
///
/// ```
/// use treeamp::prelude::*;
/// let mut builder = TreeBuilder::new();
/// builder.variable("x").variable("y");
/// builder.factor(GaussianPrior::new(0.0, 1.0)?.iid(3), &[], &["x"]);
/// builder.factor(GaussianNoise::new(0.1)?, &["x"], &["y"]);
/// assert_eq!(builder.build()?.variables().len(), 2);
/// # Ok::<(), ModelError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TreeBuilder {
    variables: Vec<LooseVariable>,
    factors: Vec<LooseFactor>,
    error: Option<ModelError>,
}

impl TreeBuilder {
    /// An empty model.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a variable with isotropic beliefs.
    pub fn variable(&mut self, name: &str) -> &mut Self {
        self.variable_with(name, Structure::Isotropic)
    }

    /// Declares a variable with beliefs of a given structure.
    pub fn variable_with(&mut self, name: &str, structure: Structure) -> &mut Self {
        self.variables.push(LooseVariable {
            name: name.to_owned(),
            structure,
        });
        self
    }

    /// Adds a factor between variables named before. The first error waits for
    /// [`build`](Self::build).
    pub fn factor(&mut self, factor: impl Factor, inputs: &[&str], outputs: &[&str]) -> &mut Self {
        self.add(None, Arc::new(factor), inputs, outputs)
    }

    /// Adds a factor under a name of its own.
    pub fn named_factor(
        &mut self,
        name: &str,
        factor: impl Factor,
        inputs: &[&str],
        outputs: &[&str],
    ) -> &mut Self {
        self.add(Some(name.to_owned()), Arc::new(factor), inputs, outputs)
    }

    /// Adds a factor that other models may hold too, under a name of its own if one is given: their
    /// decompositions are shared.
    pub fn shared_factor(
        &mut self,
        name: Option<&str>,
        factor: Arc<dyn Factor>,
        inputs: &[&str],
        outputs: &[&str],
    ) -> &mut Self {
        self.add(name.map(str::to_owned), factor, inputs, outputs)
    }

    fn add(
        &mut self,
        name: Option<String>,
        factor: Arc<dyn Factor>,
        inputs: &[&str],
        outputs: &[&str],
    ) -> &mut Self {
        let mut index =
            |names: &[&str]| -> Vec<usize> { names.iter().filter_map(|n| self.index(n)).collect() };
        let (inputs, outputs) = (index(inputs), index(outputs));
        self.factors.push(LooseFactor {
            name,
            factor,
            inputs,
            outputs,
        });
        self
    }

    fn index(&mut self, name: &str) -> Option<usize> {
        let found = self.variables.iter().position(|v| v.name == name);
        if found.is_none() && self.error.is_none() {
            let names: Vec<String> = self
                .variables
                .iter()
                .map(|v| format!("`{}`", v.name))
                .collect();
            self.error = Some(ModelError::UnknownVariable {
                variable: name.to_owned(),
                known: names.join(", "),
            });
        }
        found
    }

    /// Validates the model.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn build(&self) -> Result<Tree, ModelError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        assemble(&self.variables, self.factors.clone(), Vec::new())
    }
}

/// Checks names, wiring, connectedness and shapes, in this order.
pub(super) fn assemble(
    variables: &[LooseVariable],
    factors: Vec<LooseFactor>,
    observed: Vec<(String, Vec<f64>)>,
) -> Result<Tree, ModelError> {
    if variables.is_empty() || factors.is_empty() {
        return Err(ModelError::Empty {
            variables: variables.len(),
            factors: factors.len(),
        });
    }
    let mut seen = BTreeSet::new();
    for v in variables {
        if !seen.insert(v.name.as_str()) {
            return Err(ModelError::DuplicateVariable {
                variable: v.name.clone(),
            });
        }
    }
    let names = factor_names(&factors)?;
    let mut tree = Tree {
        variables: variables
            .iter()
            .enumerate()
            .map(|(index, v)| Variable {
                index,
                name: v.name.clone(),
                spec: SignalSpec {
                    structure: v.structure,
                    ..SignalSpec::real(vec![])
                },
                edges: vec![],
            })
            .collect(),
        factors: vec![],
        edges: vec![],
        order: vec![],
        observed,
    };
    for (node, name) in factors.into_iter().zip(names) {
        place(&mut tree, node, name)?;
    }
    check_sources(&tree)?;
    check_connected(&tree)?;
    tree.order = topological(&tree);
    infer_shapes(&mut tree)?;
    Ok(tree)
}

/// Given names stand, others are the module's name, numbered from the second on.
fn factor_names(factors: &[LooseFactor]) -> Result<Vec<String>, ModelError> {
    let mut taken = BTreeSet::new();
    for name in factors.iter().filter_map(|f| f.name.as_ref()) {
        if !taken.insert(name.clone()) {
            return Err(ModelError::DuplicateFactor {
                factor: name.clone(),
            });
        }
    }
    let mut names = Vec::with_capacity(factors.len());
    for f in factors {
        let name = f.name.clone().unwrap_or_else(|| {
            let base = f.factor.name();
            let numbered = (2..).map(|k| format!("{base}#{k}"));
            let mut candidates = std::iter::once(base.to_owned()).chain(numbered);
            candidates.find(|c| !taken.contains(c)).unwrap_or_default()
        });
        taken.insert(name.clone());
        names.push(name);
    }
    Ok(names)
}

fn place(tree: &mut Tree, node: LooseFactor, name: String) -> Result<(), ModelError> {
    let arity = node.factor.arity();
    for (side, expected, got) in [
        ("inputs", arity.inputs, node.inputs.len()),
        ("outputs", arity.outputs, node.outputs.len()),
    ] {
        if expected != got {
            return Err(ModelError::Arity {
                factor: name,
                side,
                expected,
                got,
            });
        }
    }
    let factor = tree.factors.len();
    let inputs = node.inputs.len();
    let named = node.name.is_some();
    tree.factors.push(FactorNode {
        name,
        named,
        factor: node.factor,
        edges: vec![],
        inputs,
    });
    for (port, variable) in node.inputs.iter().chain(&node.outputs).copied().enumerate() {
        if let Some(path) = path_between(tree, factor, variable) {
            return Err(ModelError::Cycle { path });
        }
        let direction = if port < inputs {
            Direction::Backward
        } else {
            Direction::Forward
        };
        let edge = tree.edges.len();
        tree.edges.push(Edge {
            factor,
            port,
            variable,
            direction,
        });
        tree.factors[factor].edges.push(edge);
        tree.variables[variable].edges.push(edge);
    }
    Ok(())
}

/// The names on the path from a factor to a variable, if there is one already.
fn path_between(tree: &Tree, factor: usize, variable: usize) -> Option<String> {
    // depth-first over (factor, variable) hops; the graph so far is a forest
    let mut stack = vec![(factor, vec![factor], vec![])];
    let mut visited = BTreeSet::from([factor]);
    while let Some((at, factors, variables)) = stack.pop() {
        for e in &tree.factors[at].edges {
            let v = tree.edges[*e].variable;
            if variables.last() == Some(&v) {
                continue;
            }
            let mut through: Vec<usize> = variables.clone();
            through.push(v);
            if v == variable {
                let names = factors.iter().zip(&through).flat_map(|(f, v)| {
                    [
                        tree.factors[*f].name.as_str(),
                        tree.variables[*v].name.as_str(),
                    ]
                });
                let names: Vec<String> = names.map(|n| format!("`{n}`")).collect();
                return Some(names.join(" - "));
            }
            for e in &tree.variables[v].edges {
                let next = tree.edges[*e].factor;
                if visited.insert(next) {
                    let mut seen = factors.clone();
                    seen.push(next);
                    stack.push((next, seen, through.clone()));
                }
            }
        }
    }
    None
}

fn check_sources(tree: &Tree) -> Result<(), ModelError> {
    for (i, v) in tree.variables.iter().enumerate() {
        if v.edges.is_empty() {
            return Err(ModelError::Dangling {
                variable: v.name.clone(),
                expected: "at least one factor",
                got: "none".into(),
            });
        }
        if tree.sources(i).next().is_none() {
            let names: Vec<String> = v
                .edges
                .iter()
                .map(|e| format!("`{}`", tree.factors[tree.edges[*e].factor].name))
                .collect();
            return Err(ModelError::Dangling {
                variable: v.name.clone(),
                expected: "a prior or a channel that produces it",
                got: format!("only {}, which consume it", names.join(", ")),
            });
        }
    }
    Ok(())
}

fn check_connected(tree: &Tree) -> Result<(), ModelError> {
    let mut reached = vec![false; tree.factors.len()];
    let mut stack = vec![0];
    reached[0] = true;
    while let Some(f) = stack.pop() {
        for e in &tree.factors[f].edges {
            for e in &tree.variables[tree.edges[*e].variable].edges {
                let next = tree.edges[*e].factor;
                if !reached[next] {
                    reached[next] = true;
                    stack.push(next);
                }
            }
        }
    }
    match reached.iter().position(|r| !r) {
        None => Ok(()),
        Some(other) => Err(ModelError::Disconnected {
            one: tree.factors[0].name.clone(),
            other: tree.factors[other].name.clone(),
        }),
    }
}

/// Factors whose inputs are all produced come first; ties in the order of declaration.
fn topological(tree: &Tree) -> Vec<usize> {
    let mut done = vec![false; tree.factors.len()];
    let mut order = Vec::with_capacity(done.len());
    while order.len() < done.len() {
        let ready = (0..done.len()).find(|f| {
            let node = &tree.factors[*f];
            let inputs = node.edges[..node.inputs]
                .iter()
                .map(|e| tree.edges[*e].variable);
            !done[*f] && inputs.flat_map(|v| tree.sources(v)).all(|s| done[s])
        });
        // a directed cycle would be an undirected one, which `place` refuses
        let Some(f) = ready else { break };
        done[f] = true;
        order.push(f);
    }
    order
}

/// Blocks fill the rows along the last axis. In the limit a signal is made of rows of any length; its factors know it.
pub(super) fn check_blocks(
    variable: &str,
    spec: &SignalSpec,
    dim: usize,
) -> Result<(), ModelError> {
    if spec.ratio.is_some() && dim > 0 {
        return Ok(());
    }
    let per_element = spec.len() / spec.count();
    let row = spec.shape.last().copied().unwrap_or(1) * per_element;
    if dim > 0 && row.is_multiple_of(dim) {
        return Ok(());
    }
    Err(ModelError::BlockSize {
        variable: variable.to_owned(),
        dim,
        row,
        shape: spec.to_string(),
    })
}

fn infer_shapes(tree: &mut Tree) -> Result<(), ModelError> {
    let mut known = vec![false; tree.variables.len()];
    for f in tree.order.clone() {
        let node = &tree.factors[f];
        let variables: Vec<usize> = node.edges.iter().map(|e| tree.edges[*e].variable).collect();
        let (inputs, outputs) = variables.split_at(node.inputs);
        let specs: Vec<SignalSpec> = inputs
            .iter()
            .map(|v| tree.variables[*v].spec.clone())
            .collect();
        let refuse = |e: ShapeError| ModelError::Shape {
            factor: node.name.clone(),
            variable: variables
                .get(e.port)
                .map_or("?", |v| &tree.variables[*v].name)
                .to_owned(),
            expected: e.expected,
            got: e.got,
        };
        let bound = node.factor.bind(&specs).map_err(refuse)?;
        let factor = bound.as_ref().unwrap_or(&node.factor);
        let given = factor.output_specs(&specs).map_err(refuse)?;
        let name = node.name.clone();
        let believed: Vec<SignalSpec> = outputs
            .iter()
            .zip(&given)
            .map(|(v, spec)| SignalSpec {
                structure: tree.variables[*v].spec.structure,
                ..spec.clone()
            })
            .collect();
        if let Some(factor) = factor.for_beliefs(&believed).or(bound) {
            tree.factors[f].factor = factor;
        }
        for (v, spec) in outputs.iter().zip(given) {
            let variable = &mut tree.variables[*v];
            if known[*v] && !variable.spec.same_signal(&spec) {
                return Err(ModelError::Shape {
                    factor: name,
                    variable: variable.name.clone(),
                    expected: spec.to_string(),
                    got: variable.spec.to_string(),
                });
            }
            if let Some(ratio) = spec.ratio
                && !(ratio > 0.0 && ratio.is_finite())
            {
                return Err(ModelError::Parameter {
                    module: variable.name.clone(),
                    name: "ratio",
                    expected: "positive and finite".to_owned(),
                    got: ratio.to_string(),
                });
            }
            if spec.is_empty() {
                return Err(ModelError::EmptyVariable {
                    variable: variable.name.clone(),
                    shape: spec.to_string(),
                });
            }
            if spec.len() > LARGEST {
                return Err(ModelError::TooLarge {
                    variable: variable.name.clone(),
                    shape: spec.to_string(),
                });
            }
            if let Structure::Block { dim } = variable.spec.structure {
                check_blocks(&variable.name, &spec, dim)?;
            }
            known[*v] = true;
            variable.spec = SignalSpec {
                structure: variable.spec.structure,
                ..spec
            };
        }
    }
    Ok(())
}
