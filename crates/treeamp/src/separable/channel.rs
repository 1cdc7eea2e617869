//! A separable channel $p(x \mid z) = \prod_i p(x_i \mid z_i)$: every scalar channel is a factor.

use std::sync::Arc;

use rand::Rng;

use super::likelihood::check_all;
use super::output::one_output;
use super::{ObservedLaw, chunked_sum};
use crate::belief::{Gaussian, Moments, SignalSpec, Structure, SymMatrix};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    Arity, Context, EnsembleRule, Factor, GenerativeRule, Incoming, PosteriorRule,
    message_from_moments, same,
};
use crate::scalar::{
    Elem, ScalarChannel, ScalarLikelihood, ScalarView, Symmetry, Tilt, TiltedPair,
};

const Z: usize = 0;
const X: usize = 1;

impl<C: ScalarChannel> Factor for C {
    fn name(&self) -> &str {
        ScalarChannel::name(self)
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        same(self, other)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        one_output::<C::In, C::Out>(&inputs[0])
    }

    fn observe(&self, y: &[f64]) -> Result<Option<Arc<dyn Factor>>, String> {
        channel_observed(self, y)
    }

    fn observe_unspecified(&self) -> Result<Option<Arc<dyn Factor>>, String> {
        let law = self.likelihood().ok_or_else(|| no_inverse(self))?;
        Ok(Some(Arc::new(
            law.unspecified().labelled(ScalarChannel::name(self)),
        )))
    }

    /// Each component has a precision of its own on both sides, or on none.
    fn structures(&self) -> &'static [Structure] {
        if C::In::REAL_LEN == 1 && C::Out::REAL_LEN == 1 {
            &[Structure::Isotropic, Structure::Diagonal]
        } else {
            &[Structure::Isotropic]
        }
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        has_average(self).then_some(self as &dyn EnsembleRule)
    }

    fn scalar(&self) -> Option<&dyn ScalarView> {
        has_average(self).then_some(self as &dyn ScalarView)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

/// Both ends are real, or the law has a symmetry.
fn has_average<C: ScalarChannel>(channel: &C) -> bool {
    ScalarChannel::symmetry(channel) != Symmetry::Unknown
}

/// The likelihood of a scalar channel at observed values.
///
/// # Errors
/// When the channel has no likelihood, or can never produce one of the values.
pub fn channel_observed<C: ScalarChannel>(
    channel: &C,
    y: &[f64],
) -> Result<Option<Arc<dyn Factor>>, String> {
    let law = channel.likelihood().ok_or_else(|| no_inverse(channel))?;
    check_all(&law, y)?;
    let factor = law.observed(y).map_err(|e| e.to_string())?;
    Ok(Some(Arc::new(
        factor.labelled(ScalarChannel::name(channel)),
    )))
}

fn no_inverse<C: ScalarChannel>(channel: &C) -> String {
    let name = ScalarChannel::name(channel);
    format!("expected a channel with a known inverse, got `{name}`")
}

/// What is known about the two ends when one of them is pinned.
enum Situation {
    /// Both precisions are finite.
    Tilted { a_z: f64, a_x: f64 },
    /// $z$ is known, and so is $x = \varphi(z)$.
    InputPinned,
    /// $x$ is known: the channel acts as its likelihood.
    OutputPinned { a_z: f64 },
}

fn of_precisions(a_z: f64, a_x: f64) -> Situation {
    if a_z == f64::INFINITY {
        Situation::InputPinned
    } else if a_x == f64::INFINITY {
        Situation::OutputPinned { a_z }
    } else {
        Situation::Tilted { a_z, a_x }
    }
}

fn no_map<C: ScalarChannel>(channel: &C) -> FactorError {
    let name = ScalarChannel::name(channel);
    FactorError::Unsupported(format!(
        "`{name}` cannot take an input or output that is known exactly"
    ))
}

/// The two ends of a channel, component by component.
struct Ends<'a, C: ScalarChannel> {
    channel: &'a C,
    z: &'a Gaussian,
    x: &'a Gaussian,
    bz: &'a [C::In],
    bx: &'a [C::Out],
    /// Where some output is known.
    likelihood: Option<C::Likelihood>,
    /// The precisions of isotropic beliefs, the same for every component.
    shared: Option<(f64, f64)>,
}

impl<'a, C: ScalarChannel> Ends<'a, C> {
    fn new(channel: &'a C, incoming: Incoming<'a, Gaussian>) -> Result<Self, FactorError> {
        let (z, x) = (incoming.get(Z), incoming.get(X));
        let exact = x.precision.data().contains(&f64::INFINITY) && !z.is_pinned();
        let likelihood = || channel.likelihood().ok_or_else(|| no_map(channel));
        Ok(Self {
            channel,
            z,
            x,
            bz: C::In::view(&z.linear),
            bx: C::Out::view(&x.linear),
            likelihood: exact.then(likelihood).transpose()?,
            shared: z.precision.shared().zip(x.precision.shared()),
        })
    }

    fn situation(&self, i: usize) -> Situation {
        let each = || (precision_at(self.z, i), precision_at(self.x, i));
        let (a_z, a_x) = self.shared.unwrap_or_else(each);
        of_precisions(a_z, a_x)
    }

