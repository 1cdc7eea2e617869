//! State evolution of complex laws.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use treeamp::algorithms::state_evolution::phases::{Search, algorithmic_threshold, weak_recovery};
use treeamp::prelude::*;

fn complex_phase_retrieval(w: LinearEnsemble) -> Result<Tree, RunError> {
    let chain = source(CircularGaussian::new(1.0)?.limit()) >> var("x") >> w >> var("z");
    Ok((chain >> Modulus >> var("y")).build()?.expect("y")?)
}

#[test]
fn thresholds() {
    let t = std::time::Instant::now();
    let family = |alpha: f64| complex_phase_retrieval(LinearEnsemble::gaussian(alpha)?);
    let weak = weak_recovery(&family, "x", Search::between(0.5, 2.0).tolerance(1e-4)).unwrap();
    println!("{weak} {:?}", t.elapsed());
    let t = std::time::Instant::now();
    let algo =
        algorithmic_threshold(&family, "x", Search::between(2.01, 2.1).tolerance(5e-4)).unwrap();
    println!("{algo} {:?}", t.elapsed());
}

#[test]
fn timing() {
    for m_hat in [1e-14, 1e-4, 0.1, 1.0, 10.0, 1e3, 1e8, 1e10] {
        let f = ModulusLikelihood.unspecified();
        let rule = Factor::ensemble(&f).unwrap();
        let fields = [treeamp::belief::OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat: 1.0,
        }];
        let at = treeamp::factor::Averaged {
            fields: &fields,
            tau0_hat: &[1.0],
        };
        let t = std::time::Instant::now();
        let o = rule.overlaps(&f, at, 0).unwrap();
        println!(
            "{m_hat:e}: {o:?} {:?} a v {}",
            t.elapsed(),
            fields[0].a() * o.v
        );
    }
}
