//! The convergence suite: models that expectation propagation finds hard, with their matrices.
#![allow(dead_code, clippy::unwrap_used)]

use super::common;
use rand_distr::{Distribution, StudentT};
use treeamp::extend::{Factor, SeparablePrior};
use treeamp::metrics::mse_up_to_sign;
use treeamp::prelude::*;

/// A posterior to run on, and the signal `x` behind it.
pub struct Case {
    pub posterior: Tree,
    pub truth: Vec<f64>,
    /// The model that the observation `y` was drawn from, if it was.
    pub model: Option<Tree>,
    /// Strength and noise of a total variation in two dimensions, whose mode is known by its duality gap.
    pub variation: Option<(f64, f64)>,
}

/// Models with i.i.d. matrices, of at least a hundred signals, and a student who knows the truth: their error is predicted.
pub const PREDICTED: &[&str] = &[
    "sparse regression",
    "sparse regression, N = 2000",
    "perceptron",
    "perceptron, 2.5 N outputs",
    "symmetric door",
    "phase retrieval",
    "relu output",
    "two-layer relu",
    "tanh layer",
];

impl Case {
    /// The run ended at a fixed point. Precisions that grow without end also stop a run, of a penalty whose curvature jumps: total
    /// variation in two dimensions has settled where its means are the mode. (The duality gap is below 2e-6 there, and above 9e-4
    /// where a run stopped on its way.)
    pub fn settled(&self, report: &Posterior) -> bool {
        let at_mode = |p: (f64, f64)| duality_gap(report, p) < 1e-5;
        report.termination.is_converged() && self.variation.is_none_or(at_mode)
    }

    /// The error of `x`, up to its sign: outputs that do not see it leave it to a weak prior.
    pub fn error(&self, report: &Posterior) -> f64 {
        mse_up_to_sign(report.mean("x").unwrap(), &self.truth).unwrap()
    }

    /// The error of `x` as state evolution predicts it from an uninformed start, with the spectrum of this matrix.
    pub fn predicted(&self) -> f64 {
        let limit = self.model.as_ref().unwrap().expect("y").unwrap();
        let evolution = StateEvolution::new(&limit).unwrap();
        evolution.fixed_point().unwrap().mse("x").unwrap()
    }
}

/// The names of all models, in the order of the table.
pub const MODELS: &[&str] = &[
    "sparse regression",
    "sparse regression, N = 20",
    "sparse regression, N = 2000",
    "condition number 1e1",
    "condition number 1e2",
    "condition number 1e4",
    "condition number 1e6",
    "entries of mean 1",
    "entries of mean 1/sqrt(N)",
    "rows of different norm",
    "correlated columns",
    "heavy-tailed entries",
    "low-rank matrix",
    "student: noise too small",
    "student: too sparse",
    "perceptron",
    "perceptron, 2.5 N outputs",
    "perceptron, condition 1e2",
    "perceptron, entries of mean 1",
    "perceptron, correlated columns",
    "perceptron, N = 20",
    "symmetric door",
    "phase retrieval",
    "relu output",
    "two-layer relu",
    "tanh layer",
    "committee",
    "sparse gradient",
    "sparse gradient 2d",
    "total variation",
    "total variation 2d",
    "total variation 2d, much noise",
    "sparse deconvolution",
];

fn shaped(rows: usize, cols: usize, seed: u64, f: impl Fn(usize, usize, f64) -> f64) -> Linear {
    let w = common::gaussian_matrix(rows, cols, seed);
    Linear::new(Matrix::from_fn(rows, cols, |i, j| f(i, j, w.get(i, j))).unwrap()).unwrap()
}

fn iid(rows: usize, cols: usize, seed: u64) -> Linear {
    shaped(rows, cols, seed, |_, _, w| w)
}

/// Entries of this mean beside a spread of `1/sqrt(cols)`.
fn off_centre(rows: usize, cols: usize, mean: f64, seed: u64) -> Linear {
    shaped(rows, cols, seed, |_, _, w| w + mean)
}

