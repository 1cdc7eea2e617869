//! The linear channel by approximate message passing: for a matrix whose entries are independent, two products a sweep and no
//! decomposition.
//!
//! With $M$ outputs, $N$ inputs and $F = \|W\|_F^2$, the messages $(a_z, b_z)$ and $(a_x, b_x)$ that reach the channel, and its own
//! last ones, $(A, B)$ to $z$ and $(1/V, w/V)$ to $x$:
//!
//! - marginals of the input: $r = \frac{b_z + B}{a_z + A}$, $v = \frac1{a_z + A}$ (averaged over components),
//! - $g = \frac{b_x - a_x w}{1 + a_x V}$, the pull of the outputs; it also makes the Onsager term,
//! - to $x$: variance $V = \frac FM v$, mean $w = W r - V g$,
//! - to $z$: $A = \frac FN\,\frac{a_x}{1 + a_x V}$ (averaged over components), $B = A r + W^T g$.
//!
//! At a fixed point $r$ is the exact mean, $(a_z + a_x W^T W)\,r = b_z + W^T b_x$, and $v$ is what the law of Marchenko and Pastur has in
//! place of the eigenvalues of $W^T W$. So is the log-partition:
//!
//! $A_f = \max_r[b_z^T r + b_x^T W r - \frac{a_z}2\|r\|^2 - \frac{a_x}2\|Wr\|^2] + \frac N2\ln 2\pi - \frac12 D$,
//! $D = \operatorname{extr}_{A, V}[N\ln(a_z + A) + M\ln(1 + a_x V) - \frac{N M}F A V]$,
//!
//! here at the channel's own messages, where both are stationary.

use std::f64::consts::TAU;

use super::Linear;
use super::{X, Z};
use crate::belief::Gaussian;
use crate::error::{FactorError, brief};
use crate::factor::Context;
use crate::operator::LinearOperator;

/// Room for one vector on either side.
#[derive(Debug, Clone)]
pub(super) struct IidWork {
    input: Vec<f64>,
    output: Vec<f64>,
    scratch: Vec<f64>,
}

impl IidWork {
    pub fn new(operator: &dyn LinearOperator, columns: usize) -> Self {
        Self {
            input: vec![0.0; columns * operator.input().len()],
            output: vec![0.0; columns * operator.output().len()],
            scratch: vec![0.0; operator.scratch_len(columns)],
        }
    }
}

/// The channel between its messages.
pub(super) struct Iid<'a> {
    operator: &'a dyn LinearOperator,
    /// $\|W\|_F^2$ over the number of real outputs, and of real inputs.
    per_output: f64,
    per_input: f64,
    z: &'a Gaussian,
    x: &'a Gaussian,
    /// The channel's own last messages.
    sent_z: &'a Gaussian,
    sent_x: &'a Gaussian,
    work: &'a mut IidWork,
}

fn improper(what: &str, a: f64, b: f64) -> FactorError {
    FactorError::Improper(format!(
        "the precisions {} and {} on its {what} leave a negative variance",
        brief(a),
        brief(b)
    ))
}

/// Mean and variance of the product of two beliefs in one component; infinite where they say nothing.
fn product((a, b): (f64, f64), (c, d): (f64, f64)) -> Result<(f64, f64), FactorError> {
    if a == f64::INFINITY {
        return Ok((b, 0.0));
    }
    if c == f64::INFINITY {
        return Ok((d, 0.0));
    }
    let precision = a + c;
    if precision > 0.0 {
        Ok(((b + d) / precision, 1.0 / precision))
    } else if a == 0.0 && c == 0.0 {
        Ok((0.0, f64::INFINITY))
    } else {
        Err(improper("input", a, c))
    }
}

/// The pull $g$ and its slope $a/(1 + aV)$, for a belief $(a, b)$ of an output and the message $(P, q) = (1/V, w/V)$ to it.
fn pull((a, b): (f64, f64), (p, q): (f64, f64)) -> Result<(f64, f64), FactorError> {
    if p == 0.0 {
        return Ok((0.0, 0.0));
    }
    if a == f64::INFINITY {
        // both known: nothing is left to pull
        let known = p == f64::INFINITY;
        return Ok(if known { (0.0, 0.0) } else { (p * b - q, p) });
    }
    if p == f64::INFINITY {
        return Ok((b - a * q, a));
    }
    if !(p + a > 0.0) {
        return Err(improper("output", a, p));
    }
    Ok(((b * p - a * q) / (p + a), a * p / (p + a)))
}

/// Precision and linear part of every component, of an isotropic or diagonal belief.
fn components(m: &Gaussian) -> impl Iterator<Item = (f64, f64)> + '_ {
    let a = m.precision.data();
    let step = usize::from(a.len() > 1);
    let each = m.linear.iter().enumerate();
    each.map(move |(i, b)| (a[step * i], *b))
}

impl<'a> Iid<'a> {
    pub fn new<'c: 'a>(
        channel: &'a Linear,
        context: &'a mut Context<'c>,
    ) -> Result<Self, FactorError> {
        let (incoming, sent) = (context.incoming, context.sent);
        let sent = sent.ok_or_else(|| {
            FactorError::Unsupported(
                "approximate message passing needs the channel's own last messages, which it has in a run only"
                    .to_owned(),
            )
        })?;
        let operator = channel.operator();
        let (z, x) = (incoming.get(Z), incoming.get(X));
        let columns = channel.columns(z.len());
        let work = context
            .workspace
            .get_or_make(|| IidWork::new(operator, columns))?;
        let square_norm = channel.square_norm()?;
        Ok(Self {
            operator,
            per_output: square_norm / operator.output().len() as f64,
            per_input: square_norm / operator.input().len() as f64,
            z,
            x,
            sent_z: sent.get(Z),
            sent_x: sent.get(X),
            work,
        })
    }

