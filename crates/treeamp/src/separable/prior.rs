//! A separable prior $p(x) = \prod_i p(x_i)$.

use std::marker::PhantomData;
use std::sync::Arc;

use rand::Rng;

use super::one_port::OnePort;
use super::rows::RowLaw as _;
use super::{gaussian_excess, law_structures};
use crate::belief::{Gaussian, Moments, SignalSpec, Structure};
use crate::catalog::priors::MixtureRow;
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    Arity, Context, EnsembleRule, Factor, GenerativeRule, PosteriorRule, ProximalRule, downcast,
};
use crate::scalar::{Elem, ScalarPrior, ScalarView, Symmetry, Tilt};

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
            element: E::ELEMENT,
            ratio: self.ratio,
            ..SignalSpec::real(self.shape.clone())
        }])
    }

    fn structures(&self) -> &'static [Structure] {
        law_structures::<E>(self.law.as_gaussian().is_some())
    }

    /// On rows with a matrix each, a mixture of Gaussians and points is the mixture of the products of its components.
    fn for_beliefs(&self, outputs: &[SignalSpec]) -> Option<Arc<dyn Factor>> {
        let Structure::Block { dim } = outputs[0].structure else {
            return None;
        };
        let last = self.shape.last().copied();
        let fits = self.ratio.is_some() || last == Some(dim);
        if E::REAL_LEN > 1 || !(fits || self.law.as_gaussian().is_none()) {
            return None;
        }
        let dim = if self.ratio.is_some() { dim } else { last? };
        let parts = self.law.mixture()?.into_iter();
        let parts: Vec<_> = parts.map(|(w, m, v)| (w, m.dot(E::ONE), v)).collect();
        let row = MixtureRow::product(&parts, dim).ok()?;
        if let Some(ratio) = self.ratio {
            return Some(Arc::new(row.limit_of(ratio)));
        }
        let rows = row.rows(self.shape.iter().product::<usize>() / dim);
        Some(Arc::new(rows.drawn_by(Arc::new(self.clone()))))
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

    fn start_precision(&self) -> Option<f64> {
        let law = &self.law;
        if law.as_gaussian().is_some() || law.second_moment().is_finite() {
            return None;
        }
        let widths = law.landmarks().into_iter().map(|mark| mark.width);
        let scale = widths.fold(0.0, f64::max);
        Some(if scale > 0.0 {
            (scale * scale).recip()
        } else {
            1.0
        })
    }
}

impl<E: Elem, P: ScalarPrior<E>> OnePort<E> for SeparablePrior<P, E> {
    fn gaussian_at(&self, _: usize) -> Option<Tilt<E>> {
        self.law.as_gaussian()
    }

    fn moments_at(&self, _: usize, a: f64, b: E) -> (E, f64) {
        self.law.moments(a, b)
    }

    fn moments_over(&self, _: usize, a: f64, b: &[E], mean: &mut [E], variance: &mut [f64]) {
        self.law.moments_over(a, b, mean, variance);
    }

    fn log_z_at(&self, _: usize, a: f64, b: E) -> f64 {
        self.law.tilted(a, b).log_z
    }

    fn log_density_at(&self, _: usize, place: E) -> f64 {
        self.log_density_or_atom(place)
    }
}

impl<E: Elem, P: ScalarPrior<E>> PosteriorRule for SeparablePrior<P, E> {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        self.sum_log_z(context.incoming.get(0))
    }

    /// A Gaussian law of mean $m_0$ and variance $v_0$ gives $\ln\mathcal N(\hat x; m_0, v_0 + 1/a)$.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let x = context.incoming.get(0);
        match gaussian_excess(x, |i| self.gaussian_at(i)) {
            Some(excess) => Ok(excess),
            None => Ok(self.sum_log_z(x)? - x.own_potential()),
        }
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        self.tilted_moments(context.incoming.get(0), out)
    }

    fn is_constant(&self) -> bool {
        self.law.as_gaussian().is_some()
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let x = context.incoming.get(0);
        if x.is_pinned() {
            self.check_places(E::view(&x.linear))?;
        }
        if let Some(own) = self.law.as_gaussian() {
            out.set_precision(own.a);
            E::view_mut(&mut out.linear).fill(own.b);
            return Ok(());
        }
        self.tilted_message(x, out)
    }
}

impl<E: Elem, P: ScalarPrior<E>> SeparablePrior<P, E> {
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
