//! State evolution of a linear channel on rows, $X = W Z$ with $W$ on the left: the singular vectors of $W$ mix rows, and every mode is a row of
//! precision $A_z + \lambda A_x$. With $A_z = C C^T$ and $C^{-1} A_x C^{-T} = U D U^T$ its $r$ coordinates are scalar channels of precisions
//! $1$ and $d_i$, so that both messages are those of the scalar theory between $C U$ and $U^T C^T$.

use std::f64::consts::TAU;

use faer::Mat;

use super::average::Average;
use crate::belief::{OverlapFields, RowMatrix};
use crate::error::FactorError;
use crate::factor::{Averaged, RowAveraged, RowEstimate};
use crate::math::dense::{Congruence, inverse_of, log_det_of};
use crate::math::spectrum::Spectrum;

/// $T_x = T_z\,E\lambda/\alpha$.
pub(super) fn second_moment(spectrum: &Spectrum, inputs: &[RowMatrix]) -> RowMatrix {
    let scale = spectrum.expect(|l| l) / spectrum.alpha();
    let z = &inputs[0];
    RowMatrix::from_fn(z.dim(), |i, j| scale * z.get(i, j))
}

/// $A_z = T_z^{-1} + \hat Q_z$.
fn input_precision(at: RowAveraged<'_>) -> Result<Mat<f64>, FactorError> {
    Ok(inverse_of(at.tau0[0].as_mat())? + at.q_hat[0].as_mat())
}

/// $\hat Q'$ towards `target`.
pub(super) fn field(
    spectrum: &Spectrum,
    at: RowAveraged<'_>,
    target: usize,
) -> Result<RowEstimate, FactorError> {
    let precision = input_precision(at)?;
    let modes = Congruence::new(precision.as_ref(), at.q_hat[1].as_mat())?;
    let sent = modes.map(|d| {
        let field = |a: f64| OverlapFields {
            m_hat: a,
            q_hat: a,
            tau_hat: 0.0,
        };
        let scalar = Averaged {
            fields: &[field(1.0), field(d)],
            tau0_hat: &[1.0, 0.0],
        };
        Average::new(spectrum, scalar).extrinsic(target)
    });
    let value = if target == 0 {
        sent
    } else {
        sent - inverse_of(at.tau0[1].as_mat())?
    };
    Ok(RowEstimate::exact(RowMatrix::from_mat(value.as_ref())))
}

/// $\frac12 E_\lambda\ln\det 2\pi(A_z + \lambda A_x)^{-1}$ per row of the input.
pub(super) fn potential(spectrum: &Spectrum, at: RowAveraged<'_>) -> Result<f64, FactorError> {
    let precision = input_precision(at)?;
    let modes = Congruence::new(precision.as_ref(), at.q_hat[1].as_mat())?;
    let logs: f64 = modes
        .values
        .iter()
        .map(|d| spectrum.expect(|l| (l * d).ln_1p()))
        .sum();
    let volume = at.tau0[0].dim() as f64 * TAU.ln() - log_det_of(precision.as_ref())?;
    Ok(0.5 * (volume - logs))
}
