//! What is known about a variable at zero temperature: where it is.

use crate::belief::{Gaussian, SignalSpec, mean_square};
use crate::engine::Marginal;
use crate::factor::Incoming;

/// The mode of a variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Mode {
    /// Where it is, row-major.
    pub place: Vec<f64>,
    /// $v = 1/a$, the curvature of the messages; zero for a pin.
    pub curvature: f64,
    /// The square of the scale of the variable: the largest of what its factors would have it be, alone.
    square: f64,
}

impl Mode {
    pub(super) fn at_zero(spec: &SignalSpec) -> Self {
        Self {
            place: vec![0.0; spec.len()],
            curvature: 0.0,
            square: 0.0,
        }
    }

    /// Goes where the sum of all messages is.
    pub(super) fn settle(&mut self, incoming: Incoming<'_, Gaussian>, total: &Gaussian) {
        let scale = total.mean_scale();
        for (x, b) in self.place.iter_mut().zip(&total.linear) {
            *x = b * scale;
        }
        self.curvature = 1.0 / total.precision.scalar();
        let proper = incoming.iter().filter(|m| m.precision.scalar() > 0.0);
        let squares = proper.map(|m| m.mean_scale().powi(2) * mean_square(&m.linear));
        self.square = squares.fold(mean_square(&self.place), f64::max);
    }
}

impl Marginal for Mode {
    fn copy_from(&mut self, other: &Self) {
        self.place.copy_from_slice(&other.place);
        self.curvature = other.curvature;
        self.square = other.square;
    }

    fn thin_into(&self, out: &mut Self) {
        let stride = (self.place.len() / out.place.len().max(1)).max(1);
        for (few, x) in out.place.iter_mut().zip(self.place.iter().step_by(stride)) {
            *few = *x;
        }
        out.curvature = self.curvature;
        out.square = self.square;
    }

    fn forget(&mut self) {
        self.place.fill(0.0);
        self.curvature = f64::INFINITY;
    }

    fn second_moment(&self) -> f64 {
        self.square
    }

    fn variance(&self) -> f64 {
        self.curvature
    }

    /// Of the place alone: the curvature has another unit, and jumps with the active set. Relative to the present scale:
    /// a first sweep may know nothing of it.
    fn change(&self, previous: &Self, _: f64) -> f64 {
        let pairs = self.place.iter().zip(&previous.place);
        let square = pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>() / self.place.len() as f64;
        // 0/0 for a signal that is exactly zero
        (square / self.square.max(previous.square)).sqrt().max(0.0)
    }
}
