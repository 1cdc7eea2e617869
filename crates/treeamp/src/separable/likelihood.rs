//! A separable likelihood $p(y \mid z) = \prod_i p(y_i \mid z_i)$ at observed $y$.

use std::marker::PhantomData;
use std::sync::Arc;

use super::disorder::noise_entropy;
use super::one_port::OnePort;
use super::prior::listed;
use super::{chunked_sum, gaussian_excess, law_structures};
use crate::belief::{Element, Gaussian, Moments, SignalSpec, Structure, fits};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{Arity, Context, EnsembleRule, Factor, PosteriorRule, ProximalRule, downcast};
use crate::scalar::{Elem, ScalarLikelihood, ScalarView, Symmetry, Tilt};

/// An absolute rounding of the log-partition above this leaves no digits of an excess of order one.
const LOST: f64 = 1e-3;

/// A scalar likelihood with one observation per component.
#[derive(Debug, Clone)]
pub struct SeparableLikelihood<L, E = f64> {
    /// The name of the channel it was observed through, if another than the law's.
    label: Option<Arc<str>>,
    law: L,
    y: Arc<[f64]>,
    /// All components are Gaussian: the message is constant.
    gaussian: bool,
    /// $\sum_i\ln\int p(y_i \mid z)\,dz$ of Gaussian components: the Jacobian of an invertible output.
    log_mass: f64,
    element: PhantomData<E>,
}

/// Gives every scalar likelihood the way into a model.
pub trait ObservedLaw<E: Elem = f64>: ScalarLikelihood<E> {
    /// The likelihood of these observations.
    ///
    /// # Errors
    /// When there are none, or one of them is not finite or can never be produced.
    fn observed(self, y: impl Into<Vec<f64>>) -> Result<SeparableLikelihood<Self, E>, ModelError> {
        let y: Vec<f64> = y.into();
        if y.is_empty() {
            let expected = "an array of at least one observation";
            return Err(parameter(Self::NAME, "y", expected, "an empty one"));
        }
        if !y.len().is_multiple_of(Self::Output::REAL_LEN) {
            let expected = "interleaved real and imaginary parts";
            let got = format!("{} numbers", y.len());
            return Err(parameter(Self::NAME, "y", expected, got));
        }
        check_all(&self, &y).map_err(|reason| refused(Self::NAME, &reason))?;
        let elements = Self::Output::view(&y);
        let gaussian = self.components().is_none() && self.as_gaussian(elements[0]).is_some();
        let log_mass = elements.iter().map(|y| log_mass(&self, *y)).sum();
        Ok(SeparableLikelihood {
            label: None,
            law: self,
            y: y.into(),
            gaussian,
            log_mass,
            element: PhantomData,
        })
    }

    /// The likelihood of these observations, as elements: complex numbers, for a complex output.
    ///
    /// # Errors
    /// As [`observed`](Self::observed).
    fn observed_elements(
        self,
        y: &[Self::Output],
    ) -> Result<SeparableLikelihood<Self, E>, ModelError> {
        self.observed(Self::Output::storage(y))
    }

    /// The likelihood of outputs that are not given: a factor for the theory, which averages over
    /// them. It takes a signal of any size, and no algorithm on data can run with it.
    fn unspecified(self) -> SeparableLikelihood<Self, E> {
        SeparableLikelihood {
            label: None,
            law: self,
            y: Vec::new().into(),
            gaussian: false,
            log_mass: 0.0,
            element: PhantomData,
        }
    }
}

impl<E: Elem, L: ScalarLikelihood<E>> ObservedLaw<E> for L {}

/// $\ln\int p(y \mid z)\,dz$ where the likelihood pins $z$; a noisy Gaussian one is normalised in $z$ too.
fn log_mass<E: Elem, L: ScalarLikelihood<E>>(law: &L, y: L::Output) -> f64 {
    match law.as_gaussian(y) {
        // at its own place a unit Gaussian has the density (2π)^(-1/2) per real component
        Some(t) if t.a == f64::INFINITY => {
            law.excess(y, 1.0, t.b) + 0.5 * E::REAL_LEN as f64 * std::f64::consts::TAU.ln()
        }
        _ => 0.0,
    }
}

