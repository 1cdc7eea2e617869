//! State evolution of small Gaussian factors (noise, sum, duplicate, rotation): everything is a
//! linear map of a few scalar Gaussians.
//!
//! The variables at the ports are $x = L u$ of some free scalars $u$. The student's law of $u$ has
//! precision $P + L^T\mathrm{diag}(a)L$, the teacher's $P_0 + L^T\mathrm{diag}(\hat\tau_0)L$. With the
//! student's $G = L\Sigma L^T$ and the teacher's $C = L\Sigma_0 L^T$:
//! $r_i = \sum_j G_{ij}b_j$, $b_j = \hat m_j x_{0,j} + \sqrt{\hat q_j}\,\xi_j$.

use std::f64::consts::TAU;

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, Side};

use super::Averaged;
use crate::belief::{OverlapFields, Overlaps};
use crate::error::FactorError;

/// A Gaussian factor: its map from free scalars to ports, and its own precision on them.
#[derive(Debug, Clone)]
pub struct GaussianFactor {
    /// Ports by free scalars.
    pub ports: Vec<Vec<f64>>,
    /// The factor's precision on the free scalars, student's or teacher's.
    pub coupling: Vec<Vec<f64>>,
    /// $\ln$ of what the factor is divided by: $\frac12\ln 2\pi\Delta$ for noise, 0 else.
    pub log_normaliser: f64,
}

impl GaussianFactor {
    /// One scalar seen at `ports` ports: copies, and whatever isotropic beliefs cannot tell from them.
    #[must_use]
    pub fn copies(ports: usize) -> Self {
        Self {
            ports: vec![vec![1.0]; ports],
            coupling: vec![vec![0.0]],
            log_normaliser: 0.0,
        }
    }

    /// The least variance of a noise that the factor adds; `None` if it adds none.
    #[must_use]
    pub fn least_noise(&self) -> Option<f64> {
        let precisions = self.coupling.iter().enumerate().map(|(i, row)| row[i]);
        let largest = precisions.fold(0.0, f64::max);
        (largest > 0.0).then(|| 1.0 / largest)
    }

    /// $\Sigma$ at given precisions on the ports, and $\frac12\ln\det 2\pi\Sigma$.
    fn covariance(&self, precisions: &[f64]) -> Result<(Mat<f64>, f64), FactorError> {
        let n = self.coupling.len();
        let precision = Mat::from_fn(n, n, |i, j| {
            let tilts = self.ports.iter().zip(precisions);
            self.coupling[i][j] + tilts.map(|(l, a)| a * l[i] * l[j]).sum::<f64>()
        });
        let factor = precision.llt(Side::Lower).map_err(|_| {
            FactorError::Improper(format!(
                "precisions {precisions:?} leave a negative variance"
            ))
        })?;
        let log_det: f64 = (0..n).map(|i| 2.0 * factor.L()[(i, i)].ln()).sum();
        Ok((factor.inverse(), 0.5 * (n as f64 * TAU.ln() - log_det)))
    }

    /// $L\Sigma L^T$.
    fn at_ports(&self, sigma: &Mat<f64>) -> Vec<Vec<f64>> {
        let n = sigma.nrows();
        let entry = |p: &[f64], q: &[f64]| {
            (0..n)
                .map(|i| (0..n).map(|j| p[i] * sigma[(i, j)] * q[j]).sum::<f64>())
                .sum()
        };
        self.ports
            .iter()
            .map(|p| self.ports.iter().map(|q| entry(p, q)).collect())
            .collect()
    }

    /// $\tau_0$ of the variable at `target`, this factor being the teacher's.
    ///
    /// # Errors
    /// When the law is improper.
    pub fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
        Ok(self.at_ports(&self.covariance(tau0_hat)?.0)[target][target])
    }

    /// $A^{(0)}(\hat\tau_0)$, this factor being the teacher's.
    ///
    /// # Errors
    /// When the law is improper.
    pub fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        Ok(self.covariance(tau0_hat)?.1 - self.log_normaliser)
    }

    /// The overlaps at `target`, this factor being the student's.
    ///
    /// # Errors
    /// When the law is improper.
    pub fn overlaps(
        &self,
        teacher: &Self,
        at: Averaged<'_>,
        target: usize,
    ) -> Result<Overlaps, FactorError> {
        let precisions: Vec<f64> = at.fields.iter().map(OverlapFields::a).collect();
        let g = self.at_ports(&self.covariance(&precisions)?.0);
        let c = teacher.at_ports(&teacher.covariance(at.tau0_hat)?.0);
        let weights: Vec<f64> = g[target]
            .iter()
            .zip(at.fields)
            .map(|(g, f)| g * f.m_hat)
            .collect();
        let tau0 = c[target][target];
        let m: f64 = weights.iter().zip(&c[target]).map(|(w, c)| w * c).sum();
        let ratio = m / tau0;
        let centred: Vec<f64> = weights
            .iter()
            .enumerate()
            .map(|(j, w)| if j == target { w - ratio } else { *w })
            .collect();
        let signal: f64 = (0..centred.len())
            .map(|i| {
                (0..centred.len())
                    .map(|j| centred[i] * c[i][j] * centred[j])
                    .sum::<f64>()
            })
            .sum();
        let noise: f64 = g[target]
            .iter()
            .zip(at.fields)
            .map(|(g, f)| g * g * f.q_hat)
            .sum();
        Ok(Overlaps {
            m,
            v: g[target][target],
            err: signal.max(0.0) + noise,
            tau0,
        })
    }

    /// $\bar A = \frac12 E\,b^T G b + \frac12\ln\det 2\pi\Sigma$, this factor being the student's.
    ///
    /// # Errors
    /// When the law is improper.
    pub fn potential(&self, teacher: &Self, at: Averaged<'_>) -> Result<f64, FactorError> {
        let precisions: Vec<f64> = at.fields.iter().map(OverlapFields::a).collect();
        let (sigma, volume) = self.covariance(&precisions)?;
        let g = self.at_ports(&sigma);
        let c = teacher.at_ports(&teacher.covariance(at.tau0_hat)?.0);
        let mut fit = 0.0;
        for (i, f) in at.fields.iter().enumerate() {
            for (j, h) in at.fields.iter().enumerate() {
                fit += g[i][j] * f.m_hat * h.m_hat * c[i][j];
            }
            fit += g[i][i] * f.q_hat;
        }
        Ok(0.5 * fit + volume - self.log_normaliser)
    }
}
