//! Scalar laws against reference values: the project's own (`oracle/data/laws.json`, 50-digit integration
//! of the defining integrals), and those in the directory `TREEAMP_ORACLE` if it is set. Every record is compared, or its law is
//! listed here.

use std::collections::BTreeMap;

use crate::common::{laws, oracle};
use serde_json::Value;
use treeamp::scalar::Tilt;

/// Largest error relative to |A|, max(|r|, sqrt v) and v.
const TOLERANCE: f64 = 1e-9;
/// What a log-partition is allowed besides: four roundings of a partition function near one, whose logarithm is near zero.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// Below it a log-partition of 50 digits is the zero of a law that is not tilted, and its error is absolute.
const UNTILTED: f64 = 1e-40;
/// The same for laws in closed form, and for those by quadrature, in the second set of external values.
const CLOSED: f64 = 1e-10;
const QUADRATURE: f64 = 1e-8;

/// Laws of that set that are integrated numerically.
const INTEGRATED: [&str; 9] = [
    "gamma",
    "negative_binomial",
    "spike_student_t",
    "student_t",
    "regularised_horseshoe",
    "student_t_noise",
    "logistic",
    "poisson",
    "poisson_softplus",
];

/// Records that have a test of their own: complex laws, a channel without a scalar view, a penalty.
const ELSEWHERE: [(&str, &str); 4] = [
    ("ModulusLikelihood", "laws/complex.rs"),
    ("PhaseLikelihood", "laws/complex.rs"),
    ("GaussianChannel", "models/factors.rs"),
    ("MAP_L1NormPrior", "laws/penalties.rs"),
];
/// Laws of records that are not in the catalogue. One that is gets compared, here or not.
const NOT_HERE: [(&str, &str); 0] = [];

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

/// The worst error of a record, or `None` if its law is not in the catalogue. A record that cannot be compared is an error.
fn check(record: &Value, tolerance: f64) -> Option<f64> {
    let cls = record["cls"].as_str().unwrap().split('(').next().unwrap();
    let group = record["group"].as_str().unwrap();
    let mut params = record["params"].clone();
    // cells are told by their ends
    if cls == "quantised" {
        let ends = ["lo", "hi"].map(|end| record["point"][end].as_f64());
        params["edges"] = ends.into_iter().flatten().collect::<Vec<f64>>().into();
    }
    let params = &params;
    let factor = laws::made(cls, group, params)?;
    let view = || {
        factor
            .scalar()
            .unwrap_or_else(|| panic!("{cls}: no scalar law"))
    };
    let at = |name: &str| record["point"][name].as_f64().unwrap();
    let tilt = |a: &str, b: &str| Tilt { a: at(a), b: at(b) };
    let truth = |name: &str| {
        let value = |name: &str| record["truth"][name].as_f64();
        // a circular law is seen on the real axis
        let plane = || value("r_re").unwrap().hypot(value("r_im").unwrap());
        value(name).unwrap_or_else(plane)
    };
    let log_error = |got: f64| {
        let error = ((got - truth("A")).abs() - ROUNDING).max(0.0);
        let is_tilted = truth("A").abs() > UNTILTED;
        if is_tilted {
            error / truth("A").abs()
        } else {
            error
        }
    };
    let pair = |r: &str, v: &str, mean: f64, variance: f64| {
        mean_error(mean, truth(r), truth(v)).max(variance_error(variance, truth(v)))
    };
    let got = match group {
        "prior" => {
            let t = view().prior(tilt("a", "b")).unwrap();
            vec![t.log_z, t.mean, t.variance]
        }
        "likelihood" => {
            let law = laws::observed(cls, params)?;
            let law = law
                .scalar()
                .unwrap_or_else(|| panic!("{cls}: no scalar law"));
            let (y, tilt) = match cls {
                "quantised" => {
                    let cell = u8::from(record["point"]["lo"].is_number());
                    (f64::from(cell), tilt("a", "b"))
                }
                "rician_modulus" => {
                    let b = at("b_re").hypot(at("b_im"));
                    (at("y"), Tilt { a: at("a"), b })
                }
                _ => (at("y"), tilt("a", "b")),
            };
            let t = law.likelihood(y, tilt).unwrap();
            vec![t.log_z, t.mean, t.variance]
        }
        "channel" => {
            let t = view().channel(tilt("az", "bz"), tilt("ax", "bx")).unwrap();
            vec![t.log_z, t.mean_z, t.variance_z, t.mean_x, t.variance_x]
        }
        other => panic!("{cls}: records of {other}"),
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
    let (mut elsewhere, mut absent) = (BTreeMap::new(), BTreeMap::new());
    for record in data["records"].as_array().unwrap() {
        let cls = record["cls"].as_str().unwrap();
        let name = cls.split('(').next().unwrap();
        if ELSEWHERE.iter().any(|(class, _)| *class == name) {
            *elsewhere.entry(name).or_insert(0) += 1;
            continue;
        }
        let Some(error) = check(record, tolerance(cls)) else {
            let group = record["group"].as_str().unwrap();
            let listed = NOT_HERE.contains(&(group, name));
            assert!(listed, "no {group} `{name}` in the catalogue: {record}");
            *absent.entry(name).or_insert(0) += 1;
            continue;
        };
        let entry = worst.entry(cls.to_owned()).or_insert((0, 0.0));
        // a NaN must stay
        *entry = (entry.0 + 1, if error <= entry.1 { entry.1 } else { error });
    }
    println!("compared elsewhere: {elsewhere:?}\nnot in the catalogue: {absent:?}");
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
        assert_eq!(data["records"].as_array().unwrap().len(), 671);
        check_all(&data, of_second_set);
    }
}
