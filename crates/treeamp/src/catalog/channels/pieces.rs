//! A whole and its pieces along one axis: concatenation puts inputs together, splitting takes an
//! input apart.
//!
//! With $a_i$ on the pieces, $a$ on the whole and shares $p_i = n_i/n$, the pieces learn what the whole
//! knows, $a_{f\to i} = a$, $b_{f\to i} = b_i$. The isotropic belief on the whole averages over them:
//! $v = \sum_i p_i/(a_i + a)$, $\;a_{f\to x} = \frac1v\sum_i p_i\frac{a_i}{a_i + a}$, and on piece $i$, with
//! $c_i = \frac{1}{v(a_i + a)}$, $\;b_{f\to x} = c_i b_i + d_i b$ where
//! $d_i = c_i - 1 = c_i\sum_j p_j\frac{a_j - a_i}{a_j + a}$.

use std::ops::Range;

use super::dense_pieces::{self, Places};
use crate::belief::{Gaussian, OverlapFields, Overlaps, SignalSpec, Structure, product_excess};
use crate::error::{FactorError, ShapeError, brief};
use crate::factor::{Averaged, GaussianFactor, Incoming};

/// Where the pieces lie in the whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pieces {
    /// Port of the whole; piece `i` is at `first + i`.
    pub whole: usize,
    pub first: usize,
    /// Real numbers of each piece in one of `rows` equal rows of the whole.
    widths: Vec<usize>,
    rows: usize,
    /// $p_i$.
    pub shares: Vec<f64>,
}

impl Pieces {
    /// Of signals along an axis; `whole` has the shape of all together.
    pub fn new(whole: &SignalSpec, sizes: &[usize], axis: usize, ports: (usize, usize)) -> Self {
        let total: usize = sizes.iter().sum();
        let rows: usize = whole.shape[..axis].iter().product();
        let unit = whole.len() / (rows * total);
        Self {
            whole: ports.0,
            first: ports.1,
            widths: sizes.iter().map(|s| s * unit).collect(),
            rows,
            shares: sizes.iter().map(|s| *s as f64 / total as f64).collect(),
        }
    }

    fn count(&self) -> usize {
        self.widths.len()
    }

    /// Calls `f(places in the whole, places in the piece)` for the runs of piece `i`.
    fn each_run(&self, i: usize, mut f: impl FnMut(Range<usize>, Range<usize>)) {
        let row: usize = self.widths.iter().sum();
        let start: usize = self.widths[..i].iter().sum();
        let width = self.widths[i];
        for r in 0..self.rows {
            let at = r * row + start;
            f(at..at + width, r * width..(r + 1) * width);
        }
    }

    pub fn extract(&self, i: usize, whole: &[f64], piece: &mut [f64]) {
        self.each_run(i, |from, to| piece[to].copy_from_slice(&whole[from]));
    }

    pub fn insert(&self, i: usize, piece: &[f64], whole: &mut [f64]) {
        self.each_run(i, |to, from| whole[to].copy_from_slice(&piece[from]));
    }

