//! The double loop of Heskes and Zoeter (expectation consistency of Opper and Winther): a minimisation of the
//! same Bethe free energy that a fixed point of expectation propagation makes stationary.
//!
//! With $n_x$ factors at variable $x$, $F = \sum_f \mathrm{KL}(q_f\|f) + \sum_x (n_x - 1)\,H(q_x)$. The entropies are
//! concave: their tangents at beliefs $\theta_x$ bound $F$ from above by a convex problem, whose dual is
//!
//! $$F(\theta) = \max_\lambda\; -\sum_f A_f[\lambda_f] + \sum_x (n_x - 1) A_x[\theta_x], \qquad
//! \sum_{f\ni x} \lambda_{fx} = (n_x - 1)\,\theta_x .$$
//!
//! Inner loop: $\lambda$, by a quasi-Newton ascent of the concave dual, until all factors agree on the moments of
//! every variable. Outer loop: $\theta_x$ becomes the belief with those moments, and $F$ never increases. A
//! stationary point is a fixed point of expectation propagation with messages $\theta_x - \lambda_{fx}$. Near one the outer
//! loop is slow, and a [shortcut] leads there, which is taken if $F$ is no higher at its end.

mod ascent;
mod fall;
mod inner;
mod newton;
mod outer;
mod shortcut;

use std::ops::ControlFlow;

use crate::belief::{Gaussian, Structure};
use crate::engine::{Bound, FallbackEnd, FallbackReport, Options, Verdict, Watch};
use crate::error::RunError;
use crate::model::{Tree, Variable};
use ascent::Ascent;
use fall::Fall;
use inner::Dual;
use shortcut::{NEAR, Shortcuts};

/// Outer steps after which it gives up.
const OUTER_LIMIT: usize = 4000;
/// Evaluations of all moments after which it gives up, about as many sweeps.
const EVALUATION_LIMIT: usize = 20_000;
/// After the first step the residual must fall below [`NEAR`] within so many times the sweeps that it takes over from: a run whose fallback does not
/// even come near a fixed point takes a few times the work of its sweeps. At 5 the runs of `docs/convergence.md` and 75 diagonal
/// regressions settle, and a recorded decoder that does not settle takes less than ten times the work of its plain and damped sweeps; by the
/// residuals that these runs wrote down it would be the same from 4 to 7, at which they were not run. A fallback that is forced has
/// [`EVALUATION_LIMIT`] alone.
const FAR: usize = 5;
/// An inner loop solves its problem to this fraction of the last outer change.
const INNER_FRACTION: f64 = 0.1;
/// Where the plain outer step does not lower the free energy, the inner problem before it was not solved: it is solved on, in so
/// many inner loops, to this fraction of the goal; so many times in a row. (Twice as many loops each time settle no more.)
const DEEPER: usize = 5;
const FINER: f64 = 0.1;
const DEEPEST: i32 = 6;
/// Growth of the outer step while the free energy falls.
const OUTER_GROWTH: f64 = 1.5;
/// Rounding of the free energy, relative to the log-partitions it is made of.
const ROUNDING: f64 = 1e-12;
/// Rounding, in nats, beyond which it is not recorded: where variances vanish, log-partitions overflow it.
const DIGITS: f64 = 0.1;
/// The double loop ends when a full sweep moves the moments by less than the tolerance. Until it does, its own
/// residual must fall to this fraction of where it was, and below this there are no digits left.
const TIGHTER: f64 = 0.3;
const FINEST: f64 = 1e-13;

/// Why it does not take a tree: a variable whose components are not apart.
pub(super) fn refuses(tree: &Tree) -> Option<RunError> {
    let mut factors = tree.factors().iter();
    if let Some(node) = factors.find(|n| n.factor.vanishing_port().is_some()) {
        return Some(RunError::NotDefined {
            what: "a double loop".to_owned(),
            why: format!(
                "the log-partition of factor `{}` is an expansion, and not convex",
                node.name
            ),
        });
    }
    let each = [Structure::Isotropic, Structure::Diagonal];
    let structured = |v: &&Variable| !each.contains(&v.spec.structure);
    let found = tree.variables().iter().find(structured)?;
    Some(RunError::NotDefined {
        what: "a double loop".to_owned(),
        why: format!(
            "variable `{}` has {} beliefs, expected isotropic or diagonal ones",
            found.name, found.spec.structure
        ),
    })
}

