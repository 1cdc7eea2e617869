//! A sweep of sparse linear regression ($N = 1000$, $M = 500$) against the two products with the
//! matrix that it cannot do without, and the whole of it from nothing to the posterior.
#![allow(missing_docs)]

mod harness;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use harness::{Contestant, Outcome, gaussian, heading, line, medians, normals, time};
use treeamp::prelude::*;

const N: usize = 1000;
const M: usize = 500;
/// A sweep is the difference of two runs. Both stop well before the messages stand still to the last
/// bit, where sweeps become cheaper because nothing has to be computed again.
const FEW: usize = 3;
const MANY: usize = 15;

fn main() -> Outcome {
    let w = gaussian(M, N, 0);
    let model = regression(w.clone())?;
    let sample = model.sample(0)?;
    let observed = model.condition("y", sample.get("y")?)?;
    let run = |sweeps: usize| {
        let engine = ExpectationPropagation.on(&observed).expect("a valid model");
        let engine = engine.max_sweeps(sweeps).tolerance(0.0);
        time(|| engine.run(&mut ()).expect("a valid run").sweeps)
    };
    let (x, y) = (normals(N, 1), normals(M, 2));
    let x = MatRef::from_column_major_slice(&x, N, 1);
    let y = MatRef::from_column_major_slice(&y, M, 1);
    let (mut wx, mut wy) = (Mat::<f64>::zeros(M, 1), Mat::<f64>::zeros(N, 1));
    let mut contestants: [Contestant<'_>; 4] = [
        Box::new(|| run(FEW)),
        Box::new(|| run(MANY)),
        Box::new(|| {
            let rounds = MANY - FEW;
            let products = time(|| {
                for _ in 0..rounds {
                    matmul(&mut wx, Accum::Replace, w.view(), x, 1.0, Par::Seq);
                    matmul(
                        &mut wy,
                        Accum::Replace,
                        w.view().transpose(),
                        y,
                        1.0,
                        Par::Seq,
                    );
                }
            });
            products / u32::try_from(rounds).unwrap_or(1)
        }),
        Box::new(|| time(whole)),
    ];
    let times = medians(41, &mut contestants);
    let sweep = (times[1] - times[0]) / (MANY - FEW) as f64;
    heading("Sparse linear regression, N = 1000, M = 500 (median of 41, one thread)");
    line("two matrix-vector products, faer alone", times[2], "");
    let ratio = format!("{:.2} times the two products", sweep / times[2]);
    line("one sweep", sweep, &ratio);
    line("model, sample, set-up, run to convergence", times[3], "");
    Ok(())
}

fn regression(w: Matrix) -> Result<Tree, ModelError> {
    (source(GaussBernoulli::new(0.05, 0.0, 1.0)?.iid(w.cols()))
        >> var("x")
        >> Linear::new(w)?
        >> var("z")
        >> GaussianNoise::new(0.01)?
        >> var("y"))
    .build()
}

/// From nothing to the posterior: the work of `treeamp demo` without its picture.
fn whole() -> f64 {
    let inner = || -> Result<f64, Box<dyn std::error::Error>> {
        let model = regression(gaussian(M, N, 0))?;
        let sample = model.sample(0)?;
        let observed = model.condition("y", sample.get("y")?)?;
        let report = ExpectationPropagation.on(&observed)?.run(&mut ())?;
        Ok(report.variance("x")?)
    };
    inner().expect("a valid model")
}
