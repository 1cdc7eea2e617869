//! Orthonormal cosine coordinates of arrays in any number of dimensions: the modes of chains, an axis after the other.
//!
//! Between mirrors $c_k = \sqrt{\frac{2 - \delta_{k0}}{N}}\sum_n x_n\cos\frac{\pi(2n + 1)k}{2N}$. An axis is one Fourier
//! transform of its even entries followed by its odd ones backwards (Makhoul 1980): with $t_k = e^{-i\pi k/2N}V_k$ the sums
//! are $\mathrm{Re}\,t_k$ at $k$ and $-\mathrm{Im}\,t_k$ at $N - k$.
//!
//! From a mirror to a zero beyond the last entry $c_k = \frac{2}{\sqrt M}\sum_n x_n\cos\frac{\pi(2n + 1)(2k + 1)}{2M}$ with
//! $M = 2N + 1$: a symmetric matrix, its own inverse. The cosine is
//! $(-1)^{N + 1 + n + k}\sin\frac{2\pi(N - n)(N - k)}{M}$, so that with $(-1)^n x_n$ at $N - n$ and its negative at $N + 1 + n$ the
//! Fourier transform of length $M$ at $N - k$ is imaginary, and a second line travels in the imaginary part.

use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use num_complex::Complex64;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftPlanner};

/// Columns that an axis pass moves at once: 128 bytes of each row.
const BLOCK: usize = 16;

/// What the modes of an axis are at its last end; its first one is a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The last entry again.
    Mirror,
    /// A zero.
    Zero,
}

/// One axis.
struct Axis {
    len: usize,
    /// Numbers between neighbours along it.
    stride: usize,
    lines: Lines,
}

/// The transform of lines that lie one after the other, in their place.
enum Lines {
    Mirror(Mirror),
    Zero(Zero),
}

/// Of lines between two mirrors.
struct Mirror {
    len: usize,
    forward: Arc<dyn RealToComplex<f64>>,
    inverse: Arc<dyn ComplexToReal<f64>>,
    /// $e^{-i\pi k/2N}$ for $k \le N/2$.
    turns: Vec<Complex64>,
}

/// Of lines with a zero beyond the last entry.
struct Zero {
    len: usize,
    /// Of length $2N + 1$.
    fft: Arc<dyn Fft<f64>>,
}

/// The transform of arrays of one shape.
pub struct Cosine {
    axes: Vec<Axis>,
    scratch_len: usize,
    transforms: AtomicUsize,
}

impl fmt::Debug for Cosine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape: Vec<usize> = self.axes.iter().map(|a| a.len).collect();
        f.debug_struct("Cosine")
            .field("shape", &shape)
            .finish_non_exhaustive()
    }
}

impl Cosine {
    /// Plans the transform of arrays of a shape, with so many numbers in every place.
    #[must_use]
    pub fn new(shape: &[usize], lanes: usize, end: End) -> Self {
        let mut real = RealFftPlanner::new();
        let mut complex = FftPlanner::new();
        let mut stride = lanes;
        let mut axes = Vec::new();
        for &len in shape.iter().rev() {
            let lines = match end {
                End::Mirror => Lines::Mirror(Mirror::new(len, &mut real)),
                End::Zero => Lines::Zero(Zero::new(len, &mut complex)),
            };
            axes.push(Axis { len, stride, lines });
            stride *= len;
        }
        let scratch_len = axes.iter().map(Axis::scratch_len).max().unwrap_or(0);
        axes.reverse();
        Self {
            axes,
            scratch_len,
            transforms: AtomicUsize::new(0),
        }
    }

    /// How many `f64` of scratch a transform needs.
    #[must_use]
    pub fn scratch_len(&self) -> usize {
        self.scratch_len
    }

    /// How many transforms have been made.
    #[must_use]
    pub fn transforms(&self) -> usize {
        self.transforms.load(Ordering::Relaxed)
    }

    /// `out = ` coordinates of `x`, in the layout of `x`.
    pub fn analyse(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.pass(x, out, scratch, Lines::cosines);
    }

    /// `out = ` the array with coordinates `y`.
    pub fn synthesise(&self, y: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.pass(y, out, scratch, Lines::entries);
    }

    fn pass(
        &self,
        from: &[f64],
        out: &mut [f64],
        scratch: &mut [f64],
        lines: impl Fn(&Lines, &mut [f64], &mut [f64]),
    ) {
        self.transforms.fetch_add(1, Ordering::Relaxed);
        out.copy_from_slice(from);
        for axis in &self.axes {
            axis.each_block(out, scratch, |x, scratch| lines(&axis.lines, x, scratch));
        }
    }
}

impl Axis {
    /// A block of columns, and what a line needs.
    fn scratch_len(&self) -> usize {
        let block = if self.stride == 1 {
            0
        } else {
            BLOCK.min(self.stride) * self.len
        };
        block + self.lines.scratch_len()
    }

