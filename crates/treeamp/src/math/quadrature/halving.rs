//! Integration by halving alone, for tests: slow, and without the shortcuts of [`panels`](super::panels).

use super::rule16;

/// $\int f$ over consecutive intervals, halving a panel until both halves agree with it.
///
/// `breaks` are ascending and should include the corners of `f`. Panels are refined to a relative
/// error `tolerance` of the largest integral of $|f_k|$ met so far, at most forty times.
// public for the tests of this crate, which integrate definitions with it
#[doc(hidden)]
pub fn integrate<const K: usize>(
    f: impl Fn(f64) -> [f64; K],
    breaks: &[f64],
    tolerance: f64,
) -> [f64; K] {
    let rule = rule16();
    let panel = |lo: f64, hi: f64| {
        let (mut sum, mut size) = ([0.0; K], [0.0; K]);
        for (node, weight) in rule.nodes.iter().zip(&rule.weights) {
            let value = f((hi - lo).mul_add(*node, lo));
            for k in 0..K {
                sum[k] += (hi - lo) * weight * value[k];
                size[k] += (hi - lo) * weight * value[k].abs();
            }
        }
        (sum, size)
    };
    let mut scale = [0.0_f64; K];
    let mut total = [0.0; K];
    let mut todo: Vec<(f64, f64, u32)> = breaks.windows(2).map(|w| (w[0], w[1], 0)).collect();
    for &(lo, hi, _) in &todo {
        let (_, size) = panel(lo, hi);
        (0..K).for_each(|k| scale[k] = scale[k].max(size[k]));
    }
    while let Some((lo, hi, depth)) = todo.pop() {
        let mid = 0.5 * (lo + hi);
        let (whole, _) = panel(lo, hi);
        let ((left, size_left), (right, size_right)) = (panel(lo, mid), panel(mid, hi));
        (0..K).for_each(|k| scale[k] = scale[k].max(size_left[k] + size_right[k]));
        let done = (0..K).all(|k| (whole[k] - left[k] - right[k]).abs() <= tolerance * scale[k]);
        if done || depth >= 40 {
            (0..K).for_each(|k| total[k] += left[k] + right[k]);
        } else {
            todo.push((mid, hi, depth + 1));
            todo.push((lo, mid, depth + 1));
        }
    }
    total
}
