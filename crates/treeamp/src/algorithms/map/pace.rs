//! The pace of the splitting: plain and accelerated steps, and when precisions change.

use crate::math::anderson::{Anderson, dot};

/// Steps that the acceleration remembers, and what tells their directions apart. With twenty, images whose dual is nearly
/// degenerate take twice as many evaluations; with fifty, no fewer.
const MEMORY: usize = 30;
const RIDGE: f64 = 1e-8;
/// Plain steps before the precisions are balanced, and how often that happens: finitely often, which is what convergence
/// asks for. Soon the first times, and then whenever steps have grown by one part in so many, for those that are best towards the
/// end are not those at the start.
const PLAIN: usize = 10;
const BALANCES: usize = 25;
const SOON: usize = 3;
const FURTHER: usize = 3;
/// Evaluations that new precisions have at least.
const TRIAL: usize = 100;
/// Accelerated steps must have residuals below this multiple of the first one, over their number to a power above one.
const ALLOWANCE: f64 = 1e3;
const POWER: f64 = 1.01;
/// And must not be worse than the last one by this much.
const SETBACK: f64 = 2.0;
/// Where there has been no progress for so many evaluations and steps do not differ at all, many of them are taken at once:
/// ten, and ten times as many with every success.
const SLOW: usize = 200;
const STRIDE: f64 = 10.0;
const LONGEST: f64 = 1e8;
/// What rounding adds to a residual that stays.
const ROUNDING: f64 = 1e-6;
/// Evaluations without progress that are a standstill, at which precisions are balanced anew, and after which it ends: iterative
/// solutions of channels have their own accuracy.
const STANDSTILL: usize = 3000;
const STALLED: usize = 8000;
/// Precisions that are in balance may be too large: along a direction that the energy hardly sees a step is its slope over
/// $\rho$. Where that is to be tried, they are made smaller at every standstill, so many times, and not balanced.
const SMALLER: f64 = 0.1;
const REDUCTIONS: usize = 7;

/// Which step comes next: plain, accelerated, or a change of precisions.
pub(super) struct Pace {
    anderson: Anderson,
    /// $\sqrt\rho$ of every component, and the residual times that: its norm is that of $\rho$.
    roots: Vec<f64>,
    scaled: Vec<f64>,
    /// Where an accelerated step goes.
    jump: Vec<f64>,
    /// The residual before the accelerated step that is being tried.
    tried: Option<f64>,
    /// It was many plain steps at once, and how many they are.
    strides: bool,
    stride: f64,
    /// The first residual at the present precisions, and accelerated steps so far.
    first: f64,
    accelerated: f64,
    pub steps: usize,
    balanced: usize,
    next_balance: usize,
    /// Precisions change because of a standstill, and how often they have been made smaller.
    stands: bool,
    reduces: bool,
    reductions: usize,
    /// Evaluations of this standstill when precisions were last balanced.
    waited: usize,
    /// The last disagreement, and the last one that was progress, with its evaluation.
    pub last: f64,
    pub mark: f64,
    pub since: usize,
}

fn roots(mut weights: Vec<f64>) -> Vec<f64> {
    weights.iter_mut().for_each(|w| *w = w.sqrt());
    weights
}

impl Pace {
    /// `reduces`: precisions are made smaller at a standstill, in place of balanced.
    pub fn new(weights: Vec<f64>, reduces: bool) -> Self {
        let len = weights.len();
        Self {
            anderson: Anderson::new(len, MEMORY, RIDGE),
            jump: vec![0.0; len],
            scaled: vec![0.0; len],
            roots: roots(weights),
            tried: None,
            strides: false,
            stride: STRIDE,
            first: f64::INFINITY,
            accelerated: 0.0,
            steps: 0,
            balanced: 0,
            next_balance: PLAIN,
            stands: false,
            reduces,
            reductions: 0,
            waited: 0,
            last: f64::INFINITY,
            mark: f64::INFINITY,
            since: 0,
        }
    }

