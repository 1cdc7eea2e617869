//! The linear channel between beliefs that are not both isotropic, by dense algebra on the smaller side.
//!
//! With $T = W S_z W^T$ the covariance of $x$ as $z$ has it, $\mu = W m_z$ its mean, and $(S_x, m_x)$ or $(a_x, b_x)$ the message
//! on $x$, the *dual* solution works on the $M$ outputs:
//! $C = S_x + T$, $u = C^{-1}(m_x - \mu)$, or, where $x$ has no covariance, $Y = (I + T a_x)^{-1}$. The *primal* one works on the
//! $N$ inputs, $\Sigma = (a_z + W^T a_x W)^{-1}$, and needs no covariance of $z$. Extrinsic messages, component by component:
//!
//! - dual to $z$: $k_i = (W^T C^{-1}W)_{ii}$, $a' = \frac{k_i}{1 - s_i k_i}$, $b' = \frac{k_i m_i + (W^T u)_i}{1 - s_i k_i}$,
//! - dual to $x$: $a' = \frac{(C^{-1})_{ii}}{t_i}$, $b' = a' m_i - \frac{u_i}{t_i}$ with $t_i = (C^{-1}T)_{ii}$, or
//!   $a' = \frac{Y_{ii}}{(YT)_{ii}}$,
//! - primal to $z$, $G = W^T a_x W$: $a' = \frac{(\Sigma G)_{ii}}{\Sigma_{ii}}$, $b' = h_i + \frac1{\Sigma_{ii}}\sum_{j\ne i}\Sigma_{ij}(b_j + h_j)$, $h = W^T b_x$.
//!
//! An isotropic end has the averages over its components in place of the diagonal entries. A full end needs no extrinsic
//! formula: $a' = W^T a_x W$, or $S' = W S_z W^T$ in moment form, of whatever rank.

use std::f64::consts::TAU;

use faer::linalg::solvers::{Solve, SolveLstsq};
use faer::{Mat, MatRef};

use super::extrinsic::{Dual, Output, Primal};
use super::spread::{as_density, as_natural, as_natural_as_given, as_safe_density};
use super::{X, Z};
use crate::belief::{Form, Gaussian, Structure};
use crate::error::FactorError;
use crate::math::dense::{
    cholesky, column, conditioned, dot, inverse, is_covariance, log_det, store, store_vector,
    symmetrised,
};

/// The matrix and the two messages.
pub(super) struct Structured<'a> {
    pub w: MatRef<'a, f64>,
    pub z: &'a Gaussian,
    pub x: &'a Gaussian,
}

/// $W^T W$ can be inverted.
pub(super) fn has_column_rank(w: MatRef<'_, f64>) -> bool {
    w.nrows() >= w.ncols() && cholesky((w.transpose() * w).as_ref()).is_some()
}

fn improper(what: &str) -> FactorError {
    FactorError::Improper(format!("{what} leave a negative variance"))
}

