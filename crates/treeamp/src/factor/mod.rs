//! Factors: what a node of the tree can do, as small capabilities.

mod context;
mod cost;
mod ensemble;
mod gaussian_average;
mod incoming;
mod proximal;
mod route;
mod row_ensemble;
mod rules;
mod site;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

pub use context::{Context, Request, Workspace};
pub use cost::Cost;
pub(crate) use ensemble::signal;
pub use ensemble::{Averaged, EnsembleRule};
pub use gaussian_average::GaussianFactor;
pub use incoming::Incoming;
pub use proximal::ProximalRule;
pub(crate) use proximal::{
    FEASIBLE, cold_excess, gaussian_proximal_rule, log_value, quadratic_energy,
};
pub use route::{Route, RouteChoice, RouteReport};
pub use row_ensemble::{RowAveraged, RowEnsembleRule, RowEstimate};
pub use rules::{GenerativeRule, PosteriorRule, message_from_moments};
pub use site::Site;
pub(crate) use site::{posterior, proximal};

use crate::belief::{Element, SignalSpec, Structure};
use crate::error::{FactorError, ShapeError};
use crate::math::spectrum::Spectrum;
use crate::scalar::ScalarView;

/// A belief that a factor cannot handle; the planner adds the names.
#[derive(Debug, Clone, PartialEq)]
pub struct BeliefError {
    /// The port, inputs first.
    pub port: usize,
    /// What the factor supports there.
    pub supported: String,
}

/// The other factor is of the same type, and equal.
#[must_use]
pub fn same<F: Factor + PartialEq>(own: &F, other: &dyn Factor) -> bool {
    downcast::<F>(other).is_some_and(|other| other == own)
}

/// A factor of a given type, if it is.
#[must_use]
pub fn downcast<F: Factor>(factor: &dyn Factor) -> Option<&F> {
    (factor as &dyn Any).downcast_ref()
}

/// Each port has a belief of one of these kinds.
///
/// # Errors
/// The first one that has not.
pub fn each_supported(structures: &[Structure], ports: &[SignalSpec]) -> Result<(), BeliefError> {
    let known = |s: Structure| structures.iter().any(|k| k.same_kind(s));
    match ports.iter().position(|p| !known(p.structure)) {
        None => Ok(()),
        Some(port) => Err(BeliefError {
            port,
            supported: kinds(structures),
        }),
    }
}

/// The same belief at every port, of one of these kinds: for factors that copy or shift their variables.
pub(crate) fn all_alike(structures: &[Structure], ports: &[SignalSpec]) -> Result<(), BeliefError> {
    each_supported(structures, ports)?;
    match ports.iter().position(|p| p.structure != ports[0].structure) {
        None => Ok(()),
        Some(port) => Err(BeliefError {
            port,
            supported: format!("{}, as on its first variable", ports[0].structure),
        }),
    }
}

fn kinds(structures: &[Structure]) -> String {
    let name = |s: &Structure| match s {
        Structure::Block { .. } => "block".to_owned(),
        other => other.to_string(),
    };
    structures.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// Every kind of belief; the size of a block is any.
pub(crate) const ALL_STRUCTURES: &[Structure] = &[
    Structure::Isotropic,
    Structure::Diagonal,
    Structure::Block { dim: 0 },
    Structure::Full,
];

/// How many variables a factor takes and gives. Ports are numbered inputs first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arity {
    /// Variables it takes.
    pub inputs: usize,
    /// Variables it gives.
    pub outputs: usize,
}

/// A node of the tree. Object safe: dispatch is paid once per node, never per element.
///
/// A factor states its wiring and shapes, and offers capabilities; an algorithm asks for the one it
/// needs, and the planner reports the factors that lack it before the first sweep.
pub trait Factor: Any + Debug + Send + Sync {
    /// Name in messages, drawings and the catalogue.
    fn name(&self) -> &str;

    /// A short text of its parameters, for `describe`.
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

    /// The factor for the signals it is given, where its work depends on their shapes: the tree holds
    /// that one instead.
    ///
    /// # Errors
    /// When an input has a shape it cannot take.
    fn bind(&self, _inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
        Ok(None)
    }

    /// The factor for the beliefs of its outputs, where another one has its law on them: the tree holds that one instead.
    fn for_beliefs(&self, _outputs: &[SignalSpec]) -> Option<Arc<dyn Factor>> {
        None
    }

    /// The other factor is the same law: the same kind with the same parameters. Observed values and sizes do not count. By default,
    /// if it is this very factor; a factor that can be compared says [`same`].
    fn same_law(&self, other: &dyn Factor) -> bool {
        std::ptr::addr_eq(std::ptr::from_ref(self), std::ptr::from_ref(other))
    }

