//! The outgoing messages of the linear channel.

use super::Linear;
use super::resolvent::{Resolvent, Work, each_mode};
use crate::belief::Gaussian;
use crate::error::FactorError;
use crate::math::decomposition::Decomposition;

impl Linear {
    /// $(a, b)_{f\to z}$ when something of $z$ stays unknown.
    pub(super) fn to_input(
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
    pub(super) fn solve(
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
                for y in row.iter_mut() {
                    *y /= s;
                }
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
    pub(super) fn to_output(
        &self,
        d: &Decomposition,
        r: &Resolvent<'_>,
        x: &Gaussian,
        out: &mut Gaussian,
        work: &mut Work<'_>,
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
        if v == 0.0 {
            // a matrix of zeros (or one that underflows): the output is known, and is zero
            out.set_flat();
            out.precision.set_scalar(f64::INFINITY);
            return;
        }
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

fn out_of_range(residual: f64, scale: f64) -> FactorError {
    FactorError::Contradiction(format!(
        "the exactly known output lies outside the range of the matrix: expected a residual of zero, \
         got {:.1e} of its norm",
        (residual / scale).sqrt()
    ))
}
