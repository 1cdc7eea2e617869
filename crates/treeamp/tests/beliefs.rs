//! Beliefs beyond isotropic: full ones are exact on Gaussian trees, diagonal ones see columns of different scales, and
//! block ones carry a matrix per row.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use common::*;
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use treeamp::belief::SymMatrix;
use treeamp::factor::{Arity, Incoming, PosteriorRule, message_from_moments};
use treeamp::operator::{Boundary, FiniteDifference, applied};
use treeamp::prelude::*;
use treeamp::testing::factors::check_factor;

/// What the dense joint Gaussian says: base variables $\xi\sim\mathcal N(m, \mathrm{diag}\,v)$, observations
/// $y = H\xi + $ noise.
struct Joint {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    evidence: f64,
}

fn joint(base: &[(f64, f64)], h: &Mat<f64>, noise: &[f64], y: &[f64]) -> Joint {
    let (m, n) = (h.nrows(), h.ncols());
    // in covariance form: exact base variables and observations are allowed
    let outer = Mat::from_fn(m, m, |i, j| {
        let gram: f64 = (0..n).map(|k| h[(i, k)] * base[k].1 * h[(j, k)]).sum();
        gram + if i == j { noise[i] } else { 0.0 }
    });
    let centre: Vec<f64> = (0..m)
        .map(|i| (0..n).map(|k| h[(i, k)] * base[k].0).sum())
        .collect();
    let inverse = outer.partial_piv_lu().inverse();
    let gain = Mat::from_fn(n, m, |i, j| {
        (0..m)
            .map(|k| base[i].1 * h[(k, i)] * inverse[(k, j)])
            .sum::<f64>()
    });
    let mean = (0..n)
        .map(|i| {
            base[i].0
                + (0..m)
                    .map(|k| gain[(i, k)] * (y[k] - centre[k]))
                    .sum::<f64>()
        })
        .collect();
    let covariance = Mat::from_fn(n, n, |i, j| {
        let less: f64 = (0..m).map(|k| gain[(i, k)] * h[(k, j)] * base[j].1).sum();
        if i == j { base[i].1 - less } else { -less }
    });
    Joint {
        mean,
        covariance,
        evidence: log_normal(y, &centre, &outer),
    }
}

impl Joint {
    /// Mean and covariance of $F\xi$ against a report.
    fn check(&self, report: &Posterior, variable: &str, f: &Mat<f64>) {
        let mean: Vec<f64> = (0..f.nrows())
            .map(|i| (0..f.ncols()).map(|k| f[(i, k)] * self.mean[k]).sum())
            .collect();
        let gap = relative_gap(report.mean(variable).unwrap(), &mean);
        assert!(gap < 1e-10, "mean of {variable} is off by {gap:e}");
        let covariance = f * &self.covariance * f.transpose();
        let ours = &report.marginal(variable).unwrap().variance;
        let gap = matrix_gap(ours, &covariance);
        assert!(gap < 1e-10, "covariance of {variable} is off by {gap:e}");
    }

    fn check_evidence(&self, report: &Posterior) {
        let a = report.log_evidence().unwrap();
        let gap = (a - self.evidence).abs() / self.evidence.abs().max(1.0);
        assert!(gap < 1e-10, "evidence {a} against {}", self.evidence);
    }
}

/// Largest difference of entries, relative to the largest entry.
fn matrix_gap(ours: &SymMatrix, exact: &Mat<f64>) -> f64 {
    let n = exact.nrows();
    let entries = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let scale = entries()
        .map(|(i, j)| exact[(i, j)].abs())
        .fold(0.0, f64::max);
    let gap = |(i, j)| f64::abs(ours.entry(i, j) - exact[(i, j)]);
    entries().map(gap).fold(0.0, f64::max) / scale
}

fn mat(w: &Matrix) -> Mat<f64> {
    w.view().to_owned()
}

fn run(tree: &Tree) -> Posterior {
    ExpectationPropagation
        .on(tree)
        .unwrap()
        .run(&mut ())
        .unwrap()
}

fn gaussian(delta: f64, y: &[f64]) -> impl Factor + use<> {
    GaussianLikelihood::new(delta).unwrap().observed(y).unwrap()
}

/// Rank `rank` exactly, up to rounding.
fn deficient_matrix(rows: usize, cols: usize, rank: usize, seed: u64) -> Matrix {
    let (u, v) = (
        gaussian_matrix(rows, rank, seed),
        gaussian_matrix(rank, cols, seed + 1),
    );
    Matrix::new(mat(&u) * mat(&v)).unwrap()
}

/// Chains of two dense channels, wide, square, tall and rank deficient, through full beliefs.
#[test]
fn chains_of_dense_channels_are_exact() {
    for (n, m, k) in [(6, 4, 3), (5, 5, 5), (4, 9, 3), (4, 9, 12), (7, 3, 8)] {
        for deficient in [false, true] {
            let w1 = if deficient {
                deficient_matrix(m, n, 2, 7)
            } else {
                gaussian_matrix(m, n, 1)
            };
            let w2 = gaussian_matrix(k, m, 2);
            let y = normals(k, 3);
            let tree = (source(GaussianPrior::new(0.3, 1.4).unwrap().iid(n))
                >> var("x").full()
                >> Linear::new(w1.clone()).unwrap()
                >> var("u").full()
                >> Linear::new(w2.clone()).unwrap()
                >> var("v").full()
                >> gaussian(0.2, &y))
            .build()
            .unwrap();
            let report = run(&tree);
            let (f1, f2) = (mat(&w1), mat(&w2) * mat(&w1));
            let exact = joint(&vec![(0.3, 1.4); n], &f2, &vec![0.2; k], &y);
            exact.check(&report, "x", &Mat::identity(n, n));
            exact.check(&report, "u", &f1);
            exact.check(&report, "v", &f2);
            exact.check_evidence(&report);
            // on a chain everything is known after one sweep, and the second finds nothing new
            assert!(report.sweeps <= 2, "{} sweeps", report.sweeps);
        }
    }
}

