//! State evolution with rows: what a factor knows about its average over data from a teacher where a signal is made of rows
//! $x \in \mathbb R^r$ and overlaps are $r \times r$ matrices.

use crate::belief::RowMatrix;
use crate::error::FactorError;

/// The averaged messages at the ports of a factor of rows, in the Bayes-optimal setting: at each port the others see
/// $b \sim \mathcal N(\hat Q x_0, \hat Q)$ of a row $x_0$ with second moment $T_0$.
#[derive(Debug, Clone, Copy)]
pub struct RowAveraged<'a> {
    /// $\hat Q$ by port, positive semi-definite.
    pub q_hat: &'a [RowMatrix],
    /// $T_0$ by port, positive definite.
    pub tau0: &'a [RowMatrix],
}

/// A matrix that was averaged, and how well.
#[derive(Debug, Clone, PartialEq)]
pub struct RowEstimate {
    /// The average.
    pub value: RowMatrix,
    /// The standard error of every entry, where the average was taken at random; zero otherwise.
    pub standard_error: RowMatrix,
}

impl RowEstimate {
    /// An average that is exact, or by quadrature.
    #[must_use]
    pub fn exact(value: RowMatrix) -> Self {
        let standard_error = RowMatrix::zeros(value.dim());
        Self {
            value,
            standard_error,
        }
    }
}

/// State evolution of a factor with rows, Bayes-optimal. What [`EnsembleRule`](super::EnsembleRule) is for components.
///
/// The posterior covariance of the row at a port is $V = (T_0^{-1} + \hat Q + \hat Q')^{-1}$ with $\hat Q$ from the others and
/// $\hat Q'$ from this factor. Potentials are per row of the factor's reference port ([`reference`](Self::reference)).
pub trait RowEnsembleRule: Send + Sync {
    /// The port whose rows the potentials are divided by.
    fn reference(&self) -> usize {
        0
    }

    /// $T_0$ of the output at port `target` from those of the inputs, of a factor that has one.
    ///
    /// # Errors
    /// A law without a second moment, or with one that is singular.
    fn second_moment(&self, inputs: &[RowMatrix], target: usize) -> Result<RowMatrix, FactorError>;

    /// $\hat Q'$ towards `target`.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn field(&self, at: RowAveraged<'_>, target: usize) -> Result<RowEstimate, FactorError>;

    /// $\hat Q'$ towards `target` of a factor that computes it from its own last messages as well; none for all others.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn recursion(
        &self,
        at: RowAveraged<'_>,
        sent: &[RowMatrix],
        target: usize,
    ) -> Result<Option<RowEstimate>, FactorError> {
        let _ = (at, sent, target);
        Ok(None)
    }

    /// $\bar A - \sum_i\frac12\alpha_i\operatorname{tr}\hat Q_i T_{0,i}$: the averaged log-partition less its signal terms, which cancel over
    /// the tree.
    ///
    /// # Errors
    /// When the average cannot be computed.
    fn potential(&self, at: RowAveraged<'_>) -> Result<f64, FactorError>;
}
