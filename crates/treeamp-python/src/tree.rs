//! The validated tree: observations, samples, drawings, second moments.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeamp::belief::{Element, Structure};
use treeamp::engine::Estimate;
use treeamp::extend::PosteriorRule;
use treeamp::model::NodeKind;
use treeamp::prelude::{Teacher, Tree as NativeTree, TreeBuilder};

use crate::array::{pairs, python_shape, shaped, slice};
use crate::error::{model_error, model_message, named, node_of, raised, run_error_in};
use crate::factor::Factor;

/// A factor of a declaration: its name if it was given one, the module, its inputs and outputs.
type Declared<'py> = (Option<String>, PyRef<'py, Factor>, Vec<String>, Vec<String>);

/// A phrase on what a run costs, its seconds and bytes, and the operations of its parts.
type Costs = (String, f64, f64, f64, Vec<(String, f64, f64)>);

/// Nodes, links and size of a drawing.
type Drawn = (
    Vec<(String, bool, String, &'static str, f64, f64)>,
    Vec<(usize, usize)>,
    (f64, f64),
);

/// A validated tree.
#[pyclass(frozen, module = "treeamp._lib")]
#[derive(Clone)]
pub struct Tree {
    pub inner: Arc<NativeTree>,
}

impl Tree {
    fn new(tree: NativeTree) -> Self {
        Self {
            inner: Arc::new(tree),
        }
    }
}

/// Builds and validates a model: variables as `(name, belief)`, then its factors.
#[pyfunction]
pub fn build(variables: Vec<(String, String)>, factors: Vec<Declared<'_>>) -> PyResult<Tree> {
    let mut builder = TreeBuilder::new();
    for (name, belief) in &variables {
        let structure: Structure = belief.parse().map_err(|_| {
            let kinds = "isotropic, diagonal, full or block(n)";
            model_message(format!(
                "variable `{name}`: `belief` must be {kinds}, got {belief}"
            ))
        })?;
        builder.variable_with(name, structure);
    }
    for (name, factor, inputs, outputs) in &factors {
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let module = Arc::clone(&factor.inner);
        builder.shared_factor(name.as_deref(), module, &inputs, &outputs);
    }
    builder.build().map(Tree::new).map_err(|e| model_error(&e))
}

#[pymethods]
impl Tree {
    /// `(name, shape, ratio)` of every variable; the ratio only in the limit.
    #[getter]
    fn variables(&self) -> Vec<(String, Vec<usize>, Option<f64>)> {
        let variables = self.inner.variables().iter();
        variables
            .map(|v| (v.name.clone(), python_shape(&v.spec), v.spec.ratio))
            .collect()
    }

    /// The beliefs of every variable, in the order of the variables.
    #[getter]
    fn beliefs(&self) -> Vec<String> {
        let variables = self.inner.variables().iter();
        variables.map(|v| v.spec.structure.to_string()).collect()
    }

    /// The factors that are penalties or losses, which are not probability distributions.
    #[getter]
    fn energies(&self) -> Vec<String> {
        let factors = self.inner.factors().iter();
        let energies =
            factors.filter(|f| f.factor.posterior().is_some_and(PosteriorRule::is_laplace));
        energies.map(|f| f.name.clone()).collect()
    }

    /// What a run costs: a phrase, seconds of set-up and of a sweep, bytes, and for every factor (and variable with a dense belief) its name and
    /// operations of set-up and of a sweep.
    #[getter]
    fn cost(&self) -> Costs {
        let estimate = Estimate::of(&self.inner);
        let parts = estimate.parts.iter();
        let parts = parts.map(|(name, c)| (name.clone(), c.set_up, c.sweep));
        (
            estimate.to_string(),
            estimate.set_up_seconds(),
            estimate.sweep_seconds(),
            estimate.bytes,
            parts.collect(),
        )
    }

    /// `(name, module, summary)` of every factor.
    #[getter]
    fn factors(&self) -> Vec<(String, String, String)> {
        let factors = self.inner.factors().iter();
        factors
            .map(|f| {
                (
                    f.name.clone(),
                    f.factor.name().to_owned(),
                    f.factor.summary(),
                )
            })
            .collect()
    }

    /// `(factor, variable, direction)` of every edge.
    #[getter]
    fn edges(&self) -> Vec<(String, String, String)> {
        let (factors, variables) = (self.inner.factors(), self.inner.variables());
        let edge = |e: &treeamp::model::Edge| {
            let (f, v) = (&factors[e.factor].name, &variables[e.variable].name);
            (f.clone(), v.clone(), e.direction.to_string())
        };
        self.inner.edges().iter().map(edge).collect()
    }

    /// The tree given the values of a leaf.
    fn condition(&self, variable: &str, values: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        let index = self.inner.variable(variable);
        let spec = index.map(|i| &self.inner.variables()[i].spec);
        let complex = spec.is_ok_and(|s| s.element == Element::Complex);
        let parts = if complex {
            Some(pairs(slice(&values)?))
        } else {
            None
        };
        let values = parts.as_deref().map_or_else(|| slice(&values), Ok)?;
        let tree = self.inner.condition(variable, values);
        tree.map(Self::new).map_err(|e| model_error(&e))
    }

    /// The tree with beliefs of this structure at every variable.
    fn with_beliefs(&self, belief: &str) -> PyResult<Self> {
        let structure: Structure = belief.parse().map_err(|_| {
            let kinds = "isotropic, diagonal, full or block(n)";
            model_message(format!("`belief` must be {kinds}, got {belief}"))
        })?;
        let tree = self.inner.with_beliefs(structure);
        tree.map(Self::new).map_err(|e| model_error(&e))
    }

    /// The tree given that a leaf is observed, whatever its value.
    fn expect(&self, variable: &str) -> PyResult<Self> {
        let tree = self.inner.expect(variable);
        tree.map(Self::new).map_err(|e| model_error(&e))
    }

    /// One draw of every variable.
    fn sample<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        let tree = Arc::clone(&self.inner);
        let sample = py.detach(|| tree.sample(seed));
        if let Some((law, error)) = raised() {
            return Err(named(error, &node_of(&self.inner, &law, None)));
        }
        let sample = sample.map_err(|e| model_error(&e))?;
        let drawn = PyDict::new(py);
        for ((name, values), variable) in sample.iter().zip(self.inner.variables()) {
            drawn.set_item(name, shaped(py, &variable.spec, values)?)?;
        }
        Ok(drawn)
    }

    /// The teacher's second moments $\tau_0$, by variable.
    fn second_moments(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        let tree = Arc::clone(&self.inner);
        let teacher = py
            .detach(|| Teacher::new(&tree))
            .map_err(|e| run_error_in(&tree, &e))?;
        Ok(teacher.tau0)
    }

    /// The factor graph as text.
    fn describe(&self) -> String {
        self.inner.describe()
    }

    /// The factor graph in the DOT language.
    fn to_dot(&self) -> String {
        self.inner.to_dot()
    }

    /// The factor graph with a place for every node: `(label, note, kind, x, y)`, links, and the size in pixels.
    fn drawing(&self) -> Drawn {
        let drawing = self.inner.drawing();
        let nodes = drawing.nodes.into_iter().map(|n| {
            let kind = match n.kind {
                NodeKind::Variable => "variable",
                NodeKind::Observed => "observed",
                NodeKind::Factor => "factor",
            };
            let lines = n.lines().join("\n");
            (lines, n.is_above(), n.note, kind, n.x, n.y)
        });
        (nodes.collect(), drawing.links, drawing.size)
    }

    /// The factor graph as an SVG picture.
    fn to_svg(&self) -> String {
        self.inner.to_svg()
    }
}
