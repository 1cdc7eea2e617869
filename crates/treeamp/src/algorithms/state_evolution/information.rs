//! Information from a Bayes-optimal fixed point: entropies and mutual informations, in nats per
//! component of the first variable, with their decomposition over the tree.
//!
//! For a factor $H_k = \sum_i\frac12\alpha_i^k\hat m_i\tau_i - \bar A_k + A_k^{(0)}$ is the mutual information between its
//! variables and what it sees of them, plus the entropy of its own noise; for a variable
//! $I_i = \frac12\ln(1 + \hat m_i\tau_i)$. The entropy of the measurements is
//! $\sum_k\alpha_k H_k + \sum_i\alpha_i I_i - \sum_{(i,k)}\alpha_i I_i^k$.

use super::bayes_optimal::KNOWN;
use super::teacher::{rule, weights};
use super::{BayesOptimal, Evolution, Teacher};
use crate::belief::OverlapFields;
use crate::engine::Term;
use crate::error::RunError;
use crate::factor::Averaged;
use crate::model::{FactorNode, Tree};

const ENTROPY: &str = "the entropy of the measurements";

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
    /// [`RunError::NotDefined`] for a noiseless continuous output; [`RunError::NegativeInformation`] where averages have no digits left.
    pub fn mutual_information(&self) -> Result<f64, RunError> {
        let mut noise = 0.0;
        for (name, value) in &self.noise {
            noise += value.ok_or_else(|| RunError::NotDefined {
                what: "the mutual information with the measurements".to_owned(),
                why: format!("`{name}` is a noiseless output"),
            })?;
        }
        not_negative([self.entropy, -noise], || {
            "between the hidden variables and the measurements".to_owned()
        })
    }
}

/// The fields on the edges of a tree at the end of a run.
struct Fields<'a> {
    tree: &'a Tree,
    teacher: &'a Teacher,
    to_variable: Vec<f64>,
    factor_weights: Vec<f64>,
    variable_weights: Vec<f64>,
}

impl Fields<'_> {
    /// What a variable tells the factor at the end of an edge.
    fn to_factor(&self, edge: usize) -> f64 {
        let variable = self.tree.edges()[edge].variable;
        let others = self.tree.others(edge);
        let m_hat: f64 = others.map(|o| self.to_variable[o]).sum();
        self.finite(m_hat, variable)
    }

    fn finite(&self, m_hat: f64, variable: usize) -> f64 {
        m_hat.min(KNOWN / self.teacher.tau0[variable])
    }

    /// $\alpha_k H_k$.
    fn factor(&self, k: usize, node: &FactorNode) -> Result<f64, RunError> {
        let tau0_hat = &self.teacher.to_factor[k];
        let fields: Vec<OverlapFields> = node
            .edges
            .iter()
            .zip(tau0_hat)
            .map(|(e, t)| {
                let m_hat = self.to_factor(*e);
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
                let v = self.tree.edges()[*e].variable;
                let size = self.variable_weights[v] / self.factor_weights[k];
                (size, self.teacher.tau0[v])
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
        Ok(self.factor_weights[k] * value)
    }

    /// $\alpha_i\frac12\ln(1 + \hat m\tau_i)$.
    fn variable(&self, m_hat: f64, v: usize) -> f64 {
        self.variable_weights[v] * 0.5 * (self.finite(m_hat, v) * self.teacher.tau0[v]).ln_1p()
    }
}

/// Accuracy of entropies, relative to the terms of a sum.
const ROUNDING: f64 = 1e-6;

/// The sum of the terms of an information, which is not negative.
pub(super) fn not_negative<const N: usize>(
    terms: [f64; N],
    of: impl Fn() -> String,
) -> Result<f64, RunError> {
    let value: f64 = terms.iter().sum();
    let scale = 1.0 + terms.iter().map(|t| t.abs()).sum::<f64>();
    if value < -ROUNDING * scale {
        return Err(RunError::NegativeInformation { of: of(), value });
    }
    Ok(value)
}

fn term(name: String, value: f64) -> Term {
    Term {
        name,
        value,
        excess: value,
    }
}

impl Evolution<BayesOptimal> {
    /// Entropies at the fixed point.
    ///
    /// # Errors
    /// [`RunError::NotReached`] when the run ended elsewhere; [`RunError::NotDefined`] where the signal is recovered
    /// exactly through a noiseless continuous output, whose entropy diverges, and for a model that is not a Bayesian
    /// network; a factor that cannot compute its potential.
    pub fn information(&self, tree: &Tree) -> Result<Information, RunError> {
        self.check_defined(ENTROPY)?;
        self.relative_information(tree)
    }

    /// The same up to a constant of the model, for comparisons of its fixed points.
    pub(super) fn relative_information(&self, tree: &Tree) -> Result<Information, RunError> {
        self.check_finite(ENTROPY)?;
        let (factor_weights, variable_weights) = weights(tree);
        let fields = Fields {
            tree,
            teacher: &self.teacher,
            to_variable: self.report.messages.iter().map(|(_, _, m)| m.0).collect(),
            factor_weights,
            variable_weights,
        };
        let mut factors = Vec::new();
        let mut noise = Vec::new();
        for (k, node) in tree.factors().iter().enumerate() {
            let value = fields.factor(k, node)?;
            factors.push(term(node.name.clone(), value));
            let mut own_noise = Some(0.0);
            if node.inputs == node.edges.len() {
                let inputs = node.edges.iter().map(|e| tree.edges()[*e].variable);
                let tau = inputs.map(|v| self.teacher.tau0[v]).next();
                let entropy = tau.and_then(|tau| node.factor.noise_entropy_at(tau));
                own_noise = entropy.map(|e| fields.factor_weights[k] * e);
                noise.push((node.name.clone(), own_noise));
            }
            if let Some(noise) = own_noise {
                not_negative([value, -noise], || format!("of factor `{}`", node.name))?;
            }
        }
        let variables = tree.variables().iter().map(|v| {
            let total: f64 = v.edges.iter().map(|e| fields.to_variable[*e]).sum();
            term(v.name.clone(), fields.variable(total, v.index))
        });
        let edges = tree.edges().iter().enumerate().map(|(e, edge)| {
            let factor = &tree.factors()[edge.factor].name;
            let variable = &tree.variables()[edge.variable].name;
            let total = fields.to_variable[e] + fields.to_factor(e);
            let value = fields.variable(total, edge.variable);
            term(format!("{factor} - {variable}"), value)
        });
        let (variables, edges): (Vec<Term>, Vec<Term>) = (variables.collect(), edges.collect());
        let sum = |terms: &[Term]| terms.iter().map(|t| t.value).sum::<f64>();
        let entropy = self.teacher.normalisation + sum(&factors) + sum(&variables) - sum(&edges);
        Ok(Information {
            factors,
            variables,
            edges,
            noise,
            entropy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::not_negative;
    use crate::error::RunError;

    /// Rounding is kept as it is, and what is more than that is no information.
    #[test]
    fn negative_informations_are_refused() {
        let of = || "of factor `f`".to_owned();
        assert!(not_negative([1.0, -1.0 - 1e-9], of).is_ok());
        let Err(error) = not_negative([1.0, -1.1], of) else {
            panic!("it is negative");
        };
        assert!(matches!(&error, RunError::NegativeInformation { value, .. } if *value < -0.09));
        assert!(error.to_string().contains("factor `f`"), "{error}");
    }
}
