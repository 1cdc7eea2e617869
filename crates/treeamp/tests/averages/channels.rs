//! State evolution of scalar channels: identities, an independent integration, extreme points, counts of
//! evaluations.

use std::f64::consts::TAU;

use super::{close, field, piecewise_channels, rule, slope};
use treeamp::belief::{OverlapFields, Overlaps};
use treeamp::catalog::observed;
use treeamp::extend::{Factor, ScalarChannel, Tilt};
use treeamp::factor::Averaged;
use treeamp::math::quadrature::rule16;
use treeamp::math::special::log_normal_cdf;
use treeamp::prelude::*;

type Fields = [OverlapFields; 2];

fn bayes_fields(m_z: f64, m_x: f64, tau0_hat: [f64; 2]) -> Fields {
    [field(m_z, m_z, tau0_hat[0]), field(m_x, m_x, tau0_hat[1])]
}

fn overlaps(s: &dyn Factor, t: &dyn Factor, fields: &Fields, tau0_hat: [f64; 2]) -> [Overlaps; 2] {
    let at = Averaged {
        fields,
        tau0_hat: &tau0_hat,
    };
    [0, 1].map(|end| rule(s).overlaps(t, at, end).unwrap())
}

fn potential(s: &dyn Factor, t: &dyn Factor, fields: &Fields, tau0_hat: [f64; 2]) -> f64 {
    let at = Averaged {
        fields,
        tau0_hat: &tau0_hat,
    };
    rule(s).potential(t, at).unwrap()
}

/// $m + v = \tau_0$ at both ends, and $\tfrac12 v = \partial I/\partial\hat m$.
fn check_bayes(f: &dyn Factor, m: [f64; 2], tau0_hat: [f64; 2], tolerance: f64) {
    let e = rule(f);
    let tau0 = [0, 1].map(|end| e.second_moment(&tau0_hat, end).unwrap());
    let free = e.prior_potential(&tau0_hat).unwrap();
    let information = |h: [f64; 2]| {
        let m = [m[0] + h[0], m[1] + h[1]];
        let own: f64 = (0..2).map(|i| 0.5 * m[i] * tau0[i]).sum();
        own - potential(f, f, &bayes_fields(m[0], m[1], tau0_hat), tau0_hat) + free
    };
    let ends = overlaps(f, f, &bayes_fields(m[0], m[1], tau0_hat), tau0_hat);
    for (i, ov) in ends.iter().enumerate() {
        close(ov.m + ov.v, ov.tau0, 1e-8);
        close(ov.tau0, tau0[i], 1e-14);
        let along = |h: f64| information(if i == 0 { [h, 0.0] } else { [0.0, h] });
        let v = 2.0 * slope(&along, 0.02 * m[i]);
        let gap = (v - ov.v).abs();
        assert!(gap < tolerance * tau0[i], "{} {i}: {v} {}", f.name(), ov.v);
    }
}

#[test]
fn bayes_optimal_identities() {
    for f in piecewise_channels() {
        check_bayes(&f, [0.8, 1.4], [1.0, 0.0], 1e-6);
        check_bayes(&f, [3.0, 0.5], [0.7, 0.3], 1e-6);
    }
}

#[test]
fn smooth_activations() {
    for f in [
        Activation::tanh(),
        Activation::sigmoid(),
        Activation::softplus(),
    ] {
        for (m_z, m_x) in [
            (0.0, 1.0),
            (0.5, 0.0),
            (1.0, 2.0),
            (20.0, 1.0),
            (2.0, 300.0),
        ] {
            let (fields, tau0_hat) = (bayes_fields(m_z, m_x, [1.0, 0.0]), [1.0, 0.0]);
            for ov in overlaps(&f, &f, &fields, tau0_hat) {
                close(ov.m + ov.v, ov.tau0, 1e-8);
            }
        }
        check_bayes(&f, [0.8, 1.4], [1.0, 0.0], 1e-6);
    }
    // the same function without the name is integrated field by field
    let (named, tau0_hat) = (Activation::tanh(), [1.0, 0.0]);
    let own = Activation::new("own", std::sync::Arc::new(f64::tanh));
    let at = [field(1.3, 0.9, 0.7), field(0.8, 1.2, 0.3)];
    let fast = Averaged {
        fields: &at,
        tau0_hat: &tau0_hat,
    };
    for end in 0..2 {
        let x = rule(&named).overlaps(&named, fast, end).unwrap();
        let y = rule(&own).overlaps(&named, fast, end).unwrap();
        close(x.m, y.m, 1e-8);
        close(x.v, y.v, 1e-8);
        close(x.err, y.err, 1e-8);
    }
}

