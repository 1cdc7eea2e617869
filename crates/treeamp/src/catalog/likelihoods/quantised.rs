//! Quantised outputs: the cell of $w = z + \sqrt\Delta\,\xi$ among given edges, $P(y = k \mid z) = \Phi\bigl(\tfrac{e_{k+1} - z}{\sqrt\Delta}\bigr) -
//! \Phi\bigl(\tfrac{e_k - z}{\sqrt\Delta}\bigr)$. The cells of $n$ edges are $0, \ldots, n$, the first and the last unbounded.
//!
//! # Moments
//! Under the tilt $w$ is a normal truncated to its cell, and $z$ follows from it ([`Noise`]).
//!
//! # Limits
//! A bounded cell: finite for $a > -1/\Delta$, and for every $a$ without noise. The others need $a > 0$, or $a = 0$ and a slope that
//! falls towards their open end.
//!
//! # Reference
//! Zymnis, Boyd and Candès, "Compressed sensing with quantized measurements", IEEE Signal Process. Lett. 17 (2010).

use std::sync::Arc;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::behind_noise::{Noise, interval, interval_excess, interval_mode, log_probability};
use crate::catalog::module::{Domain, Module, number, numbers};
use crate::error::{ModelError, parameter};
use crate::scalar::{Landmark, OutputMeasure, ScalarLikelihood, Tilted};

/// The cell of a noisy input.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantised {
    noise_variance: f64,
    edges: Arc<[f64]>,
}

impl Quantised {
    /// Cells between these edges, after noise of this variance.
    ///
    /// # Errors
    /// Unless there is at least one edge, edges are finite and ascending, and the variance is not negative and finite.
    pub fn new(noise_variance: f64, edges: &[f64]) -> Result<Self, ModelError> {
        if !(noise_variance >= 0.0 && noise_variance.is_finite()) {
            let (name, expected) = ("noise_variance", "non-negative and finite");
            return Err(parameter(Self::NAME, name, expected, noise_variance));
        }
        let wrong = |i: usize| {
            let edge = edges[i];
            let ordered = i == 0 || edge > edges[i - 1];
            !(edge.is_finite() && ordered)
        };
        if edges.is_empty() {
            return Err(parameter(Self::NAME, "edges", "at least one", "none"));
        }
        if let Some(i) = (0..edges.len()).find(|i| wrong(*i)) {
            let got = format!("{} at index {i}", edges[i]);
            return Err(parameter(Self::NAME, "edges", "finite and ascending", got));
        }
        let edges = edges.into();
        Ok(Self {
            noise_variance,
            edges,
        })
    }

    /// The ends of a cell.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // checked outputs
    fn cell(&self, y: f64) -> (f64, f64) {
        let k = y as usize;
        let edge = |i: Option<usize>| i.and_then(|i| self.edges.get(i)).copied();
        (
            edge(k.checked_sub(1)).unwrap_or(f64::NEG_INFINITY),
            edge(Some(k)).unwrap_or(f64::INFINITY),
        )
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        aliases: &["quantized"],
        summary: "cells of noisy inputs, to be observed",
        formula: "x = number of edges below z + √noise_variance ξ",
        tex: r"x = \#\{k : e_k < z + \sqrt\Delta\,\xi\}",
        notes: r"$P(x = k) = \Phi((e_{k+1} - z)/\sqrt\Delta) - \Phi((e_k - z)/\sqrt\Delta)$; the first and the last cell are unbounded.",
        parameters: &[
            number(
                "noise_variance",
                1.0,
                Domain::NotNegative,
                "variance of the noise",
            )
            .called(r"\Delta")
            .learned(),
            numbers(
                "edges",
                &[-1.0, 0.0, 1.0],
                Domain::Ordered,
                "edges between the cells",
            )
            .called("e"),
        ],
        constructor: |a| {
            let noise = a.number("noise_variance")?;
            a.likelihood(Self::new(noise, a.numbers("edges")?)?)
        },
        ..Module::LIKELIHOOD
    };
}

impl ScalarLikelihood for Quantised {
    const NAME: &'static str = "quantised";
    type Output = f64;

    fn tilted(&self, y: f64, a: f64, b: f64) -> Tilted {
        let (lo, hi) = self.cell(y);
        match Noise::at(self.noise_variance, a, b) {
            Some(noise) => interval(noise, lo, hi),
            None => Tilted::divergent(0.0_f64.max(lo).min(hi)),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("noise_variance", self.noise_variance)]
    }

    fn sample(&self, z: f64, rng: &mut dyn Rng) -> f64 {
        let normal: f64 = StandardNormal.sample(rng);
        let w = normal.mul_add(self.noise_variance.sqrt(), z);
        self.edges.iter().filter(|e| **e < w).count() as f64
    }

    fn log_density(&self, y: f64, z: f64) -> f64 {
        let (lo, hi) = self.cell(y);
        log_probability(z, self.noise_variance, lo, hi)
    }

    fn check(&self, y: f64) -> Result<(), String> {
        let last = self.edges.len();
        if (0.0..=last as f64).contains(&y) && y.fract() == 0.0 {
            return Ok(());
        }
        Err(format!("expected a cell 0, ..., {last}, got {y}"))
    }

    fn support(&self, y: f64) -> (f64, f64) {
        if self.noise_variance > 0.0 {
            (f64::NEG_INFINITY, f64::INFINITY)
        } else {
            self.cell(y)
        }
    }

    fn excess(&self, y: f64, a: f64, b: f64) -> f64 {
        let (lo, hi) = self.cell(y);
        let noise = Noise::at(self.noise_variance, a, b);
        noise.map_or(f64::INFINITY, |noise| interval_excess(noise, lo, hi))
    }

    /// Without noise the cell is a constraint.
    fn mode(&self, y: f64, a: f64, b: f64) -> Option<(f64, f64)> {
        let (lo, hi) = self.cell(y);
        Some(interval_mode(self.noise_variance, lo, hi, a, b))
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        let cells = (0..=self.edges.len()).map(|k| k as f64);
        Some(OutputMeasure::Finite(cells.collect()))
    }

    fn landmarks(&self, y: f64) -> Vec<Landmark> {
        let (lo, hi) = self.cell(y);
        let width = self.noise_variance.sqrt();
        let ends = [lo, hi].into_iter().filter(|x| x.is_finite());
        ends.map(|x| Landmark::spread(x, width)).collect()
    }
}
