//! Every factor with an expectation propagation rule: derivative identities, limits, and the linear
//! and Gaussian channels against reference values.

use crate::common::oracle::floats;
use crate::common::{self, gaussian_matrix, linear, normals, oracle, rotation_matrix, seen};
use treeamp::belief::SignalSpec;
use treeamp::extend::*;
use treeamp::factor::Site;
use treeamp::prelude::*;
use treeamp::testing::factors::check_factor;

fn message(spec: &SignalSpec, precision: f64, linear: &[f64]) -> Gaussian {
    let mut m = Gaussian::flat(spec);
    m.precision.set_scalar(precision);
    m.linear.copy_from_slice(linear);
    m
}

fn specs(factor: &dyn Factor, inputs: &[Vec<usize>]) -> Vec<SignalSpec> {
    let mut specs: Vec<SignalSpec> = inputs.iter().map(|s| SignalSpec::real(s.clone())).collect();
    specs.extend(factor.output_specs(&specs).unwrap());
    specs
}

fn check(factor: &dyn Factor, inputs: &[Vec<usize>], tolerance: f64) {
    let specs = specs(factor, inputs);
    for (seed, scale) in [(1, 1.0), (2, 30.0), (3, 0.05)] {
        let messages: Vec<Gaussian> = specs
            .iter()
            .enumerate()
            .map(|(i, spec)| {
                let a = scale * (1.0 + 0.4 * i as f64);
                let b: Vec<f64> = normals(spec.len(), seed + i as u64)
                    .iter()
                    .map(|b| b * a.sqrt())
                    .collect();
                message(spec, a, &b)
            })
            .collect();
        check_factor(factor, &specs, &messages, tolerance).unwrap();
    }
}

#[test]
fn gaussian_channels_conform() {
    let n = vec![6];
    // A is quadratic: central differences are exact up to rounding
    for rows in [4, 6, 9] {
        check(&linear(rows, 6, 1), &[n.clone()], 1e-6);
        check(&linear(rows, 6, 1), &[vec![6, 3]], 1e-6);
        let deficient = Matrix::from_fn(rows, 6, |i, j| ((i + 1) * (j % 3)) as f64 * 0.2).unwrap();
        check(&Linear::new(deficient).unwrap(), &[n.clone()], 1e-6);
    }
    check(
        &Rotation::new(rotation_matrix(6, 2)).unwrap(),
        &[n.clone()],
        1e-6,
    );
    check(&GaussianNoise::new(0.3).unwrap(), &[n.clone()], 1e-6);
    check(&GaussianNoise::new(0.0).unwrap(), &[n.clone()], 1e-6);
    check(&Bias::new(normals(6, 3)).unwrap(), &[n.clone()], 1e-6);
    check(&Sum::new(1).unwrap(), &[n.clone()], 1e-6);
    check(
        &Sum::new(3).unwrap(),
        &[n.clone(), n.clone(), n.clone()],
        1e-6,
    );
    check(&Duplicate::new(3).unwrap(), &[n], 1e-6);
}

#[test]
fn separable_factors_conform() {
    let n = vec![7];
    check(&GaussianPrior::new(0.3, 2.0).unwrap().iid(7), &[], 1e-6);
    check(
        &GaussBernoulli::new(0.3, 0.5, 2.0).unwrap().iid(7),
        &[],
        1e-5,
    );
    check(&Binary::new(0.3).unwrap().iid(7), &[], 1e-5);
    check(
        &Interval::new(-1.0, 2.0, 0.0, 1.0).unwrap().iid(7),
        &[],
        1e-5,
    );
    let y = vec![0.5; 7];
    check(&seen(0.2, &y), &[n.clone()], 1e-6);
    let abs = PiecewiseLinear::abs()
        .likelihood()
        .unwrap()
        .observed(y)
        .unwrap();
    check(&abs, &[n.clone()], 1e-5);
    check(&PiecewiseLinear::relu(), &[n.clone()], 1e-5);
    check(&PiecewiseLinear::hard_tanh(), &[n.clone()], 1e-5);
    check(&Activation::tanh(), &[n.clone()], 1e-5);
    check(&Activation::softplus(), &[n], 1e-5);
}