/// A tree with a branch, noise inside, a bias, and channels of every aspect.
#[test]
fn trees_of_dense_channels_are_exact() {
    let n = 5;
    let (w1, w2, w3) = (
        gaussian_matrix(8, n, 1),
        gaussian_matrix(3, n, 2),
        deficient_matrix(4, 8, 3, 3),
    );
    let shift = normals(8, 9);
    let (y2, y3) = (normals(3, 4), normals(4, 5));
    let tree = (source(GaussianPrior::new(-0.2, 0.8).unwrap().iid(n))
        >> var("x").full()
        >> ((branch(Linear::new(w1.clone()).unwrap())
            >> var("u").full()
            >> Bias::new(shift.clone()).unwrap()
            >> var("s").full()
            >> GaussianNoise::new(0.3).unwrap()
            >> var("t").full()
            >> Linear::new(w3.clone()).unwrap()
            >> var("v").full()
            >> gaussian(0.5, &y3))
            + (branch(Linear::new(w2.clone()).unwrap()) >> var("w").full() >> gaussian(0.1, &y2))))
    .build()
    .unwrap();
    let report = run(&tree);
    // base variables: x, the bias as 8 constants, the noise inside
    let mut base = vec![(-0.2, 0.8); n];
    base.extend(shift.iter().map(|c| (*c, 0.0)));
    base.extend(vec![(0.0, 0.3); 8]);
    let total = base.len();
    let place = |rows: usize, f: &dyn Fn(usize, usize) -> f64| Mat::from_fn(rows, total, f);
    let x = place(n, &|i, j| f64::from(u8::from(i == j)));
    let u = mat(&w1) * &x;
    let s = &u + place(8, &|i, j| f64::from(u8::from(j == n + i)));
    let t = &s + place(8, &|i, j| f64::from(u8::from(j == n + 8 + i)));
    let v = mat(&w3) * &t;
    let w = mat(&w2) * &x;
    let h = Mat::from_fn(
        7,
        total,
        |i, j| if i < 4 { v[(i, j)] } else { w[(i - 4, j)] },
    );
    let noise: Vec<f64> = (0..7).map(|i| if i < 4 { 0.5 } else { 0.1 }).collect();
    let y: Vec<f64> = y3.iter().chain(&y2).copied().collect();
    let exact = joint(&base, &h, &noise, &y);
    for (name, f) in [("x", x), ("u", u), ("s", s), ("t", t), ("v", v), ("w", w)] {
        exact.check(&report, name, &f);
    }
    exact.check_evidence(&report);
}

/// The ends of a channel may have different beliefs: with a full one on x, z of any kind is exact on the diagonal.
#[test]
fn mixed_ends_agree_on_gaussian_chains() {
    for (rows, cols) in [(4, 7), (7, 4), (5, 5)] {
        let w = gaussian_matrix(rows, cols, 11);
        let y = normals(rows, 12);
        let exact = joint(&vec![(0.1, 2.0); cols], &mat(&w), &vec![0.3; rows], &y);
        let kinds = [Structure::Isotropic, Structure::Diagonal, Structure::Full];
        for (on_x, on_z) in kinds
            .iter()
            .flat_map(|x| kinds.iter().map(move |z| (*x, *z)))
        {
            let tree = (source(GaussianPrior::new(0.1, 2.0).unwrap().iid(cols))
                >> var("x").belief(on_x)
                >> Linear::new(w.clone()).unwrap()
                >> var("z").belief(on_z)
                >> gaussian(0.3, &y))
            .build()
            .unwrap();
            let report = run(&tree);
            let gap = relative_gap(report.mean("x").unwrap(), &exact.mean);
            assert!(gap < 1e-10, "{on_x} {on_z}: {gap:e}");
            let v: Vec<f64> = report.marginal("x").unwrap().variance.diagonal().collect();
            let own: Vec<f64> = (0..cols).map(|i| exact.covariance[(i, i)]).collect();
            if on_x == Structure::Isotropic {
                let mean = own.iter().sum::<f64>() / cols as f64;
                assert!((v[0] / mean - 1.0).abs() < 1e-10, "{on_x} {on_z}");
            } else {
                assert!(relative_gap(&v, &own) < 1e-10, "{on_x} {on_z}");
            }
            // one Gaussian channel between constant messages: the evidence is exact whatever the beliefs
            exact.check_evidence(&report);
        }
    }
}

// ---- every factor, in every structure it claims ----

fn specs_with(
    factor: &dyn Factor,
    inputs: &[SignalSpec],
    structures: &[Structure],
) -> Vec<SignalSpec> {
    let mut specs = inputs.to_vec();
    specs.extend(factor.output_specs(inputs).unwrap());
    for (spec, structure) in specs.iter_mut().zip(structures) {
        spec.structure = *structure;
    }
    specs
}

/// A proper message with entries of every size: off-diagonal ones too.
fn proper_message(spec: &SignalSpec, scale: f64, seed: u64) -> Gaussian {
    let n = spec.len();
    let root = normals(n * n, seed);
    let mut m = Gaussian::flat(spec);
    m.precision.fill_with(|i, j| {
        let gram: f64 = (0..n).map(|k| root[i * n + k] * root[j * n + k]).sum();
        scale
            * (0.5 * gram / n as f64
                + if i == j {
                    0.6 + 0.1 * (i % 5) as f64
                } else {
                    0.0
                })
    });
    m.linear = normals(n, seed + 100)
        .iter()
        .map(|b| b * scale.sqrt())
        .collect();
    m
}

