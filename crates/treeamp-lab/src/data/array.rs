//! Arrays of real or complex numbers.

/// An array, row-major. Complex numbers are interleaved pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Its shape, in numbers (a complex number counts once).
    pub shape: Vec<usize>,
    /// The numbers are complex.
    pub complex: bool,
    /// The values: as many as the shape says, or twice as many when complex.
    pub values: Vec<f64>,
}

impl Array {
    /// A real array.
    ///
    /// # Errors
    /// A number of values other than the shape says.
    pub fn real(shape: Vec<usize>, values: Vec<f64>) -> Result<Self, String> {
        Self::new(shape, values, false)
    }

    /// A real or complex array.
    ///
    /// # Errors
    /// A number of values other than the shape says.
    pub fn new(shape: Vec<usize>, values: Vec<f64>, complex: bool) -> Result<Self, String> {
        let numbers = count(&shape).and_then(|n| n.checked_mul(if complex { 2 } else { 1 }));
        if numbers != Some(values.len()) {
            return Err(format!(
                "expected the values of an array of shape {shape:?}, got {} values",
                values.len()
            ));
        }
        Ok(Self {
            shape,
            complex,
            values,
        })
    }
}

impl Array {
    /// Every column with mean zero and variance one; a column that is constant is refused, by its name if it has one.
    ///
    /// # Errors
    /// Complex numbers, more than two axes, a constant column.
    pub fn standardised(mut self, names: &[String]) -> Result<Self, String> {
        let columns = match self.shape[..] {
            [_] => 1,
            [_, n] => n,
            _ => return Err("expected a vector or a matrix to standardise".to_owned()),
        };
        if self.complex {
            return Err("expected real numbers to standardise, got complex ones".to_owned());
        }
        for k in 0..columns {
            let column = || self.values.iter().skip(k).step_by(columns);
            let n = column().count() as f64;
            let mean = column().sum::<f64>() / n;
            let std = (column().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
            if !(std > 1e-12 * mean.abs()) {
                let name = names.get(k).map(|n| format!("`{n}`"));
                let name = name.unwrap_or_else(|| (k + 1).to_string());
                return Err(format!(
                    "column {name} is constant and cannot be standardised"
                ));
            }
            let column = self.values.iter_mut().skip(k).step_by(columns);
            column.for_each(|x| *x = (*x - mean) / std);
        }
        Ok(self)
    }

    /// A vector as a matrix of one column; anything else as it is.
    #[must_use]
    pub fn as_columns(mut self) -> Self {
        if let [rows] = self.shape[..] {
            self.shape = vec![rows, 1];
        }
        self
    }

    /// A matrix with a column of ones behind the others.
    ///
    /// # Errors
    /// What is no matrix of real numbers.
    pub fn with_intercept(self) -> Result<Self, String> {
        let [rows, columns] = self.shape[..] else {
            return Err("expected a matrix for an intercept".to_owned());
        };
        let lines = self.values.chunks(columns.max(1));
        let values = lines.flat_map(|line| line.iter().copied().chain([1.0]));
        Self::new(vec![rows, columns + 1], values.collect(), self.complex)
    }
}

/// The number of entries of a shape, if it fits.
pub(super) fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |n, d| n.checked_mul(*d))
}
