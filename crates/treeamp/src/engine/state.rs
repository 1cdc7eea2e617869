//! Everything that changes during a run.

use super::{Algorithm, Marginal, Message};

/// Everything that changes during a run, sized once.
pub(super) struct State<A: Algorithm> {
    /// Message slots, then cavity slots.
    pub store: Vec<A::Message>,
    /// One flat message and one scratch per variable.
    pub flat: Vec<A::Message>,
    pub scratch: Vec<A::Message>,
    /// Edges whose given message stays through the first sweep.
    pub held: Vec<bool>,
    pub work: Vec<Vec<f64>>,
    pub damping: Vec<f64>,
    pub marginals: Vec<A::Marginal>,
    pub previous: Vec<A::Marginal>,
    /// A marginal has been computed at least once.
    pub known: Vec<bool>,
    pub scale: Vec<f64>,
    pub good_messages: Vec<A::Message>,
    pub good_marginals: Vec<A::Marginal>,
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
            worst = worst.max(self.change(i));
        }
        worst
    }

    fn change(&self, i: usize) -> f64 {
        let tau = self.scale[i].min(self.marginals[i].second_moment());
        self.marginals[i].change(&self.previous[i], tau)
    }

    /// The variable that changed most.
    pub fn worst(&self) -> Option<usize> {
        (0..self.marginals.len()).max_by(|i, j| self.change(*i).total_cmp(&self.change(*j)))
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
        for (good, now) in self.good_marginals.iter_mut().zip(&self.marginals) {
            good.copy_from(now);
        }
    }

    pub fn restore(&mut self) {
        for (good, now) in self.good_messages.iter().zip(&mut self.store) {
            now.copy_from(good);
        }
        for (good, now) in self.good_marginals.iter().zip(&mut self.marginals) {
            now.copy_from(good);
        }
    }
}
