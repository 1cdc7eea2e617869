//! The model language: the five graphs of the Tree-AMP paper's first figure, samples, observations,
//! drawings, and every way to get a declaration wrong.

use crate::common::{self, gaussian_matrix};
use treeamp::prelude::*;

fn prior(n: usize) -> SeparablePrior<GaussianPrior> {
    GaussianPrior::new(0.0, 1.0).unwrap().iid(n)
}

fn linear(rows: usize, cols: usize, seed: u64) -> Linear {
    Linear::new(gaussian_matrix(rows, cols, seed)).unwrap()
}

fn noise() -> GaussianNoise {
    GaussianNoise::new(0.1).unwrap()
}

fn likelihood(n: usize) -> SeparableLikelihood<GaussianLikelihood> {
    GaussianLikelihood::new(0.1)
        .unwrap()
        .observed(vec![0.5; n])
        .unwrap()
}

fn message(error: &impl std::error::Error) -> String {
    error.to_string()
}

fn build_error(fragment: Fragment) -> ModelError {
    fragment.build().unwrap_err()
}

/// All words must appear in the text.
fn says(text: &str, words: &[&str]) {
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
    let report = ExpectationPropagation
        .on(&observed)
        .unwrap()
        .run(&mut ())
        .unwrap();
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
fn c_factorisation_builds_samples_and_says_what_is_missing() {
    let u = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([6, 2])) >> var("u");
    let v = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 2])) >> var("v");
    let model = (u + v >> Factorization::new(2).unwrap() >> var("z") >> noise() >> var("y"))
        .build()
        .unwrap();
    let sample = model.sample(3).unwrap();
    let (u, v, z) = (
        sample.get("u").unwrap(),
        sample.get("v").unwrap(),
        sample.get("z").unwrap(),
    );
    let entry = (u[2] * v[4] + u[3] * v[5]) / 6.0_f64.sqrt();
    assert!((z[4 + 2] - entry).abs() < 1e-14);
    let observed = model.condition("y", sample.get("y").unwrap()).unwrap();
    says(
        &message(&ExpectationPropagation.on(&observed).unwrap_err()),
        &["`factorization`"],
    );
    assert!(model.to_dot().contains("factorization"));
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
    let a = ExpectationPropagation
        .on(&one)
        .unwrap()
        .run(&mut ())
        .unwrap();
    // the clone that the caller kept sees the decomposition made for the first run
    let before: *const _ = channel.decomposition().unwrap();
    let b = ExpectationPropagation
        .on(&two)
        .unwrap()
        .run(&mut ())
        .unwrap();
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

// ---- what is refused ----

#[test]
fn parameters_out_of_range() {
    let texts = [
        message(&GaussBernoulli::new(1.5, 0.0, 1.0).unwrap_err()),
        message(&GaussBernoulli::new(-0.1, 0.0, 1.0).unwrap_err()),
        message(&GaussBernoulli::new(f64::NAN, 0.0, 1.0).unwrap_err()),
        message(&GaussBernoulli::new(0.5, 0.0, -1.0).unwrap_err()),
        message(&GaussianPrior::new(0.0, -1.0).unwrap_err()),
        message(&GaussianPrior::new(f64::INFINITY, 1.0).unwrap_err()),
        message(&Binary::new(1.01).unwrap_err()),
        message(&Exponential::new(0.0).unwrap_err()),
        message(&Interval::new(1.0, -1.0, 0.0, 1.0).unwrap_err()),
        message(&GaussianMixture::new(&[0.5], &[0.0, 1.0], &[1.0, 1.0]).unwrap_err()),
        message(&GaussianMixture::new(&[], &[], &[]).unwrap_err()),
        message(&GaussianNoise::new(-1e-9).unwrap_err()),
        message(&GaussianNoise::new(f64::NAN).unwrap_err()),
        message(&GaussianLikelihood::new(-1.0).unwrap_err()),
        message(&PiecewiseLinear::hard_sigmoid(0.0).unwrap_err()),
        message(&PiecewiseLinear::symmetric_door(-1.0).unwrap_err()),
        message(&Sum::new(0).unwrap_err()),
        message(&Duplicate::new(0).unwrap_err()),
        message(&Factorization::new(0).unwrap_err()),
        message(&Bias::new(vec![]).unwrap_err()),
        message(&Bias::new(vec![0.0, f64::NAN]).unwrap_err()),
        message(&Rotation::new(gaussian_matrix(3, 3, 1)).unwrap_err()),
        message(&Rotation::new(gaussian_matrix(3, 4, 1)).unwrap_err()),
    ];
    for text in &texts {
        println!("{text}");
        says(text, &["must be", "got"]);
    }
}

