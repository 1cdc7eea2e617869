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

use std::f64::consts::TAU;
use std::sync::{Arc, OnceLock};

use rand::Rng;

use crate::belief::{Gaussian, SignalSpec};
use crate::error::{FactorError, ModelError, ShapeError};
use crate::factor::{Arity, Factor, GenerativeRule, Incoming, PosteriorRule};
use crate::math::decomposition::Decomposition;
use crate::math::matrix::Matrix;

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

/// The coordinates of the two incoming messages in $V$ and $U$, kept from sweep to sweep and
/// recomputed only when a message changed, with two scratch blocks.
struct Work<'a> {
    /// $V^T b_z$ and $U^T b_x$, $K \times P$.
    z_modes: &'a mut [f64],
    x_modes: &'a mut [f64],
    modes: &'a mut [f64],
    input: &'a mut [f64],
    output: &'a mut [f64],
}

/// What the formulas need about the two precisions.
struct Resolvent<'a> {
    /// Incoming precisions; `ax` may be infinite.
    az: f64,
    ax: f64,
    singular_values: &'a [f64],
    rows: usize,
    cols: usize,
    /// Columns of the signal.
    p: usize,
    rank: usize,
    /// $a_x$ dominates: work with $w' = a_x w = 1/(\lambda + a_z/a_x)$.
    strong: bool,
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

