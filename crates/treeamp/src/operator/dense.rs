//! A dense real matrix, on a vector or on every column of a matrix.

use std::sync::OnceLock;

use super::{LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::FactorError;
use crate::math::decomposition::Decomposition;
use crate::math::matrix::Matrix;

/// A dense real matrix. Its decomposition is computed once, when first asked for.
#[derive(Debug)]
pub struct Dense {
    w: Matrix,
    input: SignalSpec,
    output: SignalSpec,
    decomposition: OnceLock<Result<(Decomposition, Modes), FactorError>>,
}

impl Dense {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "linear";

    /// The operator of a matrix.
    #[must_use]
    pub fn new(w: Matrix) -> Self {
        let (input, output) = (SignalSpec::real([w.cols()]), SignalSpec::real([w.rows()]));
        Self {
            w,
            input,
            output,
            decomposition: OnceLock::new(),
        }
    }

    /// The matrix.
    #[must_use]
    pub fn matrix(&self) -> &Matrix {
        &self.w
    }

    /// The decomposition, computed on first use.
    ///
    /// # Errors
    /// When it does not converge.
    pub fn decomposition(&self) -> Result<&Decomposition, FactorError> {
        self.parts().map(|p| &p.0)
    }

    fn parts(&self) -> Result<&(Decomposition, Modes), FactorError> {
        let make = || {
            let d = Decomposition::new(&self.w)?;
            let modes = Modes::new(d.singular_values().to_vec(), 1, &[1.0], self.w.rows());
            Ok((d, modes))
        };
        self.decomposition
            .get_or_init(make)
            .as_ref()
            .map_err(Clone::clone)
    }

    fn known(&self) -> &(Decomposition, Modes) {
        match self.decomposition.get() {
            Some(Ok(parts)) => parts,
            _ => unreachable!("a singular system is only given once it is known"),
        }
    }
}

impl LinearOperator for Dense {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("{} x {}", self.w.rows(), self.w.cols())
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn output_for(&self, input: &SignalSpec) -> Result<SignalSpec, String> {
        let (rows, cols) = (self.w.rows(), self.w.cols());
        // the real and imaginary parts of a complex signal are two columns
        let of = match input.element {
            Element::Real => SignalSpec::real,
            Element::Complex => SignalSpec::complex,
        };
        if input.ratio.is_none() {
            match input.shape.as_slice() {
                [n] if *n == cols => return Ok(of(vec![rows])),
                [n, p] if *n == cols => return Ok(of(vec![rows, *p])),
                _ => {}
            }
        }
        Err(format!(
            "shape ({cols}) or ({cols}, p), for a {rows} x {cols} matrix"
        ))
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply(z, z.len() / self.w.cols(), out);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply_transpose(x, x.len() / self.w.rows(), out);
    }

    fn apply_to_each(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply_to_each(z, out);
    }

    fn adjoint_of_each(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply_transpose_to_each(x, out);
    }

    fn product_cost(&self) -> f64 {
        super::MATRIX_ENTRY * self.w.rows() as f64 * self.w.cols() as f64
    }

    fn decomposes(&self) -> bool {
        true
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        self.parts()?;
        Ok(Some(self))
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        Some(self.w.square_norms().1)
    }

    fn row_norms(&self) -> Option<Vec<f64>> {
        Some(self.w.square_norms().0)
    }

    fn heuristic(&self) -> Option<&'static str> {
        None
    }
}

impl SingularSystem for Dense {
    fn modes(&self) -> &Modes {
        &self.known().1
    }

    fn scratch_len(&self, columns: usize) -> usize {
        columns * self.w.rows().max(self.w.cols())
    }

    fn keeps_coordinates(&self) -> bool {
        true
    }

    fn spare_len(&self, columns: usize) -> usize {
        columns * (self.w.rows() + self.w.cols())
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let p = z.len() / self.w.cols();
        let scratch = &mut scratch[..p * self.w.rows()];
        self.known().0.analyse_input(&self.w, z, p, out, scratch);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let p = x.len() / self.w.rows();
        let scratch = &mut scratch[..p * self.w.cols()];
        self.known().0.analyse_output(&self.w, x, p, out, scratch);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        let p = out.len() / self.w.cols();
        let scratch = &mut scratch[..p * self.w.rows()];
        self.known().0.to_input(&self.w, y, p, out, scratch);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        let p = out.len() / self.w.rows();
        let scratch = &mut scratch[..p * self.w.cols()];
        self.known().0.to_output(&self.w, y, p, out, scratch);
    }
}
