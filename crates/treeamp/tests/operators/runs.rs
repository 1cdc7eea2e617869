//! Reference values of Fourier, convolution, gradient and shape channels, and recorded runs with them: the same fixed
//! points where the record converged, and a better one where the record is inconsistent. Found through
//! `TREEAMP_ORACLE`.

use crate::common::npz::Array;
use crate::common::oracle::floats;
use crate::common::{self, chain, infer, oracle, seen};
use serde_json::Value;
use treeamp::belief::{Element, SignalSpec};
use treeamp::extend::{Factor, Gaussian, SeparableLikelihood};
use treeamp::factor::Site;
use treeamp::operator::{
    Boundary, CircularConvolution, Filter, FiniteDifference, LinearOperator, UnitaryDft,
};
use treeamp::prelude::*;

fn likelihood(variance: f64, y: &Array) -> SeparableLikelihood<GaussianLikelihood> {
    seen(variance, &y.data)
}

/// Root mean square difference relative to the second.
fn gap(ours: &[f64], theirs: &[f64]) -> f64 {
    (common::mse(ours, theirs) / common::mean_square(theirs)).sqrt()
}

#[test]
fn deconvolution_of_an_image() {
    let Some(arrays) = oracle::run("deconv2d_gaussian") else {
        return;
    };
    let y = &arrays["y"];
    let model = chain(
        GaussianPrior::new(0.0, 1.0)
            .unwrap()
            .shaped(y.shape.clone()),
        Convolution::new(Filter::GaussianBlur(vec![2.0, 2.0])),
        likelihood(0.1, y),
    )
    .build()
    .unwrap();
    let report = infer(&model);
    assert!(report.termination.is_converged(), "{}", report.termination);
    for variable in ["x", "z"] {
        let (r, v) = (
            &arrays[&format!("fix_r_{variable}")].data,
            arrays[&format!("fix_v_{variable}")].data[0],
        );
        let (means, ours) = (
            gap(report.mean(variable).unwrap(), r),
            report.variance(variable).unwrap(),
        );
        println!(
            "deconv2d {variable}: means {means:.1e}, variance {ours} ({v}), {} sweeps",
            report.sweeps
        );
        assert!(means < 1e-4 && (ours / v - 1.0).abs() < 1e-4);
    }
    assert!(report.sweeps <= 5);
}

/// A real signal of two waves. The record puts a sparse law of variance 18.75 on all 2N parts of its
/// coefficients, every number twice, and matches variances as if the map from N to 2N numbers were
/// unitary. Here the law is on the N real coordinates, each $\sqrt2$ times a part. The two models have no
/// evidence in common (theirs counts every coefficient twice), so that the errors are compared.
#[test]
fn sparse_fourier_coefficients() {
    let Some(arrays) = oracle::run("sparse_fft") else {
        return;
    };
    let y = &arrays["y"];
    let n = y.data.len();
    let sparse = GaussBernoulli::new(0.02, 0.0, 2.0 * 18.75).unwrap().iid(n);
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> (branch(likelihood(0.1, y)) + (branch(RealDft) + sparse >> var("z"))))
    .build()
    .unwrap();
    let report = ExpectationPropagation
        .on(&model)
        .unwrap()
        .damping(0.1)
        .run(&mut ())
        .unwrap();
    assert!(report.termination.is_converged(), "{}", report.termination);
    let truth = &arrays["true_x"].data;
    let ours = common::mse(report.mean("x").unwrap(), truth);
    let theirs = common::mse(&arrays["fix_r_x"].data, truth);
    println!(
        "sparse_fft: error {ours:.2e} (recorded {theirs:.2e}), variance {:.2e}, {} sweeps",
        report.variance("x").unwrap(),
        report.sweeps
    );
    assert!(ours < theirs);
}

/// The record diverges, and keeps its seventh sweep. With more damping the run converges, to a tenth
/// of that error, and to the same place from any damping that does.
#[test]
fn sparse_gradient() {
    let Some(arrays) = oracle::run("sparse_gradient") else {
        return;
    };
    let y = &arrays["y"];
    let n = y.data.len();
    let sparse = GaussBernoulli::new(0.04, 0.0, 1.0).unwrap().shaped([1, n]);
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> (branch(likelihood(0.01, y)) + (branch(Gradient::periodic()) + sparse >> var("z"))))
    .build()
    .unwrap();
    let run = |damping: f64| {
        let engine = ExpectationPropagation.on(&model).unwrap().damping(damping);
        let report = engine
            .max_sweeps(1000)
            .tolerance(1e-8)
            .run(&mut ())
            .unwrap();
        assert!(report.termination.is_converged(), "{}", report.termination);
        report
    };
    let (report, slower) = (run(0.3), run(0.6));
    let truth = &arrays["true_x"].data;
    let ours = common::mse(report.mean("x").unwrap(), truth);
    let theirs = common::mse(&arrays["r_x"].data, truth);
    println!(
        "sparse_gradient: error {ours:.2e} (recorded {theirs:.2e}), variance {:.2e}, {} sweeps",
        report.variance("x").unwrap(),
        report.sweeps
    );
    assert!(ours < 0.1 * theirs);
    assert!(gap(slower.mean("x").unwrap(), report.mean("x").unwrap()) < 1e-5);
}

