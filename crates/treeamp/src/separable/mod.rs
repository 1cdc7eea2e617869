//! From a scalar law to a factor: the same law on every component.
//!
//! With isotropic beliefs the variance of a factor is the average over components,
//! $v = \frac1n \sum_i v(a, b_i)$.

use crate::belief::{CHUNK, Gaussian, Structure, product_excess};
use crate::error::FactorError;
use crate::factor::{ALL_STRUCTURES, FEASIBLE};

mod channel;
mod components;
mod disorder;
mod idle;
mod likelihood;
mod loss;
mod one_port;
mod output;
mod parts;
mod penalised;
mod penalty;
mod prior;
mod proximal;
mod row_average;
mod row_output;
mod row_posterior;
mod rows;

mod view;

pub use channel::channel_observed;
pub use likelihood::{ObservedLaw, SeparableLikelihood};
pub use loss::{LossChannel, ObservedLoss};
pub use output::OutputChannel;
pub use parts::{PartsLikelihood, PartsPrior};
pub use penalised::Penalised;
pub use penalty::{Penalty, PenaltyLaw};
pub use prior::{IidLaw, SeparablePrior};
pub use row_average::RowComponent;
pub(crate) use row_average::propagated;
pub use row_output::{RowChannel, RowLikelihood, RowOutputs, RowTilt};
pub use rows::{RowLaw, RowsPrior};

/// Fills `mean` with the first of `f(i)` and returns the average of the second.
fn fill_moments<E: crate::scalar::Elem>(mean: &mut [E], f: impl Fn(usize) -> (E, f64)) -> f64 {
    let count = mean.len() as f64;
    let mut total = 0.0;
    for (chunk, block) in mean.chunks_mut(CHUNK).enumerate() {
        let start = chunk * CHUNK;
        let mut partial = 0.0;
        for (i, r) in block.iter_mut().enumerate() {
            let (m, v) = f(start + i);
            *r = m;
            partial += v;
        }
        total += partial;
    }
    total / count
}

/// The beliefs that a law on components supports: one of each component's own is for real components, and a full
/// matrix or blocks are for Gaussian laws, whose message does not depend on what comes in.
fn law_structures<E: crate::scalar::Elem>(gaussian: bool) -> &'static [Structure] {
    match (gaussian, E::REAL_LEN) {
        (true, _) => ALL_STRUCTURES,
        (false, 1) => &[Structure::Isotropic, Structure::Diagonal],
        _ => &[Structure::Isotropic],
    }
}

/// The message of a Gaussian law with natural parameters `law(i)`, for beliefs of the structure of `like`.
fn gaussian_message<E: crate::scalar::Elem>(
    like: &Gaussian,
    law: impl Fn(usize) -> Option<crate::scalar::Tilt<E>>,
) -> Result<Gaussian, FactorError> {
    let none = || FactorError::Unsupported("its law is not Gaussian".to_owned());
    let mut out = like.clone();
    out.set_precision(law(0).ok_or_else(none)?.a);
    for (i, b) in E::view_mut(&mut out.linear).iter_mut().enumerate() {
        *b = law(i).ok_or_else(none)?.b;
    }
    Ok(out)
}

/// $\sum_{i<n} f(i)$ in fixed chunks.
fn chunked_sum(n: usize, mut f: impl FnMut(usize) -> f64) -> f64 {
    (0..n)
        .step_by(CHUNK)
        .map(|start| (start..(start + CHUNK).min(n)).map(&mut f).sum::<f64>())
        .sum()
}

/// Brings a component of `x` back to a support that it left by rounding.
fn within(x: &[f64]) -> impl Fn((f64, f64), f64) -> f64 {
    let slack = FEASIBLE * x.iter().fold(0.0, |s: f64, x| s.max(x.abs()));
    move |(low, high), x| {
        let place = x.max(low).min(high);
        if (place - x).abs() <= slack { place } else { x }
    }
}

/// $\sum_i\ln\mathcal N(\hat x_i; m_i, v_0 + 1/a)$: what a Gaussian law with natural parameters `law(i)` adds to a proper
/// or pinned message. `None` if either is neither.
fn gaussian_excess<E: crate::scalar::Elem>(
    x: &Gaussian,
    law: impl Fn(usize) -> Option<crate::scalar::Tilt<E>>,
) -> Option<f64> {
    let own = law(0)?;
    if x.structure() != Structure::Isotropic {
        let own = gaussian_message(x, law).ok()?;
        let mut total = x.clone();
        return Some(product_excess([x, &own].into_iter(), &mut total));
    }
    let a = x.precision.scalar();
    if !(a > 0.0 && own.a > 0.0) {
        return None;
    }
    let (own_scale, scale) = (own.mean_scale(), x.mean_scale());
    let gaps = E::view(&x.linear).iter().enumerate().map(|(i, b)| {
        let centre = law(i).map_or(E::ZERO, |own| own.b).scale(own_scale);
        b.scale(scale).minus(centre).norm_sqr().sqrt()
    });
    // a complex gap has two real components: as many gaps of zero make up for the volume
    let rest = std::iter::repeat_n(0.0, x.len() - x.len() / E::REAL_LEN);
    let variance = 1.0 / own.a + 1.0 / a;
    Some(crate::belief::log_normal_sum(gaps.chain(rest), variance))
}
