//! Dense symmetric algebra on matrices that are given as slices: inverses, log-determinants, and the product of two
//! Gaussians of which one has no precision matrix.

use faer::linalg::solvers::{DenseSolveCore, Llt, Solve};
use faer::{Col, ColRef, Mat, MatRef, Side};

use crate::error::FactorError;

/// Eigenvalues below this fraction of the largest are zero.
const RANK_CUT: f64 = 1e-12;

/// A covariance has no eigenvalue below minus this fraction of the largest.
const NEGATIVE: f64 = 1e-9;

/// A square matrix stored row by row; symmetric ones may be read either way.
pub(crate) fn square(data: &[f64], n: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(data, n, n)
}

/// A vector as a column.
pub(crate) fn column(x: &[f64]) -> ColRef<'_, f64> {
    ColRef::from_slice(x)
}

/// Writes a matrix row by row.
pub(crate) fn store(matrix: MatRef<'_, f64>, data: &mut [f64]) {
    let n = matrix.ncols();
    for (i, row) in data.chunks_exact_mut(n).enumerate() {
        for (j, x) in row.iter_mut().enumerate() {
            *x = matrix[(i, j)];
        }
    }
}

/// Writes a vector.
pub(crate) fn store_vector(x: ColRef<'_, f64>, data: &mut [f64]) {
    for (i, y) in data.iter_mut().enumerate() {
        *y = x[i];
    }
}

/// The Cholesky factor of a positive definite matrix; `None` of any other, and of one that is singular to rounding.
pub(crate) fn cholesky(a: MatRef<'_, f64>) -> Option<Llt<f64>> {
    cholesky_beyond(a, 4.0 * a.nrows() as f64 * f64::EPSILON)
}

/// The Cholesky factor, if every pivot is above this fraction of its diagonal entry. A Gram matrix of low rank may have
/// pivots of the size of rounding, of either sign.
pub(crate) fn cholesky_beyond(a: MatRef<'_, f64>, cut: f64) -> Option<Llt<f64>> {
    let factor = a.llt(Side::Lower).ok()?;
    let proper = |i: usize| factor.L()[(i, i)].powi(2) > cut * a[(i, i)];
    (0..a.nrows()).all(proper).then_some(factor)
}

/// $\ln\det a$ from its Cholesky factor.
pub(crate) fn log_det(factor: &Llt<f64>) -> f64 {
    let l = factor.L();
    (0..l.nrows()).map(|i| 2.0 * l[(i, i)].ln()).sum()
}

/// The inverse, exactly symmetric.
pub(crate) fn inverse(factor: &Llt<f64>) -> Mat<f64> {
    symmetrised(factor.inverse().as_ref())
}

/// $\frac12(a + a^T)$.
pub(crate) fn symmetrised(a: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| 0.5 * (a[(i, j)] + a[(j, i)]))
}

/// $x^T y$.
pub(crate) fn dot(x: ColRef<'_, f64>, y: ColRef<'_, f64>) -> f64 {
    x.transpose() * y
}

/// What the tilt $e^{-\frac12 x^T a x + b^T x}$ makes of $\mathcal N(m, S)$, with any $S$ and any symmetric $a$.
pub(crate) struct Conditioned {
    /// $S' = (I + S a)^{-1} S$.
    pub covariance: Mat<f64>,
    /// $m' = m + S'(b - a m)$.
    pub mean: Col<f64>,
    /// $\ln|\det(I + S a)|$.
    pub log_det: f64,
    /// $m' - m$ in the coordinates of a root of $S$, in which $S$ is the identity; none if $S$ is no covariance.
    pub shift: Option<Col<f64>>,
}

impl Conditioned {
    /// $(\hat x - m)^T(S + a^{-1})^{-1}(\hat x - m)$ for a positive definite $a$, as a sum of squares: with $d = \hat x - m$
    /// and the shift $c$ it is $(d - m' + m)^T a\,(d - m' + m) + \|c\|^2$.
    pub fn fit(&self, a: MatRef<'_, f64>, d: ColRef<'_, f64>, m: ColRef<'_, f64>) -> f64 {
        let rest = d - (&self.mean - m);
        let square = dot(rest.as_ref(), (a * &rest).as_ref());
        match &self.shift {
            Some(c) => square + dot(c.as_ref(), c.as_ref()),
            // dᵀa(d - m' + m), which may cancel
            None => dot(d, (a * &rest).as_ref()),
        }
    }
}

