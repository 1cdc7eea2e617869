//! A scalar law seen from outside its type: what an average over a teacher needs.

use num_complex::Complex;

use super::{Elem, Tilt, Tilted, TiltedPair};

/// A place where a law lives or changes its form, with a width of its own: zero for an atom, a knee, an edge
/// or the end of a support, the standard deviation for a component of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Landmark {
    /// Where, on the axis of $x$ (priors) or $z$ (likelihoods, channels).
    pub place: f64,
    /// How wide.
    pub width: f64,
    /// A density ends or jumps here, and there is no mass in the place itself.
    pub edge: bool,
}

/// How a function behaves under a change of the sign of its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parity {
    /// $\varphi(-z) = \varphi(z)$.
    Even,
    /// $\varphi(-z) = -\varphi(z)$.
    Odd,
}

impl Landmark {
    /// An atom, a knee or an end.
    #[must_use]
    pub fn at(place: f64) -> Self {
        Self::spread(place, 0.0)
    }

    /// The edge of a density.
    #[must_use]
    pub fn edge(place: f64) -> Self {
        Self {
            edge: true,
            ..Self::at(place)
        }
    }

    /// A component of this centre and standard deviation.
    #[must_use]
    pub fn spread(place: f64, width: f64) -> Self {
        Self {
            place,
            width,
            edge: false,
        }
    }
}

/// What an average over a law may count on.
///
/// A complex law is averaged through its values on the real axis, $b \ge 0$: its symmetry says which
/// measure belongs to them, and what is independent of the rest. Only a constellation is averaged over the plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// A real law.
    Line,
    /// $p(e^{i\theta}x) = p(x)$ of a complex prior, $p(y \mid e^{i\theta}z) = p(y \mid z)$ of an output or channel: everything
    /// depends on $|b|$, and means point along $b$.
    Circular,
    /// $p(e^{i\theta}y \mid e^{i\theta}z) = p(y \mid z)$ with $z$ on the ray through $y$: everything depends on
    /// $\mathrm{Re}(\bar y b)$, and means point along $y$.
    Ray,
    /// A complex prior of finitely many values: it is averaged over the plane, and [`ScalarView::constellation`] lists them.
    Constellation,
    /// A complex law that has none: there is no average of it.
    Unknown,
}

impl Symmetry {
    /// The default of a law on elements of this many real components.
    #[must_use]
    pub fn default_for(real_len: usize) -> Self {
        if real_len == 1 {
            Self::Line
        } else {
            Self::Unknown
        }
    }
}

/// A linear piece of a deterministic channel: $x = \text{offset} + \text{slope}\cdot z$ from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Lower end, possibly $-\infty$.
    pub start: f64,
    /// Upper end, possibly $+\infty$.
    pub end: f64,
    /// The value of the line at $z = 0$.
    pub offset: f64,
    /// Its slope.
    pub slope: f64,
}

/// How the outputs $y$ of a likelihood are distributed, for averages over them.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputMeasure {
    /// Finitely many values.
    Finite(Vec<f64>),
    /// $y = \varphi(w)$ of $w = z + \sqrt\Delta\,\xi$: integrate over $w$ instead. Behind noise $\varphi$ is the identity where it is not
    /// flat, or the modulus of a complex number.
    PushForward {
        /// The noise variance $\Delta$, per real component.
        noise_variance: f64,
        /// Values of positive probability: those of flat regions of $\varphi$.
        atoms: Vec<f64>,
        /// The intervals of $w$ where $\varphi$ is not flat, and $y$ has a density.
        curves: Vec<(f64, f64)>,
        /// Values of $y$ where its law changes its form: the ends of the images of regions.
        corners: Vec<f64>,
    },
    /// The counts 0, 1, 2, ...; the law is analytic in $y$ between them.
    Counts,
    /// A density on the line, of these scales of $y$ at given $z$.
    Density(Vec<f64>),
    /// $y = |z|$ of a complex $z$. The law at $y$ is the one at 1 scaled: it depends on $y|b|$.
    Modulus,
}

