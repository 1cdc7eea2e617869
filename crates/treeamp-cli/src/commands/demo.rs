//! `treeamp demo`: sparse linear regression, $y = W x + \text{noise}$, sampled and solved.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use treeamp::algorithms::state_evolution::BayesOptimal;
use treeamp::metrics::mse;
use treeamp::prelude::*;
use treeamp_lab::ensemble;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};

use super::plot::check_ending;
use crate::common::Common;
use crate::exit::Failure;
use crate::number;
use crate::text::number as json_number;

/// More entries than this do not make a demo: 800 MB of matrix.
const LARGEST_MATRIX: usize = 100_000_000;
/// The picture shows this many components at most.
const SHOWN: usize = 1000;

/// Recover a sparse signal from noisy linear observations, and draw it.
///
/// Draws a signal x of N components, of which a fraction RHO are standard Gaussian and the others
/// zero, and ALPHA * N observations y = W x + noise, with W Gaussian of variance 1/N. Expectation
/// propagation then recovers x from y and W.
#[derive(Debug, Args)]
#[command(args_override_self = true)]
#[command(after_help = "\
Examples:
  treeamp demo                            the defaults: a second of work, and demo.svg
  treeamp demo --seed 1                   another instance
  treeamp demo --alpha 0.15               fewer observations: a harder problem
  treeamp demo --noise 0                  exact observations: exact recovery
  treeamp demo --rho 0.2 --damping 0.3    a denser signal, and smaller steps
  treeamp demo --output /tmp/run.svg      the picture elsewhere

Exit codes:
  0 done, 1 the run did not converge, 2 wrong options, 3 the picture could not be written")]
pub struct Demo {
    /// Components of the signal
    #[arg(long, default_value = "1000", value_parser = number::count, allow_negative_numbers = true)]
    n: usize,
    /// Observations per component
    #[arg(long, default_value = "0.5", value_parser = number::positive, allow_negative_numbers = true)]
    alpha: f64,
    /// Fraction of the components that are not zero
    #[arg(long, default_value = "0.05", value_parser = number::fraction, allow_negative_numbers = true)]
    rho: f64,
    /// Variance of the noise
    #[arg(long, default_value = "0.01", value_parser = number::variance, allow_negative_numbers = true)]
    noise: f64,
    /// Seed of the signal, the matrix and the noise: any integer. The default is a typical one: of the seeds 0 to 99, its error is nearest to
    /// their median
    #[arg(long, default_value = "78", value_parser = number::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Give up after this many sweeps
    #[arg(long, default_value = "200", value_parser = number::count, allow_negative_numbers = true)]
    max_sweeps: usize,
    /// How much of the previous message is kept: adaptive (found as the run goes), none, or a number below 1
    #[arg(long, default_value = "adaptive", value_name = "adaptive|none|NUMBER")]
    #[arg(value_parser = number::damping, allow_negative_numbers = true)]
    damping: Damping,
    /// Where the picture goes (.svg or .png); a file that exists is replaced
    #[arg(long, short, default_value = "demo.svg", value_name = "FILE")]
    output: PathBuf,
    /// Draw nothing
    #[arg(long)]
    no_picture: bool,
}

/// The errors after a sweep.
#[derive(Debug, Clone, Copy)]
struct Errors {
    sweep: usize,
    /// The mean squared error that was made.
    made: f64,
    /// The variance that was claimed.
    claimed: f64,
}

/// A run and what is known about it.
struct Outcome {
    truth: Vec<f64>,
    observations: usize,
    report: Posterior,
    trace: Vec<Errors>,
    /// The error that state evolution predicts after each sweep, or why it does not.
    predicted: Result<Vec<f64>, RunError>,
    set_up: Duration,
    sweeps: Duration,
}