fn check_structures(factor: &dyn Factor, inputs: &[SignalSpec], structures: &[Structure]) {
    let specs = specs_with(factor, inputs, structures);
    for (seed, scale) in [(1, 1.0), (2, 20.0), (3, 0.1)] {
        let messages: Vec<Gaussian> = specs
            .iter()
            .enumerate()
            .map(|(i, s)| proper_message(s, scale * (1.0 + 0.3 * i as f64), seed + 10 * i as u64))
            .collect();
        // central differences over steps of 1e-3 standard deviations and of 1e-4 of the second moment: a law that is
        // not Gaussian has a third derivative, whose share is about 1e-6 where the precision makes all rows zero
        let outcome = check_factor(factor, &specs, &messages, 5e-6);
        outcome.unwrap_or_else(|e| panic!("{structures:?}, scale {scale}: {e}"));
    }
}

const KINDS: [Structure; 3] = [Structure::Isotropic, Structure::Diagonal, Structure::Full];
const ALL: [Structure; 4] = [
    Structure::Isotropic,
    Structure::Diagonal,
    Structure::Full,
    Structure::Block { dim: 3 },
];

#[test]
fn linear_channels_conform_in_every_structure() {
    let n = SignalSpec::real([6]);
    for on_z in KINDS {
        for on_x in KINDS {
            for rows in [1, 4, 6] {
                let channel = Linear::new(gaussian_matrix(rows, 6, 1)).unwrap();
                check_structures(&channel, &[n.clone()], &[on_z, on_x]);
            }
            // outputs that W does not reach: a full belief there is in moment form
            let tall = Linear::new(gaussian_matrix(9, 6, 1)).unwrap();
            let deficient = Linear::new(deficient_matrix(5, 6, 3, 4)).unwrap();
            check_structures(&tall, &[n.clone()], &[on_z, on_x]);
            check_structures(&deficient, &[n.clone()], &[on_z, on_x]);
        }
    }
}

#[test]
fn gaussian_factors_conform_in_every_structure() {
    let n = SignalSpec::real([6]);
    for s in ALL {
        check_structures(&GaussianNoise::new(0.3).unwrap(), &[n.clone()], &[s, s]);
        check_structures(&GaussianNoise::new(0.0).unwrap(), &[n.clone()], &[s, s]);
        check_structures(&Bias::new(normals(6, 3)).unwrap(), &[n.clone()], &[s, s]);
        check_structures(&Duplicate::new(2).unwrap(), &[n.clone()], &[s, s, s]);
        check_structures(&Reshape::to([2, 3]), &[n.clone()], &[s, s]);
        check_structures(&GaussianPrior::new(0.4, 1.7).unwrap().iid(6), &[], &[s]);
        check_structures(&gaussian(0.3, &normals(6, 4)), &[n.clone()], &[s]);
    }
}

/// Every prior of the catalogue conforms with a precision per component, and with equal ones it says component by
/// component what the law says.
#[test]
fn laws_conform_with_diagonal_beliefs() {
    let mut spec = SignalSpec::real([4]);
    spec.structure = Structure::Diagonal;
    macro_rules! priors {
        ($($name:ident => $law:expr,)*) => {$(
            let law = $law.unwrap();
            let factor = law.clone().iid(4);
            check_structures(&factor, &[], &[Structure::Diagonal]);
            let a = 1.3;
            let mut message = Gaussian::flat(&spec);
            message.set_precision(a);
            message.linear = vec![-1.0, 0.2, 0.7, 2.5];
            let mut moments = Moments::zeros(&spec);
            let store = [message.clone()];
            let view = Incoming::new(&store, &[0]);
            factor.posterior().unwrap().moments(view, 0, &mut moments, &mut []).unwrap();
            for (i, b) in message.linear.iter().enumerate() {
                let t = law.tilted(a, *b);
                assert!((moments.mean[i] - t.mean).abs() <= 1e-15 * t.mean.abs().max(1.0), stringify!($name));
                let v = moments.variance.entry(i, i);
                assert!((v - t.variance).abs() <= 1e-15 * t.variance.max(1.0), stringify!($name));
            }
        )*};
    }
    treeamp::for_each_prior!(priors);
    macro_rules! likelihoods {
        ($($name:ident => $law:expr, [$($y:expr),*];)*) => {$(
            let y = [$($y),*];
            let factor = $law.unwrap().observed(y.to_vec()).unwrap();
            // an output that pins its input has no derivatives
            if !["noiseless", "tanh"].contains(&stringify!($name)) {
                check_structures(&factor, &[SignalSpec::real([y.len()])], &[Structure::Diagonal]);
            }
        )*};
    }
    treeamp::for_each_likelihood!(likelihoods);
    macro_rules! channels {
        ($($name:ident => $law:expr, [$($y:expr),*];)*) => {$(
            let made: Result<_, ModelError> = $law;
            let channel = made.unwrap();
            for ends in [[Structure::Diagonal; 2], [Structure::Diagonal, Structure::Isotropic]] {
                let specs = specs_with(&channel, &[SignalSpec::real([3])], &ends);
                let messages: Vec<Gaussian> =
                    specs.iter().enumerate().map(|(i, s)| proper_message(s, 1.0, 5 + i as u64)).collect();
                // laws by quadrature are good to 1e-7 of their derivatives
                check_factor(&channel, &specs, &messages, 1e-5).unwrap();
            }
        )*};
    }
    treeamp::for_each_channel!(channels);
}

