//! The linear channel between isotropic and diagonal beliefs where the operator has few entries: the primal solution of `structured.rs` from a sparse
//! Cholesky factor of $P = a_z + W^T a_x W$ and the entries of $\Sigma = P^{-1}$ on its pattern.
//!
//! With $h = W^T b_x$, $r = \Sigma(b_z + h)$ and $G = W^T a_x W$, component by component:
//!
//! - to $z$: $a'_i = \frac{(\Sigma G)_{ii}}{\Sigma_{ii}}$ and $b'_i = a'_i r_i + h_i - (G r)_i$, which subtracts nothing of the size of $a_z$,
//! - to $x$: $v_i = (W\Sigma W^T)_{ii}$, $a'_i = \frac{1 - a_{x,i}v_i}{v_i}$ and $b'_i = \frac{(W r)_i}{v_i} - b_{x,i}$.
//!
//! Pairs of columns that share a row of $W$ are on the pattern, so every diagonal entry is a sum over the entries of rows.
//! An isotropic end has the averages over its components in place of the diagonal entries.

use std::f64::consts::TAU;

use faer::Col;

use super::extrinsic::write;
use super::spread::{Spread, as_density, as_natural};
use super::{X, Z};
use crate::belief::{Gaussian, Structure};
use crate::error::FactorError;
use crate::math::sparse_cholesky::{Factor, Pattern};
use crate::operator::{LinearOperator, SparseMatrix};

/// Products of dense algebra that take the time of one of the sparse factorisation, whose entries are found one by one.
const SLOWER: f64 = 10.0;
/// Pairs of entries of a row, per row and column of the matrix, beyond which it is not sparse.
const PAIRS: usize = 64;

/// What does not change from sweep to sweep: the matrix, and the pattern of the factor.
#[derive(Debug)]
pub(super) struct SparseSide {
    w: SparseMatrix,
    pattern: Pattern,
    /// Where the pairs of entries of a row are stored, row by row: $(0, 0), (1, 0), (1, 1), \ldots$
    slots: Vec<u32>,
    /// Where the diagonal is.
    diagonal: Vec<u32>,
}

impl SparseSide {
    /// Of an operator that has few entries; `None` of any other, and where dense algebra on the smaller side takes less time.
    pub fn of(operator: &dyn LinearOperator) -> Option<Self> {
        let entries = operator.entries()?;
        let (rows, cols) = (operator.output().len(), operator.input().len());
        let w = SparseMatrix::from_triplets(rows, cols, &entries).ok()?;
        let pairs = |i: usize| {
            let n = w.row(i).count();
            n * (n + 1) / 2
        };
        let pairs: usize = (0..rows).map(pairs).sum();
        if pairs > PAIRS * (rows + cols) {
            return None;
        }
        let pattern = Pattern::new(&neighbours(&w, cols));
        let side = rows.min(cols) as f64;
        if SLOWER * pattern.work() > side * side * rows.max(cols) as f64 {
            return None;
        }
        let slot =
            |i: usize, j: usize| pattern.slot(i, j).and_then(|slot| u32::try_from(slot).ok());
        let mut slots = Vec::with_capacity(pairs);
        for i in 0..rows {
            for (p, (j, _)) in w.row(i).enumerate() {
                for (k, _) in w.row(i).take(p + 1) {
                    slots.push(slot(j, k)?);
                }
            }
        }
        let diagonal: Option<Vec<u32>> = (0..cols).map(|j| slot(j, j)).collect();
        Some(Self {
            diagonal: diagonal?,
            w,
            pattern,
            slots,
        })
    }

    /// Numbers that a solution takes: the factor, its inverse, and the places of entries.
    pub fn len(&self) -> usize {
        3 * self.pattern.entries() + self.slots.len()
    }

    /// Products that a factorisation takes.
    pub fn work(&self) -> f64 {
        self.pattern.work()
    }

