//! The channels that move numbers about: derivative identities, pins, exact trees, bad shapes. The
//! list is the catalogue's.

use std::sync::Arc;

use crate::common::{self, infer, normals, seen};
use treeamp::belief::SignalSpec;
use treeamp::catalog::{Argument, Arguments, ArrayArgument};
use treeamp::extend::{Factor, Gaussian};
use treeamp::factor::Site;
use treeamp::prelude::*;
use treeamp::testing::averages::check_average;
use treeamp::testing::factors::check_factor;

/// The factor as the tree holds it, and the signals at its ports.
fn bound(factor: impl Factor, inputs: &[SignalSpec]) -> (Arc<dyn Factor>, Vec<SignalSpec>) {
    let factor = factor
        .bind(inputs)
        .unwrap()
        .unwrap_or_else(|| Arc::new(factor));
    let mut specs = inputs.to_vec();
    specs.extend(factor.output_specs(inputs).unwrap());
    (factor, specs)
}

fn incoming(specs: &[SignalSpec], scale: f64, seed: u64) -> Vec<Gaussian> {
    let messages = specs.iter().enumerate().map(|(i, spec)| {
        let a = scale * (1.0 + 0.7 * i as f64);
        let mut m = Gaussian::flat(spec);
        m.precision.set_scalar(a);
        m.linear = normals(spec.len(), seed + i as u64)
            .iter()
            .map(|b| b * a.sqrt())
            .collect();
        m
    });
    messages.collect()
}

fn outgoing(factor: &dyn Factor, messages: &[Gaussian], port: usize) -> Gaussian {
    let specs: Vec<SignalSpec> = messages
        .iter()
        .map(|m| SignalSpec::real([m.len()]))
        .collect();
    Site::new(factor, &specs, messages.to_vec())
        .message(port)
        .unwrap()
}

/// $A$ is quadratic: central differences are exact up to rounding.
fn has_derivatives(factor: &dyn Factor, specs: &[SignalSpec]) {
    for (seed, scale) in [(1, 1.0), (5, 40.0), (9, 0.03)] {
        check_factor(factor, specs, &incoming(specs, scale, seed), 1e-6).unwrap();
    }
}

/// A pin is the limit of high precision, from every port to every port.
fn has_limits(name: &str, factor: &dyn Factor, specs: &[SignalSpec]) {
    for pinned in 0..specs.len() {
        let base = incoming(specs, 1.0, 20);
        let place = normals(specs[pinned].len(), 30);
        let at = |a: f64| {
            let mut messages = base.clone();
            messages[pinned].precision.set_scalar(a);
            let scale = if a == f64::INFINITY { 1.0 } else { a };
            messages[pinned].linear = place.iter().map(|m| scale * m).collect();
            messages
        };
        for port in 0..specs.len() {
            let limit = outgoing(factor, &at(f64::INFINITY), port);
            let near = outgoing(factor, &at(1e9), port);
            let scale = if limit.is_pinned() {
                near.precision.scalar()
            } else {
                1.0
            };
            let ours: Vec<f64> = near.linear.iter().map(|b| b / scale).collect();
            // the distance to the limit falls like 1/a
            let gap = common::relative_gap(&ours, &limit.linear);
            assert!(gap < 1e-7, "{name}: pin at {pinned}, port {port}: {gap:e}");
        }
    }
}

macro_rules! conformance {
    ($($name:ident $(($module:path))? => $instance:expr, [$($input:expr),*];)*) => {
        $(#[test]
        fn $name() {
            let made: Result<_, ModelError> = $instance;
            let (factor, specs) = bound(made.unwrap(), &[$($input),*]);
            has_derivatives(&*factor, &specs);
            has_limits(stringify!($name), &*factor, &specs);
            let ensemble = factor.ensemble().unwrap();
            assert!(ensemble.pairs_with(&*factor));
            let reference = specs[ensemble.reference()].len() as f64;
            let sizes: Vec<f64> = specs.iter().map(|s| s.len() as f64 / reference).collect();
            check_average(&*factor, &vec![0.7; specs.len()], &sizes).unwrap();
        })*
    };
}

treeamp::for_each_shape!(conformance);

/// Linear channels, noise and sums: derivatives, as the tree holds them.
mod linear {
    use super::*;

    macro_rules! conformance {
        ($($name:ident $(($module:path))? => $instance:expr, [$($input:expr),*];)*) => {
            $(#[test]
            fn $name() {
                let made: Result<_, ModelError> = $instance;
                let (factor, specs) = bound(made.unwrap(), &[$($input),*]);
                has_derivatives(&*factor, &specs);
            })*
        };
    }

