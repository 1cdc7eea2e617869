//! The integral of $e^{h(z)}$, $h(z) = -\tfrac12 a_z z^2 + b_z z - \tfrac12 a_x \varphi(z)^2 + b_x \varphi(z)$, wherever its mass is.
//!
//! A grid finds the maxima of $h$, from widths of $10^{-6}$ to $10^{4}$ and more, and cuts the line into cells;
//! each cell is halved until a 16-point rule resolves it, and cells are merged as a mixture, so that
//! no moment is ever a difference. Nothing is allocated.

use super::activation_grid::{Grid, Place};
use crate::math::mixture::{Bump, height, or_overflow};
use crate::math::quadrature::rule16;
use crate::scalar::{Tilt, TiltedPair};

/// The half width and step of the grid that resolves the knees of $\varphi$.
const KNEES: (i32, f64) = (40, 1.5);
/// The standard deviations of the belief in $z$ that the grid covers.
const REACH: f64 = 64.0;
/// Cells this far below the top do not count in the masses ($e^{-80}$, with room for wide cells).
const NEGLIGIBLE: f64 = 80.0;
/// Nothing survives in double precision further down.
const NOTHING: f64 = 760.0;
/// Local maxima that are refined.
const MAXIMA: usize = 12;
/// Last Legendre coefficients of a resolved cell, relative to its mass: the rule's error is about the square.
const RESOLVED: f64 = 1e-6;

/// Below this the rounding of denormal numbers would pass for structure.
const DENORMAL: f64 = 1e-290;

/// Panels at most; ordinary points take ten to a hundred.
const BUDGET: u32 = 3000;

/// An activation: $z \mapsto \varphi(z)$ and $(z, t) \mapsto \varphi(z + t) - \varphi(z)$.
#[derive(Clone, Copy)]
pub(super) struct Function<'a> {
    pub(super) value: &'a (dyn Fn(f64) -> f64 + Send + Sync),
    pub(super) difference: &'a (dyn Fn(f64, f64) -> f64 + Send + Sync),
}

/// $\int dz\, e^{h(z)}$ with the moments of $z$ and $\varphi(z)$.
pub(super) struct ActivationIntegral<'a> {
    phi: Function<'a>,
    z: Tilt,
    x: Tilt,
}

/// The cells so far.
struct Total {
    sum: Bump<2>,
    panels: u32,
}

impl<'a> ActivationIntegral<'a> {
    pub(super) fn new(phi: Function<'a>, z: Tilt, x: Tilt) -> Self {
        Self { phi, z, x }
    }

    /// The joint log-partition and moments; `None` where the integral diverges.
    pub(super) fn evaluate(&self) -> Option<TiltedPair> {
        let mut grid = self.scan();
        self.add_crossings(&mut grid);
        self.extend(&mut grid)?;
        let top = self.add_maxima(&mut grid);
        let sum = self.integrate(&grid, top);
        let log_z = height(self.z.a, self.z.b, top.z) + height(self.x.a, self.x.b, top.x);
        Some(TiltedPair {
            log_z: or_overflow(log_z + sum.mass.ln()),
            mean_z: top.z + sum.mean[0],
            variance_z: sum.variance[0],
            mean_x: top.x + sum.mean[1],
            variance_x: sum.variance[1],
        })
    }

    fn place(&self, z: f64) -> Place {
        Place {
            z,
            x: (self.phi.value)(z),
        }
    }

    /// $h(q) - h(p)$ as a sum of products.
    fn rise(&self, p: Place, q: Place) -> f64 {
        let in_z = (q.z - p.z) * (-0.5 * self.z.a).mul_add(q.z + p.z, self.z.b);
        let in_x = (q.x - p.x) * (-0.5 * self.x.a).mul_add(q.x + p.x, self.x.b);
        let rise = in_z + in_x;
        if rise.is_nan() {
            f64::NEG_INFINITY
        } else {
            rise
        }
    }

    /// Width of the peak that $h$ would have at `z` if $\varphi$ were linear there.
    fn linear_width(&self, z: f64) -> f64 {
        let t = 1e-5 * (1.0 + z.abs());
        let slope = (self.phi.difference)(z, t) / t;
        let precision = self.z.a.max(0.0) + self.x.a.max(0.0) * slope * slope;
        (1.0 / precision.sqrt()).min(1.0 + z.abs())
    }

    /// Adds $c \pm w 2^k$ up to a distance.
    fn ladder(&self, grid: &mut Grid, center: f64, width: f64, reach: f64) {
        let mut step = width.max(1e-15 * center.abs()).max(1e-300);
        while step < reach {
            grid.push(self.place(center - step));
            grid.push(self.place(center + step));
            step *= 2.0;
        }
    }

