//! Multi-channel circular convolution $x_o = \sum_i h_{oi} * z_i$ of signals of shape (channels, ...).
//!
//! At every frequency it is a small matrix $\hat h_k$ (outputs by inputs), and its singular system is the
//! small ones together: $V^T$ transforms every channel and turns by $V_k^*$.

use faer::Mat;
use faer::linalg::solvers::Svd;
use num_complex::Complex64;

use super::convolution::{check_response, transformed};
use super::dft::not_empty;
use super::{LinearOperator, Modes, SingularSystem};
use crate::belief::{Element, SignalSpec};
use crate::error::{FactorError, ModelError, parameter};
use crate::math::fourier::Fourier;

const NAME: &str = "multi_channel_convolution";

/// The convolution of several channels into several channels.
#[derive(Debug)]
pub struct MultiChannelConvolution {
    input: SignalSpec,
    output: SignalSpec,
    fourier: Fourier,
    channels: [usize; 2],
    /// Modes per frequency: the smaller number of channels.
    rank: usize,
    /// By frequency: $V_k$ (inputs by rank) and $U_k$ (outputs by rank), row-major.
    right: Vec<Complex64>,
    left: Vec<Complex64>,
    modes: Modes,
}

impl MultiChannelConvolution {
    /// Name in messages and drawings.
    pub const NAME: &'static str = NAME;

    /// From real kernels of one shape, `kernels[o][i]` from input channel `i` to output channel `o`,
    /// their origin at index 0. The input has shape (inputs, ...), real or complex.
    ///
    /// # Errors
    /// Kernels larger than the signal or that do not fit together, a decomposition that fails.
    pub fn new(
        input: &SignalSpec,
        kernel_shape: &[usize],
        kernels: &[Vec<Vec<f64>>],
    ) -> Result<Self, ModelError> {
        not_empty(NAME, input)?;
        let outputs = kernels.len();
        let inputs = input.shape.first().copied().unwrap_or(0);
        if outputs == 0 || kernels.iter().any(|k| k.len() != inputs) {
            let expected = format!("outputs by {inputs}, for an input of shape {input}");
            let got = format!(
                "{outputs} by {:?}",
                kernels.iter().map(Vec::len).collect::<Vec<_>>()
            );
            return Err(parameter(NAME, "kernels", expected, got));
        }
        let real = input.element == Element::Real;
        let signal = |shape: Vec<usize>| {
            if real {
                SignalSpec::real(shape)
            } else {
                SignalSpec::complex(shape)
            }
        };
        let place = signal(input.shape[1..].to_vec());
        check_kernels(&place, kernel_shape, kernels)?;
        let fourier = Fourier::new(&place.shape, real);
        let mut shape = input.shape.clone();
        shape[0] = outputs;
        let mut operator = Self {
            input: signal(input.shape.clone()),
            output: signal(shape),
            channels: [inputs, outputs],
            rank: inputs.min(outputs),
            right: Vec::new(),
            left: Vec::new(),
            modes: Modes::constant(1.0, 1, 1, 1),
            fourier,
        };
        operator.decompose(&place, kernel_shape, kernels)?;
        Ok(operator)
    }

    fn decompose(
        &mut self,
        place: &SignalSpec,
        kernel_shape: &[usize],
        kernels: &[Vec<Vec<f64>>],
    ) -> Result<(), ModelError> {
        let [inputs, outputs] = self.channels;
        let response = |kernel: &Vec<f64>| {
            let entries: Vec<Complex64> = kernel.iter().map(|h| Complex64::new(*h, 0.0)).collect();
            transformed(place, &self.fourier, kernel_shape, &entries, false)
        };
        let responses: Vec<Vec<Vec<Complex64>>> = kernels
            .iter()
            .map(|row| row.iter().map(response).collect())
            .collect();
        for response in responses.iter().flatten() {
            let sizes: Vec<f64> = response.iter().map(|h| h.norm()).collect();
            check_response(NAME, &sizes)?;
        }
        let (mut values, mut pattern) = (Vec::new(), Vec::new());
        for k in 0..self.fourier.count() {
            let small = Mat::from_fn(outputs, inputs, |o, i| responses[o][i][k]);
            let svd = Svd::new_thin(small.as_ref())
                .map_err(|_| parameter(NAME, "kernels", "with a decomposition", "none"))?;
            values.extend(svd.S().column_vector().iter().map(|s| s.re));
            let (u, v) = (svd.U(), svd.V());
            let rank = self.rank;
            self.left
                .extend((0..outputs * rank).map(|e| u[(e / rank, e % rank)]));
            self.right
                .extend((0..inputs * rank).map(|e| v[(e / rank, e % rank)]));
        }
        for w in &self.fourier.pattern() {
            pattern.extend(std::iter::repeat_n(*w, self.rank));
        }
        // rounding leaves nothing exactly zero
        let cut = values.iter().fold(0.0_f64, |m, s| m.max(*s)) * 1e-14;
        values
            .iter_mut()
            .filter(|s| **s <= cut)
            .for_each(|s| *s = 0.0);
        self.modes = Modes::new(values, 2, &pattern, self.output.len());
        Ok(())
    }

