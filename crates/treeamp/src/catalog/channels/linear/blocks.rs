//! The linear channel on rows, $X = W Z$ with $Z \in \mathbb R^{N \times K}$, between block beliefs: one $K \times K$ matrix per side,
//! averaged over rows.
//!
//! With the moments $(r_i, V_i)$ of row $i$ in the product of what comes in and the channel's own last message $(A', b'_i)$, and
//! $V = \frac1N\sum_i V_i$, each side is taken as $A = V^{-1} - A'$ and $b_i = V^{-1}r_i - b'_i$: one matrix for all rows, of which the average
//! covariance and the means are those of the rows. Rows that come in with one matrix stay as they are.
//!
//! Then columns come apart. With the mean eigenvalue $t$ of $W^TW$, $A_z + tA_x = PP^T$ and $P^{-1}A_xP^{-T}$ diagonal, $z'_i = P^Tz_i$ has independent
//! columns, whose precisions on both sides are numbers. Each is the channel between isotropic beliefs, by whichever way that takes, and
//! its messages $a', b'$ make $A' = P\,\mathrm{diag}(a')P^T$, $b'_i = P b'$.
//!
//! The log-partition is that between the two averaged messages, plus on each side what the product of the rows that came in with the
//! last message has beyond that of the averaged ones: the Bethe sum is stationary where moments agree on average.

use faer::Mat;

use super::{Linear, X, Z};
use crate::belief::{Form, Gaussian, Message as _, SignalSpec, Structure, product_excess};
use crate::error::FactorError;
use crate::factor::{Context, Factor, Incoming, PosteriorRule, Workspace};
use crate::math::dense::{Congruence, cholesky, log_det, square, store};
use crate::math::small;
use crate::operator::applied;

/// The memory of every column.
#[derive(Debug, Clone)]
pub(super) struct BlockWork(Vec<Workspace>);

impl BlockWork {
    pub fn new(channel: &Linear, columns: usize) -> Self {
        let specs = channel.column_specs();
        Self(vec![channel.workspace(&specs); columns])
    }
}

impl Linear {
    /// The signals at both ends of one column.
    fn column_specs(&self) -> [SignalSpec; 2] {
        let operator = self.operator();
        [operator.input(), operator.output()].map(|s| SignalSpec {
            structure: Structure::Isotropic,
            ..s.clone()
        })
    }
}

/// Whether both ends have block beliefs.
pub(super) fn has_blocks(z: &Gaussian) -> bool {
    matches!(z.structure(), Structure::Block { .. })
}

/// A message with one matrix for all rows.
struct Shared {
    /// `None` where all rows are exactly known.
    precision: Option<Mat<f64>>,
    /// The linear part of all rows, or their places.
    linear: Vec<f64>,
    /// It is not the message that came in.
    averaged: bool,
}

impl Shared {
    fn of(incoming: &Gaussian, sent: Option<&Gaussian>) -> Result<Self, FactorError> {
        if incoming.is_pinned() {
            return Ok(Self {
                precision: None,
                linear: incoming.linear.clone(),
                averaged: false,
            });
        }
        if let Some(precision) = common_precision(incoming) {
            return Ok(Self {
                precision: Some(precision),
                linear: incoming.linear.clone(),
                averaged: false,
            });
        }
        Self::average(incoming, sent.filter(|m| !m.has_moments()))
    }

