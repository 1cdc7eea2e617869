//! The error of a recovered signal against the number of observations, in theory and in runs:
//! compressed sensing, and sparse phase retrieval.
//!
//! ```sh
//! cargo run --release -p treeamp-lab --example error_curves -- out.svg [N]
//! ```
//!
//! Each panel has what expectation propagation makes of instances of size `N`, what state evolution
//! predicts of it, and the least error that the data allow. In the hard phase, between the
//! information-theoretic and the algorithmic threshold, the last two differ.
#![allow(clippy::print_stderr)]

use std::cell::Cell;
use std::error::Error;
use std::time::{Duration, Instant};

use treeamp::algorithms::state_evolution::phases::{
    Search, algorithmic_threshold, information_threshold, informed_threshold, phase_report,
};
use treeamp::prelude::*;
use treeamp_lab::ensemble;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};

/// Exact recovery is drawn here.
const FLOOR: f64 = 1e-12;
/// Without noise a smaller error is exact recovery: what is left is the precision at which iterations end.
const EXACT: f64 = 1e-7;
/// The errors shown.
const SHOWN: (f64, f64) = (3e-13, 2.0);
/// Instances at each ratio.
const SEEDS: u64 = 7;
/// Accuracy of the thresholds.
const TOLERANCE: f64 = 1e-3;
/// Distances from a threshold at which the lines are drawn below and above it: the better fixed point
/// is found from a little above.
const SIDES: (f64, f64) = (-2e-3, 5e-3);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A problem: what is common to its theory and its runs.
#[derive(Debug, Clone, Copy)]
struct Problem {
    title: &'static str,
    rho: f64,
    mean: f64,
    output: Output,
    damping: f64,
    /// The field that the theory starts from.
    start: f64,
    /// The ratios shown.
    range: (f64, f64),
    /// A ratio inside the hard phase.
    hard: f64,
}

#[derive(Debug, Clone, Copy)]
enum Output {
    Noise(f64),
    Abs,
}

const PROBLEMS: [Problem; 2] = [
    Problem {
        title: "Compressed sensing: y = W x + noise of variance 1e-10, ρ = 0.5",
        rho: 0.5,
        mean: 0.0,
        output: Output::Noise(1e-10),
        damping: 0.0,
        start: 0.0,
        range: (0.3, 1.0),
        hard: 0.6,
    },
    Problem {
        title: "Phase retrieval: y = |W x|, ρ = 0.6 (exact recovery at 1e-12)",
        rho: 0.6,
        mean: 0.01,
        output: Output::Abs,
        damping: 0.3,
        start: 0.1,
        range: (0.3, 1.2),
        hard: 0.75,
    },
];

impl Problem {
    fn prior(&self) -> std::result::Result<GaussBernoulli, ModelError> {
        GaussBernoulli::new(self.rho, self.mean, 1.0)
    }

    fn tree(&self, signal: Fragment) -> std::result::Result<Tree, ModelError> {
        let measured = match self.output {
            Output::Noise(variance) => signal >> GaussianNoise::new(variance)? >> var("y"),
            Output::Abs => signal >> PiecewiseLinear::abs() >> var("y"),
        };
        measured.build()
    }

    /// The model in the limit of large sizes.
    fn limit(&self, alpha: f64) -> std::result::Result<Tree, RunError> {
        let signal = source(self.prior()?.limit()) >> var("x");
        let signal = signal >> LinearEnsemble::gaussian(alpha)? >> var("z");
        Ok(self.tree(signal)?.expect("y")?)
    }

    /// The error that expectation propagation makes on one instance.
    fn run(&self, n: usize, alpha: f64, seed: u64) -> Result<f64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rows = (alpha * n as f64).round().max(1.0) as usize;
        let w = Linear::new(ensemble::gaussian(rows, n, seed)?)?;
        let model = self.tree(source(self.prior()?.iid(n)) >> var("x") >> w >> var("z"))?;
        let sample = model.sample(seed)?;
        let observed = model.condition("y", sample.get("y")?)?;
        let engine = ExpectationPropagation.on(&observed)?.damping(self.damping);
        let report = engine.max_sweeps(500).run(&mut ())?;
        let (found, truth) = (report.mean("x")?, sample.get("x")?);
        let error = |sign: f64| {
            let squares = found.iter().zip(truth).map(|(r, x)| (sign * r - x).powi(2));
            squares.sum::<f64>() / n as f64
        };
        Ok(match self.output {
            Output::Noise(_) => error(1.0),
            // the modulus does not see a global sign
            Output::Abs => error(1.0).min(error(-1.0)),
        })
    }

    /// An error as it is drawn.
    fn drawn(&self, error: f64) -> f64 {
        match self.output {
            Output::Abs if error < EXACT => FLOOR,
            _ => error.max(FLOOR),
        }
    }

    /// The error that state evolution predicts.
    fn predicted(&self, alpha: f64) -> Result<f64> {
        let tree = self.limit(alpha)?;
        // slow near a threshold; a fixed point that is not reached is an error
        let theory = StateEvolution::new(&tree)?.max_sweeps(20_000);
        let theory = theory.starting_from(&[("x", self.start)])?;
        Ok(theory.fixed_point()?.mse("x")?)
    }

    /// Where the hard phase begins and ends.
    fn hard_phase(&self, progress: &Progress) -> Result<(f64, f64)> {
        let family = |alpha: f64| {
            progress.at("thresholds", alpha);
            self.limit(alpha)
        };
        let between = |low, high| Search::between(low, high).tolerance(TOLERANCE);
        let (first, last) = self.range;
        let algorithmic = algorithmic_threshold(&family, "x", between(self.hard, last))?;
        // below the informed threshold there is one fixed point, and nothing to compare
        let from = match self.output {
            Output::Noise(_) => {
                informed_threshold(&family, "x", between(first, self.hard))? + TOLERANCE
            }
            Output::Abs => first,
        };
        let information = information_threshold(&family, "x", between(from, self.hard));
        Ok((information?, algorithmic))
    }
}

