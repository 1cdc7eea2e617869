//! What the messages of a factor cost, estimated from sizes before anything is computed.

use std::ops::Add;

use crate::belief::SignalSpec;

/// Operations a second, by which operations become seconds: products of matrices on one core of 2026. Nothing in a run depends on it.
const RATE: f64 = 1e10;
/// Operations of one component of a law in one message: a few exponentials and what reaches it from memory.
const COMPONENT: f64 = 150.0;

/// Operations and memory of a factor in expectation propagation, to an order of magnitude.
///
/// The unit is a floating point operation inside a product of two matrices, of which one core makes about $10^{10}$ a second. What waits
/// for memory counts more: an entry of a matrix that multiplies a vector is 8 operations, a component of a law
/// 150. Laws by quadrature take up to a hundred times that, and the number of sweeps is not part of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Operations before the first sweep: decompositions.
    pub set_up: f64,
    /// Operations of a sweep: one message to every port.
    pub sweep: f64,
    /// Bytes that it holds or works in, beside the messages.
    pub bytes: f64,
}

impl Cost {
    /// Of a law on components: a message to every port.
    #[must_use]
    pub fn of_components(ports: &[SignalSpec]) -> Self {
        let components: f64 = ports.iter().map(|p| p.len() as f64).sum();
        Self {
            sweep: COMPONENT * components,
            ..Self::default()
        }
    }

    /// How long so many operations take, in seconds.
    #[must_use]
    pub fn seconds(operations: f64) -> f64 {
        operations / RATE
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            set_up: self.set_up + other.set_up,
            sweep: self.sweep + other.sweep,
            bytes: self.bytes + other.bytes,
        }
    }
}
