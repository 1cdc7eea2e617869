//! Linear channels that take the shape of their input: bound to it, each is a [`Linear`](super::Linear)
//! channel of one operator.

use std::sync::Arc;

use num_complex::Complex;

use super::Linear;
use crate::belief::SignalSpec;
use crate::catalog::module::{Domain, Module, Parameter, ParameterKind, Preset, Signals, numbers};
use crate::error::{ModelError, ShapeError, parameter};
use crate::factor::{Arity, Factor};
use crate::operator::{
    Boundary, CircularConvolution, Filter, FiniteDifference, LinearOperator, OrthogonalDft,
    SubSampledDft, SubSampling, UnitaryDft, check_shape,
};
use crate::scalar::Elem as _;

/// Implements [`Factor`] for a channel with `operator(&SignalSpec)`.
macro_rules! shaped_channel {
    ($channel:ty, $operator:ty) => {
        impl $channel {
            /// Catalogue name.
            pub const NAME: &'static str = <$operator>::NAME;
        }

        impl Factor for $channel {
            fn name(&self) -> &str {
                Self::NAME
            }

            fn arity(&self) -> Arity {
                Arity {
                    inputs: 1,
                    outputs: 1,
                }
            }

            fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
                let operator = self
                    .operator(&inputs[0])
                    .map_err(|e| misfit(e, &inputs[0]))?;
                Ok(vec![operator.output().clone()])
            }

            fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
                let operator = self
                    .operator(&inputs[0])
                    .map_err(|e| misfit(e, &inputs[0]))?;
                Ok(Some(Arc::new(Linear::of(operator))))
            }
        }
    };
}

/// The reason why an operator does not exist on a signal, as one of shapes.
fn misfit(error: ModelError, input: &SignalSpec) -> ShapeError {
    match error {
        ModelError::Parameter {
            name,
            expected,
            got,
            ..
        } => ShapeError {
            port: 0,
            expected: match name {
                "input" => expected,
                name => format!("a {name} {expected}"),
            },
            got: format!("{got}, on a signal of shape {input}"),
        },
        other => ShapeError {
            port: 0,
            expected: "a signal that it can act on".to_owned(),
            got: other.to_string(),
        },
    }
}

/// The finite-difference gradient $x_{a,n} = z_{n+e_a} - z_n$ along every axis of an array, of shape
/// $d \times \text{shape}$; periodic by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gradient {
    boundary: Boundary,
}

impl Gradient {
    /// With periodic boundaries: diagonal in Fourier space.
    #[must_use]
    pub fn periodic() -> Self {
        Self::default()
    }

    /// With other boundaries: Neumann ones and zeros beyond the last entry in cosine coordinates.
    #[must_use]
    pub fn with_boundary(boundary: Boundary) -> Self {
        Self { boundary }
    }

    fn operator(self, input: &SignalSpec) -> Result<FiniteDifference, ModelError> {
        FiniteDifference::new(input, self.boundary)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "finite differences along every axis, d x shape",
        formula: "x_(a,n) = z_(n+e_a) - z_n",
        tex: r"x_{k,n} = z_{n + e_k} - z_n",
        parameters: &[Parameter::required(
            "boundary",
            ParameterKind::Choice(&["periodic", "neumann", "zero"]),
            "what follows the last entry: the first, the last again, or zero",
        )
        .or(Preset::Word("periodic"))],
        constructor: |a| {
            let boundary = match a.word("boundary")? {
                "periodic" => Boundary::Periodic,
                "neumann" => Boundary::Neumann,
                "zero" => Boundary::Zero,
                other => {
                    let expected = "periodic, neumann or zero";
                    return Err(parameter(Self::NAME, "boundary", expected, other));
                }
            };
            a.channel(Self::with_boundary(boundary))
        },
        ..Module::OPERATOR
    };
}

shaped_channel!(Gradient, FiniteDifference);

/// The unitary DFT $x_k = \frac{1}{\sqrt N}\sum_n z_n e^{-2\pi i\,k\cdot n/N}$ of a real or complex array; on several axes every product is
/// divided by the length of its axis.
///
/// The coefficients of a real array come in conjugate pairs, every number twice. For a law on the
/// coefficients of a real signal take [`RealDft`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Dft;