impl Demo {
    /// Runs it, prints the table and draws the picture.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        if !self.no_picture {
            check_ending(&self.output)?;
        }
        let outcome = self.infer()?;
        let drawn = if self.no_picture {
            Ok("none".to_owned())
        } else {
            let saved = self.picture(&outcome)?.save(&self.output);
            saved
                .map(|()| self.output.display().to_string())
                .map_err(|error| Failure::writing(&self.output, &error))
        };
        let picture = drawn.as_deref().unwrap_or("not written");
        let table = if common.json {
            format!("{:#}\n", self.as_json(&outcome, picture)?)
        } else {
            self.table(&outcome, picture)?
        };
        write!(std::io::stdout(), "{table}")?;
        drawn?;
        if outcome.report.termination.is_converged() {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }

    /// Number of observations, at least one.
    fn observations(&self) -> Result<usize, Failure> {
        let wanted = (self.alpha * self.n as f64).round().max(1.0);
        if wanted * self.n as f64 > LARGEST_MATRIX as f64 {
            return Err(Failure::Usage(format!(
                "a matrix of {wanted:e} x {} is too large: the demo takes at most {LARGEST_MATRIX} entries",
                self.n
            )));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked"
        )]
        Ok(wanted as usize)
    }

    fn infer(&self) -> Result<Outcome, Failure> {
        let observations = self.observations()?;
        let w = ensemble::gaussian(observations, self.n, self.seed)?;
        let model = (source(GaussBernoulli::new(self.rho, 0.0, 1.0)?.iid(self.n))
            >> var("x")
            >> Linear::new(w)?
            >> var("z")
            >> GaussianNoise::new(self.noise)?
            >> var("y"))
        .build()?;
        let sample = model.sample(self.seed)?;
        let truth = sample.get("x")?.to_vec();
        let observed = model.condition("y", sample.get("y")?)?;

        let clock = Instant::now();
        let engine = ExpectationPropagation
            .on(&observed)?
            .max_sweeps(self.max_sweeps)
            .damping(self.damping.clone())
            // sweep by sweep next to the theory, which does not jump ahead
            .acceleration(false);
        let set_up = clock.elapsed();

        let mut trace = vec![Errors {
            sweep: 0,
            made: mean_square(&truth),
            claimed: self.rho,
        }];
        let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
            // a run that starts again begins at the prior
            if view.sweep == 1 {
                trace.truncate(1);
            }
            if let Some(x) = view.marginal("x") {
                trace.push(Errors {
                    sweep: view.sweep,
                    made: mse(&x.mean, &truth).unwrap_or(f64::NAN),
                    claimed: x.average_variance(),
                });
            }
            ControlFlow::Continue(())
        };
        let clock = Instant::now();
        let report = engine.run(&mut watch)?;
        let sweeps = clock.elapsed();
        let predicted = self.predict(observations, report.sweeps);
        Ok(Outcome {
            truth,
            observations,
            report,
            trace,
            predicted,
            set_up,
            sweeps,
        })
    }

    /// State evolution of the same model in the limit of large sizes, from the prior on.
    fn predict(&self, observations: usize, sweeps: usize) -> Result<Vec<f64>, RunError> {
        let alpha = observations as f64 / self.n as f64;
        let model = source(GaussBernoulli::new(self.rho, 0.0, 1.0)?.limit())
            >> var("x")
            >> LinearEnsemble::gaussian(alpha)?
            >> var("z")
            >> GaussianNoise::new(self.noise)?
            >> var("y");
        let tree = model.build()?.expect("y")?;
        let mut errors = vec![self.rho];
        let mut watch = |view: &SweepView<'_, BayesOptimal>| {
            errors.extend(view.marginal("x").map(|p| p.0.mse()));
            ControlFlow::Continue(())
        };
        StateEvolution::new(&tree)?
            .tolerance(0.0)
            .damping(self.damping.clone())
            .max_sweeps(sweeps)
            .observed_by(&mut watch)?;
        Ok(errors)
    }

    fn table(&self, outcome: &Outcome, picture: &str) -> Result<String, Failure> {
        let Outcome { truth, report, .. } = outcome;
        let not_zero = truth.iter().filter(|x| **x != 0.0).count();
        let evidence = match report.log_evidence() {
            Ok(value) => format!("{value:.3}"),
            Err(error) => error.to_string(),
        };
        let made = mse(report.mean("x")?, truth)?;
        let predicted = match &outcome.predicted {
            Ok(errors) => scientific(errors.last().copied().unwrap_or(self.rho)),
            Err(error) => error.to_string(),
        };
        let rows = [
            (
                "signal",
                format!("{}, {not_zero} of them not zero", components(self.n)),
            ),
            (
                "observations",
                format!("{}, noise variance {}", outcome.observations, self.noise),
            ),
            ("sweeps", report.sweeps.to_string()),
            ("time of set-up", milliseconds(outcome.set_up)),
            ("time of sweeps", milliseconds(outcome.sweeps)),
            ("posterior variance", scientific(report.variance("x")?)),
            ("MSE", scientific(made)),
            ("MSE predicted", predicted),
            ("MSE of the prior", scientific(mean_square(truth))),
            ("log-evidence", evidence),
            ("ended", report.termination.to_string()),
            ("picture", picture.to_owned()),
        ];
        let title = "Sparse linear regression by expectation propagation\n\n";
        let lines = rows.map(|(name, value)| format!("  {name:<20}{value}\n"));
        Ok(title.to_owned() + &lines.concat())
    }

    fn as_json(&self, outcome: &Outcome, picture: &str) -> Result<serde_json::Value, Failure> {
        let Outcome { truth, report, .. } = outcome;
        let predicted = outcome.predicted.as_ref().ok();
        Ok(json!({
            "n": self.n,
            "observations": outcome.observations,
            "seed": self.seed,
            "sweeps": report.sweeps,
            "converged": report.termination.is_converged(),
            "ended": report.termination.to_string(),
            "variance": json_number(report.variance("x")?),
            "mse": json_number(mse(report.mean("x")?, truth)?),
            "predicted": predicted.and_then(|p| p.last()).copied().map(json_number),
            "log_evidence": report.log_evidence().ok().map(json_number),
            "seconds": (outcome.set_up + outcome.sweeps).as_secs_f64(),
            "picture": picture,
        }))
    }

    fn picture(&self, outcome: &Outcome) -> Result<Figure, Failure> {
        let shown = SHOWN.min(self.n);
        let place = |x: &[f64]| -> Vec<(f64, f64)> {
            let points = x.iter().take(shown).enumerate();
            points.map(|(i, x)| (i as f64, *x)).collect()
        };
        let mut truth = place(&outcome.truth);
        truth.retain(|(_, x)| *x != 0.0);
        let recovered = place(outcome.report.mean("x")?);
        let title = if shown < self.n {
            format!("Signal, the first {shown} components")
        } else {
            "Signal".to_owned()
        };
        let signal = Panel::new(
            title,
            Axis::linear("component").integer(),
            Axis::linear("value"),
        )
        .series(
            Series::stems("true, where not zero", truth)
                .ink(Ink::Orange)
                .size(8.0),
        )
        .series(
            Series::marks("recovered", recovered)
                .ink(Ink::Blue)
                .size(3.0),
        );
        let errors =
            |f: fn(&Errors) -> f64| outcome.trace.iter().map(move |e| (e.sweep as f64, f(e)));
        let error = Panel::new(
            "Error, from the prior (sweep 0) on",
            Axis::linear("sweep").integer(),
            Axis::log("per component"),
        )
        .series(
            Series::line("mean squared error", errors(|e| e.made))
                .ink(Ink::Orange)
                .mark(Mark::Circle)
                .size(7.0),
        )
        .series(
            Series::line("posterior variance", errors(|e| e.claimed))
                .ink(Ink::Blue)
                .dashed()
                .mark(Mark::Dot)
                .size(5.0),
        );
        let theory = outcome.predicted.iter().flatten().enumerate();
        let theory = theory.map(|(sweep, error)| (sweep as f64, *error));
        let error = error.series(
            Series::line("MSE predicted", theory)
                .ink(Ink::Grey)
                .size(1.5),
        );
        let title = format!(
            "Sparse linear regression: N = {}, M = {}, ρ = {}, noise variance {}, seed {}",
            self.n, outcome.observations, self.rho, self.noise, self.seed
        );
        Ok(Figure::new(title).panel(signal).panel(error))
    }
}

fn mean_square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64
}

fn components(n: usize) -> String {
    format!("{n} component{}", if n == 1 { "" } else { "s" })
}

fn scientific(x: f64) -> String {
    if x == 0.0 {
        "0".to_owned()
    } else {
        format!("{x:.3e}")
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", 1e3 * time.as_secs_f64())
}
