//! A separable channel $p(x \mid z) = \prod_i p(x_i \mid z_i)$: every scalar channel is a factor.

use std::sync::Arc;

use rand::Rng;

use super::likelihood::check_all;
use super::{ObservedLaw, chunked_sum, fill_moments};
use crate::belief::{Gaussian, Moments, SignalSpec, Structure, SymMatrix};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    Arity, Context, EnsembleRule, Factor, GenerativeRule, Incoming, PosteriorRule,
    message_from_moments, same,
};
use crate::scalar::{Elem, ScalarChannel, ScalarLikelihood, ScalarView, Symmetry, Tilt};

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
        let z = &inputs[0];
        if z.element != C::In::ELEMENT {
            return Err(ShapeError {
                port: Z,
                expected: format!("a {} signal", C::In::ELEMENT),
                got: format!("a {} one of shape {z}", z.element),
            });
        }
        Ok(vec![SignalSpec {
            element: C::Out::ELEMENT,
            ..z.clone()
        }])
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

fn situation(incoming: Incoming<'_, Gaussian>) -> Situation {
    let (a_z, a_x) = (
        incoming.get(Z).precision.scalar(),
        incoming.get(X).precision.scalar(),
    );
    of_precisions(a_z, a_x)
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

impl<C: ScalarChannel> PosteriorRule for C {
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        if !is_isotropic(incoming) {
            return by_component(self, incoming);
        }
        let (bz, bx) = (&incoming.get(Z).linear, &incoming.get(X).linear);
        let (bz, bx) = (C::In::view(bz), C::Out::view(bx));
        Ok(match situation(incoming) {
            Situation::Tilted { a_z, a_x } => chunked_sum(bz.len(), |i| {
                self.tilted(Tilt { a: a_z, b: bz[i] }, Tilt { a: a_x, b: bx[i] })
                    .log_z
            }),
            Situation::InputPinned => {
                let a = incoming.get(X).precision.scalar();
                if bz.iter().any(|z| self.map(*z).is_none()) {
                    return Err(no_map(self));
                }
                if a == f64::INFINITY {
                    // both ends known: certain, or impossible
                    let fits = |(z, x): (&C::In, &C::Out)| {
                        let gap = self
                            .map(*z)
                            .map_or(f64::INFINITY, |y| y.minus(*x).norm_sqr());
                        gap <= 1e-12 * x.norm_sqr().max(1e-300)
                    };
                    let all = bz.iter().zip(bx).all(fits);
                    return Ok(if all {
                        f64::INFINITY
                    } else {
                        f64::NEG_INFINITY
                    });
                }
                chunked_sum(bz.len(), |i| {
                    let x = self.map(bz[i]).unwrap_or(C::Out::ZERO);
                    x.dot(bx[i]) - 0.5 * a * x.norm_sqr()
                })
            }
            Situation::OutputPinned { a_z } => {
                let law = self.likelihood().ok_or_else(|| no_map(self))?;
                chunked_sum(bz.len(), |i| law.tilted(bx[i], a_z, bz[i]).log_z)
            }
        })
    }

    fn moments(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        if !is_isotropic(incoming) {
            return fill_each(self, incoming, target, &mut out.mean, &mut out.variance);
        }
        let v = fill(self, incoming, target, &mut out.mean)?;
        out.variance.set_scalar(v);
        Ok(())
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        if !is_isotropic(incoming) {
            fill_each(self, incoming, target, &mut out.linear, &mut out.precision)?;
            return message_from_moments(incoming.get(target), out);
        }
        let v = fill(self, incoming, target, &mut out.linear)?;
        out.precision.set_scalar(v);
        message_from_moments(incoming.get(target), out)
    }
}

/// Both ends have isotropic beliefs.
fn is_isotropic(incoming: Incoming<'_, Gaussian>) -> bool {
    let ends = [incoming.get(Z), incoming.get(X)];
    ends.iter().all(|m| m.structure() == Structure::Isotropic)
}

/// The precision of component `i`, of an isotropic or a diagonal belief.
fn precision_at(message: &Gaussian, i: usize) -> f64 {
    let a = message.precision.data();
    if a.len() == 1 { a[0] } else { a[i] }
}

/// The log-partition where one end or both are diagonal.
fn by_component<C: ScalarChannel>(
    channel: &C,
    incoming: Incoming<'_, Gaussian>,
) -> Result<f64, FactorError> {
    let (z, x) = (incoming.get(Z), incoming.get(X));
    let (bz, bx) = (C::In::view(&z.linear), C::Out::view(&x.linear));
    let likelihood = channel.likelihood();
    let mut sum = 0.0;
    for (i, (bz, bx)) in bz.iter().zip(bx).enumerate() {
        let (a_z, a_x) = (precision_at(z, i), precision_at(x, i));
        sum += match of_precisions(a_z, a_x) {
            Situation::Tilted { a_z, a_x } => {
                let (z, x) = (Tilt { a: a_z, b: *bz }, Tilt { a: a_x, b: *bx });
                channel.tilted(z, x).log_z
            }
            Situation::InputPinned => {
                let x = channel.map(*bz).ok_or_else(|| no_map(channel))?;
                match (a_x == f64::INFINITY, x.minus(*bx).norm_sqr()) {
                    (false, _) => x.dot(*bx) - 0.5 * a_x * x.norm_sqr(),
                    (true, gap) if gap <= 1e-12 * bx.norm_sqr().max(1e-300) => f64::INFINITY,
                    (true, _) => return Ok(f64::NEG_INFINITY),
                }
            }
            Situation::OutputPinned { a_z } => {
                let law = likelihood.as_ref().ok_or_else(|| no_map(channel))?;
                law.tilted(*bx, a_z, *bz).log_z
            }
        };
    }
    Ok(sum)
}

