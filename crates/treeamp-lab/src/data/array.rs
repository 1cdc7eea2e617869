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

/// The number of entries of a shape, if it fits.
pub(super) fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |n, d| n.checked_mul(*d))
}
