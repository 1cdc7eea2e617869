//! Orthonormal Fourier coordinates of real and complex arrays in any number of dimensions.
//!
//! $c_k = \frac{1}{\sqrt N}\sum_n x_n e^{-2\pi i\,k\cdot n}$ (with $k\cdot n = \sum_a k_a n_a/N_a$). A real array has
//! $c_{-k} = \bar c_k$: only $k \le N/2$ on the last axis is kept, and multiplied by $\sqrt 2$ where its
//! mirror image is left out, so that the map to coordinates is an isometry.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use num_complex::Complex64;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftDirection, FftPlanner};

use super::long_fourier::{LongAxis, LongReal};

/// Columns that an axis pass moves at once: 256 bytes of each row.
const BLOCK: usize = 16;
/// Numbers that it moves at once, unless one column is longer: half a megabyte.
const STRIPE: usize = 1 << 15;

struct Axis {
    len: usize,
    /// Numbers between neighbours along the axis, in the layout of coordinates.
    stride: usize,
    /// Columns that a pass moves at once.
    block: usize,
    along: Along,
}

/// The transform of one complex axis after another, in place.
enum Along {
    Short([Arc<dyn Fft<f64>>; 2]),
    Long(LongAxis),
}

enum Rows {
    Real {
        forward: Arc<dyn RealToComplex<f64>>,
        inverse: Arc<dyn ComplexToReal<f64>>,
    },
    LongReal(LongReal),
    Complex(Along),
}

/// The transform of arrays of one shape.
pub struct Fourier {
    shape: Vec<usize>,
    /// Length of a row (the last axis), and coefficients kept of it.
    row: usize,
    kept: usize,
    rows: Rows,
    axes: Vec<Axis>,
    scratch_len: usize,
    transforms: AtomicUsize,
}

impl fmt::Debug for Fourier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fourier")
            .field("shape", &self.shape)
            .finish_non_exhaustive()
    }
}

impl Fourier {
    /// Plans the transform of real or complex arrays of a shape; without axes it is one number.
    #[must_use]
    pub fn new(shape: &[usize], real: bool) -> Self {
        let mut shape = shape.to_vec();
        if shape.is_empty() {
            shape.push(1);
        }
        let row = shape[shape.len() - 1];
        let kept = if real { row / 2 + 1 } else { row };
        let mut planner = FftPlanner::new();
        let rows = Rows::new(row, real, &mut planner);
        let mut scratch_len = rows.scratch_len();
        let mut stride = kept;
        let mut axes = Vec::new();
        for &len in shape[..shape.len() - 1].iter().rev() {
            let axis = Axis {
                len,
                stride,
                block: BLOCK.min(stride).min((STRIPE / len).max(1)),
                along: Along::new(len, &mut planner),
            };
            scratch_len = scratch_len.max(2 * axis.block * len + axis.along.scratch_len());
            axes.push(axis);
            stride *= len;
        }
        Self {
            shape,
            row,
            kept,
            rows,
            axes,
            scratch_len,
            transforms: AtomicUsize::new(0),
        }
    }

