//! Inference on an instance.

use serde_json::json;
use treeamp::RunError;
use treeamp::algorithms::Restarts;
use treeamp::belief::Structure;
use treeamp::engine::{
    Algorithm, Damping, Engine, EvidenceLimit, Fallback, Initial, Observer, Options,
};
use treeamp::extend::PosteriorRule;
use treeamp::model::Sample;
use treeamp::prelude::{ExpectationPropagation, Posterior};

use super::{ExperimentError, Instance, Metric, Observed, instance, outline};
use crate::spec::{ModelFile, Setting};

/// How a run is to be done; what is not given comes from the file, or is the library's default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunOptions {
    /// At most this many sweeps.
    pub max_sweeps: Option<usize>,
    /// Converged below this residual.
    pub tolerance: Option<f64>,
    /// The relative primal-dual gap of a minimiser.
    pub gap: Option<f64>,
    /// How much of the previous message is kept.
    pub damping: Option<Damping>,
    /// Whether the fallback may take over from sweeps that do not settle.
    pub fallback: Option<Fallback>,
    /// Standard deviation of the linear parts of the first messages, for symmetric models.
    pub start_noise: Option<f64>,
    /// Also from this many seeded pushes; the fixed point of the largest evidence is kept.
    pub restarts: Option<usize>,
    /// The most bytes that beliefs which are not isotropic may take.
    pub memory_limit: Option<u64>,
    /// The structure of beliefs at every variable, in place of what the file says.
    pub belief: Option<Structure>,
    /// Linear channels have exact messages, whatever route they were given.
    pub exact: bool,
}

impl RunOptions {
    /// With the options of the file where none are given.
    #[must_use]
    pub fn or_of(&self, file: &ModelFile) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates"
        )]
        let count = |x: f64| x as usize;
        Self {
            max_sweeps: self.max_sweeps.or(file.run_option("max_sweeps").map(count)),
            tolerance: self.tolerance.or(file.run_option("tolerance")),
            gap: self.gap.or(file.run_option("gap")),
            damping: self.damping.clone().or(file.damping.clone()),
            fallback: self.fallback.or(file.fallback),
            start_noise: self.start_noise.or(file.run_option("start_noise")),
            restarts: self.restarts,
            memory_limit: self
                .memory_limit
                .or(file.run_option("memory_limit").map(|x| count(x) as u64)),
            belief: self.belief,
            exact: self.exact,
        }
    }

    /// Refuses beliefs that take more memory than is allowed, before anything is drawn.
    ///
    /// # Errors
    /// [`RunError::Memory`]; what else is wrong is said of the instance itself.
    pub fn check_memory(&self, file: &ModelFile, setting: &Setting) -> Result<(), ExperimentError> {
        let isotropic = |s: Structure| s == Structure::Isotropic;
        if self.belief.map_or(file.has_isotropic_beliefs(), isotropic) {
            return Ok(());
        }
        let Ok(outline) = outline(file, setting).and_then(|o| self.with_beliefs(o)) else {
            return Ok(());
        };
        let planning = self.or_of(file).planning();
        match ExpectationPropagation.check(&outline.posterior, &planning) {
            Err(error @ RunError::Memory { .. }) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// An instance of a seed, unless its beliefs take more memory than is allowed.
    ///
    /// # Errors
    /// As [`instance`] and [`check_memory`](Self::check_memory).
    pub fn instance(
        &self,
        file: &ModelFile,
        setting: &Setting,
        seed: u64,
    ) -> Result<Instance, ExperimentError> {
        self.check_memory(file, setting)?;
        instance(file, setting, seed)
    }

    /// An instance with the beliefs that are asked for.
    ///
    /// # Errors
    /// Blocks that do not divide the rows of a variable.
    pub fn with_beliefs(&self, mut instance: Instance) -> Result<Instance, ExperimentError> {
        if let Some(structure) = self.belief {
            instance.posterior = instance.posterior.with_beliefs(structure)?;
        }
        Ok(instance)
    }

    /// The options that are given, by the names they have on the command line.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let (damping, steps) = match &self.damping {
            None => (None, None),
            Some(Damping::Adaptive) => (Some(json!("adaptive")), None),
            Some(Damping::None) => (Some(json!("none")), None),
            Some(Damping::Constant(x)) => (Some(json!(x)), None),
            Some(Damping::Steps(steps)) => (None, Some(json!(steps))),
            Some(Damping::PerEdge(edges)) => (Some(json!(edges)), None),
        };
        let fallback = self.fallback.map(|f| match f {
            Fallback::Automatic => "automatic",
            Fallback::Forced => "forced",
            Fallback::Forbidden => "forbidden",
        });
        let all = [
            ("max-sweeps", self.max_sweeps.map(|n| json!(n))),
            ("tolerance", self.tolerance.map(|x| json!(x))),
            ("gap", self.gap.map(|x| json!(x))),
            ("damping", damping),
            ("steps", steps),
            ("fallback", fallback.map(|f| json!(f))),
            ("start-noise", self.start_noise.map(|x| json!(x))),
            ("restarts", self.restarts.map(|n| json!(n))),
            ("memory-limit", self.memory_limit.map(|n| json!(n))),
            ("belief", self.belief.map(|s| json!(s.to_string()))),
            ("exact", self.exact.then_some(json!(true))),
        ];
        let given = all
            .into_iter()
            .filter_map(|(name, x)| Some((name.to_owned(), x?)));
        serde_json::Value::Object(given.collect())
    }

    /// The options that a planner must know: a memory limit may lie above the default.
    #[must_use]
    pub fn planning(&self) -> Options {
        let mut options = Options::default();
        options.memory_limit = self.memory_limit.unwrap_or(options.memory_limit);
        options
    }

    /// An engine with these options, but for its start.
    pub(super) fn apply<'t, A: Algorithm>(&self, mut engine: Engine<'t, A>) -> Engine<'t, A> {
        if let Some(n) = self.max_sweeps {
            engine = engine.max_sweeps(n);
        }
        if let Some(tolerance) = self.tolerance {
            engine = engine.tolerance(tolerance);
        }
        if let Some(gap) = self.gap {
            engine = engine.gap(gap);
        }
        if let Some(bytes) = self.memory_limit {
            engine = engine.memory_limit(bytes);
        }
        if let Some(damping) = &self.damping {
            engine = engine.damping(damping.clone());
        }
        if let Some(fallback) = self.fallback {
            engine = engine.fallback(fallback);
        }
        engine.exact(self.exact)
    }
}