    /// Calls `f(row, column, other column, product of their entries, slot)` for every pair of entries of a row.
    fn each_pair(&self, mut f: impl FnMut(usize, usize, usize, f64, usize)) {
        let mut slots = self.slots.iter();
        for i in 0..self.w.output().len() {
            for (p, (j, one)) in self.w.row(i).enumerate() {
                let earlier = self.w.row(i).take(p + 1);
                for ((k, other), slot) in earlier.zip(&mut slots) {
                    f(i, j, k, one * other, *slot as usize);
                }
            }
        }
    }

    fn apply(&self, z: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.w.output().len()];
        self.w.apply(z, &mut out, &mut []);
        out
    }

    fn adjoint(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.w.input().len()];
        self.w.adjoint(x, &mut out, &mut []);
        out
    }
}

/// Columns that share a row.
fn neighbours(w: &SparseMatrix, cols: usize) -> Vec<Vec<u32>> {
    let mut graph = vec![Vec::new(); cols];
    for i in 0..w.output().len() {
        for (j, _) in w.row(i) {
            let others = w.row(i).map(|(k, _)| k).filter(|k| *k != j);
            graph[j].extend(others.filter_map(|k| u32::try_from(k).ok()));
        }
    }
    for near in &mut graph {
        near.sort_unstable();
        near.dedup();
    }
    graph
}

/// Natural parameters of both ends.
struct Known {
    a_z: Spread,
    b_z: Col<f64>,
    a_x: Spread,
    b_x: Col<f64>,
}

/// The two messages, between ends that are isotropic or diagonal.
pub(super) struct Sparse<'a> {
    pub side: &'a SparseSide,
    pub z: &'a Gaussian,
    pub x: &'a Gaussian,
}

impl<'a> Sparse<'a> {
    /// `None` where an end is full, or exactly known.
    pub fn new(side: &'a SparseSide, z: &'a Gaussian, x: &'a Gaussian) -> Option<Self> {
        let readable = |m: &Gaussian| {
            matches!(m.structure(), Structure::Isotropic | Structure::Diagonal)
                && m.precision.data().iter().all(|a| a.is_finite())
        };
        (readable(z) && readable(x)).then_some(Self { side, z, x })
    }

    fn known(&self) -> Result<Known, FactorError> {
        let (Some((a_z, b_z)), Some((a_x, b_x))) = (as_natural(self.z), as_natural(self.x)) else {
            return Err(FactorError::Failed("an end is not finite".to_owned()));
        };
        Ok(Known { a_z, b_z, a_x, b_x })
    }

