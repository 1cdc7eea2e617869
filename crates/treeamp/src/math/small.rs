//! Small matrices, row by row in slices: what is done for every row of a signal, without an allocation.

/// A pivot below this fraction of its diagonal entry is rounding.
const ROUNDING: f64 = 1e-14;

/// The lower triangular $L$ with $LL^T = a$, and $\ln\det a$; `None` of a matrix that is not positive definite. Above the diagonal `out` stays.
pub(crate) fn root(a: &[f64], n: usize, out: &mut [f64]) -> Option<f64> {
    let mut log_det = 0.0;
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| out[i * n + k] * out[j * n + k]).sum();
            let rest = a[i * n + j] - known;
            if i > j {
                out[i * n + j] = rest / out[j * n + j];
            } else if rest > ROUNDING * a[i * n + i] && rest.is_finite() {
                out[i * n + i] = rest.sqrt();
                log_det += rest.ln();
            } else {
                return None;
            }
        }
    }
    Some(log_det)
}

/// The inverse of a positive definite $n \times n$ matrix into `out`, and its log-determinant; `None` of any other.
pub(crate) fn invert(a: &[f64], n: usize, out: &mut [f64]) -> Option<f64> {
    let log_det = root(a, n, out)?;
    // L⁻¹ in its place, row by row
    for i in 0..n {
        let pivot = 1.0 / out[i * n + i];
        for j in 0..i {
            let sum: f64 = (j..i).map(|k| out[i * n + k] * out[k * n + j]).sum();
            out[i * n + j] = -pivot * sum;
        }
        out[i * n + i] = pivot;
    }
    // L⁻ᵀ L⁻¹: entry (i, j) with j <= i needs rows from i on
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (i..n).map(|k| out[k * n + i] * out[k * n + j]).sum();
            out[i * n + j] = sum;
        }
    }
    for i in 0..n {
        for j in 0..i {
            out[j * n + i] = out[i * n + j];
        }
    }
    Some(log_det)
}

/// $M^{-1}B$ in the place of $B$, of `columns` columns, by elimination with pivots; $M$ is used up. `None` where it is singular.
pub(crate) fn solve(m: &mut [f64], n: usize, b: &mut [f64], columns: usize) -> Option<()> {
    for p in 0..n {
        let size = |i: &usize| m[i * n + p].abs();
        let best = (p..n).max_by(|i, j| size(i).total_cmp(&size(j)))?;
        if best != p {
            (0..n).for_each(|j| m.swap(p * n + j, best * n + j));
            (0..columns).for_each(|j| b.swap(p * columns + j, best * columns + j));
        }
        let pivot = m[p * n + p];
        if pivot == 0.0 || !pivot.is_finite() {
            return None;
        }
        for i in (0..n).filter(|i| *i != p) {
            let ratio = m[i * n + p] / pivot;
            for j in p..n {
                m[i * n + j] -= ratio * m[p * n + j];
            }
            for j in 0..columns {
                b[i * columns + j] -= ratio * b[p * columns + j];
            }
        }
    }
    for i in 0..n {
        for j in 0..columns {
            b[i * columns + j] /= m[i * n + i];
        }
    }
    Some(())
}

/// $y_i = \sum_j a_{ij}x_j$.
pub(crate) fn times(a: &[f64], x: &[f64], y: &mut [f64]) {
    let n = x.len();
    for (row, y) in a.chunks_exact(n).zip(y) {
        *y = row.iter().zip(x).map(|(a, x)| a * x).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 9] = [1.3, 0.4, -0.2, 0.4, 0.9, 0.1, -0.2, 0.1, 0.7];

    #[test]
    fn inverses_are_inverse() {
        let mut inverse = [0.0; 9];
        let log_det = invert(&A, 3, &mut inverse).unwrap_or(f64::NAN);
        for i in 0..3 {
            for j in 0..3 {
                let sum: f64 = (0..3).map(|k| A[3 * i + k] * inverse[3 * k + j]).sum();
                assert!((sum - f64::from(u8::from(i == j))).abs() < 1e-14);
            }
        }
        // by the rule of Sarrus
        let det = A[0] * (A[4] * A[8] - A[5] * A[7]) - A[1] * (A[3] * A[8] - A[5] * A[6])
            + A[2] * (A[3] * A[7] - A[4] * A[6]);
        assert!((log_det - det.ln()).abs() < 1e-13);
        assert!(invert(&[1.0, 2.0, 2.0, 1.0], 2, &mut inverse[..4]).is_none());
        assert!(invert(&[1.0, 1.0, 1.0, 1.0], 2, &mut inverse[..4]).is_none());
    }

    #[test]
    fn solutions_solve() {
        // a pivot of zero first
        let m = [0.0, 2.0, 1.0, 1.0, -1.0, 0.5, 3.0, 0.2, 0.1];
        let b = [1.0, 0.3, -2.0, 0.7, 0.5, 4.0];
        let mut x = b;
        assert!(solve(&mut m.clone(), 3, &mut x, 2).is_some());
        for i in 0..3 {
            for j in 0..2 {
                let sum: f64 = (0..3).map(|k| m[3 * i + k] * x[2 * k + j]).sum();
                assert!((sum - b[2 * i + j]).abs() < 1e-13);
            }
        }
        assert!(solve(&mut [1.0, 2.0, 2.0, 4.0], 2, &mut [1.0, 1.0], 1).is_none());
    }
}
