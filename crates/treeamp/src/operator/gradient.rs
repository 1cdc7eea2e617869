//! The finite-difference gradient of a $d$-dimensional array, $x_{a,n} = z_{n + e_a} - z_n$, of shape
//! $d \times \text{shape}$.
//!
//! With periodic boundaries $W^T W$ is diagonal in Fourier coordinates, $\lambda_k = \sum_a 4\sin^2(\pi f_a)$; with Neumann
//! boundaries in cosine coordinates, $\lambda_k = \sum_a 4\sin^2(\pi k_a/2N_a)$; with a zero beyond the last entry in cosine
//! coordinates too, $\lambda_k = \sum_a 4\sin^2\frac{\pi(2k_a + 1)}{2(2N_a + 1)}$, none of which is zero. No boundary needs
//! iteration.

use std::f64::consts::PI;

use super::convolution::difference;
use super::dft::{not_empty, plain};
use super::diagonal::phase;
use super::{LinearOperator, Modes, SingularSystem, multiply};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::cosine::{Cosine, End};
use crate::math::fourier::Fourier;
use num_complex::Complex64;

/// What lies beyond the last entry of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Boundary {
    /// The first entry again.
    #[default]
    Periodic,
    /// The last entry again: the difference there is zero.
    Neumann,
    /// Zero: the difference there is minus the last entry.
    Zero,
}

/// The gradient of signals of one shape.
#[derive(Debug)]
pub struct FiniteDifference {
    input: SignalSpec,
    output: SignalSpec,
    boundary: Boundary,
    system: System,
}

/// The singular system, $U = W V S^{-1}$.
#[derive(Debug)]
struct System {
    basis: Basis,
    modes: Modes,
    /// Of one periodic axis: the phases of its response, which make $U$ square.
    phases: Option<Vec<Complex64>>,
}

/// The coordinates in which $W^T W$ is diagonal.
#[derive(Debug)]
enum Basis {
    Fourier(Box<Fourier>),
    Cosine(Cosine),
}

impl Basis {
    fn scratch_len(&self) -> usize {
        match self {
            Self::Fourier(fourier) => fourier.scratch_len(),
            Self::Cosine(cosine) => cosine.scratch_len(),
        }
    }

    fn transforms(&self) -> usize {
        match self {
            Self::Fourier(fourier) => fourier.transforms(),
            Self::Cosine(cosine) => cosine.transforms(),
        }
    }

    fn analyse(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        match self {
            Self::Fourier(fourier) => fourier.analyse(x, out, scratch),
            Self::Cosine(cosine) => cosine.analyse(x, out, scratch),
        }
    }

    fn synthesise(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        match self {
            Self::Fourier(fourier) => fourier.synthesise(y, out, scratch),
            Self::Cosine(cosine) => cosine.synthesise(y, out, scratch),
        }
    }
}

impl FiniteDifference {
    /// Name in messages and drawings.
    pub const NAME: &'static str = "gradient";

    /// The gradient along every axis of a signal.
    ///
    /// # Errors
    /// A signal without axes.
    pub fn new(input: &SignalSpec, boundary: Boundary) -> Result<Self, ModelError> {
        not_empty(Self::NAME, input)?;
        let axes = input.shape.len();
        if axes == 0 {
            let expected = "an array with at least one axis";
            return Err(parameter(Self::NAME, "input", expected, input));
        }
        let input = plain(input);
        let mut shape = vec![axes];
        shape.extend(&input.shape);
        let output = SignalSpec {
            shape,
            ..input.clone()
        };
        let system = match boundary {
            Boundary::Periodic => System::periodic(&input, &output),
            Boundary::Neumann => System::chains(&input, &output, End::Mirror),
            Boundary::Zero => System::chains(&input, &output, End::Zero),
        };
        Ok(Self {
            input,
            output,
            boundary,
            system,
        })
    }

    /// How many transforms have been made.
    #[must_use]
    pub fn transforms(&self) -> usize {
        self.system.basis.transforms()
    }

    /// Calls `f(offset, stride, period)` for every axis, in numbers of the interleaved storage.
    fn each_axis(&self, mut f: impl FnMut(usize, usize, usize)) {
        let lanes = lanes(&self.input);
        for axis in 0..self.input.shape.len() {
            let inner: usize = self.input.shape[axis + 1..].iter().product();
            let stride = inner * lanes;
            f(
                axis * self.input.len(),
                stride,
                stride * self.input.shape[axis],
            );
        }
    }
}

fn lanes(signal: &SignalSpec) -> usize {
    match signal.element {
        Element::Real => 1,
        Element::Complex => 2,
    }
}

impl System {
    fn periodic(input: &SignalSpec, output: &SignalSpec) -> Self {
        let fourier = Fourier::new(&input.shape, input.element == Element::Real);
        let mut values = vec![0.0; fourier.count()];
        let mut phases = Vec::new();
        let single = input.shape.len() == 1;
        fourier.each_frequency(|i, f| {
            let square: f64 = f.iter().map(|f| 4.0 * (PI * f).sin().powi(2)).sum();
            values[i] = square.sqrt();
            if single {
                phases.push(phase(difference(f[0])));
            }
        });
        let modes = Modes::new(values, 2, &fourier.pattern(), output.len());
        Self {
            modes,
            basis: Basis::Fourier(Box::new(fourier)),
            phases: single.then_some(phases),
        }
    }

