//! Integrals over a line, panel by panel.
//!
//! Panels carry a 16-point Gauss-Legendre rule, exact to degree 31. Its error is of the order of the Legendre
//! coefficient $c_{32}$ of the integrand, which is extrapolated from the decay of the last ones that the nodes
//! resolve, $c_{10}$ to $c_{15}$; panels are split until it is small against the whole. So integrands are to be analytic between
//! breaks: coefficients that decay as a power make errors beyond the estimate. And it is blind to a feature
//! that falls between the nodes, so an integrand may carry *monitors*: monotone functions $R(b)$ with
//! their derivatives, such as the mean $r$ with $\partial_b r = v$. Where $\int R'$ misses the rise of $R$ between the ends of a
//! panel, the missing step is located by bisection and panels are laid around it.

use std::sync::OnceLock;

use super::{legendre, rule16};

/// Points of the rule.
const N: usize = 16;
/// Relative error from which a missed step of a monitor counts.
const HIDDEN: f64 = 1e-7;
/// Panels at which refinement stops.
const MAX_PANELS: usize = 400;
/// Panels that are longer than a neighbour by this factor, and whose error is too large by the second, are cut next to it.
const GRADED: f64 = 10.0;
const FAR: f64 = 100.0;
/// Margin of the extrapolated error.
const SAFETY: f64 = 30.0;
/// Factor of the square of the last pair over the mean.
const SQUARE: f64 = 100.0;
/// Pairs of coefficients from $c_{15}$ to $c_{32}$, less one for caution.
const STEPS: i32 = 7;

/// The integrands at a point, with two monitors and the weight they are integrated with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<const K: usize> {
    /// The integrands.
    pub values: [f64; K],
    /// The common factor of all integrands.
    pub weight: f64,
    /// $R$ of the monitors; not a number where it is not needed.
    pub rise: [f64; 2],
    /// $R'$ of the monitors.
    pub slope: [f64; 2],
}

impl<const K: usize> Sample<K> {
    /// Without monitors.
    pub fn plain(values: [f64; K]) -> Self {
        Self {
            values,
            weight: 0.0,
            rise: [f64::NAN; 2],
            slope: [0.0; 2],
        }
    }
}

/// What is to be done about a monitor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Monitor {
    /// The integrand whose total is compared with what the monitor could have missed.
    pub against: usize,
    /// The size of the terms that the monitor is computed from, which are rounded.
    pub scale: f64,
}

/// How to integrate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort<const K: usize> {
    /// The monitors; `None` for an integrand without.
    pub monitored: Option<[Monitor; 2]>,
    /// Totals below which an integrand need not be known relative to itself; infinite for one that is
    /// not needed at all.
    pub floor: [f64; K],
    /// Relative error.
    pub tolerance: f64,
    /// Panels whose ends and middle weigh no more than this fraction of the heaviest break are empty.
    pub empty: f64,
}

