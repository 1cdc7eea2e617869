//! The messages: see the formulas of the [module](super).

use super::product::{Layout, multiply};
use super::side::Side;
use super::start::Start;
use crate::belief::{Gaussian, Structure};
use crate::error::FactorError;
use crate::factor::{Context, Workspace};

/// The memory of a product of hidden matrices.
#[derive(Debug, Clone)]
pub(super) struct LowRankWork {
    pub layout: Layout,
    pub rank: usize,
    /// Of $U$ and $V$, or of $X$ alone.
    pub sides: Vec<Side>,
    /// A product, column by column.
    pub product: Vec<f64>,
    /// $M_i$ and $K_i$ of every row, for diagonal beliefs on $Z$.
    rows: Vec<f64>,
    pulls: Vec<f64>,
    /// Room for three matrices of $r \times r$.
    room: [Vec<f64>; 3],
    /// Where it began, if the means said nothing.
    pub start: Option<Start>,
}

impl LowRankWork {
    pub fn new(layout: Layout, rank: usize, structures: &[Structure], z: Structure) -> Self {
        let lengths = [layout.rows(), layout.columns()];
        let sides = structures.iter().zip(lengths);
        let most = lengths[0].max(lengths[1]);
        let each = if z == Structure::Isotropic {
            0
        } else {
            most * rank * rank
        };
        let square = || vec![0.0; rank * rank];
        Self {
            layout,
            rank,
            sides: sides.map(|(s, n)| Side::new(n, rank, *s)).collect(),
            product: vec![0.0; most * rank],
            rows: vec![0.0; each],
            pulls: vec![0.0; each],
            room: [square(), square(), square()],
            start: None,
        }
    }

    /// The side at the other end of a row of `side`.
    pub fn other(&self, side: usize) -> usize {
        self.sides.len() - 1 - side
    }
}

/// The messages around it, and its memory.
pub(super) struct Amp<'a> {
    pub z: &'a Gaussian,
    pub sides: Vec<&'a Gaussian>,
    pub work: &'a mut LowRankWork,
    known: bool,
}

impl<'a> Amp<'a> {
    /// For the message to a port, or for the potential.
    pub fn new<'c: 'a>(
        context: &'a mut Context<'c>,
        target: Option<usize>,
    ) -> Result<Self, FactorError> {
        let incoming = context.incoming;
        let sent = context.sent.ok_or_else(|| {
            FactorError::Unsupported(
                "a product of hidden matrices needs its own last messages, which it has in a run only".to_owned(),
            )
        })?;
        let workspace: &'a mut Workspace = context.workspace;
        let work: &mut LowRankWork = workspace.get()?;
        let count = work.sides.len();
        let z = incoming.get(count);
        if z.precision.data().contains(&f64::INFINITY) {
            return Err(exact_entries());
        }
        let mut known = true;
        for (port, side) in work.sides.iter_mut().enumerate() {
            let anew = target.is_none_or(|target| target == count);
            known &= side.update(incoming.get(port), sent.get(port), anew)?;
        }
        Ok(Self {
            z,
            sides: (0..count).map(|port| incoming.get(port)).collect(),
            work,
            known,
        })
    }

    pub fn is_known(&self) -> bool {
        self.known
    }

    pub fn message(&mut self, target: usize, out: &mut Gaussian) {
        if !self.known {
            out.set_flat();
        } else if target == self.work.sides.len() {
            self.output_message(out);
        } else {
            self.input_message(target, out);
        }
    }

    /// $1/N$.
    fn share(&self) -> f64 {
        1.0 / self.work.layout.columns() as f64
    }

    fn input_message(&mut self, target: usize, out: &mut Gaussian) {
        let other = self.work.other(target);
        if self.work.sides[other].says_nothing() {
            Start::take(self.work, &self.z.linear, target);
        }
        let share = self.share();
        let work = &mut *self.work;
        work.sides[target].note();
        let (r, n) = (work.rank, work.sides[target].rows);
        let entries = &self.z.linear;
        let product = &mut work.product[..n * r];
        let columns = &work.sides[other].columns;
        let square = multiply(work.layout, entries, target == 1, columns, product);
        let root = share.sqrt();
        product.iter_mut().for_each(|p| *p *= root);
        let shared = (self.z.structure() == Structure::Isotropic).then(|| {
            let count = (entries.len() as f64).max(1.0);
            (share * self.z.precision.scalar(), share * square / count)
        });
        if shared.is_none() {
            work.add_up_rows(self.z, target, share);
        }
        // A_i of every row, and its average
        let mut average = 0.0;
        for i in 0..n {
            work.row_terms(target, i, shared);
            let [m, k, _] = &work.room;
            let [difference, pull] = [m, k].map(|x| (0..r).map(|l| x[l * r + l]).sum::<f64>());
            average += difference - pull;
            work.write_row(target, i, out);
        }
        if out.structure() == Structure::Isotropic {
            average /= (n * r) as f64;
            out.precision.set_scalar(average);
            let means = &work.sides[target].mean;
            let each = out.linear.iter_mut().zip(means);
            each.for_each(|(b, m)| *b += average * m);
        }
    }

