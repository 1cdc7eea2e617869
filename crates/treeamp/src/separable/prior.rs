//! A separable prior $p(x) = \prod_i p(x_i)$.

use std::marker::PhantomData;

use rand::Rng;

use super::{chunked_sum, fill_moments, gaussian_excess, gaussian_message, law_structures};
use crate::belief::{Gaussian, Message as _, Moments, SignalSpec, Structure};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    Arity, Context, EnsembleRule, Factor, GenerativeRule, Incoming, PosteriorRule, ProximalRule,
    downcast, message_from_moments,
};
use crate::scalar::{Elem, ScalarPrior, ScalarView, Symmetry};

/// How far from an atom or the support a value may be and still count as there, relative.
const PLACE_TOLERANCE: f64 = 1e-6;

/// A scalar prior on every component of a signal.
#[derive(Debug, Clone)]
pub struct SeparablePrior<P, E = f64> {
    law: P,
    shape: Vec<usize>,
    /// Relative size in the limit; the shape is then empty.
    ratio: Option<f64>,
    element: PhantomData<E>,
}

/// Gives every scalar prior the way into a model.
pub trait IidLaw<E: Elem = f64>: ScalarPrior<E> {
    /// The prior of a vector of `n` independent components.
    fn iid(self, n: usize) -> SeparablePrior<Self, E> {
        self.shaped([n])
    }

    /// The prior of an array of independent components.
    fn shaped(self, shape: impl Into<Vec<usize>>) -> SeparablePrior<Self, E> {
        SeparablePrior {
            law: self,
            shape: shape.into(),
            ratio: None,
            element: PhantomData,
        }
    }

    /// The prior of a signal in the limit of infinite size, the reference that ratios refer to. For
    /// theory only.
    fn limit(self) -> SeparablePrior<Self, E> {
        self.limit_of(1.0)
    }

    /// The prior of a signal in the limit of infinite size, `ratio` times the size of the reference.
    fn limit_of(self, ratio: f64) -> SeparablePrior<Self, E> {
        SeparablePrior {
            ratio: Some(ratio),
            ..self.shaped([])
        }
    }
}

impl<E: Elem, P: ScalarPrior<E>> IidLaw<E> for P {}

impl<P, E> SeparablePrior<P, E> {
    /// The law of one component.
    pub fn law(&self) -> &P {
        &self.law
    }
}

impl<E: Elem, P: ScalarPrior<E>> Factor for SeparablePrior<P, E> {
    fn name(&self) -> &str {
        P::NAME
    }

    fn summary(&self) -> String {
        listed(&self.law.parameters())
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        downcast::<Self>(other).is_some_and(|other| other.law == self.law)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 0,
            outputs: 1,
        }
    }

    fn output_specs(&self, _: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![SignalSpec {
            shape: self.shape.clone(),
            element: E::ELEMENT,
            structure: Structure::Isotropic,
            ratio: self.ratio,
        }])
    }

    fn structures(&self) -> &'static [Structure] {
        law_structures::<E>(self.law.as_gaussian().is_some())
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        self.proximal_rule()
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Factor::scalar(self).map(|_| self as &dyn EnsembleRule)
    }

    fn scalar(&self) -> Option<&dyn ScalarView> {
        match self.law.symmetry() {
            Symmetry::Unknown => self.law.part(),
            _ => Some(self),
        }
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl<E: Elem, P: ScalarPrior<E>> PosteriorRule for SeparablePrior<P, E> {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        match x.structure() {
            Structure::Isotropic => {}
            Structure::Diagonal => {
                let (a, b) = (x.precision.data(), E::view(&x.linear));
                return Ok(chunked_sum(b.len(), |i| self.log_z_at(a[i], b[i])));
            }
            _ => return Ok(self.excess(context)? + x.own_potential()),
        }
        let (a, b) = (x.precision.scalar(), E::view(&x.linear));
        if a == f64::INFINITY {
            let impossible = b
                .iter()
                .any(|x| self.log_density_or_atom(*x) == f64::NEG_INFINITY);
            return Ok(if impossible {
                f64::NEG_INFINITY
            } else {
                chunked_sum(b.len(), |i| self.log_density_or_atom(b[i]))
            });
        }
        Ok(chunked_sum(b.len(), |i| self.law.tilted(a, b[i]).log_z))
    }

    /// A Gaussian law of mean $m_0$ and variance $v_0$ gives $\ln\mathcal N(\hat x; m_0, v_0 + 1/a)$.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        match gaussian_excess(x, |_| self.law.as_gaussian()) {
            Some(excess) => Ok(excess),
            None => Ok(self.log_partition(context)? - x.own_potential()),
        }
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if x.structure() == Structure::Isotropic {
            let v = self.fill(incoming, &mut out.mean);
            out.variance.set_scalar(v);
            return Ok(());
        }
        if x.structure() == Structure::Diagonal {
            self.fill_each(x, &mut out.mean, out.variance.data_mut());
            return Ok(());
        }
        let mut total = gaussian_message(x, |_| self.law.as_gaussian())?;
        total.add_assign(x);
        total.moments_into(out)
    }

    fn is_constant(&self) -> bool {
        self.law.as_gaussian().is_some()
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if x.is_pinned() {
            self.check_places(E::view(&x.linear))?;
        }
        if let Some(own) = self.law.as_gaussian() {
            out.set_precision(own.a);
            E::view_mut(&mut out.linear).fill(own.b);
            return Ok(());
        }
        if x.structure() == Structure::Diagonal {
            self.fill_each(x, &mut out.linear, out.precision.data_mut());
            return message_from_moments(x, out);
        }
        let v = self.fill(incoming, &mut out.linear);
        out.precision.set_scalar(v);
        message_from_moments(incoming.get(target), out)
    }
}