/// Neighbouring columns have a correlation of 0.9.
fn correlated(rows: usize, cols: usize, seed: u64) -> Linear {
    let w = common::gaussian_matrix(rows, cols, seed);
    let mut out = vec![0.0; rows * cols];
    for i in 0..rows {
        let mut last = w.get(i, 0);
        for j in 0..cols {
            if j > 0 {
                last = 0.9 * last + (1.0_f64 - 0.81).sqrt() * w.get(i, j);
            }
            out[i * cols + j] = last;
        }
    }
    Linear::new(Matrix::from_rows(rows, cols, &out).unwrap()).unwrap()
}

fn heavy_tailed(rows: usize, cols: usize, seed: u64) -> Linear {
    let (mut rng, law) = (common::rng(seed), StudentT::new(2.5).unwrap());
    let scale = 1.0 / (5.0 * cols as f64).sqrt(); // its variance is 5
    let w: Vec<f64> = (0..rows * cols)
        .map(|_| scale * law.sample(&mut rng))
        .collect();
    Linear::new(Matrix::from_rows(rows, cols, &w).unwrap()).unwrap()
}

fn low_rank(rows: usize, cols: usize, rank: usize, seed: u64) -> Linear {
    let (u, v) = (
        common::gaussian_matrix(rows, rank, seed),
        common::gaussian_matrix(rank, cols, seed + 1),
    );
    let entry = |i, j| (0..rank).map(|k| u.get(i, k) * v.get(k, j)).sum::<f64>();
    Linear::new(Matrix::from_fn(rows, cols, entry).unwrap()).unwrap()
}

/// Singular values from `sqrt(condition)`-like down, at a mean square of 1.
fn conditioned(rows: usize, cols: usize, condition: f64, seed: u64) -> Linear {
    let w = common::conditioned_matrix(rows, cols, condition, seed);
    let entries = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
    let square: f64 = entries.map(|(i, j)| w.get(i, j).powi(2)).sum();
    let scale = (rows as f64 / square).sqrt();
    Linear::new(Matrix::from_fn(rows, cols, |i, j| scale * w.get(i, j)).unwrap()).unwrap()
}

fn sparse(rho: f64, n: usize) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, 0.0, 1.0).unwrap().iid(n)
}

fn binary(n: usize) -> SeparablePrior<Binary> {
    Binary::new(0.5).unwrap().iid(n)
}

fn noise(variance: f64) -> GaussianNoise {
    GaussianNoise::new(variance).unwrap()
}

/// Draws from the teacher; the student sees its output.
fn taught(teacher: Fragment, student: Fragment, seed: u64) -> Case {
    let model = teacher.build().unwrap();
    let sample = model.sample(seed).unwrap();
    let y = sample.get("y").unwrap();
    Case {
        posterior: student.build().unwrap().condition("y", y).unwrap(),
        truth: sample.get("x").unwrap().to_vec(),
        model: Some(model),
        variation: None,
    }
}

fn glm(prior: impl Factor, w: &Linear, channel: impl Factor) -> Fragment {
    common::glm(prior, w.clone(), channel)
}

fn regression(w: &Linear, n: usize, seed: u64) -> Case {
    let model = || glm(sparse(0.1, n), w, noise(0.01));
    taught(model(), model(), seed)
}

fn perceptron(w: &Linear, n: usize, seed: u64) -> Case {
    let model = || glm(binary(n), w, PiecewiseLinear::sign());
    taught(model(), model(), seed)
}

/// A piecewise constant signal in noise, known by its sparse gradient.
fn gradient(shape: &[usize], seed: u64) -> Case {
    let mut parts = vec![shape.len()];
    parts.extend(shape);
    steps(
        shape,
        seed,
        0.01,
        GaussBernoulli::new(0.04, 0.0, 1.0).unwrap().shaped(parts),
    )
}

