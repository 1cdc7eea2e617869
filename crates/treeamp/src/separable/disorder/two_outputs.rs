//! The average of a student that knows two outputs (sign, door) over a piecewise linear teacher, itself or another.
//!
//! Given $b_z$ such a student holds its output $x_2$ against $x_1$ with log-odds $\ell(b_z) + g\,b_x$, $g = x_2 - x_1$, and what it says of $z$ is a mixture of the
//! two laws under either output. Given the teacher's $x_0$ the field $b_x \sim \mathcal N(\hat m_xx_0, \hat q_x)$ is normal, so that averages over it are those of a logistic step,
//! functions of $c = \ell(b_z) + g\,\hat m_xx_0$ alone. What is left is the average over $b_z$, and over the signal $z_0$ given $b_z$: a truncated normal law on each piece of the
//! teacher. Steps that are sharp in $b_x$ are smooth in $c$, and the law of the student is not asked at pairs of fields.
//!
//! Without this route `mismatched_updates_against_references` fails.

use super::breaks::Breaks;
use super::channel::{Pair, X, Z};
use super::piece::{PieceLine, Slice};
use super::{COUNT, D1, D2, Field, M, MASS, POTENTIAL, Q, Q0, SINGLE, V, V0};
use crate::math::logistic_normal::LogisticNormal;
use crate::math::mixture::AnchoredMixture;
use crate::math::quadrature::panels::{Effort, Sample, integrate};
use crate::math::quadrature::trapezoid::equal_steps;
use crate::math::special::normal_density;
use crate::math::truncated_normal::truncated;
use crate::scalar::Piece;

/// Relative errors of the averages over $z_0$ and over $b_z$.
const INNER: f64 = 1e-10;
const OUTER: f64 = 1e-9;
/// What the rough values of averages are worth: they may be far too large.
const ROUGH: f64 = 1e-3;
/// Standard deviations of the noise beyond which there is nothing: $10^{-18}$.
const REACH: f64 = 9.0;
/// The trapezoidal rule over $z_0$: its step in deviations, and how much of the step $\sigma$ a deviation may pass. It leaves $10^{-15}$.
const STEP: f64 = 0.6;
/// Points on either side: nine deviations.
const POINTS: i32 = 15;
const GENTLE: f64 = 0.7;
/// Log-odds of full doubt, of some, of little and of none, in units of the noise and on top of it.
const LEVELS: [[f64; 2]; 4] = [[0.0, 0.0], [2.5, 0.0], [9.0, 0.0], [9.0, 45.0]];
/// Parts of a panel in which changes of the student are looked for.
const PARTS: u32 = 12;

/// The student at one $b_z$: what it says under either output.
struct TwoOutputPosterior {
    /// The log-odds $\ell$ of the second output against the first.
    odds: f64,
    /// Means and variances at the end that is asked for.
    mean: [f64; 2],
    variance: [f64; 2],
    /// $\ln Z_j$ of either output without $b_x$, or its excess over the tilt of $z$.
    log_z: [f64; 2],
}

struct TwoOutputs<'a> {
    pair: &'a Pair<'a>,
    /// The outputs, and where the student holds them.
    outputs: [f64; 2],
    held: [Vec<Piece>; 2],
    /// The pieces of the teacher, or one half of them, as they are seen through $b_z$ alone.
    pieces: Vec<PieceLine>,
    steps: LogisticNormal,
    /// $g\,\hat m_x$.
    pull: f64,
    /// $\max(1, s)$, $s = g\sqrt{\hat q_x}$: how far its odds must move to tell.
    blur: f64,
}

/// The two values of a channel without slopes and the pieces where it takes them; `None` for any other.
#[allow(clippy::float_cmp)] // values of one output are equal
fn two_values(pieces: &[Piece]) -> Option<([f64; 2], [Vec<Piece>; 2])> {
    let mut values: Vec<f64> = pieces.iter().map(|p| p.offset).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let flat = pieces.iter().all(|p| p.slope == 0.0);
    let values = <[f64; 2]>::try_from(values).ok().filter(|_| flat)?;
    let held = values.map(|x| pieces.iter().filter(|p| p.offset == x).copied().collect());
    Some((values, held))
}

