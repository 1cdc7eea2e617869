//! Weights of mixtures and alphabets: positive, of sum one.

use crate::error::{ModelError, parameter};

/// The weights divided by their sum.
///
/// # Errors
/// Unless all are positive, and their sum is one to $10^{-9}$.
pub(super) fn normalised(module: &str, weights: &[f64]) -> Result<Vec<f64>, ModelError> {
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