impl<const K: usize> Effort<K> {
    /// Every integrand relative to itself, without monitors.
    pub fn plain(tolerance: f64) -> Self {
        Self {
            monitored: None,
            floor: [0.0; K],
            tolerance,
            empty: 0.0,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct End {
    place: f64,
    rise: [f64; 2],
    weight: f64,
}

impl End {
    fn of<const K: usize>(place: f64, s: &Sample<K>) -> Self {
        Self {
            place,
            rise: s.rise,
            weight: s.weight,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Panel<const K: usize> {
    lo: End,
    hi: End,
    sum: [f64; K],
    size: [f64; K],
    error: [f64; K],
    /// What each monitor's integral misses, times the largest weight of the panel.
    missed: [f64; 2],
}

/// What a panel need not do.
struct Limits<const K: usize> {
    /// The weight up to which it is empty, if weights are known.
    empty: Option<f64>,
    /// Integrands whose error counts.
    needed: [bool; K],
    /// The size of the terms of the monitors.
    scale: [f64; 2],
}

impl<const K: usize> Panel<K> {
    fn empty(lo: End, hi: End) -> Self {
        Self {
            lo,
            hi,
            sum: [0.0; K],
            size: [0.0; K],
            error: [0.0; K],
            missed: [0.0; 2],
        }
    }

    fn new(f: &mut impl FnMut(f64) -> Sample<K>, lo: End, hi: End, limits: &Limits<K>) -> Self {
        let rule = rule16();
        let width = hi.place - lo.place;
        let mut panel = Self::empty(lo, hi);
        let light = |weight: f64| limits.empty.is_some_and(|empty| weight <= empty);
        if light(lo.weight) && light(hi.weight) && light(f(lo.place + 0.5 * width).weight) {
            return panel;
        }
        let samples: [Sample<K>; N] =
            std::array::from_fn(|i| f(width.mul_add(rule.nodes[i], lo.place)));
        for k in 0..K {
            let values = std::array::from_fn(|i| samples[i].values[k]);
            let terms = rule.weights.iter().zip(&values);
            panel.sum[k] = width * terms.clone().map(|(w, f)| w * f).sum::<f64>();
            let mean: f64 = terms.map(|(w, f)| w * f.abs()).sum();
            panel.size[k] = width * mean;
            if mean > 0.0 && limits.needed[k] {
                panel.error[k] = width * extrapolated(&values, mean);
            }
        }
        let ends = lo.weight.max(hi.weight);
        let weight = samples.iter().fold(ends, |w, s| w.max(s.weight));
        panel.missed = std::array::from_fn(|j| {
            let slopes = samples.iter().map(|s| s.slope[j]);
            let rise: f64 = slopes.zip(&rule.weights).map(|(s, w)| w * s).sum();
            panel.miss(j, width * rise, limits.scale[j]) * weight
        });
        panel
    }

    /// The part of the rise of a monitor that its integral misses; zero up to rounding, and for a
    /// monitor that is not a number.
    fn miss(&self, j: usize, integral: f64, scale: f64) -> f64 {
        let (lo, hi) = (self.lo.rise[j], self.hi.rise[j]);
        let step = hi - lo;
        let miss = (step - integral).abs();
        if miss > HIDDEN * step.abs() && miss > 1e-13 * (hi.abs() + lo.abs() + scale) {
            miss
        } else {
            0.0
        }
    }

    fn is_narrow(&self) -> bool {
        self.width() <= 1e-13 * (self.hi.place.abs() + self.lo.place.abs())
    }

    fn width(&self) -> f64 {
        self.hi.place - self.lo.place
    }

    /// Where to cut the panel, given the totals and the widths of its neighbours.
    fn cuts(
        &self,
        f: &mut impl FnMut(f64) -> Sample<K>,
        total: &[f64; K],
        effort: &Effort<K>,
        near: [f64; 2],
    ) -> Vec<f64> {
        if self.is_narrow() {
            return Vec::new();
        }
        if let Some(m) = effort.monitored
            && let Some(j) = (0..2).find(|&j| self.missed[j] > HIDDEN * total[m[j].against])
        {
            return around_step(f, self.lo, self.hi, j);
        }
        let beyond = |factor: f64| {
            let tolerance = factor * effort.tolerance;
            (0..K).any(|k| self.error[k] > tolerance * total[k])
        };
        if !beyond(1.0) {
            return Vec::new();
        }
        vec![if beyond(FAR) {
            self.graded(near)
        } else {
            0.5 * (self.lo.place + self.hi.place)
        }]
    }

    /// The middle, or, beside a panel that is much shorter, the geometric mean of both: what happens there is on its scale.
    fn graded(&self, [left, right]: [f64; 2]) -> f64 {
        let width = self.width();
        if left.min(right) * GRADED >= width {
            0.5 * (self.lo.place + self.hi.place)
        } else if left < right {
            self.lo.place + (left * width).sqrt()
        } else {
            self.hi.place - (right * width).sqrt()
        }
    }
}

/// $w_i P_n(2t_i - 1)$ for $n = 10 \dots 15$ at the nodes of the rule.
fn rows() -> &'static [[f64; N]; 6] {
    static ROWS: OnceLock<[[f64; N]; 6]> = OnceLock::new();
    ROWS.get_or_init(|| {
        let rule = rule16();
        std::array::from_fn(|n| {
            std::array::from_fn(|i| rule.weights[i] * legendre(n + 10, 2.0 * rule.nodes[i] - 1.0).0)
        })
    })
}

/// The error of the rule on a panel of unit length: the last pair of coefficients, and its decay per pair
/// carried on to degree 32, or the square of the last pair if that is less. Coefficients of entire functions
/// decay faster than either.
fn extrapolated(values: &[f64; N], mean: f64) -> f64 {
    let rows = rows();
    let dot = |row: &[f64; N]| row.iter().zip(values).map(|(w, f)| w * f).sum::<f64>();
    let pair = |n: usize| dot(&rows[n]).abs() + dot(&rows[n + 1]).abs();
    let (before, middle, last) = (pair(0), pair(2), pair(4));
    if last <= 0.0 {
        return 0.0;
    }
    // an accidental zero of one pair must not pass for decay
    let decay = (last / middle).max((last / before).sqrt()).min(1.0);
    let square = SQUARE * last / mean;
    last * (SAFETY * decay.powi(STEPS)).min(square).min(1.0)
}

/// $\int f$ between the first and the last of the ascending `breaks`.
pub(crate) fn integrate<const K: usize>(
    f: &mut impl FnMut(f64) -> Sample<K>,
    breaks: &[f64],
    effort: Effort<K>,
) -> [f64; K] {
    let end = |f: &mut dyn FnMut(f64) -> Sample<K>, place: f64| match effort.monitored {
        Some(_) => End::of(place, &f(place)),
        None => End::of(place, &Sample::<K>::plain([0.0; K])),
    };
    let ends: Vec<End> = breaks.iter().map(|b| end(f, *b)).collect();
    let heaviest = ends.iter().fold(0.0_f64, |w, end| w.max(end.weight));
    // without monitors nothing is known of the weights
    let weighed = effort.monitored.is_some();
    let limits = Limits {
        empty: weighed.then_some(effort.empty * heaviest),
        needed: effort.floor.map(f64::is_finite),
        scale: effort.monitored.map_or([0.0; 2], |m| m.map(|m| m.scale)),
    };
    let mut panels: Vec<Panel<K>> = ends
        .windows(2)
        .map(|w| Panel::new(f, w[0], w[1], &limits))
        .collect();
    while panels.len() < MAX_PANELS {
        let total = std::array::from_fn(|k| {
            let size: f64 = panels.iter().map(|p| p.size[k]).sum();
            size.max(effort.floor[k])
        });
        let mut next = Vec::with_capacity(panels.len() + 8);
        for (i, p) in panels.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| panels.get(i));
            let near = [before, panels.get(i + 1)].map(|p| p.map_or(f64::INFINITY, Panel::width));
            let cuts = p.cuts(f, &total, &effort, near);
            if cuts.is_empty() {
                next.push(*p);
                continue;
            }
            let mut lo = p.lo;
            for cut in cuts {
                let hi = end(f, cut);
                next.push(Panel::new(f, lo, hi, &limits));
                lo = hi;
            }
            next.push(Panel::new(f, lo, p.hi, &limits));
        }
        let done = next.len() == panels.len();
        panels = next;
        if done {
            break;
        }
    }
    std::array::from_fn(|k| panels.iter().map(|p| p.sum[k]).sum())
}

/// Cuts around the place where monitor `j` passes half of its rise.
fn around_step<const K: usize>(
    f: &mut impl FnMut(f64) -> Sample<K>,
    lo: End,
    hi: End,
    j: usize,
) -> Vec<f64> {
    let step = hi.rise[j] - lo.rise[j];
    let half = lo.rise[j] + 0.5 * step;
    let (mut left, mut right) = (lo.place, hi.place);
    let mut width = right - left;
    for _ in 0..80 {
        let middle = 0.5 * (left + right);
        let s = f(middle);
        if s.slope[j] * (right - left) >= 0.2 * step.abs() {
            width = step.abs() / s.slope[j];
            left = middle;
            right = middle;
            break;
        }
        width = right - left;
        if (s.rise[j] < half) == (step > 0.0) {
            left = middle;
        } else {
            right = middle;
        }
    }
    let centre = 0.5 * (left + right);
    let margin = (0.01 * (hi.place - lo.place)).min(width);
    let mut cuts: Vec<f64> = [-20.0, -4.0, 0.0, 4.0, 20.0]
        .iter()
        .map(|s| width.mul_add(*s, centre))
        .filter(|c| *c > lo.place + margin && *c < hi.place - margin)
        .collect();
    if cuts.is_empty() {
        cuts.push(0.5 * (lo.place + hi.place));
    }
    cuts.dedup();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::special::normal_density;

    /// A polynomial, an exponential, poles next to the axis and a corner at a cut: relative errors as asked for.
    #[test]
    fn integrals_are_as_accurate_as_asked_for() {
        let runge = |x: f64| 1.0 / (1.0 + 1e4 * x * x);
        let sample =
            &mut |x: f64| Sample::plain([x.powi(31), (-x).exp(), runge(x), (x - 0.4).abs()]);
        let found = integrate(sample, &[0.0, 0.4, 1.0], Effort::plain(1e-10));
        let exact = [
            1.0 / 32.0,
            1.0 - (-1.0_f64).exp(),
            1e-2 * 100.0_f64.atan(),
            0.5 * (0.4 * 0.4 + 0.6 * 0.6),
        ];
        for (x, y) in found.iter().zip(exact) {
            assert!((x - y).abs() < 1e-10 * y, "{found:?} {exact:?}");
        }
    }

    /// A resolved integrand takes one panel, and one that is not needed takes no more.
    #[test]
    fn nothing_is_refined_that_does_not_matter() {
        let mut points = 0;
        let sample = &mut |x: f64| {
            points += 1;
            Sample::plain([x * x, (50.0 * x).sin().abs()])
        };
        let effort = Effort {
            floor: [0.0, f64::INFINITY],
            ..Effort::plain(1e-12)
        };
        let [square, _] = integrate(sample, &[0.0, 1.0], effort);
        assert!((square - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(points, N);
    }

    /// A step of width $10^{-5}$ falls between the nodes: without a monitor its variance is lost, and with one it is found.
    #[test]
    fn monitors_find_what_falls_between_the_nodes() {
        let width = 1e-5;
        let tanh = |x: f64| ((x - 0.123_456) / width).tanh();
        let values = |x: f64| {
            let density = normal_density(x);
            [density, density * (1.0 - tanh(x).powi(2))]
        };
        let cuts = [-9.0, -3.0, 3.0, 9.0];
        let blind = integrate(
            &mut |x| Sample::plain(values(x)),
            &cuts,
            Effort::plain(1e-10),
        );
        let sample = &mut |x: f64| Sample {
            values: values(x),
            weight: normal_density(x),
            rise: [tanh(x), 0.0],
            slope: [(1.0 - tanh(x).powi(2)) / width, 0.0],
        };
        let monitor = Monitor {
            against: 1,
            scale: 1.0,
        };
        let effort = Effort {
            monitored: Some([monitor; 2]),
            ..Effort::plain(1e-10)
        };
        let seen = integrate(sample, &cuts, effort);
        // the density is constant over the step, to the square of its width
        let exact = 2.0 * width * normal_density(0.123_456);
        assert!(blind[1] < 1e-3 * exact, "{blind:?}");
        assert!((seen[1] / exact - 1.0).abs() < 1e-9, "{seen:?} {exact:e}");
        assert!((seen[0] - 1.0).abs() < 1e-12, "{seen:?}");
    }

    /// Panels without weight at both ends and the middle are left out.
    #[test]
    fn empty_panels_are_left_out() {
        let mut points = 0;
        let sample = &mut |x: f64| {
            points += 1;
            Sample {
                values: [normal_density(x)],
                weight: normal_density(x),
                rise: [f64::NAN; 2],
                slope: [0.0; 2],
            }
        };
        let monitor = Monitor {
            against: 0,
            scale: 1.0,
        };
        let effort = Effort {
            monitored: Some([monitor; 2]),
            empty: 1e-40,
            ..Effort::plain(1e-12)
        };
        let [mass] = integrate(sample, &[-60.0, -40.0, -20.0, -9.0, 0.0, 9.0], effort);
        assert!((mass - 1.0).abs() < 1e-12, "{mass}");
        assert!(points < 6 + 3 + 12 * N, "{points}");
    }
}
