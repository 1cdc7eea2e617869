//! Lists of numbers of mixtures and alphabets: weights that are positive and of sum one, and numbers of a range.

use crate::error::{ModelError, parameter};

/// The weights of `n` components, divided by their sum; equal ones where none are given.
///
/// # Errors
/// Unless all are positive, and their sum is one to $10^{-9}$.
pub(super) fn normalised(module: &str, weights: &[f64], n: usize) -> Result<Vec<f64>, ModelError> {
    if weights.is_empty() {
        return Ok(vec![1.0 / n as f64; n]);
    }
    let refused = |got: String| parameter(module, "weights", "positive with sum one", got);
    if let Some(k) = weights.iter().position(|w| !(*w > 0.0)) {
        return Err(refused(format!("{} at index {k}", weights[k])));
    }
    let total: f64 = weights.iter().sum();
    if !((total - 1.0).abs() < 1e-9) {
        return Err(refused(format!("a sum of {total}")));
    }
    Ok(weights.iter().map(|w| w / total).collect())
}

/// A weight for each of `n` components, or none at all.
pub(super) fn are_as_many(weights: &[f64], n: usize) -> bool {
    n > 0 && (weights.is_empty() || weights.len() == n)
}

/// How many weights came, before the other numbers that did: nothing where none were given.
pub(super) fn counted(weights: &[f64]) -> String {
    match weights.len() {
        0 => String::new(),
        n => format!("{n} weights, "),
    }
}

/// Refuses the first number of a list that is not allowed.
///
/// # Errors
/// The number, with its index.
pub(super) fn check_each(
    module: &str,
    name: &'static str,
    expected: &str,
    values: &[f64],
    allowed: impl Fn(f64) -> bool,
) -> Result<(), ModelError> {
    match values.iter().position(|x| !allowed(*x)) {
        None => Ok(()),
        Some(k) => {
            let got = format!("{} at index {k}", values[k]);
            Err(parameter(module, name, expected, got))
        }
    }
}

/// Checks a scale whose square and whose inverse square are numbers, with room.
///
/// # Errors
/// Outside of $10^{-100}$ to $10^{100}$.
pub(in crate::catalog) fn check_scale(
    module: &str,
    name: &'static str,
    scale: f64,
) -> Result<(), ModelError> {
    if (1e-100..=1e100).contains(&scale) {
        return Ok(());
    }
    let expected = "positive, from 1e-100 to 1e100";
    Err(parameter(module, name, expected, scale))
}

/// Checks a centre whose square is a number, with room.
///
/// # Errors
/// Beyond $10^{100}$ on either side.
pub(in crate::catalog) fn check_centre(
    module: &str,
    name: &'static str,
    centre: f64,
) -> Result<(), ModelError> {
    if centre.abs() <= 1e100 {
        return Ok(());
    }
    Err(parameter(module, name, "from -1e100 to 1e100", centre))
}
