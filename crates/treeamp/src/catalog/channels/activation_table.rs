//! A smooth activation at fixed precisions, for many fields: panels of the $z$-axis whose points are kept once they are asked for.
//!
//! With $a_z, a_x$ fixed the weight is $w_ie^{\ell_i + b_z z_i + b_x x_i}$ at the points $z_i$, $x_i = \varphi(z_i)$ of Gauss-Legendre rules. With
//! $h = -\frac12a_z(z - c)^2 - \frac12a_x(x - d)^2$ it changes on the scale $(-h'')^{-1/2}$, $-h'' = a_z + a_x\varphi'^2 - a_x(d - x)\varphi''$, and where the weight
//! is largest the last term is $a_z(z - c)\,\varphi''/\varphi'$: a panel has the length of the narrowest scale in it, for all $c$ in reach. It is up to 1e4 times as
//! long where $\varphi$ is flat as where it is steep.

use std::ops::Range;
use std::sync::OnceLock;

use super::Activation;
use crate::math::quadrature::rule16;
use crate::math::vector::{exp, widest};
use crate::scalar::{Landmark, ScalarChannel, ScalarView, Tilt, TiltedPair};

/// Largest number of panels.
const MOST: usize = 200_000;
/// Length of a panel in units of the narrowest scale: sixteen points integrate a normal density over it to $10^{-12}$, and over
/// one and a half times as much to $10^{-7}$.
const SPAN: f64 = 6.0;
/// Longest panel: the singularities of the named activations are at $\pm i\pi/2$ or further.
const LONGEST: f64 = 1.5;
/// $|\varphi''/\varphi'|$ of the named activations at most.
const CURVED: f64 = 2.0;
/// Step of the differences that slopes are estimated by.
const PROBE: f64 = 1e-4;
/// Standard deviations beyond which a Gaussian is nothing.
const REACH: f64 = 9.0;
/// Exponents below the largest by more than this are nothing.
const NEGLIGIBLE: f64 = 42.0;

/// Points of a panel, and how many of them are added up side by side.
const POINTS: usize = 16;
const LANES: usize = 8;

/// The end of a panel, or its highest point.
#[derive(Debug, Clone, Copy)]
struct Node {
    z: f64,
    x: f64,
    /// $-\tfrac12 a_z z^2 - \tfrac12 a_x x^2$.
    log_weight: f64,
}

impl Node {
    fn new(law: &Activation, a: [f64; 2], z: f64) -> Self {
        let x = law.value(z);
        Self {
            z,
            x,
            log_weight: -0.5 * (a[0] * z * z + a[1] * x * x),
        }
    }

    /// $b_z z + b_x x + \ell$; a fused product would be a function call outside of vector loops.
    fn height(&self, b: [f64; 2]) -> f64 {
        b[0] * self.z + b[1] * self.x + self.log_weight
    }
}

/// The points of a panel, quantity by quantity: loops over them are the innermost of an average.
#[derive(Debug)]
struct Panel {
    z: [f64; POINTS],
    x: [f64; POINTS],
    log_weight: [f64; POINTS],
    /// $w_i$.
    share: [f64; POINTS],
}

impl Panel {
    /// $b_z z_i + b_x x_i + \ell_i$, with the bits of [`Node::height`].
    #[allow(clippy::inline_always)] // within the loops of `widest`
    #[inline(always)]
    fn heights(&self, b: [f64; 2]) -> [f64; POINTS] {
        let mut heights = [0.0; POINTS];
        for i in 0..POINTS {
            heights[i] = b[0] * self.z[i] + b[1] * self.x[i] + self.log_weight[i];
        }
        heights
    }

    /// Adds the moments around a point, by lanes: of $1, z, x, z^2, x^2$ with the weight $w_ie^{h_i - h}$.
    fn add_moments(&self, b: [f64; 2], (top, mode): (f64, Node), sums: &mut [[f64; LANES]; 5]) {
        widest(
            #[inline(always)]
            || {
                let heights = self.heights(b);
                let mut found = [[0.0; LANES]; 5];
                for from in [0, LANES] {
                    for lane in 0..LANES {
                        let i = from + lane;
                        let (dz, dx) = (self.z[i] - mode.z, self.x[i] - mode.x);
                        let w = self.share[i] * exp(heights[i] - top);
                        found[0][lane] += w;
                        found[1][lane] += w * dz;
                        found[2][lane] += w * dx;
                        found[3][lane] += w * dz * dz;
                        found[4][lane] += w * dx * dx;
                    }
                }
                for (sum, found) in sums.iter_mut().zip(&found) {
                    for lane in 0..LANES {
                        sum[lane] += found[lane];
                    }
                }
            },
        );
    }
}