/// What came out of a run.
#[derive(Debug)]
pub struct Inference {
    /// What the observations were drawn from; `None` for data.
    pub truth: Option<Sample>,
    /// The model given its observations.
    pub posterior: treeamp::model::Tree,
    /// What was observed.
    pub observed: Vec<Observed>,
    /// The report; with restarts that of the best fixed point.
    pub report: Posterior,
    /// What every start led to, the best first; empty without restarts.
    pub ends: Vec<End>,
    /// The first factor that is a penalty or a loss, which is not a probability distribution.
    energy: Option<String>,
}

/// Where some starts led to.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// The starts.
    pub starts: Vec<String>,
    /// The log-evidence, if there is one.
    pub log_evidence: Option<f64>,
    /// How the run ended.
    pub ended: String,
}

impl Inference {
    /// The log-evidence of the whole model.
    ///
    /// # Errors
    /// Why there is none: a factor that is not a probability distribution, a density without bound, a run that did not
    /// converge.
    pub fn log_evidence(&self) -> Result<f64, String> {
        if let Some(factor) = &self.energy {
            return Err(format!(
                "not defined: factor `{factor}` is not a probability distribution"
            ));
        }
        match self.report.log_evidence() {
            Ok(x) if x.is_finite() => Ok(x),
            // a noiseless output whose signal is known exactly
            Ok(x) => Err(format!("it diverges ({x}): a density without bound")),
            Err(_) if self.diverges() => Err(
                "none: the data determine the signal exactly, and the density of outputs without noise is without bound there"
                    .to_owned(),
            ),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The evidence grows with every sweep of an exact recovery.
    fn diverges(&self) -> bool {
        let limit = &self.report.evidence_limit;
        matches!(limit, Some(EvidenceLimit::Diverging { .. }))
    }

    /// The probabilities that components of a variable are not zero, where its prior has a point mass there.
    ///
    /// # Errors
    /// An unknown variable.
    pub fn inclusion(&self, variable: &str) -> Result<Option<Vec<f64>>, ExperimentError> {
        let found = self.report.inclusion(&self.posterior, variable);
        found.map_err(ExperimentError::from)
    }

    /// The error of a variable, where the truth is known and the measure has a meaning.
    ///
    /// # Errors
    /// An unknown variable.
    pub fn error(&self, variable: &str, metric: Metric) -> Result<Option<f64>, ExperimentError> {
        let mean = self.report.mean(variable)?;
        let tree = &self.posterior;
        let spec = &tree.variables()[tree.variable(variable)?].spec;
        if !metric.applies_to(spec) {
            return Ok(None);
        }
        let truth = self
            .truth
            .as_ref()
            .map(|sample| sample.get(variable))
            .transpose()?;
        let error = truth.map(|truth| metric.of_signal(spec, mean, truth));
        Ok(error.transpose()?)
    }
}

/// Expectation propagation on the instance of a seed.
///
/// # Errors
/// A file that is wrong, data that do not fit, an option out of range, a contradiction.
pub fn infer(
    file: &ModelFile,
    setting: &Setting,
    seed: u64,
    options: &RunOptions,
    observer: &mut impl Observer<ExpectationPropagation>,
) -> Result<Inference, ExperimentError> {
    infer_on(
        file,
        options.instance(file, setting, seed)?,
        seed,
        options,
        observer,
    )
}

/// Expectation propagation on an instance; `seed` is that of a noisy start.
///
/// # Errors
/// An option out of range, a contradiction.
pub fn infer_on(
    file: &ModelFile,
    instance: Instance,
    seed: u64,
    options: &RunOptions,
    observer: &mut impl Observer<ExpectationPropagation>,
) -> Result<Inference, ExperimentError> {
    let options = options.or_of(file);
    let Instance {
        truth,
        posterior,
        observed,
        ..
    } = options.with_beliefs(instance)?;
    let planned = ExpectationPropagation.on_with(&posterior, options.planning())?;
    let mut engine = options.apply(planned);
    if let Some(std) = options.start_noise {
        engine = engine.initial(Initial::Noisy {
            precision: 0.0,
            mean: 0.0,
            std,
            seed,
        });
    }
    let (report, mut ends) = match options.restarts {
        None => (engine.run(observer)?, Vec::new()),
        Some(n) => {
            let seeds = (0..n as u64).map(|k| seed.wrapping_add(k));
            let starts = Restarts::new(&posterior).options(engine.chosen_options().clone());
            several(&starts.plain().pushes(seeds))?
        }
    };
    let mut factors = posterior.factors().iter();
    let energy = factors.find(|f| f.factor.posterior().is_some_and(PosteriorRule::is_laplace));
    let energy = energy.map(|f| f.name.clone());
    if energy.is_some() {
        ends.iter_mut().for_each(|e| e.log_evidence = None);
    }
    Ok(Inference {
        truth,
        posterior,
        observed,
        report,
        ends,
        energy,
    })
}

/// The best of several starts, and where each of them led to.
fn several(restarts: &Restarts<'_>) -> Result<(Posterior, Vec<End>), ExperimentError> {
    let found = restarts.run()?;
    let end = |starts: Vec<String>, posterior: &Posterior| End {
        starts,
        log_evidence: posterior.log_evidence().ok(),
        ended: posterior.termination.to_string(),
    };
    let settled = found.fixed_points.iter().map(|point| {
        let starts = point.starts.iter().map(ToString::to_string);
        end(starts.collect(), &point.posterior)
    });
    let others = found.unsettled.iter();
    let others = others.map(|(start, run)| end(vec![start.to_string()], run));
    let ends = settled.chain(others).collect();
    Ok((found.best()?.clone(), ends))
}
