//! The map without iteration: the ratio at which a given knowledge is a fixed point.
//!
//! A prior, a matrix of independent entries and an output: with the knowledge $s$ of the signal its variance is $V = \mathrm{mmse}(s)$,
//! the output receives a precision $1/V$ and leaves the variance $v_z$, and sends back $s' = \alpha\,(V - v_z)/V^2$. So every $s$ is a fixed
//! point at one ratio, $\alpha(s) = sV^2/(V - v_z)$. Several matrices, of the shares $w_k$ in all outputs, send the sum:
//! $\alpha(s) = sV^2/\sum_kw_k(V - v_k)$. The uninformed start climbs to the first $s$ with $\alpha(s) \ge \alpha$, and the
//! informed one comes down to the last with $\alpha(s) \le \alpha$: they agree unless $\alpha(s)$ crosses $\alpha$ on its way down.
//! The output may be an activation and Gaussian noise: the activation receives $1/\Delta$ then, whatever it sends. Or noise and a
//! likelihood: it receives $z + \sqrt\Delta\,\xi$ with the variance $V + \Delta$, and what it sends back loses $\Delta$.
//!
//! Noiseless linear outputs leave no variance, $\alpha(s) = s\,\mathrm{mmse}(s)$, and any matrix does: it sends back $r/V$ with its rank $r < 1$ per unknown.

use std::cell::RefCell;
use std::sync::Arc;

use super::super::super::alike::is_alike;
use super::star::{Branch, Noise, Star};
use crate::belief::OverlapFields;
use crate::error::{FactorError, RunError};
use crate::factor::{Averaged, Factor};
use crate::model::Tree;

/// Scan of $\ln(s\tau_0)$, from 1e-3 to 1e8: the curve is smooth on the scale of one, and a dip narrower than a step is missed.
const STEP: f64 = 0.25;
const FROM: i32 = -28;
const TO: i32 = 74;
/// Accuracy of the place of an extremum: the height is flat there, and known to the square of this.
const EXTREMUM: f64 = 1e-6;
/// Variances below this fraction of $\tau_0$ are those of a signal that is known.
const KNOWN: f64 = 1e-12;
/// A descent below this, relative, is an error of the averages.
const FLAT: f64 = 1e-6;
/// Shares of outputs that differ by less than this are those of one family, but for rounding.
const SAME_SHARE: f64 = 1e-12;

/// $\ln s\tau_0$, and $\alpha(s)$ there.
type Place = (f64, f64);

/// $\alpha(s)$ along growing $s$, its extrema refined.
#[derive(Clone)]
pub(in super::super) struct Curve {
    /// The ratio of the tree it was taken from.
    ratio: f64,
    places: Arc<[Place]>,
    /// The last height is the limit of large $s$: the output tells numbers.
    tells_numbers: bool,
}

/// The laws that a curve depends on.
struct Laws {
    prior: Arc<dyn Factor>,
    outputs: Vec<Output>,
    tau0: f64,
}

/// The output of a branch.
struct Output {
    /// `None` for noiseless linear outputs, which leave nothing unknown.
    law: Option<Arc<dyn Factor>>,
    noise: Noise,
    /// Its share in all outputs.
    share: f64,
}

/// Curves of a family: one, as long as its laws stay what they are.
#[derive(Default)]
pub(in super::super) struct Curves(RefCell<Option<(Laws, Curve)>>);

