//! A known shift $x = z + c$: $a_{f\to x} = a_z$, $b_{f\to x} = b_z + a_z c$, and back with $-c$.

use std::borrow::Cow;
use std::f64::consts::TAU;
use std::sync::Arc;

use rand::Rng;

use super::gaussian_channel::{GaussianChannel, Kernel};
use super::gaussian_theory::Theory;
use crate::belief::{
    Gaussian, Message as _, Overlaps, SignalSpec, fits, mean_square, product_excess,
};
use crate::catalog::module::{Domain, Module, numbers};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{Arity, Averaged, EnsembleRule, Factor, Incoming, downcast};

/// A known shift.
pub type Bias = GaussianChannel<BiasKernel>;

/// The kernel of [`Bias`].
#[derive(Debug, Clone, PartialEq)]
pub struct BiasKernel {
    bias: Arc<[f64]>,
    /// Of the signal, where it was given.
    shape: Option<Vec<usize>>,
}

impl Bias {
    /// A shift by `bias`, one number per component (row-major), or one for all.
    ///
    /// # Errors
    /// An empty or non-finite bias.
    pub fn new(bias: impl Into<Vec<f64>>) -> Result<Self, ModelError> {
        let bias: Vec<f64> = bias.into();
        if bias.is_empty() {
            return Err(parameter(
                Self::NAME,
                "bias",
                "a non-empty array",
                "an empty one",
            ));
        }
        if let Some(i) = bias.iter().position(|c| !c.is_finite()) {
            let got = format!("{} at index {i}", bias[i]);
            return Err(parameter(Self::NAME, "bias", "finite", got));
        }
        let (bias, shape) = (bias.into(), None);
        let kernel = BiasKernel { bias, shape };
        Ok(Self { kernel })
    }

    /// The same bias as an array, which must have the signal's shape.
    #[must_use]
    pub fn of_shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.kernel.shape = Some(shape.into());
        self
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "a known shift",
        formula: "x = z + bias",
        tex: r"x = z + c",
        parameters: &[numbers(
            "bias",
            &[0.0],
            Domain::Real,
            "one per component, or one for all",
        )
        .called("c")],
        constructor: |a| {
            let bias = Self::new(a.numbers("bias")?)?;
            a.channel(match a.shape_of("bias") {
                Some(shape) => bias.of_shape(shape),
                None => bias,
            })
        },
        ..Module::CHANNEL
    };
}

impl Kernel for BiasKernel {
    const NAME: &'static str = "bias";

    fn summary(&self) -> String {
        format!("{} components", self.bias.len())
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        fits(self.shape.as_deref(), "the bias", &inputs[0])?;
        if inputs[0].len() == self.bias.len() || self.bias.len() == 1 {
            return Ok(vec![inputs[0].clone()]);
        }
        let expected = format!("{} components, as the bias has", self.bias.len());
        Err(ShapeError {
            port: 0,
            expected,
            got: format!("shape {}", inputs[0]),
        })
    }

    /// One number for all components becomes one for each, and a shape that fits has told what it can.
    fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Self>, ShapeError> {
        fits(self.shape.as_deref(), "the bias", &inputs[0])?;
        let n = inputs[0].len();
        let whole = self.bias.len() == 1 && n > 1;
        Ok((whole || self.shape.is_some()).then(|| Self {
            bias: self.on(n).into(),
            shape: None,
        }))
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        out.copy_from(incoming.get(1 - target));
        let sign = if target == 1 { 1.0 } else { -1.0 };
        out.shift(&self.on(out.len()), sign);
        Ok(())
    }

    /// The shifted message on $z$ has the potential of the message on $x$, up to the constant that a
    /// flat or improper message picks up.
    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let (z, x) = (incoming.get(0), incoming.get(1));
        let (mut back, mut total) = (z.clone(), z.clone());
        self.message(incoming, 0, &mut back)?;
        let constant = x.shift_constant(&self.on(x.len()));
        Ok(product_excess([z, &back].into_iter(), &mut total) + constant)
    }

    /// $A = A_z[a_z + a_x, b_z + b_x - a_x c] + b_x^T c - \frac12 a_x\|c\|^2$.
    fn log_partition(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let (z, x) = (incoming.get(0), incoming.get(1));
        if z.numbers().is_none() || x.numbers().is_none() {
            return Ok(self.excess(incoming)? + z.own_potential() + x.own_potential());
        }
        let mut back = z.clone();
        self.message(incoming, 0, &mut back)?;
        back.add_assign(z);
        Ok(back.log_partition() + x.log_value(&self.on(x.len())))
    }

    fn theory(&self) -> Theory<'_> {
        Theory::Own(self)
    }

    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let bias = self.on(inputs[0].len());
        for ((x, z), c) in outputs[0].iter_mut().zip(inputs[0]).zip(bias.iter()) {
            *x = z + c;
        }
    }
}

