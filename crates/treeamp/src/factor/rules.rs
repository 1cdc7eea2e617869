//! The capabilities of a factor.

use rand::Rng;

use super::{Context, Workspace};
use crate::belief::Message as _;
use crate::belief::{Gaussian, Moments, SignalSpec, Structure};
use crate::error::{FactorError, brief};

/// Expectation propagation: log-partition, moments and outgoing message of a factor.
///
/// $A_f = \ln\int \prod_i dx_i\, f(x)\, \prod_i e^{-\frac12 x_i^T a_i x_i + b_i^T x_i}$, a sum over
/// components; a pinned message stands for $\delta(x_i - m)$.
pub trait PosteriorRule: Send + Sync {
    /// $A_f$ at the incoming messages; $+\infty$ where the integral diverges.
    ///
    /// # Errors
    /// When the factor cannot compute it.
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError>;

    /// $A_f - \sum_i A(m_i)$: the log-partition less the potentials of the proper incoming messages
    /// alone ([`Gaussian::own_potential`]). The evidence is summed from these, because $A_f$ grows
    /// like $a\|r\|^2$. Override it where it can be had without the difference.
    ///
    /// # Errors
    /// When the factor cannot compute it.
    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let own: f64 = incoming.iter().map(Gaussian::own_potential).sum();
        Ok(self.log_partition(context)? - own)
    }

    /// The standard error of $A_f$ where it is estimated at random; zero where it is computed.
    fn log_partition_error(&self, context: &mut Context<'_>) -> f64 {
        let _ = context;
        0.0
    }

    /// Why the messages of an approximate route ([`Factor::route`](super::Factor::route)) are not those of the exact one at a state at
    /// rest; `None` where nothing speaks against them.
    ///
    /// # Errors
    /// When the factor cannot compute it.
    fn route_objection(&self, context: &mut Context<'_>) -> Result<Option<String>, FactorError> {
        let _ = context;
        Ok(None)
    }

    /// What a report should say of a run of this factor, such as a start of its own; `None` where there is nothing to say.
    fn note(&self, workspace: &Workspace) -> Option<String> {
        let _ = workspace;
        None
    }

    /// What the one variance of an isotropic belief at these ports averages, where that is known to be very unequal, with the number of the
    /// port.
    fn averaged(&self, ports: &[SignalSpec]) -> Option<(usize, String)> {
        let _ = ports;
        None
    }

    /// Its moments are a mode and its curvature: that of a penalty.
    fn is_laplace(&self) -> bool {
        false
    }

    /// Its messages do not depend on the incoming ones.
    fn is_constant(&self) -> bool {
        false
    }

    /// It saves much by not writing a message to port `target` that nobody reads ([`Request::unread`](super::Request)). A variable that only factors of constant
    /// messages hear from it is not followed in sweeps then: neither the residual nor, where no observer [looks](crate::engine::Observer::looks),
    /// the trace knows its moments, which are made at the end.
    fn skips_unread(&self, target: usize) -> bool {
        let _ = target;
        false
    }

    /// The outgoing (extrinsic) message to port `target`.
    ///
    /// By a direct formula wherever one exists: $1/v - a$ loses digits when a factor says little.
    /// Laws that only have moments end with [`message_from_moments`].
    ///
    /// # Errors
    /// When the tilted law is improper.
    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError>;

    /// Mean and variance of the variable at port `target` under the tilted law; by default from the
    /// message, $v = 1/(a + a')$, $r = v(b + b')$. Not used in sweeps.
    ///
    /// # Errors
    /// When the tilted law is improper.
    fn moments(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        let mut total = incoming.get(target).clone();
        let mut message = total.clone();
        self.message(context, target, &mut message)?;
        total.add_assign(&message);
        total.moments_into(out)
    }
}

/// A change of natural parameters below this, relative, is not resolved by averages of moments.
const ROUNDING: f64 = 1e-12;

/// Turns moments, held in `out` as (variance, mean), into the outgoing message
/// $a' = 1/v - a$, $b' = r/v - b$, for the whole of an isotropic belief, or component by component of a diagonal one.
///
/// - $v = 0$ pins the variable at $r$.
/// - $v = \infty$ with $a = 0$: nothing is known yet, and the message is flat.
/// - Both differences within rounding ($10^{-12}$) of what came in: the factor adds nothing, and the
///   message is flat rather than noise of size $10^{-16} a$.
/// - $a = \infty$: the variable is pinned already, nothing the factor says can move it: flat.
///
/// # Errors
/// [`FactorError::Improper`] when $v$ is infinite although $a \neq 0$.
pub fn message_from_moments(incoming: &Gaussian, out: &mut Gaussian) -> Result<(), FactorError> {
    if out.structure() == Structure::Diagonal {
        return diagonal_from_moments(incoming, out);
    }
    let a = incoming.precision.scalar();
    let v = out.precision.scalar();
    if a == f64::INFINITY || (v == f64::INFINITY && a == 0.0) {
        out.set_flat();
    } else if v == f64::INFINITY {
        return Err(FactorError::Improper(format!(
            "the incoming precision is {}, and its integral diverges",
            brief(a)
        )));
    } else if v == 0.0 {
        out.precision.set_scalar(f64::INFINITY);
    } else {
        let inverse = 1.0 / v;
        out.precision.set_scalar(inverse - a);
        let (mut largest, mut change) = (0.0_f64, 0.0_f64);
        for (r, b) in out.linear.iter_mut().zip(&incoming.linear) {
            *r = *r * inverse - b;
            largest = largest.max(b.abs());
            change = change.max(r.abs());
        }
        if (inverse - a).abs() <= ROUNDING * a && change <= ROUNDING * largest {
            out.set_flat();
        }
    }
    Ok(())
}

/// [`message_from_moments`] of a diagonal belief.
fn diagonal_from_moments(incoming: &Gaussian, out: &mut Gaussian) -> Result<(), FactorError> {
    let parts = out.precision.data_mut().iter_mut().zip(&mut out.linear);
    let seen = incoming.precision.data().iter().zip(&incoming.linear);
    for (i, ((v, r), (a, b))) in parts.zip(seen).enumerate() {
        if *a == f64::INFINITY || (*v == f64::INFINITY && *a == 0.0) {
            (*v, *r) = (0.0, 0.0);
        } else if *v == f64::INFINITY {
            return Err(FactorError::Improper(format!(
                "the incoming precision at component {i} is {}, and its integral diverges",
                brief(*a)
            )));
        } else if *v == 0.0 {
            *v = f64::INFINITY;
        } else {
            let inverse = 1.0 / *v;
            (*v, *r) = (inverse - a, *r * inverse - b);
            if v.abs() <= ROUNDING * a && r.abs() <= ROUNDING * b.abs() {
                (*v, *r) = (0.0, 0.0);
            }
        }
    }
    Ok(())
}

/// Forward sampling: the outputs given the inputs.
pub trait GenerativeRule: Send + Sync {
    /// Draws the outputs (already of the right length) given the inputs.
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng);
}
