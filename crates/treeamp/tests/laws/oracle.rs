//! Scalar laws against reference values: the project's own (`oracle/data/laws.json`, 50-digit integration
//! of the defining integrals), and those in the directory `TREEAMP_ORACLE` if it is set.

use std::collections::BTreeMap;

use crate::common::oracle;
use serde_json::Value;
use treeamp::catalog::{Argument, Arguments, ParameterKind, Role, module};
use treeamp::factor::Factor;
use treeamp::scalar::Tilt;

/// Largest error relative to max(|A|, 1), max(|r|, sqrt v) and v.
const TOLERANCE: f64 = 1e-9;
/// The same for laws in closed form, and for those by quadrature, in the second set of external values.
const CLOSED: f64 = 1e-10;
const QUADRATURE: f64 = 1e-8;

/// Laws of that set that are integrated numerically.
const INTEGRATED: [&str; 6] = [
    "student_t",
    "regularised_horseshoe",
    "student_t_noise",
    "logistic",
    "poisson",
    "poisson_softplus",
];

/// Names of tramp, in records, and those of the catalogue.
const RENAMED: [(&str, &str); 10] = [
    ("sgn", "sign"),
    ("gaussian_likelihood", "gaussian_noise"),
    ("var", "variance"),
    ("p_pos", "p_plus"),
    ("probs", "weights"),
    ("vars", "variances"),
    ("xmin", "lower"),
    ("xmax", "upper"),
    ("l", "knee"),
    ("L", "knee"),
];

fn renamed(name: &str) -> &str {
    let found = RENAMED.iter().find(|(old, _)| *old == name);
    found.map_or(name, |(_, new)| new)
}

/// The name in the catalogue of a class: `GaussBernoulliPrior` is `gauss_bernoulli`, and what is no class is a name.
fn catalogue_name(cls: &str) -> String {
    let mut name = String::new();
    for c in cls.chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    let stem = ["_prior", "_likelihood", "_channel"]
        .iter()
        .fold(renamed(&name), |name, end| name.trim_end_matches(end));
    renamed(stem).to_owned()
}

/// The module of a record with its parameters, or `None` if it is not here.
fn made(record: &Value) -> Option<std::sync::Arc<dyn Factor>> {
    let cls = record["cls"].as_str().unwrap().split('(').next().unwrap();
    let module = module(&catalogue_name(cls))?;
    // one name may be a prior there and a likelihood here
    if (record["group"] == "prior") != (module.role == Role::Prior) {
        return None;
    }
    let mut arguments = Arguments::new();
    if module.parameter("size").is_some() {
        arguments = arguments.sized([1]);
    }
    // an interval whose ends are not told has none
    if module.name == "interval" {
        let ends = [
            ("xmin", "lower", f64::NEG_INFINITY),
            ("xmax", "upper", f64::INFINITY),
        ];
        for (key, name, end) in ends {
            if record["params"].get(key).is_none() {
                arguments = arguments.with(name, end);
            }
        }
    }
    for (name, value) in record["params"].as_object().into_iter().flatten() {
        let parameter = module.parameter(renamed(name))?;
        let value = match (parameter.kind, value) {
            (ParameterKind::Number, x) => Argument::Number(x.as_f64()?),
            (ParameterKind::Numbers, list) => {
                let list = list.as_array()?.iter();
                Argument::Numbers(list.map(|x| x.as_f64().unwrap()).collect())
            }
            _ => return None,
        };
        arguments = arguments.with(parameter.name, value);
    }
    Some(
        module
            .make(&arguments)
            .unwrap_or_else(|e| panic!("{record}: {e}")),
    )
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
fn check(record: &Value, tolerance: f64) -> Option<f64> {
    let cls = record["cls"].as_str().unwrap().split('(').next().unwrap();
    let params = &record["params"];
    let factor = made(record)?;
    let at = |name: &str| record["point"][name].as_f64().unwrap();
    let tilt = |a: &str, b: &str| Tilt { a: at(a), b: at(b) };
    let truth = |name: &str| record["truth"][name].as_f64().unwrap();
    let log_error = |got: f64| (got - truth("A")).abs() / truth("A").abs().max(1.0);
    let pair = |r: &str, v: &str, mean: f64, variance: f64| {
        mean_error(mean, truth(r), truth(v)).max(variance_error(variance, truth(v)))
    };
    let got = match record["group"].as_str().unwrap() {
        "prior" => {
            let t = factor.scalar()?.prior(tilt("a", "b"))?;
            vec![t.log_z, t.mean, t.variance]
        }
        "likelihood"
            if record["point"].get("y").is_some_and(Value::is_number)
                && record["point"].get("a").is_some()
                && record["point"].get("b").is_some() =>
        {
            let law = factor.observe_unspecified().unwrap()?;
            let t = law.scalar()?.likelihood(at("y"), tilt("a", "b"))?;
            vec![t.log_z, t.mean, t.variance]
        }
        "channel" => {
            let t = factor
                .scalar()?
                .channel(tilt("az", "bz"), tilt("ax", "bx"))?;
            vec![t.log_z, t.mean_z, t.variance_z, t.mean_x, t.variance_x]
        }
        _ => return None,
    };
    if got.iter().any(|g| !g.is_finite()) {
        println!("{record}\n  gives {got:?}");
        return Some(f64::INFINITY);
    }
    let moments = if got.len() == 3 {
        pair("r", "v", got[1], got[2])
    } else {
        pair("rz", "vz", got[1], got[2]).max(pair("rx", "vx", got[3], got[4]))
    };
    let error = log_error(got[0]).max(moments);
    if !(error < tolerance) {
        println!(
            "{error:.1e}: {cls} {params} {} truth {}\n   gives {got:?}",
            record["point"], record["truth"]
        );
    }
    Some(error)
}

fn check_all(data: &Value, tolerance: impl Fn(&str) -> f64) {
    let mut worst: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for record in data["records"].as_array().unwrap() {
        let cls = record["cls"].as_str().unwrap();
        if let Some(error) = check(record, tolerance(cls)) {
            let entry = worst.entry(cls.to_owned()).or_insert((0, 0.0));
            // a NaN must stay
            *entry = (entry.0 + 1, if error <= entry.1 { entry.1 } else { error });
        }
    }
    for (cls, (count, error)) in &worst {
        println!("{cls:45} {count:4} points, worst error {error:.1e}");
    }
    assert!(!worst.is_empty(), "no records");
    for (cls, (_, error)) in &worst {
        assert!(*error < tolerance(cls), "{cls} misses {:e}", tolerance(cls));
    }
}

#[test]
fn own_reference_values() {
    check_all(&oracle::own("laws.json"), |_| TOLERANCE);
}

#[test]
fn external_reference_values() {
    if let Some(data) = oracle::json("modules_ep.json") {
        check_all(&data, |_| TOLERANCE);
    }
}

fn of_second_set(cls: &str) -> f64 {
    if INTEGRATED.contains(&cls) {
        QUADRATURE
    } else {
        CLOSED
    }
}

#[test]
fn own_values_of_second_set() {
    check_all(&oracle::own("laws2.json"), of_second_set);
}

#[test]
fn external_values_of_second_set() {
    if let Some(data) = oracle::json("laws2.json") {
        check_all(&data, of_second_set);
    }
}
