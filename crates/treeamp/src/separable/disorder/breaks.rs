//! Where an average over $b$ changes its form.
//!
//! Seen through $b \sim \mathcal N(\hat m x_0, \hat q)$ a component of the teacher at $x_0 = c \pm w$ lies at
//! $\hat m c \pm (\hat q + \hat m^2 w^2)^{1/2}$. The student's mean passes a landmark $c$ at $b = a c$, within $\sqrt a$, and changes from one
//! landmark to the next at $b = a\,(c + c')/2$, within $1/|c' - c|$.

use crate::scalar::Landmark;

/// Steps from the centre of a component, in standard deviations; beyond the last it is nothing.
const STEPS: [f64; 3] = [3.0, 8.0, 13.0];

#[derive(Debug, Clone, Copy)]
struct Break {
    place: f64,
    scale: f64,
}

/// Break points of an average over one field.
#[derive(Debug, Default)]
pub(super) struct Breaks {
    list: Vec<Break>,
    low: f64,
    high: f64,
}

impl Breaks {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            list: Vec::new(),
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        }
    }

    fn push(&mut self, place: f64, scale: f64) {
        if place.is_finite() && scale > 0.0 {
            self.list.push(Break { place, scale });
        }
    }

    /// A Gaussian component of this centre and width: the domain reaches over all of them.
    pub fn component(&mut self, centre: f64, width: f64) {
        self.steps(centre, width, &STEPS);
    }

    /// The same to lower accuracy: $e^{-40}$ is nothing.
    pub fn inner_component(&mut self, centre: f64, width: f64) {
        self.steps(centre, width, &[3.0, 9.0]);
    }

    fn steps(&mut self, centre: f64, width: f64, steps: &[f64]) {
        if !(centre.is_finite() && width.is_finite()) {
            return;
        }
        for s in steps {
            let (low, high) = (centre - s * width, centre + s * width);
            self.push(low, width);
            self.push(high, width);
            self.low = self.low.min(low);
            self.high = self.high.max(high);
        }
    }

    /// Moves the ends out by doubling until `negligible` holds there.
    pub fn extend(&mut self, negligible: impl Fn(f64) -> bool) {
        if !(self.low < self.high) {
            return;
        }
        let mut step = 0.5 * (self.high - self.low);
        for _ in 0..40 {
            let (left, right) = (negligible(self.low), negligible(self.high));
            if left && right {
                break;
            }
            if !left {
                self.push(self.low, step);
                self.low -= step;
            }
            if !right {
                self.push(self.high, step);
                self.high += step;
            }
            step *= 2.0;
        }
    }

    /// The components of a teacher seen through the field.
    pub fn teacher(&mut self, marks: &[Landmark], m_hat: f64, q_hat: f64) {
        for mark in marks {
            let width = q_hat.sqrt().hypot(m_hat * mark.width);
            self.component(m_hat * mark.place, width);
        }
    }

    /// The transitions of a student of precision $a$.
    pub fn student(&mut self, marks: &[Landmark], a: f64) {
        let width = a.abs().sqrt();
        for mark in marks {
            for s in [-8.0, -3.0, 0.0, 3.0, 8.0] {
                self.push(a.mul_add(mark.place, s * width), width);
            }
        }
        let mut places: Vec<f64> = marks.iter().map(|m| m.place).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        for pair in places.windows(2) {
            let (centre, width) = (0.5 * a * (pair[0] + pair[1]), 1.0 / (pair[1] - pair[0]));
            for s in [-20.0, -4.0, 4.0, 20.0] {
                self.push(width.mul_add(s, centre), width);
            }
        }
    }

    /// The transitions of a student of precision $a$, sparsely.
    pub fn inner_student(&mut self, marks: &[Landmark], a: f64) {
        for mark in marks {
            self.push(a * mark.place, a.abs().sqrt());
        }
    }

    /// A change of form at a place, within a width.
    pub fn around(&mut self, place: f64, width: f64) {
        for s in [-6.0, -2.0, 2.0, 6.0] {
            self.push(width.mul_add(s, place), width);
        }
    }

    /// A corner, kept whatever its neighbours.
    pub fn corner(&mut self, place: f64) {
        self.push(place, f64::MIN_POSITIVE);
    }

    /// Steps of increasing size on both sides of a corner.
    pub fn graded(&mut self, place: f64, scale: f64) {
        self.corner(place);
        for s in [1.0, 3.0, 8.0, 20.0] {
            self.push(place - s * scale, scale);
            self.push(place + s * scale, scale);
        }
    }

    /// Only what lies between these ends.
    pub fn clip(&mut self, low: f64, high: f64) {
        self.low = self.low.max(low);
        self.high = self.high.min(high);
    }

    /// The ends and all break points between them, none much closer to another than its own scale.
    pub fn sorted(mut self) -> Vec<f64> {
        let (low, high) = (self.low, self.high);
        if !(low < high) {
            return Vec::new();
        }
        self.list.retain(|b| b.place > low && b.place < high);
        self.list.sort_by(|x, y| x.place.total_cmp(&y.place));
        let near = |x: &Break, y: &Break| y.place - x.place < 0.4 * x.scale.min(y.scale);
        let mut kept: Vec<Break> = Vec::with_capacity(self.list.len());
        for b in self.list {
            match kept.last_mut() {
                Some(last) if near(last, &b) => {
                    // of two near each other, the finer one
                    if b.scale < last.scale {
                        *last = b;
                    }
                }
                _ => kept.push(b),
            }
        }
        let mut out = vec![low];
        let sliver = |x: f64, y: f64| y - x <= 1e-12 * (x.abs() + y.abs());
        for b in kept {
            if !sliver(out[out.len() - 1], b.place) && !sliver(b.place, high) {
                out.push(b.place);
            }
        }
        out.push(high);
        out
    }
}