#[test]
fn the_identity_has_a_closed_form() {
    let f = PiecewiseLinear::leaky_relu(1.0).unwrap();
    for (m_z, m_x) in [
        (0.0, 3.0),
        (0.3, 0.0),
        (0.7, 2.0),
        (1e4, 1.0),
        (2.0, 1e8),
        (1e6, 1e6),
    ] {
        let tau0_hat = [0.8, 0.0];
        let fields = bayes_fields(m_z, m_x, tau0_hat);
        let v = 1.0 / (0.8 + m_z + m_x);
        for ov in overlaps(&f, &f, &fields, tau0_hat) {
            close(ov.v, v, 1e-8);
            close(ov.m, 1.25 - v, 1e-8);
        }
        let a = 0.5 * (m_z + m_x) * 1.25 + 0.5 * (TAU * v).ln();
        let gap = (potential(&f, &f, &fields, tau0_hat) - a).abs();
        assert!(gap < 1e-8 * (1.0 + a.abs()));
    }
}

#[test]
fn a_copy_of_the_teacher_is_bayes_optimal() {
    for f in piecewise_channels() {
        let copy = f.clone();
        for (m_z, m_x) in [(0.8, 1.4), (30.0, 2.0), (0.5, 1e4)] {
            let (fields, tau0_hat) = (bayes_fields(m_z, m_x, [1.0, 0.0]), [1.0, 0.0]);
            let own = overlaps(&f, &f, &fields, tau0_hat);
            let other = overlaps(&f, &copy, &fields, tau0_hat);
            for (x, y) in own.iter().zip(&other) {
                close(x.m, y.m, 1e-8);
                close(x.v, y.v, 1e-8);
                close(x.err, y.err, 1e-8);
            }
        }
    }
}

#[test]
fn gradients_of_the_potential() {
    let at = [field(1.3, 0.9, 0.7), field(0.8, 1.2, 0.3)];
    let tau0_hat = [1.2, 0.1];
    let relu = PiecewiseLinear::relu();
    let pairs = [
        (PiecewiseLinear::hard_tanh(), relu.clone()),
        (relu, PiecewiseLinear::leaky_relu(0.2).unwrap()),
        (PiecewiseLinear::sign(), PiecewiseLinear::hard_tanh()),
        (
            PiecewiseLinear::symmetric_door(1.1).unwrap(),
            PiecewiseLinear::symmetric_door(0.8).unwrap(),
        ),
        (PiecewiseLinear::abs(), PiecewiseLinear::abs()),
    ];
    for (student, teacher) in &pairs {
        let ends = overlaps(student, teacher, &at, tau0_hat);
        for (i, ov) in ends.iter().enumerate() {
            let moved = |m: f64, q: f64, t: f64| {
                let mut at = at;
                at[i] = field(at[i].m_hat + m, at[i].q_hat + q, at[i].tau_hat + t);
                potential(student, teacher, &at, tau0_hat)
            };
            let same = |x: f64, y: f64| assert!((x - y).abs() < 1e-6, "{x} {y}");
            same(slope(&|h| moved(h, 0.0, 0.0), 0.02), ov.m);
            same(-2.0 * slope(&|h| moved(0.0, h, 0.0), 0.02), ov.q());
            same(-2.0 * slope(&|h| moved(0.0, 0.0, h), 0.02), ov.tau());
        }
    }
}