// ---- rows ----

/// ln of a sum of exponentials.
fn log_sum(x: &[f64]) -> f64 {
    let top = x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    top + x.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
}

#[test]
fn row_laws_conform_and_discrete_ones_enumerate() {
    let r = 3;
    let covariance = [1.3, 0.4, -0.2, 0.4, 0.9, 0.1, -0.2, 0.1, 0.7];
    let block = Structure::Block { dim: r };
    let mean = [0.3, -0.5, 0.1];
    let gaussian = MixtureRow::gaussian(&mean, &covariance).unwrap().rows(4);
    check_structures(&gaussian, &[], &[block]);
    let sparse = MixtureRow::sparse(0.3, &mean, &covariance).unwrap().rows(4);
    check_structures(&sparse, &[], &[block]);
    let weights = [0.2, 0.5, 0.3];
    let hot = MixtureRow::one_hot(&weights).unwrap().rows(4);
    // its covariance is singular along (1, 1, 1): the message is in moment form
    check_structures(&hot, &[], &[block]);
    let specs = specs_with(&hot, &[], &[block]);
    let message = [proper_message(&specs[0], 2.0, 3)];
    let view = Incoming::new(&message, &[0]);
    let mut moments = Moments::zeros(&specs[0]);
    let rule = hot.posterior().unwrap();
    rule.moments(view, 0, &mut moments, &mut []).unwrap();
    let mut evidence = 0.0;
    for row in 0..4 {
        let (a, b) = (&message[0].precision, &message[0].linear);
        let logs: Vec<f64> = (0..r)
            .map(|k| weights[k].ln() + b[row * r + k] - 0.5 * a.entry(row * r + k, row * r + k))
            .collect();
        let log_z = log_sum(&logs);
        evidence += log_z;
        for k in 0..r {
            let p = (logs[k] - log_z).exp();
            let at = row * r + k;
            assert!((moments.mean[at] - p).abs() < 1e-14);
            assert!((moments.variance.entry(at, at) - p * (1.0 - p)).abs() < 1e-14);
        }
    }
    let ours = rule.log_partition(view, &mut []).unwrap();
    assert!(
        (ours - evidence).abs() < 1e-12 * evidence.abs(),
        "{ours} {evidence}"
    );
}

/// Rows that are zero or Gaussian, seen through noise: every row by itself is a mixture of two.
#[test]
fn block_beliefs_on_sparse_rows_are_exact() {
    let (n, r, rho, delta) = (30, 2, 0.4, 0.3);
    let covariance = [1.5, 0.6, 0.6, 0.8];
    let prior = MixtureRow::sparse(rho, &[0.2, -0.1], &covariance)
        .unwrap()
        .rows(n);
    let model = (source(prior)
        >> var("u").block(r)
        >> GaussianNoise::new(0.1).unwrap()
        >> var("v").block(r)
        >> GaussianNoise::new(0.2).unwrap()
        >> var("y").block(r))
    .build()
    .unwrap();
    let y = model.sample(3).unwrap().get("y").unwrap().to_vec();
    let report = run(&model.condition("y", &y).unwrap());
    let mut evidence = 0.0;
    for (row, y) in y.chunks(r).enumerate() {
        let spike = Mat::from_fn(r, r, |i, j| if i == j { delta } else { 0.0 });
        let slab = Mat::from_fn(r, r, |i, j| covariance[i * r + j] + spike[(i, j)]);
        let mean = [0.2, -0.1];
        let logs = [
            (1.0 - rho).ln() + log_normal(y, &[0.0, 0.0], &spike),
            rho.ln() + log_normal(y, &mean, &slab),
        ];
        let log_z = log_sum(&logs);
        evidence += log_z;
        let p = (logs[1] - log_z).exp();
        let inverse = slab.partial_piv_lu().inverse();
        let prior = Mat::from_fn(r, r, |i, j| covariance[i * r + j]);
        let gain = &prior * &inverse;
        let inside = &prior - &gain * &prior;
        let m: Vec<f64> = (0..r)
            .map(|i| mean[i] + (0..r).map(|j| gain[(i, j)] * (y[j] - mean[j])).sum::<f64>())
            .collect();
        let marginal = report.marginal("u").unwrap();
        for i in 0..r {
            assert!((marginal.mean[row * r + i] - p * m[i]).abs() < 1e-10);
            for j in 0..r {
                let exact = p * inside[(i, j)] + p * (1.0 - p) * m[i] * m[j];
                let ours = marginal.variance.entry(row * r + i, row * r + j);
                assert!((ours - exact).abs() < 1e-10, "{ours} {exact}");
            }
        }
    }
    let ours = report.log_evidence().unwrap();
    assert!(
        (ours - evidence).abs() < 1e-10 * evidence.abs(),
        "{ours} {evidence}"
    );
}

// ---- diagonal beliefs ----

