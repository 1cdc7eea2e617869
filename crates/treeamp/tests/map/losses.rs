//! Losses and log-concave likelihoods of observed outputs, with a quadratic energy of the signal: the minimiser is that of another method.

use treeamp::extend::Factor;
use treeamp::math::special::log_normal_cdf;
use treeamp::model::Var;
use treeamp::prelude::*;

use super::common::{gaussian_matrix, normals};

const ROWS: usize = 30;
const COLS: usize = 8;
const RIDGE: f64 = 0.7;

/// The objective, and its minimum from here by coordinate descent with a golden section on every line: smooth losses only.
fn descended(objective: &dyn Fn(&[f64]) -> f64, start: &[f64]) -> f64 {
    let (mut x, mut best) = (start.to_vec(), objective(start));
    for _ in 0..400 {
        for j in 0..x.len() {
            let along = |t: f64| {
                let mut moved = x.clone();
                moved[j] = t;
                objective(&moved)
            };
            let (mut low, mut high) = (x[j] - 0.5, x[j] + 0.5);
            for _ in 0..45 {
                let (p, q) = (low + 0.382 * (high - low), low + 0.618 * (high - low));
                if along(p) < along(q) {
                    high = q;
                } else {
                    low = p;
                }
            }
            let t = 0.5 * (low + high);
            if along(t) < best {
                (x[j], best) = (t, along(t));
            }
        }
    }
    best
}

fn check(outputs: impl Factor, y: &[f64], energy: &dyn Fn(f64, f64) -> f64) {
    let w = gaussian_matrix(ROWS, COLS, 3);
    let model = source(Quadratic::new(RIDGE, 0.0).unwrap().iid(COLS))
        >> var("x")
        >> Linear::new(w.clone()).unwrap()
        >> var("z")
        >> outputs
        >> var("y");
    let tree = model.build().unwrap().condition("y", y).unwrap();
    let found = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
    assert!(found.termination.is_converged(), "{:?}", found.termination);
    let objective = |x: &[f64]| {
        let mut z = vec![0.0; ROWS];
        w.apply(x, 1, &mut z);
        let misfit: f64 = z.iter().zip(y).map(|(z, y)| energy(*y, *z)).sum();
        misfit + 0.5 * RIDGE * x.iter().map(|x| x * x).sum::<f64>()
    };
    let solution = found.solution(&tree).unwrap();
    let x = solution.point("x").unwrap().to_vec();
    let value = objective(&x);
    let below = descended(&objective, &x);
    assert!(value - below <= 1e-8 * value.abs(), "{value} {below}");
}

fn labels() -> Vec<f64> {
    normals(ROWS, 5).iter().map(|x| x.signum()).collect()
}

#[test]
fn logistic_and_counts() {
    let law = LogisticLikelihood::default();
    check(OutputChannel::new("logistic", law), &labels(), &|y, z| {
        (-y * z).exp().ln_1p()
    });
    let counts: Vec<f64> = normals(ROWS, 6)
        .iter()
        .map(|x| (2.0 * x.abs()).floor())
        .collect();
    check(
        OutputChannel::new("poisson", PoissonLikelihood),
        &counts,
        &|y, z| z.exp() - y * z,
    );
}

#[test]
fn smooth_losses() {
    check(
        LossChannel::new(SquaredHinge::new(0.8).unwrap()),
        &labels(),
        &|y, z| 0.8 * (1.0 - y * z).max(0.0).powi(2),
    );
    check(
        LossChannel::new(Huber::new(1.5, 0.4).unwrap()),
        &normals(ROWS, 7),
        &|y, z| {
            let r = (y - z).abs();
            1.5 * if r < 0.4 { 0.5 * r * r } else { 0.4 * r - 0.08 }
        },
    );
}

/// $-\ln\Phi(u)$.
fn surprise(u: f64) -> f64 {
    -log_normal_cdf(u)
}

#[test]
fn outputs_behind_noise() {
    let deviation = 0.4_f64.sqrt();
    let law = ProbitLikelihood::new(0.4, 0.0).unwrap();
    check(OutputChannel::new("probit", law), &labels(), &|y, z| {
        surprise(y * z / deviation)
    });
    let reals = normals(ROWS, 8);
    let law = Censored::new(-0.2, 0.4).unwrap();
    let told: Vec<f64> = reals.iter().map(|x| x.max(-0.2)).collect();
    check(OutputChannel::new("censored", law), &told, &|y, z| {
        if y > -0.2 {
            (y - z).powi(2) / 0.8 + 0.5 * (0.4 * std::f64::consts::TAU).ln()
        } else {
            surprise((-0.2 - z) / deviation)
        }
    });
    let edges = [-0.5, 0.3, 1.1];
    let law = Quantised::new(0.4, &edges).unwrap();
    let below = |x: f64| edges.iter().filter(|e| **e < x).count();
    let cells: Vec<f64> = reals.iter().map(|x| below(*x) as f64).collect();
    let end = |k: usize, z: f64| match k {
        0 => 0.0,
        4 => 1.0,
        _ => log_normal_cdf((edges[k - 1] - z) / deviation).exp(),
    };
    check(OutputChannel::new("quantised", law), &cells, &|y, z| {
        let k = edges.len().min(y as usize);
        -(end(k + 1, z) - end(k, z)).ln()
    });
}

