//! The average over both fields of a smooth channel, by the trapezoidal rule in both.
//!
//! In units of its noise a pair of fields has a density that is a convolution with a normal one, and a smooth student's moments
//! change on the scale of the noise or more slowly. Sums over a lattice of step $h$ then converge exponentially: what is left is
//! $\epsilon = e^{-2\pi d/h}$ with the distance $d$ of the nearest poles. Two lattices, shifted by half a step in both directions,
//! differ by $2\epsilon$, and their mean is off by $\epsilon^{\sqrt2}$ or less. A student that the output contradicts has poles near to the axis of
//! $b_x$ alone: a third lattice, shifted in one direction, tells in which the step is to be halved.

use super::channel::{Pair, X, Z};
use super::{COUNT, Field};
use crate::scalar::ScalarView;

/// First step.
const STEP: f64 = 0.85;
/// The smallest step.
const LEAST: f64 = 0.05;
/// Standard deviations beyond which there is nothing.
const REACH: f64 = 8.2;
/// Relative difference of the two lattices whose power is negligible.
const CLOSE: f64 = 3e-7;
/// Nodes of both lattices at most; sharper fields are for panels.
const MAX_NODES: f64 = 40_000.0;

/// The lattice of a pair of smooth channels.
struct Lattice<'a> {
    pair: &'a Pair<'a>,
    /// $\hat m/\sqrt{\hat q}$.
    clarity: [f64; 2],
    /// $\sqrt{\hat q}$.
    noise: [f64; 2],
    /// $\hat\tau_0$ of the input.
    tilt: f64,
}

/// The averages, where both channels are smooth and their fields are not too sharp; else `None`.
pub(super) fn average(pair: &Pair<'_>) -> Option<[f64; COUNT]> {
    let smooth = pair.teacher.is_smooth() && pair.student.is_smooth();
    let tilt = pair.at[Z].tau0_hat;
    if !smooth || pair.at.iter().any(Field::is_silent) || !(tilt > 0.0) {
        return None;
    }
    let noise = [Z, X].map(|i| pair.at[i].q_hat.sqrt());
    let clarity = [Z, X].map(|i| pair.at[i].m_hat / noise[i]);
    let lattice = Lattice {
        pair,
        clarity,
        noise,
        tilt,
    };
    let floor = pair.floor();
    let mut step = [STEP; 2];
    while step.iter().all(|h| *h > LEAST) && 2.0 * lattice.nodes(step) <= MAX_NODES {
        let (one, size) = lattice.sum(step, [0.0; 2]);
        let (two, _) = lattice.sum(step, [0.5; 2]);
        let differ = |one: &[f64; COUNT], two: &[f64; COUNT]| {
            (0..COUNT).any(|k| {
                let scale = size[k].max(floor[k]);
                scale.is_finite() && !((one[k] - two[k]).abs() <= CLOSE * scale)
            })
        };
        if !differ(&one, &two) {
            return Some(std::array::from_fn(|k| 0.5 * (one[k] + two[k])));
        }
        let (between, _) = lattice.sum(step, [0.5, 0.0]);
        let coarse = [differ(&one, &between), differ(&between, &two)];
        for end in [Z, X] {
            if coarse[end] || !coarse.contains(&true) {
                step[end] *= 0.5;
            }
        }
    }
    None
}

impl Lattice<'_> {
    /// Half the range of $u = b_z/\sqrt{\hat q_z}$.
    fn reach(&self) -> f64 {
        REACH * (self.clarity[Z].powi(2) / self.tilt).sqrt().hypot(1.0)
    }

    /// The range of $w = b_x/\sqrt{\hat q_x}$ at one $u$: around the images of the inputs that it leaves.
    fn range(&self, u: f64) -> [f64; 2] {
        let kappa = self.clarity[Z];
        let precision = kappa.mul_add(kappa, self.tilt);
        let (mean, deviation) = (kappa * u / precision, REACH / precision.sqrt());
        let image = |z: f64| self.clarity[X] * ScalarView::map(self.pair.teacher, z).unwrap_or(0.0);
        let (x, y) = (image(mean - deviation), image(mean + deviation));
        [x.min(y) - REACH, x.max(y) + REACH]
    }

    /// How many nodes there are, from a few values of $u$.
    fn nodes(&self, step: [f64; 2]) -> f64 {
        let reach = self.reach();
        let width = |s: f64| {
            let [low, high] = self.range(s * reach);
            high - low
        };
        let mean: f64 = [-0.6, -0.2, 0.2, 0.6]
            .iter()
            .map(|s| width(*s))
            .sum::<f64>()
            / 4.0;
        2.0 * reach / step[Z] * mean / step[X]
    }

    /// Sums over one lattice, of the averages and of their absolute values.
    #[allow(clippy::cast_possible_truncation)] // bounded by the number of nodes
    fn sum(&self, step: [f64; 2], shift: [f64; 2]) -> ([f64; COUNT], [f64; COUNT]) {
        let (mut sum, mut size) = ([0.0; COUNT], [0.0; COUNT]);
        let half = (self.reach() / step[Z]).ceil() as i64;
        let area = step[Z] * step[X] * self.noise[Z] * self.noise[X];
        for i in -half..=half {
            let u = step[Z] * (i as f64 + shift[Z]);
            let [low, high] = self.range(u);
            for j in (low / step[X]).floor() as i64..=(high / step[X]).ceil() as i64 {
                let w = step[X] * (j as f64 + shift[X]);
                let fields = [self.noise[Z] * u, self.noise[X] * w];
                let values = self.pair.values(fields);
                for k in 0..COUNT {
                    sum[k] += area * values[k];
                    size[k] += area * values[k].abs();
                }
            }
        }
        (sum, size)
    }
}
