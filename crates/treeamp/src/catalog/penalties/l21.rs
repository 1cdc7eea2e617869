//! The group penalty $E(x) = \lambda\sum_n\|x_n\|_2$ of an array of shape $d \times N \times \dots$, whose groups
//! $x_n \in \mathbb R^d$ run along the first axis.
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
use crate::error::ModelError;
use crate::scalar::Tilt;
use crate::separable::Penalty;

/// $\lambda\sum_n\|x_n\|_2$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct L21 {
    strength: f64,
}

impl L21 {
    /// Catalogue name.
    pub const NAME: &'static str = "l21";

    /// The penalty of this strength $\lambda$.
    ///
    /// # Errors
    /// Unless the strength is not negative and finite.
    pub fn new(strength: f64) -> Result<Self, ModelError> {
        let strength = check_strength(Self::NAME, strength)?;
        Ok(Self { strength })
    }
}

/// $\|x_n\|$ of the group `n` of `count`.
fn norm(x: &[f64], n: usize, count: usize) -> f64 {
    let square = x[n..].iter().step_by(count).map(|x| x * x).sum::<f64>();
    square.sqrt()
}

impl Penalty for L21 {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn proximal(&self, shape: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64 {
        let (d, count) = (shape[0] as f64, b.len() / shape[0]);
        let mut trace = 0.0;
        for n in 0..count {
            let size = norm(b, n, count);
            let active = size > self.strength;
            if a < 0.0 || (active && a <= 0.0) {
                return f64::INFINITY;
            }
            let ratio = if active { self.strength / size } else { 1.0 };
            if active {
                trace += d - (d - 1.0) * ratio;
            }
            let scale = if active { (1.0 - ratio) / a } else { 0.0 };
            let group = mode[n..].iter_mut().step_by(count);
            for (r, b) in group.zip(b[n..].iter().step_by(count)) {
                *r = scale * b;
            }
        }
        if trace > 0.0 {
            trace / (a * b.len() as f64)
        } else {
            0.0
        }
    }

    /// Along $b_n$ by chords; across it the slope $\frac1a(1 - \lambda/\|b_n\|)_+$ has no jump.
    fn softened(&self, shape: &[usize], a: f64, b: &[f64], h: f64) -> Option<f64> {
        let (d, count) = (shape[0] as f64, b.len() / shape[0]);
        let over = |size: f64| (size - self.strength).max(0.0);
        let slopes = (0..count).map(|n| {
            let size = norm(b, n, count);
            let along = (over(size + h) - over(size - h)) / (2.0 * h);
            let across = if size > 0.0 { over(size) / size } else { 0.0 };
            along + (d - 1.0) * across
        });
        Some(slopes.sum::<f64>() / (a * b.len() as f64))
    }

    fn energy(&self, shape: &[usize], x: &[f64]) -> f64 {
        let count = x.len() / shape[0];
        self.strength * (0..count).map(|n| norm(x, n, count)).sum::<f64>()
    }

    fn check_shape(&self, shape: &[usize]) -> Result<(), String> {
        if shape.is_empty() {
            return Err("an array whose first axis runs over the members of a group".to_owned());
        }
        Ok(())
    }

    /// The law $e^{-\lambda\|x\|}$ on $\mathbb R^d$ has variance $(d + 1)/\lambda^2$ per component.
    fn nominal(&self, shape: &[usize]) -> Tilt {
        Tilt {
            a: self.strength * self.strength / (shape[0] as f64 + 1.0),
            b: 0.0,
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("strength", self.strength)]
    }
}