/// Sparse regression with columns of scales from 1e-2 to 1e2: an isotropic belief must call the average of what is known about
/// strong and weak columns the precision of all of them.
#[test]
fn diagonal_beliefs_see_columns_of_different_scales() {
    let (rows, cols, delta) = (60, 100, 1e-2);
    let (mut isotropic, mut diagonal) = (0.0, 0.0);
    for seed in 0..20 {
        let plain = gaussian_matrix(rows, cols, 100 + seed);
        // the scales are in no order with respect to anything
        let scale =
            |j: usize| 10.0_f64.powf(4.0 * ((7 * j) % cols) as f64 / (cols - 1) as f64 - 2.0);
        let w = Matrix::from_fn(rows, cols, |i, j| plain.get(i, j) * scale(j)).unwrap();
        let mut errors = [0.0; 2];
        for (error, structure) in errors
            .iter_mut()
            .zip([Structure::Isotropic, Structure::Diagonal])
        {
            let model = (source(GaussBernoulli::new(0.2, 0.0, 1.0).unwrap().iid(cols))
                >> var("x").belief(structure)
                >> Linear::new(w.clone()).unwrap()
                >> var("z")
                >> GaussianNoise::new(delta).unwrap()
                >> var("y"))
            .build()
            .unwrap();
            let sample = model.sample(seed).unwrap();
            let observed = model.condition("y", sample.get("y").unwrap()).unwrap();
            let report = run(&observed);
            *error = mse(report.mean("x").unwrap(), sample.get("x").unwrap());
        }
        isotropic += errors[0] / 20.0;
        diagonal += errors[1] / 20.0;
    }
    println!("MSE: isotropic {isotropic:.4}, diagonal {diagonal:.4}");
    assert!(diagonal < 0.9 * isotropic, "{diagonal} against {isotropic}");
}

// ---- total variation ----

/// A variable about which nothing is known beforehand.
#[derive(Debug)]
struct Unknown(usize);

impl Factor for Unknown {
    fn name(&self) -> &'static str {
        "unknown"
    }
    fn arity(&self) -> Arity {
        Arity {
            inputs: 0,
            outputs: 1,
        }
    }
    fn output_specs(
        &self,
        _: &[SignalSpec],
    ) -> Result<Vec<SignalSpec>, treeamp::error::ShapeError> {
        Ok(vec![SignalSpec::real([self.0])])
    }
    fn structures(&self) -> &'static [Structure] {
        &[Structure::Full]
    }
    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }
}

impl PosteriorRule for Unknown {
    fn log_partition(
        &self,
        incoming: Incoming<'_, Gaussian>,
        _: &mut [f64],
    ) -> Result<f64, FactorError> {
        Ok(incoming.get(0).log_partition())
    }
    fn message(
        &self,
        _: Incoming<'_, Gaussian>,
        _: usize,
        out: &mut Gaussian,
        _: &mut [f64],
    ) -> Result<(), FactorError> {
        out.set_flat();
        Ok(())
    }
}

/// The penalty $\lambda\|z\|_1$ at zero temperature: mean $\eta(b/a)$ and variance $\langle\eta'\rangle/a$ of the soft threshold.
#[derive(Debug)]
struct SoftThreshold(f64);

fn soft(strength: f64, a: f64, b: &[f64]) -> (Vec<f64>, f64) {
    let eta = |b: &f64| (b.abs() - strength).max(0.0).copysign(*b) / a;
    let active = b.iter().filter(|b| b.abs() > strength).count();
    let v = active as f64 / b.len() as f64 / a;
    (b.iter().map(eta).collect(), v)
}

impl Factor for SoftThreshold {
    fn name(&self) -> &'static str {
        "l1"
    }
    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 0,
        }
    }
    fn output_specs(
        &self,
        _: &[SignalSpec],
    ) -> Result<Vec<SignalSpec>, treeamp::error::ShapeError> {
        Ok(vec![])
    }
    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }
}

impl PosteriorRule for SoftThreshold {
    fn log_partition(&self, _: Incoming<'_, Gaussian>, _: &mut [f64]) -> Result<f64, FactorError> {
        Err(FactorError::Unsupported("not asked for here".to_owned()))
    }
    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        _: usize,
        out: &mut Gaussian,
        _: &mut [f64],
    ) -> Result<(), FactorError> {
        let z = incoming.get(0);
        let a = z.precision.scalar();
        if a <= 0.0 {
            return Err(FactorError::Improper("nothing is known yet".to_owned()));
        }
        let (r, v) = soft(self.0, a, &z.linear);
        out.linear = r;
        out.precision.set_scalar(v);
        message_from_moments(z, out)
    }
}

/// One step of TV-VAMP (section 2.9 of the paper) from $a_{z\to K}, b_{z\to K}$: the messages $K\to z$ and $f\to z$, and
/// $r_x^K$.
#[allow(clippy::type_complexity)]
fn tv_vamp(
    (a, y, k): (&Mat<f64>, &[f64], &Mat<f64>),
    (delta, strength): (f64, f64),
    (a_zk, b_zk): (f64, &[f64]),
) -> ((f64, Vec<f64>), (f64, Vec<f64>), Vec<f64>) {
    let times = |m: &Mat<f64>, x: &[f64]| -> Vec<f64> {
        (0..m.nrows())
            .map(|i| (0..m.ncols()).map(|j| m[(i, j)] * x[j]).sum())
            .collect()
    };
    let n_z = k.nrows() as f64;
    let p = Mat::from_fn(a.ncols(), a.ncols(), |i, j| {
        let data: f64 = (0..a.nrows()).map(|r| a[(r, i)] * a[(r, j)]).sum();
        let penalty: f64 = (0..k.nrows()).map(|r| k[(r, i)] * k[(r, j)]).sum();
        data / delta + a_zk * penalty
    });
    let sigma = p.partial_piv_lu().inverse();
    let data = times(&a.transpose().to_owned(), y);
    let pull = times(&k.transpose().to_owned(), b_zk);
    let b: Vec<f64> = data.iter().zip(&pull).map(|(d, p)| d / delta + p).collect();
    let r_x = times(&sigma, &b);
    let r_z = times(k, &r_x);
    let spread = k * &sigma * k.transpose();
    let v_z = (0..k.nrows()).map(|i| spread[(i, i)]).sum::<f64>() / n_z;
    let a_zf = 1.0 / v_z - a_zk;
    let b_zf: Vec<f64> = r_z.iter().zip(b_zk).map(|(r, b)| r / v_z - b).collect();
    let (r_f, v_f) = soft(strength, a_zf, &b_zf);
    let b_new = r_f.iter().zip(&b_zf).map(|(r, b)| r / v_f - b).collect();
    ((a_zf, b_zf), (1.0 / v_f - a_zf, b_new), r_x)
}