    fn output_message(&mut self, out: &mut Gaussian) {
        let share = self.share();
        let work = &mut *self.work;
        let b = &self.z.linear;
        if self.z.structure() != Structure::Isotropic {
            work.write_entries(self.z, share, out);
            return;
        }
        let a = self.z.precision.scalar();
        let count = (b.len() as f64).max(1.0);
        let (spread, both) = work.entry_sums();
        let (v, both) = (share * (spread + both) / count, share * both / count);
        work.inner_products(&mut out.linear);
        let root = share.sqrt();
        for (o, b) in out.linear.iter_mut().zip(b) {
            let mean = root * *o + b * both;
            *o = if v > 0.0 {
                mean / v - (b - a * mean)
            } else {
                mean
            };
        }
        out.precision
            .set_scalar(if v > 0.0 { 1.0 / v } else { f64::INFINITY });
    }
}

impl LowRankWork {
    /// $M_i$ and $K_i$ into the room; `shared` is $a/N$ and $\overline{b^2}/N$ of an isotropic belief on $Z$.
    fn row_terms(&mut self, target: usize, i: usize, shared: Option<(f64, f64)>) {
        let square = self.rank * self.rank;
        let other = self.other(target);
        let [m, k, own] = &mut self.room;
        let Some((a, b2)) = shared else {
            m.copy_from_slice(&self.rows[i * square..(i + 1) * square]);
            k.copy_from_slice(&self.pulls[i * square..(i + 1) * square]);
            return;
        };
        let side = &self.sides[other];
        for l in 0..square {
            m[l] = a * (side.square[l] + side.total_spread[l]);
            k[l] = b2 * side.total_spread[l];
        }
        if self.sides.len() == 1 {
            // a row does not pair with itself
            side.spread_of(i, own);
            let mean = side.row(i);
            for l in 0..square {
                m[l] -= a * (mean[l / self.rank] * mean[l % self.rank] + own[l]);
                k[l] -= b2 * own[l];
            }
        }
    }

    /// Precision and linear part of row `i`; of an isotropic belief the linear part is that without the average $A\hat u_i$.
    fn write_row(&self, target: usize, i: usize, out: &mut Gaussian) {
        let (r, side) = (self.rank, &self.sides[target]);
        let [m, k, _] = &self.room;
        let (now, before) = (side.row(i), side.row_before(i));
        for p in 0..r {
            let mut b = self.product[p * side.rows + i];
            for q in 0..r {
                let l = p * r + q;
                b -= k[l] * before[q];
                // what the structure leaves out of A_i
                let left = match side.structure {
                    Structure::Isotropic => true,
                    Structure::Diagonal => p != q,
                    _ => false,
                };
                if left {
                    b -= (m[l] - k[l]) * now[q];
                }
            }
            out.linear[i * r + p] = b;
        }
        match side.structure {
            Structure::Isotropic => {}
            Structure::Diagonal => {
                for p in 0..r {
                    out.precision.data_mut()[i * r + p] = m[p * r + p] - k[p * r + p];
                }
            }
            _ => {
                let (form, matrix, _) = out.block_mut(i);
                *form = crate::belief::Form::Natural;
                for (x, (m, k)) in matrix.iter_mut().zip(m.iter().zip(k)) {
                    *x = m - k;
                }
            }
        }
    }

    /// $M_i$ and $K_i$ of every row from entries of their own.
    fn add_up_rows(&mut self, z: &Gaussian, target: usize, share: f64) {
        let (r, square) = (self.rank, self.rank * self.rank);
        let other = self.other(target);
        self.rows.fill(0.0);
        self.pulls.fill(0.0);
        let [whole, spread, _] = &mut self.room;
        let side = &self.sides[other];
        // every row of the other side once, against all entries of its line
        for j in 0..side.rows {
            side.spread_of(j, spread);
            let mean = side.row(j);
            for l in 0..square {
                whole[l] = mean[l / r] * mean[l % r] + spread[l];
            }
            self.layout.line(j, target == 1, |i, entry| {
                let (a, b) = (z.precision.data()[entry], z.linear[entry]);
                let (a, b2) = (share * a, share * b * b);
                for l in 0..square {
                    self.rows[i * square + l] += a * whole[l];
                    self.pulls[i * square + l] += b2 * spread[l];
                }
            });
        }
    }