impl OutputMeasure {
    /// At a given input the output is random.
    #[must_use]
    pub fn has_noise(&self) -> bool {
        match self {
            Self::Finite(_) | Self::Counts | Self::Density(_) => true,
            Self::PushForward { noise_variance, .. } => *noise_variance > 0.0,
            Self::Modulus => false,
        }
    }

    /// $y = \varphi(z)$ of a function that is nowhere flat.
    #[must_use]
    pub fn smooth() -> Self {
        Self::noisy(0.0)
    }

    /// $y = z + \sqrt\Delta\,\xi$.
    #[must_use]
    pub fn noisy(noise_variance: f64) -> Self {
        Self::PushForward {
            noise_variance,
            atoms: Vec::new(),
            curves: vec![(f64::NEG_INFINITY, f64::INFINITY)],
            corners: Vec::new(),
        }
    }
}

/// $A - \frac{b^2}{2a} - \tfrac12\ln\frac{2\pi}a$ by the difference, for laws that have nothing better; the last term once per real component.
#[must_use]
pub(crate) fn excess_by_difference<E: Elem>(log_z: f64, a: f64, b: E) -> f64 {
    let n = E::REAL_LEN as f64;
    log_z - 0.5 * b.dot(b.scale(1.0 / a)) - 0.5 * n * (std::f64::consts::TAU / a).ln()
}

/// The same for a pair, over the tilts of the marked ends.
#[must_use]
fn pair_excess_by_difference(log_z: f64, z: Tilt, x: Tilt, over: [bool; 2]) -> f64 {
    let ends = [z, x].into_iter().zip(over).filter(|(_, marked)| *marked);
    ends.fold(log_z, |excess, (t, _)| {
        excess_by_difference(excess, t.a, t.b)
    })
}

/// A scalar law behind an object-safe face: a prior, a likelihood or a channel.
///
/// The *excess* of a law at a tilt with $a > 0$ is its log-partition less that of the tilt alone,
/// $X(a, b) = \ln\int p(x)\,\mathcal N(x; \tfrac ba, \tfrac1a)\,dx = A - \tfrac{b^2}{2a} - \tfrac12\ln\tfrac{2\pi}a$.
/// Averages at high precision are weighted by it, because $A$ itself grows like $b^2/2a$.
pub trait ScalarView: Send + Sync {
    /// The symmetry of the law; a complex one is seen on the real axis.
    fn symmetry(&self) -> Symmetry {
        Symmetry::Line
    }

    /// A prior tilted by $e^{-\frac12 a x^2 + b x}$; `None` for a likelihood or channel.
    fn prior(&self, _x: Tilt) -> Option<Tilted> {
        None
    }

    /// The excess of a prior; `None` for a likelihood or channel.
    fn prior_excess(&self, x: Tilt) -> Option<f64> {
        let t = self.prior(x)?;
        Some(excess_by_difference(t.log_z, x.a, x.b))
    }

    /// The log-density of a prior at a place, without its point masses; `None` for a likelihood or channel.
    fn log_density(&self, _x: f64) -> Option<f64> {
        None
    }

    /// The density of a prior at a place, without its point masses; `None` for a likelihood or channel.
    fn density(&self, x: f64) -> Option<f64> {
        self.log_density(x).map(f64::exp)
    }

    /// The log-density, or log-probability, of an output of a likelihood at an input; `None` for a prior or channel.
    fn output_log_density(&self, _y: f64, _z: f64) -> Option<f64> {
        None
    }

    /// The point masses of a prior, as pairs of place and probability.
    fn point_masses(&self) -> Vec<(f64, f64)> {
        Vec::new()
    }

    /// The values of a complex prior of finitely many, with their probabilities; empty for any other law.
    fn constellation(&self) -> Vec<(Complex<f64>, f64)> {
        Vec::new()
    }

