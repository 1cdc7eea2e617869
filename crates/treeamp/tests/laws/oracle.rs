//! Scalar laws against reference values: the project's own (`oracle/data/laws.json`, 50-digit integration
//! of the defining integrals), and those in the directory `TREEAMP_ORACLE` if it is set.

use std::collections::BTreeMap;

use crate::common::oracle;
use serde_json::Value;
use treeamp::catalog::channels::{Activation, PiecewiseLinear};
use treeamp::catalog::likelihoods::GaussianLikelihood;
use treeamp::catalog::priors::{
    Binary, Exponential, GaussBernoulli, GaussianMixture, GaussianPrior, Interval, Positive,
};
use treeamp::scalar::{ScalarChannel, ScalarLikelihood, ScalarPrior, Tilt};

/// Largest error relative to max(|A|, 1), max(|r|, sqrt v) and v.
const TOLERANCE: f64 = 1e-9;

type Params<'a> = &'a dyn Fn(&[&str], f64) -> f64;

fn prior(
    cls: &str,
    p: Params<'_>,
    lists: &dyn Fn(&str) -> Vec<f64>,
    a: f64,
    b: f64,
) -> Option<[f64; 3]> {
    let t = match cls {
        "GaussianPrior" => GaussianPrior::new(p(&["mean"], 0.0), p(&["var"], 1.0))
            .unwrap()
            .tilted(a, b),
        "GaussBernoulliPrior" => {
            GaussBernoulli::new(p(&["rho"], 0.5), p(&["mean"], 0.0), p(&["var"], 1.0))
                .unwrap()
                .tilted(a, b)
        }
        "BinaryPrior" => Binary::new(p(&["p_pos"], 0.5)).unwrap().tilted(a, b),
        "ExponentialPrior" => Exponential::new(p(&["mean"], 1.0)).unwrap().tilted(a, b),
        "PositivePrior" => Positive::new(p(&["mean"], 0.0), p(&["var"], 1.0))
            .unwrap()
            .tilted(a, b),
        "GaussianMixturePrior" => {
            GaussianMixture::new(&lists("probs"), &lists("means"), &lists("vars"))
                .unwrap()
                .tilted(a, b)
        }
        "IntervalPrior" => {
            let (low, high) = (p(&["xmin"], f64::NEG_INFINITY), p(&["xmax"], f64::INFINITY));
            Interval::new(low, high, p(&["mean"], 0.0), p(&["var"], 1.0))
                .unwrap()
                .tilted(a, b)
        }
        _ => return None,
    };
    Some([t.log_z, t.mean, t.variance])
}

fn piecewise(cls: &str, p: Params<'_>) -> Option<PiecewiseLinear> {
    Some(
        match cls
            .trim_end_matches("Likelihood")
            .trim_end_matches("Channel")
        {
            "Sgn" => PiecewiseLinear::sign(),
            "Abs" => PiecewiseLinear::abs(),
            "AsymmetricAbs" => PiecewiseLinear::asymmetric_abs(p(&["shift"], 0.0)).unwrap(),
            "Relu" => PiecewiseLinear::relu(),
            "LeakyRelu" => PiecewiseLinear::leaky_relu(p(&["slope"], 0.1)).unwrap(),
            "HardTanh" => PiecewiseLinear::hard_tanh(),
            "HardSigmoid" => PiecewiseLinear::hard_sigmoid(p(&["l", "L"], 2.5)).unwrap(),
            "SymmetricDoor" => PiecewiseLinear::symmetric_door(p(&["width"], 1.0)).unwrap(),
            _ => return None,
        },
    )
}

fn activation(cls: &str) -> Option<Activation> {
    Some(
        match cls
            .trim_end_matches("Likelihood")
            .trim_end_matches("Channel")
        {
            "Tanh" => Activation::tanh(),
            "Sigmoid" => Activation::sigmoid(),
            "Softplus" => Activation::softplus(),
            _ => return None,
        },
    )
}

fn likelihood(cls: &str, p: Params<'_>, y: f64, a: f64, b: f64) -> Option<[f64; 3]> {
    let t = if cls == "GaussianLikelihood" {
        GaussianLikelihood::new(p(&["var"], 1.0))
            .unwrap()
            .tilted(y, a, b)
    } else if let Some(law) = piecewise(cls, p) {
        law.likelihood()?.tilted(y, a, b)
    } else {
        activation(cls)?.likelihood()?.tilted(y, a, b)
    };
    Some([t.log_z, t.mean, t.variance])
}