/// The numbers of a signal: a complex one is recorded as all real parts, then all imaginary parts.
fn signal(spec: &SignalSpec, v: &Value) -> Vec<f64> {
    let all = floats(v);
    if spec.element == Element::Real {
        return all;
    }
    let (re, im) = all.split_at(all.len() / 2);
    re.iter().zip(im).flat_map(|(re, im)| [*re, *im]).collect()
}

fn sizes(v: &Value) -> Vec<usize> {
    let size = |n: &Value| usize::try_from(n.as_u64().unwrap()).unwrap();
    v.as_array().unwrap().iter().map(size).collect()
}

/// A record's channel; `None` for those that are tested elsewhere.
fn recorded_operator(record: &Value) -> Option<Box<dyn Factor>> {
    fn made(operator: Result<impl LinearOperator, ModelError>) -> Box<dyn Factor> {
        Box::new(Linear::of(operator.unwrap()))
    }
    if record["z_shape"].is_null() {
        return None;
    }
    let shape = sizes(&record["z_shape"]);
    let input = SignalSpec::real(shape.clone());
    let params = &record["params"];
    let convolution = |filter: Filter| made(CircularConvolution::new(&input, &filter));
    Some(match record["cls"].as_str().unwrap() {
        "DFTChannel" => made(UnitaryDft::new(&input)),
        "GradientChannel" => made(FiniteDifference::new(&input, Boundary::Periodic)),
        "LaplacianChannel" => convolution(Filter::Laplacian),
        "Blur1DChannel" | "Blur2DChannel" => {
            convolution(Filter::GaussianBlur(floats(&params["sigma"])))
        }
        // theirs is a correlation: the kernel runs backwards
        "ConvChannel" => {
            let mut entries = floats(&record["data"]["filter"]);
            entries[1..].reverse();
            convolution(Filter::Kernel { shape, entries })
        }
        // D1 (x_{n+1} - x_n) + D2 (x_{n+1} - 2 x_n + x_{n-1})
        "DifferentialChannel" => {
            let (d1, d2) = (floats(&params["D1"])[0], floats(&params["D2"])[0]);
            let entries = vec![d1 + d2, -d1 - 2.0 * d2, d2];
            convolution(Filter::CentredKernel {
                shape: vec![3],
                entries,
            })
        }
        "ReshapeChannel" => {
            let made = Reshape::to(sizes(&record["x_shape"]));
            Box::new(made)
        }
        _ => return None,
    })
}

#[test]
fn reference_values_of_structured_channels() {
    let Some(all) = oracle::json("modules_ep.json") else {
        return;
    };
    let (mut seen, mut worst) = (0, 0.0_f64);
    for record in all["linear"].as_array().unwrap() {
        let Some(factor) = recorded_operator(record) else {
            continue;
        };
        seen += 1;
        let inputs = [SignalSpec::real(sizes(&record["z_shape"]))];
        let bound = factor.bind(&inputs).unwrap();
        let factor = bound.as_deref().unwrap_or(factor.as_ref());
        let outputs = factor.output_specs(&inputs).unwrap();
        let specs = [inputs[0].clone(), outputs[0].clone()];
        let messages = ["z", "x"].map(|end| {
            let spec = &specs[usize::from(end == "x")];
            let mut m = Gaussian::flat(spec);
            let a = record[format!("a{end}")].as_f64().unwrap();
            m.precision.set_scalar(a);
            m.linear = signal(spec, &record[format!("b{end}")]);
            m
        });
        let mut site = Site::new(factor, &specs, messages.to_vec());
        let truth = &record["truth"];
        let mut errors = Vec::new();
        for (port, end) in ["z", "x"].iter().enumerate() {
            let moments = site.moments(port).unwrap();
            let mean = signal(&specs[port], &truth[format!("r{end}")]);
            let variance = truth[format!("v{end}")].as_f64().unwrap();
            let scale = common::mean_square(&mean).sqrt().max(variance.sqrt());
            errors.push(common::mse(&moments.mean, &mean).sqrt() / scale);
            errors.push((moments.average_variance() / variance - 1.0).abs());
        }
        let exact = truth["A_sum"].as_f64().unwrap();
        let found = site.log_partition().unwrap();
        errors.push((found - exact).abs() / exact.abs().max(1.0));
        let largest = errors.iter().fold(0.0_f64, |m, e| m.max(*e));
        // some records have precisions of 1e-6 on a mode that the output does not see
        assert!(largest < 1e-9, "{errors:?} {record}");
        worst = worst.max(largest);
    }
    println!("{seen} records of structured channels, worst error {worst:.1e}");
    assert!(seen >= 26, "{seen} records");
}
