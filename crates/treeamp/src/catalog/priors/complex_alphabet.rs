//! Finite alphabet of complex values, $p(x) = \sum_k w_k\,\delta(x - x_k)$: phase-shift keying, crosses, any constellation.
//!
//! # Moments
//! Letter $k$ has mass $w_k e^{G(x_k)}$ under the tilt, $G(x) = -\tfrac12 a|x|^2 + \mathrm{Re}(\bar b x)$. The variance is the mean of those of
//! the two parts.
//!
//! # Limits
//! Finite for every $a$ and $b$. Averages of state evolution are sums over the plane; those of a square grid, whose parts are independent, are
//! cheaper as [`Qam`](super::Qam).
//!
//! # Reference
//! Proakis and Salehi, "Digital communications", McGraw-Hill (2008), 3.2.

use num_complex::Complex;
use rand::Rng;

use super::weights::{are_as_many, check_each, normalised};
use crate::catalog::module::{Domain, Module, SIZE, Signals, numbers};
use crate::error::{ModelError, parameter};
use crate::math::mixture::{AnchoredMixture, Bump, draw};
use crate::scalar::{ScalarPrior, Symmetry, Tilted};

/// The complex values $x_k$ with probabilities $w_k$.
#[derive(Debug, Clone, PartialEq)]
pub struct ComplexAlphabet {
    letters: Vec<(Complex<f64>, f64)>,
}

impl ComplexAlphabet {
    /// The law on these values, given by their two parts, with one weight each; without weights all are equally likely.
    ///
    /// # Errors
    /// Unless the three slices (but for no weights) have one non-zero length, values are finite and distinct, and weights positive with sum one (to
    /// $10^{-9}$; they are then normalised).
    pub fn new(real: &[f64], imaginary: &[f64], weights: &[f64]) -> Result<Self, ModelError> {
        let n = real.len();
        if imaginary.len() != n || !are_as_many(weights, n) {
            let (m, w) = (imaginary.len(), weights.len());
            let got = format!("{n} real, {m} imaginary, {w} weights");
            let (name, expected) = if n == 0 || m != n {
                ("real", "at least one, and as many as imaginary")
            } else {
                ("weights", "as many as real, or none")
            };
            return Err(parameter(Self::NAME, name, expected, got));
        }
        for (name, parts) in [("real", real), ("imaginary", imaginary)] {
            check_each(Self::NAME, name, "finite", parts, f64::is_finite)?;
        }
        let values = real
            .iter()
            .zip(imaginary)
            .map(|(x, y)| Complex::new(*x, *y));
        let values: Vec<Complex<f64>> = values.collect();
        if let Some(k) = (0..n).find(|k| values[..*k].contains(&values[*k])) {
            let got = format!("{} again at index {k}", values[k]);
            return Err(parameter(Self::NAME, "real", "distinct values", got));
        }
        let weights = normalised(Self::NAME, weights, n)?;
        let letters = values.into_iter().zip(weights).collect();
        Ok(Self { letters })
    }

    fn mixture(&self, a: f64, b: Complex<f64>) -> AnchoredMixture<2> {
        let mut mixture = AnchoredMixture::new([a; 2], [b.re, b.im]);
        for (x, weight) in &self.letters {
            mixture.add([x.re, x.im], Bump::point([x.re, x.im], *weight));
        }
        mixture
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "complex components with finitely many values",
        formula: "p(x) = Σ_k weights_k δ(x - real_k - i imaginary_k)",
        tex: r"p(x) = \sum_k w_k\,\delta(x - x'_k - i x''_k)",
        notes: r"Any constellation; the default is quaternary phase-shift keying. A square one is `qam`, whose two parts are independent.",
        parameters: &[
            SIZE,
            numbers(
                "real",
                &[1.0, 0.0, -1.0, 0.0],
                Domain::Real,
                "real parts of the values, which are all different",
            )
            .called("x'_k"),
            numbers(
                "imaginary",
                &[0.0, 1.0, 0.0, -1.0],
                Domain::Real,
                "imaginary parts, one per real part",
            )
            .called("x''_k"),
            numbers(
                "weights",
                &[],
                Domain::Probabilities,
                "one weight per value; none for equal ones",
            )
            .called("w_k")
            .learned(),
        ],
        signals: Signals::Complex,
        constructor: |a| {
            let (real, imaginary) = (a.numbers("real")?, a.numbers("imaginary")?);
            a.complex_prior(Self::new(real, imaginary, a.numbers("weights")?)?)
        },
        ..Module::PRIOR
    };
}

impl ScalarPrior<Complex<f64>> for ComplexAlphabet {
    const NAME: &'static str = "complex_alphabet";

    fn tilted(&self, a: f64, b: Complex<f64>) -> Tilted<Complex<f64>> {
        let mixture = self.mixture(a, b);
        let Bump { mean, variance, .. } = *mixture.bump();
        Tilted {
            log_z: mixture.log_mass(),
            mean: Complex::new(mean[0], mean[1]),
            variance: 0.5 * (variance[0] + variance[1]),
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        vec![("values", self.letters.len() as f64)]
    }

    fn sample(&self, rng: &mut dyn Rng) -> Complex<f64> {
        self.letters[draw(self.letters.iter().map(|(_, weight)| *weight), rng)].0
    }

    fn log_density(&self, _: Complex<f64>) -> f64 {
        f64::NEG_INFINITY
    }

    fn atoms(&self) -> Vec<(Complex<f64>, f64)> {
        self.letters.clone()
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Constellation
    }

    fn excess(&self, a: f64, b: Complex<f64>) -> f64 {
        self.mixture(a, b).log_excess([true; 2])
    }
}
