//! Averages of a logistic step over normal noise, $E\,f(\sigma(c + s\eta))$ with $\sigma(\ell) = 1/(1 + e^{-\ell})$, for one $s$ and many $c$.
//!
//! As functions of $c$ they are analytic and change on the scale $\max(1, s)$: they are interpolated on Chebyshev points, panel by panel, and a
//! panel is filled when it is first asked for.
//!
//! The average at a Chebyshev point is a trapezoidal sum. With little noise it is over $\eta$, the poles of $\sigma$ being at a distance $\pi/s$. With much, over the logistic
//! density $\sigma'$, since $E\,g(c + s\eta) = \int g'(\ell)\,\Phi\big(\tfrac{c - \ell}s\big)d\ell$ for $g = \sigma, \sigma^2$ and $E\ln(1 + e^{c + s\eta}) = s\int\sigma'(\ell)\,\psi\big(\tfrac{c - \ell}s\big)d\ell$, $\psi(x) = x\Phi(x) + \varphi(x)$.

use std::cell::OnceCell;
use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::OnceLock;

use super::special::{SQRT_FRAC_PI_2, erfcx, normal_density, sigmoid};

/// Chebyshev points of a panel.
const N: usize = 16;
/// Length of a panel with and without noise: $10^{-10}$ of the function itself nine deviations away.
const LENGTH: [f64; 2] = [0.75, 1.8];
/// Beyond $9s + 45$ the step is complete: $e^{-40}$.
const REACH: [f64; 2] = [45.0, 9.0];
/// Noise from which on the sum is over the logistic density.
const NOISY: f64 = 2.0;
/// Step $h$ of either sum in units of the logistic: $e^{-2\pi^2/h + \pi^2/2s^2}$, times a few dozen for its poles, is $10^{-12}$ or less.
const STEP: [f64; 2] = [0.5, 0.6];

/// The end of the logistic density: with the noise, the exponent is largest at $c + s^2$.
const DENSITY: f64 = 55.0;

/// How a step $\sigma$ is taken on average.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Odds {
    /// $E\,(1 - \sigma)^2$.
    pub lower: f64,
    /// $E\,\sigma(1 - \sigma)$.
    pub both: f64,
    /// $E\,\sigma^2$.
    pub upper: f64,
    /// $E\ln(1 + e^{c + s\eta})$.
    pub softplus: f64,
}

impl Odds {
    fn array(&self) -> [f64; 4] {
        [self.lower, self.both, self.upper, self.softplus]
    }
}

/// Coefficients of the Chebyshev polynomials of a panel, for each average.
type Panel = [[f64; 4]; N];

/// $T_n$ at the Chebyshev points.
fn cosines() -> &'static [[f64; N]; N] {
    static COSINES: OnceLock<[[f64; N]; N]> = OnceLock::new();
    COSINES.get_or_init(|| {
        #[allow(clippy::cast_precision_loss)] // small counts
        let angle = |j: usize| PI * (j as f64 + 0.5) / N as f64;
        #[allow(clippy::cast_precision_loss)] // small counts
        std::array::from_fn(|n| std::array::from_fn(|j| (n as f64 * angle(j)).cos()))
    })
}

/// The averages for one amount of noise.
#[derive(Debug)]
pub(crate) struct LogisticNormal {
    s: f64,
    length: f64,
    reach: f64,
    /// Whether $E\ln(1 + e^{c + s\eta})$ is asked for.
    potential: bool,
    /// Places $x$ and weights of the trapezoidal sum, and $e^{-sx}$ where it is over the noise.
    rule: Vec<(f64, f64, f64)>,
    panels: Vec<OnceCell<Panel>>,
}

impl LogisticNormal {
    /// For noise of standard deviation $s \ge 0$; the last average is taken where the `potential` is asked for.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most a few hundred panels
    pub fn new(s: f64, potential: bool) -> Self {
        let reach = REACH[1].mul_add(s, REACH[0]);
        let count = (2.0 * reach / (LENGTH[0] * s).max(LENGTH[1])).ceil();
        let noisy = s > NOISY;
        let (step, last, weight): (f64, f64, fn(f64) -> f64) = if noisy {
            (STEP[1], DENSITY, |l| sigmoid(l) * sigmoid(-l))
        } else {
            // exponents c + s eta are largest at eta = s
            (STEP[0] / s.max(1.0), 9.0 + s, normal_density)
        };
        let half = (last / step).ceil() as i32;
        let rule = (-half..=half).map(|i| {
            let x = step * f64::from(i);
            (
                x,
                step * weight(x),
                if noisy { 0.0 } else { (-s * x).exp() },
            )
        });
        Self {
            s,
            potential,
            length: 2.0 * reach / count,
            reach,
            rule: rule.collect(),
            panels: vec![OnceCell::new(); count as usize],
        }
    }

