//! How far a splitting's point is from the minimiser, by how it has moved.

use super::balance::mean_gap;
use super::point::{Solution, undetermined};
use crate::belief::mean_square;
use crate::model::Tree;

/// How far the point moves while the disagreement falls to a tenth, or steps double: how far two factors disagree on it does not tell how far it
/// is from the minimiser.
pub(super) struct Movement {
    /// The point when the disagreement last fell to a tenth, and the one when steps last doubled twice and once.
    decade: Vec<f64>,
    doublings: [Vec<f64>; 2],
    /// The next disagreement, and the next step.
    pub level: f64,
    step: usize,
    /// An estimate of how far the minimiser is, relative.
    pub left: f64,
}

impl Movement {
    pub fn new() -> Self {
        Self {
            decade: Vec::new(),
            doublings: [Vec::new(), Vec::new()],
            level: 1e-4,
            step: 100,
            left: f64::INFINITY,
        }
    }

    /// Takes down a point, after so many steps. Only variables that are not made of others count: the places of a gradient follow from those of its
    /// image, and may be much smaller.
    pub fn note(&mut self, tree: &Tree, point: &Solution, (steps, disagreement): (usize, f64)) {
        let free = point.places().iter().zip(undetermined(tree));
        let mut places = Vec::new();
        for (x, _) in free.filter(|p| p.1) {
            let scale = mean_square(x).sqrt();
            // 0/0 where everything is zero
            places.extend(x.iter().map(|x| if scale > 0.0 { x / scale } else { 0.0 }));
        }
        if disagreement <= self.level {
            // along weak directions three times as much may be left
            self.left = 3.0 * distance(&self.decade, &places);
            (self.decade, self.level) = (places.clone(), 0.1 * disagreement);
        }
        if steps >= self.step {
            // of a distance that falls as one over the steps, a third is left
            let left = distance(&self.doublings[0], &places) / 3.0;
            self.left = self.left.min(left);
            let [_, newer] = std::mem::take(&mut self.doublings);
            (self.doublings, self.step) = ([newer, places], 2 * steps);
        }
    }
}

/// The root mean square of a difference; infinite from nowhere.
fn distance(from: &[f64], to: &[f64]) -> f64 {
    if from.is_empty() {
        return f64::INFINITY;
    }
    mean_gap(from, to).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_points_is_a_root_mean_square() {
        assert!((distance(&[1.0, 3.0], &[2.0, 4.0]) - 1.0).abs() < 1e-12);
        assert!(distance(&[], &[1.0]).is_infinite());
    }
}
