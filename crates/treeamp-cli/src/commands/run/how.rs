//! The options of an iteration, as commands take them.

use clap::Args;
use treeamp::belief::Structure;
use treeamp::engine::{Damping, Fallback};
use treeamp_lab::experiment::RunOptions;
use treeamp_lab::spec::ModelFile;

use crate::number as parse;
use crate::output::warn;

/// Options that modes alone have.
pub const OF_MODES: &[&str] = &["gap"];
/// Options that means alone have.
pub const OF_MEANS: &[&str] = &["start-noise", "memory-limit", "belief"];

/// The options of an iteration.
#[derive(Debug, Args)]
pub struct How {
    /// Stop after this many sweeps
    #[arg(long, value_parser = parse::count, allow_negative_numbers = true)]
    max_sweeps: Option<usize>,
    /// Converged when the relative change of a sweep is below this
    #[arg(long, value_parser = parse::variance, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// With --map: stop at a point whose energy is within this fraction of the minimum
    ///
    /// It is the relative primal-dual gap. By default 1e-8, and components to 1e-6 of their scale; 1e-5 is faster for large images.
    #[arg(long, value_parser = parse::gap, allow_negative_numbers = true)]
    gap: Option<f64>,
    /// How much of the previous message is kept: adaptive (found as the run goes), none, or a number below 1
    ///
    /// Adaptive is the default: no damping while the residual falls, more when messages oscillate. A number keeps that
    /// much of every message; a run that does not settle with it, because it diverges or comes to its sweep limit,
    /// starts again as an adaptive one, unless the fallback is forbidden. None and 0 are exactly those sweeps.
    #[arg(long, value_name = "adaptive|none|NUMBER", value_parser = parse::damping)]
    #[arg(allow_negative_numbers = true)]
    damping: Option<Damping>,
    /// In place of a damping: the part of the new messages that each sweep takes, as 0.3,0.5,1; the last stays
    ///
    /// Numbers above 0, to 1. The run takes exactly those steps, without a fallback.
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = parse::step)]
    #[arg(conflicts_with = "damping", allow_negative_numbers = true)]
    steps: Option<Vec<f64>>,
    /// A slower, more certain method where sweeps do not converge: automatic, forced or forbidden
    ///
    /// For expectation propagation it is a double loop that minimises the Bethe free energy. Automatic is the
    /// default: when an adaptively damped run diverges or has not settled. Forced starts it after two sweeps.
    #[arg(long, value_name = "automatic|forced|forbidden", value_parser = parse::fallback, allow_negative_numbers = true)]
    fallback: Option<Fallback>,
    /// Random first messages of this standard deviation, for symmetric models
    #[arg(long, value_parser = parse::positive, allow_negative_numbers = true)]
    start_noise: Option<f64>,
    /// Also run from this many random starts, and keep the fixed point of the largest evidence
    #[arg(long, value_parser = parse::count, allow_negative_numbers = true)]
    restarts: Option<usize>,
    /// The precisions of every variable, whatever the file says: isotropic (one for all components), diagonal (one for each), full or block(n)
    ///
    /// One for each is what sparse differences of an image need, where one for all collapses. A run costs more with it: `treeamp check` on a
    /// file with `belief = "diagonal"` under [variables.x] estimates how much.
    #[arg(long, value_name = "STRUCTURE", value_parser = parse::belief, allow_negative_numbers = true)]
    belief: Option<Structure>,
    /// Memory limit of beliefs that are not isotropic, in bytes, as 4e9; by default 2 GiB
    #[arg(long, value_name = "BYTES", value_parser = parse::bytes, allow_negative_numbers = true)]
    memory_limit: Option<u64>,
    /// Exact messages through linear channels, also where the file has `route = "iid"` or "auto"
    #[arg(long)]
    exact: bool,
}

impl How {
    /// The options that were given, by their names.
    pub fn given(&self) -> Vec<(String, String)> {
        let given = self.options().to_json();
        let given = given.as_object().into_iter().flatten();
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        given.map(|(n, v)| (n.clone(), text(v))).collect()
    }

    /// Warns of given options that have no effect on a piece of work.
    pub fn warn_of_unused(&self, unused: &[&str], work: &str) {
        for (name, _) in self
            .given()
            .iter()
            .filter(|(n, _)| unused.contains(&n.as_str()))
        {
            warn(&format!("--{name} has no effect on {work}"));
        }
    }

    /// The file, with the beliefs that are asked for in place of its own.
    pub fn beliefs_of(&self, file: ModelFile) -> ModelFile {
        file.with_beliefs(self.belief)
    }

    /// As the laboratory takes them.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            max_sweeps: self.max_sweeps,
            tolerance: self.tolerance,
            gap: self.gap,
            damping: match &self.steps {
                Some(steps) => Some(Damping::Steps(steps.clone())),
                None => self.damping.clone(),
            },
            fallback: self.fallback,
            start_noise: self.start_noise,
            restarts: self.restarts,
            memory_limit: self.memory_limit,
            belief: self.belief,
            exact: self.exact,
        }
    }
}
