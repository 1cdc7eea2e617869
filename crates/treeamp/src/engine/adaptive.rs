//! Step sizes that find themselves: $m \leftarrow (1 - s)\, m + s\, m'$ with a global step $s \le 1$.
//!
//! A sweep is judged on the residual a full step would have had, $\rho = \text{residual}/s$. While $\rho$
//! falls the step stays, and grows back towards 1. When it stops falling, or falls slowly, and the moments swing
//! back to where they were two sweeps ago, the step shrinks: that is an eigenvalue of the sweep about $-1$ or below,
//! which damping cures. The first cut comes at once and is small, for that is what most runs need. A residual that
//! grows in one direction is an escape from a symmetric point, which damping would only delay. A step that leaves
//! improper laws behind is taken back and halved; after the first time it soon grows again, for a run may pass by
//! such laws once (decision 5).

/// Sweeps without progress after which a swinging run gets a smaller step, for the first time and later.
const FIRST_PATIENCE: usize = 1;
const PATIENCE: usize = 3;
/// Sweeps without progress after which any run does: a signal may be long in coming.
const LONG_PATIENCE: usize = 25;
/// Progress is a residual below this fraction of the best.
const PROGRESS: f64 = 0.95;
/// Swings that shrink by less than this in a sweep are slow, and so many slow ones in a row too many.
const SLOW: f64 = 0.85;
const SLOW_SWINGS: usize = 4;
/// What is left of a step that failed, for the first time and later.
const FIRST_SHRINK: f64 = 0.9;
const SHRINK: f64 = 0.6;
/// Sweeps of progress after which the step grows, and by how much.
const STREAK: usize = 5;
const GROWTH: f64 = 1.1;
/// After its first retreat a step grows by this in every sweep, up to this fraction of the one that failed.
const RETURN: f64 = 1.2;
const RETURNED: f64 = 0.75;
/// A step grows up to this fraction of the last one that failed, a bound that relaxes while all is well.
const BELOW_FAILURE: f64 = 0.9;
const RELAXATION: f64 = 1.01;
/// The smallest step that a run without progress gets.
const SMALLEST: f64 = 0.01;

/// A run has stalled where the least residual of so many sweeps is between these multiples of that of the ones before.
pub(super) const STRETCH: usize = 50;
const NO_PROGRESS: f64 = 0.5;
const ESCAPE: f64 = 4.0;
/// It creeps down where all of them are below that, the largest is not above that of the stretch before, and the least is this
/// much below its.
const CREEPING: f64 = 0.01;
const LOWER: f64 = 0.98;

/// The step size and what it is judged on.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// $s$, in (0, 1].
    pub size: f64,
    /// The step may grow up to here.
    cap: f64,
    /// It soon grows up to here after a retreat.
    target: f64,
    /// The smallest $\rho$ since the step shrank, and the last one.
    best: f64,
    last: f64,
    /// Sweeps since the best.
    stale: usize,
    /// Sweeps of progress in a row, and slow swings in a row.
    streak: usize,
    slow: usize,
    /// It has been cut before, or taken back.
    was_cut: bool,
    retreated: bool,
    /// It stays as it is.
    pub constant: bool,
}

impl Step {
    pub fn new() -> Self {
        Self {
            size: 1.0,
            cap: 1.0,
            target: 0.0,
            best: f64::INFINITY,
            last: f64::INFINITY,
            stale: 0,
            streak: 0,
            slow: 0,
            was_cut: false,
            retreated: false,
            constant: false,
        }
    }

    /// Steps of this size, whatever comes of them.
    pub fn constant(size: f64) -> Self {
        Self {
            size,
            constant: true,
            ..Self::new()
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
        self.target = if self.retreated {
            0.0
        } else {
            RETURNED * self.size
        };
        self.retreated = true;
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
        if self.constant || !rho.is_finite() {
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
        self.slow = if swings && rho > SLOW * self.last {
            self.slow + 1
        } else {
            0
        };
        self.last = rho;
        if self.fails(swings || improper) {
            self.cut(rho);
        } else if self.streak >= STREAK {
            self.cap = (self.cap * RELAXATION).min(1.0);
            self.size = (self.size * GROWTH).min(self.cap.max(self.size));
        } else if self.size < self.target && !improper {
            self.size = (self.size * RETURN).min(self.target);
        }
    }

    fn fails(&self, curable: bool) -> bool {
        let patience = if self.was_cut {
            PATIENCE
        } else {
            FIRST_PATIENCE
        };
        let impatient = curable && self.stale >= patience;
        impatient || self.slow >= SLOW_SWINGS || self.stale >= LONG_PATIENCE
    }

    fn cut(&mut self, rho: f64) {
        let left = if self.was_cut { SHRINK } else { FIRST_SHRINK };
        self.cap = BELOW_FAILURE * self.size;
        self.size = (self.size * left).max(SMALLEST.min(self.size));
        self.was_cut = true;
        self.target = 0.0;
        self.best = rho;
        self.stale = 0;
        self.slow = 0;
    }
}

/// Whether the residual stays where it is: its least value in the last stretch of sweeps, next to that of the one before.
#[derive(Debug)]
pub(super) struct Stall {
    stretch: usize,
    before: Stretch,
    now: Stretch,
    /// The residual creeps down.
    pub creeps: bool,
}

/// The least and the largest residual of some sweeps.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    least: f64,
    largest: f64,
}

const NOTHING: Stretch = Stretch {
    least: f64::INFINITY,
    largest: 0.0,
};

impl Stall {
    pub fn new(stretch: usize) -> Self {
        Self {
            stretch,
            before: NOTHING,
            now: NOTHING,
            creeps: false,
        }
    }

    /// Takes the residual that a full step would have had; at the end of a stretch, says whether it was no better than
    /// the one before. One that was much worse is on its way elsewhere, as from a symmetric point.
    pub fn note(&mut self, sweep: usize, residual: f64) -> bool {
        self.now.least = self.now.least.min(residual);
        self.now.largest = self.now.largest.max(residual);
        if !sweep.is_multiple_of(self.stretch) {
            return false;
        }
        let (now, before) = (self.now, std::mem::replace(&mut self.before, self.now));
        self.now = NOTHING;
        let lower = now.largest <= before.largest && now.largest < CREEPING;
        self.creeps = lower && now.least < LOWER * before.least;
        (NO_PROGRESS..ESCAPE).contains(&(now.least / before.least))
    }
}
