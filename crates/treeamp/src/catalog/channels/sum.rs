//! The sum of several inputs $x = z_1 + \dots + z_k$.
//!
//! Means and variances add: to $x$ the message has variance $\sum_i 1/a_i$ and mean
//! $\sum_i b_i/a_i$; to $z_j$ it has variance $1/a_x + \sum_{i\neq j} 1/a_i$ and mean
//! $b_x/a_x - \sum_{i\neq j} b_i/a_i$. Between full or block beliefs the same with matrices (`dense_sum.rs`).

use std::f64::consts::TAU;

use rand::Rng;

use super::dense_sum;
use super::gaussian_channel::{GaussianChannel, Kernel};
use super::gaussian_theory::{FewScalars, Theory};
use crate::belief::{Gaussian, SignalSpec, Structure, log_normal_sum};
use crate::catalog::module::{Module, Signals, count};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{Arity, GaussianFactor, Incoming};

/// The sum of several inputs.
pub type Sum = GaussianChannel<SumKernel>;

/// The kernel of [`Sum`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumKernel {
    terms: usize,
}

impl Sum {
    /// A sum of `terms` inputs.
    ///
    /// # Errors
    /// No term at all.
    pub fn new(terms: usize) -> Result<Self, ModelError> {
        if terms == 0 {
            return Err(parameter(Self::NAME, "terms", "at least 1", 0));
        }
        let kernel = SumKernel { terms };
        Ok(Self { kernel })
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "the sum of several inputs",
        formula: "x = Σ_i z_i",
        tex: r"x = z_1 + \dots + z_n",
        parameters: &[count("terms", "number of inputs").called("n")],
        signals: Signals::Any,
        constructor: |a| a.channel(Self::new(a.count("terms")?)?),
        ..Module::CHANNEL
    };
}

impl Kernel for SumKernel {
    const NAME: &'static str = "sum";
    const STRUCTURES: &'static [Structure] = &[
        Structure::Isotropic,
        Structure::Diagonal,
        Structure::Block { dim: 0 },
        Structure::Full,
    ];

    fn summary(&self) -> String {
        format!("{} terms", self.terms)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: self.terms,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        for (port, spec) in inputs.iter().enumerate() {
            if !spec.same_signal(&inputs[0]) {
                let expected = format!("shape {}, as the first term", inputs[0]);
                return Err(ShapeError {
                    port,
                    expected,
                    got: format!("shape {spec}"),
                });
            }
        }
        Ok(vec![inputs[0].clone()])
    }

    fn message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        match out.structure() {
            Structure::Isotropic => {}
            Structure::Diagonal => {
                self.by_components(incoming, target, out);
                return Ok(());
            }
            Structure::Block { .. } | Structure::Full => {
                return dense_sum::message(incoming, target, out);
            }
        }
        let others = || (0..incoming.len()).filter(|p| *p != target);
        // one flat message among the others: nothing can be said, whatever the rest says
        if others().any(|p| incoming.get(p).precision.scalar() == 0.0) {
            flat_limit(incoming, target, out);
            return Ok(());
        }
        out.set_flat();
        let mut variance = 0.0;
        for port in others() {
            let message = incoming.get(port);
            let same_side = (port == self.terms) || (target == self.terms);
            add_mean(message, if same_side { 1.0 } else { -1.0 }, &mut out.linear);
            variance += 1.0 / message.precision.scalar();
        }
        if variance == 0.0 {
            out.precision.set_scalar(f64::INFINITY);
            return Ok(());
        }
        let a = 1.0 / variance;
        out.precision.set_scalar(a);
        out.linear.iter_mut().for_each(|m| *m *= a);
        Ok(())
    }

    /// $\ln\mathcal N(\hat x; \sum_i \hat z_i, \frac1{a_x} + \sum_i \frac1{a_i})$ with $\hat x = b_x/a_x$.
    fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        match incoming.get(0).structure() {
            Structure::Isotropic => {}
            Structure::Diagonal => return self.excess_by_components(incoming),
            Structure::Block { .. } | Structure::Full => return dense_sum::excess(incoming),
        }
        if let Some(port) = incoming.iter().position(|m| m.precision.scalar() == 0.0) {
            let own: f64 = incoming.iter().map(Gaussian::own_potential).sum();
            return Ok(self.log_partition_without(incoming, port) - own);
        }
        let x = incoming.get(self.terms);
        let mut gap = vec![0.0; x.len()];
        add_mean(x, 1.0, &mut gap);
        (0..self.terms).for_each(|port| add_mean(incoming.get(port), -1.0, &mut gap));
        let variance: f64 = incoming.iter().map(|m| 1.0 / m.precision.scalar()).sum();
        let mut negative = incoming.iter().filter(|m| m.precision.scalar() < 0.0);
        match (negative.next(), negative.next()) {
            (None, _) => Ok(log_normal_sum(gap.into_iter(), variance)),
            // one negative precision is proper as long as the others hold it: Σ 1/a < 0 then, and
            // the formula continues analytically
            (Some(m), None) if variance < 0.0 => {
                let square: f64 = gap.iter().map(|g| g * g).sum();
                let volume = 0.5 * x.len() as f64 * (TAU * -variance).ln();
                Ok(signed_log_partition(m) - 0.5 * square / variance - volume)
            }
            _ => Ok(f64::INFINITY),
        }
    }

    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        outputs[0].fill(0.0);
        for z in inputs {
            for (x, z) in outputs[0].iter_mut().zip(*z) {
                *x += z;
            }
        }
    }

    fn passes_exact(&self) -> bool {
        false
    }

    fn theory(&self) -> Theory<'_> {
        Theory::Scalars(self)
    }
}

