//! The phase transition of basis pursuit, $\min\|x\|_1$ under $y = W x$, in the zero-temperature state evolution.
//!
//! Near recovery a component sees $x_0 + \sigma\xi$ and is thresholded at $\tau\sigma$. The error per $\sigma^2$ is
//! $1 + \tau^2$ on the non-zero components and $2[(1 + \tau^2)\Phi(-\tau) - \tau\varphi(\tau)]$ on the others, whatever the law
//! of the signal, and $\sigma^2$ is the error over the ratio $\delta = M/N$: errors vanish where
//!
//! $$\delta > \min_\tau\; \rho\,(1 + \tau^2) + (1 - \rho)\,2\,[(1 + \tau^2)\,\Phi(-\tau) - \tau\varphi(\tau)].$$
//!
//! Donoho, Maleki and Montanari, PNAS 106 (2009).

use super::check;
use crate::error::RunError;
use crate::math::special::{log_normal_cdf, normal_density};

/// Steps of a bisection of doubles.
const BISECTIONS: usize = 60;
/// $\Phi(-\tau)$ vanishes beyond.
const FAR: f64 = 40.0;

/// The smallest ratio $\delta = M/N$ of noiseless measurements at which the $\ell_1$ minimiser recovers a signal with a
/// fraction `rho` of non-zero components.
///
/// # Errors
/// Unless `rho` lies in $[0, 1]$.
pub fn l1_threshold(rho: f64) -> Result<f64, RunError> {
    check("rho", (0.0..=1.0).contains(&rho), "in [0, 1]", rho)?;
    let zeros = 1.0 - rho;
    // half the derivative in τ, which increases: ρτ + 2(1 - ρ)[τΦ(-τ) - φ(τ)]
    let slope = |t: f64| rho * t + 2.0 * zeros * (t * tail(t) - normal_density(t));
    let (mut low, mut high) = (0.0, FAR);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let t = 0.5 * (low + high);
    let square = 1.0 + t * t;
    Ok(rho * square + 2.0 * zeros * (square * tail(t) - t * normal_density(t)))
}

/// The largest number of non-zero components per measurement, $k/m$, that the $\ell_1$ minimiser recovers from a ratio
/// $\delta = M/N$ of noiseless measurements: 0.38569 at $\delta = 1/2$.
///
/// # Errors
/// Unless `delta` lies in $(0, 1]$.
pub fn l1_transition(delta: f64) -> Result<f64, RunError> {
    let inside = delta > 0.0 && delta <= 1.0;
    check("delta", inside, "in (0, 1]", delta)?;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if l1_threshold(middle * delta)? < delta {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(0.5 * (low + high))
}

/// $\Phi(-\tau)$.
fn tail(t: f64) -> f64 {
    log_normal_cdf(-t).exp()
}
