//! The group penalty $E(x) = \lambda\sum_n\|x_n\|_2$ of an array whose groups $x_n \in \mathbb R^d$ run along one axis of
//! length $d$, the first by default.
//!
//! # Mode
//! Group soft thresholding: $r_n = \frac{b_n}{a}(1 - \lambda/\|b_n\|)_+$, and where $\|b_n\| > \lambda$ the Jacobian
//! $\frac1a[(1 - \frac{\lambda}{\|b_n\|})I + \frac{\lambda}{\|b_n\|}\frac{b_n b_n^T}{\|b_n\|^2}]$ has trace
//! $\frac1a[d - (d-1)\frac{\lambda}{\|b_n\|}]$.
//!
//! # Limits
//! $d = 1$ is the $\ell_1$ penalty, and the gradient of an image with it is total variation.
//!
//! # Reference
//! Baker et al., JMLR 24 (2023), section 2.8, MAP modules.

use super::check_strength;
use crate::catalog::module::{Domain, Module, SIZE, axis, number};
use crate::error::ModelError;
use crate::scalar::Tilt;
use crate::separable::Penalty;

/// $\lambda\sum_n\|x_n\|_2$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L21 {
    strength: f64,
    axis: usize,
}

impl L21 {
    /// Catalogue name.
    pub const NAME: &'static str = "l21";

    /// The penalty of this strength $\lambda$, of groups along the first axis.
    ///
    /// # Errors
    /// Unless the strength is not negative and finite.
    pub fn new(strength: f64) -> Result<Self, ModelError> {
        Self::along(0, strength)
    }

    /// The penalty of this strength $\lambda$, of groups along an axis.
    ///
    /// # Errors
    /// Unless the strength is not negative and finite.
    pub fn along(axis: usize, strength: f64) -> Result<Self, ModelError> {
        let strength = check_strength(Self::NAME, strength)?;
        Ok(Self { strength, axis })
    }

    fn groups(&self, shape: &[usize]) -> Groups {
        Groups {
            count: shape.iter().product::<usize>() / shape[self.axis],
            members: shape[self.axis],
            step: shape[self.axis + 1..].iter().product(),
        }
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "penalty of sparse groups along an axis, at its mode",
        formula: "E(x) = strength Σ_n (Σ_a x_(a,n)²)^(1/2)",
        tex: r"E(x) = \gamma\sum_n\|x_n\|_2",
        notes: r"Group soft thresholding, $r_n = \frac{b_n}{a}(1 - \gamma/\|b_n\|)_+$.",
        parameters: &[
            SIZE,
            number("strength", 1.0, Domain::NotNegative, "the strength")
                .called(r"\gamma")
                .learned(),
            axis("the axis along which the members of a group lie"),
        ],
        limit: false,
        constructor: |a| a.penalty(Self::along(a.count("axis")?, a.number("strength")?)?),
        ..Module::PENALTY
    };
}

/// Where the groups of an array lie: `members` entries each, `step` apart.
struct Groups {
    count: usize,
    members: usize,
    step: usize,
}

impl Groups {
    /// The places of group `n`.
    fn places(&self, n: usize) -> impl Iterator<Item = usize> + use<> {
        let (step, members) = (self.step, self.members);
        let start = n / step * step * members + n % step;
        (0..members).map(move |k| start + k * step)
    }

    /// $\|x_n\|$.
    fn norm(&self, x: &[f64], n: usize) -> f64 {
        self.places(n).map(|i| x[i] * x[i]).sum::<f64>().sqrt()
    }
}

impl Penalty for L21 {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn proximal(&self, shape: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64 {
        let groups = self.groups(shape);
        let d = groups.members as f64;
        let mut trace = 0.0;
        for n in 0..groups.count {
            let size = groups.norm(b, n);
            let active = size > self.strength;
            if a < 0.0 || (active && a <= 0.0) {
                return f64::INFINITY;
            }
            let ratio = if active { self.strength / size } else { 1.0 };
            if active {
                trace += d - (d - 1.0) * ratio;
            }
            let scale = if active { (1.0 - ratio) / a } else { 0.0 };
            groups.places(n).for_each(|i| mode[i] = scale * b[i]);
        }
        if trace > 0.0 {
            trace / (a * b.len() as f64)
        } else {
            0.0
        }
    }

    /// Along $b_n$ by chords; across it the slope $\frac1a(1 - \lambda/\|b_n\|)_+$ has no jump.
    fn smoothed(&self, shape: &[usize], a: f64, b: &[f64], h: f64) -> Option<f64> {
        let groups = self.groups(shape);
        let d = groups.members as f64;
        let over = |size: f64| (size - self.strength).max(0.0);
        let slopes = (0..groups.count).map(|n| {
            let size = groups.norm(b, n);
            let along = (over(size + h) - over(size - h)) / (2.0 * h);
            let across = if size > 0.0 { over(size) / size } else { 0.0 };
            along + (d - 1.0) * across
        });
        Some(slopes.sum::<f64>() / (a * b.len() as f64))
    }

    fn energy(&self, shape: &[usize], x: &[f64]) -> f64 {
        let groups = self.groups(shape);
        let sizes = (0..groups.count).map(|n| groups.norm(x, n));
        self.strength * sizes.sum::<f64>()
    }

    fn check_shape(&self, shape: &[usize]) -> Result<(), String> {
        let axis = self.axis;
        if shape.len() <= axis {
            return Err(format!(
                "an array whose axis {axis} runs over the members of a group"
            ));
        }
        Ok(())
    }

    /// The law $e^{-\lambda\|x\|}$ on $\mathbb R^d$ has variance $(d + 1)/\lambda^2$ per component.
    fn nominal(&self, shape: &[usize]) -> Tilt {
        Tilt {
            a: self.strength * self.strength / (shape[self.axis] as f64 + 1.0),
            b: 0.0,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength)]
    }
}
