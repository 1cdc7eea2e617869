//! Maximum a posteriori estimation: expectation propagation at zero temperature (Tree-AMP paper, section 2.7 and
//! appendix B).
//!
//! $$\min_x \sum_k E_k(x_k) = -A,\qquad A_i = \frac{\|b_i\|^2}{2a_i},\qquad
//! A_k = \frac{\|b_k\|^2}{2a_k} - a_k\,\mathcal M_{E_k/a_k}\!\Big(\frac{b_k}{a_k}\Big).$$
//!
//! Precisions are those of scaled beliefs, $a^{(\beta)} = \beta a$: the curvature $v$ that a report shows is $\beta$ times a
//! variance, and no uncertainty.

pub(super) mod among_gaussians;
mod mode;
pub(super) mod pins;

use super::expectation_propagation::sizes_known;
use super::minimiser::certificate::check_convex;
use super::minimiser::{Settings, minimise};
use super::verdict;
use crate::belief::{Gaussian, Message as _, SignalSpec, Structure};

use crate::engine::{
    Algorithm, Engine, FallbackEnd, FallbackReport, MissingRule, Options, Potential, Probe, Report,
    Verdict, Watch,
};
use crate::error::{FactorError, ModelError, PROXIMAL, RunError};
use crate::factor::{Context, Factor, Incoming, cold_excess, log_value, proximal};
use crate::model::{Tree, Variable};

pub use mode::Mode;

/// Maximum a posteriori estimation.
///
/// Sweeps of messages come first. When they do not settle, and every energy is convex, a Douglas-Rachford splitting at
/// frozen precisions takes over ([`Fallback`](crate::engine::Fallback)), which is certain to reach a minimiser.
///
/// ```
/// use treeamp::prelude::*;
/// let w = Matrix::from_rows(2, 3, &[1.0, 0.5, -0.2, 0.0, 1.0, 0.3])?;
/// let lasso = (source(L1::new(0.1)?.iid(3)) >> var("x") >> Linear::new(w)? >> var("z")
///     >> GaussianNoise::new(1.0)? >> var("y")).build()?.condition("y", &[1.0, 2.0])?;
/// let report = MaximumAPosteriori.on(&lasso)?.run(&mut ())?;
/// let best = report.solution(&lasso)?;
/// assert_eq!(best.point("x")?[2], 0.0);
/// assert!((report.least_energy()? - best.energy()).abs() < 1e-8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MaximumAPosteriori;

/// The report of a maximum a posteriori estimation.
pub type Minimum = Report<MaximumAPosteriori>;

impl MaximumAPosteriori {
    /// Plans it on a tree. Its tolerance is $10^{-12}$: where columns are nearly alike, or of scales that differ by orders of magnitude,
    /// sweeps are slow, and places are up to $10^5$ times as far from the minimiser as one of them goes.
    ///
    /// # Errors
    /// Factors without a mode, all of them at once; unsupported beliefs.
    pub fn on(self, tree: &Tree) -> Result<Engine<'_, Self>, RunError> {
        sizes_known(tree)?;
        let options = Options {
            tolerance: 1e-12,
            ..Options::default()
        };
        Engine::with_options(tree, self, options)
    }

    /// Checks what a plan would refuse, at once at any size: no matrix is decomposed.
    ///
    /// # Errors
    /// As [`on`](Self::on), but for work before the first sweep that fails.
    pub fn check(self, tree: &Tree, options: &Options) -> Result<(), RunError> {
        sizes_known(tree)?;
        Engine::check(tree, &self, options)
    }
}

impl Report<MaximumAPosteriori> {
    /// The minimiser at a variable, row-major, as its messages have it. [`solution`](Self::solution) has exact zeros and
    /// satisfies the channels exactly.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn minimiser(&self, variable: &str) -> Result<&[f64], ModelError> {
        self.marginal(variable).map(|m| m.point.as_slice())
    }

    /// The least energy as the Bethe objective gives it, $-A$: the energy of the minimiser at a fixed point.
    ///
    /// # Errors
    /// When a factor has no mode at the final messages.
    pub fn least_energy(&self) -> Result<f64, RunError> {
        let objective = self.objective.as_ref();
        objective.map(|o| -o.total).map_err(Clone::clone)
    }
}

