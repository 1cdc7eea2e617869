//! `treeamp threshold`: where a family of models changes its phase.

use std::cell::RefCell;

use clap::{Args, ValueEnum};
use serde_json::json;
use treeamp::RunError;
use treeamp::algorithms::state_evolution::heuristics;
use treeamp::algorithms::state_evolution::phases::{
    FixedPoints, Phase, Search, algorithmic_threshold, information_threshold, informed_threshold,
    phase_report, weak_recovery,
};
use treeamp::engine::Marginal as _;
use treeamp::prelude::{StateEvolution, Tree};
use treeamp_lab::experiment::{ExperimentError, bayes_optimal_theory};

use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::number as parse;
use crate::output::print;
use crate::progress::ProgressLine;
use crate::text::{number, short};

/// The transitions of a family.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Kind {
    /// The uninformed run starts to recover the signal
    Algorithmic,
    /// The data start to determine the signal
    Information,
    /// The solution becomes a fixed point
    Informed,
    /// Weak recovery: the uninformed run starts to correlate with the signal
    Weak,
    /// All of them
    All,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Algorithmic => "algorithmic",
            Self::Information => "information",
            Self::Informed => "informed",
            Self::Weak => "weak",
            Self::All => "all",
        }
    }
}

/// Find the critical value of a parameter: algorithmic, information-theoretic, informed, weak recovery.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp threshold models/compressed_sensing.toml --of alpha --between 0.05:0.95
  treeamp threshold models/perceptron.toml --of alpha --between 0.5:2 --kind information
  treeamp threshold models/phase_retrieval.toml --of alpha --between 0.2:2 --kind all

Exit codes:
  0 done, 1 there is no such transition there, 2 bad input, 3 something could not be read")]
pub struct Threshold {
    #[command(flatten)]
    model: ModelArgs,
    /// The parameter that varies
    #[arg(long, value_name = "NAME", default_value = "alpha")]
    of: String,
    /// Its range
    #[arg(long, value_name = "LOW:HIGH", value_parser = range, allow_hyphen_values = true)]
    between: (f64, f64),
    /// Which transition
    #[arg(long, value_enum, default_value = "algorithmic")]
    kind: Kind,
    /// The variable to be recovered; by default the first
    #[arg(long, value_name = "VARIABLE")]
    signal: Option<String>,
    /// Accuracy of the answer
    #[arg(long, default_value = "1e-4", value_parser = parse::positive, allow_negative_numbers = true)]
    tolerance: f64,
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let numbers = text.split_once(':').and_then(|(low, high)| {
        let (low, high): (f64, f64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        (low > 0.0 && low < high).then_some((low, high))
    });
    numbers.ok_or_else(|| "expected low:high, both positive and low below high".to_owned())
}

impl Threshold {
    /// Searches, and prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        self.model.warn_of_set(&file, &[&self.of], "--between");
        let progress = RefCell::new((ProgressLine::new(common, "setting up"), 0));
        let at = |value: f64| {
            let setting = setting.clone().with(&self.of, value);
            bayes_optimal_theory(&file, &setting, "a threshold")
        };
        let first = at(self.between.1)?;
        let signal = self
            .signal
            .clone()
            .unwrap_or_else(|| first.variables()[0].name.clone());
        first.variable(&signal)?;
        let family = |value: f64| {
            self.show(&mut progress.borrow_mut());
            at(value).map_err(|error| match error {
                ExperimentError::Run(e) => e,
                ExperimentError::Model(e) => RunError::Model(e),
                other => RunError::NotDefined {
                    what: "the model".to_owned(),
                    why: other.to_string(),
                },
            })
        };
        let search = Search::between(self.between.0, self.between.1).tolerance(self.tolerance);
        let find = |kind: Kind| match kind {
            Kind::Algorithmic | Kind::All => algorithmic_threshold(&family, &signal, search),
            Kind::Information => information_threshold(&family, &signal, search),
            Kind::Informed => informed_threshold(&family, &signal, search),
            Kind::Weak => weak_recovery(&family, &signal, search),
        };
        let kinds = match self.kind {
            Kind::All => vec![
                Kind::Weak,
                Kind::Informed,
                Kind::Information,
                Kind::Algorithmic,
            ],
            one => vec![one],
        };
        let missed = |error: RunError| {
            let gradual = self.gradual(&error, &signal, &|value| at(value).ok());
            gradual.unwrap_or_else(|| error.to_string())
        };
        let found = kinds
            .into_iter()
            .map(|kind| (kind, find(kind).map_err(missed)));
        let found: Vec<(Kind, Result<f64, String>)> = found.collect();
        drop(progress);
        if common.json {
            let entries = found.iter().map(|(kind, value)| {
                let entry = match value {
                    Ok(x) => json!({ "value": number(*x) }),
                    Err(reason) => json!({ "value": null, "reason": reason }),
                };
                (kind.name().to_owned(), entry)
            });
            let report = json!({
                "parameter": self.of,
                "signal": signal,
                "tolerance": self.tolerance,
                "heuristics": heuristics(&first),
                "thresholds": serde_json::Value::Object(entries.collect()),
            });
            print(&format!("{report:#}\n"))?;
        } else {
            for (kind, value) in &found {
                let value = value
                    .as_ref()
                    .map_or_else(Clone::clone, |x| self.rounded(*x));
                print(&format!("  {:<13}{value}\n", kind.name()))?;
            }
            for reason in heuristics(&first) {
                print(&format!("  {:<13}{reason}\n", "heuristic"))?;
            }
        }
        if found.iter().any(|(_, value)| value.is_ok()) {
            return Ok(());
        }
        Err(Failure::NotConverged)
    }

    /// What to say where both starts lead to one fixed point at both ends of the range, and neither recovers the signal exactly: with noise, recovery
    /// is gradual, and has no place where it begins.
    fn gradual(
        &self,
        error: &RunError,
        signal: &str,
        at: &dyn Fn(f64) -> Option<Tree>,
    ) -> Option<String> {
        let RunError::NoTransition { holds: true, .. } = error else {
            return None;
        };
        let (low, high) = self.between;
        let end = |value: f64| -> Option<f64> {
            let tree = at(value)?;
            let report = phase_report(&tree, signal).ok()?;
            let prior = StateEvolution::new(&tree).ok()?.max_sweeps(1).run().ok()?;
            let scale = prior.report.marginal(signal).ok()?.second_moment();
            let exact = report.mmse <= FixedPoints::default().recovered * scale;
            (report.phase == Phase::Easy && !exact).then_some(report.mmse)
        };
        let (first, last) = (short(end(low)?), short(end(high)?));
        Some(format!(
            "no such transition between {low} and {high}: the error of `{signal}` changes continuously, from {first} to {last}"
        ))
    }

    /// The models looked at so far, of about as many as bisections to the tolerance take.
    fn show(&self, (line, done): &mut (ProgressLine, usize)) {
        let (low, high) = self.between;
        let halvings = ((high - low) / self.tolerance).log2().max(1.0);
        let searches = if self.kind == Kind::All { 4.0 } else { 1.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive count"
        )]
        let total = (searches * (halvings + 2.0)).ceil() as usize;
        line.show(
            *done,
            total.max(*done + 1),
            &format!("values of {}", self.of),
        );
        *done += 1;
    }

    /// As many digits as the tolerance is worth, and one more.
    fn rounded(&self, x: f64) -> String {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped"
        )]
        let digits = (1.0 - self.tolerance.log10()).clamp(0.0, 17.0) as usize;
        format!("{x:.digits$}")
    }
}
