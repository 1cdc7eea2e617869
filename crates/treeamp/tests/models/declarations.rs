//! The model language: the five graphs of the Tree-AMP paper's first figure, samples, observations and
//! drawings.

use crate::common::{self, infer, linear, seen};
use treeamp::extend::{SeparableLikelihood, SeparablePrior};
use treeamp::prelude::*;

pub fn prior(n: usize) -> SeparablePrior<GaussianPrior> {
    GaussianPrior::new(0.0, 1.0).unwrap().iid(n)
}

pub fn noise() -> GaussianNoise {
    GaussianNoise::new(0.1).unwrap()
}

pub fn likelihood(n: usize) -> SeparableLikelihood<GaussianLikelihood> {
    seen(0.1, &vec![0.5; n])
}

pub fn message(error: &impl std::error::Error) -> String {
    error.to_string()
}

/// All words must appear in the text.
pub fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "expected {word:?} in {text:?}");
    }
}

// ---- the five graphs ----

#[test]
fn a_generalised_linear_model_runs() {
    let model = (source(prior(20))
        >> var("x")
        >> linear(15, 20, 1)
        >> var("z")
        >> PiecewiseLinear::sign()
        >> var("y"))
    .build()
    .unwrap();
    let truth = model.sample(0).unwrap();
    let observed = model.condition("y", truth.get("y").unwrap()).unwrap();
    assert_eq!(observed.variables().len(), 2);
    let report = infer(&observed);
    assert!(report.termination.is_converged());
    let error = common::mse(report.mean("x").unwrap(), truth.get("x").unwrap());
    assert!(
        error < 0.9 * common::mean_square(truth.get("x").unwrap()),
        "{error}"
    );
}

#[test]
fn b_sparse_gradient_builds_and_runs() {
    let model = (source(prior(16))
        >> var("x")
        >> ((branch(linear(8, 16, 1)) >> var("z") >> likelihood(8))
            + (branch(Gradient::periodic())
                + GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().shaped([1, 16])
                >> var("x'"))))
    .build()
    .unwrap();
    assert_eq!(
        model.variables()[model.variable("x'").unwrap()].spec.shape,
        [1, 16]
    );
    let engine = ExpectationPropagation.on(&model).unwrap().damping(0.5);
    let report = engine.run(&mut ()).unwrap();
    assert!(
        report.variance("x'").unwrap() > 0.0,
        "{}",
        report.termination
    );
    says(
        &message(&model.sample(1).unwrap_err()),
        &["x'", "2 sources"],
    );
    assert!(model.to_svg().contains("x&#39;"));
}

#[test]
fn c_factorisation_builds_samples_and_runs() {
    let u = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([6, 2])) >> var("u");
    let v = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 2])) >> var("v");
    let model = u + v >> LowRankFactorization::new(2).unwrap() >> var("z") >> noise() >> var("y");
    let model = model.build().unwrap();
    let sample = model.sample(3).unwrap();
    let (u, v, z) = (
        sample.get("u").unwrap(),
        sample.get("v").unwrap(),
        sample.get("z").unwrap(),
    );
    let entry = (u[2] * v[4] + u[3] * v[5]) / 4.0_f64.sqrt();
    assert!((z[4 + 2] - entry).abs() < 1e-14);
    let observed = model.condition("y", sample.get("y").unwrap()).unwrap();
    assert!(ExpectationPropagation.on(&observed).is_ok());
    assert!(model.to_dot().contains("low_rank"));
}

#[test]
fn d_multi_layer_runs() {
    let model = (source(prior(12))
        >> var("x")
        >> linear(20, 12, 1)
        >> var("z1")
        >> PiecewiseLinear::relu()
        >> var("a1")
        >> linear(25, 20, 2)
        >> var("z2")
        >> Activation::tanh()
        >> var("a2")
        >> noise()
        >> var("y"))
    .build()
    .unwrap();
    let truth = model.sample(7).unwrap();
    let observed = model.condition("y", truth.get("y").unwrap()).unwrap();
    let report = ExpectationPropagation
        .on(&observed)
        .unwrap()
        .damping(0.3)
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    assert!(report.log_evidence().unwrap().is_finite());
}

#[test]
fn e_committee_of_three_runs() {
    let expert = |k: usize| {
        source(prior(10))
            >> var(&format!("x{k}"))
            >> linear(14, 10, k as u64)
            >> var(&format!("z{k}"))
            >> PiecewiseLinear::relu()
            >> var(&format!("a{k}"))
    };
    let model = (expert(1) + expert(2) + expert(3)
        >> Sum::new(3).unwrap()
        >> var("a")
        >> noise()
        >> var("y"))
    .build()
    .unwrap();
    let truth = model.sample(1).unwrap();
    let observed = model.condition("y", truth.get("y").unwrap()).unwrap();
    let report = ExpectationPropagation
        .on(&observed)
        .unwrap()
        .damping(0.2)
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    assert_eq!(report.variables().len(), 10);
}