impl Algorithm for MaximumAPosteriori {
    type Message = Gaussian;
    type Marginal = Mode;
    const NAME: &'static str = "maximum a posteriori estimation";
    const ON_DATA: bool = true;
    const RECOVERS: bool = false;

    fn certain_from_anywhere(&self, _: &Tree) -> bool {
        true
    }

    /// The mode needs no more than an isotropic belief; expectation propagation takes penalties among other ones.
    fn takes(&self, _: Structure) -> bool {
        false
    }

    fn requires(&self, factor: &dyn Factor) -> Result<(), MissingRule> {
        let rule = factor.proximal().map(|_| ());
        rule.ok_or(MissingRule(PROXIMAL))
    }

    fn flat(&self, spec: &SignalSpec) -> Gaussian {
        Gaussian::flat(spec)
    }

    fn blank(&self, spec: &SignalSpec) -> Mode {
        Mode::at_zero(spec)
    }

    fn constant(
        &self,
        spec: &SignalSpec,
        precision: f64,
        linear: &mut dyn FnMut() -> f64,
    ) -> Gaussian {
        let mut message = Gaussian::flat(spec);
        message.precision.set_scalar(precision);
        message.linear.fill_with(linear);
        message
    }

    fn update(
        &self,
        _node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let sent = proximal(factor)?.mode_message(context, target, out);
        sent.map_err(passing)
    }

    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Gaussian>,
        total: &mut Gaussian,
        out: &mut Mode,
    ) -> Result<(), FactorError> {
        total.set_flat();
        incoming.iter().for_each(|m| total.add_assign(m));
        let a = total.precision.scalar();
        if a <= 0.0 {
            return Err(FactorError::Improper(format!(
                "the belief on `{}` has precision {a:e}",
                variable.name
            )));
        }
        out.settle(incoming, total);
        Ok(())
    }

    fn certify(&self, probe: &mut Probe<'_, '_, Self>) -> Result<Verdict, RunError> {
        Ok(verdict::of_modes(probe))
    }

    fn uncertain(&self, tree: &Tree) -> Option<RunError> {
        check_convex(tree).err()
    }

    fn fall_back(
        &self,
        tree: &Tree,
        messages: &mut [Gaussian],
        options: &Options,
        watch: &mut dyn Watch<Gaussian>,
    ) -> Result<FallbackReport, RunError> {
        let mut report = minimise(tree, messages, Settings::new(options.gap), watch)?;
        if report.end == FallbackEnd::Stationary {
            pins::pin(tree, messages);
        }
        report.sweep_residual = watch.sweep_residual(messages);
        Ok(report)
    }

    fn factor_potential(
        &self,
        _node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Gaussian>,
    ) -> Result<Potential, FactorError> {
        let (value, excess) = proximal(factor)?.envelope(context)?;
        Ok(Potential { value, excess })
    }

    /// $\max_x \sum_k (b_k^T x - \frac12 a_k\|x\|^2)$, at the place of a pin if there is one.
    fn variable_potential(
        &self,
        _: &Variable,
        incoming: Incoming<'_, Gaussian>,
        total: &mut Gaussian,
    ) -> Potential {
        total.set_flat();
        incoming.iter().for_each(|m| total.add_assign(m));
        if total.precision.scalar() <= 0.0 {
            let (value, excess) = (f64::INFINITY, f64::INFINITY);
            return Potential { value, excess };
        }
        let scale = total.mean_scale();
        total.linear.iter_mut().for_each(|b| *b *= scale);
        let place = &total.linear;
        Potential {
            value: incoming.iter().map(|m| log_value(m, place)).sum(),
            excess: incoming.iter().map(|m| cold_excess(m, place)).sum(),
        }
    }
}

/// What a factor cannot do with a pin it may be able to do later: a pin of early sweeps is no exact statement.
fn passing(error: FactorError) -> FactorError {
    match error {
        FactorError::Contradiction(why) | FactorError::Unsupported(why) => {
            FactorError::Improper(why)
        }
        other => other,
    }
}
