//! The certificate of an unbounded descent: $F \approx c + s\ln v$ as the variance $v$ of a variable vanishes.
//!
//! Noiseless continuous outputs of a signal that is known exactly have an infinite density. Of a sparse signal with $K$
//! components that are not zero, seen through $M$ noiseless linear measurements, $s = (M - K)/2$; of a discrete signal,
//! $s = 0$.

use crate::engine::Descent;
use crate::model::Tree;

/// A variance below this fraction of the second moment has vanished.
pub(super) const VANISHED: f64 = 1e-13;
/// The slope is measured below this fraction: recovery itself is a fall.
const SMALL: f64 = 1e-6;
/// And above this one: the log-partitions are of order $a\|r\|^2$, and so is their rounding.
const DIGITS: f64 = 1e-12;
/// It is measured where the variance has fallen by this factor at least, in the logarithm,
const STRETCH: f64 = 2.0;
/// and is one if the free energy has fallen by this many nats there.
const FALL: f64 = 0.5;

/// What was seen of a variance that vanishes.
#[derive(Debug, Default)]
pub(super) struct Fall {
    /// Its variable, and variance and free energy at both ends of the stretch.
    variable: usize,
    ends: Option<[(f64, f64); 2]>,
    /// One has vanished; all have; one has, and another is not on its way.
    vanished: bool,
    pub recovered: bool,
    pub collapsing: bool,
}

impl Fall {
    /// Takes the smallest variance, as (variable, variance, fraction, the largest fraction of all), and the free energy.
    pub fn note(&mut self, smallest: Option<(usize, f64, f64, f64)>, energy: f64) {
        let Some((variable, variance, fraction, largest)) = smallest else {
            return;
        };
        self.vanished = fraction < VANISHED;
        self.recovered = largest < VANISHED;
        self.collapsing = self.vanished && largest > SMALL;
        let other = self.ends.is_some() && variable != self.variable;
        if fraction > SMALL || other {
            self.ends = None;
        }
        if (DIGITS..=SMALL).contains(&fraction) {
            let here = (variance, energy);
            self.variable = variable;
            self.ends = Some(self.ends.map_or([here; 2], |[first, _]| [first, here]));
        }
    }

    /// The descent, if there is one.
    pub fn descent(&self, tree: &Tree) -> Option<Descent> {
        let [from, to] = self.ends?;
        let (stretch, fall) = ((from.0 / to.0).ln(), from.1 - to.1);
        (self.vanished && stretch > STRETCH && fall > FALL).then(|| Descent {
            variable: tree.variables()[self.variable].name.clone(),
            slope: fall / stretch,
            from,
            to,
        })
    }
}
