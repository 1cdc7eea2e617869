//! State evolution of a prior on rows: averages over $b = \hat Q x_0 + \hat Q^{1/2}\xi$ of the moments of one row.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::rows::RowLaw;
use crate::belief::RowMatrix;
use crate::error::FactorError;
use crate::factor::{RowAveraged, RowEnsembleRule, RowEstimate};
use crate::math::dense::{column, dot, inverse_of, square, square_root};
use crate::math::quadrature::normal::{average_at_random, average_line, average_plane};

use super::rows::RowsPrior;

/// A row that is known this well, relative to its second moment, counts as known: its field stays finite.
const CERTAIN: f64 = 1e-24;
/// Negative eigenvalues of a field within this fraction of it are the rounding of averages.
const ROUNDING: f64 = 1e-8;
/// Draws of a law that is not a mixture of Gaussians.
const DRAWS: usize = 4096;
/// Groups of draws, whose averages tell the standard error.
const GROUPS: usize = 8;
/// The seed of averages at random.
const SEED: u64 = 0;

/// One Gaussian of a law of rows that is a mixture of them.
#[derive(Debug, Clone, PartialEq)]
pub struct RowComponent {
    /// Its probability.
    pub weight: f64,
    /// Its mean.
    pub mean: Vec<f64>,
    /// Its covariance, row by row; zero of a point.
    pub covariance: Vec<f64>,
}

/// Averages of a law: $Q = E\,r r^T$, $V = E\operatorname{Cov}$, $E\ln Z$, and standard errors of the first two together.
struct Averages {
    q: RowMatrix,
    v: RowMatrix,
    log_z: f64,
    error: RowMatrix,
}

/// What is averaged at one $b$: the entries of $r r^T$, those of the covariance, $\ln Z$.
fn collect(mean: &[f64], covariance: &[f64], log_z: f64, out: &mut [f64]) {
    let r = mean.len();
    for i in 0..r {
        for j in 0..r {
            out[i * r + j] = mean[i] * mean[j];
        }
    }
    out[r * r..2 * r * r].copy_from_slice(covariance);
    out[2 * r * r] = log_z;
}

impl Averages {
    fn new(dim: usize, values: &[f64], errors: &[f64]) -> Self {
        let n = dim * dim;
        let entry = |at: usize, x: &[f64]| RowMatrix::from_fn(dim, |i, j| x[at + i * dim + j]);
        Self {
            q: entry(0, values),
            v: entry(n, values),
            log_z: values[2 * n],
            error: if errors.is_empty() {
                RowMatrix::zeros(dim)
            } else {
                entry(n, errors)
            },
        }
    }
}

/// The moments of a mixture of Gaussians at one precision and any $b$. With $K = I + C a$ a component has
/// $S = K^{-1}C$, $m = K^{-1}\mu + S b$, $A = \ln w - \frac12\mu^T a K^{-1}\mu - \frac12\ln\det K + b^T K^{-1}\mu + \frac12 b^T S b$.
struct Mixture {
    dim: usize,
    parts: Vec<Part>,
    /// Scratch: log-weights and means by component, the mean and the covariance.
    logs: Vec<f64>,
    means: Vec<f64>,
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

struct Part {
    constant: f64,
    centre: Vec<f64>,
    spread: Vec<f64>,
}

impl Mixture {
    fn new(components: &[RowComponent], a: &RowMatrix) -> Self {
        let r = a.dim();
        let part = |c: &RowComponent| {
            let mut k = square(&c.covariance, r) * a.as_mat();
            (0..r).for_each(|i| k[(i, i)] += 1.0);
            let factor = k.partial_piv_lu();
            let centre = factor.solve(column(&c.mean));
            let spread: Mat<f64> = factor.solve(square(&c.covariance, r));
            let log_det: f64 = (0..r).map(|i| factor.U()[(i, i)].abs().ln()).sum();
            let pull = dot(column(&c.mean), (a.as_mat() * &centre).as_ref());
            Part {
                constant: c.weight.ln() - 0.5 * (pull + log_det),
                centre: (0..r).map(|i| centre[i]).collect(),
                spread: (0..r * r).map(|k| spread[(k / r, k % r)]).collect(),
            }
        };
        let parts: Vec<Part> = components
            .iter()
            .filter(|c| c.weight > 0.0)
            .map(part)
            .collect();
        let n = parts.len();
        Self {
            dim: r,
            parts,
            logs: vec![0.0; n],
            means: vec![0.0; n * r],
            mean: vec![0.0; r],
            covariance: vec![0.0; r * r],
        }
    }