    /// The closed support of a prior.
    fn support(&self) -> (f64, f64) {
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// A likelihood tilted at an output; `None` for a prior or channel.
    fn likelihood(&self, _y: f64, _z: Tilt) -> Option<Tilted> {
        None
    }

    /// The excess of a likelihood at an output; `None` for a prior or channel.
    fn likelihood_excess(&self, y: f64, z: Tilt) -> Option<f64> {
        let t = self.likelihood(y, z)?;
        Some(excess_by_difference(t.log_z, z.a, z.b))
    }

    /// A likelihood tilted at an output together with its excess, where one integral gives both; `None` for all others.
    fn likelihood_with_excess(&self, _y: f64, _z: Tilt) -> Option<(Tilted, f64)> {
        None
    }

    /// A channel tilted at both ends; `None` for a prior or likelihood.
    fn channel(&self, _z: Tilt, _x: Tilt) -> Option<TiltedPair> {
        None
    }

    /// A channel tilted at both ends, and its excess over the tilts of the marked ends; `None` for a prior
    /// or likelihood.
    fn channel_with_excess(&self, z: Tilt, x: Tilt, over: [bool; 2]) -> Option<(TiltedPair, f64)> {
        let t = self.channel(z, x)?;
        Some((t, pair_excess_by_difference(t.log_z, z, x, over)))
    }

    /// A channel in a form that is cheap at the fixed precisions $a_z, a_x$, for inputs of mean up to `reach`.
    fn tabulated(&self, _a: [f64; 2], _reach: f64) -> Option<Box<dyn ScalarView>> {
        None
    }

    /// Where the output of a channel lives when its input has this mean and deviation.
    fn images(&self, _mean: f64, _deviation: f64) -> Vec<Landmark> {
        Vec::new()
    }

    /// A deterministic channel that is analytic near the real axis, on the scale of one.
    fn is_smooth(&self) -> bool {
        false
    }

    /// The pieces of a channel that is piecewise linear, in ascending order; empty for any other.
    fn pieces(&self) -> Vec<Piece> {
        Vec::new()
    }

    /// How the outputs of a likelihood are distributed.
    fn outputs(&self) -> Option<OutputMeasure> {
        None
    }

    /// A likelihood of additive noise by quadrature, even and smooth on a logarithmic scale: averages tabulate it.
    fn is_tabulated(&self) -> bool {
        false
    }

    /// Says what is wrong with an output that a likelihood can never produce.
    ///
    /// # Errors
    /// A phrase of the form "expected ..., got ...".
    fn check_output(&self, _y: f64) -> Result<(), String> {
        Ok(())
    }

    /// How many components a likelihood is the law of, if these differ in more than their output.
    fn components(&self) -> Option<usize> {
        None
    }

    /// The law of one of them.
    fn component(&self, _i: usize) -> Option<Box<dyn ScalarView>> {
        None
    }

    /// The deterministic part of an output or of a channel.
    fn map(&self, _z: f64) -> Option<f64> {
        None
    }

    /// The symmetry of the output of a likelihood or channel, if it has one. Averages are taken over half of
    /// the fields then.
    fn parity(&self) -> Option<Parity> {
        None
    }

    /// The landmarks of a prior or channel, or those of a likelihood at an output.
    fn landmarks(&self, _y: Option<f64>) -> Vec<Landmark> {
        Vec::new()
    }

    /// The fields $b$ at which the mean of a student of precision `a` has a corner: the ends of an active set.
    fn corners(&self, _a: f64) -> Vec<f64> {
        Vec::new()
    }

    /// A likelihood at `y` is Gaussian in $z$, or leaves one point: its mean is linear in $b$ and its
    /// log-partition quadratic.
    fn quadratic(&self, _y: f64) -> bool {
        false
    }

    /// Mean and variance of a Gaussian prior; zero and $\Delta$ for the likelihood $y = z + \sqrt\Delta\,\xi$.
    fn gaussian(&self) -> Option<(f64, f64)> {
        None
    }
}
