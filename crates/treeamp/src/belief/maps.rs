//! What simple maps make of a belief: a shift, and Gaussian noise.

use std::f64::consts::TAU;

use faer::linalg::solvers::Solve;

use super::{Form, Gaussian, Structure, product_excess};
use crate::error::{FactorError, brief};
use crate::math::dense::{cholesky, dot, log_det, store, store_vector, symmetrised};

impl Gaussian {
    /// The belief on $x + s c$: $b' = b + s\,a c$, or $m' = m + s c$.
    pub(crate) fn shift(&mut self, c: &[f64], s: f64) {
        if self.structure() == Structure::Isotropic {
            let a = self.precision.scalar();
            let step = if a == f64::INFINITY { s } else { s * a };
            for (b, c) in self.linear.iter_mut().zip(c) {
                *b += step * c;
            }
            return;
        }
        if self.structure() == Structure::Diagonal {
            let parts = self.precision.data().iter().zip(c);
            for (b, (a, c)) in self.linear.iter_mut().zip(parts) {
                *b += if *a == f64::INFINITY {
                    s * c
                } else {
                    s * a * c
                };
            }
            return;
        }
        let dim = self.len() / self.block_count();
        for (k, c) in c.chunks_exact(dim).enumerate() {
            let (form, matrix, vector) = self.block_mut(k);
            for (i, b) in vector.iter_mut().enumerate() {
                let row = &matrix[i * dim..(i + 1) * dim];
                *b += match form {
                    Form::Moments => s * c[i],
                    Form::Natural => s * row.iter().zip(c).map(|(a, c)| a * c).sum::<f64>(),
                };
            }
        }
    }

    /// What a shift by $c$ leaves of the potential: the log-value at $c$ where the belief is not a density, 0 where it is.
    pub(crate) fn shift_constant(&self, c: &[f64]) -> f64 {
        match self.structure() {
            Structure::Isotropic if self.precision.scalar() > 0.0 => 0.0,
            Structure::Isotropic => self.log_value(c),
            Structure::Diagonal => {
                let parts = self.precision.data().iter().zip(self.linear.iter().zip(c));
                let improper = parts.filter(|(a, _)| **a <= 0.0);
                improper.map(|(a, (b, c))| c * (b - 0.5 * a * c)).sum()
            }
            _ => {
                let dim = self.len() / self.block_count();
                let parts = c.chunks_exact(dim).enumerate();
                let value = |(k, c): (usize, &[f64])| {
                    let block = self.block(k);
                    if block.form == Form::Moments || block.density().is_some() {
                        0.0
                    } else {
                        block.log_value(crate::math::dense::column(c))
                    }
                };
                parts.map(value).sum()
            }
        }
    }

    /// Becomes the belief on $x + \sqrt\Delta\,\xi$: $a' = (I + \Delta a)^{-1}a$, $b' = (I + \Delta a)^{-1}b$, or
    /// $S' = S + \Delta$.
    pub(crate) fn add_noise(&mut self, delta: f64) -> Result<(), FactorError> {
        if delta == 0.0 {
            return Ok(());
        }
        if self.structure() == Structure::Isotropic {
            let a = self.precision.scalar();
            let (noisy, shrink) = if a == f64::INFINITY {
                (1.0 / delta, delta)
            } else {
                (a / (1.0 + delta * a), 1.0 + delta * a)
            };
            if shrink <= 0.0 {
                return Err(below_noise(&brief(a)));
            }
            self.precision.set_scalar(noisy);
            self.linear.iter_mut().for_each(|b| *b /= shrink);
            return Ok(());
        }
        if self.structure() == Structure::Diagonal {
            let parts = self.precision.data_mut().iter_mut().zip(&mut self.linear);
            for (i, (a, b)) in parts.enumerate() {
                if *a == f64::INFINITY {
                    (*a, *b) = (1.0 / delta, *b / delta);
                    continue;
                }
                let shrink = 1.0 + delta * *a;
                if shrink <= 0.0 {
                    return Err(below_noise(&format!("{} at component {i}", brief(*a))));
                }
                (*a, *b) = (*a / shrink, *b / shrink);
            }
            return Ok(());
        }
        for k in 0..self.block_count() {
            let block = self.block(k);
            let n = block.vector.nrows();
            if block.form == Form::Moments {
                let (_, matrix, _) = self.block_mut(k);
                matrix.iter_mut().step_by(n + 1).for_each(|s| *s += delta);
                continue;
            }
            let (shrink, _) = shrinkage(&block, delta)?;
            let made = symmetrised(shrink.solve(block.matrix).as_ref());
            let linear = shrink.solve(block.vector);
            let (_, matrix, vector) = self.block_mut(k);
            store(made.as_ref(), matrix);
            store_vector(linear.as_ref(), vector);
        }
        Ok(())
    }

    /// What noise, which made `noisy` of the belief, leaves of the potential, $\frac12\Delta\,b^T(I + \Delta a)^{-1}b - \frac12\ln\det(I + \Delta a)$, where
    /// the belief is not a density; 0 where it is.
    fn noise_constant(&self, noisy: &Self, delta: f64) -> Result<f64, FactorError> {
        let mut sum = 0.0;
        if self.structure() == Structure::Diagonal {
            let parts = self.precision.data().iter().zip(&self.linear);
            for (a, b) in parts.filter(|(a, _)| **a <= 0.0) {
                let shrink = 1.0 + delta * a;
                sum += 0.5 * delta * b * b / shrink - 0.5 * shrink.ln();
            }
            return Ok(sum);
        }
        for k in 0..self.block_count() {
            let block = self.block(k);
            let both = block.density().is_some() && noisy.block(k).density().is_some();
            if block.form == Form::Natural && !both {
                let (shrink, log_det) = shrinkage(&block, delta)?;
                let solved = shrink.solve(block.vector);
                sum += 0.5 * delta * dot(block.vector, solved.as_ref()) - 0.5 * log_det;
                sum += noisy.block(k).own_potential() - block.own_potential();
            }
        }
        Ok(sum)
    }
}

