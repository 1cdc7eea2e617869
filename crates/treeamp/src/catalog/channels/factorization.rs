//! The matrix product $Z = U V^T/\sqrt N$ of two hidden matrices, $U$ of shape $N \times r$ and $V$ of
//! shape $M \times r$.
//!
//! It can be declared, drawn and sampled; it has no inference rule yet, and the planner says so.

use rand::Rng;

use crate::belief::SignalSpec;
use crate::error::{ModelError, ShapeError, parameter};
use crate::factor::{Arity, Factor, GenerativeRule};

/// A product of two hidden matrices of rank `rank`.
#[derive(Debug, Clone)]
pub struct Factorization {
    rank: usize,
}

impl Factorization {
    /// Catalogue name.
    pub const NAME: &'static str = "factorization";

    /// A product of rank `rank`.
    ///
    /// # Errors
    /// A rank of zero.
    pub fn new(rank: usize) -> Result<Self, ModelError> {
        if rank == 0 {
            return Err(parameter(Self::NAME, "rank", "at least 1", 0));
        }
        Ok(Self { rank })
    }
}

impl Factor for Factorization {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("rank {}", self.rank)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 2,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        for (port, spec) in inputs.iter().enumerate() {
            if spec.shape.len() != 2 || spec.shape[1] != self.rank {
                let expected = format!("shape (n, {})", self.rank);
                return Err(ShapeError {
                    port,
                    expected,
                    got: format!("shape {spec}"),
                });
            }
        }
        Ok(vec![SignalSpec::real([
            inputs[0].shape[0],
            inputs[1].shape[0],
        ])])
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl GenerativeRule for Factorization {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let (u, v) = (inputs[0], inputs[1]);
        let scale = 1.0 / ((u.len() / self.rank) as f64).sqrt();
        let rows = u.chunks(self.rank).flat_map(|u| {
            v.chunks(self.rank)
                .map(move |v| u.iter().zip(v).map(|(x, y)| x * y).sum::<f64>())
        });
        for (z, product) in outputs[0].iter_mut().zip(rows) {
            *z = scale * product;
        }
    }
}
