//! Averages over independent standard normal variables: one or two by adaptive panels, any number by random shifts of a lattice.

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::panels::{Effort, Sample, integrate};
use crate::math::special::normal_density;

/// The density beyond this is below $10^{-14}$.
const END: f64 = 8.0;
/// Relative error of an average; that of the inner one of two is a tenth of it.
const TOLERANCE: f64 = 1e-9;
/// What an inner average need not resolve, relative to the largest one of the same integrand, and of all of them: further out integrands may be
/// noise.
const NEGLIGIBLE: f64 = 1e-3;
const NOTHING: f64 = 1e-9;
/// A line narrower than this has breaks of its own on both sides, so many widths away.
const NARROW: f64 = 0.25;
const SIDES: f64 = 7.0;

/// Random shifts of the lattice: the standard error is that of their averages.
const SHIFTS: usize = 8;
/// Points of the lattice.
const POINTS: usize = 512;

/// A line $n_0 s_0 + n_1 s_1 = c$ across which an integrand changes, within some widths $w$ of $c$.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    pub normal: [f64; 2],
    pub offset: f64,
    pub width: f64,
}

impl Line {
    /// Itself, and its sides if it is narrow.
    fn breaks(&self) -> impl Iterator<Item = Self> + use<> {
        let line = *self;
        let size = line.normal[0].hypot(line.normal[1]);
        let sides = i32::from(line.width < NARROW * size);
        (-sides..=sides).map(move |k| Self {
            offset: line.offset + f64::from(k) * SIDES * line.width,
            ..line
        })
    }

    /// Where it is met at $s_0$.
    fn inner(&self, s0: f64) -> f64 {
        (self.offset - self.normal[0] * s0) / self.normal[1]
    }

    /// $s_0$ where it does not depend on $s_1$, or where it meets another.
    fn outer(&self, other: &Self) -> f64 {
        let [a, b] = self.normal;
        if b == 0.0 {
            return self.offset / a;
        }
        let [c, d] = other.normal;
        (self.offset * d - other.offset * b) / (a * d - b * c)
    }
}

/// The ends, the middle, and `places` between them, ascending.
fn breaks(places: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all = vec![-END, -0.5 * END, 0.0, 0.5 * END, END];
    all.extend(places.filter(|x| x.abs() < END));
    all.sort_by(f64::total_cmp);
    all.dedup_by(|x, y| (*x - *y).abs() < 1e-12);
    all
}

/// $E f(s)$.
pub(crate) fn average_line<const K: usize>(
    f: &mut impl FnMut(f64) -> [f64; K],
    places: &[f64],
) -> [f64; K] {
    let mut weighted = |s: f64| Sample::plain(f(s).map(|x| x * normal_density(s)));
    let places = breaks(places.iter().copied());
    integrate(&mut weighted, &places, Effort::plain(TOLERANCE))
}

/// $E f(s_0, s_1)$.
pub(crate) fn average_plane<const K: usize>(
    f: &mut impl FnMut([f64; 2]) -> [f64; K],
    lines: &[Line],
) -> [f64; K] {
    let pairs = lines.iter().flat_map(|l| lines.iter().map(move |k| (l, k)));
    let met = pairs.flat_map(|(l, k)| {
        l.breaks()
            .flat_map(|l| k.breaks().map(move |k| l.outer(&k)))
    });
    let outer = breaks(met.filter(|s| s.is_finite()));
    let lines: Vec<Line> = lines.iter().flat_map(Line::breaks).collect();
    let mut largest = [0.0_f64; K];
    let mut slice = |s0: f64| {
        let weight = normal_density(s0);
        let least = NOTHING * largest.iter().fold(0.0_f64, |m, x| m.max(*x));
        let effort = Effort {
            floor: largest.map(|x| (NEGLIGIBLE * x).max(least) / weight),
            ..Effort::plain(0.1 * TOLERANCE)
        };
        let places = lines.iter().map(|l| l.inner(s0)).filter(|s| s.is_finite());
        let mut weighted = |s1: f64| Sample::plain(f([s0, s1]).map(|x| x * normal_density(s1)));
        let sums = integrate(&mut weighted, &breaks(places), effort).map(|x| weight * x);
        for (l, x) in largest.iter_mut().zip(sums) {
            *l = l.max(x.abs());
        }
        Sample::plain(sums)
    };
    // two slices in the middle tell the sizes before those further out are taken
    let middle = [slice(-0.6), slice(0.8)];
    let size = middle.iter().flat_map(|s| s.values);
    let least = NOTHING * size.fold(0.0_f64, |m, x| m.max(x.abs()));
    let effort = Effort {
        floor: [least; K],
        ..Effort::plain(TOLERANCE)
    };
    integrate(&mut slice, &outer, effort)
}

