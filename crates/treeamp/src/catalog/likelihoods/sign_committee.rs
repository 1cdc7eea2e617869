//! A committee of signs, $y = \operatorname{sgn}\sum_{k\le K}\operatorname{sgn} z_k$ with $\operatorname{sgn} 0 = 0$: an even committee may be undecided.
//!
//! # Moments
//! $Z(y)$ is the probability of the orthants whose signs vote for $y$ under $\mathcal N(\omega, V)$. Of two units an orthant has
//! $P = \Phi_2(h, k; \rho)$ with $h = \sigma_1\omega_1/\sqrt{V_{11}}$, $k = \sigma_2\omega_2/\sqrt{V_{22}}$, and its derivatives are in closed form:
//! $\partial_h P = \varphi(h)\,\Phi\big(\tfrac{k - \rho h}{\sqrt{1 - \rho^2}}\big)$, $\partial_h\partial_k P = \varphi_2$,
//! $\partial_h^2 P = -h\,\partial_h P - \rho\varphi_2$. Of three and four units $V = \lambda 1 + F F^T$ with the smallest eigenvalue $\lambda$: given
//! $u \sim \mathcal N(0, 1)$ in $K - 1$ dimensions the fields $\omega + F u$ with noise $\lambda$ are independent, and sums over $u$ with equal steps
//! converge to $10^{-6}$, absolutely.
//!
//! # Reference
//! Aubin, Maillard, Barbier, Krzakala, Macris and Zdeborova, "The committee machine: computational to statistical gaps in learning a
//! two-layers neural network", J. Stat. Mech. (2019).

use std::cmp::Ordering;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2, PI, TAU};

use faer::Side;
use rand::Rng;

use crate::catalog::module::{Module, Parameter, ParameterKind, Preset};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::dense::square;
use crate::math::quadrature::{rule16, rule32};
use crate::math::special::{HALF_LN_2PI, log_normal_cdf, normal_density};
use crate::separable::{RowLikelihood, RowTilt};

/// Units at most: sums over $u$ grow by a power of each.
const MOST: usize = 4;
/// $u$ beyond this has a weight below $10^{-7}$.
const END: f64 = 5.5;
/// Steps $h$ make a relative error $e^{-(2\pi/h)^2\lambda/2\lambda_{max}}$; this is its exponent.
const DIGITS: f64 = 14.0;
/// Points of a sum at most.
const POINTS: f64 = 2e5;

/// Correlations up to which Plackett's integral starts at zero: the rule of 32 points is good to rounding there.
const NEARLY_EQUAL: f64 = 0.97;

/// A label less likely than this is done again with logarithms.
const FAINT: f64 = 1e-6;
/// Steps to the top of an exponent: to $10^{-12}$ of it.
const BISECTIONS: usize = 40;
/// A weight that has fallen by so much in its exponent is over.
const DROP: f64 = 40.0;
/// Lengths beyond which nothing falls any more.
const END_OF_TAIL: f64 = 1e6;

/// Angles between which the rule of 16 points is.
const SHORT: f64 = 0.6;

/// The majority of $K$ signs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignCommittee {
    units: usize,
}

impl SignCommittee {
    /// Of `units` units, one to four.
    ///
    /// # Errors
    /// Another number of units.
    pub fn new(units: usize) -> Result<Self, ModelError> {
        if (1..=MOST).contains(&units) {
            return Ok(Self { units });
        }
        Err(parameter(Self::NAME, "units", "from 1 to 4", units))
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "the majority of the signs of a row of fields, to be observed",
        formula: "x = sign(sum_k sign(z_k)), z a row of units fields",
        tex: r"x = \mathrm{sign}\Big(\sum_{k \le K}\mathrm{sign}(z_k)\Big)",
        notes: r"Labels are $\pm1$, and 0 where as many signs are positive as negative. Its input has shape $(M, K)$ and beliefs block(K), which keep \
                 how the units covary. Moments by the probabilities of orthants: closed forms and one integral for two units, sums to $10^{-6}$ beyond.",
        parameters: &[
            Parameter::required("units", ParameterKind::Count, "K, from 1 to 4")
                .or(Preset::Count(2))
                .called("K"),
        ],
        constructor: |a| a.channel(Self::new(a.count("units")?)?.channel()),
        ..Module::ROW_LIKELIHOOD
    };