#[test]
fn matrices_must_be_finite_and_full() {
    let nan = Matrix::from_rows(2, 2, &[1.0, 2.0, f64::NAN, 4.0]).unwrap_err();
    says(&message(&nan), &["finite", "NaN", "row 1, column 0"]);
    let infinite = Matrix::from_rows(1, 2, &[1.0, f64::INFINITY]).unwrap_err();
    says(&message(&infinite), &["inf", "row 0, column 1"]);
    says(
        &message(&Matrix::from_rows(2, 2, &[1.0]).unwrap_err()),
        &["2 x 2", "got 1"],
    );
    says(
        &message(&Matrix::from_rows(0, 3, &[]).unwrap_err()),
        &["at least 1 x 1", "0 x 3"],
    );
}

#[test]
fn chains_that_do_not_fit() {
    let e = build_error(source(prior(3)) >> noise());
    says(
        &message(&e),
        &[
            "`gaussian`",
            "`gaussian_noise`",
            "factor output",
            "factor input",
        ],
    );
    let e = build_error(source(prior(3)) >> var("x") >> var("y"));
    says(&message(&e), &["`x`", "`y`"]);
    let e = build_error(source(prior(3)) >> var("x") >> likelihood(3) >> var("y"));
    says(&message(&e), &["nothing", "`y`"]);
    let two = (source(prior(3)) >> var("a")) + (source(prior(3)) >> var("b"));
    let e = build_error(two >> Sum::new(3).unwrap() >> var("s"));
    says(&message(&e), &["2 variable", "3 factor input"]);
    let e = build_error(source(prior(3)));
    says(&message(&e), &["`gaussian`", "open output"]);
    let e = build_error(var("x") >> noise() >> var("y"));
    says(&message(&e), &["`x`", "dangles", "produces it"]);
}

#[test]
fn names_must_be_unique_and_known() {
    let e = build_error(source(prior(3)) >> var("x") >> noise() >> var("x"));
    assert_eq!(
        e,
        ModelError::DuplicateVariable {
            variable: "x".into()
        }
    );
    let e = build_error(
        source(prior(3))
            >> var("x")
            >> named("f", noise())
            >> var("y")
            >> named("f", noise())
            >> var("z"),
    );
    assert_eq!(e, ModelError::DuplicateFactor { factor: "f".into() });
    let mut builder = TreeBuilder::new();
    builder.variable("x").factor(prior(3), &[], &["w"]);
    says(&message(&builder.build().unwrap_err()), &["`w`", "`x`"]);
    let model = (source(prior(3)) >> var("x") >> noise() >> var("y"))
        .build()
        .unwrap();
    says(
        &message(&model.condition("q", &[0.0; 3]).unwrap_err()),
        &["`q`", "`x`, `y`"],
    );
}

#[test]
fn the_graph_must_be_one_tree() {
    assert!(matches!(
        TreeBuilder::new().build().unwrap_err(),
        ModelError::Empty { .. }
    ));
    let mut cycle = TreeBuilder::new();
    cycle
        .variable("x")
        .variable("a")
        .variable("b")
        .variable("s");
    cycle
        .factor(prior(3), &[], &["x"])
        .factor(noise(), &["x"], &["a"])
        .factor(noise(), &["x"], &["b"])
        .factor(Sum::new(2).unwrap(), &["a", "b"], &["s"]);
    let e = cycle.build().unwrap_err();
    assert!(matches!(e, ModelError::Cycle { .. }));
    says(
        &message(&e),
        &["`sum`", "`a`", "`x`", "`b`", "expected a tree"],
    );
    let mut twice = TreeBuilder::new();
    twice
        .variable("x")
        .variable("s")
        .factor(prior(3), &[], &["x"]);
    twice.factor(Sum::new(2).unwrap(), &["x", "x"], &["s"]);
    assert!(matches!(
        twice.build().unwrap_err(),
        ModelError::Cycle { .. }
    ));
    let apart = (source(prior(3)) >> var("x")) + (source(prior(3)) >> var("y"));
    says(
        &message(&build_error(apart)),
        &["disconnected", "`gaussian`", "`gaussian#2`"],
    );
    let mut dangling = TreeBuilder::new();
    dangling
        .variable("x")
        .variable("lonely")
        .factor(prior(3), &[], &["x"]);
    says(
        &message(&dangling.build().unwrap_err()),
        &["`lonely`", "dangles", "at least one factor"],
    );
    let mut arity = TreeBuilder::new();
    arity.variable("x").variable("y");
    arity
        .factor(prior(3), &[], &["x"])
        .factor(noise(), &["x"], &["y", "y"]);
    says(
        &message(&arity.build().unwrap_err()),
        &["`gaussian_noise`", "1 outputs", "got 2"],
    );
}