    /// The kinds of beliefs it can handle at its ports; the size of a block does not count here.
    fn structures(&self) -> &'static [Structure] {
        &[Structure::Isotropic]
    }

    /// Whether it can handle the beliefs at its ports together; by default, when each is among its
    /// [`structures`](Self::structures).
    ///
    /// # Errors
    /// The first port whose belief it cannot handle, and what would have been right.
    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        each_supported(self.structures(), ports)
    }

    /// Whether it can handle the beliefs at its ports where the variable at `port` is known exactly; by default it can.
    ///
    /// # Errors
    /// The first port whose belief it cannot handle, and what would have been right.
    fn check_exact(&self, _ports: &[SignalSpec], _port: usize) -> Result<(), BeliefError> {
        Ok(())
    }

    /// What is known exactly at port `from` makes the variable at port `to` known exactly; by default it does not. The
    /// planner follows exact observations by this.
    fn passes_exact(&self, _ports: &[SignalSpec], _from: usize, _to: usize) -> bool {
        false
    }

    /// Its memory from sweep to sweep, for the signals at its ports. Sized here: a sweep does not allocate.
    fn workspace(&self, _ports: &[SignalSpec]) -> Workspace {
        Workspace::none()
    }

    /// How many `f64` it needs besides, for beliefs that are not isotropic: matrices on the smaller side.
    fn dense_len(&self, _ports: &[SignalSpec]) -> usize {
        0
    }

    /// What expectation propagation between these signals costs, from sizes alone: nothing is computed or decomposed. By default
    /// that of a law on components.
    fn cost(&self, ports: &[SignalSpec]) -> Cost {
        Cost::of_components(ports)
    }

    /// Work to be done once before the first sweep, such as a decomposition.
    ///
    /// # Errors
    /// When that work fails.
    fn prepare(&self) -> Result<(), FactorError> {
        Ok(())
    }

    /// The route that it takes between the signals at its ports, and why; `None` of a factor without a choice, or one that was
    /// given none.
    fn route(&self, _ports: &[SignalSpec]) -> Option<RouteChoice> {
        None
    }

    /// The port of an output whose components vanish as the model grows: what sees them is expanded about zero, and must be smooth there.
    fn vanishing_port(&self) -> Option<usize> {
        None
    }

    /// What the factor becomes when its only output is observed: its likelihood, or `None` when it
    /// has none of its own and the output is pinned at the observation instead.
    ///
    /// # Errors
    /// A phrase "expected ..., got ..." for an observation it can never produce.
    fn observe(&self, _y: &[f64]) -> Result<Option<Arc<dyn Factor>>, String> {
        Ok(None)
    }

    /// What the observations of a likelihood are made of; `None` when as its input.
    fn observed_element(&self) -> Option<Element> {
        None
    }

    /// What the factor becomes when its only output is observed without values: a likelihood for theory
    /// only, or `None` when the output is pinned instead.
    ///
    /// # Errors
    /// A phrase saying why its output cannot be observed.
    fn observe_unspecified(&self) -> Result<Option<Arc<dyn Factor>>, String> {
        Ok(None)
    }

    /// Expectation propagation.
    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        None
    }

    /// Maximum a posteriori estimation.
    fn proximal(&self) -> Option<&dyn ProximalRule> {
        None
    }

    /// State evolution, on the student's and the teacher's side.
    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        None
    }

    /// State evolution with rows, whose overlaps are matrices.
    fn row_ensemble(&self) -> Option<&dyn RowEnsembleRule> {
        None
    }

    /// The entropy $H[y \mid z]$ of a likelihood's noise per component; `None` where it depends on $z$, and where it is not defined,
    /// for a noiseless continuous output.
    fn noise_entropy(&self) -> Option<f64> {
        None
    }

    /// The same where it depends on the input: its average $E\,H[y \mid z]$ over $z \sim N(0, \tau)$.
    fn noise_entropy_at(&self, tau: f64) -> Option<f64> {
        let _ = tau;
        self.noise_entropy()
    }

    /// A likelihood whose output is continuous and has no noise: its density diverges where the input is known.
    fn is_noiseless(&self) -> bool {
        self.noise_entropy().is_none()
    }

    /// The Gaussian law of a factor that is one, for averages over a teacher.
    fn gaussian_average(&self) -> Option<GaussianFactor> {
        None
    }

    /// The precision of the first message to a law without a finite second moment, one over the square of its scale: such a law says
    /// nothing to a message of precision zero. `None` for all others.
    fn start_precision(&self) -> Option<f64> {
        None
    }

    /// The spectrum of $W^T W$ of a linear channel.
    fn spectrum(&self) -> Option<&Spectrum> {
        None
    }

    /// Why the state evolution of this factor is a heuristic; `None` where it is exact in the limit.
    fn heuristic(&self) -> Option<&'static str> {
        None
    }

    /// The scalar law of a separable factor, through which a student averages over this teacher.
    fn scalar(&self) -> Option<&dyn ScalarView> {
        None
    }

    /// Forward sampling.
    fn generator(&self) -> Option<&dyn GenerativeRule> {
        None
    }
}