/// Averages over $z_0, \xi_z, \xi_x$ on fixed grids: $v_z, v_x, E[z_0 r_z], E[x_0 r_x], A$.
fn brute(student: &PiecewiseLinear, teacher: &PiecewiseLinear, at: &Fields) -> [f64; 5] {
    let mut edges: Vec<f64> = (-16..=16).map(|i| 0.5 * f64::from(i)).collect();
    edges.extend(ScalarChannel::landmarks(teacher).iter().map(|m| m.place));
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let gauss = |x: f64| (-0.5 * x * x).exp() / TAU.sqrt();
    let mut sum = [0.0; 5];
    for w in edges.windows(2) {
        for (node, weight) in rule16().nodes.iter().zip(&rule16().weights) {
            let z0 = (w[1] - w[0]).mul_add(*node, w[0]);
            let x0 = teacher.value(z0);
            let outer = (w[1] - w[0]) * weight * gauss(z0);
            for i in -24..=24 {
                let xi_z = 0.3 * f64::from(i);
                let z = Tilt {
                    a: at[0].a(),
                    b: at[0].m_hat * z0 + at[0].q_hat.sqrt() * xi_z,
                };
                for j in -24..=24 {
                    let xi_x = 0.3 * f64::from(j);
                    let x = Tilt {
                        a: at[1].a(),
                        b: at[1].m_hat * x0 + at[1].q_hat.sqrt() * xi_x,
                    };
                    let t = student.tilted(z, x);
                    let w = outer * 0.09 * gauss(xi_z) * gauss(xi_x);
                    let values = [
                        t.variance_z,
                        t.variance_x,
                        t.mean_z * z0,
                        t.mean_x * x0,
                        t.log_z,
                    ];
                    (0..5).for_each(|k| sum[k] += w * values[k]);
                }
            }
        }
    }
    sum
}

#[test]
fn channels_against_a_fixed_grid() {
    let relu = PiecewiseLinear::relu();
    let pairs = [
        (relu.clone(), relu.clone()),
        (PiecewiseLinear::hard_tanh(), PiecewiseLinear::sign()),
        (
            PiecewiseLinear::abs(),
            PiecewiseLinear::symmetric_door(0.8).unwrap(),
        ),
    ];
    for (student, teacher) in &pairs {
        let at = [field(1.3, 0.9, 0.7), field(0.8, 1.2, 0.3)];
        let reference = brute(student, teacher, &at);
        let [z, x] = overlaps(student, teacher, &at, [1.0, 0.0]);
        let a = potential(student, teacher, &at, [1.0, 0.0]);
        for (got, want) in [z.v, x.v, z.m, x.m, a].iter().zip(reference) {
            assert!(
                (got - want).abs() < 1e-8 * (1.0 + want.abs()),
                "{got} {want}"
            );
        }
    }
}

#[test]
fn an_output_seen_exactly_is_a_likelihood() {
    // at high m̂_x the input learns what the likelihood tells it
    for f in piecewise_channels() {
        let likelihood = observed(&f).unwrap().unspecified();
        let alone = Averaged {
            fields: &[field(0.7, 0.7, 1.0)],
            tau0_hat: &[1.0],
        };
        let v = rule(&likelihood).overlaps(&likelihood, alone, 0).unwrap().v;
        let [z, _] = overlaps(&f, &f, &bayes_fields(0.7, 1e12, [1.0, 0.0]), [1.0, 0.0]);
        let name = ScalarChannel::name(&f);
        assert!((z.v - v).abs() < 1e-5, "{name}: {} {v}", z.v);
    }
}

/// $x = \operatorname{sign} z$ with the input known to within $1/\sqrt{\hat m_z}$ of the border: the average over $b_z = \sqrt{\hat m_z}\,t$
/// has tails of all sizes. With $p = \Phi(t)$ the output is binary, and $v_x = E[1 - \tanh^2(b_x + \frac12\ln\frac p{1-p})]$.
#[test]
fn an_input_near_the_border() {
    let f = PiecewiseLinear::sign();
    for m_x in [1.0_f64, 10.0] {
        let inner = |t: f64| -> f64 {
            let (up, down) = (log_normal_cdf(t), log_normal_cdf(-t));
            // given the sign s, b_x = m s + sqrt(m) ξ
            let v = |s: f64, xi: f64| {
                let b = m_x * s + m_x.sqrt() * xi;
                (b + 0.5 * (up - down)).cosh().powi(-2)
            };
            let points = (-1600..=1600).map(|i| {
                let xi = 0.01 * f64::from(i);
                let w = 0.01 * (-0.5 * xi * xi).exp() / TAU.sqrt();
                w * (up.exp() * v(1.0, xi) + down.exp() * v(-1.0, xi))
            });
            points.sum()
        };
        // near zero b_z = sqrt(m) t has the density 1/(sqrt(2π) m), up to terms of relative size 1/m
        let integral: f64 = (-600..=600)
            .map(|i| 0.03 * inner(0.03 * f64::from(i)))
            .sum();
        for m_z in [1e8_f64, 1e10] {
            let fields = bayes_fields(m_z, m_x, [1.0, 0.0]);
            let [_, x] = overlaps(&f, &f, &fields, [1.0, 0.0]);
            close(x.v, integral / (TAU * m_z).sqrt(), 2e-8);
        }
    }
}

