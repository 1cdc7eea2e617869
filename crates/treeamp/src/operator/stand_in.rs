//! A matrix that has a shape and no entries of its own: for what can be said of a model before a random matrix is drawn.

use super::{ComplexDense, Dense, LinearOperator};
use crate::belief::{Element, SignalSpec};
use crate::error::{ModelError, parameter};

/// Stands for a matrix that is not drawn. It copies its input cyclically, $x_i = z_{i \bmod N}$, so that a model of it can be sampled and
/// observed: values and shapes are as with the matrix, and the rank is that of its smaller side. A run is refused.
#[derive(Debug, Clone)]
pub struct StandIn {
    input: SignalSpec,
    output: SignalSpec,
}

impl StandIn {
    /// In the place of a matrix of so many rows and columns, from a signal of one kind to one of another.
    ///
    /// # Errors
    /// No row or no column.
    pub fn new(rows: usize, cols: usize, from: Element, to: Element) -> Result<Self, ModelError> {
        if rows == 0 || cols == 0 {
            let got = format!("{rows} x {cols}");
            return Err(parameter(Dense::NAME, "matrix", "at least 1 x 1", got));
        }
        Ok(Self {
            input: signal(from, vec![cols]),
            output: signal(to, vec![rows]),
        })
    }

    /// From real to complex numbers.
    fn widens(&self) -> bool {
        self.input.element != self.output.element
    }
}

fn signal(element: Element, shape: Vec<usize>) -> SignalSpec {
    match element {
        Element::Real => SignalSpec::real(shape),
        Element::Complex => SignalSpec::complex(shape),
    }
}

impl LinearOperator for StandIn {
    fn name(&self) -> &'static str {
        match self.output.element {
            Element::Real => Dense::NAME,
            Element::Complex => ComplexDense::NAME,
        }
    }

    fn summary(&self) -> String {
        format!(
            "{} x {}, not drawn",
            self.output.count(),
            self.input.count()
        )
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    /// As a matrix: a vector, or an array of several columns; a real one also takes complex signals.
    fn output_for(&self, input: &SignalSpec) -> Result<SignalSpec, String> {
        let (rows, cols) = (self.output.count(), self.input.count());
        let real = !self.widens() && self.input.element == Element::Real;
        let element = if real {
            input.element
        } else {
            self.output.element
        };
        let fits = real || input.element == self.input.element;
        match input.shape.as_slice() {
            [n] if *n == cols && fits => Ok(signal(element, vec![rows])),
            [n, p] if *n == cols && real => Ok(signal(element, vec![rows, *p])),
            _ => Err(format!(
                "shape ({cols}) or ({cols}, p), for a {rows} x {cols} matrix"
            )),
        }
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        let (rows, cols) = (self.output.count(), self.input.count());
        let (from, to) = (z.len() / cols, out.len() / rows);
        for (i, out) in out.chunks_mut(to).enumerate() {
            let z = &z[(i % cols) * from..][..from];
            if self.widens() {
                out.copy_from_slice(&[z[0], 0.0]);
            } else {
                out.copy_from_slice(z);
            }
        }
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        let (rows, cols) = (self.output.count(), self.input.count());
        let (from, to) = (x.len() / rows, out.len() / cols);
        out.fill(0.0);
        for (i, x) in x.chunks(from).enumerate() {
            let place = &mut out[(i % cols) * to..][..to];
            place.iter_mut().zip(x).for_each(|(o, x)| *o += x);
        }
    }

    fn product_cost(&self) -> f64 {
        super::MATRIX_ENTRY * self.input.len() as f64 * self.output.len() as f64
    }

    fn decomposes(&self) -> bool {
        true
    }

    fn is_stand_in(&self) -> bool {
        true
    }

    fn heuristic(&self) -> Option<&'static str> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::{applied, dot_test};

    #[test]
    fn it_has_the_shape_and_rank_of_a_matrix() {
        for (rows, cols) in [(2, 5), (5, 2), (3, 3)] {
            let w = StandIn::new(rows, cols, Element::Real, Element::Real).expect("a shape");
            dot_test(&w, 0).expect("an adjoint");
            let reached = (0..cols).filter(|j| {
                let mut unit = vec![0.0; cols];
                unit[*j] = 1.0;
                applied(&w, &unit).iter().any(|x| *x != 0.0)
            });
            assert_eq!(reached.count(), rows.min(cols));
            let wide = StandIn::new(rows, cols, Element::Real, Element::Complex).expect("a shape");
            dot_test(&wide, 0).expect("an adjoint");
        }
        assert!(StandIn::new(0, 3, Element::Real, Element::Real).is_err());
    }
}
