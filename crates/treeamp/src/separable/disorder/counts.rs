//! Averages of counts, the outputs of Poisson and negative binomial laws: the first one by one, then in blocks that double.

use super::line::Line;
use super::outputs::Pair;
use super::{COUNT, MASS, Sums};
use crate::error::FactorError;
use crate::math::quadrature::{legendre, rule16};
use crate::scalar::Tilt;

/// Counts that are averaged one by one.
const FIRST_COUNTS: u32 = 32;
/// Counts beyond which there is no rate.
const LAST_COUNT: f64 = 1e15;
/// Probability of a block of counts that is the last.
const NO_COUNTS: f64 = 1e-11;
/// Blocks of more counts than this are integrals.
const LONG_BLOCK: f64 = 16_384.0;

/// Nodes and weights of a sum over the integers from `start` on, `len` of them: exact for polynomials of degree 15, and an
/// integral for very long blocks. With $\ell_j(x) = w_j\sum_k(2k+1)P_k(t_j)P_k(x)$ at the Legendre nodes $t_j$ the weights are
/// $\sum_i\ell_j(x_i)$.
fn block_rule(start: f64, len: f64) -> impl Iterator<Item = (f64, f64)> {
    let rule = rule16();
    let mut totals = [0.0; 16];
    totals[0] = len;
    let mut i = 1.0;
    while len <= LONG_BLOCK && i <= len {
        let x = (2.0 * i - 1.0) / len - 1.0;
        let (mut p, mut before) = (1.0, 0.0);
        for (k, total) in totals.iter_mut().enumerate().skip(1) {
            let k = k as f64;
            (p, before) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k, p);
            *total += p;
        }
        i += 1.0;
    }
    (0..16).map(move |j| {
        let x = 2.0 * rule.nodes[j] - 1.0;
        let terms = totals.iter().enumerate();
        let sum: f64 = terms
            .map(|(k, total)| (2.0 * k as f64 + 1.0) * legendre(k, x).0 * total)
            .sum();
        (
            len.mul_add(rule.nodes[j], start - 0.5),
            rule.weights[j] * sum,
        )
    })
}

impl Pair<'_> {
    /// Counts: the first one by one, then in blocks that double.
    pub(super) fn counts(&self) -> Result<[f64; COUNT], FactorError> {
        let mut sums = Sums::zero();
        for y in 0..FIRST_COUNTS {
            let part = self.count(f64::from(y), &sums.0)?;
            sums.add(&part);
        }
        let mut start = f64::from(FIRST_COUNTS);
        while start < LAST_COUNT {
            let mut block = Sums::zero();
            for (y, weight) in block_rule(start, start) {
                block.add(&self.count(y, &sums.0)?.map(|x| weight * x));
            }
            sums.add(&block.0);
            if block.0[MASS].abs() < NO_COUNTS {
                break;
            }
            start *= 2.0;
        }
        Ok(sums.0)
    }

    /// The law is analytic in a count, which need not be an integer. Given it, the field is $\mathcal N(\hat m\mu, \hat q + \hat m^2 s)$ with the moments
    /// $\mu, s$ of the signal, but for its form.
    fn count(&self, y: f64, seen: &[f64; COUNT]) -> Result<[f64; COUNT], FactorError> {
        self.check(y.round())?;
        let at = &self.at;
        let rest = Tilt {
            a: at.tau0_hat,
            b: 0.0,
        };
        let signal = Self::tilted(self.teacher, y, rest);
        let width = at.q_hat.sqrt().hypot(at.m_hat * signal.variance.sqrt());
        let smooth = |line: &Line<'_>| {
            let quiet = at.is_silent() || !(width > 0.0);
            let about_top = (!quiet).then(|| line.about_top((at.m_hat * signal.mean, width), seen));
            about_top.flatten().unwrap_or_else(|| line.average())
        };
        Ok(self.with_line(y, smooth))
    }
}

#[cfg(test)]
mod tests {
    use super::block_rule;

    /// Sums of powers over integers, and of a smooth function over a long block.
    #[test]
    fn blocks_of_counts_are_summed() {
        for (start, len) in [(32.0, 32.0), (64.0, 64.0), (1024.0, 512.0)] {
            for power in [0, 1, 7, 15] {
                let f = |y: f64| ((y - start) / len).powi(power);
                let sum: f64 = block_rule(start, len).map(|(y, w)| w * f(y)).sum();
                let mut exact = 0.0;
                let mut y = start;
                while y < start + len {
                    exact += f(y);
                    y += 1.0;
                }
                assert!(
                    (sum / exact - 1.0).abs() < 1e-12,
                    "{start} {power}: {sum} {exact}"
                );
            }
        }
        let sum: f64 = block_rule(65536.0, 65536.0).map(|(y, w)| w / y).sum();
        let exact: f64 = (65536..131_072).map(|y| 1.0 / f64::from(y)).sum();
        assert!((sum / exact - 1.0).abs() < 1e-9, "{sum} {exact}");
    }
}
