//! A Gaussian belief $p(x) \propto e^{-\frac12 x^T a x + b^T x}$ as a message.

use std::f64::consts::TAU;

use super::Message;
use super::{SignalSpec, SymMatrix};

/// Natural parameters $(a, b)$ of a Gaussian.
///
/// An isotropic precision of $+\infty$ *pins* the variable: the message is $\delta(x - m)$, and
/// `linear` holds the place $m$. The group laws below are the only code that knows about pins
/// outside the factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Gaussian {
    /// Precision $a$.
    pub precision: SymMatrix,
    /// Linear coefficient $b$, or the place of a pin.
    pub linear: Vec<f64>,
}

impl Gaussian {
    /// The flat belief, which says nothing.
    #[must_use]
    pub fn flat(spec: &SignalSpec) -> Self {
        Self {
            precision: SymMatrix::zeros(spec),
            linear: vec![0.0; spec.len()],
        }
    }

    /// Number of real components.
    #[must_use]
    pub fn len(&self) -> usize {
        self.linear.len()
    }

    /// There is no component.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// The precision is infinite, and `linear` is a place.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.precision.data()[0] == f64::INFINITY
    }

    /// The belief says nothing at all.
    #[must_use]
    pub fn is_flat(&self) -> bool {
        self.precision
            .data()
            .iter()
            .chain(&self.linear)
            .all(|x| *x == 0.0)
    }

    /// What turns `linear` into the mean: $1/a$, or 1 for a pin.
    #[must_use]
    pub fn mean_scale(&self) -> f64 {
        if self.is_pinned() {
            1.0
        } else {
            1.0 / self.precision.scalar()
        }
    }

    /// Makes it flat.
    pub fn set_flat(&mut self) {
        self.precision.data_mut().fill(0.0);
        self.linear.fill(0.0);
    }

    /// Isotropic log-partition $A = \frac{\|b\|^2}{2a} + \frac n2 \ln\frac{2\pi}{a}$; 0 for a pin.
    /// $+\infty$ for an improper belief.
    #[must_use]
    pub fn log_partition(&self) -> f64 {
        let a = self.precision.scalar();
        if a == f64::INFINITY {
            return 0.0;
        }
        if a <= 0.0 {
            return f64::INFINITY;
        }
        let n = self.linear.len() as f64;
        let square: f64 = self.linear.iter().map(|b| b * b).sum();
        0.5 * square / a + 0.5 * n * (TAU / a).ln()
    }

    /// The log-partition of a proper message, 0 for a pinned, flat or improper one: what
    /// [`product_excess`] and the excess of a factor leave out.
    #[must_use]
    pub fn own_potential(&self) -> f64 {
        if self.precision.scalar() > 0.0 {
            self.log_partition()
        } else {
            0.0
        }
    }

    /// $\ln g(m) - A(g) = -\frac12 a\|m - b/a\|^2 - \frac n2\ln\frac{2\pi}a$ of a proper finite message;
    /// [`log_value`](Self::log_value) of a flat or improper one.
    #[must_use]
    pub fn normalised_log_value(&self, place: &[f64]) -> f64 {
        let a = self.precision.scalar();
        if a <= 0.0 {
            return self.log_value(place);
        }
        let gaps = self
            .linear
            .iter()
            .zip(place)
            .map(|(b, m)| (m - b / a).powi(2));
        -0.5 * a * gaps.sum::<f64>() - 0.5 * self.len() as f64 * (TAU / a).ln()
    }

    /// $\ln g(m) = -\frac12 a\|m\|^2 + b^T m$ of the (unnormalised, isotropic, finite) message.
    #[must_use]
    pub fn log_value(&self, place: &[f64]) -> f64 {
        let a = self.precision.scalar();
        self.linear
            .iter()
            .zip(place)
            .map(|(b, m)| m * (b - 0.5 * a * m))
            .sum()
    }
}

