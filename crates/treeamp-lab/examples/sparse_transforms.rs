//! Denoising of signals that are sparse after a transform: two waves, sparse in Fourier space, and a
//! piecewise constant signal, sparse in its gradient (the sparse DFT and sparse gradient figure of the
//! Tree-AMP paper, with its sizes and noise). The law of the signal itself is broad: what is known of it
//! is that its transform is sparse. Observation, truth and reconstruction, and the transform of the last two.
//!
//! `cargo run --release -p treeamp-lab --example sparse_transforms` draws `sparse_dft.svg` and
//! `sparse_gradient.svg`.
#![allow(clippy::print_stdout)]

use rand::{RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::extend::Factor;
use treeamp::operator::{Boundary, FiniteDifference, LinearOperator, OrthogonalDft, applied};
use treeamp::prelude::*;
use treeamp_lab::figure::{Axis, Figure, Mark, Panel, Series};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let n = 100;
    let waves: Vec<f64> = (1..=n)
        .map(|i| 2.0 * std::f64::consts::PI * (2.0 * f64::from(i) / f64::from(n) - 1.0))
        .map(|t| t.cos() + (2.0 * t).sin())
        .collect();
    let signal = SignalSpec::real([waves.len()]);
    // each wave has a cosine and a sine coordinate, whose squares add up to N/2: four of the hundred are
    // not zero, and two of them are large
    let sparse = GaussBernoulli::new(0.02, 0.0, 50.0)?.iid(waves.len());
    let run = Run::new(&waves, 0.1, 1);
    run.draw(
        RealDft,
        sparse,
        &OrthogonalDft::new(&signal)?,
        0.1,
        "Sparse Fourier transform",
    )?;

    let steps = piecewise_constant(400, 0.04, 7);
    let signal = SignalSpec::real([steps.len()]);
    let sparse = GaussBernoulli::new(0.04, 0.0, 1.0)?.shaped([1, steps.len()]);
    let run = Run::new(&steps, 0.01, 2);
    let difference = FiniteDifference::new(&signal, Boundary::Periodic)?;
    run.draw(
        Gradient::periodic(),
        sparse,
        &difference,
        0.5,
        "Sparse gradient",
    )
}

/// A new level, with a normal law, at a fraction `rho` of the places. The gradient is periodic: one more
/// difference leads from the last level back to the first.
fn piecewise_constant(n: usize, rho: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut level = 0.0;
    (0..n)
        .map(|_| {
            if rng.random::<f64>() < rho {
                level = StandardNormal.sample(&mut rng);
            }
            level
        })
        .collect()
}

/// A signal, and what is seen of it.
struct Run {
    truth: Vec<f64>,
    seen: Vec<f64>,
    noise: f64,
}

impl Run {
    fn new(truth: &[f64], noise: f64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut draw = |x: &f64| -> f64 {
            let xi: f64 = StandardNormal.sample(&mut rng);
            x + noise.sqrt() * xi
        };
        Self {
            seen: truth.iter().map(&mut draw).collect(),
            truth: truth.to_vec(),
            noise,
        }
    }

    fn draw(
        &self,
        transform: impl Factor,
        sparse: impl Factor,
        operator: &dyn LinearOperator,
        damping: f64,
        title: &str,
    ) -> Outcome<()> {
        let likelihood = GaussianLikelihood::new(self.noise)?.observed(self.seen.clone())?;
        let name = transform.name().to_owned();
        let model = (source(GaussianPrior::new(0.0, 100.0)?.iid(self.truth.len()))
            >> var("x")
            >> (branch(likelihood) + (branch(transform) + sparse >> var("z"))))
        .build()?;
        let engine = ExpectationPropagation.on(&model)?.damping(damping);
        let report = engine.max_sweeps(1000).run(&mut ())?;
        let error = mean_square(self.truth.iter().zip(report.mean("x")?));
        let before = mean_square(self.truth.iter().zip(&self.seen));
        println!(
            "{title}: {} after {} sweeps",
            report.termination, report.sweeps
        );
        println!("  mean squared error {error:.2e}, of the observation {before:.2e}");
        let line = |name: &str, x: &[f64]| Series::line(name, points(x));
        // the same range for all three
        let all = self.truth.iter().chain(&self.seen);
        let (low, high) = all.fold((0.0_f64, 0.0_f64), |(l, h), x| (l.min(*x), h.max(*x)));
        let signals = |title: &str| {
            let axis = Axis::linear("x").range(low - 0.1, high + 0.1);
            Panel::new(title, Axis::linear("n"), axis)
        };
        let dots = |name: &str, x: &[f64]| Series::marks(name, points(x)).mark(Mark::Dot).size(3.0);
        let transformed = applied(operator, &self.truth);
        let after = Panel::new("transform", Axis::linear("k"), Axis::linear("z"))
            .series(Series::marks("truth", points(&transformed)).mark(Mark::Circle))
            .series(dots("reconstruction", report.mean("z")?));
        let found = signals("reconstruction").series(line("mean", report.mean("x")?));
        Figure::new(title)
            .panel(signals("observation").series(dots("y", &self.seen)))
            .panel(signals("truth").series(line("x", &self.truth)))
            .panel(found)
            .panel(after)
            .panel_size(340.0, 280.0)
            .save(format!("sparse_{}.svg", name.trim_start_matches("real_")))?;
        Ok(())
    }
}

fn points(x: &[f64]) -> Vec<(f64, f64)> {
    x.iter().enumerate().map(|(i, x)| (i as f64, *x)).collect()
}

fn mean_square<'a>(pairs: impl ExactSizeIterator<Item = (&'a f64, &'a f64)>) -> f64 {
    let n = pairs.len() as f64;
    pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>() / n
}
