//! The resolvent of the linear channel, mode by mode: weights, log-determinants, innovations.

use std::f64::consts::TAU;

use crate::error::{FactorError, brief};
use crate::operator::Modes;

/// The coordinates of the two incoming messages in $V$ and $U$, kept from sweep to sweep and
/// recomputed only when a message changed, with room to work in.
pub(super) struct Work<'a> {
    /// $V^T b_z$ and $U^T b_x$.
    pub z_modes: &'a mut [f64],
    pub x_modes: &'a mut [f64],
    /// Where new coordinates are made; empty when they take the place of the target's.
    pub modes: &'a mut [f64],
    pub scratch: &'a mut [f64],
    /// An input and an output, where solutions are refined; else empty.
    pub spare: &'a mut [f64],
}

/// What the formulas need about the two precisions.
pub(super) struct Resolvent<'a> {
    /// Incoming precisions; `ax` may be infinite.
    pub az: f64,
    pub ax: f64,
    pub modes: &'a Modes,
    /// Real outputs and inputs, of all columns.
    pub rows: f64,
    pub cols: f64,
    /// Columns of the signal.
    pub columns: usize,
    /// $a_x$ dominates: work with $w' = a_x w = 1/(\lambda + a_z/a_x)$.
    pub strong: bool,
}

impl Resolvent<'_> {
    /// $w = 1/(a_z + a_x\lambda)$, or $w' = a_x w$ in the strong regime. A mode that a pinned output
    /// does not see has $w' = 0$ by convention: nothing moves it.
    pub fn w(&self, s: f64) -> f64 {
        if self.ax == f64::INFINITY {
            if s > 0.0 { 1.0 / (s * s) } else { 0.0 }
        } else if self.strong {
            1.0 / (s * s + self.az / self.ax)
        } else {
            1.0 / (self.az + self.ax * s * s)
        }
    }

    /// $a_z w$ (dimensionless), 1 for a mode that $W$ does not see.
    pub fn az_w(&self, s: f64) -> f64 {
        match (s > 0.0, self.strong) {
            (false, _) => 1.0,
            (true, true) => self.az / self.ax * self.w(s),
            (true, false) => self.az * self.w(s),
        }
    }

    /// $\sum_k f(s_k)$ over the modes of all columns.
    pub fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.columns as f64 * self.modes.sum(f)
    }

    /// How many inputs $W$ sees, and how many outputs it reaches.
    pub fn rank(&self) -> f64 {
        self.columns as f64 * self.modes.rank()
    }

    /// $W$ sees every input.
    pub fn sees_input(&self) -> bool {
        self.cols - self.rank() < 0.5
    }

    /// $W$ reaches every output.
    pub fn reaches_output(&self) -> bool {
        self.rows - self.rank() < 0.5
    }

    /// $\frac1N\sum_k a_x\lambda w$, the effective number of parameters per input.
    pub fn n_eff(&self) -> f64 {
        let ax = if self.strong { 1.0 } else { self.ax };
        self.sum(|s| ax * s * s * self.w(s)) / self.cols
    }

    /// The joint precision $a_z + a_x W^T W$ is positive definite.
    pub fn is_proper(&self) -> bool {
        // monotonous in s: the extremes decide
        let (least, most) = self.modes.extremes();
        let seen = [least, most]
            .iter()
            .all(|s| self.az + self.ax * s * s > 0.0);
        let unseen = self.sees_input() || self.az > 0.0;
        // infinity times zero is a mode that a pinned output does not see
        (seen || self.ax == f64::INFINITY) && unseen
    }

    pub fn improper(&self) -> FactorError {
        FactorError::Improper(format!(
            "the precision {} on its input and {} on its output leave a negative variance",
            brief(self.az),
            brief(self.ax)
        ))
    }
}

