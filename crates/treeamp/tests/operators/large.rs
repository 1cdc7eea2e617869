//! Operators above the size at which all eigenvalues are computed: means, variances and evidence by conjugate gradients and
//! probes, against transforms and banded algebra.

use std::sync::Arc;

use super::three_taps;
use crate::common::{self, chain, infer, normals};
use treeamp::belief::SignalSpec;
use treeamp::catalog::channels::IterativeOptions;
use treeamp::operator::{
    CircularConvolution, Composition, Filter, LinearOperator, SparseMatrix, applied,
};
use treeamp::prelude::*;

/// Above the size at which all eigenvalues are computed: circulant maps given as matrix-free ones and as
/// compositions, against the same maps solved by transforms.
#[test]
fn large_operators_agree_with_their_transforms() {
    let n = 4200;
    let line = SignalSpec::real([n]);
    let kernel = Filter::Kernel {
        shape: vec![3],
        entries: vec![0.5, -0.3, 0.2],
    };
    let convolution = || Arc::new(CircularConvolution::new(&line, &kernel).unwrap());
    let twice = || -> Arc<dyn LinearOperator> {
        Arc::new(Composition::new(vec![convolution(), convolution()]).unwrap())
    };
    let square = {
        let response = applied(twice().as_ref(), &{
            let mut unit = vec![0.0; n];
            unit[0] = 1.0;
            unit
        });
        let entries = response[..5].to_vec();
        let shape = vec![5];
        CircularConvolution::new(&line, &Filter::Kernel { shape, entries }).unwrap()
    };
    let pairs: [(&str, Linear, Linear); 2] = [
        (
            "matrix-free",
            Linear::of(three_taps(&line)),
            Linear::shared(convolution()),
        ),
        ("composition", Linear::shared(twice()), Linear::of(square)),
    ];
    for (name, iterative, direct) in pairs {
        assert!(iterative.operator().singular_system().unwrap().is_none());
        assert!(direct.operator().singular_system().unwrap().is_some());
        for noise in [0.3, 1e-2, 1e-4, 1e-6] {
            let [ours, theirs] = [&iterative, &direct].map(|channel| {
                let seen = GaussianLikelihood::new(noise).unwrap();
                let seen = seen.observed(normals(n, 3)).unwrap();
                let prior = GaussianPrior::new(0.2, 1.5).unwrap().iid(n);
                let model = chain(prior, channel.clone(), seen);
                let model = model.build().unwrap();
                let engine = ExpectationPropagation.on(&model).unwrap();
                engine.run(&mut ()).unwrap()
            });
            for variable in ["x", "z"] {
                let [one, other] = [&ours, &theirs].map(|r| r.mean(variable).unwrap());
                let means = common::relative_gap(one, other);
                let [one, other] = [&ours, &theirs].map(|r| r.variance(variable).unwrap());
                let ratio = one / other - 1.0;
                println!(
                    "{name} at {noise:e}, {variable}: means {means:.1e}, variance {ratio:.1e}"
                );
                assert!(
                    means < 1e-6 && ratio.abs() < 0.02,
                    "{name} at {noise:e}, {variable}: {means:e} {ratio:e}"
                );
            }
        }
    }
}

/// A symmetric positive definite matrix of half bandwidth `w`, row by row: `rows[i][d]` at $(i, i - d)$.
struct Banded {
    w: usize,
    rows: Vec<Vec<f64>>,
}

impl Banded {
    /// $a + c\,W^T W$ of the sparse matrix with these entries, of half bandwidth `w/2`.
    fn normal(n: usize, w: usize, entries: &[(usize, usize, f64)], [a, c]: [f64; 2]) -> Self {
        let mut rows = vec![vec![0.0; w + 1]; n];
        rows.iter_mut().for_each(|row| row[0] = a);
        let mut of_row = vec![Vec::new(); n];
        entries
            .iter()
            .for_each(|(i, j, x)| of_row[*i].push((*j, *x)));
        for row in &of_row {
            for (j, x) in row {
                for (k, y) in row.iter().filter(|(k, _)| k <= j) {
                    rows[*j][j - k] += c * x * y;
                }
            }
        }
        Self { w, rows }
    }

    /// The Cholesky factor in the same form.
    fn factor(&self) -> Self {
        let mut rows = self.rows.clone();
        for i in 0..rows.len() {
            for d in (0..=self.w.min(i)).rev() {
                let j = i - d;
                let common = (1..=self.w.min(j)).filter(|e| d + e <= self.w);
                let sum: f64 = common.map(|e| rows[i][d + e] * rows[j][e]).sum();
                let left = rows[i][d] - sum;
                rows[i][d] = if d == 0 {
                    left.sqrt()
                } else {
                    left / rows[j][0]
                };
            }
        }
        Self { w: self.w, rows }
    }