/// Minimises the Bethe free energy from the messages of a run, by edge, and leaves there those of the
/// stationary point.
///
/// # Errors
/// A factor that cannot compute its log-partition.
pub(super) fn double_loop(
    tree: &Tree,
    messages: &mut [Gaussian],
    options: &Options,
    watch: &mut dyn Watch<Gaussian>,
) -> Result<FallbackReport, RunError> {
    let mut run = DoubleLoop::new(tree, messages)?;
    run.far_limit = watch.sweeps_before().map(|sweeps| FAR * sweeps);
    for _ in 0..OUTER_LIMIT {
        run.step(messages, options.tolerance)?;
        let residual = run.out.residual;
        if let ControlFlow::Break(reason) = watch.after_step(messages, residual) {
            run.out.end = FallbackEnd::Stopped(reason);
            return Ok(run.out);
        }
        if run.unsolved >= DEEPEST {
            run.shortcuts.at_once();
            if let Some(end) = run.shortcut(messages, options, watch) {
                run.out.end = end;
                return Ok(run.out);
            }
        }
        if let Some(end) = run.ends() {
            run.out.end = end;
            break;
        }
        if let Some(end) = run.shortcut(messages, options, watch) {
            run.out.end = end;
            return Ok(run.out);
        }
        if residual < run.goal.unwrap_or(options.tolerance) {
            run.out.sweep_residual = watch.sweep_residual(messages);
            let moves = run.out.sweep_residual.unwrap_or(f64::INFINITY);
            if moves < options.tolerance && run.rests(messages, watch) {
                run.out.end = FallbackEnd::Stationary;
                return Ok(run.out);
            }
            run.goal = Some(TIGHTER * residual);
        }
    }
    run.out.sweep_residual = watch.sweep_residual(messages);
    let moves = run.out.sweep_residual.unwrap_or(f64::INFINITY);
    let bound = matches!(run.out.end, FallbackEnd::Limit { .. });
    if bound && moves < options.tolerance && run.rests(messages, watch) {
        run.out.end = FallbackEnd::Stationary;
    }
    Ok(run.out)
}

/// The state of the outer loop.
struct DoubleLoop<'t> {
    tree: &'t Tree,
    dual: Dual<'t>,
    /// The last state that was kept.
    kept: Dual<'t>,
    ascent: Ascent,
    fall: Fall,
    /// The last outer change, the length of the outer step, and the least free energy.
    change: f64,
    reach: f64,
    energy: f64,
    /// What the residual must fall to, once the tolerance was not enough.
    goal: Option<f64>,
    shortcuts: Shortcuts,
    /// The free energy has overflowed.
    exhausted: bool,
    /// Times in a row that the inner problem had to be solved on.
    unsolved: i32,
    /// The least residual.
    least: f64,
    /// Evaluations of the first step: those of an inner problem depend on its size.
    first_cost: usize,
    /// Evaluations after it within which the residual must be near.
    far_limit: Option<usize>,
    out: FallbackReport,
}

impl<'t> DoubleLoop<'t> {
    fn new(tree: &'t Tree, messages: &[Gaussian]) -> Result<Self, RunError> {
        let mut dual = Dual::new(tree, messages)?;
        dual.share_equally()?;
        Ok(Self {
            tree,
            kept: dual.clone(),
            ascent: Ascent::new(dual.dimension()),
            dual,
            fall: Fall::default(),
            change: 0.1,
            reach: 1.0,
            energy: f64::INFINITY,
            goal: None,
            shortcuts: Shortcuts::new(),
            exhausted: false,
            unsolved: 0,
            least: f64::INFINITY,
            first_cost: 0,
            far_limit: None,
            out: FallbackReport {
                method: "double loop",
                steps: 0,
                evaluations: 0,
                residual: f64::INFINITY,
                sweep_residual: None,
                free_energy: Vec::with_capacity(OUTER_LIMIT),
                descent: None,
                end: FallbackEnd::Limit {
                    bound: Bound::Steps,
                    reached: OUTER_LIMIT,
                },
                reverted: false,
                smoothing: None,
            },
        })
    }