/// `expected ..., got ...` as the error of a parameter.
fn refused(module: &str, reason: &str) -> ModelError {
    let parts = reason.strip_prefix("expected ");
    match parts.and_then(|r| r.split_once(", got ")) {
        Some((expected, got)) => parameter(module, "y", expected, got),
        None => parameter(module, "y", "observations that it can produce", reason),
    }
}

/// The first observation that the law refuses, with its index.
pub(super) fn check_all<E: Elem, L: ScalarLikelihood<E>>(law: &L, y: &[f64]) -> Result<(), String> {
    if !y.len().is_multiple_of(L::Output::REAL_LEN) {
        let n = y.len();
        return Err(format!(
            "expected pairs of real and imaginary parts, got {n} numbers"
        ));
    }
    let y = L::Output::view(y);
    if let Some(n) = law.components().filter(|n| *n != y.len()) {
        let got = y.len();
        return Err(format!(
            "expected {n} observations, one per parameter of the law, got {got}"
        ));
    }
    for (i, y) in y.iter().enumerate() {
        if !y.is_finite() {
            return Err(format!("expected finite values, got {y:?} at index {i}"));
        }
        law.check(*y)
            .map_err(|reason| format!("{reason} at index {i}"))?;
    }
    Ok(())
}

impl<L, E> SeparableLikelihood<L, E> {
    /// The same under the name of the channel it was observed through.
    pub(super) fn labelled(mut self, name: &str) -> Self {
        self.label = Some(name.into());
        self
    }

    /// The law of one component.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The observations; empty if they are [unspecified](ObservedLaw::unspecified).
    pub fn y(&self) -> &[f64] {
        &self.y
    }
}

impl<E: Elem, L: ScalarLikelihood<E>> Factor for SeparableLikelihood<L, E> {
    fn name(&self) -> &str {
        self.label.as_deref().unwrap_or(L::NAME)
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
            outputs: 0,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let z = &inputs[0];
        if z.element != E::ELEMENT && !L::ON_PARTS {
            return Err(ShapeError {
                port: 0,
                expected: format!("a {} signal", E::ELEMENT),
                got: format!("a {} one of shape {z}", z.element),
            });
        }
        fits(self.law.shape(), "its parameters", z)?;
        // a law on parts has one observation per real component
        let (count, size) = if L::ON_PARTS {
            (self.y.len(), z.len())
        } else {
            (L::Output::view(&self.y).len(), z.count())
        };
        if count == 0 || size == count {
            return Ok(vec![]);
        }
        let expected = format!("{count} components, one per observation");
        Err(ShapeError {
            port: 0,
            expected,
            got: format!("shape {z}"),
        })
    }

    fn observed_element(&self) -> Option<Element> {
        (!L::ON_PARTS).then_some(L::Output::ELEMENT)
    }

    fn noise_entropy(&self) -> Option<f64> {
        self.law.noise_entropy()
    }

    fn noise_entropy_at(&self, tau: f64) -> Option<f64> {
        let own = self.law.noise_entropy_at(tau);
        own.or_else(|| noise_entropy(Factor::scalar(self)?, tau))
    }

    fn is_noiseless(&self) -> bool {
        let noisy = self.law.outputs().is_some_and(|y| y.has_noise());
        !noisy && self.law.noise_entropy().is_none()
    }

    fn structures(&self) -> &'static [Structure] {
        law_structures::<E>(self.gaussian)
    }

    /// None without observations.
    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        (!self.y.is_empty()).then_some(self as &dyn PosteriorRule)
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
}