    fn tilted(&self, i: usize, a_z: f64, a_x: f64) -> TiltedPair<C::In, C::Out> {
        let (bz, bx) = (self.bz[i], self.bx[i]);
        self.channel
            .tilted(Tilt { a: a_z, b: bz }, Tilt { a: a_x, b: bx })
    }

    fn law(&self) -> Result<&C::Likelihood, FactorError> {
        self.likelihood.as_ref().ok_or_else(|| no_map(self.channel))
    }

    fn map(&self, i: usize) -> Result<C::Out, FactorError> {
        let x = self.channel.map(self.bz[i]);
        x.ok_or_else(|| no_map(self.channel))
    }

    /// $A$ of component `i`.
    fn log_z(&self, i: usize) -> Result<f64, FactorError> {
        let (bz, bx) = (self.bz[i], self.bx[i]);
        Ok(match self.situation(i) {
            Situation::Tilted { a_z, a_x } => self.tilted(i, a_z, a_x).log_z,
            Situation::OutputPinned { a_z } => self.law()?.tilted(bx, a_z, bz).log_z,
            Situation::InputPinned => {
                let (a_x, x) = (precision_at(self.x, i), self.map(i)?);
                if a_x < f64::INFINITY {
                    return Ok(x.dot(bx) - 0.5 * a_x * x.norm_sqr());
                }
                // both ends known: certain, or impossible
                let gap = x.minus(bx).norm_sqr();
                if gap <= 1e-12 * bx.norm_sqr().max(1e-300) {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                }
            }
        })
    }

    /// Mean and variance of $z$ at component `i`.
    fn input(&self, i: usize) -> Result<(C::In, f64), FactorError> {
        let (bz, bx) = (self.bz[i], self.bx[i]);
        Ok(match self.situation(i) {
            Situation::Tilted { a_z, a_x } => {
                let t = self.tilted(i, a_z, a_x);
                (t.mean_z, t.variance_z)
            }
            Situation::OutputPinned { a_z } => {
                let law = self.law()?;
                let refused = |reason| FactorError::Contradiction(format!("{reason} at index {i}"));
                law.check(bx).map_err(refused)?;
                law.moments(bx, a_z, bz)
            }
            Situation::InputPinned => (bz, 0.0),
        })
    }

    /// Mean and variance of $x$ at component `i`.
    fn output(&self, i: usize) -> Result<(C::Out, f64), FactorError> {
        Ok(match self.situation(i) {
            Situation::Tilted { a_z, a_x } => {
                let t = self.tilted(i, a_z, a_x);
                (t.mean_x, t.variance_x)
            }
            Situation::OutputPinned { .. } => (self.bx[i], 0.0),
            Situation::InputPinned => (self.map(i)?, 0.0),
        })
    }

    /// Means and variances at `target`, the latter by the structure of its belief.
    fn fill(
        &self,
        target: usize,
        mean: &mut [f64],
        variance: &mut SymMatrix,
    ) -> Result<(), FactorError> {
        if target == Z {
            let mean = C::In::view_mut(mean);
            return fill(mean, variance, |i| self.input(i));
        }
        let mean = C::Out::view_mut(mean);
        fill(mean, variance, |i| self.output(i))
    }
}

/// Writes `f(i)`, a mean and a variance, for every component.
fn fill<E: Elem>(
    mean: &mut [E],
    variance: &mut SymMatrix,
    f: impl Fn(usize) -> Result<(E, f64), FactorError>,
) -> Result<(), FactorError> {
    let mut failed = Ok(());
    variance.set_by_component(mean.len(), |i| match f(i) {
        Ok((r, v)) => {
            mean[i] = r;
            v
        }
        Err(error) => {
            if failed.is_ok() {
                failed = Err(error);
            }
            0.0
        }
    });
    failed
}

/// The precision of component `i`, of an isotropic or a diagonal belief.
fn precision_at(message: &Gaussian, i: usize) -> f64 {
    let a = message.precision.data();
    if a.len() == 1 { a[0] } else { a[i] }
}

impl<C: ScalarChannel> PosteriorRule for C {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let ends = Ends::new(self, context.incoming)?;
        let (mut failed, mut impossible) = (Ok(()), false);
        let sum = chunked_sum(ends.bz.len(), |i| match ends.log_z(i) {
            Ok(log_z) => {
                impossible |= log_z == f64::NEG_INFINITY;
                log_z
            }
            Err(error) => {
                failed = Err(error);
                0.0
            }
        });
        failed.map(|()| if impossible { f64::NEG_INFINITY } else { sum })
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let ends = Ends::new(self, context.incoming)?;
        ends.fill(target, &mut out.mean, &mut out.variance)
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let ends = Ends::new(self, context.incoming)?;
        ends.fill(target, &mut out.linear, &mut out.precision)?;
        message_from_moments(context.incoming.get(target), out)
    }
}

impl<C: ScalarChannel> GenerativeRule for C {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        let z = C::In::view(inputs[0]);
        for (x, z) in C::Out::view_mut(&mut outputs[0]).iter_mut().zip(z) {
            *x = ScalarChannel::sample(self, *z, rng);
        }
    }
}
