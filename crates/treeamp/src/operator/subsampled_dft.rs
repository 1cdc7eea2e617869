//! The unitary DFT of a signal at observed frequencies only, of a complex or a real signal.
//!
//! Of a complex signal it has orthonormal rows: $U = I$, $V^T = W$. A real signal has conjugate
//! coefficients at $k$ and $-k$: the two real degrees of freedom of a pair have $\lambda = 1$ when both are
//! observed and $\lambda = \frac12$ when one is.

use std::collections::BTreeMap;

use super::dft::{not_empty, plain};
use super::mask::observed;
use super::{LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError};
use crate::math::fourier::Fourier;

const NONE: u32 = u32::MAX;

/// One coefficient of a real signal, up to conjugation, that is observed at least once.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Its place in the kept half of the coefficients, and its mirror image's if that is kept too; the
    /// same one twice when $k = -k$ and the coefficient is real.
    place: u32,
    mirror: u32,
    /// Where the outputs at $k$ and $-k$ are.
    first: u32,
    second: u32,
}

/// The unitary DFT at observed frequencies.
#[derive(Debug)]
pub struct SubSampledDft {
    input: SignalSpec,
    output: SignalSpec,
    fourier: Fourier,
    /// Of a complex signal.
    observed: Vec<usize>,
    /// Of a real signal.
    pairs: Vec<Pair>,
    modes: Modes,
}

impl SubSampledDft {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "masked_dft";

    /// The coefficients where `mask`, row-major over all frequencies, is true.
    ///
    /// # Errors
    /// A mask of another length than the signal, or with nothing observed.
    pub fn new(input: &SignalSpec, mask: &[bool]) -> Result<Self, ModelError> {
        not_empty(Self::NAME, input)?;
        let observed = observed(Self::NAME, input, mask)?;
        let output = SignalSpec::complex([observed.len()]);
        let real = input.element == Element::Real;
        let fourier = Fourier::new(&input.shape, real);
        let (pairs, modes) = if real {
            let pairs = pairs(&input.shape, &fourier, &observed);
            let weight = |p: &Pair| if p.is_real() { 1.0 } else { 2.0 };
            let weights: Vec<f64> = pairs.iter().map(weight).collect();
            let values = pairs.iter().map(Pair::singular_value).collect();
            let modes = Modes::new(values, 2, &weights, output.len());
            (pairs, modes)
        } else {
            (
                Vec::new(),
                Modes::constant(1.0, observed.len(), 2, output.len()),
            )
        };
        Ok(Self {
            input: plain(input),
            output,
            fourier,
            observed: if real { Vec::new() } else { observed },
            pairs,
            modes,
        })
    }

    /// How many transforms have been made.
    #[must_use]
    pub fn transforms(&self) -> usize {
        self.fourier.transforms()
    }

    fn is_real(&self) -> bool {
        self.fourier.is_real()
    }

    fn wide_len(&self) -> usize {
        2 * self.fourier.count()
    }

    /// $V^T z$.
    fn analyse(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let (wide, scratch) = scratch.split_at_mut(self.wide_len());
        self.fourier.analyse(z, wide, scratch);
        if !self.is_real() {
            for (out, i) in out.chunks_exact_mut(2).zip(&self.observed) {
                out.copy_from_slice(&wide[2 * i..2 * i + 2]);
            }
            return;
        }
        for (out, p) in out.chunks_exact_mut(2).zip(&self.pairs) {
            let (at, scale) = (2 * p.place as usize, p.scale());
            out[0] = wide[at] * scale;
            out[1] = if p.is_real() {
                0.0
            } else {
                wide[at + 1] * scale
            };
        }
    }

    /// $V y$.
    fn synthesise(&self, y: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        if !self.is_real() {
            out.fill(0.0);
            for (y, i) in y.chunks_exact(2).zip(&self.observed) {
                out[2 * i..2 * i + 2].copy_from_slice(y);
            }
            self.fourier.synthesise_in_place(out, scratch);
            return;
        }
        let (wide, scratch) = scratch.split_at_mut(self.wide_len());
        wide.fill(0.0);
        for (y, p) in y.chunks_exact(2).zip(&self.pairs) {
            let scale = 1.0 / p.scale();
            let (re, im) = (scale * y[0], if p.is_real() { 0.0 } else { scale * y[1] });
            let at = 2 * p.place as usize;
            wide[at] = re;
            wide[at + 1] = im;
            if p.mirror != NONE && !p.is_real() {
                let at = 2 * p.mirror as usize;
                wide[at] = re;
                wide[at + 1] = -im;
            }
        }
        self.fourier.synthesise(wide, out, scratch);
    }

