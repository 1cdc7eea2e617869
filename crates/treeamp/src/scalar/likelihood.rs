//! The scalar likelihood $p(y \mid z)$ at an observed $y$.

use std::borrow::Cow;
use std::fmt::Debug;

use rand::Rng;

use super::{
    Elem, Landmark, OutputMeasure, Parity, ScalarView, Symmetry, Tilt, Tilted, excess_by_difference,
};

/// An observed output: $A(a, b; y) = \ln \int dz\, p(y \mid z)\, e^{-\frac12 a|z|^2 + \mathrm{Re}(\bar b z)}$.
pub trait ScalarLikelihood<E: Elem = f64>:
    Debug + Clone + PartialEq + Send + Sync + 'static
{
    /// Catalogue name.
    const NAME: &'static str;
    /// A real law that treats the real and the imaginary part of a complex signal as two components
    /// is the complex law: Gaussian noise.
    const ON_PARTS: bool = false;
    /// The type of an observation.
    type Output: Elem;

    /// $A$, $r = \partial_b A$, $v = \partial_b^2 A$ for finite $a$ (negative included) and $b$.
    fn tilted(&self, y: Self::Output, a: f64, b: E) -> Tilted<E>;

    /// The mean and variance alone, where they are cheaper than all three.
    fn moments(&self, y: Self::Output, a: f64, b: E) -> (E, f64) {
        let t = self.tilted(y, a, b);
        (t.mean, t.variance)
    }

    /// How many components it is the law of, if these differ in more than their output: a variance per observation.
    fn components(&self) -> Option<usize> {
        None
    }

    /// The shape of the parameters of these components, which is the signal's, where it is known.
    fn shape(&self) -> Option<&[usize]> {
        None
    }

    /// The law of component `i`.
    fn of(&self, _i: usize) -> Cow<'_, Self> {
        Cow::Borrowed(self)
    }

    /// A draw of $y$ given $z$.
    fn sample(&self, z: E, rng: &mut dyn Rng) -> Self::Output;

    /// $\ln p(y \mid z)$; $\pm\infty$ where a noiseless output has a density or none.
    fn log_density(&self, y: Self::Output, z: E) -> f64;

    /// Says what is wrong with an observation that this output can never produce.
    ///
    /// # Errors
    /// A phrase of the form "expected ..., got ...".
    fn check(&self, y: Self::Output) -> Result<(), String>;

    /// The closed set of inputs compatible with `y`, as the smallest interval (real laws).
    fn support(&self, _y: Self::Output) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// $\ln\int p(y \mid z)\,\mathcal N(z; \tfrac ba, \tfrac1a)\,dz = A - \tfrac{|b|^2}{2a} - \tfrac12\ln\tfrac{2\pi}a$ for $a > 0$,
    /// the last term once per real component. Override it where it can be had without the difference.
    fn excess(&self, y: Self::Output, a: f64, b: E) -> f64 {
        excess_by_difference(self.tilted(y, a, b).log_z, a, b)
    }

    /// The tilted law together with its excess, where one integral gives both; `None` for all others.
    fn tilted_with_excess(&self, _y: Self::Output, _a: f64, _b: E) -> Option<(Tilted<E>, f64)> {
        None
    }

    /// The mode $\mathrm{argmax}_z\{\ln p(y \mid z) - \tfrac12 a z^2 + b z\}$ and its derivative in $b$, where $\ln p(y \mid z)$ is concave
    /// in $z$; always or never `Some`. An infinite derivative says that there is none.
    fn mode(&self, _y: Self::Output, _a: f64, _b: E) -> Option<(E, f64)> {
        None
    }

    /// How the outputs are distributed, for averages over them; `None` if that is not known, and
    /// there is then no state evolution of this output.
    fn outputs(&self) -> Option<OutputMeasure> {
        None
    }

    /// $y - z$ has an even law of its own, by quadrature and smooth on a logarithmic scale: averages of state evolution tabulate it at one
    /// precision.
    fn is_tabulated(&self) -> bool {
        false
    }

    /// The output of a deterministic law, or the noiseless part of a noisy one.
    fn map(&self, _z: E) -> Option<Self::Output> {
        None
    }

    /// The inputs where the law at `y` lives or changes its form: preimages, ends of intervals (real
    /// laws). The ends of the support are known anyway.
    fn landmarks(&self, _y: Self::Output) -> Vec<Landmark> {
        Vec::new()
    }

    /// The symmetry of the output under a change of the sign of the input, if it has one (real laws).
    fn parity(&self) -> Option<Parity> {
        None
    }

    /// $\Delta$ if the output is $y = z + \sqrt\Delta\,\xi$.
    fn noise_variance(&self) -> Option<f64> {
        None
    }

    /// The natural parameters in $z$ if the likelihood is Gaussian; `a = ∞` pins $z$ at `b`.
    fn as_gaussian(&self, _y: Self::Output) -> Option<Tilt<E>> {
        None
    }

    /// $H[y \mid z]$ in nats per real component; `None` where it depends on $z$, and where it is not defined, for a noiseless continuous
    /// output.
    fn noise_entropy(&self) -> Option<f64> {
        None
    }

    /// Its average over $z \sim \mathcal N(0, \tau)$ in nats per real component, where that can be had without the averages of state
    /// evolution.
    fn noise_entropy_at(&self, _tau: f64) -> Option<f64> {
        self.noise_entropy()
    }

    /// What an average over the law may count on: a complex law without a symmetry has none.
    fn symmetry(&self) -> Symmetry {
        Symmetry::default_for(E::REAL_LEN)
    }

    /// The real law that sees the real and the imaginary part independently, if it is one.
    fn part(&self) -> Option<&dyn ScalarView> {
        None
    }

    /// The parameters by name, for descriptions.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
