//! The spectrum of a product of two Gaussian matrices, by its polynomial equation.
//!
//! $W = A B$ with $A$ of $M \times K$ entries of variance $1/K$, $B$ of $K \times N$ entries of variance $1/N$, $\alpha = M/N$, $\gamma = K/N$,
//! $\beta = M/K$. With $m(z) = E\frac1{\lambda - z}$ of $W^H W$ and $q = (1 + z m)/\gamma$ the Marchenko-Pastur equations of the two
//! factors give $m = \frac{q}{(1-q)(\beta-q)}$, hence
//! $$z = \frac{(\gamma q - 1)(1 - q)(\beta - q)}{q},$$
//! a cubic in $q$ at every $z = \lambda$. It has one real root and a pair of complex ones in the bulk, where the density is
//! $\frac{\gamma\,\mathrm{Im}\,q}{\pi\lambda}$; the ends of the bulk are where $dz/dq = 0$.

use std::f64::consts::PI;

use super::{Spectrum, check_alpha};
use crate::error::{ModelError, parameter};
use crate::math::quadrature::rule16;

/// Halvings of the angle towards the lower end of the bulk, which may be a hard one.
const GRADES: i32 = 34;

/// The cubic $(\gamma q - 1)(1 - q)(\beta - q) = \lambda q$.
struct Cubic {
    gamma: f64,
    beta: f64,
    /// $1 + \gamma + \alpha$.
    c: f64,
}

impl Cubic {
    fn new(alpha: f64, gamma: f64) -> Self {
        let beta = alpha / gamma;
        Self {
            gamma,
            beta,
            c: 1.0 + gamma + alpha,
        }
    }

    /// $z(q)$.
    fn z(&self, q: f64) -> f64 {
        (self.gamma * q - 1.0) * (1.0 - q) * (self.beta - q) / q
    }

    /// The smallest zero of $z(q)$.
    fn first(&self) -> f64 {
        (1.0 / self.gamma).min(self.beta).min(1.0)
    }

