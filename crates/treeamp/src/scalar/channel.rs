//! The scalar channel $p(x \mid z)$ between two hidden variables.

use std::fmt::Debug;

use rand::Rng;

use super::{Elem, ScalarLikelihood, Tilt, TiltedPair};

/// A channel acting on each component:
/// $A = \ln \int dx\, dz\, p(x \mid z)\, e^{-\frac12 a_z z^2 + b_z z - \frac12 a_x x^2 + b_x x}$.
pub trait ScalarChannel: Debug + Clone + Send + Sync + 'static {
    /// Type of an input component.
    type In: Elem;
    /// Type of an output component.
    type Out: Elem;
    /// What the channel becomes when its output is observed.
    type Likelihood: ScalarLikelihood<Self::In, Output = Self::Out>;

    /// Name of this channel in messages, drawings and the catalogue.
    fn name(&self) -> &str;

    /// Joint log-partition and the moments of both ends, for finite precisions.
    fn tilted(&self, z: Tilt<Self::In>, x: Tilt<Self::Out>) -> TiltedPair<Self::In, Self::Out>;

    /// A draw of the output given the input.
    fn sample(&self, z: Self::In, rng: &mut dyn Rng) -> Self::Out;

    /// The output of a deterministic channel; `None` for a random one.
    fn map(&self, _z: Self::In) -> Option<Self::Out> {
        None
    }

    /// The likelihood of an observed output, if there is one.
    fn likelihood(&self) -> Option<Self::Likelihood>;

    /// $E|x|^2$ per real component when $z$ is a centred Gaussian of second moment `tau_z`.
    fn second_moment(&self, tau_z: f64) -> f64 {
        let z = Tilt {
            a: 1.0 / tau_z,
            b: Self::In::ZERO,
        };
        let x = Tilt {
            a: 0.0,
            b: Self::Out::ZERO,
        };
        let t = self.tilted(z, x);
        t.mean_x.norm_sqr() / Self::Out::REAL_LEN as f64 + t.variance_x
    }
}
