//! The average over both fields of a piecewise linear channel, along each piece and across it.
//!
//! In units of its noise the pair of fields is $(u, w) = (b_z/\sqrt{\hat q_z}, b_x/\sqrt{\hat q_x})$, and a signal on the piece $x = x_i + \gamma_i z$ lies on the
//! straight line $(\kappa_z z, \kappa_x(x_i + \gamma_i z))$, $\kappa = \hat m/\sqrt{\hat q}$, with independent noise of unit variance in all directions. So the field
//! across the line is that noise alone, and the one along it, $t = \kappa_i z + \xi$ with $\kappa_i^2 = \kappa_z^2 + \gamma_i^2\kappa_x^2$, has the density
//!
//! $$p_i(t) = \int_{R_i} dz\,e^{-\frac12\hat\tau_{0,z}z^2 - \frac12\hat\tau_{0,x}(x_i + \gamma_i z)^2 - A_0}\,\mathcal N(t; \kappa_i z, 1).$$
//!
//! The pieces are summed. However sharp the fields, what is averaged changes across a piece on the scale of the noise, and
//! along it on that of the signal, but for the noise around its ends.

use std::cell::Cell;

use super::across::trapezoid;
use super::breaks::Breaks;
use super::channel::{Pair, X, Z};
use super::panels::{Effort, Sample, integrate};
use super::{COUNT, Field};
use crate::math::special::normal_density;
use crate::math::truncated_normal::{End, Quadratic, truncated_quadratic};
use crate::scalar::Piece;

/// Standard deviations beyond which there is nothing: $10^{-18}$, for rare events tell as well.
const REACH: f64 = 9.0;
/// Standard deviations of the signal beyond which it contributes nothing to a second moment: $10^{-10}$.
const TAIL: f64 = 7.0;
/// Odds that change faster than this across a piece are sudden, and cuts are laid around the change at this distance times the
/// inverse of the rate.
const SUDDEN: f64 = 3.0;
const AROUND: f64 = 8.0;
/// Sudden changes that are rare enough for the trapezoidal rule to be tried.
const NEAR: f64 = 2.5;
const WAIT: u32 = 12;
/// Relative error across a piece and along it, as it is estimated: variances are then within 4e-9 of those at tighter settings.
pub(super) const TOLERANCE: f64 = 1e-8;
const ALONG: f64 = 1.5e-8;
/// $\hat m\tau_0$ of both ends from which on pieces are followed: below, they overlap. The input of pieces that are all sloped is also
/// told by the output.
const CLEAR: [f64; 2] = [5.0, 1e2];
const SLOPED: f64 = 0.5;

/// A piece of the teacher's channel in the plane of the fields, in units of their noise.
struct Tube {
    piece: Piece,
    /// How far a unit of $z$ goes.
    length: f64,
    /// The direction of the piece.
    along: [f64; 2],
    /// The output at $z = 0$.
    offset: f64,
}

/// The pieces of a channel.
pub(super) struct Tubes<'a> {
    pair: &'a Pair<'a>,
    /// Those to be followed: all of them, or one half.
    followed: Vec<Tube>,
    /// All of them.
    lines: Vec<Tube>,
    /// How many averages across are taken by panels before the trapezoidal rule is tried again.
    wait: Cell<u32>,
}

impl<'a> Tubes<'a> {
    /// The pieces of a channel that both ends see clearly, some of them sloped; else `None`.
    pub fn of(pair: &'a Pair<'a>) -> Option<Self> {
        let mut pieces = pair.teacher.pieces();
        let flat = pieces.iter().filter(|p| p.slope == 0.0).count();
        let clear = |end: usize, from: f64| pair.at[end].m_hat * pair.tau0[end] >= from;
        // flat pieces leave few inputs to confuse, and panels over the fields do as well
        let (input, simple) = match flat {
            0 => (SLOPED, false),
            _ => (
                CLEAR[Z],
                pair.symmetric || pieces.len() < 3 || flat == pieces.len(),
            ),
        };
        if pieces.is_empty() || simple || !(pair.bayes && clear(Z, input) && clear(X, CLEAR[X])) {
            return None;
        }
        let kappa = |at: &Field| at.m_hat / at.q_hat.sqrt();
        let [kz, kx] = [kappa(&pair.at[Z]), kappa(&pair.at[X])];
        let tube = |piece: &Piece| {
            let step = [kz, kx * piece.slope];
            let length = step[0].hypot(step[1]);
            Tube {
                piece: *piece,
                length,
                along: step.map(|s| s / length),
                offset: kx * piece.offset,
            }
        };
        let lines = pieces.iter().map(tube).collect();
        if pair.symmetric {
            // the positive half, twice
            pieces.retain(|p| p.end > 0.0);
            pieces.iter_mut().for_each(|p| p.start = p.start.max(0.0));
        }
        let followed = pieces.iter().map(tube).collect();
        Some(Self {
            pair,
            followed,
            lines,
            wait: Cell::new(0),
        })
    }

