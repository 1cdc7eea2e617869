//! A penalty $e^{-E(x)}$ as a factor: at the source of a variable, or at the end of a chain.

use std::fmt::Debug;
use std::sync::Arc;

use super::prior::listed;
use super::proximal::message_from_mode;
use super::{chunked_sum, fill_moments, gaussian_message, law_structures};
use crate::belief::{Element, Gaussian, Message as _, Moments, SignalSpec, Structure};
use crate::error::{FactorError, ShapeError};
use crate::factor::{Arity, EnsembleRule, FEASIBLE, Factor, Incoming, PosteriorRule, ProximalRule};
use crate::scalar::{ScalarPenalty, ScalarView, Tilt, Tilted};

/// An energy $E(x)$ of an array, known by its proximal map. Every [`ScalarPenalty`] is one, component by
/// component.
pub trait Penalty: Debug + Clone + Send + Sync + 'static {
    /// Name in messages, drawings and the catalogue.
    fn name(&self) -> &str;

    /// Writes the mode $\mathrm{argmin}_x\{E(x) + \tfrac12 a\|x\|^2 - b^T x\}$ of an array of this shape and gives
    /// $v = \frac1n\mathrm{tr}\,\partial_b x^*$; infinite where there is no mode.
    fn proximal(&self, shape: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64;

    /// $E(x)$; infinite outside a constraint.
    fn energy(&self, shape: &[usize], x: &[f64]) -> f64;

    /// Says what is wrong with a shape it cannot take.
    ///
    /// # Errors
    /// What it expects.
    fn check_shape(&self, _shape: &[usize]) -> Result<(), String> {
        Ok(())
    }

    /// What it says before it has heard anything: a belief of about its scale, the same on every component. Flat if
    /// it has none.
    fn nominal(&self, _shape: &[usize]) -> Tilt {
        Tilt { a: 0.0, b: 0.0 }
    }

    /// The natural parameters if the penalty is quadratic and the same on every component.
    fn as_gaussian(&self) -> Option<Tilt> {
        None
    }

    /// The energy is convex.
    fn is_convex(&self) -> bool {
        true
    }

    /// The $b$ at which the mode of one component has a corner at precision `a`.
    fn corners(&self, _a: f64) -> Vec<f64> {
        Vec::new()
    }

    /// The proximal map of one component, if the penalty acts on each alone.
    fn component(&self, _a: f64, _b: f64) -> Option<Tilted> {
        None
    }

    /// The parameters by name, for descriptions.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

impl<P: ScalarPenalty> Penalty for P {
    fn name(&self) -> &str {
        ScalarPenalty::name(self)
    }

    fn proximal(&self, _: &[usize], a: f64, b: &[f64], mode: &mut [f64]) -> f64 {
        fill_moments(mode, |i| {
            let t = ScalarPenalty::proximal(self, a, b[i]);
            (t.mean, t.variance)
        })
    }

    fn energy(&self, _: &[usize], x: &[f64]) -> f64 {
        let slack = FEASIBLE * x.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
        let (low, high) = self.support();
        let inside = |x: f64| {
            let place = x.max(low).min(high);
            if (place - x).abs() <= slack { place } else { x }
        };
        chunked_sum(x.len(), |i| ScalarPenalty::energy(self, inside(x[i])))
    }

    fn nominal(&self, _: &[usize]) -> Tilt {
        ScalarPenalty::nominal(self)
    }

    fn as_gaussian(&self) -> Option<Tilt> {
        ScalarPenalty::as_gaussian(self)
    }

    fn is_convex(&self) -> bool {
        ScalarPenalty::is_convex(self)
    }

    fn corners(&self, a: f64) -> Vec<f64> {
        ScalarPenalty::corners(self, a)
    }

    fn component(&self, a: f64, b: f64) -> Option<Tilted> {
        Some(ScalarPenalty::proximal(self, a, b))
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        ScalarPenalty::parameters(self)
    }
}

/// A penalty on a signal, as a factor.
#[derive(Debug, Clone)]
pub struct Penalised<P> {
    law: P,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    /// The penalised variable starts here.
    Source {
        shape: Vec<usize>,
        /// Relative size in the limit; the shape is then empty.
        ratio: Option<f64>,
    },
    /// The variable has a producer; its shape is known once the tree is built.
    End(Vec<usize>),
}

/// Gives every penalty the way into a model.
pub trait PenaltyLaw: Penalty {
    /// The penalty of a vector of `n` components, at its source.
    fn iid(self, n: usize) -> Penalised<Self> {
        self.shaped([n])
    }

    /// The penalty of an array, at its source.
    fn shaped(self, shape: impl Into<Vec<usize>>) -> Penalised<Self> {
        let (shape, ratio) = (shape.into(), None);
        Penalised {
            law: self,
            place: Place::Source { shape, ratio },
        }
    }

    /// The penalty of a signal in the limit of infinite size, the reference that ratios refer to. For theory only.
    fn limit(self) -> Penalised<Self> {
        self.limit_of(1.0)
    }

    /// The penalty of a signal in the limit of infinite size, `ratio` times the size of the reference.
    fn limit_of(self, ratio: f64) -> Penalised<Self> {
        let (shape, ratio) = (Vec::new(), Some(ratio));
        Penalised {
            law: self,
            place: Place::Source { shape, ratio },
        }
    }

    /// The penalty of a variable that something else produces: `var("z") >> L1::new(0.5)?.at_end()`.
    fn at_end(self) -> Penalised<Self> {
        Penalised {
            law: self,
            place: Place::End(Vec::new()),
        }
    }
}

impl<P: Penalty> PenaltyLaw for P {}

impl<P: Penalty> Penalised<P> {
    /// The penalty.
    pub fn law(&self) -> &P {
        &self.law
    }

    fn shape(&self) -> &[usize] {
        match &self.place {
            Place::Source { shape, .. } | Place::End(shape) => shape,
        }
    }

    fn refuse(expected: String, got: &SignalSpec) -> ShapeError {
        ShapeError {
            port: 0,
            expected,
            got: format!("shape {got}"),
        }
    }

    fn check(&self, spec: &SignalSpec) -> Result<(), ShapeError> {
        if spec.element != Element::Real {
            return Err(Self::refuse("a real signal".to_owned(), spec));
        }
        let checked = self.law.check_shape(&spec.shape);
        checked.map_err(|expected| Self::refuse(expected, spec))
    }

    /// The mode at a finite precision, and $v$.
    fn fill(&self, x: &Gaussian, mode: &mut [f64]) -> Result<f64, FactorError> {
        let a = x.precision.scalar();
        let v = self.law.proximal(self.shape(), a, &x.linear, mode);
        if v < f64::INFINITY {
            return Ok(v);
        }
        Err(FactorError::Improper(format!(
            "the incoming precision is {a:e}, and `{}` has no mode",
            self.law.name()
        )))
    }
}

impl<P: Penalty> Factor for Penalised<P> {
    fn name(&self) -> &str {
        self.law.name()
    }

    fn summary(&self) -> String {
        listed(&self.law.parameters())
    }

    fn arity(&self) -> Arity {
        match self.place {
            Place::Source { .. } => Arity {
                inputs: 0,
                outputs: 1,
            },
            Place::End(_) => Arity {
                inputs: 1,
                outputs: 0,
            },
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        match &self.place {
            Place::End(_) => self.check(&inputs[0]).map(|()| Vec::new()),
            Place::Source { shape, ratio } => {
                let spec = SignalSpec {
                    shape: shape.clone(),
                    element: Element::Real,
                    structure: Structure::Isotropic,
                    ratio: *ratio,
                };
                self.check(&spec)?;
                Ok(vec![spec])
            }
        }
    }

    fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
        let Some(input) = inputs.first() else {
            return Ok(None);
        };
        self.check(input)?;
        Ok(Some(Arc::new(Self {
            law: self.law.clone(),
            place: Place::End(input.shape.clone()),
        })))
    }

    fn structures(&self) -> &'static [Structure] {
        if self.law.as_gaussian().is_some() {
            law_structures::<f64>(true)
        } else {
            &[Structure::Isotropic]
        }
    }

    /// How many updates in a row had no active coordinate.
    fn workspace_len(&self, _: &[SignalSpec]) -> usize {
        1
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        Some(self)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Factor::scalar(self).map(|_| self as &dyn EnsembleRule)
    }

    fn scalar(&self) -> Option<&dyn ScalarView> {
        let alone = self.law.component(1.0, 0.0).is_some();
        let source = matches!(self.place, Place::Source { .. });
        (alone && source).then_some(self as &dyn ScalarView)
    }
}

