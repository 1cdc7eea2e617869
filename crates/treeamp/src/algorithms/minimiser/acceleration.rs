//! Anderson's acceleration of the splitting, with a safeguard: the residual of plain steps does not grow, and an accelerated one is taken back
//! where its residual is above the least so far.

use crate::math::anderson::{Anderson, dot};

/// Steps that it goes by. More of them tell more directions apart, and cost two passes over the state each: with a state of more than `LARGE` numbers
/// they would cost more than the transforms of an image. (Images of 64 x 64 come to a gap of 1e-5 in as many steps with 5 as with 30.)
const MEMORY: usize = 20;
const LARGE: usize = 1 << 14;
const MEMORY_OF_LARGE: usize = 5;
/// What tells directions apart.
const RIDGE: f64 = 1e-8;
/// By how much: rounding.
const SETBACK: f64 = 1.0 + 1e-6;
/// Steps that differ by less than this fraction of themselves are alike, and so many of them in a row a drift.
const ALIKE: f64 = 1e-3;
const DRIFT: usize = 4;
/// So are those of a standstill: a residual that has not fallen to this fraction in half of all steps, and so many.
const PROGRESS: f64 = 0.5;
const STANDSTILL: usize = 50;
/// No jump goes further than this multiple of where the state is: where energies fall without bound there is no end to them.
const REACH: f64 = 10.0;

/// Which step comes next: plain or accelerated.
pub(super) struct Acceleration {
    anderson: Anderson,
    /// $\sqrt\rho$ of every component, and the residual times that: its norm is that of $\rho$.
    roots: Vec<f64>,
    scaled: Vec<f64>,
    jump: Vec<f64>,
    /// The last step was not plain.
    tried: bool,
    /// Steps in a row that were alike.
    alike: usize,
    /// Steps so far, the last residual that was progress, and its step.
    steps: usize,
    mark: f64,
    since: usize,
    /// The least residual so far.
    least: f64,
}

impl Acceleration {
    pub fn new(len: usize) -> Self {
        Self {
            anderson: Anderson::new(
                len,
                if len > LARGE { MEMORY_OF_LARGE } else { MEMORY },
                RIDGE,
            ),
            roots: vec![1.0; len],
            scaled: vec![0.0; len],
            jump: vec![0.0; len],
            tried: false,
            alike: 0,
            steps: 0,
            mark: f64::INFINITY,
            since: 0,
            least: f64::INFINITY,
        }
    }

    /// Begins anew, at these precisions by component.
    pub fn restart(&mut self, precisions: impl Iterator<Item = f64>) {
        let roots = self.roots.iter_mut().zip(precisions);
        roots.for_each(|(root, rho)| *root = rho.sqrt());
        self.anderson.forget();
        (self.tried, self.least, self.alike) = (false, f64::INFINITY, 0);
        (self.mark, self.since) = (f64::INFINITY, self.steps);
    }

    /// Goes back to the plain step, if the last one was accelerated and its residual is too large.
    pub fn rejects(&mut self, norm: f64, s: &mut [f64]) -> bool {
        if !std::mem::take(&mut self.tried) || norm <= SETBACK * self.least {
            return false;
        }
        s.copy_from_slice(self.anderson.last());
        self.anderson.forget();
        true
    }

    /// The last steps were alike: along a direction that the energy hardly sees.
    pub fn drifts(&self) -> bool {
        self.alike >= DRIFT
    }

    /// Goes from the state `s` to the next one, by its residual and the plain step.
    pub fn advance(&mut self, s: &mut [f64], residual: &[f64], plain: &[f64], norm: f64) {
        self.steps += 1;
        if norm < PROGRESS * self.mark {
            (self.mark, self.since) = (norm, self.steps);
        }
        self.least = self.least.min(norm);
        s.copy_from_slice(plain);
        let parts = residual.iter().zip(&self.roots);
        let scaled = self.scaled.iter_mut().zip(parts);
        scaled.for_each(|(s, (r, root))| *s = r * root);
        if !self.anderson.is_blank() {
            let pairs = self.scaled.iter().zip(self.anderson.last_residual());
            let change: f64 = pairs.map(|(x, y)| (x - y).powi(2)).sum();
            let alike = change.sqrt() < ALIKE * norm;
            let stands = self.steps - self.since > STANDSTILL + self.steps / 2;
            self.alike = if alike || stands { self.alike + 1 } else { 0 };
        }
        self.anderson.remember(&self.scaled, plain, dot);
        self.jump.copy_from_slice(&self.scaled);
        // plain steps show what drifts
        let known = self.anderson.has_past() && self.alike + 1 < DRIFT;
        let known = known && self.anderson.correct(&mut self.jump, dot);
        if known && dot(&self.jump, &self.jump) < REACH * REACH * dot(plain, plain) {
            s.iter_mut().zip(&self.jump).for_each(|(s, d)| *s += d);
            self.tried = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of an affine map $s \leftarrow s - Ks$ from ones, until the residual is below this.
    fn count(rates: &[f64], accelerated: bool) -> usize {
        let mut acceleration = Acceleration::new(rates.len());
        acceleration.restart(std::iter::repeat_n(1.0, rates.len()));
        let mut s = vec![1.0; rates.len()];
        for step in 1..20_000 {
            let residual: Vec<f64> = s.iter().zip(rates).map(|(s, k)| -k * s).collect();
            let norm = dot(&residual, &residual).sqrt();
            if norm < 1e-10 {
                return step;
            }
            if acceleration.rejects(norm, &mut s) {
                continue;
            }
            let plain: Vec<f64> = s.iter().zip(&residual).map(|(s, r)| s + r).collect();
            if accelerated {
                acceleration.advance(&mut s, &residual, &plain, norm);
            } else {
                s = plain;
            }
        }
        20_000
    }

    #[test]
    fn an_affine_map_of_few_rates_needs_few_steps() {
        let rates = [0.9, 0.5, 0.1, 0.02, 0.004];
        let (plain, fast) = (count(&rates, false), count(&rates, true));
        assert!(plain > 3000 && fast < 40, "{plain} and {fast}");
    }

    /// Steps that are the same again and again, along a direction that the energy hardly sees.
    #[test]
    fn the_same_step_again_is_a_drift() {
        let mut acceleration = Acceleration::new(2);
        acceleration.restart([1.0, 1.0].into_iter());
        let mut s = vec![0.0; 2];
        for k in 0..=DRIFT {
            assert!(!acceleration.drifts(), "{k}");
            let plain = [s[0] + 1.0, s[1]];
            acceleration.advance(&mut s, &[1.0, 0.0], &plain, 1.0);
        }
        assert!(acceleration.drifts());
    }

    #[test]
    fn a_jump_after_which_the_residual_has_grown_is_taken_back() {
        let mut acceleration = Acceleration::new(2);
        acceleration.restart([1.0, 1.0].into_iter());
        let mut s = vec![1.0, 1.0];
        for factor in [0.5, 0.3] {
            let plain = [factor * s[0], 0.9 * s[1]];
            let residual = [plain[0] - s[0], plain[1] - s[1]];
            let norm = dot(&residual, &residual).sqrt();
            acceleration.advance(&mut s, &residual, &plain, norm);
        }
        let plain = acceleration.anderson.last().to_vec();
        assert!(s != plain, "the second step is a jump");
        assert!(
            !acceleration.rejects(0.1, &mut s.clone()),
            "a smaller residual stays"
        );
        acceleration.tried = true;
        assert!(acceleration.rejects(10.0, &mut s) && s == plain);
    }
}
