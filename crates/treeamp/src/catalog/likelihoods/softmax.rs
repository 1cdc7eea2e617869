//! Multinomial labels $p(y = k \mid z) = \frac{e^{z_k}}{\sum_j e^{z_j}}$, $k = 0, \dots, K - 1$, of a row of $K$ fields.
//!
//! # Moments
//! Of two and three fields by equal steps in the $K - 1$ differences to the last one, in which labels are smooth; derivatives are averages of those of
//! the label, $\partial_j p_k = p_k(\delta_{jk} - p_j)$, so that no difference is taken. Of more fields between diagonal covariances, by
//! $\frac1S = \int_0^\infty e^{-tS}dt$ and $t = e^s$: with $\Lambda_j(s) = E\exp(-e^{s + z_j})$,
//!
//! $$Z_k = -\int ds\,\Lambda_k'(s)\prod_{j \ne k}\Lambda_j(s),\qquad \partial_{\omega_j}\Lambda_j = \Lambda_j',$$
//!
//! again by equal steps. Covariances between fields are then neglected, on the way in and out: blocks of such a run are diagonal.
//!
//! # Reference
//! Cornacchia, Mignacco, Veiga, Gerbelot, Loureiro and Zdeborova, "Learning curves for the multi-class teacher-student perceptron" (2023).

use rand::{Rng, RngExt};

use crate::catalog::module::{Module, Parameter, ParameterKind, Preset};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::small;
use crate::math::special::normal_density;
use crate::separable::{RowLikelihood, RowTilt};

/// Up to so many fields covariances are whole.
const DENSE: usize = 3;
/// Fields at most: labels are tried one by one where data are expected.
const MOST: usize = 64;
/// The density beyond this is below $10^{-12}$.
const END: f64 = 7.0;
/// Equal steps in units of deviations, and in units of the field: a label has its nearest pole at a distance of $\pi$, so that the error is
/// $e^{-2\pi\cdot\pi/h}$ in the second.
const STEP: f64 = 0.5;
const FIELD_STEP: f64 = 0.7;
/// Steps in $s$: $\exp(-e^s)$ is bounded in a strip of $\pi/2$, which makes $e^{-2\pi\cdot\frac\pi2/h}$, and $(2\pi/h)^2$ times that in second derivatives.
const LOG_STEP: f64 = 0.35;
/// $e^s$ below this fraction of what counts is nothing.
const LOG_RANGE: f64 = 34.0;
/// $\exp(-e^s)$ beyond is nothing.
const LOG_END: f64 = 5.0;

/// Labels of $K$ classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Softmax {
    classes: usize,
}

impl Softmax {
    /// Of `classes` classes, two to 64.
    ///
    /// # Errors
    /// Another number of classes.
    pub fn new(classes: usize) -> Result<Self, ModelError> {
        if (2..=MOST).contains(&classes) {
            return Ok(Self { classes });
        }
        Err(parameter(Self::NAME, "classes", "from 2 to 64", classes))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["multinomial"],
        summary: "multinomial labels of a row of fields, to be observed",
        formula: "p(x = k | z) = e^(z_k) / sum_j e^(z_j), z a row of classes fields",
        tex: r"p(x = k \mid z) = \frac{e^{z_k}}{\sum_j e^{z_j}}",
        notes: r"Labels are $0, \dots, K - 1$. Its input has shape $(M, K)$ and beliefs block(K). Up to three classes blocks are whole; of more they are \
                 diagonal: how fields covary is neglected, and variances are claimed too small (.98 where the error was 1.41, for five classes, 80 inputs and 800 \\
                 labels).",
        parameters: &[
            Parameter::required("classes", ParameterKind::Count, "K, from 2 to 64")
                .or(Preset::Count(2))
                .called("K"),
        ],
        constructor: |a| a.channel(Self::new(a.count("classes")?)?.channel()),
        ..Module::ROW_LIKELIHOOD
    };

    fn label(self, y: f64) -> usize {
        let found = (0..self.classes).find(|k| (*k as f64).total_cmp(&y).is_eq());
        found.unwrap_or(0)
    }
}

/// Probabilities of the labels.
fn softmax(z: &[f64], p: &mut [f64]) {
    let top = z.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    let mut sum = 0.0;
    for (p, z) in p.iter_mut().zip(z) {
        *p = (z - top).exp();
        sum += *p;
    }
    p.iter_mut().for_each(|p| *p /= sum);
}