    /// The knees of $\varphi$, and the belief in $z$ at every scale from its own to the knees'.
    fn scan(&self) -> Grid {
        let mut grid = Grid::new();
        let (count, step) = KNEES;
        let edge = f64::from(count) * step;
        for i in -count..=count {
            grid.push(self.place(step * f64::from(i)));
        }
        if self.z.a > 0.0 {
            let (center, sd) = (self.z.b / self.z.a, 1.0 / self.z.a.sqrt());
            let reach = center.abs() + REACH * sd + edge;
            grid.push(self.place(center));
            self.ladder(&mut grid, center, 0.25 * sd, reach);
            self.ladder(&mut grid, 0.0, 2.0 * edge, reach);
        }
        grid.sort();
        grid
    }

    /// The solutions of $\varphi(z) = b_x/a_x$, where a precise belief in $x$ makes narrow peaks.
    fn add_crossings(&self, grid: &mut Grid) {
        if self.x.a <= 0.0 {
            return;
        }
        let target = self.x.b / self.x.a;
        for i in 1..grid.len {
            let (mut low, mut high) = (grid.places[i - 1], grid.places[i]);
            let reach = high.z - low.z;
            if (low.x < target) == (high.x < target) {
                continue;
            }
            for _ in 0..80 {
                let mid = self.place(0.5 * (low.z + high.z));
                if (mid.x < target) == (low.x < target) {
                    low = mid;
                } else {
                    high = mid;
                }
            }
            grid.push(high);
            self.ladder(grid, high.z, 0.5 * self.linear_width(high.z), reach);
        }
        grid.sort();
    }

    /// Widens the grid until $h$ has fallen at both ends; `None` if it does not.
    fn extend(&self, grid: &mut Grid) -> Option<()> {
        let mut top = grid.places[0];
        for &p in grid.places() {
            if self.rise(top, p) > 0.0 {
                top = p;
            }
        }
        for side in [-1.0, 1.0] {
            let mut end = if side < 0.0 {
                grid.places()[0]
            } else {
                grid.places()[grid.len - 1]
            };
            let mut step = 0.5 * (grid.places()[grid.len - 1].z - grid.places()[0].z);
            let first = grid.len;
            loop {
                let next = self.place(end.z + side * step);
                if !(next.z.abs() < 1e200) {
                    return None;
                }
                if self.rise(top, end) < -NOTHING && self.rise(end, next) < 0.0 {
                    break;
                }
                if self.rise(top, next) > 0.0 {
                    top = next;
                }
                // only the last doublings can matter: the ring keeps the grid bounded
                if grid.len < first + 64 {
                    grid.push(next);
                } else {
                    grid.places[grid.len - 1] = next;
                }
                (end, step) = (next, 2.0 * step);
            }
        }
        grid.sort();
        Some(())
    }

    /// Adds the local maxima of $h$ with points around each at its own width; returns the highest.
    fn add_maxima(&self, grid: &mut Grid) -> Place {
        let coarse = grid.places();
        let top = coarse[1..]
            .iter()
            .fold(coarse[0], |t, &p| if self.rise(t, p) > 0.0 { p } else { t });
        let (mut maxima, mut count) = ([top; MAXIMA], 0);
        for w in grid.places().windows(3) {
            let peak = self.rise(w[0], w[1]) > 0.0 && self.rise(w[1], w[2]) <= 0.0;
            if peak && count < MAXIMA && self.rise(top, w[1]) > -2.0 * NOTHING {
                maxima[count] = self.refine(w[0].z, w[1], w[2].z);
                count += 1;
            }
        }
        let maxima = &maxima[..count];
        let top = maxima
            .iter()
            .fold(top, |t, &p| if self.rise(t, p) > 0.0 { p } else { t });
        for &peak in maxima.iter().filter(|p| self.rise(top, **p) > -NOTHING) {
            grid.push(peak);
            for side in [-1.0, 1.0] {
                let mut step = side * self.fall_width(peak, side);
                for _ in 0..6 {
                    grid.push(self.place(peak.z + step));
                    step *= 2.0;
                }
            }
        }
        grid.push(top);
        grid.sort();
        top
    }

    /// Golden section.
    fn refine(&self, low: f64, start: Place, high: f64) -> Place {
        const RATIO: f64 = 0.381_966_011_250_105_1;
        let (mut low, mut best, mut high) = (low, start, high);
        for _ in 0..60 {
            let right = high - best.z > best.z - low;
            let step = if right {
                RATIO * (high - best.z)
            } else {
                -RATIO * (best.z - low)
            };
            let trial = self.place(best.z + step);
            if self.rise(best, trial) > 0.0 {
                if right {
                    low = best.z;
                } else {
                    high = best.z;
                }
                best = trial;
            } else if right {
                high = trial.z;
            } else {
                low = trial.z;
            }
        }
        best
    }

