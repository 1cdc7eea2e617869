//! Expectation propagation through the linear channel: which solver, which limit, and the
//! log-partition.

use std::f64::consts::TAU;

use super::blocks::{Blocks, has_blocks};
use super::iid::Iid;
use super::messages::{solve, to_input, to_output};
use super::resolvent::Resolvent;
use super::work::{IterativeWork, ModesWork};
use super::{Linear, X, Z, has_structure};
use crate::belief::{Gaussian, SignalSpec, Structure};
use crate::error::FactorError;
use crate::factor::{Context, PosteriorRule, Workspace};
use crate::operator::{SingularSystem, applied};

impl Linear {
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

    /// The memory of a channel with a singular system, on inputs of so many real numbers.
    fn modes_work<'w>(
        &self,
        system: &dyn SingularSystem,
        inputs: usize,
        workspace: &'w mut Workspace,
    ) -> Result<&'w mut ModesWork, FactorError> {
        let columns = self.columns(inputs);
        workspace.get_or_make(|| ModesWork::new(self.operator(), system, columns))
    }

    /// That of a channel without one.
    fn iterative_work<'w>(
        &self,
        workspace: &'w mut Workspace,
    ) -> Result<&'w mut IterativeWork, FactorError> {
        workspace.get_or_make(|| IterativeWork::new(self.operator()))
    }

    /// Room for one application of the operator.
    fn scratch<'w>(
        &self,
        inputs: usize,
        workspace: &'w mut Workspace,
    ) -> Result<&'w mut [f64], FactorError> {
        match self.operator().singular_system()? {
            Some(system) => Ok(self.modes_work(system, inputs, workspace)?.scratch()),
            None => Ok(&mut self.iterative_work(workspace)?.scratch),
        }
    }
}

impl PosteriorRule for Linear {
    /// The components that are in no output, of an operator whose entries or norms are at hand.
    fn averaged(&self, ports: &[SignalSpec]) -> Option<(usize, String)> {
        if ports[Z].structure != Structure::Isotropic || self.columns(ports[Z].len()) != 1 {
            return None;
        }
        let operator = self.operator();
        let norms = operator.gram_diagonal().or_else(|| {
            let mut norms = vec![0.0; operator.input().len()];
            let entries = operator.entries()?;
            entries.iter().for_each(|(_, j, w)| norms[*j] += w * w);
            Some(norms)
        })?;
        let (n, lanes) = (norms.len(), norms.len() / operator.input().count().max(1));
        let unseen = norms.iter().filter(|n| **n == 0.0).count();
        let what = || format!("sees {} of {} components", (n - unseen) / lanes, n / lanes);
        (0 < unseen && unseen < n).then(|| (Z, what()))
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        if self.takes_iid(context) {
            return Iid::new(self, context)?.message(target, out);
        }
        let incoming = context.incoming;
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if has_blocks(z) {
            return Blocks::new(self, context)?.message(target, out);
        }
        if let Some(sparse) = self.sparse(z, x) {
            return sparse.message(target, out);
        }
        if let Some(dense) = self.structured(z, x)? {
            return dense.message(target, out);
        }
        if z.is_pinned() {
            out.set_flat();
            if target == X {
                let scratch = self.scratch(z.len(), context.workspace)?;
                self.operator().apply(&z.linear, &mut out.linear, scratch);
                out.precision.set_scalar(f64::INFINITY);
            }
            return Ok(());
        }
        let Some(system) = self.operator().singular_system()? else {
            let blind = || Ok(self.estimated()?.rank() < 1.0 - 1e-12);
            if z.is_flat() && (x.is_flat() || (target == Z && blind()?)) {
                out.set_flat();
                return Ok(());
            }
            let solve = self.iterate(z, x, self.iterative_work(context.workspace)?)?;
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
        let work = self.modes_work(system, z.len(), context.workspace)?;
        let work = work.refresh(system, [z, x], Some(target));
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
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if self.takes_iid(context) {
            let own = z.own_potential() + x.own_potential();
            return Ok(Iid::new(self, context)?.excess()? + own);
        }
        if has_structure(z, x) {
            return Ok(self.excess(context)? + z.own_potential() + x.own_potential());
        }
        let pinned = z.is_pinned() || x.is_pinned();
        let Some(system) = self.operator().singular_system()? else {
            return if pinned {
                let own = z.own_potential() + x.own_potential();
                Ok(self.excess(context)? + own)
            } else {
                self.iterate(z, x, self.iterative_work(context.workspace)?)?
                    .log_partition()
            };
        };
        let r = self.resolvent(system, z, x);
        if pinned || !r.is_proper() {
            let own = z.own_potential() + x.own_potential();
            return Ok(self.excess(context)? + own);
        }
        let work = self.modes_work(system, z.len(), context.workspace)?;
        let work = work.refresh(system, [z, x], None);
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

    /// That of an estimated log-determinant.
    fn log_partition_error(&self, context: &mut Context<'_>) -> f64 {
        if self.takes_iid(context) {
            return 0.0;
        }
        let incoming = context.incoming;
        let (z, x) = (incoming.get(Z), incoming.get(X));
        let direct = !matches!(self.operator().singular_system(), Ok(None));
        if has_blocks(z) && !direct {
            let error = Blocks::new(self, context).and_then(Blocks::error);
            return error.unwrap_or(f64::NAN);
        }
        if direct || z.is_pinned() || x.is_pinned() || has_structure(z, x) {
            return 0.0;
        }
        let (az, ax) = (z.precision.scalar(), x.precision.scalar());
        let Ok(work) = self.iterative_work(context.workspace) else {
            return f64::NAN;
        };
        self.known().map_or(f64::NAN, |known| {
            known.log_error(known.level(&mut work.level, az, ax), az, ax)
        })
    }

    fn route_objection(&self, context: &mut Context<'_>) -> Result<Option<String>, FactorError> {
        if self.takes_iid(context) {
            self.objection(context)
        } else {
            Ok(None)
        }
    }

    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        if self.takes_iid(context) {
            return Iid::new(self, context)?.excess();
        }
        let incoming = context.incoming;
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if has_blocks(z) {
            return Blocks::new(self, context)?.excess();
        }
        if let Some(sparse) = self.sparse(z, x) {
            return sparse.excess();
        }
        if let Some(dense) = self.structured(z, x)? {
            return dense.excess();
        }
        if z.is_pinned() {
            return Ok(if x.is_pinned() {
                f64::INFINITY
            } else {
                x.normalised_log_value(&applied(self.operator(), &z.linear))
            });
        }
        let Some(system) = self.operator().singular_system()? else {
            let own = z.own_potential() + x.own_potential();
            return Ok(self
                .iterate(z, x, context.workspace.get()?)?
                .log_partition()?
                - own);
        };
        let r = self.resolvent(system, z, x);
        if !r.is_proper() || (x.is_pinned() && !r.reaches_output()) {
            return Ok(f64::INFINITY);
        }
        let work = self.modes_work(system, z.len(), context.workspace)?;
        let mut work = work.refresh(system, [z, x], None);
        let scratch = std::mem::take(&mut work.scratch);
        Ok(r.excess(&work, || {
            let mut modes = work.x_modes.to_vec();
            let mut inside = vec![0.0; x.len()];
            system.to_output(&mut modes, &mut inside, scratch);
            square_gap(&x.linear, &inside)
        }))
    }
}

fn square_gap(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum()
}