impl Resolvent<'_> {
    /// $w = 1/(a_z + a_x\lambda)$, or $w' = a_x w$ in the strong regime. A mode that a pinned output
    /// does not see has $w' = 0$ by convention: nothing moves it.
    fn w(&self, s: f64) -> f64 {
        if self.ax == f64::INFINITY {
            if s > 0.0 { 1.0 / (s * s) } else { 0.0 }
        } else if self.strong {
            1.0 / (s * s + self.az / self.ax)
        } else {
            1.0 / (self.az + self.ax * s * s)
        }
    }

    /// $a_z w$ (dimensionless), 1 for a mode that $W$ does not see.
    fn az_w(&self, s: f64) -> f64 {
        match (s > 0.0, self.strong) {
            (false, _) => 1.0,
            (true, true) => self.az / self.ax * self.w(s),
            (true, false) => self.az * self.w(s),
        }
    }

    /// $\sum_k f(s_k)$.
    fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.singular_values.iter().map(|s| f(*s)).sum()
    }

    /// $\frac1N\sum_k a_x\lambda w$, the effective number of parameters per input.
    fn n_eff(&self) -> f64 {
        let ax = if self.strong { 1.0 } else { self.ax };
        self.sum(|s| ax * s * s * self.w(s)) / self.cols as f64
    }

    /// The joint precision $a_z + a_x W^T W$ is positive definite.
    fn is_proper(&self) -> bool {
        let seen = self
            .singular_values
            .iter()
            .all(|s| self.az + self.ax * s * s > 0.0);
        let unseen = self.rank == self.cols || self.az > 0.0;
        // infinity times zero is a mode that a pinned output does not see
        (seen || self.ax == f64::INFINITY) && unseen
    }

    fn improper(&self) -> FactorError {
        FactorError::Improper(format!(
            "the precision {:e} on its input and {:e} on its output do not make a belief",
            self.az, self.ax
        ))
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
        let work = self.refresh(d, z, x, work);
        match target {
            Z if r.ax == f64::INFINITY && d.rank() == r.cols => self.solve(d, &r, x, out, work),
            Z => self.to_input(d, &r, z, x, out, work),
            _ => {
                self.to_output(d, &r, x, out, work);
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

impl Linear {
    /// $(a, b)_{f\to z}$ when something of $z$ stays unknown.
    fn to_input(
        &self,
        d: &Decomposition,
        r: &Resolvent<'_>,
        z: &Gaussian,
        x: &Gaussian,
        out: &mut Gaussian,
        work: Work<'_>,
    ) -> Result<(), FactorError> {
        let n = r.cols as f64;
        let to_w = if r.strong { r.ax } else { 1.0 };
        let unseen = (r.cols - d.rank()) as f64;
        // modes with s = 0 belong to the unseen part, where w = 1/a_z
        let seen = r.sum(|s| if s > 0.0 { r.w(s) } else { 0.0 }) / to_w;
        let free = if unseen > 0.0 { unseen / r.az } else { 0.0 };
        let v = (seen + free) / n;
        let a_out = r.n_eff() / v;
        if unseen == 0.0 && (r.strong || r.az <= 0.0) {
            // b = V [w s b_x + (w - v) b_z] / v; w - v does not cancel here
            let unit = 1.0 / to_w;
            each_mode(r, work.modes, work.z_modes, work.x_modes, |s, bz, bx| {
                let w = r.w(s) * unit;
                (w * s * bx + (w - v) * bz) / v
            });
            d.to_input(&self.inner.w, work.modes, r.p, &mut out.linear, work.output);
        } else {
            each_mode(r, work.modes, work.z_modes, work.x_modes, |s, bz, bx| {
                r.w(s) * s * r.innovation(s, bz, bx) / v
            });
            d.to_input(&self.inner.w, work.modes, r.p, &mut out.linear, work.output);
            let scale = a_out / r.az;
            for (o, b) in out.linear.iter_mut().zip(&z.linear) {
                *o += scale * b;
            }
        }
        if x.is_pinned() && d.rank() < r.rows {
            self.check_range(d, r, x, work)?;
        }
        out.precision.set_scalar(a_out);
        Ok(())
    }

    /// $x$ is pinned and $W$ has full column rank: $z$ is known, $z = V S^{-1} U^T x$, with one step
    /// of refinement against the residual $x - W z$.
    fn solve(
        &self,
        d: &Decomposition,
        r: &Resolvent<'_>,
        x: &Gaussian,
        out: &mut Gaussian,
        work: Work<'_>,
    ) -> Result<(), FactorError> {
        let Work {
            x_modes,
            modes,
            input,
            output,
            ..
        } = work;
        let w = &self.inner.w;
        let divide = |modes: &mut [f64]| {
            for (row, s) in modes.chunks_mut(r.p).zip(r.singular_values) {
                row.iter_mut().for_each(|y| *y /= s);
            }
        };
        modes.copy_from_slice(x_modes);
        divide(modes);
        d.to_input(w, modes, r.p, &mut out.linear, output);
        w.apply(&out.linear, r.p, output);
        for (o, x) in output.iter_mut().zip(&x.linear) {
            *o = x - *o;
        }
        let residual: f64 = output.iter().map(|e| e * e).sum();
        let scale: f64 = x.linear.iter().map(|x| x * x).sum();
        if residual > 1e-12 * scale && d.rank() < r.rows {
            return Err(out_of_range(residual, scale));
        }
        d.analyse_output(w, output, r.p, modes, input);
        divide(modes);
        d.to_input(w, modes, r.p, input, output);
        for (z, dz) in out.linear.iter_mut().zip(input.iter()) {
            *z += dz;
        }
        out.precision.set_scalar(f64::INFINITY);
        Ok(())
    }

    /// A pinned output must lie in the range of $W$.
    fn check_range(
        &self,
        d: &Decomposition,
        r: &Resolvent<'_>,
        x: &Gaussian,
        work: Work<'_>,
    ) -> Result<(), FactorError> {
        let Work {
            x_modes,
            modes,
            input,
            output,
            ..
        } = work;
        for (i, s) in r.singular_values.iter().enumerate() {
            let row = i * r.p..(i + 1) * r.p;
            if *s > 0.0 {
                modes[row.clone()].copy_from_slice(&x_modes[row]);
            } else {
                modes[row].fill(0.0);
            }
        }
        d.to_output(&self.inner.w, modes, r.p, output, input);
        let residual: f64 = x
            .linear
            .iter()
            .zip(output)
            .map(|(x, o)| (x - *o).powi(2))
            .sum();
        let scale: f64 = x.linear.iter().map(|x| x * x).sum();
        if residual > 1e-12 * scale {
            Err(out_of_range(residual, scale))
        } else {
            Ok(())
        }
    }

    /// $(a, b)_{f\to x}$.
    fn to_output(
        &self,
        d: &Decomposition,
        r: &Resolvent<'_>,
        x: &Gaussian,
        out: &mut Gaussian,
        work: Work<'_>,
    ) {
        let (m, k) = (r.rows as f64, r.singular_values.len());
        if x.is_pinned() {
            // lim a_x → ∞ of the form below; a row that W does not see makes it say nothing
            let mean = r.sum(|s| r.w(s)) / m;
            if d.rank() < r.rows {
                out.set_flat();
                return;
            }
            each_mode(r, work.modes, work.z_modes, work.x_modes, |s, bz, mx| {
                let w = r.w(s);
                w * s * bz + r.az * (mean - w) * mx
            });
            d.to_output(&self.inner.w, work.modes, r.p, &mut out.linear, work.input);
            out.precision.set_scalar(r.az * mean);
            return;
        }
        let to_w = if r.strong { r.ax } else { 1.0 };
        let v = r.sum(|s| s * s * r.w(s)) / (to_w * m);
        let d_x = (r.sum(|s| r.az_w(s)) + (r.rows - k) as f64) / m;
        let direct = k == r.rows && r.strong;
        each_mode(r, work.modes, work.z_modes, work.x_modes, |s, bz, bx| {
            let w = r.w(s) / to_w;
            let from_z = w * s * bz; // a_z w s ẑ
            let from_x = if direct {
                (d_x - r.az_w(s)) * bx / r.ax
            } else {
                s * s * w * bx
            };
            (from_z + from_x) / v
        });
        d.to_output(&self.inner.w, work.modes, r.p, &mut out.linear, work.input);
        if !direct {
            for (o, b) in out.linear.iter_mut().zip(&x.linear) {
                *o -= b;
            }
        }
        out.precision.set_scalar(d_x / v);
    }
}

impl Resolvent<'_> {
    /// $\tilde b_x - a_x s\tilde{\hat z}$, or $\tilde{\hat x} - s\tilde{\hat z}$ in the strong regime;
    /// a pinned $x$ has its place in `bx`.
    fn innovation(&self, s: f64, bz: f64, bx: f64) -> f64 {
        let z = bz / self.az;
        if self.ax == f64::INFINITY {
            bx - s * z
        } else if self.strong {
            bx / self.ax - s * z
        } else {
            bx - self.ax * s * z
        }
    }

    /// $\sum f(s, b_z, b_x)$ over modes and columns.
    fn sum_modes(&self, work: &Work<'_>, f: &dyn Fn(f64, f64, f64) -> f64) -> f64 {
        let rows = self.singular_values.iter().enumerate();
        rows.map(|(i, s)| {
            let row = i * self.p..(i + 1) * self.p;
            let pairs = work.z_modes[row.clone()].iter().zip(&work.x_modes[row]);
            pairs.map(|(bz, bx)| f(*s, *bz, *bx)).sum::<f64>()
        })
        .sum()
    }

    /// $A - A[m_z] - A[m_x]$ in innovation form, with $e = \tilde{\hat x} - s\tilde{\hat z}$:
    /// $-\frac12\sum_k [a_x a_z w\,e^2 + \ln(1 + a_x\lambda/a_z)] - \frac{1}{2a_x}\|b_x^\perp\|^2 -
    /// \frac M2\ln\frac{2\pi}{a_x}$; `outside` is $\|b_x^\perp\|^2$, outside the range of $W$.
    fn excess(&self, work: &Work<'_>, outside: impl Fn() -> f64) -> f64 {
        let p = self.p as f64;
        let modes = |f: &dyn Fn(f64, f64, f64) -> f64| self.sum_modes(work, f);
        let volume = |per_mode: &dyn Fn(f64) -> f64| 0.5 * p * self.sum(per_mode);
        if self.ax == f64::INFINITY {
            let fit = modes(&|s, bz, mx| self.az * self.innovation(s, bz, mx).powi(2) / (s * s));
            return -0.5 * fit - volume(&|s| (TAU * s * s / self.az).ln());
        }
        if self.az <= 0.0 {
            // every input is seen; the message on z has no potential of its own
            let to_w = if self.strong { self.ax } else { 1.0 };
            let fit = modes(&|s, bz, bx| (bz + s * bx).powi(2) * self.w(s) / to_w);
            let own = modes(&|_, _, bx| bx * bx) + outside();
            let own = 0.5 * own / self.ax + 0.5 * p * self.rows as f64 * (TAU / self.ax).ln();
            return 0.5 * fit + volume(&|s| (TAU * self.w(s) / to_w).ln()) - own;
        }
        let determinant = volume(&|s| (self.ax / self.az * s * s).ln_1p());
        if self.ax > 0.0 {
            let beyond = self.singular_values.len() < self.rows;
            let rest = if beyond { outside() / self.ax } else { 0.0 };
            let fit = modes(&|s, bz, bx| {
                let gap = bx / self.ax - s * bz / self.az;
                self.ax * self.az_w(s) * gap * gap
            });
            let own = 0.5 * p * self.rows as f64 * (TAU / self.ax).ln();
            -0.5 * (fit + rest) - determinant - own
        } else {
            // a flat or negative message on x has no potential of its own
            let fit = modes(&|s, bz, bx| {
                let place = s * bz / self.az;
                let gap = bx - self.ax * place;
                place * (bx - 0.5 * self.ax * place) + 0.5 * s * s * self.w(s) * gap * gap
            });
            fit - determinant
        }
    }
}

/// Fills the modes with `f(s, b_z, b_x)`.
fn each_mode(
    r: &Resolvent<'_>,
    out: &mut [f64],
    z_modes: &[f64],
    x_modes: &[f64],
    f: impl Fn(f64, f64, f64) -> f64,
) {
    for (i, s) in r.singular_values.iter().enumerate() {
        for j in i * r.p..(i + 1) * r.p {
            out[j] = f(*s, z_modes[j], x_modes[j]);
        }
    }
}

fn out_of_range(residual: f64, scale: f64) -> FactorError {
    FactorError::Contradiction(format!(
        "the exactly known output lies outside the range of the matrix: expected a residual of zero, \
         got {:.1e} of its norm",
        (residual / scale).sqrt()
    ))
}
