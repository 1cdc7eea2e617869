//! The linear channel $x = W z$ of any [`LinearOperator`]: a dense matrix, on a vector or on every
//! column of an $N \times P$ matrix, or an operator that is never a matrix.
//!
//! An operator with a singular system is solved mode by mode, at the cost of its transforms; the
//! others by conjugate gradients (file `iterative.rs`).
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
mod iterative;
mod messages;
mod resolvent;

use std::f64::consts::TAU;
use std::sync::{Arc, OnceLock};

use rand::Rng;

pub use self::ensemble::LinearEnsemble;
pub use self::iterative::IterativeOptions;
use self::iterative::{Iterative, Solve};
use self::messages::{solve, to_input, to_output};
use self::resolvent::{Resolvent, Work};
use crate::belief::{Gaussian, SignalSpec};
use crate::error::{FactorError, ModelError, ShapeError};
use crate::factor::{Arity, EnsembleRule, Factor, GenerativeRule, Incoming, PosteriorRule};
use crate::math::decomposition::Decomposition;
use crate::math::matrix::Matrix;
use crate::math::spectrum::Spectrum;
use crate::operator::{Dense, LinearOperator, SingularSystem, applied};

const Z: usize = 0;
const X: usize = 1;
/// Numbers that a fingerprint takes.
const KEY: usize = 2;

/// A linear channel. Clones share the operator and its decomposition, which is computed once, when an
/// algorithm first plans on it.
#[derive(Debug, Clone)]
pub struct Linear {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    operator: Arc<dyn LinearOperator>,
    /// The same operator, if it is a dense matrix.
    dense: Option<Arc<Dense>>,
    options: IterativeOptions,
    iterative: OnceLock<Result<Iterative, FactorError>>,
    spectrum: OnceLock<Option<Spectrum>>,
}

impl Linear {
    /// Catalogue name of the dense channel; other operators have their own.
    pub const NAME: &'static str = Dense::NAME;

    /// The channel $x = W z$ of a dense matrix.
    ///
    /// # Errors
    /// Never: a [`Matrix`] is valid by construction. The signature leaves room for checks.
    pub fn new(w: Matrix) -> Result<Self, ModelError> {
        let dense = Arc::new(Dense::new(w));
        let operator: Arc<dyn LinearOperator> = Arc::clone(&dense) as _;
        Ok(Self::built(
            operator,
            Some(dense),
            IterativeOptions::default(),
        ))
    }

    /// The channel $x = W z$ of an operator.
    #[must_use]
    pub fn of(operator: impl LinearOperator) -> Self {
        Self::shared(Arc::new(operator))
    }

    /// The channel of an operator that others hold too.
    #[must_use]
    pub fn shared(operator: Arc<dyn LinearOperator>) -> Self {
        Self::built(operator, None, IterativeOptions::default())
    }

    fn built(
        operator: Arc<dyn LinearOperator>,
        dense: Option<Arc<Dense>>,
        options: IterativeOptions,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                operator,
                dense,
                options,
                iterative: OnceLock::new(),
                spectrum: OnceLock::new(),
            }),
        }
    }

    /// The same channel with other options of the iterative solution; they do nothing for an operator
    /// with a singular system.
    ///
    /// # Errors
    /// An option out of range.
    pub fn iterative(&self, options: IterativeOptions) -> Result<Self, ModelError> {
        options.check()?;
        let operator = Arc::clone(&self.inner.operator);
        Ok(Self::built(operator, self.inner.dense.clone(), options))
    }

    /// The operator.
    #[must_use]
    pub fn operator(&self) -> &dyn LinearOperator {
        self.inner.operator.as_ref()
    }

    /// The matrix of a dense channel.
    #[must_use]
    pub fn matrix(&self) -> Option<&Matrix> {
        self.inner.dense.as_ref().map(|d| d.matrix())
    }

    /// The decomposition of a dense channel, computed on first use.
    ///
    /// # Errors
    /// When it does not converge, or the channel is not dense.
    pub fn decomposition(&self) -> Result<&Decomposition, FactorError> {
        let none = || FactorError::Unsupported("its operator is not a dense matrix".to_owned());
        self.inner.dense.as_ref().ok_or_else(none)?.decomposition()
    }

    /// $E x^2 = \frac{\|W\|_F^2}{M}\,\tau_z$ when the components of $z$ are uncorrelated. NaN when the spectrum
    /// cannot be had.
    #[must_use]
    pub fn second_moment(&self, tau_z: f64) -> f64 {
        match (self.matrix(), self.spectrum()) {
            (Some(w), _) => tau_z * w.square_norm() / w.rows() as f64,
            (None, Some(spectrum)) => tau_z * spectrum.mean() / spectrum.alpha(),
            (None, None) => f64::NAN,
        }
    }

    fn known(&self) -> Result<&Iterative, FactorError> {
        let make = || Iterative::new(self.operator(), &self.inner.options);
        self.inner
            .iterative
            .get_or_init(make)
            .as_ref()
            .map_err(Clone::clone)
    }

    fn iterate<'a>(
        &'a self,
        z: &'a Gaussian,
        x: &'a Gaussian,
        work: &'a mut [f64],
    ) -> Result<Solve<'a>, FactorError> {
        let known = self.known()?;
        let solve = Solve::new(self.operator(), known, self.inner.options, [z, x], work);
        solve.check()?;
        Ok(solve)
    }

    /// Columns of a signal of so many real numbers.
    fn columns(&self, len: usize) -> usize {
        len / self.operator().input().len()
    }
}

