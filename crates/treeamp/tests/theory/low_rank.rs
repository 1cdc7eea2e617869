//! State evolution of products of hidden matrices of few columns.

use treeamp::prelude::*;

#[test]
fn scratch() {
    for snr in [0.7, 1.0, 1.5, 2.0] {
        let tree = (source(Binary::new(0.5).unwrap().limit())
            >> var("x")
            >> LowRankGram::new(1).unwrap()
            >> var("z")
            >> GaussianNoise::new(1.0 / snr).unwrap()
            >> var("y"))
        .build()
        .unwrap()
        .expect("y")
        .unwrap();
        let e = StateEvolution::new(&tree)
            .unwrap()
            .starting_with(&["x"], 1e-3)
            .unwrap()
            .run()
            .unwrap();
        println!(
            "{snr} {} {} m {:?} z {:?} I {:?}",
            e.termination(),
            e.report.sweeps,
            e.overlaps("x").unwrap().m,
            e.overlaps("z").unwrap(),
            e.information(&tree).map(|i| i.mutual_information())
        );
    }
}
