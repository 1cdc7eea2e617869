//! The modules that a model file can name, one entry each.

use std::sync::Arc;

use treeamp::factor::Factor;
use treeamp::operator::{Boundary, ComplexDense, ComplexOnReal, Filter};
use treeamp::prelude::*;
use treeamp::scalar::Elem;
use treeamp::separable::Penalty;

use super::argument::Arguments;
use super::build::Scale;
use super::error::MakeError;
use super::module::{Fallback, Module, Parameter, ParameterKind, Role};
use super::nearest::unknown;

type Made = Result<Arc<dyn Factor>, MakeError>;

/// A scalar law on every component, of the size asked for.
fn prior<E: Elem, P: ScalarPrior<E>>(law: P, arguments: &Arguments<'_>) -> Made {
    let shape = arguments.shape("size")?;
    Ok(match arguments.scale {
        Scale::Finite { .. } => Arc::new(law.shaped(shape)),
        Scale::Limit => {
            let size: f64 = shape.iter().map(|n| *n as f64).product();
            Arc::new(law.limit_of(size))
        }
    })
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every entry makes its factor the same way"
)]
fn channel(factor: impl Factor) -> Made {
    Ok(Arc::new(factor))
}

fn linear(arguments: &Arguments<'_>) -> Made {
    let source = arguments.matrix("matrix")?;
    if arguments.scale == Scale::Limit {
        return channel(source.limit(arguments.folder, arguments.is_complex())?);
    }
    if !source.is_complex() {
        return channel(Linear::new(arguments.realise(source)?)?);
    }
    let w = source.realise_complex(arguments.columns(), arguments.seed)?;
    if arguments.is_complex() {
        channel(Linear::of(ComplexDense::new(w)))
    } else {
        channel(Linear::of(ComplexOnReal::new(w)?))
    }
}

fn rotation(arguments: &Arguments<'_>) -> Made {
    let source = arguments.matrix("matrix")?;
    match arguments.scale {
        Scale::Finite { .. } => channel(Rotation::new(arguments.realise(source)?)?),
        Scale::Limit => channel(LinearEnsemble::orthogonal(1.0)?),
    }
}

const SIZE: Parameter = Parameter {
    name: "size",
    kind: ParameterKind::Shape,
    fallback: Fallback::Required,
    doc: "number of components, or a list of sizes",
};

const fn number(name: &'static str, default: f64, doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Number,
        fallback: Fallback::Number(default),
        doc,
    }
}

const fn numbers(name: &'static str, default: &'static [f64], doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Numbers,
        fallback: Fallback::Numbers(default),
        doc,
    }
}

const fn count(name: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Count,
        fallback: Fallback::Count(2),
        doc,
    }
}

const fn data(name: &'static str, doc: &'static str) -> Parameter {
    Parameter {
        name,
        kind: ParameterKind::Data,
        fallback: Fallback::Required,
        doc,
    }
}

const fn matrix(doc: &'static str) -> Parameter {
    Parameter {
        name: "matrix",
        kind: ParameterKind::Matrix,
        fallback: Fallback::Required,
        doc,
    }
}

/// The module of a name.
#[must_use]
pub fn module(kind: &str) -> Option<&'static Module> {
    MODULES.iter().find(|m| m.kind == kind)
}

/// What to say of a name that no module has.
#[must_use]
pub fn unknown_module(name: &str) -> String {
    let kinds: Vec<&str> = MODULES.iter().map(|m| m.kind).collect();
    unknown("module", name, &kinds)
}

/// A penalty on a variable, of the size asked for.
fn penalty<P: Penalty>(law: P, arguments: &Arguments<'_>) -> Made {
    let shape = arguments.shape("size")?;
    Ok(match arguments.scale {
        Scale::Finite { .. } => Arc::new(law.shaped(shape)),
        Scale::Limit => {
            let size: f64 = shape.iter().map(|n| *n as f64).product();
            Arc::new(law.limit_of(size))
        }
    })
}