    pub fn message(
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
                return self.dense_message(incoming, target, out);
            }
        }
        if target != self.whole {
            let whole = incoming.get(self.whole);
            self.extract(target - self.first, &whole.linear, &mut out.linear);
            out.precision.set_scalar(whole.precision.scalar());
            return Ok(());
        }
        self.to_whole(incoming, out)
    }

    /// The message between diagonal beliefs, whose components are those of the other side.
    fn by_components(&self, incoming: Incoming<'_, Gaussian>, target: usize, out: &mut Gaussian) {
        if target == self.whole {
            for i in 0..self.count() {
                let piece = incoming.get(self.first + i);
                self.insert(i, &piece.linear, &mut out.linear);
                self.insert(i, piece.precision.data(), out.precision.data_mut());
            }
            return;
        }
        let (whole, i) = (incoming.get(self.whole), target - self.first);
        self.extract(i, &whole.linear, &mut out.linear);
        self.extract(i, whole.precision.data(), out.precision.data_mut());
    }

    /// Places of every piece in the whole.
    fn places(&self) -> Vec<Places> {
        let of = |i: usize| {
            let mut places = Places::new();
            self.each_run(i, |whole, _| places.extend(whole));
            places
        };
        (0..self.count()).map(of).collect()
    }

    fn dense_message(
        &self,
        incoming: Incoming<'_, Gaussian>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let pieces = (0..self.count()).map(|i| incoming.get(self.first + i));
        let pieces: Vec<&Gaussian> = pieces.collect();
        let (whole, places) = (incoming.get(self.whole), self.places());
        if target == self.whole {
            return dense_pieces::to_whole(&pieces, &places, out);
        }
        dense_pieces::to_piece(whole, &pieces, &places, target - self.first, out)
    }

    fn to_whole(
        &self,
        incoming: Incoming<'_, Gaussian>,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let whole = incoming.get(self.whole);
        let a = whole.precision.scalar();
        let piece = |i: usize| incoming.get(self.first + i);
        let precision = |i: usize| piece(i).precision.scalar();
        let pinned = (0..self.count()).filter(|i| piece(*i).is_pinned()).count();
        if pinned == self.count() {
            (0..pinned).for_each(|i| self.insert(i, &piece(i).linear, &mut out.linear));
            out.precision.set_scalar(f64::INFINITY);
            return Ok(());
        }
        if whole.is_pinned() {
            self.beside_a_pin(incoming, pinned > 0, out);
            return Ok(());
        }
        if let Some(i) = (0..self.count()).find(|i| precision(*i) + a < 0.0) {
            return Err(FactorError::Improper(format!(
                "piece {i} has precision {} and the whole {}",
                brief(precision(i)),
                brief(a)
            )));
        }
        if (0..self.count()).any(|i| precision(i) + a == 0.0) {
            out.set_flat();
            return Ok(());
        }
        let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
            (0..self.count())
                .map(|i| self.shares[i] * f(precision(i)))
                .sum()
        };
        let v = sum(&|ai| 1.0 / (ai + a));
        // a_i/(a_i + a) is 1 for a pinned piece
        let known = |ai: f64| {
            if ai == f64::INFINITY {
                1.0
            } else {
                ai / (ai + a)
            }
        };
        out.precision.set_scalar(sum(&known) / v);
        for i in 0..self.count() {
            let (ai, from) = (precision(i), piece(i));
            let (own, of_whole) = if ai == f64::INFINITY {
                // the piece's place m: b = m/v - b_whole
                (1.0 / v, -1.0)
            } else {
                let c = 1.0 / ((ai + a) * v);
                let gap = |aj: f64| {
                    if aj == f64::INFINITY {
                        1.0
                    } else {
                        (aj - ai) / (aj + a)
                    }
                };
                (c, c * sum(&gap))
            };
            self.each_run(i, |to, at| {
                let parts = from.linear[at].iter().zip(&whole.linear[to.clone()]);
                for (o, (b, w)) in out.linear[to].iter_mut().zip(parts) {
                    *o = own * b + of_whole * w;
                }
            });
        }
        Ok(())
    }

    /// The limit $a \to \infty$: $a_{f\to x} = \bar a = \sum_i p_i a_i$, $b_{f\to x} = b_i + (\bar a - a_i)m$. A pinned
    /// piece beside a pinned whole leaves nothing to say.
    fn beside_a_pin(&self, incoming: Incoming<'_, Gaussian>, silent: bool, out: &mut Gaussian) {
        out.set_flat();
        if silent {
            return;
        }
        let place = &incoming.get(self.whole).linear;
        let precision = |i: usize| incoming.get(self.first + i).precision.scalar();
        let mean: f64 = (0..self.count())
            .map(|i| self.shares[i] * precision(i))
            .sum();
        for i in 0..self.count() {
            let (gap, from) = (mean - precision(i), incoming.get(self.first + i));
            self.each_run(i, |to, at| {
                let parts = from.linear[at].iter().zip(&place[to.clone()]);
                for (o, (b, m)) in out.linear[to].iter_mut().zip(parts) {
                    *o = b + gap * m;
                }
            });
        }
        out.precision.set_scalar(mean);
    }

    /// $A = \sum_i \ln\int$ of piece $i$'s message times its part of the whole's, less their own potentials.
    ///
    /// # Errors
    /// Full beliefs that do not make one.
    pub fn excess(&self, incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
        let whole = incoming.get(self.whole);
        let diagonal = whole.structure() == Structure::Diagonal;
        if !diagonal && whole.structure() != Structure::Isotropic {
            let pieces = (0..self.count()).map(|i| incoming.get(self.first + i));
            let pieces: Vec<&Gaussian> = pieces.collect();
            return dense_pieces::excess(whole, &pieces, &self.places());
        }
        let pieces = (0..self.count()).map(|i| {
            let piece = incoming.get(self.first + i);
            let mut part = piece.clone();
            self.extract(i, &whole.linear, &mut part.linear);
            if diagonal {
                self.extract(i, whole.precision.data(), part.precision.data_mut());
            } else {
                part.precision.set_scalar(whole.precision.scalar());
            }
            let mut total = piece.clone();
            product_excess([piece, &part].into_iter(), &mut total)
        });
        Ok(pieces.sum())
    }

    /// The fields at piece `i` and at the whole, as two copies of a scalar.
    fn pair<T: Copy>(&self, i: usize, all: &[T]) -> [T; 2] {
        [all[self.first + i], all[self.whole]]
    }

    pub fn second_moment(&self, tau0_hat: &[f64], target: usize) -> f64 {
        let of = |i: usize| 1.0 / self.pair(i, tau0_hat).iter().sum::<f64>();
        if target == self.whole {
            self.shares.iter().enumerate().map(|(i, p)| p * of(i)).sum()
        } else {
            of(target - self.first)
        }
    }

    /// The average over the pieces of what two copies of a scalar have.
    pub fn mean(
        &self,
        at: Averaged<'_>,
        f: impl Fn(GaussianFactor, Averaged<'_>) -> Result<f64, FactorError>,
    ) -> Result<f64, FactorError> {
        let mut sum = 0.0;
        for (i, p) in self.shares.iter().enumerate() {
            let fields = self.pair(i, at.fields);
            let tau0_hat = self.pair(i, at.tau0_hat);
            let local = Averaged {
                fields: &fields,
                tau0_hat: &tau0_hat,
            };
            sum += p * f(GaussianFactor::copies(2), local)?;
        }
        Ok(sum)
    }

    pub fn overlaps(&self, at: Averaged<'_>, target: usize) -> Overlaps {
        let piece = |i: usize| {
            let fields = self.pair(i, at.fields);
            let a: f64 = fields.iter().map(OverlapFields::a).sum();
            Scalar {
                tau0: 1.0 / self.pair(i, at.tau0_hat).iter().sum::<f64>(),
                share: fields.iter().map(|f| f.m_hat).sum::<f64>() / a,
                noise: fields.iter().map(|f| f.q_hat).sum::<f64>() / (a * a),
                v: 1.0 / a,
            }
        };
        let chosen: Vec<(f64, Scalar)> = if target == self.whole {
            let pieces = self.shares.iter().enumerate();
            pieces.map(|(i, p)| (*p, piece(i))).collect()
        } else {
            vec![(1.0, piece(target - self.first))]
        };
        let mean =
            |f: &dyn Fn(&Scalar) -> f64| -> f64 { chosen.iter().map(|(p, t)| p * f(t)).sum() };
        let tau0 = mean(&|t| t.tau0);
        let m = mean(&|t| t.share * t.tau0);
        let c = m / tau0;
        Overlaps {
            m,
            v: mean(&|t| t.v),
            err: mean(&|t| (t.share - c).powi(2) * t.tau0 + t.noise),
            tau0,
        }
    }

    pub fn extrinsic_precision(&self, at: Averaged<'_>, target: usize) -> f64 {
        let a = |port: usize| at.fields[port].a();
        if target != self.whole {
            return a(self.whole);
        }
        let mean = |f: &dyn Fn(f64) -> f64| -> f64 {
            let pieces = self.shares.iter().enumerate();
            pieces.map(|(i, p)| p * f(a(self.first + i))).sum()
        };
        let whole = a(self.whole);
        if whole == f64::INFINITY {
            return mean(&|ai| ai);
        }
        let known = |ai: f64| {
            if ai == f64::INFINITY {
                1.0
            } else {
                ai / (ai + whole)
            }
        };
        mean(&known) / mean(&|ai| 1.0 / (ai + whole))
    }
}

/// What is averaged of one piece: $\tau_0$, and $r = $ `share` $x_0$ + noise of a variance, with variance $v$.
struct Scalar {
    tau0: f64,
    share: f64,
    noise: f64,
    v: f64,
}

/// The shape of signals put together along an axis.
pub(super) fn together(pieces: &[SignalSpec], axis: usize) -> Result<SignalSpec, ShapeError> {
    let first = &pieces[0];
    for (port, spec) in pieces.iter().enumerate() {
        let same = spec.element == first.element
            && spec.ratio.is_none()
            && spec.shape.len() == first.shape.len()
            && axis < spec.shape.len()
            && (0..spec.shape.len()).all(|a| a == axis || spec.shape[a] == first.shape[a]);
        if !same {
            let expected = format!("shape {first} but for axis {axis}, as the first piece");
            return Err(ShapeError {
                port,
                expected,
                got: format!("shape {spec}"),
            });
        }
    }
    let mut whole = first.clone();
    whole.shape[axis] = pieces.iter().map(|p| p.shape[axis]).sum();
    Ok(whole)
}
