//! An orthogonal channel $x = R z$ with $R^T R = I$: messages are rotated,
//! $a_{f\to x} = a_z$, $b_{f\to x} = R b_z$, and back with $R^T$.

use std::sync::Arc;

use rand::Rng;

use super::Linear;
use super::gaussian_channel::{GaussianChannel, Kernel};
use super::gaussian_theory::{FewScalars, Theory};
use crate::belief::{Gaussian, SignalSpec, Structure, product_excess, product_log_partition};
use crate::catalog::arguments::MatrixArgument;
use crate::catalog::module::{Domain, Module, Parameter, ParameterKind};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{Arity, GaussianFactor, Incoming};
use crate::math::matrix::Matrix;

/// How far $R^T R$ may be from the identity, entry by entry.
const TOLERANCE: f64 = 1e-8;

/// A rotation (or reflection) of a vector, or of every column of a matrix.
pub type Rotation = GaussianChannel<RotationKernel>;

/// The kernel of [`Rotation`].
#[derive(Debug, Clone, PartialEq)]
pub struct RotationKernel {
    matrix: Arc<Matrix>,
}

impl Rotation {
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
        let kernel = RotationKernel {
            matrix: Arc::new(matrix),
        };
        Ok(Self { kernel })
    }

    /// The matrix.
    #[must_use]
    pub fn matrix(&self) -> &Matrix {
        &self.kernel.matrix
    }

    /// $E x^2 = \tau_z$.
    #[must_use]
    pub fn second_moment(&self, tau_z: f64) -> f64 {
        tau_z
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "an orthogonal matrix",
        formula: "x = R z, RᵀR = 1",
        tex: r"x = R z,\ R^T R = 1",
        parameters: &[Parameter::required(
            "matrix",
            ParameterKind::Matrix,
            "R: a data file, or the ensemble `orthogonal` with alpha = 1",
        )
        .within(Domain::Orthogonal)
        .called("R")],
        constructor: |a| match a.matrix("matrix")? {
            MatrixArgument::Real(w) => a.channel(Self::new(w.clone())?),
            MatrixArgument::Complex(_) => {
                Err(parameter(Self::NAME, "matrix", "real", "a complex one"))
            }
            MatrixArgument::Limit(ensemble) => a.channel(ensemble.clone()),
            MatrixArgument::StandIn(shape) => a.channel(Linear::of(shape.clone())),
        },
        ..Module::CHANNEL
    };
}

impl Kernel for RotationKernel {
    const NAME: &'static str = "rotation";
    const STRUCTURES: &'static [Structure] = &[Structure::Isotropic, Structure::Full];

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

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let other = incoming.get(1 - target);
        self.turn(&other.linear, target, &mut out.linear);
        if out.structure() == Structure::Full {
            let given = other.precision.data();
            let (form, matrix, _) = out.block_mut(0);
            *form = other.form(0);
            self.turn_matrix(given, target, matrix);
            return Ok(());
        }
        out.precision.set_scalar(other.precision.scalar());
        Ok(())
    }

    /// A rotated message has the potential of the original.
    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let z = incoming.get(0);
        let (mut back, mut total) = (z.clone(), z.clone());
        self.message(incoming, 0, &mut back)?;
        Ok(product_excess([z, &back].into_iter(), &mut total))
    }

    fn log_partition(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let z = incoming.get(0);
        let (mut back, mut total) = (z.clone(), z.clone());
        self.message(incoming, 0, &mut back)?;
        Ok(product_log_partition([z, &back].into_iter(), &mut total))
    }

    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let p = inputs[0].len() / self.matrix.cols();
        self.matrix.apply(inputs[0], p, &mut outputs[0]);
    }

    fn theory(&self) -> Theory<'_> {
        Theory::Scalars(self)
    }
}

impl RotationKernel {
    /// $R v$ towards the output, $R^T v$ towards the input.
    fn turn(&self, v: &[f64], target: usize, out: &mut [f64]) {
        let p = v.len() / self.matrix.cols();
        if target == 1 {
            self.matrix.apply(v, p, out);
        } else {
            self.matrix.apply_transpose(v, p, out);
        }
    }

    /// $R S R^T$ towards the output, $R^T S R$ towards the input: a precision and a covariance turn alike.
    fn turn_matrix(&self, s: &[f64], target: usize, out: &mut [f64]) {
        let n = s.len().isqrt();
        let mut half = vec![0.0; s.len()];
        // rows of S turn to those of S Rᵀ, and the columns of that to those of R S Rᵀ
        for (row, turned) in s.chunks_exact(n).zip(half.chunks_exact_mut(n)) {
            self.turn(row, target, turned);
        }
        let mut column = vec![0.0; n];
        let mut turned = vec![0.0; n];
        for j in 0..n {
            for (c, row) in column.iter_mut().zip(half.chunks_exact(n)) {
                *c = row[j];
            }
            self.turn(&column, target, &mut turned);
            for (x, row) in turned.iter().zip(out.chunks_exact_mut(n)) {
                row[j] = *x;
            }
        }
        // symmetric to the last bit
        for i in 0..n {
            for j in 0..i {
                out[j * n + i] = out[i * n + j];
            }
        }
    }
}

/// Isotropic beliefs do not see the rotation.
impl FewScalars for RotationKernel {
    fn law(&self) -> GaussianFactor {
        GaussianFactor::copies(2)
    }

    fn extrinsic(&self, a: &[f64], target: usize) -> f64 {
        a[1 - target]
    }

    fn log_det(&self, a: &[f64]) -> f64 {
        (a[0] + a[1]).ln()
    }
}