    /// A root of $2\gamma q^3 - c q^2 + \beta$, decreasing or increasing between the given ends.
    fn critical(&self, mut low: f64, mut high: f64) -> f64 {
        let f = |q: f64| (2.0 * self.gamma * q - self.c) * q * q + self.beta;
        let rising = f(high) > f(low);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if (f(middle) < 0.0) == rising {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// The ends of the bulk: the negative critical point, and the smallest positive one, beyond the smallest zero
    /// of $z(q)$ and before the minimum of the critical polynomial at $c/3\gamma$.
    fn ends(&self) -> (f64, f64) {
        let mut far = -1.0;
        while (2.0 * self.gamma * far - self.c) * far * far + self.beta > 0.0 {
            far *= 2.0;
        }
        let upper = self.z(self.critical(far, 0.0));
        let bottom = self.c / (3.0 * self.gamma);
        let lower = self.z(self.critical(self.first(), bottom));
        // a double zero is a hard edge, up to rounding
        (if lower < 1e-14 * upper { 0.0 } else { lower }, upper)
    }

    /// $\mathrm{Im}\,q$ inside the bulk. With $q = q_0 + s$ around the smallest zero of $z(q)$ the cubic has no constant term
    /// but $-\lambda q_0$, so that nothing cancels at a hard edge, where two or three zeros meet. From its real root $r > 0$ the
    /// pair has the sum $-A/\gamma - r$ and the product $\lambda q_0/\gamma r$.
    fn imaginary(&self, lambda: f64) -> f64 {
        let (gamma, q0) = (self.gamma, self.first());
        let (f1, f2, f3) = (gamma * q0 - 1.0, 1.0 - q0, self.beta - q0);
        let square = (f1 - gamma * (f2 + f3)) / gamma;
        let linear = (gamma * f2 * f3 - f1 * (f2 + f3) - lambda) / gamma;
        let constant = lambda * q0 / gamma;
        let f = |s: f64| ((s + square) * s + linear) * s - constant;
        let (mut low, mut high) = (0.0, 1.0 + square.abs() + linear.abs() + constant);
        for _ in 0..2000 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if f(middle) < 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        let half = 0.5 * (square + high);
        (constant / high - half * half).max(0.0).sqrt()
    }
}

impl Spectrum {
    /// A product $W = A B$ of independent Gaussian matrices, real or complex: $A$ of $M \times K$ and $B$ of $K \times N$, entries of
    /// variance one over the number of columns (in modulus squared), $\alpha = M/N$ and $\gamma = K/N$.
    ///
    /// # Errors
    /// A ratio that is not positive.
    pub fn gaussian_product(alpha: f64, gamma: f64) -> Result<Self, ModelError> {
        check_alpha(alpha)?;
        if !(gamma > 0.0 && gamma.is_finite()) {
            return Err(parameter(Self::NAME, "gamma", "positive and finite", gamma));
        }
        let cubic = Cubic::new(alpha, gamma);
        let (lower, upper) = cubic.ends();
        let rule = rule16();
        let mut nodes = Vec::new();
        let mut panel = |low: f64, high: f64| {
            let width = high - low;
            for (x, w) in rule.nodes.iter().zip(&rule.weights) {
                // λ runs from the lower end with u from 0, and both ends are square roots in λ
                let u = low + width * x;
                let s = (0.5 * u).sin();
                let lambda = lower + (upper - lower) * s * s;
                let jacobian = 0.5 * (upper - lower) * u.sin();
                let density = gamma * cubic.imaginary(lambda) / (PI * lambda);
                nodes.push((lambda, width * w * jacobian * density));
            }
        };
        let mut high = PI;
        for _ in 0..GRADES {
            panel(0.5 * high, high);
            high *= 0.5;
        }
        panel(0.0, high);
        let rank = alpha.min(gamma).min(1.0);
        let total: f64 = nodes.iter().map(|n| n.1).sum();
        for node in &mut nodes {
            node.1 *= rank / total;
        }
        if rank < 1.0 {
            nodes.push((0.0, 1.0 - rank));
        }
        Ok(Self { alpha, rank, nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free moments of the product: $E\lambda = \alpha$ and $E\lambda^2 = \alpha(1 + \alpha + \beta)$ with $\beta = \alpha/\gamma$: walks of length four on
    /// the three layers.
    #[test]
    fn moments() -> Result<(), ModelError> {
        for (alpha, gamma) in [(0.5, 0.7), (2.0, 1.5), (1.3, 0.4), (1.0, 1.0), (3.0, 3.0)] {
            let spectrum = Spectrum::gaussian_product(alpha, gamma)?;
            let mean = spectrum.mean();
            assert!((mean / alpha - 1.0).abs() < 1e-6, "{alpha} {gamma}: {mean}");
            let second = alpha * (1.0 + alpha + alpha / gamma);
            let found = spectrum.expect(|l| l * l);
            assert!(
                (found / second - 1.0).abs() < 1e-6,
                "{alpha} {gamma}: {found} {second}"
            );
            // the equation itself, at z = -1: m = η
            let m = spectrum.eta(1.0);
            let q = (1.0 - m) / gamma;
            let z = Cubic::new(alpha, gamma).z(q);
            assert!((z + 1.0).abs() < 1e-5, "{alpha} {gamma}: {z}");
        }
        Ok(())
    }

    /// An inner size without bound leaves one Gaussian matrix.
    #[test]
    fn a_wide_middle_is_one_matrix() -> Result<(), ModelError> {
        let product = Spectrum::gaussian_product(1.7, 1e5)?;
        let one = Spectrum::marchenko_pastur(1.7)?;
        for gamma in [0.1, 1.0, 10.0] {
            let gap = product.eta(gamma) - one.eta(gamma);
            assert!(gap.abs() < 1e-4, "{gap}");
        }
        Ok(())
    }

    #[test]
    fn ratios_are_checked() {
        assert!(Spectrum::gaussian_product(0.0, 1.0).is_err());
        assert!(Spectrum::gaussian_product(1.0, f64::NAN).is_err());
    }
}