/// $E f(s)$ of `len` functions of $s \in \mathbb R^d$ and its standard errors, by a lattice of Kronecker's with random shifts and
/// the map of Box and Muller. The same seed takes the same points, so that the average is as smooth as $f$ in its parameters.
pub(crate) fn average_at_random(
    dim: usize,
    len: usize,
    seed: u64,
    f: &mut impl FnMut(&[f64], &mut [f64]),
) -> (Vec<f64>, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let pairs = dim.div_ceil(2);
    let steps = kronecker(2 * pairs);
    let mut averages = vec![vec![0.0; len]; SHIFTS];
    let (mut s, mut value) = (vec![0.0; 2 * pairs], vec![0.0; len]);
    for average in &mut averages {
        let shift: Vec<f64> = steps.iter().map(|_| rng.random::<f64>()).collect();
        for i in 0..POINTS {
            let u = |j: usize| (shift[j] + (i as f64 + 1.0) * steps[j]).fract();
            for (k, pair) in s.chunks_exact_mut(2).enumerate() {
                let radius = (-2.0 * (1.0 - u(2 * k)).ln()).sqrt();
                let (sin, cos) = (TAU * u(2 * k + 1)).sin_cos();
                (pair[0], pair[1]) = (radius * cos, radius * sin);
            }
            f(&s[..dim], &mut value);
            for (a, x) in average.iter_mut().zip(&value) {
                *a += x / POINTS as f64;
            }
        }
    }
    (0..len)
        .map(|k| mean_and_error(averages.iter().map(|a| a[k])))
        .unzip()
}

/// Mean and standard error of independent values.
fn mean_and_error(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let spread: f64 = values.map(|x| (x - mean).powi(2)).sum();
    (mean, (spread / (n * (n - 1.0))).sqrt())
}

/// $g^{-1}, g^{-2}, \dots$ with $g^{d+1} = g + 1$: steps whose multiples fill the cube evenly.
fn kronecker(dim: usize) -> Vec<f64> {
    let power = 1.0 / (dim as f64 + 1.0);
    let g = (0..60).fold(1.5_f64, |g, _| (1.0 + g).powf(power));
    let powers = std::iter::successors(Some(1.0 / g), |x| Some(x / g));
    powers.take(dim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_orthants() {
        let [square, fourth] = average_line(&mut |s| [s * s, s.powi(4)], &[]);
        assert!((square - 1.0).abs() < 1e-9 && (fourth - 3.0).abs() < 1e-8);
        // P(s0 > 0, s0 + s1 > 0) = 3/8, a step across two lines
        let lines = [[1.0, 0.0], [1.0, 1.0]].map(|normal| Line {
            normal,
            offset: 0.0,
            width: 0.0,
        });
        let step = |x: f64| f64::from(u8::from(x > 0.0));
        let [both] = average_plane(&mut |[a, b]| [step(a) * step(a + b)], &lines);
        assert!((both - 0.375).abs() < 1e-9, "{both}");
    }

    #[test]
    fn random_averages_know_their_error() {
        let mut f = |s: &[f64], out: &mut [f64]| {
            out[0] = s.iter().map(|x| x * x).sum::<f64>();
            out[1] = (0.3 * s.iter().sum::<f64>()).exp();
        };
        let (mean, error) = average_at_random(3, 2, 0, &mut f);
        for (k, exact) in [3.0, (0.5_f64 * 0.09 * 3.0).exp()].into_iter().enumerate() {
            assert!(
                (mean[k] - exact).abs() < 4.0 * error[k],
                "{} at {k}",
                mean[k]
            );
            assert!(error[k] < 1e-2 * exact);
        }
    }
}
