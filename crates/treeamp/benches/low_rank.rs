//! A sweep of the spiked Wigner model ($N = 4000$) against one product with its matrix, and of the spiked Wishart model ($2000 \times 4000$)
//! against two.
#![allow(missing_docs)]

mod harness;

use harness::{Contestant, Outcome, gaussian, heading, line, medians, normals, time};
use treeamp::operator::{Dense, LinearOperator};
use treeamp::prelude::*;

/// A sweep is the difference of two runs.
const FEW: usize = 3;
const MANY: usize = 13;

fn main() -> Outcome {
    let spins = source(Binary::new(0.5)?.iid(4000)) >> var("x");
    let wigner =
        (spins >> LowRankGram::new(1)? >> var("z") >> GaussianNoise::new(0.5)? >> var("y"))
            .build()?;
    let (u, v) = (GaussianPrior::new(0.0, 1.0)?, Binary::new(0.5)?);
    let sides = (source(u.iid(2000)) >> var("u")) + (source(v.iid(4000)) >> var("v"));
    let wishart =
        sides >> LowRankFactorization::new(1)? >> var("z") >> GaussianNoise::new(0.3)? >> var("y");
    compare("spiked Wigner, N = 4000", &wigner, (4000, 4000), 1.5)?;
    compare(
        "spiked Wishart, 2000 x 4000",
        &wishart.build()?,
        (2000, 4000),
        2.0,
    )
}

/// A sweep against so many products with a matrix of this size.
fn compare(name: &str, model: &Tree, (rows, columns): (usize, usize), aim: f64) -> Outcome {
    let sample = model.sample(0)?;
    let observed = model.condition("y", sample.get("y")?)?;
    let run = |sweeps: usize| {
        let engine = ExpectationPropagation.on(&observed).expect("a valid model");
        let engine = engine.max_sweeps(sweeps).tolerance(0.0);
        time(|| engine.run(&mut ()).expect("a valid run").sweeps)
    };
    let operator = Dense::new(gaussian(rows, columns, 0));
    let x = normals(columns, 1);
    let (mut y, mut scratch) = (vec![0.0; rows], vec![0.0; operator.scratch_len(1)]);
    let mut contestants: [Contestant<'_>; 3] = [
        Box::new(|| run(FEW)),
        Box::new(|| run(MANY)),
        Box::new(|| time(|| operator.apply(&x, &mut y, &mut scratch))),
    ];
    let times = medians(11, &mut contestants);
    let sweep = (times[1] - times[0]) / (MANY - FEW) as f64;
    heading(&format!("{name} (median of 11)"));
    line("one product with the matrix", times[2], "");
    let remark = format!("{:.2} products; the aim is {aim}", sweep / times[2]);
    line("one sweep", sweep, &remark);
    Ok(())
}