    /// The means of the input, into the room for it, and their average variance.
    fn input(&mut self) -> Result<f64, FactorError> {
        let mut sum = 0.0;
        let pairs = components(self.z).zip(components(self.sent_z));
        for (r, (message, sent)) in self.work.input.iter_mut().zip(pairs) {
            let (mean, variance) = product(message, sent)?;
            *r = mean;
            sum += variance;
        }
        Ok(sum / self.z.len() as f64)
    }

    pub fn message(&mut self, target: usize, out: &mut Gaussian) -> Result<(), FactorError> {
        if target == Z && self.z.is_pinned() {
            out.set_flat();
            return Ok(());
        }
        let v = self.input()?;
        if v == f64::INFINITY {
            out.set_flat();
            return Ok(());
        }
        if target == Z {
            self.input_message(out)
        } else {
            self.output_message(v, out)
        }
    }

    fn output_message(&mut self, v: f64, out: &mut Gaussian) -> Result<(), FactorError> {
        let variance = self.per_output * v;
        let IidWork { input, scratch, .. } = &mut *self.work;
        self.operator.apply(input, &mut out.linear, scratch);
        if variance == 0.0 {
            out.set_precision(f64::INFINITY);
            return Ok(());
        }
        let pairs = components(self.x).zip(components(self.sent_x));
        for (o, (message, sent)) in out.linear.iter_mut().zip(pairs) {
            *o = *o / variance - pull(message, sent)?.0;
        }
        out.set_precision(1.0 / variance);
        Ok(())
    }

    fn input_message(&mut self, out: &mut Gaussian) -> Result<(), FactorError> {
        let mut sum = 0.0;
        let pairs = components(self.x).zip(components(self.sent_x));
        for (g, (message, sent)) in self.work.output.iter_mut().zip(pairs) {
            let (value, slope) = pull(message, sent)?;
            *g = value;
            sum += slope;
        }
        let precision = self.per_input * sum / self.x.len() as f64;
        let IidWork {
            input,
            output,
            scratch,
        } = &mut *self.work;
        self.operator.adjoint(output, &mut out.linear, scratch);
        for (o, r) in out.linear.iter_mut().zip(input.iter()) {
            *o += precision * r;
        }
        out.set_precision(precision);
        Ok(())
    }

    /// $A_f - A[m_z] - A[m_x]$. Of proper messages, with $\hat z = b_z/a_z$ and $\hat x = b_x/a_x$:
    /// $-\frac{a_z}2\|r - \hat z\|^2 + \frac{\|g\|^2}{2 a_x} - g^T(\hat x - W r) - \frac N2\ln\frac{a_z + A}{a_z} -
    /// \frac M2\ln 2\pi(\frac1{a_x} + V) + \frac N2 A v$: stationary in $r$, $g$, $A$ and $V$, and finite for a pinned output.
    pub fn excess(&mut self) -> Result<f64, FactorError> {
        let v = self.input()?;
        if v == f64::INFINITY || components(self.sent_x).any(|(p, _)| p == 0.0) {
            return Ok(f64::INFINITY);
        }
        let IidWork {
            input,
            output,
            scratch,
        } = &mut *self.work;
        self.operator.apply(input, output, scratch);
        let mut value = 0.0;
        let pairs = components(self.z).zip(components(self.sent_z));
        for (r, ((a, b), (sent, _))) in input.iter().zip(pairs) {
            value += if a == f64::INFINITY {
                0.0
            } else if a > 0.0 {
                -0.5 * a * (r - b / a).powi(2) - 0.5 * (sent / a).ln_1p()
            } else {
                r * (b - 0.5 * a * r) + 0.5 * (TAU / (a + sent)).ln()
            };
        }
        let pairs = components(self.x).zip(components(self.sent_x));
        for (y, (message, sent)) in output.iter().zip(pairs) {
            let ((a, b), (g, _)) = (message, pull(message, sent)?);
            let variance = 1.0 / sent.0;
            value += if a == f64::INFINITY {
                -g * (b - y) - 0.5 * (TAU * variance).ln()
            } else if a > 0.0 {
                0.5 * g * g / a - g * (b / a - y) - 0.5 * (TAU * (1.0 / a + variance)).ln()
            } else {
                y * (b - 0.5 * a * y) - 0.5 * (a * variance).ln_1p()
            };
        }
        // N A v = N M A V / F, at the channel's own messages
        let precision = self.sent_z.precision.mean_diagonal();
        let inverse = components(self.sent_x).map(|(p, _)| 1.0 / p).sum::<f64>();
        let variance = inverse / self.x.len() as f64;
        let product = precision * variance / self.per_output;
        Ok(value + 0.5 * self.z.len() as f64 * product)
    }

    /// The precisions $a_z$ and $a_x$ that isotropic beliefs would have, and the average variance of the input; `None` where it is known,
    /// or nothing is.
    pub fn state(&mut self) -> Result<Option<([f64; 2], f64)>, FactorError> {
        let v = self.input()?;
        if !(v > 0.0 && v.is_finite()) {
            return Ok(None);
        }
        let variance = self.per_output * v;
        let mut slope = 0.0;
        for (message, sent) in components(self.x).zip(components(self.sent_x)) {
            slope += pull(message, sent)?.1;
        }
        slope /= self.x.len() as f64;
        // slope = a/(1 + a V)
        let rest = 1.0 - slope * variance;
        let a_x = if rest > 0.0 {
            slope / rest
        } else {
            f64::INFINITY
        };
        let a_z = 1.0 / v - self.per_input * slope;
        Ok(Some(([a_z, a_x], v)))
    }
}