/// An activation at fixed precisions.
#[derive(Debug)]
pub(super) struct ActivationTable {
    law: Activation,
    a: [f64; 2],
    /// The ends of panels, in ascending order, and so are their outputs.
    ends: Vec<Node>,
    panels: Vec<OnceLock<Box<Panel>>>,
}

impl ActivationTable {
    /// A table for inputs of mean up to `reach`; `None` if it would be too large, or for a law that does not rise.
    pub fn new(law: &Activation, a: [f64; 2], reach: f64) -> Option<Self> {
        if !(a[0] > 0.0 && a[1] >= 0.0 && reach.is_finite()) {
            return None;
        }
        let end = reach + REACH / a[0].sqrt();
        let own = a[0] * CURVED.mul_add(end, 1.0);
        let precision = |z: f64| {
            let slope = (law.value(z + PROBE) - law.value(z - PROBE)) / (2.0 * PROBE);
            a[1].mul_add(slope * slope, own).sqrt()
        };
        let mut ends = vec![Node::new(law, a, -end)];
        let (mut start, mut here) = (-end, precision(-end));
        while start < end {
            let mut length = (SPAN / here).min(LONGEST);
            loop {
                let middle = precision(length.mul_add(0.5, start));
                here = precision(start + length);
                if length * middle.max(here) <= SPAN {
                    break;
                }
                length *= 0.5;
            }
            start += length;
            ends.push(Node::new(law, a, start));
            if ends.len() > MOST {
                return None;
            }
        }
        let rises = ends.windows(2).all(|w| w[0].x <= w[1].x);
        rises.then(|| Self {
            law: law.clone(),
            a,
            panels: (1..ends.len()).map(|_| OnceLock::new()).collect(),
            ends,
        })
    }

    fn panel(&self, i: usize) -> &Panel {
        self.panels[i].get_or_init(|| {
            let (rule, start) = (rule16(), self.ends[i].z);
            let length = self.ends[i + 1].z - start;
            let node = |k: usize| {
                let z = length.mul_add(rule.nodes[k], start);
                Node::new(&self.law, self.a, z)
            };
            let nodes: [Node; POINTS] = std::array::from_fn(node);
            Box::new(Panel {
                z: nodes.map(|n| n.z),
                x: nodes.map(|n| n.x),
                log_weight: nodes.map(|n| n.log_weight),
                share: std::array::from_fn(|k| length * rule.weights[k]),
            })
        })
    }

    /// A bound of the heights in some panels: both terms at their largest.
    fn bound(&self, panels: &Range<usize>, b: [f64; 2]) -> f64 {
        let (first, last) = (&self.ends[panels.start], &self.ends[panels.end]);
        let term = |a: f64, b: f64, low: f64, high: f64| {
            let at = |v: f64| v * (b - 0.5 * a * v);
            let vertex = (b / a).max(low).min(high);
            at(low).max(at(high)).max(at(vertex))
        };
        term(self.a[0], b[0], first.z, last.z) + term(self.a[1], b[1], first.x, last.x)
    }

    /// Hands every panel that may reach a height to `visit`, which returns the height from then on. Halves with a lower bound are left out.
    fn search(
        &self,
        panels: Range<usize>,
        b: [f64; 2],
        mut least: f64,
        visit: &mut dyn FnMut(&Panel) -> f64,
    ) -> f64 {
        if panels.len() == 1 {
            return visit(self.panel(panels.start));
        }
        let middle = panels.start + panels.len() / 2;
        let halves = [panels.start..middle, middle..panels.end];
        let mut halves = halves.map(|half| (self.bound(&half, b), half));
        if halves[0].0 < halves[1].0 {
            halves.swap(0, 1);
        }
        for (bound, half) in halves {
            if bound > least {
                least = self.search(half, b, least, visit);
            }
        }
        least
    }

