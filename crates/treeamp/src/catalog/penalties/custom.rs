//! A penalty of one's own, given by its proximal map $p(t, u) = \mathrm{argmin}_x\{t E(x) + \tfrac12(x - u)^2\}$, the
//! derivative $\partial_u p$ and the energy $E$.
//!
//! # Mode
//! $r = p(\tfrac1a, \tfrac ba)$, $v = \tfrac1a\,\partial_u p$.

use std::fmt;
use std::sync::Arc;

use crate::error::ModelError;
use crate::scalar::{ScalarPenalty, Tilted};

/// Steps $t$ and points $u$ at which [`CustomPenalty::check`] looks.
const STEPS: [f64; 5] = [1e-2, 0.1, 1.0, 10.0, 100.0];
const POINTS: usize = 201;
const REACH: f64 = 10.0;
/// Half the width of a central difference, relative to the scale of the point.
const WIDTH: f64 = 1e-5;
/// The difference of a smooth map errs by the square of its width; rounding by 1e-16 over it.
const TOLERANCE: f64 = 1e-5;

/// A map of a step and a point.
type Map = dyn Fn(f64, f64) -> f64 + Send + Sync;

/// A penalty by its proximal map, its derivative and its energy.
#[derive(Clone)]
pub struct CustomPenalty {
    name: Arc<str>,
    proximal: Arc<Map>,
    derivative: Arc<Map>,
    energy: Arc<dyn Fn(f64) -> f64 + Send + Sync>,
    convex: bool,
}

impl fmt::Debug for CustomPenalty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomPenalty")
            .field("name", &self.name)
            .field("convex", &self.convex)
            .finish_non_exhaustive()
    }
}

impl CustomPenalty {
    /// The convex penalty with the proximal map `proximal(t, u)`, its derivative in `u`, and the energy `energy(x)`.
    ///
    /// ```
    /// use treeamp::prelude::*;
    /// let ridge = CustomPenalty::new("ridge", |t, u| u / (1.0 + t), |t, _| 1.0 / (1.0 + t), |x| 0.5 * x * x);
    /// ridge.check()?;
    /// # Ok::<(), treeamp::ModelError>(())
    /// ```
    pub fn new(
        name: &str,
        proximal: impl Fn(f64, f64) -> f64 + Send + Sync + 'static,
        derivative: impl Fn(f64, f64) -> f64 + Send + Sync + 'static,
        energy: impl Fn(f64) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            proximal: Arc::new(proximal),
            derivative: Arc::new(derivative),
            energy: Arc::new(energy),
            convex: true,
        }
    }

    /// Says that the energy is not convex: there is no certain way to its minimiser then.
    #[must_use]
    pub fn not_convex(mut self) -> Self {
        self.convex = false;
        self
    }

    /// Compares the derivative with differences of the proximal map, and the proximal map with its neighbours in
    /// energy, at steps from 0.01 to 100 and points within 10. Where two differences of different widths disagree
    /// the map has a corner, and nothing is compared.
    ///
    /// # Errors
    /// [`ModelError::Derivative`] or [`ModelError::Proximal`] at the first place of disagreement.
    pub fn check(&self) -> Result<(), ModelError> {
        for step in STEPS {
            for k in 0..POINTS {
                // away from integers, where users put their corners
                let point = REACH * (2.0 * (k as f64 + 0.37) / POINTS as f64 - 1.0);
                self.check_at(step, point)?;
            }
        }
        Ok(())
    }

    fn check_at(&self, step: f64, point: f64) -> Result<(), ModelError> {
        let width = WIDTH * point.abs().max(1.0);
        let slope = |h: f64| {
            ((self.proximal)(step, point + h) - (self.proximal)(step, point - h)) / (2.0 * h)
        };
        let (wide, narrow) = (slope(2.0 * width), slope(width));
        let got = (self.derivative)(step, point);
        let corner = (wide - narrow).abs() > 0.1 * TOLERANCE;
        if !corner && !((got - narrow).abs() <= TOLERANCE * narrow.abs().max(1.0)) {
            return Err(ModelError::Derivative {
                penalty: self.name.to_string(),
                step,
                point,
                expected: narrow,
                got,
            });
        }
        let cost = |x: f64| step * (self.energy)(x) + 0.5 * (x - point).powi(2);
        let mode = (self.proximal)(step, point);
        let reach = 1e-3 * point.abs().max(1.0);
        let (here, low, high) = (cost(mode), cost(mode - reach), cost(mode + reach));
        // a minimum of curvature one rises by half the square of the reach
        let slack = 1e-12 * here.abs().max(1.0);
        if !(here <= low.min(high) + slack) {
            let better = mode + if low < high { -reach } else { reach };
            return Err(ModelError::Proximal {
                penalty: self.name.to_string(),
                step,
                point,
                got: mode,
                better,
            });
        }
        Ok(())
    }
}

impl ScalarPenalty for CustomPenalty {
    fn name(&self) -> &str {
        &self.name
    }

    fn proximal(&self, a: f64, b: f64) -> Tilted {
        if !(a > 0.0) {
            return Tilted::divergent(0.0);
        }
        let mean = (self.proximal)(1.0 / a, b / a);
        Tilted {
            log_z: mean * (b - 0.5 * a * mean) - (self.energy)(mean),
            mean,
            variance: (self.derivative)(1.0 / a, b / a) / a,
        }
    }

    fn energy(&self, x: f64) -> f64 {
        (self.energy)(x)
    }

    fn is_convex(&self) -> bool {
        self.convex
    }
}
