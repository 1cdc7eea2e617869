//! Learning curves of two models with several hidden parts, in theory and in runs: a committee whose units specialise, and sparse
//! principal components beside plain ones.
//!
//! ```sh
//! cargo run --release -p treeamp-lab --example hidden_factors -- hidden_factors.svg [N]
//! ```
//!
//! Left: two units of signs with one matrix, $y = \mathrm{sign}(\mathrm{sign}\,z_1 + \mathrm{sign}\,z_2)$. Up to $\alpha = 2.05$ both units learn the same average of the
//! teacher's; beyond it, the fixed point of equal units exists still, and runs leave it. Right: $Y = uv^T/\sqrt N$ and noise, with few entries of $v$ that are not
//! zero. Plain principal components have the error of a Gaussian prior. The matrix is of 8 N x 4 N entries.
#![allow(clippy::print_stderr)]

use std::error::Error;

use treeamp::algorithms::push;
use treeamp::engine::Initial;
use treeamp::extend::Factor;
use treeamp::metrics::{mse_up_to_permutation, mse_up_to_sign};
use treeamp::prelude::*;
use treeamp_lab::ensemble;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Instances at each place.
const SEEDS: u64 = 3;
/// The fraction of entries of $v$ that are not zero.
const RHO: f64 = 0.05;

/// Median and range.
fn summary(mut errors: Vec<f64>) -> (f64, (f64, f64)) {
    errors.sort_by(f64::total_cmp);
    let last = errors.len() - 1;
    (errors[errors.len() / 2], (errors[0], errors[last]))
}

/// Equal steps over a range.
fn steps(first: f64, last: f64, count: u32) -> impl Iterator<Item = f64> {
    (0..=count).map(move |k| first + (last - first) * f64::from(k) / f64::from(count))
}

fn committee(weights: Fragment, channel: impl Factor) -> Result<Tree> {
    let z = weights >> var("w").block(2) >> channel >> var("z").block(2);
    Ok((z >> SignCommittee::new(2)?.channel() >> var("y")).build()?)
}

/// The errors of weights with equal units, and with units that may specialise.
fn committee_theory(alpha: f64) -> Result<(f64, f64)> {
    let normal = source(GaussianPrior::new(0.0, 1.0)?.limit());
    let tree = committee(normal, LinearEnsemble::gaussian(alpha)?)?.expect("y")?;
    let theory = || Ok::<_, RunError>(RowEvolution::new(&tree)?.tolerance(1e-5));
    let alike = theory()?.initial(Initial::Flat).fixed_point()?;
    // some knowledge of every unit: a push takes long to grow
    let special = theory()?.starting_with(&["w"], 0.5)?.fixed_point()?;
    Ok((alike.mse("w")?, special.mse("w")?))
}

fn committee_run(n: usize, alpha: f64, seed: u64) -> Result<f64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let rows = (alpha * n as f64).round() as usize;
    let w = Linear::new(ensemble::gaussian(rows, n, seed)?)?;
    let normal = source(GaussianPrior::new(0.0, 1.0)?.shaped([n, 2]));
    let model = committee(normal, w)?;
    let truth = model.sample(seed)?;
    let tree = model.condition("y", truth.get("y")?)?;
    let engine = ExpectationPropagation.on(&tree)?.max_sweeps(3000);
    let report = engine.initial(push(&tree, 0.3, seed)?).run(&mut ())?;
    Ok(mse_up_to_permutation(
        report.mean("w")?,
        truth.get("w")?,
        2,
    )?)
}

fn committee_panel(n: usize) -> Result<Panel> {
    let (mut alike, mut special) = (Vec::new(), Vec::new());
    for alpha in steps(0.5, 6.0, 11) {
        eprintln!("committee, theory, alpha = {alpha:.2}");
        let (a, s) = committee_theory(alpha)?;
        alike.push((alpha, a));
        special.push((alpha, s));
    }
    let (mut runs, mut bars) = (Vec::new(), Vec::new());
    for (k, alpha) in (0..).zip(steps(0.5, 6.0, 11)) {
        eprintln!("committee, runs, alpha = {alpha:.2}");
        let seeds = SEEDS * k..SEEDS * (k + 1);
        let errors: Result<Vec<f64>> = seeds.map(|seed| committee_run(n, alpha, seed)).collect();
        let (median, range) = summary(errors?);
        runs.push((alpha, median));
        bars.push(range);
    }
    let title = "Committee of two units of signs";
    let x = Axis::linear("labels per input, α");
    let y = Axis::linear("mean squared error of the weights").range(0.0, 1.0);
    Ok(Panel::new(title, x, y)
        .series(
            Series::line("equal units, theory", alike)
                .ink(Ink::Orange)
                .dashed(),
        )
        .series(Series::line("units that may specialise, theory", special).ink(Ink::Blue))
        .series(
            Series::marks(format!("runs, N = {n}: median and range of {SEEDS}"), runs)
                .mark(Mark::Circle)
                .ink(Ink::Black)
                .size(6.5)
                .bars(bars),
        ))
}

fn spiked(u: Fragment, v: Fragment, noise: f64) -> Result<Tree> {
    let z = (u + v) >> LowRankFactorization::new(1)? >> var("z");
    Ok((z >> GaussianNoise::new(noise)? >> var("y")).build()?)
}