impl Factor for Linear {
    fn name(&self) -> &str {
        self.operator().name()
    }

    fn summary(&self) -> String {
        self.operator().summary()
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        match self.operator().output_for(&inputs[0]) {
            Ok(output) => Ok(vec![output]),
            Err(expected) => Err(ShapeError {
                port: Z,
                expected,
                got: format!("shape {}", inputs[0]),
            }),
        }
    }

    fn workspace_len(&self, ports: &[SignalSpec]) -> usize {
        let columns = self.columns(ports[Z].len());
        match self.operator().singular_system() {
            Ok(Some(system)) => {
                let modes = columns * system.modes().layout_len();
                let arrays = if system.keeps_coordinates() { 3 } else { 2 };
                let parts = system.scratch_len(columns) + system.spare_len(columns);
                // the operator itself is only applied when nothing else needs the room
                2 * KEY + (arrays * modes + parts).max(self.operator().scratch_len(columns))
            }
            _ => Iterative::workspace_len(self.operator()),
        }
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn spectrum(&self) -> Option<&Spectrum> {
        let make = || {
            let operator = self.operator();
            let alpha = operator.output().len() as f64 / operator.input().len() as f64;
            match operator.singular_system().ok()? {
                Some(system) => {
                    let inputs = operator.input().len() as f64;
                    Some(Spectrum::of_modes(system.modes(), inputs, alpha))
                }
                None => self.known().ok().map(|k| k.spectrum.clone()),
            }
        };
        self.inner.spectrum.get_or_init(make).as_ref()
    }

    fn heuristic(&self) -> Option<&'static str> {
        self.operator().heuristic()
    }

    fn prepare(&self) -> Result<(), FactorError> {
        match self.operator().singular_system()? {
            Some(_) => Ok(()),
            None => self.known().map(|_| ()),
        }
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
        outputs[0] = applied(self.operator(), inputs[0]);
    }
}

/// 128 bits of a signal: two independent multiplicative hashes. Equal ones mean an unchanged message.
fn fingerprint(x: &[f64]) -> [u64; KEY] {
    let mut hash = [0x9e37_79b9_7f4a_7c15_u64, 0xc2b2_ae3d_27d4_eb4f];
    for x in x {
        let bits = x.to_bits();
        hash[0] = (hash[0].rotate_left(23) ^ bits).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash[1] = (hash[1].rotate_left(29) ^ bits).wrapping_mul(0x9fb2_1c65_1e98_df25);
    }
    // a fresh workspace holds zeros
    [hash[0] | 1, hash[1]]
}

/// Whether `x` differs from what was last seen; remembers it.
fn changed(key: &mut [f64], x: &[f64]) -> bool {
    let now = fingerprint(x);
    let same = key.iter().zip(now).all(|(k, n)| k.to_bits() == n);
    for (k, n) in key.iter_mut().zip(now) {
        *k = f64::from_bits(n);
    }
    !same
}

