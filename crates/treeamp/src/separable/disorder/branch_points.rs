//! Where a student likelihood passes from one landmark to another along the signals of a teacher.

use super::breaks::Breaks;
use super::outputs::{Pair, REACH};
use crate::scalar::Landmark;

/// Steps in which changes of the student are looked for along a stretch.
const SCAN: u32 = 32;
/// How near to a corner, in units of the signal, landmarks of the student that part there are looked at.
const NEAR: f64 = 1e-4;

impl Pair<'_> {
    /// Signals of a stretch at which the student changes from one of its landmarks to the next: where the field that they give is half way between.
    pub fn changes(&self, breaks: &mut Breaks, low: f64, high: f64) {
        let (at, sd) = (&self.at, self.tau0.sqrt());
        let (low, high) = (low.max(-8.0 * sd), high.min(8.0 * sd));
        let step = (high - low) / f64::from(SCAN);
        let places = (0..=SCAN).map(|k| low + step * f64::from(k));
        let seen: Vec<(f64, Vec<Landmark>)> = places.map(|z| (z, self.landmarks(z))).collect();
        for (w, j) in seen
            .windows(2)
            .flat_map(|w| (0..w[0].1.len()).map(move |j| (w, j)))
        {
            let [(mut left, marks), (mut right, others)] = [&w[0], &w[1]].map(|s| (s.0, &s.1));
            let beyond = |z: f64, marks: &[Landmark]| {
                let pair = marks.get(j..j + 2)?;
                Some(at.m_hat * z - 0.5 * at.a * (pair[0].place + pair[1].place))
            };
            let (Some(f), Some(g)) = (beyond(left, marks), beyond(right, others)) else {
                continue;
            };
            if f * g > 0.0 || marks.len() != others.len() {
                continue;
            }
            let rate = (g - f).abs() / (right - left);
            while right - left > 1e-9 * sd {
                let middle = 0.5 * (left + right);
                match beyond(middle, &self.landmarks(middle)) {
                    Some(h) if h * f > 0.0 => left = middle,
                    Some(_) => right = middle,
                    None => break,
                }
            }
            let marks = self.landmarks(left);
            let Some([one, other]) = marks.get(j..j + 2) else {
                continue;
            };
            let wide = one.width.max(other.width);
            let width = (1.0 + at.a.abs() * wide * wide) / (other.place - one.place);
            breaks.around(0.5 * (left + right), width.hypot(at.q_hat.sqrt()) / rate);
        }
    }

    /// Signals at which two landmarks of the student part: the field tells them apart where it is as large as the inverse of their distance.
    pub fn branch_points(&self, breaks: &mut Breaks, low: f64, high: f64, corners: &[f64]) {
        let (at, sd) = (&self.at, self.tau0.sqrt());
        let seen = corners
            .iter()
            .flat_map(|y| self.teacher.landmarks(Some(*y)));
        for place in seen.map(|mark| mark.place).chain([low, high]) {
            for near in [place - NEAR * sd, place + NEAR * sd] {
                let marks = self.landmarks(near.clamp(low, high));
                let gaps = marks.windows(2).map(|w| (w[1].place - w[0].place, w));
                let Some((gap, pair)) = gaps.min_by(|x, y| x.0.total_cmp(&y.0)) else {
                    continue;
                };
                let rate = gap / (near - place).abs();
                // from half way between them
                let field = at.m_hat * place - 0.5 * at.a * (pair[0].place + pair[1].place);
                let noise = at.q_hat.sqrt();
                // not a distance that vanishes at the place itself
                if !(rate < 1.0 / NEAR.sqrt() && field.hypot(noise) > 0.0) {
                    continue;
                }
                // where noise may bring the field to zero, doubts decay as the inverse distance only
                let along = rate * field.hypot(noise);
                if field.abs() > REACH * noise {
                    breaks.around(place, 1.0 / along);
                } else {
                    breaks.change(place, along, 0.0);
                }
            }
        }
    }

    /// What the student takes for the signal behind the output of another, in order.
    fn landmarks(&self, z: f64) -> Vec<Landmark> {
        let y = self.teacher.map(z).unwrap_or(f64::NAN);
        let mut marks = self.student.landmarks(Some(y));
        marks.retain(|mark| !mark.edge && mark.place.is_finite());
        marks.sort_by(|x, y| x.place.total_cmp(&y.place));
        marks
    }
}