impl Structured<'_> {
    pub fn message(&self, target: usize, out: &mut Gaussian) -> Result<(), FactorError> {
        if self.z.is_flat() && self.x.is_flat() {
            out.set_flat();
            return Ok(());
        }
        if out.structure() == Structure::Full {
            return if target == Z {
                self.full_input(out)
            } else {
                self.full_output(out)
            };
        }
        let outputs_fewer = self.w.nrows() <= self.w.ncols();
        let needs_dual = as_natural(self.x).is_none() || as_natural(self.z).is_none();
        if (outputs_fewer || needs_dual)
            && let Some(dual) = self.dual(needs_dual)?
        {
            if target == X {
                dual.to_output(out);
                return Ok(());
            }
            if dual.to_input(self.w, out, needs_dual) {
                return Ok(());
            }
        }
        match self.primal() {
            Ok(primal) if target == Z => primal.to_input(out),
            Ok(primal) => primal.to_output(self.w, out),
            // what is not seen of a flat input stays unknown
            Err(FactorError::Improper(_)) if target == Z && self.z.is_flat() => out.set_flat(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// $a' = W^T a_x W$, $b' = W^T b_x$; an exact $x$ that $W$ determines pins $z$.
    fn full_input(&self, out: &mut Gaussian) -> Result<(), FactorError> {
        if let Some((a, b)) = as_natural(self.x) {
            out.set_flat();
            let (_, matrix, vector) = out.block_mut(0);
            let gram = self.w.transpose() * a.left_of(self.w);
            store(symmetrised(gram.as_ref()).as_ref(), matrix);
            store_vector((self.w.transpose() * b).as_ref(), vector);
            return Ok(());
        }
        if !(self.x.is_pinned() && has_column_rank(self.w)) {
            return Err(FactorError::Unsupported(
                "a full belief on its input has no form for an exactly known part of its output: expected noise on the \
                 output, or an isotropic belief on its input"
                    .to_owned(),
            ));
        }
        let place = column(&self.x.linear);
        let found = self.w.qr().solve_lstsq(place);
        let gap = place - self.w * &found;
        if gap.norm_l2() > 1e-6 * place.norm_l2() {
            return Err(FactorError::Contradiction(
                "the exactly known output lies outside the range of the matrix".to_owned(),
            ));
        }
        store_vector(found.as_ref(), &mut out.linear);
        out.set_precision(f64::INFINITY);
        Ok(())
    }

    /// $S' = W S_z W^T$, $m' = W m_z$.
    fn full_output(&self, out: &mut Gaussian) -> Result<(), FactorError> {
        if self.z.is_flat() {
            out.set_flat();
            return Ok(());
        }
        let Some((s, m)) = as_density(self.z) else {
            return Err(improper("the precisions on its input alone"));
        };
        let t = s.right_of(self.w) * self.w.transpose();
        let (form, matrix, vector) = out.block_mut(0);
        *form = Form::Moments;
        store(symmetrised(t.as_ref()).as_ref(), matrix);
        store_vector((self.w * m).as_ref(), vector);
        Ok(())
    }

    /// The dual solution; `None` without a covariance of $z$, or when $x$ has to be read by natural parameters and
    /// cannot. An error when it has to be had and is not there.
    fn dual(&self, needed: bool) -> Result<Option<Dual>, FactorError> {
        let Some((s_z, m_z)) = as_density(self.z) else {
            let what = "an exactly known output and the precisions on its input";
            return if needed {
                Err(improper(what))
            } else {
                Ok(None)
            };
        };
        let t = symmetrised((s_z.right_of(self.w) * self.w.transpose()).as_ref());
        let mu = self.w * &m_z;
        let (c_inverse, u, output) = if let Some((s_x, m_x)) = as_density(self.x) {
            let mut c = t.clone();
            s_x.add_to(&mut c);
            let Some(factor) = cholesky(c.as_ref()) else {
                return self.singular();
            };
            let u = factor.solve(&m_x - &mu);
            (inverse(&factor), u, Output::Density(m_x))
        } else {
            let Some((a, b)) = as_natural(self.x) else {
                return Err(improper("exactly known outputs and improper ones"));
            };
            if !needed && !a.is_plainly_positive() {
                return Ok(None);
            }
            let n = t.nrows();
            let mut k = a.right_of(t.as_ref());
            (0..n).for_each(|i| k[(i, i)] += 1.0);
            let y = k.partial_piv_lu().solve(Mat::<f64>::identity(n, n));
            if !a.is_plainly_positive() && !is_covariance(symmetrised((&y * &t).as_ref()).as_ref())
            {
                return Err(improper("the precisions on its input and on its output"));
            }
            let u = y.transpose() * (&b - a.times(&mu));
            let c_inverse = symmetrised(a.left_of(y.as_ref()).as_ref());
            (c_inverse, u, Output::Natural(y, b))
        };
        Ok(Some(Dual {
            s_z,
            m_z,
            t,
            mu,
            c_inverse,
            u,
            output,
        }))
    }

    /// An exact output that the input cannot reach, or can in more ways than one.
    fn singular(&self) -> Result<Option<Dual>, FactorError> {
        if as_natural(self.x).is_some() && as_natural(self.z).is_some() {
            return Ok(None);
        }
        Err(FactorError::Unsupported(
            "its output is exactly known in a direction that its input does not reach: expected noise on the output, \
             or isotropic beliefs"
                .to_owned(),
        ))
    }

    fn primal(&self) -> Result<Primal, FactorError> {
        let unreadable = || improper("an exactly known end and the precisions on the other");
        let (a_z, b_z) = as_natural(self.z).ok_or_else(unreadable)?;
        let (a_x, b_x) = as_natural(self.x).ok_or_else(unreadable)?;
        let gram = symmetrised((self.w.transpose() * a_x.left_of(self.w)).as_ref());
        let mut p = gram.clone();
        a_z.add_to(&mut p);
        let factor = cholesky(p.as_ref())
            .ok_or_else(|| improper("the precisions on its input and on its output"))?;
        Ok(Primal {
            h: self.w.transpose() * &b_x,
            gram,
            a_z,
            b_z,
            a_x,
            b_x,
            sigma: inverse(&factor),
            log_det: log_det(&factor),
        })
    }

    /// $A - A[m_z] - A[m_x]$. Two densities: $\ln\mathcal N(m_x; W m_z, S_x + W S_z W^T)$.
    pub fn excess(&self) -> Result<f64, FactorError> {
        let (rows, cols) = (self.w.nrows() as f64, self.w.ncols() as f64);
        let Some((s_z, m_z)) = as_safe_density(self.z) else {
            let own = self.z.own_potential() + self.x.own_potential();
            return match self.primal() {
                Ok(p) => {
                    let b = &p.b_z + &p.h;
                    let r = &p.sigma * &b;
                    let volume = cols * TAU.ln() - p.log_det;
                    Ok(0.5 * dot(b.as_ref(), r.as_ref()) + 0.5 * volume - own)
                }
                Err(FactorError::Improper(_)) => Ok(f64::INFINITY),
                Err(error) => Err(error),
            };
        };
        let t = symmetrised((s_z.right_of(self.w) * self.w.transpose()).as_ref());
        let mu = self.w * &m_z;
        if let Some((a, b)) = as_natural_as_given(self.x) {
            let a = a.to_matrix(self.w.nrows());
            let next = conditioned((t.as_ref(), mu.as_ref()), (a.as_ref(), b.as_ref()));
            if !is_covariance(next.covariance.as_ref()) {
                return Ok(f64::INFINITY);
            }
            let pull = &b - &a * &mu;
            if as_safe_density(self.x).is_some()
                && let Some(factor) = cholesky(a.as_ref())
            {
                // ln N(x̂; μ, T + a⁻¹)
                let d = factor.solve(&pull);
                let fit = next.fit(a.as_ref(), d.as_ref(), mu.as_ref());
                let volume = rows * TAU.ln() + next.log_det - log_det(&factor);
                return Ok(-0.5 * (fit + volume));
            }
            let value = dot(b.as_ref(), mu.as_ref()) - 0.5 * dot(mu.as_ref(), (&a * &mu).as_ref());
            let shift = 0.5 * dot(pull.as_ref(), (&next.mean - &mu).as_ref());
            return Ok(value + shift - 0.5 * next.log_det - self.x.own_potential());
        }
        let Some((s_x, m_x)) = as_safe_density(self.x) else {
            return Err(improper("exactly known outputs and improper ones"));
        };
        let mut c = t;
        s_x.add_to(&mut c);
        // exact on both sides in some direction
        let Some(factor) = cholesky(c.as_ref()) else {
            return Ok(f64::INFINITY);
        };
        let gap = m_x - mu;
        let fit = dot(gap.as_ref(), factor.solve(&gap).as_ref());
        Ok(-0.5 * (fit + log_det(&factor) + rows * TAU.ln()))
    }
}