impl Dft {
    #[allow(clippy::unused_self)] // as the other channels
    fn operator(self, input: &SignalSpec) -> Result<UnitaryDft, ModelError> {
        UnitaryDft::new(input)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "unitary Fourier transform of an array, complex output",
        formula: "x_k = Σ_n z_n e^(-2πi k·n/N) / √N",
        tex: r"x_k = \frac1{\sqrt N}\sum_n z_n e^{-2\pi i\,k\cdot n/N}",
        signals: Signals::ToComplex,
        constructor: |a| a.channel(Self),
        ..Module::OPERATOR
    };
}

shaped_channel!(Dft, UnitaryDft);

/// The orthogonal Fourier transform of a real array into as many real numbers: $\sqrt2\,\mathrm{Re}\,c_k$ and
/// $\sqrt2\,\mathrm{Im}\,c_k$ of every pair of frequencies.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealDft;

impl RealDft {
    #[allow(clippy::unused_self)] // as the other channels
    fn operator(self, input: &SignalSpec) -> Result<OrthogonalDft, ModelError> {
        OrthogonalDft::new(input)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "orthogonal Fourier transform of a real array, real output",
        formula: "x = √2 Re and √2 Im of every pair of frequencies",
        tex: r"x = \sqrt2\,\mathrm{Re}\,c_k,\ \sqrt2\,\mathrm{Im}\,c_k",
        signals: Signals::Real,
        constructor: |a| a.channel(Self),
        ..Module::OPERATOR
    };
}

shaped_channel!(RealDft, OrthogonalDft);

/// Circular convolution $x_n = \sum_m h_m z_{n-m}$ with a filter, in any number of dimensions.
#[derive(Debug, Clone)]
pub struct Convolution {
    filter: Filter,
}

impl Convolution {
    /// Gaussian blur of these widths, one for all axes or one for each.
    ///
    /// # Errors
    /// A width that is negative or not finite, or none.
    pub fn gaussian_blurs(sigma: &[f64]) -> Result<Self, ModelError> {
        let refused = |got| parameter("gaussian_blur", "sigma", "finite and not negative", got);
        if sigma.is_empty() {
            return Err(refused("none".to_owned()));
        }
        match sigma.iter().find(|s| !(**s >= 0.0 && s.is_finite())) {
            Some(s) => Err(refused(s.to_string())),
            None => Ok(Self::new(Filter::GaussianBlur(sigma.to_vec()))),
        }
    }

    /// Any filter; whether it fits is seen when the signal is known.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self { filter }
    }

    /// Gaussian blur, $\hat h(f) = e^{-2\pi^2\sigma^2 f^2}$, of one width on all axes.
    ///
    /// # Errors
    /// A width that is negative or not finite.
    pub fn gaussian_blur(sigma: f64) -> Result<Self, ModelError> {
        Self::gaussian_blurs(&[sigma])
    }

    /// The forward difference along one axis.
    #[must_use]
    pub fn differential(axis: usize) -> Self {
        Self::new(Filter::Differential { axis })
    }

    /// The Laplacian $\sum_a (z_{n+e_a} - 2z_n + z_{n-e_a})$.
    #[must_use]
    pub fn laplacian() -> Self {
        Self::new(Filter::Laplacian)
    }

    fn operator(&self, input: &SignalSpec) -> Result<CircularConvolution, ModelError> {
        CircularConvolution::new(input, &self.filter)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: "convolution",
        summary: "circular convolution with a kernel",
        formula: "x_n = Σ_m kernel_m z_(n-m)",
        tex: r"x_n = \sum_m h_m z_{n-m}",
        parameters: &[Parameter::required(
            "kernel",
            ParameterKind::Data,
            "its origin at index 0 of every axis",
        )
        .called("h")],
        constructor: |a| {
            let kernel = a.array("kernel")?;
            let shape = kernel.shape.clone();
            a.channel(Self::new(if kernel.complex {
                let entries = Complex::view(&kernel.values).to_vec();
                Filter::ComplexKernel { shape, entries }
            } else {
                let entries = kernel.values.clone();
                Filter::Kernel { shape, entries }
            }))
        },
        ..Module::OPERATOR
    };

    /// The entry of the Gaussian blur in the catalogue.
    pub const GAUSSIAN_BLUR: Module = Module {
        name: "gaussian_blur",
        summary: "circular Gaussian blur of an array",
        formula: "x = h * z, h(f) = e^(-2π² sigma² f²)",
        tex: r"\hat x_f = e^{-2\pi^2\sigma^2 f^2}\,\hat z_f",
        parameters: &[numbers(
            "sigma",
            &[1.0],
            Domain::NotNegative,
            "width in samples, one for all axes or one for each",
        )
        .called(r"\sigma")],
        constructor: |a| a.channel(Self::gaussian_blurs(a.numbers("sigma")?)?),
        ..Module::OPERATOR
    };

    /// The entry of the Laplacian in the catalogue.
    pub const LAPLACIAN: Module = Module {
        name: "laplacian",
        summary: "periodic Laplacian of an array",
        formula: "x_n = Σ_a (z_(n+e_a) - 2 z_n + z_(n-e_a))",
        tex: r"x_n = \sum_k (z_{n+e_k} - 2 z_n + z_{n-e_k})",
        constructor: |a| a.channel(Self::laplacian()),
        ..Module::OPERATOR
    };
}

