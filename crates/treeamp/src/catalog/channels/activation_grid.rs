//! Points of the line with their images under an activation, on the stack.

/// Grid points at most.
const CAPACITY: usize = 768;

/// A point of the line with its image.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) z: f64,
    pub(super) x: f64,
}

/// A sorted list of places of bounded length.
pub(super) struct Grid {
    pub(super) places: [Place; CAPACITY],
    pub(super) len: usize,
}

impl Grid {
    pub(super) fn new() -> Self {
        Self {
            places: [Place { z: 0.0, x: 0.0 }; CAPACITY],
            len: 0,
        }
    }

    pub(super) fn places(&self) -> &[Place] {
        &self.places[..self.len]
    }

    pub(super) fn push(&mut self, place: Place) {
        if self.len < CAPACITY && place.z.is_finite() {
            self.places[self.len] = place;
            self.len += 1;
        }
    }

    pub(super) fn sort(&mut self) {
        self.places[..self.len].sort_unstable_by(|p, q| p.z.total_cmp(&q.z));
        let mut kept = 0;
        for i in 0..self.len {
            if kept == 0 || self.places[i].z > self.places[kept - 1].z {
                self.places[kept] = self.places[i];
                kept += 1;
            }
        }
        self.len = kept;
    }
}
