//! The sum $x = z_1 + \dots + z_k$ between full or block beliefs, block by block: covariances and means add,
//!
//! $$S_{f\to x} = \sum_i S_i,\qquad S_{f\to j} = S_x + S,\quad S = \sum_{i\ne j}S_i,\quad m = \sum_{i\ne j}m_i,$$
//!
//! and where $x$ has no covariance, $a_{f\to j} = (I + a_x S)^{-1}a_x$, $b_{f\to j} = (I + a_x S)^{-1}(b_x - a_x m)$.

use faer::linalg::solvers::Solve;
use faer::{Col, Mat};

use crate::belief::{Form, Gaussian, product_excess};
use crate::error::FactorError;
use crate::factor::Incoming;
use crate::math::dense::{store, store_vector, symmetrised};

/// Covariance and mean.
type Density = (Mat<f64>, Col<f64>);

fn improper(port: usize) -> FactorError {
    FactorError::Improper(format!(
        "the precision matrix on term {port} is not a belief"
    ))
}

/// Covariance and mean of the sum of the inputs but `target`, in dense block `k`; `None` if one of them says nothing.
fn total(
    incoming: Incoming<'_, Gaussian>,
    target: usize,
    k: usize,
) -> Result<Option<Density>, FactorError> {
    let terms = incoming.len() - 1;
    let first = incoming.get(0);
    let dim = first.len() / first.block_count();
    let (mut s, mut m) = (Mat::zeros(dim, dim), Col::zeros(dim));
    for port in (0..terms).filter(|p| *p != target) {
        let message = incoming.get(port);
        if message.is_flat() {
            return Ok(None);
        }
        let (own, mean) = message.block(k).moments().ok_or_else(|| improper(port))?;
        s += own;
        m += mean;
    }
    Ok(Some((s, m)))
}

/// The message to `target`; the last port is the sum.
pub(super) fn message(
    incoming: Incoming<'_, Gaussian>,
    target: usize,
    out: &mut Gaussian,
) -> Result<(), FactorError> {
    let x = incoming.get(incoming.len() - 1);
    let to_sum = target == incoming.len() - 1;
    out.set_flat();
    for k in 0..out.block_count() {
        let Some((s, m)) = total(incoming, target, k)? else {
            out.set_flat();
            return Ok(());
        };
        let seen = x.block(k);
        let (form, matrix, vector) = out.block_mut(k);
        if to_sum {
            *form = Form::Moments;
            store(s.as_ref(), matrix);
            store_vector(m.as_ref(), vector);
        } else if let Some((own, mean)) = seen.as_density() {
            *form = Form::Moments;
            store((own + s).as_ref(), matrix);
            store_vector((mean - m).as_ref(), vector);
        } else {
            let mut factor = seen.matrix * &s;
            (0..factor.nrows()).for_each(|i| factor[(i, i)] += 1.0);
            let factor = factor.partial_piv_lu();
            let a = factor.solve(seen.matrix);
            store(symmetrised(a.as_ref()).as_ref(), matrix);
            let pull = seen.vector - seen.matrix * &m;
            store_vector(factor.solve(pull).as_ref(), vector);
        }
    }
    Ok(())
}

/// $\ln\int$ of the message on $x$ times $\mathcal N(x; \sum_i m_i, \sum_i S_i)$, less the potential of that message.
pub(super) fn excess(incoming: Incoming<'_, Gaussian>) -> Result<f64, FactorError> {
    let x = incoming.get(incoming.len() - 1);
    let mut sum = x.clone();
    message(incoming, incoming.len() - 1, &mut sum)?;
    if sum.is_flat() {
        return Err(FactorError::Unsupported(
            "expected a proper belief on every term of a sum of full beliefs, got one that says nothing".to_owned(),
        ));
    }
    let mut scratch = x.clone();
    Ok(product_excess([x, &sum].into_iter(), &mut scratch))
}
