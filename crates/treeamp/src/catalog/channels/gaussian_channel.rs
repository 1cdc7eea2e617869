//! Gaussian channels: outputs that are linear in the inputs, with Gaussian noise or none. A [`Kernel`] says what one does to
//! beliefs, and [`GaussianChannel`] makes a factor of it.
//!
//! Posterior, mode and sampling follow from the kernel alone: the mean of a Gaussian is its mode, and
//! $A_f = \text{excess} + \sum_i A(m_i)$.

use std::fmt::Debug;
use std::sync::Arc;

use rand::Rng;

use super::gaussian_theory::Theory;
use crate::belief::{Gaussian, Moments, SignalSpec, Structure};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    ALL_STRUCTURES, Arity, BeliefError, Context, EnsembleRule, Factor, GaussianFactor,
    GenerativeRule, Incoming, PosteriorRule, ProximalRule, all_alike, same,
};

/// What a Gaussian channel does to beliefs. All its variables have beliefs of the same structure.
pub trait Kernel: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Catalogue name.
    const NAME: &'static str;
    /// The structures that it takes.
    const STRUCTURES: &'static [Structure] = ALL_STRUCTURES;

    /// A short text of its parameters.
    fn summary(&self) -> String {
        String::new()
    }

    /// Number of inputs and outputs.
    fn arity(&self) -> Arity;

    /// The signals it gives for the signals it takes.
    ///
    /// # Errors
    /// When an input has a shape it cannot take.
    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError>;

    /// The kernel for the signals it is given, where it depends on their shapes.
    ///
    /// # Errors
    /// When an input has a shape it cannot take.
    fn bind(&self, _inputs: &[SignalSpec]) -> Result<Option<Self>, ShapeError> {
        Ok(None)
    }

    /// It knows what it needs of the shapes of its signals.
    fn is_bound(&self) -> bool {
        true
    }

    /// The message to port `target`.
    ///
    /// # Errors
    /// Messages that leave a negative variance.
    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError>;

    /// $A_f - \sum_i A(m_i)$, without the difference of large numbers.
    ///
    /// # Errors
    /// Messages that leave a negative variance.
    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError>;

    /// $A_f$: the excess and the potentials of the messages. Override it where a formula keeps digits that this sum of large numbers
    /// loses.
    ///
    /// # Errors
    /// Messages that leave a negative variance.
    fn log_partition(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let own: f64 = incoming.iter().map(Gaussian::own_potential).sum();
        Ok(self.excess(incoming)? + own)
    }

    /// Draws the outputs given the inputs.
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng);

    /// The variance of the noise that it adds; zero where the outputs follow from the inputs.
    fn noise_variance(&self) -> f64 {
        0.0
    }

    /// $E$ at a place for every port.
    fn energy(&self, _places: &[&[f64]]) -> f64 {
        0.0
    }

    /// What is known exactly at one port makes every other port known exactly.
    fn passes_exact(&self) -> bool {
        true
    }

    /// What the channel becomes when its output is observed (`None`: without values); `None` where the output is pinned instead.
    ///
    /// # Errors
    /// A phrase "expected ..., got ..." for an observation it can never produce.
    fn observe(&self, _y: Option<&[f64]>) -> Result<Option<Arc<dyn Factor>>, String> {
        Ok(None)
    }

    /// What state evolution knows of it.
    fn theory(&self) -> Theory<'_>;
}

/// A Gaussian channel as a factor.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianChannel<K> {
    pub(super) kernel: K,
}

impl<K: Kernel> GaussianChannel<K> {
    /// Catalogue name.
    pub const NAME: &'static str = K::NAME;

    /// The rules of a channel that knows the shapes of its signals.
    fn bound(&self) -> Option<&Self> {
        self.kernel.is_bound().then_some(self)
    }
}

impl<K: Kernel> Factor for GaussianChannel<K> {
    fn name(&self) -> &str {
        K::NAME
    }

    fn summary(&self) -> String {
        self.kernel.summary()
    }

    fn arity(&self) -> Arity {
        self.kernel.arity()
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        self.kernel.output_specs(inputs)
    }

    fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
        let bound = self.kernel.bind(inputs)?;
        Ok(bound.map(|kernel| Arc::new(Self { kernel }) as Arc<dyn Factor>))
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        same(self, other)
    }

    fn structures(&self) -> &'static [Structure] {
        K::STRUCTURES
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        all_alike(K::STRUCTURES, ports)
    }

    fn passes_exact(&self, _: &[SignalSpec], _: usize, _: usize) -> bool {
        self.kernel.passes_exact()
    }

    fn observe(&self, y: &[f64]) -> Result<Option<Arc<dyn Factor>>, String> {
        self.kernel.observe(Some(y))
    }

    fn observe_unspecified(&self) -> Result<Option<Arc<dyn Factor>>, String> {
        self.kernel.observe(None)
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        self.bound().map(|rule| rule as &dyn PosteriorRule)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        self.bound().map(|rule| rule as &dyn ProximalRule)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        self.bound().map(|rule| rule as &dyn EnsembleRule)
    }

    fn gaussian_average(&self) -> Option<GaussianFactor> {
        match self.kernel.theory() {
            Theory::Scalars(scalars) => Some(scalars.law()),
            Theory::Own(_) => None,
        }
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        self.bound().map(|rule| rule as &dyn GenerativeRule)
    }
}

impl<K: Kernel> PosteriorRule for GaussianChannel<K> {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        self.kernel.log_partition(context.incoming)
    }

    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        self.kernel.excess(context.incoming)
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        self.kernel.message(context.incoming, target, out)
    }
}

impl<K: Kernel> ProximalRule for GaussianChannel<K> {
    fn energy(&self, places: &[&[f64]]) -> f64 {
        self.kernel.energy(places)
    }

    fn mode(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        self.moments(context, target, out)
    }

    fn mode_message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        self.message(context, target, out)
    }

    fn determines_outputs(&self) -> bool {
        self.kernel.noise_variance() == 0.0
    }
}

impl<K: Kernel> GenerativeRule for GaussianChannel<K> {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        self.kernel.sample(inputs, outputs, rng);
    }
}
