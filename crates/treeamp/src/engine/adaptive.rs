//! Step sizes that find themselves: $m \leftarrow (1 - s)\, m + s\, m'$ with a global step $s \le 1$.
//!
//! A sweep is judged on the residual a full step would have had, $\rho = \text{residual}/s$. While $\rho$
//! falls the step stays, and grows back towards 1. When it stops falling and the moments swing
//! back to where they were two sweeps ago, the step shrinks: that is an eigenvalue of the sweep about $-1$ or below,
//! which damping cures. The first cut comes at once and is small, for that is what most runs need. A residual that
//! grows in one direction is an escape from a symmetric point, which damping would only delay. A step that leaves
//! improper laws behind is taken back and halved; after the first time it soon grows again, for a run may pass by
//! such laws once (decision 5).

/// What a step is cut and grown by.
///
/// Each number trades the sweeps of one kind of run for those of another. The ranges are those in which the runs of `docs/convergence.md` settle as
/// often, in medians within a tenth.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Progress is a residual below this fraction of the best. Higher: swings that hardly shrink count as progress, and are left
    /// to the acceleration.
    progress: f64,
    /// Sweeps without progress after which a swinging run gets a smaller step; before its first cut it gets one at once.
    patience: usize,
    /// Sweeps without progress after which any run does. A signal may be long in coming; without this bound students who believe in too little noise
    /// need half as many sweeps and evaluations again.
    long_patience: usize,
    /// What is left of a step that failed, for the first time and later: most runs need a small cut, and few need many.
    first_cut: f64,
    cut: f64,
    /// Sweeps of progress after which the step grows, and by how much.
    streak: usize,
    growth: f64,
    /// It grows up to this fraction of the last step that failed, a bound that relaxes by this much with every growth. Without it steps
    /// that fail come again, and total variation in two dimensions needs 15% more sweeps.
    bound: f64,
    relaxation: f64,
    /// The smallest step that a run without progress gets.
    least: f64,
}

const SIZES: Sizes = Sizes {
    progress: 0.95,
    patience: 3,
    long_patience: 25,
    first_cut: 0.9,
    cut: 0.6,
    streak: 5,
    growth: 1.1,
    bound: 0.9,
    relaxation: 1.01,
    least: 0.01,
};

/// When the residual stays where it is.
#[derive(Debug, Clone, Copy)]
struct Standstill {
    /// The least residual of a stretch is between these multiples of that of the one before. Below the first there is progress; above the second
    /// the run is on its way elsewhere, as from a symmetric point.
    between: (f64, f64),
    /// It creeps down where all of the stretch are below this, the largest is not above that of the one before,
    creeping: f64,
    /// and the least is below this fraction of its.
    lower: f64,
}

const STANDSTILL: Standstill = Standstill {
    between: (0.5, 4.0),
    creeping: 0.01,
    lower: 0.98,
};

