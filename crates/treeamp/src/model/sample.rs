//! Forward sampling with an explicit seed.

use num_complex::Complex;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::tree::Tree;
use crate::belief::Element;
use crate::error::ModelError;
use crate::scalar::Elem;

/// One draw of every variable of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    seed: u64,
    values: Vec<(String, Vec<f64>)>,
    elements: Vec<Element>,
}

impl Sample {
    /// The seed it came from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The values of a variable, row-major; those of a complex one as interleaved parts.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn get(&self, variable: &str) -> Result<&[f64], ModelError> {
        let found = self.values.iter().find(|(name, _)| name == variable);
        found.map(|(_, x)| x.as_slice()).ok_or_else(|| {
            let names: Vec<String> = self.values.iter().map(|(n, _)| format!("`{n}`")).collect();
            ModelError::UnknownVariable {
                variable: variable.to_owned(),
                known: names.join(", "),
            }
        })
    }

    /// The values of a complex variable, row-major.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`]; [`ModelError::Element`] for a real variable.
    pub fn complex(&self, variable: &str) -> Result<&[Complex<f64>], ModelError> {
        let values = self.get(variable)?;
        let index = self.values.iter().position(|(name, _)| name == variable);
        as_complex(variable, values, index.map(|i| self.elements[i]))
    }

    /// Names and values, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.values.iter().map(|(n, x)| (n.as_str(), x.as_slice()))
    }
}

impl Tree {
    /// Draws all variables forwards. Any integer is a seed, 0 included; each factor has its own
    /// random stream, so adding a factor at the end does not change what comes before it.
    ///
    /// # Errors
    /// When the tree is not a Bayesian network (a variable with two sources, or one with an
    /// observation), or a factor cannot sample.
    pub fn sample(&self, seed: u64) -> Result<Sample, ModelError> {
        let refuse = |reason: String| ModelError::CannotSample { reason };
        for (i, v) in self.variables.iter().enumerate() {
            let sources: Vec<String> = self
                .sources(i)
                .map(|f| format!("`{}`", self.factors[f].name))
                .collect();
            if sources.len() > 1 {
                return Err(refuse(format!(
                    "variable `{}` has {} sources, expected one: {}",
                    v.name,
                    sources.len(),
                    sources.join(", ")
                )));
            }
        }
        let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); self.variables.len()];
        for f in &self.order {
            let node = &self.factors[*f];
            let variables: Vec<usize> =
                node.edges.iter().map(|e| self.edges[*e].variable).collect();
            let (inputs, outputs) = variables.split_at(node.inputs);
            if outputs.is_empty() {
                return Err(refuse(format!(
                    "factor `{}` holds an observation: sample the model before conditioning it",
                    node.name
                )));
            }
            let rule = node.factor.generator().ok_or_else(|| {
                let name = &node.name;
                refuse(format!(
                    "factor `{name}` draws nothing (no penalty and no loss does): give observations, or a teacher that draws them"
                ))
            })?;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(*f as u64);
            let mut out: Vec<Vec<f64>> = outputs
                .iter()
                .map(|v| vec![0.0; self.variables[*v].spec.len()])
                .collect();
            let given: Vec<&[f64]> = inputs.iter().map(|v| drawn[*v].as_slice()).collect();
            rule.sample(&given, &mut out, &mut rng);
            for (v, x) in outputs.iter().zip(out) {
                drawn[*v] = x;
            }
        }
        let names = self.variables.iter().map(|v| v.name.clone());
        Ok(Sample {
            seed,
            values: names.zip(drawn).collect(),
            elements: self.variables.iter().map(|v| v.spec.element).collect(),
        })
    }
}

/// The storage of a complex variable as complex numbers.
pub(crate) fn as_complex<'a>(
    variable: &str,
    values: &'a [f64],
    element: Option<Element>,
) -> Result<&'a [Complex<f64>], ModelError> {
    if element == Some(Element::Complex) {
        return Ok(Complex::view(values));
    }
    Err(ModelError::Element {
        variable: variable.to_owned(),
        expected: Element::Complex,
        got: Element::Real,
    })
}
