//! The linear channel of an operator without a singular system: means by conjugate gradients,
//! traces and log-determinants from an estimated spectrum.
//!
//! With $\hat z = b_z/a_z$ the mean is $\hat z + \delta$, $(a_z + a_x W^T W)\,\delta = W^T(b_x - a_x W\hat z)$, solved
//! from the last $\delta$ and preconditioned by the diagonal. With $w_\lambda = 1/(a_z + a_x\lambda)$ the variances
//! are $v_z = E\,w$ and $v_x = E\,\lambda w/\alpha$ over a spectrum that is given, computed, or estimated from
//! probes drawn once. An estimate is as fine as $\sigma = a_z/a_x$ needs: bounds on both sides of every rule
//! and the spread of the probes are measured, and a variance that is not known to the accuracy asked
//! for is an error.

use std::f64::consts::TAU;

use super::ladder::{Iterative, IterativeOptions};
use super::work::IterativeWork;
use crate::belief::Gaussian;
use crate::error::{FactorError, brief};
use crate::math::spectrum::Spectrum;
use crate::operator::{LinearOperator, dot};

/// Relative error of a mean: a hundredth of what is promised.
const ACCURACY: f64 = 1e-8;

/// One system to solve, and the room for it.
pub(super) struct Solve<'a> {
    operator: &'a dyn LinearOperator,
    known: &'a Iterative,
    spectrum: &'a Spectrum,
    options: IterativeOptions,
    az: f64,
    ax: f64,
    z: &'a Gaussian,
    x: &'a Gaussian,
    /// The last solution, from sweep to sweep.
    solution: &'a mut Vec<f64>,
    residual: &'a mut Vec<f64>,
    scaled: &'a mut Vec<f64>,
    direction: &'a mut Vec<f64>,
    product: &'a mut Vec<f64>,
    output: &'a mut Vec<f64>,
    scratch: &'a mut Vec<f64>,
}

