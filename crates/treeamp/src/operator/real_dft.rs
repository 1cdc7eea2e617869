//! The real Fourier coordinates of a real array: an orthogonal map $\mathbb R^N \to \mathbb R^N$.
//!
//! With the unitary coefficients $c_k = \bar c_{-k}$, of every pair $(k, -k)$ the first place holds $\sqrt2\,\mathrm{Re}\,c_k$
//! and the second $\sqrt2\,\mathrm{Im}\,c_k$; where $k = -k$, $c_k$ itself. Nothing is there twice, which a sparse law on
//! the coefficients needs: two atoms at zero for the same number would make the evidence infinite.

use super::dft::not_empty;
use super::{LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::fourier::Fourier;

/// The orthogonal Fourier transform of a real signal into as many real numbers.
#[derive(Debug)]
pub struct OrthogonalDft {
    signal: SignalSpec,
    fourier: Fourier,
    /// For each row of the last axis, the row with the opposite frequencies.
    opposite: Vec<usize>,
    modes: Modes,
}

impl OrthogonalDft {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "real_dft";

    /// The transform of a real signal.
    ///
    /// # Errors
    /// A complex or empty signal.
    pub fn new(signal: &SignalSpec) -> Result<Self, ModelError> {
        not_empty(Self::NAME, signal)?;
        if signal.element == Element::Complex {
            return Err(parameter(Self::NAME, "input", "a real signal", signal));
        }
        let outer = signal
            .shape
            .split_last()
            .map_or(&[][..], |(_, outer)| outer);
        let rows: usize = outer.iter().product();
        let opposite = (0..rows).map(|row| {
            let (mut rest, mut at, mut stride) = (row, 0, 1);
            for n in outer.iter().rev() {
                at += stride * ((n - rest % n) % n);
                rest /= n;
                stride *= n;
            }
            at
        });
        Ok(Self {
            opposite: opposite.collect(),
            fourier: Fourier::new(&signal.shape, true),
            modes: Modes::constant(1.0, signal.len(), 1, signal.len()),
            signal: SignalSpec::real(signal.shape.clone()),
        })
    }

    /// How many transforms have been made.
    #[must_use]
    pub fn transforms(&self) -> usize {
        self.fourier.transforms()
    }

    /// Calls `f(coefficient, first, second, scale)` for every kept coefficient of a pair with its two
    /// places, and with the same place twice where it is real.
    fn each_pair(&self, mut f: impl FnMut(usize, usize, usize, f64)) {
        let (n, kept) = self.fourier.row();
        for (row, opposite) in self.opposite.iter().enumerate() {
            for k in 0..kept {
                let (first, second) = (row * n + k, opposite * n + (n - k) % n);
                // on these columns both of a pair are kept, without the √2
                let alone = k == 0 || 2 * k == n;
                if !alone {
                    f(row * kept + k, first, second, 1.0);
                } else if first <= second {
                    let scale = if first == second { 1.0 } else { 2.0_f64.sqrt() };
                    f(row * kept + k, first, second, scale);
                }
            }
        }
    }
}

impl LinearOperator for OrthogonalDft {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn input(&self) -> &SignalSpec {
        &self.signal
    }

    fn output(&self) -> &SignalSpec {
        &self.signal
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.fourier.scratch_len() + 2 * self.fourier.count()
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (wide, scratch) = scratch.split_at_mut(2 * self.fourier.count());
        self.fourier.analyse(z, wide, scratch);
        self.each_pair(|at, first, second, scale| {
            out[second] = scale * wide[2 * at + 1];
            out[first] = scale * wide[2 * at];
        });
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (wide, scratch) = scratch.split_at_mut(2 * self.fourier.count());
        let (n, kept) = self.fourier.row();
        self.each_pair(|at, first, second, scale| {
            wide[2 * at] = x[first] / scale;
            wide[2 * at + 1] = if first == second {
                0.0
            } else {
                x[second] / scale
            };
            let mirror = second / n * kept + second % n;
            if scale > 1.0 {
                wide[2 * mirror] = wide[2 * at];
                wide[2 * mirror + 1] = -wide[2 * at + 1];
            }
        });
        self.fourier.synthesise(wide, out, scratch);
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }
}

impl SingularSystem for OrthogonalDft {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, columns: usize) -> usize {
        LinearOperator::scratch_len(self, columns)
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(z);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.adjoint(x, out, scratch);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(y);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.apply(y, out, scratch);
    }
}
