//! The posterior probability that a component is not zero, for priors with a point mass there.
//!
//! A prior $p(x) = w\,\delta(x) + \dots$ next to the other messages, $e^{-\frac12 a x^2 + b x}$, has a mass of $w$ left at zero out of
//! $e^{A(a, b)}$ altogether:
//!
//! $$P(x_i \ne 0 \mid y) = 1 - w\, e^{-A(a, b_i)}.$$

use super::Posterior;
use crate::belief::{Element, Gaussian, Message, Structure};
use crate::error::ModelError;
use crate::model::{Tree, Variable};
use crate::scalar::{ScalarView, Symmetry, Tilt};

/// A component that is known exactly is zero below this fraction of the largest one: it carries the rounding of the channels that tell it.
const ROUNDING: f64 = 1e-6;

impl Posterior {
    /// The inclusion probabilities $P(x_i \ne 0 \mid y)$ of the components of a variable, on the tree of the run. `None` where its prior has no
    /// point mass at zero, where the variable has no prior of its own, and for beliefs that are neither isotropic nor diagonal.
    ///
    /// ```
    /// use treeamp::prelude::*;
    /// let model = (source(GaussBernoulli::new(0.5, 0.0, 1.0)?.iid(2)) >> var("x")
    ///     >> GaussianNoise::new(0.01)? >> var("y")).build()?;
    /// let tree = model.condition("y", &[0.0, 2.0])?;
    /// let report = ExpectationPropagation.on(&tree)?.run(&mut ())?;
    /// let p = report.inclusion(&tree, "x")?.ok_or("no point mass")?;
    /// assert!(p[0] < 0.1 && p[1] > 0.999);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn inclusion(&self, tree: &Tree, variable: &str) -> Result<Option<Vec<f64>>, ModelError> {
        self.marginal(variable)?;
        let variable = &tree.variables()[tree.variable(variable)?];
        let simple = matches!(
            variable.spec.structure,
            Structure::Isotropic | Structure::Diagonal
        );
        let Some((prior, law)) = spiked_prior(tree, variable).filter(|_| simple) else {
            return Ok(None);
        };
        let mass = zero_mass(law);
        let mut cavity = Gaussian::flat(&variable.spec);
        for e in variable
            .edges
            .iter()
            .filter(|e| tree.edges()[**e].factor != prior)
        {
            let factor = &tree.factors()[tree.edges()[*e].factor].name;
            let Some(message) = self.messages.get(factor, &variable.name) else {
                return Ok(None);
            };
            cavity.add_assign(message);
        }
        let width = (variable.spec.len() / variable.spec.count().max(1)).max(1);
        let precision = cavity.precision.data();
        let largest = cavity.linear.iter().fold(0.0_f64, |m, b| m.max(b.abs()));
        let pinned = |b: f64| f64::from(u8::from(b.abs() > ROUNDING * largest));
        let components = cavity.linear.chunks(width).enumerate();
        let each = components.map(|(i, b)| {
            let a = precision.get(i).or(precision.first()).copied();
            let b = if width == 1 { b[0] } else { b[0].hypot(b[1]) };
            match a.unwrap_or(0.0) {
                f64::INFINITY => Some(pinned(b)),
                a => not_zero(law, mass, a, b),
            }
        });
        Ok(each.collect())
    }
}

/// $1 - w e^{-A(a, b)}$.
fn not_zero(law: &dyn ScalarView, mass: f64, a: f64, b: f64) -> Option<f64> {
    let tilted = law.prior(Tilt { a, b })?;
    Some((-(mass.ln() - tilted.log_z).exp_m1()).clamp(0.0, 1.0))
}

/// The prior of a variable, if it is a law on components with a point mass at zero.
fn spiked_prior<'t>(tree: &'t Tree, variable: &Variable) -> Option<(usize, &'t dyn ScalarView)> {
    let kind = match variable.spec.element {
        Element::Real => Symmetry::Line,
        Element::Complex => Symmetry::Circular,
    };
    variable.edges.iter().find_map(|e| {
        let index = tree.edges()[*e].factor;
        let node = &tree.factors()[index];
        let law = node.factor.scalar().filter(|_| node.edges.len() == 1)?;
        let spiked = law.symmetry() == kind && zero_mass(law) > 0.0;
        spiked.then_some((index, law))
    })
}

/// The probability that a law gives to zero.
fn zero_mass(law: &dyn ScalarView) -> f64 {
    let masses = law.point_masses().into_iter();
    masses.filter(|(x, _)| *x == 0.0).map(|(_, p)| p).sum()
}
