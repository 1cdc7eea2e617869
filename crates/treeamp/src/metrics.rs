//! Errors of an estimate, also up to what the data cannot tell: a global sign or a global phase.
//!
//! All are per real component, as variances are. A complex signal is given as its interleaved storage.

use num_complex::Complex;

use crate::error::{ModelError, parameter};
use crate::scalar::Elem;

fn check(estimate: &[f64], truth: &[f64], lanes: usize) -> Result<(), ModelError> {
    let (n, m) = (estimate.len(), truth.len());
    if m == 0 || !m.is_multiple_of(lanes) {
        let expected = if lanes == 1 {
            "not empty"
        } else {
            "interleaved real and imaginary parts"
        };
        return Err(parameter(
            "metric",
            "truth",
            expected,
            format!("{m} numbers"),
        ));
    }
    if n != m {
        let expected = format!("{m} numbers, as the truth");
        return Err(parameter("metric", "estimate", expected, n));
    }
    finite("truth", truth)?;
    finite("estimate", estimate)
}

fn finite(name: &'static str, values: &[f64]) -> Result<(), ModelError> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(i) => {
            let got = format!("{} at index {i}", values[i]);
            Err(parameter("metric", name, "finite values", got))
        }
    }
}

/// $\frac1n\|r - x\|^2$.
///
/// # Errors
/// Arrays of different lengths, empty ones, or values that are not finite.
pub fn mse(estimate: &[f64], truth: &[f64]) -> Result<f64, ModelError> {
    check(estimate, truth, 1)?;
    let square: f64 = estimate
        .iter()
        .zip(truth)
        .map(|(r, x)| (r - x).powi(2))
        .sum();
    Ok(square / truth.len() as f64)
}

/// $\min_\pm\frac1n\|\pm r - x\|^2$, for a real signal seen through even outputs.
///
/// # Errors
/// As [`mse`].
///
/// ```
/// assert_eq!(treeamp::metrics::mse_up_to_sign(&[1.0, -2.0], &[-1.0, 2.5])?, 0.125);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn mse_up_to_sign(estimate: &[f64], truth: &[f64]) -> Result<f64, ModelError> {
    let other: Vec<f64> = estimate.iter().map(|r| -r).collect();
    Ok(mse(estimate, truth)?.min(mse(&other, truth)?))
}

/// $\min_\theta\frac1{2n}\|e^{i\theta}r - x\|^2$ over $n$ complex components: $e^{i\theta}$ is the phase of $\langle r, x\rangle = \sum_k\bar r_k x_k$.
///
/// The difference itself is summed, so that a small error keeps its digits.
///
/// # Errors
/// Arrays of different lengths, empty ones, an odd number of parts, or values that are not finite.
pub fn mse_up_to_phase(estimate: &[f64], truth: &[f64]) -> Result<f64, ModelError> {
    check(estimate, truth, 2)?;
    mse(&aligned(estimate, truth)?, truth)
}

/// $e^{i\theta}r$ with the global phase that brings it closest to the truth.
///
/// # Errors
/// As [`mse_up_to_phase`].
pub fn aligned(estimate: &[f64], truth: &[f64]) -> Result<Vec<f64>, ModelError> {
    check(estimate, truth, 2)?;
    let (r, x) = (Complex::<f64>::view(estimate), Complex::<f64>::view(truth));
    let inner: Complex<f64> = r.iter().zip(x).map(|(r, x)| r.conj() * x).sum();
    let size = inner.norm();
    let turn = if size > 0.0 {
        inner / size
    } else {
        Complex::ONE
    };
    let turned: Vec<Complex<f64>> = r.iter().map(|r| turn * r).collect();
    Ok(Complex::storage(&turned).to_vec())
}

/// The smallest $\frac1{nr}\|\hat X R - X\|^2$ over orthogonal matrices $R$, for $n$ rows of `rank` components that are seen through their
/// inner products only: with singular values $s$ of $\hat X^T X$ it is $\frac1{nr}(\|\hat X\|^2 + \|X\|^2 - 2\sum s)$.
///
/// # Errors
/// As [`mse`]; rows that `rank` does not divide.
///
/// ```
/// let (x, turned) = ([1.0, 0.0, 0.0, 2.0], [0.0, 1.0, -2.0, 0.0]);
/// assert!(treeamp::metrics::mse_up_to_rotation(&turned, &x, 2)? < 1e-15);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn mse_up_to_rotation(estimate: &[f64], truth: &[f64], rank: usize) -> Result<f64, ModelError> {
    check_rows(estimate, truth, rank)?;
    let overlap = faer::Mat::from_fn(rank, rank, |k, l| {
        let rows = estimate.chunks_exact(rank).zip(truth.chunks_exact(rank));
        rows.map(|(r, x)| r[k] * x[l]).sum::<f64>()
    });
    let failed = |_| {
        parameter(
            "metric",
            "estimate",
            "numbers of a size that squares have",
            "others",
        )
    };
    let svd = overlap.svd().map_err(failed)?;
    let (u, v) = (svd.U(), svd.V());
    // the difference itself is summed, so that a small error keeps its digits
    let turn = u * v.transpose();
    let turned: Vec<f64> = estimate
        .chunks_exact(rank)
        .flat_map(|row| {
            let turn = &turn;
            (0..rank).map(move |l| (0..rank).map(|k| row[k] * turn[(k, l)]).sum())
        })
        .collect();
    mse(&turned, truth)
}

