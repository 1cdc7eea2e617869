//! The evidence against exact sums over discrete signals.

use std::f64::consts::TAU;

use crate::common::{self, gaussian_matrix, glm, infer, normals, seen};
use treeamp::prelude::*;

fn log_sum_exp(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = x.clone().fold(f64::NEG_INFINITY, f64::max);
    top + x.map(|x| (x - top).exp()).sum::<f64>().ln()
}

fn log_gauss(gap: f64, variance: f64) -> f64 {
    -0.5 * (gap * gap / variance + (TAU * variance).ln())
}

/// All factors but one are Gaussian, and nothing mixes the components: exact.
#[test]
fn one_discrete_factor_is_exact() {
    let y = normals(25, 1);
    for (p, delta) in [(0.5, 0.3), (0.9, 1.0), (0.1, 1e-3)] {
        let model = (source(Binary::new(p).unwrap().iid(25))
            >> var("x")
            >> GaussianNoise::new(0.5 * delta).unwrap()
            >> var("z")
            >> Bias::new(vec![0.2; 25]).unwrap()
            >> var("w")
            >> GaussianNoise::new(0.5 * delta).unwrap()
            >> var("y"))
        .build()
        .unwrap();
        let observed = model.condition("y", &y).unwrap();
        let report = infer(&observed);
        let exact: f64 = y
            .iter()
            .map(|y| {
                let terms = [
                    p.ln() + log_gauss(y - 1.2, delta),
                    (1.0 - p).ln() + log_gauss(y + 0.8, delta),
                ];
                log_sum_exp(terms.into_iter())
            })
            .sum();
        let a = report.log_evidence().unwrap();
        assert!(
            (a - exact).abs() < 1e-10 * exact.abs().max(1.0),
            "{a} against {exact}"
        );
        // means too
        for (r, y) in report.mean("x").unwrap().iter().zip(&y) {
            let field = 0.5 * (p / (1.0 - p)).ln() + (y - 0.2) / delta;
            assert!((r - field.tanh()).abs() < 1e-9, "{r}");
        }
    }
}

/// A tree with a branch: one sparse prior seen twice through noise.
#[test]
fn a_branched_sparse_signal_is_exact() {
    let (y, t) = (normals(12, 2), normals(12, 3));
    let model = (source(GaussBernoulli::new(0.3, 0.5, 2.0).unwrap().iid(12))
        >> var("x")
        >> (branch(seen(0.4, &y)) + seen(1.1, &t)))
    .build()
    .unwrap();
    let report = infer(&model);
    let exact: f64 = y
        .iter()
        .zip(&t)
        .map(|(y, t)| {
            // slab: jointly Gaussian (y, t) with covariance 2 + diag(0.4, 1.1)
            let (c00, c11, c01) = (2.4, 3.1, 2.0);
            let det = c00 * c11 - c01 * c01;
            let (u, w) = (y - 0.5, t - 0.5);
            let quad = (c11 * u * u - 2.0 * c01 * u * w + c00 * w * w) / det;
            let slab = 0.3_f64.ln() - 0.5 * quad - 0.5 * (TAU * TAU * det).ln();
            let spike = 0.7_f64.ln() + log_gauss(*y, 0.4) + log_gauss(*t, 1.1);
            log_sum_exp([slab, spike].into_iter())
        })
        .sum();
    let a = report.log_evidence().unwrap();
    assert!(
        (a - exact).abs() < 1e-10 * exact.abs().max(1.0),
        "{a} against {exact}"
    );
    // the decomposition adds up to the total
    let objective = report.objective.as_ref().unwrap();
    let sum = |terms: &[treeamp::engine::Term]| terms.iter().map(|t| t.value).sum::<f64>();
    let total = sum(&objective.factors) + sum(&objective.variables) - sum(&objective.edges);
    assert!((total - a).abs() < 1e-9 * total.abs().max(1.0));
}