/// From $Z$ and its derivatives to those of its logarithm.
fn take_logarithm(tilt: &mut RowTilt) {
    let (z, n) = (tilt.log_z, tilt.gradient.len());
    tilt.log_z = z.ln();
    if z > 0.0 {
        tilt.gradient.iter_mut().for_each(|g| *g /= z);
        for (k, h) in tilt.hessian.iter_mut().enumerate() {
            *h = *h / z - tilt.gradient[k / n] * tilt.gradient[k % n];
        }
    }
}

impl Softmax {
    /// Two or three fields, all labels: `labels[k]` is the place of label $k$ in `out`, if it is asked for.
    fn dense(
        self,
        labels: &[Option<usize>],
        v: &[f64],
        omega: &[f64],
        out: &mut [RowTilt],
    ) -> Result<(), FactorError> {
        let (k, d) = (self.classes, self.classes - 1);
        // z_j - z_{K-1}
        let spread = |i: usize, j: usize| v[i * k + j] - v[i * k + d] - v[d * k + j] + v[d * k + d];
        let covariance: Vec<f64> = (0..d * d).map(|at| spread(at / d, at % d)).collect();
        let centre: Vec<f64> = (0..d).map(|j| omega[j] - omega[d]).collect();
        let mut root = vec![0.0; d * d];
        if small::root(&covariance, d, &mut root).is_none() {
            let what = "the covariance of its fields is not positive definite".to_owned();
            return Err(FactorError::Improper(what));
        }
        let width = (0..d)
            .map(|i| covariance[i * d + i])
            .fold(0.0, f64::max)
            .sqrt();
        let step = STEP.min(FIELD_STEP / width);
        let end = END + width;
        let half = (end / step).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few hundred"
        )]
        let side = 2 * half as usize + 1;
        let (mut z, mut p, mut s) = (vec![0.0; k], vec![0.0; k], vec![0.0; d]);
        for index in 0..(0..d).map(|_| side).product() {
            let (mut rest, mut weight) = (index, 1.0);
            for s in &mut s {
                *s = step * ((rest % side) as f64 - half);
                rest /= side;
                weight *= step * normal_density(*s);
            }
            for i in 0..d {
                z[i] = centre[i] + (0..=i).map(|j| root[i * d + j] * s[j]).sum::<f64>();
            }
            softmax(&z, &mut p);
            for (label, at) in labels.iter().enumerate() {
                if let Some(at) = at {
                    add(label, weight, &p, &mut out[*at]);
                }
            }
        }
        Ok(())
    }

    /// More fields, with the diagonal of their covariance, for one label.
    fn diagonal(self, label: usize, v: &[f64], omega: &[f64], out: &mut RowTilt) {
        let k = self.classes;
        let deviation: Vec<f64> = (0..k).map(|j| v[j * k + j].sqrt()).collect();
        let ends = (0..k).map(|j| END * deviation[j] - omega[j]);
        let end = ends.fold(f64::INFINITY, f64::min) + LOG_END;
        let widest = deviation.iter().fold(0.0_f64, |m, d| m.max(*d));
        let range = LOG_RANGE + LOG_END + 2.0 * END * widest;
        let mut laws = vec![[0.0; 4]; k];
        let mut s = end;
        while s > end - range {
            for (j, law) in laws.iter_mut().enumerate() {
                *law = laplace(s + omega[j], deviation[j]);
            }
            let product: f64 = laws.iter().map(|l| l[0]).product();
            if product > 0.0 {
                let own = &laws[label];
                // the label has -Λ' in the place of Λ
                let rest = LOG_STEP * product / own[0];
                out.log_z -= rest * own[1];
                for (j, law) in laws.iter().enumerate() {
                    let (first, second) = if j == label {
                        (own[2], own[3])
                    } else {
                        (own[1] * law[1] / law[0], own[1] * law[2] / law[0])
                    };
                    out.gradient[j] -= rest * first;
                    out.hessian[j * k + j] -= rest * second;
                }
            }
            s -= LOG_STEP;
        }
        let z = out.log_z;
        out.log_z = z.ln();
        if z > 0.0 {
            for j in 0..k {
                out.gradient[j] /= z;
                let h = &mut out.hessian[j * k + j];
                *h = *h / z - out.gradient[j] * out.gradient[j];
            }
        }
    }
}

/// $\Lambda(u) = E\exp(-e^{u + \sigma\xi})$ and its first three derivatives.
fn laplace(u: f64, deviation: f64) -> [f64; 4] {
    let step = STEP.min(LOG_STEP / deviation);
    let half = (END / step).ceil();
    let mut sum = [0.0; 4];
    let mut place = -half;
    while place <= half {
        let xi = step * place;
        let t = (u + deviation * xi).exp();
        let f = step * normal_density(xi) * (-t).exp();
        if f > 0.0 {
            sum[0] += f;
            sum[1] -= t * f;
            sum[2] += t * (t - 1.0) * f;
            sum[3] -= t * (t * (t - 3.0) + 1.0) * f;
        }
        place += 1.0;
    }
    sum
}

