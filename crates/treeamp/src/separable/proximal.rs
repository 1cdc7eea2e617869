//! Separable laws at zero temperature: Gaussian ones, and priors with a mode of their own.

use super::idle::Idle;
use super::{SeparableLikelihood, SeparablePrior, chunked_sum, fill_moments, within};
use crate::belief::{Gaussian, Moments};
use crate::error::FactorError;
use crate::factor::{Context, PosteriorRule, ProximalRule, message_from_moments, quadratic_energy};
use crate::scalar::{Elem, ScalarLikelihood, ScalarPrior};

/// Updates in a row without an active coordinate after which it is taken for final: a pin.
const CONFIRMATIONS: u32 = 3;
/// Until then it is a variance of this times $1/a$: the mode is the same, and the variable can still leave it.
const NEARLY: f64 = 0.03;
/// A negative precision below this fraction of the incoming one is the rounding of zero.
const ROUNDING: f64 = 1e-9;

/// Turns a mode, in `out.linear`, and its curvature $v$ into the outgoing message. Without an active coordinate
/// ($v = 0$) the mode pins its variable, but not before `idle` has counted that a few times in a row: a pin could
/// not be left again.
pub(super) fn message_from_mode(
    x: &Gaussian,
    v: f64,
    out: &mut Gaussian,
    idle: Option<&mut Idle>,
) -> Result<(), FactorError> {
    let (a, mut v) = (x.precision.scalar(), v);
    let mut unsure = v == 0.0;
    if let Some(idle) = idle {
        idle.note(v != 0.0);
        unsure &= idle.0 <= CONFIRMATIONS;
    }
    if unsure {
        if a <= 0.0 {
            let why = "it has no active coordinate, and nothing holds it there";
            return Err(FactorError::Improper(why.to_owned()));
        }
        v = NEARLY / a;
    }
    out.precision.set_scalar(v);
    message_from_moments(x, out)?;
    // the slope of the proximal map of a convex energy is at most 1/a
    let p = out.precision.scalar();
    if p < 0.0 && p > -ROUNDING * a {
        out.precision.set_scalar(0.0);
    }
    Ok(())
}

/// What a law without a mode at precision `a` answers.
pub(super) fn no_mode(law: &str, a: f64) -> FactorError {
    FactorError::Improper(format!(
        "the incoming precision is {a:e}, and `{law}` has no mode"
    ))
}

impl<E: Elem, P: ScalarPrior<E>> SeparablePrior<P, E> {
    /// The rule, of a law that has a mode.
    pub(super) fn proximal_rule(&self) -> Option<&dyn ProximalRule> {
        let known = self.law().as_gaussian().is_some() || self.law().mode(1.0, E::ZERO).is_some();
        known.then_some(self as &dyn ProximalRule)
    }

    fn fill_modes(&self, x: &Gaussian, out: &mut [f64]) -> Result<f64, FactorError> {
        let (a, b) = (x.precision.scalar(), E::view(&x.linear));
        let nothing = (E::ZERO, f64::INFINITY);
        let v = fill_moments(E::view_mut(out), |i| {
            self.law().mode(a, b[i]).unwrap_or(nothing)
        });
        if v < f64::INFINITY {
            return Ok(v);
        }
        Err(no_mode(P::NAME, a))
    }
}

impl<E: Elem, P: ScalarPrior<E>> ProximalRule for SeparablePrior<P, E> {
    /// $\ln p(x^*) - \ln p(x)$ with the mode $x^*$ of the law: the normalisation drops out.
    fn energy(&self, places: &[&[f64]]) -> f64 {
        let law = self.law();
        if let Some(own) = law.as_gaussian() {
            let centre = own.b.scale(1.0 / own.a);
            let gap = |x: &E| x.minus(centre).norm_sqr();
            return 0.5 * own.a * E::view(places[0]).iter().map(gap).sum::<f64>();
        }
        let x = E::view(places[0]);
        let (real, support) = (within(places[0]), law.support());
        // only real laws have a support
        let inside = |x: E| {
            if E::REAL_LEN == 1 {
                E::from_real(real(support, x.re()))
            } else {
                x
            }
        };
        let top = law.mode(0.0, E::ZERO).map_or(E::ZERO, |(x, _)| x);
        let top = law.log_density(top);
        chunked_sum(x.len(), |i| top - law.log_density(inside(x[i])))
    }

    fn mode(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        if self.law().as_gaussian().is_some() || x.is_pinned() {
            return PosteriorRule::moments(self, context, target, out);
        }
        let v = self.fill_modes(x, &mut out.mean)?;
        out.variance.set_scalar(v);
        Ok(())
    }

