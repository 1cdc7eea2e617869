//! Whether the end of a run by approximate message passing is that of the exact route: the spectrum of the matrix, and the variance of
//! its input against $\frac1N\operatorname{tr}(a_z + a_x W^T W)^{-1}$, as random vectors see them.

use super::Linear;
use super::iid::Iid;
use crate::error::FactorError;
use crate::factor::Context;

/// Standard errors of the probe.
const REFUSED: f64 = 3.0;

impl Linear {
    /// Why the variances at this state are not those of the exact route.
    pub(super) fn objection(
        &self,
        context: &mut Context<'_>,
    ) -> Result<Option<String>, FactorError> {
        let state = Iid::new(self, context)?.state()?;
        let Some((precisions, v)) = state else {
            return Ok(None);
        };
        if let Some(why) = self.spectrum_objects() {
            return Ok(Some(why));
        }
        let (ratio, error) = self.bidiagonal()?.variance(precisions, v);
        let deviations = (ratio - 1.0).abs() / error;
        Ok((!(deviations < REFUSED)).then(|| {
            format!(
                "the matrix is not one of independent entries: the exact variance of its input is about {ratio:.2} times \
                 that of approximate message passing, {deviations:.0} standard errors from it"
            )
        }))
    }
}
