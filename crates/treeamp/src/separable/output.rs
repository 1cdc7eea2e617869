//! A law of outputs alone, $p(y \mid z) = \prod_i p(y_i \mid z_i)$, as a channel whose output must be observed.
//!
//! It draws outputs, and becomes the likelihood of those that are observed. Unlike a
//! [`ScalarChannel`](crate::scalar::ScalarChannel) it has no joint log-partition, so no algorithm runs on it before.

use std::marker::PhantomData;
use std::sync::Arc;

use rand::Rng;

use super::ObservedLaw;
use super::likelihood::check_all;
use super::prior::listed;
use crate::belief::{SignalSpec, fits};
use crate::error::ShapeError;
use crate::factor::{Arity, Factor, GenerativeRule, downcast};
use crate::scalar::{Elem, ScalarLikelihood};

/// A scalar likelihood, not observed yet.
///
/// ```
/// use treeamp::prelude::*;
/// let signal = CircularGaussian::new(1.0)?.iid(3);
/// let phases = OutputChannel::new("phase", PhaseLikelihood);
/// let model = (source(signal) >> var("z") >> phases >> var("y")).build()?;
/// let truth = model.sample(0)?;
/// let observed = model.condition("y", truth.get("y")?)?;
/// assert!(ExpectationPropagation.on(&observed).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct OutputChannel<L, E = f64> {
    name: &'static str,
    law: L,
    element: PhantomData<E>,
}

impl<E: Elem, L: ScalarLikelihood<E>> OutputChannel<L, E> {
    /// The outputs of this law.
    #[must_use]
    pub fn new(name: &'static str, law: L) -> Self {
        let element = PhantomData;
        Self { name, law, element }
    }
}

/// The output of a law on components of one kind, in components of another.
pub(super) fn one_output<In: Elem, Out: Elem>(
    z: &SignalSpec,
) -> Result<Vec<SignalSpec>, ShapeError> {
    if z.element != In::ELEMENT {
        return Err(ShapeError {
            port: 0,
            expected: format!("a {} signal", In::ELEMENT),
            got: format!("a {} one of shape {z}", z.element),
        });
    }
    Ok(vec![SignalSpec {
        element: Out::ELEMENT,
        ..z.clone()
    }])
}

impl<E: Elem, L: ScalarLikelihood<E>> Factor for OutputChannel<L, E> {
    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> String {
        listed(&self.law.parameters())
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        downcast::<Self>(other).is_some_and(|other| other.law == self.law)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let z = &inputs[0];
        fits(self.law.shape(), "its parameters", z)?;
        // in the limit the components are a sample of their laws
        let sized = z.ratio.is_none();
        let count = self.law.components().filter(|_| sized);
        if let Some(n) = count.filter(|n| *n != z.count()) {
            return Err(ShapeError {
                port: 0,
                expected: format!("{n} components, one per parameter"),
                got: format!("shape {z}"),
            });
        }
        one_output::<E, L::Output>(z)
    }

    fn observe(&self, y: &[f64]) -> Result<Option<Arc<dyn Factor>>, String> {
        check_all(&self.law, y)?;
        let factor = self.law.clone().observed(y).map_err(|e| e.to_string())?;
        Ok(Some(Arc::new(factor.labelled(self.name))))
    }

    fn observe_unspecified(&self) -> Result<Option<Arc<dyn Factor>>, String> {
        let factor = self.law.clone().unspecified();
        Ok(Some(Arc::new(factor.labelled(self.name))))
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl<E: Elem, L: ScalarLikelihood<E>> GenerativeRule for OutputChannel<L, E> {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        let outputs = L::Output::view_mut(&mut outputs[0]);
        for (i, (y, z)) in outputs.iter_mut().zip(E::view(inputs[0])).enumerate() {
            *y = self.law.of(i).sample(*z, rng);
        }
    }
}
