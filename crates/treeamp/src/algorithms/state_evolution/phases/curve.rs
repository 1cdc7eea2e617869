//! Independent entries without iteration: the ratio at which a given knowledge is a fixed point.
//!
//! A prior, a matrix of independent entries and an output: with the knowledge $s$ of the signal its variance is $V = \mathrm{mmse}(s)$,
//! the output hears a precision $1/V$ and leaves the variance $v_z$, and sends back $s = \alpha\,(V - v_z)/V^2$. So every $s$ is a fixed
//! point at one ratio, $\alpha(s) = sV^2/(V - v_z)$. The uninformed start climbs to the first $s$ with $\alpha(s) \ge \alpha$, and the
//! informed one comes down to the last with $\alpha(s) \le \alpha$: they agree unless $\alpha(s)$ crosses $\alpha$ on its way down.
//! The output may be an activation and Gaussian noise: what is heard of the activation is $1/\Delta$ then, whatever it sends. Or noise and a
//! likelihood: it hears of $z + \sqrt\Delta\,\xi$ with the variance $V + \Delta$, and what it sends back loses $\Delta$.

use std::cell::RefCell;
use std::sync::Arc;

use super::super::alike::is_alike;
use super::closed::{Chain, Noise, chain};
use crate::belief::OverlapFields;
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, Factor};
use crate::math::spectrum::Spectrum;
use crate::model::Tree;

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
    heights: Arc<[f64]>,
    /// The last height is the limit of large $s$: the output tells numbers.
    tells_numbers: bool,
}

/// The laws that a curve depends on.
struct Laws {
    prior: Arc<dyn Factor>,
    output: Arc<dyn Factor>,
    noise: Noise,
    tau0: f64,
}

/// Curves of a family: one, as long as its laws stay what they are.
pub(super) struct Curves(RefCell<Option<(Laws, Curve)>>);

impl Curves {
    pub fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// The curve of a tree that has one. Where a law cannot be averaged at every knowledge there is none, and fixed points are iterated.
    pub fn of(&self, tree: &Tree, signal: &str) -> Result<Option<Curve>, RunError> {
        let Some((laws, ratio)) = Laws::of(tree, signal)? else {
            return Ok(None);
        };
        let mut last = self.0.borrow_mut();
        if let Some((others, curve)) = last.as_ref()
            && laws.are(others)
        {
            return Ok(Some(Curve {
                ratio,
                heights: Arc::clone(&curve.heights),
                ..*curve
            }));
        }
        let curve = match Curve::new(&laws, ratio) {
            Err(RunError::Factor { .. }) => return Ok(None),
            curve => curve?,
        };
        let kept = Curve {
            heights: Arc::clone(&curve.heights),
            ..curve
        };
        *last = Some((laws, kept));
        Ok(Some(curve))
    }
}

impl Laws {
    /// Of a prior, a matrix of independent entries and an output, and the ratio of the matrix; `None` of any other tree.
    fn of(tree: &Tree, signal: &str) -> Result<Option<(Self, f64)>, RunError> {
        let Some(Chain {
            prior,
            linear,
            output,
            noise,
        }) = chain(tree, tree.variable(signal)?)
        else {
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
        let laws = Self {
            prior: Arc::clone(&prior.factor),
            output: Arc::clone(&output.factor),
            noise,
            tau0,
        };
        Ok(Some((laws, ratio)))
    }

    fn are(&self, others: &Self) -> bool {
        self.noise == others.noise
            && is_alike(self.prior.as_ref(), others.prior.as_ref())
            && is_alike(self.output.as_ref(), others.output.as_ref())
    }

    fn variance(
        factor: &dyn Factor,
        fields: &[OverlapFields],
        tau0_hat: &[f64],
    ) -> Result<f64, RunError> {
        let at = Averaged { fields, tau0_hat };
        let none = || FactorError::Unsupported("no state evolution rule".to_owned());
        let rule = factor.ensemble().ok_or_else(none);
        rule.and_then(|r| r.overlaps(factor, at, 0))
            .map(|o| o.v)
            .map_err(|source| RunError::Factor {
                factor: factor.name().to_owned(),
                source,
            })
    }

    fn unknown(factor: &dyn Factor, tau0_hat: f64) -> f64 {
        let rule = factor.ensemble();
        let d = rule.map(|r| r.unknown_dimension(&[tau0_hat], 0));
        d.and_then(Result::ok).unwrap_or(1.0)
    }

    /// $\alpha(s)$ at $\ln(s\tau_0)$; `None` where the signal is known.
    fn height(&self, log_s: f64) -> Result<Option<f64>, RunError> {
        let (s, tau0) = (log_s.exp() / self.tau0, self.tau0);
        let field = |m_hat: f64, tau_hat: f64| OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat,
        };
        let v = Self::variance(self.prior.as_ref(), &[field(s, 0.0)], &[0.0])?;
        if v < KNOWN * tau0 {
            return Ok(None);
        }
        let told = |v: f64, tau0: f64| field((1.0 / v - 1.0 / tau0).max(0.0), 1.0 / tau0);
        let output = self.output.as_ref();
        // s = α (V - v_z)/V², of which 1 - v_z/V
        let learnt = match self.noise {
            Noise::None => 1.0 - Self::variance(output, &[told(v, tau0)], &[1.0 / tau0])? / v,
            Noise::After(delta) => {
                let fields = [told(v, tau0), field(1.0 / delta, 0.0)];
                1.0 - Self::variance(output, &fields, &[1.0 / tau0, 0.0])? / v
            }
            Noise::Before(delta) => {
                let (wide, tau0) = (v + delta, tau0 + delta);
                let left = Self::variance(output, &[told(wide, tau0)], &[1.0 / tau0])?;
                (1.0 - left / wide) * (v / wide)
            }
        };
        Ok(Some(s * v / learnt))
    }

    /// The limit of large $s$ for an output that tells numbers: unknowns over outputs.
    fn limit(&self) -> Option<f64> {
        let seen = 1.0 - Self::unknown(self.output.as_ref(), 1.0 / self.tau0);
        (self.noise == Noise::None && seen > 0.0)
            .then(|| Self::unknown(self.prior.as_ref(), 0.0) / seen)
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
    fn new(laws: &Laws, ratio: f64) -> Result<Self, RunError> {
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
        let limit = laws.limit();
        heights.extend(limit);
        Ok(Self {
            ratio,
            heights: heights.into(),
            tells_numbers: limit.is_some(),
        })
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

    /// The uninformed start recovers a signal of numbers: nothing holds it up. `None` where outputs do not tell numbers.
    pub fn recovers(&self) -> Option<bool> {
        let passes = || self.heights.iter().all(|h| *h < self.ratio);
        self.tells_numbers.then(passes)
    }

    /// The ratio at which they begin to agree, or to recover it, if the laws stay what they are.
    pub fn algorithmic(&self) -> Option<f64> {
        if self.tells_numbers {
            return self.heights.iter().copied().reduce(f64::max);
        }
        self.descents().map(|(top, _)| top).reduce(f64::max)
    }

    /// The ratio from which on they differ.
    pub fn informed(&self) -> Option<f64> {
        self.descents().map(|(_, h)| h).reduce(f64::min)
    }
}
