//! The scalar channel $p(x \mid z)$ between two hidden variables.

use std::fmt::Debug;

use rand::Rng;

use super::{
    Elem, Landmark, Parity, Piece, ScalarLikelihood, ScalarView, Symmetry, Tilt, TiltedPair,
    excess_by_difference,
};

/// A channel acting on each component:
/// $A = \ln \int dx\, dz\, p(x \mid z)\, e^{-\frac12 a_z z^2 + b_z z - \frac12 a_x x^2 + b_x x}$.
pub trait ScalarChannel: Debug + Clone + PartialEq + Send + Sync + 'static {
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

    /// The tilted pair together with its excess: the log-partition less those of the tilts at the marked
    /// ends, of positive precision. Over both ends it is
    /// $\ln\int p(x \mid z)\,\mathcal N(z; \tfrac{b_z}{a_z}, \tfrac1{a_z})\,\mathcal N(x; \tfrac{b_x}{a_x}, \tfrac1{a_x})\,dx\,dz$. Override it where
    /// that can be had without the difference of large terms.
    fn tilted_with_excess(
        &self,
        z: Tilt<Self::In>,
        x: Tilt<Self::Out>,
        over: [bool; 2],
    ) -> (TiltedPair<Self::In, Self::Out>, f64) {
        let t = self.tilted(z, x);
        let mut excess = t.log_z;
        if over[0] {
            excess = excess_by_difference(excess, z.a, z.b);
        }
        if over[1] {
            excess = excess_by_difference(excess, x.a, x.b);
        }
        (t, excess)
    }

    /// The same law in a form that is cheap at the fixed precisions $a_z, a_x$, for inputs of mean up to
    /// `reach`; `None` if there is none.
    fn tabulated(&self, _a: [f64; 2], _reach: f64) -> Option<Box<dyn ScalarView>> {
        None
    }

    /// Inputs where the channel changes its form, such as knees (real channels).
    fn landmarks(&self) -> Vec<Landmark> {
        Vec::new()
    }

    /// Where the output lives, and how wide, when the input has this mean and deviation (real
    /// channels); by default from the [map](Self::map) of a monotone channel.
    fn images(&self, mean: f64, deviation: f64) -> Vec<Landmark> {
        let map = |z: f64| self.map(Self::In::from_real(z)).map(Elem::re);
        let Some(centre) = map(mean) else {
            return Vec::new();
        };
        let width = [-6.0, -2.0, -1.0, 1.0, 2.0, 6.0]
            .iter()
            .filter_map(|s| Some((map(mean + s * deviation)? - centre).abs() / s.abs()))
            .fold(0.0, f64::max);
        let ends = [-9.0, 9.0].iter().filter_map(|s| map(mean + s * deviation));
        let mut marks: Vec<Landmark> = ends.map(Landmark::edge).collect();
        marks.push(Landmark::spread(centre, width));
        marks
    }

    /// A deterministic channel that is analytic near the real axis, on the scale of one: it is averaged as a linear one
    /// where its input is known next to exactly.
    fn is_smooth(&self) -> bool {
        false
    }

    /// The pieces of a channel that is piecewise linear, in ascending order; empty for any other. Averages then
    /// follow each piece.
    fn pieces(&self) -> Vec<Piece> {
        Vec::new()
    }

    /// What an average over the law may count on: a channel with a complex end and no symmetry has
    /// none.
    fn symmetry(&self) -> Symmetry {
        Symmetry::default_for(Self::In::REAL_LEN.max(Self::Out::REAL_LEN))
    }

    /// The symmetry of the output under a change of the sign of the input, if it has one (real laws).
    fn parity(&self) -> Option<Parity> {
        None
    }

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