    /// The highest point.
    fn mode(&self, b: [f64; 2]) -> (f64, Node) {
        let (mut top, mut mode) = (f64::NEG_INFINITY, self.ends[0]);
        self.search(0..self.panels.len(), b, top, &mut |panel| {
            let heights = panel.heights(b);
            for (i, h) in heights.into_iter().enumerate() {
                if h > top {
                    let (z, x, log_weight) = (panel.z[i], panel.x[i], panel.log_weight[i]);
                    (top, mode) = (h, Node { z, x, log_weight });
                }
            }
            top
        });
        (top, mode)
    }

    /// The law at a pair of fields; `None` where it reaches beyond the table.
    fn tilted(&self, bz: f64, bx: f64) -> Option<TiltedPair> {
        let b = [bz, bx];
        let (top, mode) = self.mode(b);
        let least = top - NEGLIGIBLE;
        let ends = [self.ends.first()?, self.ends.last()?];
        if ends.iter().any(|n| n.height(b) > least) {
            return None;
        }
        let mut sums = [[0.0; LANES]; 5];
        self.search(0..self.panels.len(), b, least, &mut |panel| {
            panel.add_moments(b, (top, mode), &mut sums);
            least
        });
        let [mass, mz, mx, sz, sx] = sums.map(|lanes| lanes.iter().sum::<f64>());
        let (mz, mx) = (mz / mass, mx / mass);
        Some(TiltedPair {
            log_z: top + mass.ln(),
            mean_z: mode.z + mz,
            variance_z: (sz / mass - mz * mz).max(0.0),
            mean_x: mode.x + mx,
            variance_x: (sx / mass - mx * mx).max(0.0),
        })
    }
}

impl ScalarView for ActivationTable {
    #[allow(clippy::float_cmp)] // the table is of exactly these precisions
    fn channel(&self, z: Tilt, x: Tilt) -> Option<TiltedPair> {
        let own = [z.a, x.a] == self.a;
        let known = own.then(|| self.tilted(z.b, x.b)).flatten();
        Some(known.unwrap_or_else(|| ScalarChannel::tilted(&self.law, z, x)))
    }

    fn map(&self, z: f64) -> Option<f64> {
        Some(self.law.value(z))
    }

    fn is_smooth(&self) -> bool {
        ScalarChannel::is_smooth(&self.law)
    }

    fn landmarks(&self, _: Option<f64>) -> Vec<Landmark> {
        ScalarChannel::landmarks(&self.law)
    }

    fn images(&self, mean: f64, deviation: f64) -> Vec<Landmark> {
        ScalarChannel::images(&self.law, mean, deviation)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The table equals the law, also where the fields contradict each other and the posterior is many deviations from either.
    #[test]
    fn tables_equal_their_laws() {
        for (a, reach, law) in [
            ([13.65, 100.0], 3.0, Activation::tanh()),
            ([13.65, 100.0], 3.0, Activation::sigmoid()),
            // as sharp as 1e-4 where it is steep, and as flat as its input is known where it is not; outputs beyond one sharpen it there
            ([15.67, 5.2e7], 5.0, Activation::tanh()),
            ([1e4, 3e3], 5.0, Activation::softplus()),
        ] {
            let table = ActivationTable::new(&law, a, reach).unwrap();
            for share in [-1.2, -0.6, 0.0, 0.5, 0.99, 0.9999, 1.1, 1.13] {
                let bx = share * a[1];
                for i in -30..=30 {
                    let bz = 0.1 * a[0] * f64::from(i);
                    let (z, x) = (Tilt { a: a[0], b: bz }, Tilt { a: a[1], b: bx });
                    let expected = ScalarChannel::tilted(&law, z, x);
                    let Some(seen) = table.tilted(bz, bx) else {
                        continue;
                    };
                    // the law itself is integrated to 1e-9
                    let near = |x: f64, y: f64| (x - y).abs() < 1e-8 * (y.abs() + 1e-3);
                    assert!(
                        near(seen.mean_z, expected.mean_z)
                            && near(seen.mean_x, expected.mean_x)
                            && near(seen.variance_z, expected.variance_z)
                            && near(seen.variance_x, expected.variance_x)
                            && near(seen.log_z, expected.log_z),
                        "{bz} {bx}: {seen:?} {expected:?}"
                    );
                }
            }
        }
    }
}