/// What a product of messages adds to the potentials of its members:
/// $\ln\int\prod_k m_k - \sum_k A(m_k)$, where $A(m) = \ln\int m$ for a proper message and 0 for a
/// pinned, flat or improper one. Centred at the mean of the product, so that potentials of order
/// $a\|r\|^2$ never meet; that mean is known as its distance from the most precise member's, because a
/// precision of 1e60 would multiply its rounding. `total` is scratch.
pub fn product_excess<'a>(
    messages: impl Iterator<Item = &'a Gaussian> + Clone,
    total: &mut Gaussian,
) -> f64 {
    total.set_flat();
    messages.clone().for_each(|m| total.add_assign(m));
    let pins = messages.clone().filter(|m| m.is_pinned()).count();
    let a = total.precision.scalar();
    if pins > 1 || a <= 0.0 {
        return f64::INFINITY;
    }
    if pins == 1 {
        let others = messages.filter(|m| !m.is_pinned());
        return others.map(|m| m.normalised_log_value(&total.linear)).sum();
    }
    let precision = |m: &Gaussian| m.precision.scalar();
    let by_precision =
        |x: &(usize, &Gaussian), y: &(usize, &Gaussian)| precision(x.1).total_cmp(&precision(y.1));
    let Some((top, sharp)) = messages.clone().enumerate().max_by(by_precision) else {
        return f64::INFINITY;
    };
    let (n, scale) = (total.len() as f64, 1.0 / precision(sharp));
    let others = messages.enumerate().filter(|(k, _)| *k != top);
    total.linear.fill(0.0);
    for (_, m) in others.clone() {
        let parts = m.linear.iter().zip(&sharp.linear);
        for (d, (b, centre)) in total.linear.iter_mut().zip(parts) {
            *d += (b - precision(m) * (centre * scale)) / a;
        }
    }
    let square: f64 = total.linear.iter().map(|d| d * d).sum();
    let mut excess = 0.5 * n * (precision(sharp) / a).ln() - 0.5 * precision(sharp) * square;
    for (_, m) in others {
        let (own, parts) = (precision(m), m.linear.iter().zip(&sharp.linear));
        let parts = parts.zip(&total.linear);
        excess += if own > 0.0 {
            let gaps = parts.map(|((b, centre), d)| (b / own - centre * scale - d).powi(2));
            -0.5 * own * gaps.sum::<f64>() - 0.5 * n * (TAU / own).ln()
        } else {
            let values = parts.map(|((b, centre), d)| (b, centre * scale + d));
            values.map(|(b, x)| x * (b - 0.5 * own * x)).sum::<f64>()
        };
    }
    excess
}

impl Message for Gaussian {
    fn copy_from(&mut self, other: &Self) {
        self.precision
            .data_mut()
            .copy_from_slice(other.precision.data());
        self.linear.copy_from_slice(&other.linear);
    }

    fn set_flat(&mut self) {
        Gaussian::set_flat(self);
    }

    /// A pin absorbs whatever is added to it.
    fn add_assign(&mut self, other: &Self) {
        if self.is_pinned() {
            return;
        }
        if other.is_pinned() {
            self.copy_from(other);
            return;
        }
        for (x, y) in self
            .precision
            .data_mut()
            .iter_mut()
            .zip(other.precision.data())
        {
            *x += y;
        }
        for (x, y) in self.linear.iter_mut().zip(&other.linear) {
            *x += y;
        }
    }

    /// A pin is not blended: it is true or it is not.
    fn blend(&mut self, previous: &Self, damping: f64) {
        if self.is_pinned() || previous.is_pinned() {
            return;
        }
        for (x, y) in self
            .precision
            .data_mut()
            .iter_mut()
            .zip(previous.precision.data())
        {
            *x += damping * (y - *x);
        }
        for (x, y) in self.linear.iter_mut().zip(&previous.linear) {
            *x += damping * (y - *x);
        }
    }

    fn components(&self) -> usize {
        self.linear.len()
    }

    fn is_flat(&self) -> bool {
        Gaussian::is_flat(self)
    }

    fn overwhelms(&self, other: &Self) -> bool {
        let (own, other) = (self.precision.scalar(), other.precision.scalar());
        own == f64::INFINITY || own > 1e12 * other.abs()
    }

    fn numbers(&self) -> Option<(&[f64], &[f64])> {
        let finite = self.precision.data().iter().all(|a| a.is_finite());
        finite.then(|| (self.precision.data(), self.linear.as_slice()))
    }

    fn set_numbers(&mut self, precision: &[f64], linear: &[f64]) {
        self.precision.data_mut().copy_from_slice(precision);
        self.linear.copy_from_slice(linear);
    }

    fn is_finite(&self) -> bool {
        let precision_ok = self.precision.data().iter().all(|a| a.is_finite());
        (precision_ok || self.is_pinned()) && self.linear.iter().all(|b| b.is_finite())
    }
}