fn channel(cls: &str, p: Params<'_>, z: Tilt, x: Tilt) -> Option<[f64; 5]> {
    let t = match piecewise(cls, p) {
        Some(law) => law.tilted(z, x),
        None => activation(cls)?.tilted(z, x),
    };
    Some([t.log_z, t.mean_z, t.variance_z, t.mean_x, t.variance_x])
}

/// Error of a variance, or zero where the truth is too small to represent.
fn variance_error(got: f64, truth: f64) -> f64 {
    if truth.abs() < 1e-300 && (0.0..1e-290).contains(&got) {
        0.0
    } else {
        (got - truth).abs() / truth
    }
}

fn mean_error(got: f64, truth: f64, variance: f64) -> f64 {
    let error = (got - truth).abs();
    if error == 0.0 {
        0.0
    } else {
        error / truth.abs().max(variance.sqrt())
    }
}

/// The worst error of a record, or `None` if it is about a law that is not here.
fn check(record: &Value) -> Option<f64> {
    let cls = record["cls"].as_str().unwrap().split('(').next().unwrap();
    let params = &record["params"];
    let p = |names: &[&str], default: f64| {
        names
            .iter()
            .find_map(|n| params[*n].as_f64())
            .unwrap_or(default)
    };
    let lists = |name: &str| -> Vec<f64> {
        params[name]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect()
    };
    let at = |name: &str| record["point"][name].as_f64().unwrap();
    let truth = |name: &str| record["truth"][name].as_f64().unwrap();
    let log_error = |got: f64| (got - truth("A")).abs() / truth("A").abs().max(1.0);
    let pair = |r: &str, v: &str, mean: f64, variance: f64| {
        mean_error(mean, truth(r), truth(v)).max(variance_error(variance, truth(v)))
    };
    let got = match record["group"].as_str().unwrap() {
        "prior" => prior(cls, &p, &lists, at("a"), at("b"))?.to_vec(),
        "likelihood"
            if record["point"].get("y").is_some_and(Value::is_number)
                && record["point"].get("a").is_some()
                && record["point"].get("b").is_some() =>
        {
            likelihood(cls, &p, at("y"), at("a"), at("b"))?.to_vec()
        }
        "channel" => {
            let (z, x) = (
                Tilt {
                    a: at("az"),
                    b: at("bz"),
                },
                Tilt {
                    a: at("ax"),
                    b: at("bx"),
                },
            );
            channel(cls, &p, z, x)?.to_vec()
        }
        _ => return None,
    };
    assert!(
        got.iter().all(|g| g.is_finite()),
        "{record}\n  gives {got:?}"
    );
    let moments = if got.len() == 3 {
        pair("r", "v", got[1], got[2])
    } else {
        pair("rz", "vz", got[1], got[2]).max(pair("rx", "vx", got[3], got[4]))
    };
    let error = log_error(got[0]).max(moments);
    if !(error < TOLERANCE) {
        println!(
            "{error:.1e}: {cls} {params} {} truth {}\n   gives {got:?}",
            record["point"], record["truth"]
        );
    }
    Some(error)
}

fn check_all(data: &Value) {
    let mut worst: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for record in data["records"].as_array().unwrap() {
        if let Some(error) = check(record) {
            let entry = worst
                .entry(record["cls"].as_str().unwrap().to_owned())
                .or_insert((0, 0.0));
            // a NaN must stay
            *entry = (entry.0 + 1, if error <= entry.1 { entry.1 } else { error });
        }
    }
    for (cls, (count, error)) in &worst {
        println!("{cls:45} {count:4} points, worst error {error:.1e}");
    }
    assert!(!worst.is_empty(), "no records");
    assert!(
        worst.values().all(|(_, error)| *error < TOLERANCE),
        "a law misses {TOLERANCE:e}"
    );
}

#[test]
fn own_reference_values() {
    check_all(&oracle::own("laws.json"));
}

#[test]
fn external_reference_values() {
    if let Some(data) = oracle::json("modules_ep.json") {
        check_all(&data);
    }
}
