//! Penalties: their proximal maps against their definition and reference values, and what they refuse.

use crate::common::oracle::floats;
use crate::common::{self, chain, infer, normals, oracle, seen};
use treeamp::extend::{Gaussian, ScalarPenalty, Tilted};
use treeamp::factor::Site;
use treeamp::prelude::*;
use treeamp::separable::Penalty;

/// The least of $E(x) + \frac12 a\|x\|^2 - b^T x$ over points around the mode, and that at the mode.
fn check_mode<P: Penalty>(law: &P, shape: &[usize], a: f64, b: &[f64]) {
    let mut mode = vec![0.0; b.len()];
    let v = law.proximal(shape, a, b, &mut mode);
    let cost = |x: &[f64]| -> f64 {
        let tilt = x
            .iter()
            .zip(b)
            .map(|(x, b)| 0.5 * a * x * x - b * x)
            .sum::<f64>();
        law.energy(shape, x) + tilt
    };
    let best = cost(&mode);
    assert!(best.is_finite(), "{} at {a} {b:?}", law.name());
    // the energy forgives a constraint 1e-6 of the scale of x
    let far = mode.iter().fold(1.0, |s: f64, x| s.max(x.abs()));
    let slack = 1e-12 * best.abs().max(1.0) + 2e-6 * far * b.iter().map(|b| b.abs()).sum::<f64>();
    for seed in 0..200 {
        let step = 10_f64.powi(-(seed % 6));
        let directions = normals(b.len(), u64::try_from(seed).unwrap());
        let x: Vec<f64> = mode
            .iter()
            .zip(&directions)
            .map(|(x, d)| x + step * d)
            .collect();
        assert!(cost(&x) >= best - slack, "{} at {a} {b:?}", law.name());
    }
    // v is the average slope, by differences
    let h = 1e-6 * b.iter().fold(1.0, |s: f64, b| s.max(b.abs()));
    let slope = |i: usize| {
        let side = |s: f64| {
            let (mut b, mut out) = (b.to_vec(), vec![0.0; b.len()]);
            b[i] += s * h;
            law.proximal(shape, a, &b, &mut out);
            out[i]
        };
        (side(1.0) - side(-1.0)) / (2.0 * h)
    };
    let trace = (0..b.len()).map(slope).sum::<f64>() / b.len() as f64;
    // differences err by 1e-16 over their width of 1e-6
    assert!(
        (v - trace).abs() <= 1e-7 / a,
        "{}: {v} is not {trace}",
        law.name()
    );
}

/// The envelope is what its definition says, and its derivative in b is the mode.
fn check_factor<P: Penalty>(law: &P, shape: &[usize], a: f64, b: &[f64]) {
    for factor in [law.clone().shaped(shape.to_vec())] {
        let spec = SignalSpec::real(shape.to_vec());
        let envelope = |b: &[f64]| {
            let mut message = Gaussian::flat(&spec);
            message.precision.set_scalar(a);
            message.linear.copy_from_slice(b);
            let mut site = Site::new(&factor, std::slice::from_ref(&spec), vec![message]);
            let mode = site.mode(0).unwrap();
            (site.envelope().unwrap(), mode.mean)
        };
        let ((value, excess), mode) = envelope(b);
        let own = b.iter().map(|b| b * b).sum::<f64>() / (2.0 * a);
        assert!((value - own - excess).abs() < 1e-10 * own.max(1.0));
        let h = 1e-5;
        for (i, r) in mode.iter().enumerate() {
            let side = |s: f64| {
                let mut b = b.to_vec();
                b[i] += s * h;
                envelope(&b).0.0
            };
            let slope = (side(1.0) - side(-1.0)) / (2.0 * h);
            // the second derivative is at most 1/a, and jumps
            assert!(
                (slope - r).abs() < 2.0 * h / a + 1e-9 * own.max(1.0),
                "{}",
                law.name()
            );
        }
    }
}

