//! The pace of the splitting: plain and accelerated steps, and when precisions change.

use super::anderson::Anderson;

/// Plain steps before the precisions are balanced, and how often that happens.
const PLAIN: usize = 10;
const BALANCES: usize = 5;
/// Accelerated steps must have residuals below this multiple of the first one, over their number to a power above one.
const ALLOWANCE: f64 = 1e3;
const POWER: f64 = 1.01;
/// And must not be worse than the last one by this much.
const SETBACK: f64 = 5.0;

/// Which step comes next: plain, accelerated, or a change of precisions.
pub(super) struct Pace {
    anderson: Anderson,
    weights: Vec<f64>,
    /// The black modes of the last step.
    pub before: Vec<f64>,
    /// The plain step from the last state, while an accelerated one is tried, and its residual.
    plain: Option<(Vec<f64>, f64)>,
    /// The first residual at the present precisions, and accelerated steps so far.
    first: f64,
    accelerated: f64,
    pub steps: usize,
    balanced: usize,
    next_balance: usize,
    /// The least disagreement, and when it was reached.
    pub best: f64,
    pub since: usize,
}

impl Pace {
    pub fn new(weights: Vec<f64>, before: &[f64]) -> Self {
        Self {
            anderson: Anderson::new(),
            weights,
            before: before.to_vec(),
            plain: None,
            first: f64::INFINITY,
            accelerated: 0.0,
            steps: 0,
            balanced: 0,
            next_balance: PLAIN,
            best: f64::INFINITY,
            since: 0,
        }
    }

    /// The state to go back to, if the last step was accelerated and its residual is too large.
    pub fn rejects(&mut self, norm: f64) -> Option<Vec<f64>> {
        let (back, last) = self.plain.take()?;
        let allowed = ALLOWANCE * self.first * (1.0 + self.accelerated).powf(-POWER);
        if norm <= allowed && norm <= SETBACK * last {
            self.accelerated += 1.0;
            return None;
        }
        self.anderson.forget();
        Some(back)
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
    }

    /// The next state from this one, its residual, and the plain step.
    pub fn next(&mut self, s: &[f64], g: &[f64], step: Vec<f64>, norm: f64) -> Vec<f64> {
        if !self.first.is_finite() {
            self.first = norm;
        }
        if self.is_calm() {
            self.anderson.forget();
            return step;
        }
        match self.anderson.next(s, g, &self.weights) {
            Some(next) => {
                self.plain = Some((step, norm));
                next
            }
            None => step,
        }
    }
}
