//! `treeamp predict`: what theory says about a model file.

use clap::Args;
use serde_json::json;
use treeamp::algorithms::state_evolution::mutual_information;
use treeamp::algorithms::state_evolution::phases::{PhaseReport, phase_report};
use treeamp_lab::experiment::{
    Branch, Forecast, has_rows, predict_watched, symmetric_point, theory,
};

use super::run::How;
use crate::common::Common;
use crate::exit::Failure;
use crate::model::ModelArgs;
use crate::output::print;
use crate::progress::ProgressLine;
use crate::text::{heading, number, pairs, short, table};

/// Predict the errors of a model file by state evolution, in the limit of large sizes.
///
/// Also the entropy of the measurements and the mutual information, and for one signal the fixed points that are
/// reached from an uninformed and from an informed start, the Bayes-optimal error, and whether the point is in the hard phase.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp predict models/sparse_regression.toml
  treeamp predict models/perceptron.toml --set alpha=1.3      in the hard phase
  treeamp predict models/sparse_regression.toml --json

Exit codes:
  0 done, 1 a fixed point was not reached, 2 bad input, 3 something could not be read")]
pub struct Predict {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    how: How,
    /// The variable whose phase is asked for; by default the first
    #[arg(long, value_name = "VARIABLE")]
    signal: Option<String>,
}

impl Predict {
    /// Predicts, and prints.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        let (file, setting) = self.model.read()?;
        let file = self.how.beliefs_of(file);
        let of_runs = ["gap", "start-noise", "restarts", "memory-limit", "exact"];
        self.how.warn_of_unused(&of_runs, "state evolution");
        let mut line = ProgressLine::new(common, "state evolution");
        let options = self.how.options();
        let forecast = predict_watched(&file, &setting, &options, &mut |s| line.theory(s));
        let forecast = forecast.map_err(|e| Failure::from(e).in_file(&file.name))?;
        let tree = theory(&file, &setting)?;
        let rows = has_rows(&tree);
        let mismatched = file.is_mismatched();
        let signal = match &self.signal {
            Some(name) => name.clone(),
            None => tree.variables()[0].name.clone(),
        };
        tree.variable(&signal)?;
        // a mismatched student has no phases
        line.say(&format!("fixed points of {signal}"));
        let away = symmetric_point(&file, &setting, &forecast, Some(&signal))?;
        let phase = (!mismatched && !rows).then(|| phase_report(&tree, &signal));
        let phase = phase.map(|p| p.map_err(|e| e.to_string()));
        line.say(&format!("information about {signal}"));
        let information = if mismatched {
            Err("a mismatched student has a cross-entropy only".to_owned())
        } else if rows {
            Err("not known for rows with a matrix each".to_owned())
        } else {
            mutual_information(&tree, &signal)
                .map(|i| i.value)
                .map_err(|e| e.to_string())
        };
        line.clear();
        if common.json {
            let answer = as_json(&forecast, &signal, &phase, &information, away);
            print(&format!("{answer:#}\n"))?;
        } else {
            let answer = as_text(&forecast, &signal, &phase, &information, away);
            print(&(heading(&file.title) + &answer))?;
        }
        if forecast.termination.is_converged() {
            Ok(())
        } else {
            Err(Failure::NotConverged)
        }
    }
}

type Reported = Option<Result<PhaseReport, String>>;