// ---- text, pictures, samples ----

#[test]
fn describe_and_draw() {
    let model = (source(prior(3)) >> var("x<&") >> linear(2, 3, 1) >> var("z") >> likelihood(2))
        .build()
        .unwrap();
    let text = model.describe();
    says(
        &text,
        &[
            "2 variables, 3 factors",
            "x<& (3) -> linear [2 x 3] -> z (2)",
            "gaussian",
        ],
    );
    let svg = model.to_svg();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("x&lt;&amp;") && !svg.contains("x<&"));
    assert!(!svg.contains("NaN"));
    let dot = model.to_dot();
    says(
        &dot,
        &[
            "digraph",
            "shape=circle",
            "shape=square",
            "fillcolor=lightgrey",
        ],
    );
    assert_eq!(dot.matches("->").count(), 5);
}

#[test]
fn samples_depend_on_the_seed_alone() {
    let model = (source(prior(5)) >> var("x") >> noise() >> var("y"))
        .build()
        .unwrap();
    let zero = model.sample(0).unwrap();
    assert_eq!(zero, model.sample(0).unwrap());
    assert_ne!(
        zero.get("x").unwrap(),
        model.sample(1).unwrap().get("x").unwrap()
    );
    assert_ne!(
        zero.get("x").unwrap(),
        model.sample(u64::MAX).unwrap().get("x").unwrap()
    );
    assert_eq!(zero.seed(), 0);
    says(
        &message(&zero.get("w").unwrap_err()),
        &["`w`", "`x`", "`y`"],
    );
}

#[test]
fn sampled_moments_are_the_law_s() {
    let model = (source(GaussBernoulli::new(0.3, 1.0, 2.0).unwrap().iid(200_000))
        >> var("x")
        >> PiecewiseLinear::relu()
        >> var("h"))
    .build()
    .unwrap();
    let sample = model.sample(4).unwrap();
    let x = sample.get("x").unwrap();
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    // six standard errors
    assert!((mean - 0.3).abs() < 6.0 * (0.81_f64 / 200_000.0).sqrt());
    assert!((common::mean_square(x) - 0.9).abs() < 0.05);
    assert!(
        sample
            .get("h")
            .unwrap()
            .iter()
            .zip(x)
            .all(|(h, x)| *h == x.max(0.0))
    );
}

#[test]
fn conditioning_shares_the_decomposition() {
    let channel = linear(30, 60, 1);
    let model =
        (source(prior(60)) >> var("x") >> channel.clone() >> var("z") >> noise() >> var("y"))
            .build()
            .unwrap();
    let one = model.condition("y", &[1.0; 30]).unwrap();
    let two = model.condition("y", &[2.0; 30]).unwrap();
    let a = infer(&one);
    // the clone that the caller kept sees the decomposition made for the first run
    let before: *const _ = channel.decomposition().unwrap();
    let b = infer(&two);
    assert!(std::ptr::eq(before, channel.decomposition().unwrap()));
    let twice: Vec<f64> = a.mean("x").unwrap().iter().map(|x| 2.0 * x).collect();
    assert!(common::relative_gap(&twice, b.mean("x").unwrap()) < 1e-12);
}

#[test]
fn the_builder_and_the_algebra_agree() {
    let mut builder = TreeBuilder::new();
    builder.variable("x").variable("z");
    builder
        .factor(prior(20), &[], &["x"])
        .factor(linear(15, 20, 1), &["x"], &["z"])
        .factor(likelihood(15), &["z"], &[]);
    let one = builder.build().unwrap();
    let two = (source(prior(20)) >> var("x") >> linear(15, 20, 1) >> var("z") >> likelihood(15))
        .build()
        .unwrap();
    assert_eq!(one.describe(), two.describe());
    assert_eq!(one.to_dot(), two.to_dot());
}

#[test]
fn repeated_modules_are_numbered_and_names_can_be_given() {
    let model = (source(prior(4))
        >> var("x")
        >> linear(4, 4, 1)
        >> var("z")
        >> named("last", linear(3, 4, 2))
        >> var("w")
        >> noise()
        >> var("a")
        >> noise()
        >> var("y"))
    .build()
    .unwrap();
    let names: Vec<&str> = model.factors().iter().map(|f| f.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "gaussian",
            "linear",
            "last",
            "gaussian_noise",
            "gaussian_noise#2"
        ]
    );
}
