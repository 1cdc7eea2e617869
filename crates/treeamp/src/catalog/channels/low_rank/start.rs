//! A start away from the fixed point at which every mean is zero: the leading directions of the scores.
//!
//! With $X_{t+1} = 2\tilde B X_t - X_{t-1}$, $\tilde B = B/e$ and $e$ the edge of the spectrum of noise alone, directions in the bulk stay of order
//! one and those of a signal grow: the Chebyshev polynomials of the spectrum, and the linear form of the messages themselves. Of a
//! rectangular matrix it is $(B^T B - c)/d$ on the smaller side, with centre and half width of the law of Marchenko and Pastur.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::amp::LowRankWork;
use super::product::{Layout, mean_square, multiply};

/// Steps: a signal at the snr of 1.1 grows a hundredfold, one below the threshold not at all.
const STEPS: usize = 40;
/// Any number would do; a run must be the same every time.
const SEED: u64 = 0;
/// The share of the variance that the start claims to know.
const SHARE: f64 = 0.5;

/// The start of a product of hidden matrices.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// Orthonormal columns on every side, row by row.
    directions: Vec<Vec<f64>>,
    /// The sides whose message it has been used for.
    used: Vec<bool>,
}

impl Start {
    /// Means along the leading directions, for the message to `target`: once for each side.
    pub fn take(work: &mut LowRankWork, entries: &[f64], target: usize) {
        if work.start.is_none() {
            work.start = Self::find(work, entries);
        }
        let Some(start) = &mut work.start else { return };
        if start.used[target] {
            return;
        }
        start.used[target] = true;
        for (side, direction) in work.sides.iter_mut().zip(&start.directions) {
            let size = (SHARE * side.average_spread() * side.rows as f64).sqrt();
            let centre = side.average();
            let rows = side.mean.chunks_exact_mut(side.rank);
            for (row, direction) in rows.zip(direction.chunks_exact(side.rank)) {
                for ((m, c), d) in row.iter_mut().zip(&centre).zip(direction) {
                    *m = c + size * d;
                }
            }
            side.spread.iter_mut().for_each(|v| *v *= 1.0 - SHARE);
            side.sum_up();
            side.begin();
        }
    }

    fn find(work: &LowRankWork, entries: &[f64]) -> Option<Self> {
        let (layout, rank) = (work.layout, work.rank);
        let scale = mean_square(entries);
        if !(scale > 0.0) {
            return None;
        }
        let small = layout.rows().min(layout.columns());
        let transposed = layout.rows() > layout.columns();
        let large = layout.rows().max(layout.columns());
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        let mut now: Vec<f64> = (0..small * rank)
            .map(|_| StandardNormal.sample(&mut rng))
            .collect();
        let mut before = vec![0.0; small * rank];
        let mut next = before.clone();
        let mut across = vec![0.0; large * rank];
        // what all rows have in common is known already
        let common = work
            .sides
            .iter()
            .any(|s| s.average().iter().any(|x| *x != 0.0));
        let centred = |x: &mut [f64], n: usize| {
            for column in x.chunks_exact_mut(n).filter(|_| common) {
                let mean = column.iter().sum::<f64>() / n as f64;
                column.iter_mut().for_each(|x| *x -= mean);
            }
        };
        centred(&mut now, small);
        orthonormalise(&mut now, &mut before, small);
        let (n, m) = (small as f64, large as f64);
        for step in 0..STEPS {
            let (centre, width) = if matches!(layout, Layout::Pairs { .. }) {
                multiply(layout, entries, false, &now, &mut next);
                (0.0, 2.0 * (scale * n).sqrt())
            } else {
                multiply(layout, entries, !transposed, &now, &mut across);
                multiply(layout, entries, transposed, &across, &mut next);
                (scale * (n + m), 2.0 * scale * (n * m).sqrt())
            };
            // the first step of Chebyshev's recursion has no factor of two
            let factor = if step == 0 { 1.0 } else { 2.0 } / width;
            for ((x, now), before) in next.iter_mut().zip(&now).zip(&before) {
                *x = factor * (*x - centre * now) - before;
            }
            centred(&mut next, small);
            std::mem::swap(&mut before, &mut now);
            std::mem::swap(&mut now, &mut next);
            orthonormalise(&mut now, &mut before, small);
        }
        let mut columns = vec![now];
        if matches!(layout, Layout::Rectangular { .. }) {
            multiply(layout, entries, !transposed, &columns[0], &mut across);
            centred(&mut across, large);
            orthonormalise(&mut across, &mut [], large);
            columns.push(across);
            if transposed {
                columns.swap(0, 1);
            }
        }
        let directions: Vec<Vec<f64>> = columns.iter().map(|c| by_row(c, rank)).collect();
        let finite = directions.iter().flatten().all(|x| x.is_finite());
        finite.then(|| Self {
            used: vec![false; directions.len()],
            directions,
        })
    }
}

fn by_row(columns: &[f64], rank: usize) -> Vec<f64> {
    let n = columns.len() / rank;
    (0..n * rank)
        .map(|at| columns[(at % rank) * n + at / rank])
        .collect()
}

/// Orthonormal columns of `x`, and the same combinations of those of `along`, if there are any.
fn orthonormalise(x: &mut [f64], along: &mut [f64], n: usize) {
    let rank = x.len() / n;
    for k in 0..rank {
        for l in 0..k {
            let overlap: f64 = (0..n).map(|i| x[k * n + i] * x[l * n + i]).sum();
            for i in 0..n {
                x[k * n + i] -= overlap * x[l * n + i];
            }
            for i in 0..n.min(along.len()) {
                along[k * n + i] -= overlap * along[l * n + i];
            }
        }
        let norm = x[k * n..(k + 1) * n]
            .iter()
            .map(|x| x * x)
            .sum::<f64>()
            .sqrt();
        x[k * n..(k + 1) * n].iter_mut().for_each(|x| *x /= norm);
        if !along.is_empty() {
            along[k * n..(k + 1) * n]
                .iter_mut()
                .for_each(|x| *x /= norm);
        }
    }
}
