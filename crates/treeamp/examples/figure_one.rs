//! The five graphs of the Tree-AMP paper's first figure: text on the terminal, pictures in a folder.
//!
//! `cargo run --release --example figure_one -- out/`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::PathBuf;

use treeamp::prelude::*;

/// Any matrix will do for a drawing.
fn linear(rows: usize, cols: usize) -> Result<Linear, ModelError> {
    Linear::new(Matrix::from_fn(rows, cols, |i, j| {
        ((3 * i + 7 * j) as f64).sin() / (cols as f64).sqrt()
    })?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    std::fs::create_dir_all(&folder)?;
    let gaussian = |n: usize| GaussianPrior::new(0.0, 1.0).map(|p| p.iid(n));
    let noise = || GaussianNoise::new(0.01);

    let glm =
        source(gaussian(100)?) >> var("x") >> linear(60, 100)? >> var("z") >> noise()? >> var("y");

    let sparse = GaussBernoulli::new(0.1, 0.0, 1.0)?.shaped([1, 100]);
    let sparse_gradient = source(gaussian(100)?)
        >> var("x")
        >> ((branch(linear(60, 100)?) >> var("z") >> noise()? >> var("y"))
            + (branch(Gradient::periodic()) + sparse >> var("x'")));

    let factorization = (source(GaussianPrior::new(0.0, 1.0)?.shaped([100, 2])) >> var("u"))
        + (source(GaussianPrior::new(0.0, 1.0)?.shaped([80, 2])) >> var("v"))
        >> LowRankFactorization::new(2)?
        >> var("z")
        >> noise()?
        >> var("y");

    let multi_layer = source(gaussian(100)?)
        >> var("x")
        >> linear(150, 100)?
        >> var("z1")
        >> PiecewiseLinear::relu()
        >> var("a1")
        >> linear(200, 150)?
        >> var("z2")
        >> Activation::tanh()
        >> var("a2")
        >> noise()?
        >> var("y");

    let expert = |k: usize| -> Result<Fragment, ModelError> {
        Ok(source(gaussian(100)?)
            >> var(&format!("x{k}"))
            >> linear(150, 100)?
            >> var(&format!("z{k}"))
            >> PiecewiseLinear::relu()
            >> var(&format!("a{k}")))
    };
    let committee =
        expert(1)? + expert(2)? + expert(3)? >> Sum::new(3)? >> var("a") >> noise()? >> var("y");

    for (name, fragment) in [
        ("glm", glm),
        ("sparse_gradient", sparse_gradient),
        ("factorization", factorization),
        ("multi_layer", multi_layer),
        ("committee", committee),
    ] {
        let tree = fragment.build()?;
        println!("{name}: {}", tree.describe());
        match ExpectationPropagation.on(&tree) {
            Ok(_) => println!("  runs expectation propagation\n"),
            Err(error) => println!("  {error}\n"),
        }
        std::fs::write(folder.join(format!("{name}.svg")), tree.to_svg())?;
        std::fs::write(folder.join(format!("{name}.dot")), tree.to_dot())?;
    }
    Ok(())
}