impl<'a> Solve<'a> {
    pub fn new(
        operator: &'a dyn LinearOperator,
        known: &'a Iterative,
        options: IterativeOptions,
        [z, x]: [&'a Gaussian; 2],
        work: &'a mut IterativeWork,
    ) -> Result<Self, FactorError> {
        let (az, ax) = (z.precision.scalar(), x.precision.scalar());
        if ax == f64::INFINITY {
            return Err(known_exactly(operator));
        }
        let level = known.level(&mut work.level, az, ax);
        let (spectrum, doubt) = known.resolved(operator, &options, level)?;
        if let Some(doubt) = doubt.filter(|_| az > 0.0) {
            return Err(FactorError::Failed(doubt.to_owned()));
        }
        let IterativeWork {
            solution,
            residual,
            scaled,
            direction,
            product,
            output,
            scratch,
            ..
        } = work;
        let solve = Self {
            operator,
            known,
            spectrum,
            options,
            az,
            ax,
            z,
            x,
            solution,
            residual,
            scaled,
            direction,
            product,
            output,
            scratch,
        };
        solve.check()?;
        Ok(solve)
    }

    fn w(&self, l: f64) -> f64 {
        1.0 / (self.az + self.ax * l)
    }

    /// The joint precision is positive on every mode that the spectrum has.
    fn check(&self) -> Result<(), FactorError> {
        let nodes = self.spectrum.nodes();
        match nodes.iter().find(|(l, _)| !(self.az + self.ax * l > 0.0)) {
            None => Ok(()),
            Some((l, _)) => Err(self.improper(*l)),
        }
    }

    fn improper(&self, eigenvalue: f64) -> FactorError {
        FactorError::Improper(format!(
            "the precision {} on its input and {} on its output leave a negative variance at the \
             eigenvalue {}",
            brief(self.az),
            brief(self.ax),
            brief(eigenvalue)
        ))
    }

    /// Whether the mean is $\hat z$ plus the solution, or the solution alone.
    fn centred(&self) -> bool {
        self.az > 0.0
    }

    /// The right-hand side, into the residual.
    fn right_hand_side(&mut self) {
        if self.centred() {
            for (p, b) in self.product.iter_mut().zip(&self.z.linear) {
                *p = b / self.az;
            }
            self.operator.apply(self.product, self.output, self.scratch);
            for (o, b) in self.output.iter_mut().zip(&self.x.linear) {
                *o = b - self.ax * *o;
            }
            self.operator
                .adjoint(self.output, self.residual, self.scratch);
        } else {
            self.operator
                .adjoint(&self.x.linear, self.residual, self.scratch);
            for (r, b) in self.residual.iter_mut().zip(&self.z.linear) {
                *r += b;
            }
        }
    }

    /// `product` $= (a_z + a_x W^T W)$ of the solution or of the direction.
    fn multiply(&mut self, of_solution: bool) {
        let from: &[f64] = if of_solution {
            self.solution
        } else {
            self.direction
        };
        self.operator.apply(from, self.output, self.scratch);
        self.operator
            .adjoint(self.output, self.product, self.scratch);
        for (p, d) in self.product.iter_mut().zip(from) {
            *p = self.az * d + self.ax * *p;
        }
    }

    /// `scaled` $= M^{-1}$ residual with the diagonal $M$.
    fn precondition(&mut self) {
        let Some(diagonal) = &self.known.diagonal else {
            self.scaled.copy_from_slice(self.residual);
            return;
        };
        for ((s, r), d) in self
            .scaled
            .iter_mut()
            .zip(self.residual.iter())
            .zip(diagonal)
        {
            let m = self.az + self.ax * d;
            *s = if m > 0.0 { r / m } else { *r };
        }
    }

    /// The smallest eigenvalue is at least $a_z$: the mean is off by at most $\|r\|/a_z$. At little noise that
    /// asks for more than a residual relative to a right-hand side of order $a_x$ does.
    fn is_accurate(&self, residual: f64, size: f64) -> bool {
        if !self.centred() || residual <= f64::EPSILON * self.options.tolerance * size {
            return true;
        }
        let parts = self.solution.iter().zip(&self.z.linear);
        let square: f64 = parts.map(|(d, b)| (d + b / self.az).powi(2)).sum();
        residual <= ACCURACY * self.az * square.sqrt()
    }

    /// Conjugate gradients from the last solution.
    fn run(&mut self) -> Result<(), FactorError> {
        self.right_hand_side();
        let size = dot(self.residual, self.residual).sqrt();
        if size == 0.0 {
            self.solution.fill(0.0);
            return Ok(());
        }
        self.multiply(true);
        let gap = |r: &f64, p: &f64| (r - p).powi(2);
        let start: f64 = self
            .residual
            .iter()
            .zip(self.product.iter())
            .map(|(r, p)| gap(r, p))
            .sum();
        if start.sqrt() < size {
            self.residual
                .iter_mut()
                .zip(self.product.iter())
                .for_each(|(r, p)| *r -= p);
        } else {
            self.solution.fill(0.0);
        }
        self.precondition();
        self.direction.copy_from_slice(self.scaled);
        let mut rho = dot(self.residual, self.scaled);
        let goal = self.options.tolerance * size;
        for _ in 0..self.options.max_iterations {
            let reached = dot(self.residual, self.residual).sqrt();
            if reached <= goal && self.is_accurate(reached, size) {
                return Ok(());
            }
            self.multiply(false);
            let curvature = dot(self.direction, self.product);
            if !(curvature > 0.0) {
                return Err(self.improper(curvature / dot(self.direction, self.direction)));
            }
            let step = rho / curvature;
            axpy(step, self.direction, self.solution);
            axpy(-step, self.product, self.residual);
            self.precondition();
            let next = dot(self.residual, self.scaled);
            let turn = next / rho;
            for (d, s) in self.direction.iter_mut().zip(self.scaled.iter()) {
                *d = s + turn * *d;
            }
            rho = next;
        }
        let reached = dot(self.residual, self.residual).sqrt() / size;
        Err(FactorError::Failed(format!(
            "conjugate gradients: expected a residual of {:.1e} within {} iterations, got {reached:.1e}",
            self.options.tolerance, self.options.max_iterations
        )))
    }

    pub fn input_message(mut self, out: &mut Gaussian) -> Result<(), FactorError> {
        self.run()?;
        let spectrum = self.spectrum;
        let v = spectrum.expect(|l| self.w(l));
        let a_out = spectrum.expect(|l| self.ax * l * self.w(l)) / v;
        let parts = self.solution.iter().zip(&self.z.linear);
        for (o, (d, b)) in out.linear.iter_mut().zip(parts) {
            *o = if self.az > 0.0 {
                d / v + a_out / self.az * b
            } else {
                d / v - b
            };
        }
        out.precision.set_scalar(a_out);
        Ok(())
    }

    pub fn output_message(mut self, out: &mut Gaussian) -> Result<(), FactorError> {
        self.run()?;
        self.mean();
        self.operator
            .apply(self.product, &mut out.linear, self.scratch);
        let spectrum = self.spectrum;
        let alpha = spectrum.alpha();
        let v = spectrum.expect(|l| l * self.w(l)) / alpha;
        if v == 0.0 {
            out.set_flat();
            out.precision.set_scalar(f64::INFINITY);
            return Ok(());
        }
        let seen = spectrum.expect(|l| if l > 0.0 { self.az * self.w(l) } else { 0.0 });
        let unseen = (alpha - spectrum.rank()).max(0.0);
        for (o, b) in out.linear.iter_mut().zip(&self.x.linear) {
            *o = *o / v - b;
        }
        out.precision.set_scalar((seen + unseen) / (alpha * v));
        Ok(())
    }

    /// The mean of $z$, into the product.
    fn mean(&mut self) {
        let centred = self.centred();
        let parts = self.solution.iter().zip(&self.z.linear);
        for (m, (d, b)) in self.product.iter_mut().zip(parts) {
            *m = if centred { d + b / self.az } else { *d };
        }
    }

    /// $A = \frac12 r_z^T(b_z + W^T b_x) + \frac N2 E\ln 2\pi w$.
    pub fn log_partition(mut self) -> Result<f64, FactorError> {
        self.run()?;
        self.mean();
        self.operator.apply(self.product, self.output, self.scratch);
        let fit = dot(self.product, &self.z.linear) + dot(self.output, &self.x.linear);
        let n = self.z.len() as f64;
        let volume = self.spectrum.expect(|l| (TAU * self.w(l)).ln());
        Ok(0.5 * fit + 0.5 * n * volume)
    }
}

fn known_exactly(operator: &dyn LinearOperator) -> FactorError {
    FactorError::Unsupported(format!(
        "expected an output with some noise, got one that is known exactly: `{}` is solved by iteration",
        operator.name()
    ))
}

fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}
