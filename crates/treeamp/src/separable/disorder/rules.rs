//! The ensemble rules of separable factors, from their averages and closed forms.

use super::gaussian::log_gaussian;
use super::{channel_entropy, channel_rule, entropy, likelihood, per_component, prior};
use crate::belief::Overlaps;
use crate::error::FactorError;
use crate::factor::{Averaged, EnsembleRule, Factor, signal};
use crate::math::special::normal_probability_around_zero;
use crate::scalar::{
    Elem, OutputMeasure, ScalarChannel, ScalarLikelihood, ScalarPrior, ScalarView, Symmetry, Tilt,
};
use crate::separable::{SeparableLikelihood, SeparablePrior};

/// The scalar law of a teacher's factor.
pub(super) fn view_of(teacher: &dyn Factor) -> Result<&dyn ScalarView, FactorError> {
    teacher.scalar().ok_or_else(|| {
        let name = teacher.name();
        FactorError::Unsupported(format!("the teacher's factor `{name}` is not separable"))
    })
}

/// $H$ as the difference of its definition: for a modulus or a phase without noise.
fn by_potential(
    rule: &impl EnsembleRule,
    teacher: &dyn Factor,
    at: Averaged<'_>,
    ports: &[(f64, f64)],
) -> Result<f64, FactorError> {
    Ok(signal(at, ports) - rule.potential(teacher, at)? + rule.prior_potential(at.tau0_hat)?)
}

impl<E: Elem, P: ScalarPrior<E>> EnsembleRule for SeparablePrior<P, E> {
    fn pairs_with(&self, teacher: &dyn Factor) -> bool {
        let flat = Tilt { a: 1.0, b: 0.0 };
        let same = |t: &dyn ScalarView| {
            view_of(self).is_ok_and(|own| own.symmetry() == t.symmetry()) && t.prior(flat).is_some()
        };
        teacher.scalar().is_some_and(same)
    }

    fn second_moment(&self, tau0_hat: &[f64], _: usize) -> Result<f64, FactorError> {
        Ok(prior::teacher_at(view_of(self)?, tau0_hat[0])?.second_moment())
    }

    fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        let view = view_of(self)?;
        Ok(per_component(view) * prior::teacher_at(view, tau0_hat[0])?.log_z)
    }

    fn overlaps(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        _: usize,
    ) -> Result<Overlaps, FactorError> {
        Ok(prior::averages(view_of(self)?, view_of(teacher)?, at)?.0)
    }

    /// A Gaussian law sends its own precision, whatever it hears.
    fn extrinsic_precision(&self, _: Averaged<'_>, _: usize) -> Result<Option<f64>, FactorError> {
        Ok(self.law().as_gaussian().map(|own| own.a))
    }

    fn potential(&self, teacher: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
        Ok(prior::averages(view_of(self)?, view_of(teacher)?, at)?.1)
    }

    /// $\frac12\ln(1 + \hat m s)$ for a Gaussian of variance $s$ (under $\hat\tau_0$).
    fn entropic_potential(
        &self,
        _: &dyn Factor,
        at: Averaged<'_>,
        _: &[(f64, f64)],
    ) -> Result<f64, FactorError> {
        let view = view_of(self)?;
        let t0 = prior::teacher_at(view, at.tau0_hat[0])?;
        if self.law().as_gaussian().is_some() {
            return Ok(0.5 * (at.fields[0].m_hat * t0.variance).ln_1p());
        }
        let within = |at: Averaged<'_>| prior::entropic(view, at, &t0);
        let d = self.unknown_dimension(at.tau0_hat, 0)?;
        let sharpest = if d > 0.0 {
            entropy::SHARPEST
        } else {
            entropy::DISCRETE
        };
        entropy::extended(at, &[t0.second_moment()], sharpest, within, |_| Ok(d))
    }

    /// The mass outside the atoms.
    fn unknown_dimension(&self, tau0_hat: &[f64], _: usize) -> Result<f64, FactorError> {
        let t0 = prior::teacher_at(view_of(self)?, tau0_hat[0])?;
        // the atoms of two independent parts are pairs, of the square of the mass
        let (log_z, power) = match self.law().part() {
            Some(_) => (2.0 * t0.log_z, 0.5),
            None => (t0.log_z, 1.0),
        };
        let tilt = |x: E| (-0.5 * tau0_hat[0] * x.norm_sqr() - log_z).exp();
        let atoms = self.law().atoms().into_iter();
        let known: f64 = atoms.map(|(x, p)| p * tilt(x)).sum();
        let unknown = 1.0 - known.powf(power);
        // masses add up to one but for rounding
        Ok(if unknown > 1e-12 { unknown } else { 0.0 })
    }
}

