//! Labels of any probability $p(y \mid z)$ given a row of up to three fields, by quadrature.
//!
//! # Moments
//! With $V = LL^T$ and $z = \omega + Ls$: $Z = E\,p$, $g = L^{-T}E\,s\,p/Z$ and $H = L^{-T}[E\,ss^Tp/Z - 1]L^{-1} - gg^T$, over panels of Gauss-Legendre points
//! that begin at the values of each field at which $p$ is said to change. A probability that is smooth between these places is good to $10^{-8}$; one that jumps
//! elsewhere, such as at a sum of fields, to a percent.

use std::fmt;
use std::sync::Arc;

use rand::{Rng, RngExt};

use crate::error::{FactorError, ModelError, parameter};
use crate::math::quadrature::rule16;
use crate::math::small;
use crate::math::special::normal_density;
use crate::separable::{RowLikelihood, RowTilt};

/// Fields at most.
const MOST: usize = 3;
/// Panels without edges, of a density that is below $10^{-14}$ at the ends.
const PANELS: [f64; 5] = [-8.0, -3.0, 0.0, 3.0, 8.0];
/// Panels shorter than this have no weight.
const SHORT: f64 = 1e-12;

/// $p(y \mid z)$.
type Probability = dyn Fn(f64, &[f64]) -> f64 + Send + Sync;

/// Labels with any probabilities.
///
/// ```
/// use treeamp::prelude::*;
/// // parity: the product of two signs
/// let parity = RowFunction::new(2, &[-1.0, 1.0], &[0.0], |y, z| {
///     f64::from(u8::from((z[0] * z[1] > 0.0) == (y > 0.0)))
/// })?;
/// assert_eq!(parity.labels(), [-1.0, 1.0]);
/// # Ok::<(), ModelError>(())
/// ```
#[derive(Clone)]
pub struct RowFunction {
    fields: usize,
    labels: Vec<f64>,
    edges: Vec<f64>,
    probability: Arc<Probability>,
}

impl fmt::Debug for RowFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowFunction")
            .field("fields", &self.fields)
            .field("labels", &self.labels)
            .field("edges", &self.edges)
            .finish_non_exhaustive()
    }
}

/// Two are the same if they have the same function, not an equal one.
impl PartialEq for RowFunction {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
            && self.labels == other.labels
            && self.edges == other.edges
            && Arc::ptr_eq(&self.probability, &other.probability)
    }
}

impl RowFunction {
    /// Of `fields` fields, one to three: labels, the values of every field at which probabilities change (none for smooth ones), and the probability of a label.
    ///
    /// # Errors
    /// Another number of fields, no label, labels or edges that are not finite.
    pub fn new(
        fields: usize,
        labels: &[f64],
        edges: &[f64],
        probability: impl Fn(f64, &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Result<Self, ModelError> {
        if !(1..=MOST).contains(&fields) {
            return Err(parameter(Self::NAME, "fields", "from 1 to 3", fields));
        }
        for (name, values) in [("labels", labels), ("edges", edges)] {
            if values.iter().any(|x| !x.is_finite()) || (name == "labels" && values.is_empty()) {
                let got = format!("{values:?}");
                return Err(parameter(Self::NAME, name, "finite numbers", got));
            }
        }
        Ok(Self {
            fields,
            labels: labels.to_vec(),
            edges: edges.to_vec(),
            probability: Arc::new(probability),
        })
    }
}

/// Sums of one label.
struct Sums {
    z: f64,
    first: [f64; MOST],
    second: [[f64; MOST]; MOST],
}

/// The averages at one $V$ and $\omega$.
struct Averages<'a> {
    law: &'a RowFunction,
    omega: &'a [f64],
    root: Vec<f64>,
    labels: &'a [f64],
    s: [f64; MOST],
    z: [f64; MOST],
    sums: Vec<Sums>,
}

impl Averages<'_> {
    /// Field `i` and all after it, with the weight of those before.
    fn over(&mut self, i: usize, weight: f64) {
        let k = self.law.fields;
        if i == k {
            return self.add(weight);
        }
        let centre: f64 = self.omega[i]
            + (0..i)
                .map(|j| self.root[i * k + j] * self.s[j])
                .sum::<f64>();
        let width = self.root[i * k + i];
        let mut breaks = PANELS.to_vec();
        breaks.extend(self.law.edges.iter().map(|e| (e - centre) / width));
        breaks.retain(|x| x.abs() <= PANELS[4]);
        breaks.sort_by(f64::total_cmp);
        let rule = rule16();
        for pair in breaks.windows(2).filter(|p| p[1] - p[0] > SHORT) {
            let length = pair[1] - pair[0];
            for (x, w) in rule.nodes.iter().zip(&rule.weights) {
                let s = length.mul_add(*x, pair[0]);
                (self.s[i], self.z[i]) = (s, centre + width * s);
                self.over(i + 1, weight * w * length * normal_density(s));
            }
        }
    }