/// $\ln\int dz\,dx\;z(z)\,x(x)\,\mathcal N(x; z, \Delta)$, less the potentials of the two beliefs alone. For proper or pinned isotropic
/// ones it is $\ln\mathcal N(\hat z; \hat x, \frac1{a_z} + \frac1{a_x} + \Delta)$.
///
/// # Errors
/// A belief that noise of this variance makes none of.
pub(crate) fn noise_excess(z: &Gaussian, x: &Gaussian, delta: f64) -> Result<f64, FactorError> {
    if z.structure() != Structure::Isotropic {
        // the noisy z is a density where z is one
        let (mut noisy, mut total) = (z.clone(), z.clone());
        noisy.add_noise(delta)?;
        let constant = z.noise_constant(&noisy, delta)?;
        return Ok(product_excess([&noisy, x].into_iter(), &mut total) + constant);
    }
    let (az, ax) = (z.precision.scalar(), x.precision.scalar());
    if az <= 0.0 || ax <= 0.0 {
        let own = z.own_potential() + x.own_potential();
        return Ok(isotropic_noise(z, x, delta) - own);
    }
    let (sz, sx) = (z.mean_scale(), x.mean_scale());
    let gaps = z.linear.iter().zip(&x.linear);
    let gaps = gaps.map(|(bz, bx)| bz * sz - bx * sx);
    Ok(log_normal_sum(gaps, 1.0 / az + 1.0 / ax + delta))
}

/// The same with the potentials of the beliefs.
///
/// # Errors
/// A belief that noise of this variance makes none of.
pub(crate) fn noise_log_partition(
    z: &Gaussian,
    x: &Gaussian,
    delta: f64,
) -> Result<f64, FactorError> {
    if z.structure() == Structure::Isotropic {
        return Ok(isotropic_noise(z, x, delta));
    }
    Ok(noise_excess(z, x, delta)? + z.own_potential() + x.own_potential())
}

/// [`noise_log_partition`] of isotropic beliefs. Per component, with $D = a_x + a_z + \Delta a_x a_z$:
/// $\frac{(b_z + b_x)^2 + \Delta(a_x b_z^2 + a_z b_x^2)}{2D} + \frac12\ln\frac{2\pi}{D}$.
fn isotropic_noise(z: &Gaussian, x: &Gaussian, delta: f64) -> f64 {
    let (az, ax, n) = (z.precision.scalar(), x.precision.scalar(), z.len() as f64);
    let pairs = z.linear.iter().zip(&x.linear);
    if z.is_pinned() && x.is_pinned() {
        return log_normal_sum(pairs.map(|(m, k)| m - k), delta);
    }
    if z.is_pinned() || x.is_pinned() {
        // ln ∫ dz N(m; z, Δ) g(z), g the finite side
        let (free, pin) = if z.is_pinned() { (x, z) } else { (z, x) };
        let a = free.precision.scalar();
        let shrink = 1.0 + delta * a;
        if shrink <= 0.0 {
            return f64::INFINITY;
        }
        let terms = free.linear.iter().zip(&pin.linear);
        let square: f64 = terms
            .map(|(b, m)| delta * b * b + m * (2.0 * b - a * m))
            .sum();
        return 0.5 * square / shrink - 0.5 * n * shrink.ln();
    }
    let d = ax + az + delta * ax * az;
    if d <= 0.0 || 1.0 + delta * az <= 0.0 {
        return f64::INFINITY;
    }
    let square: f64 = pairs
        .map(|(bz, bx)| (bz + bx).powi(2) + delta * (ax * bz * bz + az * bx * bx))
        .sum();
    0.5 * square / d + 0.5 * n * (TAU / d).ln()
}

/// $\sum_i \ln\mathcal N(g_i; 0, V)$, with the limit $V \to 0$.
pub(crate) fn log_normal_sum(gaps: impl Iterator<Item = f64>, variance: f64) -> f64 {
    let (mut square, mut n) = (0.0, 0.0);
    for g in gaps {
        square += g * g;
        n += 1.0;
    }
    let fit = if square == 0.0 {
        0.0
    } else {
        -0.5 * square / variance
    };
    fit - 0.5 * n * (TAU * variance).ln()
}

/// $I + \Delta a$ and its log-determinant.
fn shrinkage(
    block: &super::Block<'_>,
    delta: f64,
) -> Result<(faer::linalg::solvers::Llt<f64>, f64), FactorError> {
    let n = block.vector.nrows();
    let matrix = faer::Mat::from_fn(n, n, |i, j| {
        delta * block.matrix[(i, j)] + if i == j { 1.0 } else { 0.0 }
    });
    let factor = cholesky(matrix.as_ref()).ok_or_else(|| below_noise("matrix"))?;
    let volume = log_det(&factor);
    Ok((factor, volume))
}

fn below_noise(what: &str) -> FactorError {
    FactorError::Improper(format!(
        "the incoming precision {what} is not above -1/noise_variance"
    ))
}