impl<E: Elem, L: ScalarLikelihood<E>> EnsembleRule for SeparableLikelihood<L, E> {
    fn pairs_with(&self, teacher: &dyn Factor) -> bool {
        let same = |t: &dyn ScalarView| {
            view_of(self).is_ok_and(|own| own.symmetry() == t.symmetry()) && t.outputs().is_some()
        };
        teacher.scalar().is_some_and(same)
    }

    fn second_moment(&self, tau0_hat: &[f64], _: usize) -> Result<f64, FactorError> {
        likelihood::second_moment(tau0_hat[0])
    }

    fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        likelihood::second_moment(tau0_hat[0])?;
        Ok(log_gaussian(tau0_hat[0]))
    }

    fn overlaps(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        _: usize,
    ) -> Result<Overlaps, FactorError> {
        Ok(likelihood::averages(view_of(self)?, view_of(teacher)?, at)?.0)
    }

    /// A Gaussian law sends its own precision, whatever it hears; infinite without noise.
    fn extrinsic_precision(&self, _: Averaged<'_>, _: usize) -> Result<Option<f64>, FactorError> {
        let alike = self.law().components().is_none();
        let own = alike.then(|| self.law().as_gaussian(L::Output::ZERO));
        Ok(own.flatten().map(|own| own.a))
    }

    fn potential(&self, teacher: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
        Ok(likelihood::averages(view_of(self)?, view_of(teacher)?, at)?.1)
    }

    /// A Gaussian output has a closed form at every field.
    fn entropic_potential(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        ports: &[(f64, f64)],
    ) -> Result<f64, FactorError> {
        let view = view_of(self)?;
        let tau0 = likelihood::second_moment(at.tau0_hat[0])?;
        if view.gaussian().is_some() || view.components().is_some() {
            return likelihood::entropic(view, at, tau0);
        }
        // a modulus or a phase without noise has a closed form of its potential
        let noisy = view.outputs().is_some_and(|outputs| outputs.has_noise());
        if view.symmetry() != Symmetry::Line && !noisy {
            return by_potential(self, teacher, at, ports);
        }
        let within = |at: Averaged<'_>| likelihood::entropic(view, at, tau0);
        let dimension = |_| self.unknown_dimension(at.tau0_hat, 0);
        entropy::extended(at, &[tau0], entropy::SHARPEST, within, dimension)
    }

    /// One through noise or a discrete output; a half for a modulus or a phase, one of two real components; else the
    /// probability of the flat regions.
    fn unknown_dimension(&self, tau0_hat: &[f64], _: usize) -> Result<f64, FactorError> {
        let scale = tau0_hat[0].sqrt();
        likelihood::second_moment(tau0_hat[0])?;
        let mass =
            |(low, high): &(f64, f64)| normal_probability_around_zero(low * scale, high * scale);
        let plane = matches!(self.law().symmetry(), Symmetry::Circular | Symmetry::Ray);
        Ok(match self.law().outputs() {
            Some(OutputMeasure::Modulus) => 0.5,
            Some(OutputMeasure::PushForward {
                noise_variance: 0.0,
                ..
            }) if plane => 0.5,
            Some(OutputMeasure::PushForward {
                noise_variance: 0.0,
                curves,
                ..
            }) => (1.0 - curves.iter().map(mass).sum::<f64>()).max(0.0),
            _ => 1.0,
        })
    }
}

impl<C: ScalarChannel> EnsembleRule for C {
    fn pairs_with(&self, teacher: &dyn Factor) -> bool {
        let flat = Tilt { a: 1.0, b: 0.0 };
        let same = |t: &dyn ScalarView| {
            ScalarChannel::symmetry(self) == t.symmetry() && t.channel(flat, flat).is_some()
        };
        teacher.scalar().is_some_and(same)
    }

    fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
        Ok(channel_rule::second_moments(&channel_rule::teacher_at(self, tau0_hat)?)[target])
    }

    fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        Ok(per_component(self) * channel_rule::teacher_at(self, tau0_hat)?.log_z)
    }

    fn overlaps(
        &self,
        teacher: &dyn Factor,
        at: Averaged<'_>,
        target: usize,
    ) -> Result<Overlaps, FactorError> {
        Ok(channel_rule::averages(self, view_of(teacher)?, at, Some(target))?.0)
    }

    fn potential(&self, teacher: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
        Ok(channel_rule::averages(self, view_of(teacher)?, at, None)?.1)
    }

    fn entropic_potential(
        &self,
        _: &dyn Factor,
        at: Averaged<'_>,
        _: &[(f64, f64)],
    ) -> Result<f64, FactorError> {
        let tau0 = channel_rule::second_moments(&channel_rule::teacher_at(self, at.tau0_hat)?);
        let within = |at: Averaged<'_>| channel_entropy::entropic(self, at);
        let dimension = |end| entropy::slope(at, &tau0, end, within);
        entropy::extended(at, &tau0, entropy::SHARPEST, within, dimension)
    }
}