/// A full belief on x and an isotropic one on z: every sweep is one step of TV-VAMP, for denoising (A the identity) and for
/// a blur, under the gradient with Neumann and with periodic boundaries, both singular.
#[test]
fn full_beliefs_on_x_make_tv_vamp() {
    let n = 24;
    let truth: Vec<f64> = (0..n)
        .map(|i| if (8..17).contains(&i) { 1.0 } else { -0.5 })
        .collect();
    let blur = Matrix::from_fn(n, n, |i, j| (-0.5 * (i as f64 - j as f64).powi(2)).exp()).unwrap();
    let identity = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j))).unwrap();
    for (a, boundary) in [(&identity, Boundary::Neumann), (&blur, Boundary::Periodic)] {
        let (delta, strength) = (0.05_f64, 1.5);
        let noise = normals(n, 5);
        let mut y = vec![0.0; n];
        a.apply(&truth, 1, &mut y);
        y.iter_mut()
            .zip(&noise)
            .for_each(|(y, e)| *y += delta.sqrt() * e);
        let operator = FiniteDifference::new(&SignalSpec::real([n]), boundary).unwrap();
        let unit = |j: usize| {
            (0..n)
                .map(|i| f64::from(u8::from(i == j)))
                .collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<f64>> = (0..n).map(|j| applied(&operator, &unit(j))).collect();
        let k = Mat::from_fn(columns[0].len(), n, |i, j| columns[j][i]);
        let tree = (source(Unknown(n))
            >> var("x").full()
            >> ((named("K", Linear::of(operator)) >> var("z") >> SoftThreshold(strength))
                + (named("A", Linear::new(a.clone()).unwrap())
                    >> var("a")
                    >> gaussian(delta, &y))))
        .build()
        .unwrap();
        let place = |f: &str, v: &str| tree.edge(f, v).unwrap();
        let (forth, back) = (place("K", "z"), place("l1", "z"));
        let mut last: Option<(f64, Vec<f64>)> = None;
        let mut steps = 0;
        let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
            let read = |e: usize| {
                let m = &view.messages()[e];
                (m.precision.scalar(), m.linear.clone())
            };
            // the first sweep brings A's message to x
            if let Some((a_zk, b_zk)) = last.as_ref().filter(|_| view.sweep > 1) {
                let data = (&mat(a), y.as_slice(), &k);
                let (to_z, from_f, _) = tv_vamp(data, (delta, strength), (*a_zk, b_zk));
                for (ours, printed) in [(read(forth), to_z), (read(back), from_f)] {
                    let gap = (ours.0 / printed.0 - 1.0).abs();
                    assert!(gap < 1e-12, "sweep {}: {gap:e}", view.sweep);
                    let gap = relative_gap(&ours.1, &printed.1);
                    assert!(gap < 1e-12, "sweep {}: {gap:e}", view.sweep);
                }
                steps += 1;
            }
            last = Some(read(back));
            std::ops::ControlFlow::Continue(())
        };
        let start = EdgeMessage {
            factor: "l1".into(),
            variable: "z".into(),
            precision: 1.0,
            linear: vec![0.0],
        };
        let report = ExpectationPropagation
            .on(&tree)
            .unwrap()
            .initial(Initial::Given(vec![start]))
            .damping(Damping::None)
            .fallback(Fallback::Forbidden)
            .tolerance(1e-10)
            .max_sweeps(60)
            .run(&mut watch)
            .unwrap();
        assert!(steps > 10, "{steps} steps, {}", report.termination);
        // where it settles, the belief on x is the printed mean
        let (a_zk, b_zk) = last.unwrap();
        let data = (&mat(a), y.as_slice(), &k);
        let (_, _, r_x) = tv_vamp(data, (delta, strength), (a_zk, &b_zk));
        let gap = relative_gap(report.mean("x").unwrap(), &r_x);
        assert!(gap < 1e-9, "{gap:e}");
    }
}

// ---- pins ----

/// A noiseless observation with diagonal beliefs: exact, component by component.
#[test]
fn diagonal_beliefs_hold_noiseless_observations() {
    let (rows, cols) = (5, 9);
    let w = gaussian_matrix(rows, cols, 21);
    let y = normals(rows, 22);
    let exact = joint(&vec![(0.1, 1.5); cols], &mat(&w), &vec![0.0; rows], &y);
    for on_z in [Structure::Isotropic, Structure::Diagonal] {
        let tree = (source(GaussianPrior::new(0.1, 1.5).unwrap().iid(cols))
            >> var("x").diagonal()
            >> Linear::new(w.clone()).unwrap()
            >> var("z").belief(on_z)
            >> gaussian(0.0, &y))
        .build()
        .unwrap();
        let report = run(&tree);
        assert!(relative_gap(report.mean("x").unwrap(), &exact.mean) < 1e-10);
        let v: Vec<f64> = report.marginal("x").unwrap().variance.diagonal().collect();
        let own: Vec<f64> = (0..cols).map(|i| exact.covariance[(i, i)]).collect();
        assert!(relative_gap(&v, &own) < 1e-10);
        exact.check_evidence(&report);
        assert_eq!(report.variance("z").unwrap(), 0.0);
    }
}