    /// The signs of an orthant, one bit each.
    fn sign(orthant: usize, k: usize) -> f64 {
        if orthant >> k & 1 == 1 { 1.0 } else { -1.0 }
    }

    /// The vote of an orthant.
    fn vote(self, orthant: usize) -> f64 {
        let ones = orthant.count_ones() as usize;
        f64::from((2 * ones).cmp(&self.units) as i32)
    }
}

/// The sign of the sum of signs.
fn majority(z: &[f64]) -> f64 {
    let sign = |x: f64| f64::from(u8::from(x > 0.0)) - f64::from(u8::from(x < 0.0));
    sign(z.iter().map(|z| sign(*z)).sum())
}

/// $\Phi(x)$, with the digits of a small one.
fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The probabilities of the four quadrants of $(x, y)$ with unit variances and correlation $\rho$ beside $(-h, -k)$, one bit per sign, by
/// Plackett's identity: $\Phi_2(h, k; \rho) = \Phi(h)\Phi(k) + I$ with
/// $I = \frac1{2\pi}\int_0^{\arcsin\rho}\exp\big(-\frac{h^2 + k^2 - 2hk\sin\theta}{2\cos^2\theta}\big)d\theta$, and $\pm I$ for the others.
fn quadrants(h: f64, k: f64, rho: f64) -> [f64; 4] {
    let side = |x: f64| [normal_cdf(-x), normal_cdf(x)];
    let (first, second) = (side(h), side(k));
    if rho.abs() < NEARLY_EQUAL {
        let i = plackett(h, k, 0.0, rho.asin());
        return std::array::from_fn(|o| {
            let (a, b) = (o & 1, o >> 1);
            let joint = if a == b { i } else { -i };
            (first[a] * second[b] + joint).max(0.0)
        });
    }
    std::array::from_fn(|o| {
        let signs = [SignCommittee::sign(o, 0), SignCommittee::sign(o, 1)];
        let (h, k, rho) = (signs[0] * h, signs[1] * k, signs[0] * signs[1] * rho);
        let to = rho.clamp(-1.0, 1.0).asin();
        let value = if rho > 0.0 {
            // from ρ = 1, where both are the smaller one
            normal_cdf(h.min(k)) - plackett(h, k, to, FRAC_PI_2)
        } else {
            // from ρ = -1, the probability of -k < x < h
            (normal_cdf(h) - normal_cdf(-k)).max(0.0) + plackett(h, k, -FRAC_PI_2, to)
        };
        value.max(0.0)
    })
}

/// Plackett's integral between two angles.
fn plackett(h: f64, k: f64, from: f64, to: f64) -> f64 {
    let exponent = |t: f64| {
        let (s, c) = t.sin_cos();
        // (h - k)² + 2hk(1 - s), which keeps its digits near s = 1
        let sum = (h - k).powi(2) + 2.0 * h * k * (1.0 - s);
        (-0.5 * sum / (c * c)).exp()
    };
    let at = |x: &f64| exponent((to - from).mul_add(*x, from));
    let sum: f64 = if (to - from).abs() < SHORT {
        let rule = rule16();
        rule.nodes
            .iter()
            .zip(&rule.weights)
            .map(|(x, w)| w * at(x))
            .sum()
    } else {
        let rule = rule32();
        rule.nodes
            .iter()
            .zip(&rule.weights)
            .map(|(x, w)| w * at(x))
            .sum()
    };
    (to - from) * sum / TAU
}

/// Adds to the tilt of a label the probability of some orthants, and its derivatives.
struct Sums<'a> {
    /// The tilts, by label: $Z$ in place of its logarithm.
    tilts: &'a mut [RowTilt],
    /// The label of every orthant, if it is asked for.
    label: &'a [Option<usize>],
}