/// The step size and what it is judged on.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// $s$, in (0, 1].
    pub size: f64,
    /// The step may grow up to here.
    cap: f64,
    /// It soon grows up to here after a retreat.
    target: f64,
    /// The smallest $\rho$ since the step shrank.
    best: f64,
    /// Sweeps since the best.
    stale: usize,
    /// Sweeps of progress in a row.
    streak: usize,
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
            stale: 0,
            streak: 0,
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
        self.cap = SIZES.bound.min(2.0 * size);
    }

    /// A step that could not be taken.
    pub fn halve(&mut self) {
        self.cap = SIZES.bound * self.size;
        self.target = if self.retreated {
            0.0
        } else {
            SIZES.bound * self.size
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
        if !improper && rho < SIZES.progress * self.best {
            self.best = rho;
            self.stale = 0;
            self.streak += 1;
        } else {
            self.stale += 1;
            self.streak = 0;
        }
        if self.fails(swings || improper) {
            self.cut(rho);
        } else if self.streak >= SIZES.streak {
            self.cap = (self.cap * SIZES.relaxation).min(1.0);
            self.size = (self.size * SIZES.growth).min(self.cap.max(self.size));
        } else if self.size < self.target && !improper {
            self.size = (self.size * SIZES.growth).min(self.target);
        }
    }

    fn fails(&self, curable: bool) -> bool {
        let patience = if self.was_cut { SIZES.patience } else { 1 };
        curable && self.stale >= patience || self.stale >= SIZES.long_patience
    }

    fn cut(&mut self, rho: f64) {
        let left = if self.was_cut {
            SIZES.cut
        } else {
            SIZES.first_cut
        };
        self.cap = SIZES.bound * self.size;
        self.size = (self.size * left).max(SIZES.least.min(self.size));
        self.was_cut = true;
        self.target = 0.0;
        self.best = rho;
        self.stale = 0;
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
        let lower = now.largest <= before.largest && now.largest < STANDSTILL.creeping;
        self.creeps = lower && now.least < STANDSTILL.lower * before.least;
        let (progress, escape) = STANDSTILL.between;
        (progress..escape).contains(&(now.least / before.least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Damped iterations of $x \leftarrow \lambda x$, as a sweep near a fixed point is along one direction: the sizes of all steps, and the
    /// least residual of a full step.
    fn steps(lambda: f64, sweeps: usize) -> (Vec<f64>, f64) {
        let (mut step, mut x) = (Step::new(), [1.0; 3]);
        let (mut sizes, mut least) = (Vec::new(), f64::INFINITY);
        for _ in 0..sweeps {
            let next = x[0] + step.size * (lambda - 1.0) * x[0];
            x = [next, x[0], x[1]];
            let residual = (x[0] - x[1]).abs();
            let swings = (x[0] - x[2]).abs() < residual;
            sizes.push(step.size);
            least = least.min(residual / step.size);
            step.judge(residual, swings, false);
        }
        (sizes, least)
    }

    #[test]
    fn swings_that_grow_are_damped_and_others_are_not() {
        for lambda in [-1.5, -3.0, -10.0] {
            let (sizes, left) = steps(lambda, 1000);
            assert!(left < 1e-8, "{lambda}: {left:e}");
            assert!((sizes[2] - SIZES.first_cut).abs() < 1e-12);
        }
        for lambda in [0.9, 0.5, -0.5, -0.9] {
            let (sizes, left) = steps(lambda, 200);
            assert!(left < 1e-8 && sizes.iter().all(|s| *s >= 1.0), "{lambda}");
        }
    }

    /// A residual that grows in one direction is an escape from a symmetric point: it may take so many sweeps, and damping would only delay it.
    #[test]
    fn an_escape_is_not_damped_at_once() {
        let (sizes, _) = steps(1.2, SIZES.long_patience);
        assert!(sizes.iter().all(|s| *s >= 1.0), "{sizes:?}");
        assert!(steps(1.2, 2 * SIZES.long_patience).0.last() < Some(&1.0));
    }

    #[test]
    fn a_step_that_was_taken_back_returns_to_where_it_may() {
        let mut step = Step::new();
        step.halve();
        assert!((step.size - 0.5).abs() < 1e-12);
        // residuals that stay the same are no swings
        (0..20).for_each(|_| step.judge(step.size, false, false));
        assert!((step.size - SIZES.bound).abs() < 1e-12, "{}", step.size);
        step.halve();
        let size = step.size;
        step.judge(size, false, false);
        assert!((step.size - size).abs() < 1e-12, "the second time it stays");
    }

    /// The least residual of a stretch, as a multiple of that of the one before: progress, a standstill, an escape.
    #[test]
    fn a_standstill_is_neither_progress_nor_an_escape() {
        for (factor, stalls) in [
            (0.45, false),
            (0.55, true),
            (1.0, true),
            (3.9, true),
            (4.1, false),
        ] {
            let mut stall = Stall::new(25);
            let first = (1..=25).any(|k| stall.note(k, 0.5));
            let second = (26..=50).filter(|k| stall.note(*k, 0.5 * factor)).count();
            assert_eq!((first, second == 1), (false, stalls), "{factor}");
        }
    }

    #[test]
    fn a_residual_creeps_where_it_is_small_and_falls_a_little() {
        for (at, factor, creeps) in [(1e-3, 0.97, true), (1e-3, 0.99, false), (0.02, 0.97, false)] {
            let mut stall = Stall::new(25);
            (1..=25).for_each(|k| assert!(!stall.note(k, at)));
            (26..=50).for_each(|k| assert!(stall.note(k, factor * at) == (k == 50)));
            assert_eq!(stall.creeps, creeps, "{at} {factor}");
        }
    }
}