    /// Number of complex coordinates.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shape[..self.shape.len() - 1].iter().product::<usize>() * self.kept
    }

    /// Real degrees of freedom per coordinate, repeating with the length of a kept row.
    #[must_use]
    pub fn pattern(&self) -> Vec<f64> {
        if !self.is_real() {
            return vec![2.0];
        }
        let weight = |k: usize| if self.is_alone(k) { 1.0 } else { 2.0 };
        (0..self.kept).map(weight).collect()
    }

    /// The mirror image of the coefficients at $k$ on the last axis of a real array is not left out.
    fn is_alone(&self, k: usize) -> bool {
        k == 0 || 2 * k == self.row
    }

    /// The signal is real.
    #[must_use]
    pub fn is_real(&self) -> bool {
        !matches!(self.rows, Rows::Complex(_))
    }

    /// How many `f64` of scratch a transform needs: some rows, not the array.
    #[must_use]
    pub fn scratch_len(&self) -> usize {
        self.scratch_len
    }

    /// How many transforms have been made.
    #[must_use]
    pub fn transforms(&self) -> usize {
        self.transforms.load(Ordering::Relaxed)
    }

    /// Number of components of the array.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Length of the last axis and coordinates kept of it.
    #[must_use]
    pub fn row(&self) -> (usize, usize) {
        (self.row, self.kept)
    }

    /// Calls `f` with every coordinate's number and its frequencies $k_a/N_a$ in $(-\frac12, \frac12]$.
    pub fn each_frequency(&self, mut f: impl FnMut(usize, &[f64])) {
        let axes = self.shape.len();
        let mut k = vec![0; axes];
        let mut frequency = vec![0.0; axes];
        for i in 0..self.count() {
            f(i, &frequency);
            for axis in (0..axes).rev() {
                let limit = if axis == axes - 1 {
                    self.kept
                } else {
                    self.shape[axis]
                };
                k[axis] = (k[axis] + 1) % limit;
                let (n, at) = (self.shape[axis], k[axis]);
                let signed = if 2 * at > n {
                    at as f64 - n as f64
                } else {
                    at as f64
                };
                frequency[axis] = signed / n as f64;
                if k[axis] != 0 {
                    break;
                }
            }
        }
    }

    /// `out = ` coordinates of `x`, interleaved.
    pub fn analyse(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.transforms.fetch_add(1, Ordering::Relaxed);
        match &self.rows {
            Rows::Real { forward, .. } => {
                let (row, rest) = scratch.split_at_mut(self.row);
                let rest = bytemuck::cast_slice_mut(&mut rest[..2 * forward.get_scratch_len()]);
                let rows = x.chunks_exact(self.row);
                for (x, out) in rows.zip(out.chunks_exact_mut(2 * self.kept)) {
                    row.copy_from_slice(x);
                    let out = bytemuck::cast_slice_mut(out);
                    let done = forward.process_with_scratch(row, out, rest);
                    debug_assert!(done.is_ok(), "sized by the plan");
                }
            }
            Rows::LongReal(long) => {
                let rows = x.chunks_exact(self.row);
                for (x, out) in rows.zip(out.chunks_exact_mut(2 * self.kept)) {
                    long.forward(x, out, scratch);
                }
            }
            Rows::Complex(along) => {
                out.copy_from_slice(x);
                along.transform(self.row, out, FftDirection::Forward, scratch);
            }
        }
        for axis in &self.axes {
            axis.pass(FftDirection::Forward, out, scratch);
        }
        self.scale(out, 2.0_f64.sqrt());
    }

    /// `out = ` the array with coordinates `y`, which is overwritten.
    pub fn synthesise(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.transforms.fetch_add(1, Ordering::Relaxed);
        self.scale(y, 0.5_f64.sqrt());
        for axis in &self.axes {
            axis.pass(FftDirection::Inverse, y, scratch);
        }
        match &self.rows {
            Rows::Real { inverse, .. } => {
                let rest = &mut scratch[..2 * inverse.get_scratch_len()];
                let rest = bytemuck::cast_slice_mut(rest);
                let rows = y.chunks_exact_mut(2 * self.kept);
                for (y, out) in rows.zip(out.chunks_exact_mut(self.row)) {
                    // these are real but for rounding, and the plan insists
                    y[1] = 0.0;
                    if self.row.is_multiple_of(2) {
                        y[2 * self.kept - 1] = 0.0;
                    }
                    let y = bytemuck::cast_slice_mut(y);
                    let done = inverse.process_with_scratch(y, out, rest);
                    debug_assert!(done.is_ok(), "sized by the plan");
                }
            }
            Rows::LongReal(long) => {
                let rows = y.chunks_exact_mut(2 * self.kept);
                for (y, out) in rows.zip(out.chunks_exact_mut(self.row)) {
                    long.inverse(y, out, scratch);
                }
            }
            Rows::Complex(along) => {
                along.transform(self.row, y, FftDirection::Inverse, scratch);
                out.copy_from_slice(y);
            }
        }
    }

    /// The complex array with coordinates `y`, in its place.
    pub fn synthesise_in_place(&self, y: &mut [f64], scratch: &mut [f64]) {
        self.transforms.fetch_add(1, Ordering::Relaxed);
        self.scale(y, 0.5_f64.sqrt());
        for axis in &self.axes {
            axis.pass(FftDirection::Inverse, y, scratch);
        }
        if let Rows::Complex(along) = &self.rows {
            along.transform(self.row, y, FftDirection::Inverse, scratch);
        }
    }

    /// $1/\sqrt N$, and `doubled` where a coordinate stands for its mirror image too.
    fn scale(&self, y: &mut [f64], doubled: f64) {
        let unit = 1.0 / (self.len() as f64).sqrt();
        if !self.is_real() {
            y.iter_mut().for_each(|y| *y *= unit);
            return;
        }
        for row in y.chunks_exact_mut(2 * self.kept) {
            for (k, c) in row.chunks_exact_mut(2).enumerate() {
                let s = if self.is_alone(k) {
                    unit
                } else {
                    unit * doubled
                };
                c[0] *= s;
                c[1] *= s;
            }
        }
    }
}