/// All modules, priors first.
pub static MODULES: &[Module] = &[
    Module {
        kind: "gaussian",
        role: Role::Prior,
        summary: "Gaussian components",
        formula: "p(x) = N(x; mean, variance)",
        parameters: &[
            SIZE,
            number("mean", 0.0, "any"),
            number("variance", 1.0, "positive"),
        ],
        limit: true,
        make: |a| {
            prior(
                GaussianPrior::new(a.number("mean")?, a.number("variance")?)?,
                a,
            )
        },
    },
    Module {
        kind: "gauss_bernoulli",
        role: Role::Prior,
        summary: "sparse Gaussian components",
        formula: "p(x) = (1 - rho) δ(x) + rho N(x; mean, variance)",
        parameters: &[
            SIZE,
            number("rho", 0.5, "fraction that is not zero, from 0 to 1"),
            number("mean", 0.0, "of those that are not zero"),
            number("variance", 1.0, "of those that are not zero, positive"),
        ],
        limit: true,
        make: |a| {
            let (rho, mean) = (a.number("rho")?, a.number("mean")?);
            prior(GaussBernoulli::new(rho, mean, a.number("variance")?)?, a)
        },
    },
    Module {
        kind: "binary",
        role: Role::Prior,
        summary: "signs",
        formula: "p(x) = p_plus δ(x - 1) + (1 - p_plus) δ(x + 1)",
        parameters: &[
            SIZE,
            number("p_plus", 0.5, "probability of +1, from 0 to 1"),
        ],
        limit: true,
        make: |a| prior(Binary::new(a.number("p_plus")?)?, a),
    },
    Module {
        kind: "gaussian_mixture",
        role: Role::Prior,
        summary: "a mixture of Gaussians",
        formula: "p(x) = Σ_k weights_k N(x; means_k, variances_k)",
        parameters: &[
            SIZE,
            numbers("weights", &[0.5, 0.5], "positive, of sum 1"),
            numbers("means", &[-1.0, 1.0], "one per weight"),
            numbers("variances", &[1.0, 1.0], "one per weight, not negative"),
        ],
        limit: true,
        make: |a| {
            let (weights, means) = (a.numbers("weights")?, a.numbers("means")?);
            prior(
                GaussianMixture::new(weights, means, a.numbers("variances")?)?,
                a,
            )
        },
    },
    Module {
        kind: "positive",
        role: Role::Prior,
        summary: "Gaussian components, given that they are positive",
        formula: "p(x) ∝ N(x; mean, variance) on x > 0",
        parameters: &[
            SIZE,
            number("mean", 0.0, "of the Gaussian"),
            number("variance", 1.0, "of the Gaussian, positive"),
        ],
        limit: true,
        make: |a| prior(Positive::new(a.number("mean")?, a.number("variance")?)?, a),
    },
    Module {
        kind: "interval",
        role: Role::Prior,
        summary: "Gaussian components, given that they lie in an interval",
        formula: "p(x) ∝ N(x; mean, variance) on lower < x < upper",
        parameters: &[
            SIZE,
            number("lower", -1.0, "end of the interval"),
            number("upper", 1.0, "end of the interval, above `lower`"),
            number("mean", 0.0, "of the Gaussian"),
            number("variance", 1.0, "of the Gaussian, positive"),
        ],
        limit: true,
        make: |a| {
            let (lower, upper) = (a.number("lower")?, a.number("upper")?);
            let law = Interval::new(lower, upper, a.number("mean")?, a.number("variance")?)?;
            prior(law, a)
        },
    },
    Module {
        kind: "exponential",
        role: Role::Prior,
        summary: "exponential components",
        formula: "p(x) = e^(-x / mean) / mean on x > 0",
        parameters: &[SIZE, number("mean", 1.0, "positive")],
        limit: true,
        make: |a| prior(Exponential::new(a.number("mean")?)?, a),
    },
    Module {
        kind: "circular_gaussian",
        role: Role::Prior,
        summary: "complex Gaussian components",
        formula: "p(x) = CN(x; 0, variance per real component)",
        parameters: &[
            SIZE,
            number("variance", 1.0, "per real component, positive"),
        ],
        limit: true,
        make: |a| prior(CircularGaussian::new(a.number("variance")?)?, a),
    },
    Module {
        kind: "circular_gauss_bernoulli",
        role: Role::Prior,
        summary: "sparse complex Gaussian components",
        formula: "p(x) = (1 - rho) δ(x) + rho CN(x; 0, variance per real component)",
        parameters: &[
            SIZE,
            number("rho", 0.5, "fraction that is not zero, from 0 to 1"),
            number("variance", 1.0, "per real component, positive"),
        ],
        limit: true,
        make: |a| {
            prior(
                CircularGaussBernoulli::new(a.number("rho")?, a.number("variance")?)?,
                a,
            )
        },
    },
    Module {
        kind: "l1",
        role: Role::Prior,
        summary: "penalty of a sparse signal, at its mode",
        formula: "E(x) = strength Σ_n |x_n|",
        parameters: &[SIZE, number("strength", 1.0, "not negative")],
        limit: true,
        make: |a| penalty(L1::new(a.number("strength")?)?, a),
    },
    Module {
        kind: "l21",
        role: Role::Prior,
        summary: "penalty of sparse groups along the first axis, at its mode",
        formula: "E(x) = strength Σ_n (Σ_a x_(a,n)²)^(1/2)",
        parameters: &[SIZE, number("strength", 1.0, "not negative")],
        limit: false,
        make: |a| penalty(L21::new(a.number("strength")?)?, a),
    },
    Module {
        kind: "non_negative",
        role: Role::Prior,
        summary: "constraint to positive values, at its mode",
        formula: "E(x) = 0 for x >= 0, infinite else",
        parameters: &[SIZE],
        limit: true,
        make: |a| penalty(NonNegative::new()?, a),
    },
    Module {
        kind: "box",
        role: Role::Prior,
        summary: "constraint to an interval, at its mode",
        formula: "E(x) = 0 for lower <= x <= upper, infinite else",
        parameters: &[
            SIZE,
            number("lower", -1.0, "below upper"),
            number("upper", 1.0, "above lower"),
        ],
        limit: true,
        make: |a| {
            penalty(
                BoxConstraint::new(a.number("lower")?, a.number("upper")?)?,
                a,
            )
        },
    },
    Module {
        kind: "quadratic",
        role: Role::Prior,
        summary: "quadratic penalty; of strength 0, a variable without a prior",
        formula: "E(x) = strength/2 Σ_n (x_n - centre)²",
        parameters: &[
            SIZE,
            number("strength", 0.0, "not negative"),
            number("centre", 0.0, "any"),
        ],
        limit: true,
        make: |a| match a.number("strength")? {
            0.0 => penalty(Quadratic::free(), a),
            strength => penalty(Quadratic::new(strength, a.number("centre")?)?, a),
        },
    },
    Module {
        kind: "linear",
        role: Role::Channel,
        summary: "a matrix",
        formula: "x = W z",
        parameters: &[matrix(
            "W: a data file, or an ensemble with alpha rows per column",
        )],
        limit: true,
        make: linear,
    },
    Module {
        kind: "rotation",
        role: Role::Channel,
        summary: "an orthogonal matrix",
        formula: "x = R z, RᵀR = 1",
        parameters: &[matrix(
            "R: a data file, or the ensemble `orthogonal` with alpha = 1",
        )],
        limit: true,
        make: rotation,
    },
    Module {
        kind: "bias",
        role: Role::Channel,
        summary: "a known shift",
        formula: "x = z + bias",
        parameters: &[numbers("bias", &[0.0], "one per component, or one for all")],
        limit: true,
        make: |a| {
            let bias = a.numbers("bias")?;
            match bias {
                [shift] => channel(Bias::new(vec![*shift; a.columns()])?),
                many => channel(Bias::new(many)?),
            }
        },
    },
    Module {
        kind: "gaussian_noise",
        role: Role::Channel,
        summary: "additive Gaussian noise",
        formula: "p(x|z) = N(x; z, variance)",
        parameters: &[number("variance", 1.0, "not negative")],
        limit: true,
        make: |a| channel(GaussianNoise::new(a.number("variance")?)?),
    },
    Module {
        kind: "sum",
        role: Role::Channel,
        summary: "the sum of several inputs",
        formula: "x = Σ_i z_i",
        parameters: &[count("terms", "number of inputs")],
        limit: true,
        make: |a| channel(Sum::new(a.count("terms")?)?),
    },
    Module {
        kind: "duplicate",
        role: Role::Channel,
        summary: "several copies of the input",
        formula: "x_k = z for every k",
        parameters: &[count("copies", "number of outputs")],
        limit: true,
        make: |a| channel(Duplicate::new(a.count("copies")?)?),
    },
    Module {
        kind: "sign",
        role: Role::Channel,
        summary: "sign",
        formula: "x = sign z",
        parameters: &[],
        limit: true,
        make: |_| channel(PiecewiseLinear::sign()),
    },
    Module {
        kind: "abs",
        role: Role::Channel,
        summary: "absolute value",
        formula: "x = |z|",
        parameters: &[],
        limit: true,
        make: |_| channel(PiecewiseLinear::abs()),
    },
    Module {
        kind: "asymmetric_abs",
        role: Role::Channel,
        summary: "absolute value with a jump",
        formula: "x = -z below shift, z from there on",
        parameters: &[number("shift", 1e-4, "where the sign changes")],
        limit: true,
        make: |a| channel(PiecewiseLinear::asymmetric_abs(a.number("shift")?)?),
    },
    Module {
        kind: "relu",
        role: Role::Channel,
        summary: "rectifier",
        formula: "x = max(0, z)",
        parameters: &[],
        limit: true,
        make: |_| channel(PiecewiseLinear::relu()),
    },
    Module {
        kind: "leaky_relu",
        role: Role::Channel,
        summary: "leaky rectifier",
        formula: "x = z for z > 0, slope z else",
        parameters: &[number("slope", 0.1, "of the negative side")],
        limit: true,
        make: |a| channel(PiecewiseLinear::leaky_relu(a.number("slope")?)?),
    },
    Module {
        kind: "hard_tanh",
        role: Role::Channel,
        summary: "clipped identity",
        formula: "x = min(1, max(-1, z))",
        parameters: &[],
        limit: true,
        make: |_| channel(PiecewiseLinear::hard_tanh()),
    },
    Module {
        kind: "hard_sigmoid",
        role: Role::Channel,
        summary: "clipped line from 0 to 1",
        formula: "x = min(1, max(0, 1/2 + z / (2 knee)))",
        parameters: &[number("knee", 2.5, "where it is clipped, positive")],
        limit: true,
        make: |a| channel(PiecewiseLinear::hard_sigmoid(a.number("knee")?)?),
    },
    Module {
        kind: "symmetric_door",
        role: Role::Channel,
        summary: "symmetric door",
        formula: "x = sign(|z| - width)",
        parameters: &[number("width", 1.0, "half-width of the door, positive")],
        limit: true,
        make: |a| channel(PiecewiseLinear::symmetric_door(a.number("width")?)?),
    },
    Module {
        kind: "tanh",
        role: Role::Channel,
        summary: "hyperbolic tangent",
        formula: "x = tanh z",
        parameters: &[],
        limit: true,
        make: |_| channel(Activation::tanh()),
    },
    Module {
        kind: "sigmoid",
        role: Role::Channel,
        summary: "logistic function",
        formula: "x = 1 / (1 + e^(-z))",
        parameters: &[],
        limit: true,
        make: |_| channel(Activation::sigmoid()),
    },
    Module {
        kind: "softplus",
        role: Role::Channel,
        summary: "smooth rectifier",
        formula: "x = ln(1 + e^z)",
        parameters: &[],
        limit: true,
        make: |_| channel(Activation::softplus()),
    },
    Module {
        kind: "modulus",
        role: Role::Channel,
        summary: "modulus of a complex signal",
        formula: "x = |z|",
        parameters: &[],
        limit: true,
        make: |_| channel(Modulus),
    },
    Module {
        kind: "dft",
        role: Role::Channel,
        summary: "unitary Fourier transform of an array, complex output",
        formula: "x_k = Σ_n z_n e^(-2πi k·n) / √N",
        parameters: &[],
        limit: false,
        make: |_| channel(Dft),
    },
    Module {
        kind: "real_dft",
        role: Role::Channel,
        summary: "orthogonal Fourier transform of a real array, real output",
        formula: "x = √2 Re and √2 Im of every pair of frequencies",
        parameters: &[],
        limit: false,
        make: |_| channel(RealDft),
    },
    Module {
        kind: "gaussian_blur",
        role: Role::Channel,
        summary: "circular Gaussian blur of an array",
        formula: "x = h * z, h(f) = e^(-2π² sigma² f²)",
        parameters: &[number("sigma", 1.0, "width in samples, not negative")],
        limit: false,
        make: |a| channel(Convolution::gaussian_blur(a.number("sigma")?)?),
    },
    Module {
        kind: "laplacian",
        role: Role::Channel,
        summary: "periodic Laplacian of an array",
        formula: "x_n = Σ_a (z_(n+e_a) - 2 z_n + z_(n-e_a))",
        parameters: &[],
        limit: false,
        make: |_| channel(Convolution::laplacian()),
    },
    Module {
        kind: "convolution",
        role: Role::Channel,
        summary: "circular convolution with a kernel",
        formula: "x_n = Σ_m kernel_m z_(n-m)",
        parameters: &[data("kernel", "its origin at index 0 of every axis")],
        limit: false,
        make: |a| {
            let kernel = a.data("kernel")?;
            let (shape, entries) = (kernel.shape, kernel.values);
            channel(Convolution::new(Filter::Kernel { shape, entries }))
        },
    },
    Module {
        kind: "gradient",
        role: Role::Channel,
        summary: "periodic finite differences along every axis, d x shape",
        formula: "x_(a,n) = z_(n+e_a) - z_n",
        parameters: &[],
        limit: false,
        make: |_| channel(Gradient::with_boundary(Boundary::Periodic)),
    },
    Module {
        kind: "mask",
        role: Role::Channel,
        summary: "the entries where a mask is not zero",
        formula: "x = z where observed",
        parameters: &[data("observed", "zeros and ones, one per entry")],
        limit: false,
        make: |a| {
            let (observed, shape) = a.mask("observed")?;
            channel(Mask::new(observed).of_shape(shape))
        },
    },
    Module {
        kind: "masked_dft",
        role: Role::Channel,
        summary: "the Fourier transform where a mask is not zero",
        formula: "x = (unitary DFT of z) where observed",
        parameters: &[data("observed", "zeros and ones, one per frequency")],
        limit: false,
        make: |a| {
            let (observed, shape) = a.mask("observed")?;
            channel(MaskedDft::new(observed).of_shape(shape))
        },
    },
    Module {
        kind: "reshape",
        role: Role::Channel,
        summary: "another shape",
        formula: "x = z, entries in the same order",
        parameters: &[Parameter {
            name: "shape",
            kind: ParameterKind::Shape,
            fallback: Fallback::Required,
            doc: "as many entries as before",
        }],
        limit: false,
        make: |a| channel(Reshape::to(a.shape("shape")?)),
    },
    Module {
        kind: "concatenate",
        role: Role::Channel,
        summary: "several inputs end to end",
        formula: "x = (z_1, z_2, ...)",
        parameters: &[count("inputs_count", "number of inputs")],
        limit: false,
        make: |a| channel(Concatenate::new(a.count("inputs_count")?)?),
    },
    Module {
        kind: "split",
        role: Role::Channel,
        summary: "several pieces of the input",
        formula: "(x_1, x_2, ...) = z",
        parameters: &[Parameter {
            name: "sizes",
            kind: ParameterKind::Shape,
            fallback: Fallback::Required,
            doc: "a list: the size of every piece",
        }],
        limit: false,
        make: |a| channel(Split::new(a.shape("sizes")?.to_vec())?),
    },
];
