//! Circular convolution $x_n = \sum_m h_m z_{n-m}$ in any number of dimensions, real or complex.
//!
//! In Fourier coordinates it multiplies by $\hat h_k = \sum_m h_m e^{-2\pi i\,k\cdot m}$: $s = |\hat h|$,
//! $V^T$ is the transform and $U$ its inverse with the phases of $\hat h$.

use std::f64::consts::{PI, TAU};

use num_complex::Complex64;

use super::dft::{not_empty, plain};
use super::diagonal::phase;
use super::{LinearOperator, Modes, SingularSystem, multiply};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::fourier::Fourier;

/// A named filter or a kernel.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// $\hat h(f) = e^{-2\pi^2\sum_a\sigma_a^2 f_a^2}$ with $f_a$ in cycles per sample: one $\sigma$ for all axes,
    /// or one per axis.
    GaussianBlur(Vec<f64>),
    /// The forward difference $z_{n+1} - z_n$ along one axis.
    Differential {
        /// The axis.
        axis: usize,
    },
    /// $\sum_a (z_{n+e_a} - 2 z_n + z_{n-e_a})$.
    Laplacian,
    /// A real kernel: entry $m$ is $h_m$, its origin at index 0 of every axis.
    Kernel {
        /// Shape, at most the signal's on every axis.
        shape: Vec<usize>,
        /// Entries, row-major.
        entries: Vec<f64>,
    },
    /// A real kernel whose origin is its middle entry, index $\lfloor n/2\rfloor$ on every axis.
    CentredKernel {
        /// Shape, at most the signal's on every axis.
        shape: Vec<usize>,
        /// Entries, row-major.
        entries: Vec<f64>,
    },
    /// A complex kernel with its origin at index 0, for complex signals.
    ComplexKernel {
        /// Shape, at most the signal's on every axis.
        shape: Vec<usize>,
        /// Entries, row-major.
        entries: Vec<Complex64>,
    },
}

const NAME: &str = "convolution";

/// The circular convolution of signals of one shape with one filter.
#[derive(Debug)]
pub struct CircularConvolution {
    signal: SignalSpec,
    fourier: Fourier,
    modes: Modes,
    /// Phases of $\hat h$; none when it is nowhere negative.
    phases: Option<Vec<Complex64>>,
}

impl CircularConvolution {
    /// Name in messages and drawings.
    pub const NAME: &'static str = NAME;

    /// The convolution of a signal with a filter.
    ///
    /// # Errors
    /// A kernel larger than the signal or with another number of axes, a complex kernel on a real
    /// signal, an axis that the signal does not have, parameters that are not finite.
    pub fn new(signal: &SignalSpec, filter: &Filter) -> Result<Self, ModelError> {
        not_empty(NAME, signal)?;
        filter.check(signal)?;
        let fourier = Fourier::new(&signal.shape, signal.element == Element::Real);
        let response = filter.response(signal, &fourier);
        let positive = response.iter().all(|h| h.im == 0.0 && h.re >= 0.0);
        let phases = (!positive).then(|| response.iter().map(|h| phase(*h)).collect());
        let values: Vec<f64> = response.iter().map(|h| h.norm()).collect();
        check_response(NAME, &values)?;
        let modes = Modes::new(values, 2, &fourier.pattern(), signal.len());
        Ok(Self {
            signal: plain(signal),
            fourier,
            modes,
            phases,
        })
    }

    /// How many transforms have been made.
    #[must_use]
    pub fn transforms(&self) -> usize {
        self.fourier.transforms()
    }

    fn turn(&self, y: &mut [f64], conjugate: bool) {
        if let Some(phases) = &self.phases {
            multiply(y, phases, conjugate);
        }
    }

    fn filtered(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64], conjugate: bool) {
        let (modes, scratch) = scratch.split_at_mut(self.modes.layout_len());
        self.fourier.analyse(x, modes, scratch);
        self.turn(modes, conjugate);
        for (i, c) in modes.chunks_exact_mut(2).enumerate() {
            let s = self.modes.value(i);
            c[0] *= s;
            c[1] *= s;
        }
        self.fourier.synthesise(modes, out, scratch);
    }
}