    /// Goes back to the plain step, if the last one was accelerated and its residual is too large, or if many plain steps
    /// led beyond where they turn.
    pub fn rejects(&mut self, norm: f64, residual: &[f64], s: &mut [f64]) -> bool {
        let Some(last) = self.tried.take() else {
            return false;
        };
        let allowed = ALLOWANCE * self.first * (1.0 + self.accelerated).powf(-POWER);
        let strides = std::mem::take(&mut self.strides);
        let setback = if strides { 1.0 + ROUNDING } else { SETBACK };
        let turns = strides && self.scale(residual) < 0.0;
        if norm <= allowed && norm <= setback * last && !turns {
            self.accelerated += 1.0;
            if strides {
                self.stride = (self.stride * STRIDE).min(LONGEST);
            }
            return false;
        }
        self.stride = STRIDE;
        s.copy_from_slice(self.anderson.last());
        self.anderson.forget();
        true
    }

    /// Scales a residual, and gives its product with the last one.
    fn scale(&mut self, residual: &[f64]) -> f64 {
        let parts = residual.iter().zip(&self.roots);
        let scaled = self.scaled.iter_mut().zip(parts);
        scaled.for_each(|(s, (r, root))| *s = r * root);
        dot(&self.scaled, self.anderson.last_residual())
    }

    /// Plain steps lead up to a change of precisions.
    fn is_calm(&self) -> bool {
        let free = self.reductions == 0 && self.balanced < BALANCES;
        (free || self.stands) && self.steps + PLAIN > self.next_balance
    }

    /// Takes note of the evaluation, and prepares another change of precisions at a standstill. False where there is nothing
    /// left to try.
    pub fn goes_on(&mut self, evaluations: usize) -> bool {
        let still = evaluations - self.since.min(evaluations);
        if still > STALLED || (still > STANDSTILL && self.reductions == REDUCTIONS) {
            return false;
        }
        let due = STANDSTILL + usize::from(!self.reduces) * self.waited;
        if !self.stands && still > due {
            self.stands = true;
            self.waited = still;
            self.next_balance = self.steps + PLAIN;
        }
        true
    }

    /// The change of all precisions at a standstill where they are to be made smaller.
    pub fn reduction(&mut self) -> Option<f64> {
        let reduces = self.stands && self.reduces;
        self.reductions += usize::from(reduces);
        reduces.then_some(SMALLER)
    }

    pub fn balances(&self) -> bool {
        self.is_calm() && self.steps >= self.next_balance
    }

    /// At new precisions.
    pub fn restart(&mut self, weights: Vec<f64>, evaluations: usize, changed: bool) {
        self.roots = roots(weights);
        self.anderson.forget();
        self.balanced += 1;
        let soon = self.balanced < SOON;
        let later = self.steps + self.steps / FURTHER;
        let wait = if soon { PLAIN } else { TRIAL };
        self.next_balance = later.max(self.steps + wait);
        self.first = f64::INFINITY;
        self.accelerated = 0.0;
        if soon || (self.stands && changed) {
            self.waited = 0;
            self.mark = f64::INFINITY;
            self.since = evaluations;
        }
        self.stands = false;
    }

    /// Precisions have been balanced at least twice.
    pub fn is_balanced(&self) -> bool {
        self.balanced > 1
    }

    /// There has been no progress for a while.
    pub fn is_slow(&self, evaluations: usize) -> bool {
        evaluations > self.since + SLOW
    }

    /// Goes from the state `s` to the next one, by its residual and the plain step.
    pub fn advance(
        &mut self,
        s: &mut [f64],
        (residual, plain): (&[f64], &[f64]),
        norm: f64,
        slow: bool,
    ) {
        if !self.first.is_finite() {
            self.first = norm;
        }
        s.copy_from_slice(plain);
        if self.is_calm() {
            self.anderson.forget();
            return;
        }
        self.scale(residual);
        self.anderson.remember(&self.scaled, plain, dot);
        self.jump.copy_from_slice(&self.scaled);
        let known = self.anderson.has_past() && self.anderson.correct(&mut self.jump, dot);
        if !known && slow {
            let parts = self.jump.iter_mut().zip(residual);
            parts.for_each(|(d, r)| *d = self.stride * r);
            self.strides = true;
        }
        if (known || slow) && self.jump.iter().all(|x| x.is_finite()) {
            s.iter_mut().zip(&self.jump).for_each(|(s, d)| *s += d);
            self.tried = Some(norm);
        }
    }
}