impl Linear {
    /// Splits the workspace and refreshes the coordinates of the incoming messages. Those of the port
    /// that is written to are forgotten when the work is done in their place.
    fn refresh<'w>(
        &self,
        system: &dyn SingularSystem,
        [z, x]: [&Gaussian; 2],
        target: Option<usize>,
        work: &'w mut [f64],
    ) -> Work<'w> {
        let columns = self.columns(z.len());
        let k = columns * system.modes().layout_len();
        let (keys, rest) = work.split_at_mut(2 * KEY);
        let (z_modes, rest) = rest.split_at_mut(k);
        let (x_modes, rest) = rest.split_at_mut(k);
        let own = if system.keeps_coordinates() { k } else { 0 };
        let (modes, rest) = rest.split_at_mut(own);
        let (spare, scratch) = rest.split_at_mut(system.spare_len(columns));
        let (z_key, x_key) = keys.split_at_mut(KEY);
        if changed(z_key, &z.linear) {
            system.analyse_input(&z.linear, z_modes, scratch);
        }
        if changed(x_key, &x.linear) {
            system.analyse_output(&x.linear, x_modes, scratch);
        }
        if own == 0
            && let Some(port) = target
        {
            [z_key, x_key][port].fill(0.0);
        }
        Work {
            z_modes,
            x_modes,
            modes,
            scratch,
            spare,
        }
    }

    fn resolvent<'a>(
        &self,
        system: &'a dyn SingularSystem,
        z: &Gaussian,
        x: &Gaussian,
    ) -> Resolvent<'a> {
        let (az, ax) = (z.precision.scalar(), x.precision.scalar());
        let modes = system.modes();
        let columns = self.columns(z.len());
        let cols = z.len() as f64;
        let mean_lambda = modes.mean_square() * modes.total() * columns as f64 / cols;
        Resolvent {
            az,
            ax,
            modes,
            rows: x.len() as f64,
            cols,
            columns,
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
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if z.is_pinned() {
            out.set_flat();
            if target == X {
                self.operator()
                    .apply(&z.linear, &mut out.linear, &mut work[2 * KEY..]);
                out.precision.set_scalar(f64::INFINITY);
                // what the workspace held is gone
                work.fill(0.0);
            }
            return Ok(());
        }
        let Some(system) = self.operator().singular_system()? else {
            let sees_all = self.known()?.spectrum.rank() >= 1.0 - 1e-12;
            if z.is_flat() && (x.is_flat() || (target == Z && !sees_all)) {
                out.set_flat();
                return Ok(());
            }
            let solve = self.iterate(z, x, work)?;
            return if target == Z {
                solve.input_message(out)
            } else {
                solve.output_message(out)
            };
        };
        let r = self.resolvent(system, z, x);
        if z.is_flat() && (x.is_flat() || (target == Z && !r.sees_input())) {
            out.set_flat();
            return Ok(());
        }
        if !r.is_proper() {
            return Err(r.improper());
        }
        let work = self.refresh(system, [z, x], Some(target), work);
        match target {
            Z if r.ax == f64::INFINITY && r.sees_input() => {
                solve(self.operator(), system, &r, x, out, work)
            }
            Z => to_input(system, &r, z, x, out, work),
            _ => {
                to_output(system, &r, x, out, work);
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
        let (z, x) = (incoming.get(Z), incoming.get(X));
        let pinned = z.is_pinned() || x.is_pinned();
        let Some(system) = self.operator().singular_system()? else {
            return if pinned {
                let own = z.own_potential() + x.own_potential();
                Ok(self.excess(incoming, work)? + own)
            } else {
                self.iterate(z, x, work)?.log_partition()
            };
        };
        let r = self.resolvent(system, z, x);
        if pinned || !r.is_proper() {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.excess(incoming, work)? + own);
        }
        let work = self.refresh(system, [z, x], None, work);
        let to_w = if r.strong { r.ax } else { 1.0 };
        let fit = r.sum_modes(&work, &|s, bz, bx| (bz + s * bx).powi(2) * r.w(s) / to_w);
        let mut value = 0.5 * fit + 0.5 * r.sum(|s| (TAU * r.w(s) / to_w).ln());
        let unseen = r.cols - r.columns as f64 * r.modes.total();
        if unseen > 0.5 {
            let mut modes = work.z_modes.to_vec();
            let mut seen = vec![0.0; z.len()];
            system.to_input(&mut modes, &mut seen, work.scratch);
            value += 0.5 * square_gap(&z.linear, &seen) / r.az;
            value += 0.5 * unseen * (TAU / r.az).ln();
        }
        Ok(value)
    }

    fn excess(
        &self,
        incoming: Incoming<'_, Gaussian>,
        work: &mut [f64],
    ) -> Result<f64, FactorError> {
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if z.is_pinned() {
            return Ok(if x.is_pinned() {
                f64::INFINITY
            } else {
                x.normalised_log_value(&applied(self.operator(), &z.linear))
            });
        }
        let Some(system) = self.operator().singular_system()? else {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.iterate(z, x, work)?.log_partition()? - own);
        };
        let r = self.resolvent(system, z, x);
        if !r.is_proper() || (x.is_pinned() && !r.reaches_output()) {
            return Ok(f64::INFINITY);
        }
        let work = self.refresh(system, [z, x], None, work);
        Ok(r.excess(&work, || {
            let mut modes = work.x_modes.to_vec();
            let mut inside = vec![0.0; x.len()];
            let mut scratch = vec![0.0; work.scratch.len()];
            system.to_output(&mut modes, &mut inside, &mut scratch);
            square_gap(&x.linear, &inside)
        }))
    }
}

fn square_gap(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum()
}
