//! Expectation propagation with Gaussian beliefs (algorithm 2 of the Tree-AMP paper): the fixed
//! point matches means and variances on every edge, and contains VAMP, G-VAMP and ML-VAMP.

use num_complex::Complex;

use super::map::among_gaussians::settle;
use super::penalties::{has_minimiser, penalties};
use super::smooth_entries::smooth_entries;
use super::verdict;
use crate::belief::{Gaussian, Moments, SignalSpec, Structure, product_excess};

use crate::engine::{
    Algorithm, Engine, FallbackReport, Marginal, Message, MissingRule, Options, Potential, Probe,
    Report, Verdict, Watch,
};
use crate::error::{FactorError, ModelError, RunError};
use crate::factor::{Context, Factor, Incoming, PosteriorRule, posterior};
use crate::model::{Tree, Variable};

/// Expectation propagation.
///
/// ```
/// use treeamp::prelude::*;
/// let model = (source(GaussianPrior::new(0.0, 1.0)?.iid(2)) >> var("x")
///     >> GaussianNoise::new(0.5)? >> var("y")).build()?;
/// let posterior = model.condition("y", &[1.0, -2.0])?;
/// let report = ExpectationPropagation.on(&posterior)?.run(&mut ())?;
/// assert!((report.mean("x")?[0] - 2.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ExpectationPropagation;

/// The report of an expectation propagation.
pub type Posterior = Report<ExpectationPropagation>;

impl ExpectationPropagation {
    /// Plans it on a tree.
    ///
    /// # Errors
    /// Factors without an expectation propagation rule, unsupported beliefs, beliefs that take more than two gibibytes, a product of hidden
    /// matrices whose entries are seen by something that has no second derivative at zero.
    pub fn on(self, tree: &Tree) -> Result<Engine<'_, Self>, RunError> {
        self.on_with(tree, Options::default())
    }

    /// Plans it on a tree with these options: beliefs may take as much memory as they say.
    ///
    /// # Errors
    /// As [`on`](Self::on).
    pub fn on_with(self, tree: &Tree, options: Options) -> Result<Engine<'_, Self>, RunError> {
        sizes_known(tree)?;
        smooth_entries(tree)?;
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

impl Report<ExpectationPropagation> {
    /// The posterior mean of a variable, row-major; that of a complex one as interleaved parts.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn mean(&self, variable: &str) -> Result<&[f64], ModelError> {
        self.marginal(variable).map(|m| m.mean.as_slice())
    }

    /// The posterior mean of a complex variable, row-major.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`]; [`ModelError::Element`] for a real variable.
    pub fn complex_mean(&self, variable: &str) -> Result<&[Complex<f64>], ModelError> {
        let mean = self.mean(variable)?;
        crate::model::as_complex(variable, mean, Some(self.element(variable)?))
    }

    /// The posterior variance of a variable per real component, averaged over its components.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn variance(&self, variable: &str) -> Result<f64, ModelError> {
        self.marginal(variable).map(Moments::average_variance)
    }

    /// The posterior precision of a variable, $1/v$; infinite when it is pinned.
    ///
    /// # Errors
    /// [`ModelError::UnknownVariable`].
    pub fn precision(&self, variable: &str) -> Result<f64, ModelError> {
        self.variance(variable).map(|v| 1.0 / v)
    }

    /// $\ln p(y)$ as the Bethe approximation gives it: exact on Gaussian trees. Infinite where the
    /// observations have a density that is (noiseless and redundant, or on a point mass).
    ///
    /// # Errors
    /// When a factor cannot compute its log-partition; [`RunError::NotDefined`] where variances vanish and it does not
    /// settle, but grows with every sweep: noiseless continuous outputs of a signal that is known exactly, whose density
    /// is infinite. It is never $-\infty$ there. [`RunError::WithoutLimit`] where some variances vanish and others do not, or
    /// the signal itself does, and the number would depend on the tolerance. [`RunError::NotReached`] of a run that diverged, or
    /// whose fallback came to its bound: the state that it holds is no fixed point.
    pub fn log_evidence(&self) -> Result<f64, RunError> {
        self.objective
            .as_ref()
            .map(|o| o.total)
            .map_err(Clone::clone)
    }

    /// The standard error of [`log_evidence`](Self::log_evidence) in nats: that of log-determinants which are estimated
    /// from random probes, of large operators without a singular system. Zero where everything is computed.
    ///
    /// # Errors
    /// As [`log_evidence`](Self::log_evidence).
    pub fn log_evidence_error(&self) -> Result<f64, RunError> {
        let objective = self.objective.as_ref();
        objective.map(|o| o.error).map_err(Clone::clone)
    }

    /// $-\ln p(y)$.
    ///
    /// # Errors
    /// As [`log_evidence`](Self::log_evidence).
    pub fn surprisal(&self) -> Result<f64, RunError> {
        self.log_evidence().map(|a| -a)
    }
}

