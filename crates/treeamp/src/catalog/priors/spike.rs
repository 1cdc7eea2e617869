//! A point mass at zero beside another law, the slab.

use crate::math::special::log_add_exp;
use crate::scalar::Tilted;

/// Both together, from the logarithms of their masses and the slab under the same message. With the log-odds
/// $\xi = \ln\rho - \ln(1-\rho) + A_1$ of the slab and $p = \sigma(\xi)$: $r = p\,r_1$, $v = p\,v_1 + p(1-p)\,r_1^2$.
pub(super) fn beside_spike(log_spike: f64, log_slab: f64, slab: Tilted) -> Tilted {
    if slab.log_z == f64::INFINITY {
        return Tilted::divergent(0.0);
    }
    let xi = log_slab - log_spike + slab.log_z;
    // e^{-|ξ|} is the smaller odds: p(1-p) keeps its digits
    let e = (-xi.abs()).exp();
    let q = 1.0 / (1.0 + e);
    let p = if xi < 0.0 { e * q } else { q };
    Tilted {
        log_z: log_add_exp(log_spike, log_slab + slab.log_z),
        mean: p * slab.mean,
        variance: p * slab.variance + (e * q * q * slab.mean) * slab.mean,
    }
}
