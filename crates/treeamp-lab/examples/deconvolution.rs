//! Deblurring and denoising of an image: a scene of sky, hills, a house and a sun, which this program
//! paints, is blurred and made noisy. The model: pixels with a Gaussian law, differences between
//! neighbours mostly small and sometimes large.
//!
//! `cargo run --release -p treeamp-lab --example deconvolution` draws `deconvolution.svg` and
//! `denoising.svg`.
#![allow(clippy::print_stdout)]

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::operator::{CircularConvolution, Filter, applied};
use treeamp::prelude::*;
use treeamp_lab::figure::{Figure, Panel, Raster};

const SIDE: usize = 128;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    restore(
        "Deconvolution",
        1.5,
        0.02_f64.powi(2),
        [0.02, 0.2, 0.8],
        "deconvolution.svg",
    )?;
    restore(
        "Denoising",
        0.0,
        0.1_f64.powi(2),
        [0.03, 0.3, 0.5],
        "denoising.svg",
    )
}

/// Grey values between 0 and 1, centred at 0.
fn scene() -> Vec<f64> {
    let pixel = |i: usize| {
        let (y, x) = (
            (i / SIDE) as f64 / SIDE as f64,
            (i % SIDE) as f64 / SIDE as f64,
        );
        let hill = 0.62 + 0.08 * (7.0 * x).sin() + 0.04 * (17.0 * x + 1.0).sin();
        let mut grey = 0.85 - 0.35 * y;
        if (x - 0.78).hypot(y - 0.2) < 0.1 {
            grey = 1.0;
        }
        if y > hill {
            grey = 0.45 - 0.3 * (y - hill);
        }
        let (wall, roof) = ((0.18..0.46).contains(&x), (0.5..0.85).contains(&y));
        if wall && roof {
            grey = 0.7;
            let window = ((x - 0.18) * 25.0) % 3.5 > 2.0 && ((y - 0.5) * 22.0) % 3.6 > 2.0;
            if window {
                grey = 0.15;
            }
        }
        if (0.36..0.5).contains(&y) && (x - 0.32).abs() < 1.2 * (y - 0.36) {
            grey = 0.25;
        }
        if (x - 0.66).hypot(0.8 * (y - 0.68)) < 0.09 + 0.012 * (60.0 * x).sin() {
            grey = 0.22 + 0.06 * (40.0 * y).sin();
        }
        grey - 0.5
    };
    (0..SIDE * SIDE).map(pixel).collect()
}

/// `narrow`, `rho`: the width of small differences, the fraction of large ones.
fn restore(
    title: &str,
    sigma: f64,
    noise: f64,
    [narrow, rho, damping]: [f64; 3],
    file: &str,
) -> Outcome {
    let shape = [SIDE, SIDE];
    let truth = scene();
    let filter = Filter::GaussianBlur(vec![sigma]);
    let blur = CircularConvolution::new(&SignalSpec::real(shape), &filter)?;
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut seen = applied(&blur, &truth);
    for y in &mut seen {
        let xi: f64 = StandardNormal.sample(&mut rng);
        *y += noise.sqrt() * xi;
    }
    let widths = [narrow * narrow, 0.03];
    let differences = GaussianMixture::new(&[1.0 - rho, rho], &[0.0, 0.0], &widths)?;
    let model = (source(GaussianPrior::new(0.0, 0.1)?.shaped(shape))
        >> var("x")
        >> ((branch(Linear::of(blur))
            >> var("z")
            >> GaussianLikelihood::new(noise)?.observed(seen.clone())?)
            + (branch(Gradient::periodic()) + differences.shaped([2, SIDE, SIDE]) >> var("g"))))
    .build()?;
    let engine = ExpectationPropagation
        .on(&model)?
        .damping(damping)
        .tolerance(1e-4);
    let report = engine.max_sweeps(500).run(&mut ())?;
    let restored = report.mean("x")?;
    println!(
        "{title}: {} after {} sweeps",
        report.termination, report.sweeps
    );
    println!(
        "  peak signal to noise {:.1} dB, of the observation {:.1} dB",
        psnr(&truth, restored),
        psnr(&truth, &seen)
    );
    let picture = |name: &str, x: &[f64]| Panel::picture(name, Raster::grey(SIDE, x, (-0.5, 0.5)));
    Figure::new(title)
        .panel(picture("observation", &seen))
        .panel(picture("reconstruction", restored))
        .panel(picture("truth", &truth))
        .panel_size(320.0, 345.0)
        .save(file)?;
    Ok(())
}

/// $-10\log_{10}$ of the mean squared error, for values in a range of one.
fn psnr(truth: &[f64], x: &[f64]) -> f64 {
    let square: f64 = truth.iter().zip(x).map(|(t, x)| (t - x).powi(2)).sum();
    -10.0 * (square / truth.len() as f64).log10()
}