/// Ratios `step` apart over a range.
fn grid((first, last): (f64, f64), step: f64) -> impl Iterator<Item = f64> {
    let ratios = (0..).map(move |k| first + step * f64::from(k));
    ratios.take_while(move |alpha| *alpha < last + 1e-9)
}

/// Says what is going on, at most every second.
struct Progress {
    start: Instant,
    said: Cell<Instant>,
}

impl Progress {
    fn new() -> Self {
        let start = Instant::now();
        let said = Cell::new(start);
        Self { start, said }
    }

    fn at(&self, what: &str, alpha: f64) {
        if self.said.get().elapsed() > Duration::from_secs(1) {
            let seconds = self.start.elapsed().as_secs_f64();
            eprintln!("{seconds:5.1} s  {what}, α = {alpha:.2}");
            self.said.set(Instant::now());
        }
    }
}

fn panel(problem: &Problem, n: usize, progress: &Progress) -> Result<Panel> {
    eprintln!("{}", problem.title);
    let (information, algorithmic) = problem.hard_phase(progress)?;
    eprintln!("         hard from {information:.3} to {algorithmic:.3}");

    let (mut theory, mut optimal) = (Vec::new(), Vec::new());
    // both sides of the jumps, so that the lines are steep there
    let mut ratios: Vec<f64> = grid(problem.range, 0.025).collect();
    for threshold in [information, algorithmic] {
        ratios.extend([threshold + SIDES.0, threshold + SIDES.1]);
    }
    ratios.sort_by(f64::total_cmp);
    for alpha in ratios {
        progress.at("theory", alpha);
        theory.push((alpha, problem.drawn(problem.predicted(alpha)?)));
        optimal.push((
            alpha,
            problem.drawn(phase_report(&problem.limit(alpha)?, "x")?.mmse),
        ));
    }

    let (mut runs, mut bars) = (Vec::new(), Vec::new());
    for (k, alpha) in (0..).zip(grid(problem.range, 0.05)) {
        let mut errors = Vec::new();
        for seed in SEEDS * k..SEEDS * (k + 1) {
            progress.at("runs", alpha);
            errors.push(problem.drawn(problem.run(n, alpha, seed)?));
        }
        errors.sort_by(f64::total_cmp);
        runs.push((alpha, errors[errors.len() / 2]));
        bars.push((errors[0], errors[errors.len() - 1]));
    }

    let x = Axis::linear("observations per component, α");
    let y = Axis::log("mean squared error of x").range(SHOWN.0, SHOWN.1);
    Ok(Panel::new(problem.title, x, y)
        .series(
            Series::line("least error the data allow", optimal)
                .ink(Ink::Orange)
                .dashed(),
        )
        .series(Series::line("predicted by state evolution", theory).ink(Ink::Blue))
        .series(
            Series::marks(format!("runs, N = {n}: median and range of {SEEDS}"), runs)
                .mark(Mark::Circle)
                .ink(Ink::Black)
                .size(6.5)
                .bars(bars),
        )
        .band("hard phase", information, algorithmic))
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: error_curves FILE.svg [N]")?;
    let n = match arguments.next() {
        None => 400,
        Some(text) => match text.parse::<usize>() {
            Ok(n) if n > 0 => n,
            _ => return Err(format!("N must be a positive integer, got `{text}`").into()),
        },
    };
    let progress = Progress::new();
    let title = "Recovery of a sparse signal: runs, their prediction, and what is possible";
    let mut figure = Figure::new(title).panel_size(500.0, 380.0);
    for problem in &PROBLEMS {
        figure = figure.panel(panel(problem, n, &progress)?);
    }
    figure.save(&path)?;
    let seconds = progress.start.elapsed().as_secs_f64();
    eprintln!("{seconds:5.1} s  {path}");
    Ok(())
}
