//! A scalar law seen from outside its type: what an average over a teacher needs.

use super::{Tilt, Tilted, TiltedPair};

/// How the outputs $y$ of a likelihood are distributed, for averages over them.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputMeasure {
    /// Finitely many values.
    Finite(Vec<f64>),
    /// $y = \varphi(z)$ or $y = \varphi(z) + \sqrt\Delta\,\xi$: integrate over $z$ (and $\xi$) instead.
    PushForward {
        /// The noise variance $\Delta$.
        noise_variance: f64,
    },
}

/// A real scalar law behind an object-safe face: a prior, a likelihood or a channel.
pub trait ScalarView: Send + Sync {
    /// A prior tilted by $e^{-\frac12 a x^2 + b x}$; `None` for a likelihood or channel.
    fn prior(&self, _x: Tilt) -> Option<Tilted> {
        None
    }

    /// A likelihood tilted at an output; `None` for a prior or channel.
    fn likelihood(&self, _y: f64, _z: Tilt) -> Option<Tilted> {
        None
    }

    /// A channel tilted at both ends; `None` for a prior or likelihood.
    fn channel(&self, _z: Tilt, _x: Tilt) -> Option<TiltedPair> {
        None
    }

    /// How the outputs of a likelihood are distributed.
    fn outputs(&self) -> Option<OutputMeasure> {
        None
    }

    /// The deterministic part of an output or of a channel.
    fn map(&self, _z: f64) -> Option<f64> {
        None
    }

    /// Places on the axis of $x$ (priors) or $z$ (likelihoods, channels) where the law changes its
    /// form: atoms, ends of the support, knees, component means.
    fn landmarks(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Standard deviations at play: of the components of a prior, or the knees' own scale.
    fn scales(&self) -> Vec<f64> {
        Vec::new()
    }
}