#[test]
fn shapes_must_fit() {
    let e = build_error(source(prior(3)) >> var("x") >> linear(2, 4, 1) >> var("z"));
    says(&message(&e), &["`linear`", "`x`", "(4)", "(3)"]);
    let e = build_error(source(prior(3)) >> var("x") >> likelihood(5));
    says(&message(&e), &["`x`", "5 components", "(3)"]);
    let e =
        build_error(source(prior(3)) >> var("x") >> Bias::new(vec![1.0; 4]).unwrap() >> var("y"));
    says(&message(&e), &["`bias`", "4 components", "(3)"]);
    let two = (source(prior(3)) >> var("a")) + (source(prior(4)) >> var("b"));
    let e = build_error(two >> Sum::new(2).unwrap() >> var("s"));
    says(&message(&e), &["`sum`", "`b`", "(3)", "(4)"]);
    let e = build_error(branch_of_two_sources());
    says(&message(&e), &["`z`", "(1, 3)", "(1, 4)"]);
    let e = build_error(source(prior(0)) >> var("x"));
    assert_eq!(
        e,
        ModelError::EmptyVariable {
            variable: "x".into(),
            shape: "(0)".into()
        }
    );
}

fn branch_of_two_sources() -> Fragment {
    let sparse = GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().shaped([1, 4]);
    source(prior(3)) >> var("x") >> (branch(Gradient::periodic()) + sparse) >> var("z")
}

#[test]
fn observations_must_make_sense() {
    let sign = (source(prior(3)) >> var("x") >> PiecewiseLinear::sign() >> var("y"))
        .build()
        .unwrap();
    let e = sign.condition("y", &[1.0, 0.5, -1.0]).unwrap_err();
    says(&message(&e), &["`y`", "sign", "0.5", "index 1"]);
    let abs = (source(prior(2)) >> var("x") >> PiecewiseLinear::abs() >> var("y"))
        .build()
        .unwrap();
    says(
        &message(&abs.condition("y", &[1.0, -2.0]).unwrap_err()),
        &["-2", "index 1"],
    );
    let tanh = (source(prior(2)) >> var("x") >> Activation::tanh() >> var("y"))
        .build()
        .unwrap();
    says(
        &message(&tanh.condition("y", &[0.0, 1.5]).unwrap_err()),
        &["1.5", "index 1"],
    );
    let model = (source(prior(3)) >> var("x") >> noise() >> var("y"))
        .build()
        .unwrap();
    says(
        &message(&model.condition("y", &[1.0]).unwrap_err()),
        &["`y`", "expected 3", "got 1"],
    );
    says(
        &message(&model.condition("y", &[0.0; 0]).unwrap_err()),
        &["expected 3", "got 0"],
    );
    says(
        &message(&model.condition("y", &[1.0, f64::NAN, 0.0]).unwrap_err()),
        &["NaN", "index 1"],
    );
    let e = model.condition("x", &[1.0; 3]).unwrap_err();
    says(
        &message(&e),
        &["`x`", "leaf", "`gaussian`", "`gaussian_noise`"],
    );
    let once = model.condition("y", &[1.0; 3]).unwrap();
    let e = once.condition("y", &[1.0; 3]).unwrap_err();
    assert_eq!(
        e,
        ModelError::AlreadyObserved {
            variable: "y".into()
        }
    );
    says(
        &message(&once.sample(1).unwrap_err()),
        &["observation", "before conditioning"],
    );
    let e = GaussianLikelihood::new(0.1)
        .unwrap()
        .observed(vec![])
        .unwrap_err();
    says(&message(&e), &["y", "empty"]);
    let e = GaussianLikelihood::new(0.1)
        .unwrap()
        .observed(vec![f64::NAN])
        .unwrap_err();
    says(&message(&e), &["NaN", "index 0"]);
}

#[test]
fn a_user_s_function_without_inverse_cannot_be_observed() {
    let square = Activation::new("square", std::sync::Arc::new(|z: f64| z * z));
    let model = (source(prior(2)) >> var("x") >> square >> var("y"))
        .build()
        .unwrap();
    says(
        &message(&model.condition("y", &[1.0, 2.0]).unwrap_err()),
        &["square", "inverse"],
    );
}
