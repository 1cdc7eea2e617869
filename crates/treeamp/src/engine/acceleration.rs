//! Anderson acceleration near a fixed point.
//!
//! A sweep maps the messages $x$ to $g(x)$, and $f = g - x$ vanishes at a fixed point. From the last few sweeps, with the differences
//! $\Delta F$ of $f$ and $\Delta G$ of $g$, the next one starts at $g - \Delta G\,\gamma$, where $\gamma$ minimises $\|f - \Delta F\,\gamma\|$: the secant
//! method in many dimensions. Natural parameters of each message count relative to its own.
//!
//! A jump is judged on $\|f\|$ after it. When that has grown, the run goes back to where the sweep before had
//! led, forgets the differences, and rests for a while: twice as long each time (decision 7).

use super::Message;
use crate::math::anderson::Anderson;

/// Differences that are kept.
const DEPTH: usize = 5;
/// Messages with more numbers than this are not accelerated: the memory would be a dozen times theirs.
const LARGEST: usize = 1 << 19;
/// Jumps begin when the residual of a sweep is below this.
const NEAR: f64 = 0.01;
/// And when the messages change by less than this, relative: where a signal is being recovered without noise
/// precisions grow for ever, and there is no fixed point to jump to.
const SMALL: f64 = 0.1;
/// A jump after which $\|f\|$ has grown more than this failed.
const GROWTH: f64 = 2.0;
/// Sweeps of rest after the first failure.
const REST: usize = 10;
/// A precision changes by no more than this fraction of itself in a jump.
const REACH: f64 = 0.5;
/// Directions are distinguished down to this fraction of the largest.
const RIDGE: f64 = 1e-12;

/// The last sweeps.
#[derive(Debug, Clone)]
pub(super) struct Acceleration {
    /// Where the numbers of each message start, those of its precision first, and how they are weighed.
    parts: Vec<Part>,
    /// The messages before the sweep, after it, and the difference.
    before: Vec<f64>,
    after: Vec<f64>,
    f: Vec<f64>,
    past: Anderson,
    /// The sweep started from a jump, and $\|f\|$ was this before it.
    jumped_from: Option<f64>,
    /// Residual over $\|f\|$ in the last sweep without a jump.
    residual_per_f: f64,
    /// $\|f\|$ in the last sweep.
    norm: f64,
    rest: usize,
    failures: u32,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    edge: usize,
    start: usize,
    precisions: usize,
    end: usize,
    precision_weight: f64,
    linear_weight: f64,
}

/// What to do after a sweep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Judgement {
    /// The residual that a sweep without a jump would have had.
    pub residual: f64,
    /// The sweep started from a jump.
    pub jumped: bool,
    /// The messages were set back.
    pub back: bool,
}

impl Acceleration {
    /// Room for the messages on some edges; `None` when they are too large, or not made of numbers.
    pub fn new<M: Message>(messages: &[M], edges: impl Iterator<Item = usize>) -> Option<Self> {
        let mut parts = Vec::new();
        let mut end = 0;
        for edge in edges {
            let (precision, linear) = messages[edge].numbers()?;
            let start = end;
            end += precision.len() + linear.len();
            parts.push(Part {
                edge,
                start,
                precisions: start + precision.len(),
                end,
                precision_weight: 0.0,
                linear_weight: 0.0,
            });
        }
        (end <= LARGEST).then(|| Self {
            parts,
            before: vec![0.0; end],
            after: vec![0.0; end],
            f: vec![0.0; end],
            past: Anderson::new(end, DEPTH, RIDGE),
            jumped_from: None,
            residual_per_f: f64::NAN,
            norm: f64::NAN,
            rest: 0,
            failures: 0,
        })
    }

    /// Takes note of the messages before a sweep.
    pub fn before<M: Message>(&mut self, messages: &[M]) {
        gather(&self.parts, messages, &mut self.before);
    }

