//! How far an estimate is from the truth.

/// A measure of error or agreement, per component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Metric {
    /// Mean squared error, $\frac1N|\hat x - x|^2$.
    #[default]
    Mse,
    /// Mean squared error up to the global sign, for even outputs.
    SignMse,
    /// Overlap $\hat x\cdot x / N$.
    Overlap,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mse, Self::SignMse, Self::Overlap];

    /// Its name in tables and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mse => "mse",
            Self::SignMse => "sign_mse",
            Self::Overlap => "overlap",
        }
    }

    /// Its value for an estimate.
    ///
    /// ```
    /// use treeamp_lab::experiment::Metric;
    /// assert_eq!(Metric::Mse.of(&[1.0, 2.0], &[-1.0, -2.0]), 10.0);
    /// assert_eq!(Metric::SignMse.of(&[1.0, 2.0], &[-1.0, -2.0]), 0.0);
    /// assert_eq!(Metric::Overlap.of(&[1.0, 2.0], &[-1.0, -2.0]), -2.5);
    /// ```
    #[must_use]
    pub fn of(self, estimate: &[f64], truth: &[f64]) -> f64 {
        let mean = |f: &dyn Fn(f64, f64) -> f64| {
            let pairs = estimate.iter().zip(truth);
            pairs.map(|(x, y)| f(*x, *y)).sum::<f64>() / truth.len() as f64
        };
        let square = |sign: f64| mean(&|x, y| (x - sign * y).powi(2));
        match self {
            Self::Mse => square(1.0),
            Self::SignMse => square(1.0).min(square(-1.0)),
            Self::Overlap => mean(&|x, y| x * y),
        }
    }
}
