//! A known shift $x = z + c$: $a_{f\to x} = a_z$, $b_{f\to x} = b_z + a_z c$, and back with $-c$.

use std::sync::Arc;

use rand::Rng;

use crate::belief::{Gaussian, SignalSpec, product_excess};
use crate::engine::Message as _;
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{Arity, Factor, GenerativeRule, Incoming, PosteriorRule};

/// A known shift.
#[derive(Debug, Clone)]
pub struct Bias {
    bias: Arc<[f64]>,
}

impl Bias {
    /// Catalogue name.
    pub const NAME: &'static str = "bias";

    /// A shift by `bias`, one number per component (row-major).
    ///
    /// # Errors
    /// An empty or non-finite bias.
    pub fn new(bias: impl Into<Vec<f64>>) -> Result<Self, ModelError> {
        let bias: Vec<f64> = bias.into();
        if bias.is_empty() {
            return Err(parameter(
                Self::NAME,
                "bias",
                "a non-empty array",
                "an empty one",
            ));
        }
        if let Some(i) = bias.iter().position(|c| !c.is_finite()) {
            let got = format!("{} at index {i}", bias[i]);
            return Err(parameter(Self::NAME, "bias", "finite", got));
        }
        Ok(Self { bias: bias.into() })
    }
}

impl Factor for Bias {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("{} components", self.bias.len())
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        if inputs[0].len() == self.bias.len() {
            return Ok(vec![inputs[0].clone()]);
        }
        let expected = format!("{} components, as the bias has", self.bias.len());
        Err(ShapeError {
            port: 0,
            expected,
            got: format!("shape {}", inputs[0]),
        })
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl PosteriorRule for Bias {
    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
        _: &mut [f64],
    ) -> Result<(), FactorError> {
        let other = incoming.get(1 - target);
        let sign = if target == 1 { 1.0 } else { -1.0 };
        out.copy_from(other);
        let step = if other.is_pinned() {
            sign
        } else {
            sign * other.precision.scalar()
        };
        for (b, c) in out.linear.iter_mut().zip(self.bias.iter()) {
            *b += step * c;
        }
        Ok(())
    }

    /// $A = A_z[a_z + a_x, b_z + b_x - a_x c] + b_x^T c - \frac12 a_x\|c\|^2$.
    fn log_partition(
        &self,
        incoming: Incoming<'_, Gaussian>,
        work: &mut [f64],
    ) -> Result<f64, FactorError> {
        let (z, x) = (incoming.get(0), incoming.get(1));
        let mut back = z.clone();
        self.message(incoming, 0, &mut back, work)?;
        if z.is_pinned() || x.is_pinned() {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.excess(incoming, work)? + own);
        }
        back.add_assign(z);
        Ok(back.log_partition() + x.log_value(&self.bias))
    }

    /// The shifted message on $z$ has the potential of the message on $x$, up to the constant that a
    /// flat or improper message picks up.
    fn excess(
        &self,
        incoming: Incoming<'_, Gaussian>,
        work: &mut [f64],
    ) -> Result<f64, FactorError> {
        let (z, x) = (incoming.get(0), incoming.get(1));
        let (mut back, mut total) = (z.clone(), z.clone());
        self.message(incoming, 0, &mut back, work)?;
        let constant = if x.precision.scalar() > 0.0 {
            0.0
        } else {
            x.log_value(&self.bias)
        };
        Ok(product_excess([z, &back].into_iter(), &mut total) + constant)
    }
}

impl GenerativeRule for Bias {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        for ((x, z), c) in outputs[0].iter_mut().zip(inputs[0]).zip(self.bias.iter()) {
            *x = z + c;
        }
    }
}