    /// The factor of $P$.
    fn factor(&self, known: &Known) -> Result<Factor<'a>, FactorError> {
        let side = self.side;
        let mut entries = vec![0.0; side.pattern.entries()];
        for (j, slot) in side.diagonal.iter().enumerate() {
            entries[*slot as usize] = known.a_z.at(j);
        }
        side.each_pair(|i, _, _, product, slot| entries[slot] += known.a_x.at(i) * product);
        side.pattern.factor(entries).ok_or_else(|| {
            let what = "the precisions on its input and on its output leave a negative variance";
            FactorError::Improper(what.to_owned())
        })
    }

    pub fn message(&self, target: usize, out: &mut Gaussian) -> Result<(), FactorError> {
        if self.z.is_flat() && self.x.is_flat() {
            out.set_flat();
            return Ok(());
        }
        let known = self.known()?;
        let factor = match self.factor(&known) {
            Ok(factor) => factor,
            // what is not seen of a flat input stays unknown
            Err(FactorError::Improper(_)) if target == Z && self.z.is_flat() => {
                out.set_flat();
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let h = self.side.adjoint(&self.x.linear);
        let b: Vec<f64> = h
            .iter()
            .enumerate()
            .map(|(j, h)| known.b_z[j] + h)
            .collect();
        let mean = factor.solve(&b);
        let sigma = factor.selected_inverse();
        if target == X {
            self.to_output(&known, &mean, &sigma, out);
        } else {
            self.to_input(&known, &h, &mean, &sigma, out);
        }
        Ok(())
    }

    fn to_input(&self, known: &Known, h: &[f64], mean: &[f64], sigma: &[f64], out: &mut Gaussian) {
        let side = self.side;
        let mut learnt = vec![0.0; mean.len()];
        side.each_pair(|i, j, k, product, slot| {
            let share = known.a_x.at(i) * product * sigma[slot];
            learnt[j] += share;
            if k != j {
                learnt[k] += share;
            }
        });
        let mut seen = side.apply(mean);
        seen.iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x *= known.a_x.at(i));
        let pull = side.adjoint(&seen);
        write(
            out,
            |j| (learnt[j], sigma[side.diagonal[j] as usize]),
            |j, top, bottom| top / bottom * mean[j] + (h[j] - pull[j]),
            |j| mean[j],
        );
    }

    fn to_output(&self, known: &Known, mean: &[f64], sigma: &[f64], out: &mut Gaussian) {
        let seen = self.side.apply(mean);
        let variance = self.output_variances(sigma);
        write(
            out,
            |i| (1.0 - known.a_x.at(i) * variance[i], variance[i]),
            |i, _, bottom| seen[i] / bottom - known.b_x[i],
            |i| seen[i],
        );
    }

    /// $(W\Sigma W^T)_{ii}$.
    fn output_variances(&self, sigma: &[f64]) -> Vec<f64> {
        let mut variance = vec![0.0; self.x.len()];
        self.side.each_pair(|i, j, k, product, slot| {
            let twice = if j == k { 1.0 } else { 2.0 };
            variance[i] += twice * product * sigma[slot];
        });
        variance
    }

    /// $A - A[m_z] - A[m_x]$. Of two densities it is $\ln\mathcal N(m_x; W m_z, S_x + W S_z W^T)$: with the gap $g = m_x - W m_z$ and
    /// $\delta = \Sigma W^T a_x g$ the exponent is $(g - W\delta)^T a_x(g - W\delta) + \delta^T a_z\delta$, and the determinant is
    /// $\det P/\det a_x\det a_z$.
    pub fn excess(&self) -> Result<f64, FactorError> {
        let known = self.known()?;
        let factor = match self.factor(&known) {
            Ok(factor) => factor,
            Err(FactorError::Improper(_)) => return Ok(f64::INFINITY),
            Err(error) => return Err(error),
        };
        let (rows, cols) = (self.x.len(), self.z.len());
        let (Some((_, m_z)), Some((_, m_x))) = (as_density(self.z), as_density(self.x)) else {
            let h = self.side.adjoint(&self.x.linear);
            let b: Vec<f64> = h
                .iter()
                .enumerate()
                .map(|(j, h)| known.b_z[j] + h)
                .collect();
            let fit: f64 = factor.solve(&b).iter().zip(&b).map(|(r, b)| r * b).sum();
            let own = self.z.own_potential() + self.x.own_potential();
            let volume = cols as f64 * TAU.ln() - factor.log_det();
            return Ok(0.5 * fit + 0.5 * volume - own);
        };
        let m_z: Vec<f64> = (0..cols).map(|j| m_z[j]).collect();
        let mut gap = self.side.apply(&m_z);
        gap.iter_mut()
            .enumerate()
            .for_each(|(i, g)| *g = m_x[i] - *g);
        let weighted: Vec<f64> = (0..rows).map(|i| known.a_x.at(i) * gap[i]).collect();
        let step = factor.solve(&self.side.adjoint(&weighted));
        let moved = self.side.apply(&step);
        let left: f64 = (0..rows)
            .map(|i| known.a_x.at(i) * (gap[i] - moved[i]).powi(2))
            .sum();
        let right: f64 = (0..cols).map(|j| known.a_z.at(j) * step[j] * step[j]).sum();
        let own: f64 = (0..rows).map(|i| known.a_x.at(i).ln()).sum::<f64>()
            + (0..cols).map(|j| known.a_z.at(j).ln()).sum::<f64>();
        let log_det = factor.log_det() - own + rows as f64 * TAU.ln();
        Ok(-0.5 * (left + right + log_det))
    }
}