/// A piecewise constant signal in noise of this variance, with a law or a penalty on its differences.
fn steps(shape: &[usize], seed: u64, noise: f64, jumps: impl Factor) -> Case {
    let n: usize = shape.iter().product();
    let side = shape[shape.len() - 1];
    let levels = common::normals(64, seed);
    let block = side.div_ceil(6);
    let level = |i: usize| levels[(i % side / block) + 7 * (i / side / block)];
    let truth: Vec<f64> = (0..n).map(level).collect();
    let eps = common::normals(n, seed + 1000);
    let y: Vec<f64> = truth
        .iter()
        .zip(eps)
        .map(|(x, e)| x + noise.sqrt() * e)
        .collect();
    let like = common::seen(noise, &y);
    let x = GaussianPrior::new(0.0, 1.0).unwrap().shaped(shape.to_vec());
    let model = source(x)
        >> var("x")
        >> (branch(like) + (branch(Gradient::periodic()) + jumps >> var("z")));
    Case {
        posterior: model.build().unwrap(),
        truth,
        model: None,
        variation: None,
    }
}

fn committee(seed: u64) -> Case {
    let (n, w) = (100, iid(200, 100, seed));
    let expert = |k: usize| {
        let x = if k == 0 {
            "x".to_owned()
        } else {
            format!("x{k}")
        };
        source(Binary::new(0.6).unwrap().iid(n))
            >> var(&x)
            >> w.clone()
            >> var(&format!("z{k}"))
            >> PiecewiseLinear::sign()
            >> var(&format!("a{k}"))
    };
    let model = || {
        expert(0) + expert(1) + expert(2)
            >> Sum::new(3).unwrap()
            >> var("a")
            >> PiecewiseLinear::sign()
            >> var("y")
    };
    taught(model(), model(), seed)
}

fn layers(activation: &(impl Factor + Clone), seed: u64) -> Case {
    let (w1, w2) = (iid(200, 100, seed), iid(200, 200, seed + 1));
    let model = || {
        source(GaussianPrior::new(0.0, 1.0).unwrap().iid(100))
            >> var("x")
            >> w1.clone()
            >> var("z")
            >> activation.clone()
            >> var("h")
            >> w2.clone()
            >> var("g")
            >> noise(0.01)
            >> var("y")
    };
    taught(model(), model(), seed)
}