    fn mode_message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let x = incoming.get(0);
        // before anything is heard, a belief of the scale of the law
        if self.law().as_gaussian().is_some() || x.is_pinned() || x.is_flat() {
            return PosteriorRule::message(self, context, target, out);
        }
        let v = self.fill_modes(x, &mut out.linear)?;
        message_from_mode(x, v, out, None)
    }

    fn is_penalty(&self) -> bool {
        self.law().as_gaussian().is_none()
    }
}

impl<L: ScalarLikelihood<E>, E: Elem> SeparableLikelihood<L, E> {
    /// The rule, of a likelihood that is Gaussian or has a mode.
    pub(super) fn proximal_rule(&self) -> Option<&dyn ProximalRule> {
        let first = *L::Output::view(self.y()).first()?;
        let known = self.is_gaussian(first) || self.law().mode(first, 1.0, E::ZERO).is_some();
        known.then_some(self as &dyn ProximalRule)
    }

    fn is_gaussian(&self, y: L::Output) -> bool {
        self.law().components().is_none() && self.law().as_gaussian(y).is_some()
    }

    fn is_quadratic(&self) -> bool {
        let first = L::Output::view(self.y()).first();
        first.is_some_and(|y| self.is_gaussian(*y))
    }

    fn misfit(&self, places: &[&[f64]]) -> f64 {
        let y = L::Output::view(self.y());
        let own = |i: usize| self.law().as_gaussian(y[i]);
        let noise = own(0).map_or(0.0, |t| 1.0 / t.a);
        let centres = (0..y.len()).flat_map(|i| {
            let centre = own(i).map_or(E::ZERO, |t| t.b.scale(t.mean_scale()));
            E::storage(&[centre]).to_vec()
        });
        quadratic_energy(places[0].iter().copied().zip(centres), noise)
    }

    fn fill_modes(&self, z: &Gaussian, out: &mut [f64]) -> Result<f64, FactorError> {
        let (a, b) = (z.precision.scalar(), E::view(&z.linear));
        let y = L::Output::view(self.y());
        let nothing = (E::ZERO, f64::INFINITY);
        let v = fill_moments(E::view_mut(out), |i| {
            self.law().of(i).mode(y[i], a, b[i]).unwrap_or(nothing)
        });
        if v < f64::INFINITY {
            return Ok(v);
        }
        Err(no_mode(L::NAME, a))
    }
}

impl<L: ScalarLikelihood<E>, E: Elem> ProximalRule for SeparableLikelihood<L, E> {
    /// $\|y - z\|^2/2\Delta$ of a Gaussian likelihood; $-\ln p(y \mid z)$ of any other.
    fn energy(&self, places: &[&[f64]]) -> f64 {
        if self.is_quadratic() {
            return self.misfit(places);
        }
        let (y, z) = (L::Output::view(self.y()), E::view(places[0]));
        let real = within(places[0]);
        let inside = |support: (f64, f64), z: E| {
            if E::REAL_LEN == 1 {
                E::from_real(off_the_ends(support, real(support, z.re())))
            } else {
                z
            }
        };
        -chunked_sum(z.len(), |i| {
            let law = self.law().of(i);
            law.log_density(y[i], inside(law.support(y[i]), z[i]))
        })
    }

    fn mode(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let z = incoming.get(0);
        if self.is_quadratic() || z.is_pinned() {
            return PosteriorRule::moments(self, context, target, out);
        }
        let v = self.fill_modes(z, &mut out.mean)?;
        out.variance.set_scalar(v);
        Ok(())
    }

    fn mode_message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let z = incoming.get(0);
        if self.is_quadratic() || z.is_pinned() {
            return PosteriorRule::message(self, context, target, out);
        }
        if z.is_flat() {
            // labels and counts may have no mode of their own
            let v = self.fill_modes(&unit_like(z), &mut out.linear)?;
            return message_from_mode(&unit_like(z), v, out, None);
        }
        let v = self.fill_modes(z, &mut out.linear)?;
        message_from_mode(z, v, out, None)
    }

    fn is_penalty(&self) -> bool {
        !self.is_quadratic()
    }
}

/// The next number inside for an end of a support, which is closed where the set of a constraint may be open.
#[allow(clippy::float_cmp)] // an end is one number
fn off_the_ends((low, high): (f64, f64), z: f64) -> f64 {
    if low < high && z == low {
        low.next_up()
    } else if low < high && z == high {
        high.next_down()
    } else {
        z
    }
}

/// A belief of unit precision about zero.
fn unit_like(z: &Gaussian) -> Gaussian {
    let mut unit = z.clone();
    unit.set_flat();
    unit.set_precision(1.0);
    unit
}
