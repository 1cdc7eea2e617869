//! `treeamp plot`: pictures of tables, runs and phases.

mod convergence;
mod curve;
mod landscape;
mod phases;
mod run;
mod target;

use clap::{Args, Subcommand};

use crate::common::Common;
use crate::exit::Failure;

pub use target::{Target, check_ending};

/// Draw a table of a sweep, a run, or what theory says, as SVG or PNG.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  treeamp plot curve sweep.csv --x alpha --y mse_x --log --output curve.svg
  treeamp plot run models/sparse_regression.toml --output run.png
  treeamp plot signals models/sparse_gradient.toml --output signals.svg
  treeamp plot images models/star_field.toml --output images.png
  treeamp plot convergence models/sparse_regression.toml --seeds 5 --output sweeps.svg
  treeamp plot landscape models/perceptron.toml --set alpha=1.35 --output landscape.svg
  treeamp plot phases models/compressed_sensing.toml --x rho=0.05:0.95:64 --y alpha=0.02:0.98:64 -o phases.svg

Exit codes:
  0 done, 2 bad input, 3 something could not be read or written")]
pub struct Plot {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// An error against a parameter, from the table of a sweep: runs with error bars, theory as lines, the
    /// hard phase shaded
    #[command(after_help = "\
Examples:
  treeamp plot curve sweep.csv --x alpha --y mse_x --log --output curve.svg
  treeamp plot curve sweep.csv --by rho --output curves.png      one panel for every rho

Exit codes:
  0 done, 2 bad input, 3 something could not be read or written")]
    Curve(curve::CurveArgs),
    /// A signal, its inclusion probabilities and the convergence of one run
    #[command(after_help = "\
Examples:
  treeamp plot run models/sparse_regression.toml --output run.png
  treeamp plot run models/real_data.toml -o real.png     coefficients, with error bars and inclusion probabilities

Exit codes:
  0 done, 1 the run did not converge (its state is drawn), 2 bad input, 3 something could not be read or written")]
    Run(run::SignalArgs),
    /// A signal of one run: true, observed, recovered
    #[command(after_help = "\
Examples:
  treeamp plot signals models/sparse_gradient.toml --output signals.svg
  treeamp plot signals models/total_variation.toml --map -o mode.svg      the mode in place of the means

Exit codes:
  0 done, 1 the run did not converge (its state is drawn), 2 bad input, 3 something could not be read or written")]
    Signals(run::SignalArgs),
    /// An image of one run: true, observed, recovered
    #[command(after_help = "\
Examples:
  treeamp plot images models/star_field.toml --output images.png

Exit codes:
  0 done, 1 the run did not converge (its state is drawn), 2 bad input, 3 something could not be read or written")]
    Images(run::SignalArgs),
    /// The error of runs after every sweep, next to the predicted one
    #[command(after_help = "\
Examples:
  treeamp plot convergence models/sparse_regression.toml --seeds 5 --output sweeps.svg

Exit codes:
  0 done, 1 the run did not converge (its state is drawn), 2 bad input, 3 something could not be read or written")]
    Convergence(convergence::ConvergenceArgs),
    /// The free entropy against the error of a signal, with the fixed points; dashed in another state of the other signals, if there is one
    #[command(after_help = "\
Examples:
  treeamp plot landscape models/perceptron.toml --set alpha=1.35 --output landscape.svg

Exit codes:
  0 done, 2 bad input, 3 something could not be read or written")]
    Landscape(landscape::LandscapeArgs),
    /// Where a signal is impossible, hard or easy to recover, with boundaries from the threshold routines
    #[command(after_help = "\
Examples:
  treeamp plot phases models/compressed_sensing.toml --x rho=0.05:0.95:64 --y alpha=0.02:0.98:64 -o phases.svg

Exit codes:
  0 done, 2 bad input, 3 something could not be read or written")]
    Phases(phases::PhaseArgs),
}

impl Plot {
    /// Draws it.
    pub fn run(&self, common: &Common) -> Result<(), Failure> {
        match &self.what {
            What::Curve(args) => args.run(common),
            What::Run(args) => args.run(common),
            What::Signals(args) => args.signals(common),
            What::Images(args) => args.images(common),
            What::Convergence(args) => args.run(common),
            What::Landscape(args) => args.run(common),
            What::Phases(args) => args.run(common),
        }
    }
}