    fn add(&mut self, weight: f64) {
        let k = self.law.fields;
        for (label, sums) in self.labels.iter().zip(&mut self.sums) {
            let p = weight * (self.law.probability)(*label, &self.z[..k]);
            if p == 0.0 {
                continue;
            }
            sums.z += p;
            for i in 0..k {
                sums.first[i] += p * self.s[i];
                for j in 0..=i {
                    sums.second[i][j] += p * self.s[i] * self.s[j];
                }
            }
        }
    }
}

/// $L^{-T}x$ of a lower triangular matrix.
fn solve_upper(root: &[f64], x: &mut [f64]) {
    let k = x.len();
    for i in (0..k).rev() {
        let known: f64 = (i + 1..k).map(|j| root[j * k + i] * x[j]).sum();
        x[i] = (x[i] - known) / root[i * k + i];
    }
}

impl Sums {
    fn write(&self, root: &[f64], k: usize, out: &mut RowTilt) {
        out.log_z = self.z.ln();
        if !(self.z > 0.0) {
            return;
        }
        let mean: Vec<f64> = self.first[..k].iter().map(|x| x / self.z).collect();
        let mut matrix = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..k {
                let second = self.second[i.max(j)][i.min(j)] / self.z;
                matrix[i * k + j] = second - f64::from(u8::from(i == j)) - mean[i] * mean[j];
            }
        }
        out.gradient.copy_from_slice(&mean);
        solve_upper(root, &mut out.gradient);
        // L⁻ᵀ M L⁻¹: rows, then columns of the symmetric matrix
        for row in matrix.chunks_exact_mut(k) {
            solve_upper(root, row);
        }
        for j in 0..k {
            let mut column: Vec<f64> = (0..k).map(|i| matrix[i * k + j]).collect();
            solve_upper(root, &mut column);
            (0..k).for_each(|i| out.hessian[i * k + j] = column[i]);
        }
    }
}

impl RowFunction {
    fn tilts(
        &self,
        labels: &[f64],
        v: &[f64],
        omega: &[f64],
        out: &mut [RowTilt],
    ) -> Result<(), FactorError> {
        let k = self.fields;
        let mut root = vec![0.0; k * k];
        if small::root(v, k, &mut root).is_none() {
            let what = "the covariance of its fields is not positive definite".to_owned();
            return Err(FactorError::Improper(what));
        }
        let zero = || Sums {
            z: 0.0,
            first: [0.0; MOST],
            second: [[0.0; MOST]; MOST],
        };
        let mut averages = Averages {
            law: self,
            omega,
            root,
            labels,
            s: [0.0; MOST],
            z: [0.0; MOST],
            sums: labels.iter().map(|_| zero()).collect(),
        };
        averages.over(0, 1.0);
        for (sums, out) in averages.sums.iter().zip(out) {
            out.set_zero();
            sums.write(&averages.root, k, out);
        }
        Ok(())
    }
}

impl RowLikelihood for RowFunction {
    const NAME: &'static str = "row_function";

    fn dim(&self) -> usize {
        self.fields
    }

    fn labels(&self) -> Vec<f64> {
        self.labels.clone()
    }

    fn tilted(
        &self,
        y: f64,
        v: &[f64],
        omega: &[f64],
        out: &mut RowTilt,
    ) -> Result<(), FactorError> {
        self.tilts(&[y], v, omega, std::slice::from_mut(out))
    }

    fn tilted_each(
        &self,
        v: &[f64],
        omega: &[f64],
        out: &mut [RowTilt],
    ) -> Result<(), FactorError> {
        self.tilts(&self.labels, v, omega, out)
    }

    fn log_probability(&self, y: f64, z: &[f64]) -> f64 {
        (self.probability)(y, z).ln()
    }

    fn sample(&self, rng: &mut dyn Rng, z: &[f64]) -> f64 {
        let mut u: f64 = rng.random();
        let chosen = self.labels.iter().find(|y| {
            u -= (self.probability)(**y, z);
            u < 0.0
        });
        // what is left is the rounding of the sum of probabilities
        chosen.or(self.labels.last()).copied().unwrap_or(f64::NAN)
    }

    fn edges(&self) -> Vec<f64> {
        self.edges.clone()
    }

    /// Not known: it may depend on the fields.
    fn noise_entropy(&self) -> Option<f64> {
        None
    }
}