/// The smallest $\frac1{nr}\|\hat X P - X\|^2$ over permutations $P$ of the columns: groups whose names the data do not tell.
///
/// # Errors
/// As [`mse_up_to_rotation`]; more than eight columns, of which all orders would be tried.
///
/// ```
/// let (x, swapped) = ([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]);
/// assert_eq!(treeamp::metrics::mse_up_to_permutation(&swapped, &x, 2)?, 0.0);
/// # Ok::<(), treeamp::ModelError>(())
/// ```
pub fn mse_up_to_permutation(
    estimate: &[f64],
    truth: &[f64],
    rank: usize,
) -> Result<f64, ModelError> {
    check_rows(estimate, truth, rank)?;
    if rank > MOST_COLUMNS {
        let expected = format!("at most {MOST_COLUMNS}");
        return Err(parameter("metric", "rank", expected, rank));
    }
    let cost = |k: usize, l: usize| {
        let rows = estimate.chunks_exact(rank).zip(truth.chunks_exact(rank));
        rows.map(|(r, x)| (r[k] - x[l]).powi(2)).sum::<f64>()
    };
    let costs: Vec<f64> = (0..rank * rank)
        .map(|at| cost(at / rank, at % rank))
        .collect();
    Ok(cheapest(&costs, rank, 0, 0) / truth.len() as f64)
}

/// Columns of which all orders are tried.
const MOST_COLUMNS: usize = 8;

/// The least total cost of assigning columns from `k` on to those that are not yet `taken`.
fn cheapest(costs: &[f64], rank: usize, k: usize, taken: u32) -> f64 {
    if k == rank {
        return 0.0;
    }
    let free = (0..rank).filter(|l| taken & (1 << l) == 0);
    let totals = free.map(|l| costs[k * rank + l] + cheapest(costs, rank, k + 1, taken | 1 << l));
    totals.fold(f64::INFINITY, f64::min)
}

fn check_rows(estimate: &[f64], truth: &[f64], rank: usize) -> Result<(), ModelError> {
    check(estimate, truth, 1)?;
    if rank == 0 || !truth.len().is_multiple_of(rank) {
        let expected = format!("a divisor of {} numbers", truth.len());
        return Err(parameter("metric", "rank", expected, rank));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_global_phase_does_not_count() -> Result<(), ModelError> {
        let truth = [1.0, 2.0, -0.5, 0.3, 0.0, -1.1];
        let turn = Complex::from_polar(1.0, 2.3);
        let turned: Vec<Complex<f64>> = Complex::<f64>::view(&truth)
            .iter()
            .map(|x| turn * x)
            .collect();
        let estimate = Complex::storage(&turned);
        assert!(mse_up_to_phase(estimate, &truth)? < 1e-30);
        assert!(mse(estimate, &truth)? > 0.1);
        // no other phase does better
        let noisy: Vec<f64> = estimate
            .iter()
            .enumerate()
            .map(|(i, r)| r + 0.1 * (i as f64))
            .collect();
        let best = mse_up_to_phase(&noisy, &truth)?;
        for k in 0..60 {
            let turn = Complex::from_polar(1.0, 0.1 * f64::from(k));
            let turned: Vec<Complex<f64>> = Complex::<f64>::view(&noisy)
                .iter()
                .map(|x| turn * x)
                .collect();
            assert!(mse(Complex::storage(&turned), &truth)? >= best - 1e-12);
        }
        Ok(())
    }

    #[test]
    fn bad_arrays_are_refused() {
        assert!(mse(&[1.0], &[1.0, 2.0]).is_err());
        assert!(mse(&[], &[]).is_err());
        assert!(mse_up_to_phase(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]).is_err());
        assert!(mse_up_to_sign(&[], &[1.0]).is_err());
    }

    #[test]
    fn values_that_are_not_finite_are_refused_by_name() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for metric in [mse, mse_up_to_sign, mse_up_to_phase] {
                let error = metric(&[1.0, bad], &[1.0, 1.0])
                    .expect_err("not finite")
                    .to_string();
                assert!(
                    error.contains("`estimate`") && error.contains("index 1"),
                    "{error}"
                );
                let error = metric(&[1.0, 1.0], &[bad, 1.0])
                    .expect_err("not finite")
                    .to_string();
                assert!(
                    error.contains("`truth`") && error.contains("index 0"),
                    "{error}"
                );
            }
            assert!(aligned(&[bad, 0.0], &[1.0, 0.0]).is_err());
        }
    }
}