    /// Judges a sweep of this residual; one that failed on the way is `broken`. A sweep that a jump spoiled is
    /// taken back, with the jump.
    pub fn judge<M: Message>(
        &mut self,
        messages: &mut [M],
        residual: f64,
        broken: bool,
    ) -> Judgement {
        let jumped = self.jumped_from.take();
        let plain = Judgement {
            residual,
            jumped: jumped.is_some(),
            back: false,
        };
        let whole = !broken && gather(&self.parts, messages, &mut self.after);
        if !whole {
            return match jumped {
                Some(_) => self.go_back(messages, plain),
                None => self.forgotten(plain),
            };
        }
        for (f, (g, x)) in self.f.iter_mut().zip(self.after.iter().zip(&self.before)) {
            *f = g - x;
        }
        if self.past.is_blank() {
            self.weigh();
        }
        let norm = product(&self.parts, &self.f, &self.f).sqrt();
        if jumped.is_some_and(|from| !(norm <= GROWTH * from)) {
            return self.go_back(messages, plain);
        }
        let judgement = if plain.jumped {
            Judgement {
                residual: norm * self.residual_per_f,
                ..plain
            }
        } else {
            self.residual_per_f = residual / norm;
            plain
        };
        if !(judgement.residual < NEAR && norm < SMALL && norm > 0.0) {
            return self.forgotten(judgement);
        }
        let dot = |x: &[f64], y: &[f64]| product(&self.parts, x, y);
        self.past.remember(&self.f, &self.after, dot);
        self.norm = norm;
        judgement
    }

    fn pause(&mut self) {
        self.rest = REST << self.failures.min(8);
        self.failures += 1;
    }

    /// The map of a sweep is another one now.
    pub fn forget(&mut self) {
        self.past.forget();
    }

    /// Jumps ahead, if the sweeps so far tell where to.
    pub fn jump<M: Message>(&mut self, messages: &mut [M]) {
        if !self.past.has_past() {
            return;
        }
        if self.rest > 0 {
            self.rest -= 1;
        } else if self.leap(messages) {
            self.jumped_from = Some(self.norm);
        }
    }

    fn forgotten(&mut self, judgement: Judgement) -> Judgement {
        self.forget();
        judgement
    }

    fn go_back<M: Message>(&mut self, messages: &mut [M], plain: Judgement) -> Judgement {
        scatter(&self.parts, messages, self.past.last());
        self.pause();
        self.forgotten(Judgement {
            back: true,
            ..plain
        })
    }

    /// Numbers count relative to the size of their message's own.
    fn weigh(&mut self) {
        let inverse_square = |x: &[f64]| {
            let square: f64 = x.iter().map(|x| x * x).sum();
            if square > 0.0 { 1.0 / square } else { 0.0 }
        };
        for part in &mut self.parts {
            part.precision_weight = inverse_square(&self.after[part.start..part.precisions]);
            part.linear_weight = inverse_square(&self.after[part.precisions..part.end]);
        }
    }

    /// Sets the messages to $g - \Delta G\,\gamma$, as far as precisions may change. Says whether it did.
    fn leap<M: Message>(&mut self, messages: &mut [M]) -> bool {
        // the jump itself, in the place of f
        let dot = |x: &[f64], y: &[f64]| product(&self.parts, x, y);
        if !self.past.correct(&mut self.f, dot) {
            return false;
        }
        let mut length: f64 = 1.0;
        for part in &self.parts {
            for k in part.start..part.precisions {
                let allowed = REACH * self.after[k].abs();
                if self.f[k].abs() > allowed {
                    length = length.min(allowed / self.f[k].abs());
                }
            }
        }
        if !(length > 0.1) || self.f.iter().any(|x| !x.is_finite()) {
            return false;
        }
        for (f, g) in self.f.iter_mut().zip(&self.after) {
            *f = g + length * *f;
        }
        scatter(&self.parts, messages, &self.f);
        true
    }
}

/// Copies the numbers of all messages; false when one of them is a pin.
fn gather<M: Message>(parts: &[Part], messages: &[M], out: &mut [f64]) -> bool {
    parts.iter().all(|part| {
        let Some((precision, linear)) = messages[part.edge].numbers() else {
            return false;
        };
        out[part.start..part.precisions].copy_from_slice(precision);
        out[part.precisions..part.end].copy_from_slice(linear);
        true
    })
}

fn scatter<M: Message>(parts: &[Part], messages: &mut [M], numbers: &[f64]) {
    for part in parts {
        messages[part.edge].set_numbers(
            &numbers[part.start..part.precisions],
            &numbers[part.precisions..part.end],
        );
    }
}

/// The inner product of the numbers of all messages, as they are weighed.
fn product(parts: &[Part], x: &[f64], y: &[f64]) -> f64 {
    let dot = |from: usize, to: usize| -> f64 {
        let pairs = x[from..to].iter().zip(&y[from..to]);
        pairs.map(|(x, y)| x * y).sum()
    };
    let terms = parts.iter().map(|p| {
        p.precision_weight * dot(p.start, p.precisions) + p.linear_weight * dot(p.precisions, p.end)
    });
    terms.sum()
}