    /// $\ln Z$ at $b$; the moments are in the scratch.
    fn at(&mut self, b: &[f64]) -> f64 {
        let r = self.dim;
        let mut top = f64::NEG_INFINITY;
        for (k, p) in self.parts.iter().enumerate() {
            let mean = &mut self.means[k * r..(k + 1) * r];
            let mut log = p.constant;
            for i in 0..r {
                let moved: f64 = (0..r).map(|j| p.spread[i * r + j] * b[j]).sum();
                mean[i] = p.centre[i] + moved;
                log += b[i] * (p.centre[i] + 0.5 * moved);
            }
            self.logs[k] = log;
            top = top.max(log);
        }
        let mut mass = 0.0;
        for log in &mut self.logs {
            *log = (*log - top).exp();
            mass += *log;
        }
        self.mean.fill(0.0);
        for (w, part) in self.logs.iter_mut().zip(self.means.chunks_exact(r)) {
            *w /= mass;
            for (m, x) in self.mean.iter_mut().zip(part) {
                *m += *w * x;
            }
        }
        self.covariance.fill(0.0);
        for (k, p) in self.parts.iter().enumerate() {
            let part = &self.means[k * r..(k + 1) * r];
            for i in 0..r {
                for j in 0..r {
                    let apart = (part[i] - self.mean[i]) * (part[j] - self.mean[j]);
                    self.covariance[i * r + j] += self.logs[k] * (p.spread[i * r + j] + apart);
                }
            }
        }
        top + mass.ln()
    }
}

/// A square root of a covariance, row by row.
fn root_of(s: MatRef<'_, f64>) -> Result<Vec<f64>, FactorError> {
    let n = s.nrows();
    let scale = (0..n).fold(0.0_f64, |m, i| m.max(s[(i, i)].abs()));
    // fields that say nothing are the rounding of averages
    square_root(s, ROUNDING * scale.max(1.0)).ok_or_else(|| {
        FactorError::Improper("a field is no covariance: it has a negative eigenvalue".to_owned())
    })
}

/// `out` $= c + L s$.
fn place(c: &[f64], l: &[f64], s: &[f64], out: &mut [f64]) {
    let rows = l.chunks_exact(out.len());
    for (i, (x, row)) in out.iter_mut().zip(rows).enumerate() {
        let moved: f64 = s.iter().zip(row).map(|(s, l)| l * s).sum();
        *x = c[i] + moved;
    }
}

/// Averages of a mixture, over the Gaussian $b \sim \mathcal N(\hat Q\mu, \hat Q C\hat Q + \hat Q)$ of each component.
fn of_mixture(components: &[RowComponent], q_hat: &RowMatrix) -> Result<Averages, FactorError> {
    let r = q_hat.dim();
    let len = 2 * r * r + 1;
    let mut mixture = Mixture::new(components, q_hat);
    let (mut values, mut squares) = (vec![0.0; len], vec![0.0; len]);
    let mut b = vec![0.0; r];
    for c in components.iter().filter(|c| c.weight > 0.0) {
        let q = q_hat.as_mat();
        let centre = q * column(&c.mean);
        let centre: Vec<f64> = (0..r).map(|i| centre[i]).collect();
        let l = root_of((q * square(&c.covariance, r) * q + q).as_ref())?;
        let mut at = |s: &[f64], out: &mut [f64]| {
            place(&centre, &l, s, &mut b);
            let log_z = mixture.at(&b);
            collect(&mixture.mean, &mixture.covariance, log_z, out);
        };
        let mut line = |s: f64| {
            let mut out = [0.0; 3];
            at(&[s], &mut out);
            out
        };
        let (found, errors) = match r {
            1 => (average_line(&mut line, &[]).to_vec(), Vec::new()),
            2 => {
                let mut plane = |s: [f64; 2]| {
                    let mut out = [0.0; 9];
                    at(&s, &mut out);
                    out
                };
                (average_plane(&mut plane, &[]).to_vec(), Vec::new())
            }
            _ => average_at_random(r, len, SEED, &mut at),
        };
        values
            .iter_mut()
            .zip(found)
            .for_each(|(v, x)| *v += c.weight * x);
        let errors = squares.iter_mut().zip(errors);
        errors.for_each(|(v, x)| *v += (c.weight * x).powi(2));
    }
    let errors: Vec<f64> = squares.iter().map(|x| x.sqrt()).collect();
    Ok(Averages::new(r, &values, &errors))
}

/// Averages of any law over draws of rows and fields; the same seed takes the same draws.
fn at_random<L: RowLaw>(law: &L, q_hat: &RowMatrix) -> Result<Averages, FactorError> {
    let r = law.dim();
    let len = 2 * r * r + 1;
    let l = root_of(q_hat.as_mat())?;
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let (mut row, mut b, mut s) = (vec![0.0; r], vec![0.0; r], vec![0.0; r]);
    let (mut mean, mut covariance) = (vec![0.0; r], vec![0.0; r * r]);
    let (mut value, mut groups) = (vec![0.0; len], vec![vec![0.0; len]; GROUPS]);
    for k in 0..DRAWS {
        law.sample(&mut rng, &mut row);
        s.fill_with(|| StandardNormal.sample(&mut rng));
        let centre = q_hat.as_mat() * column(&row);
        let centre: Vec<f64> = (0..r).map(|i| centre[i]).collect();
        place(&centre, &l, &s, &mut b);
        let log_z = law.tilted(q_hat.data(), &b, &mut mean, &mut covariance);
        if !log_z.is_finite() {
            let what = "the integral of a row diverges".to_owned();
            return Err(FactorError::Improper(what));
        }
        collect(&mean, &covariance, log_z, &mut value);
        let group = &mut groups[k % GROUPS];
        group.iter_mut().zip(&value).for_each(|(g, x)| *g += x);
    }
    let each = (DRAWS / GROUPS) as f64;
    let (values, errors): (Vec<f64>, Vec<f64>) = (0..len)
        .map(|k| {
            let mean = groups.iter().map(|g| g[k] / each).sum::<f64>() / GROUPS as f64;
            let spread: f64 = groups.iter().map(|g| (g[k] / each - mean).powi(2)).sum();
            (mean, (spread / (GROUPS * (GROUPS - 1)) as f64).sqrt())
        })
        .unzip();
    Ok(Averages::new(r, &values, &errors))
}

/// Standard errors of $W X W^T$ from those of the entries of $X$, as if they were independent.
pub(crate) fn propagated(w: &Mat<f64>, error: &RowMatrix) -> RowMatrix {
    let r = error.dim();
    let pairs = || (0..r * r).map(|k| (k / r, k % r));
    RowMatrix::from_fn(r, |i, j| {
        let terms = pairs().map(|(k, l)| (w[(i, k)] * w[(j, l)] * error.get(k, l)).powi(2));
        terms.sum::<f64>().sqrt()
    })
}

impl<L: RowLaw> RowsPrior<L> {
    fn averages(&self, q_hat: &RowMatrix) -> Result<Averages, FactorError> {
        match self.law().components() {
            Some(components) => of_mixture(&components, q_hat),
            None => at_random(self.law(), q_hat),
        }
    }
}

impl<L: RowLaw> RowEnsembleRule for RowsPrior<L> {
    fn second_moment(&self, _: &[RowMatrix], _: usize) -> Result<RowMatrix, FactorError> {
        let r = self.law().dim();
        let (mut mean, mut covariance) = (vec![0.0; r], vec![0.0; r * r]);
        let flat = (vec![0.0; r * r], vec![0.0; r]);
        self.law()
            .tilted(&flat.0, &flat.1, &mut mean, &mut covariance);
        let second = RowMatrix::from_fn(r, |i, j| covariance[i * r + j] + mean[i] * mean[j]);
        inverse_of(second.as_mat()).map(|_| second).map_err(|_| {
            FactorError::Unsupported(
                "the second moment of its rows is singular or infinite: expected rows that vary in every direction"
                    .to_owned(),
            )
        })
    }