/// The point next to `centre` in every component whose outputs are in their cells: multipliers of the cells, one after the other (Hildreth).
fn projected(w: &Matrix, centre: f64, cell: &dyn Fn(usize) -> (f64, f64)) -> Vec<f64> {
    let (mut x, mut multipliers) = (vec![centre; COLS], [0.0; ROWS]);
    for _ in 0..20_000 {
        for (i, multiplier) in multipliers.iter_mut().enumerate() {
            let row: Vec<f64> = (0..COLS).map(|j| w.get(i, j)).collect();
            let norm: f64 = row.iter().map(|w| w * w).sum();
            let z: f64 = row.iter().zip(&x).map(|(w, x)| w * x).sum();
            let free = z - *multiplier * norm;
            let (low, high) = cell(i);
            let new = (free.max(low).min(high) - free) / norm;
            for (x, w) in x.iter_mut().zip(&row) {
                *x += (new - *multiplier) * w;
            }
            *multiplier = new;
        }
    }
    x
}

/// Cells of outputs without noise are constraints.
fn check_cells(outputs: impl Factor, y: &[f64], cell: &dyn Fn(f64) -> (f64, f64)) {
    let centre = 0.3;
    let w = gaussian_matrix(ROWS, COLS, 3);
    let model = source(Quadratic::new(RIDGE, centre).unwrap().iid(COLS))
        >> var("x")
        >> Linear::new(w.clone()).unwrap()
        >> var("z")
        >> outputs
        >> var("y");
    let tree = model.build().unwrap().condition("y", y).unwrap();
    let found = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
    assert!(found.termination.is_converged(), "{:?}", found.termination);
    let solution = found.solution(&tree).unwrap();
    let expected = projected(&w, centre, &|i| cell(y[i]));
    for (x, x0) in solution.point("x").unwrap().iter().zip(&expected) {
        assert!((x - x0).abs() < 1e-6, "{x} {x0}");
    }
}

#[test]
fn outputs_without_noise_are_constraints() {
    let w = gaussian_matrix(ROWS, COLS, 3);
    let mut z = vec![0.0; ROWS];
    w.apply(&normals(COLS, 9), 1, &mut z);
    let edges = [-0.5, 0.3, 1.1];
    let below = |x: f64| edges.iter().filter(|e| **e < x).count();
    let cells: Vec<f64> = z.iter().map(|z| below(*z) as f64).collect();
    let ends = [f64::NEG_INFINITY, -0.5, 0.3, 1.1, f64::INFINITY];
    let law = Quantised::new(0.0, &edges).unwrap();
    check_cells(OutputChannel::new("quantised", law), &cells, &|y| {
        (ends[y as usize], ends[y as usize + 1])
    });
    let signs: Vec<f64> = z.iter().map(|z| z.signum()).collect();
    let law = ProbitLikelihood::new(0.0, 0.0).unwrap();
    check_cells(OutputChannel::new("probit", law), &signs, &|y| {
        if y > 0.0 {
            (0.0, f64::INFINITY)
        } else {
            (f64::NEG_INFINITY, 0.0)
        }
    });
}

/// With a precision per component a loss is its Laplace approximation, and the mean among Gaussian factors is the minimiser.
fn check_diagonal(outputs: &(impl Factor + Clone), y: &[f64]) {
    let w = gaussian_matrix(ROWS, COLS, 3);
    let model = |x: Var, z: Var| {
        let prior = source(Quadratic::new(RIDGE, 0.0).unwrap().iid(COLS));
        let chain = prior >> x >> Linear::new(w.clone()).unwrap() >> z;
        let tree = (chain >> outputs.clone() >> var("y")).build().unwrap();
        tree.condition("y", y).unwrap()
    };
    let plain = model(var("x"), var("z"));
    let found = MaximumAPosteriori.on(&plain).unwrap().run(&mut ()).unwrap();
    let solution = found.solution(&plain).unwrap();
    let expected = solution.point("x").unwrap();
    let tree = model(var("x").full(), var("z").diagonal());
    let report = ExpectationPropagation.on(&tree).unwrap();
    let report = report.run(&mut ()).unwrap();
    assert!(
        report.termination.is_converged(),
        "{:?}",
        report.termination
    );
    for (x, y) in report.mean("x").unwrap().iter().zip(expected) {
        assert!((x - y).abs() < 1e-5, "{x} {y}");
    }
}

#[test]
fn losses_with_a_precision_per_component() {
    let reals = normals(ROWS, 7);
    check_diagonal(&LossChannel::new(Huber::new(1.5, 0.4).unwrap()), &reals);
    let quantile = Quantile::new(1.5, 0.3).unwrap();
    check_diagonal(&LossChannel::new(quantile), &reals);
    let hinge = SquaredHinge::new(0.8).unwrap();
    check_diagonal(&LossChannel::new(hinge), &labels());
    check_diagonal(&LossChannel::new(Hinge::new(0.8).unwrap()), &labels());
}
