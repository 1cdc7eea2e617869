//! What the precision of a link is to change by: residuals of places, $w - u$, and of slopes, $w - w_{\text{before}}$, both
//! relative, are brought together.

use crate::belief::mean_square;

/// Residuals this far apart are brought together, by at most this much at a time.
const IMBALANCE: f64 = 2.0;
const MOST: f64 = 10.0;
/// Residuals are relative to places and slopes, neither of which counts for less than this fraction of the other.
const FLOOR: f64 = 1e-3;

/// The factor of $\rho$, if it is to change, from the state and the mode of the red end, and the modes of the black end now
/// and before.
pub(super) fn change((s, u): (&[f64], &[f64]), w: &[f64], before: &[f64]) -> Option<f64> {
    let (size, slope) = (mean_square(u).max(mean_square(w)), mean_gap(s, u));
    let floor = FLOOR * FLOOR * size.max(slope);
    let places = mean_gap(u, w) / size.max(floor);
    let slopes = mean_gap(w, before) / slope.max(floor);
    let ratio = (places / slopes).sqrt();
    if !(ratio.is_finite() && ratio > 0.0) {
        return None;
    }
    let change = ratio.clamp(1.0 / MOST, MOST);
    (change.max(1.0 / change) > IMBALANCE).then_some(change)
}

fn mean_gap(x: &[f64], y: &[f64]) -> f64 {
    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
    square / x.len() as f64
}
