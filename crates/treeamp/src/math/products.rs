//! Products of a dense matrix with vectors, from lines of entries that lie together in memory: rows or columns.
//!
//! Two kernels: *dots* $y_k = \sum_l a_{kl} x_l$, one number per line, and *combine* $y_l = \sum_k x_k a_{kl}$, one number per place in a line.
//! Entries are numbers of 64 or 32 bits; sums have 64. Tiles are fixed by the shape, every tile is summed on one thread, and tiles are
//! dealt out to the threads of the pool: the bits do not depend on their number.

// Kernels use the instructions of the processor only where they are inlined into the call that asked for them.
#![allow(clippy::inline_always)]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::threads;

/// A matrix with fewer entries is multiplied on one thread: waking others takes as long as its product.
const ALONE: usize = 1 << 19;
/// Lines in a tile of dots. A tile stays in the cache while several vectors pass.
const LINES: usize = 32;
/// Places in a tile of a combination.
const PLACES: usize = 1024;
/// Lines that are added to all tiles before the next ones are, where several vectors pass.
const DEPTH: usize = 64;
/// Entries that a dot product takes at once.
const CHUNK: usize = 16;
/// Registers of partial sums: additions of one wait for those before.
const REGISTERS: usize = 4;
/// Partial sums of squares.
const LANES: usize = 8;
/// Lines that are added side by side.
const BLOCK: usize = 4;

/// An entry of a matrix.
pub(crate) trait Entry: Copy + Send + Sync + 'static {
    /// In 64 bits.
    fn wide(self) -> f64;

    /// A chunk of a line in 64 bits.
    fn widen(chunk: &[Self; CHUNK]) -> [f64; CHUNK];
}

impl Entry for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[inline(always)]
    fn widen(chunk: &[Self; CHUNK]) -> [f64; CHUNK] {
        *chunk
    }
}

impl Entry for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn widen(chunk: &[Self; CHUNK]) -> [f64; CHUNK] {
        let mut wide = [0.0; CHUNK];
        for k in 0..CHUNK {
            wide[k] = f64::from(chunk[k]);
        }
        wide
    }
}

/// Lines of equal length.
pub(crate) struct Lines<F> {
    /// Line `k`.
    pub line: F,
    pub count: usize,
    pub len: usize,
}

impl<'a, E: Entry, F: Fn(usize) -> &'a [E] + Sync> Lines<F> {
    /// $y_k = \sum_l a_{kl} x_l$ for every vector; vectors are laid end to end.
    pub fn dots(&self, x: &[f64], y: &mut [f64]) {
        self.by_tiles(y, (self.count, LINES), |t, y, v| {
            Arch::new().dispatch(Dots {
                lines: self,
                first: t * LINES,
                x: &x[v * self.len..(v + 1) * self.len],
                y,
            });
        });
    }

    /// $y_l = \sum_k x_k a_{kl}$ for every vector; vectors are laid end to end.
    pub fn combine(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        let alone = y.len() == self.len;
        let depth = if alone { self.count } else { DEPTH };
        for first in (0..self.count).step_by(depth) {
            let last = self.count.min(first + depth);
            let x = |v: usize| &x[v * self.count + first..v * self.count + last];
            self.by_tiles(y, (self.len, PLACES), |t, y, v| {
                Arch::new().dispatch(Combine {
                    lines: self,
                    first,
                    place: t * PLACES,
                    x: x(v),
                    y,
                });
            });
        }
    }

    /// Calls `work` with the number of a tile, its part of the output, and the number of a vector. Vectors pass through a tile one after
    /// the other, while it is in the cache.
    fn by_tiles(
        &self,
        y: &mut [f64],
        (len, tile): (usize, usize),
        work: impl Fn(usize, &mut [f64], usize) + Sync,
    ) {
        let parallel = self.count * self.len >= ALONE && threads::count() > 1;
        if y.len() == len {
            // one vector: nothing is allocated
            let each = |(t, y): (usize, &mut [f64])| work(t, y, 0);
            if parallel {
                threads::spread(|| y.par_chunks_mut(tile).enumerate().for_each(each));
            } else {
                y.chunks_mut(tile).enumerate().for_each(each);
            }
            return;
        }
        let mut tiles: Vec<Vec<&mut [f64]>> = Vec::new();
        tiles.resize_with(len.div_ceil(tile), Vec::new);
        for y in y.chunks_mut(len) {
            let parts = y.chunks_mut(tile).zip(&mut tiles);
            parts.for_each(|(part, tile)| tile.push(part));
        }
        let each = |(t, parts): (usize, Vec<&mut [f64]>)| {
            let parts = parts.into_iter().enumerate();
            parts.for_each(|(v, part)| work(t, part, v));
        };
        if parallel {
            threads::spread(|| tiles.into_par_iter().enumerate().for_each(each));
        } else {
            tiles.into_iter().enumerate().for_each(each);
        }
    }

    /// $\sum_l a_{kl}^2$ of every line, and $\sum_k a_{kl}^2$ of every place.
    pub fn square_norms(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut along, mut across) = (Vec::with_capacity(self.count), vec![0.0; self.len]);
        for k in 0..self.count {
            let line = (self.line)(k);
            let mut sums = [0.0; LANES];
            for (chunk, across) in line.chunks(LANES).zip(across.chunks_mut(LANES)) {
                for ((a, across), sum) in chunk.iter().zip(across).zip(&mut sums) {
                    let square = a.wide() * a.wide();
                    *across += square;
                    *sum += square;
                }
            }
            along.push(sums.iter().sum());
        }
        (along, across)
    }
}

