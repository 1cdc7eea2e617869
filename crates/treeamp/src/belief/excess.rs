//! Potentials of products of beliefs, with their large terms left out.

use std::f64::consts::TAU;

use super::{Gaussian, Message as _, Structure, block};

/// $\frac{\|b\|^2}{2a} + \frac n2\ln\frac{2\pi}a$ of an isotropic belief; 0 for a pin, $+\infty$ for an improper one.
pub(super) fn isotropic_log_partition(a: f64, b: &[f64]) -> f64 {
    if a == f64::INFINITY {
        return 0.0;
    }
    if a <= 0.0 {
        return f64::INFINITY;
    }
    let square: f64 = b.iter().map(|b| b * b).sum();
    0.5 * square / a + 0.5 * b.len() as f64 * (TAU / a).ln()
}

/// $-\frac12 a\|m\|^2 + b^T m$.
pub(super) fn isotropic_log_value(a: f64, b: &[f64], place: &[f64]) -> f64 {
    let pairs = b.iter().zip(place);
    pairs.map(|(b, m)| m * (b - 0.5 * a * m)).sum()
}

/// The same less the log-partition, where that is finite.
pub(super) fn isotropic_normalised(a: f64, b: &[f64], place: &[f64]) -> f64 {
    if a <= 0.0 {
        return isotropic_log_value(a, b, place);
    }
    let gaps = b.iter().zip(place).map(|(b, m)| (m - b / a).powi(2));
    -0.5 * a * gaps.sum::<f64>() - 0.5 * b.len() as f64 * (TAU / a).ln()
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
    match total.precision.structure() {
        Structure::Isotropic => {
            let parts = messages.map(|m| (m.precision.data()[0], m.linear.as_slice()));
            isotropic_excess(parts, &mut total.linear)
        }
        Structure::Diagonal => {
            let mut sum = 0.0;
            for (i, place) in total.linear.chunks_exact_mut(1).enumerate() {
                let parts = messages
                    .clone()
                    .map(|m| (m.precision.data()[i], &m.linear[i..=i]));
                sum += isotropic_excess(parts, place);
            }
            sum
        }
        Structure::Block { .. } | Structure::Full => {
            let blocks = 0..total.block_count();
            let excess = |k: usize| block::product_excess(messages.clone().map(|m| m.block(k)));
            blocks.map(excess).sum()
        }
    }
}

/// $\ln\int\prod_k m_k$, from the sum of natural parameters where all messages have them, and from the
/// [excess](product_excess) elsewhere.
pub(crate) fn product_log_partition<'a>(
    messages: impl Iterator<Item = &'a Gaussian> + Clone,
    total: &mut Gaussian,
) -> f64 {
    if messages.clone().all(|m| m.numbers().is_some()) {
        total.set_flat();
        messages.for_each(|m| total.add_assign(m));
        return total.log_partition();
    }
    let own: f64 = messages.clone().map(Gaussian::own_potential).sum();
    product_excess(messages, total) + own
}

/// The excess of isotropic messages $(a, b)$; `place` is scratch of the size of $b$.
fn isotropic_excess<'a>(
    messages: impl Iterator<Item = (f64, &'a [f64])> + Clone,
    place: &mut [f64],
) -> f64 {
    let mut pins = messages.clone().filter(|(a, _)| *a == f64::INFINITY);
    match (pins.next(), pins.next()) {
        (Some(_), Some(_)) => return f64::INFINITY,
        (Some((_, m)), None) => {
            let others = messages.filter(|(a, _)| *a != f64::INFINITY);
            return others.map(|(a, b)| isotropic_normalised(a, b, m)).sum();
        }
        _ => {}
    }
    let a: f64 = messages.clone().map(|(a, _)| a).sum();
    if a <= 0.0 {
        return f64::INFINITY;
    }
    let by_precision =
        |x: &(usize, (f64, &[f64])), y: &(usize, (f64, &[f64]))| x.1.0.total_cmp(&y.1.0);
    let Some((top, (sharp, centres))) = messages.clone().enumerate().max_by(by_precision) else {
        return f64::INFINITY;
    };
    let (n, scale) = (place.len() as f64, 1.0 / sharp);
    let others = messages.enumerate().filter(|(k, _)| *k != top);
    place.fill(0.0);
    for (_, (own, linear)) in others.clone() {
        for (d, (b, centre)) in place.iter_mut().zip(linear.iter().zip(centres)) {
            *d += (b - own * (centre * scale)) / a;
        }
    }
    let square: f64 = place.iter().map(|d| d * d).sum();
    let mut excess = 0.5 * n * (sharp / a).ln() - 0.5 * sharp * square;
    for (_, (own, linear)) in others {
        let parts = linear.iter().zip(centres).zip(&*place);
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