    /// Calls `f` with lines along the axis, some at a time, and what is left of the scratch.
    fn each_block(
        &self,
        data: &mut [f64],
        scratch: &mut [f64],
        f: impl Fn(&mut [f64], &mut [f64]),
    ) {
        if self.stride == 1 {
            f(data, scratch);
            return;
        }
        let (block, rest) = scratch.split_at_mut(BLOCK.min(self.stride) * self.len);
        for slab in data.chunks_exact_mut(self.len * self.stride) {
            for first in (0..self.stride).step_by(BLOCK) {
                let width = BLOCK.min(self.stride - first);
                for (l, row) in slab.chunks_exact(self.stride).enumerate() {
                    for (w, x) in row[first..first + width].iter().enumerate() {
                        block[w * self.len + l] = *x;
                    }
                }
                f(&mut block[..width * self.len], rest);
                for (l, row) in slab.chunks_exact_mut(self.stride).enumerate() {
                    for (w, x) in row[first..first + width].iter_mut().enumerate() {
                        *x = block[w * self.len + l];
                    }
                }
            }
        }
    }
}

impl Lines {
    fn scratch_len(&self) -> usize {
        match self {
            Self::Mirror(mirror) => mirror.scratch_len(),
            Self::Zero(zero) => zero.scratch_len(),
        }
    }

    /// Lines to their coordinates.
    fn cosines(&self, lines: &mut [f64], scratch: &mut [f64]) {
        match self {
            Self::Mirror(mirror) => lines
                .chunks_exact_mut(mirror.len)
                .for_each(|line| mirror.cosines(line, scratch)),
            Self::Zero(zero) => zero.swap(lines, scratch),
        }
    }

    /// Coordinates to their lines.
    fn entries(&self, lines: &mut [f64], scratch: &mut [f64]) {
        match self {
            Self::Mirror(mirror) => lines
                .chunks_exact_mut(mirror.len)
                .for_each(|line| mirror.entries(line, scratch)),
            Self::Zero(zero) => zero.swap(lines, scratch),
        }
    }
}

impl Zero {
    fn new(len: usize, planner: &mut FftPlanner<f64>) -> Self {
        Self {
            len,
            fft: planner.plan_fft_forward(2 * len + 1),
        }
    }

    /// Two lines with their mirror images, and the plan's own.
    fn scratch_len(&self) -> usize {
        2 * (self.fft.len() + self.fft.get_inplace_scratch_len())
    }

    /// Lines to their coordinates or back, which is the same map, two at a time.
    fn swap(&self, lines: &mut [f64], scratch: &mut [f64]) {
        let (odd, rest) = scratch.split_at_mut(2 * self.fft.len());
        let odd: &mut [Complex64] = bytemuck::cast_slice_mut(odd);
        let rest = &mut rest[..2 * self.fft.get_inplace_scratch_len()];
        let rest: &mut [Complex64] = bytemuck::cast_slice_mut(rest);
        let n = self.len;
        let sign = |odd: bool| if odd { -1.0 } else { 1.0 };
        let norm = (self.fft.len() as f64).sqrt().recip();
        for pair in lines.chunks_mut(2 * n) {
            let (one, other) = pair.split_at_mut(n);
            odd[0] = Complex64::ZERO;
            for (j, x) in one.iter().enumerate() {
                // the last line may be alone
                let y = other.get(j).copied().unwrap_or(0.0);
                let signed = sign(j % 2 == 1) * Complex64::new(*x, y);
                odd[n - j] = signed;
                odd[n + 1 + j] = -signed;
            }
            self.fft.process_with_scratch(odd, rest);
            for (k, x) in one.iter_mut().enumerate() {
                *x = sign((n + k) % 2 == 1) * norm * odd[n - k].im;
            }
            for (k, y) in other.iter_mut().enumerate() {
                *y = -sign((n + k) % 2 == 1) * norm * odd[n - k].re;
            }
        }
    }
}

impl Mirror {
    fn new(len: usize, planner: &mut RealFftPlanner<f64>) -> Self {
        let angle = |k: usize| -0.5 * PI * k as f64 / len as f64;
        Self {
            len,
            forward: planner.plan_fft_forward(len),
            inverse: planner.plan_fft_inverse(len),
            turns: (0..=len / 2)
                .map(|k| Complex64::from_polar(1.0, angle(k)))
                .collect(),
        }
    }

    /// A line that is sorted, its coefficients, and the plan's own.
    fn scratch_len(&self) -> usize {
        let plan = self.forward.get_scratch_len();
        let plan = plan.max(self.inverse.get_scratch_len());
        self.len + 2 * (self.turns.len() + plan)
    }

    /// $\sqrt{1/N}$ of the first coordinate and $\sqrt{2/N}$ of the others.
    fn norms(&self) -> (f64, f64) {
        let n = self.len as f64;
        (n.sqrt().recip(), (2.0 / n).sqrt())
    }