    fn average(incoming: &Gaussian, sent: Option<&Gaussian>) -> Result<Self, FactorError> {
        let (k, rows) = (
            incoming.len() / incoming.block_count(),
            incoming.block_count(),
        );
        let mut total = incoming.clone();
        sent.into_iter().for_each(|m| total.add_assign(m));
        let mut mean = vec![0.0; total.len()];
        let (mut sum, mut v) = (vec![0.0; k * k], vec![0.0; k * k]);
        for i in 0..rows {
            let (form, matrix, vector) = total.block_mut(i);
            let mean = &mut mean[i * k..(i + 1) * k];
            if *form == Form::Moments {
                mean.copy_from_slice(vector);
                v.copy_from_slice(matrix);
            } else {
                if small::invert(matrix, k, &mut v).is_none() {
                    return Err(FactorError::Improper(format!(
                        "the belief on row {i} has a precision matrix that is not positive definite"
                    )));
                }
                small::times(&v, vector, mean);
            }
            sum.iter_mut()
                .zip(&v)
                .for_each(|(s, v)| *s += v / rows as f64);
        }
        if sum.iter().all(|v| *v == 0.0) {
            return Ok(Self {
                precision: None,
                linear: mean,
                averaged: true,
            });
        }
        if small::invert(&sum, k, &mut v).is_none() {
            return Err(FactorError::Unsupported(
                "its rows are exactly known in some directions and not in others: expected beliefs with a covariance of full rank"
                    .to_owned(),
            ));
        }
        let mut linear = vec![0.0; mean.len()];
        for (b, r) in linear.chunks_exact_mut(k).zip(mean.chunks_exact(k)) {
            small::times(&v, r, b);
        }
        if let Some(sent) = sent {
            linear
                .iter_mut()
                .zip(&sent.linear)
                .for_each(|(b, own)| *b -= own);
            for own in sent.precision.data().chunks_exact(k * k) {
                v.iter_mut()
                    .zip(own)
                    .for_each(|(a, own)| *a -= own / rows as f64);
            }
        }
        Ok(Self {
            precision: Some(square(&v, k).to_owned()),
            linear,
            averaged: true,
        })
    }

    fn is_flat(&self) -> bool {
        let zero = |a: &Mat<f64>| a.norm_max() == 0.0;
        self.precision.as_ref().is_some_and(zero) && self.linear.iter().all(|b| *b == 0.0)
    }

    /// As a message, of the shape of the one that came in.
    fn message(&self, like: &Gaussian) -> Gaussian {
        let mut out = like.clone();
        out.set_flat();
        match &self.precision {
            None => out.set_precision(f64::INFINITY),
            Some(a) => {
                for i in 0..out.block_count() {
                    store(a.as_ref(), out.block_mut(i).1);
                }
            }
        }
        out.linear.copy_from_slice(&self.linear);
        out
    }
}

/// The one precision matrix of all rows; `None` where they differ.
fn common_precision(m: &Gaussian) -> Option<Mat<f64>> {
    let k = m.len() / m.block_count();
    let mut rows = m.precision.data().chunks_exact(k * k);
    let first = rows.next()?;
    let same = rows.all(|row| row == first);
    (same && !m.has_moments()).then(|| square(first, k).to_owned())
}

/// The basis in which columns are independent.
struct Basis {
    /// $P$, its inverse, and $\ln|\det P|$.
    p: Vec<f64>,
    inverse: Vec<f64>,
    log_det: f64,
    /// Precisions of the columns at both ends; infinite of an output that is known.
    precisions: [Vec<f64>; 2],
}

impl Basis {
    /// `mean` is the mean eigenvalue of $W^T W$.
    fn new(z: &Mat<f64>, x: Option<&Mat<f64>>, mean: f64) -> Result<Self, FactorError> {
        let n = z.nrows();
        let improper = || {
            FactorError::Improper(
                "the precision matrices on its input and on its output leave a negative variance"
                    .to_owned(),
            )
        };
        let zero = Mat::zeros(n, n);
        let sum = z + faer::Scale(mean) * x.unwrap_or(&zero);
        let modes =
            Congruence::new(sum.as_ref(), x.unwrap_or(&zero).as_ref()).map_err(|_| improper())?;
        let factor = cholesky(sum.as_ref()).ok_or_else(improper)?;
        let mut p = vec![0.0; n * n];
        store(modes.basis(), &mut p);
        let mut inverse = vec![0.0; n * n];
        (0..n).for_each(|i| inverse[i * n + i] = 1.0);
        small::solve(&mut p.clone(), n, &mut inverse, n).ok_or_else(improper)?;
        // P⁻¹ A P⁻ᵀ, directly: 1 - t d has no digits where d is large
        let along = |a: &Mat<f64>| -> Vec<f64> {
            let entry =
                |k: usize, i: usize, j: usize| inverse[k * n + i] * a[(i, j)] * inverse[k * n + j];
            let sum = |k: usize| {
                (0..n)
                    .flat_map(|i| (0..n).map(move |j| (i, j)))
                    .map(|(i, j)| entry(k, i, j))
                    .sum()
            };
            (0..n).map(sum).collect()
        };
        let outputs = x.map_or_else(|| vec![f64::INFINITY; n], along);
        Ok(Self {
            log_det: 0.5 * log_det(&factor),
            precisions: [along(z), outputs],
            p,
            inverse,
        })
    }