/// Adds a label's probability and its derivatives at one place.
fn add(label: usize, weight: f64, p: &[f64], out: &mut RowTilt) {
    let n = p.len();
    let own = weight * p[label];
    let slope = |j: usize| f64::from(u8::from(j == label)) - p[j];
    out.log_z += own;
    for i in 0..n {
        out.gradient[i] += own * slope(i);
        for j in 0..n {
            let bend = p[i] * (f64::from(u8::from(i == j)) - p[j]);
            out.hessian[i * n + j] += own * (slope(i) * slope(j) - bend);
        }
    }
}

impl RowLikelihood for Softmax {
    const NAME: &'static str = "softmax";

    fn dim(&self) -> usize {
        self.classes
    }

    fn labels(&self) -> Vec<f64> {
        (0..self.classes).map(|k| k as f64).collect()
    }

    fn tilted(
        &self,
        y: f64,
        v: &[f64],
        omega: &[f64],
        out: &mut RowTilt,
    ) -> Result<(), FactorError> {
        out.set_zero();
        let label = self.label(y);
        if self.classes > DENSE {
            self.diagonal(label, v, omega, out);
            return Ok(());
        }
        let mut labels = [None; DENSE];
        labels[label] = Some(0);
        self.dense(&labels[..self.classes], v, omega, std::slice::from_mut(out))?;
        take_logarithm(out);
        Ok(())
    }

    fn tilted_each(
        &self,
        v: &[f64],
        omega: &[f64],
        out: &mut [RowTilt],
    ) -> Result<(), FactorError> {
        out.iter_mut().for_each(RowTilt::set_zero);
        if self.classes > DENSE {
            let each = out.iter_mut().enumerate();
            each.for_each(|(label, out)| self.diagonal(label, v, omega, out));
            return Ok(());
        }
        let labels = [Some(0), Some(1), Some(2)];
        self.dense(&labels[..self.classes], v, omega, out)?;
        out.iter_mut().for_each(take_logarithm);
        Ok(())
    }

    fn log_probability(&self, y: f64, z: &[f64]) -> f64 {
        let top = z.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        let sum: f64 = z.iter().map(|z| (z - top).exp()).sum();
        z[self.label(y)] - top - sum.ln()
    }

    fn sample(&self, rng: &mut dyn Rng, z: &[f64]) -> f64 {
        let mut p = vec![0.0; z.len()];
        softmax(z, &mut p);
        let mut u: f64 = rng.random();
        let chosen = p.iter().position(|p| {
            u -= p;
            u < 0.0
        });
        chosen.unwrap_or(self.classes - 1) as f64
    }

    /// It depends on the fields.
    fn noise_entropy(&self) -> Option<f64> {
        None
    }

    fn is_diagonal(&self) -> bool {
        self.classes > DENSE
    }

    fn summary(&self) -> String {
        format!("{} classes", self.classes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole and diagonal blocks are the same of independent fields; all labels together are certain.
    #[test]
    fn both_ways_agree_on_independent_fields() {
        let law = Softmax { classes: 3 };
        for scale in [0.01, 1.0, 30.0] {
            let v = [
                1.3 * scale,
                0.0,
                0.0,
                0.0,
                0.4 * scale,
                0.0,
                0.0,
                0.0,
                0.9 * scale,
            ];
            let omega = [0.3, -1.2, 0.8];
            let mut dense = vec![RowTilt::zeros(3); 3];
            let found = law.tilted_each(&v, &omega, &mut dense);
            assert!(found.is_ok());
            let mut mass = 0.0;
            for (label, dense) in dense.iter().enumerate() {
                let mut out = RowTilt::zeros(3);
                law.diagonal(label, &v, &omega, &mut out);
                mass += out.log_z.exp();
                assert!((out.log_z - dense.log_z).abs() < 1e-8, "{scale} {label}");
                for j in 0..3 {
                    let gap = (out.gradient[j] - dense.gradient[j]).abs();
                    assert!(gap < 1e-8, "{scale} {label} {j}: {gap:e}");
                    let gap = (out.hessian[4 * j] - dense.hessian[4 * j]).abs();
                    assert!(gap < 1e-8, "{scale} {label} {j}: {gap:e}");
                }
            }
            assert!((mass - 1.0).abs() < 1e-8, "{scale}: {mass}");
        }
    }
}