    /// A line, in its place, to its coordinates.
    fn cosines(&self, line: &mut [f64], scratch: &mut [f64]) {
        let (sorted, rest) = scratch.split_at_mut(self.len);
        let (values, rest) = rest.split_at_mut(2 * self.turns.len());
        let values: &mut [Complex64] = bytemuck::cast_slice_mut(values);
        let rest = &mut rest[..2 * self.forward.get_scratch_len()];
        for (n, x) in line.iter().enumerate() {
            sorted[self.place(n)] = *x;
        }
        let rest = bytemuck::cast_slice_mut(rest);
        let done = self.forward.process_with_scratch(sorted, values, rest);
        debug_assert!(done.is_ok(), "sized by the plan");
        let (first, other) = self.norms();
        for (k, (v, turn)) in values.iter().zip(&self.turns).enumerate() {
            let t = v * turn;
            if k > 0 {
                line[self.len - k] = -other * t.im;
            }
            line[k] = if k > 0 { other } else { first } * t.re;
        }
    }

    /// Coordinates, in their place, to their line.
    fn entries(&self, line: &mut [f64], scratch: &mut [f64]) {
        let (sorted, rest) = scratch.split_at_mut(self.len);
        let (values, rest) = rest.split_at_mut(2 * self.turns.len());
        let values: &mut [Complex64] = bytemuck::cast_slice_mut(values);
        let rest = &mut rest[..2 * self.inverse.get_scratch_len()];
        let (first, other) = self.norms();
        // the inverse of the sums, over the norms, and 1/N of the transform
        let (first, other) = (first, 0.5 * other);
        for (k, (v, turn)) in values.iter_mut().zip(&self.turns).enumerate() {
            *v = if k == 0 {
                Complex64::new(first * line[0], 0.0)
            } else {
                Complex64::new(other * line[k], -other * line[self.len - k]) * turn.conj()
            };
        }
        if self.len.is_multiple_of(2) {
            // real but for rounding, and the plan insists
            values[self.len / 2].im = 0.0;
        }
        let rest = bytemuck::cast_slice_mut(rest);
        let done = self.inverse.process_with_scratch(values, sorted, rest);
        debug_assert!(done.is_ok(), "sized by the plan");
        for (n, x) in line.iter_mut().enumerate() {
            *x = sorted[self.place(n)];
        }
    }

    /// Where an entry is sorted to: even ones first, then odd ones backwards.
    fn place(&self, n: usize) -> usize {
        if n.is_multiple_of(2) {
            n / 2
        } else {
            self.len - 1 - n / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coordinates are the sums that define them, and lead back, for lengths of every kind.
    #[test]
    fn coordinates_are_their_sums() {
        for shape in [
            vec![1],
            vec![2],
            vec![3],
            vec![7],
            vec![8],
            vec![128],
            vec![5, 6],
            vec![3, 1, 4],
            vec![4, 37],
            vec![3, 17, 5],
        ] {
            for (lanes, end) in [
                (1, End::Mirror),
                (2, End::Mirror),
                (1, End::Zero),
                (2, End::Zero),
            ] {
                let cosine = Cosine::new(&shape, lanes, end);
                let len = lanes * shape.iter().product::<usize>();
                let x: Vec<f64> = (0..len).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
                let (mut c, mut back) = (vec![0.0; len], vec![0.0; len]);
                // what a transform before it has left there does not matter
                let mut scratch = vec![f64::NAN; cosine.scratch_len()];
                cosine.analyse(&x, &mut c, &mut scratch);
                let expected = by_sums(&shape, lanes, end, &x);
                cosine.synthesise(&c, &mut back, &mut scratch);
                assert_eq!(cosine.transforms(), 2);
                for i in 0..len {
                    let what = format!("{shape:?} {lanes} {end:?} {i}");
                    // a few roundings of numbers of order one
                    assert!((c[i] - expected[i]).abs() < 1e-13, "{what}");
                    assert!((back[i] - x[i]).abs() < 1e-13, "{what}");
                }
            }
        }
    }

    fn by_sums(shape: &[usize], lanes: usize, end: End, x: &[f64]) -> Vec<f64> {
        let mut x = x.to_vec();
        let mut stride = lanes;
        for &n in shape.iter().rev() {
            let basis = |k: usize, j: usize| match end {
                End::Mirror => {
                    let size = if k == 0 { 1.0 } else { 2.0 } / n as f64;
                    size.sqrt() * (0.5 * PI * ((2 * j + 1) * k) as f64 / n as f64).cos()
                }
                End::Zero => {
                    let m = 2 * n + 1;
                    // of whole turns nothing is left
                    let quarters = ((2 * j + 1) * (2 * k + 1) % (4 * m)) as f64;
                    2.0 / (m as f64).sqrt() * (0.5 * PI * quarters / m as f64).cos()
                }
            };
            let line = |i: usize, j: usize| i - (i / stride % n) * stride + j * stride;
            let sum = |i: usize| {
                (0..n)
                    .map(|j| basis(i / stride % n, j) * x[line(i, j)])
                    .sum()
            };
            x = (0..x.len()).map(sum).collect();
            stride *= n;
        }
        x
    }
}
