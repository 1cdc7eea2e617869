//! Integrals over a line, panel by panel.
//!
//! Panels carry a 16-point Gauss-Legendre rule, exact to degree 31. Its error is of the order of the Legendre
//! coefficient $c_{32}$ of the integrand, which is extrapolated from the decay of the last ones that the nodes
//! resolve, $c_{10}$ to $c_{15}$; panels are split until it is small against the whole. That is blind to a feature
//! that falls between the nodes, so an integrand may carry *monitors*: monotone functions $R(b)$ with
//! their derivatives, such as the mean $r$ with $\partial_b r = v$. Where $\int R'$ misses the rise of $R$ between the ends of a
//! panel, the missing step is located by bisection and panels are laid around it.

use std::sync::OnceLock;

use crate::math::quadrature::rule16;

/// Points of the rule.
const N: usize = 16;
/// Relative error of an integral (of the integral of the absolute value, where signs change).
pub(super) const SINGLE: f64 = 1e-10;
/// The same of an outer integral of two, and of the inner one, which must be smoother than the outer
/// one can see.
pub(super) const OUTER: f64 = 1e-9;
pub(super) const INNER: f64 = 1e-9;
/// Relative error from which a missed step of a monitor counts.
const HIDDEN: f64 = 1e-7;
/// Panels at which refinement stops.
const MAX_PANELS: usize = 400;
/// Margin of the extrapolated error.
const SAFETY: f64 = 30.0;
/// Pairs of coefficients from $c_{15}$ to $c_{32}$, less one for caution.
const STEPS: i32 = 7;

/// The integrands at a point, with two monitors and the weight they are integrated with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample<const K: usize> {
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

/// How to integrate.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort<const K: usize> {
    /// The integrand whose total is compared with what each monitor could have missed; `None` for an
    /// integrand without monitors.
    pub monitored: Option<[usize; 2]>,
    /// Totals below which an integrand need not be known relative to itself; infinite for one that is
    /// not needed at all.
    pub floor: [f64; K],
    /// Relative error.
    pub tolerance: f64,
    /// Panels whose ends and middle weigh less than this fraction of the heaviest break are empty.
    pub empty: f64,
}

impl<const K: usize> Effort<K> {
    /// Every integrand relative to itself, without monitors.
    pub fn plain() -> Self {
        Self {
            monitored: None,
            floor: [0.0; K],
            tolerance: SINGLE,
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
    /// Weight below which it is empty.
    empty: f64,
    /// Integrands whose error counts.
    needed: [bool; K],
}

fn panel<const K: usize>(
    f: &mut impl FnMut(f64) -> Sample<K>,
    lo: End,
    hi: End,
    limits: &Limits<K>,
) -> Panel<K> {
    let empty = limits.empty;
    let rule = rule16();
    let width = hi.place - lo.place;
    if lo.weight < empty && hi.weight < empty && f(lo.place + 0.5 * width).weight < empty {
        return Panel {
            lo,
            hi,
            sum: [0.0; K],
            size: [0.0; K],
            error: [0.0; K],
            missed: [0.0; 2],
        };
    }
    let mut values = [[0.0; N]; K];
    let mut weight = lo.weight.max(hi.weight);
    let mut rise = [0.0; 2];
    for i in 0..N {
        let s = f(width.mul_add(rule.nodes[i], lo.place));
        weight = weight.max(s.weight);
        for k in 0..K {
            values[k][i] = s.values[k];
        }
        for j in 0..2 {
            rise[j] += rule.weights[i] * s.slope[j];
        }
    }
    let (mut sum, mut size, mut error) = ([0.0; K], [0.0; K], [0.0; K]);
    for k in 0..K {
        let terms = rule.weights.iter().zip(&values[k]);
        sum[k] = width * terms.clone().map(|(w, f)| w * f).sum::<f64>();
        let mean: f64 = terms.map(|(w, f)| w * f.abs()).sum();
        size[k] = width * mean;
        if mean > 0.0 && limits.needed[k] {
            error[k] = width * extrapolated(&values[k], mean);
        }
    }
    let missed = std::array::from_fn(|j| {
        let step = hi.rise[j] - lo.rise[j];
        let miss = (step - width * rise[j]).abs();
        let rounding = 1e-13 * (hi.rise[j].abs() + lo.rise[j].abs());
        // false for a monitor that is not a number
        if miss > HIDDEN * step.abs() && miss > rounding {
            miss * weight
        } else {
            0.0
        }
    });
    Panel {
        lo,
        hi,
        sum,
        size,
        error,
        missed,
    }
}

/// $w_i P_n(2t_i - 1)$ for $n = 10 \dots 15$ at the nodes of the rule.
fn rows() -> &'static [[f64; N]; 6] {
    static ROWS: OnceLock<[[f64; N]; 6]> = OnceLock::new();
    ROWS.get_or_init(|| {
        let rule = rule16();
        let mut rows = [[0.0; N]; 6];
        for i in 0..N {
            let x = 2.0 * rule.nodes[i] - 1.0;
            let (mut p, mut previous) = (1.0, 0.0);
            for n in 1..N {
                let k = n as f64;
                (p, previous) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * previous) / k, p);
                if n >= 10 {
                    rows[n - 10][i] = rule.weights[i] * p;
                }
            }
        }
        rows
    })
}