macro_rules! conformance {
    ($($name:ident $(($module:path))? => $law:expr, $shape:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let law = $law.unwrap();
                for a in [0.01, 0.3, 1.0, 40.0] {
                    for (seed, scale) in [(1, 0.1), (2, 1.0), (3, 10.0)] {
                        let b: Vec<f64> = normals(6, seed).iter().map(|b| scale * b).collect();
                        check_mode(&law, &$shape, a, &b);
                        check_factor(&law, &$shape, a, &b);
                    }
                }
            }
        )*
    };
}

treeamp::for_each_penalty!(conformance);

#[test]
fn reference_values_of_both_norms() {
    let Some(file) = oracle::json("modules_ep.json") else {
        return;
    };
    let mut seen = 0;
    for record in file["records"].as_array().unwrap() {
        if record["cls"] != "MAP_L1NormPrior" {
            continue;
        }
        let number = |x: &serde_json::Value| x.as_f64().unwrap();
        let law = L1::new(number(&record["params"]["gamma"])).unwrap();
        let point = &record["point"];
        let t = prox(&law, number(&point["a"]), number(&point["b"]));
        let truth = &record["truth"];
        for (got, expected) in [(t.log_z, "A"), (t.mean, "r"), (t.variance, "v")] {
            let expected = number(&truth[expected]);
            assert!(
                (got - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                "{record}"
            );
        }
        seen += 1;
    }
    assert!(seen > 0);
    for record in file["MAP_L21NormPrior"].as_array().unwrap() {
        let (b, r, v) = (
            floats(&record["bx"]),
            floats(&record["truth"]["r"]),
            floats(&record["truth"]["v"]),
        );
        let d = usize::try_from(record["d"].as_u64().unwrap()).unwrap();
        let (a, strength) = (
            record["a"].as_f64().unwrap(),
            record["gamma"].as_f64().unwrap(),
        );
        let law = L21::new(strength).unwrap();
        let (mut mode, shape) = (vec![0.0; b.len()], [d, b.len() / d]);
        let curvature = law.proximal(&shape, a, &b, &mut mode);
        for (got, expected) in mode.iter().zip(&r) {
            assert!((got - expected).abs() <= 1e-12 * expected.abs().max(1.0));
        }
        let mean = v.iter().sum::<f64>() / v.len() as f64;
        assert!(
            (curvature - mean).abs() <= 1e-12 / a,
            "{curvature} is not {mean}"
        );
    }
}

#[test]
fn groups_of_one_are_the_l1_norm() {
    let (b, mut one, mut other) = (normals(5, 1), vec![0.0; 5], vec![0.0; 5]);
    let v = L21::new(0.4).unwrap().proximal(&[1, 5], 0.7, &b, &mut one);
    let u = Penalty::proximal(&L1::new(0.4).unwrap(), &[5], 0.7, &b, &mut other);
    assert!((v - u).abs() < 1e-15);
    assert!(one.iter().zip(&other).all(|(x, y)| (x - y).abs() < 1e-15));
}

#[test]
fn groups_along_any_axis_are_those_along_the_first() {
    // entry (i, j, k) of a 2 x 3 x 4 array, and its place when axis 1 comes first
    let places = (0..24).map(|n| (n / 4 % 3) * 8 + (n / 12) * 4 + n % 4);
    let (b, mut moved) = (normals(24, 3), vec![0.0; 24]);
    places.clone().zip(&b).for_each(|(at, b)| moved[at] = *b);
    let (mut mode, mut first) = (vec![0.0; 24], vec![0.0; 24]);
    let (along, other) = (L21::along(1, 1.1).unwrap(), L21::new(1.1).unwrap());
    let v = along.proximal(&[2, 3, 4], 0.7, &b, &mut mode);
    let u = other.proximal(&[3, 2, 4], 0.7, &moved, &mut first);
    assert!((v - u).abs() < 1e-15, "{v} is not {u}");
    assert!(places.zip(&mode).all(|(at, r)| *r == first[at]));
    let energies = (
        along.energy(&[2, 3, 4], &b),
        other.energy(&[3, 2, 4], &moved),
    );
    // sums in another order: rounding only
    assert!((energies.0 - energies.1).abs() < 1e-14 * energies.1);
    assert!(along.check_shape(&[5]).is_err() && along.check_shape(&[5, 1]).is_ok());
}

#[test]
fn parameters_out_of_range_are_refused_with_their_names() {
    for strength in [-1.0, f64::NAN, f64::INFINITY] {
        let errors = [
            L1::new(strength).unwrap_err(),
            L21::new(strength).unwrap_err(),
            Quadratic::new(strength, 0.0).unwrap_err(),
        ];
        for error in errors {
            assert!(
                matches!(
                    error,
                    ModelError::Parameter {
                        name: "strength",
                        ..
                    }
                ),
                "{error}"
            );
        }
    }
    assert_eq!(
        L1::new(-1.0).unwrap_err().to_string(),
        "l1: parameter `strength` must be not negative and finite, got -1"
    );
    assert!(BoxConstraint::new(1.0, 1.0).is_err());
    assert!(BoxConstraint::new(f64::NAN, 1.0).is_err());
    assert!(Quadratic::new(1.0, f64::NAN).is_err());
}

#[test]
fn a_penalty_is_refused_on_what_it_cannot_take() {
    let complex = source(CircularGaussian::new(1.0).unwrap().iid(3)) >> var("x");
    let error = (complex >> L1::new(1.0).unwrap().at_end())
        .build()
        .unwrap_err();
    assert!(matches!(error, ModelError::Shape { .. }), "{error}");
    let error = (source(L21::new(1.0).unwrap().shaped([])) >> var("x"))
        .build()
        .unwrap_err();
    assert!(matches!(error, ModelError::Shape { .. }), "{error}");
}

fn prox(law: &impl ScalarPenalty, a: f64, b: f64) -> Tilted {
    ScalarPenalty::proximal(law, a, b)
}

fn huber(slope: f64) -> CustomPenalty {
    // x²/2 up to 1, |x| - 1/2 beyond
    CustomPenalty::new(
        "huber",
        |t, u: f64| {
            if u.abs() <= 1.0 + t {
                u / (1.0 + t)
            } else {
                u - t * u.signum()
            }
        },
        move |t, u: f64| {
            if u.abs() <= 1.0 + t {
                slope / (1.0 + t)
            } else {
                1.0
            }
        },
        |x: f64| {
            if x.abs() <= 1.0 {
                0.5 * x * x
            } else {
                x.abs() - 0.5
            }
        },
    )
}

#[test]
fn a_penalty_of_ones_own_is_checked_on_request() {
    huber(1.0).check().unwrap();
    let error = huber(0.9).check().unwrap_err();
    assert!(matches!(error, ModelError::Derivative { .. }), "{error}");
    assert!(error.to_string().contains("`huber`"));
    let wrong = CustomPenalty::new("shrunk", |_, u| 0.5 * u, |_, _| 0.5, |x| 0.5 * x * x);
    let error = wrong.check().unwrap_err();
    assert!(matches!(error, ModelError::Proximal { .. }), "{error}");
    // a constraint that its proximal map does not keep
    let inside = |x: f64| if x.abs() <= 1.0 { 0.0 } else { f64::INFINITY };
    let wide = |_: f64, u: f64| u.clamp(-2.0, 2.0);
    let outside = CustomPenalty::new("outside", wide, |_, u| f64::from(u.abs() < 2.0), inside);
    let error = outside.check().unwrap_err();
    assert!(
        matches!(error, ModelError::ProximalEnergy { .. }),
        "{error}"
    );
    let soft = |t: f64, u: f64| u.signum() * (u.abs() - t).max(0.0);
    let own = CustomPenalty::new("own", soft, |t, u| f64::from(u.abs() > t), f64::abs);
    own.check().unwrap();
    let l1 = L1::new(1.0).unwrap();
    for (a, b) in [(0.5, 0.3), (2.0, -3.0), (40.0, 7.0)] {
        let (x, y) = (prox(&own, a, b), prox(&l1, a, b));
        assert!((x.mean - y.mean).abs() < 1e-12 && (x.log_z - y.log_z).abs() < 1e-12);
        assert!((x.variance - y.variance).abs() < 1e-15);
    }
}

/// Hard thresholds jump, and the map of $-x^2/4$ rises faster than its argument: neither is that of a convex energy, and both pass as
/// what they are. Numbers of many digits are shown with an exponent.
#[test]
fn energies_that_are_not_convex_must_say_so() {
    let cut = |t: f64, u: f64| if u * u > 2.0 * t { u } else { 0.0 };
    let slope = |t: f64, u: f64| f64::from(u * u > 2.0 * t);
    let count = |x: f64| f64::from(x != 0.0);
    let hard = CustomPenalty::new("l0", cut, slope, count);
    let error = hard.check().unwrap_err();
    assert!(matches!(error, ModelError::NotConvex { .. }), "{error}");
    assert!(error.to_string().contains("`l0`"), "{error}");
    hard.not_convex().check().unwrap();
    let error = L1::new(-1e-300).unwrap_err().to_string();
    assert!(error.contains("-1e-300"), "{error}");
}

/// Kinks at a scale of 1e-3 or 100: one reach does not see them all.
#[test]
fn a_check_looks_at_several_scales_or_at_a_given_one() {
    let kinked = |at: f64| {
        let soft = |t: f64, u: f64| u.signum() * (u.abs() - t).max(0.0);
        // wrong beyond the kink
        let slope = move |t: f64, u: f64| f64::from(u.abs() > t) + f64::from(u.abs() > at);
        CustomPenalty::new("kinked", soft, slope, f64::abs)
    };
    kinked(200.0).check_within(10.0).unwrap();
    for at in [5.0, 200.0] {
        assert!(kinked(at).check().is_err(), "{at}");
    }
    assert!(kinked(5e4).check_within(1e5).is_err());
    assert!(kinked(5.0).check_within(-1.0).is_err());
    huber(1.0).check_within(1e-3).unwrap();
    assert!(huber(1.0).with_scale(0.0).is_err());
}

/// Cold, a penalty of one's own says what its scale is: expectation propagation starts, and gives what the catalogue's gives.
#[test]
fn a_penalty_of_ones_own_starts_cold() {
    let soft = |t: f64, u: f64| u.signum() * (u.abs() - 3.0 * t).max(0.0);
    let slope = |t: f64, u: f64| f64::from(u.abs() > 3.0 * t);
    let own = CustomPenalty::new("own", soft, slope, |x: f64| 3.0 * x.abs());
    let w = common::gaussian_matrix(30, 20, 1);
    let y = normals(30, 2);
    let tree = |prior: Box<dyn Fn() -> Fragment>| {
        let like = seen(0.5, &y);
        let model = chain(prior(), Linear::new(w.clone()).unwrap(), like);
        model.build().unwrap()
    };
    let mean = |tree: &Tree| {
        let report = infer(tree);
        assert!(report.termination.is_converged(), "{}", report.termination);
        report.mean("x").unwrap().to_vec()
    };
    let given = own.clone().with_scale(2.0).unwrap();
    let l1 = mean(&tree(Box::new(|| source(L1::new(3.0).unwrap().iid(20)))));
    for law in [own, given] {
        let x = mean(&tree(Box::new(move || source(law.clone().iid(20)))));
        // both settle to 1e-6
        assert!(common::relative_gap(&x, &l1) < 1e-5);
    }
}
