//! The pace of the splitting: plain and accelerated steps, and when precisions change.

use crate::math::anderson::Anderson;

/// Steps that the acceleration remembers, and what tells their directions apart. More than ten save nothing.
const MEMORY: usize = 10;
const RIDGE: f64 = 1e-8;
/// Plain steps before the precisions are balanced, and how often that happens.
const PLAIN: usize = 10;
const BALANCES: usize = 5;
/// Accelerated steps must have residuals below this multiple of the first one, over their number to a power above one.
const ALLOWANCE: f64 = 1e3;
const POWER: f64 = 1.01;
/// And must not be worse than the last one by this much.
const SETBACK: f64 = 2.0;

/// Which step comes next: plain, accelerated, or a change of precisions.
pub(super) struct Pace {
    anderson: Anderson,
    weights: Vec<f64>,
    /// Where an accelerated step goes.
    jump: Vec<f64>,
    /// The residual before the accelerated step that is being tried.
    tried: Option<f64>,
    /// The first residual at the present precisions, and accelerated steps so far.
    first: f64,
    accelerated: f64,
    pub steps: usize,
    balanced: usize,
    next_balance: usize,
    /// The last disagreement, and the last one that was progress, with its evaluation.
    pub last: f64,
    pub mark: f64,
    pub since: usize,
}

fn dot(weights: &[f64]) -> impl Fn(&[f64], &[f64]) -> f64 {
    move |x, y| {
        let pairs = x.iter().zip(y).zip(weights);
        pairs.map(|((x, y), w)| w * x * y).sum()
    }
}

impl Pace {
    pub fn new(weights: Vec<f64>) -> Self {
        let len = weights.len();
        Self {
            anderson: Anderson::new(len, MEMORY, RIDGE),
            jump: vec![0.0; len],
            weights,
            tried: None,
            first: f64::INFINITY,
            accelerated: 0.0,
            steps: 0,
            balanced: 0,
            next_balance: PLAIN,
            last: f64::INFINITY,
            mark: f64::INFINITY,
            since: 0,
        }
    }

    /// Goes back to the plain step, if the last one was accelerated and its residual is too large.
    pub fn rejects(&mut self, norm: f64, s: &mut [f64]) -> bool {
        let Some(last) = self.tried.take() else {
            return false;
        };
        let allowed = ALLOWANCE * self.first * (1.0 + self.accelerated).powf(-POWER);
        if norm <= allowed && norm <= SETBACK * last {
            self.accelerated += 1.0;
            return false;
        }
        s.copy_from_slice(self.anderson.last());
        self.anderson.forget();
        true
    }

    /// Plain steps lead up to a change of precisions.
    fn is_calm(&self) -> bool {
        self.balanced < BALANCES && self.steps + PLAIN > self.next_balance
    }

    pub fn balances(&self) -> bool {
        self.is_calm() && self.steps >= self.next_balance
    }

    /// At new precisions.
    pub fn restart(&mut self, weights: Vec<f64>) {
        self.weights = weights;
        self.anderson.forget();
        self.balanced += 1;
        let soon = self.balanced < 3;
        self.next_balance = PLAIN + if soon { self.steps } else { 2 * self.steps };
        self.first = f64::INFINITY;
        self.accelerated = 0.0;
        self.mark = f64::INFINITY;
    }

    /// Precisions have been balanced at least twice.
    pub fn is_balanced(&self) -> bool {
        self.balanced > 1
    }

    /// Goes from the state `s` to the next one, by its residual and the plain step.
    pub fn advance(&mut self, s: &mut [f64], residual: &[f64], plain: &[f64], norm: f64) {
        if !self.first.is_finite() {
            self.first = norm;
        }
        s.copy_from_slice(plain);
        if self.is_calm() {
            self.anderson.forget();
            return;
        }
        self.anderson.remember(residual, plain, dot(&self.weights));
        self.jump.copy_from_slice(residual);
        let known =
            self.anderson.has_past() && self.anderson.correct(&mut self.jump, dot(&self.weights));
        if known && self.jump.iter().all(|x| x.is_finite()) {
            s.iter_mut().zip(&self.jump).for_each(|(s, d)| *s += d);
            self.tried = Some(norm);
        }
    }
}
