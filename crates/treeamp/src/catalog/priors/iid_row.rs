//! A row of independent components with one scalar law, $p(x) = \prod_{i\le r} p(x_i)$, under a common $r \times r$ precision.

use rand::Rng;

use crate::error::{ModelError, parameter};
use crate::scalar::ScalarPrior;
use crate::separable::{RowComponent, RowLaw};

/// $r$ independent components, of a law that is a mixture of Gaussians and points ([`ScalarPrior::mixture`]): the row is a mixture of
/// their products.
#[derive(Debug, Clone, PartialEq)]
pub struct IidRow<P> {
    law: P,
    row: super::MixtureRow,
}

impl<P: ScalarPrior> IidRow<P> {
    /// `dim` components.
    ///
    /// # Errors
    /// No component; a law that is no mixture of Gaussians and points; more than 4096 products.
    pub fn new(law: P, dim: usize) -> Result<Self, ModelError> {
        let Some(parts) = law.mixture() else {
            let expected = "a mixture of Gaussians and points";
            return Err(parameter(Self::NAME, "law", expected, P::NAME));
        };
        let row = super::MixtureRow::product(&parts, dim)?;
        Ok(Self { law, row })
    }
}

impl<P: ScalarPrior> RowLaw for IidRow<P> {
    const NAME: &'static str = "iid_row";

    fn dim(&self) -> usize {
        self.row.dim()
    }

    fn tilted(&self, a: &[f64], b: &[f64], mean: &mut [f64], covariance: &mut [f64]) -> f64 {
        self.row.tilted(a, b, mean, covariance)
    }

    fn sample(&self, rng: &mut dyn Rng, out: &mut [f64]) {
        out.fill_with(|| self.law.sample(rng));
    }

    fn as_gaussian(&self) -> Option<(&[f64], &[f64])> {
        self.row.as_gaussian()
    }

    fn components(&self) -> Option<Vec<RowComponent>> {
        self.row.components()
    }

    fn summary(&self) -> String {
        format!("{} components of {}", self.dim(), P::NAME)
    }
}
