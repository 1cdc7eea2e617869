//! The command line of treeamp.
//!
//! Exit codes: 0 done, 1 the run did not converge, 2 wrong options, 3 something could not be written.

mod commands;
mod exit;
mod number;

use std::io::Write as _;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use exit::Failure;

/// Inference in high-dimensional, tree-structured models.
#[derive(Debug, Parser)]
#[command(name = "treeamp", version, arg_required_else_help = true)]
#[command(
    after_help = "Start with:\n  treeamp demo           recover a sparse signal, and draw it\n  \
                        treeamp demo --help    what the demo can do"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(commands::demo::Demo),
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
        Err(error) => error.exit(),
    };
    let result = match cli.command {
        Command::Demo(demo) => demo.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => complain(&failure),
    }
}

/// The failure in one line, if it has something to say, and its exit code.
fn complain(failure: &Failure) -> ExitCode {
    if let Some(message) = failure.message() {
        // nobody is left to tell when this cannot be written either
        let _ = writeln!(std::io::stderr(), "error: {message}");
    }
    failure.code()
}