impl Resolvent<'_> {
    /// $\tilde b_x - a_x s\tilde{\hat z}$, or $\tilde{\hat x} - s\tilde{\hat z}$ in the strong regime;
    /// a pinned $x$ has its place in `bx`.
    pub fn innovation(&self, s: f64, bz: f64, bx: f64) -> f64 {
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
    pub fn sum_modes(&self, work: &Work<'_>, f: &dyn Fn(f64, f64, f64) -> f64) -> f64 {
        let lanes = self.modes.lanes() * self.columns;
        let rows = work
            .z_modes
            .chunks_exact(lanes)
            .zip(work.x_modes.chunks_exact(lanes));
        rows.enumerate()
            .map(|(i, (z, x))| {
                let s = self.modes.value(i);
                z.iter().zip(x).map(|(bz, bx)| f(s, *bz, *bx)).sum::<f64>()
            })
            .sum()
    }

    /// $A - A[m_z] - A[m_x]$ in innovation form, with $e = \tilde{\hat x} - s\tilde{\hat z}$:
    /// $-\frac12\sum_k [a_x a_z w\,e^2 + \ln(1 + a_x\lambda/a_z)] - \frac{1}{2a_x}\|b_x^\perp\|^2 -
    /// \frac M2\ln\frac{2\pi}{a_x}$; `outside` is $\|b_x^\perp\|^2$, outside the range of $W$.
    pub fn excess(&self, work: &Work<'_>, outside: impl FnOnce() -> f64) -> f64 {
        let modes = |f: &dyn Fn(f64, f64, f64) -> f64| self.sum_modes(work, f);
        let volume = |per_mode: &dyn Fn(f64) -> f64| 0.5 * self.sum(per_mode);
        if self.ax == f64::INFINITY && self.az <= 0.0 {
            // every input is known, z = V S⁻¹ Uᵀ m, and the message on z has no potential of its own
            let value = modes(&|s, bz, mx| (bz - 0.5 * self.az * mx / s) * mx / s);
            return value - self.sum(f64::ln);
        }
        if self.ax == f64::INFINITY {
            let fit = modes(&|s, bz, mx| self.az * self.innovation(s, bz, mx).powi(2) / (s * s));
            return -0.5 * fit - volume(&|s| (TAU * s * s / self.az).ln());
        }
        if self.az <= 0.0 {
            // every input is seen; the message on z has no potential of its own
            let to_w = if self.strong { self.ax } else { 1.0 };
            let fit = modes(&|s, bz, bx| (bz + s * bx).powi(2) * self.w(s) / to_w);
            let own = modes(&|_, _, bx| bx * bx) + outside();
            let own = 0.5 * own / self.ax + 0.5 * self.rows * (TAU / self.ax).ln();
            return 0.5 * fit + volume(&|s| (TAU * self.w(s) / to_w).ln()) - own;
        }
        let determinant = volume(&|s| (self.ax / self.az * s * s).ln_1p());
        if self.ax > 0.0 {
            let beyond = !self.modes.spans_output();
            let rest = if beyond { outside() / self.ax } else { 0.0 };
            let fit = modes(&|s, bz, bx| {
                let gap = bx / self.ax - s * bz / self.az;
                self.ax * self.az_w(s) * gap * gap
            });
            let own = 0.5 * self.rows * (TAU / self.ax).ln();
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

/// `f(s, b_z, b_x)` mode by mode, in a place of its own or in that of the target's coordinates. Gives
/// it together with the scratch.
pub(super) fn each_mode<'w>(
    r: &Resolvent<'_>,
    work: &'w mut Work<'_>,
    target: usize,
    f: impl Fn(f64, f64, f64) -> f64,
) -> (&'w mut [f64], &'w mut [f64]) {
    let lanes = r.modes.lanes() * r.columns;
    let (z, x) = (&mut *work.z_modes, &mut *work.x_modes);
    if !work.modes.is_empty() {
        let pairs = z.chunks_exact(lanes).zip(x.chunks_exact(lanes));
        for (i, (out, (z, x))) in work.modes.chunks_exact_mut(lanes).zip(pairs).enumerate() {
            let s = r.modes.value(i);
            for (out, (bz, bx)) in out.iter_mut().zip(z.iter().zip(x)) {
                *out = f(s, *bz, *bx);
            }
        }
        return (work.modes, work.scratch);
    }
    let pairs = z.chunks_exact_mut(lanes).zip(x.chunks_exact_mut(lanes));
    for (i, (z, x)) in pairs.enumerate() {
        let s = r.modes.value(i);
        for (bz, bx) in z.iter_mut().zip(x) {
            let out = f(s, *bz, *bx);
            *(if target == 0 { bz } else { bx }) = out;
        }
    }
    (if target == 0 { z } else { x }, work.scratch)
}
