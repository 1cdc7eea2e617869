//! Transforms, filters and masks of arrays.

use treeamp::operator::{Boundary, Filter};
use treeamp::prelude::*;

use super::channel;
use super::parameters::{data, number};
use crate::spec::module::{Module, Role};

pub(super) const OPERATORS: &[Module] = &[
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
];
