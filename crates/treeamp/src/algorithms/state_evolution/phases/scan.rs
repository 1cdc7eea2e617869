//! Transitions between the places of a scan: two of them close to one another hold where their errors change fast.

use std::cell::RefCell;

use crate::error::RunError;

/// Places that are looked at after a scan: each costs two runs, and a smooth curve over a factor of a hundred takes a dozen.
const LOOKS: usize = 60;
/// The factor by which errors must change between two places: a smaller one looks at more places of smooth curves, a
/// larger one misses transitions (`small_jumps_are_found_between_the_places_of_a_scan`).
const LEAP: f64 = 1.4;

/// A ratio, the error there and on which side of the transition it seems to be.
type Place = (f64, f64, bool);

/// Errors along a range of ratios.
#[derive(Default)]
pub(super) struct Scan(RefCell<Vec<Place>>);

impl Scan {
    /// Keeps a place whose error is known.
    pub fn note(&self, ratio: f64, (above, error): (bool, Option<f64>)) -> bool {
        if let Some(error) = error.filter(|e| *e > 0.0) {
            let mut places = self.0.borrow_mut();
            let i = places.partition_point(|p| p.0 < ratio);
            places.insert(i, (ratio, error, above));
        }
        above
    }

    /// Two ratios with a transition between them, looked for where the error leaps most; `None` if it leaps nowhere.
    pub fn bracket(
        &self,
        tolerance: f64,
        above: impl Fn(f64) -> Result<bool, RunError>,
    ) -> Result<Option<(f64, f64)>, RunError> {
        for _ in 0..LOOKS {
            let Some([left, right]) = self.leap(tolerance) else {
                return Ok(None);
            };
            let middle = 0.5 * (left.0 + right.0);
            match (left.2, above(middle)?, right.2) {
                (_, false, true) => return Ok(Some((middle, right.0))),
                (false, true, _) => return Ok(Some((left.0, middle))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// The neighbours, further apart than the tolerance, between which the error changes most.
    fn leap(&self, tolerance: f64) -> Option<[Place; 2]> {
        let places = self.0.borrow();
        let size = |w: &[Place]| (w[0].1 / w[1].1).ln().abs();
        let wide = places.windows(2).filter(|w| w[1].0 - w[0].0 > tolerance);
        let largest = wide.max_by(|v, w| size(v).total_cmp(&size(w)))?;
        (size(largest) > LEAP.ln()).then(|| [largest[0], largest[1]])
    }
}