fn as_text(
    forecast: &Forecast,
    signal: &str,
    phase: &Reported,
    information: &Result<f64, String>,
    away: Option<f64>,
) -> String {
    let rows: Vec<Vec<String>> = forecast
        .variables
        .iter()
        .map(|v| {
            vec![
                v.variable.clone(),
                short(v.mse),
                short(v.variance),
                short(v.second_moment),
            ]
        })
        .collect();
    let said = |value: &Result<f64, String>| match value {
        Ok(x) => short(*x) + " nats per component",
        Err(reason) => reason.clone(),
    };
    let about = format!("information about {signal}");
    let of = format!("phase of {signal}");
    // the table may be at another fixed point than the one the data allow
    let at_table = if phase.is_some() || !forecast.branches.is_empty() {
        "entropy at these errors"
    } else {
        "cross-entropy at these errors"
    };
    let mut lines = vec![(at_table, said(&forecast.entropy))];
    if let (Some(Ok(report)), Ok(_)) = (phase, &forecast.entropy) {
        let entropy = match report.allowed().entropy {
            Some(x) => short(x) + " nats per component",
            None => "diverges: the data determine the signal".to_owned(),
        };
        lines.push(("entropy of the measurements", entropy));
    }
    lines.push((about.as_str(), said(information)));
    match phase {
        None => {}
        Some(Err(reason)) => lines.push((&of, format!("unknown: {reason}"))),
        Some(Ok(report)) => {
            lines.extend([
                (of.as_str(), format!("{:?}", report.phase).to_lowercase()),
                ("MSE: uninformed start", short(report.uninformed.mse)),
            ]);
            let between = report.between.iter().map(|p| short(p.mse));
            lines.extend(between.map(|mse| ("MSE: partly informed start", mse)));
            lines.extend([
                ("MSE: informed start", short(report.informed.mse)),
                ("MSE: Bayes-optimal", short(report.mmse)),
            ]);
        }
    }
    let branches: Vec<_> = forecast.branches.iter().map(branch_line).collect();
    lines.extend(
        branches
            .iter()
            .map(|(name, text)| (name.as_str(), text.clone())),
    );
    if let Some(mse) = away {
        let note = format!(
            "the table is at the symmetric point, where nothing is known of {signal}: the least knowledge leads from there to an MSE of {}. \
             A run stays there too, unless rounding or a push (--start-noise, --restarts) leads it away",
            short(mse)
        );
        lines.push(("note", note));
    }
    lines.extend(forecast.heuristics.iter().map(|h| ("heuristic", h.clone())));
    lines.push(("sweeps", forecast.sweeps.to_string()));
    lines.push(("ended", forecast.termination.to_string()));
    if let Some(before) = &forecast.restarted {
        let text = format!("with another damping, having ended with the given one: {before}");
        lines.push(("started again", text));
    }
    let header = ["variable", "MSE", "variance", "second moment"];
    table(&header, &rows) + "\n" + &pairs(&lines)
}

/// The error of a branch, with its free entropy.
fn branch_line(branch: &Branch) -> (String, String) {
    let free = branch.free_entropy.map_or_else(
        || "free entropy not defined".to_owned(),
        |x| format!("free entropy {}", short(x)),
    );
    let text = format!("{}, {free}", short(branch.mse));
    (format!("MSE: {}", branch.start), text)
}

fn as_json(
    forecast: &Forecast,
    signal: &str,
    phase: &Reported,
    information: &Result<f64, String>,
    away: Option<f64>,
) -> serde_json::Value {
    let variables = forecast.variables.iter().map(|v| {
        let entry = json!({
            "mse": number(v.mse),
            "variance": number(v.variance),
            "second_moment": number(v.second_moment),
        });
        (v.variable.clone(), entry)
    });
    let value = |x: &Result<f64, String>| x.as_ref().ok().map(|x| number(*x));
    let phase = match phase {
        None => json!(null),
        Some(Err(reason)) => json!({ "unknown": reason }),
        Some(Ok(report)) => json!({
            "signal": signal,
            "phase": format!("{:?}", report.phase).to_lowercase(),
            "uninformed_mse": number(report.uninformed.mse),
            "informed_mse": number(report.informed.mse),
            "between_mse": report.between.iter().map(|p| number(p.mse)).collect::<Vec<_>>(),
            "mmse": number(report.mmse),
            "entropy": report.allowed().entropy.map(number),
        }),
    };
    let branches = forecast.branches.iter().map(|b| {
        json!({
            "start": b.start,
            "mse": number(b.mse),
            "free_entropy": b.free_entropy.map(number),
        })
    });
    // what is null has a reason
    let reasons = [
        ("entropy", &forecast.entropy),
        ("mutual_information", information),
    ];
    let reasons = reasons.into_iter().filter_map(|(name, value)| {
        let reason = value.as_ref().err()?;
        Some((name.to_owned(), json!(reason)))
    });
    json!({
        "reasons": serde_json::Value::Object(reasons.collect()),
        "variables": serde_json::Value::Object(variables.collect()),
        "entropy": value(&forecast.entropy),
        "mutual_information": value(information),
        "symmetric_point": away.is_some(),
        "mse_away_from_it": away.map(number),
        "heuristics": forecast.heuristics,
        "phase": phase,
        "branches": branches.collect::<Vec<_>>(),
        "sweeps": forecast.sweeps,
        "converged": forecast.termination.is_converged(),
        "ended": forecast.termination.to_string(),
        "restarted": forecast.restarted.as_ref().map(ToString::to_string),
    })
}
