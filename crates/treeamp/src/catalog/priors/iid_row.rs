//! A row of independent components with one scalar law, $p(x) = \prod_{i\le r} p(x_i)$, under a common $r \times r$ precision.

use rand::Rng;

use crate::error::{ModelError, parameter};
use crate::scalar::ScalarPrior;
use crate::separable::{RowComponent, RowLaw};

/// Products of components at most.
const MOST: usize = 4096;

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
        let refuse =
            |name, expected: &str, got: String| Err(parameter("iid_row", name, expected, got));
        if dim == 0 {
            return refuse("dim", "at least one component", "0".to_owned());
        }
        let Some(parts) = law.mixture() else {
            let expected = "a mixture of Gaussians and points";
            return refuse("law", expected, P::NAME.to_owned());
        };
        let count = parts
            .len()
            .checked_pow(u32::try_from(dim).unwrap_or(u32::MAX));
        let Some(count) = count.filter(|n| *n <= MOST) else {
            let expected = format!("at most {MOST} products of components");
            return refuse(
                "dim",
                &expected,
                format!("{} to the power {dim}", parts.len()),
            );
        };
        let product = |index: usize| {
            let mut rest = index;
            let (mut weight, mut mean) = (1.0, vec![0.0; dim]);
            let mut covariance = vec![0.0; dim * dim];
            for i in 0..dim {
                let (w, m, v) = parts[rest % parts.len()];
                rest /= parts.len();
                weight *= w;
                (mean[i], covariance[i * dim + i]) = (m, v);
            }
            (weight, mean, covariance)
        };
        let components: Vec<_> = (0..count).map(product).collect();
        let row = super::MixtureRow::new(&components)?;
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
