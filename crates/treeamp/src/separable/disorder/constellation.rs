//! State evolution of complex priors of finitely many values: sums over the plane of the field.
//!
//! Given the teacher's value $x_k$ the field is $b = \hat m x_k + \sqrt{\hat q}\,\delta$ with two standard normal parts of $\delta$, so its law is a mixture of
//! normals about $c_k = \hat m x_k/\sqrt{\hat q}$ in units of its noise. Posterior means, variances and log-partitions are analytic in $\delta$, and the
//! trapezoidal rule over the plane converges exponentially: halving the step squares its error, so two steps that agree to $\epsilon$ leave
//! $\epsilon^2$. Every point of the lattice is seen from the nearest $c_k$, as $c_k + \delta$: weights of the values relative to those of $x_k$,
//!
//! $$\ln\frac{w_l}{w_k}\ \text{less}\ (x_l - x_k)\cdot\bigl[\sqrt{\hat q}\,\delta + (\hat m - a)x_k - \tfrac12 a(x_l - x_k)\bigr],$$
//!
//! then have no large terms, however sharp the field. Overlaps and potentials are per real component.

use std::f64::consts::TAU;

use num_complex::Complex;

use super::entropy::CLEAR;
use super::line::gain;
use super::{
    COUNT, D1, D2, Field, M, MASS, MISMATCHED, POTENTIAL, Q, Q0, SINGLE, Sums, V, V0, floors,
};
use crate::error::FactorError;
use crate::scalar::{Elem, Tilted};

/// The values of a law with their probabilities.
type Values = [(Complex<f64>, f64)];

/// Deviations of the noise beyond which there is nothing: $e^{-72} = 5\cdot10^{-32}$.
const REACH: f64 = 12.0;
/// Exponents below the top by more than this are nothing beside variances of $10^{-16}$.
const NEGLIGIBLE: f64 = 75.0;
/// The first step for functions of the noise alone, in its deviations, and for odds of a rate $\rho$, in units of $1/\rho$: errors of $10^{-6}$, which the next step squares.
const SMOOTH: f64 = 1.2;
const STEEP: f64 = 1.4;
/// Steps are halved this often at most.
const HALVINGS: u32 = 5;

/// The law under $e^{-\frac12\hat\tau_0|x|^2}$, its mean as that of a real component: $|r|/\sqrt2$.
pub(super) fn at_rest(values: &Values, tau0_hat: f64) -> Tilted {
    let rest = View {
        precision: tau0_hat,
        noise: 0.0,
        pull: -tau0_hat,
    };
    let seen = rest.of(values, Complex::ZERO, Complex::ZERO);
    Tilted {
        log_z: seen.log_z,
        mean: seen.mean.norm() / 2.0_f64.sqrt(),
        variance: seen.variance,
    }
}

/// What a law says of a field $b = \hat m x_k + \sqrt{\hat q}\,\delta$ at a precision $a$.
#[derive(Debug, Clone, Copy)]
struct View {
    /// $a$.
    precision: f64,
    /// $\sqrt{\hat q}$, in the units of its own field.
    noise: f64,
    /// $\hat m - a$ in the same units.
    pull: f64,
}

/// Log-partition relative to $e^{-\frac12 a|x_k|^2 + b\cdot x_k}$, mean less $x_k$, and variance per real component.
struct Seen {
    log_z: f64,
    mean: Complex<f64>,
    variance: f64,
}

impl View {
    fn of(&self, values: &Values, from: Complex<f64>, delta: Complex<f64>) -> Seen {
        let base = delta.scale(self.noise) + from.scale(self.pull);
        let height = |(x, weight): &(Complex<f64>, f64)| {
            let step = x - from;
            weight.ln() + Elem::dot(step, base - step.scale(0.5 * self.precision))
        };
        let heavier = |best: (f64, Complex<f64>), value: &(Complex<f64>, f64)| {
            let h = height(value);
            if h > best.0 { (h, value.0) } else { best }
        };
        let (top, heaviest) = values.iter().fold((f64::NEG_INFINITY, from), heavier);
        // about the heaviest value: the variance of one that is nearly certain is a sum of small terms
        let (mut mass, mut first, mut second) = (0.0, Complex::ZERO, 0.0);
        for value in values {
            let gap = top - height(value);
            if gap < NEGLIGIBLE {
                let (p, step) = ((-gap).exp(), value.0 - heaviest);
                mass += p;
                first += step.scale(p);
                second += p * step.norm_sqr();
            }
        }
        let shift = first.unscale(mass);
        Seen {
            log_z: top + mass.ln(),
            mean: heaviest - from + shift,
            variance: 0.5 * (second / mass - shift.norm_sqr()),
        }
    }
}

