//! Information from a Bayes-optimal fixed point: entropies and mutual informations, in nats per
//! component of the first variable, with their decomposition over the tree.
//!
//! For a factor $H_k = \sum_i\frac12\alpha_i^k\hat m_i\tau_i - \bar A_k + A_k^{(0)}$ is the mutual information between its
//! variables and what it sees of them, plus the entropy of its own noise; for a variable
//! $I_i = \frac12\ln(1 + \hat m_i\tau_i)$. The entropy of the measurements is
//! $\sum_k\alpha_k H_k + \sum_i\alpha_i I_i - \sum_{(i,k)}\alpha_i I_i^k$.

use super::teacher::{rule, weights};
use super::{BayesOptimal, Evolution, StateEvolution};
use crate::belief::OverlapFields;
use crate::engine::Term;
use crate::error::RunError;
use crate::factor::Averaged;
use crate::model::Tree;

/// Fields beyond this (in units of $1/\tau_0$) count as this much: what they still add to a discrete
/// signal is nothing, and a continuous one has infinite information anyway.
const CLAMP: f64 = super::bayes_optimal::CERTAIN;

/// Entropies of a model at a fixed point, in nats per component of the first variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Information {
    /// $\alpha_k H_k$ of every factor: information, plus the entropy of the noise of a likelihood.
    pub factors: Vec<Term>,
    /// $\alpha_i I_i$ of every variable.
    pub variables: Vec<Term>,
    /// $\alpha_i I_i^k$ of every edge, to be subtracted.
    pub edges: Vec<Term>,
    /// Entropy of the noise, $\alpha_k E_k$, of every likelihood; `None` for a noiseless continuous
    /// output, where it is not defined.
    pub noise: Vec<(String, Option<f64>)>,
    /// The entropy of the measurements (differential, where they are continuous).
    pub entropy: f64,
}

impl Information {
    /// $I(x; y)$ between all hidden variables and the measurements: the entropy of the measurements
    /// less that of their noise.
    ///
    /// # Errors
    /// [`RunError::NotDefined`] for a noiseless continuous output.
    pub fn mutual_information(&self) -> Result<f64, RunError> {
        let mut noise = 0.0;
        for (name, value) in &self.noise {
            noise += value.ok_or_else(|| RunError::NotDefined {
                what: "the mutual information with the measurements".to_owned(),
                why: format!("`{name}` is a noiseless output"),
            })?;
        }
        Ok(self.entropy - noise)
    }
}

impl Evolution<BayesOptimal> {
    /// Entropies at the point where the run ended.
    ///
    /// # Errors
    /// When a factor cannot compute its potential.
    pub fn information(&self, tree: &Tree) -> Result<Information, RunError> {
        let teacher = &self.teacher;
        let (factor_weights, variable_weights) = weights(tree);
        let to_variable: Vec<f64> = self.report.messages.iter().map(|(_, _, m)| m.0).collect();
        let clamp = |m: f64, variable: usize| m.min(CLAMP / teacher.tau0[variable]);
        let incoming = |e: usize| -> f64 {
            let variable = tree.edges()[e].variable;
            let others = tree.variables()[variable].edges.iter().filter(|o| **o != e);
            clamp(others.map(|o| to_variable[*o]).sum(), variable)
        };
        let term = |name: String, value: f64| Term {
            name,
            value,
            excess: value,
        };
        let mut factors = Vec::new();
        let mut noise = Vec::new();
        for (k, node) in tree.factors().iter().enumerate() {
            let tau0_hat = &teacher.to_factor[k];
            let fields: Vec<OverlapFields> = node
                .edges
                .iter()
                .zip(tau0_hat)
                .map(|(e, t)| {
                    let m_hat = incoming(*e);
                    OverlapFields {
                        m_hat,
                        q_hat: m_hat,
                        tau_hat: *t,
                    }
                })
                .collect();
            let ports: Vec<(f64, f64)> = node
                .edges
                .iter()
                .map(|e| {
                    let v = tree.edges()[*e].variable;
                    (variable_weights[v] / factor_weights[k], teacher.tau0[v])
                })
                .collect();
            let at = Averaged {
                fields: &fields,
                tau0_hat,
            };
            let value = rule(node.factor.as_ref())
                .and_then(|r| r.entropic_potential(node.factor.as_ref(), at, &ports))
                .map_err(|source| RunError::Factor {
                    factor: node.name.clone(),
                    source,
                })?;
            factors.push(term(node.name.clone(), factor_weights[k] * value));
            if node.inputs == node.edges.len() {
                let entropy = node.factor.noise_entropy().map(|e| factor_weights[k] * e);
                noise.push((node.name.clone(), entropy));
            }
        }
        let gaussian = |m_hat: f64, v: usize| {
            variable_weights[v] * 0.5 * (clamp(m_hat, v) * teacher.tau0[v]).ln_1p()
        };
        let variables: Vec<Term> = tree
            .variables()
            .iter()
            .map(|v| {
                let total: f64 = v.edges.iter().map(|e| to_variable[*e]).sum();
                term(v.name.clone(), gaussian(total, v.index))
            })
            .collect();
        let edges: Vec<Term> = tree
            .edges()
            .iter()
            .enumerate()
            .map(|(e, edge)| {
                let (f, v) = (&tree.factors()[edge.factor].name, edge.variable);
                let total = to_variable[e] + incoming(e);
                term(
                    format!("{f} - {}", tree.variables()[v].name),
                    gaussian(total, v),
                )
            })
            .collect();
        let sum = |terms: &[Term]| terms.iter().map(|t| t.value).sum::<f64>();
        let entropy = teacher.normalisation + sum(&factors) + sum(&variables) - sum(&edges);
        Ok(Information {
            factors,
            variables,
            edges,
            noise,
            entropy,
        })
    }
}

/// $I(x_i; y) = H(y) - H(y \mid x_i)$ between one variable and the measurements, in nats per component of
/// the first variable.
///
/// $H(y \mid x_i)$ comes from the same tree with $x_i$ also seen through very little noise, less what
/// that observation tells without $y$.
///
/// # Errors
/// An unknown variable, a fixed point that is not reached, an entropy that cannot be computed.
pub fn mutual_information(tree: &Tree, variable: &str) -> Result<f64, RunError> {
    let entropy = |tree: &Tree| -> Result<f64, RunError> {
        let evolution = StateEvolution::new(tree)?.fixed_point()?;
        Ok(evolution.information(tree)?.entropy)
    };
    let index = tree.variable(variable)?;
    // refuses noiseless outputs
    let evolution = StateEvolution::new(tree)?.fixed_point()?;
    evolution.information(tree)?.mutual_information()?;
    let tau0 = StateEvolution::new(tree)?.teacher().tau0[index];
    let seen = tree.with_pseudo_observation(variable, tau0 / CLAMP)?;
    let unobserved = seen.without_observations(variable)?;
    Ok(entropy(tree)? - (entropy(&seen)? - entropy(&unobserved)?))
}