/// Second moments: what a module passes on when its input is Gaussian.
#[test]
fn second_moments_follow_from_the_laws() {
    assert!((GaussBernoulli::new(0.3, 1.0, 2.0).unwrap().second_moment() - 0.9).abs() < 1e-14);
    assert!((Binary::new(0.2).unwrap().second_moment() - 1.0).abs() < 1e-14);
    assert!((Exponential::new(2.0).unwrap().second_moment() - 8.0).abs() < 1e-12);
    assert!((ScalarChannel::second_moment(&PiecewiseLinear::relu(), 3.0) - 1.5).abs() < 1e-12);
    assert!((ScalarChannel::second_moment(&PiecewiseLinear::abs(), 3.0) - 3.0).abs() < 1e-12);
    assert!((ScalarChannel::second_moment(&PiecewiseLinear::sign(), 3.0) - 1.0).abs() < 1e-12);
    assert!((GaussianNoise::new(0.5).unwrap().second_moment(2.0) - 2.5).abs() < 1e-15);
    let w = linear(300, 200, 1);
    assert!((w.second_moment(2.0) - 2.0).abs() < 0.1);
}

/// Messages of a factor with one input and one output.
fn pair(factor: &dyn Factor, z: &Gaussian, x: &Gaussian) -> [Gaussian; 2] {
    let specs = [z, x].map(|m| SignalSpec::real([m.len()]));
    let mut site = Site::new(factor, &specs, vec![z.clone(), x.clone()]);
    [0, 1].map(|target| site.message(target).unwrap())
}

/// As the output becomes known exactly, the linear channel's messages tend to those of a pin.
#[test]
fn the_linear_channel_has_a_limit_at_infinite_precision() {
    for (rows, cols) in [(4, 7), (7, 7)] {
        let w = gaussian_matrix(rows, cols, 5);
        let channel = Linear::new(w.clone()).unwrap();
        let specs = specs(&channel, &[vec![cols]]);
        let z = message(&specs[0], 0.7, &normals(cols, 6));
        let mut place = vec![0.0; rows];
        w.apply(&normals(cols, 7), 1, &mut place);
        let pin = message(&specs[1], f64::INFINITY, &place);
        let [to_z, to_x] = pair(&channel, &z, &pin);
        let mut last = f64::INFINITY;
        for a in [1e4, 1e8, 1e12] {
            let scaled: Vec<f64> = place.iter().map(|m| a * m).collect();
            let near = message(&specs[1], a, &scaled);
            let [near_z, near_x] = pair(&channel, &z, &near);
            let gap = |x: &[f64], y: &[f64]| common::relative_gap(x, y);
            let mean = |m: &Gaussian| -> Vec<f64> {
                m.linear.iter().map(|b| b / m.precision.scalar()).collect()
            };
            let at_z = if to_z.is_pinned() {
                gap(&mean(&near_z), &to_z.linear)
            } else {
                gap(&near_z.linear, &to_z.linear)
            };
            let worst = at_z.max(gap(&near_x.linear, &to_x.linear));
            // the distance to the limit falls like 1/a
            assert!(
                worst < 1e-3 * last.min(100.0) || worst < 1e-9,
                "a = {a:e}: {worst:e}"
            );
            last = worst;
        }
        assert!(last < 1e-9, "{last:e}");
    }
}

// ---- reference values ----

struct Truth {
    rz: Vec<f64>,
    vz: f64,
    rx: Vec<f64>,
    vx: f64,
    log_partition: Option<f64>,
}