impl Marginal for Moments {
    fn copy_from(&mut self, other: &Self) {
        Moments::copy_from(self, other);
    }

    fn forget(&mut self) {
        self.mean.fill(0.0);
        self.variance.data_mut().fill(f64::INFINITY);
    }

    fn second_moment(&self) -> f64 {
        Moments::second_moment(self)
    }

    fn variance(&self) -> f64 {
        self.average_variance()
    }

    fn thin_into(&self, out: &mut Self) {
        if self.mean.len() == out.mean.len() {
            return out.copy_from(self);
        }
        let stride = self.mean.len() / out.mean.len();
        for (o, r) in out.mean.iter_mut().zip(self.mean.iter().step_by(stride)) {
            *o = *r;
        }
        out.variance.set_scalar(self.average_variance());
    }

    fn change(&self, previous: &Self, second_moment: f64) -> f64 {
        let pairs = self.mean.iter().zip(&previous.mean);
        let square = pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>() / self.mean.len() as f64;
        let means = (square / second_moment).sqrt();
        let variances = if self.variance.structure() == Structure::Isotropic {
            (self.average_variance() - previous.average_variance()).abs()
        } else {
            let pairs = self.variance.diagonal().zip(previous.variance.diagonal());
            pairs.map(|(v, w)| (v - w).abs()).sum::<f64>() / self.mean.len() as f64
        };
        // both are 0/0 for a signal that is exactly zero
        means.max(variances / second_moment).max(0.0)
    }
}

impl Algorithm for ExpectationPropagation {
    type Message = Gaussian;
    type Marginal = Moments;
    const NAME: &'static str = "expectation propagation";
    const ON_DATA: bool = true;
    const HAS_ROUTES: bool = true;
    const HAS_VARIANCES: bool = true;
    const TRIES_DAMPINGS: bool = true;

    /// Penalties among Gaussian factors: the means are the minimiser, which a splitting finds.
    fn certain_from_anywhere(&self, tree: &Tree) -> bool {
        has_minimiser(tree)
    }

    fn smooths(&self, tree: &Tree) -> bool {
        penalties(tree).next().is_some() && !has_minimiser(tree)
    }

    fn requires(&self, factor: &dyn Factor) -> Result<(), MissingRule> {
        factor
            .posterior()
            .map(|_| ())
            .ok_or(MissingRule("expectation propagation (posterior)"))
    }

    fn flat(&self, spec: &SignalSpec) -> Gaussian {
        Gaussian::flat(spec)
    }

    fn blank(&self, spec: &SignalSpec) -> Moments {
        Moments::zeros(spec)
    }

    fn constant(
        &self,
        spec: &SignalSpec,
        precision: f64,
        linear: &mut dyn FnMut() -> f64,
    ) -> Gaussian {
        let mut message = Gaussian::flat(spec);
        message.set_precision(precision);
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
        posterior(factor)?.message(context, target, out)
    }

    fn marginal(
        &self,
        variable: &Variable,
        incoming: Incoming<'_, Gaussian>,
        total: &mut Gaussian,
        out: &mut Moments,
    ) -> Result<(), FactorError> {
        add_up(incoming, total);
        check_pins(variable, incoming, total)?;
        if total.structure() != Structure::Isotropic {
            return total.moments_into(out).map_err(|error| match error {
                FactorError::Improper(what) => {
                    FactorError::Improper(format!("variable `{}`: {what}", variable.name))
                }
                other => other,
            });
        }
        let a = total.precision.scalar();
        if a == f64::INFINITY {
            std::mem::swap(&mut out.mean, &mut total.linear);
            out.variance.set_scalar(0.0);
            return Ok(());
        }
        if a <= 0.0 {
            return Err(FactorError::Improper(format!(
                "the belief on `{}` has precision {a:e}",
                variable.name
            )));
        }
        total.linear.iter_mut().for_each(|b| *b /= a);
        // in one array: `recycle` gives it back
        std::mem::swap(&mut out.mean, &mut total.linear);
        out.variance.set_scalar(1.0 / a);
        Ok(())
    }