/// `ln p(y)` of `y = W x + noise` with `x` uniform on `{-1, 1}^N`, by a walk in Gray code.
fn enumerate(w: &Matrix, y: &[f64], delta: f64) -> f64 {
    let (m, n) = (w.rows(), w.cols());
    let mut x = vec![-1.0; n];
    let mut gap: Vec<f64> = (0..m)
        .map(|i| y[i] + (0..n).map(|j| w.get(i, j)).sum::<f64>())
        .collect();
    let columns: Vec<Vec<f64>> = (0..n)
        .map(|j| (0..m).map(|i| 2.0 * w.get(i, j)).collect())
        .collect();
    let (mut top, mut sum) = (f64::NEG_INFINITY, 0.0_f64);
    for step in 1_u64..=1 << n {
        let energy = -0.5 * gap.iter().map(|g| g * g).sum::<f64>() / delta;
        if energy > top {
            sum = sum * (top - energy).exp() + 1.0;
            top = energy;
        } else {
            sum += (energy - top).exp();
        }
        let flip = step.trailing_zeros() as usize;
        if flip < n {
            let sign = x[flip];
            for (g, c) in gap.iter_mut().zip(&columns[flip]) {
                *g += sign * c;
            }
            x[flip] = -sign;
        }
    }
    top + sum.ln() - n as f64 * 2.0_f64.ln() - 0.5 * m as f64 * (TAU * delta).ln()
}

/// Dense matrix, binary signal: the Bethe value is an approximation that improves with N.
#[test]
fn the_gap_to_enumeration_shrinks() {
    let delta = 0.5;
    let mut gaps = Vec::new();
    for n in [8, 12, 16, 20] {
        let (mut total, mut square, mut converged) = (0.0, 0.0, 0);
        let seeds = 200;
        for seed in 0..seeds {
            let w = gaussian_matrix(n / 2, n, 1000 + seed);
            let model = glm(
                Binary::new(0.5).unwrap().iid(n),
                Linear::new(w.clone()).unwrap(),
                GaussianNoise::new(delta).unwrap(),
            )
            .build()
            .unwrap();
            let sample = model.sample(seed).unwrap();
            let y = sample.get("y").unwrap();
            let observed = model.condition("y", y).unwrap();
            let engine = ExpectationPropagation.on(&observed).unwrap().damping(0.3);
            let report = engine.run(&mut ()).unwrap();
            converged += usize::from(report.termination.is_converged());
            let gap = (report.log_evidence().unwrap() - enumerate(&w, y, delta)) / n as f64;
            total += gap.abs();
            square += gap * gap;
        }
        let mean = total / seeds as f64;
        let error = ((square / seeds as f64 - mean * mean) / seeds as f64).sqrt();
        println!(
            "N = {n:2}: gap per component {mean:.5} ± {error:.5}, {converged} of {seeds} converged"
        );
        gaps.push(mean);
        assert_eq!(converged, 200);
    }
    assert!(gaps.windows(2).all(|g| g[1] < g[0]), "{gaps:?}");
    assert!(gaps[3] < 0.6 * gaps[0], "{gaps:?}");
}

/// An infinite evidence is said to be infinite: a discrete signal pinned exactly.
#[test]
fn infinite_evidence_is_said() {
    let w = gaussian_matrix(6, 6, 5);
    let model = (source(Binary::new(0.5).unwrap().iid(6))
        >> var("x")
        >> Linear::new(w).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let sample = model.sample(2).unwrap();
    let observed = model.condition("y", sample.get("y").unwrap()).unwrap();
    let report = infer(&observed);
    assert_eq!(
        report.termination,
        Termination::Converged {
            perfect_recovery: true
        }
    );
    assert!(common::relative_gap(report.mean("x").unwrap(), sample.get("x").unwrap()) < 1e-10);
    let a = report.log_evidence().unwrap();
    assert!(a.is_infinite(), "{a}");
}