/// The product of $\mathcal N(m, S)$ and a tilt. No inverse of either matrix is needed: with $S = L L^T$ and
/// $K = I + L^T a L$, $S' = L K^{-1}L^T$, as large as the rank of $S$. If $S$ is no covariance, or $K$ is not positive definite, by
/// $(I + S a)^{-1}$; what comes of it is then judged by others.
pub(crate) fn conditioned(
    (s, m): (MatRef<'_, f64>, ColRef<'_, f64>),
    (a, b): (MatRef<'_, f64>, ColRef<'_, f64>),
) -> Conditioned {
    let pull = b - a * m;
    if let Some(l) = root(s) {
        let mut k = l.transpose() * (a * &l);
        (0..k.nrows()).for_each(|i| k[(i, i)] += 1.0);
        if let Some(factor) = cholesky(symmetrised(k.as_ref()).as_ref()) {
            let c = factor.solve(l.transpose() * &pull);
            let covariance = symmetrised((&l * factor.solve(l.transpose())).as_ref());
            return Conditioned {
                covariance,
                mean: m + &l * &c,
                log_det: log_det(&factor),
                shift: Some(c),
            };
        }
    }
    let n = s.nrows();
    let mut k = s * a;
    (0..n).for_each(|i| k[(i, i)] += 1.0);
    let factor = k.partial_piv_lu();
    let covariance = symmetrised(factor.solve(s).as_ref());
    let mean = m + &covariance * pull;
    let log_det = (0..n).map(|i| factor.U()[(i, i)].abs().ln()).sum();
    Conditioned {
        covariance,
        mean,
        log_det,
        shift: None,
    }
}

/// The product of two Gaussians given by moments, which may be exact in some directions:
/// $S = S_1(S_1 + S_2)^+ S_2$, $m = m_1 + S_1(S_1 + S_2)^+(m_2 - m_1)$. Also
/// $\ln\mathcal N(m_1 - m_2; 0, S_1 + S_2)$, infinite where both are exact in the same direction, and continued
/// analytically to a "covariance" with negative eigenvalues.
pub(crate) fn product(
    (s1, m1): (MatRef<'_, f64>, ColRef<'_, f64>),
    (s2, m2): (MatRef<'_, f64>, ColRef<'_, f64>),
) -> (Conditioned, f64) {
    let sum = s1 + s2;
    let gap = m2 - m1;
    let (solved, gain, log_det) = if let Some(factor) = cholesky(sum.as_ref()) {
        (factor.solve(&gap), factor.solve(s2), log_det(&factor))
    } else {
        let (inverse, log_det) = pseudo_inverse(sum.as_ref());
        (&inverse * &gap, &inverse * s2, log_det)
    };
    let fit = dot(gap.as_ref(), solved.as_ref());
    let volume = sum.nrows() as f64 * std::f64::consts::TAU.ln();
    let out = Conditioned {
        covariance: symmetrised((s1 * gain).as_ref()),
        mean: m1 + s1 * solved,
        log_det,
        shift: None,
    };
    (out, -0.5 * (fit + log_det + volume))
}

/// The pseudo-inverse of a symmetric matrix, and $\ln|\det|$, which is $-\infty$ of a singular one.
pub(crate) fn pseudo_inverse(a: MatRef<'_, f64>) -> (Mat<f64>, f64) {
    let n = a.nrows();
    let Ok(eigen) = a.self_adjoint_eigen(Side::Lower) else {
        return (Mat::full(n, n, f64::NAN), f64::NAN);
    };
    let values = eigen.S().column_vector();
    let largest = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let counts = |l: f64| l.abs() > RANK_CUT * largest;
    let scaled = Mat::from_fn(n, n, |i, k| {
        if counts(values[k]) {
            eigen.U()[(i, k)] / values[k]
        } else {
            0.0
        }
    });
    let log = |l: &f64| {
        if counts(*l) {
            l.abs().ln()
        } else {
            f64::NEG_INFINITY
        }
    };
    let log_det = values.iter().map(log).sum();
    (scaled * eigen.U().transpose(), log_det)
}