shaped_channel!(Convolution, CircularConvolution);

/// Sub-sampling: the entries where a mask is true, row-major, as a vector.
#[derive(Debug, Clone)]
pub struct Mask {
    observed: Vec<bool>,
    shape: Option<Vec<usize>>,
}

impl Mask {
    /// Keeps the entries where `observed`, row-major, is true: as many as the signal has.
    #[must_use]
    pub fn new(observed: Vec<bool>) -> Self {
        let shape = None;
        Self { observed, shape }
    }

    /// The same mask as an array, which must have the signal's shape.
    #[must_use]
    pub fn of_shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.shape = Some(shape.into());
        self
    }

    fn operator(&self, input: &SignalSpec) -> Result<SubSampling, ModelError> {
        check_shape(Self::NAME, input, self.shape.as_deref())?;
        SubSampling::new(input, &self.observed)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: "mask",
        summary: "the entries where a mask is not zero",
        formula: "x = z where observed",
        tex: r"x_i = z_{n_i}",
        parameters: &[Parameter::required(
            "observed",
            ParameterKind::Mask,
            "zeros and ones, one per entry",
        )],
        constructor: |a| {
            let (observed, shape) = a.mask("observed")?;
            let (observed, shape) = (observed.to_vec(), shape.map(<[usize]>::to_vec));
            a.channel(Self { observed, shape })
        },
        ..Module::OPERATOR
    };
}

shaped_channel!(Mask, SubSampling);

/// The unitary DFT at the frequencies where a mask is true, row-major, as a complex vector.
#[derive(Debug, Clone)]
pub struct MaskedDft {
    observed: Vec<bool>,
    shape: Option<Vec<usize>>,
}

impl MaskedDft {
    /// Keeps the frequencies where `observed`, row-major, is true: as many as the signal has.
    #[must_use]
    pub fn new(observed: Vec<bool>) -> Self {
        let shape = None;
        Self { observed, shape }
    }

    /// The same mask as an array, which must have the signal's shape.
    #[must_use]
    pub fn of_shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.shape = Some(shape.into());
        self
    }

    fn operator(&self, input: &SignalSpec) -> Result<SubSampledDft, ModelError> {
        check_shape(Self::NAME, input, self.shape.as_deref())?;
        SubSampledDft::new(input, &self.observed)
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: "masked_dft",
        summary: "the Fourier transform where a mask is not zero",
        formula: "x = (unitary DFT of z) where observed",
        tex: r"x_i = c_{k_i}",
        parameters: &[Parameter::required(
            "observed",
            ParameterKind::Mask,
            "zeros and ones, one per frequency",
        )],
        signals: Signals::ToComplex,
        constructor: |a| {
            let (observed, shape) = a.mask("observed")?;
            let (observed, shape) = (observed.to_vec(), shape.map(<[usize]>::to_vec));
            a.channel(Self { observed, shape })
        },
        ..Module::OPERATOR
    };
}

shaped_channel!(MaskedDft, SubSampledDft);