    /// $(L L^T)^{-1} b$.
    fn solve(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for i in 0..x.len() {
            let sum: f64 = (1..=self.w.min(i))
                .map(|d| self.rows[i][d] * x[i - d])
                .sum();
            x[i] = (x[i] - sum) / self.rows[i][0];
        }
        for i in (0..x.len()).rev() {
            x[i] /= self.rows[i][0];
            for d in 1..=self.w.min(i) {
                x[i - d] -= self.rows[i][d] * x[i];
            }
        }
        x
    }

    fn log_det(&self) -> f64 {
        self.rows.iter().map(|row| 2.0 * row[0].ln()).sum()
    }

    /// The band of $Z = (L L^T)^{-1}$, from the last row up (Takahashi):
    /// $Z_{ij} = \delta_{ij}/L_{ii}^2 - \frac{1}{L_{ii}}\sum_{k>i} L_{ki}Z_{kj}$.
    fn inverse(&self) -> Self {
        let (n, w) = (self.rows.len(), self.w);
        let mut z = vec![vec![0.0; w + 1]; n];
        for i in (0..n).rev() {
            let below = i + 1..=(i + w).min(n - 1);
            for j in (i..=(i + w).min(n - 1)).rev() {
                let entry = |k: usize| z[k.max(j)][k.abs_diff(j)];
                let sum: f64 = below.clone().map(|k| self.rows[k][k - i] * entry(k)).sum();
                let own = if i == j { self.rows[i][0].recip() } else { 0.0 };
                z[j][j - i] = (own - sum) / self.rows[i][0];
            }
        }
        Self { w, rows: z }
    }

    /// $\mathrm{tr} A B$.
    fn trace_with(&self, other: &Self) -> f64 {
        let rows = self.rows.iter().zip(&other.rows);
        let twice = |d: usize| if d == 0 { 1.0 } else { 2.0 };
        let row = |(x, y): (&Vec<f64>, &Vec<f64>)| -> f64 {
            x.iter()
                .zip(y)
                .enumerate()
                .map(|(d, (x, y))| twice(d) * x * y)
                .sum()
        };
        rows.map(row).sum()
    }
}

/// The banded algebra of this file against dense algebra.
#[test]
fn banded_algebra_is_algebra() {
    let n = 7;
    let entries = tridiagonal(n);
    let banded = Banded::normal(n, 2, &entries, [0.3, 2.0]);
    let factor = banded.factor();
    let inverse = factor.inverse();
    let whole = |b: &Banded, i: usize, j: usize| {
        let d = i.abs_diff(j);
        if d > b.w { 0.0 } else { b.rows[i.max(j)][d] }
    };
    let mut log_det = 0.0;
    for j in 0..n {
        let mut unit = vec![0.0; n];
        unit[j] = 1.0;
        let column = factor.solve(&unit);
        for i in 0..n {
            let product: f64 = (0..n).map(|k| whole(&banded, i, k) * column[k]).sum();
            assert!((product - unit[i]).abs() < 1e-13);
            if i.abs_diff(j) <= 2 {
                assert!((whole(&inverse, i, j) - column[i]).abs() < 1e-13);
            }
        }
        log_det += 2.0 * factor.rows[j][0].ln();
    }
    assert!((banded.trace_with(&inverse) - n as f64).abs() < 1e-12);
    assert!((factor.log_det() - log_det).abs() < 1e-13);
}

/// Three entries in every row.
fn tridiagonal(n: usize) -> Vec<(usize, usize, f64)> {
    let values = normals(3 * n, 1);
    let scale = 1.0 / 3.0_f64.sqrt();
    let all = (0..n).flat_map(|i| (0..3).map(move |d| (i, d)));
    let inside = all.filter(|(i, d)| (1..=n).contains(&(i + d)));
    inside
        .map(|(i, d)| (i, i + d - 1, scale * values[3 * i + d]))
        .collect()
}

/// A sparse matrix of 20,000 rows that is a band: the exact posterior by banded algebra.
#[test]
fn a_large_sparse_matrix_agrees_with_its_band() {
    let (n, mean, variance) = (20_000, 0.2, 1.5);
    let entries = tridiagonal(n);
    let channel = Linear::of(SparseMatrix::from_triplets(n, n, &entries).unwrap());
    let y = normals(n, 3);
    let prior = applied(channel.operator(), &vec![mean; n]);
    let gap: Vec<f64> = y.iter().zip(&prior).map(|(y, z)| y - z).collect();
    let full = std::env::var_os("TREEAMP_FULL").is_some();
    let noises: &[f64] = if full { &[0.3, 1e-2, 1e-4] } else { &[1e-2] };
    for noise in noises {
        let started = std::time::Instant::now();
        let seen = GaussianLikelihood::new(*noise).unwrap();
        let seen = seen.observed(y.clone()).unwrap();
        let model = source(GaussianPrior::new(mean, variance).unwrap().iid(n)) >> var("x");
        let model = (model >> channel.clone() >> var("z") >> seen)
            .build()
            .unwrap();
        let report = infer(&model);
        let time = started.elapsed().as_secs_f64();
        let exact = exact_posterior(&channel, &entries, &gap, [variance, *noise]);
        let means: Vec<f64> = exact.shift.iter().map(|d| mean + d).collect();
        let gap = common::relative_gap(report.mean("x").unwrap(), &means);
        let [x, z] = ["x", "z"].map(|v| report.variance(v).unwrap());
        let (rx, rz) = (x / exact.variance_x - 1.0, z / exact.variance_z - 1.0);
        let (found, error) = (
            report.log_evidence().unwrap(),
            report.log_evidence_error().unwrap(),
        );
        println!(
            "noise {noise:e}: means {gap:.1e}, variances {rx:.1e} {rz:.1e}, evidence {found:.1} ± {error:.1} \
             (exact {:.1}), {time:.1} s",
            exact.log_evidence
        );
        assert!(gap < 1e-6 && rx.abs() < 0.02 && rz.abs() < 0.02);
        assert!((found - exact.log_evidence).abs() < 4.0 * error);
    }
}

