//! Zero temperature: the mode of a factor in place of its mean.

use super::Context;
use crate::belief::{Gaussian, Moments, SignalSpec};
use crate::error::FactorError;

/// A place may leave a constraint by this much of its scale: the rounding of a solve.
pub(crate) const FEASIBLE: f64 = 1e-6;

/// Maximum a posteriori estimation: the twin of [`PosteriorRule`](super::PosteriorRule) for a factor
/// $f(x) = e^{-E(x)}$ at zero temperature (Tree-AMP paper, section 2.7).
///
/// $$A_f = \max_x\Big\{-E(x) + \sum_i\big(b_i^T x_i - \tfrac12 a_i\|x_i\|^2\big)\Big\},\qquad
/// r_i = \partial_{b_i}A_f = x_i^*,\qquad v_i = \langle\partial_{b_i} r_i\rangle,$$
///
/// which for one port is $\frac{\|b\|^2}{2a} - a\,\mathcal M_{E/a}(\frac ba)$ with the Moreau envelope $\mathcal M$, and $r$
/// the proximal map. Energies of priors and of Gaussian noise leave out constants, so that the least is zero; those of other likelihoods
/// are $-\ln p(y \mid z)$. A channel that makes its outputs of its inputs has energy zero where it does.
pub trait ProximalRule: Send + Sync {
    /// $E$ at a place for every port.
    fn energy(&self, places: &[&[f64]]) -> f64;

    /// The mode $x_i^*$ at port `target` and its curvature $v_i$.
    ///
    /// # Errors
    /// When there is no mode.
    fn mode(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Moments,
    ) -> Result<(), FactorError>;

    /// The outgoing message to port `target`: $a' = 1/v - a$, $b' = r/v - b$.
    ///
    /// # Errors
    /// When there is no mode.
    fn mode_message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError>;

    /// $A_f$, and $A_f - \sum_i\|b_i\|^2/2a_i$ over the proper messages, which is
    /// $-E(x^*) - \sum_i\frac12 a_i\|x_i^* - b_i/a_i\|^2$ without the difference of large numbers.
    ///
    /// # Errors
    /// When there is no mode.
    fn envelope(&self, context: &mut Context<'_>) -> Result<(f64, f64), FactorError> {
        let incoming = context.incoming;
        let mut modes: Vec<Moments> = Vec::with_capacity(incoming.len());
        for (port, message) in incoming.iter().enumerate() {
            let mut mode = Moments::zeros(&SignalSpec::real([message.len()]));
            self.mode(context, port, &mut mode)?;
            modes.push(mode);
        }
        let places: Vec<&[f64]> = modes.iter().map(|m| m.mean.as_slice()).collect();
        let energy = self.energy(&places);
        let pairs = || incoming.iter().zip(&places);
        let value: f64 = pairs().map(|(m, x)| log_value(m, x)).sum();
        let excess: f64 = pairs().map(|(m, x)| cold_excess(m, x)).sum();
        Ok((value - energy, excess - energy))
    }

    /// The outputs follow from the inputs: the factor is a constraint, and its generator draws nothing.
    fn determines_outputs(&self) -> bool {
        false
    }

    /// The energy is convex.
    fn is_convex(&self) -> bool {
        true
    }

    /// It is a penalty or a constraint of its own, whose mode is exact (zeros of a sparse signal).
    fn is_penalty(&self) -> bool {
        false
    }
}

/// $b^T x - \frac12 a\|x\|^2$; zero for a pin.
pub(crate) fn log_value(message: &Gaussian, place: &[f64]) -> f64 {
    if message.is_pinned() {
        0.0
    } else {
        message.log_value(place)
    }
}

/// The same less $\|b\|^2/2a$ of a proper message: $-\frac12 a\|x - b/a\|^2$.
pub(crate) fn cold_excess(message: &Gaussian, place: &[f64]) -> f64 {
    let a = message.precision.scalar();
    if a > 0.0 && a.is_finite() {
        let pairs = message.linear.iter().zip(place);
        -0.5 * a * pairs.map(|(b, x)| (x - b / a).powi(2)).sum::<f64>()
    } else {
        log_value(message, place)
    }
}

/// [`ProximalRule`] of a Gaussian factor: its mode is its mean, its message that of expectation propagation.
macro_rules! gaussian_proximal_rule {
    ($channel:ty, $determines:expr, $energy:expr) => {
        impl $crate::factor::ProximalRule for $channel {
            fn energy(&self, places: &[&[f64]]) -> f64 {
                let energy: fn(&$channel, &[&[f64]]) -> f64 = $energy;
                energy(self, places)
            }

            fn mode(
                &self,
                context: &mut $crate::factor::Context<'_>,
                target: usize,
                out: &mut $crate::belief::Moments,
            ) -> Result<(), $crate::error::FactorError> {
                $crate::factor::PosteriorRule::moments(self, context, target, out)
            }

            fn mode_message(
                &self,
                context: &mut $crate::factor::Context<'_>,
                target: usize,
                out: &mut $crate::belief::Gaussian,
            ) -> Result<(), $crate::error::FactorError> {
                $crate::factor::PosteriorRule::message(self, context, target, out)
            }

            fn determines_outputs(&self) -> bool {
                let determines: fn(&$channel) -> bool = $determines;
                determines(self)
            }
        }
    };
}

pub(crate) use gaussian_proximal_rule;

/// $\frac{1}{2\Delta}\sum_i(x_i - m_i)^2$; without noise 0 where they agree and $+\infty$ where they do not.
pub(crate) fn quadratic_energy(
    pairs: impl Iterator<Item = (f64, f64)>,
    noise_variance: f64,
) -> f64 {
    let (mut square, mut scale) = (0.0, 0.0_f64);
    for (x, m) in pairs {
        square += (x - m).powi(2);
        scale += m * m;
    }
    if noise_variance > 0.0 {
        0.5 * square / noise_variance
    } else if square <= FEASIBLE * FEASIBLE * scale {
        0.0
    } else {
        f64::INFINITY
    }
}
