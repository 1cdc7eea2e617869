//! The scalar prior $p(x)$.

use std::fmt::Debug;

use rand::Rng;

use crate::math::special::log_add_exp;

use super::{Elem, Landmark, ScalarView, Symmetry, Tilt, Tilted, excess_by_difference};

/// Point masses of this sum, up to rounding, leave nothing for a density.
const ALL_ATOMS: f64 = 1e-12;

/// $\ln\sum_k p_k\,\mathcal N(x_k; \tfrac ba, \tfrac1a)$, without a difference of large numbers.
fn excess_of_atoms<E: Elem>(atoms: &[(E, f64)], a: f64, b: E) -> f64 {
    let centre = b.scale(1.0 / a);
    let heights = atoms.iter().map(|(x, p)| {
        let d = x.minus(centre);
        p.ln() - 0.5 * a * d.norm_sqr()
    });
    let sum = heights.fold(f64::NEG_INFINITY, log_add_exp);
    sum + 0.5 * E::REAL_LEN as f64 * (a / std::f64::consts::TAU).ln()
}

/// A law of one component: $A(a, b) = \ln \int dx\, p(x)\, e^{-\frac12 a|x|^2 + \mathrm{Re}(\bar b x)}$.
///
/// `tilted`, `sample` and `log_density` (with `atoms` for laws with point masses) are all an author
/// writes; see `docs/add-a-prior.md`.
pub trait ScalarPrior<E: Elem = f64>: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Catalogue name.
    const NAME: &'static str;

    /// $A$, $r = \partial_b A$, $v = \partial_b^2 A$ for finite $a$ (negative included) and $b$.
    fn tilted(&self, a: f64, b: E) -> Tilted<E>;

    /// The mean and variance alone, where they are cheaper than all three.
    fn moments(&self, a: f64, b: E) -> (E, f64) {
        let t = self.tilted(a, b);
        (t.mean, t.variance)
    }

    /// [`moments`](Self::moments) of many fields at one precision. Override it where a loop over them compiles to vector instructions
    /// ([`vector`](crate::math::vector)).
    fn moments_over(&self, a: f64, b: &[E], mean: &mut [E], variance: &mut [f64]) {
        for ((b, mean), variance) in b.iter().zip(mean).zip(variance) {
            (*mean, *variance) = self.moments(a, *b);
        }
    }

    /// One draw.
    fn sample(&self, rng: &mut dyn Rng) -> E;

    /// Log-density of the absolutely continuous part; $-\infty$ where there is none.
    fn log_density(&self, x: E) -> f64;

    /// The point masses, as pairs of place and probability.
    fn atoms(&self) -> Vec<(E, f64)> {
        Vec::new()
    }

    /// The closed support (real laws).
    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The natural parameters if the law is itself Gaussian: its message is then constant.
    fn as_gaussian(&self) -> Option<Tilt<E>> {
        None
    }

    /// Weights, means and variances of the Gaussians that it is a mixture of, a variance of zero being a point; `None` of any other law.
    fn mixture(&self) -> Option<Vec<(f64, E, f64)>> {
        if let Some(own) = self.as_gaussian() {
            return Some(vec![(1.0, own.b.scale(1.0 / own.a), 1.0 / own.a)]);
        }
        let atoms = self.atoms();
        let mass: f64 = atoms.iter().map(|(_, p)| p).sum();
        let points = atoms.into_iter().map(|(x, p)| (p, x, 0.0));
        ((mass - 1.0).abs() < ALL_ATOMS).then(|| points.collect())
    }

    /// $\ln\int p(x)\,\mathcal N(x; \tfrac ba, \tfrac1a)\,dx = A - \tfrac{|b|^2}{2a} - \tfrac12\ln\tfrac{2\pi}a$ for $a > 0$, the last
    /// term once per real component. Averages at high precision are weighted by it. Of a law that is all atoms it is their sum;
    /// otherwise override it where it can be had without the difference, which loses its digits there.
    fn excess(&self, a: f64, b: E) -> f64 {
        let atoms = self.atoms();
        let mass: f64 = atoms.iter().map(|(_, p)| p).sum();
        if (mass - 1.0).abs() < ALL_ATOMS && a > 0.0 {
            return excess_of_atoms(&atoms, a, b);
        }
        excess_by_difference(self.tilted(a, b).log_z, a, b)
    }

    /// Centres and standard deviations of the components (real laws). Atoms, ends of the support, and
    /// the mean and deviation of the whole are known anyway.
    fn landmarks(&self) -> Vec<Landmark> {
        Vec::new()
    }

    /// The mode $\mathrm{argmax}_x\{\ln p(x) - \tfrac12 a x^2 + b x\}$ and its derivative in $b$, where the law has a density with
    /// one that can be written down; always or never `Some` for $a \ge 0$ (real laws).
    fn mode(&self, _a: f64, _b: E) -> Option<(E, f64)> {
        None
    }

    /// $\tau_0 = E|x|^2$ per real component.
    fn second_moment(&self) -> f64 {
        self.tilted(0.0, E::ZERO).second_moment()
    }

    /// What an average over the law may count on: a complex law without a symmetry has none.
    fn symmetry(&self) -> Symmetry {
        Symmetry::default_for(E::REAL_LEN)
    }

    /// The real law of which the real and the imaginary part are independent draws, if it is one.
    fn part(&self) -> Option<&dyn ScalarView> {
        None
    }

    /// The parameters by name, for descriptions.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
