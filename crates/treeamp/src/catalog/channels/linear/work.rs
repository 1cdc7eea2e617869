//! What a linear channel keeps from sweep to sweep, and the room it works in.

use super::resolvent::Work;
use super::{X, Z};
use crate::belief::Gaussian;
use crate::operator::{LinearOperator, SingularSystem};

/// Of an operator with a singular system: coordinates of the incoming messages, made again when a message has changed.
#[derive(Debug, Clone)]
pub(super) struct ModesWork {
    columns: usize,
    /// The messages on $z$ and $x$ whose coordinates are held.
    seen: [Option<Fingerprint>; 2],
    /// Coordinates of both, those that are made, spare and scratch, end to end.
    room: Vec<f64>,
}

impl ModesWork {
    pub fn new(operator: &dyn LinearOperator, system: &dyn SingularSystem, columns: usize) -> Self {
        let modes = columns * system.modes().layout_len();
        let arrays = if system.keeps_coordinates() { 3 } else { 2 };
        let parts = system.scratch_len(columns) + system.spare_len(columns);
        // the operator itself is only applied when nothing else needs the room
        let len = (arrays * modes + parts).max(operator.scratch_len(columns));
        Self {
            columns,
            seen: [None; 2],
            room: vec![0.0; len],
        }
    }

    /// All of it, as scratch: the coordinates are forgotten.
    pub fn scratch(&mut self) -> &mut [f64] {
        self.seen = [None; 2];
        &mut self.room
    }

    /// Refreshes the coordinates of the incoming messages. Those of the port that is written to are forgotten when the work is
    /// done in their place.
    pub fn refresh(
        &mut self,
        system: &dyn SingularSystem,
        [z, x]: [&Gaussian; 2],
        target: Option<usize>,
    ) -> Work<'_> {
        let k = self.columns * system.modes().layout_len();
        let (z_modes, rest) = self.room.split_at_mut(k);
        let (x_modes, rest) = rest.split_at_mut(k);
        let own = if system.keeps_coordinates() { k } else { 0 };
        let (modes, rest) = rest.split_at_mut(own);
        let (spare, scratch) = rest.split_at_mut(system.spare_len(self.columns));
        let now = [z, x].map(|m| Some(Fingerprint::of(&m.linear)));
        if self.seen[Z] != now[Z] {
            system.analyse_input(&z.linear, z_modes, scratch);
        }
        if self.seen[X] != now[X] {
            system.analyse_output(&x.linear, x_modes, scratch);
        }
        self.seen = now;
        if own == 0
            && let Some(port) = target
        {
            self.seen[port] = None;
        }
        Work {
            z_modes,
            x_modes,
            modes,
            scratch,
            spare,
        }
    }
}

/// 128 bits of a signal: two independent multiplicative hashes. Equal ones mean an unchanged message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint([u64; 2]);

impl Fingerprint {
    fn of(x: &[f64]) -> Self {
        let mut hash = [0x9e37_79b9_7f4a_7c15_u64, 0xc2b2_ae3d_27d4_eb4f];
        for x in x {
            let bits = x.to_bits();
            hash[0] = (hash[0].rotate_left(23) ^ bits).wrapping_mul(0xff51_afd7_ed55_8ccd);
            hash[1] = (hash[1].rotate_left(29) ^ bits).wrapping_mul(0x9fb2_1c65_1e98_df25);
        }
        Self(hash)
    }
}

/// Of an operator solved by conjugate gradients: the last solution, from which the next one starts.
#[derive(Debug, Clone)]
pub(super) struct IterativeWork {
    /// How fine the spectrum has had to be so far.
    pub level: usize,
    /// The last solution.
    pub solution: Vec<f64>,
    pub residual: Vec<f64>,
    pub scaled: Vec<f64>,
    pub direction: Vec<f64>,
    pub product: Vec<f64>,
    pub output: Vec<f64>,
    pub scratch: Vec<f64>,
}

impl IterativeWork {
    pub fn new(operator: &dyn LinearOperator) -> Self {
        let input = || vec![0.0; operator.input().len()];
        Self {
            level: 0,
            solution: input(),
            residual: input(),
            scaled: input(),
            direction: input(),
            product: input(),
            output: vec![0.0; operator.output().len()],
            scratch: vec![0.0; operator.scratch_len(1)],
        }
    }
}