/// In expectation propagation a penalty is its own Laplace approximation: the mode and its curvature in place of
/// mean and variance.
impl<P: Penalty> PosteriorRule for Penalised<P> {
    fn log_partition(
        &self,
        incoming: Incoming<'_, Gaussian>,
        work: &mut [f64],
    ) -> Result<f64, FactorError> {
        let x = incoming.get(0);
        if x.structure() == Structure::Isotropic {
            return Ok(self.envelope(incoming, work)?.0);
        }
        let mut total = gaussian_message::<f64>(x, |_| self.law.as_gaussian())?;
        total.add_assign(x);
        let spec = SignalSpec {
            structure: x.structure(),
            ..SignalSpec::real([x.len()])
        };
        let mut mode = Moments::zeros(&spec);
        total.moments_into(&mut mode)?;
        Ok(x.log_value(&mode.mean) - self.law.energy(self.shape(), &mode.mean))
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        _: usize,
        out: &mut Gaussian,
        work: &mut [f64],
    ) -> Result<(), FactorError> {
        let x = incoming.get(0);
        let constant = self.law.as_gaussian();
        if let Some(own) = constant.or_else(|| x.is_flat().then(|| self.law.nominal(self.shape())))
        {
            out.set_precision(own.a);
            out.linear.fill(own.b);
            return Ok(());
        }
        if x.is_pinned() {
            out.set_flat();
            return Ok(());
        }
        let v = self.fill(x, &mut out.linear)?;
        message_from_mode(x, v, out, Some(&mut work[0]))
    }

