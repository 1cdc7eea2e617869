//! Estimates turned onto the truth: where outputs do not see the sign or the phase of a signal, that is lost.

use treeamp::belief::Element;

use super::Metric;

/// The global sign or phase that an estimate is turned by before it is compared with the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alignment {
    /// As it is.
    Plain,
    /// With the other sign.
    Sign,
    /// Turned by this angle.
    Phase(f64),
}

impl Alignment {
    /// The sign or phase that fits best, where it explains most of the error: at least half of it is gone then, which it is
    /// by chance only for an estimate that is next to independent of it.
    #[must_use]
    pub fn of(estimate: &[f64], truth: &[f64], element: Element) -> Self {
        let error = |metric: Metric| metric.of(estimate, truth).unwrap_or(f64::NAN);
        if !(error(Metric::symmetric(element)) < 0.5 * error(Metric::Mse)) {
            return Self::Plain;
        }
        match element {
            Element::Real => Self::Sign,
            Element::Complex => {
                let pairs = estimate.chunks_exact(2).zip(truth.chunks_exact(2));
                let (re, im) = pairs.fold((0.0, 0.0), |(re, im), (e, t)| {
                    (
                        re + e[0] * t[0] + e[1] * t[1],
                        im + e[0] * t[1] - e[1] * t[0],
                    )
                });
                Self::Phase(im.atan2(re))
            }
        }
    }

    /// The estimate, turned.
    #[must_use]
    pub fn turn(self, estimate: &[f64]) -> Vec<f64> {
        match self {
            Self::Plain => estimate.to_vec(),
            Self::Sign => estimate.iter().map(|x| -x).collect(),
            Self::Phase(angle) => {
                let (sin, cos) = angle.sin_cos();
                let turned = estimate
                    .chunks_exact(2)
                    .flat_map(|c| [c[0] * cos - c[1] * sin, c[0] * sin + c[1] * cos]);
                turned.collect()
            }
        }
    }

    /// What to call it in a picture.
    #[must_use]
    pub fn note(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Sign => ", its sign turned to the truth's",
            Self::Phase(_) => ", its phase turned to the truth's",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_are_turned_onto_the_truth() {
        let truth = [1.0, -2.0, 0.5, 0.25];
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12);
        let flipped: Vec<f64> = truth.iter().map(|x| -x).collect();
        let sign = Alignment::of(&flipped, &truth, Element::Real);
        assert_eq!(sign, Alignment::Sign);
        assert!(near(&sign.turn(&flipped), &truth));
        let turned = Alignment::Phase(0.7).turn(&truth);
        let phase = Alignment::of(&turned, &truth, Element::Complex);
        assert!(near(&phase.turn(&turned), &truth), "{phase:?}");
        // what is right already stays, and so does an estimate without information
        assert_eq!(
            Alignment::of(&truth, &truth, Element::Real),
            Alignment::Plain
        );
        assert_eq!(
            Alignment::of(&[0.0; 4], &truth, Element::Real),
            Alignment::Plain
        );
    }
}
