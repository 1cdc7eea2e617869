//! The convergence suite: 33 models by 20 seeds with default options, next to no damping and to the best
//! constant damping found by search, as a table. Sweeps are medians over the runs that settle; a run that its
//! fallback took over counts with the sweeps before it, and the evaluations of the fallback (each about a sweep) are
//! the median over the runs that have one. Errors are averages over the seeds and up to a sign, next to those that state
//! evolution predicts on i.i.d. matrices.
//!
//! `cargo bench --bench convergence -- 5` takes five seeds, `-- perceptron` the models with that in their name, and `-- --default` leaves the other
//! dampings out, which do not change with steps that adapt or with fallbacks.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr
)]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/suite/mod.rs"]
mod suite;

use treeamp::prelude::*;

const DAMPINGS: [f64; 8] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];

/// Runs that ended at a fixed point, and the median of their sweeps.
struct Tally {
    settled: usize,
    sweeps: usize,
    handed_over: usize,
    /// The median of the evaluations of the fallbacks.
    evaluations: usize,
    /// The average error of `x` and its standard error.
    error: (f64, f64),
}

fn median(mut numbers: Vec<usize>) -> usize {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or(0)
}

fn average(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let square = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    (mean, (square / (n - 1.0).max(1.0) / n).sqrt())
}

fn tally(cases: &[suite::Case], damping: &Damping) -> Tally {
    let (mut sweeps, mut evaluations, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases {
        let engine = ExpectationPropagation.on(&case.posterior).unwrap();
        // a damping that is searched for is left alone
        let fallback = match damping {
            Damping::Adaptive => Fallback::Automatic,
            _ => Fallback::Forbidden,
        };
        let engine = engine.damping(damping.clone()).fallback(fallback);
        let report = engine.run(&mut ()).unwrap();
        evaluations.extend(report.fallback.as_ref().map(|f| f.evaluations));
        errors.push(case.error(&report));
        if case.settled(&report) {
            sweeps.push(report.sweeps);
        } else if *damping == Damping::default() {
            let why = report.fallback.as_ref().map(|f| f.end.to_string());
            eprintln!("not settled: {}, {why:?}", report.termination);
        }
    }
    Tally {
        settled: sweeps.len(),
        sweeps: median(sweeps),
        handed_over: evaluations.len(),
        evaluations: median(evaluations),
        error: average(&errors),
    }
}

fn main() {
    let seeds = std::env::args().find_map(|a| a.parse().ok()).unwrap_or(20);
    println!(
        "| model | default | sweeps | fallback | evaluations | none | sweeps | best constant | settled \
         | sweeps | error | predicted |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let (mut runs, mut totals) = (0, [0; 4]);
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-') && a.parse::<u64>().is_err())
        .collect();
    let named =
        |name: &&&str| wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()));
    for name in suite::MODELS.iter().filter(named) {
        // the largest takes as long as all others together
        let count = if name.contains("2000") {
            seeds.min(6)
        } else {
            seeds
        };
        let cases: Vec<suite::Case> = (0..count).map(|seed| suite::case(name, seed)).collect();
        let ours = tally(&cases, &Damping::default());
        if std::env::args().any(|a| a == "--default") {
            println!(
                "| {name} | {} of {count} | {} | {} | {} | {:.2e} ± {:.0e} |",
                ours.settled,
                ours.sweeps,
                ours.handed_over,
                ours.evaluations,
                ours.error.0,
                ours.error.1,
            );
            continue;
        }
        let none = tally(&cases, &Damping::None);
        let constants = DAMPINGS.map(|d| (d, tally(&cases, &Damping::Constant(d))));
        let better = |x: &&(f64, Tally), y: &&(f64, Tally)| {
            let rank = |t: &Tally| (t.settled, usize::MAX - t.sweeps);
            rank(&x.1).cmp(&rank(&y.1))
        };
        let (d, best) = constants.iter().max_by(better).unwrap();
        let predicted = if suite::PREDICTED.contains(name) {
            let each: Vec<f64> = cases.iter().map(suite::Case::predicted).collect();
            format!("{:.2e}", average(&each).0)
        } else {
            String::new()
        };
        println!(
            "| {name} | {} of {count} | {} | {} | {} | {} | {} | {d} | {} | {} | {:.2e} ± {:.0e} | {predicted} |",
            ours.settled,
            ours.sweeps,
            ours.handed_over,
            ours.evaluations,
            none.settled,
            none.sweeps,
            best.settled,
            best.sweeps,
            ours.error.0,
            ours.error.1,
        );
        runs += count;
        let row = [ours.settled, ours.handed_over, none.settled, best.settled];
        totals.iter_mut().zip(row).for_each(|(t, x)| *t += x);
    }
    println!(
        "| all, {runs} runs | {} | | {} | | {} | | | {} | | | |",
        totals[0], totals[1], totals[2], totals[3]
    );
}