    /// The distance from a maximum at which $h$ has fallen by about one.
    fn fall_width(&self, peak: Place, side: f64) -> f64 {
        let mut width = self
            .linear_width(peak.z)
            .max(4e-16 * peak.z.abs())
            .max(1e-300);
        let fall = |width: f64| -self.local(peak, side * width).1;
        for _ in 0..200 {
            if fall(width) > 2.0 {
                width *= 0.5;
            } else if fall(2.0 * width) < 1.0 {
                width *= 2.0;
            } else {
                break;
            }
        }
        width
    }

    /// $\varphi(z_0 + t) - \varphi(z_0)$ and $h(z_0 + t) - h(z_0)$.
    #[inline]
    fn local(&self, origin: Place, t: f64) -> (f64, f64) {
        let d = (self.phi.difference)(origin.z, t);
        let slope_z = (-self.z.a).mul_add(origin.z, self.z.b);
        let slope_x = (-self.x.a).mul_add(origin.x, self.x.b);
        let rise = height(self.z.a, slope_z, t) + height(self.x.a, slope_x, d);
        (
            d,
            if rise.is_nan() {
                f64::NEG_INFINITY
            } else {
                rise
            },
        )
    }

    /// The mixture of all cells in the coordinates $z - z_0$, $\varphi(z) - \varphi(z_0)$ about the top.
    fn integrate(&self, grid: &Grid, top: Place) -> Bump<2> {
        let mut total = Total {
            sum: Bump::point([0.0; 2], 0.0),
            panels: 0,
        };
        let highest = |w: &[Place]| self.rise(top, w[0]).max(self.rise(top, w[1]));
        let cells = grid.places().windows(2);
        for w in cells.clone().filter(|w| highest(w) > -NEGLIGIBLE) {
            self.add_cell(top, w[0].z - top.z, w[1].z - top.z, 0, &mut total);
        }
        // a saturated output may owe its variance to cells of negligible mass, if the widest could matter
        let least = (total.sum.variance[1] * total.sum.mass).ln() - 30.0;
        let places = grid.places();
        let rounding = 1e-15 * (1.0 + top.x.abs());
        let widest = places
            .iter()
            .fold(rounding, |far, p| far.max((p.x - top.x).abs()));
        let span = places[places.len() - 1].z - places[0].z;
        if 2.0 * widest.ln() + span.ln() - NEGLIGIBLE < least {
            return total.sum;
        }
        for w in cells.filter(|w| highest(w) <= -NEGLIGIBLE) {
            let (start, end) = (w[0].z - top.z, w[1].z - top.z);
            let far = self
                .local(top, start)
                .0
                .abs()
                .max(self.local(top, end).0.abs());
            if highest(w) + 2.0 * far.ln() + (end - start).ln() > least {
                self.add_cell(top, start, end, 0, &mut total);
            }
        }
        total.sum
    }

    /// One cell, halved until the rule resolves both the mass and the spread of $\varphi$.
    fn add_cell(&self, top: Place, start: f64, end: f64, depth: u32, total: &mut Total) {
        let rule = rule16();
        let length = end - start;
        let (mut weights, mut shifts) = ([0.0; 16], [0.0; 16]);
        let (mut mass, mut mean_t, mut mean_d) = (0.0, 0.0, 0.0);
        for i in 0..16 {
            let (d, rise) = self.local(top, length.mul_add(rule.nodes[i], start));
            let value = rise.exp();
            (weights[i], shifts[i]) = (value, d);
            mass += rule.weights[i] * value;
            mean_t += rule.weights[i] * value * rule.nodes[i];
            mean_d += rule.weights[i] * value * d;
        }
        if !(mass > 0.0 && mass.is_finite()) {
            return;
        }
        (mean_t, mean_d) = (mean_t / mass, mean_d / mass);
        let (mut spread_t, mut spread_d, mut squares, mut size) = (0.0, 0.0, [0.0; 16], 0.0_f64);
        for i in 0..16 {
            let (t, d) = (rule.nodes[i] - mean_t, shifts[i] - mean_d);
            spread_t += rule.weights[i] * weights[i] * t * t;
            squares[i] = weights[i] * d * d;
            spread_d += rule.weights[i] * squares[i];
            size = size.max(shifts[i].abs());
        }
        let noise = 1e-11 * (top.x.abs() + size);
        let resolved = rule.tail_size(&weights) <= RESOLVED * mass
            && (rule.tail_size(&squares) <= 100.0 * RESOLVED * spread_d
                || spread_d <= noise * noise * mass);
        total.panels += 1;
        if resolved || mass < DENORMAL || depth >= 40 || total.panels > BUDGET {
            total.sum.absorb(&Bump {
                mass: mass * length,
                mean: [length.mul_add(mean_t, start), mean_d],
                variance: [spread_t / mass * length * length, spread_d / mass],
            });
        } else {
            let middle = 0.5 * (start + end);
            self.add_cell(top, start, middle, depth + 1, total);
            self.add_cell(top, middle, end, depth + 1, total);
        }
    }
}
