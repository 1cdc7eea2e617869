//! Deblurring and denoising of a photograph-like image, which this program paints: evening light on a
//! lake, clouds, mountains in the haze, a wooded shore, grass in front. The image is blurred and made
//! noisy. The model: grey values with a Gaussian law, and differences between neighbours from a mixture of
//! three widths, for smooth places, texture, and edges.
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

const SIDE: usize = 192;
/// Where the water begins.
const SHORE: f64 = 0.6;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    restore("Deconvolution", 1.5, 0.005, "deconvolution.svg")?;
    restore("Denoising", 0.0, 0.06, "denoising.svg")
}

/// A number between 0 and 1 at a place of a grid.
fn speck(i: f64, j: f64, seed: u64) -> f64 {
    let spread = |x: f64, by: u64| x.to_bits().wrapping_mul(by);
    let mut h = spread(i, 0x9e37_79b9_7f4a_7c15) ^ spread(j, 0xc2b2_ae3d_27d4_eb4f) ^ seed;
    for _ in 0..3 {
        h = (h ^ (h >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (h >> 11) as f64 / (1_u64 << 53) as f64
}

/// Smooth noise: specks of a grid of width one, joined.
fn smooth(x: f64, y: f64, seed: u64) -> f64 {
    let (i, j) = (x.floor(), y.floor());
    let ease = |t: f64| t * t * (3.0 - 2.0 * t);
    let (s, t) = (ease(x - i), ease(y - j));
    let at = |a: f64, b: f64| speck(i + a, j + b, seed);
    let low = mix(at(0.0, 0.0), at(1.0, 0.0), s);
    let high = mix(at(0.0, 1.0), at(1.0, 1.0), s);
    mix(low, high, t)
}

/// Noise on several scales, each half as wide and `rough` times as strong as the one before.
fn fractal(x: f64, y: f64, octaves: u64, rough: f64, seed: u64) -> f64 {
    let (mut sum, mut total, mut size, mut weight) = (0.0, 0.0, 1.0, 1.0);
    for k in 0..octaves {
        sum += weight * smooth(size * x, size * y, seed + k);
        total += weight;
        size *= 2.0;
        weight *= rough;
    }
    sum / total
}

fn step(from: f64, to: f64, x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn mix(a: f64, b: f64, t: f64) -> f64 {
    a + (b - a) * t
}

/// What is above the water: sky, sun, clouds, three ridges, a wooded shore.
fn above(x: f64, y: f64) -> f64 {
    let sun = (x - 0.63).hypot(1.1 * (y - 0.27));
    let mut grey = mix(0.5, 0.86, step(-0.1, 0.55, y)) + 0.16 * (-(sun / 0.16).powi(2)).exp();
    let cloud = fractal(3.0 * x + 2.0, 7.5 * y, 6, 0.55, 11);
    grey = mix(
        grey,
        0.96,
        0.85 * step(0.5, 0.72, cloud) * step(0.55, 0.25, y),
    );
    grey = mix(grey, 1.0, step(0.052, 0.046, sun));
    for (level, height, tone, scale, seed) in [
        (0.44, 0.20, 0.66, 2.3, 21),
        (0.49, 0.16, 0.47, 3.7, 31),
        (0.55, 0.10, 0.31, 5.9, 41),
    ] {
        let ridge = level - height * (fractal(scale * x, 0.5, 6, 0.5, seed) - 0.35);
        let rock = fractal(20.0 * x + 8.0 * y, 26.0 * y, 4, 0.6, seed + 5) - 0.5;
        let slope = step(0.0, 0.12, y - ridge);
        let side = tone + 0.20 * rock * (1.0 - 0.4 * slope) + 0.10 * slope;
        grey = mix(grey, side, step(-0.002, 0.002, y - ridge));
    }
    let crowns = 0.585 - 0.045 * fractal(26.0 * x, 0.3, 4, 0.65, 51) - 0.05 * step(0.35, 0.0, x);
    let leaves = fractal(60.0 * x, 60.0 * y, 3, 0.6, 61);
    mix(grey, 0.10 + 0.20 * leaves, step(-0.002, 0.002, y - crowns))
}

/// The water mirrors what is above it, with waves, and glitters below the sun.
fn water(x: f64, y: f64) -> f64 {
    let depth = y - SHORE;
    let wave = (fractal(9.0 * x, 70.0 * y, 3, 0.6, 71) - 0.5) * (0.2 + 2.0 * depth);
    let mirrored = above(
        x + 0.06 * wave,
        (SHORE - 0.95 * depth + 0.12 * wave).max(0.0),
    );
    let sparks = step(0.62, 0.8, fractal(14.0 * x, 110.0 * y, 2, 0.6, 81));
    0.78 * mirrored + 0.05 + 0.25 * sparks * (-((x - 0.63) / 0.09).powi(2)).exp()
}

/// Grey values between 0 and 1, less one half.
fn scene() -> Vec<f64> {
    let pixel = |i: usize| {
        let place = |k: usize| k as f64 / SIDE as f64;
        let (x, y) = (place(i % SIDE), place(i / SIDE));
        let mut grey = if y > SHORE { water(x, y) } else { above(x, y) };
        let bank =
            0.86 - 0.10 * step(0.55, 0.0, x) + 0.05 * (fractal(4.0 * x, 0.7, 3, 0.5, 91) - 0.5);
        let blade = 0.035 * fractal(70.0 * x, 0.2, 2, 0.8, 95);
        if y > bank - blade {
            let grass = fractal(85.0 * x + 12.0 * y, 22.0 * y, 3, 0.7, 101);
            grey = 0.06 + 0.34 * grass + 0.12 * step(bank, 1.0, y);
        }
        // a post and a boat
        if (x - 0.24).abs() < 0.007 && y > 0.66 && y < 0.84 {
            grey = if x < 0.24 { 0.52 } else { 0.2 };
        }
        let keel = 0.728 - 3.6 * (x - 0.44).powi(2);
        if (x - 0.44).abs() < 0.085 && y > 0.685 && y < keel {
            grey = if y < 0.697 {
                0.9
            } else {
                0.22 + 0.5 * (x - 0.36)
            };
        }
        grey.clamp(0.0, 1.0) - 0.5
    };
    (0..SIDE * SIDE).map(pixel).collect()
}

/// Blurs with a width of `sigma` pixels, adds noise, and restores.
fn restore(title: &str, sigma: f64, deviation: f64, file: &str) -> Outcome {
    let shape = [SIDE, SIDE];
    let truth = scene();
    let filter = Filter::GaussianBlur(vec![sigma]);
    let blur = CircularConvolution::new(&SignalSpec::real(shape), &filter)?;
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut seen = applied(&blur, &truth);
    for y in &mut seen {
        let xi: f64 = StandardNormal.sample(&mut rng);
        *y += deviation * xi;
    }
    // smooth places, texture, edges
    let widths = [0.03_f64, 0.1, 0.25].map(|w| w * w);
    let differences = GaussianMixture::new(&[0.65, 0.25, 0.1], &[0.0; 3], &widths)?;
    let noise = GaussianLikelihood::new(deviation * deviation)?.observed(seen.clone())?;
    let model = (source(GaussianPrior::new(0.0, 0.1)?.shaped(shape))
        >> var("x")
        >> ((branch(Linear::of(blur)) >> var("z") >> noise)
            + (branch(Gradient::periodic()) + differences.shaped([2, SIDE, SIDE]) >> var("g"))))
    .build()?;
    let engine = ExpectationPropagation.on(&model)?.tolerance(1e-4);
    let report = engine.damping(0.5).max_sweeps(1000).run(&mut ())?;
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
        .panel(picture("truth", &truth))
        .panel(picture("reconstruction", restored))
        .panel_size(400.0, 425.0)
        .save(file)?;
    Ok(())
}

/// $-10\log_{10}$ of the mean squared error, for values in a range of one.
fn psnr(truth: &[f64], x: &[f64]) -> f64 {
    let square: f64 = truth.iter().zip(x).map(|(t, x)| (t - x).powi(2)).sum();
    -10.0 * (square / truth.len() as f64).log10()
}
