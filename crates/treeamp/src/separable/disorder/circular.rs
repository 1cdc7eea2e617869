//! State evolution of circular complex laws: a prior, an output that depends on $|z|$, and an output on the ray
//! through $z$. Everything is averaged over lengths.
//!
//! Overlaps and potentials are per real component. By the symmetry a law is known from its values on the real axis,
//! $b = |b|$, and the phase of $b$ drops out:
//!
//! - *prior*: $p(|b|) = \frac{|b|}{\hat q}e^{-|b|^2/2\hat q}\,e^{A_0(a_*, |b_*|) - A_0(\hat\tau_0, 0)}$, one integral;
//! - *function of the modulus*: $|z_0| = \rho$ is a Rayleigh length and $|b|$ a Rice one around $\hat m\rho$,
//!   $p(|b| \mid \rho) = \frac{|b|}{\hat q}e^{-(|b| - \hat m\rho)^2/2\hat q}\,e^{-\kappa}I_0(\kappa)$ with $\kappa = \hat m\rho|b|/\hat q$. Given both, $z_0$ has the mean
//!   $\rho R(\kappa)$ along $b$, $R = I_1/I_0$. Two integrals, or one for
//!   $y = |z|$ itself (`modulus.rs`);
//! - *the same behind noise*, a function of $|w|$, $w = z + n$ with $n$ of variance $\Delta$ per real component. Then $\rho = |w|$ is a Rayleigh length of
//!   variance $\tau_0 + \Delta$; given $w$, $z_0$ has the mean $\lambda w$, $\lambda = \tau_0/(\tau_0 + \Delta)$, and the variance $s = \lambda\Delta$, and $b$ the
//!   mean $\hat m\lambda w$ and the variance $u = \hat q + \hat m^2s$. Hence $\kappa = \hat m\lambda\rho|b|/u$, and given $\rho$ and $b$ the signal $z_0$ has the
//!   mean $\lambda\tfrac{\hat q}u\rho R(\kappa) + \tfrac{\hat ms}u|b|$ along $b$;
//! - *phase*: only $\beta = \mathrm{Re}(\bar y b) \sim \mathcal N(\hat m\rho, \hat q)$ matters, and $\rho$ given $\beta$ is a tilted Rayleigh length. One
//!   integral.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use super::breaks::Breaks;
use super::line::{SHARP, gain};
use super::{COUNT, Field, POTENTIAL, Point, Sums, V, V0, floors};
use super::{INNER, OUTER, SINGLE};
use crate::error::FactorError;
use crate::math::bessel::circle;
use crate::math::quadrature::panels::{Effort, Monitor, Sample, integrate};
use crate::math::rayleigh::{radius, radius_with_excess};
use crate::scalar::{Landmark, OutputMeasure, ScalarView, Tilt, Tilted};

/// $\hat m^2\tau_0/\hat q$ below which the potential of a prior is a small difference.
const FAINT: f64 = 0.1;
/// Density, in units of the width of the disorder, beyond which there is nothing.
const NEGLIGIBLE: f64 = 1e-30;

/// A teacher and a student at one field.
pub(super) struct Pair<'a> {
    pub student: &'a dyn ScalarView,
    pub teacher: &'a dyn ScalarView,
    /// The field, of positive $\hat q$ unless it is silent.
    pub at: Field,
    pub tau0: f64,
}

/// What is seen of a circular Gaussian signal through an output behind noise.
struct Seen {
    /// $\tau_0 + \Delta$.
    total: f64,
    /// $\lambda$.
    share: f64,
    /// $s$.
    spread: f64,
    /// $\sqrt u$.
    width: f64,
}

impl Seen {
    fn new(at: &Field, tau0: f64, noise: f64) -> Self {
        let total = tau0 + noise;
        let share = tau0 / total;
        let spread = share * noise;
        Self {
            total,
            share,
            spread,
            width: at.q_hat.sqrt().hypot(at.m_hat * spread.sqrt()),
        }
    }
}

/// The noise before an output.
fn noise_of(law: &dyn ScalarView) -> f64 {
    match law.outputs() {
        Some(OutputMeasure::PushForward { noise_variance, .. }) => noise_variance,
        _ => 0.0,
    }
}

/// Radial moments as those of a real component: $r^2/2$ per component, and half of $A$.
fn point(t: Tilted, r0: f64, v0: f64) -> Point {
    Point {
        log_z: 0.5 * t.log_z,
        r: FRAC_1_SQRT_2 * t.mean,
        v: t.variance,
        r0: FRAC_1_SQRT_2 * r0,
        v0,
    }
}

