//! Where an average over $b$ changes its form.
//!
//! Seen through $b \sim \mathcal N(\hat m x_0, \hat q)$ a component of the teacher at $x_0 = c \pm w$ lies at
//! $\hat m c \pm (\hat q + \hat m^2 w^2)^{1/2}$. The student's mean passes a landmark $c$ at $b = a c$, within $\sqrt a$, and changes from one
//! landmark to the next at $b = a\,(c + c')/2$, within $(1 + a w^2)/|c' - c|$.

use crate::math::quadrature::peaks::Peaks;
use crate::scalar::Landmark;

/// Cuts around a component over which an average is exact.
const FULL: &[f64] = &[3.0, 8.0, 13.0];
/// Cuts around a component of a nested average: $e^{-32}$ is nothing.
const NESTED: &[f64] = &[2.5, 8.0];
/// The same where rare noise tells: $10^{-18}$.
const NOISE: &[f64] = &[2.5, 9.0];
/// Cuts around a knee.
const KNEE: &[f64] = &[8.0];
/// Cuts around a transition of the student.
const STEP: &[f64] = &[0.0, 3.0, 8.0];
/// Cuts around an edge seen through a nested field.
const EDGE: &[f64] = &[7.5];
/// Cuts where the outputs of another piece begin.
const SHADOW: &[f64] = &[8.0, 2.75];
/// One cut.
const HERE: &[f64] = &[0.0];
/// Cuts around the end of a piece, seen through noise, from the outside in.
const BORDER: &[f64] = &[-3.5, 1.75, 6.5];
/// Cuts around a logistic change of a variance that may be nothing elsewhere, and how much noise hides it. What a piece that has been
/// left adds decays as the inverse distance only: panels reach at most seven times as far as the one before.
const CHANGE: &[f64] = &[0.0, 8.0, 25.0, 150.0, 1000.0, 7000.0];
const BLURRED: f64 = 8.0;
/// Cuts around a logistic change from one landmark to another.
const LOGISTIC: &[f64] = &[7.5];

/// Break points of an average over one field.
#[derive(Debug)]
pub(super) struct Breaks {
    peaks: Peaks,
    component_cuts: &'static [f64],
    step_cuts: &'static [f64],
}

impl Breaks {
    /// For an average over one field.
    pub fn new() -> Self {
        Self {
            peaks: Peaks::new(),
            component_cuts: FULL,
            step_cuts: STEP,
        }
    }

    /// For an average over one field of a student that is not the teacher: features of both, of which many do not count.
    pub fn mismatched() -> Self {
        Self {
            step_cuts: EDGE,
            ..Self::new()
        }
    }

    /// The same at one output of several, whose field has the tails of a Gaussian.
    pub fn output() -> Self {
        Self {
            component_cuts: NOISE,
            ..Self::mismatched()
        }
    }

    /// For one of two nested averages.
    pub fn nested() -> Self {
        Self {
            component_cuts: NESTED,
            step_cuts: EDGE,
            ..Self::new()
        }
    }

    /// A Gaussian component of this centre and width: the range covers all of them.
    pub fn component(&mut self, centre: f64, width: f64) {
        self.peaks.feature(centre, width, self.component_cuts);
        self.cover(centre, width);
    }

    /// The same for noise whose rare values tell.
    pub fn noise(&mut self, centre: f64, width: f64) {
        self.component_cuts = NOISE;
        self.component(centre, width);
    }

    fn cover(&mut self, centre: f64, width: f64) {
        let far = self.component_cuts[self.component_cuts.len() - 1];
        self.peaks.cover(centre, far * width);
    }

    /// The components of a teacher seen through the field.
    pub fn teacher(&mut self, marks: &[Landmark], m_hat: f64, q_hat: f64) {
        for mark in marks {
            let width = q_hat.sqrt().hypot(m_hat * mark.width);
            self.cover(m_hat * mark.place, width);
            let cuts = if mark.edge { EDGE } else { self.component_cuts };
            self.peaks.feature(m_hat * mark.place, width, cuts);
        }
    }

    /// The transitions of a student of precision $a$.
    pub fn student(&mut self, marks: &[Landmark], a: f64) {
        self.students_transitions(marks, a, |_, _| 0.0);
    }

    /// The same with the log-odds of the upper against the lower landmark, given both and half way
    /// between them: they move the transition.
    pub fn students_transitions(
        &mut self,
        marks: &[Landmark],
        a: f64,
        log_odds: impl Fn(Landmark, Landmark) -> f64,
    ) {
        for mark in marks {
            self.around(a * mark.place, a.abs().sqrt().hypot(a * mark.width));
        }
        let mut marks: Vec<Landmark> = marks.iter().filter(|m| !m.edge).copied().collect();
        marks.sort_by(|x, y| x.place.total_cmp(&y.place));
        for pair in marks.windows(2) {
            let (sum, gap) = (pair[0].place + pair[1].place, pair[1].place - pair[0].place);
            let width = pair[0].width.max(pair[1].width);
            let width = (a.abs() * width).mul_add(width, 1.0) / gap;
            let shift = width * log_odds(pair[0], pair[1]);
            self.peaks.feature(0.5 * a * sum - shift, width, LOGISTIC);
        }
    }

    /// A change of form at a place, within a width.
    pub fn around(&mut self, place: f64, width: f64) {
        self.peaks.feature(place, width, self.step_cuts);
    }

    /// A knee of the channel seen through a field: nearly a corner where the output is large.
    pub fn knee(&mut self, place: f64, width: f64) {
        self.corner(place);
        self.bend(place, width);
    }

    /// A knee without a corner: the student's.
    pub fn bend(&mut self, place: f64, width: f64) {
        self.peaks.feature(place, width, KNEE);
    }

    /// The end of a piece of a channel, seen along it through noise; the sign of the width says on which side
    /// it lies.
    pub fn border(&mut self, place: f64, width: f64) {
        for cut in BORDER {
            self.passing(width.mul_add(*cut, place), width.abs());
        }
    }

    /// Where the outputs of another piece begin.
    pub fn shadow(&mut self, place: f64, width: f64) {
        self.peaks.feature(place, width, SHADOW);
    }

    /// Where the lines of two pieces cross, and how far from there they are told apart.
    pub fn crossing(&mut self, place: f64, width: f64) {
        self.peaks.feature(place, width, NESTED);
    }

    /// Where a student passes from one piece to another, at a rate along the axis and one across it: a logistic step, moved by the noise across.
    pub fn change(&mut self, place: f64, along: f64, across: f64) {
        if across > BLURRED {
            self.crossing(place, across / along);
        } else {
            self.peaks.feature(place, across.hypot(1.0) / along, CHANGE);
        }
    }

    /// Where a change that moves is seen from aside.
    pub fn passing(&mut self, place: f64, width: f64) {
        self.peaks.feature(place, width, HERE);
    }

    /// A corner of the integrand.
    pub fn corner(&mut self, place: f64) {
        self.peaks.corner(place);
    }

    /// The ends so far, if there is anything between them.
    pub fn range(&self) -> Option<[f64; 2]> {
        self.peaks.range()
    }

    /// Only what lies between these ends.
    pub fn clip(&mut self, low: f64, high: f64) {
        self.peaks.clip(low, high);
    }

    /// Moves the ends out by doubling until `negligible` holds there.
    pub fn extend(&mut self, negligible: impl Fn(f64) -> bool) {
        self.peaks.extend(negligible);
    }

    /// The ends and the break points between them.
    pub fn sorted(self) -> Vec<f64> {
        self.peaks.sorted()
    }
}