    treeamp::for_each_linear!(conformance);
}

/// $z = (x_1; x_2)$ seen through noise: with equal priors the beliefs are exact, and so is the evidence.
#[test]
fn pieces_of_a_gaussian_signal() {
    let prior = |n: usize| GaussianPrior::new(0.0, 2.0).unwrap().iid(n);
    let y = normals(7, 3);
    let model = ((source(prior(4)) >> var("a")) + (source(prior(3)) >> var("b"))
        >> Concatenate::new(2).unwrap()
        >> var("x")
        >> seen(0.5, &y))
    .build()
    .unwrap();
    let report = infer(&model);
    assert!(report.termination.is_converged());
    let expected: Vec<f64> = y.iter().map(|y| 0.8 * y).collect();
    assert!(common::relative_gap(report.mean("x").unwrap(), &expected) < 1e-12);
    assert!(common::relative_gap(report.mean("b").unwrap(), &expected[4..]) < 1e-12);
    let evidence: f64 = y
        .iter()
        .map(|y| -0.5 * (y * y / 2.5 + (std::f64::consts::TAU * 2.5).ln()))
        .sum();
    assert!((report.log_evidence().unwrap() - evidence).abs() < 1e-10);
}

/// Split, and put together again with another order of operations: what was drawn comes out.
#[test]
fn split_and_concatenate_are_inverse() {
    let model = (source(GaussianPrior::new(0.3, 1.0).unwrap().shaped([2, 5]))
        >> var("x")
        >> Split::along(1, vec![2, 3]).unwrap()
        >> (var("left") + var("right"))
        >> Concatenate::along(1, 2).unwrap()
        >> var("y"))
    .build();
    // x -> two pieces -> y is a loop
    assert!(model.is_err());
    let half = (source(GaussianPrior::new(0.3, 1.0).unwrap().shaped([2, 5]))
        >> var("x")
        >> Split::along(1, vec![2, 3]).unwrap()
        >> (var("left") + var("right")))
    .build()
    .unwrap();
    let drawn = half.sample(4).unwrap();
    let (x, left, right) = (
        drawn.get("x").unwrap(),
        drawn.get("left").unwrap(),
        drawn.get("right").unwrap(),
    );
    assert_eq!([left, right].map(<[f64]>::len), [4, 6]);
    assert_eq!(left, [&x[0..2], &x[5..7]].concat());
    assert_eq!(right, [&x[2..5], &x[7..10]].concat());
}

#[test]
fn bad_shapes_are_said() {
    let prior =
        |shape: &[usize]| source(GaussianPrior::new(0.0, 1.0).unwrap().shaped(shape.to_vec()));
    let text = |f: Fragment| f.build().unwrap_err().to_string();
    let says = |text: &str, words: &[&str]| {
        words
            .iter()
            .for_each(|w| assert!(text.contains(w), "{text}: no {w}"));
    };
    let e = text(prior(&[6]) >> var("x") >> Reshape::to([4]) >> var("y"));
    says(&e, &["reshape", "`x`", "4 components", "(6)"]);
    let e = text(prior(&[6]) >> var("x") >> Reshape::parts() >> var("y"));
    says(&e, &["reshape", "complex signal"]);
    let e =
        text(prior(&[5]) >> var("x") >> Split::new(vec![2, 2]).unwrap() >> (var("a") + var("b")));
    says(&e, &["split", "4 along axis 0", "(5)"]);
    let pair = (prior(&[2, 3]) >> var("a")) + (prior(&[2, 2]) >> var("b"));
    let e = text(pair >> Concatenate::new(2).unwrap() >> var("x"));
    says(&e, &["concatenate", "`b`", "(2, 2)"]);
    let e = text(prior(&[4]) >> var("x") >> Mask::new(vec![true; 3]) >> var("y"));
    says(&e, &["factor `mask`", "mask of 4 entries", "got 3"]);
    let e = text(prior(&[4]) >> var("x") >> MaskedDft::new(vec![false; 4]) >> var("y"));
    says(
        &e,
        &[
            "factor `masked_dft`",
            "at least one observed",
            "nothing observed",
        ],
    );
    let filter = treeamp::operator::Filter::Kernel {
        shape: vec![5],
        entries: vec![1.0; 5],
    };
    let e = text(prior(&[4]) >> var("x") >> Convolution::new(filter) >> var("y"));
    says(&e, &["convolution", "no larger than the signal", "[5]"]);
    let filter = treeamp::operator::Filter::ComplexKernel {
        shape: vec![1],
        entries: vec![num_complex::Complex64::I],
    };
    let e = text(prior(&[4]) >> var("x") >> Convolution::new(filter) >> var("y"));
    says(&e, &["convolution", "real", "complex"]);
    assert!(Split::new(vec![]).is_err() && Split::new(vec![1, 0]).is_err());
    assert!(Concatenate::new(0).is_err());
}

