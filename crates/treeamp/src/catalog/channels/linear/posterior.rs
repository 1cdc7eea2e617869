//! Expectation propagation through the linear channel: which solver, which limit, and the
//! log-partition.

use std::f64::consts::TAU;

use super::messages::{solve, to_input, to_output};
use super::resolvent::{Resolvent, Work};
use super::{KEY, Linear, X, Z};
use crate::belief::{Gaussian, Structure};
use crate::error::FactorError;
use crate::factor::{Incoming, PosteriorRule};
use crate::operator::{SingularSystem, applied};

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
        if let Some(dense) = self.structured(z, x) {
            return dense.message(target, out);
        }
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
            let blind = || Ok(self.estimated()?.rank() < 1.0 - 1e-12);
            if z.is_flat() && (x.is_flat() || (target == Z && blind()?)) {
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
        if let Some(dense) = self.structured(z, x) {
            return Ok(dense.excess()? + z.own_potential() + x.own_potential());
        }
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

    /// That of an estimated log-determinant.
    fn log_partition_error(&self, incoming: Incoming<'_, Gaussian>, work: &mut [f64]) -> f64 {
        let (z, x) = (incoming.get(Z), incoming.get(X));
        let isotropic = |m: &Gaussian| m.structure() == Structure::Isotropic;
        let direct = !matches!(self.operator().singular_system(), Ok(None));
        if direct || z.is_pinned() || x.is_pinned() || !isotropic(z) || !isotropic(x) {
            return 0.0;
        }
        let (az, ax) = (z.precision.scalar(), x.precision.scalar());
        self.known().map_or(f64::NAN, |known| {
            known.log_error(known.level(&mut work[0], az, ax), az, ax)
        })
    }

    fn excess(
        &self,
        incoming: Incoming<'_, Gaussian>,
        work: &mut [f64],
    ) -> Result<f64, FactorError> {
        let (z, x) = (incoming.get(Z), incoming.get(X));
        if let Some(dense) = self.structured(z, x) {
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
            return Ok(self.iterate(z, x, work)?.log_partition()? - own);
        };
        let r = self.resolvent(system, z, x);
        if !r.is_proper() || (x.is_pinned() && !r.reaches_output()) {
            return Ok(f64::INFINITY);
        }
        let mut work = self.refresh(system, [z, x], None, work);
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