fn compare(
    name: &str,
    factor: &dyn Factor,
    specs: &[SignalSpec],
    messages: &[Gaussian],
    t: &Truth,
) -> f64 {
    let mut site = Site::new(factor, specs, messages.to_vec());
    let mut worst: f64 = 0.0;
    for (port, (r, v)) in [(&t.rz, t.vz), (&t.rx, t.vx)].into_iter().enumerate() {
        let moments = site.moments(port).unwrap();
        for (ours, theirs) in moments.mean.iter().zip(r) {
            worst = worst.max((ours - theirs).abs() / theirs.abs().max(v.sqrt()));
        }
        worst = worst.max((moments.average_variance() / v - 1.0).abs());
    }
    if let Some(a) = t.log_partition {
        let ours = site.log_partition().unwrap();
        worst = worst.max((ours - a).abs() / a.abs().max(1.0));
    }
    assert!(worst < 1e-9, "{name}: error {worst:e}");
    worst
}

/// The dense linear, rotation, bias and noise channels against 50-digit values.
#[test]
fn reference_values() {
    let Some(records) = oracle::json("modules_ep.json") else {
        return;
    };
    let (mut worst, mut count) = (0.0_f64, 0);
    for record in records["linear"].as_array().unwrap() {
        let class = record["cls"].as_str().unwrap();
        let shape = |key: &str| -> Vec<usize> {
            floats(&record[key]).iter().map(|n| *n as usize).collect()
        };
        let factor: Box<dyn Factor> = match class.split('(').next().unwrap() {
            "LinearChannel" => {
                let rows = record["data"]["W"].as_array().unwrap().len();
                let w = floats(&record["data"]["W"]);
                let w = Matrix::from_rows(rows, w.len() / rows, &w).unwrap();
                Box::new(Linear::new(w).unwrap())
            }
            "RotationChannel" => {
                let r = floats(&record["data"]["R"]);
                let n = (r.len() as f64).sqrt() as usize;
                Box::new(Rotation::new(Matrix::from_rows(n, n, &r).unwrap()).unwrap())
            }
            "BiasChannel" => Box::new(Bias::new(floats(&record["data"]["bias"])).unwrap()),
            _ => continue,
        };
        let specs = [
            SignalSpec::real(shape("z_shape")),
            SignalSpec::real(shape("x_shape")),
        ];
        let number = |key: &str| record[key].as_f64().unwrap();
        let messages = [
            message(&specs[0], number("az"), &floats(&record["bz"])),
            message(&specs[1], number("ax"), &floats(&record["bx"])),
        ];
        let t = &record["truth"];
        let truth = Truth {
            rz: floats(&t["rz"]),
            vz: t["vz"].as_f64().unwrap(),
            rx: floats(&t["rx"]),
            vx: t["vx"].as_f64().unwrap(),
            log_partition: Some(t["A_sum"].as_f64().unwrap()),
        };
        let error = compare(class, factor.as_ref(), &specs, &messages, &truth);
        worst = worst.max(error);
        count += 1;
    }
    let spec = SignalSpec::real([1]);
    for record in records["records"].as_array().unwrap() {
        if record["cls"] != "GaussianChannel" {
            continue;
        }
        let factor = GaussianNoise::new(record["params"]["var"].as_f64().unwrap()).unwrap();
        let point = |key: &str| record["point"][key].as_f64().unwrap();
        let messages = [
            message(&spec, point("az"), &[point("bz")]),
            message(&spec, point("ax"), &[point("bx")]),
        ];
        let t = |key: &str| record["truth"][key].as_f64().unwrap();
        let truth = Truth {
            rz: vec![t("rz")],
            vz: t("vz"),
            rx: vec![t("rx")],
            vx: t("vx"),
            log_partition: Some(t("A")),
        };
        let specs = [spec.clone(), spec.clone()];
        worst = worst.max(compare(
            "GaussianChannel",
            &factor,
            &specs,
            &messages,
            &truth,
        ));
        count += 1;
    }
    println!("{count} records of linear and Gaussian channels, worst error {worst:.1e}");
    assert!(count >= 40, "only {count} records");
}
