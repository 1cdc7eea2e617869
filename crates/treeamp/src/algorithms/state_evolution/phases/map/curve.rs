//! The map without iteration: the ratio at which a given knowledge is a fixed point.
//!
//! A prior, a matrix of independent entries and an output: with the knowledge $s$ of the signal its variance is $V = \mathrm{mmse}(s)$,
//! the output receives a precision $1/V$ and leaves the variance $v_z$, and sends back $s' = \alpha\,(V - v_z)/V^2$. So every $s$ is a fixed
//! point at one ratio, $\alpha(s) = sV^2/(V - v_z)$. The uninformed start climbs to the first $s$ with $\alpha(s) \ge \alpha$, and the
//! informed one comes down to the last with $\alpha(s) \le \alpha$: they agree unless $\alpha(s)$ crosses $\alpha$ on its way down.
//! The output may be an activation and Gaussian noise: the activation receives $1/\Delta$ then, whatever it sends. Or noise and a
//! likelihood: it receives $z + \sqrt\Delta\,\xi$ with the variance $V + \Delta$, and what it sends back loses $\Delta$.
//!
//! Noiseless linear outputs leave no variance, $\alpha(s) = s\,\mathrm{mmse}(s)$, and any matrix does: it sends back $r/V$ with its rank $r < 1$ per unknown.

use std::cell::RefCell;
use std::sync::Arc;

use super::super::super::alike::is_alike;
use super::chain::{Chain, Noise};
use crate::belief::OverlapFields;
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, Factor};
use crate::model::Tree;

/// Scan of $\ln(s\tau_0)$: from 1e-3 to 1e8 in quarters.
const STEP: f64 = 0.25;
const FROM: i32 = -28;
const TO: i32 = 74;
/// Accuracy of the place of an extremum: the height is flat there, and known to the square of this.
const EXTREMUM: f64 = 1e-6;
/// Variances below this fraction of $\tau_0$ are those of a signal that is known.
const KNOWN: f64 = 1e-12;
/// A descent below this, relative, is an error of the averages.
const FLAT: f64 = 1e-6;

/// $\alpha(s)$ along growing $s$, its extrema refined.
#[derive(Clone)]
pub(in super::super) struct Curve {
    /// The ratio of the tree it was taken from.
    ratio: f64,
    heights: Arc<[f64]>,
    /// The last height is the limit of large $s$: the output tells numbers.
    tells_numbers: bool,
}

/// The laws that a curve depends on.
struct Laws {
    prior: Arc<dyn Factor>,
    /// `None` for noiseless linear outputs, which leave nothing unknown.
    output: Option<Arc<dyn Factor>>,
    noise: Noise,
    tau0: f64,
}

/// Curves of a family: one, as long as its laws stay what they are.
#[derive(Default)]
pub(in super::super) struct Curves(RefCell<Option<(Laws, Curve)>>);

impl Curves {
    /// The curve of a tree that has one. Where a law cannot be averaged at every knowledge there is none, and fixed points are iterated.
    pub fn of(&self, tree: &Tree, signal: &str) -> Result<Option<Curve>, RunError> {
        let Some(chain) = Chain::of(tree, tree.variable(signal)?) else {
            return Ok(None);
        };
        let Some(laws) = Laws::of(&chain)? else {
            return Ok(None);
        };
        let ratio = chain.ratio;
        let mut last = self.0.borrow_mut();
        if let Some((others, curve)) = last.as_ref()
            && laws.are(others)
        {
            return Ok(Some(Curve {
                ratio,
                ..curve.clone()
            }));
        }
        let curve = match Curve::new(&laws, ratio) {
            Err(RunError::Factor { .. }) => return Ok(None),
            curve => curve?,
        };
        *last = Some((laws, curve.clone()));
        Ok(Some(curve))
    }
}

/// The algorithmic threshold of noiseless linear measurements, the supremum over $s$ of $s\,\mathrm{mmse}(s)$ of the prior:
/// no iteration, so nothing slows down near it.
///
/// # Errors
/// When the prior has no ensemble rule, or gives a signal that is always zero.
pub fn noiseless_linear_threshold(prior: &dyn Factor) -> Result<f64, RunError> {
    let rule = prior.ensemble().ok_or_else(|| RunError::MissingRules {
        algorithm: "state evolution",
        missing: vec![(prior.name().to_owned(), "ensemble")],
    })?;
    let tau0 = rule.second_moment(&[0.0], 0).map_err(failed(prior))?;
    if !(tau0 > 0.0) {
        return Err(RunError::NotDefined {
            what: "the algorithmic threshold".to_owned(),
            why: format!("a signal of `{}` is always zero", prior.name()),
        });
    }
    let height = |log_s: f64| {
        let s = log_s.exp() / tau0;
        Ok(Some(s * variance(prior, &[field(s, 0.0)], &[0.0])?))
    };
    let limit = rule.unknown_dimension(&[0.0], 0).map_err(failed(prior))?;
    Ok(heights(&height)?.into_iter().fold(limit, f64::max))
}

fn failed(factor: &dyn Factor) -> impl Fn(FactorError) -> RunError {
    let factor = factor.name().to_owned();
    move |source| RunError::Factor {
        factor: factor.clone(),
        source,
    }
}

/// A Bayes-optimal field.
fn field(m_hat: f64, tau_hat: f64) -> OverlapFields {
    OverlapFields {
        m_hat,
        q_hat: m_hat,
        tau_hat,
    }
}