    /// $p_i(t)$.
    fn density(&self, tube: &Tube, t: f64) -> f64 {
        let Piece {
            start,
            end,
            offset,
            slope,
        } = tube.piece;
        let tilt = [Z, X].map(|i| self.pair.at[i].tau0_hat);
        let value = |z: f64| {
            if slope == 0.0 {
                offset
            } else {
                slope.mul_add(z, offset)
            }
        };
        let curvature = tilt[X].mul_add(slope * slope, tilt[Z]);
        let a = tube.length.mul_add(tube.length, curvature);
        let border = |z: f64| {
            let pull = tilt[Z].mul_add(z, tilt[X] * slope * value(z));
            End {
                place: z,
                slope: tube.length.mul_add(t - tube.length * z, -pull),
            }
        };
        let exponent = Quadratic {
            a,
            vertex: tube.length.mul_add(t, -tilt[X] * slope * offset) / a,
            lo: border(start),
            hi: border(end),
        };
        let Some(mass) = truncated_quadratic(exponent) else {
            return f64::NAN;
        };
        let z = mass.anchor;
        let x = value(z);
        let height = -0.5 * (tilt[Z] * z).mul_add(z, tilt[X] * x * x) - self.pair.log_z0;
        height.exp() * normal_density(t - tube.length * z) * mass.mass
    }

    /// The fields at a place along and across a piece.
    fn fields(&self, tube: &Tube, t: f64, n: f64) -> [f64; 2] {
        let [c, d] = tube.along;
        let noise = [Z, X].map(|i| self.pair.at[i].q_hat.sqrt());
        [
            noise[Z] * c.mul_add(t, -d * n),
            noise[X] * (tube.offset + d.mul_add(t, c * n)),
        ]
    }

    /// The panels along a piece.
    fn panels(&self, tube: &Tube) -> Vec<f64> {
        let tilt = [Z, X].map(|i| self.pair.at[i].tau0_hat);
        let Piece {
            start,
            end,
            offset,
            slope,
        } = tube.piece;
        let curvature = tilt[X].mul_add(slope * slope, tilt[Z]);
        let (centre, spread) = if curvature > 0.0 {
            let sd = 1.0 / curvature.sqrt();
            (-tilt[X] * slope * offset / curvature, sd)
        } else {
            (0.0, self.pair.tau0[Z].sqrt())
        };
        let k = tube.length;
        let mut breaks = Breaks::nested();
        breaks.component(k * centre, (k * spread).hypot(1.0));
        breaks.clip(k * start - REACH, k * end + REACH);
        if slope == 0.0 {
            breaks.clip(
                k * (centre - TAIL * spread) - REACH,
                k * (centre + TAIL * spread) + REACH,
            );
        }
        breaks.border(k * start, 1.0);
        breaks.border(k * end, -1.0);
        for other in &self.lines {
            meeting(tube, other, &mut breaks);
        }
        breaks.sorted()
    }

    /// Where other pieces are as near as this one, across it at one place along it.
    fn rivals(&self, tube: &Tube, t: f64) -> Vec<Rival> {
        let places = self.lines.iter().flat_map(|other| places(tube, other, t));
        // the nearest on either side
        let (up, down): (Vec<Rival>, Vec<Rival>) = places.partition(|r| r.place > 0.0);
        let nearest = |side: Vec<Rival>| {
            let by_distance = |x: &Rival, y: &Rival| x.place.abs().total_cmp(&y.place.abs());
            side.into_iter().min_by(by_distance)
        };
        [nearest(up), nearest(down)].into_iter().flatten().collect()
    }

    /// The average across a piece at one place along it: by the trapezoidal rule, or panels where that does not do.
    fn across(&self, tube: &Tube, t: f64, floor: [f64; COUNT]) -> [f64; COUNT] {
        let density = self.density(tube, t);
        if density == 0.0 {
            return [0.0; COUNT];
        }
        let sample = &mut |n: f64| {
            let weight = density * normal_density(n);
            self.pair.weighted(self.fields(tube, t, n), weight)
        };
        let rivals = self.rivals(tube, t);
        let fastest = rivals.iter().fold(0.0, |rate: f64, r| rate.max(r.rate));
        // where it failed for a neighbour it is not tried at once again
        let wait = self.wait.get();
        if wait == 0 && !rivals.iter().any(Rival::is_near) {
            if let Some(sums) = trapezoid(sample, &floor, fastest) {
                return sums;
            }
            self.wait.set(WAIT);
        }
        self.wait.set(self.wait.get().saturating_sub(1));
        let effort = Effort {
            monitored: None,
            floor,
            tolerance: TOLERANCE,
            empty: 0.0,
        };
        let cuts = cuts(&rivals);
        integrate(&mut |n| Sample::plain(sample(n)), &cuts, effort)
    }