impl Sums<'_> {
    /// Two fields. Sums over orthants lose the digits of a label that is nearly impossible: that is done again with logarithms, in units of
    /// its largest orthant, which is what is given back by label.
    fn add_pair(&mut self, v: &[f64], omega: &[f64]) -> [f64; 3] {
        let pair = Pair::new(v, omega);
        let chance = quadrants(pair.h[0], pair.h[1], pair.rho);
        for (o, label) in self.label.iter().enumerate() {
            if let Some(label) = label {
                pair.add(o, chance[o], 0.0, &mut self.tilts[*label]);
            }
        }
        let mut units = [0.0; 3];
        for (l, out) in self.tilts.iter_mut().enumerate() {
            if out.log_z >= FAINT {
                continue;
            }
            let own = || (0..4).filter(|o| self.label[*o] == Some(l));
            let logs: [f64; 4] = std::array::from_fn(|o| pair.log_chance(o));
            let unit = own().fold(f64::NEG_INFINITY, |m, o| m.max(logs[o]));
            if own().next().is_none() || !unit.is_finite() {
                continue;
            }
            out.set_zero();
            own().for_each(|o| pair.add(o, (logs[o] - unit).exp(), unit, out));
            units[l] = unit;
        }
        units
    }

    /// Independent fields of means `omega` and one standard deviation, times `weight`.
    fn add_independent(&mut self, omega: &[f64], deviation: f64, weight: f64) {
        let n = omega.len();
        let (mut t, mut density) = ([0.0; MOST], [0.0; MOST]);
        let mut chance = [[0.0; 2]; MOST];
        for k in 0..n {
            t[k] = omega[k] / deviation;
            chance[k] = [normal_cdf(-t[k]), normal_cdf(t[k])];
            density[k] = normal_density(t[k]) / deviation;
        }
        for (o, label) in self.label.iter().enumerate() {
            let Some(out) = label.map(|l| &mut self.tilts[l]) else {
                continue;
            };
            let slope = |k: usize| SignCommittee::sign(o, k) * density[k];
            let without = |i: usize, j: usize| -> f64 {
                let others = (0..n).filter(|k| *k != i && *k != j);
                weight * others.map(|k| chance[k][o >> k & 1]).product::<f64>()
            };
            out.log_z += without(n, n);
            for i in 0..n {
                let own = slope(i) * without(i, i);
                out.gradient[i] += own;
                out.hessian[i * n + i] -= own * t[i] / deviation;
                for j in (0..n).filter(|j| *j != i) {
                    out.hessian[i * n + j] += slope(i) * slope(j) * without(i, j);
                }
            }
        }
    }

    /// Three fields or more.
    fn add_several(&mut self, v: &[f64], omega: &[f64]) -> Result<(), FactorError> {
        let n = omega.len();
        let failed = |_| FactorError::Failed("eigenvalues did not converge".to_owned());
        let eigen = square(v, n)
            .self_adjoint_eigen(Side::Lower)
            .map_err(failed)?;
        let values = eigen.S().column_vector();
        let (least, most) = (values[0], values[n - 1]);
        if !(least > 0.0) {
            let what = "the covariance of its fields is not positive definite".to_owned();
            return Err(FactorError::Improper(what));
        }
        let step = 2.0 * PI / (2.0 * DIGITS * most / least).sqrt();
        let mut moved = vec![0.0; n];
        over_grid(n - 1, step, &mut |u, weight| {
            for (i, m) in moved.iter_mut().enumerate() {
                let terms = u.iter().enumerate().map(|(k, u)| {
                    let size = (values[k + 1] - least).max(0.0).sqrt();
                    eigen.U()[(i, k + 1)] * size * u
                });
                *m = omega[i] + terms.sum::<f64>();
            }
            self.add_independent(&moved, least.sqrt(), weight);
        })
    }
}

/// Two fields in units of their deviations.
struct Pair {
    deviation: [f64; 2],
    h: [f64; 2],
    rho: f64,
    /// $\sqrt{1 - \rho^2}$.
    rest: f64,
}