/// $dr/d|b|$ of a radial mean $r$ with variance $v = \frac12(r' + r/|b|)$ per real component.
fn radial_slope(t: Tilted, b: f64) -> f64 {
    if b > 0.0 {
        2.0 * t.variance - t.mean / b
    } else {
        t.variance
    }
}

/// A prior on the real axis.
fn prior_at(law: &dyn ScalarView, x: Tilt) -> Tilted {
    law.prior(x).unwrap_or(Tilted::divergent(0.0))
}

/// The law of the length of a prior's field.
struct Lengths<'a> {
    pair: &'a Pair<'a>,
    log_z0: f64,
    /// The weight is formed from the excess of the teacher's law.
    sharp: bool,
    /// The potential is a small difference, taken as $E[D + e^{-D} - 1]$.
    faint: bool,
}

impl Lengths<'_> {
    /// $\ln p(|b|)$, from the teacher's law at $b_*$.
    fn log_weight(&self, b: f64, t0: &Tilted) -> f64 {
        let at = &self.pair.at;
        if !self.sharp {
            return t0.log_z + (b / at.q_hat).ln() - 0.5 * (b / at.q_hat) * b - self.log_z0;
        }
        let spread = at.m_hat * at.m_hat + at.tau0_hat * at.q_hat;
        let excess = self.pair.teacher.prior_excess(self.pair.star(b));
        excess.unwrap_or(f64::INFINITY) + (TAU * b / spread).ln()
            - 0.5 * at.tau0_hat * (b / spread) * b
            - self.log_z0
    }

    fn sample(&self, b: f64) -> Sample<COUNT> {
        let at = &self.pair.at;
        let star = self.pair.star(b);
        let t0 = prior_at(self.pair.teacher, star);
        let weight = self.log_weight(b, &t0).exp();
        if !(weight > 0.0) {
            return Sample::plain([0.0; COUNT]);
        }
        let t = if at.bayes {
            t0
        } else {
            prior_at(self.pair.student, Tilt { a: at.a, b })
        };
        let mut values = point(t, t0.mean, t0.variance).weighted(weight, at.k);
        if at.excess {
            let excess = self.pair.student.prior_excess(Tilt { a: at.a, b });
            values[POTENTIAL] = 0.5 * weight * excess.unwrap_or(f64::INFINITY);
        }
        if self.faint {
            values[POTENTIAL] = 0.5 * weight * gain(t.log_z - self.log_z0);
        }
        let (rise0, slope0) = if at.m_hat == 0.0 || at.bayes {
            (0.0, 0.0)
        } else {
            (
                at.q_hat / at.m_hat * t0.mean,
                radial_slope(t0, star.b.abs()),
            )
        };
        Sample {
            values,
            weight,
            rise: [t.mean, rise0],
            slope: [radial_slope(t, b), slope0],
        }
    }

    fn breaks(&self) -> Vec<f64> {
        let Pair {
            student,
            teacher,
            at,
            tau0,
        } = self.pair;
        let mut breaks = Breaks::new();
        breaks.teacher(&teacher.landmarks(None), at.m_hat, at.q_hat);
        breaks.student(&student.landmarks(None), at.a);
        breaks.clip(0.0, f64::INFINITY);
        let unit = at.q_hat.sqrt().max(at.m_hat.abs() * tau0.sqrt());
        let weight = |b: f64| {
            self.log_weight(b, &prior_at(*teacher, self.pair.star(b)))
                .exp()
        };
        breaks.extend(|b| b <= 0.0 || weight(b) * unit < NEGLIGIBLE);
        breaks.sorted()
    }
}