    fn dim(&self) -> usize {
        self.precisions[Z].len()
    }

    /// Column `k` of a message: $b' = P^{-1}b$, or of places $x' = P^Tx$.
    fn column(&self, m: &Shared, port: usize, k: usize, spec: &SignalSpec) -> Gaussian {
        let n = self.dim();
        let mut out = Gaussian::flat(spec);
        let weight = |l: usize| {
            if m.precision.is_none() {
                self.p[l * n + k]
            } else {
                self.inverse[k * n + l]
            }
        };
        for (b, row) in out.linear.iter_mut().zip(m.linear.chunks_exact(n)) {
            *b = row.iter().enumerate().map(|(l, x)| weight(l) * x).sum();
        }
        out.set_precision(self.precisions[port][k]);
        out
    }

    /// The messages of the columns as one of rows.
    fn gather(&self, columns: &[Gaussian], out: &mut Gaussian) -> Result<(), FactorError> {
        let n = self.dim();
        let known = columns.iter().filter(|c| c.is_pinned()).count();
        if known > 0 && known < n {
            return Err(FactorError::Unsupported(
                "its rows become exactly known in some directions and not in others: expected some noise".to_owned(),
            ));
        }
        // places: z = P⁻ᵀ z'
        let weight = |l: usize, k: usize| {
            if known > 0 {
                self.inverse[k * n + l]
            } else {
                self.p[l * n + k]
            }
        };
        out.set_flat();
        for (i, row) in out.linear.chunks_exact_mut(n).enumerate() {
            for (l, b) in row.iter_mut().enumerate() {
                *b = (0..n).map(|k| weight(l, k) * columns[k].linear[i]).sum();
            }
        }
        if known > 0 {
            out.set_precision(f64::INFINITY);
            return Ok(());
        }
        let entry = |i: usize, j: usize| {
            let terms = (0..n)
                .map(|k| self.p[i * n + k] * columns[k].precision.scalar() * self.p[j * n + k]);
            terms.sum::<f64>()
        };
        let made = Mat::from_fn(n, n, |i, j| entry(i.max(j), i.min(j)));
        for i in 0..out.block_count() {
            store(made.as_ref(), out.block_mut(i).1);
        }
        Ok(())
    }
}

/// The channel between its messages.
pub(super) struct Blocks<'a, 'c> {
    channel: &'a Linear,
    context: &'a mut Context<'c>,
    ends: [Shared; 2],
}

impl<'a, 'c> Blocks<'a, 'c> {
    pub fn new(channel: &'a Linear, context: &'a mut Context<'c>) -> Result<Self, FactorError> {
        let sent = |port: usize| context.sent.map(|s| s.get(port));
        let end = |port: usize| Shared::of(context.incoming.get(port), sent(port));
        let ends = [end(Z)?, end(X)?];
        Ok(Self {
            channel,
            context,
            ends,
        })
    }

