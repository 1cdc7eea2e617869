//! Everything that changes during a run.

use super::acceleration::{Acceleration, Judgement};
use super::adaptive::Step;
use super::{Algorithm, Marginal, Message};
use crate::factor::{Request, Workspace};

/// A signal that vanishes is measured at this fraction of what it was after the first sweep, and no finer.
const GONE: f64 = 1e-8;
/// Steps from one state that are taken back in a row: an eighth of the first is the smallest tried.
const RETREATS: usize = 4;
/// Steps below this are not taken back for shorter ones.
const SHORTEST: f64 = 1e-4;

/// What an attempt changes in every update.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Adjusted {
    /// What factors are asked for.
    pub request: Request,
    /// Precisions of components are bounded.
    pub bounded: bool,
}

/// Which variables sweeps follow.
#[derive(Debug, Clone)]
pub(super) struct Attention {
    /// Variables that sweeps pass over unless somebody looks; nothing depends on them.
    pub unread: Vec<bool>,
    /// Somebody looks at all variables.
    pub looks: bool,
    /// Edges on which a message was sent without damping: all of it, if it is constant.
    pub sent: Vec<bool>,
}

impl Attention {
    /// Neither messages to this variable nor its moments are made in sweeps now.
    pub fn passes_over(&self, variable: usize) -> bool {
        self.unread[variable] && !self.looks
    }
}

/// Everything that changes during a run, sized once.
pub(super) struct State<A: Algorithm> {
    /// Message slots, then cavity slots.
    pub store: Vec<A::Message>,
    /// Variables of the same size share a class, and one message and one marginal to work in.
    pub class: Vec<usize>,
    pub scratch: Vec<A::Message>,
    pub spare: Vec<A::Marginal>,
    /// Edges whose given message stays through the first sweep.
    pub held: Vec<bool>,
    /// No sweep has been made.
    pub first: bool,
    /// Which variables sweeps follow.
    pub attention: Attention,
    /// One per factor.
    pub workspaces: Vec<Workspace>,
    /// What the attempt changes in every update.
    pub adjusted: Adjusted,
    pub damping: Vec<f64>,
    pub marginals: Vec<A::Marginal>,
    /// The relative change of every marginal in the last sweep.
    pub changes: Vec<f64>,
    /// Some components of the marginals of the last three sweeps, the present one first, and how far
    /// the present ones are from the others: what tells oscillations. Empty where nothing adapts.
    pub thinned: Vec<[A::Marginal; 3]>,
    pub steps: Vec<f64>,
    pub returns: Vec<f64>,
    /// The step size, where it adapts.
    pub step: Option<Step>,
    /// Jumps near the fixed point.
    pub acceleration: Option<Acceleration>,
    /// A marginal has been computed at least once.
    pub known: Vec<bool>,
    pub scale: Vec<f64>,
    /// The messages of the last good sweep, and their edges: those that can change; none when a run
    /// keeps no way back.
    pub good_messages: Vec<A::Message>,
    pub good_edges: Vec<usize>,
    /// Those that the last good sweep started from: where it is known that a sweep can be made. Only where steps adapt.
    pub sound_messages: Vec<A::Message>,
    pub has_sound: bool,
    /// There has been a good state.
    pub has_good: bool,
}

impl<A: Algorithm> State<A> {
    /// The largest relative change of a variable's moments; infinite in the first sweep.
    pub fn residual(&mut self) -> f64 {
        let mut worst: f64 = 0.0;
        for i in 0..self.marginals.len() {
            if self.attention.unread[i] {
                continue;
            }
            let tau = self.marginals[i].second_moment();
            if !self.known[i] {
                self.known[i] = true;
                self.scale[i] = tau;
                worst = f64::INFINITY;
                continue;
            }
            worst = worst.max(self.changes[i]);
        }
        worst
    }