    /// $\hat Q' = V^{-1} - T_0^{-1} - \hat Q = V^{-1}Q\,T_0^{-1} - \hat Q$, which keeps the digits of a small overlap.
    fn field(&self, at: RowAveraged<'_>, _: usize) -> Result<RowEstimate, FactorError> {
        let (q_hat, tau0) = (&at.q_hat[0], &at.tau0[0]);
        let known = inverse_of(tau0.as_mat())?;
        if let Some((_, covariance)) = self.law().as_gaussian()
            && let Ok(own) = inverse_of(square(covariance, tau0.dim()))
        {
            let field = own - known;
            return Ok(RowEstimate::exact(RowMatrix::from_mat(field.as_ref())));
        }
        let averages = self.averages(q_hat)?;
        let (v, q) = (&averages.v, &averages.q);
        if v.mean_diagonal() < CERTAIN * tau0.mean_diagonal() {
            let field = known * faer::Scale(1.0 / CERTAIN);
            return Ok(RowEstimate::exact(RowMatrix::from_mat(field.as_ref())));
        }
        let precision = inverse_of(v.as_mat())?;
        let field = &precision * q.as_mat() * known - q_hat.as_mat();
        Ok(RowEstimate {
            value: RowMatrix::from_mat(field.as_ref()),
            standard_error: propagated(&precision, &averages.error),
        })
    }

    fn potential(&self, at: RowAveraged<'_>) -> Result<f64, FactorError> {
        let (q_hat, tau0) = (&at.q_hat[0], &at.tau0[0]);
        let pairs = q_hat.data().iter().zip(tau0.data());
        let signal: f64 = pairs.map(|(q, t)| q * t).sum();
        Ok(self.averages(q_hat)?.log_z - 0.5 * signal)
    }
}