/// $L$ with $L L^T = S$, as many columns as the rank of a covariance; `None` if it is none. Eigenvalues within rounding of
/// zero are zero.
pub(crate) fn root(s: MatRef<'_, f64>) -> Option<Mat<f64>> {
    if let Some(factor) = cholesky_beyond(s, RANK_CUT) {
        return Some(factor.L().to_owned());
    }
    let eigen = s.self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector();
    let n = s.nrows();
    let largest = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    if values.iter().any(|l| !(*l >= -NEGATIVE * largest)) {
        return None;
    }
    let cut = 4.0 * n as f64 * f64::EPSILON * largest;
    let kept: Vec<usize> = (0..n).filter(|k| values[*k] > cut).collect();
    Some(Mat::from_fn(n, kept.len(), |i, k| {
        eigen.U()[(i, kept[k])] * values[kept[k]].sqrt()
    }))
}

/// How far `x` leaves the range of a symmetric matrix.
pub(crate) fn outside_range(a: MatRef<'_, f64>, x: ColRef<'_, f64>) -> f64 {
    let inside = a * (pseudo_inverse(a).0 * x);
    (x - inside).norm_l2()
}

/// No eigenvalue is negative beyond rounding.
pub(crate) fn is_covariance(s: MatRef<'_, f64>) -> bool {
    if cholesky(s).is_some() {
        return true;
    }
    let Ok(values) = s.self_adjoint_eigenvalues(Side::Lower) else {
        return false;
    };
    let largest = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    values.iter().all(|l| *l >= -NEGATIVE * largest)
}

fn not_positive() -> FactorError {
    FactorError::Improper("a matrix is not positive definite".to_owned())
}

/// The inverse of a positive definite matrix.
pub(crate) fn inverse_of(a: MatRef<'_, f64>) -> Result<Mat<f64>, FactorError> {
    let factor = cholesky(a).ok_or_else(not_positive)?;
    Ok(inverse(&factor))
}

/// $\ln\det a$ of a positive definite matrix.
pub(crate) fn log_det_of(a: MatRef<'_, f64>) -> Result<f64, FactorError> {
    let factor = cholesky(a).ok_or_else(not_positive)?;
    Ok(log_det(&factor))
}

/// Two symmetric matrices $a = C C^T$ and $b = C U D U^T C^T$, the first positive definite, in one basis.
pub(crate) struct Congruence {
    /// $C U$.
    basis: Mat<f64>,
    /// $D$, ascending.
    pub values: Vec<f64>,
}

impl Congruence {
    pub fn new(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Result<Self, FactorError> {
        let factor = cholesky(a).ok_or_else(not_positive)?;
        let c = factor.L();
        let half = solve_lower(c, b);
        let whole = solve_lower(c, half.transpose());
        let eigen = symmetrised(whole.as_ref())
            .self_adjoint_eigen(Side::Lower)
            .map_err(|_| FactorError::Failed("eigenvalues did not converge".to_owned()))?;
        Ok(Self {
            basis: c * eigen.U(),
            values: eigen.S().column_vector().iter().copied().collect(),
        })
    }

    /// $C U$.
    pub fn basis(&self) -> MatRef<'_, f64> {
        self.basis.as_ref()
    }

    /// $C U f(D) U^T C^T$.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Mat<f64> {
        let values: Vec<f64> = self.values.iter().map(|d| f(*d)).collect();
        let n = values.len();
        let entry = |i: usize, j: usize| {
            let terms = (0..n).map(|k| self.basis[(i, k)] * values[k] * self.basis[(j, k)]);
            terms.sum()
        };
        Mat::from_fn(n, n, entry)
    }
}

/// $C^{-1} b$ for a lower triangular $C$.
pub(crate) fn solve_lower(c: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = b.to_owned();
    for k in 0..out.ncols() {
        for i in 0..out.nrows() {
            let known: f64 = (0..i).map(|j| c[(i, j)] * out[(j, k)]).sum();
            out[(i, k)] = (out[(i, k)] - known) / c[(i, i)];
        }
    }
    out
}

/// $L$ with $L L^T = S$, square and row by row, its last columns zero where $S$ is singular. Eigenvalues below `rounding` in size are
/// zero; `None` where one is less than minus that.
pub(crate) fn square_root(s: MatRef<'_, f64>, rounding: f64) -> Option<Vec<f64>> {
    let n = s.nrows();
    let eigen = s.self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector();
    if values.iter().any(|l| !(*l >= -rounding)) {
        return None;
    }
    // eigenvalues are ascending
    let entry = |i: usize, j: usize| {
        let k = n - 1 - j;
        eigen.U()[(i, k)] * values[k].max(0.0).sqrt()
    };
    Some((0..n * n).map(|at| entry(at / n, at % n)).collect())
}
