//! Independent entries without iteration: the ratio at which a given knowledge is a fixed point.
//!
//! A prior, a matrix of independent entries and an output: with the knowledge $s$ of the signal its variance is $V = \mathrm{mmse}(s)$,
//! the output hears a precision $1/V$ and leaves the variance $v_z$, and sends back $s = \alpha\,(V - v_z)/V^2$. So every $s$ is a fixed
//! point at one ratio, $\alpha(s) = sV^2/(V - v_z)$. The uninformed start climbs to the first $s$ with $\alpha(s) \ge \alpha$, and the
//! informed one comes down to the last with $\alpha(s) \le \alpha$: they agree unless $\alpha(s)$ crosses $\alpha$ on its way down.

use super::closed::chain;
use crate::belief::OverlapFields;
use crate::error::{FactorError, RunError};
use crate::factor::Averaged;
use crate::math::spectrum::Spectrum;
use crate::model::{FactorNode, Tree};

/// Scan of $\ln(s\tau_0)$: from 1e-3 to 1e8 in quarters.
const STEP: f64 = 0.25;
const FROM: i32 = -28;
const TO: i32 = 74;
/// Variances below this fraction of $\tau_0$ are those of a signal that is known.
const KNOWN: f64 = 1e-12;
/// A descent below this, relative, is an error of the averages.
const FLAT: f64 = 1e-6;

/// $\alpha(s)$ along growing $s$, its extrema refined.
pub(super) struct Curve {
    /// The ratio of the tree it was taken from.
    ratio: f64,
    heights: Vec<f64>,
}

/// The two laws that a curve depends on.
struct Laws<'t> {
    prior: &'t FactorNode,
    output: &'t FactorNode,
    tau0: f64,
}

impl Laws<'_> {
    fn variance(node: &FactorNode, m_hat: f64, tau0_hat: f64) -> Result<f64, RunError> {
        let fields = [OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat: tau0_hat,
        }];
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[tau0_hat],
        };
        let none = || FactorError::Unsupported("no state evolution rule".to_owned());
        let rule = node.factor.ensemble().ok_or_else(none);
        rule.and_then(|r| r.overlaps(node.factor.as_ref(), at, 0))
            .map(|o| o.v)
            .map_err(|source| RunError::Factor {
                factor: node.name.clone(),
                source,
            })
    }

    fn unknown(node: &FactorNode, tau0_hat: f64) -> f64 {
        let rule = node.factor.ensemble();
        let d = rule.map(|r| r.unknown_dimension(&[tau0_hat], 0));
        d.and_then(Result::ok).unwrap_or(1.0)
    }

    /// $\alpha(s)$ at $\ln(s\tau_0)$; `None` where the signal is known.
    fn height(&self, log_s: f64) -> Result<Option<f64>, RunError> {
        let (s, tau0) = (log_s.exp() / self.tau0, self.tau0);
        let v = Self::variance(self.prior, s, 0.0)?;
        if v < KNOWN * tau0 {
            return Ok(None);
        }
        let heard = (1.0 / v - 1.0 / tau0).max(0.0);
        let left = Self::variance(self.output, heard, 1.0 / tau0)?;
        Ok(Some(s * v / (1.0 - left / v)))
    }

    /// The limit of large $s$ for an output that tells numbers: unknowns over outputs.
    fn limit(&self) -> Option<f64> {
        let seen = 1.0 - Self::unknown(self.output, 1.0 / self.tau0);
        (seen > 0.0).then(|| Self::unknown(self.prior, 0.0) / seen)
    }

    /// The extremum of `sign` times the height between two places.
    fn extremum(&self, mut low: f64, mut high: f64, sign: f64) -> Result<f64, RunError> {
        let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
        let at = |x: f64| Ok::<_, RunError>(sign * self.height(x)?.unwrap_or(0.0));
        let place = |low: f64, high: f64, share: f64| low + share * (high - low);
        let (mut left, mut right) = (place(low, high, 1.0 - golden), place(low, high, golden));
        let (mut f, mut g) = (at(left)?, at(right)?);
        // the height is flat there: 1e-5 of the place is 1e-10 of it
        while high - low > 1e-5 {
            if f > g {
                (high, right, g) = (right, left, f);
                left = place(low, high, 1.0 - golden);
                f = at(left)?;
            } else {
                (low, left, f) = (left, right, g);
                right = place(low, high, golden);
                g = at(right)?;
            }
        }
        Ok(sign * f.max(g))
    }
}

impl Curve {
    /// The curve of a tree that is a prior, a matrix of independent entries and an output; `None` for any other.
    pub fn of(tree: &Tree, signal: &str) -> Result<Option<Self>, RunError> {
        let Some((prior, linear, output)) = chain(tree, tree.variable(signal)?) else {
            return Ok(None);
        };
        let ratio = match linear.factor.spectrum() {
            Some(s) if Spectrum::marchenko_pastur(s.alpha()).is_ok_and(|iid| iid == *s) => {
                s.alpha()
            }
            _ => return Ok(None),
        };
        let Some(rule) = prior.factor.ensemble() else {
            return Ok(None);
        };
        let tau0 = rule
            .second_moment(&[0.0], 0)
            .map_err(|source| RunError::Factor {
                factor: prior.name.clone(),
                source,
            })?;
        let laws = Laws {
            prior,
            output,
            tau0,
        };
        let mut scan = Vec::new();
        for k in FROM..=TO {
            let x = STEP * f64::from(k);
            match laws.height(x)? {
                Some(height) => scan.push((x, height)),
                None => break,
            }
        }
        let mut heights: Vec<f64> = scan.iter().map(|(_, h)| *h).collect();
        for (i, w) in scan.windows(3).enumerate() {
            let [(low, a), (_, b), (high, c)] = [w[0], w[1], w[2]];
            if (b - a) * (b - c) > 0.0 && (b - a).abs().min((b - c).abs()) > 0.0 {
                let sign = (b - a).signum();
                heights[i + 1] = laws.extremum(low, high, sign)?;
            }
        }
        heights.extend(laws.limit());
        Ok(Some(Self { ratio, heights }))
    }

    /// Descents from a height to a later one.
    fn descents(&self) -> impl Iterator<Item = (f64, f64)> {
        let mut top = f64::NEG_INFINITY;
        let pairs = self.heights.iter().map(move |h| {
            top = top.max(*h);
            (top, *h)
        });
        pairs.filter(|(top, h)| top - h > FLAT * top.abs())
    }

    /// The uninformed and the informed start lead to one fixed point, at the ratio of the tree.
    pub fn agrees(&self) -> bool {
        let between = |(top, h): (f64, f64)| top >= self.ratio && h < self.ratio;
        !self.descents().any(between)
    }

    /// The ratio at which they begin to agree, if the laws stay what they are.
    pub fn algorithmic(&self) -> Option<f64> {
        self.descents().map(|(top, _)| top).reduce(f64::max)
    }

    /// The ratio from which on they differ.
    pub fn informed(&self) -> Option<f64> {
        self.descents().map(|(_, h)| h).reduce(f64::min)
    }
}
