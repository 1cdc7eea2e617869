//! Entropic potentials of separable factors, $H = \sum_i\frac12\hat m_i\tau_i - \bar A + A^{(0)}$ in the Bayes-optimal setting,
//! without the difference of large numbers.
//!
//! With $A = X + \sum_i[\frac{b_i^2}{2a_i} + \frac12\ln\frac{2\pi}{a_i}]$ and $E\,b_i^2 = \hat m_i^2\tau_i + \hat m_i$ the large terms cancel:
//!
//! $$H = A^{(0)} - E[X] + \sum_i\Big[\tfrac12\ln\tfrac{a_i}{2\pi} - \tfrac{\hat m_i}{2a_i}(1 - \hat\tau_{0,i}\tau_i)\Big],\qquad a_i = \hat m_i + \hat\tau_{0,i}.$$
//!
//! - A prior with $\hat\tau_0 = 0$ has $H = -E[X] - \frac12 - \frac12\ln\frac{2\pi}{\hat m}$; a likelihood, $\hat\tau_0 = 1/\tau$, has
//!   $H = \frac12\ln(a\tau) - E[X]$.
//! - Beyond [`SHARPEST`] the law is seen at every scale it has, and $\partial_{\hat m}H = \frac12 v \to \frac{d}{2a}$ with the
//!   dimension $d$ of what the factor leaves unknown: $H$ grows by $\frac12 d\ln\hat m$.

use super::{Field, POTENTIAL, Sums};
use crate::belief::OverlapFields;
use crate::error::FactorError;
use crate::factor::Averaged;

/// $\hat m\tau$ from which on the excess is averaged: below, the potential itself is small.
pub(super) const CLEAR: f64 = 1.0;

/// The largest $\hat m\tau$ at which averages are taken: the disorder is then $10^{-8}$ of the signal wide, and its fields
/// are resolved to $10^{-8}$ of their width.
pub(super) const SHARPEST: f64 = 1e16;

/// The same for a discrete law, which has nothing left to tell long before.
pub(super) const DISCRETE: f64 = 1e12;

/// Fields that are sharp enough for the logarithmic growth.
const SHARP: f64 = 1e11;

/// What the tilt at an end adds: $\frac12\hat m\tau - E[\frac{b^2}{2a} + \frac12\ln\frac{2\pi}a]$.
pub(super) fn of_tilt(at: &Field, tau0: f64) -> f64 {
    let share = at.m_hat / at.a;
    0.5 * (at.a / std::f64::consts::TAU).ln() - 0.5 * share * (1.0 - at.tau0_hat * tau0)
}

/// $H$ of a factor with one port, from its averages.
pub(super) fn of_line(
    at: Field,
    tau0: f64,
    log_z0: f64,
    averages: impl FnOnce(Field) -> Result<Sums, FactorError>,
) -> Result<f64, FactorError> {
    if at.m_hat * tau0 < CLEAR {
        let sums = averages(at)?;
        return Ok(0.5 * at.m_hat * tau0 - sums.0[POTENTIAL] + log_z0);
    }
    let sums = averages(Field { excess: true, ..at })?;
    Ok(log_z0 - sums.0[POTENTIAL] + of_tilt(&at, tau0))
}

/// How much the sharpest end is above `sharpest` in units of $1/\tau_0$; one if it is not.
fn excess(at: Averaged<'_>, tau0: &[f64], sharpest: f64) -> f64 {
    let ports = at.fields.iter().zip(tau0);
    let excess = ports.map(|(f, tau0)| f.m_hat * tau0 / sharpest);
    excess.fold(1.0, f64::max)
}

/// The fields divided by a factor, except that none falls below `floor` in units of $1/\tau_0$.
fn divided(at: Averaged<'_>, tau0: &[f64], factor: f64, floor: f64) -> Vec<OverlapFields> {
    let fields = at.fields.iter().zip(tau0).map(|(f, tau0)| {
        let m_hat = f.m_hat.min((f.m_hat / factor).max(floor / tau0));
        OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat: f.tau_hat,
        }
    });
    fields.collect()
}

/// $H$ by `within` at fields up to `sharpest`, and its logarithmic growth beyond; `dimension` is $\lim a_i v_i$ of a port
/// whose field grows.
pub(super) fn extended(
    at: Averaged<'_>,
    tau0: &[f64],
    sharpest: f64,
    within: impl Fn(Averaged<'_>) -> Result<f64, FactorError>,
    dimension: impl Fn(usize) -> Result<f64, FactorError>,
) -> Result<f64, FactorError> {
    let factor = excess(at, tau0, sharpest);
    let fields = divided(at, tau0, factor, SHARP);
    let mut entropy = within(Averaged {
        fields: &fields,
        tau0_hat: at.tau0_hat,
    })?;
    for (port, (whole, cut)) in at.fields.iter().zip(&fields).enumerate() {
        if whole.m_hat > cut.m_hat {
            let d = dimension(port)?;
            // a discrete signal is known, however much more is said
            if d > 0.0 {
                entropy += 0.5 * d * (whole.m_hat / cut.m_hat).ln();
            }
        }
    }
    Ok(entropy)
}

/// $2\,\partial H/\partial\ln\hat m = \hat m v$ of an end when the sharpest is at [`SHARPEST`], by a difference there.
pub(super) fn slope(
    at: Averaged<'_>,
    tau0: &[f64],
    end: usize,
    within: impl Fn(Averaged<'_>) -> Result<f64, FactorError>,
) -> Result<f64, FactorError> {
    // entropies are good to 1e-9 or so
    const STEP: f64 = 0.02;
    let factor = excess(at, tau0, SHARPEST);
    // next to the sharpest end the others keep their share
    let sharpest = at.fields[end].m_hat * tau0[end] >= factor * SHARPEST;
    let floor = if sharpest { 0.0 } else { SHARP };
    let shifted = |step: f64| {
        let mut fields = divided(at, tau0, factor, floor);
        fields[end].m_hat *= step.exp();
        fields[end].q_hat = fields[end].m_hat;
        within(Averaged {
            fields: &fields,
            tau0_hat: at.tau0_hat,
        })
    };
    let slope = (shifted(STEP)? - shifted(-STEP)?) / STEP;
    Ok(slope.clamp(0.0, 1.0))
}