/// The averages, for a student of two outputs; `None` for any other.
pub(super) fn average(pair: &Pair<'_>) -> Option<[f64; COUNT]> {
    let [z, x] = &pair.at;
    if [z, x].iter().any(|at| at.q_hat <= 0.0) || !(z.a > 0.0) {
        return None;
    }
    let (outputs, held) = two_values(&pair.student.pieces())?;
    let pieces = pair.followed_pieces();
    if pieces.is_empty() {
        return None;
    }
    let blind = Field { m_hat: 0.0, ..*x };
    let gap = outputs[1] - outputs[0];
    let s = gap * x.q_hat.sqrt();
    let student = TwoOutputs {
        pair,
        outputs,
        held,
        pieces: pieces
            .iter()
            .map(|p| PieceLine::new(p, &[*z, blind]))
            .collect(),
        steps: LogisticNormal::new(s, pair.target.is_none()),
        pull: gap * x.m_hat,
        blur: s.max(1.0),
    };
    let both = if pair.symmetric { 2.0 } else { 1.0 };
    Some(student.average().map(|x| both * x))
}

impl TwoOutputs<'_> {
    /// $b_z$ at a place in units of its noise, in the direction in which $\hat m_zz_0$ grows.
    fn field(&self, u: f64) -> f64 {
        let at = &self.pair.at[Z];
        at.q_hat.sqrt().copysign(at.m_hat) * u
    }

    fn tilt(&self) -> [f64; 2] {
        [Z, X].map(|i| self.pair.at[i].tau0_hat)
    }

    fn posterior(&self, u: f64) -> TwoOutputPosterior {
        let (a, b, ax) = (self.pair.at[Z].a, self.field(u), self.pair.at[X].a);
        let laws = self.held.each_ref().map(|pieces| {
            let mut law = AnchoredMixture::new([a], [b]);
            for p in pieces {
                if let Some(part) = truncated(a, b, p.start, p.end) {
                    law.add([part.anchor], part.bump());
                }
            }
            law
        });
        let excess = laws.map(|l| l.log_excess([true]));
        let cost = self.outputs.map(|x| 0.5 * ax * x * x);
        let of_z = self.pair.target == Some(Z);
        TwoOutputPosterior {
            odds: (excess[1] - excess[0]) - (cost[1] - cost[0]),
            mean: if of_z {
                laws.map(|l| l.bump().mean[0])
            } else {
                self.outputs
            },
            variance: if of_z {
                laws.map(|l| l.bump().variance[0])
            } else {
                [0.0; 2]
            },
            log_z: if self.pair.at[X].excess && self.pair.sharp[Z] {
                excess
            } else {
                laws.map(|l| l.log_mass())
            },
        }
    }

    /// The averages over $b_x$ given the signal.
    fn given(&self, posterior: &TwoOutputPosterior, signal: &Slice, weight: f64) -> [f64; COUNT] {
        let end = self.pair.target.unwrap_or(X);
        let x0 = signal.mean[X];
        let o = self.steps.at(self.pull.mul_add(x0, posterior.odds));
        let ([r1, r2], [v1, v2]) = (posterior.mean, posterior.variance);
        let (p1, p2) = (o.lower + o.both, o.upper + o.both);
        let (r0, k) = (signal.mean[end], self.pair.k.get());
        let (d1, d2) = (r1 - k * r0, r2 - k * r0);
        let square = |x: f64, y: f64| x * x * o.lower + 2.0 * x * y * o.both + y * y * o.upper;
        let mut out = [0.0; COUNT];
        out[MASS] = weight;
        if self.pair.target.is_none() {
            out[POTENTIAL] = weight * self.potential(posterior, x0);
        }
        out[Q] = weight * square(r1, r2);
        out[V] = weight * (v1 * p1 + v2 * p2 + (r2 - r1).powi(2) * o.both);
        out[M] = weight * r0 * (r1 * p1 + r2 * p2);
        out[Q0] = weight * r0 * r0;
        out[V0] = weight * signal.variance[end];
        out[D1] = weight * r0 * (d1 * p1 + d2 * p2);
        out[D2] = weight * square(d1, d2);
        out
    }

    /// $E\,A$ over $b_x$ given the signal, $A = \ln Z_j - \frac12a_xx_j^2 + x_jb_x + \ln(1 + e^{\mp c})$ from the likelier output $j$; or the excess, whose
    /// large terms cancel: $x_j\hat mx_0 - \frac12ax_j^2 - \frac{\hat m^2x_0^2}{2a} = -\frac a2(x_j - \frac{\hat m}ax_0)^2$.
    fn potential(&self, posterior: &TwoOutputPosterior, x0: f64) -> f64 {
        let (x, c) = (&self.pair.at[X], self.pull.mul_add(x0, posterior.odds));
        let j = usize::from(c > 0.0);
        let output = self.outputs[j];
        let tilt = if x.excess && self.pair.sharp[X] {
            let gap = (output - x0) + x0 * (x.tau0_hat / x.a);
            -0.5 * x.a * gap * gap - 0.5 * x.q_hat / x.a - 0.5 * (std::f64::consts::TAU / x.a).ln()
        } else {
            output * (x.m_hat * x0 - 0.5 * x.a * output)
        };
        posterior.log_z[j] + tilt + self.steps.at(-c.abs()).softplus
    }

    /// The averages over $b_x$ and the signals of one piece.
    fn over_piece(
        &self,
        posterior: &TwoOutputPosterior,
        line: &PieceLine,
        u: f64,
        effort: Effort<COUNT>,
    ) -> [f64; COUNT] {
        let tilt = self.tilt();
        let (slope, offset) = (line.piece.slope, line.piece.offset);
        if slope == 0.0 || self.pull == 0.0 {
            let slice = line.slice(u, tilt, self.pair.log_z0);
            return self.given(posterior, &slice, slice.density);
        }
        let a = (line.length * line.length) + tilt[X].mul_add(slope * slope, tilt[Z]);
        let (centre, width) = (self.vertex(line, u), 1.0 / a.sqrt());
        let sample = &mut |z0: f64| {
            let x0 = slope.mul_add(z0, offset);
            let height = -0.5 * (tilt[Z] * z0).mul_add(z0, tilt[X] * x0 * x0) - self.pair.log_z0;
            let weight = height.exp() * normal_density(u - line.length * z0);
            let signal = Slice {
                density: weight,
                mean: [z0, x0],
                variance: [0.0; 2],
            };
            self.given(posterior, &signal, weight)
        };
        let passed = (self.pull * slope).abs() * width;
        let reach = REACH * width;
        let whole = centre - reach > line.piece.start && centre + reach < line.piece.end;
        if whole && passed < GENTLE * self.blur {
            return equal_steps(sample, centre, STEP * width, POINTS);
        }
        let mut breaks = Breaks::nested();
        breaks.noise(centre, width);
        breaks.clip(line.piece.start, line.piece.end);
        let step = -(posterior.odds / self.pull + offset) / slope;
        breaks.crossing(step, self.blur * width / passed);
        integrate(&mut |z| Sample::plain(sample(z)), &breaks.sorted(), effort)
    }

    /// Where the signals of a piece are likeliest, were it without ends.
    fn vertex(&self, line: &PieceLine, u: f64) -> f64 {
        let (tilt, slope) = (self.tilt(), line.piece.slope);
        let a = (line.length * line.length) + tilt[X].mul_add(slope * slope, tilt[Z]);
        line.length.mul_add(u, -tilt[X] * slope * line.piece.offset) / a
    }

    /// The averages at one $b_z$.
    fn at(&self, u: f64, effort: Effort<COUNT>) -> [f64; COUNT] {
        let posterior = self.posterior(u);
        let mut sums = [0.0; COUNT];
        for line in &self.pieces {
            let part = self.over_piece(&posterior, line, u, effort);
            (0..COUNT).for_each(|k| sums[k] += part[k]);
        }
        sums
    }

    /// The panels of $b_z$, in units of its noise.
    fn panels(&self) -> Vec<f64> {
        let mut breaks = self.features();
        let coarse = self.features().sorted();
        for line in &self.pieces {
            self.changes(line, &coarse, &mut breaks);
        }
        breaks.sorted()
    }

    /// Where the teacher's signals are seen, and where the student's law bends.
    fn features(&self) -> Breaks {
        let mut breaks = Breaks::nested();
        let (spread, k) = (self.pair.tau0[Z].sqrt(), self.pieces[0].length);
        breaks.noise(0.0, (k * spread).hypot(1.0));
        if self.pair.symmetric {
            breaks.clip(-REACH, f64::INFINITY);
        }
        for line in &self.pieces {
            breaks.border(k * line.piece.start, 1.0);
            breaks.border(k * line.piece.end, -1.0);
        }
        let unit = self.field(1.0);
        let a = self.pair.at[Z].a;
        for pieces in &self.held {
            for p in pieces {
                breaks.bend(a * p.start / unit, a.sqrt() / unit.abs());
            }
            // an output that is held on both sides of the other: from one side to the other
            for w in pieces.windows(2) {
                let (from, to) = (w[0].end, w[1].start);
                let rate = (to - from) * unit.abs();
                breaks.change(0.5 * a * (from + to) / unit, rate, 0.0);
            }
        }
        breaks
    }

    /// Breaks where the student passes from one output to the other over the likeliest signals of a piece: where it begins to, and has done so. The odds may
    /// be far from linear in between.
    fn changes(&self, line: &PieceLine, coarse: &[f64], breaks: &mut Breaks) {
        let Piece {
            start,
            end,
            offset,
            slope,
        } = line.piece;
        let odds = |u: f64| {
            let z = self.vertex(line, u).max(start).min(end);
            let x = if slope == 0.0 {
                offset
            } else {
                slope.mul_add(z, offset)
            };
            self.pull.mul_add(x, self.posterior(u).odds)
        };
        let tilt = self.tilt();
        let a = (line.length * line.length) + tilt[X].mul_add(slope * slope, tilt[Z]);
        let blur = self.blur.hypot(self.pull * slope / a.sqrt());
        let levels = LEVELS.map(|[noise, own]| own + noise * blur);
        for w in coarse.windows(2) {
            let step = (w[1] - w[0]) / f64::from(PARTS);
            let mut low = (w[0], odds(w[0]));
            for i in 1..=PARTS {
                let u = step.mul_add(f64::from(i), w[0]);
                let high = (u, odds(u));
                for level in levels.iter().flat_map(|l| [-l, *l]) {
                    if (low.1 - level) * (high.1 - level) < 0.0 {
                        let (place, rate) = root(&odds, level, low, high);
                        breaks.passing(place, blur / rate.abs());
                    }
                }
                low = high;
            }
        }
    }

    /// The averages over everything.
    fn average(&self) -> [f64; COUNT] {
        let needed = self.pair.floor();
        let panels = self.panels();
        let effort = Effort {
            floor: needed,
            tolerance: OUTER,
            ..Effort::plain(SINGLE)
        };
        if self.pair.bayes {
            // all pieces are flat: there is no inner average
            return integrate(&mut |u| Sample::plain(self.at(u, effort)), &panels, effort);
        }
        // what counts, and the best factor of the signal, from one pass without refinement
        let unrefined = Effort {
            floor: [f64::INFINITY; COUNT],
            ..Effort::plain(SINGLE)
        };
        let once = &mut |u: f64| Sample::plain(self.at(u, unrefined));
        let rough = integrate(once, &panels, unrefined);
        let k = rough[M] / rough[Q0];
        if k.is_finite() {
            self.pair.k.set(k);
        }
        let length = panels
            .last()
            .zip(panels.first())
            .map_or(1.0, |(b, a)| b - a);
        let mut floor: [f64; COUNT] =
            std::array::from_fn(|i| needed[i].max(ROUGH * rough[i].abs()) / length);
        // these were of another factor
        for i in [D1, D2] {
            floor[i] = needed[i] / length;
        }
        let inner = Effort {
            floor,
            tolerance: INNER,
            ..Effort::plain(SINGLE)
        };
        let sample = &mut |u: f64| Sample::plain(self.at(u, inner));
        integrate(sample, &panels, effort)
    }
}

/// Where a function passes a level between two places, by bisection, and how fast.
fn root(
    f: &impl Fn(f64) -> f64,
    level: f64,
    mut low: (f64, f64),
    mut high: (f64, f64),
) -> (f64, f64) {
    let rising = high.1 > low.1;
    for _ in 0..50 {
        let middle = 0.5 * (low.0 + high.0);
        let near = (high.1 - low.1).abs() < 1e-2 * level.abs().max(1.0);
        if near || !(low.0 < middle && middle < high.0) {
            break;
        }
        let value = f(middle);
        if (value > level) == rising {
            high = (middle, value);
        } else {
            low = (middle, value);
        }
    }
    let rate = (high.1 - low.1) / (high.0 - low.0);
    (0.5 * (low.0 + high.0), rate)
}
