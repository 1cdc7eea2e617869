//! A penalty $e^{-E(x)}$ as a factor: at the source of a variable, or at the end of a chain.

use std::sync::Arc;

use super::idle::{Activity, Idle};
use super::prior::listed;
use super::proximal::{message_from_mode, no_mode};
use super::{Penalty, gaussian_message, law_structures};
use crate::belief::{Element, Gaussian, Message as _, Moments, SignalSpec, Structure, mean_square};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    Arity, Context, EnsembleRule, Factor, PosteriorRule, ProximalRule, Workspace, downcast,
};
use crate::scalar::{ScalarView, Tilt, Tilted};

/// A penalty on a signal, as a factor.
#[derive(Debug, Clone)]
pub struct Penalised<P> {
    law: P,
    place: Place,
}

#[derive(Debug, Clone)]
pub(super) enum Place {
    /// The penalised variable starts here.
    Source {
        shape: Vec<usize>,
        /// Relative size in the limit; the shape is then empty.
        ratio: Option<f64>,
    },
    /// The variable has a producer; its shape is known once the tree is built.
    End(Vec<usize>),
}

impl<P: Penalty> Penalised<P> {
    pub(super) fn new(law: P, place: Place) -> Self {
        Self { law, place }
    }

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
        let broken = mode.iter().find(|x| !x.is_finite()).copied();
        let broken = broken
            .filter(|_| v < f64::INFINITY)
            .or(v.is_nan().then_some(v));
        if let Some(got) = broken {
            return Err(self.broken(a, got));
        }
        if v < f64::INFINITY {
            return Ok(v);
        }
        Err(no_mode(self.law.name(), a))
    }

    pub(super) fn nominal(&self) -> Tilt {
        self.law.nominal(self.shape())
    }

    pub(super) fn energy_at(&self, x: &[f64]) -> f64 {
        self.law.energy(self.shape(), x)
    }

    pub(super) fn broken(&self, a: f64, got: f64) -> FactorError {
        FactorError::Failed(format!(
            "at precision {a:e}, expected a number from the proximal map of `{}` and its derivative, got {got}",
            self.law.name()
        ))
    }
}

impl<P: Penalty> Penalised<P> {
    /// The message of the mode and its curvature, which may be adjusted.
    fn outgoing(
        &self,
        x: &Gaussian,
        out: &mut Gaussian,
        idle: &mut Idle,
        mut adjusted: impl FnMut(f64) -> f64,
    ) -> Result<(), FactorError> {
        let constant = self.law.as_gaussian();
        let own = constant.or_else(|| x.is_flat().then(|| self.nominal()));
        if let Some(own) = own {
            if own.b.is_nan() {
                // of the map at unit step and zero
                return Err(self.broken(1.0, own.b));
            }
            out.set_precision(own.a);
            out.linear.fill(own.b);
            return Ok(());
        }
        if x.is_pinned() {
            out.set_flat();
            return Ok(());
        }
        let v = adjusted(self.fill(x, &mut out.linear)?);
        message_from_mode(x, v, out, Some(idle))
    }

    /// The curvature, smoothed where that is asked for, and above zero where nothing is active.
    fn active(&self, x: &Gaussian, v: f64, idle: &mut Idle, smoothing: Option<f64>) -> f64 {
        let a = x.precision.scalar();
        let v = self.smoothed(x, smoothing).unwrap_or(v);
        idle.note(v != 0.0);
        if v == 0.0 && a > 0.0 {
            idle.nearly_pinned(a)
        } else {
            v
        }
    }

    /// Curvatures jump where a component becomes active, so that a fixed point among Bayesian factors need not exist: the jump may lie
    /// across it. Smoothed over a width, relative to the input, they do not.
    fn smoothed(&self, x: &Gaussian, smoothing: Option<f64>) -> Option<f64> {
        let h = smoothing? * mean_square(&x.linear).sqrt();
        let smooth = self
            .law
            .smoothed(self.shape(), x.precision.scalar(), &x.linear, h);
        smooth.filter(|_| h > 0.0)
    }
}

impl<P: Penalty> Factor for Penalised<P> {
    fn name(&self) -> &str {
        self.law.name()
    }

    fn summary(&self) -> String {
        listed(&self.law.parameters())
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        downcast::<Self>(other).is_some_and(|other| other.law == self.law)
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
                    ratio: *ratio,
                    ..SignalSpec::real(shape.clone())
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
        } else if self.law.component(0, 1.0, 0.0).is_some() {
            law_structures::<f64>(false)
        } else {
            &[Structure::Isotropic]
        }
    }

    fn workspace(&self, ports: &[SignalSpec]) -> Workspace {
        let diagonal = ports.iter().filter(|p| p.structure == Structure::Diagonal);
        Workspace::new(Activity::new(diagonal.map(SignalSpec::len).sum()))
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
        let alone = self.law.component(0, 1.0, 0.0).is_some();
        let source = matches!(self.place, Place::Source { .. });
        (alone && source).then_some(self as &dyn ScalarView)
    }
}

/// In expectation propagation a penalty is its own Laplace approximation: the mode and its curvature in place of
/// mean and variance.
impl<P: Penalty> PosteriorRule for Penalised<P> {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if x.structure() == Structure::Isotropic {
            return Ok(self.envelope(context)?.0);
        }
        if self.law.as_gaussian().is_none() {
            return self.component_potential(x);
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

    fn is_constant(&self) -> bool {
        self.law.as_gaussian().is_some()
    }

    fn is_laplace(&self) -> bool {
        self.law.as_gaussian().is_none()
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        let (activity, smoothing) = (
            context.workspace.get::<Activity>()?,
            context.request.smoothing,
        );
        if x.structure() == Structure::Diagonal && self.law.as_gaussian().is_none() {
            return self.components_message(x, out, activity, smoothing);
        }
        let mut none = Idle::default();
        self.outgoing(x, out, &mut none, |v| {
            self.active(x, v, &mut activity.idle, smoothing)
        })
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if x.structure() == Structure::Isotropic {
            return self.mode(context, target, out);
        }
        if self.law.as_gaussian().is_none() {
            return self.component_moments(x, out);
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
        context: &mut Context<'_>,
        _: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
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
        context: &mut Context<'_>,
        _: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let idle = &mut context.workspace.get::<Activity>()?.idle;
        self.outgoing(incoming.get(0), out, idle, |v| v)
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
        self.law.component(0, x.a, x.b)
    }

    fn corners(&self, a: f64) -> Vec<f64> {
        self.law.corners(a)
    }

    fn gaussian(&self) -> Option<(f64, f64)> {
        let own = self.law.as_gaussian().filter(|own| own.a > 0.0)?;
        Some((own.b / own.a, 1.0 / own.a))
    }
}