/// A teacher and a student at one field of positive $\hat q$, unless it is silent.
pub(super) struct Plane<'a> {
    teacher: &'a Values,
    student: &'a Values,
    at: Field,
    tau0: f64,
    /// What the teacher's law under $\hat\tau_0$ and the student's say.
    views: [View; 2],
    log_z0: f64,
    /// $c_k$.
    centres: Vec<Complex<f64>>,
    /// The potential is a small difference, taken as $E[D + e^{-D} - 1]$.
    faint: bool,
}

impl<'a> Plane<'a> {
    /// Of the values of teacher and student.
    pub fn new(
        [teacher, student]: &'a [Vec<(Complex<f64>, f64)>; 2],
        at: Field,
        tau0: f64,
    ) -> Self {
        let noise = at.q_hat.sqrt();
        // the teacher hears (m̂/√q̂)² and δ m̂/√q̂ beside τ̂₀
        let (signal, scale) = if at.is_silent() {
            (0.0, 0.0)
        } else {
            (at.m_hat / noise, at.m_hat / noise)
        };
        let own = View {
            precision: signal.mul_add(signal, at.tau0_hat),
            noise: scale,
            pull: -at.tau0_hat,
        };
        let heard = View {
            precision: at.a,
            noise,
            pull: at.m_hat - at.a,
        };
        Self {
            teacher,
            student,
            at,
            tau0,
            views: [own, heard],
            log_z0: at_rest(teacher, at.tau0_hat).log_z,
            centres: teacher.iter().map(|(x, _)| x.scale(signal)).collect(),
            faint: at.bayes && !at.excess && at.m_hat * tau0 < CLEAR,
        }
    }

    /// The averaged quantities at $c_k + \delta$, weighted by the density of the field there.
    fn at(&self, k: usize, delta: Complex<f64>) -> [f64; COUNT] {
        let at = &self.at;
        let x = self.teacher[k].0;
        let own = self.views[0].of(self.teacher, x, delta);
        // ∑ w_l e^{-½τ̂₀|x_l|²} N(c_k + δ; c_l, 1), from what the teacher's posterior is normalised by
        let height = own.log_z - 0.5 * at.tau0_hat * x.norm_sqr() - self.log_z0;
        let weight = (height - 0.5 * delta.norm_sqr()).exp() / TAU;
        self.values(x, delta, &own, weight)
    }

    fn values(
        &self,
        x: Complex<f64>,
        delta: Complex<f64>,
        own: &Seen,
        weight: f64,
    ) -> [f64; COUNT] {
        let at = &self.at;
        let seen = if at.bayes {
            None
        } else {
            Some(self.views[1].of(self.student, x, delta))
        };
        let seen = seen.as_ref().unwrap_or(own);
        let (r, r0) = (x + seen.mean, x + own.mean);
        let d = x.scale(1.0 - at.k) + seen.mean - own.mean.scale(at.k);
        let mut values = [0.0; COUNT];
        values[MASS] = weight;
        values[POTENTIAL] = 0.5 * weight * self.potential(x, delta, seen.log_z);
        values[Q] = 0.5 * weight * r.norm_sqr();
        values[V] = weight * seen.variance;
        values[M] = 0.5 * weight * Elem::dot(r0, r);
        values[Q0] = 0.5 * weight * r0.norm_sqr();
        values[V0] = weight * own.variance;
        values[D1] = 0.5 * weight * Elem::dot(d, r0);
        values[D2] = 0.5 * weight * d.norm_sqr();
        values
    }

    /// $A$, its excess $A - |b|^2/2a - \ln\frac{2\pi}a$, or the gain of $D = A - A_0(\hat\tau_0, 0)$, whose average is that of $D$.
    fn potential(&self, x: Complex<f64>, delta: Complex<f64>, log_z: f64) -> f64 {
        let (at, noise) = (&self.at, self.views[1].noise);
        if at.excess {
            let gap = x.scale(at.a - at.m_hat) - delta.scale(noise);
            return log_z - 0.5 * gap.norm_sqr() / at.a + (at.a / TAU).ln();
        }
        let field = delta.scale(noise) + x.scale(at.m_hat - 0.5 * at.a);
        let own = log_z + Elem::dot(x, field);
        if self.faint {
            gain(own - self.log_z0)
        } else {
            own
        }
    }