/// The error of $v$ with a prior, per unit of its second moment.
fn spiked_theory(v: Fragment, noise: f64, rows_per_column: f64) -> Result<f64> {
    let u = source(GaussianPrior::new(0.0, 1.0)?.limit_of(rows_per_column)) >> var("u");
    let tree = spiked(u, v >> var("v"), noise)?.expect("y")?;
    // at the threshold itself sweeps creep for ever
    let theory = StateEvolution::new(&tree)?.max_sweeps(20_000);
    Ok(theory.starting_with(&["u", "v"], 1e-3)?.run()?.mse("v")?)
}

/// The leading right singular vector, by iteration.
fn leading(y: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let mut v: Vec<f64> = (0..columns).map(|j| (j as f64 + 1.0).sin()).collect();
    for _ in 0..300 {
        let u: Vec<f64> = y
            .chunks_exact(columns)
            .map(|row| row.iter().zip(&v).map(|(y, v)| y * v).sum())
            .collect();
        v.fill(0.0);
        for (row, u) in y.chunks_exact(columns).zip(&u).take(rows) {
            v.iter_mut().zip(row).for_each(|(v, y)| *v += u * y);
        }
        let size = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        v.iter_mut().for_each(|v| *v /= size);
    }
    v
}

/// The errors of $v$ by a run and by the leading component with the best length, per unit of the truth's square.
fn spiked_run(columns: usize, noise: f64, seed: u64) -> Result<(f64, f64)> {
    let rows = 2 * columns;
    let u = source(GaussianPrior::new(0.0, 1.0)?.iid(rows)) >> var("u");
    let v = source(GaussBernoulli::new(RHO, 0.0, 1.0 / RHO)?.iid(columns)) >> var("v");
    let model = spiked(u, v, noise)?;
    let sample = model.sample(seed)?;
    let (y, truth) = (sample.get("y")?, sample.get("v")?);
    let tree = model.condition("y", y)?;
    let report = ExpectationPropagation
        .on(&tree)?
        .max_sweeps(1000)
        .run(&mut ())?;
    let square = truth.iter().map(|x| x * x).sum::<f64>();
    let error = mse_up_to_sign(report.mean("v")?, truth)? * columns as f64 / square;
    let component = leading(y, rows, columns);
    let along: f64 = component.iter().zip(truth).map(|(c, x)| c * x).sum();
    Ok((error, 1.0 - along * along / square))
}

fn spiked_panel(n: usize) -> Result<Panel> {
    // unit second moments and two rows a column: the spectrum sees v from noise of variance sqrt(2) downwards
    let threshold = 2.0_f64.sqrt();
    let (mut sparse, mut plain) = (Vec::new(), Vec::new());
    for ratio in steps(0.5, 4.0, 70) {
        let noise = threshold / ratio;
        let law = source(GaussBernoulli::new(RHO, 0.0, 1.0 / RHO)?.limit());
        sparse.push((ratio, spiked_theory(law, noise, 2.0)?));
        let gaussian = source(GaussianPrior::new(0.0, 1.0)?.limit());
        plain.push((ratio, spiked_theory(gaussian, noise, 2.0)?));
    }
    let (mut runs, mut bars) = (Vec::new(), Vec::new());
    let (mut components, mut spread) = (Vec::new(), Vec::new());
    for (k, ratio) in (0..).zip(steps(0.5, 4.0, 14)) {
        eprintln!("sparse component, runs, ratio {ratio:.2}");
        let seeds = SEEDS * k..SEEDS * (k + 1);
        let found: Result<Vec<_>> = seeds.map(|s| spiked_run(n, threshold / ratio, s)).collect();
        let (own, other): (Vec<f64>, Vec<f64>) = found?.into_iter().unzip();
        let (own, other) = (summary(own), summary(other));
        runs.push((ratio, own.0));
        bars.push(own.1);
        components.push((ratio, other.0));
        spread.push(other.1);
    }
    let title = format!("Sparse principal component, ρ = {RHO}");
    let x = Axis::linear("√2 / noise variance (1: the spectrum sees v)");
    let y = Axis::linear("squared error of v, relative").range(0.0, 1.1);
    Ok(Panel::new(title, x, y)
        .series(
            Series::line("principal component, theory", plain)
                .ink(Ink::Orange)
                .dashed(),
        )
        .series(
            Series::marks("principal component, measured", components)
                .mark(Mark::Square)
                .ink(Ink::Orange)
                .size(5.5)
                .bars(spread),
        )
        .series(Series::line("sparse prior, state evolution", sparse).ink(Ink::Blue))
        .series(
            Series::marks(
                format!("runs, {} x {n}: median and range of {SEEDS}", 2 * n),
                runs,
            )
            .mark(Mark::Circle)
            .ink(Ink::Black)
            .size(6.5)
            .bars(bars),
        ))
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: hidden_factors FILE.svg [N]")?;
    let n = match arguments.next() {
        None => 400,
        Some(text) => match text.parse::<usize>() {
            Ok(n) if n > 0 => n,
            _ => return Err(format!("N must be a positive integer, got `{text}`").into()),
        },
    };
    let title = "Hidden units and hidden factors: runs and their prediction";
    let figure = Figure::new(title).panel_size(500.0, 380.0);
    // errors of other threads as their text
    let text = |panel: Result<Panel>| panel.map_err(|e| e.to_string());
    let (left, right) = std::thread::scope(|scope| {
        // twenty entries that are not zero would tell too little
        let right = scope.spawn(|| text(spiked_panel(4 * n)));
        (text(committee_panel(n)), right.join())
    });
    let right = right.map_err(|_| "the panel of sparse components ended with a panic")?;
    let figure = figure.panel(left?).panel(right?);
    figure.save(&path)?;
    eprintln!("{path}");
    Ok(())
}
