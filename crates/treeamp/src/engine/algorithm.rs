//! An algorithm: the meaning of messages, and what a factor must offer.

use super::{FallbackReport, Message, Options, Probe, Verdict, Watch};
use crate::belief::{SignalSpec, Structure};
use crate::error::{FactorError, RunError};
use crate::factor::{Context, Factor, Incoming};
use crate::model::{Tree, Variable};

/// The name of a capability that a factor lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingRule(pub &'static str);

/// A potential, and what of it is left when the potentials of the incoming messages alone are taken
/// off. Over the tree both add up to the same total, the second without large cancellations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Potential {
    /// The potential itself.
    pub value: f64,
    /// Less the potentials of the incoming messages.
    pub excess: f64,
}

/// What an algorithm knows about one variable after a sweep.
pub trait Marginal: Clone + Send + Sync + std::fmt::Debug {
    /// Copies in place, without allocating.
    fn copy_from(&mut self, other: &Self);
    /// Becomes what is known before anything is known: nothing, with infinite variance.
    fn forget(&mut self);
    /// The second moment $\tau$ it claims, the square of the signal's scale.
    fn second_moment(&self) -> f64;
    /// Its average variance.
    fn variance(&self) -> f64;
    /// It is known to be wrong, however sure: a theory knows the error of its student.
    fn errs(&self) -> bool {
        false
    }
    /// Copies some components, evenly spread, into a marginal of fewer.
    fn thin_into(&self, out: &mut Self) {
        out.copy_from(self);
    }
    /// The change from `previous`, relative to the scale: the larger of the root mean square change
    /// of the means over $\sqrt\tau$ and the change of the variance over $\tau$.
    fn change(&self, previous: &Self, second_moment: f64) -> f64;
}

/// A message-passing algorithm on a tree. Variables have no code: a message from a variable is the
/// sum of the other messages that reach it.
pub trait Algorithm: Sync + Clone {
    /// What travels on an edge.
    type Message: Message;
    /// What is known about a variable.
    type Marginal: Marginal;
    /// Name in errors.
    const NAME: &'static str;
    /// It runs on data. Only then [`Damping::Adaptive`](super::Damping::Adaptive) acts, and the
    /// objective at perfect recovery must settle; a theory has its own treatment of both.
    const ON_DATA: bool = false;

    /// All variances vanishing is perfect recovery, and the end of a run.
    const RECOVERS: bool = true;
    /// Linear channels may take approximate message passing ([`Route`](crate::factor::Route)) in its place.
    const HAS_ROUTES: bool = false;
    /// Its variances are those of a posterior.
    const HAS_VARIANCES: bool = false;
    /// Constant dampings are tried where sweeps do not settle.
    const TRIES_DAMPINGS: bool = false;

    /// Its certain method needs no good state of this tree to start from, and is no slower than other sweeps: it comes next.
    fn certain_from_anywhere(&self, tree: &Tree) -> bool {
        let _ = tree;
        false
    }

    /// Curvatures of penalties in this tree jump, and are smoothed where sweeps do not settle otherwise.
    fn smooths(&self, tree: &Tree) -> bool {
        let _ = tree;
        false
    }

    /// Whether it can run with beliefs of this structure; isotropic ones are a matter of course. By default,
    /// every one if it runs on data: a theory knows isotropic beliefs only.
    fn takes(&self, structure: Structure) -> bool {
        let _ = structure;
        Self::ON_DATA
    }

    /// Checks that a factor offers what the algorithm needs.
    ///
    /// # Errors
    /// The rule that is missing.
    fn requires(&self, factor: &dyn Factor) -> Result<(), MissingRule>;

    /// A message that says nothing, of the right size.
    fn flat(&self, spec: &SignalSpec) -> Self::Message;

    /// A marginal of the right size.
    fn blank(&self, spec: &SignalSpec) -> Self::Marginal;

    /// A message with constant parameters: every component of the linear part is `linear(i)`.
    fn constant(
        &self,
        spec: &SignalSpec,
        precision: f64,
        linear: &mut dyn FnMut() -> f64,
    ) -> Self::Message;

    /// A message of this precision that says nothing of the place of a signal.
    fn centred(&self, spec: &SignalSpec, precision: f64) -> Self::Message {
        self.constant(spec, precision, &mut || 0.0)
    }

    /// The message of factor `node` to its port `target`.
    ///
    /// # Errors
    /// When the factor cannot compute it.
    fn update(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Self::Message>,
        target: usize,
        out: &mut Self::Message,
    ) -> Result<(), FactorError>;

    /// What all messages at a variable say together. `total` is scratch.
    ///
    /// # Errors
    /// [`FactorError::Improper`] when they leave a negative variance.
    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Self::Message>,
        total: &mut Self::Message,
        out: &mut Self::Marginal,
    ) -> Result<(), FactorError>;

    /// `spare` is no longer needed: its memory goes back to the scratch that it was made from.
    fn recycle(&self, spare: &mut Self::Marginal, total: &mut Self::Message) {
        let _ = (spare, total);
    }

    /// Every message of the factor is the same whatever reaches it, so that no copy needs to be kept.
    fn is_constant(&self, factor: &dyn Factor) -> bool {
        let _ = factor;
        false
    }

    /// The factor need not write the message to this port where nobody reads it.
    fn skips_unread(&self, factor: &dyn Factor, port: usize) -> bool {
        let _ = (factor, port);
        false
    }

    /// What a state is at which a run has come to rest. By default it is a fixed point.
    ///
    /// # Errors
    /// A factor that fails for good.
    fn certify(&self, probe: &mut Probe<'_, '_, Self>) -> Result<Verdict, RunError> {
        Ok(probe.settled())
    }

    /// Why its fallback is not certain to end at a fixed point of this tree, or to say why not; `None` where it is.
    fn uncertain(&self, tree: &Tree) -> Option<RunError> {
        let _ = tree;
        None
    }

    /// The certain way to a fixed point, from the messages of a run and into them, by edge: for expectation propagation
    /// a double loop that minimises the Bethe free energy. It tells `watch` after every step, which may end it.
    ///
    /// # Errors
    /// A factor that cannot compute its log-partition; by default, that there is no such way.
    fn fall_back(
        &self,
        tree: &Tree,
        messages: &mut [Self::Message],
        options: &Options,
        watch: &mut dyn Watch<Self::Message>,
    ) -> Result<FallbackReport, RunError> {
        let _ = (tree, messages, options, watch);
        Err(RunError::NotDefined {
            what: "a fallback".to_owned(),
            why: format!("{} has none", Self::NAME),
        })
    }

    /// $A_f$: the potential of a factor at its incoming messages.
    ///
    /// # Errors
    /// When the factor cannot compute it.
    fn factor_potential(
        &self,
        node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Self::Message>,
    ) -> Result<Potential, FactorError>;

    /// The standard error of $A_f$ where it is estimated at random; zero where it is computed.
    fn factor_potential_error(
        &self,
        factor: &dyn Factor,
        context: &mut Context<'_, Self::Message>,
    ) -> f64 {
        let _ = (factor, context);
        0.0
    }

    /// $A_x$: the potential of the product of messages on a variable, or on an edge.
    fn variable_potential(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Self::Message>,
        total: &mut Self::Message,
    ) -> Potential;
}
