//! A real law on the real and on the imaginary part of a complex component, independently.
//!
//! $A(a, b) = A_1(a, \mathrm{Re}\,b) + A_1(a, \mathrm{Im}\,b)$; the mean has the two means as its parts, and the
//! variance per real component is the average of the two.

use num_complex::Complex;
use rand::Rng;

use super::{IidLaw, ObservedLaw, SeparableLikelihood, SeparablePrior};
use crate::scalar::{OutputMeasure, ScalarLikelihood, ScalarPrior, ScalarView, Tilt, Tilted};

/// A real prior on both parts of a complex component. Not circular, unless the law is a centred
/// Gaussian.
///
/// ```
/// use treeamp::prelude::*;
/// let sparse = PartsPrior::new(GaussBernoulli::new(0.1, 0.0, 1.0)?);
/// let model = (source(sparse.iid(5)) >> var("x")).build()?;
/// assert_eq!(model.variables()[0].spec.to_string(), "complex (5)");
/// # Ok::<(), ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PartsPrior<P> {
    part: SeparablePrior<P>,
}

impl<P: ScalarPrior> PartsPrior<P> {
    /// This law on the real and on the imaginary part.
    #[must_use]
    pub fn new(law: P) -> Self {
        Self { part: law.limit() }
    }
}

/// Two independent tilts as one of the plane.
fn joined(re: &Tilted, im: &Tilted) -> Tilted<Complex<f64>> {
    Tilted {
        log_z: re.log_z + im.log_z,
        mean: Complex::new(re.mean, im.mean),
        variance: 0.5 * (re.variance + im.variance),
    }
}

impl<P: PartialEq> PartialEq for PartsPrior<P> {
    fn eq(&self, other: &Self) -> bool {
        self.part.law() == other.part.law()
    }
}

impl<P: ScalarPrior> ScalarPrior<Complex<f64>> for PartsPrior<P> {
    const NAME: &'static str = P::NAME;

    #[inline]
    fn tilted(&self, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        let law = self.part.law();
        joined(&law.tilted(a, b.re), &law.tilted(a, b.im))
    }

    #[inline]
    fn moments(&self, a: f64, b: Complex<f64>) -> (Complex<f64>, f64) {
        let law = self.part.law();
        let ((re, v_re), (im, v_im)) = (law.moments(a, b.re), law.moments(a, b.im));
        (Complex::new(re, im), 0.5 * (v_re + v_im))
    }

    fn sample(&self, rng: &mut dyn Rng) -> Complex<f64> {
        let law = self.part.law();
        Complex::new(law.sample(rng), law.sample(rng))
    }

    /// $-\infty$ where a part is excluded, else $+\infty$ where one sits on a point mass.
    fn log_density(&self, x: Complex<f64>) -> f64 {
        let law = self.part.law();
        let on_atom = |x: f64| {
            law.atoms()
                .iter()
                .any(|(at, p)| *p > 0.0 && (x - at).abs() <= 0.0)
        };
        let one = |x: f64| {
            if on_atom(x) {
                f64::INFINITY
            } else {
                law.log_density(x)
            }
        };
        let (re, im) = (one(x.re), one(x.im));
        if re == f64::NEG_INFINITY || im == f64::NEG_INFINITY {
            f64::NEG_INFINITY
        } else {
            re + im
        }
    }

    fn atoms(&self) -> Vec<(Complex<f64>, f64)> {
        let atoms = self.part.law().atoms();
        let pair = |(re, p): &(f64, f64), (im, q): &(f64, f64)| (Complex::new(*re, *im), p * q);
        atoms
            .iter()
            .flat_map(|re| atoms.iter().map(move |im| pair(re, im)))
            .collect()
    }

    fn as_gaussian(&self) -> Option<Tilt<Complex<f64>>> {
        self.part.law().as_gaussian().map(|t| Tilt {
            a: t.a,
            b: Complex::new(t.b, t.b),
        })
    }

    fn excess(&self, a: f64, b: Complex<f64>) -> f64 {
        let law = self.part.law();
        law.excess(a, b.re) + law.excess(a, b.im)
    }

    fn part(&self) -> Option<&dyn ScalarView> {
        Some(&self.part)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.part.law().parameters()
    }
}

/// A real output of both parts of a complex component, such as their signs.
#[derive(Debug, Clone)]
pub struct PartsLikelihood<L> {
    part: SeparableLikelihood<L>,
}

impl<L: ScalarLikelihood<Output = f64>> PartsLikelihood<L> {
    /// This output of the real and of the imaginary part.
    #[must_use]
    pub fn new(law: L) -> Self {
        Self {
            part: law.unspecified(),
        }
    }
}

impl<L: PartialEq> PartialEq for PartsLikelihood<L> {
    fn eq(&self, other: &Self) -> bool {
        self.part.law() == other.part.law()
    }
}

impl<L: ScalarLikelihood<Output = f64>> ScalarLikelihood<Complex<f64>> for PartsLikelihood<L> {
    const NAME: &'static str = L::NAME;
    type Output = Complex<f64>;

    #[inline]
    fn tilted(&self, y: Complex<f64>, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        let law = self.part.law();
        joined(&law.tilted(y.re, a, b.re), &law.tilted(y.im, a, b.im))
    }

    fn sample(&self, z: Complex<f64>, rng: &mut dyn Rng) -> Complex<f64> {
        let law = self.part.law();
        Complex::new(law.sample(z.re, rng), law.sample(z.im, rng))
    }

    fn log_density(&self, y: Complex<f64>, z: Complex<f64>) -> f64 {
        let law = self.part.law();
        law.log_density(y.re, z.re) + law.log_density(y.im, z.im)
    }

    fn check(&self, y: Complex<f64>) -> Result<(), String> {
        let law = self.part.law();
        law.check(y.re).map_err(|e| format!("{e} (real part)"))?;
        law.check(y.im).map_err(|e| format!("{e} (imaginary part)"))
    }

    fn excess(&self, y: Complex<f64>, a: f64, b: Complex<f64>) -> f64 {
        let law = self.part.law();
        law.excess(y.re, a, b.re) + law.excess(y.im, a, b.im)
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        self.part.law().outputs()
    }

    fn noise_entropy(&self) -> Option<f64> {
        self.part.law().noise_entropy()
    }

    fn part(&self) -> Option<&dyn ScalarView> {
        Some(&self.part)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.part.law().parameters()
    }
}
