//! Square quadrature amplitude modulation: complex symbols whose two parts are independent letters of an even alphabet,
//! $\pm\tfrac12 d, \pm\tfrac32 d, \ldots$, of energy $E|x|^2 = 1$.
//!
//! # Moments
//! Those of a [`FiniteAlphabet`] on either part.
//!
//! # Limits
//! Finite for every $a$.
//!
//! # Reference
//! Proakis and Salehi, "Digital communications", McGraw-Hill (2008), 3.2.

use rand::Rng;

use super::FiniteAlphabet;
use crate::catalog::module::{Module, Parameter, ParameterKind, Preset, SIZE, Signals};
use crate::error::{ModelError, parameter};
use crate::scalar::{Landmark, ScalarPrior, Tilted};
use crate::separable::PartsPrior;

/// Either part of a symbol of a square constellation.
#[derive(Debug, Clone, PartialEq)]
pub struct Qam {
    part: FiniteAlphabet,
}

impl Qam {
    /// The constellation of that many points: `points(16)` is 16-QAM.
    ///
    /// # Errors
    /// Unless the number is 4, 16, 64, 256 or a higher power of 4, up to 65536.
    pub fn points(order: usize) -> Result<PartsPrior<Self>, ModelError> {
        let side = (1..=8)
            .map(|k| 1_u32 << k)
            .find(|n| (n * n) as usize == order);
        let Some(side) = side else {
            let expected = "a power of 4 from 4 to 65536";
            return Err(parameter(Self::NAME, "order", expected, order));
        };
        let n = f64::from(side);
        // the mean square of ±1, ±3, ..., ±(n - 1) is (n² - 1)/3
        let unit = (1.5 / (n * n - 1.0)).sqrt();
        let values: Vec<f64> = (0..side)
            .map(|i| unit * (2.0 * f64::from(i) + 1.0 - n))
            .collect();
        let weights = vec![1.0 / n; values.len()];
        let part = FiniteAlphabet::new(&values, &weights)?;
        Ok(PartsPrior::new(Self { part }))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "complex symbols of a square constellation",
        formula: "x among order points of a square grid, E |x|² = 1",
        tex: r"x \in \{\pm\tfrac d2, \pm\tfrac{3d}2, \ldots\}^2,\quad E|x|^2 = 1",
        notes: r"Both parts are independent: 4 is QPSK, 16 is 16-QAM.",
        parameters: &[
            SIZE,
            Parameter::required(
                "order",
                ParameterKind::Count,
                "number of points, a power of 4",
            )
            .or(Preset::Count(4)),
        ],
        signals: Signals::Complex,
        constructor: |a| a.complex_prior(Self::points(a.count("order")?)?),
        ..Module::PRIOR
    };
}

impl ScalarPrior for Qam {
    const NAME: &'static str = "qam";

    fn tilted(&self, a: f64, b: f64) -> Tilted {
        self.part.tilted(a, b)
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.part.parameters()
    }

    fn sample(&self, rng: &mut dyn Rng) -> f64 {
        self.part.sample(rng)
    }

    fn log_density(&self, x: f64) -> f64 {
        self.part.log_density(x)
    }

    fn atoms(&self) -> Vec<(f64, f64)> {
        self.part.atoms()
    }

    fn excess(&self, a: f64, b: f64) -> f64 {
        self.part.excess(a, b)
    }

    fn landmarks(&self) -> Vec<Landmark> {
        self.part.landmarks()
    }

    fn support(&self) -> (f64, f64) {
        self.part.support()
    }
}
