//! A whole and its pieces between full beliefs. The whole learns the pieces as the blocks of one belief. With $i$ a piece and $r$ the
//! rest of the whole, $(C, \mu)$ the covariance and mean of the rest as the other pieces and the whole have them where
//! $x_i = 0$,
//!
//! $$a_{f\to i} = a_{ii} - a_{ir}\,C\,a_{ri},\qquad b_{f\to i} = b_i - a_{ir}\,\mu;$$
//!
//! where the whole is given by moments, $S_{f\to i}$ and $m_{f\to i}$ are the part of it that the others leave.

use faer::linalg::solvers::Solve;
use faer::{Col, Mat, MatRef};

use crate::belief::{Block, Form, Gaussian, product_excess};
use crate::error::FactorError;
use crate::math::dense::{
    cholesky, conditioned, inverse, pseudo_inverse, store, store_vector, symmetrised,
};

/// Places of one piece in the whole.
pub(super) type Places = Vec<usize>;

fn improper(what: &str) -> FactorError {
    FactorError::Improper(format!("{what} leave a negative variance"))
}

/// Rows and columns of a matrix.
fn part(a: MatRef<'_, f64>, rows: &[usize], columns: &[usize]) -> Mat<f64> {
    Mat::from_fn(rows.len(), columns.len(), |i, j| a[(rows[i], columns[j])])
}

/// Several pieces side by side.
struct Joint {
    form: Form,
    matrix: Mat<f64>,
    vector: Col<f64>,
}

/// All in natural form, or all by moments if one has no other.
fn joint(pieces: &[&Gaussian]) -> Result<Joint, FactorError> {
    let exact = pieces.iter().any(|p| p.has_moments());
    let len = pieces.iter().map(|p| p.len()).sum();
    let (mut matrix, mut vector) = (Mat::zeros(len, len), Col::zeros(len));
    let mut start = 0;
    for piece in pieces {
        let block = piece.block(0);
        let (a, b) = if exact {
            let moments = block.moments();
            moments.ok_or_else(|| improper("an exactly known piece and one that is not known"))?
        } else {
            (block.matrix.to_owned(), block.vector.to_owned())
        };
        let size = piece.len();
        matrix
            .as_mut()
            .submatrix_mut(start, start, size, size)
            .copy_from(&a);
        vector.as_mut().subrows_mut(start, size).copy_from(&b);
        start += size;
    }
    let form = if exact { Form::Moments } else { Form::Natural };
    Ok(Joint {
        form,
        matrix,
        vector,
    })
}

/// The message to the whole: pieces in their places.
pub(super) fn to_whole(
    pieces: &[&Gaussian],
    places: &[Places],
    out: &mut Gaussian,
) -> Result<(), FactorError> {
    let all = joint(pieces)?;
    let order: Vec<usize> = places.concat();
    out.set_flat();
    let n = order.len();
    let (form, matrix, vector) = out.block_mut(0);
    *form = all.form;
    for (i, row) in order.iter().enumerate() {
        vector[*row] = all.vector[i];
        for (j, column) in order.iter().enumerate() {
            matrix[row * n + column] = all.matrix[(i, j)];
        }
    }
    Ok(())
}

/// The message to piece `target`.
pub(super) fn to_piece(
    whole: &Gaussian,
    pieces: &[&Gaussian],
    places: &[Places],
    target: usize,
    out: &mut Gaussian,
) -> Result<(), FactorError> {
    out.set_flat();
    if whole.is_flat() {
        return Ok(());
    }
    let kept = |i: &usize| *i != target;
    let others: Vec<&Gaussian> = (0..pieces.len()).filter(kept).map(|i| pieces[i]).collect();
    let rest: Places = (0..pieces.len())
        .filter(kept)
        .flat_map(|i| places[i].iter().copied())
        .collect();
    let others = joint(&others)?;
    let (whole, own) = (whole.block(0), &places[target]);
    let found = match whole.form {
        Form::Natural => natural(whole, &others, own, &rest)?,
        Form::Moments => by_moments(whole, &others, own, &rest),
    };
    let (form, matrix, vector) = out.block_mut(0);
    *form = whole.form;
    store(symmetrised(found.0.as_ref()).as_ref(), matrix);
    store_vector(found.1.as_ref(), vector);
    Ok(())
}

