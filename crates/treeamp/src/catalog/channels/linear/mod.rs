//! The dense linear channel $x = W z$, with $W$ of shape $M \times N$, on a vector or on every
//! column of an $N \times P$ matrix.
//!
//! With $W = U S V^T$, $\lambda = s^2$, $w = 1/(a_z + a_x\lambda)$ and tildes for coordinates in
//! $U$ and $V$ (one mode $k$ of $K = \min(M, N)$ at a time):
//!
//! - $v_z = \frac1N[\sum_k w + (N-K)/a_z]$, $\quad a_{f\to z} = \frac{1}{v_z}\,\frac1N\sum_k a_x\lambda w$,
//! - $v_x = \frac1M\sum_k \lambda w$, $\quad a_{f\to x} = d_x/v_x$, $\; d_x = \frac1M[\sum_k a_z w + M - K]$,
//! - $b_{f\to z} = a_{f\to z}\hat z + \frac{1}{v_z} V\,[s w(\tilde b_x - a_x s\tilde{\hat z})]$, the
//!   innovation form with $\hat z = b_z/a_z$,
//! - $b_{f\to x} = \frac{1}{v_x} U[a_z w s\tilde{\hat z} + (d_x - a_z w)\tilde{\hat x}]$ with
//!   $\hat x = b_x/a_x$ when $K = M$.
//!
//! None of them subtracts numbers that are nearly equal, so they hold for precisions of 1e12, and
//! have limits when $x$ is pinned (a noiseless observation).

mod average;
mod ensemble;
mod messages;
mod resolvent;

use std::f64::consts::TAU;
use std::sync::{Arc, OnceLock};

use rand::Rng;

pub use self::ensemble::LinearEnsemble;
use self::resolvent::{Resolvent, Work};
use crate::belief::{Gaussian, SignalSpec};
use crate::error::{FactorError, ModelError, ShapeError};
use crate::factor::{Arity, EnsembleRule, Factor, GenerativeRule, Incoming, PosteriorRule};
use crate::math::decomposition::Decomposition;
use crate::math::matrix::Matrix;
use crate::math::spectrum::Spectrum;

const Z: usize = 0;
const X: usize = 1;

/// A dense linear channel. Clones share the matrix and its decomposition, which is computed once,
/// when an algorithm first plans on it.
#[derive(Debug, Clone)]
pub struct Linear {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    w: Matrix,
    decomposition: OnceLock<Result<Decomposition, FactorError>>,
    spectrum: OnceLock<Option<Spectrum>>,
}

impl Linear {
    /// Catalogue name.
    pub const NAME: &'static str = "linear";

    /// The channel $x = W z$.
    ///
    /// # Errors
    /// Never: a [`Matrix`] is valid by construction. The signature leaves room for checks.
    pub fn new(w: Matrix) -> Result<Self, ModelError> {
        Ok(Self {
            inner: Arc::new(Inner {
                w,
                decomposition: OnceLock::new(),
                spectrum: OnceLock::new(),
            }),
        })
    }

    /// The matrix.
    #[must_use]
    pub fn matrix(&self) -> &Matrix {
        &self.inner.w
    }

    /// The decomposition, computed on first use.
    ///
    /// # Errors
    /// When it does not converge.
    pub fn decomposition(&self) -> Result<&Decomposition, FactorError> {
        let make = || Decomposition::new(&self.inner.w);
        self.inner
            .decomposition
            .get_or_init(make)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// $E x^2 = \frac{\|W\|_F^2}{M}\,\tau_z$ when the components of $z$ are uncorrelated.
    #[must_use]
    pub fn second_moment(&self, tau_z: f64) -> f64 {
        tau_z * self.inner.w.square_norm() / self.inner.w.rows() as f64
    }
}

impl Factor for Linear {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("{} x {}", self.inner.w.rows(), self.inner.w.cols())
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let (rows, cols) = (self.inner.w.rows(), self.inner.w.cols());
        match inputs[0].shape.as_slice() {
            [n] if *n == cols => Ok(vec![SignalSpec::real([rows])]),
            [n, p] if *n == cols => Ok(vec![SignalSpec::real([rows, *p])]),
            _ => {
                let expected =
                    format!("shape ({cols}) or ({cols}, p), for a {rows} x {cols} matrix");
                Err(ShapeError {
                    port: Z,
                    expected,
                    got: format!("shape {}", inputs[0]),
                })
            }
        }
    }

    fn workspace_len(&self, ports: &[SignalSpec]) -> usize {
        let (z, x) = (ports[Z].len(), ports[X].len());
        2 + 2 * (z + x) + 3 * z.min(x)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn spectrum(&self) -> Option<&Spectrum> {
        let make = || {
            Some(Spectrum::of_decomposition(
                &self.inner.w,
                self.decomposition().ok()?,
            ))
        };
        self.inner.spectrum.get_or_init(make).as_ref()
    }

    fn prepare(&self) -> Result<(), FactorError> {
        self.decomposition().map(|_| ())
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl GenerativeRule for Linear {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let columns = inputs[0].len() / self.inner.w.cols();
        self.inner.w.apply(inputs[0], columns, &mut outputs[0]);
    }
}

impl Linear {
    /// Splits the workspace and refreshes the coordinates of the incoming messages.
    fn refresh<'w>(
        &self,
        d: &Decomposition,
        z: &Gaussian,
        x: &Gaussian,
        work: &'w mut [f64],
    ) -> Work<'w> {
        let (n, m) = (z.len(), x.len());
        let p = n / self.inner.w.cols();
        let k = n.min(m);
        let (known, rest) = work.split_at_mut(2);
        let (z_key, rest) = rest.split_at_mut(n);
        let (x_key, rest) = rest.split_at_mut(m);
        let (z_modes, rest) = rest.split_at_mut(k);
        let (x_modes, rest) = rest.split_at_mut(k);
        let (modes, rest) = rest.split_at_mut(k);
        let (input, output) = rest.split_at_mut(n);
        if known[Z] == 0.0 || z_key != z.linear.as_slice() {
            d.analyse_input(&self.inner.w, &z.linear, p, z_modes, output);
            z_key.copy_from_slice(&z.linear);
            known[Z] = 1.0;
        }
        if known[X] == 0.0 || x_key != x.linear.as_slice() {
            d.analyse_output(&self.inner.w, &x.linear, p, x_modes, input);
            x_key.copy_from_slice(&x.linear);
            known[X] = 1.0;
        }
        Work {
            z_modes,
            x_modes,
            modes,
            input,
            output,
        }
    }

