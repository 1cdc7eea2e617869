//! Messages on the edges of a tree, and what follows from them: cavities, beliefs, moments, and the answers of factors.

use std::borrow::Borrow;

use crate::belief::{Gaussian, Message as _, Moments};
use crate::error::FactorError;
use crate::factor::{Factor, Site};
use crate::model::{Tree, Variable};

/// Messages from factors to variables, by edge.
pub(crate) struct Graph<'a, M> {
    tree: &'a Tree,
    messages: &'a [M],
}

impl<M> Clone for Graph<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Graph<'_, M> {}

impl<'a, M: Borrow<Gaussian>> Graph<'a, M> {
    pub fn new(tree: &'a Tree, messages: &'a [M]) -> Self {
        Self { tree, messages }
    }

    /// The product of the messages on a variable, but for the one on an edge.
    fn product(&self, variable: &Variable, but: Option<usize>) -> Gaussian {
        let mut total = Gaussian::flat(&variable.spec);
        let edges = variable.edges.iter().filter(|e| Some(**e) != but);
        edges.for_each(|e| total.add_assign(self.messages[*e].borrow()));
        total
    }

    /// What all factors say of a variable together.
    pub fn belief(&self, variable: usize) -> Gaussian {
        self.product(&self.tree.variables()[variable], None)
    }

    /// What all other factors say to the factor of an edge.
    pub fn cavity(&self, edge: usize) -> Gaussian {
        self.product(self.tree.variable_at(edge), Some(edge))
    }

    /// What reaches the ports of a factor.
    pub fn cavities(&self, factor: usize) -> Vec<Gaussian> {
        let edges = self.tree.factors()[factor].edges.iter();
        edges.map(|e| self.cavity(*e)).collect()
    }

    /// A factor and what reaches it.
    pub fn site(&self, factor: usize) -> Site<'a> {
        let node = self.tree.factors()[factor].factor.as_ref();
        Site::new(node, &self.tree.port_specs(factor), self.cavities(factor))
    }

    /// Mean and variance of a variable.
    ///
    /// # Errors
    /// Messages that leave a negative variance.
    pub fn moments(&self, variable: usize) -> Result<Moments, FactorError> {
        let belief = self.belief(variable);
        let mut moments = Moments::like(&belief);
        belief.moments_into(&mut moments)?;
        Ok(moments)
    }

    /// $b/a$ of every variable, and the place of a pin; isotropic beliefs, proper or not.
    pub fn places(&self) -> Vec<Vec<f64>> {
        let place = |v: usize| {
            let mut belief = self.belief(v);
            let scale = belief.mean_scale();
            belief.linear.iter_mut().for_each(|b| *b *= scale);
            belief.linear
        };
        (0..self.tree.variables().len()).map(place).collect()
    }
}

/// A factor of one variable, and what is said of that.
pub(crate) fn alone<'a>(factor: &'a dyn Factor, variable: &Variable, said: Gaussian) -> Site<'a> {
    Site::new(factor, std::slice::from_ref(&variable.spec), vec![said])
}

/// What a factor of one variable says before it hears anything; `None` if it cannot say anything then.
pub(crate) fn first_message(factor: &dyn Factor, variable: &Variable) -> Option<Gaussian> {
    let said = Gaussian::flat(&variable.spec);
    alone(factor, variable, said).message(0).ok()
}
