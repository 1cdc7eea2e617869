//! Dense complex matrices: on a complex signal $\mathbb C^N \to \mathbb C^M$, on a real one $\mathbb R^N \to \mathbb C^M$, and unitary ones.
//!
//! On a complex signal the singular system is that of $W = U S V^H$, every mode being two real ones. On a real signal
//! the map is the real $2M \times N$ matrix of real and imaginary rows, whose singular values are others: those of
//! $\mathrm{Re}(W^H W)$.

use std::sync::OnceLock;

use faer::Mat;
use faer::linalg::solvers::Svd;
use num_complex::Complex64;

use super::{Dense, LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, brief, parameter};
use crate::math::complex_matrix::{ComplexMatrix, adjoint_product, complex_product};

/// $W = U S V^H$, thin.
#[derive(Debug)]
struct Decomposed {
    u: Mat<Complex64>,
    v: Mat<Complex64>,
    modes: Modes,
}

impl Decomposed {
    fn new(w: &ComplexMatrix) -> Result<Self, FactorError> {
        let svd = Svd::new_thin(w.view()).map_err(|_| {
            FactorError::Failed("the singular value decomposition did not converge".to_owned())
        })?;
        let mut values: Vec<f64> = svd.S().column_vector().iter().map(|s| s.re).collect();
        let size = w.rows().max(w.cols()) as f64;
        let cut = values.iter().fold(0.0_f64, |m, s| m.max(*s)) * size * f64::EPSILON;
        values
            .iter_mut()
            .filter(|s| **s <= cut)
            .for_each(|s| *s = 0.0);
        Ok(Self {
            u: svd.U().to_owned(),
            v: svd.V().to_owned(),
            modes: Modes::new(values, 2, &[2.0], 2 * w.rows()),
        })
    }
}

/// The shape that a matrix gives to a signal of this element.
fn shaped(w: &ComplexMatrix, input: &SignalSpec, element: Element) -> Result<SignalSpec, String> {
    let (rows, cols) = (w.rows(), w.cols());
    if input.element == element && input.ratio.is_none() {
        match input.shape.as_slice() {
            [n] if *n == cols => return Ok(SignalSpec::complex([rows])),
            [n, p] if *n == cols => return Ok(SignalSpec::complex([rows, *p])),
            _ => {}
        }
    }
    Err(format!(
        "a {element} signal of shape ({cols}) or ({cols}, p), for a complex {rows} x {cols} matrix"
    ))
}

/// A dense complex matrix on a complex signal. Its decomposition is computed once, when first asked for.
#[derive(Debug)]
pub struct ComplexDense {
    w: ComplexMatrix,
    input: SignalSpec,
    output: SignalSpec,
    decomposition: OnceLock<Result<Decomposed, FactorError>>,
}

impl ComplexDense {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "complex_linear";

    /// The operator of a matrix.
    #[must_use]
    pub fn new(w: ComplexMatrix) -> Self {
        Self {
            input: SignalSpec::complex([w.cols()]),
            output: SignalSpec::complex([w.rows()]),
            w,
            decomposition: OnceLock::new(),
        }
    }

    fn parts(&self) -> Result<&Decomposed, FactorError> {
        let make = || Decomposed::new(&self.w);
        self.decomposition
            .get_or_init(make)
            .as_ref()
            .map_err(Clone::clone)
    }

    fn known(&self) -> &Decomposed {
        match self.decomposition.get() {
            Some(Ok(parts)) => parts,
            _ => unreachable!("a singular system is only given once it is known"),
        }
    }
}

impl LinearOperator for ComplexDense {
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
        shaped(&self.w, input, Element::Complex)
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply(z, out);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply_adjoint(x, out);
    }

    fn product_cost(&self) -> f64 {
        super::MATRIX_ENTRY * self.input().len() as f64 * self.output().len() as f64
    }

    fn decomposes(&self) -> bool {
        true
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        self.parts()?;
        Ok(Some(self))
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        let column = |j: usize| {
            (0..self.w.rows())
                .map(|i| self.w.get(i, j).norm_sqr())
                .sum()
        };
        Some((0..2 * self.w.cols()).map(|j| column(j / 2)).collect())
    }

    fn row_norms(&self) -> Option<Vec<f64>> {
        let mut norms = vec![0.0; 2 * self.w.rows()];
        for j in 0..self.w.cols() {
            let entries = norms.iter_mut().enumerate();
            entries.for_each(|(i, norm)| *norm += self.w.get(i / 2, j).norm_sqr());
        }
        Some(norms)
    }

    fn heuristic(&self) -> Option<&'static str> {
        None
    }
}

