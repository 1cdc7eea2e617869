//! Recorded runs of another implementation: the same inputs, start and damping lead to the same fixed
//! point in no more sweeps. The records are found through `TREEAMP_ORACLE`; the project's own small
//! ones (`oracle/generate/runs.py`) are always used.

use std::collections::BTreeMap;

use crate::common::npz::Array;
use crate::common::oracle::floats;
use crate::common::{self, chain, oracle, seen};
use treeamp::extend::*;
use treeamp::prelude::*;

type Arrays = BTreeMap<String, Array>;

fn matrix(a: &Array) -> Matrix {
    Matrix::from_rows(a.shape[0], a.shape[1], &a.data).unwrap()
}

fn run(model: &Tree, damping: f64) -> Posterior {
    let engine = ExpectationPropagation.on(model).unwrap();
    engine
        .damping(damping)
        .max_sweeps(300)
        .run(&mut ())
        .unwrap()
}

/// What a record claims, and how closely we must agree.
struct Expected<'a> {
    arrays: &'a Arrays,
    /// Prefix of the arrays to compare with: the forty-sweep run, or the run itself when longer.
    prefix: &'a str,
    sweeps: usize,
    variables: &'a [&'a str],
    means: f64,
}

fn compare(name: &str, report: &Posterior, expected: &Expected<'_>) {
    assert!(
        report.termination.is_converged(),
        "{name}: {}",
        report.termination
    );
    // the record clips precisions at 1e11: above 1e10 only means compare
    let clipped = expected
        .arrays
        .iter()
        .any(|(key, a)| key.starts_with("fix_a_") && a.data.iter().any(|a| *a > 1e10));
    for variable in expected.variables {
        let mean = &expected.arrays[&format!("{}r_{variable}", expected.prefix)].data;
        let gap = common::mse(report.mean(variable).unwrap(), mean).sqrt()
            / common::mean_square(mean).sqrt();
        let theirs = expected.arrays[&format!("{}v_{variable}", expected.prefix)].data[0];
        let ours = report.variance(variable).unwrap();
        println!(
            "{name}: {variable}: means agree to {gap:.1e}, variance {ours:.6e} (recorded {theirs:.6e})"
        );
        assert!(
            gap < expected.means,
            "{name}: {variable}: means are off by {gap:e}"
        );
        let close = (ours - theirs).abs() < (1e-5 * theirs).max(1e-9);
        assert!(
            close || clipped,
            "{name}: {variable}: variance {ours} against {theirs}"
        );
    }
    println!(
        "{name}: {} sweeps, recorded {}",
        report.sweeps, expected.sweeps
    );
    assert!(
        report.sweeps <= expected.sweeps + 2,
        "{name}: {} sweeps",
        report.sweeps
    );
}

fn glm(arrays: &Arrays, prior: impl Factor, likelihood: impl Factor) -> Tree {
    chain(
        prior,
        Linear::new(matrix(&arrays["A"])).unwrap(),
        likelihood,
    )
    .build()
    .unwrap()
}

fn sparse(rho: f64, mean: f64, n: usize) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, mean, 1.0).unwrap().iid(n)
}

fn gaussian(variance: f64, y: &Array) -> SeparableLikelihood<GaussianLikelihood> {
    seen(variance, &y.data)
}

/// The likelihood of an observed activation.
fn observed(channel: &PiecewiseLinear, y: &Array) -> SeparableLikelihood<PiecewiseLikelihood> {
    channel
        .likelihood()
        .unwrap()
        .observed(y.data.clone())
        .unwrap()
}

