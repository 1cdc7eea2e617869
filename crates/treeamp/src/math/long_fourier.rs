//! The DFT of one long axis in place, by four steps over a matrix that fits in the cache a stripe at a time.
//!
//! With $N = R\cdot C$, $n = C n_1 + n_2$ and $k = k_1 + R k_2$, $\omega_N = e^{\mp 2\pi i/N}$,
//! $$c_k = \sum_{n_2}\omega_C^{n_2 k_2}\,\omega_N^{n_2 k_1}\sum_{n_1}\omega_R^{n_1 k_1} x_n:$$
//! columns, twiddles, rows, and a transposition (Bailey). $R$ is the largest number whose square divides $N$, so that
//! $C = BR$ and the transposition is one of $B$ square blocks followed by a change of order of rows. A plan holds
//! tables of $O(\sqrt N)$ numbers where a direct one holds several arrays of length $N$.
//!
//! A real axis of even length is a complex one of half of it, and $c_k = E_k + \omega_N^k O_k$ with the transforms $E$, $O$ of
//! its even and odd places.

use std::f64::consts::TAU;
use std::sync::Arc;

use num_complex::Complex64;
use rustfft::{Fft, FftDirection, FftPlanner};

/// Columns that are moved at once: 256 bytes of each row.
const BLOCK: usize = 16;
/// Shorter axes have small tables anyway.
const SHORTEST: usize = 1 << 14;

/// The roots of unity $e^{-2\pi i k/N}$, as products of two of $O(\sqrt N)$.
struct Roots {
    low: Vec<Complex64>,
    high: Vec<Complex64>,
    shift: u32,
}

impl Roots {
    fn new(n: usize) -> Self {
        let shift = (usize::BITS - n.leading_zeros()).div_ceil(2);
        let root = |k: usize| Complex64::cis(-TAU * (k as f64 / n as f64));
        Self {
            low: (0..1 << shift).map(root).collect(),
            high: (0..=n >> shift).map(|k| root(k << shift)).collect(),
            shift,
        }
    }

    fn at(&self, k: usize) -> Complex64 {
        self.low[k & (self.low.len() - 1)] * self.high[k >> self.shift]
    }
}

/// The transform of one long axis.
pub(super) struct LongAxis {
    /// $R$, $C$ and $B = C/R$.
    side: usize,
    wide: usize,
    blocks: usize,
    columns: [Arc<dyn Fft<f64>>; 2],
    rows: [Arc<dyn Fft<f64>>; 2],
    roots: Roots,
    /// Cycles of the change of order: each row takes the place of the one before it.
    cycles: Vec<Vec<usize>>,
}

/// The largest number whose square divides `n`.
fn square_side(n: usize) -> usize {
    let (mut rest, mut side, mut p) = (n, 1, 2);
    while p * p <= rest {
        while rest.is_multiple_of(p * p) {
            rest /= p * p;
            side *= p;
        }
        while rest.is_multiple_of(p) {
            rest /= p;
        }
        p += 1;
    }
    side
}

impl LongAxis {
    /// A plan for complex numbers; `None` where the axis is short or has no square to divide by.
    pub fn new(len: usize, planner: &mut FftPlanner<f64>) -> Option<Self> {
        let side = square_side(len);
        let blocks = len / (side * side);
        if len < SHORTEST || blocks > side {
            return None;
        }
        let wide = side * blocks;
        let mut plans =
            |n| [FftDirection::Forward, FftDirection::Inverse].map(|way| planner.plan_fft(n, way));
        Some(Self {
            side,
            wide,
            blocks,
            columns: plans(side),
            rows: plans(wide),
            roots: Roots::new(len),
            cycles: cycles(side, blocks),
        })
    }

    /// How many `f64` of scratch a transform needs.
    pub fn scratch_len(&self) -> usize {
        let inner = |plans: &[Arc<dyn Fft<f64>>; 2]| {
            let lens = plans.iter().map(|p| p.get_inplace_scratch_len());
            lens.max().unwrap_or(0)
        };
        let stripe = BLOCK * self.side + inner(&self.columns);
        2 * stripe.max(inner(&self.rows))
    }

    /// The unnormalised transform in place.
    pub fn transform(&self, data: &mut [f64], way: FftDirection, scratch: &mut [f64]) {
        let data: &mut [Complex64] = bytemuck::cast_slice_mut(data);
        let scratch: &mut [Complex64] = bytemuck::cast_slice_mut(scratch);
        let of = usize::from(way == FftDirection::Inverse);
        self.transform_columns(data, self.columns[of].as_ref(), scratch);
        let rows = self.rows[of].as_ref();
        rows.process_with_scratch(data, &mut scratch[..rows.get_inplace_scratch_len()]);
        for block in 0..self.blocks {
            self.transpose(data, block * self.side);
        }
        self.reorder(data, &mut scratch[..self.side]);
    }