/// The variance that a factor leaves at its first port.
fn variance(
    factor: &dyn Factor,
    fields: &[OverlapFields],
    tau0_hat: &[f64],
) -> Result<f64, RunError> {
    let none = || FactorError::Unsupported("no state evolution rule".to_owned());
    let rule = factor.ensemble().ok_or_else(none);
    let o = rule.and_then(|r| r.overlaps(factor, Averaged { fields, tau0_hat }, 0));
    o.map(|o| o.v).map_err(failed(factor))
}

/// The dimension of what a factor leaves unknown.
fn unknown(factor: &dyn Factor, tau0_hat: f64) -> f64 {
    let rule = factor.ensemble();
    let d = rule.map(|r| r.unknown_dimension(&[tau0_hat], 0));
    d.and_then(Result::ok).unwrap_or(1.0)
}

impl Laws {
    fn of(chain: &Chain<'_>) -> Result<Option<Self>, RunError> {
        let prior = &chain.prior.factor;
        let Some(rule) = prior.ensemble() else {
            return Ok(None);
        };
        let tau0 = rule.second_moment(&[0.0], 0);
        Ok(Some(Self {
            prior: Arc::clone(prior),
            output: (!chain.is_noiseless_linear()).then(|| Arc::clone(&chain.output.factor)),
            noise: chain.noise,
            tau0: tau0.map_err(failed(prior.as_ref()))?,
        }))
    }

    fn are(&self, others: &Self) -> bool {
        let outputs = match (&self.output, &others.output) {
            (Some(own), Some(other)) => is_alike(own.as_ref(), other.as_ref()),
            (None, None) => true,
            _ => false,
        };
        outputs
            && self.noise == others.noise
            && is_alike(self.prior.as_ref(), others.prior.as_ref())
    }

    /// $\alpha(s)$ at $\ln(s\tau_0)$; `None` where the signal is known.
    fn height(&self, log_s: f64) -> Result<Option<f64>, RunError> {
        let (s, tau0) = (log_s.exp() / self.tau0, self.tau0);
        let v = variance(self.prior.as_ref(), &[field(s, 0.0)], &[0.0])?;
        if v < KNOWN * tau0 {
            return Ok(None);
        }
        let Some(output) = self.output.as_deref() else {
            return Ok(Some(s * v));
        };
        let received = |v: f64, tau0: f64| field((1.0 / v - 1.0 / tau0).max(0.0), 1.0 / tau0);
        // s = α (V - v_z)/V², of which 1 - v_z/V
        let learnt = match self.noise {
            Noise::None => 1.0 - variance(output, &[received(v, tau0)], &[1.0 / tau0])? / v,
            Noise::After(delta) => {
                let fields = [received(v, tau0), field(1.0 / delta, 0.0)];
                1.0 - variance(output, &fields, &[1.0 / tau0, 0.0])? / v
            }
            Noise::Before(delta) => {
                let (wide, tau0) = (v + delta, tau0 + delta);
                let left = variance(output, &[received(wide, tau0)], &[1.0 / tau0])?;
                (1.0 - left / wide) * (v / wide)
            }
        };
        Ok(Some(s * v / learnt))
    }

    /// The limit of large $s$ for an output that tells numbers: unknowns over outputs.
    fn limit(&self) -> Option<f64> {
        let unseen = |output: &Arc<dyn Factor>| unknown(output.as_ref(), 1.0 / self.tau0);
        let seen = 1.0 - self.output.as_ref().map_or(0.0, unseen);
        (self.noise == Noise::None && seen > 0.0).then(|| unknown(self.prior.as_ref(), 0.0) / seen)
    }
}

/// The heights along the scan, up to where the signal is known, with the extrema between its places.
fn heights(height: &dyn Fn(f64) -> Result<Option<f64>, RunError>) -> Result<Vec<f64>, RunError> {
    let mut scan = Vec::new();
    for k in FROM..=TO {
        let x = STEP * f64::from(k);
        match height(x)? {
            Some(height) => scan.push((x, height)),
            None => break,
        }
    }
    let mut heights: Vec<f64> = scan.iter().map(|(_, h)| *h).collect();
    for (i, w) in scan.windows(3).enumerate() {
        let [(low, a), (_, b), (high, c)] = [w[0], w[1], w[2]];
        if (b - a) * (b - c) > 0.0 {
            heights[i + 1] = extremum(height, low, high, (b - a).signum())?;
        }
    }
    Ok(heights)
}

/// The extremum of `sign` times the height between two places, by golden sections.
fn extremum(
    height: &dyn Fn(f64) -> Result<Option<f64>, RunError>,
    mut low: f64,
    mut high: f64,
    sign: f64,
) -> Result<f64, RunError> {
    let golden = 0.5 * (5.0_f64.sqrt() - 1.0);
    let at = |x: f64| Ok::<_, RunError>(sign * height(x)?.unwrap_or(0.0));
    let place = |low: f64, high: f64, share: f64| low + share * (high - low);
    let (mut left, mut right) = (place(low, high, 1.0 - golden), place(low, high, golden));
    let (mut f, mut g) = (at(left)?, at(right)?);
    while high - low > EXTREMUM {
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

impl Curve {
    fn new(laws: &Laws, ratio: f64) -> Result<Self, RunError> {
        let mut heights = heights(&|log_s| laws.height(log_s))?;
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

    /// The uninformed start recovers a signal of numbers: no fixed point is in its way. `None` where outputs do not tell numbers.
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
