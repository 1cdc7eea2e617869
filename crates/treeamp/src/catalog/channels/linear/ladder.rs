//! The spectrum of an operator without a singular system: given, computed, or estimated as finely as
//! the precisions ask for.

use std::sync::OnceLock;

use crate::error::{FactorError, ModelError, parameter};
use crate::math::spectrum::Spectrum;
use crate::operator::{
    All, LanczosOptions, LinearOperator, Resolved, exact_spectrum, largest_eigenvalue,
    resolved_spectrum,
};

/// Powers of ten of $\lambda_{\max}/\sigma$; beyond, eigenvalues count as zero.
const LEVELS: usize = 13;
/// The level of the spectrum that state evolution uses.
const GENERAL: usize = 4;

/// How an operator without a singular system is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IterativeOptions {
    /// Conjugate gradients stop at this residual, relative to the right-hand side (1e-12), or below, where
    /// the mean would otherwise be off by more than 1e-8.
    pub tolerance: f64,
    /// They fail beyond so many iterations (50 000).
    pub max_iterations: usize,
    /// How its spectrum is estimated, where it is not given.
    pub lanczos: LanczosOptions,
}

impl Default for IterativeOptions {
    fn default() -> Self {
        Self {
            tolerance: 1e-12,
            max_iterations: 50_000,
            lanczos: LanczosOptions::default(),
        }
    }
}

impl IterativeOptions {
    pub(super) fn check(&self) -> Result<(), ModelError> {
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            let expected = "between 0 and 1";
            return Err(parameter("linear", "tolerance", expected, self.tolerance));
        }
        if self.max_iterations == 0 {
            return Err(parameter("linear", "max_iterations", "at least 1", 0));
        }
        self.lanczos.check()
    }
}

/// What is worked out once.
#[derive(Debug)]
pub(super) struct Iterative {
    /// Every eigenvalue, or what was given.
    whole: Option<Spectrum>,
    /// The largest eigenvalue, where they are estimated.
    largest: f64,
    /// Estimates for $\sigma = a_z/a_x$ down to a power of ten of the largest eigenvalue, each made when
    /// first needed. They depend on the seed alone, not on who asked first.
    levels: [OnceLock<Result<Resolved, FactorError>>; LEVELS],
    /// Every eigenvalue, for the levels that an estimate does not reach.
    all: All,
    pub diagonal: Option<Vec<f64>>,
}

impl Iterative {
    pub fn new(
        operator: &dyn LinearOperator,
        options: &IterativeOptions,
    ) -> Result<Self, FactorError> {
        let whole = match operator.known_spectrum() {
            Some(given) => Some(given),
            None => exact_spectrum(operator, options.lanczos)?,
        };
        let largest = match whole {
            Some(_) => 0.0,
            None => largest_eigenvalue(operator, options.lanczos)?,
        };
        Ok(Self {
            whole,
            largest,
            levels: [const { OnceLock::new() }; LEVELS],
            all: All::new(),
            diagonal: operator.gram_diagonal(),
        })
    }

    /// The level for these precisions, from the one that a run has come to. Only ever finer: a run that
    /// went back and forth between two estimates would not settle.
    pub fn level(&self, reached: &mut usize, az: f64, ax: f64) -> usize {
        let known = self.whole.is_some() || !(ax > 0.0) || !(self.largest > 0.0);
        // az = 0 asks for everything: what the middle of the ladder sees must do
        let shift = if az == 0.0 {
            self.shift(LEVELS / 2)
        } else {
            az.abs() / ax
        };
        let fine = |level: &usize| known || self.shift(*level) <= shift;
        let before = |level: &usize| *level >= *reached;
        let level = (0..LEVELS).find(|l| fine(l) && before(l));
        let level = level.unwrap_or(LEVELS - 1);
        *reached = level;
        level
    }

    /// The smallest $\sigma$ of a level.
    fn shift(&self, level: usize) -> f64 {
        (0..level).fold(self.largest, |shift, _| 0.1 * shift)
    }

    /// The spectrum of a level.
    pub fn resolved(
        &self,
        operator: &dyn LinearOperator,
        options: &IterativeOptions,
        level: usize,
    ) -> Result<(&Spectrum, Option<&str>), FactorError> {
        if let Some(whole) = &self.whole {
            return Ok((whole, None));
        }
        let shift = self.shift(level);
        let make = || resolved_spectrum(operator, options.lanczos, shift, &self.all);
        match self.levels[level].get_or_init(make) {
            Ok(known) => Ok((&known.spectrum, known.doubt.as_deref())),
            Err(error) => Err(error.clone()),
        }
    }

    /// The standard error of $\frac12\mathrm{tr}\ln(a_z + a_x W^T W)$ at a level.
    pub fn log_error(&self, level: usize, az: f64, ax: f64) -> f64 {
        match self.levels[level].get() {
            Some(Ok(known)) => 0.5 * known.scatter.error(|l| (az + ax * l).ln()),
            _ => 0.0,
        }
    }

    /// The spectrum for no precision in particular.
    pub fn spectrum(
        &self,
        operator: &dyn LinearOperator,
        options: &IterativeOptions,
    ) -> Result<&Spectrum, FactorError> {
        self.resolved(operator, options, GENERAL).map(|(s, _)| s)
    }
}