/// The model of that name, drawn from a seed.
pub fn case(name: &str, seed: u64) -> Case {
    let (n, m) = (200, 120);
    match name {
        "sparse regression" => regression(&iid(m, n, seed), n, seed),
        "sparse regression, N = 20" => regression(&iid(12, 20, seed), 20, seed),
        "sparse regression, N = 2000" => regression(&iid(1200, 2000, seed), 2000, seed),
        "condition number 1e1" => regression(&conditioned(m, n, 1e1, seed), n, seed),
        "condition number 1e2" => regression(&conditioned(m, n, 1e2, seed), n, seed),
        "condition number 1e4" => regression(&conditioned(m, n, 1e4, seed), n, seed),
        "condition number 1e6" => regression(&conditioned(m, n, 1e6, seed), n, seed),
        "entries of mean 1" => regression(&off_centre(m, n, 1.0, seed), n, seed),
        "entries of mean 1/sqrt(N)" => {
            let mean = 1.0 / (n as f64).sqrt();
            regression(&off_centre(m, n, mean, seed), n, seed)
        }
        "rows of different norm" => {
            let w = shaped(m, n, seed, |i, _, w| w * 10f64.powf(i as f64 / 40.0 - 1.5));
            regression(&w, n, seed)
        }
        "correlated columns" => regression(&correlated(m, n, seed), n, seed),
        "heavy-tailed entries" => regression(&heavy_tailed(m, n, seed), n, seed),
        "low-rank matrix" => regression(&low_rank(m, n, 40, seed), n, seed),
        "student: noise too small" => {
            let w = iid(m, n, seed);
            let student = glm(sparse(0.1, n), &w, noise(1e-4));
            taught(glm(sparse(0.1, n), &w, noise(0.01)), student, seed)
        }
        "student: too sparse" => {
            let w = iid(m, n, seed);
            let student = glm(sparse(0.02, n), &w, noise(0.01));
            taught(glm(sparse(0.3, n), &w, noise(0.01)), student, seed)
        }
        "perceptron" => perceptron(&iid(340, n, seed), n, seed),
        "perceptron, 2.5 N outputs" => perceptron(&iid(500, n, seed), n, seed),
        "perceptron, condition 1e2" => perceptron(&conditioned(340, n, 1e2, seed), n, seed),
        "perceptron, entries of mean 1" => perceptron(&off_centre(340, n, 1.0, seed), n, seed),
        "perceptron, correlated columns" => perceptron(&correlated(340, n, seed), n, seed),
        "perceptron, N = 20" => perceptron(&iid(24, 20, seed), 20, seed),
        "symmetric door" => {
            let door = PiecewiseLinear::symmetric_door(1.0).unwrap();
            let model = || {
                glm(
                    Binary::new(0.6).unwrap().iid(n),
                    &iid(400, n, seed),
                    door.clone(),
                )
            };
            taught(model(), model(), seed)
        }
        "phase retrieval" => {
            let prior = || GaussBernoulli::new(0.6, 0.1, 1.0).unwrap().iid(n);
            let model = || glm(prior(), &iid(300, n, seed), PiecewiseLinear::abs());
            taught(model(), model(), seed)
        }
        "relu output" => {
            let model = || glm(sparse(0.5, n), &iid(400, n, seed), PiecewiseLinear::relu());
            taught(model(), model(), seed)
        }
        "two-layer relu" => layers(&PiecewiseLinear::relu(), seed),
        "tanh layer" => layers(&PiecewiseLinear::hard_tanh(), seed),
        "committee" => committee(seed),
        "sparse gradient" => gradient(&[400], seed),
        "sparse gradient 2d" => gradient(&[24, 24], seed),
        "total variation" => {
            let jumps = L1::new(10.0).unwrap().shaped([1, 400]);
            steps(&[400], seed, 0.01, jumps)
        }
        "total variation 2d" => {
            let jumps = L1::new(30.0).unwrap().shaped([2, 24, 24]);
            Case {
                variation: Some((30.0, 0.01)),
                ..steps(&[24, 24], seed, 0.01, jumps)
            }
        }
        "total variation 2d, much noise" => {
            let jumps = L1::new(3.0).unwrap().shaped([2, 24, 24]);
            Case {
                variation: Some((3.0, 0.1)),
                ..steps(&[24, 24], seed, 0.1, jumps)
            }
        }
        "sparse deconvolution" => {
            let blur = || Convolution::gaussian_blur(2.0).unwrap();
            let model = || common::glm(sparse(0.05, 256), blur(), noise(1e-3));
            taught(model(), model(), seed)
        }
        other => panic!("no model `{other}`"),
    }
}

/// $\frac12\|x\|^2 + \frac1{2\Delta}\|y - x\|^2 + \lambda\|Gx\|_1$ less its dual at $p$ clipped to $|p| \le \lambda$: zero at the mode
/// alone. Relative to the first.
pub fn duality_gap(report: &Posterior, (strength, noise): (f64, f64)) -> f64 {
    let (n, x) = (24, report.mean("x").unwrap());
    let next = |k: usize| [(k + n) % (n * n), k / n * n + (k + 1) % n];
    let message = report.messages.get("l1", "z").unwrap();
    let (a, b) = (message.precision.scalar(), &message.linear);
    let y = report.messages.get("gaussian_likelihood", "x").unwrap();
    // b = y / noise
    let y: Vec<f64> = y.linear.iter().map(|b| b * noise).collect();
    let mut pull: Vec<f64> = y.iter().map(|y| y / noise).collect();
    let (mut primal, mut square) = (0.0, 0.0);
    for k in 0..n * n {
        primal += 0.5 * x[k] * x[k] + (x[k] - y[k]).powi(2) / (2.0 * noise);
        square += y[k] * y[k] / (2.0 * noise);
        for (axis, m) in next(k).into_iter().enumerate() {
            let z = x[m] - x[k];
            let i = axis * n * n + k;
            let p = (a * z - b[i]).clamp(-strength, strength);
            primal += strength * z.abs();
            // pull becomes y / noise - G^T p
            pull[m] -= p;
            pull[k] += p;
        }
    }
    let dual = square - pull.iter().map(|b| b * b).sum::<f64>() / (2.0 * (1.0 + 1.0 / noise));
    (primal - dual) / primal
}
