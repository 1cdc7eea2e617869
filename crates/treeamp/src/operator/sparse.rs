//! A sparse real matrix in compressed rows.

use super::LinearOperator;
use crate::belief::SignalSpec;
use crate::error::{ModelError, parameter};

/// A sparse real matrix (CSR): row $i$ has the entries `starts[i]..starts[i + 1]`.
#[derive(Debug)]
pub struct SparseMatrix {
    input: SignalSpec,
    output: SignalSpec,
    starts: Vec<usize>,
    columns: Vec<usize>,
    entries: Vec<f64>,
}

impl SparseMatrix {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "sparse";

    /// From (row, column, entry); entries at the same place add up.
    ///
    /// # Errors
    /// An empty shape, a place outside it, NaN or infinity.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        triplets: &[(usize, usize, f64)],
    ) -> Result<Self, ModelError> {
        let mut sorted = triplets.to_vec();
        sorted.sort_by_key(|(i, j, _)| (*i, *j));
        let mut starts = vec![0; rows + 1];
        let (mut columns, mut entries) = (Vec::new(), Vec::new());
        let mut previous = None;
        for (i, j, w) in sorted {
            if i >= rows {
                let expected = format!("with rows below {rows}");
                return Err(parameter(
                    Self::NAME,
                    "triplets",
                    expected,
                    format!("row {i}"),
                ));
            }
            if previous == Some((i, j)) {
                let last = entries.len() - 1;
                entries[last] += w;
                continue;
            }
            previous = Some((i, j));
            columns.push(j);
            entries.push(w);
            starts[i + 1] = entries.len();
        }
        for i in 0..rows {
            starts[i + 1] = starts[i + 1].max(starts[i]);
        }
        Self::from_rows(cols, starts, columns, entries)
    }

    /// From compressed rows: the starts of the rows (one more than there are rows), columns, entries.
    ///
    /// # Errors
    /// Arrays that do not fit together, a column outside the matrix, NaN or infinity.
    pub fn from_rows(
        cols: usize,
        starts: Vec<usize>,
        columns: Vec<usize>,
        entries: Vec<f64>,
    ) -> Result<Self, ModelError> {
        let rows = starts.len().saturating_sub(1);
        if rows == 0 || cols == 0 {
            let got = format!("{rows} x {cols}");
            return Err(parameter(Self::NAME, "shape", "at least 1 x 1", got));
        }
        let ordered = starts.windows(2).all(|w| w[0] <= w[1]) && starts[0] == 0;
        if !ordered || starts[rows] != entries.len() || columns.len() != entries.len() {
            let expected = format!("growing from 0 to {} entries", entries.len());
            let got = format!("{} with {} columns", starts[rows], columns.len());
            return Err(parameter(Self::NAME, "starts", expected, got));
        }
        if let Some(j) = columns.iter().find(|j| **j >= cols) {
            return Err(parameter(Self::NAME, "columns", format!("below {cols}"), j));
        }
        if let Some(w) = entries.iter().find(|w| !w.is_finite()) {
            return Err(parameter(Self::NAME, "entries", "finite", w));
        }
        Ok(Self {
            input: SignalSpec::real([cols]),
            output: SignalSpec::real([rows]),
            starts,
            columns,
            entries,
        })
    }

    /// Columns and entries of row `i`.
    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        let columns = self.columns[range.clone()].iter().copied();
        columns.zip(self.entries[range].iter().copied())
    }
}

impl LinearOperator for SparseMatrix {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        let (m, n) = (self.output.len(), self.input.len());
        format!("{m} x {n}, {} entries", self.entries.len())
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = self.row(i).map(|(j, w)| w * z[j]).sum();
        }
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.fill(0.0);
        for (i, x) in x.iter().enumerate() {
            self.row(i).for_each(|(j, w)| out[j] += w * x);
        }
    }

    fn product_cost(&self) -> f64 {
        super::MATRIX_ENTRY * self.entries.len() as f64
    }

    fn entries(&self) -> Option<Vec<(usize, usize, f64)>> {
        let rows = 0..self.output.len();
        let of = |i: usize| self.row(i).map(move |(j, w)| (i, j, w));
        Some(rows.flat_map(of).collect())
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        let mut diagonal = vec![0.0; self.input.len()];
        for (j, w) in self.columns.iter().zip(&self.entries) {
            diagonal[*j] += w * w;
        }
        Some(diagonal)
    }
}