    /// Between mirrors the difference beyond the last entry of an axis is zero always: a mode with $s = 0$ has no place in
    /// the output. With a zero there no mode has $s = 0$, and one axis has a square $U$.
    fn chains(input: &SignalSpec, output: &SignalSpec, end: End) -> Self {
        let lanes = lanes(input);
        let squares = sums_of_chains(&input.shape, end);
        let values = squares.iter().map(|l| l.sqrt()).collect();
        let modes = Modes::new(values, lanes, &[lanes as f64], output.len());
        Self {
            modes: modes.without_output_zeros(output.len()),
            basis: Basis::Cosine(Cosine::new(&input.shape, lanes, end)),
            phases: None,
        }
    }

    /// Divides by $s$; what has $s = 0$ is gone.
    fn unscale(&self, y: &mut [f64]) {
        for (i, c) in y.chunks_exact_mut(self.modes.lanes()).enumerate() {
            let s = self.modes.value(i);
            let inverse = if s > 0.0 { 1.0 / s } else { 0.0 };
            c.iter_mut().for_each(|c| *c *= inverse);
        }
    }
}

impl LinearOperator for FiniteDifference {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        match self.boundary {
            Boundary::Periodic => self.output.to_string(),
            other => format!("{}, {other:?} boundary", self.output),
        }
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        let n = z.len();
        self.each_axis(|offset, stride, period| {
            let out = &mut out[offset..offset + n];
            for (z, out) in z.chunks_exact(period).zip(out.chunks_exact_mut(period)) {
                let inner = period - stride;
                for (out, (z, next)) in out.iter_mut().zip(z.iter().zip(&z[stride..])) {
                    *out = next - z;
                }
                for i in inner..period {
                    out[i] = match self.boundary {
                        Boundary::Periodic => z[i - inner] - z[i],
                        Boundary::Neumann => 0.0,
                        Boundary::Zero => -z[i],
                    };
                }
            }
        });
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        let n = out.len();
        out.fill(0.0);
        self.each_axis(|offset, stride, period| {
            let x = &x[offset..offset + n];
            for (x, out) in x.chunks_exact(period).zip(out.chunks_exact_mut(period)) {
                let inner = period - stride;
                for i in 0..inner {
                    out[i] -= x[i];
                    out[i + stride] += x[i];
                }
                for i in inner..period {
                    match self.boundary {
                        Boundary::Periodic => {
                            out[i] -= x[i];
                            out[i - inner] += x[i];
                        }
                        Boundary::Neumann => {}
                        Boundary::Zero => out[i] -= x[i],
                    }
                }
            }
        });
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }

    fn entries(&self) -> Option<Vec<(usize, usize, f64)>> {
        let n = self.input.len();
        let mut entries = Vec::with_capacity(2 * self.output.len());
        self.each_axis(|offset, stride, period| {
            let inner = period - stride;
            for i in 0..n {
                let (row, within) = (offset + i, i % period);
                let next = match self.boundary {
                    _ if within < inner => Some(i + stride),
                    Boundary::Periodic => Some(i - inner),
                    Boundary::Neumann => continue,
                    Boundary::Zero => None,
                };
                entries.push((row, i, -1.0));
                entries.extend(next.map(|j| (row, j, 1.0)));
            }
        });
        Some(entries)
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        let mut diagonal = vec![0.0; self.input.len()];
        self.each_axis(|_, stride, period| {
            for block in diagonal.chunks_exact_mut(period) {
                for (i, d) in block.iter_mut().enumerate() {
                    let (first, last) = (i < stride, i >= period - stride);
                    *d += match self.boundary {
                        Boundary::Periodic if period == stride => 0.0,
                        Boundary::Periodic => 2.0,
                        Boundary::Neumann => {
                            f64::from(u8::from(!first)) + f64::from(u8::from(!last))
                        }
                        Boundary::Zero => 1.0 + f64::from(u8::from(!first)),
                    };
                }
            }
        });
        Some(diagonal)
    }
}

/// The eigenvalues of $W^T W$, row-major: sums over the axes of those of chains, $4\sin^2\frac{\pi k}{2n}$ between mirrors and
/// $4\sin^2\frac{\pi(2k + 1)}{2(2n + 1)}$ with a zero beyond the last entry, $k = 0 \dots n - 1$.
fn sums_of_chains(shape: &[usize], end: End) -> Vec<f64> {
    let angle = |k: f64, n: f64| match end {
        End::Mirror => 0.5 * PI * k / n,
        End::Zero => 0.5 * PI * (2.0 * k + 1.0) / (2.0 * n + 1.0),
    };
    let mut sums = vec![0.0];
    for n in shape {
        let chain = (0..*n).map(|k| 4.0 * angle(k as f64, *n as f64).sin().powi(2));
        let chain: Vec<f64> = chain.collect();
        let all = sums.iter().flat_map(|s| chain.iter().map(move |l| s + l));
        sums = all.collect();
    }
    sums
}

impl SingularSystem for FiniteDifference {
    fn modes(&self) -> &Modes {
        &self.system.modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.input.len() + self.system.basis.scratch_len()
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.system.basis.analyse(z, out, scratch);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        let system = &self.system;
        if let Some(phases) = &system.phases {
            system.basis.analyse(x, out, scratch);
            multiply(out, phases, true);
            return;
        }
        let (back, scratch) = scratch.split_at_mut(self.input.len());
        self.adjoint(x, back, &mut []);
        system.basis.analyse(back, out, scratch);
        system.unscale(out);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.system.basis.synthesise(y, out, scratch);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        let system = &self.system;
        if let Some(phases) = &system.phases {
            multiply(y, phases, false);
            system.basis.synthesise(y, out, scratch);
            return;
        }
        system.unscale(y);
        let (array, scratch) = scratch.split_at_mut(self.input.len());
        system.basis.synthesise(y, array, scratch);
        self.apply(array, out, &mut []);
    }
}