    fn moments(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Moments,
        work: &mut [f64],
    ) -> Result<(), FactorError> {
        let x = incoming.get(0);
        if x.structure() == Structure::Isotropic {
            return self.mode(incoming, target, out, work);
        }
        let mut total = gaussian_message::<f64>(x, |_| self.law.as_gaussian())?;
        total.add_assign(x);
        total.moments_into(out)
    }
}

impl<P: Penalty> ProximalRule for Penalised<P> {
    fn energy(&self, places: &[&[f64]]) -> f64 {
        self.law.energy(self.shape(), places[0])
    }

    fn mode(
        &self,
        incoming: Incoming<'_, Gaussian>,
        _: usize,
        out: &mut Moments,
        _: &mut [f64],
    ) -> Result<(), FactorError> {
        let x = incoming.get(0);
        let v = if x.is_pinned() {
            out.mean.copy_from_slice(&x.linear);
            0.0
        } else {
            self.fill(x, &mut out.mean)?
        };
        out.variance.set_scalar(v);
        Ok(())
    }

    fn mode_message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
        work: &mut [f64],
    ) -> Result<(), FactorError> {
        PosteriorRule::message(self, incoming, target, out, work)
    }

    fn is_convex(&self) -> bool {
        self.law.is_convex()
    }

    fn is_penalty(&self) -> bool {
        true
    }
}

/// The student of a zero-temperature state evolution.
impl<P: Penalty> ScalarView for Penalised<P> {
    fn prior(&self, x: Tilt) -> Option<Tilted> {
        self.law.component(x.a, x.b)
    }

    fn corners(&self, a: f64) -> Vec<f64> {
        self.law.corners(a)
    }

    fn gaussian(&self) -> Option<(f64, f64)> {
        let own = self.law.as_gaussian().filter(|own| own.a > 0.0)?;
        Some((own.b / own.a, 1.0 / own.a))
    }
}