    /// An inner loop and the outer step after it.
    fn step(&mut self, messages: &mut [Gaussian], tolerance: f64) -> Result<(), RunError> {
        let finest = 0.1 * self.goal.unwrap_or(tolerance);
        let fraction = FINER.powi(self.unsolved.min(DEEPEST));
        let goal = fraction * (INNER_FRACTION * self.change).max(finest);
        let mut mismatch = self.solve(goal, goal.max(self.change));
        let now = self.dual.free_energy()?;
        let higher = now > self.energy + ROUNDING * self.dual.scale();
        // The value of a dual that is not solved is below its maximum, and no bound: a longer step after which factors disagree by more than the
        // moments moved was too long.
        let too_long = self.reach > 1.0 && mismatch > self.change;
        self.exhausted |= !now.is_finite();
        if self.exhausted || higher || too_long {
            self.take_back();
            // a longer step was too long: the plain one cannot be where the problem before it was solved
            if self.reach <= 1.0 && !self.exhausted {
                mismatch = self.solve_on(FINER * goal)?;
            }
            self.reach = self.reach.min(1.0);
        } else {
            self.keep(now);
        }
        self.change = self.dual.outer_step(self.reach)?;
        self.dual.messages_into(messages)?;
        self.out.steps += 1;
        self.out.evaluations = self.dual.evaluations;
        self.out.residual = self.change.max(mismatch);
        if self.out.steps == 1 {
            self.first_cost = self.out.evaluations;
        }
        self.least = self.least.min(self.out.residual);
        Ok(())
    }

    /// Back to the state before the last outer step.
    fn take_back(&mut self) {
        let spent = self.dual.evaluations;
        self.dual.clone_from(&self.kept);
        self.dual.evaluations = spent;
    }

    /// The outer step was good: the next one may be longer.
    fn keep(&mut self, now: f64) {
        self.unsolved = 0;
        self.reach *= OUTER_GROWTH;
        // a rise within rounding is none, and a value of which rounding leaves nothing no value
        let noise = ROUNDING * self.dual.scale();
        if now <= self.energy && noise < DIGITS {
            self.out.free_energy.push(now);
        }
        self.energy = self.energy.min(now);
        self.kept.clone_from(&self.dual);
        // where they fail, what was known of them stays
        let _ = self.dual.evaluate_absorbed();
        self.fall
            .note(self.dual.smallest_variance(), now - self.dual.tangent_gap());
    }

    /// Inner loops until the factors agree to `goal`: the first, and a few more where they do not even agree to `enough`.
    fn solve(&mut self, goal: f64, enough: f64) -> f64 {
        let mut mismatch = self.ascent.maximise(&mut self.dual, goal);
        for _ in 1..DEEPER {
            if mismatch <= enough || self.dual.evaluations > EVALUATION_LIMIT || self.is_idle() {
                break;
            }
            mismatch = self.ascent.maximise(&mut self.dual, goal);
        }
        mismatch
    }

    /// Solves the inner problem that was kept to a finer goal. Its value rises, and what was recorded below that was none.
    fn solve_on(&mut self, goal: f64) -> Result<f64, RunError> {
        self.unsolved += 1;
        let mismatch = self.solve(goal, goal);
        let now = self.dual.free_energy()?;
        if now.is_finite() {
            self.energy = now;
            self.kept.clone_from(&self.dual);
            let recorded = &mut self.out.free_energy;
            while recorded.pop_if(|f| *f < now).is_some() {}
            recorded.push(now);
        }
        Ok(mismatch)
    }

    /// It has not come near a fixed point, in so much work after its first step.
    fn is_idle(&self) -> bool {
        let after = self.dual.evaluations - self.first_cost;
        let late = self.far_limit.is_some_and(|limit| after > limit);
        self.out.steps > 0 && self.least >= NEAR && late
    }

    /// Why it ends here, other than at a stationary point.
    fn ends(&mut self) -> Option<FallbackEnd> {
        self.out.descent = self.fall.descent(self.tree);
        if self.fall.recovered {
            return Some(FallbackEnd::Recovered);
        }
        if let Some(descent) = self.out.descent.as_ref().filter(|_| self.fall.collapsing) {
            let why = format!(
                "the free energy falls by {:.3} nats per e-fold of the variance, from {:.6e} at {:.1e} to {:.6e} at {:.1e}",
                descent.slope, descent.from.1, descent.from.0, descent.to.1, descent.to.0
            );
            let verdict = Verdict::collapsed(self.tree, &descent.variable, &why);
            return Some(FallbackEnd::Rejected(verdict));
        }
        if self.out.evaluations > EVALUATION_LIMIT {
            return Some(FallbackEnd::Limit {
                bound: Bound::Evaluations,
                reached: self.out.evaluations,
            });
        }
        if self.is_idle() {
            return Some(FallbackEnd::Limit {
                bound: Bound::NoProgress,
                reached: self.out.steps,
            });
        }
        if self.unsolved >= DEEPEST {
            return Some(FallbackEnd::Limit {
                bound: Bound::Unsolved,
                reached: self.out.steps,
            });
        }
        let exhausted = self.exhausted || self.goal.is_some_and(|goal| goal < FINEST);
        exhausted.then_some(FallbackEnd::Limit {
            bound: Bound::Digits,
            reached: self.out.steps,
        })
    }
}
