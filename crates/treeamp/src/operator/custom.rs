//! Matrix-free: an operator given by two functions; and a matrix that is kept elsewhere, by its products and norms.

use std::fmt;

use super::dft::{not_empty, plain};
use super::dot_test::dot_test_at_once;
use super::{LinearOperator, STRUCTURED, dot_test};
use crate::belief::SignalSpec;
use crate::error::{ModelError, parameter};
use crate::math::spectrum::Spectrum;

type Map = Box<dyn Fn(&[f64], &mut [f64]) + Send + Sync>;

/// An operator given by `apply` and `adjoint`. Complex signals are interleaved (re, im).
pub struct MatrixFree {
    name: String,
    input: SignalSpec,
    output: SignalSpec,
    apply: Map,
    adjoint: Map,
    spectrum: Option<Spectrum>,
    matrix: Option<Norms>,
}

/// Squared norms of a matrix that is kept elsewhere.
struct Norms {
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl fmt::Debug for MatrixFree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        write!(f, "MatrixFree({name}: {} -> {})", self.input, self.output)
    }
}

impl MatrixFree {
    /// `apply(z, out)` writes $W z$, `adjoint(x, out)` writes $W^T x$; `out` holds anything before.
    /// The dot test is run on them here.
    ///
    /// # Errors
    /// An empty signal, or an adjoint that fails the dot test ([`ModelError::Adjoint`]).
    pub fn new(
        name: &str,
        input: &SignalSpec,
        output: &SignalSpec,
        apply: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
        adjoint: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Self, ModelError> {
        not_empty(name, input)?;
        not_empty(name, output)?;
        let operator = Self {
            name: name.to_owned(),
            input: plain(input),
            output: plain(output),
            apply: Box::new(apply),
            adjoint: Box::new(adjoint),
            spectrum: None,
            matrix: None,
        };
        dot_test(&operator, 0)?;
        Ok(operator)
    }

    /// A real matrix that is kept elsewhere, on a device or in a file, by the squared norms of its rows and columns and by its products.
    /// `apply(z, out)` writes $W z$, `adjoint(x, out)` writes $W^T x$, each of one or more vectors that are laid end to end; the dot test
    /// is run on them here. Such an operator may take the route for independent entries.
    ///
    /// ```
    /// use treeamp::operator::MatrixFree;
    /// use treeamp::prelude::*;
    /// let w = [[1.0, -1.0, 2.0], [0.0, 1.0, 1.0]];
    /// let apply = move |z: &[f64], out: &mut [f64]| {
    ///     for (z, out) in z.chunks(3).zip(out.chunks_mut(2)) {
    ///         out.copy_from_slice(&w.map(|row| row[0] * z[0] + row[1] * z[1] + row[2] * z[2]));
    ///     }
    /// };
    /// let adjoint = move |x: &[f64], out: &mut [f64]| {
    ///     for (x, out) in x.chunks(2).zip(out.chunks_mut(3)) {
    ///         (0..3).for_each(|j| out[j] = w[0][j] * x[0] + w[1][j] * x[1]);
    ///     }
    /// };
    /// let kept = MatrixFree::of_matrix("kept", vec![6.0, 2.0], vec![1.0, 2.0, 5.0], apply, adjoint)?;
    /// let channel = Linear::of(kept).by(Route::Iid);
    /// # Ok::<(), ModelError>(())
    /// ```
    ///
    /// # Errors
    /// No rows or columns, norms that are infinite or those of no matrix, or functions that fail the dot test.
    pub fn of_matrix(
        name: &str,
        rows: Vec<f64>,
        columns: Vec<f64>,
        apply: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
        adjoint: impl Fn(&[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Self, ModelError> {
        let (input, output) = (
            SignalSpec::real([columns.len()]),
            SignalSpec::real([rows.len()]),
        );
        not_empty(name, &input)?;
        not_empty(name, &output)?;
        for (what, norms) in [("rows", &rows), ("columns", &columns)] {
            if let Some(i) = norms.iter().position(|n| !(*n >= 0.0 && n.is_finite())) {
                let got = format!("{} at {i}", norms[i]);
                return Err(parameter(name, what, "finite squared norms", got));
            }
        }
        // both are the sum of all squared entries, which may have been summed in 32 bits: n terms of one sign are off by n units at most
        let sums = [&rows, &columns].map(|norms| norms.iter().sum::<f64>());
        let rounding = (rows.len() + columns.len()) as f64 * f64::from(f32::EPSILON);
        if !((sums[0] - sums[1]).abs() <= rounding * sums[0].max(sums[1])) {
            let expected = format!(
                "squared norms that add up to those of the columns, {:e}",
                sums[1]
            );
            return Err(parameter(name, "rows", expected, format!("{:e}", sums[0])));
        }
        let operator = Self {
            name: name.to_owned(),
            input,
            output,
            apply: Box::new(apply),
            adjoint: Box::new(adjoint),
            spectrum: None,
            matrix: Some(Norms { rows, columns }),
        };
        dot_test_at_once(&operator, 0)?;
        Ok(operator)
    }

    /// Gives the spectrum of $W^T W$, which is otherwise estimated.
    ///
    /// # Errors
    /// An aspect ratio other than the operator's.
    pub fn with_spectrum(mut self, spectrum: Spectrum) -> Result<Self, ModelError> {
        let alpha = self.output.len() as f64 / self.input.len() as f64;
        if (spectrum.alpha() - alpha).abs() > 1e-9 * alpha {
            let expected = format!("of aspect ratio {alpha}");
            return Err(parameter(
                &self.name,
                "spectrum",
                expected,
                spectrum.alpha(),
            ));
        }
        self.spectrum = Some(spectrum);
        Ok(self)
    }
}

impl LinearOperator for MatrixFree {
    fn name(&self) -> &str {
        &self.name
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        (self.apply)(z, out);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        (self.adjoint)(x, out);
    }

    /// The functions of a matrix take several vectors at once.
    fn apply_to_each(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        if self.matrix.is_some() {
            return (self.apply)(z, out);
        }
        let outputs = out.chunks_exact_mut(self.output.len());
        let pairs = z.chunks_exact(self.input.len()).zip(outputs);
        pairs.for_each(|(z, out)| self.apply(z, out, scratch));
    }

    fn adjoint_of_each(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        if self.matrix.is_some() {
            return (self.adjoint)(x, out);
        }
        let outputs = out.chunks_exact_mut(self.input.len());
        let pairs = x.chunks_exact(self.output.len()).zip(outputs);
        pairs.for_each(|(x, out)| self.adjoint(x, out, scratch));
    }

    fn is_tested(&self) -> bool {
        true
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        self.matrix.as_ref().map(|norms| norms.columns.clone())
    }

    fn row_norms(&self) -> Option<Vec<f64>> {
        self.matrix.as_ref().map(|norms| norms.rows.clone())
    }

    fn heuristic(&self) -> Option<&'static str> {
        self.matrix.is_none().then_some(STRUCTURED)
    }

    fn known_spectrum(&self) -> Option<Spectrum> {
        self.spectrum.clone()
    }
}