    fn resolvent<'a>(&self, d: &'a Decomposition, z: &Gaussian, x: &Gaussian) -> Resolvent<'a> {
        let (rows, cols) = (self.inner.w.rows(), self.inner.w.cols());
        let (az, ax) = (z.precision.scalar(), x.precision.scalar());
        let mean_lambda = d.singular_values().iter().map(|s| s * s).sum::<f64>() / cols as f64;
        Resolvent {
            az,
            ax,
            singular_values: d.singular_values(),
            rows,
            cols,
            p: z.len() / cols,
            rank: d.rank(),
            strong: ax * mean_lambda > az,
        }
    }
}

impl PosteriorRule for Linear {
    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
        work: &mut [f64],
    ) -> Result<(), FactorError> {
        let d = self.decomposition()?;
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if z.is_pinned() {
            out.set_flat();
            if target == X {
                let p = z.len() / self.inner.w.cols();
                self.inner.w.apply(&z.linear, p, &mut out.linear);
                out.precision.set_scalar(f64::INFINITY);
            }
            return Ok(());
        }
        let r = self.resolvent(d, z, x);
        let nothing = x.precision.scalar() == 0.0 && x.is_flat();
        if z.is_flat() && (nothing || (target == Z && d.rank() < r.cols)) {
            out.set_flat();
            return Ok(());
        }
        if !r.is_proper() {
            return Err(r.improper());
        }
        let mut work = self.refresh(d, z, x, work);
        match target {
            Z if r.ax == f64::INFINITY && d.rank() == r.cols => self.solve(d, &r, x, out, work),
            Z => self.to_input(d, &r, z, x, out, work),
            _ => {
                self.to_output(d, &r, x, out, &mut work);
                Ok(())
            }
        }
    }

    /// $A = \frac12\sum_k [w(\tilde b_z + s\tilde b_x)^2 + \ln 2\pi w] + \frac{1}{2a_z}\|b_z^\perp\|^2 +
    /// \frac{N-K}2\ln\frac{2\pi}{a_z}$, with $b_z^\perp$ the part of $b_z$ that $W$ does not see.
    fn log_partition(
        &self,
        incoming: Incoming<'_, Gaussian>,
        work: &mut [f64],
    ) -> Result<f64, FactorError> {
        let d = self.decomposition()?;
        let (z, x) = (incoming.get(Z), incoming.get(X));
        let r = self.resolvent(d, z, x);
        if z.is_pinned() || x.is_pinned() || !r.is_proper() {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.excess(incoming, work)? + own);
        }
        let work = self.refresh(d, z, x, work);
        let to_w = if r.strong { r.ax } else { 1.0 };
        let p = r.p as f64;
        let fit = r.sum_modes(&work, &|s, bz, bx| (bz + s * bx).powi(2) * r.w(s) / to_w);
        let mut value = 0.5 * fit + 0.5 * p * r.sum(|s| (TAU * r.w(s) / to_w).ln());
        let unseen = r.cols - r.singular_values.len();
        if unseen > 0 {
            let mut modes = work.z_modes.to_vec();
            let (mut seen, mut scratch) = (vec![0.0; z.len()], vec![0.0; x.len()]);
            d.to_input(&self.inner.w, &mut modes, r.p, &mut seen, &mut scratch);
            let rest: f64 = z
                .linear
                .iter()
                .zip(&seen)
                .map(|(b, s)| (b - s).powi(2))
                .sum();
            value += 0.5 * rest / r.az + 0.5 * p * unseen as f64 * (TAU / r.az).ln();
        }
        Ok(value)
    }

    fn excess(
        &self,
        incoming: Incoming<'_, Gaussian>,
        work: &mut [f64],
    ) -> Result<f64, FactorError> {
        let d = self.decomposition()?;
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if z.is_pinned() {
            let mut place = vec![0.0; x.len()];
            self.inner
                .w
                .apply(&z.linear, z.len() / self.inner.w.cols(), &mut place);
            return Ok(if x.is_pinned() {
                f64::INFINITY
            } else {
                x.normalised_log_value(&place)
            });
        }
        let r = self.resolvent(d, z, x);
        if !r.is_proper() || (x.is_pinned() && d.rank() < r.rows) {
            return Ok(f64::INFINITY);
        }
        let work = self.refresh(d, z, x, work);
        Ok(r.excess(&work, || {
            let mut modes = work.x_modes.to_vec();
            let (mut inside, mut scratch) = (vec![0.0; x.len()], vec![0.0; z.len()]);
            d.to_output(&self.inner.w, &mut modes, r.p, &mut inside, &mut scratch);
            x.linear
                .iter()
                .zip(&inside)
                .map(|(b, i)| (b - i).powi(2))
                .sum::<f64>()
        }))
    }
}