/// A full belief cannot hold "W x is known" when W is wide, and says so; when W determines x, x is pinned.
#[test]
fn exact_outputs_and_full_beliefs() {
    let tree = |rows: usize, y: &[f64]| {
        (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(4))
            >> var("x").full()
            >> Linear::new(gaussian_matrix(rows, 4, 31)).unwrap()
            >> var("z").full()
            >> gaussian(0.0, y))
        .build()
        .unwrap()
    };
    let wide = tree(2, &[1.0, 2.0]);
    let error = ExpectationPropagation
        .on(&wide)
        .unwrap()
        .run(&mut ())
        .unwrap_err();
    assert!(error.to_string().contains("exactly known"), "{error}");
    let x = normals(4, 32);
    let mut y = vec![0.0; 6];
    gaussian_matrix(6, 4, 31).apply(&x, 1, &mut y);
    let report = run(&tree(6, &y));
    assert!(relative_gap(report.mean("x").unwrap(), &x) < 1e-10);
    assert_eq!(report.variance("x").unwrap(), 0.0);
    y[0] += 0.1;
    let broken = tree(6, &y);
    let error = ExpectationPropagation
        .on(&broken)
        .unwrap()
        .run(&mut ())
        .unwrap_err();
    assert!(error.to_string().contains("contradiction"), "{error}");
}

/// The Jacobian of an invertible output is part of the evidence, in every structure.
#[test]
fn the_evidence_of_invertible_outputs_has_its_jacobian() {
    let y = [0.6, -0.2];
    let log_density = |y: f64| {
        let z = y.atanh();
        -0.5 * (z - 0.3).powi(2) - 0.5 * std::f64::consts::TAU.ln() - (1.0 - y * y).ln()
    };
    let exact: f64 = y.iter().map(|y| log_density(*y)).sum();
    for s in [Structure::Isotropic, Structure::Diagonal, Structure::Full] {
        let model = (source(GaussianPrior::new(0.3, 1.0).unwrap().iid(2))
            >> var("x").belief(s)
            >> Activation::tanh()
            >> var("y"))
        .build()
        .unwrap();
        let report = run(&model.condition("y", &y).unwrap());
        let ours = report.log_evidence().unwrap();
        assert!((ours - exact).abs() < 1e-12, "{s}: {ours} {exact}");
    }
}

// ---- group laws ----

/// Messages in natural and in moment form add in any order, and agree with the dense product.
#[test]
fn messages_of_both_forms_add() {
    let n = 4;
    let mut spec = SignalSpec::real([n]);
    spec.structure = Structure::Full;
    let natural = proper_message(&spec, 1.0, 1);
    // the output of a tall channel: rank 2
    let w = gaussian_matrix(n, 2, 3);
    let mut inner = SignalSpec::real([2]);
    inner.structure = Structure::Full;
    let store = [proper_message(&inner, 2.0, 4), Gaussian::flat(&spec)];
    let channel = Linear::new(w.clone()).unwrap();
    let mut moments = Gaussian::flat(&spec);
    let view = Incoming::new(&store, &[0, 1]);
    let rule = channel.posterior().unwrap();
    rule.message(view, 1, &mut moments, &mut []).unwrap();
    assert!(moments.has_moments());
    // a likelihood of low rank: no covariance of its own
    let mut singular = Gaussian::flat(&spec);
    let direction = normals(n, 5);
    singular
        .precision
        .fill_with(|i, j| direction[i] * direction[j]);
    singular.linear.clone_from(&direction);
    let all = [&natural, &moments, &singular];
    let mut first: Option<Moments> = None;
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut total = Gaussian::flat(&spec);
        order
            .iter()
            .for_each(|k| treeamp::engine::Message::add_assign(&mut total, all[*k]));
        let mut out = Moments::zeros(&spec);
        total.moments_into(&mut out).unwrap();
        // in coordinates of the two inputs everything is natural
        let reference = first.get_or_insert_with(|| {
            let back = |m: &Gaussian| {
                let a = Mat::from_fn(n, n, |i, j| m.precision.entry(i, j));
                (mat(&w).transpose() * &a * mat(&w), m.linear.clone())
            };
            let own = &store[0];
            let mut a = Mat::from_fn(2, 2, |i, j| own.precision.entry(i, j));
            let mut b = own.linear.clone();
            for m in [&natural, &singular] {
                let (da, db) = back(m);
                a += da;
                for (j, b) in b.iter_mut().enumerate() {
                    *b += (0..n).map(|i| w.get(i, j) * db[i]).sum::<f64>();
                }
            }
            let (mean, covariance) = gaussian_posterior(&a, &b);
            let mut out = Moments::zeros(&spec);
            w.apply(&mean, 1, &mut out.mean);
            let spread = mat(&w) * covariance * mat(&w).transpose();
            out.variance.fill_with(|i, j| spread[(i, j)]);
            out
        });
        assert!(relative_gap(&out.mean, &reference.mean) < 1e-12);
        assert!(relative_gap(out.variance.data(), reference.variance.data()) < 1e-12);
    }
}

// ---- bad input ----

#[test]
fn structures_are_read_and_written() {
    for s in ["isotropic", "diagonal", "full", "block(3)"] {
        assert_eq!(s.parse::<Structure>().unwrap().to_string(), s);
    }
    for s in ["block", "block(x)", "block(-1)", "dense", ""] {
        let text = s.parse::<Structure>().unwrap_err().to_string();
        assert!(text.contains("block(n)"), "{text}");
    }
}

#[test]
fn blocks_must_divide_the_rows() {
    for dim in [0, 2, 4] {
        let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 3]))
            >> var("u").block(dim)
            >> gaussian(0.1, &[0.0; 12]))
        .build();
        let error = model.unwrap_err();
        assert!(
            matches!(error, ModelError::BlockSize { row: 3, .. }),
            "{error}"
        );
        for word in ["`u`", "(4, 3)", "divisor of 3", &dim.to_string()] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}