/// Small runs of an independent implementation that this project keeps.
#[test]
fn own_records() {
    let runs = oracle::own("runs.json");
    let runs = runs.as_array().unwrap();
    assert_eq!(runs.len(), 4);
    for run in runs {
        let rows: Vec<Vec<f64>> = run["w"].as_array().unwrap().iter().map(floats).collect();
        let (m, n) = (rows.len(), rows[0].len());
        let w = Linear::new(Matrix::from_rows(m, n, &rows.concat()).unwrap()).unwrap();
        let y = floats(&run["y"]);
        let (name, output) = (
            run["prior"].as_str().unwrap(),
            run["likelihood"].as_str().unwrap(),
        );
        let start = match name {
            "gauss_bernoulli(0.2, 0.1, 1)" => source(sparse(0.2, 0.1, n)),
            "binary(0.7)" => source(Binary::new(0.7).unwrap().iid(n)),
            other => panic!("{other}"),
        };
        let chain = start >> var("x") >> w >> var("z");
        let model = match output {
            "gaussian(0.09)" => chain >> seen(0.09, &y),
            "sign" => {
                chain
                    >> PiecewiseLinear::sign()
                        .likelihood()
                        .unwrap()
                        .observed(y)
                        .unwrap()
            }
            other => panic!("{other}"),
        };
        let model = model.build().unwrap();
        let engine = ExpectationPropagation
            .on(&model)
            .unwrap()
            .tolerance(1e-12)
            .max_sweeps(400);
        let report = engine
            .damping(run["damping"].as_f64().unwrap())
            .run(&mut ())
            .unwrap();
        assert!(
            report.termination.is_converged(),
            "{name}: {}",
            report.termination
        );
        for variable in XZ {
            let expected = &run["result"][variable];
            let gap =
                common::relative_gap(report.mean(variable).unwrap(), &floats(&expected["mean"]));
            let v = expected["variance"].as_f64().unwrap();
            let ratio = report.variance(variable).unwrap() / v - 1.0;
            println!("{name}, {output}: {variable}: means {gap:.1e}, variance {ratio:.1e}");
            assert!(
                gap < 1e-8 && ratio.abs() < 1e-8,
                "{name}: {variable}: {gap:e} {ratio:e}"
            );
        }
    }
}

const XZ: &[&str] = &["x", "z"];

#[test]
fn sparse_regression() {
    let Some(inputs) = oracle::run("sparse_regression") else {
        return;
    };
    let model = glm(
        &inputs,
        sparse(0.05, 0.0, 400),
        gaussian(0.01, &inputs["y"]),
    );
    for (name, damping, sweeps) in [
        ("sparse_regression", 0.0, 15),
        ("sparse_regression_damp0.1", 0.1, 17),
    ] {
        let arrays = oracle::run(name).unwrap();
        let report = run(&model, damping);
        let expected = Expected {
            arrays: &arrays,
            prefix: "fix_",
            sweeps,
            variables: XZ,
            means: 1e-5,
        };
        compare(name, &report, &expected);
    }
}

/// The reference's path without an SVD returns wrong variances; ours has one answer.
#[test]
fn sparse_regression_has_one_answer() {
    let Some(inputs) = oracle::run("sparse_regression") else {
        return;
    };
    let wrong = oracle::run("sparse_regression_nosvd").unwrap();
    let model = glm(
        &inputs,
        sparse(0.05, 0.0, 400),
        gaussian(0.01, &inputs["y"]),
    );
    let report = run(&model, 0.0);
    let mean = report.mean("x").unwrap();
    assert!(common::mse(mean, &wrong["fix_r_x"].data) > 0.1);
    assert!(common::mse(mean, &inputs["fix_r_x"].data) < 1e-10);
    assert!(common::mse(mean, &inputs["true_x"].data) < 0.003);
}

#[test]
fn compressed_sensing() {
    let Some(arrays) = oracle::run("compressed_sensing") else {
        return;
    };
    let model = glm(
        &arrays,
        sparse(0.5, 0.0, 400),
        gaussian(1e-10, &arrays["y"]),
    );
    let report = run(&model, 0.0);
    let expected = Expected {
        arrays: &arrays,
        prefix: "fix_",
        sweeps: 31,
        variables: XZ,
        means: 1e-5,
    };
    compare("compressed_sensing", &report, &expected);
}

/// Undamped, the recorded perceptron oscillates for its forty sweeps: that must not be called
/// convergence. Left alone, the run wanders on and may meet the true signal; then, and only then, it
/// may end as perfect recovery.
#[test]
fn undamped_perceptron_does_not_converge() {
    let Some(arrays) = oracle::run("perceptron") else {
        return;
    };
    let prior = Binary::new(0.5).unwrap().iid(300);
    let model = glm(
        &arrays,
        prior,
        observed(&PiecewiseLinear::sign(), &arrays["y"]),
    );
    let engine = ExpectationPropagation.on(&model).unwrap().max_sweeps(40);
    let report = engine.damping(Damping::None).run(&mut ()).unwrap();
    assert_eq!(report.termination, Termination::SweepLimit);
    assert!(report.residual() > 0.1, "{}", report.residual());
    assert!(report.mean("x").unwrap().iter().all(|m| m.is_finite()));
    let longer = run(&model, 0.0);
    let error = common::mse(longer.mean("x").unwrap(), &arrays["true_x"].data);
    println!(
        "perceptron: {} after {} sweeps, error {error:.1e}",
        longer.termination, longer.sweeps
    );
    assert!(!longer.termination.is_converged() || error < 1e-20);
}

