//! Finite alphabet $p(x) = \sum_k w_k\, \delta(x - x_k)$.
//!
//! # Moments
//! Letter $k$ has mass $w_k e^{G(x_k)}$ under the tilt, $G(x) = -\tfrac12 a x^2 + b x$. Differences of $G$ are formed as products,
//! and the variance between letters is summed pair by pair, so that nothing cancels.
//!
//! # Limits
//! Finite for every $a$ and $b$.
//!
//! # Reference
//! Jeon, Ghods, Maleki and Studer, "Optimality of large MIMO detection via approximate message passing", ISIT (2015).

use rand::Rng;

use super::weights::{are_as_many, check_each, normalised};
use crate::catalog::module::{Domain, Module, SIZE, numbers};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{AnchoredMixture, Bump, draw};
use crate::scalar::{Landmark, ScalarPrior, Tilted};

/// The values $x_k$ with probabilities $w_k$.
#[derive(Debug, Clone, PartialEq)]
pub struct FiniteAlphabet {
    /// Pairs of value and weight, by ascending value.
    letters: Vec<(f64, f64)>,
}

impl FiniteAlphabet {
    /// The law on `values` with one weight each; without weights all are equally likely.
    ///
    /// # Errors
    /// Unless there are as many values as weights (or none of these), one or more, values are finite and distinct, and weights positive with sum one
    /// (to $10^{-9}$; they are then normalised).
    pub fn new(values: &[f64], weights: &[f64]) -> Result<Self, ModelError> {
        let n = values.len();
        if !are_as_many(weights, n) {
            let got = format!("{n} values, {} weights", weights.len());
            let (name, expected) = if n == 0 {
                ("values", "at least one")
            } else {
                ("weights", "as many as values, or none")
            };
            return Err(parameter(Self::NAME, name, expected, got));
        }
        check_each(Self::NAME, "values", "finite", values, f64::is_finite)?;
        let scaled = normalised(Self::NAME, weights, n)?;
        let mut letters: Vec<(f64, f64)> = values.iter().copied().zip(scaled).collect();
        letters.sort_by(|x, y| x.0.total_cmp(&y.0));
        if let Some(pair) = letters.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            let same = (0..n).filter(|k| {
                values[*k]
                    .partial_cmp(&pair[0].0)
                    .is_some_and(std::cmp::Ordering::is_eq)
            });
            let same: Vec<String> = same.map(|k| k.to_string()).collect();
            let got = format!("{} at indices {}", pair[0].0, same.join(" and "));
            return Err(parameter(Self::NAME, "values", "distinct", got));
        }
        Ok(Self { letters })
    }

    fn mixture(&self, a: f64, b: f64) -> AnchoredMixture<1> {
        let mut mixture = AnchoredMixture::new([a], [b]);
        for &(x, weight) in &self.letters {
            mixture.add([x], Bump::point([x], weight));
        }
        mixture
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["alphabet"],
        summary: "components with finitely many values",
        formula: "p(x) = Σ_k weights_k δ(x - values_k)",
        tex: r"p(x) = \sum_k w_k\,\delta(x - x_k)",
        notes: r"On the two parts of a complex signal it is a square constellation: $\pm1, \pm3$ make 16-QAM.",
        parameters: &[
            SIZE,
            numbers(
                "values",
                &[-1.0, 1.0],
                Domain::Real,
                "the values, all different",
            )
            .called("x_k"),
            numbers(
                "weights",
                &[],
                Domain::Probabilities,
                "one weight per value; none for equal ones",
            )
            .called("w_k")
            .learned(),
        ],
        constructor: |a| a.prior(Self::new(a.numbers("values")?, a.numbers("weights")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for FiniteAlphabet {
    const NAME: &'static str = "finite_alphabet";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        self.mixture(a, b).tilted()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("values", self.letters.len() as f64)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.letters[draw(self.letters.iter().map(|(_, weight)| *weight), rng)].0
    }

    fn log_density(&self, _: f64) -> f64 {
        f64::NEG_INFINITY
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        self.letters.clone()
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.mixture(a, b).log_excess([true])
    }

    /// The first letter: letters are known anyway, and there is nothing between them.
    fn landmarks(&self) -> Vec<Landmark> {
        vec![Landmark::at(self.letters[0].0)]
    }

    fn support(&self) -> (f64, f64) {
        (self.letters[0].0, self.letters[self.letters.len() - 1].0)
    }
}