    fn recycle(&self, spare: &mut Moments, total: &mut Gaussian) {
        if spare.variance.structure() != Structure::Isotropic {
            return;
        }
        if total.linear.len() < spare.mean.len() {
            std::mem::swap(&mut spare.mean, &mut total.linear);
        }
        spare.mean = Vec::new();
    }

    fn is_constant(&self, factor: &dyn Factor) -> bool {
        factor.posterior().is_some_and(PosteriorRule::is_constant)
    }

    fn skips_unread(&self, factor: &dyn Factor, port: usize) -> bool {
        let rule = factor.posterior();
        rule.is_some_and(|rule| rule.skips_unread(port))
    }

    fn certify(&self, probe: &mut Probe<'_, '_, Self>) -> Result<Verdict, RunError> {
        verdict::of_means(probe)
    }

    /// The log-partition of a penalty is that of a Laplace approximation, whose variances are not its derivatives. Among Gaussian
    /// factors a splitting finds its mean all the same.
    fn uncertain(&self, tree: &Tree) -> Option<RunError> {
        if has_minimiser(tree) {
            return None;
        }
        let penalty = |f: &dyn Factor| f.posterior().is_some_and(PosteriorRule::is_laplace);
        let mut factors = tree.factors().iter();
        let laplace = factors.find(|n| penalty(n.factor.as_ref()));
        let laplace = laplace.map(|n| RunError::NotDefined {
            what: "a double loop".to_owned(),
            why: format!(
                "factor `{}` is a penalty, which has no log-partition: its curvature is no variance",
                n.name
            ),
        });
        super::double_loop::refuses(tree).or(laplace)
    }

    fn fall_back(
        &self,
        tree: &Tree,
        messages: &mut [Gaussian],
        options: &Options,
        watch: &mut dyn Watch<Gaussian>,
    ) -> Result<FallbackReport, RunError> {
        if let Some(error) = self.uncertain(tree) {
            return Err(error);
        }
        if has_minimiser(tree) {
            return settle(tree, messages, options, watch);
        }
        super::double_loop::double_loop(tree, messages, options, watch)
    }

    fn factor_potential(
        &self,
        _node: usize,
        factor: &dyn Factor,
        context: &mut Context<'_, Gaussian>,
    ) -> Result<Potential, FactorError> {
        let rule = posterior(factor)?;
        Ok(Potential {
            value: rule.log_partition(context)?,
            excess: rule.excess(context)?,
        })
    }

    fn factor_potential_error(
        &self,
        factor: &dyn Factor,
        context: &mut Context<'_, Gaussian>,
    ) -> f64 {
        let rule = factor.posterior();
        rule.map_or(0.0, |rule| rule.log_partition_error(context))
    }

    /// $\ln\int dx \prod_k m_k(x)$. With one pin $\delta(x - m)$ it is the sum of the other messages'
    /// log-values at $m$; two pins make it infinite.
    fn variable_potential(
        &self,
        _: &Variable,
        incoming: Incoming<'_, Gaussian>,
        total: &mut Gaussian,
    ) -> Potential {
        let excess = product_excess(incoming.iter(), total);
        let own: f64 = incoming.iter().map(Gaussian::own_potential).sum();
        Potential {
            value: excess + own,
            excess,
        }
    }
}

/// A variable in the limit of infinite size is for theory only.
pub(super) fn sizes_known(tree: &Tree) -> Result<(), RunError> {
    match tree.variables().iter().find(|v| v.spec.ratio.is_some()) {
        None => Ok(()),
        Some(v) => Err(RunError::LimitOnly {
            variable: v.name.clone(),
        }),
    }
}

fn add_up(incoming: Incoming<'_, Gaussian>, total: &mut Gaussian) {
    total.set_flat();
    for message in incoming.iter() {
        total.add_assign(message);
    }
}

/// Two exact statements about a variable must agree to rounding.
fn check_pins(
    variable: &Variable,
    incoming: Incoming<'_, Gaussian>,
    total: &Gaussian,
) -> Result<(), FactorError> {
    // one statement in moment form cannot contradict itself
    let exact = incoming.iter().filter(|m| m.has_moments()).count();
    if total.block_count() > 0 && exact < 2 {
        return Ok(());
    }
    for message in incoming.iter() {
        if let Some(i) = total.contradicts(message) {
            return Err(FactorError::Contradiction(format!(
                "`{}` is pinned at {} and at {} (index {i})",
                variable.name, total.linear[i], message.linear[i]
            )));
        }
    }
    Ok(())
}