    fn part(&self) -> usize {
        self.input.len() / self.channels[0]
    }

    /// The transforms of all channels into `wide`, then turned into the modes by the adjoint of `by`.
    fn turned(&self, x: &[f64], by: &[Complex64], out: &mut [f64], scratch: &mut [f64]) {
        let channels = x.len() / self.part();
        let coefficients = 2 * self.fourier.count();
        let (wide, scratch) = scratch.split_at_mut(coefficients);
        out.fill(0.0);
        for (c, x) in x.chunks_exact(self.part()).enumerate() {
            self.fourier.analyse(x, wide, scratch);
            for (k, w) in wide.chunks_exact(2).enumerate() {
                let w = Complex64::new(w[0], w[1]);
                let row = &by[(k * channels + c) * self.rank..][..self.rank];
                for (j, v) in row.iter().enumerate() {
                    let y = v.conj() * w;
                    let at = 2 * (k * self.rank + j);
                    out[at] += y.re;
                    out[at + 1] += y.im;
                }
            }
        }
    }

    /// Back from the modes to all channels.
    fn returned(&self, y: &[f64], by: &[Complex64], out: &mut [f64], scratch: &mut [f64]) {
        let channels = out.len() / self.part();
        let coefficients = 2 * self.fourier.count();
        let (wide, scratch) = scratch.split_at_mut(coefficients);
        for (c, out) in out.chunks_exact_mut(self.part()).enumerate() {
            for (k, w) in wide.chunks_exact_mut(2).enumerate() {
                let row = &by[(k * channels + c) * self.rank..][..self.rank];
                let mut sum = Complex64::ZERO;
                for (j, v) in row.iter().enumerate() {
                    let at = 2 * (k * self.rank + j);
                    sum += v * Complex64::new(y[at], y[at + 1]);
                }
                w[0] = sum.re;
                w[1] = sum.im;
            }
            self.fourier.synthesise(wide, out, scratch);
        }
    }

    fn through(&self, x: &[f64], sides: [&[Complex64]; 2], out: &mut [f64], scratch: &mut [f64]) {
        let (modes, scratch) = scratch.split_at_mut(self.modes.layout_len());
        self.turned(x, sides[0], modes, scratch);
        for (i, c) in modes.chunks_exact_mut(2).enumerate() {
            let s = self.modes.value(i);
            c[0] *= s;
            c[1] *= s;
        }
        self.returned(modes, sides[1], out, scratch);
    }
}

fn check_kernels(
    place: &SignalSpec,
    shape: &[usize],
    kernels: &[Vec<Vec<f64>>],
) -> Result<(), ModelError> {
    let count: usize = shape.iter().product();
    let fits =
        shape.len() == place.shape.len() && shape.iter().zip(&place.shape).all(|(k, n)| k <= n);
    if !fits || count == 0 {
        let expected = format!("no larger than the signal {place} on any axis");
        return Err(parameter(
            NAME,
            "kernels",
            expected,
            format!("shape {shape:?}"),
        ));
    }
    for kernel in kernels.iter().flatten() {
        if kernel.len() != count {
            let expected = format!("{count} entries each, for shape {shape:?}");
            return Err(parameter(NAME, "kernels", expected, kernel.len()));
        }
        if let Some(h) = kernel.iter().find(|h| !h.is_finite()) {
            return Err(parameter(NAME, "kernels", "finite", h));
        }
    }
    Ok(())
}

impl LinearOperator for MultiChannelConvolution {
    fn name(&self) -> &str {
        NAME
    }

    fn input(&self) -> &SignalSpec {
        &self.input
    }

    fn output(&self) -> &SignalSpec {
        &self.output
    }

    fn scratch_len(&self, columns: usize) -> usize {
        SingularSystem::scratch_len(self, columns) + self.modes.layout_len()
    }

    fn apply(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.through(z, [&self.right, &self.left], out, scratch);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.through(x, [&self.left, &self.right], out, scratch);
    }

    fn singular_system(&self) -> Result<Option<&dyn SingularSystem>, FactorError> {
        Ok(Some(self))
    }
}

impl SingularSystem for MultiChannelConvolution {
    fn modes(&self) -> &Modes {
        &self.modes
    }

    fn scratch_len(&self, _: usize) -> usize {
        self.fourier.scratch_len() + 2 * self.fourier.count()
    }

    fn analyse_input(&self, z: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.turned(z, &self.right, out, scratch);
    }

    fn analyse_output(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        self.turned(x, &self.left, out, scratch);
    }

    fn to_input(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.returned(y, &self.right, out, scratch);
    }

    fn to_output(&self, y: &mut [f64], out: &mut [f64], scratch: &mut [f64]) {
        self.returned(y, &self.left, out, scratch);
    }
}
