//! Trees that are a prior, a linear channel and an output: where the map has a closed form.

use crate::catalog::channels::GaussianNoise;
use crate::factor::downcast;
use crate::math::spectrum::Spectrum;
use crate::model::{FactorNode, Tree};
use crate::scalar::ScalarView;

/// A signal with a prior, a channel and an output.
pub(in super::super::super) struct Chain<'t> {
    pub prior: &'t FactorNode,
    /// A likelihood, or an activation seen through noise.
    pub output: &'t FactorNode,
    /// The noise beside it.
    pub noise: Noise,
    /// Outputs per unknown: the ratio of a matrix of independent entries, the rank of any other that is seen without noise; infinite where they
    /// determine the signal whatever its prior.
    pub ratio: f64,
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

impl<'t> Chain<'t> {
    /// The chain of a tree, with or without noise of its own behind it; `None` for any other tree, and for matrices whose spectrum matters.
    pub fn of(tree: &'t Tree, signal: usize) -> Option<Self> {
        if !(3..=4).contains(&tree.factors().len()) {
            return None;
        }
        let variable = |node: &FactorNode, port: usize| tree.edges()[node.edges[port]].variable;
        let behind = |index: usize, ports: usize| {
            let fits = |f: &&FactorNode| {
                f.inputs == 1 && f.edges.len() == ports && variable(f, 0) == index
            };
            tree.factors().iter().find(fits)
        };
        let is_prior = |f: &&FactorNode| f.inputs == 0 && f.edges.len() == 1;
        let prior = tree.factors().iter().find(is_prior)?;
        let linear = behind(signal, 2)?;
        let z = variable(linear, 1);
        if variable(prior, 0) != signal {
            return None;
        }
        let (output, noise) = if let (Some(output), 3) = (behind(z, 1), tree.factors().len()) {
            (output, Noise::None)
        } else {
            let channel = behind(z, 2)?;
            with_noise(channel, behind(variable(channel, 1), 1)?)?
        };
        let mut chain = Self {
            prior,
            output,
            noise,
            ratio: 0.0,
        };
        chain.ratio = chain.ratio_of(linear.factor.spectrum()?)?;
        Some(chain)
    }

    /// All that comes out of the matrix is seen.
    pub fn is_noiseless_linear(&self) -> bool {
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