impl Pair {
    fn new(v: &[f64], omega: &[f64]) -> Self {
        let deviation = [v[0].sqrt(), v[3].sqrt()];
        Self {
            deviation,
            h: std::array::from_fn(|i| omega[i] / deviation[i]),
            rho: v[1] / (deviation[0] * deviation[1]),
            rest: ((v[0] * v[3] - v[1] * v[1]) / (v[0] * v[3])).sqrt(),
        }
    }

    /// The other field given that field `i` is at zero.
    fn other(&self, i: usize) -> f64 {
        (self.h[1 - i] - self.rho * self.h[i]) / self.rest
    }

    /// Adds the probability of an orthant and its derivatives, in units of $e^u$.
    fn add(&self, orthant: usize, chance: f64, u: f64, out: &mut RowTilt) {
        let sign: [f64; 2] = std::array::from_fn(|i| SignCommittee::sign(orthant, i));
        let both = sign[0] * sign[1];
        let log = |x: f64| -0.5 * x * x - HALF_LN_2PI;
        let density = (log(self.h[0]) + log(self.other(0)) - u).exp() / self.rest;
        out.log_z += chance;
        for i in 0..2 {
            let beside = log_normal_cdf(sign[1 - i] * self.other(i));
            let slope = sign[i] * (log(self.h[i]) + beside - u).exp();
            out.gradient[i] += slope / self.deviation[i];
            let curve = self.h[i] * slope + both * self.rho * density;
            out.hessian[3 * i] -= curve / (self.deviation[i] * self.deviation[i]);
        }
        let mixed = both * density / (self.deviation[0] * self.deviation[1]);
        out.hessian[1] += mixed;
        out.hessian[2] += mixed;
    }

    /// $\ln\Phi_2(h, k; \rho) = \ln\int_0^\infty\varphi(h - s)\,\Phi\big(\frac{k - \rho(h - s)}{\sqrt{1 - \rho^2}}\big)\,ds$ of an orthant: the exponent is concave with
    /// a curvature of one at least, and is integrated on both sides of its top.
    fn log_chance(&self, orthant: usize) -> f64 {
        let sign: [f64; 2] = std::array::from_fn(|i| SignCommittee::sign(orthant, i));
        let (h, k) = (sign[0] * self.h[0], sign[1] * self.h[1]);
        let slope = sign[0] * sign[1] * self.rho / self.rest;
        let inner = |s: f64| k / self.rest - slope * (h - s);
        let exponent = |s: f64| log_normal_cdf(inner(s)) - 0.5 * (h - s).powi(2);
        let descent = |s: f64| {
            let x = inner(s);
            // φ/Φ
            let ratio = (-0.5 * x * x - HALF_LN_2PI - log_normal_cdf(x)).exp();
            h - s + slope * ratio
        };
        let (mut low, mut high) = (0.0, 0.0);
        if descent(0.0) > 0.0 {
            high = 1.0;
            while descent(high) > 0.0 {
                (low, high) = (high, 2.0 * high);
            }
            for _ in 0..BISECTIONS {
                let middle = 0.5 * (low + high);
                if descent(middle) > 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
        }
        let (top, level) = (high, exponent(high));
        let mut sum = 0.0;
        for side in [-1.0_f64, 1.0] {
            // the exponent falls by DROP within this length, or ends at s = 0
            let mut length = 1.0;
            while level - exponent(side.mul_add(length, top)) > DROP {
                length *= 0.5;
            }
            while level - exponent(side.mul_add(length, top)) < DROP && length < END_OF_TAIL {
                length *= 2.0;
            }
            let length = if side < 0.0 { length.min(top) } else { length };
            let rule = rule32();
            for half in [0.0, 0.5] {
                let at = |x: &f64| exponent(side.mul_add((half + 0.5 * x) * length, top)) - level;
                let terms = rule.nodes.iter().zip(&rule.weights);
                sum += 0.5 * length * terms.map(|(x, w)| w * at(x).exp()).sum::<f64>();
            }
        }
        level + sum.ln() - HALF_LN_2PI
    }
}

/// From $Z$ and its derivatives to those of its logarithm.
fn take_logarithm(tilt: &mut RowTilt) {
    let (z, n) = (tilt.log_z, tilt.gradient.len());
    tilt.log_z = z.ln();
    if z > 0.0 {
        tilt.gradient.iter_mut().for_each(|g| *g /= z);
        for (k, h) in tilt.hessian.iter_mut().enumerate() {
            *h = *h / z - tilt.gradient[k / n] * tilt.gradient[k % n];
        }
    }
}

/// Calls `f` with every point $u$ of a grid of equal steps, and its weight.
fn over_grid(dim: usize, step: f64, f: &mut impl FnMut(&[f64], f64)) -> Result<(), FactorError> {
    let side = (2.0 * END / step).ceil();
    let points: f64 = (0..dim).map(|_| side).product();
    if points > POINTS {
        return Err(FactorError::Unsupported(format!(
            "its fields are too nearly dependent for an average over {dim} dimensions ({points:.0} points)"
        )));
    }
    let half = (1_u32..)
        .map(|k| f64::from(k) * step)
        .take_while(|x| *x < END);
    let axis: Vec<f64> = half.flat_map(|x| [x, -x]).chain([0.0]).collect();
    let mut u = vec![0.0; dim];
    for index in 0..(0..dim).map(|_| axis.len()).product() {
        let (mut rest, mut weight) = (index, 1.0);
        for x in &mut u {
            *x = axis[rest % axis.len()];
            rest /= axis.len();
            weight *= step * normal_density(*x);
        }
        f(&u, weight);
    }
    Ok(())
}

impl SignCommittee {
    fn tilts(
        self,
        label: &[Option<usize>],
        v: &[f64],
        omega: &[f64],
        tilts: &mut [RowTilt],
    ) -> Result<(), FactorError> {
        tilts.iter_mut().for_each(RowTilt::set_zero);
        let mut sums = Sums { tilts, label };
        let mut units = [0.0; 3];
        match self.units {
            1 => sums.add_independent(omega, v[0].sqrt(), 1.0),
            2 => units = sums.add_pair(v, omega),
            _ => sums.add_several(v, omega)?,
        }
        for (tilt, unit) in tilts.iter_mut().zip(units) {
            take_logarithm(tilt);
            tilt.log_z += unit;
        }
        Ok(())
    }
}

impl RowLikelihood for SignCommittee {
    const NAME: &'static str = "sign_committee";

