//! Step sizes that find themselves: $m \leftarrow (1 - s)\, m + s\, m'$ with a global step $s \le 1$.
//!
//! A sweep is judged on the residual a full step would have had, $\rho = \text{residual}/s$. While $\rho$
//! falls the step stays, and grows back towards 1. When it stops falling and the moments swing back to where
//! they were two sweeps ago, the step shrinks: that is an eigenvalue of the sweep below $-1$, which damping
//! cures. A residual that grows in one direction is an escape from a symmetric point, which damping would
//! only delay. A step that leaves improper laws behind is taken back and halved (decision 5).

/// Sweeps without progress after which a swinging run gets a smaller step.
const PATIENCE: usize = 3;
/// Sweeps without progress after which any run does.
const LONG_PATIENCE: usize = 12;
/// Progress is a residual below this fraction of the best.
const PROGRESS: f64 = 0.95;
/// What is left of a step that failed.
const SHRINK: f64 = 0.6;
/// Sweeps of progress after which the step grows, and by how much.
const STREAK: usize = 5;
const GROWTH: f64 = 1.1;
/// A step grows up to this fraction of the last one that failed, a bound that relaxes while all is well.
const BELOW_FAILURE: f64 = 0.9;
const RELAXATION: f64 = 1.01;
/// The smallest step that a run without progress gets.
const SMALLEST: f64 = 0.01;

/// The step size and what it is judged on.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// $s$, in (0, 1].
    pub size: f64,
    /// The step may grow up to here.
    cap: f64,
    /// The smallest $\rho$ since the step shrank.
    best: f64,
    /// Sweeps since the best.
    stale: usize,
    /// Sweeps of progress in a row.
    streak: usize,
}

impl Step {
    pub fn new() -> Self {
        Self {
            size: 1.0,
            cap: 1.0,
            best: f64::INFINITY,
            stale: 0,
            streak: 0,
        }
    }

    /// Starts with steps of this size.
    pub fn begin_with(&mut self, size: f64) {
        self.size = size;
        self.cap = BELOW_FAILURE.min(2.0 * size);
    }

    /// A step that could not be taken.
    pub fn halve(&mut self) {
        self.cap = BELOW_FAILURE * self.size;
        self.size *= 0.5;
        self.streak = 0;
    }

    /// The run is somewhere else: what was best does not count any more.
    pub fn start_over(&mut self) {
        self.best = f64::INFINITY;
        self.stale = 0;
    }

    /// Takes the residual of a sweep at the present size, and sets the next one.
    pub fn judge(&mut self, residual: f64, swings: bool, improper: bool) {
        let rho = residual / self.size;
        if !rho.is_finite() {
            return;
        }
        if !improper && rho < PROGRESS * self.best {
            self.best = rho;
            self.stale = 0;
            self.streak += 1;
        } else {
            self.stale += 1;
            self.streak = 0;
        }
        let impatient = (swings || improper) && self.stale >= PATIENCE;
        if impatient || self.stale >= LONG_PATIENCE {
            self.cap = BELOW_FAILURE * self.size;
            self.size = (self.size * SHRINK).max(SMALLEST.min(self.size));
            self.best = rho;
            self.stale = 0;
        } else if self.streak >= STREAK {
            self.cap = (self.cap * RELAXATION).min(1.0);
            self.size = (self.size * GROWTH).min(self.cap.max(self.size));
        }
    }
}
