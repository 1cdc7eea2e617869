//! Products of hidden matrices of few columns.

use treeamp::metrics;
use treeamp::prelude::*;

#[test]
fn scratch() {
    for (n, snr) in [(500, 2.0), (2000, 2.0), (2000, 0.7), (1000, 10.0)] {
        for seed in 0..3 {
            let model = (source(Binary::new(0.5).unwrap().iid(n))
                >> var("x")
                >> LowRankGram::new(1).unwrap()
                >> var("z")
                >> GaussianNoise::new(1.0 / snr).unwrap()
                >> var("y"))
            .build()
            .unwrap();
            let truth = model.sample(seed).unwrap();
            let posterior = model.condition("y", truth.get("y").unwrap()).unwrap();
            let t = std::time::Instant::now();
            let report = ExpectationPropagation
                .on(&posterior)
                .unwrap()
                .run(&mut ())
                .unwrap();
            let x = truth.get("x").unwrap();
            let r = report.mean("x").unwrap();
            let m: f64 = x.iter().zip(r).map(|(x, r)| x * r).sum::<f64>() / n as f64;
            let q: f64 = r.iter().map(|r| r * r).sum::<f64>() / n as f64;
            println!(
                "{n} {snr} {seed}: {} sweeps {} m {m:.5} q {q:.5} v {:.5} evidence {:?} {:?} mse {:?}",
                report.termination,
                report.sweeps,
                report.variance("x").unwrap(),
                report.log_evidence(),
                t.elapsed(),
                metrics::mse_up_to_sign(x, r)
            );
        }
    }
}
