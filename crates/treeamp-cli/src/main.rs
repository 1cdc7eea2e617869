//! The command line of treeamp.
//!
//! Exit codes: 0 done, 1 the run did not converge, 2 bad input, 3 something could not be read or
//! written.

mod commands;
mod common;
mod exit;
mod model;
mod number;
mod output;
mod pictures;
mod progress;
mod report;
mod text;

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use treeamp::with_threads;

use exit::Failure;

/// Inference in high-dimensional, tree-structured models.
#[derive(Debug, Parser)]
#[command(name = "treeamp", version, arg_required_else_help = true)]
#[command(
    after_help = "Start with:\n  treeamp demo                                  recover a sparse signal, and draw it\n  \
                  treeamp run models/sparse_regression.toml     the same from a model file\n  \
                  treeamp predict models/perceptron.toml        what theory says\n  \
                  treeamp run --help                            every command teaches by example"
)]
struct Cli {
    #[command(flatten)]
    common: common::Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(commands::demo::Demo),
    Run(commands::run::Run),
    Predict(commands::predict::Predict),
    Threshold(commands::threshold::Threshold),
    Sweep(commands::sweep::Sweep),
    Merge(commands::merge::Merge),
    Plot(commands::plot::Plot),
    Describe(commands::describe::Describe),
    Modules(commands::modules::Modules),
    Check(commands::check::Check),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // a bad value needs one line, not the usage
        Err(error) if error.kind() == ErrorKind::ValueValidation => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            return complain(&Failure::Usage(
                line.trim_start_matches("error: ").to_owned(),
            ));
        }
        Err(error) => return usage(&error),
    };
    let work = || match cli.command {
        Command::Demo(c) => c.run(&cli.common),
        Command::Run(c) => c.run(&cli.common),
        Command::Predict(c) => c.run(&cli.common),
        Command::Threshold(c) => c.run(&cli.common),
        Command::Sweep(c) => c.run(&cli.common),
        Command::Merge(c) => c.run(&cli.common),
        Command::Plot(c) => c.run(&cli.common),
        Command::Describe(c) => c.run(&cli.common),
        Command::Modules(c) => c.run(&cli.common),
        Command::Check(c) => c.run(&cli.common),
    };
    let result = match cli.common.threads {
        Some(threads) => with_threads(threads, work),
        None => work(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => complain(&failure),
    }
}

/// Help, or what is wrong with the options; without the tip to pass an unknown option as a value, which no command takes.
fn usage(error: &clap::Error) -> ExitCode {
    if error.kind() != ErrorKind::UnknownArgument {
        error.exit();
    }
    let text = error.render().to_string();
    let kept = text
        .split("\n\n")
        .filter(|p| !p.contains("as a value, use"));
    let kept: Vec<&str> = kept.collect();
    let _ = write!(std::io::stderr(), "{}", kept.join("\n\n"));
    ExitCode::from(2)
}

/// The failure in one line, if it has something to say, and its exit code.
fn complain(failure: &Failure) -> ExitCode {
    if let Some(message) = failure.message() {
        // no channel is left to report that this cannot be written either
        let _ = writeln!(std::io::stderr(), "error: {message}");
    }
    failure.code()
}
