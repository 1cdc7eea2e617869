//! A penalty $e^{-E(x)}$ as a factor: at the source of a variable, or at the end of a chain.

use std::sync::Arc;

use super::prior::listed;
use super::proximal::{message_from_mode, no_mode};
use super::{Penalty, gaussian_message, law_structures};
use crate::belief::{Element, Gaussian, Message as _, Moments, SignalSpec, Structure, mean_square};
use crate::error::{FactorError, ShapeError};
use crate::factor::{Arity, EnsembleRule, Factor, Incoming, PosteriorRule, ProximalRule};
use crate::scalar::{ScalarView, Tilt, Tilted};

/// Places in the workspace: updates in a row without an active coordinate; the active fraction $va$ at the last update, the
/// sign of its last change, how often that has turned, and the change at the last turn.
const IDLE: usize = 0;
const FRACTION: usize = 1;
const SIGN: usize = 2;
const TURNS: usize = 3;
const SWING: usize = 4;
/// A change of the active fraction that counts, relative.
const CHANGE: f64 = 1e-4;
/// A swing below this fraction of the one before settles by itself: its turn does not count. (Recorded total variation
/// runs and classification settle with 0.6; with 0.3 the former do not, with 0.9 one of 20 of the latter.)
const SHRINKING: f64 = 0.6;
/// Turns before corners are softened, the width to begin with, relative to $b$, turns after which it doubles, and its end.
/// The mode does not depend on the width. Narrow ones are slow: half the components of a gradient in two dimensions are
/// free, and where fewer are active, precisions grow until next to nothing moves, at the mode or not. (Twelve runs of total
/// variation in two dimensions settle within 111 sweeps; with 1e-3, doubled after two turns, two of them not within 1000.
/// With a patience of 24 turns they stop before the mode.)
const PATIENCE: f64 = 8.0;
const NARROWEST: f64 = 0.01;
const DOUBLING: f64 = 1.0;
const WIDEST: f64 = 0.5;
/// Without an active coordinate, a variance falls by this with every update, and ends at this fraction of $1/a$: among Bayesian
/// factors a pin could not be left again.
const FALL: f64 = 0.3;
const NEARLY_PINNED: f64 = 1e-9;

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
            return Err(FactorError::Failed(format!(
                "at precision {a:e}, expected a number from the proximal map of `{}` and its derivative, got {got}",
                self.law.name()
            )));
        }
        if v < f64::INFINITY {
            return Ok(v);
        }
        Err(no_mode(self.law.name(), a))
    }
}

impl<P: Penalty> Penalised<P> {
    /// The message of the mode and its curvature, which may be adjusted.
    fn outgoing(
        &self,
        x: &Gaussian,
        out: &mut Gaussian,
        idle: &mut f64,
        mut adjusted: impl FnMut(f64) -> f64,
    ) -> Result<(), FactorError> {
        let constant = self.law.as_gaussian();
        let own = constant.or_else(|| x.is_flat().then(|| self.law.nominal(self.shape())));
        if let Some(own) = own {
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

    /// Curvatures jump where a component becomes active, so that a fixed point among Bayesian factors need not exist: the jump
    /// may lie across it. While the active fraction goes up and down, corners are softened, more and more.
    fn soft(&self, x: &Gaussian, v: f64, work: &mut [f64]) -> f64 {
        let a = x.precision.scalar();
        let v = self.softened(x, v, work[TURNS]);
        let change = v * a - work[FRACTION];
        if change.abs() > CHANGE * work[FRACTION].max(v * a) {
            if change * work[SIGN] < 0.0 {
                let swing = change.abs() / work[FRACTION].max(v * a);
                work[TURNS] += f64::from(swing > SHRINKING * work[SWING]);
                work[SWING] = swing;
            }
            work[SIGN] = change.signum();
        }
        work[FRACTION] = v * a;
        work[IDLE] = if v == 0.0 { work[IDLE] + 1.0 } else { 0.0 };
        if v == 0.0 && a > 0.0 {
            FALL.powf(work[IDLE]).max(NEARLY_PINNED) / a
        } else {
            v
        }
    }

    fn softened(&self, x: &Gaussian, v: f64, turns: f64) -> f64 {
        let Some(width) = width(turns) else {
            return v;
        };
        let h = width * mean_square(&x.linear).sqrt();
        let soft = self
            .law
            .softened(self.shape(), x.precision.scalar(), &x.linear, h);
        soft.filter(|_| h > 0.0).unwrap_or(v)
    }
}

/// The width of corners after so many turns, if they are softened.
fn width(turns: f64) -> Option<f64> {
    let doubled = NARROWEST * 2_f64.powf(((turns - PATIENCE) / DOUBLING).floor());
    (turns >= PATIENCE).then(|| doubled.min(WIDEST))
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

    fn workspace_len(&self, _: &[SignalSpec]) -> usize {
        5
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

    fn rounded(&self, work: &[f64]) -> Option<f64> {
        width(work[TURNS])
    }

    /// Its turns are never enough.
    fn stay_sharp(&self, work: &mut [f64]) {
        work[TURNS] = f64::NEG_INFINITY;
    }

    fn is_constant(&self) -> bool {
        self.law.as_gaussian().is_some()
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        _: usize,
        out: &mut Gaussian,
        work: &mut [f64],
    ) -> Result<(), FactorError> {
        let x = incoming.get(0);
        let mut none = 0.0;
        self.outgoing(x, out, &mut none, |v| self.soft(x, v, work))
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
        _: usize,
        out: &mut Gaussian,
        work: &mut [f64],
    ) -> Result<(), FactorError> {
        self.outgoing(incoming.get(0), out, &mut work[IDLE], |v| v)
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
