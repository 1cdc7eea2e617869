//! Trees that are a prior, and one or more linear channels with an output each: where the map has a closed form.

use crate::catalog::channels::GaussianNoise;
use crate::factor::downcast;
use crate::math::spectrum::Spectrum;
use crate::model::{FactorNode, Tree};
use crate::scalar::ScalarView;

/// A signal with a prior, and what is seen of it.
pub(in super::super::super) struct Star<'t> {
    pub prior: &'t FactorNode,
    pub branches: Vec<Branch<'t>>,
}

/// A channel and an output.
pub(in super::super::super) struct Branch<'t> {
    /// A likelihood, or an activation seen through noise.
    pub output: &'t FactorNode,
    /// The noise beside it.
    pub noise: Noise,
    /// Outputs per unknown: the ratio of a matrix of independent entries, the rank of any other that is seen without noise; infinite where they
    /// determine the signal whatever its prior.
    pub ratio: f64,
    factors: usize,
}

/// Gaussian noise beside an output, and its variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super::super) enum Noise {
    None,
    /// Added to what goes into a likelihood.
    Before(f64),
    /// Added to what comes out of an activation.
    After(f64),
}

impl<'t> Star<'t> {
    /// The star of a tree; `None` for any other tree, and for matrices whose spectrum matters.
    pub fn of(tree: &'t Tree, signal: usize) -> Option<Self> {
        let behind = |f: &&FactorNode| f.inputs == 1 && variable(tree, f, 0) == signal;
        let is_prior = |f: &&FactorNode| f.inputs == 0 && f.edges.len() == 1;
        let prior = tree.factors().iter().find(is_prior)?;
        if variable(tree, prior, 0) != signal {
            return None;
        }
        let channels = tree.factors().iter().filter(behind);
        let branches: Option<Vec<_>> = channels.map(|f| Branch::of(tree, f)).collect();
        let star = Self {
            prior,
            branches: branches?,
        };
        let factors: usize = star.branches.iter().map(|b| b.factors).sum();
        let exact = |b: &Branch<'_>| b.is_noiseless_linear();
        let alone = star.branches.len() == 1 || !star.branches.iter().any(exact);
        let complete = !star.branches.is_empty() && tree.factors().len() == 1 + factors;
        (complete && alone).then_some(star)
    }

    /// All that comes out of the one matrix is seen.
    pub fn is_noiseless_linear(&self) -> bool {
        self.branches.iter().any(Branch::is_noiseless_linear)
    }

    /// Outputs per unknown, of all branches.
    pub fn ratio(&self) -> f64 {
        self.branches.iter().map(|b| b.ratio).sum()
    }
}

fn variable(tree: &Tree, node: &FactorNode, port: usize) -> usize {
    tree.edges()[node.edges[port]].variable
}

impl<'t> Branch<'t> {
    /// The branch that begins with a factor, with or without noise beside its output.
    fn of(tree: &'t Tree, linear: &'t FactorNode) -> Option<Self> {
        let behind = |index: usize| {
            let mut all = tree.factors().iter();
            all.find(|f| f.inputs == 1 && variable(tree, f, 0) == index)
        };
        if linear.edges.len() != 2 {
            return None;
        }
        let first = behind(variable(tree, linear, 1))?;
        let (output, noise, factors) = match first.edges.len() {
            1 => (first, Noise::None, 2),
            2 => {
                let (output, noise) = with_noise(first, behind(variable(tree, first, 1))?)?;
                (output, noise, 3)
            }
            _ => return None,
        };
        let mut branch = Self {
            output,
            noise,
            ratio: 0.0,
            factors,
        };
        branch.ratio = branch.ratio_of(linear.factor.spectrum()?)?;
        Some(branch)
    }

    /// All that comes out of the matrix is seen.
    fn is_noiseless_linear(&self) -> bool {
        self.noise == Noise::None && gaussian_noise(self.output) == Some(0.0)
    }

    /// What the map depends on of a spectrum, if it is one number.
    fn ratio_of(&self, spectrum: &Spectrum) -> Option<f64> {
        let (rank, alpha) = (spectrum.rank(), spectrum.alpha());
        if self.is_noiseless_linear() {
            return Some(if rank < 1.0 { rank } else { f64::INFINITY });
        }
        let iid = Spectrum::marchenko_pastur(alpha).is_ok_and(|iid| iid == *spectrum);
        iid.then_some(alpha)
    }
}

/// Two factors that are an output and Gaussian noise, after it or before it.
fn with_noise<'t>(
    channel: &'t FactorNode,
    last: &'t FactorNode,
) -> Option<(&'t FactorNode, Noise)> {
    if last.edges.len() != 1 {
        return None;
    }
    if let Some(delta) = gaussian_noise(last).filter(|delta| *delta > 0.0) {
        return Some((channel, Noise::After(delta)));
    }
    let before = downcast::<GaussianNoise>(channel.factor.as_ref())?;
    let delta = Some(before.noise_variance()).filter(|delta| *delta > 0.0)?;
    Some((last, Noise::Before(delta)))
}

/// The variance of a Gaussian output.
fn gaussian_noise(node: &FactorNode) -> Option<f64> {
    let law = node.factor.scalar().and_then(ScalarView::gaussian);
    law.map(|(_, noise)| noise)
}