impl Pair<'_> {
    /// $a_*, b_*$.
    fn star(&self, b: f64) -> Tilt {
        let at = &self.at;
        let ratio = at.m_hat / at.q_hat;
        Tilt {
            a: at.m_hat.mul_add(ratio, at.tau0_hat),
            b: ratio * b,
        }
    }

    fn monitors(&self) -> [Monitor; 2] {
        [
            Monitor {
                against: V,
                scale: self.tau0.sqrt(),
            },
            Monitor {
                against: V0,
                scale: 0.0,
            },
        ]
    }

    fn lengths(&self, log_z0: f64) -> Lengths<'_> {
        let at = &self.at;
        let strength = at.m_hat * at.m_hat * self.tau0;
        Lengths {
            pair: self,
            log_z0,
            sharp: strength > SHARP * at.q_hat,
            faint: at.bayes && strength < FAINT * at.q_hat,
        }
    }

    /// $E[f(|b|)]$ over a circular prior, for a function bounded by one.
    pub fn prior_expectation(&self, log_z0: f64, f: &dyn Fn(f64) -> f64) -> f64 {
        if self.at.is_silent() {
            return f(0.0);
        }
        let lengths = self.lengths(log_z0);
        let sample = &mut |b: f64| {
            let weight = lengths.sample(b).weight;
            Sample::plain([weight, if weight > 0.0 { weight * f(b) } else { 0.0 }])
        };
        let [mass, mean] = integrate(sample, &lengths.breaks(), Effort::plain(SINGLE));
        mean / mass
    }

    /// The nine averages of a circular prior; `log_z0` is the teacher's $A_0(\hat\tau_0, 0)$.
    pub fn prior(&self, log_z0: f64) -> [f64; COUNT] {
        let at = &self.at;
        if at.is_silent() {
            let t = prior_at(self.student, Tilt { a: at.a, b: 0.0 });
            let flat = Tilt {
                a: at.tau0_hat,
                b: 0.0,
            };
            let v0 = prior_at(self.teacher, flat).variance;
            return point(t, 0.0, v0).weighted(1.0, at.k);
        }
        let lengths = self.lengths(log_z0);
        let effort = Effort {
            monitored: Some(self.monitors()),
            floor: floors(at, self.tau0),
            tolerance: SINGLE,
            empty: 0.0,
        };
        let mut sums = integrate(&mut |b| lengths.sample(b), &lengths.breaks(), effort);
        if lengths.faint {
            sums[POTENTIAL] += 0.5 * log_z0;
        }
        sums
    }

    fn refused(y: f64, reason: &str) -> FactorError {
        FactorError::Contradiction(format!(
            "the teacher gives an output {y} that the student holds impossible: {reason}"
        ))
    }

    /// The nine averages of an output that depends on $|z|$.
    pub fn output(&self) -> Result<Sums, FactorError> {
        let modulus = |law: &dyn ScalarView| law.outputs() == Some(OutputMeasure::Modulus);
        if modulus(self.student) && modulus(self.teacher) && !self.at.is_silent() {
            return Ok(Sums(super::modulus::average(
                self.student,
                &self.at,
                self.tau0,
            )));
        }
        let seen = Seen::new(&self.at, self.tau0, noise_of(self.teacher));
        let sd = seen.total.sqrt();
        let mut breaks = Breaks::nested();
        breaks.component(0.0, sd);
        breaks.clip(0.0, f64::INFINITY);
        // potentials have the logarithm of a length
        breaks.corner(0.05 * sd);
        breaks.corner(0.001 * sd);
        let at = &self.at;
        // where the field begins to tell the phase: m̂²λ²ρ²/u = 1
        if at.m_hat != 0.0 {
            breaks.around(0.0, (seen.width / (at.m_hat.abs() * seen.share)).min(sd));
        }
        let breaks = breaks.sorted();
        let rayleigh = |rho: f64| rho / seen.total * (-0.5 * (rho / sd) * (rho / sd)).exp();
        let mut floor = floors(at, self.tau0);
        for w in breaks.windows(2) {
            let rho = 0.5 * (w[0] + w[1]);
            let share = 0.1 * (w[1] - w[0]) * rayleigh(rho);
            let rough = self.over_length(&seen, rho, [f64::INFINITY; COUNT])?;
            for (f, x) in floor.iter_mut().zip(rough) {
                *f += share * x.abs();
            }
        }
        let mut failed = None;
        let sample = &mut |rho: f64| match self.over_length(&seen, rho, floor) {
            Ok(values) => Sample::plain(values.map(|x| x * rayleigh(rho))),
            Err(e) => {
                failed = Some(e);
                Sample::plain([0.0; COUNT])
            }
        };
        let effort = Effort {
            monitored: None,
            floor: floors(at, self.tau0),
            tolerance: OUTER,
            empty: 0.0,
        };
        let sums = integrate(sample, &breaks, effort);
        failed.map_or(Ok(Sums(sums)), Err)
    }

    /// The average over $|b|$ given $|w| = \rho$.
    fn over_length(
        &self,
        seen: &Seen,
        rho: f64,
        floor: [f64; COUNT],
    ) -> Result<[f64; COUNT], FactorError> {
        let at = &self.at;
        let y = self.teacher.map(rho).unwrap_or(f64::NAN);
        if let Err(reason) = self.student.check_output(y) {
            return Err(Self::refused(y, &reason));
        }
        let nothing = Tilted::divergent(0.0);
        let own = |b: f64| {
            self.student
                .likelihood(y, Tilt { a: at.a, b })
                .unwrap_or(nothing)
        };
        if at.is_silent() {
            let v0 = seen.spread + 0.5 * seen.share * seen.share * rho * rho;
            return Ok(point(own(0.0), 0.0, v0).weighted(1.0, at.k));
        }
        let width = seen.width;
        let centre = at.m_hat.abs() * seen.share * rho;
        // λ(q̂/u)ρ and m̂s/u
        let reach = seen.share * (at.q_hat / width / width) * rho;
        let pull = at.m_hat * (seen.spread / width / width);
        let left = seen.spread * (at.q_hat / width / width);
        let sample = &mut |b: f64| {
            let turned = circle(centre * (b / width / width));
            let gap = (b - centre) / width;
            let weight = b / width / width * (turned.log_scaled - 0.5 * gap * gap).exp();
            let r0 = (reach * turned.ratio).copysign(at.m_hat) + pull * b;
            let v0 = left + 0.5 * reach * reach * turned.spread;
            let t = own(b);
            let mut values = point(t, r0, v0).weighted(weight, at.k);
            if at.excess {
                let excess = self.student.likelihood_excess(y, Tilt { a: at.a, b });
                values[POTENTIAL] = 0.5 * weight * excess.unwrap_or(f64::INFINITY);
            }
            Sample {
                values,
                weight,
                rise: [t.mean, 0.0],
                slope: [radial_slope(t, b), 0.0],
            }
        };
        let mut breaks = Breaks::nested();
        breaks.component(centre, width);
        breaks.clip(0.0, f64::INFINITY);
        if y > 0.0 {
            // the student's concentration is y|b|/(1 + aΔ)
            breaks.around(0.0, (at.a * noise_of(self.student)).abs().max(1.0) / y);
        }
        let rough = floor.iter().all(|f| f.is_infinite());
        let effort = Effort {
            monitored: (!rough).then(|| self.monitors()),
            floor,
            tolerance: INNER,
            empty: 0.0,
        };
        Ok(integrate(sample, &breaks.sorted(), effort))
    }

    /// The nine averages of an output on the ray through $z$: $\beta$ and the radius given it.
    pub fn ray(&self) -> Sums {
        let at = &self.at;
        let own = |b: f64| {
            let t = self.student.likelihood(1.0, Tilt { a: at.a, b });
            t.unwrap_or(Tilted::divergent(0.0))
        };
        // ρ is a Rayleigh length: ∫ρ e^{-τ̂₀ρ²/2}dρ = 1/τ̂₀
        let log_z0 = -at.tau0_hat.ln();
        if at.is_silent() {
            let t0 = radius(at.tau0_hat, 0.0);
            return Sums(point(own(0.0), t0.mean, 0.5 * t0.variance).weighted(1.0, at.k));
        }
        let sd = self.tau0.sqrt();
        let noise = at.q_hat / at.m_hat;
        let spread = at.m_hat * at.m_hat + at.tau0_hat * at.q_hat;
        let sample = &mut |b: f64| {
            let (t0, excess) = radius_with_excess(self.star(b).a, self.star(b).b);
            // b*²/2a* - b²/2q̂ = -τ̂₀b²/2(m̂² + τ̂₀q̂)
            let rest = 0.5 * at.tau0_hat * (b / spread) * b + 0.5 * (TAU * at.q_hat).ln();
            let weight = (excess - log_z0 - rest).exp();
            if !(weight > 0.0) {
                return Sample::plain([0.0; COUNT]);
            }
            let t = own(b);
            // along the ray alone: r' = Var ρ = 2v
            Sample {
                values: point(t, t0.mean, 0.5 * t0.variance).weighted(weight, at.k),
                weight,
                rise: [t.mean, noise * t0.mean],
                slope: [2.0 * t.variance, t0.variance],
            }
        };
        let mut breaks = Breaks::new();
        breaks.teacher(&[Landmark::spread(sd, sd)], at.m_hat, at.q_hat);
        breaks.around(0.0, at.q_hat.sqrt());
        breaks.around(0.0, at.a.abs().sqrt());
        let effort = Effort {
            monitored: Some(self.monitors()),
            floor: floors(at, self.tau0),
            tolerance: SINGLE,
            empty: 0.0,
        };
        Sums(integrate(sample, &breaks.sorted(), effort))
    }
}