/// Adds $s\,b/a$, the mean of a message, to `mean`.
fn add_mean(message: &Gaussian, s: f64, mean: &mut [f64]) {
    let scale = s * message.mean_scale();
    for (m, b) in mean.iter_mut().zip(&message.linear) {
        *m += scale * b;
    }
}

/// $\frac{\|b\|^2}{2a} + \frac n2\ln\frac{2\pi}{|a|}$: the analytic continuation to negative $a$.
fn signed_log_partition(m: &Gaussian) -> f64 {
    let a = m.precision.scalar();
    if a == f64::INFINITY {
        return 0.0;
    }
    let square: f64 = m.linear.iter().map(|b| b * b).sum();
    0.5 * square / a + 0.5 * m.len() as f64 * (TAU / a.abs()).ln()
}

/// With exactly one flat-precision message among the others (say $e^{b z}$), the outgoing message is
/// $e^{\pm b x}$ as well: precision zero, linear part $\pm b$.
fn flat_limit(incoming: Incoming<'_, Gaussian>, target: usize, out: &mut Gaussian) {
    let sum_port = incoming.len() - 1;
    out.set_flat();
    for port in (0..incoming.len()).filter(|p| *p != target) {
        let message = incoming.get(port);
        if message.precision.scalar() == 0.0 {
            let same_side = port == sum_port || target == sum_port;
            let sign = if same_side { 1.0 } else { -1.0 };
            for (o, b) in out.linear.iter_mut().zip(&message.linear) {
                *o = sign * b;
            }
        }
    }
}

impl SumKernel {
    /// The message between diagonal beliefs: every component is a sum of its own.
    fn by_components(self, incoming: Incoming<'_, Gaussian>, target: usize, out: &mut Gaussian) {
        for i in 0..out.len() {
            let (mut mean, mut variance, mut flat) = (0.0, 0.0, None);
            for port in (0..incoming.len()).filter(|p| *p != target) {
                let message = incoming.get(port);
                let (a, b) = (message.precision.data()[i], message.linear[i]);
                let same_side = port == self.terms || target == self.terms;
                let b = if same_side { b } else { -b };
                if a == 0.0 {
                    flat = Some(b);
                } else {
                    mean += if a == f64::INFINITY { b } else { b / a };
                    variance += 1.0 / a;
                }
            }
            // as of isotropic beliefs: a flat message leaves its linear part, and what has no variance is a place
            let (a, b) = match flat {
                Some(b) => (0.0, b),
                None if variance == 0.0 => (f64::INFINITY, mean),
                None => (1.0 / variance, mean / variance),
            };
            out.precision.data_mut()[i] = a;
            out.linear[i] = b;
        }
    }

    /// The sum of the excesses of the components.
    fn excess_by_components(self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let mut one = vec![Gaussian::flat(&SignalSpec::real([1])); incoming.len()];
        let mut sum = 0.0;
        for i in 0..incoming.get(0).len() {
            for (own, message) in one.iter_mut().zip(incoming.iter()) {
                own.precision.set_scalar(message.precision.data()[i]);
                own.linear[0] = message.linear[i];
            }
            let slots: Vec<usize> = (0..one.len()).collect();
            sum += self.excess(Incoming::new(&one, &slots))?;
        }
        Ok(sum)
    }

    /// $A$ when the message at `port` has precision zero: its variable is integrated out freely.
    fn log_partition_without(self, incoming: Incoming<'_, Gaussian>, port: usize) -> f64 {
        let free = incoming.get(port);
        let others = (0..incoming.len()).filter(|p| *p != port);
        let mut total = 0.0;
        // substituting for the free variable shifts the linear parts of all others by ±b
        for p in others {
            let mut m = incoming.get(p).clone();
            if m.precision.scalar() <= 0.0 {
                return f64::INFINITY;
            }
            let same_side = (p == self.terms) != (port == self.terms);
            let sign = if port == self.terms || same_side {
                1.0
            } else {
                -1.0
            };
            if m.is_pinned() {
                total += sign
                    * m.linear
                        .iter()
                        .zip(&free.linear)
                        .map(|(x, b)| x * b)
                        .sum::<f64>();
                continue;
            }
            for (x, b) in m.linear.iter_mut().zip(&free.linear) {
                *x += sign * b;
            }
            total += m.log_partition();
        }
        total
    }
}

/// The terms are free, and the output is their sum.
impl FewScalars for SumKernel {
    fn law(&self) -> GaussianFactor {
        let unit = |i: usize| {
            (0..self.terms)
                .map(|j| if i == j { 1.0 } else { 0.0 })
                .collect()
        };
        let mut ports: Vec<Vec<f64>> = (0..self.terms).map(unit).collect();
        ports.push(vec![1.0; self.terms]);
        GaussianFactor {
            ports,
            coupling: vec![vec![0.0; self.terms]; self.terms],
            log_normaliser: 0.0,
        }
    }

    fn extrinsic(&self, a: &[f64], target: usize) -> f64 {
        let others = a.iter().enumerate().filter(|(p, _)| *p != target);
        1.0 / others.map(|(_, a)| 1.0 / a).sum::<f64>()
    }

    /// $\ln\sum_j\prod_{i\ne j}a_i$, at most one of them being zero.
    fn log_det(&self, a: &[f64]) -> f64 {
        let product = |skip: Option<usize>| -> f64 {
            let kept = a.iter().enumerate().filter(|(i, _)| Some(*i) != skip);
            kept.map(|(_, a)| a.ln()).sum()
        };
        match a.iter().position(|a| *a == 0.0) {
            Some(zero) => product(Some(zero)),
            None => product(None) + a.iter().map(|a| 1.0 / a).sum::<f64>().ln(),
        }
    }
}