/// Writes the means and, for the structure at the target, the variances or their average.
fn fill_each<C: ScalarChannel>(
    channel: &C,
    incoming: Incoming<'_, Gaussian>,
    target: usize,
    mean: &mut [f64],
    variance: &mut SymMatrix,
) -> Result<(), FactorError> {
    let (z, x) = (incoming.get(Z), incoming.get(X));
    let (bz, bx) = (C::In::view(&z.linear), C::Out::view(&x.linear));
    let likelihood = channel.likelihood();
    let (mut sum, each) = (0.0, variance.structure() == Structure::Diagonal);
    for (i, (bz, bx)) in bz.iter().zip(bx).enumerate() {
        let mut store = |v: f64, v_at: &mut SymMatrix| {
            sum += v;
            if each {
                v_at.data_mut()[i] = v;
            }
        };
        let situation = of_precisions(precision_at(z, i), precision_at(x, i));
        match (situation, target) {
            (Situation::Tilted { a_z, a_x }, _) => {
                let t = channel.tilted(Tilt { a: a_z, b: *bz }, Tilt { a: a_x, b: *bx });
                if target == Z {
                    C::In::view_mut(mean)[i] = t.mean_z;
                    store(t.variance_z, variance);
                } else {
                    C::Out::view_mut(mean)[i] = t.mean_x;
                    store(t.variance_x, variance);
                }
            }
            (Situation::OutputPinned { a_z }, Z) => {
                let law = likelihood.as_ref().ok_or_else(|| no_map(channel))?;
                let refused = |reason| FactorError::Contradiction(format!("{reason} at index {i}"));
                law.check(*bx).map_err(refused)?;
                let (r, v) = law.moments(*bx, a_z, *bz);
                C::In::view_mut(mean)[i] = r;
                store(v, variance);
            }
            (Situation::OutputPinned { .. }, _) => {
                C::Out::view_mut(mean)[i] = *bx;
                store(0.0, variance);
            }
            (Situation::InputPinned, Z) => {
                C::In::view_mut(mean)[i] = *bz;
                store(0.0, variance);
            }
            (Situation::InputPinned, _) => {
                let x = channel.map(*bz).ok_or_else(|| no_map(channel))?;
                C::Out::view_mut(mean)[i] = x;
                store(0.0, variance);
            }
        }
    }
    if !each {
        variance.set_scalar(sum / bz.len() as f64);
    }
    Ok(())
}

impl<C: ScalarChannel> GenerativeRule for C {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        let z = C::In::view(inputs[0]);
        for (x, z) in C::Out::view_mut(&mut outputs[0]).iter_mut().zip(z) {
            *x = ScalarChannel::sample(self, *z, rng);
        }
    }
}

/// Writes the means and returns the average variance.
fn fill<C: ScalarChannel>(
    channel: &C,
    incoming: Incoming<'_, Gaussian>,
    target: usize,
    mean: &mut [f64],
) -> Result<f64, FactorError> {
    let (z, x) = (incoming.get(Z), incoming.get(X));
    let (bz, bx) = (C::In::view(&z.linear), C::Out::view(&x.linear));
    let v = match (situation(incoming), target) {
        (Situation::Tilted { a_z, a_x }, Z) => fill_moments(C::In::view_mut(mean), |i| {
            let t = channel.tilted(Tilt { a: a_z, b: bz[i] }, Tilt { a: a_x, b: bx[i] });
            (t.mean_z, t.variance_z)
        }),
        (Situation::Tilted { a_z, a_x }, _) => fill_moments(C::Out::view_mut(mean), |i| {
            let t = channel.tilted(Tilt { a: a_z, b: bz[i] }, Tilt { a: a_x, b: bx[i] });
            (t.mean_x, t.variance_x)
        }),
        (Situation::OutputPinned { a_z }, Z) => {
            let law = channel.likelihood().ok_or_else(|| no_map(channel))?;
            if let Some((i, reason)) = bx
                .iter()
                .enumerate()
                .find_map(|(i, x)| Some((i, law.check(*x).err()?)))
            {
                return Err(FactorError::Contradiction(format!("{reason} at index {i}")));
            }
            fill_moments(C::In::view_mut(mean), |i| law.moments(bx[i], a_z, bz[i]))
        }
        (Situation::OutputPinned { .. }, _) => {
            mean.copy_from_slice(&x.linear);
            0.0
        }
        (Situation::InputPinned, Z) => {
            mean.copy_from_slice(&z.linear);
            0.0
        }
        (Situation::InputPinned, _) => {
            for (m, z) in C::Out::view_mut(mean).iter_mut().zip(bz) {
                *m = channel.map(*z).ok_or_else(|| no_map(channel))?;
            }
            0.0
        }
    };
    Ok(v)
}
