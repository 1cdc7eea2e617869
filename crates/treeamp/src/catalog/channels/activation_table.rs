//! A smooth activation at fixed precisions, tabulated on a uniform grid of $z$ for many fields.
//!
//! With $a_z, a_x$ fixed the weight is $e^{\ell_i + b_z z_i + b_x x_i}$ at the points $z_i$, $x_i = \varphi(z_i)$ of a grid, and the trapezoidal
//! rule converges exponentially for an analytic $\varphi$ once the step is a fraction of the narrowest width,
//! $(a_z + a_x \max\varphi'^2)^{-1/2}$, and of the distance of the singularities of $\varphi$ from the real axis.

use super::Activation;
use crate::scalar::{Landmark, ScalarChannel, ScalarView, Tilt, TiltedPair};

/// Largest number of points.
const MAX_POINTS: f64 = 1_000_000.0;
/// Step of the grid in units of the narrowest width.
const STEP: f64 = 0.35;
/// Largest step: the singularities of the named activations are at $\pm i\pi/2$ or further.
const MAX_STEP: f64 = 0.3;
/// Standard deviations beyond which a Gaussian is nothing.
const REACH: f64 = 9.0;
/// Exponents below the largest by more than this are nothing.
const NEGLIGIBLE: f64 = 42.0;

#[derive(Debug, Clone, Copy)]
struct Node {
    z: f64,
    x: f64,
    /// $-\tfrac12 a_z z^2 - \tfrac12 a_x x^2$.
    log_weight: f64,
}

/// An activation at fixed precisions.
#[derive(Debug)]
pub(super) struct ActivationTable {
    law: Activation,
    a: [f64; 2],
    nodes: Vec<Node>,
    step: f64,
    /// Outputs ascend.
    rising: bool,
}

impl ActivationTable {
    /// A table for inputs of mean up to `reach`; `None` if it would be too large.
    pub fn new(law: &Activation, a: [f64; 2], reach: f64) -> Option<Self> {
        if !(a[0] > 0.0 && a[1] >= 0.0 && reach.is_finite()) {
            return None;
        }
        let end = reach + REACH / a[0].sqrt();
        let probe = (end / 200.0).min(0.05);
        let mut steepest = 0.0_f64;
        let mut z = -end;
        while z < end {
            steepest = steepest.max(((law.value(z + probe) - law.value(z)) / probe).abs());
            z += probe.max(end / 2000.0);
        }
        let narrow = a[1].mul_add(steepest * steepest, a[0]).sqrt();
        let step = (STEP / narrow).min(MAX_STEP);
        let half = (end / step).ceil();
        if 2.0 * half > MAX_POINTS {
            return None;
        }
        let mut nodes = Vec::new();
        let mut i = -half;
        while i <= half {
            let z = i * step;
            let x = law.value(z);
            let log_weight = -0.5 * (a[0] * z * z + a[1] * x * x);
            nodes.push(Node { z, x, log_weight });
            i += 1.0;
        }
        let rising = nodes.windows(2).all(|w| w[0].x <= w[1].x);
        Some(Self {
            law: law.clone(),
            a,
            nodes,
            step,
            rising,
        })
    }

    /// The nodes that can be less than [`NEGLIGIBLE`] below the highest one: within reach of the belief on $z$, and, where $\varphi$ rises, of
    /// that on $x$. With $h = -\frac12a_z(z - c)^2 - \frac12a_x(x - d)^2$ a node as high as $t$ has both terms below $-t$, and the highest
    /// is no lower than those next to $c$ and to $d$, however far apart these are.
    fn window(&self, bz: f64, bx: f64) -> &[Node] {
        let within = |nodes: &[Node], of: &dyn Fn(&Node) -> f64, mean: f64, reach: f64| {
            let from = nodes.partition_point(|n| of(n) < mean - reach);
            from..nodes.partition_point(|n| of(n) <= mean + reach)
        };
        let (mean, target) = (bz / self.a[0], bx / self.a[1]);
        let bracketed = self.rising && target.is_finite();
        let nearest = |i: usize| {
            let n = &self.nodes[i.min(self.nodes.len() - 1)];
            let (dz, dx) = (n.z - mean, n.x - target);
            let depth_x = if target.is_finite() {
                self.a[1] * dx * dx
            } else {
                0.0
            };
            0.5 * self.a[0].mul_add(dz * dz, depth_x)
        };
        let mut least = nearest(self.nodes.partition_point(|n| n.z < mean));
        if bracketed {
            least = least.min(nearest(self.nodes.partition_point(|n| n.x < target)));
        }
        let span = (2.0 * (NEGLIGIBLE + least)).sqrt();
        let near = &self.nodes[within(&self.nodes, &|n| n.z, mean, span / self.a[0].sqrt())];
        if bracketed {
            &near[within(near, &|n| n.x, target, span / self.a[1].sqrt())]
        } else {
            near
        }
    }

    /// The law at a pair of fields; `None` where it reaches beyond the table.
    fn tilted(&self, bz: f64, bx: f64) -> Option<TiltedPair> {
        let window = self.window(bz, bx);
        let height = |n: &Node| bz.mul_add(n.z, bx.mul_add(n.x, n.log_weight));
        let mut top = f64::NEG_INFINITY;
        let mut mode = self.nodes[0];
        for n in window {
            let h = height(n);
            if h > top {
                (top, mode) = (h, *n);
            }
        }
        let ends = [&self.nodes[0], &self.nodes[self.nodes.len() - 1]];
        if window.is_empty() || ends.iter().any(|n| height(n) > top - NEGLIGIBLE) {
            return None;
        }
        let mut sums = [0.0; 5];
        for n in window {
            let h = height(n) - top;
            if h > -NEGLIGIBLE {
                let (w, dz, dx) = (h.exp(), n.z - mode.z, n.x - mode.x);
                let terms = [w, w * dz, w * dx, w * dz * dz, w * dx * dx];
                for (sum, term) in sums.iter_mut().zip(terms) {
                    *sum += term;
                }
            }
        }
        let [mass, mz, mx, sz, sx] = sums;
        let (mz, mx) = (mz / mass, mx / mass);
        Some(TiltedPair {
            log_z: top + (mass * self.step).ln(),
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
        let a = [13.65, 100.0];
        for law in [Activation::tanh(), Activation::sigmoid()] {
            let table = ActivationTable::new(&law, a, 3.0).unwrap();
            for bx in [-120.0, -60.0, 0.0, 50.0, 110.0, 140.0] {
                for i in -30..=30 {
                    let bz = f64::from(i);
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
