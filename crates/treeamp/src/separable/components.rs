//! A penalty on components, $E(x) = \sum_i E(x_i)$, with a precision for each: the mode and its curvature at $(a_i, b_i)$.

use super::Penalty;
use super::idle::{Activity, Idle};
use super::penalised::Penalised;
use super::proximal::no_mode;
use crate::belief::{Gaussian, Moments, mean_square};
use crate::error::FactorError;
use crate::factor::message_from_moments;
use crate::scalar::Tilted;

impl<P: Penalty> Penalised<P> {
    /// The mode of component `i` and its curvature; the place of a pin.
    fn at_component(&self, x: &Gaussian, i: usize, shift: f64) -> Result<Tilted, FactorError> {
        let (a, b) = (x.precision.data()[i], x.linear[i]);
        if a == f64::INFINITY {
            let (log_z, mean, variance) = (0.0, b, 0.0);
            return Ok(Tilted {
                log_z,
                mean,
                variance,
            });
        }
        let refused = || FactorError::Unsupported("it does not act on components".to_owned());
        let law = self.law();
        let t = law.component(i, a, b + shift).ok_or_else(refused)?;
        if t.variance == f64::INFINITY {
            return Err(no_mode(law.name(), a));
        }
        if t.mean.is_finite() && t.variance.is_finite() {
            return Ok(t);
        }
        let got = if t.mean.is_finite() {
            t.variance
        } else {
            t.mean
        };
        Err(self.broken(a, got))
    }

    /// The message of a diagonal belief.
    pub(super) fn components_message(
        &self,
        x: &Gaussian,
        out: &mut Gaussian,
        activity: &mut Activity,
        smoothing: Option<f64>,
    ) -> Result<(), FactorError> {
        let own = x.is_flat().then(|| self.nominal());
        if let Some(own) = own.filter(|own| !own.b.is_nan()) {
            out.set_precision(own.a);
            out.linear.fill(own.b);
            return Ok(());
        }
        self.component_message(x, out, &mut activity.components, smoothing)
    }

    /// Modes and curvatures of a diagonal belief.
    pub(super) fn component_moments(
        &self,
        x: &Gaussian,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        for i in 0..x.len() {
            let t = self.at_component(x, i, 0.0)?;
            out.mean[i] = t.mean;
            out.variance.data_mut()[i] = t.variance;
        }
        Ok(())
    }

    /// $\max_x\{-E(x) + \sum_i(b_i x_i - \frac12 a_i x_i^2)\}$.
    pub(super) fn component_potential(&self, x: &Gaussian) -> Result<f64, FactorError> {
        let mut mode = vec![0.0; x.len()];
        let mut value = 0.0;
        for (i, place) in mode.iter_mut().enumerate() {
            *place = self.at_component(x, i, 0.0)?.mean;
            let (a, b) = (x.precision.data()[i], x.linear[i]);
            if a < f64::INFINITY {
                value += *place * (b - 0.5 * a * *place);
            }
        }
        Ok(value - self.energy_at(&mode))
    }

    /// The message. `idle` counts, for every component, updates in a row in which it was not active.
    fn component_message(
        &self,
        x: &Gaussian,
        out: &mut Gaussian,
        idle: &mut [Idle],
        smoothing: Option<f64>,
    ) -> Result<(), FactorError> {
        let h = smoothing.map_or(0.0, |w| w * mean_square(&x.linear).sqrt());
        for (i, idle) in idle.iter_mut().enumerate() {
            let a = x.precision.data()[i];
            let t = self.at_component(x, i, 0.0)?;
            let mut v = t.variance;
            if h > 0.0 && a > 0.0 && a < f64::INFINITY {
                let rise = self.at_component(x, i, h)?.mean - self.at_component(x, i, -h)?.mean;
                v = rise / (2.0 * h);
            }
            idle.note(v != 0.0);
            if v == 0.0 && a < f64::INFINITY {
                if a <= 0.0 {
                    let why = format!("component {i} is not active, and nothing holds it there");
                    return Err(FactorError::Improper(why));
                }
                v = idle.nearly_pinned(a);
            }
            out.precision.data_mut()[i] = v;
            out.linear[i] = t.mean;
        }
        message_from_moments(x, out)
    }
}