impl Curves {
    /// The curve of a tree that has one. Where a law cannot be averaged at every knowledge there is none, and fixed points are iterated.
    pub fn of(&self, tree: &Tree, signal: &str) -> Result<Option<Curve>, RunError> {
        let Some(star) = Star::of(tree, tree.variable(signal)?) else {
            return Ok(None);
        };
        let Some(laws) = Laws::of(&star)? else {
            return Ok(None);
        };
        let ratio = star.ratio();
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
    let heights = places(&height)?.into_iter().map(|p| p.1);
    Ok(heights.fold(limit, f64::max))
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

impl Output {
    fn of(branch: &Branch<'_>, star: &Star<'_>) -> Self {
        let alone = star.branches.len() == 1;
        Self {
            law: (!star.is_noiseless_linear()).then(|| Arc::clone(&branch.output.factor)),
            noise: branch.noise,
            // a ratio may be infinite
            share: if alone {
                1.0
            } else {
                branch.ratio / star.ratio()
            },
        }
    }

    fn is(&self, other: &Self) -> bool {
        let laws = match (&self.law, &other.law) {
            (Some(own), Some(other)) => is_alike(own.as_ref(), other.as_ref()),
            (None, None) => true,
            _ => false,
        };
        laws && self.noise == other.noise && (self.share - other.share).abs() < SAME_SHARE
    }

    /// $1 - v_z/V$: what is learnt of an input of variance $V$, as a share of it.
    fn learnt(&self, v: f64, tau0: f64) -> Result<f64, RunError> {
        let Some(law) = self.law.as_deref() else {
            return Ok(1.0);
        };
        let received = |v: f64, tau0: f64| field((1.0 / v - 1.0 / tau0).max(0.0), 1.0 / tau0);
        Ok(match self.noise {
            Noise::None => 1.0 - variance(law, &[received(v, tau0)], &[1.0 / tau0])? / v,
            Noise::After(delta) => {
                let fields = [received(v, tau0), field(1.0 / delta, 0.0)];
                1.0 - variance(law, &fields, &[1.0 / tau0, 0.0])? / v
            }
            Noise::Before(delta) => {
                let (wide, tau0) = (v + delta, tau0 + delta);
                let left = variance(law, &[received(wide, tau0)], &[1.0 / tau0])?;
                (1.0 - left / wide) * (v / wide)
            }
        })
    }

    /// The dimension of what it tells exactly.
    fn seen(&self, tau0: f64) -> f64 {
        let unseen = |law: &Arc<dyn Factor>| unknown(law.as_ref(), 1.0 / tau0);
        match self.noise {
            Noise::None => 1.0 - self.law.as_ref().map_or(0.0, unseen),
            Noise::Before(_) | Noise::After(_) => 0.0,
        }
    }
}

impl Laws {
    fn of(star: &Star<'_>) -> Result<Option<Self>, RunError> {
        let prior = &star.prior.factor;
        let Some(rule) = prior.ensemble() else {
            return Ok(None);
        };
        let tau0 = rule.second_moment(&[0.0], 0);
        let outputs = star.branches.iter().map(|b| Output::of(b, star));
        Ok(Some(Self {
            prior: Arc::clone(prior),
            outputs: outputs.collect(),
            tau0: tau0.map_err(failed(prior.as_ref()))?,
        }))
    }

    fn are(&self, others: &Self) -> bool {
        let mut pairs = self.outputs.iter().zip(&others.outputs);
        self.outputs.len() == others.outputs.len()
            && pairs.all(|(own, other)| own.is(other))
            && is_alike(self.prior.as_ref(), others.prior.as_ref())
    }

    /// $\alpha(s)$ at $\ln(s\tau_0)$; `None` where the signal is known.
    fn height(&self, log_s: f64) -> Result<Option<f64>, RunError> {
        let (s, tau0) = (log_s.exp() / self.tau0, self.tau0);
        let v = variance(self.prior.as_ref(), &[field(s, 0.0)], &[0.0])?;
        if v < KNOWN * tau0 {
            return Ok(None);
        }
        let mut learnt = 0.0;
        for output in &self.outputs {
            learnt += output.share * output.learnt(v, tau0)?;
        }
        Ok(Some(s * v / learnt))
    }

    /// The limit of large $s$ for outputs that tell numbers: unknowns over outputs.
    fn limit(&self) -> Option<f64> {
        let outputs = self.outputs.iter();
        let seen: f64 = outputs.map(|o| o.share * o.seen(self.tau0)).sum();
        (seen > 0.0).then(|| unknown(self.prior.as_ref(), 0.0) / seen)
    }
}

/// The heights along the scan, up to where the signal is known; places next to an extremum are moved there.
fn places(height: &dyn Fn(f64) -> Result<Option<f64>, RunError>) -> Result<Vec<Place>, RunError> {
    let mut scan = Vec::new();
    for k in FROM..=TO {
        let x = STEP * f64::from(k);
        match height(x)? {
            Some(height) => scan.push((x, height)),
            None => break,
        }
    }
    let mut places = scan.clone();
    for (i, w) in scan.windows(3).enumerate() {
        let [(low, a), (_, b), (high, c)] = [w[0], w[1], w[2]];
        if (b - a) * (b - c) > 0.0 {
            places[i + 1] = extremum(height, low, high, (b - a).signum())?;
        }
    }
    Ok(places)
}

/// The extremum of `sign` times the height between two places, by golden sections.
fn extremum(
    height: &dyn Fn(f64) -> Result<Option<f64>, RunError>,
    mut low: f64,
    mut high: f64,
    sign: f64,
) -> Result<Place, RunError> {
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
    Ok((left, sign * f.max(g)))
}

impl Curve {
    fn new(laws: &Laws, ratio: f64) -> Result<Self, RunError> {
        let mut places = places(&|log_s| laws.height(log_s))?;
        let limit = laws.limit();
        places.extend(limit.map(|limit| (f64::INFINITY, limit)));
        Ok(Self {
            ratio,
            places: places.into(),
            tells_numbers: limit.is_some(),
        })
    }

    fn heights(&self) -> impl Iterator<Item = f64> {
        self.places.iter().map(|p| p.1)
    }

    /// The knowledge $s\tau_0$ of the stable fixed points that lie between the first and the last: where the curve rises through the ratio.
    pub fn between(&self) -> Vec<f64> {
        let rises = self.places.windows(2).filter(|w| {
            let [low, high] = [w[0].1, w[1].1];
            low < self.ratio && self.ratio <= high
        });
        let at = |w: &[Place]| {
            let [(x, low), (y, high)] = [w[0], w[1]];
            // the limit of large knowledge has no place of its own
            let y = if y.is_finite() { y } else { x + STEP };
            (x + (y - x) * (self.ratio - low) / (high - low)).exp()
        };
        let mut found: Vec<f64> = rises.map(at).collect();
        // the last one is a rise unless the curve ends below the ratio, and likewise the first
        if self.heights().last().is_some_and(|h| h >= self.ratio) {
            found.pop();
        }
        if self.heights().next().is_some_and(|h| h < self.ratio) && !found.is_empty() {
            found.remove(0);
        }
        found
    }

    /// Descents from a height to a later one.
    fn descents(&self) -> impl Iterator<Item = (f64, f64)> {
        let mut top = f64::NEG_INFINITY;
        let pairs = self.heights().map(move |h| {
            top = top.max(h);
            (top, h)
        });
        pairs.filter(|(top, h)| top - h > FLAT * top.abs())
    }

    /// The ratio of the tree.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// The uninformed and the informed start lead to one fixed point, at the ratio of the tree.
    pub fn agrees(&self) -> bool {
        let between = |(top, h): (f64, f64)| top >= self.ratio && h < self.ratio;
        !self.descents().any(between)
    }

    /// The uninformed start recovers a signal of numbers: no fixed point is in its way. `None` where outputs do not tell numbers.
    pub fn recovers(&self) -> Option<bool> {
        let passes = || self.heights().all(|h| h < self.ratio);
        self.tells_numbers.then(passes)
    }

    /// The ratio at which they begin to agree, or to recover it, if the laws stay what they are.
    pub fn algorithmic(&self) -> Option<f64> {
        if self.tells_numbers {
            return self.heights().reduce(f64::max);
        }
        self.descents().map(|(top, _)| top).reduce(f64::max)
    }

    /// The ratio from which on they differ.
    pub fn informed(&self) -> Option<f64> {
        self.descents().map(|(_, h)| h).reduce(f64::min)
    }
}