/// $(a_{ii} - a_{ir}Ca_{ri},\; b_i - a_{ir}\mu)$.
fn natural(
    whole: Block<'_>,
    others: &Joint,
    own: &[usize],
    rest: &[usize],
) -> Result<(Mat<f64>, Col<f64>), FactorError> {
    let (a_rr, a_ir) = (
        part(whole.matrix, rest, rest),
        part(whole.matrix, own, rest),
    );
    let b_r = Col::from_fn(rest.len(), |i| whole.vector[rest[i]]);
    let (c, mu) = match others.form {
        Form::Moments => {
            let seen = (a_rr.as_ref(), b_r.as_ref());
            let made = conditioned((others.matrix.as_ref(), others.vector.as_ref()), seen);
            (made.covariance, made.mean)
        }
        Form::Natural => {
            let factor = cholesky((&a_rr + &others.matrix).as_ref())
                .ok_or_else(|| improper("the whole and the other pieces"))?;
            let mean = factor.solve(&b_r + &others.vector);
            (inverse(&factor), mean)
        }
    };
    let b_i = Col::from_fn(own.len(), |i| whole.vector[own[i]]);
    let a = part(whole.matrix, own, own) - &a_ir * (&c * a_ir.transpose());
    Ok((a, b_i - &a_ir * mu))
}

/// The part of a whole given by moments, once the others have spoken.
fn by_moments(
    whole: Block<'_>,
    others: &Joint,
    own: &[usize],
    rest: &[usize],
) -> (Mat<f64>, Col<f64>) {
    let n = own.len() + rest.len();
    let given = (whole.matrix, whole.vector);
    let made = match others.form {
        Form::Natural => {
            let (mut a, mut b) = (Mat::zeros(n, n), Col::zeros(n));
            for (i, row) in rest.iter().enumerate() {
                b[*row] = others.vector[i];
                for (j, column) in rest.iter().enumerate() {
                    a[(*row, *column)] = others.matrix[(i, j)];
                }
            }
            let made = conditioned(given, (a.as_ref(), b.as_ref()));
            (made.covariance, made.mean)
        }
        Form::Moments => {
            // S_ii - S_ir (S_rr + S)^+ S_ri
            let s_rr = part(whole.matrix, rest, rest);
            let m_r = Col::from_fn(rest.len(), |i| whole.vector[rest[i]]);
            let inverse = pseudo_inverse((s_rr + &others.matrix).as_ref()).0;
            let gain = part(whole.matrix, own, rest) * inverse;
            let s = part(whole.matrix, own, own) - &gain * part(whole.matrix, rest, own);
            let m = Col::from_fn(own.len(), |i| whole.vector[own[i]]);
            return (s, m + gain * (&others.vector - m_r));
        }
    };
    let m = Col::from_fn(own.len(), |i| made.1[own[i]]);
    (part(made.0.as_ref(), own, own), m)
}

/// $\ln\int$ of the whole times all pieces, less their own potentials.
pub(super) fn excess(
    whole: &Gaussian,
    pieces: &[&Gaussian],
    places: &[Places],
) -> Result<f64, FactorError> {
    let mut all = whole.clone();
    to_whole(pieces, places, &mut all)?;
    let mut scratch = whole.clone();
    let product = product_excess([whole, &all].into_iter(), &mut scratch);
    if all.has_moments() {
        // made of normalised pieces
        return Ok(product);
    }
    let own: f64 = pieces.iter().map(|p| p.own_potential()).sum();
    Ok(product + all.own_potential() - own)
}
