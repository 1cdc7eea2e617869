//! State evolution with an $r \times r$ overlap of the rows, Bayes-optimal.
//!
//! With $T, Q, V = T - Q$ of the rows of the other side, from what comes in and what was sent last, and the field $\hat q$ of an entry: to a row
//! $\hat Q' = \gamma\hat q Q$, with $\gamma$ the rows of the other side over $N$. To an entry, with the moments of both sides,
//! $\tau = \frac1N\operatorname{tr}T_uT_v$, $V_z = \frac1N\operatorname{tr}(T_uT_v - Q_uQ_v)$ and $\hat q' = 1/V_z - 1/\tau$.
//!
//! Per row of the first side the potential is
//! $\operatorname{extr}\{S_u(V_u) + \gamma S_v(V_v) - \frac12\hat q\,n V_z\}$ with $n$ entries per row and
//! $S(V) = \frac12\ln\det 2\pi eV - \frac12\operatorname{tr}(T^{-1} + \hat Q)V$ of what comes in; its stationary point is that of the messages.

use std::f64::consts::{E, TAU};

use faer::Mat;

use super::LowRank;
use super::theory::{STEPS, STILL, Sizes};
use crate::belief::RowMatrix;
use crate::error::FactorError;
use crate::factor::{RowAveraged, RowEstimate};
use crate::math::dense::{inverse_of, log_det_of};

/// The field that a variance of zero gives, in units of $1/\tau$.
const CERTAIN: f64 = 1e32;

/// Overlap and covariance of the rows of a side.
#[derive(Debug, Clone)]
struct Side {
    q: Mat<f64>,
    v: Mat<f64>,
}

impl Side {
    /// $V = (T^{-1} + \hat Q)^{-1}$ and $Q = T\hat QV$, which keeps the digits of a small overlap.
    fn of(tau0: &RowMatrix, q_hat: &Mat<f64>) -> Result<Self, FactorError> {
        let precision = inverse_of(tau0.as_mat())? + q_hat;
        let improper = |_| {
            FactorError::Improper("the precision on rows leaves a negative variance".to_owned())
        };
        let v = inverse_of(precision.as_ref()).map_err(improper)?;
        let q = tau0.as_mat() * q_hat * &v;
        Ok(Self { q, v })
    }

    fn known(tau0: &RowMatrix) -> Self {
        let v = Mat::zeros(tau0.dim(), tau0.dim());
        let q = tau0.as_mat().to_owned();
        Self { q, v }
    }
}

fn trace(x: &Mat<f64>, y: &Mat<f64>) -> f64 {
    (x * y).diagonal().column_vector().iter().sum()
}

/// $\frac12\ln\det 2\pi eV - \frac12\operatorname{tr}(T^{-1} + \hat Q)V$.
fn entropy(tau0: &RowMatrix, q_hat: &RowMatrix, side: &Side) -> Result<f64, FactorError> {
    let precision = inverse_of(tau0.as_mat())? + q_hat.as_mat();
    let volume = tau0.dim() as f64 * (TAU * E).ln() + log_det_of(side.v.as_ref())?;
    Ok(0.5 * (volume - trace(&precision, &side.v)))
}

impl LowRank {
    /// The rows must be known as rows.
    fn check_rows(self, tau0: &[RowMatrix]) -> Result<(), FactorError> {
        let (sides, rank) = (&tau0[..tau0.len() - 1], self.rank);
        match sides.iter().find(|t| t.dim() != rank) {
            None => Ok(()),
            Some(side) => Err(FactorError::Unsupported(format!(
                "its rows have {rank} components: expected beliefs of blocks of {rank}, got {}",
                side.dim()
            ))),
        }
    }

    /// $T$ of an entry, $\frac1N\operatorname{tr}T_uT_v$.
    pub fn row_second_moment(
        self,
        sizes: &Sizes,
        inputs: &[RowMatrix],
    ) -> Result<RowMatrix, FactorError> {
        let last = &inputs[inputs.len() - 1];
        if inputs.iter().any(|t| t.dim() != self.rank) {
            self.check_rows(&[inputs, &[RowMatrix::zeros(1)]].concat())?;
        }
        let product = inputs[0].as_mat() * last.as_mat();
        let sum: f64 = product.diagonal().column_vector().iter().sum();
        Ok(RowMatrix::identity(1, sum / sizes.columns))
    }

    /// $\hat Q'$ towards `target`, with what was sent last.
    pub fn row_message(
        self,
        sizes: &Sizes,
        at: RowAveraged<'_>,
        sent: &[RowMatrix],
        target: usize,
    ) -> Result<RowEstimate, FactorError> {
        self.check_rows(at.tau0)?;
        let side = |k: usize| {
            let q_hat = at.q_hat[k].as_mat() + sent[k].as_mat();
            Side::of(&at.tau0[k], &q_hat)
        };
        let value = if target < sizes.sides {
            let other = side(sizes.sides - 1 - target)?;
            let scale = sizes.shares[target] * at.q_hat[sizes.sides].get(0, 0);
            RowMatrix::from_fn(self.rank, |i, j| scale * other.q[(i, j)])
        } else {
            let (u, v) = (side(0)?, side(sizes.sides - 1)?);
            let tau = at.tau0[target].get(0, 0);
            let (seen, left) = (
                trace(&u.q, &v.q) / sizes.columns,
                sizes.variance(at, [&u, &v]),
            );
            RowMatrix::identity(1, (seen / left).min(CERTAIN) / tau)
        };
        Ok(RowEstimate::exact(value))
    }

    /// Per row of the first side.
    pub fn row_potential(self, sizes: &Sizes, at: RowAveraged<'_>) -> Result<f64, FactorError> {
        self.check_rows(at.tau0)?;
        let [u, v] = sizes.settled(at)?;
        let mut value = entropy(&at.tau0[0], &at.q_hat[0], &u)?;
        if sizes.sides == 2 {
            value += sizes.last * entropy(&at.tau0[1], &at.q_hat[1], &v)?;
        }
        let entries = sizes.entries * self.rank as f64;
        let q_hat = at.q_hat[sizes.sides].get(0, 0);
        Ok(value - 0.5 * entries * q_hat * sizes.variance(at, [&u, &v]))
    }
}

impl Sizes {
    /// $V_z = \frac1N\operatorname{tr}(V_uT_v + Q_uV_v)$.
    fn variance(&self, at: RowAveraged<'_>, [u, v]: [&Side; 2]) -> f64 {
        let known = at.tau0[self.sides - 1].as_mat().to_owned();
        (trace(&u.v, &known) + trace(&u.q, &v.v)) / self.columns
    }

    /// Both sides at the fixed point that knows most.
    fn settled(&self, at: RowAveraged<'_>) -> Result<[Side; 2], FactorError> {
        let z = at.q_hat[self.sides].get(0, 0);
        let mut sides = [0, self.sides - 1].map(|k| Side::known(&at.tau0[k]));
        for _ in 0..STEPS {
            let before = sides.clone();
            for k in 0..self.sides {
                let other = &sides[self.sides - 1 - k].q;
                let q_hat = at.q_hat[k].as_mat() + other * faer::Scale(self.shares[k] * z);
                sides[k] = Side::of(&at.tau0[k], &q_hat)?;
            }
            if self.sides == 1 {
                sides[1] = sides[0].clone();
            }
            let moved = |k: usize| {
                let change = (&sides[k].v - &before[k].v).norm_max();
                change > STILL * sides[k].v.norm_max()
            };
            if !moved(0) && !moved(1) {
                break;
            }
        }
        Ok(sides)
    }
}