impl SingularSystem for ComplexDense {
    fn modes(&self) -> &Modes {
        &self.known().modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        0
    }

    fn spare_len(&self, columns: usize) -> usize {
        2 * columns * (self.w.rows() + self.w.cols())
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        adjoint_product(self.known().v.as_ref(), z, out);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        adjoint_product(self.known().u.as_ref(), x, out);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        complex_product(self.known().v.as_ref(), y, out);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        complex_product(self.known().u.as_ref(), y, out);
    }
}

/// A dense complex matrix on a real signal: $2M$ real outputs of $N$ real inputs.
#[derive(Debug)]
pub struct ComplexOnReal {
    w: ComplexMatrix,
    real: Dense,
    output: SignalSpec,
}

impl ComplexOnReal {
    /// The operator of a matrix.
    ///
    /// # Errors
    /// Never: a [`ComplexMatrix`] is valid by construction.
    pub fn new(w: ComplexMatrix) -> Result<Self, ModelError> {
        Ok(Self {
            real: Dense::new(w.interleaved()?),
            output: SignalSpec::complex([w.rows()]),
            w,
        })
    }
}

impl LinearOperator for ComplexOnReal {
    fn name(&self) -> &str {
        ComplexDense::NAME
    }

    fn summary(&self) -> String {
        format!("{} x {} on a real signal", self.w.rows(), self.w.cols())
    }

    fn input(&self) -> &SignalSpec {
        self.real.input()
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    /// One column: those of a complex output are interleaved otherwise.
    fn output_for(&self, input: &SignalSpec) -> Result<SignalSpec, String> {
        if input.same_signal(self.input()) {
            return Ok(self.output.clone());
        }
        let (rows, cols) = (self.w.rows(), self.w.cols());
        Err(format!(
            "a real signal of shape ({cols}), for a complex {rows} x {cols} matrix on a real signal"
        ))
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.real.apply(z, out, scratch);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.real.adjoint(x, out, scratch);
    }

    fn product_cost(&self) -> f64 {
        super::MATRIX_ENTRY * self.input().len() as f64 * self.output().len() as f64
    }

    fn decomposes(&self) -> bool {
        true
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        self.real.singular_system()
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        self.real.gram_diagonal()
    }

    fn heuristic(&self) -> Option<&'static str> {
        None
    }
}

/// A dense unitary matrix, $W^H W = I$ and square: messages are turned, and nothing is decomposed.
#[derive(Debug)]
pub struct Unitary {
    w: ComplexMatrix,
    signal: SignalSpec,
    modes: Modes,
}

impl Unitary {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "unitary";

    /// The operator of a matrix.
    ///
    /// # Errors
    /// Unless it is square and unitary to 1e-8.
    pub fn new(w: ComplexMatrix) -> Result<Self, ModelError> {
        let n = w.cols();
        if w.rows() != n {
            let got = format!("{} x {n}", w.rows());
            return Err(parameter(Self::NAME, "matrix", "square", got));
        }
        let gram = w.view().adjoint() * w.view();
        for i in 0..n {
            for j in 0..n {
                let identity = if i == j { 1.0 } else { 0.0 };
                let gap = (gram[(i, j)] - identity).norm();
                if gap > 1e-8 {
                    let got = format!("off by {} in columns {i} and {j}", brief(gap));
                    return Err(parameter(Self::NAME, "matrix", "unitary", got));
                }
            }
        }
        Ok(Self {
            signal: SignalSpec::complex([n]),
            modes: Modes::constant(1.0, n, 2, 2 * n),
            w,
        })
    }
}

impl LinearOperator for Unitary {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn input(&self) -> &SignalSpec {
        &self.signal
    }

    fn output(&self) -> &SignalSpec {
        &self.signal
    }

    fn output_for(&self, input: &SignalSpec) -> Result<SignalSpec, String> {
        shaped(&self.w, input, Element::Complex)
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply(z, out);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply_adjoint(x, out);
    }

    fn product_cost(&self) -> f64 {
        super::MATRIX_ENTRY * self.input().len() as f64 * self.output().len() as f64
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        Some(vec![1.0; self.signal.len()])
    }

    fn heuristic(&self) -> Option<&'static str> {
        None
    }
}

impl SingularSystem for Unitary {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        0
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(z);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply_adjoint(x, out);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(y);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        self.w.apply(y, out);
    }
}
