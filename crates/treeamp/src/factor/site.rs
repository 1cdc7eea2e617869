//! A factor on its own: what it answers to given messages, outside of a run.

use super::{Context, Factor, Incoming, PosteriorRule, ProximalRule, Workspace};
use crate::belief::{Gaussian, Moments, SignalSpec};
use crate::error::{FactorError, brief};

/// A factor with messages at all its ports and a workspace of its own.
///
/// ```
/// use treeamp::belief::{Gaussian, SignalSpec};
/// use treeamp::factor::Site;
/// use treeamp::prelude::*;
/// let spec = SignalSpec::real([1]);
/// let mut message = Gaussian::flat(&spec);
/// message.set_precision(2.0);
/// message.linear[0] = 2.0;
/// let noise = GaussianNoise::new(0.5)?;
/// let specs = [spec.clone(), spec.clone()];
/// let mut site = Site::new(&noise, &specs, vec![message, Gaussian::flat(&spec)]);
/// assert_eq!(site.message(1)?.linear, [1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Site<'a> {
    factor: &'a dyn Factor,
    /// The messages that reach its ports.
    pub messages: Vec<Gaussian>,
    slots: Vec<usize>,
    workspace: Workspace,
}

impl<'a> Site<'a> {
    /// A factor, the signals at its ports, and the messages that reach them.
    #[must_use]
    pub fn new(factor: &'a dyn Factor, specs: &[SignalSpec], messages: Vec<Gaussian>) -> Self {
        Self {
            factor,
            slots: (0..messages.len()).collect(),
            messages,
            workspace: factor.workspace(specs),
        }
    }

    /// What the factor computes from.
    pub fn context(&mut self) -> Context<'_> {
        let incoming = Incoming::new(&self.messages, &self.slots);
        Context::new(incoming, &mut self.workspace)
    }

    /// The message of expectation propagation to a port.
    ///
    /// # Errors
    /// A factor without a rule, or an improper tilted law.
    pub fn message(&mut self, port: usize) -> Result<Gaussian, FactorError> {
        let mut out = self.messages[port].clone();
        posterior(self.factor)?.message(&mut self.context(), port, &mut out)?;
        Ok(out)
    }

    /// Mean and variance of the variable at a port.
    ///
    /// # Errors
    /// As [`message`](Self::message), and a law without a variance beside these messages, such as one without a second moment at
    /// precision 0.
    pub fn moments(&mut self, port: usize) -> Result<Moments, FactorError> {
        let mut out = Moments::like(&self.messages[port]);
        posterior(self.factor)?.moments(&mut self.context(), port, &mut out)?;
        if out.average_variance() == f64::INFINITY {
            return Err(self.without_variance());
        }
        Ok(out)
    }

    fn without_variance(&self) -> FactorError {
        let precisions = self.messages.iter().map(|m| m.precision.mean_diagonal());
        let precisions: Vec<String> = precisions.map(brief).collect();
        FactorError::Improper(format!(
            "`{}` has no variance beside incoming precisions of {}",
            self.factor.name(),
            precisions.join(", ")
        ))
    }

    /// $A_f$.
    ///
    /// # Errors
    /// As [`moments`](Self::moments).
    pub fn log_partition(&mut self) -> Result<f64, FactorError> {
        let found = posterior(self.factor)?.log_partition(&mut self.context())?;
        if found == f64::INFINITY {
            // a density at its place may be infinite, an integral must not
            for port in 0..self.messages.len() {
                self.moments(port)?;
            }
        }
        Ok(found)
    }

    /// $A_f$ less the potentials of the messages.
    ///
    /// # Errors
    /// As [`message`](Self::message).
    pub fn excess(&mut self) -> Result<f64, FactorError> {
        posterior(self.factor)?.excess(&mut self.context())
    }

    /// Mode and inverse curvature at a port.
    ///
    /// # Errors
    /// A factor without a mode, or none at these messages.
    pub fn mode(&mut self, port: usize) -> Result<Moments, FactorError> {
        let mut out = Moments::like(&self.messages[port]);
        proximal(self.factor)?.mode(&mut self.context(), port, &mut out)?;
        Ok(out)
    }

    /// $A_f$ and $A_f - \sum_i\|b_i\|^2/2a_i$ at zero temperature.
    ///
    /// # Errors
    /// As [`mode`](Self::mode).
    pub fn envelope(&mut self) -> Result<(f64, f64), FactorError> {
        proximal(self.factor)?.envelope(&mut self.context())
    }
}

/// The expectation propagation of a factor.
pub(crate) fn posterior(factor: &dyn Factor) -> Result<&dyn PosteriorRule, FactorError> {
    let missing = || FactorError::Unsupported("no expectation propagation rule".to_owned());
    factor.posterior().ok_or_else(missing)
}

/// The mode of a factor.
pub(crate) fn proximal(factor: &dyn Factor) -> Result<&dyn ProximalRule, FactorError> {
    let missing = || FactorError::Unsupported("no mode".to_owned());
    factor.proximal().ok_or_else(missing)
}
