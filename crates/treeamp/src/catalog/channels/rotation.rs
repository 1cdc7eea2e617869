//! An orthogonal channel $x = R z$ with $R^T R = I$: messages are rotated,
//! $a_{f\to x} = a_z$, $b_{f\to x} = R b_z$, and back with $R^T$.

use std::sync::Arc;

use rand::Rng;

use crate::belief::Message as _;
use crate::belief::{Gaussian, SignalSpec, product_excess};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{
    Arity, Context, EnsembleRule, Factor, GaussianFactor, GenerativeRule, PosteriorRule,
    ProximalRule, gaussian_ensemble_rule, gaussian_proximal_rule,
};
use crate::math::matrix::Matrix;

/// How far $R^T R$ may be from the identity, entry by entry.
const TOLERANCE: f64 = 1e-8;

/// A rotation (or reflection) of a vector, or of every column of a matrix.
#[derive(Debug, Clone)]
pub struct Rotation {
    matrix: Arc<Matrix>,
}

impl Rotation {
    /// Catalogue name.
    pub const NAME: &'static str = "rotation";

    /// The channel $x = R z$.
    ///
    /// # Errors
    /// A matrix that is not square or not orthogonal.
    pub fn new(matrix: Matrix) -> Result<Self, ModelError> {
        let (rows, cols) = (matrix.rows(), matrix.cols());
        if rows != cols {
            return Err(parameter(
                Self::NAME,
                "matrix",
                "square",
                format!("{rows} x {cols}"),
            ));
        }
        let view = matrix.view();
        let gram = view.transpose() * view;
        for j in 0..cols {
            for i in 0..=j {
                let expected = if i == j { 1.0 } else { 0.0 };
                if (gram[(i, j)] - expected).abs() > TOLERANCE {
                    let got = format!("columns {i} and {j} with inner product {}", gram[(i, j)]);
                    return Err(parameter(Self::NAME, "matrix", "orthogonal", got));
                }
            }
        }
        Ok(Self {
            matrix: Arc::new(matrix),
        })
    }

    /// The matrix.
    #[must_use]
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// $E x^2 = \tau_z$.
    #[must_use]
    pub fn second_moment(&self, tau_z: f64) -> f64 {
        tau_z
    }
}

impl Factor for Rotation {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("{} x {}", self.matrix.rows(), self.matrix.cols())
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let n = self.matrix.cols();
        match inputs[0].shape.as_slice() {
            [rows] | [rows, _] if *rows == n => Ok(vec![inputs[0].clone()]),
            _ => {
                let expected = format!("shape ({n}) or ({n}, p)");
                Err(ShapeError {
                    port: 0,
                    expected,
                    got: format!("shape {}", inputs[0]),
                })
            }
        }
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn gaussian_average(&self) -> Option<GaussianFactor> {
        Some(self.average())
    }

    fn passes_exact(&self, _: &[SignalSpec], _: usize, _: usize) -> bool {
        true
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        Some(self)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl PosteriorRule for Rotation {
    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let other = incoming.get(1 - target);
        let p = other.len() / self.matrix.cols();
        if target == 1 {
            self.matrix.apply(&other.linear, p, &mut out.linear);
        } else {
            self.matrix
                .apply_transpose(&other.linear, p, &mut out.linear);
        }
        out.precision.set_scalar(other.precision.scalar());
        Ok(())
    }

    /// $A = A_z[a_z + a_x, b_z + R^T b_x]$.
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let (z, x) = (incoming.get(0), incoming.get(1));
        let mut back = z.clone();
        self.message(context, 0, &mut back)?;
        if z.is_pinned() || x.is_pinned() {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.excess(context)? + own);
        }
        back.add_assign(z);
        Ok(back.log_partition())
    }

    /// A rotated message has the potential of the original.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let z = incoming.get(0);
        let (mut back, mut total) = (z.clone(), z.clone());
        self.message(context, 0, &mut back)?;
        Ok(product_excess([z, &back].into_iter(), &mut total))
    }
}

impl GenerativeRule for Rotation {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let p = inputs[0].len() / self.matrix.cols();
        self.matrix.apply(inputs[0], p, &mut outputs[0]);
    }
}

impl Rotation {
    /// Isotropic beliefs do not see the rotation.
    #[allow(clippy::unused_self)]
    fn average(&self) -> GaussianFactor {
        GaussianFactor::copies(2)
    }
}

gaussian_ensemble_rule!(Rotation, |_, a, target| a[1 - target], |_, a| (a[0] + a[1])
    .ln());

gaussian_proximal_rule!(Rotation, |_| true, |_, _| 0.0);