/// The law and its observations, seen as what they are.
struct Observed<'a, L: ScalarLikelihood<E>, E: Elem> {
    law: &'a L,
    y: &'a [L::Output],
    log_mass: f64,
}

impl<L: ScalarLikelihood<E>, E: Elem> SeparableLikelihood<L, E> {
    /// The message of Gaussian components that have a precision each, to a diagonal belief; false for any other law.
    fn own_precisions(&self, out: &mut Gaussian) -> bool {
        let y = L::Output::view(&self.y);
        let own = |i: usize| self.law.of(i).as_gaussian(y[i]);
        if self.law.components().is_none() || E::REAL_LEN != 1 || own(0).is_none() {
            return false;
        }
        for (i, b) in E::view_mut(&mut out.linear).iter_mut().enumerate() {
            *b = own(i).map_or(E::ZERO, |own| own.b);
        }
        out.precision
            .set_by_component(y.len(), |i| own(i).map_or(0.0, |own| own.a));
        true
    }

    fn seen(&self) -> Observed<'_, L, E> {
        Observed {
            law: &self.law,
            y: L::Output::view(&self.y),
            log_mass: self.log_mass,
        }
    }
}

impl<E: Elem, L: ScalarLikelihood<E>> OnePort<E> for Observed<'_, L, E> {
    fn gaussian_at(&self, i: usize) -> Option<Tilt<E>> {
        // one precision for all
        let alike = self.law.components().is_none();
        alike.then(|| self.law.as_gaussian(self.y[i])).flatten()
    }

    fn moments_at(&self, i: usize, a: f64, b: E) -> (E, f64) {
        self.law.of(i).moments(self.y[i], a, b)
    }

    fn log_z_at(&self, i: usize, a: f64, b: E) -> f64 {
        self.law.of(i).tilted(self.y[i], a, b).log_z
    }

    fn log_density_at(&self, i: usize, place: E) -> f64 {
        self.law.of(i).log_density(self.y[i], place)
    }

    fn log_mass(&self) -> f64 {
        self.log_mass
    }
}

impl<E: Elem, L: ScalarLikelihood<E>> PosteriorRule for SeparableLikelihood<L, E> {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        self.seen().sum_log_z(context.incoming.get(0))
    }

    /// A Gaussian law of mean $m_0$ and variance $v_0$ gives $\ln\mathcal N(\hat x; m_0, v_0 + 1/a)$. Where
    /// $A$ is so large that the difference has no digits left, the limit of a pin: $\ln p(y \mid b/a)$.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let (z, seen) = (context.incoming.get(0), self.seen());
        if let Some(excess) = gaussian_excess(z, |i| seen.gaussian_at(i)) {
            return Ok(excess + self.log_mass);
        }
        let own = z.own_potential();
        let precision = z.precision.by_component();
        if let Some(a) = precision.filter(|_| own * f64::EPSILON > LOST) {
            let b = E::view(&z.linear);
            let scale = |i: usize| {
                if a(i) == f64::INFINITY {
                    1.0
                } else {
                    1.0 / a(i)
                }
            };
            let limit = chunked_sum(b.len(), |i| seen.log_density_at(i, b[i].scale(scale(i))));
            if limit.is_finite() {
                return Ok(limit);
            }
        }
        Ok(seen.sum_log_z(z)? - own)
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        self.seen().tilted_moments(context.incoming.get(0), out)
    }

    fn is_constant(&self) -> bool {
        self.gaussian
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        if self.gaussian {
            let (seen, mut precision) = (self.seen(), 0.0);
            for (i, b) in E::view_mut(&mut out.linear).iter_mut().enumerate() {
                if let Some(own) = seen.gaussian_at(i) {
                    precision = own.a;
                    *b = own.b;
                }
            }
            out.set_precision(precision);
            return Ok(());
        }
        let z = context.incoming.get(0);
        if z.structure() == Structure::Diagonal && self.own_precisions(out) {
            return Ok(());
        }
        self.seen().tilted_message(z, out)
    }
}