    fn basis(&self) -> Result<Basis, FactorError> {
        let [z, x] = &self.ends;
        let operator = self.channel.operator();
        let ratio = operator.output().len() as f64 / operator.input().len() as f64;
        let mean = ratio * self.channel.second_moment(1.0);
        match &z.precision {
            Some(a) => Basis::new(a, x.precision.as_ref(), mean),
            None => Err(FactorError::Failed(
                "an exactly known input has no basis".to_owned(),
            )),
        }
    }

    /// Calls `f` with the messages on every column, and its memory.
    fn each<T>(
        &mut self,
        basis: &Basis,
        mut f: impl FnMut(&Linear, &mut Context<'_>) -> Result<T, FactorError>,
    ) -> Result<Vec<T>, FactorError> {
        let (channel, k) = (self.channel, basis.dim());
        let specs = channel.column_specs();
        let work = self
            .context
            .workspace
            .get_or_make(|| BlockWork::new(channel, k))?;
        let columns = work.0.iter_mut().enumerate();
        let made = columns.map(|(k, workspace)| {
            let messages = [Z, X].map(|port| basis.column(&self.ends[port], port, k, &specs[port]));
            f(
                channel,
                &mut Context::new(Incoming::new(&messages, &[Z, X]), workspace),
            )
        });
        made.collect()
    }

    pub fn message(mut self, target: usize, out: &mut Gaussian) -> Result<(), FactorError> {
        let [z, x] = &self.ends;
        if z.is_flat() && x.is_flat() {
            out.set_flat();
            return Ok(());
        }
        if z.precision.is_none() {
            out.set_flat();
            if target == X {
                out.linear = applied(self.channel.operator(), &z.linear);
                out.set_precision(f64::INFINITY);
            }
            return Ok(());
        }
        let basis = self.basis()?;
        let sent = self.each(&basis, |channel, context| {
            let mut out = context.incoming.get(target).clone();
            PosteriorRule::message(channel, context, target, &mut out)?;
            Ok(out)
        })?;
        basis.gather(&sent, out)
    }

    /// Of the averaged messages, with $A$ the sum over columns less $N\ln|\det P|$; then what averaging left out.
    pub fn excess(mut self) -> Result<f64, FactorError> {
        let incoming = self.context.incoming;
        let made = [Z, X].map(|port| self.ends[port].message(incoming.get(port)));
        let mut sum = if self.ends[Z].precision.is_none() {
            let place = applied(self.channel.operator(), &self.ends[Z].linear);
            if self.ends[X].precision.is_none() {
                return Ok(f64::INFINITY);
            }
            made[X].normalised_log_value(&place)
        } else {
            let basis = self.basis()?;
            let terms = self.each(&basis, |channel, context| {
                let own = context.incoming.iter().map(Gaussian::own_potential);
                Ok(channel.excess(context)? + own.sum::<f64>())
            })?;
            let rows = |port: usize| incoming.get(port).block_count() as f64;
            // densities on x carry the volume of its own coordinates
            let volume = if self.ends[X].precision.is_none() {
                rows(X) - rows(Z)
            } else {
                -rows(Z)
            };
            let own: f64 = made.iter().map(Gaussian::own_potential).sum();
            terms.iter().sum::<f64>() + volume * basis.log_det - own
        };
        for port in [Z, X] {
            if let Some(sent) = self.context.sent.filter(|_| self.ends[port].averaged) {
                let (came, sent) = (incoming.get(port), sent.get(port));
                let mut scratch = came.clone();
                sum += product_excess([came, sent].into_iter(), &mut scratch);
                sum -= product_excess([&made[port], sent].into_iter(), &mut scratch);
            }
        }
        Ok(sum)
    }

    /// The errors of the columns, by squares.
    pub fn error(mut self) -> Result<f64, FactorError> {
        if self.ends[Z].precision.is_none() {
            return Ok(0.0);
        }
        let basis = self.basis()?;
        let errors = self.each(&basis, |channel, context| {
            Ok(channel.log_partition_error(context))
        })?;
        Ok(errors.iter().map(|e| e * e).sum::<f64>().sqrt())
    }
}