    /// $\sum_{ij}[\hat u_i^T\Sigma'_j\hat u_i + \hat v_j^T\Sigma_i\hat v_j]$ and $\sum_{ij}\mathrm{tr}\,\Sigma_i\Sigma'_j$ over entries.
    pub fn entry_sums(&mut self) -> (f64, f64) {
        let trace = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (first, last) = (&self.sides[0], &self.sides[self.sides.len() - 1]);
        let spread =
            trace(&first.square, &last.total_spread) + trace(&first.total_spread, &last.square);
        let both = trace(&first.total_spread, &last.total_spread);
        if self.sides.len() == 2 {
            return (spread, both);
        }
        let (mut own_spread, mut own_both) = (0.0, 0.0);
        let r = self.rank;
        for i in 0..first.rows {
            first.spread_of(i, &mut self.room[0]);
            let (v, mean) = (&self.room[0], first.row(i));
            own_both += trace(v, v);
            for l in 0..r * r {
                own_spread += 2.0 * mean[l / r] * mean[l % r] * v[l];
            }
        }
        (0.5 * (spread - own_spread), 0.5 * (both - own_both))
    }

    /// $\sum_{ij}(\hat u_i^T\hat v_j)^2$ over entries.
    pub fn square_sum(&self) -> f64 {
        let (first, last) = (&self.sides[0], &self.sides[self.sides.len() - 1]);
        let pairs = first.square.iter().zip(&last.square);
        let all: f64 = pairs.map(|(x, y)| x * y).sum();
        if self.sides.len() == 2 {
            return all;
        }
        let norm = |i: usize| first.row(i).iter().map(|x| x * x).sum::<f64>();
        let own: f64 = (0..first.rows).map(|i| norm(i).powi(2)).sum();
        0.5 * (all - own)
    }

    /// $\sum_{ij}[a_{ij}\mathrm{tr}(\hat u_i\hat u_i^T + \Sigma_i)(\hat v_j\hat v_j^T + \Sigma'_j) - b_{ij}^2\mathrm{tr}\,\Sigma_i\Sigma'_j]$ of entries
    /// with precisions of their own.
    pub fn entry_terms(&mut self, z: &Gaussian) -> f64 {
        let mut value = 0.0;
        self.each_entry(|entry, inner, spread, both| {
            let (a, b) = (z.precision.data()[entry], z.linear[entry]);
            value += a * (inner * inner + spread + both) - b * b * both;
        });
        value
    }

    /// Calls `f` with every entry, its $\hat u_i^T\hat v_j$, $\hat u_i^T\Sigma'_j\hat u_i + \hat v_j^T\Sigma_i\hat v_j$ and $\mathrm{tr}\,\Sigma_i\Sigma'_j$.
    fn each_entry(&mut self, mut f: impl FnMut(usize, f64, f64, f64)) {
        let [mine, theirs, _] = &mut self.room;
        let (first, last) = (&self.sides[0], &self.sides[self.sides.len() - 1]);
        let r = self.rank;
        for i in 0..self.layout.rows() {
            first.spread_of(i, mine);
            let u = first.row(i);
            let (range, from) = self.layout.range(i);
            for (j, entry) in (from..).zip(range) {
                last.spread_of(j, theirs);
                let v = last.row(j);
                let (mut spread, mut both) = (0.0, 0.0);
                for l in 0..r * r {
                    let (p, q) = (l / r, l % r);
                    spread += u[p] * u[q] * theirs[l] + v[p] * v[q] * mine[l];
                    both += mine[l] * theirs[l];
                }
                let inner = u.iter().zip(v).map(|(u, v)| u * v).sum();
                f(entry, inner, spread, both);
            }
        }
    }

    /// $\hat u_i^T\hat v_j$ of every entry.
    fn inner_products(&self, out: &mut [f64]) {
        let (first, last) = (&self.sides[0], &self.sides[self.sides.len() - 1]);
        let n = last.rows;
        for i in 0..self.layout.rows() {
            let (range, from) = self.layout.range(i);
            let row = &mut out[range];
            for (k, u) in first.row(i).iter().enumerate() {
                let v = &last.columns[k * n + from..(k + 1) * n];
                if k == 0 {
                    row.iter_mut().zip(v).for_each(|(o, v)| *o = u * v);
                } else {
                    row.iter_mut().zip(v).for_each(|(o, v)| *o += u * v);
                }
            }
        }
    }

    /// The message to entries with precisions of their own.
    fn write_entries(&mut self, z: &Gaussian, share: f64, out: &mut Gaussian) {
        let root = share.sqrt();
        let (precisions, linear) = (out.precision.data_mut(), &mut out.linear);
        self.each_entry(|entry, inner, spread, both| {
            let (a, b) = (z.precision.data()[entry], z.linear[entry]);
            let mean = root * inner + share * b * both;
            let variance = share * (spread + both);
            precisions[entry] = 1.0 / variance;
            linear[entry] = if variance > 0.0 {
                mean / variance - (b - a * mean)
            } else {
                mean
            };
        });
    }
}

/// The expansion about zero has nothing to say of entries that are known.
pub(super) fn exact_entries() -> FactorError {
    FactorError::Unsupported(
        "its entries are seen without noise: expected an output whose log-likelihood is twice differentiable at zero".to_owned(),
    )
}