/// Averages over a bias that is independent of the signal and enters through $\overline{c^2}$: with
/// $a = a_z + a_x$ the student's mean is $r_z = \alpha z_0 + \beta c + \text{noise}$,
/// $\alpha = (\hat m_z + \hat m_x)/a$, $\beta = (\hat m_x - a_x)/a$, and $r_x = r_z + c$.
impl EnsembleRule for BiasKernel {
    fn pairs_with(&self, teacher: &dyn Factor) -> bool {
        downcast::<GaussianChannel<Self>>(teacher).is_some()
    }

    fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
        let tau_z = self.input_moment(tau0_hat)?;
        Ok(if target == 0 {
            tau_z
        } else {
            tau_z + mean_square(&self.bias)
        })
    }

    fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        Ok(0.5 * (TAU * self.input_moment(tau0_hat)?).ln())
    }

    fn overlaps(
        &self,
        _: &dyn Factor,
        at: Averaged<'_>,
        target: usize,
    ) -> Result<Overlaps, FactorError> {
        let (tau_z, c2) = (self.input_moment(at.tau0_hat)?, mean_square(&self.bias));
        let (z, x) = (at.fields[0], at.fields[1]);
        let a = z.a() + x.a();
        let (alpha, beta) = ((z.m_hat + x.m_hat) / a, (x.m_hat - x.a()) / a);
        let noise = (z.q_hat + x.q_hat) / (a * a);
        // how much of c the target's mean and truth contain
        let (have, want) = if target == 0 {
            (beta, 0.0)
        } else {
            (1.0 + beta, 1.0)
        };
        let tau0 = tau_z + want * c2;
        let m = alpha * tau_z + have * want * c2;
        let k = m / tau0;
        let err = (alpha - k).powi(2) * tau_z + (have - k * want).powi(2) * c2 + noise;
        Ok(Overlaps {
            m,
            v: 1.0 / a,
            err,
            tau0,
        })
    }

    fn extrinsic_precision(
        &self,
        at: Averaged<'_>,
        target: usize,
    ) -> Result<Option<f64>, FactorError> {
        Ok(Some(at.fields[1 - target].a()))
    }

    fn potential(&self, _: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
        let (tau_z, c2) = (self.input_moment(at.tau0_hat)?, mean_square(&self.bias));
        let (z, x) = (at.fields[0], at.fields[1]);
        let a = z.a() + x.a();
        let square = (z.m_hat + x.m_hat).powi(2) * tau_z
            + (x.m_hat - x.a()).powi(2) * c2
            + z.q_hat
            + x.q_hat;
        Ok(0.5 * square / a + 0.5 * (TAU / a).ln() + (x.m_hat - 0.5 * x.a()) * c2)
    }

    /// $\frac12\ln(1 + (\hat m_z + \hat m_x)\tau_z)$: a known shift hides nothing.
    fn entropic_potential(
        &self,
        _: &dyn Factor,
        at: Averaged<'_>,
        _: &[(f64, f64)],
    ) -> Result<f64, FactorError> {
        let m_hat = at.fields[0].m_hat + at.fields[1].m_hat;
        Ok(0.5 * (m_hat * self.input_moment(at.tau0_hat)?).ln_1p())
    }
}

impl BiasKernel {
    /// The shift of so many components.
    fn on(&self, n: usize) -> Cow<'_, [f64]> {
        match self.bias[..] {
            [shift] if n != 1 => Cow::Owned(vec![shift; n]),
            _ => Cow::Borrowed(&self.bias),
        }
    }

    /// $\tau_z = 1/\hat\tau_{0,z}$; a tilt on the shifted output is not Gaussian-centred.
    fn input_moment(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        if tau0_hat[1] == 0.0 || self.bias.iter().all(|c| *c == 0.0) {
            Ok(1.0 / (tau0_hat[0] + tau0_hat[1]))
        } else {
            let what = "state evolution needs a bias whose output has no prior of its own";
            Err(FactorError::Unsupported(what.to_owned()))
        }
    }
}