impl LinearOperator for CircularConvolution {
    fn name(&self) -> &str {
        NAME
    }

    fn input(&self) -> &SignalSpec {
        &self.signal
    }

    fn output(&self) -> &SignalSpec {
        &self.signal
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.fourier.scratch_len() + self.modes.layout_len()
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.filtered(z, out, scratch, false);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.filtered(x, out, scratch, true);
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }

    fn gram_diagonal(&self) -> Option<Vec<f64>> {
        let mean = self.modes.sum(|s| s * s) / self.signal.len() as f64;
        Some(vec![mean; self.signal.len()])
    }
}

impl SingularSystem for CircularConvolution {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.fourier.scratch_len()
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.fourier.analyse(z, out, scratch);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.fourier.analyse(x, out, scratch);
        self.turn(out, true);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.fourier.synthesise(y, out, scratch);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.turn(y, false);
        self.fourier.synthesise(y, out, scratch);
    }
}

impl Filter {
    fn check(&self, signal: &SignalSpec) -> Result<(), ModelError> {
        let axes = signal.shape.len();
        match self {
            Self::GaussianBlur(widths) => {
                if widths.len() != 1 && widths.len() != axes {
                    let expected =
                        format!("with one number for all axes or one for each of {axes}");
                    return Err(parameter(NAME, "sigma", expected, widths.len()));
                }
                match widths.iter().find(|s| !(**s >= 0.0 && s.is_finite())) {
                    Some(s) => Err(parameter(
                        NAME,
                        "sigma",
                        "of widths that are finite and not negative",
                        s,
                    )),
                    None => Ok(()),
                }
            }
            Self::Differential { axis } if *axis >= axes => {
                let expected = format!("below {axes}, for a signal of shape {signal}");
                Err(parameter(NAME, "axis", expected, axis))
            }
            Self::Differential { .. } | Self::Laplacian => Ok(()),
            Self::Kernel { shape, entries } | Self::CentredKernel { shape, entries } => {
                let finite = entries.iter().all(|h| h.is_finite());
                check_kernel(signal, shape, entries.len(), finite)
            }
            Self::ComplexKernel { shape, entries } => {
                if signal.element == Element::Real {
                    let expected = "real on a real signal: its output would be complex";
                    return Err(parameter(NAME, "kernel", expected, "a complex one"));
                }
                let finite = entries.iter().all(|h| h.is_finite());
                check_kernel(signal, shape, entries.len(), finite)
            }
        }
    }

    /// $\hat h$ at the kept frequencies.
    fn response(&self, signal: &SignalSpec, fourier: &Fourier) -> Vec<Complex64> {
        let mut response = vec![Complex64::ZERO; fourier.count()];
        let real = |x: f64| Complex64::new(x, 0.0);
        match self {
            Self::GaussianBlur(widths) => fourier.each_frequency(|i, f| {
                let square = |(a, f): (usize, &f64)| (widths[a.min(widths.len() - 1)] * f).powi(2);
                let exponent: f64 = f.iter().enumerate().map(square).sum();
                response[i] = real((-2.0 * PI * PI * exponent).exp());
            }),
            Self::Differential { axis } => fourier.each_frequency(|i, f| {
                response[i] = difference(f[*axis]);
            }),
            // -4 sin²(πf) is 2 cos(2πf) - 2 without the difference
            Self::Laplacian => fourier.each_frequency(|i, f| {
                let axes = f.iter().map(|f| -4.0 * (PI * f).sin().powi(2));
                response[i] = real(axes.sum());
            }),
            Self::Kernel { shape, entries } => {
                let entries: Vec<Complex64> = entries.iter().map(|h| real(*h)).collect();
                response = transformed(signal, fourier, shape, &entries, false);
            }
            Self::CentredKernel { shape, entries } => {
                let entries: Vec<Complex64> = entries.iter().map(|h| real(*h)).collect();
                response = transformed(signal, fourier, shape, &entries, true);
            }
            Self::ComplexKernel { shape, entries } => {
                response = transformed(signal, fourier, shape, entries, false);
            }
        }
        response
    }
}

