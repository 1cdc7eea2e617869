//! The Gibbs form of the Bayes-optimal potentials: functions of the moments instead of the fields.
//!
//! $I^*(v) = \sup_{\hat m} I(\hat m) - \frac12\hat m v$ and $\bar A^*(m) = \sup_{\hat m}\frac12\hat m m - \bar A(\hat m)$; both
//! are attained at the field $\hat m$ whose variance is $v = \tau_0 - m$, which they return with it.

use super::teacher::rule;
use crate::belief::OverlapFields;
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, EnsembleRule, Factor};
use crate::math::spectrum::Spectrum;

/// A factor's potentials at given moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gibbs {
    /// The field at which the variance is the given one.
    pub m_hat: f64,
    /// $I^*(v)$; for a likelihood it includes the entropy of its noise.
    pub information: f64,
    /// $\bar A^*(m)$.
    pub potential: f64,
}

/// The potentials of a prior or likelihood (one port) at variance `v`, the teacher's conjugate being
/// `tau0_hat`.
///
/// # Errors
/// A variance that no field attains, or a factor without an ensemble rule.
pub fn gibbs(factor: &dyn Factor, tau0_hat: f64, v: f64) -> Result<Gibbs, RunError> {
    let failed = |source: FactorError| RunError::Factor {
        factor: factor.name().to_owned(),
        source,
    };
    let rule = rule(factor).map_err(failed)?;
    let tau0 = rule.second_moment(&[tau0_hat], 0).map_err(failed)?;
    let m_hat = field_of(rule, factor, tau0_hat, v, tau0)?;
    let fields = [OverlapFields {
        m_hat,
        q_hat: m_hat,
        tau_hat: tau0_hat,
    }];
    let at = Averaged {
        fields: &fields,
        tau0_hat: &[tau0_hat],
    };
    let entropic = rule
        .entropic_potential(factor, at, &[(1.0, tau0)])
        .map_err(failed)?;
    let potential = rule.potential(factor, at).map_err(failed)?;
    Ok(Gibbs {
        m_hat,
        information: entropic - 0.5 * m_hat * v,
        potential: 0.5 * m_hat * (tau0 - v) - potential,
    })
}

/// The field at which the average variance is `v`: variances fall as fields grow.
fn field_of(
    rule: &dyn EnsembleRule,
    factor: &dyn Factor,
    tau0_hat: f64,
    v: f64,
    tau0: f64,
) -> Result<f64, RunError> {
    let variance = |m_hat: f64| -> Result<f64, RunError> {
        let fields = [OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat: tau0_hat,
        }];
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[tau0_hat],
        };
        rule.overlaps(factor, at, 0)
            .map(|o| o.v)
            .map_err(|source| RunError::Factor {
                factor: factor.name().to_owned(),
                source,
            })
    };
    let largest = variance(0.0)?;
    let refuse = |got: f64| RunError::Option {
        option: "v",
        expected: format!("positive and at most {largest}, the variance without any field"),
        got: got.to_string(),
    };
    if !(v > 0.0 && v <= largest * (1.0 + 1e-12)) {
        return Err(refuse(v));
    }
    let (mut low, mut high) = (0.0, 1.0 / tau0);
    while variance(high)? > v {
        low = high;
        high *= 4.0;
        if high * tau0 > 1e12 {
            return Err(refuse(v));
        }
    }
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high || high - low < 1e-14 * high {
            break;
        }
        if variance(middle)? > v {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(0.5 * (low + high))
}

/// $I^*(v_z, v_x) = J^*(u) + \frac12(\ln\frac{\tau_z}{v_z} + \frac{v_z}{\tau_z} - 1)$ of a linear channel in a Bayesian
/// network, $u = \alpha v_x/v_z$, with $J^*$ the dual integrated R transform of its spectrum.
#[must_use]
pub fn linear_dual_information(spectrum: &Spectrum, tau_z: f64, v_z: f64, v_x: f64) -> f64 {
    let u = spectrum.alpha() * v_x / v_z;
    let variable = 0.5 * ((tau_z / v_z).ln() + v_z / tau_z - 1.0);
    spectrum.dual_integrated_r(u) + variable
}