impl Rows {
    fn new(len: usize, real: bool, planner: &mut FftPlanner<f64>) -> Self {
        if !real {
            return Self::Complex(Along::new(len, planner));
        }
        if let Some(long) = LongReal::new(len, planner) {
            return Self::LongReal(long);
        }
        let mut planner = RealFftPlanner::new();
        Self::Real {
            forward: planner.plan_fft_forward(len),
            inverse: planner.plan_fft_inverse(len),
        }
    }

    fn scratch_len(&self) -> usize {
        match self {
            Self::Real { forward, inverse } => {
                let complex = forward.get_scratch_len().max(inverse.get_scratch_len());
                forward.len() + 2 * complex
            }
            Self::LongReal(long) => long.scratch_len(),
            Self::Complex(along) => along.scratch_len(),
        }
    }
}

impl Along {
    fn new(len: usize, planner: &mut FftPlanner<f64>) -> Self {
        if let Some(long) = LongAxis::new(len, planner) {
            return Self::Long(long);
        }
        let ways = [FftDirection::Forward, FftDirection::Inverse];
        Self::Short(ways.map(|way| planner.plan_fft(len, way)))
    }

    fn scratch_len(&self) -> usize {
        match self {
            Self::Short(plans) => {
                let lens = plans.iter().map(|p| p.get_inplace_scratch_len());
                2 * lens.max().unwrap_or(0)
            }
            Self::Long(long) => long.scratch_len(),
        }
    }

    /// Every stretch of `len` complex numbers in place.
    fn transform(&self, len: usize, data: &mut [f64], way: FftDirection, scratch: &mut [f64]) {
        match self {
            Self::Short(plans) => {
                let fft = &plans[usize::from(way == FftDirection::Inverse)];
                let scratch = &mut scratch[..2 * fft.get_inplace_scratch_len()];
                fft.process_with_scratch(
                    bytemuck::cast_slice_mut(data),
                    bytemuck::cast_slice_mut(scratch),
                );
            }
            Self::Long(long) => data
                .chunks_exact_mut(2 * len)
                .for_each(|axis| long.transform(axis, way, scratch)),
        }
    }
}

impl Axis {
    /// Transforms along the axis, a block of columns at a time.
    fn pass(&self, way: FftDirection, data: &mut [f64], scratch: &mut [f64]) {
        let data: &mut [Complex64] = bytemuck::cast_slice_mut(data);
        let (block, rest) = scratch.split_at_mut(2 * self.block * self.len);
        for slab in data.chunks_exact_mut(self.len * self.stride) {
            for first in (0..self.stride).step_by(self.block) {
                let width = self.block.min(self.stride - first);
                let block = &mut block[..2 * width * self.len];
                let columns: &mut [Complex64] = bytemuck::cast_slice_mut(block);
                for l in 0..self.len {
                    let from = &slab[l * self.stride + first..][..width];
                    for (w, c) in from.iter().enumerate() {
                        columns[w * self.len + l] = *c;
                    }
                }
                self.along.transform(self.len, block, way, rest);
                let columns: &[Complex64] = bytemuck::cast_slice(block);
                for l in 0..self.len {
                    let to = &mut slab[l * self.stride + first..][..width];
                    for (w, c) in to.iter_mut().enumerate() {
                        *c = columns[w * self.len + l];
                    }
                }
            }
        }
    }
}