struct Exact {
    shift: Vec<f64>,
    variance_x: f64,
    variance_z: f64,
    log_evidence: f64,
}

/// With $\Lambda = 1/s + W^T W/\Delta$ and $g = y - W\mu$: the mean is $\mu + \Lambda^{-1}W^T g/\Delta$, and
/// $\ln p(y) = -\frac12[n\ln 2\pi + n\ln(s\Delta) + \ln\det\Lambda + g^T g/\Delta - g^T W\Lambda^{-1}W^T g/\Delta^2]$.
fn exact_posterior(
    channel: &Linear,
    entries: &[(usize, usize, f64)],
    gap: &[f64],
    [variance, noise]: [f64; 2],
) -> Exact {
    let n = gap.len();
    let factor = Banded::normal(n, 2, entries, [1.0 / variance, 1.0 / noise]).factor();
    let inverse = factor.inverse();
    let gram = Banded::normal(n, 2, entries, [0.0, 1.0]);
    let mut pull = vec![0.0; n];
    channel.operator().adjoint(gap, &mut pull, &mut []);
    pull.iter_mut().for_each(|p| *p /= noise);
    let shift = factor.solve(&pull);
    let square: f64 = gap.iter().map(|g| g * g).sum();
    let explained: f64 = pull.iter().zip(&shift).map(|(p, d)| p * d).sum();
    let count = n as f64;
    let volume = count * (std::f64::consts::TAU * variance * noise).ln() + factor.log_det();
    Exact {
        shift,
        variance_x: inverse.rows.iter().map(|row| row[0]).sum::<f64>() / count,
        variance_z: gram.trace_with(&inverse) / count,
        log_evidence: -0.5 * (volume + square / noise - explained),
    }
}

/// More probes where a standard error of the evidence is asked for; an error where it is out of reach.
#[test]
fn evidence_is_as_good_as_asked_for() {
    let n = 1500;
    let entries = tridiagonal(n);
    let gap = normals(n, 3);
    let run = |evidence: f64| {
        let mut options = IterativeOptions::default();
        // all to probes: this size would have its eigenvalues computed otherwise
        options.lanczos.exact = 0;
        options.lanczos.evidence = evidence;
        let channel = Linear::of(SparseMatrix::from_triplets(n, n, &entries).unwrap());
        let channel = channel.iterative(options).unwrap();
        let seen = GaussianLikelihood::new(0.1).unwrap();
        let seen = seen.observed(gap.clone()).unwrap();
        let chain = source(GaussianPrior::new(0.0, 1.5).unwrap().iid(n)) >> var("x");
        let model = (chain >> channel.clone() >> var("z") >> seen)
            .build()
            .unwrap();
        let report = ExpectationPropagation.on(&model).unwrap().run(&mut ())?;
        let exact = exact_posterior(&channel, &entries, &gap, [1.5, 0.1]).log_evidence;
        let off = report.log_evidence()? - exact;
        Ok::<_, RunError>((off, report.log_evidence_error()?))
    };
    let (off, error) = run(f64::INFINITY).unwrap();
    println!("by default: off by {off:.2}, standard error {error:.2}");
    assert!(off.abs() < 4.0 * error);
    let asked = 0.4 * error;
    let (off, better) = run(asked).unwrap();
    println!("asked for {asked:.2}: off by {off:.2}, standard error {better:.2}");
    // the bound holds at the lower end of a decade of precisions
    assert!(off.abs() < 4.0 * better && better < 1.2 * asked);
    let refused = run(1e-3).unwrap_err().to_string();
    assert!(
        refused.contains("evidence") && refused.contains("nats"),
        "{refused}"
    );
    let channel = Linear::of(SparseMatrix::from_triplets(2, 2, &[(0, 0, 1.0)]).unwrap());
    let mut options = IterativeOptions::default();
    options.lanczos.evidence = 0.0;
    assert!(channel.iterative(options).is_err());
}