    fn transform_columns(
        &self,
        data: &mut [Complex64],
        fft: &dyn Fft<f64>,
        scratch: &mut [Complex64],
    ) {
        let (side, wide) = (self.side, self.wide);
        let conjugate = fft.fft_direction() == FftDirection::Inverse;
        let (stripe, rest) = scratch.split_at_mut(BLOCK * side);
        let rest = &mut rest[..fft.get_inplace_scratch_len()];
        for first in (0..wide).step_by(BLOCK) {
            let width = BLOCK.min(wide - first);
            for l in 0..side {
                let from = &data[l * wide + first..][..width];
                for (w, c) in from.iter().enumerate() {
                    stripe[w * side + l] = *c;
                }
            }
            fft.process_with_scratch(&mut stripe[..width * side], rest);
            for l in 0..side {
                let to = &mut data[l * wide + first..][..width];
                for (w, c) in to.iter_mut().enumerate() {
                    let root = self.roots.at(l * (first + w));
                    let root = if conjugate { root.conj() } else { root };
                    *c = stripe[w * side + l] * root;
                }
            }
        }
    }

    /// The square block whose columns start at `first`, tile by tile.
    fn transpose(&self, data: &mut [Complex64], first: usize) {
        let (side, wide) = (self.side, self.wide);
        let place = |i: usize, j: usize| i * wide + first + j;
        for top in (0..side).step_by(BLOCK) {
            for left in (top..side).step_by(BLOCK) {
                for i in top..side.min(top + BLOCK) {
                    for j in left.max(i + 1)..side.min(left + BLOCK) {
                        data.swap(place(i, j), place(j, i));
                    }
                }
            }
        }
    }

    fn reorder(&self, data: &mut [Complex64], row: &mut [Complex64]) {
        let side = self.side;
        for cycle in &self.cycles {
            let first = cycle[0] * side;
            row.copy_from_slice(&data[first..first + side]);
            for pair in cycle.windows(2) {
                let from = pair[1] * side;
                data.copy_within(from..from + side, pair[0] * side);
            }
            let last = cycle[cycle.len() - 1] * side;
            data[last..last + side].copy_from_slice(row);
        }
    }
}

/// The row that belongs at $j = b R + a$ is found at $a B + b$.
fn cycles(side: usize, blocks: usize) -> Vec<Vec<usize>> {
    let source = |j: usize| j % side * blocks + j / side;
    let mut seen = vec![false; side * blocks];
    let mut cycles = Vec::new();
    for start in 0..seen.len() {
        let mut cycle = Vec::new();
        let mut at = start;
        while !seen[at] {
            seen[at] = true;
            cycle.push(at);
            at = source(at);
        }
        if cycle.len() > 1 {
            cycles.push(cycle);
        }
    }
    cycles
}

/// The transform of one long real axis of even length into its first half of coefficients.
pub(super) struct LongReal {
    half: LongAxis,
    roots: Roots,
}

impl LongReal {
    /// A plan; `None` where the axis is odd, short or has no square to divide by.
    pub fn new(len: usize, planner: &mut FftPlanner<f64>) -> Option<Self> {
        if !len.is_multiple_of(2) {
            return None;
        }
        let half = LongAxis::new(len / 2, planner)?;
        let roots = Roots::new(len);
        Some(Self { half, roots })
    }

    /// How many `f64` of scratch a transform needs.
    pub fn scratch_len(&self) -> usize {
        self.half.scratch_len()
    }

    /// `out` = the coefficients $0 \dots N/2$ of `x`.
    pub fn forward(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let n = x.len();
        out[..n].copy_from_slice(x);
        self.half
            .transform(&mut out[..n], FftDirection::Forward, scratch);
        let out: &mut [Complex64] = bytemuck::cast_slice_mut(out);
        let m = n / 2;
        let first = out[0];
        out[0] = Complex64::from(first.re + first.im);
        out[m] = Complex64::from(first.re - first.im);
        for k in 1..=m / 2 {
            let (x, y) = (out[k], out[m - k].conj());
            let even = 0.5 * (x + y);
            let odd = -Complex64::I * 0.5 * (x - y) * self.roots.at(k);
            out[k] = even + odd;
            out[m - k] = (even - odd).conj();
        }
    }

    /// `out` = $N$ times the array with coefficients `y`, which is overwritten.
    pub fn inverse(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        let n = out.len();
        let m = n / 2;
        {
            let y: &mut [Complex64] = bytemuck::cast_slice_mut(y);
            let (first, last) = (y[0].re, y[m].re);
            y[0] = Complex64::new(first + last, first - last);
            for k in 1..=m / 2 {
                let (a, b) = (y[k], y[m - k].conj());
                let even = a + b;
                let odd = (a - b) * self.roots.at(k).conj();
                y[k] = even + Complex64::I * odd;
                y[m - k] = (even - Complex64::I * odd).conj();
            }
        }
        self.half
            .transform(&mut y[..n], FftDirection::Inverse, scratch);
        out.copy_from_slice(&y[..n]);
    }
}
