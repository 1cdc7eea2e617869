//! Everything that changes during a run.

use super::{Algorithm, Marginal, Message};

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
    pub work: Vec<Vec<f64>>,
    pub damping: Vec<f64>,
    pub marginals: Vec<A::Marginal>,
    /// The relative change of every marginal in the last sweep.
    pub changes: Vec<f64>,
    /// A marginal has been computed at least once.
    pub known: Vec<bool>,
    pub scale: Vec<f64>,
    /// The messages of the last good sweep; none when a run keeps no way back.
    pub good_messages: Vec<A::Message>,
    /// There has been a good state.
    pub has_good: bool,
}

impl<A: Algorithm> State<A> {
    /// The largest relative change of a variable's moments; infinite in the first sweep.
    pub fn residual(&mut self) -> f64 {
        let mut worst: f64 = 0.0;
        for i in 0..self.marginals.len() {
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
        if self.known[i] {
            let tau = self.scale[i].min(spare.second_moment());
            self.changes[i] = spare.change(&self.marginals[i], tau);
        }
        std::mem::swap(spare, &mut self.marginals[i]);
    }

    /// The variable that changed most.
    pub fn worst(&self) -> Option<usize> {
        (0..self.marginals.len()).max_by(|i, j| self.changes[*i].total_cmp(&self.changes[*j]))
    }

    /// Every variance is below this fraction of the second moment.
    pub fn perfect(&self, fraction: f64) -> bool {
        self.marginals
            .iter()
            .all(|m| m.variance() <= fraction * m.second_moment())
    }

    pub fn keep(&mut self) {
        self.has_good = true;
        for (good, now) in self.good_messages.iter_mut().zip(&self.store) {
            good.copy_from(now);
        }
    }

    /// Back to the last good messages. The marginals follow from them.
    pub fn restore(&mut self) {
        for (good, now) in self.good_messages.iter().zip(&mut self.store) {
            now.copy_from(good);
        }
    }
}