#[test]
fn phase_retrieval_real() {
    let Some(arrays) = oracle::run("phase_retrieval_real") else {
        return;
    };
    let likelihood = observed(&PiecewiseLinear::abs(), &arrays["y"]);
    let model = glm(&arrays, sparse(0.6, 0.01, 300), likelihood);
    let report = run(&model, 0.3);
    let expected = Expected {
        arrays: &arrays,
        prefix: "fix_",
        sweeps: 32,
        variables: XZ,
        means: 1e-5,
    };
    compare("phase_retrieval_real", &report, &expected);
}

/// An invertible output without noise pins its input, and the signal is recovered exactly.
#[test]
fn leaky_relu_output() {
    let Some(arrays) = oracle::run("leaky_glm") else {
        return;
    };
    let channel = PiecewiseLinear::leaky_relu(0.1).unwrap();
    let model = glm(
        &arrays,
        sparse(0.5, 0.0, 150),
        observed(&channel, &arrays["y"]),
    );
    let report = run(&model, 0.0);
    let expected = Expected {
        arrays: &arrays,
        prefix: "fix_",
        sweeps: 2,
        variables: XZ,
        means: 1e-5,
    };
    compare("leaky_glm", &report, &expected);
    assert_eq!(
        report.termination,
        Termination::Converged {
            perfect_recovery: true
        }
    );
    assert!(common::relative_gap(report.mean("x").unwrap(), &arrays["true_x"].data) < 1e-10);
}

/// The record stopped at its sweep limit, 1e-5 away from the signal; ours goes on to it.
#[test]
fn relu_output() {
    let Some(arrays) = oracle::run("relu_glm") else {
        return;
    };
    let likelihood = observed(&PiecewiseLinear::relu(), &arrays["y"]);
    let report = run(&glm(&arrays, sparse(0.5, 0.0, 150), likelihood), 0.0);
    assert!(report.termination.is_converged(), "{}", report.termination);
    let truth = &arrays["true_x"].data;
    let ours = common::mse(report.mean("x").unwrap(), truth);
    let theirs = common::mse(&arrays["fix_r_x"].data, truth);
    println!(
        "relu_glm: error {ours:.1e} after {} sweeps, recorded {theirs:.1e}",
        report.sweeps
    );
    assert!(ours <= theirs && report.sweeps <= 102);
    let gap = common::mse(report.mean("x").unwrap(), &arrays["fix_r_x"].data).sqrt();
    assert!(gap < 1e-5 * common::mean_square(truth).sqrt(), "{gap}");
}

#[test]
fn two_layer_relu() {
    let Some(arrays) = oracle::run("two_layer_relu") else {
        return;
    };
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(100))
        >> var("x")
        >> Linear::new(matrix(&arrays["W1"])).unwrap()
        >> var("z1")
        >> PiecewiseLinear::relu()
        >> var("h")
        >> Linear::new(matrix(&arrays["W2"])).unwrap()
        >> var("z2")
        >> gaussian(0.01, &arrays["y"]))
    .build()
    .unwrap();
    let report = run(&model, 0.0);
    let variables = &["x", "z1", "h", "z2"];
    let expected = Expected {
        arrays: &arrays,
        prefix: "",
        sweeps: 51,
        variables,
        means: 1e-4,
    };
    compare("two_layer_relu", &report, &expected);
}

#[test]
fn committee_of_three() {
    let Some(inputs) = oracle::run("committee_sgn") else {
        return;
    };
    let arrays = oracle::run("committee_sgn_damp0.3").unwrap();
    let expert = |k: usize| {
        source(Binary::new(0.6).unwrap().iid(200))
            >> var(&format!("x_{k}"))
            >> Linear::new(matrix(&inputs["F"])).unwrap()
            >> var(&format!("z_{k}"))
            >> PiecewiseLinear::sign()
            >> var(&format!("a_{k}"))
    };
    let model = (expert(0) + expert(1) + expert(2)
        >> Sum::new(3).unwrap()
        >> var("a")
        >> observed(&PiecewiseLinear::sign(), &inputs["y"]))
    .build()
    .unwrap();
    let report = run(&model, 0.3);
    let variables = &["x_0", "x_1", "x_2", "z_0", "a_1", "a"];
    let expected = Expected {
        arrays: &arrays,
        prefix: "fix_",
        sweeps: 39,
        variables,
        means: 1e-5,
    };
    compare("committee_sgn_damp0.3", &report, &expected);
}
