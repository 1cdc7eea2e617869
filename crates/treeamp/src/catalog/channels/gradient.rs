//! The finite-difference gradient $x' = \nabla x$ of a $d$-dimensional array, periodic, forward:
//! $x'_{k,n} = x_{n + e_k} - x_n$, of shape $d \times \text{shape}$.
//!
//! It can be declared and drawn; it has no inference rule yet, and the planner says so.

use crate::belief::SignalSpec;
use crate::error::ShapeError;
use crate::factor::{Arity, Factor};

/// The periodic forward difference along every axis.
#[derive(Debug, Clone, Default)]
pub struct Gradient;

impl Gradient {
    /// Catalogue name.
    pub const NAME: &'static str = "gradient";
}

impl Factor for Gradient {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        if inputs[0].shape.is_empty() {
            let expected = "an array with at least one axis".to_owned();
            return Err(ShapeError {
                port: 0,
                expected,
                got: format!("shape {}", inputs[0]),
            });
        }
        let mut shape = vec![inputs[0].shape.len()];
        shape.extend(&inputs[0].shape);
        Ok(vec![SignalSpec {
            shape,
            ..inputs[0].clone()
        }])
    }
}

impl Gradient {
    /// Applies the map to an array of a given shape, row-major.
    #[must_use]
    pub fn apply(shape: &[usize], x: &[f64]) -> Vec<f64> {
        let mut out = Vec::with_capacity(shape.len() * x.len());
        for axis in 0..shape.len() {
            let stride: usize = shape[axis + 1..].iter().product();
            let period = stride * shape[axis];
            out.extend((0..x.len()).map(|i| {
                let base = i - i % period;
                x[base + (i - base + stride) % period] - x[i]
            }));
        }
        out
    }
}
