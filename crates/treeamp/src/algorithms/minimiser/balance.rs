//! The balance of residuals: a precision $\rho$ of a link that is too small leaves places apart, one that is too large slopes.

use crate::belief::mean_square;

/// Residuals are relative to places and slopes, neither of which counts for less than this fraction of the other.
const FLOOR: f64 = 1e-3;

/// The factor by which $\rho$ is to change, from the state and the mode of the red end, and the modes of the black end now and before.
pub(super) fn change(
    (s, u): (&[f64], &[f64]),
    w: &[f64],
    before: &[f64],
    (imbalance, most): (f64, f64),
) -> f64 {
    let (size, slope) = (mean_square(u).max(mean_square(w)), mean_gap(s, u));
    let floor = FLOOR * FLOOR * size.max(slope);
    let places = mean_gap(u, w) / size.max(floor);
    let slopes = mean_gap(w, before) / slope.max(floor);
    let change = (places / slopes).sqrt().clamp(1.0 / most, most);
    let far = change.max(1.0 / change) > imbalance;
    if far { change } else { 1.0 }
}

pub(super) fn mean_gap(x: &[f64], y: &[f64]) -> f64 {
    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
    square / x.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The change of $\rho$ where places disagree by one number and slopes by another, both relative.
    fn balanced(places: f64, slopes: f64) -> f64 {
        let settings = super::super::Settings::new(None);
        let (u, s) = ([1.0, -1.0], [2.0, 0.0]);
        let w = u.map(|u| u + places);
        let before = w.map(|w| w - slopes);
        change((&s, &u), &w, &before, settings.imbalance)
    }

    #[test]
    fn residuals_of_one_size_leave_a_precision_as_it_is() {
        for ratio in [0.7, 1.0, 1.4] {
            assert!(
                (balanced(1e-3 * ratio, 1e-3) - 1.0).abs() < 1e-12,
                "{ratio}"
            );
        }
    }

    #[test]
    fn a_precision_follows_the_larger_residual_by_at_most_ten() {
        // places that disagree want a larger one
        assert!((balanced(4e-3, 1e-3) - 4.0).abs() < 0.05);
        assert!((balanced(1e-3, 4e-3) - 0.25).abs() < 0.01);
        assert!((balanced(1.0, 1e-6) - 10.0).abs() < 1e-12);
        assert!((balanced(1e-9, 1e-1) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn a_state_at_zero_has_a_change_all_the_same() {
        let zero = [0.0; 2];
        let change = change((&[1.0, 1.0], &zero), &zero, &[0.5, 0.5], (1.5, 10.0));
        assert!((change - 0.1).abs() < 1e-12, "{change}");
    }
}