    /// The averages at $c$.
    #[inline]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a position between the ends
    pub fn at(&self, c: f64) -> Odds {
        if !(c.abs() < self.reach) {
            let upper = f64::from(u8::from(c > 0.0));
            return Odds {
                lower: 1.0 - upper,
                both: 0.0,
                upper,
                softplus: c.max(0.0),
            };
        }
        let position = (c + self.reach) / self.length;
        let i = (position as usize).min(self.panels.len() - 1);
        let panel = self.panels[i].get_or_init(|| self.panel(i));
        #[allow(clippy::cast_precision_loss)] // a small index
        let t = 2.0 * (position - i as f64) - 1.0;
        // Clenshaw's recurrence
        let (mut one, mut two) = ([0.0; 4], [0.0; 4]);
        for row in panel[1..].iter().rev() {
            for k in 0..4 {
                let next = 2.0 * t * one[k] - two[k] + row[k];
                two[k] = one[k];
                one[k] = next;
            }
        }
        let [lower, both, upper, softplus] =
            std::array::from_fn(|k| t * one[k] - two[k] + panel[0][k]);
        Odds {
            lower,
            both,
            upper,
            softplus,
        }
    }

    #[allow(clippy::cast_precision_loss)] // small counts
    fn panel(&self, i: usize) -> Panel {
        let cosines = cosines();
        let values: [[f64; 4]; N] = std::array::from_fn(|j| {
            let t = 0.5 * (cosines[1][j] + 1.0);
            self.sum(self.length.mul_add(i as f64 + t, -self.reach))
                .array()
        });
        std::array::from_fn(|n| {
            let norm = if n == 0 { 1.0 } else { 2.0 } / N as f64;
            std::array::from_fn(|k| {
                let terms = (0..N).map(|j| values[j][k] * cosines[n][j]);
                norm * terms.sum::<f64>()
            })
        })
    }

    /// The averages at $c$ by the trapezoidal sum.
    fn sum(&self, c: f64) -> Odds {
        let mut sum = Odds::default();
        if self.s > NOISY {
            for &(x, weight, _) in &self.rule {
                let y = (c - x) / self.s;
                let density = normal_density(y);
                let tail = density * SQRT_FRAC_PI_2 * erfcx(y.abs() * FRAC_1_SQRT_2);
                let (above, below) = if y > 0.0 {
                    (1.0 - tail, tail)
                } else {
                    (tail, 1.0 - tail)
                };
                sum.lower += weight * 2.0 * sigmoid(-x) * below;
                sum.both += weight * density / self.s;
                sum.upper += weight * 2.0 * sigmoid(x) * above;
                sum.softplus += weight * self.s * y.mul_add(above, density);
            }
            return sum;
        }
        // e^{-l} = e^{-c} e^{-sx} is within range: c and s are bounded
        let fall = (-c).exp();
        for &(x, weight, e) in &self.rule {
            let e = fall * e;
            let p = 1.0 / (1.0 + e);
            let q = e * p;
            sum.lower += weight * q * q;
            sum.both += weight * p * q;
            sum.upper += weight * p * p;
            if self.potential {
                let l = self.s.mul_add(x, c);
                sum.softplus += weight * (l.max(0.0) + (-l.abs()).exp().ln_1p());
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::quadrature::integrate;
    use crate::math::special::softplus;

    /// Against integration over $\eta$ in narrow panels, relative to each average itself.
    #[test]
    fn averages_equal_the_integral() {
        for s in [0.0, 1e-3, 0.3, 1.0, 1.9, 2.1, 5.0, 40.0, 1e3, 1e6] {
            let table = LogisticNormal::new(s, true);
            for i in -60..=60_i32 {
                let c = 0.11 * f64::from(i) * (1.0 + s);
                // panels around the step, from its own width to that of the noise
                let mut cuts: Vec<f64> = (-24..=24).map(|i| 0.5 * f64::from(i)).collect();
                for j in 0..120 {
                    let far = 0.25 * 1.3_f64.powi(j) / s;
                    cuts.extend(
                        [-c / s - far, -c / s + far]
                            .iter()
                            .filter(|x| x.abs() < 12.0),
                    );
                }
                cuts.sort_by(f64::total_cmp);
                let sample = |eta: f64| {
                    let l = s.mul_add(eta, c);
                    let (p, q) = (sigmoid(l), sigmoid(-l));
                    [q * q, p * q, p * p, softplus(l)].map(|x| x * normal_density(eta))
                };
                let expected = integrate(sample, &cuts, 1e-13);
                let seen = table.at(c).array();
                for k in 0..4 {
                    let error = (seen[k] - expected[k]).abs();
                    // below 1e-17 nothing is asked; potentials are not small
                    let scale = expected[k] + if k == 3 { 1e-3 * (1.0 + s) } else { 1e-17 };
                    assert!(error < 3e-10 * scale, "{s} {c} {k}: {seen:?} {expected:?}");
                }
            }
        }
    }

    #[test]
    fn shares_sum_to_one_and_are_complete_far_away() {
        let table = LogisticNormal::new(3.0, true);
        for c in [-1e300, -100.0, -3.0, 0.0, 0.5, 72.0, 1e9] {
            let o = table.at(c);
            // they are interpolated apart
            assert!(
                (o.lower + 2.0 * o.both + o.upper - 1.0).abs() < 1e-11,
                "{o:?}"
            );
        }
    }
}