    fn dim(&self) -> usize {
        self.units
    }

    fn labels(&self) -> Vec<f64> {
        if self.units.is_multiple_of(2) {
            vec![-1.0, 0.0, 1.0]
        } else {
            vec![-1.0, 1.0]
        }
    }

    fn tilted(
        &self,
        y: f64,
        v: &[f64],
        omega: &[f64],
        out: &mut RowTilt,
    ) -> Result<(), FactorError> {
        let asked = |o: usize| self.vote(o).total_cmp(&y).is_eq().then_some(0);
        let label: [_; 1 << MOST] = std::array::from_fn(asked);
        self.tilts(
            &label[..1 << self.units],
            v,
            omega,
            std::slice::from_mut(out),
        )
    }

    fn tilted_each(
        &self,
        v: &[f64],
        omega: &[f64],
        out: &mut [RowTilt],
    ) -> Result<(), FactorError> {
        let last = out.len() - 1;
        let place = |o: usize| match self.vote(o).total_cmp(&0.0) {
            Ordering::Less => Some(0),
            Ordering::Equal => Some(1),
            Ordering::Greater => Some(last),
        };
        let label: [_; 1 << MOST] = std::array::from_fn(place);
        self.tilts(&label[..1 << self.units], v, omega, out)
    }

    fn log_probability(&self, y: f64, z: &[f64]) -> f64 {
        if majority(z).total_cmp(&y).is_eq() {
            0.0
        } else {
            f64::NEG_INFINITY
        }
    }

    fn sample(&self, _: &mut dyn Rng, z: &[f64]) -> f64 {
        majority(z)
    }

    fn edges(&self) -> Vec<f64> {
        vec![0.0]
    }

    fn summary(&self) -> String {
        format!("{} units", self.units)
    }
}