    /// $U y$ of a real signal: every pair goes to the one or two outputs that see it.
    fn spread(&self, y: &[f64], out: &mut [f64]) {
        for (y, p) in y.chunks_exact(2).zip(&self.pairs) {
            let scale = p.share();
            for (at, sign) in [(p.first, 1.0), (p.second, -1.0)] {
                if at != NONE {
                    out[2 * at as usize] = scale * y[0];
                    out[2 * at as usize + 1] = if p.is_real() {
                        0.0
                    } else {
                        scale * sign * y[1]
                    };
                }
            }
        }
    }

    /// $U^T x$ of a real signal.
    fn collect(&self, x: &[f64], out: &mut [f64]) {
        for (out, p) in out.chunks_exact_mut(2).zip(&self.pairs) {
            let scale = p.share();
            out.fill(0.0);
            for (at, sign) in [(p.first, 1.0), (p.second, -1.0)] {
                if at != NONE {
                    out[0] += scale * x[2 * at as usize];
                    out[1] += if p.is_real() {
                        0.0
                    } else {
                        scale * sign * x[2 * at as usize + 1]
                    };
                }
            }
        }
    }

    fn times_singular_values(&self, y: &mut [f64]) {
        for (c, p) in y.chunks_exact_mut(2).zip(&self.pairs) {
            let s = p.singular_value();
            c[0] *= s;
            c[1] *= s;
        }
    }
}

impl Pair {
    fn is_real(&self) -> bool {
        self.place == self.mirror
    }

    fn is_twice(&self) -> bool {
        self.first != NONE && self.second != NONE
    }

    fn singular_value(&self) -> f64 {
        if self.is_real() || self.is_twice() {
            1.0
        } else {
            0.5_f64.sqrt()
        }
    }

    /// The share of a unit mode in each output that sees it.
    fn share(&self) -> f64 {
        if self.is_twice() { 0.5_f64.sqrt() } else { 1.0 }
    }

    /// From the kept coefficient to the orthonormal coordinate.
    fn scale(&self) -> f64 {
        if self.mirror == NONE || self.is_real() {
            1.0
        } else {
            2.0_f64.sqrt()
        }
    }
}

/// The observed coefficients up to conjugation.
fn pairs(shape: &[usize], fourier: &Fourier, observed: &[usize]) -> Vec<Pair> {
    let last = shape.last().copied().unwrap_or(1);
    let kept = fourier.row().1;
    let mirrored = |mut k: usize| {
        let (mut mirror, mut stride) = (0, 1);
        for n in shape.iter().rev() {
            mirror += stride * ((n - k % n) % n);
            k /= n;
            stride *= n;
        }
        mirror
    };
    let place = |k: usize| small(k / last * kept + k % last);
    let mut found: BTreeMap<usize, Pair> = BTreeMap::new();
    for (at, k) in observed.iter().enumerate() {
        let mirror = mirrored(*k);
        // the one with the smaller last index is kept; on its own column, the first of the two
        let chosen = (*k % last, *k) <= (mirror % last, mirror);
        let key = if chosen { *k } else { mirror };
        let other = if chosen { mirror } else { *k };
        let both_kept = key % last == other % last;
        let pair = found.entry(key).or_insert(Pair {
            place: place(key),
            mirror: if both_kept { place(other) } else { NONE },
            first: NONE,
            second: NONE,
        });
        if chosen {
            pair.first = small(at);
        } else {
            pair.second = small(at);
        }
    }
    found.into_values().collect()
}

/// Places fit in 32 bits: longer signals are refused as too large long before.
fn small(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(NONE)
}

impl LinearOperator for SubSampledDft {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("{} of {}", self.output.count(), self.input.count())
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.fourier.scratch_len() + self.wide_len() + self.modes.layout_len()
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        if !self.is_real() {
            self.analyse(z, out, scratch);
            return;
        }
        let (modes, scratch) = scratch.split_at_mut(self.modes.layout_len());
        self.analyse(z, modes, scratch);
        self.times_singular_values(modes);
        self.spread(modes, out);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        if !self.is_real() {
            self.synthesise(x, out, scratch);
            return;
        }
        let (modes, scratch) = scratch.split_at_mut(self.modes.layout_len());
        self.collect(x, modes);
        self.times_singular_values(modes);
        self.synthesise(modes, out, scratch);
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }
}

impl SingularSystem for SubSampledDft {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.fourier.scratch_len() + self.wide_len()
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.analyse(z, out, scratch);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        if self.is_real() {
            self.collect(x, out);
        } else {
            out.copy_from_slice(x);
        }
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.synthesise(y, out, scratch);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], _: &mut [f64]) {
        if self.is_real() {
            self.spread(y, out);
        } else {
            out.copy_from_slice(y);
        }
    }
}