/// The error of the rule on a panel of unit length: the last pair of coefficients, and its decay per pair
/// carried on to degree 32. Coefficients of entire functions decay faster than that.
fn extrapolated(values: &[f64; N], mean: f64) -> f64 {
    let rows = rows();
    let pair = |n: usize| {
        let dot = |row: &[f64; N]| {
            row.iter()
                .zip(values)
                .map(|(w, f)| w * f)
                .sum::<f64>()
                .abs()
        };
        dot(&rows[n]) + dot(&rows[n + 1])
    };
    let (before, middle, last) = (pair(0), pair(2), pair(4));
    if last <= 0.0 {
        return 0.0;
    }
    // an accidental zero of one pair must not pass for decay
    let decay = (last / middle).max((last / before).sqrt()).min(1.0);
    let square = 100.0 * last / mean;
    last * (SAFETY * decay.powi(STEPS)).min(square).min(1.0)
}

/// $\int f$ between the first and the last of the ascending `breaks`.
pub(super) fn integrate<const K: usize>(
    f: &mut impl FnMut(f64) -> Sample<K>,
    breaks: &[f64],
    effort: Effort<K>,
) -> [f64; K] {
    let end = |f: &mut dyn FnMut(f64) -> Sample<K>, place: f64| {
        if effort.monitored.is_some() {
            End::of(place, &f(place))
        } else {
            End::of(place, &Sample::<K>::plain([0.0; K]))
        }
    };
    let ends: Vec<End> = breaks.iter().map(|b| end(f, *b)).collect();
    let heaviest = ends.iter().fold(0.0_f64, |w, end| w.max(end.weight));
    let limits = Limits {
        empty: effort.empty * heaviest,
        needed: effort.floor.map(f64::is_finite),
    };
    let mut panels: Vec<Panel<K>> = ends
        .windows(2)
        .map(|w| panel(f, w[0], w[1], &limits))
        .collect();
    loop {
        let mut total = [0.0; K];
        for p in &panels {
            (0..K).for_each(|k| total[k] += p.size[k]);
        }
        (0..K).for_each(|k| total[k] = total[k].max(effort.floor[k]));
        let rough = |p: &Panel<K>| (0..K).any(|k| p.error[k] > effort.tolerance * total[k]);
        let hidden = |p: &Panel<K>| {
            let against = effort.monitored?;
            (0..2).find(|&j| p.missed[j] > HIDDEN * total[against[j]])
        };
        let mut next = Vec::with_capacity(panels.len() + 8);
        let before = panels.len();
        for p in &panels {
            let narrow = p.hi.place - p.lo.place <= 1e-13 * (p.hi.place.abs() + p.lo.place.abs());
            let cuts = if narrow || before >= MAX_PANELS {
                Vec::new()
            } else if let Some(j) = hidden(p) {
                around_step(f, p.lo, p.hi, j)
            } else if rough(p) {
                vec![0.5 * (p.lo.place + p.hi.place)]
            } else {
                Vec::new()
            };
            if cuts.is_empty() {
                next.push(*p);
                continue;
            }
            let mut lo = p.lo;
            for cut in cuts {
                let hi = end(f, cut);
                next.push(panel(f, lo, hi, &limits));
                lo = hi;
            }
            next.push(panel(f, lo, p.hi, &limits));
        }
        panels = next;
        if panels.len() == before {
            break;
        }
    }
    let mut sum = [0.0; K];
    for p in &panels {
        (0..K).for_each(|k| sum[k] += p.sum[k]);
    }
    sum
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
