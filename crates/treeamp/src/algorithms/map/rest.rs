//! When a splitting is at rest: how far two factors disagree on a place does not tell how far that place is from the
//! minimiser. How far it moves while the disagreement falls does.

use super::solution::undetermined;
use crate::belief::{Gaussian, mean_square};
use crate::engine::graph::Graph;
use crate::model::Tree;

/// While the disagreement falls by a factor of ten, the minimiser may move by this multiple of the tolerance, relative to its
/// scale: with the tolerance by default, by a third of the $10^{-6}$ that it is promised to. Looked at from this
/// disagreement on.
const MOVED: f64 = 30.0;
const FIRST_LEVEL: f64 = 1e-4;
/// At precisions that have not been balanced yet a small disagreement may only mean that they are far off; at this one,
/// nothing is left to do.
const EXACT: f64 = 1e-13;
/// Where more is asked for, it is this much.
pub(super) const TIGHTER: f64 = 0.1;

/// What is known about movements.
pub(super) struct Rest {
    /// The minimiser when the disagreement last fell by a factor of ten, how far it had moved by then, and the next time.
    places: Vec<Vec<f64>>,
    moved: f64,
    level: f64,
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            moved: f64::INFINITY,
            level: FIRST_LEVEL,
        }
    }
}

impl Rest {
    /// It is time to look at the places again.
    pub fn looks(&self, worst: f64) -> bool {
        worst <= self.level
    }

    /// Takes down the places of these messages. Only of variables that are not made of others: the places of a gradient
    /// follow from those of its image, and may be much smaller.
    pub fn note(&mut self, tree: &Tree, messages: &[Gaussian], worst: f64) {
        let mut places = Graph::new(tree, messages).places();
        let free = undetermined(tree);
        places.iter_mut().zip(free).for_each(|(place, free)| {
            if !free {
                place.clear();
            }
        });
        let pairs = self.places.iter().zip(&places);
        let moved = pairs.filter(|(_, new)| !new.is_empty()).map(|(old, new)| {
            let gap: f64 = old.iter().zip(new).map(|(x, y)| (x - y).powi(2)).sum();
            // 0/0 where everything is zero
            (gap / (new.len() as f64 * mean_square(new)))
                .sqrt()
                .max(0.0)
        });
        self.moved = if self.places.is_empty() {
            f64::INFINITY
        } else {
            moved.fold(0.0, f64::max)
        };
        self.places = places;
        self.level = TIGHTER * worst;
    }

    /// The disagreement is below the tolerance, and places hardly moved while it fell by a factor of ten.
    pub fn is_reached(&self, worst: f64, tolerance: f64, balanced: bool) -> bool {
        let still = balanced && self.moved <= MOVED * tolerance;
        worst <= tolerance && (still || worst <= EXACT)
    }
}
