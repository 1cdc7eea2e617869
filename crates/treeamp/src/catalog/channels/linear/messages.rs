//! The outgoing messages of the linear channel through a singular system.

use super::resolvent::{Resolvent, Work, each_mode};
use super::{X, Z};
use crate::belief::Gaussian;
use crate::error::FactorError;
use crate::operator::{LinearOperator, SingularSystem};

/// $(a, b)_{f\to z}$ when something of $z$ stays unknown.
pub(super) fn to_input(
    system: &dyn SingularSystem,
    r: &Resolvent<'_>,
    z: &Gaussian,
    x: &Gaussian,
    out: &mut Gaussian,
    mut work: Work<'_>,
) -> Result<(), FactorError> {
    let to_w = if r.strong { r.ax } else { 1.0 };
    // modes with s = 0 belong to the unseen part, where w = 1/a_z
    let seen = r.sum(|s| if s > 0.0 { r.w(s) } else { 0.0 }) / to_w;
    let free = if r.sees_input() {
        0.0
    } else {
        (r.cols - r.rank()) / r.az
    };
    let v = (seen + free) / r.cols;
    let a_out = r.n_eff() / v;
    if x.is_pinned() && !r.reaches_output() {
        check_range(r, x, &work)?;
    }
    if r.sees_input() && (r.strong || r.az <= 0.0) {
        // b = V [w s b_x + (w - v) b_z] / v; w - v does not cancel here
        let unit = 1.0 / to_w;
        let (modes, scratch) = each_mode(r, &mut work, Z, |s, bz, bx| {
            let w = r.w(s) * unit;
            (w * s * bx + (w - v) * bz) / v
        });
        system.to_input(modes, &mut out.linear, scratch);
    } else {
        let (modes, scratch) = each_mode(r, &mut work, Z, |s, bz, bx| {
            r.w(s) * s * r.innovation(s, bz, bx) / v
        });
        system.to_input(modes, &mut out.linear, scratch);
        let scale = a_out / r.az;
        for (o, b) in out.linear.iter_mut().zip(&z.linear) {
            *o += scale * b;
        }
    }
    out.precision.set_scalar(a_out);
    Ok(())
}

/// $x$ is pinned and $W$ has full column rank: $z$ is known, $z = V S^{-1} U^T x$, with one step of
/// refinement against the residual $x - W z$ where the system is not accurate by itself.
pub(super) fn solve(
    operator: &dyn LinearOperator,
    system: &dyn SingularSystem,
    r: &Resolvent<'_>,
    x: &Gaussian,
    out: &mut Gaussian,
    work: Work<'_>,
) -> Result<(), FactorError> {
    let Work {
        z_modes,
        x_modes,
        modes,
        scratch,
        spare,
    } = work;
    let modes = if modes.is_empty() { z_modes } else { modes };
    let lanes = r.modes.lanes() * r.columns;
    let divide = |modes: &mut [f64]| {
        for (i, row) in modes.chunks_exact_mut(lanes).enumerate() {
            let s = r.modes.value(i);
            row.iter_mut().for_each(|y| *y /= s);
        }
    };
    let scale: f64 = x.linear.iter().map(|x| x * x).sum();
    if spare.is_empty() && !r.reaches_output() {
        let inside: f64 = x_modes.iter().map(|y| y * y).sum();
        in_range(scale - inside, scale)?;
    }
    modes.copy_from_slice(x_modes);
    divide(modes);
    system.to_input(modes, &mut out.linear, scratch);
    out.precision.set_scalar(f64::INFINITY);
    if spare.is_empty() {
        return Ok(());
    }
    let (input, output) = spare.split_at_mut(out.linear.len());
    operator.apply(&out.linear, output, scratch);
    for (o, x) in output.iter_mut().zip(&x.linear) {
        *o = x - *o;
    }
    if !r.reaches_output() {
        in_range(output.iter().map(|e| e * e).sum(), scale)?;
    }
    system.analyse_output(output, modes, scratch);
    divide(modes);
    system.to_input(modes, input, scratch);
    for (z, dz) in out.linear.iter_mut().zip(input.iter()) {
        *z += dz;
    }
    Ok(())
}

/// A pinned output must lie in the range of $W$: $\|x\|^2 = \sum_{s_k > 0}\tilde x_k^2$.
fn check_range(r: &Resolvent<'_>, x: &Gaussian, work: &Work<'_>) -> Result<(), FactorError> {
    let inside = r.sum_modes(work, &|s, _, x| if s > 0.0 { x * x } else { 0.0 });
    let scale: f64 = x.linear.iter().map(|x| x * x).sum();
    in_range(scale - inside, scale)
}

/// $(a, b)_{f\to x}$.
pub(super) fn to_output(
    system: &dyn SingularSystem,
    r: &Resolvent<'_>,
    x: &Gaussian,
    out: &mut Gaussian,
    mut work: Work<'_>,
) {
    if x.is_pinned() {
        // lim a_x → ∞ of the form below; a row that W does not see makes it say nothing
        if !r.reaches_output() {
            out.set_flat();
            return;
        }
        let mean = r.sum(|s| r.w(s)) / r.rows;
        let (modes, scratch) = each_mode(r, &mut work, X, |s, bz, mx| {
            let w = r.w(s);
            w * s * bz + r.az * (mean - w) * mx
        });
        system.to_output(modes, &mut out.linear, scratch);
        out.precision.set_scalar(r.az * mean);
        return;
    }
    let to_w = if r.strong { r.ax } else { 1.0 };
    let v = r.sum(|s| s * s * r.w(s)) / (to_w * r.rows);
    if v == 0.0 {
        // a matrix of zeros (or one that underflows): the output is known, and is zero
        out.set_flat();
        out.precision.set_scalar(f64::INFINITY);
        return;
    }
    let beyond = r.rows - r.columns as f64 * r.modes.total();
    let d_x = (r.sum(|s| r.az_w(s)) + beyond) / r.rows;
    let direct = r.modes.spans_output() && r.strong;
    let (modes, scratch) = each_mode(r, &mut work, X, |s, bz, bx| {
        let w = r.w(s) / to_w;
        let from_z = w * s * bz; // a_z w s ẑ
        let from_x = if direct {
            (d_x - r.az_w(s)) * bx / r.ax
        } else {
            s * s * w * bx
        };
        (from_z + from_x) / v
    });
    system.to_output(modes, &mut out.linear, scratch);
    if !direct {
        for (o, b) in out.linear.iter_mut().zip(&x.linear) {
            *o -= b;
        }
    }
    out.precision.set_scalar(d_x / v);
}

/// The squared residual is rounding.
fn in_range(residual: f64, scale: f64) -> Result<(), FactorError> {
    if residual <= 1e-12 * scale {
        return Ok(());
    }
    Err(FactorError::Contradiction(format!(
        "the exactly known output lies outside the range of the matrix: expected a residual of \
         zero, got {:.1e} of its norm",
        (residual / scale).sqrt()
    )))
}