    /// The nine averages; those of a faint field have the potential of no field to add.
    pub fn average(&self) -> Result<Sums, FactorError> {
        let mut sums = if self.at.is_silent() {
            let x = self.teacher[0].0;
            let own = self.views[0].of(self.teacher, x, Complex::ZERO);
            self.values(x, Complex::ZERO, &own, 1.0)
        } else {
            self.over_plane()?
        };
        if self.faint {
            sums[POTENTIAL] += 0.5 * self.log_z0;
        }
        Ok(Sums(sums))
    }

    /// Halves the step until two of them agree to the root of the tolerance.
    fn over_plane(&self) -> Result<[f64; COUNT], FactorError> {
        let tolerance = if self.at.bayes { SINGLE } else { MISMATCHED };
        let floor = floors(&self.at, self.tau0);
        let mut step = self.first_step();
        let mut total = self.layer(step, [0.0; 2]);
        for _ in 0..HALVINGS {
            let before = total.map(|x| step * step * x);
            for offset in [[0.5, 0.0], [0.0, 0.5], [0.5, 0.5]] {
                let layer = self.layer(step, offset);
                total.iter_mut().zip(layer).for_each(|(sum, x)| *sum += x);
            }
            step *= 0.5;
            let now = total.map(|x| step * step * x);
            let change = (0..COUNT).filter(|i| floor[*i].is_finite()).map(|i| {
                let gap = (now[i] - before[i]).abs();
                if gap > 0.0 {
                    gap / now[i].abs().max(floor[i])
                } else {
                    0.0
                }
            });
            if change.fold(0.0, f64::max) < tolerance.sqrt() {
                return Ok(now);
            }
        }
        let at = &self.at;
        Err(FactorError::Failed(format!(
            "an average over the plane at precision {:e} did not come to rest after {HALVINGS} halvings of its step",
            at.a
        )))
    }

    /// From the steepest odds between neighbours, as far as these are within reach of the noise.
    fn first_step(&self) -> f64 {
        let steepest = |values: &Values, noise: f64| {
            let nearest = |(x, _): &(Complex<f64>, f64)| {
                let others = values
                    .iter()
                    .map(|(y, _)| (x - y).norm())
                    .filter(|d| *d > 0.0);
                others.fold(f64::INFINITY, f64::min)
            };
            let gaps = values.iter().map(nearest).filter(|d| d.is_finite());
            noise * gaps.fold(0.0, f64::max)
        };
        let rate = steepest(self.teacher, self.views[0].noise)
            .max(steepest(self.student, self.views[1].noise));
        SMOOTH.min(STEEP / rate.min(2.0 * REACH))
    }

    /// The sum over the points $h(i + \text{offset})$ of a lattice, every one from the centre it is nearest to.
    fn layer(&self, step: f64, offset: [f64; 2]) -> [f64; COUNT] {
        let mut sums = [0.0; COUNT];
        for (k, centre) in self.centres.iter().enumerate() {
            let near: Vec<usize> = self.near(k).collect();
            for re in along(centre.re, step, offset[0]) {
                for im in along(centre.im, step, offset[1]) {
                    // from the place alone: which centre is nearest must not depend on whom is asked
                    let point = Complex::new(re, im);
                    let own = (point - centre).norm_sqr();
                    let nearer = |l: &usize| {
                        let other = (point - self.centres[*l]).norm_sqr();
                        other < own || other <= own && *l < k
                    };
                    if own < REACH * REACH && !near.iter().any(nearer) {
                        let values = self.at(k, point - centre);
                        sums.iter_mut().zip(values).for_each(|(sum, x)| *sum += x);
                    }
                }
            }
        }
        sums
    }

    /// The other centres that share points with centre `k`.
    fn near(&self, k: usize) -> impl Iterator<Item = usize> + '_ {
        let gap = move |l: usize| (self.centres[l] - self.centres[k]).norm();
        (0..self.centres.len()).filter(move |l| *l != k && gap(*l) < 2.0 * REACH)
    }
}

/// The places $h(i + \text{offset})$ within reach of a centre.
fn along(centre: f64, step: f64, offset: f64) -> impl Iterator<Item = f64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some hundred
    let half = (REACH / step) as i32 + 1;
    let middle = (centre / step).round();
    (-half..=half).map(move |i| (middle + f64::from(i) + offset) * step)
}
