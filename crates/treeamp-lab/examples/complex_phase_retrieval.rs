//! Complex phase retrieval: a curve in the plane from the moduli of random projections of it.
//!
//! ```sh
//! cargo run --release -p treeamp-lab --example complex_phase_retrieval -- out.svg
//! ```
//!
//! Without a name it draws `complex_phase_retrieval.svg`. The curve is a complex signal of 300 components, seen through $y = |W x|$ with a complex Gaussian matrix of three
//! times as many rows. From flat messages nothing would move, by symmetry: the run starts from noise. It finds the
//! curve up to a rotation of the whole plane, which the moduli do not tell.
#![allow(clippy::print_stderr)]

use std::error::Error;
use std::f64::consts::TAU;

use treeamp::metrics::{aligned, mse, mse_up_to_phase};
use treeamp::operator::ComplexDense;
use treeamp::prelude::*;
use treeamp_lab::ensemble;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};

/// Components of the signal.
const N: usize = 300;
/// Moduli per component. The algorithm needs 2.03, in the limit.
const RATIO: usize = 3;
/// Near the start an error of the precision of the moduli's message comes back times `-RATIO`: damping beyond
/// `(RATIO - 1)/(RATIO + 1)` contains it.
const DAMPING: f64 = 0.6;

/// A rose of five leaves with a wave on it, of second moment one per real component.
fn curve() -> Vec<f64> {
    let points = (0..N).map(|k| {
        let t = TAU * k as f64 / N as f64;
        Complex::from_polar(1.0 + 0.55 * (5.0 * t).cos() + 0.12 * (23.0 * t).sin(), t)
    });
    let points: Vec<Complex<f64>> = points.collect();
    let square = points.iter().map(Complex::norm_sqr).sum::<f64>() / (2 * N) as f64;
    let scale = square.sqrt().recip();
    points
        .iter()
        .flat_map(|p| [scale * p.re, scale * p.im])
        .collect()
}

fn plane(title: &str) -> Panel {
    let side = |label: &str| Axis::linear(label).range(-3.0, 3.0);
    Panel::new(title, side("real part"), side("imaginary part"))
}

/// The closed curve through interleaved points.
fn closed(x: &[f64]) -> Vec<(f64, f64)> {
    x.chunks(2)
        .chain(x.chunks(2).take(1))
        .map(|p| (p[0], p[1]))
        .collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().nth(1);
    let path = given.unwrap_or_else(|| "complex_phase_retrieval.svg".to_owned());
    let truth = curve();
    let w = ensemble::complex_gaussian(RATIO * N, N, 1)?;
    let moduli: Vec<f64> = {
        let mut z = vec![0.0; 2 * RATIO * N];
        w.apply(&truth, &mut z);
        z.chunks(2).map(|p| p[0].hypot(p[1])).collect()
    };
    let chain = source(CircularGaussian::new(1.0)?.iid(N)) >> var("x");
    let model =
        (chain >> Linear::of(ComplexDense::new(w)) >> var("z") >> Modulus >> var("y")).build()?;
    let observed = model.condition("y", &moduli)?;
    let start = Initial::Noisy {
        precision: 0.0,
        mean: 0.0,
        std: 0.1,
        seed: 3,
    };
    let report = ExpectationPropagation
        .on(&observed)?
        .initial(start)
        .damping(Damping::PerEdge(vec![(
            "modulus".into(),
            "z".into(),
            DAMPING,
        )]))
        .max_sweeps(400)
        .run(&mut ())?;
    let mean = report.mean("x")?;
    let (plain, best) = (mse(mean, &truth)?, mse_up_to_phase(mean, &truth)?);
    eprintln!(
        "{} after {} sweeps: error {plain:.2}, {best:.1e} up to a global phase",
        report.termination, report.sweeps
    );
    let seen = moduli.iter().enumerate().map(|(k, y)| (k as f64, *y));
    let observation = Panel::new(
        "Observation",
        Axis::linear("projection").integer(),
        Axis::linear("modulus"),
    )
    .series(
        Series::marks("|Wx|", seen)
            .mark(Mark::Dot)
            .size(2.2)
            .ink(Ink::Grey),
    );
    let line = |name: &str, x: &[f64]| Series::line(name, closed(x));
    let truth_panel = plane("Truth").series(line("signal", &truth).ink(Ink::Black));
    let turned = aligned(mean, &truth)?;
    let found = plane("Reconstruction")
        .series(line("as found", mean).ink(Ink::Grey).dashed())
        .series(line("global phase removed", &turned).ink(Ink::Black));
    Figure::new("A complex signal from moduli of random projections")
        .panel_size(400.0, 400.0)
        .panel(observation)
        .panel(truth_panel)
        .panel(found)
        .save(&path)?;
    Ok(())
}