/// Numbers that stand beside components have the shape of the signal, where they have one; a flat list needs the right length only.
#[test]
fn arrays_of_parameters_have_the_shape_of_the_signal() {
    let array = |shape: &[usize]| {
        Argument::Array(ArrayArgument {
            shape: shape.to_vec(),
            values: vec![0.5; shape.iter().product()],
            complex: false,
        })
    };
    for (name, key, spoken) in [
        ("bias", "bias", "that of the bias"),
        (
            "heteroscedastic_noise",
            "variances",
            "that of its parameters",
        ),
    ] {
        let module = treeamp::catalog::module(name).unwrap();
        let built = |shape: &[usize]| {
            let made = module.make(&Arguments::new().with(key, array(shape)));
            let mut tree = TreeBuilder::new();
            tree.variable("x").variable("y");
            let prior = GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 6]);
            tree.factor(prior, &[], &["x"]);
            tree.shared_factor(None, made.unwrap(), &["x"], &["y"]);
            tree.build()
        };
        for fits in [&[4, 6][..], &[24], &[1], &[]] {
            built(fits).unwrap_or_else(|e| panic!("{name} {fits:?}: {e}"));
        }
        let error = built(&[6, 4]).unwrap_err().to_string();
        assert!(
            error.contains(&format!("expected shape (6, 4), {spoken}"))
                && error.contains("`x`")
                && error.contains("got shape (4, 6)"),
            "{error}"
        );
    }
    let law = HeteroscedasticNoise::new(&[0.5; 24])
        .unwrap()
        .of_shape([6, 4]);
    let seen = law.observed([0.0; 24]).unwrap();
    let prior = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 6]));
    let error = (prior >> var("x") >> seen).build().unwrap_err().to_string();
    assert!(
        error.contains("(6, 4)") && error.contains("(4, 6)"),
        "{error}"
    );
    // a shape that fits says no more
    let shifts = [0.5; 24];
    let prior = || source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 6])) >> var("x");
    let of = |bias: Bias| (prior() >> bias >> var("y")).build().unwrap();
    let (flat, whole) = (Bias::new(shifts), Bias::new(shifts));
    let (flat, whole) = (of(flat.unwrap()), of(whole.unwrap().of_shape([4, 6])));
    assert!(
        flat.factors()[1]
            .factor
            .same_law(whole.factors()[1].factor.as_ref())
    );
}

#[test]
fn masks_are_zeros_and_ones() {
    for name in ["mask", "masked_dft"] {
        let module = treeamp::catalog::module(name).unwrap();
        let made = |values: &[f64]| {
            let mask = ArrayArgument {
                shape: vec![values.len()],
                values: values.to_vec(),
                complex: false,
            };
            module.make(&Arguments::new().with("observed", Argument::Array(mask)))
        };
        assert!(made(&[0.0, 1.0, 1.0]).is_ok());
        for bad in [0.5, -1.0, 2.0, f64::NAN] {
            let error = made(&[1.0, bad]).unwrap_err().to_string();
            let expected = format!("`observed` must be zeros and ones, got {bad} at index 1");
            assert!(error.contains(&expected), "{error}");
        }
    }
}

/// Parameters are said by their names, in sentences.
#[test]
fn what_a_filter_needs_is_said() {
    let blur = treeamp::catalog::module("gaussian_blur").unwrap();
    for (widths, told) in [
        (
            vec![1.0, -1.0],
            "`sigma` must be finite and not negative, got -1",
        ),
        (
            vec![f64::NAN],
            "`sigma` must be finite and not negative, got NaN",
        ),
        (vec![], "`sigma` must be finite and not negative, got none"),
    ] {
        let error = blur.make(&Arguments::new().with("sigma", widths));
        let error = error.unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let empty = Gradient::periodic().bind(&[SignalSpec::real([0])]);
    let error = empty.unwrap_err();
    assert_eq!(error.expected, "a signal with at least one component");
}
