//! A penalty of one's own, given by its proximal map $p(t, u) = \mathrm{argmin}_x\{t E(x) + \tfrac12(x - u)^2\}$, the
//! derivative $\partial_u p$ and the energy $E$.
//!
//! # Mode
//! $r = p(\tfrac1a, \tfrac ba)$, $v = \tfrac1a\,\partial_u p$.

use std::fmt;
use std::sync::Arc;

use crate::error::{ModelError, parameter};
use crate::scalar::{ScalarPenalty, Tilt, Tilted};

/// Steps $t$ at which a check looks, how many points $u$ within a reach, and the reaches it takes if none is given.
const STEPS: [f64; 5] = [1e-2, 0.1, 1.0, 10.0, 100.0];
const POINTS: usize = 201;
const REACHES: [f64; 4] = [0.01, 1.0, 10.0, 1000.0];
/// Half the width of a central difference, relative to the reach.
const WIDTH: f64 = 1e-5;
/// A neighbour in energy is this far, relative to the reach.
const NEIGHBOUR: f64 = 1e-3;
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
    scale: Option<f64>,
}

/// The same functions.
impl PartialEq for CustomPenalty {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.proximal, &other.proximal)
            && Arc::ptr_eq(&self.derivative, &other.derivative)
            && Arc::ptr_eq(&self.energy, &other.energy)
            && (self.convex, self.scale) == (other.convex, other.scale)
    }
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
            scale: None,
        }
    }

    /// The scale of the signal that it expects: its first message in expectation propagation is $\mathcal N(0, s^2)$. By
    /// default the distance at which the energy has risen by one, found on a grid; one that rises on one side only has none.
    ///
    /// # Errors
    /// Unless it is positive and finite.
    pub fn with_scale(mut self, scale: f64) -> Result<Self, ModelError> {
        if !(scale > 0.0 && scale.is_finite()) {
            let expected = "positive and finite";
            return Err(parameter(&self.name, "scale", expected, scale));
        }
        self.scale = Some(scale);
        Ok(self)
    }

    /// The distance from the mode at unit step at which the energy has risen by one on both sides, up to a factor of $10^{1/4}$.
    fn found_scale(&self) -> Option<f64> {
        let centre = (self.proximal)(1.0, 0.0);
        let least = (self.energy)(centre);
        let risen = |x: f64| (self.energy)(x) - least >= 1.0;
        let grid = (-40..=40).map(|k| 10_f64.powf(0.25 * f64::from(k)));
        grid.into_iter()
            .find(|w| risen(centre + w) && risen(centre - w))
    }

    /// Says that the energy is not convex: there is no certain way to its minimiser then.
    #[must_use]
    pub fn not_convex(mut self) -> Self {
        self.convex = false;
        self
    }

    /// [`check_within`](Self::check_within) 0.01, 1, 10 and 1000.
    ///
    /// # Errors
    /// [`ModelError::Derivative`], [`ModelError::Proximal`], [`ModelError::ProximalEnergy`] or [`ModelError::NotConvex`] at the first place
    /// of disagreement.
    pub fn check(&self) -> Result<(), ModelError> {
        REACHES.iter().try_for_each(|r| self.check_within(*r))
    }

    /// Compares the derivative with differences of the proximal map, and the proximal map with its neighbours in
    /// energy, at steps from 0.01 to 100 and points up to `reach` from zero, at a resolution of $10^{-5}$ of that. Where two
    /// differences of different widths disagree the map has a corner, and nothing is compared. Unless the energy is said
    /// [not to be convex](Self::not_convex), the map must rise from point to point, by no more than they are apart.
    ///
    /// # Errors
    /// A reach that is not positive and finite; [`ModelError::Derivative`], [`ModelError::Proximal`], [`ModelError::ProximalEnergy`] or [`ModelError::NotConvex`]
    /// at the first place of disagreement.
    pub fn check_within(&self, reach: f64) -> Result<(), ModelError> {
        if !(reach > 0.0 && reach.is_finite()) {
            let expected = "positive and finite";
            return Err(parameter(&self.name, "reach", expected, reach));
        }
        for step in STEPS {
            for k in 0..POINTS {
                // away from integers, where users put their corners
                let point = reach * (2.0 * (k as f64 + 0.37) / POINTS as f64 - 1.0);
                self.check_derivative(step, point, WIDTH * reach)?;
                self.check_energy(step, point, NEIGHBOUR * reach)?;
                self.check_monotone(step, point, 2.0 * reach / POINTS as f64)?;
            }
        }
        Ok(())
    }

    /// The proximal map of a convex energy rises, by no more than its argument does: a jump is that of one that is not convex.
    fn check_monotone(&self, step: f64, point: f64, width: f64) -> Result<(), ModelError> {
        let (low, high) = (
            (self.proximal)(step, point),
            (self.proximal)(step, point + width),
        );
        let rise = high - low;
        let slack = TOLERANCE * width + 1e-13 * low.abs().max(high.abs());
        if !self.convex || (-slack..=width + slack).contains(&rise) {
            return Ok(());
        }
        Err(ModelError::NotConvex {
            penalty: self.name.to_string(),
            step,
            from: point,
            to: point + width,
            rise,
        })
    }

    fn check_derivative(&self, step: f64, point: f64, width: f64) -> Result<(), ModelError> {
        let slope = |h: f64| {
            ((self.proximal)(step, point + h) - (self.proximal)(step, point - h)) / (2.0 * h)
        };
        let (wide, narrow) = (slope(2.0 * width), slope(width));
        let got = (self.derivative)(step, point);
        let corner = (wide - narrow).abs() > 0.1 * TOLERANCE;
        if corner || (got - narrow).abs() <= TOLERANCE * narrow.abs().max(1.0) {
            return Ok(());
        }
        Err(ModelError::Derivative {
            penalty: self.name.to_string(),
            step,
            point,
            expected: narrow,
            got,
        })
    }

    fn check_energy(&self, step: f64, point: f64, reach: f64) -> Result<(), ModelError> {
        let cost = |x: f64| step * (self.energy)(x) + 0.5 * (x - point).powi(2);
        let mode = (self.proximal)(step, point);
        let (here, low, high) = (cost(mode), cost(mode - reach), cost(mode + reach));
        if !here.is_finite() {
            return Err(ModelError::ProximalEnergy {
                penalty: self.name.to_string(),
                step,
                point,
                got: mode,
                energy: (self.energy)(mode),
            });
        }
        // a minimum of curvature one rises by half the square of the reach; costs round
        let slack = 1e-6 * reach * reach + 1e-14 * here.abs();
        if here <= low.min(high) + slack {
            return Ok(());
        }
        Err(ModelError::Proximal {
            penalty: self.name.to_string(),
            step,
            point,
            got: mode,
            better: mode + if low < high { -reach } else { reach },
        })
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

    fn nominal(&self) -> Tilt {
        let (a, b) = (f64::NAN, (self.proximal)(1.0, 0.0));
        if b.is_nan() {
            return Tilt { a, b };
        }
        let scale = self.scale.or_else(|| self.found_scale());
        let a = scale.map_or(0.0, |s| 1.0 / (s * s));
        // around zero: a law that prefers another place says so once it is asked
        Tilt { a, b: 0.0 }
    }

    fn is_convex(&self) -> bool {
        self.convex
    }
}
