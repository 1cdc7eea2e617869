//! State evolution of a circular channel, complex in and real out: the length of $b_z$ and the field $b_x$.
//!
//! $p(|b_z|, b_x) = \frac{|b_z|}{\hat q_z}e^{-|b_z|^2/2\hat q_z}\,\mathcal N(b_x; 0, \hat q_x)\,e^{A_0(a_*, b_*) - A_0(\hat\tau_0, 0)}$, formed from the excess of $A_0$ over the tilts
//! where the field is sharp. The potential is per real component of $z$.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use super::breaks::Breaks;
use super::{COUNT, Field, Point, floors};
use super::{INNER, OUTER};
use crate::math::quadrature::panels::{Effort, Sample, integrate};
use crate::scalar::{ScalarView, Tilt, TiltedPair};

const Z: usize = 0;
const X: usize = 1;

/// A teacher and a student channel at the fields of both ends.
pub(super) struct Pair<'a> {
    pub student: &'a dyn ScalarView,
    pub teacher: &'a dyn ScalarView,
    /// The fields, of positive $\hat q$ unless they are silent.
    pub at: [Field; 2],
    /// The end whose overlaps are asked for.
    pub end: usize,
    /// $A_0(\hat\tau_0, 0)$.
    pub log_z0: f64,
    pub tau0: [f64; 2],
    /// The ends over whose tilts the excess is formed: the sharp ones, or those that are clear where the excess is averaged itself.
    pub sharp: [bool; 2],
}

impl Pair<'_> {
    fn star(&self, end: usize, b: f64) -> Tilt {
        let at = &self.at[end];
        let ratio = if at.is_silent() {
            0.0
        } else {
            at.m_hat / at.q_hat
        };
        Tilt {
            a: at.m_hat.mul_add(ratio, at.tau0_hat),
            b: ratio * b,
        }
    }

    /// $\ln$ of the measure of a field in `components` real dimensions, less the part of the tilt that is in the excess.
    fn log_measure(&self, end: usize, b: f64, sharp: bool, components: f64) -> f64 {
        let at = &self.at[end];
        if at.is_silent() {
            0.0
        } else if sharp {
            let spread = at.m_hat * at.m_hat + at.tau0_hat * at.q_hat;
            -0.5 * at.tau0_hat * (b / spread) * b - 0.5 * components * spread.ln()
        } else {
            -0.5 * (b / at.q_hat) * b - 0.5 * components * (TAU * at.q_hat).ln()
        }
    }

    fn sample(&self, bz: f64, bx: f64) -> [f64; COUNT] {
        let sharp = self.sharp;
        let nothing = (TiltedPair::divergent(0.0, 0.0), f64::INFINITY);
        let stars = (self.star(Z, bz), self.star(X, bx));
        let (t0, excess) = if sharp[Z] || sharp[X] {
            let both = self.teacher.channel_with_excess(stars.0, stars.1, sharp);
            both.unwrap_or(nothing)
        } else {
            let t = self.teacher.channel(stars.0, stars.1).unwrap_or(nothing.0);
            (t, t.log_z)
        };
        let around = if self.at[Z].is_silent() {
            0.0
        } else {
            (TAU * bz).ln()
        };
        let measure =
            self.log_measure(Z, bz, sharp[Z], 2.0) + self.log_measure(X, bx, sharp[X], 1.0);
        let weight = (excess + around + measure - self.log_z0).exp();
        if !(weight > 0.0) {
            return [0.0; COUNT];
        }
        let t = if self.at[Z].bayes && self.at[X].bayes {
            t0
        } else {
            let own = [(Z, bz), (X, bx)].map(|(i, b)| Tilt { a: self.at[i].a, b });
            self.student.channel(own[0], own[1]).unwrap_or(nothing.0)
        };
        let of = |t: &TiltedPair| {
            if self.end == Z {
                (FRAC_1_SQRT_2 * t.mean_z, t.variance_z)
            } else {
                (t.mean_x, t.variance_x)
            }
        };
        let ((r, v), (r0, v0)) = (of(&t), of(&t0));
        let log_z = if self.at[Z].excess { excess } else { t.log_z };
        let point = Point {
            log_z: 0.5 * log_z,
            r,
            v,
            r0,
            v0,
        };
        point.weighted(weight, self.at[self.end].k)
    }

    /// The average over $b_x$ at one length of $b_z$: given it the output has nearly the moments of the teacher's
    /// channel without $b_x$.
    fn inner(&self, bz: f64, floor: [f64; COUNT]) -> [f64; COUNT] {
        let at = &self.at[X];
        if at.is_silent() {
            return self.sample(bz, 0.0);
        }
        let flat = Tilt {
            a: at.tau0_hat,
            b: 0.0,
        };
        let Some(t) = self.teacher.channel(self.star(Z, bz), flat) else {
            return [0.0; COUNT];
        };
        let mut breaks = Breaks::nested();
        let width = at.q_hat.sqrt().hypot(at.m_hat * t.variance_x.sqrt());
        breaks.component(at.m_hat * t.mean_x, width);
        // the density of a length ends at zero
        breaks.around(0.0, at.q_hat.sqrt());
        breaks.around(0.0, at.a.abs().sqrt());
        let effort = Effort {
            monitored: None,
            floor,
            tolerance: INNER,
            empty: 0.0,
        };
        integrate(
            &mut |bx| Sample::plain(self.sample(bz, bx)),
            &breaks.sorted(),
            effort,
        )
    }

    /// The nine averages.
    pub fn average(&self) -> [f64; COUNT] {
        let at = &self.at[Z];
        let bayes = self.at[Z].bayes && self.at[X].bayes;
        let needed = floors(
            &Field {
                bayes,
                ..self.at[self.end]
            },
            self.tau0[self.end],
        );
        if at.is_silent() {
            return self.inner(0.0, needed);
        }
        let width = at.q_hat.sqrt().hypot(at.m_hat * self.tau0[Z].sqrt());
        let mut breaks = Breaks::nested();
        breaks.component(0.0, width);
        breaks.clip(0.0, f64::INFINITY);
        breaks.around(0.0, at.q_hat.sqrt());
        let breaks = breaks.sorted();
        // which inner averages matter: one pass without refinement; they are densities in |b_z|
        let mut floor = needed;
        for w in breaks.windows(2) {
            let values = self.inner(0.5 * (w[0] + w[1]), [f64::INFINITY; COUNT]);
            for (f, x) in floor.iter_mut().zip(values) {
                *f += 0.1 * (w[1] - w[0]) * x.abs();
            }
        }
        for f in &mut floor {
            *f /= width;
        }
        let effort = Effort {
            monitored: None,
            floor: needed,
            tolerance: OUTER,
            empty: 0.0,
        };
        integrate(
            &mut |bz| Sample::plain(self.inner(bz, floor)),
            &breaks,
            effort,
        )
    }
}
