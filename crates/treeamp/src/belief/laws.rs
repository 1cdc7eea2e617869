//! The group laws of Gaussian messages, structure by structure.

use super::block::BlockMut;
use super::{Gaussian, Message, Structure};

impl Message for Gaussian {
    fn copy_from(&mut self, other: &Self) {
        self.precision
            .data_mut()
            .copy_from_slice(other.precision.data());
        self.linear.copy_from_slice(&other.linear);
        self.forms.copy_from_slice(&other.forms);
    }

    fn set_flat(&mut self) {
        Gaussian::set_flat(self);
    }

    /// $a' < 0$ becomes $0$, and $b' = r a - b$ with the mean $r = (b + b')/(a + a')$; isotropic and diagonal messages.
    fn lift(&mut self, cavity: &Self) {
        let kept = |a: f64, own: f64| (own < 0.0 && a + own > 0.0).then(|| a / (a + own));
        match self.structure() {
            Structure::Isotropic if !self.is_pinned() && !cavity.is_pinned() => {
                let (a, own) = (cavity.precision.data()[0], self.precision.data()[0]);
                let Some(kept) = kept(a, own) else {
                    return;
                };
                for (x, b) in self.linear.iter_mut().zip(&cavity.linear) {
                    *x = (b + *x) * kept - b;
                }
                self.precision.data_mut()[0] = 0.0;
            }
            Structure::Diagonal => {
                let own = self.precision.data_mut().iter_mut().zip(&mut self.linear);
                let others = cavity.precision.data().iter().zip(&cavity.linear);
                for ((own, x), (a, b)) in own.zip(others).filter(|(_, (a, _))| a.is_finite()) {
                    if let Some(kept) = kept(*a, *own) {
                        *x = (b + *x) * kept - b;
                        *own = 0.0;
                    }
                }
            }
            _ => {}
        }
    }

    fn bound(&mut self, cavity: &Self) {
        if self.structure() != Structure::Diagonal {
            return;
        }
        let pairs = self.precision.data().iter().zip(cavity.precision.data());
        let beliefs = pairs.map(|(own, a)| own + a).filter(|a| *a > 0.0);
        let largest = beliefs.fold(f64::INFINITY, f64::min) / f64::EPSILON.sqrt();
        let own = self.precision.data_mut().iter_mut().zip(&mut self.linear);
        for (a, b) in own.filter(|(a, _)| a.is_finite() && **a > largest) {
            *b *= largest / *a;
            *a = largest;
        }
    }

    /// A pin absorbs whatever is added to it.
    fn add_assign(&mut self, other: &Self) {
        match self.structure() {
            Structure::Isotropic => {
                if self.is_pinned() {
                    return;
                }
                if other.is_pinned() {
                    self.copy_from(other);
                    return;
                }
                self.precision.data_mut()[0] += other.precision.data()[0];
                for (x, y) in self.linear.iter_mut().zip(&other.linear) {
                    *x += y;
                }
            }
            Structure::Diagonal => {
                let parts = self.precision.data_mut().iter_mut().zip(&mut self.linear);
                let others = other.precision.data().iter().zip(&other.linear);
                for ((a, b), (c, d)) in parts.zip(others) {
                    if *a == f64::INFINITY {
                        continue;
                    }
                    *b = if *c == f64::INFINITY { *d } else { *b + d };
                    *a += c;
                }
            }
            _ => {
                for k in 0..self.forms.len() {
                    let (form, matrix, vector) = self.block_mut(k);
                    let mut own = BlockMut {
                        form,
                        matrix,
                        vector,
                    };
                    own.add(other.block(k));
                }
            }
        }
    }

    /// A pin is not blended: it is true or it is not. Dense blocks blend in the form they have; a block that changes
    /// its form is taken as it is.
    fn blend(&mut self, previous: &Self, damping: f64) {
        let blend = |x: &mut f64, y: &f64| *x += damping * (y - *x);
        match self.structure() {
            Structure::Isotropic => {
                if self.is_pinned() || previous.is_pinned() {
                    return;
                }
                blend(
                    &mut self.precision.data_mut()[0],
                    &previous.precision.data()[0],
                );
                let pairs = self.linear.iter_mut().zip(&previous.linear);
                pairs.for_each(|(x, y)| blend(x, y));
            }
            Structure::Diagonal => {
                let parts = self.precision.data_mut().iter_mut().zip(&mut self.linear);
                let others = previous.precision.data().iter().zip(&previous.linear);
                for ((a, b), (c, d)) in parts.zip(others) {
                    if *a != f64::INFINITY && *c != f64::INFINITY {
                        blend(a, c);
                        blend(b, d);
                    }
                }
            }
            _ => {
                for k in 0..self.forms.len() {
                    let old = previous.block(k);
                    let pinned = self.block(k).is_pinned() || old.is_pinned();
                    if pinned || self.forms[k] != old.form {
                        continue;
                    }
                    let (_, matrix, vector) = self.block_mut(k);
                    let n = vector.len();
                    for (i, row) in matrix.chunks_exact_mut(n).enumerate() {
                        for (j, x) in row.iter_mut().enumerate() {
                            blend(x, &old.matrix[(i, j)]);
                        }
                        blend(&mut vector[i], &old.vector[i]);
                    }
                }
            }
        }
    }

    fn components(&self) -> usize {
        self.linear.len()
    }

    fn structure(&self) -> Structure {
        Gaussian::structure(self)
    }

    fn is_flat(&self) -> bool {
        Gaussian::is_flat(self)
    }

    fn overwhelms(&self, other: &Self) -> bool {
        let pairs = self.precision.data().iter().zip(other.precision.data());
        if self.forms.is_empty() {
            pairs
                .into_iter()
                .all(|(own, other)| *own == f64::INFINITY || *own > 1e12 * other.abs())
        } else {
            self.is_pinned()
        }
    }

    fn numbers(&self) -> Option<(&[f64], &[f64])> {
        let finite = self.precision.data().iter().all(|a| a.is_finite());
        (finite && !self.has_moments()).then(|| (self.precision.data(), self.linear.as_slice()))
    }

    fn set_numbers(&mut self, precision: &[f64], linear: &[f64]) {
        self.precision.data_mut().copy_from_slice(precision);
        self.linear.copy_from_slice(linear);
    }

    fn is_finite(&self) -> bool {
        let exact = self.forms.is_empty();
        let fine = |a: &f64| a.is_finite() || (exact && *a == f64::INFINITY);
        self.precision.data().iter().all(fine) && self.linear.iter().all(|b| b.is_finite())
    }
}
