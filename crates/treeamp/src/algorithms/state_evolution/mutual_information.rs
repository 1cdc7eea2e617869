//! $I(x_i; y) = H(y) - H(y \mid x_i)$ between one variable and the measurements.
//!
//! Bayes-optimal state evolution has several fixed points in a hard phase. The entropy of the measurements is
//! the smallest of theirs (their free entropy is the largest), and that is the true one; the uninformed fixed
//! point, which expectation propagation attains, then claims more than can be known.

use super::bayes_optimal::CERTAIN;
use super::evolution::noiseless_output;
use super::information::not_negative;
use super::phases::FixedPoints;
use super::teacher::not_a_bayesian_network;
use super::theory::least_noise;
use super::{BayesOptimal, Evolution};
use crate::error::RunError;
use crate::model::Tree;

/// Noise, relative to its signal, next to which [`CERTAIN`] is certain.
const FAR_BELOW: f64 = 1e-14;
/// Entropies of the measurements at the fixed points of a tree.
struct Entropies {
    uninformed: f64,
    /// The smallest, which is the true one.
    least: f64,
    start: Start,
}

impl Entropies {
    /// And the uninformed fixed point.
    fn of(
        tree: &Tree,
        variable: &str,
        names: &[&str],
        points: &FixedPoints,
    ) -> Result<(Self, Evolution<BayesOptimal>), RunError> {
        let low = points.uninformed(tree, names)?;
        let high = points.informed(tree, names)?;
        let entropy = low.information(tree)?.entropy;
        let one = names.iter().try_fold(true, |one, name| {
            let (x, y) = (low.mse(name)?, high.mse(name)?);
            Ok::<_, RunError>(one && points.same(x, y, low.overlaps(name)?.tau0))
        })?;
        let mut entropies = Self {
            uninformed: entropy,
            least: entropy,
            start: if one {
                Start::Either
            } else {
                Start::Uninformed
            },
        };
        if one {
            return Ok((entropies, low));
        }
        let between = points.between(tree, names, variable, [&low, &high])?;
        let starts = between.iter().map(|point| (Start::Between, point));
        for (start, point) in starts.chain([(Start::Informed, &high)]) {
            let entropy = point.information(tree)?.entropy;
            if entropy < entropies.least {
                (entropies.start, entropies.least) = (start, entropy);
            }
        }
        Ok((entropies, low))
    }
}

/// The precision, in units of $1/\tau_0$, that averages over both ends of a channel can follow.
const FOLLOWED: f64 = 1e17;

/// The start from which a fixed point is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Both starts lead to it.
    Either,
    /// From next to nothing: what expectation propagation attains.
    Uninformed,
    /// From some knowledge: the data determine a part of what expectation propagation does not find.
    Between,
    /// From the solution: the data determine what expectation propagation does not find.
    Informed,
}

/// The mutual information between a variable and the measurements, in nats per component of the first
/// variable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MutualInformation {
    /// The mutual information: that of the fixed point with the smallest entropy of the measurements.
    pub value: f64,
    /// The start that leads to this fixed point.
    pub start: Start,
    /// The same formula at the fixed point that expectation propagation attains; larger than `value` in a
    /// hard phase, and then not an information.
    pub attained: f64,
}

/// $I(x_i; y)$ of one variable, with the defaults of [`FixedPoints`].
///
/// # Errors
/// An unknown variable, a noiseless continuous output, a model that is not a Bayesian network, a fixed point that is not
/// reached, an entropy that cannot be computed.
pub fn mutual_information(tree: &Tree, variable: &str) -> Result<MutualInformation, RunError> {
    mutual_information_at(tree, variable, &FixedPoints::default())
}

/// $I(x_i; y)$ of one variable, its fixed points reached with these options.
///
/// $H(y \mid x_i)$ comes from the same tree with $x_i$ also seen through next to no noise, less what
/// that observation tells without $y$.
///
/// # Errors
/// As [`mutual_information`].
pub fn mutual_information_at(
    tree: &Tree,
    variable: &str,
    points: &FixedPoints,
) -> Result<MutualInformation, RunError> {
    let index = tree.variable(variable)?;
    check_defined(tree)?;
    let names: Vec<&str> = tree.variables().iter().map(|v| v.name.as_str()).collect();
    let (measured, low) = Entropies::of(tree, variable, &names, points)?;
    let precision = pinning(tree, least_noise(tree, &low.teacher).unwrap_or(1.0));
    let seen = tree.with_pseudo_observation(variable, low.teacher.tau0[index] / precision)?;
    let alone = seen.without_observations(variable)?;
    let entropy =
        |tree: &Tree| Ok::<_, RunError>(Entropies::of(tree, variable, &names, points)?.0.least);
    let (with, without) = (entropy(&seen)?, entropy(&alone)?);
    let given = with - without;
    let of = || format!("about `{variable}`");
    Ok(MutualInformation {
        value: not_negative([measured.least, -with, without], of)?,
        start: measured.start,
        attained: measured.uninformed - given,
    })
}

/// The precision, in units of $1/\tau_0$, of an observation that leaves nothing to learn: far above the least noise, and
/// no more than hidden channels that are averaged need.
fn pinning(tree: &Tree, noise: f64) -> f64 {
    let averaged = tree.factors().iter().any(|f| {
        let inner = f.inputs > 0 && f.inputs < f.edges.len();
        inner && f.factor.scalar().is_some() && f.factor.gaussian_average().is_none()
    });
    if averaged {
        FOLLOWED.max(1e8 / noise)
    } else {
        CERTAIN * (FAR_BELOW / noise).max(1.0)
    }
}

/// Refuses noiseless continuous outputs, and laws that their factors do not normalise.
fn check_defined(tree: &Tree) -> Result<(), RunError> {
    let noiseless = || noiseless_output(tree).map(|o| format!("`{o}` is a noiseless output"));
    match not_a_bayesian_network(tree).or_else(noiseless) {
        None => Ok(()),
        Some(why) => Err(RunError::NotDefined {
            what: "the mutual information with the measurements".to_owned(),
            why,
        }),
    }
}