    /// Takes the new marginal of variable `i` from its class's spare.
    pub fn accept(&mut self, i: usize) {
        let spare = &mut self.spare[self.class[i]];
        let known = self.scale[i];
        let tau = known.min(spare.second_moment()).max(GONE * known);
        if self.known[i] {
            self.changes[i] = spare.change(&self.marginals[i], tau);
        }
        if let Some(some) = self.thinned.get_mut(i) {
            some.rotate_right(1);
            spare.thin_into(&mut some[0]);
            if self.known[i] {
                self.steps[i] = some[0].change(&some[1], tau);
                self.returns[i] = some[0].change(&some[2], tau);
            }
        }
        std::mem::swap(spare, &mut self.marginals[i]);
    }

    /// What is known of the variables that sweeps follow.
    fn followed(&self) -> impl Iterator<Item = &A::Marginal> {
        let all = self.marginals.iter().zip(&self.attention.unread);
        all.filter(|(_, unread)| !**unread).map(|(m, _)| m)
    }

    /// The variable that changed most.
    pub fn worst(&self) -> Option<usize> {
        (0..self.marginals.len()).max_by(|i, j| self.changes[*i].total_cmp(&self.changes[*j]))
    }

    /// The variable that changed most came closer to where it was two sweeps ago than to the last:
    /// the run oscillates.
    pub fn oscillates(&self) -> bool {
        self.worst()
            .is_some_and(|i| self.returns[i] < self.steps[i])
    }

    /// Judges the sweep, and sets the damping of the next.
    pub fn adapt(&mut self, residual: f64, improper: bool, jumped: bool) {
        let oscillates = self.oscillates();
        if let Some(step) = &mut self.step {
            if jumped {
                step.start_over();
                return;
            }
            let size = step.size;
            step.judge(residual, oscillates, improper);
            self.damping.fill(1.0 - step.size);
            if let Some(acceleration) = self.acceleration.as_mut().filter(|_| step.size < size) {
                acceleration.forget();
            }
        }
    }

    /// A step that left improper laws behind is taken back, and half of it tried. Where sweeps from one state keep
    /// failing, it was the step there that was too long: that is taken back as well. Says whether there is a state to go back
    /// to.
    pub fn retreats(&mut self, in_a_row: usize) -> bool {
        let Some(step) = &mut self.step else {
            return false;
        };
        if step.constant
            || step.size < SHORTEST
            || !self.has_good
            || self.good_messages.is_empty()
            || in_a_row > RETREATS && !self.has_sound
        {
            return false;
        }
        if in_a_row > RETREATS {
            std::mem::swap(&mut self.good_messages, &mut self.sound_messages);
            self.has_sound = false;
        }
        step.halve();
        self.damping.fill(1.0 - step.size);
        true
    }

    /// Takes note of the messages before a sweep.
    pub fn note(&mut self) {
        if let Some(acceleration) = &mut self.acceleration {
            acceleration.before(&self.store[..self.damping.len()]);
        }
    }

    /// Judges a sweep, and takes back the jump that spoiled it.
    pub fn judge(&mut self, residual: f64, broken: bool) -> Judgement {
        let edges = self.damping.len();
        match &mut self.acceleration {
            Some(acceleration) => acceleration.judge(&mut self.store[..edges], residual, broken),
            None => Judgement {
                residual,
                jumped: false,
                back: false,
            },
        }
    }

    /// Jumps ahead, where the last sweeps tell where to.
    pub fn jump(&mut self, judgement: Judgement, tolerance: f64) {
        let edges = self.damping.len();
        // what seems to be an end is confirmed by sweeps without a jump
        if self.full_residual(judgement.residual) < tolerance {
            return;
        }
        if let Some(acceleration) = &mut self.acceleration {
            acceleration.jump(&mut self.store[..edges]);
        }
    }

    /// An adaptive run without a single proper sweep.
    pub fn never_settled(&self) -> bool {
        self.step.is_some() && !self.has_good
    }

    /// Starts with steps of this size.
    pub fn begin_with(&mut self, size: f64) {
        if let Some(step) = &mut self.step {
            step.begin_with(size);
            self.damping.fill(1.0 - size);
        }
    }

