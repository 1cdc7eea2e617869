//! What is known about a variable at zero temperature: where it is.

use crate::belief::{Gaussian, SignalSpec, mean_square};
use crate::engine::Marginal;
use crate::factor::Incoming;

/// The mode of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// Where it is, row-major.
    pub point: Vec<f64>,
    /// $v = 1/a$, the inverse curvature of the messages; zero for a pin.
    pub inverse_curvature: f64,
    /// The square of the scale of the variable: the largest of what its factors would have it be, alone.
    square: f64,
}

impl Mode {
    pub(super) fn at_zero(spec: &SignalSpec) -> Self {
        Self {
            point: vec![0.0; spec.len()],
            inverse_curvature: 0.0,
            square: 0.0,
        }
    }

    /// Goes where the sum of all messages is.
    pub(super) fn settle(&mut self, incoming: Incoming<'_, Gaussian>, total: &Gaussian) {
        let scale = total.mean_scale();
        for (x, b) in self.point.iter_mut().zip(&total.linear) {
            *x = b * scale;
        }
        self.inverse_curvature = 1.0 / total.precision.scalar();
        let proper = incoming.iter().filter(|m| m.precision.scalar() > 0.0);
        let squares = proper.map(|m| m.mean_scale().powi(2) * mean_square(&m.linear));
        self.square = squares.fold(mean_square(&self.point), f64::max);
    }
}

impl Marginal for Mode {
    fn copy_from(&mut self, other: &Self) {
        self.point.copy_from_slice(&other.point);
        self.inverse_curvature = other.inverse_curvature;
        self.square = other.square;
    }

    fn thin_into(&self, out: &mut Self) {
        let stride = (self.point.len() / out.point.len().max(1)).max(1);
        for (few, x) in out.point.iter_mut().zip(self.point.iter().step_by(stride)) {
            *few = *x;
        }
        out.inverse_curvature = self.inverse_curvature;
        out.square = self.square;
    }

    fn forget(&mut self) {
        self.point.fill(0.0);
        self.inverse_curvature = f64::INFINITY;
    }

    fn second_moment(&self) -> f64 {
        self.square
    }

    fn variance(&self) -> f64 {
        self.inverse_curvature
    }

    /// Of the point alone: the curvature has another unit, and jumps with the active set. Relative to the present scale:
    /// a first sweep may know nothing of it.
    fn change(&self, previous: &Self, _: f64) -> f64 {
        let pairs = self.point.iter().zip(&previous.point);
        let square = pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>() / self.point.len() as f64;
        // 0/0 for a signal that is exactly zero
        (square / self.square.max(previous.square)).sqrt().max(0.0)
    }
}
