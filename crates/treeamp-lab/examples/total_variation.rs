//! Total variation: the image of least $\frac{1}{2\Delta}\|y - Ax\|^2 + \lambda\sum_n\|(\nabla x)_n\|$, by maximum a posteriori
//! estimation, for a noisy and for a blurred image; beside it the posterior mean under a law of sparse gradients.
//!
//! `cargo run --release -p treeamp-lab --example total_variation` draws `total_variation_noise` and
//! `total_variation_blur`, each as `.svg` and `.png`.
#![allow(clippy::print_stdout)]

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::operator::{CircularConvolution, Filter, applied};
use treeamp::prelude::*;
use treeamp_lab::figure::{Figure, Panel, Raster};

const SIDE: usize = 64;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What is done to the image, and what the two estimators assume.
struct Case {
    name: &'static str,
    title: &'static str,
    /// Width of the blur in pixels.
    sigma: f64,
    /// Standard deviation of the noise.
    noise: f64,
    /// Strength of the penalty, in units of the noise.
    strength: f64,
    /// Of the sparse gradient: the width of small differences, the fraction of large ones, damping.
    gradient: [f64; 3],
}

const CASES: [Case; 2] = [
    Case {
        name: "noise",
        title: "Denoising",
        sigma: 0.0,
        noise: 0.1,
        strength: 0.9,
        gradient: [0.03, 0.3, 0.5],
    },
    Case {
        name: "blur",
        title: "Deblurring",
        sigma: 1.5,
        noise: 0.02,
        strength: 0.08,
        gradient: [0.03, 0.3, 0.8],
    },
];

fn main() -> Outcome<()> {
    let truth = scene();
    for case in CASES {
        let mut figure = Figure::new(case.title).panel_size(270.0, 295.0);
        let seen = observe(&case, &truth)?;
        let least = total_variation(&case, &seen)?;
        let mean = posterior_mean(&case, &seen)?;
        for (name, x) in [
            (case.name, &seen),
            ("total variation", &least),
            ("sparse gradient, mean", &mean),
        ] {
            let title = format!("{name}: {:.1} dB", psnr(&truth, x));
            println!("{title}");
            figure = figure.panel(Panel::picture(title, Raster::grey(SIDE, x, (-0.5, 0.5))));
        }
        let picture = Raster::grey(SIDE, &truth, (-0.5, 0.5));
        figure = figure.panel(Panel::picture("truth", picture));
        let file = format!("total_variation_{}", case.name);
        figure.save(format!("{file}.svg"))?;
        std::fs::write(format!("{file}.png"), figure.to_png(2.0)?)?;
    }
    Ok(())
}

/// Plateaus: a table, a cup, a book, a moon in a window; grey values between 0 and 1, centred at 0.
fn scene() -> Vec<f64> {
    let pixel = |i: usize| {
        let unit = |k: usize| (k as f64 + 0.5) / SIDE as f64;
        let (y, x) = (unit(i / SIDE), unit(i % SIDE));
        let within = |low: f64, value: f64, high: f64| (low..high).contains(&value);
        let mut grey = 0.62;
        if within(0.08, x, 0.52) && within(0.08, y, 0.55) {
            grey = 0.18;
            if (x - 0.36).hypot(y - 0.26) < 0.1 && (x - 0.32).hypot(y - 0.23) > 0.09 {
                grey = 0.95;
            }
            if within(0.29, x, 0.31) || within(0.31, y, 0.33) {
                grey = 0.8;
            }
        }
        if y > 0.72 {
            grey = 0.4;
        }
        if within(0.6, x, 0.82) && within(0.5, y, 0.8) {
            grey = 0.9;
        }
        let handle = (x - 0.83).hypot(y - 0.63);
        if within(0.05, handle, 0.09) && x > 0.82 {
            grey = 0.9;
        }
        if within(0.1, x, 0.5) && within(0.74, y + 0.25 * x, 0.94) {
            grey = if within(0.8, y + 0.25 * x, 0.83) {
                0.95
            } else {
                0.08
            };
        }
        grey - 0.5
    };
    (0..SIDE * SIDE).map(pixel).collect()
}

fn blur(case: &Case) -> Outcome<CircularConvolution> {
    let filter = Filter::GaussianBlur(vec![case.sigma]);
    Ok(CircularConvolution::new(
        &SignalSpec::real([SIDE, SIDE]),
        &filter,
    )?)
}

fn observe(case: &Case, truth: &[f64]) -> Outcome<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut seen = applied(&blur(case)?, truth);
    for y in &mut seen {
        let xi: f64 = StandardNormal.sample(&mut rng);
        *y += case.noise * xi;
    }
    Ok(seen)
}

/// The minimiser.
fn total_variation(case: &Case, seen: &[f64]) -> Outcome<Vec<f64>> {
    let noise = case.noise * case.noise;
    let like = GaussianLikelihood::new(noise)?.observed(seen)?;
    let penalty = L21::new(case.strength / case.noise)?.at_end();
    let model = (source(Quadratic::free().shaped([SIDE, SIDE]))
        >> var("x")
        >> ((branch(Linear::of(blur(case)?)) >> var("a") >> like)
            + (branch(Gradient::periodic()) >> var("z") >> penalty)))
        .build()?;
    let engine = MaximumAPosteriori.on(&model)?.tolerance(1e-5);
    let report = engine.run(&mut ())?;
    let solution = report.solution(&model)?;
    println!(
        "{}: {} after {} sweeps, energy {:.3}",
        case.name,
        report.termination,
        report.sweeps,
        solution.energy()
    );
    Ok(solution.point("x")?.to_vec())
}

/// The posterior mean when differences between neighbours are mostly small and sometimes large.
fn posterior_mean(case: &Case, seen: &[f64]) -> Outcome<Vec<f64>> {
    let [narrow, rho, damping] = case.gradient;
    let like = GaussianLikelihood::new(case.noise * case.noise)?.observed(seen)?;
    let widths = [narrow * narrow, 0.03];
    let differences = GaussianMixture::new(&[1.0 - rho, rho], &[0.0, 0.0], &widths)?;
    let model = (source(GaussianPrior::new(0.0, 0.1)?.shaped([SIDE, SIDE]))
        >> var("x")
        >> ((branch(Linear::of(blur(case)?)) >> var("a") >> like)
            + (branch(Gradient::periodic()) + differences.shaped([2, SIDE, SIDE]) >> var("z"))))
    .build()?;
    let engine = ExpectationPropagation.on(&model)?.damping(damping);
    let report = engine.tolerance(1e-4).max_sweeps(1000).run(&mut ())?;
    println!("  posterior mean: {}", report.termination);
    Ok(report.mean("x")?.to_vec())
}

/// $-10\log_{10}$ of the mean squared error, for values in a range of one.
fn psnr(truth: &[f64], x: &[f64]) -> f64 {
    let square: f64 = truth.iter().zip(x).map(|(t, x)| (t - x).powi(2)).sum();
    -10.0 * (square / truth.len() as f64).log10()
}
