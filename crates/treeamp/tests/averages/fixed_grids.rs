//! State evolution of separable factors against integration on fixed grids.

use std::f64::consts::TAU;

use super::separable::{bayes, mismatched, outputs};
use super::{close, field};
use treeamp::catalog::observed;
use treeamp::extend::*;
use treeamp::math::quadrature::rule16;
use treeamp::prelude::*;

/// $\int f(x)\,dx$ over consecutive panels, without any adaptation.
fn composite(edges: &[f64], f: &mut dyn FnMut(f64) -> [f64; 3]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for w in edges.windows(2) {
        for (node, weight) in rule16().nodes.iter().zip(&rule16().weights) {
            let value = f((w[1] - w[0]).mul_add(*node, w[0]));
            for (total, x) in sum.iter_mut().zip(value) {
                *total += (w[1] - w[0]) * weight * x;
            }
        }
    }
    sum
}

fn gauss(x: f64) -> f64 {
    (-0.5 * x * x).exp() / TAU.sqrt()
}

/// Edges at geometric distances from zero, from `finest` to `reach`.
fn graded(finest: f64, reach: f64) -> Vec<f64> {
    let ratio = 2.0_f64.powf(-1.0 / 12.0);
    let mut edges = vec![0.0];
    let mut x = reach;
    while x >= finest {
        edges.extend([x, -x]);
        x *= ratio;
    }
    edges.sort_by(f64::total_cmp);
    edges
}

#[test]
fn sparse_prior_at_any_precision() {
    // by components: b is N(0, m) for a zero, N(0, m + m² s) for the others
    for rho in [0.5, 0.05, 1e-3] {
        let s = 1.4;
        let law = GaussBernoulli::new(rho, 0.0, s).unwrap();
        let factor = law.iid(3);
        for m_hat in [1e-4_f64, 0.1, 1.0, 30.0, 1e3, 1e6, 1e8, 1e10] {
            let part = |width: f64| {
                composite(&graded(1e-7 * m_hat.sqrt() / width, 14.0), &mut |xi| {
                    let t = law.tilted(m_hat, width * xi);
                    let w = gauss(xi);
                    [w * t.variance, w * t.mean * t.mean, w * t.log_z]
                })
            };
            let zero = part(m_hat.sqrt());
            let slab = part((m_hat + m_hat * m_hat * s).sqrt());
            let mix = |k: usize| (1.0 - rho) * zero[k] + rho * slab[k];
            let (ov, potential) = bayes(&factor, m_hat, 0.0);
            close(ov.v, mix(0), 1e-8);
            close(ov.m, mix(1), 1e-8);
            // the reference is a small difference at low precision
            let gap = (potential - mix(2)).abs();
            let noise = 1e-10 * rho * m_hat * s;
            assert!(gap < 1e-8 * potential + noise, "{rho} {m_hat:e}: {gap:e}");
            close(ov.err, ov.m * ov.v / ov.tau0, 1e-14);
        }
    }
}

/// Averages over $z_0$ and $\xi$ on fixed grids, knowing nothing of the teacher's law but its function.
fn brute(channel: &PiecewiseLinear, m_hat: f64, q_hat: f64, a: f64) -> [f64; 3] {
    let law = observed(channel).unwrap();
    let fine = 1e-3 * (q_hat.sqrt() / m_hat).min(1.0);
    let mut edges = graded(fine, 9.0);
    for knee in ScalarChannel::landmarks(channel) {
        edges.extend(graded(fine, 2.0).iter().map(|z| z + knee.place));
        edges.extend(graded(fine, 2.0).iter().map(|z| z - knee.place));
    }
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    composite(&edges, &mut |z| {
        let y = channel.value(z);
        let mut sum = [0.0; 3];
        for i in -90..=90 {
            let xi = f64::from(i) * 0.1;
            let t = law.tilted(y, a, m_hat * z + q_hat.sqrt() * xi);
            let w = 0.1 * gauss(xi) * gauss(z);
            let values = [t.variance, t.mean * z, t.log_z];
            (0..3).for_each(|k| sum[k] += w * values[k]);
        }
        sum
    })
}

#[test]
fn likelihoods_against_a_fixed_grid() {
    for (name, channel) in outputs() {
        let factor = observed(&channel).unwrap().unspecified();
        for (m_hat, q_hat, tau_hat) in [(0.5, 0.5, 1.0), (1.5, 0.8, 0.6), (100.0, 100.0, 1.0)] {
            let [v, m, a] = brute(&channel, m_hat, q_hat, q_hat + tau_hat);
            let (ov, potential) = mismatched(&factor, &factor, field(m_hat, q_hat, tau_hat), 1.0);
            let near = |x: f64, y: f64, what: &str| {
                let gap = (x - y).abs();
                assert!(
                    gap < 1e-8 * y.abs() + 1e-13,
                    "{name} at {m_hat}: {what} {x} {y}"
                );
            };
            near(ov.v, v, "v");
            near(ov.m, m, "m");
            near(potential, a, "potential");
        }
    }
}

#[test]
fn absolute_value_keeps_its_digits() {
    // v = ∫ N(z) E[z² sech²(z b)] scales as m^{-3/2} at high precision, by z = t/sqrt(m)
    let factor = observed(&PiecewiseLinear::abs()).unwrap().unspecified();
    let limit = composite(&graded(1e-4, 12.0), &mut |t| {
        let inner: f64 = (-100..=100)
            .map(|i| {
                let xi = 0.1 * f64::from(i);
                let c = (t * (t + xi)).abs();
                let e = (-2.0 * c).exp();
                0.1 * gauss(xi) * t * t * 4.0 * e / ((1.0 + e) * (1.0 + e))
            })
            .sum();
        [inner / TAU.sqrt(), 0.0, 0.0]
    })[0];
    for m_hat in [1e9_f64, 1e10] {
        let (ov, _) = bayes(&factor, m_hat, 1.0);
        // the first correction to the limit is of relative size 1/m
        close(ov.v, limit * m_hat.powf(-1.5), 1e-8 + 1.0 / m_hat);
    }
    for m_hat in [71.0, 1e3, 1e4, 1e6] {
        assert!(bayes(&factor, m_hat, 1.0).0.v > 0.0);
    }
}