impl<E: Elem, P: ScalarPrior<E>> SeparablePrior<P, E> {
    /// Writes the means and returns the average variance.
    fn fill(&self, incoming: Incoming<'_, Gaussian>, mean: &mut [f64]) -> f64 {
        let x = incoming.get(0);
        let (a, b) = (x.precision.scalar(), E::view(&x.linear));
        if a == f64::INFINITY {
            mean.copy_from_slice(&x.linear);
            0.0
        } else {
            fill_moments(E::view_mut(mean), |i| self.law.moments(a, b[i]))
        }
    }

    /// Means and variances, each at its own precision.
    fn fill_each(&self, x: &Gaussian, mean: &mut [f64], variance: &mut [f64]) {
        let parts = x.precision.data().iter().zip(E::view(&x.linear));
        let out = E::view_mut(mean).iter_mut().zip(variance);
        for ((a, b), (r, v)) in parts.zip(out) {
            (*r, *v) = if *a == f64::INFINITY {
                (*b, 0.0)
            } else {
                self.law.moments(*a, *b)
            };
        }
    }

    /// The log-partition of one component, known or not.
    fn log_z_at(&self, a: f64, b: E) -> f64 {
        if a == f64::INFINITY {
            self.log_density_or_atom(b)
        } else {
            self.law.tilted(a, b).log_z
        }
    }

    /// $\ln p(x)$ as a density at a known place: $+\infty$ on a point mass (up to the rounding of a
    /// solve), $-\infty$ where the law has nothing.
    fn log_density_or_atom(&self, x: E) -> f64 {
        let near = |place: &E| {
            let gap = x.minus(*place).norm_sqr().sqrt();
            gap <= PLACE_TOLERANCE * place.norm_sqr().sqrt().max(1.0)
        };
        if self
            .law
            .atoms()
            .iter()
            .any(|(place, p)| *p > 0.0 && near(place))
        {
            f64::INFINITY
        } else {
            self.law.log_density(x)
        }
    }

    /// A place that the law excludes is a contradiction.
    fn check_places(&self, x: &[E]) -> Result<(), FactorError> {
        let (low, high) = self.law.support();
        let excluded = |x: &E| {
            let (place, slack) = (x.dot(E::ONE), PLACE_TOLERANCE * x.norm_sqr().sqrt());
            let inside = place >= low - slack && place <= high + slack;
            !inside
                || (self.log_density_or_atom(*x) == f64::NEG_INFINITY
                    && place > low
                    && place < high)
        };
        match x.iter().position(excluded) {
            None => Ok(()),
            Some(i) => Err(FactorError::Contradiction(format!(
                "expected a value that `{}` can produce, got {:?} at index {i}",
                P::NAME,
                x[i]
            ))),
        }
    }
}

impl<E: Elem, P: ScalarPrior<E>> GenerativeRule for SeparablePrior<P, E> {
    fn sample(&self, _: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        for x in E::view_mut(&mut outputs[0]) {
            *x = self.law.sample(rng);
        }
    }
}

/// `rho=0.1, mean=0`.
pub(super) fn listed(parameters: &[(&'static str, f64)]) -> String {
    let items: Vec<String> = parameters.iter().map(|(n, x)| format!("{n}={x}")).collect();
    items.join(", ")
}
