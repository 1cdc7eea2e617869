//! Every way to get a declaration wrong, and what is said of it.

use super::declarations::{likelihood, message, noise, prior, says};
use crate::common::{gaussian_matrix, linear};
use treeamp::prelude::*;

fn build_error(fragment: Fragment) -> ModelError {
    fragment.build().unwrap_err()
}

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
        message(&LowRankFactorization::new(0).unwrap_err()),
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