/// $e^{2\pi i f} - 1$, the response of the forward difference; exactly zero at $f = 0$.
pub(super) fn difference(f: f64) -> Complex64 {
    let s = (PI * f).sin();
    // at the highest frequency sin(2πf) is zero, not its rounding
    let im = if f.abs() >= 0.5 { 0.0 } else { (TAU * f).sin() };
    Complex64::new(-2.0 * s * s, im)
}

/// Squares of the response must be numbers that add up.
pub(super) fn check_response(module: &str, values: &[f64]) -> Result<(), ModelError> {
    let largest = values.iter().fold(0.0_f64, |m, h| m.max(*h));
    let bad = values.iter().find(|h| !h.is_finite());
    if bad.is_none() && (largest * largest * values.len() as f64).is_finite() {
        return Ok(());
    }
    let expected = "with a response whose squares add up to a finite number";
    let got = format!("one of up to {:e}", bad.unwrap_or(&largest));
    Err(parameter(module, "kernel", expected, got))
}

fn check_kernel(
    signal: &SignalSpec,
    shape: &[usize],
    entries: usize,
    finite: bool,
) -> Result<(), ModelError> {
    if shape.len() != signal.shape.len() {
        let axes = signal.shape.len();
        let expected = format!("of as many axes as the signal {signal}, {axes}");
        let got = format!("{}, shape {shape:?}", shape.len());
        return Err(parameter(NAME, "kernel", expected, got));
    }
    let fits = shape.iter().zip(&signal.shape).all(|(k, n)| k <= n);
    if !fits || shape.contains(&0) {
        let expected = format!("no larger than the signal {signal} on any axis");
        return Err(parameter(
            NAME,
            "kernel",
            expected,
            format!("shape {shape:?}"),
        ));
    }
    let count: usize = shape.iter().product();
    if entries != count {
        let expected = format!("{count} entries, for shape {shape:?}");
        return Err(parameter(NAME, "kernel", expected, entries));
    }
    if !finite {
        return Err(parameter(
            NAME,
            "kernel",
            "of finite entries",
            "NaN or infinity",
        ));
    }
    Ok(())
}

/// The transform of a kernel laid into an array of the signal's shape, its origin at index 0.
pub(super) fn transformed(
    signal: &SignalSpec,
    fourier: &Fourier,
    shape: &[usize],
    entries: &[Complex64],
    centred: bool,
) -> Vec<Complex64> {
    let real = fourier.is_real();
    let mut laid = vec![0.0; signal.len()];
    for (number, h) in entries.iter().enumerate() {
        let mut rest = number;
        let (mut place, mut stride) = (0, 1);
        for (k, n) in shape.iter().zip(&signal.shape).rev() {
            let origin = if centred { k / 2 } else { 0 };
            place += stride * ((rest % k + n - origin) % n);
            rest /= k;
            stride *= n;
        }
        if real {
            laid[place] = h.re;
        } else {
            laid[2 * place] = h.re;
            laid[2 * place + 1] = h.im;
        }
    }
    let mut out = vec![0.0; 2 * fourier.count()];
    let mut scratch = vec![0.0; fourier.scratch_len()];
    fourier.analyse(&laid, &mut out, &mut scratch);
    // coordinates are 1/√N and √2 away from the sum
    let size = (fourier.len() as f64).sqrt();
    let pattern = fourier.pattern();
    let weights = pattern.iter().cycle();
    let coefficients = out.chunks_exact(2).zip(weights);
    coefficients
        .map(|(c, w)| {
            let doubled = real && *w > 1.5;
            let scale = if doubled { size * 0.5_f64.sqrt() } else { size };
            Complex64::new(c[0], c[1]) * scale
        })
        .collect()
}
