//! From a scalar law to a factor: the same law on every component.
//!
//! With isotropic beliefs the variance of a factor is the average over components,
//! $v = \frac1n \sum_i v(a, b_i)$.

mod channel;
mod disorder;
mod likelihood;
mod prior;
mod view;

pub use channel::channel_observed;
pub use likelihood::{ObservedLaw, SeparableLikelihood};
pub use prior::{IidLaw, SeparablePrior};

/// Components per partial sum: fixed, so that a sum does not depend on how the work is split.
const CHUNK: usize = 1024;

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

/// $\sum_{i<n} f(i)$ in fixed chunks.
fn chunked_sum(n: usize, f: impl Fn(usize) -> f64) -> f64 {
    (0..n)
        .step_by(CHUNK)
        .map(|start| (start..(start + CHUNK).min(n)).map(&f).sum::<f64>())
        .sum()
}