/// $ab + c$; in one instruction where the processor has it.
#[inline(always)]
fn add_product<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Dots of the lines from `first` on.
struct Dots<'s, F> {
    lines: &'s Lines<F>,
    first: usize,
    x: &'s [f64],
    y: &'s mut [f64],
}

impl<'a, E: Entry, F: Fn(usize) -> &'a [E]> WithSimd for Dots<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (k, y) in (self.first..).zip(self.y) {
            *y = dot(simd, (self.lines.line)(k), self.x);
        }
    }
}

/// $\sum_l a_l x_l$ in four registers; what is left over is added one by one.
#[inline(always)]
fn dot<E: Entry, S: Simd>(simd: S, a: &[E], x: &[f64]) -> f64 {
    let ((a, a_end), (x, x_end)) = (a.as_chunks::<CHUNK>(), x.as_chunks::<CHUNK>());
    let mut sums = [simd.splat_f64s(0.0); REGISTERS];
    for (a, x) in a.iter().zip(x) {
        let a = E::widen(a);
        let (a, x) = (S::as_simd_f64s(&a).0, S::as_simd_f64s(x).0);
        for (k, (a, x)) in a.iter().zip(x).enumerate() {
            let sum = &mut sums[k % REGISTERS];
            *sum = simd.mul_add_e_f64s(*a, *x, *sum);
        }
    }
    let [a, b, c, d] = sums;
    let sum = simd.add_f64s(simd.add_f64s(a, b), simd.add_f64s(c, d));
    let end = a_end.iter().zip(x_end);
    end.fold(simd.reduce_sum_f64s(sum), |sum, (a, x)| a.wide() * x + sum)
}

/// Adds the lines from `first` on, at the places from `place` on.
struct Combine<'s, F> {
    lines: &'s Lines<F>,
    first: usize,
    place: usize,
    x: &'s [f64],
    y: &'s mut [f64],
}

impl<'a, E: Entry, F: Fn(usize) -> &'a [E]> WithSimd for Combine<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        if S::IS_SCALAR {
            self.run::<E, false>();
        } else {
            self.run::<E, true>();
        }
    }
}

impl<'a, F> Combine<'_, F> {
    #[inline(always)]
    fn run<E: Entry, const FUSED: bool>(self)
    where
        F: Fn(usize) -> &'a [E],
    {
        let len = self.y.len();
        let line = |k: usize| &(self.lines.line)(k)[self.place..][..len];
        let mut k = self.first;
        let blocks = self.x.chunks_exact(BLOCK);
        let rest = blocks.remainder();
        for x in blocks {
            let lines = [line(k), line(k + 1), line(k + 2), line(k + 3)];
            for (l, y) in self.y.iter_mut().enumerate() {
                let mut sum = *y;
                for (a, x) in lines.iter().zip(x) {
                    sum = add_product::<FUSED>(a[l].wide(), *x, sum);
                }
                *y = sum;
            }
            k += BLOCK;
        }
        for (x, k) in rest.iter().zip(k..) {
            for (y, a) in self.y.iter_mut().zip(line(k)) {
                *y = add_product::<FUSED>(a.wide(), *x, *y);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize) -> Vec<f64> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f64 / f64::from(1_u32 << 23) - 1.0
        };
        (0..len).map(|_| next()).collect()
    }

    /// Both kernels against plain sums, on shapes around the sizes of tiles.
    fn check<E: Entry>(narrow: impl Fn(f64) -> E) {
        for (count, len) in [(1, 1), (3, 7), (33, 1025), (70, 40), (5, 2050), (4, 1024)] {
            let a: Vec<E> = numbers(count * len).into_iter().map(&narrow).collect();
            let line = |k: usize| &a[k * len..(k + 1) * len];
            let lines = Lines { line, count, len };
            for vectors in [1, 3] {
                let (x, z) = (numbers(vectors * len), numbers(vectors * count));
                let (mut y, mut w) = (vec![0.0; vectors * count], vec![0.0; vectors * len]);
                lines.dots(&x, &mut y);
                lines.combine(&z, &mut w);
                for v in 0..vectors {
                    let (x, z) = (&x[v * len..], &z[v * count..]);
                    for k in 0..count {
                        let sum: f64 = (0..len).map(|l| line(k)[l].wide() * x[l]).sum();
                        assert!((sum - y[v * count + k]).abs() < 1e-13 * len as f64);
                    }
                    for l in 0..len {
                        let sum: f64 = (0..count).map(|k| line(k)[l].wide() * z[k]).sum();
                        assert!((sum - w[v * len + l]).abs() < 1e-13 * count as f64);
                    }
                }
            }
        }
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "entries of 32 bits")]
    fn they_are_sums_of_products() {
        check(|x| x);
        check(|x| x as f32);
    }

    #[test]
    fn the_bits_do_not_depend_on_the_number_of_threads() {
        let (count, len) = (700, 900);
        let a = numbers(count * len);
        let lines = Lines {
            line: |k: usize| &a[k * len..(k + 1) * len],
            count,
            len,
        };
        assert!(count * len >= ALONE);
        let (x, z) = (numbers(2 * len), numbers(count));
        let by = |threads: usize| {
            threads::with_threads(threads, || {
                let (mut one, mut two) = (vec![0.0; count], vec![0.0; 2 * count]);
                let mut back = vec![0.0; len];
                lines.dots(&x[..len], &mut one);
                lines.dots(&x, &mut two);
                lines.combine(&z, &mut back);
                (one, two, back)
            })
        };
        let alone = by(1);
        assert_eq!(alone, by(2));
        assert_eq!(alone, by(5));
        assert_eq!(alone.0, alone.1[..count]);
    }
}