#[test]
fn nothing_is_seen() {
    for f in piecewise_channels() {
        let silent = bayes_fields(0.0, 0.0, [0.8, 0.0]);
        let [z, x] = overlaps(&f, &f, &silent, [0.8, 0.0]);
        assert!(z.m < 1e-30);
        close(z.v, 1.25, 1e-12);
        close(x.m + x.v, x.tau0, 1e-12);
        // an even channel tells nothing of the sign of its input
        let name = ScalarChannel::name(&f);
        if matches!(name, "abs" | "symmetric_door") {
            assert_eq!(z.m, 0.0, "{name}");
            for m_x in [0.5, 40.0, 1e6] {
                let fields = bayes_fields(0.0, m_x, [0.8, 0.0]);
                let [z, _] = overlaps(&f, &f, &fields, [0.8, 0.0]);
                assert_eq!(z.m, 0.0, "{name}");
                close(z.v, 1.25, 1e-8);
            }
        }
    }
}

/// Overlaps of both ends and the potential, from next to nothing to next to everything.
#[test]
fn extreme_precisions() {
    for f in piecewise_channels() {
        let name = ScalarChannel::name(&f);
        for m_z in [0.0, 1e-2, 1.0, 20.0, 1e2, 1e4, 1e8] {
            for m_x in [0.0, 1e-2, 1.0, 10.0, 1e2, 1e5, 1e8] {
                let fields = bayes_fields(m_z, m_x, [1.0, 0.0]);
                for ov in overlaps(&f, &f, &fields, [1.0, 0.0]) {
                    close(ov.m + ov.v, ov.tau0, 1e-8);
                    assert!(ov.v >= 0.0 && ov.m >= 0.0, "{name}");
                }
                let at = Averaged {
                    fields: &fields,
                    tau0_hat: &[1.0, 0.0],
                };
                assert!(rule(&f).potential(&f, at).unwrap().is_finite());
            }
        }
    }
}

/// Two outputs of opposite slope leave two inputs, and their rare confusion is all there is of $v_z$. References: nested
/// adaptive integration in both orders at a tolerance of 1e-12, which agree to 1e-9.
#[test]
fn rare_confusions_of_two_inputs() {
    let f = PiecewiseLinear::asymmetric_abs(0.4).unwrap();
    for (m_z, m_x, v) in [
        (1e2, 1e5, 1.028_384_799_3e-05),
        (1e2, 1e8, 2.990_621_662_0e-07),
    ] {
        let [z, _] = overlaps(&f, &f, &bayes_fields(m_z, m_x, [1.0, 0.0]), [1.0, 0.0]);
        close(z.v, v, 1e-8);
    }
}

/// A smooth channel whose input is known is averaged as a linear one from some precision on: $1/v_z = \hat m_z + c$ up to terms
/// of order $1/\hat m_z$, with one $c$ on both sides of it. An error of 1e-8 in $v_z$ is one of 1e-3 in $c$.
#[test]
fn smooth_channels_of_a_known_input() {
    for f in [
        Activation::tanh(),
        Activation::sigmoid(),
        Activation::softplus(),
    ] {
        let of = |m_z: f64| {
            let [z, x] = overlaps(&f, &f, &bayes_fields(m_z, 0.5, [1.0, 0.0]), [1.0, 0.0]);
            close(z.m + z.v, 1.0, 1e-8);
            (1.0 / z.v - m_z, x.v * m_z)
        };
        // by panels, and from the input alone
        let ((c, d), (e, g)) = (of(1.2e5), of(3e5));
        assert!((c - e).abs() < 1e-3, "{}: {c} {e}", Factor::name(&f));
        // v_x = E[φ'²/(m_z + c)]: the same but for terms of order 1/m_z
        close(d, g, 1.5 / 1.2e5);
    }
}