    /// The average over all pieces.
    pub fn average(&self) -> [f64; COUNT] {
        let needed = self.pair.floor();
        let panels: Vec<Vec<f64>> = self.followed.iter().map(|tube| self.panels(tube)).collect();
        // which averages across matter: three points in the middle of every panel
        let mut rough = needed;
        let mut longest = 0.0_f64;
        for (tube, panels) in self.followed.iter().zip(&panels) {
            for w in panels.windows(2) {
                longest = longest.max(w[1] - w[0]);
                let t = 0.5 * (w[0] + w[1]);
                let mass = (w[1] - w[0]) * self.density(tube, t);
                for (n, share) in [
                    (0.0, 2.0 / 3.0),
                    (-3.0_f64.sqrt(), 1.0 / 6.0),
                    (3.0_f64.sqrt(), 1.0 / 6.0),
                ] {
                    let values = self.pair.weighted(self.fields(tube, t, n), share * mass);
                    for (f, x) in rough.iter_mut().zip(values) {
                        *f += 0.1 * x.abs();
                    }
                }
            }
        }
        let mut total = [0.0; COUNT];
        for (tube, panels) in self.followed.iter().zip(&panels) {
            let length = panels
                .last()
                .zip(panels.first())
                .map_or(1.0, |(b, a)| b - a);
            let floor = rough.map(|f| f / length);
            let effort = Effort {
                monitored: None,
                floor: rough,
                tolerance: ALONG,
                empty: 0.0,
            };
            let sample = &mut |t: f64| Sample::plain(self.across(tube, t, floor));
            let part = integrate(sample, panels, effort);
            (0..COUNT).for_each(|k| total[k] += part[k]);
        }
        let both = if self.pair.symmetric { 2.0 } else { 1.0 };
        total.map(|x| both * x)
    }
}

/// Breaks along a piece because of another one: where its outputs begin, and where their lines cross. At a distance $s$ from the
/// crossing the other line is as near as the piece at $s\tan\frac\theta2$ across, $\theta$ being their angle.
fn meeting(tube: &Tube, other: &Tube, breaks: &mut Breaks) {
    let Piece {
        start,
        end,
        offset,
        slope,
    } = tube.piece;
    if slope != 0.0 {
        for border in [other.piece.start, other.piece.end] {
            let x = other.piece.slope.mul_add(border, other.piece.offset);
            let z = (x - offset) / slope;
            if z > start && z < end {
                breaks.shadow(tube.length * z, 1.0 / tube.along[1].abs());
            }
        }
    }
    let ([c, d], [e, f]) = (tube.along, other.along);
    let (sine, cosine) = (d * e - c * f, (c * e + d * f).abs());
    if sine != 0.0 {
        let crossing = (other.offset - tube.offset) * e / sine;
        breaks.crossing(crossing, (1.0 + cosine) / sine.abs());
    }
}

/// A place across a piece where another one is as near.
#[derive(Debug, Clone, Copy)]
struct Rival {
    place: f64,
    /// How fast the odds of the two change there.
    rate: f64,
}

impl Rival {
    /// A change that the trapezoidal rule does not see.
    fn is_near(&self) -> bool {
        self.rate >= SUDDEN && self.place.abs() < NEAR
    }
}

/// The places where another piece is as near as this one, at `t` along it.
///
/// Across the piece the distance to the other line is $\alpha + \beta n$, and to one of its ends $|(s, e - n)|$.
fn places(tube: &Tube, other: &Tube, t: f64) -> Vec<Rival> {
    let ([c, d], [e, f]) = (tube.along, other.along);
    let gap = tube.offset - other.offset;
    let (alpha, beta) = (e.mul_add(d * t + gap, -f * c * t), c.mul_add(e, d * f));
    let (low, high) = (
        other.length * other.piece.start,
        other.length * other.piece.end,
    );
    // the foot on the other line of a point across this one
    let foot = |n: f64| e.mul_add(c * t - d * n, f * (gap + d * t + c * n));
    let lines = [alpha / (1.0 - beta), -alpha / (1.0 + beta)].map(|n| {
        let rate = (beta * (alpha + beta * n) - n).abs();
        let inside = foot(n) >= low - 1.0 && foot(n) <= high + 1.0;
        inside.then_some(Rival { place: n, rate })
    });
    let ends = [low, high].map(|end| {
        let along = c.mul_add(e * end, d * (f * end - gap)) - t;
        let across = c.mul_add(f * end - gap, -d * e * end);
        let n = 0.5 * (across + along * along / across);
        let beyond = foot(n) <= low + 1.0 || foot(n) >= high - 1.0;
        beyond.then_some(Rival {
            place: n,
            rate: across.abs(),
        })
    });
    let all = lines.into_iter().chain(ends).flatten();
    all.filter(|r| r.place.abs() < REACH && r.rate > 1e-6)
        .collect()
}

/// Panels across a piece: of the width of the noise, and around sudden changes, where the poles of odds of rate $\rho$ are at a distance $\pi/\rho$
/// from the axis.
fn cuts(rivals: &[Rival]) -> Vec<f64> {
    let mut cuts = vec![-REACH, -2.5, 2.5, REACH];
    for r in rivals.iter().filter(|r| r.rate >= SUDDEN) {
        let width = AROUND / r.rate;
        let (low, high) = (r.place - width, r.place + width);
        cuts.retain(|c| c.abs() == REACH || *c < low - 0.5 || *c > high + 0.5);
        cuts.extend(
            [low, r.place, high]
                .iter()
                .filter(|c| c.abs() < REACH - 0.5),
        );
    }
    cuts.sort_by(f64::total_cmp);
    cuts
}