    /// Steps of a constant size from here on.
    pub fn hold(&mut self, step: Step) {
        self.damping.fill(1.0 - step.size);
        self.step = Some(step);
    }

    /// The residual that a full step would have had.
    pub fn full_residual(&self, residual: f64) -> f64 {
        residual / self.step_size()
    }

    /// The part of the new messages that a sweep takes, adaptively damped or as given; on the most damped edge.
    pub fn taken(&self) -> f64 {
        1.0 - self.damping.iter().copied().fold(0.0, f64::max)
    }

    /// The size of the present step, where it adapts.
    pub fn step_size(&self) -> f64 {
        self.step.as_ref().map_or(1.0, |s| s.size)
    }

    /// Every variance is below this fraction of the second moment, and no error is known to be left.
    pub fn perfect(&self, fraction: f64) -> bool {
        self.followed()
            .all(|m| m.variance() <= fraction * m.second_moment() && !m.errs())
    }

    /// Some variance is below this fraction of the second moment, and not zero: that of a pin does not change. Or some
    /// signal is gone.
    pub fn vanishes(&self, fraction: f64) -> bool {
        let mut marginals = self.followed();
        let small =
            |m: &A::Marginal| m.variance() > 0.0 && m.variance() <= fraction * m.second_moment();
        marginals.any(small) || self.vanished_signal().is_some()
    }

    /// The variable of the smallest second moment next to that after the first sweep, where next to nothing is left of it:
    /// there it vanishes with its variance.
    pub fn vanished_signal(&self) -> Option<usize> {
        let left = |i: &usize| self.marginals[*i].second_moment() / self.scale[*i];
        let all = (0..self.marginals.len()).filter(|i| self.known[*i] && self.scale[*i] > 0.0);
        let least = all.min_by(|i, j| left(i).total_cmp(&left(j)))?;
        let there = self.marginals[least].variance() > 0.0;
        (there && left(&least) < GONE).then_some(least)
    }

    /// The second moment of a variable now or after the first sweep, whichever is larger.
    pub fn size(&self, i: usize) -> f64 {
        let now = self.marginals[i].second_moment();
        if self.known[i] {
            now.max(self.scale[i])
        } else {
            now
        }
    }

    /// The variable of the smallest variance relative to its size, where that is below one fraction and another
    /// variable's above a larger one.
    pub fn collapsing_variable(&self, vanishing: f64, staying: f64) -> Option<usize> {
        let fraction = |i: &usize| self.marginals[*i].variance() / self.size(*i);
        let is_there =
            |i: &usize| !self.attention.unread[*i] && self.marginals[*i].variance() > 0.0;
        let all = || (0..self.marginals.len()).filter(is_there);
        let least = all().min_by(|i, j| fraction(i).total_cmp(&fraction(j)))?;
        let others = all().any(|i| fraction(&i) > staying);
        (others && fraction(&least) <= vanishing).then_some(least)
    }

    pub fn keep(&mut self) {
        if !self.sound_messages.is_empty() {
            std::mem::swap(&mut self.good_messages, &mut self.sound_messages);
            // those of the start are, unless some of them are only held for the first sweep
            self.has_sound = self.has_good || !self.held.contains(&true);
        }
        self.has_good = true;
        for (good, edge) in self.good_messages.iter_mut().zip(&self.good_edges) {
            good.copy_from(&self.store[*edge]);
        }
    }

    /// Back to the last good messages. The marginals follow from them.
    pub fn restore(&mut self) {
        for (good, edge) in self.good_messages.iter().zip(&self.good_edges) {
            self.store[*edge].copy_from(good);
        }
    }

    /// After the last sweep: what only further sweeps would need.
    pub fn release(&mut self) {
        self.good_messages = Vec::new();
        self.sound_messages = Vec::new();
        self.good_edges = Vec::new();
        self.thinned = Vec::new();
    }
}