#[test]
fn all_factors_that_refuse_a_belief_are_named() {
    let model = (source(GaussBernoulli::new(0.3, 0.0, 1.0).unwrap().iid(4))
        >> var("x").full()
        >> Linear::new(gaussian_matrix(3, 4, 1)).unwrap()
        >> var("z").full()
        >> PiecewiseLinear::sign()
        >> var("y"))
    .build()
    .unwrap()
    .condition("y", &[1.0, -1.0, 1.0])
    .unwrap();
    let error = ExpectationPropagation.on(&model).unwrap_err();
    let RunError::Belief { refused } = &error else {
        panic!("{error}");
    };
    assert_eq!(refused.len(), 2);
    for word in [
        "`gauss_bernoulli`",
        "`sign`",
        "`x`",
        "`z`",
        "isotropic, diagonal",
    ] {
        assert!(error.to_string().contains(word), "{error}");
    }
    // rows of another length than the blocks
    let rows = MixtureRow::one_hot(&[0.5, 0.5]).unwrap().rows(3);
    let model = (source(rows) >> var("u").block(1) >> gaussian(0.1, &[0.0; 6]))
        .build()
        .unwrap();
    let text = ExpectationPropagation.on(&model).unwrap_err().to_string();
    assert!(
        text.contains("block(2)") && text.contains("block(1)"),
        "{text}"
    );
    // several columns share one isotropic belief
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 2]))
        >> var("x").diagonal()
        >> Linear::new(gaussian_matrix(3, 4, 1)).unwrap()
        >> var("z")
        >> gaussian(0.1, &[0.0; 6]))
    .build()
    .unwrap();
    let text = ExpectationPropagation.on(&model).unwrap_err().to_string();
    assert!(text.contains("2 columns"), "{text}");
}

#[test]
fn beliefs_that_do_not_fit_in_memory_are_refused() {
    let n = 100_000;
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x").full()
        >> gaussian(0.1, &vec![0.0; n]))
    .build()
    .unwrap();
    let error = ExpectationPropagation
        .on(&model)
        .unwrap()
        .run(&mut ())
        .unwrap_err();
    // two messages, a way back for each, two marginals, and one of each to work in
    let expected = 8 * (2 + 2 + 4) * (n * n + n) as u64;
    match &error {
        RunError::Memory {
            bytes,
            limit,
            variable,
            ..
        } => {
            assert_eq!(
                (*bytes, *limit, variable.as_str()),
                (expected, 2 << 30, "x")
            );
        }
        other => panic!("{other}"),
    }
    assert!(error.to_string().contains(&expected.to_string()), "{error}");
    let small = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(4))
        >> var("x").full()
        >> gaussian(0.1, &[0.0; 4]))
    .build()
    .unwrap();
    let engine = ExpectationPropagation.on(&small).unwrap().memory_limit(100);
    assert!(matches!(
        engine.run(&mut ()),
        Err(RunError::Memory { limit: 100, .. })
    ));
}

#[test]
fn what_knows_isotropic_beliefs_only_says_so() {
    let w = gaussian_matrix(3, 4, 1);
    let model = |s: Structure| {
        (source(GaussBernoulli::new(0.3, 0.0, 1.0).unwrap().iid(4))
            >> var("x").belief(s)
            >> Linear::new(w.clone()).unwrap()
            >> var("z")
            >> gaussian(0.1, &[0.1, 0.2, 0.3]))
        .build()
        .unwrap()
    };
    let diagonal = model(Structure::Diagonal);
    let theory = StateEvolution::new(&diagonal).and_then(|s| s.fixed_point());
    let error = theory.unwrap_err();
    assert!(matches!(error, RunError::AlgorithmBelief { .. }), "{error}");
    let theory = MismatchedEvolution::new(&diagonal, &diagonal).and_then(|s| s.fixed_point());
    let error = theory.unwrap_err();
    assert!(matches!(error, RunError::AlgorithmBelief { .. }), "{error}");
    let engine = ExpectationPropagation.on(&diagonal).unwrap();
    let error = engine.fallback(Fallback::Forced).run(&mut ()).unwrap_err();
    assert!(error.to_string().contains("diagonal"), "{error}");
    // messages of another structure to start from
    let isotropic = model(Structure::Isotropic);
    let report = run(&isotropic);
    let engine = ExpectationPropagation
        .on(&diagonal)
        .unwrap()
        .warm_start(&report);
    let error = engine.run(&mut ()).unwrap_err();
    assert!(matches!(error, RunError::MessageBelief { .. }), "{error}");
}

#[test]
fn row_laws_refuse_bad_parameters() {
    let say = |law: Result<MixtureRow, ModelError>| law.unwrap_err().to_string();
    assert!(say(MixtureRow::one_hot(&[0.5, 0.6])).contains("add up to 1"));
    assert!(say(MixtureRow::one_hot(&[])).contains("at least one"));
    assert!(say(MixtureRow::sparse(1.5, &[0.0], &[1.0])).contains("probabilities"));
    assert!(
        say(MixtureRow::gaussian(&[0.0, 0.0], &[1.0, 2.0, 2.0, 1.0])).contains("semi-definite")
    );
    assert!(say(MixtureRow::gaussian(&[0.0, 0.0], &[1.0, 0.5, 0.2, 1.0])).contains("symmetric"));
    assert!(
        say(MixtureRow::gaussian(
            &[0.0, f64::NAN],
            &[1.0, 0.0, 0.0, 1.0]
        ))
        .contains("finite")
    );
}
