//! Loops over slices with the widest instructions of this processor, and an exponential that such loops can hold.
//!
//! The bits are those of the same operations one by one: [`f64::mul_add`] is fused everywhere, and nothing is summed in another order.

// Code uses the instructions of the processor only where it is inlined into the call that asked for them.
#![allow(clippy::inline_always)]

/// Runs a loop compiled for the widest instructions that this processor has. What it calls must be inlined into it.
#[inline(always)]
pub fn widest<R>(run: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(run)
}

/// $1.5 \cdot 2^{52}$: added to a number of up to $2^{51}$ it rounds it to an integer, which then stands in the last bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// $\ln 2$ in two parts, the first so short that its multiples are exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// $1/k!$ from $k = 13$ down to 2.
const TAYLOR: [f64; 12] = [
    1.605_904_383_682_161_3e-10,
    2.087_675_698_786_81e-9,
    2.505_210_838_544_172e-8,
    2.755_731_922_398_589_3e-7,
    2.755_731_922_398_589e-6,
    2.480_158_730_158_73e-5,
    1.984_126_984_126_984e-4,
    1.388_888_888_888_889e-3,
    8.333_333_333_333_333e-3,
    4.166_666_666_666_666_4e-2,
    0.166_666_666_666_666_66,
    0.5,
];
/// Below, $e^x$ is zero.
const LOWEST: f64 = -746.0;

/// $e^x$ for $x \le 700$, to two units in the last place, without a branch.
///
/// $x = n\ln 2 + r$ with $|r| \le \tfrac12\ln 2$, and $e^r$ is its Taylor sum of degree 13, whose remainder is $5 \cdot 10^{-18}$. The power of two is
/// applied in two steps, since neither may be out of range where their product is denormal.
#[must_use]
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // a NaN stays one
    let inside = if x < LOWEST { LOWEST } else { x };
    let n = inside.mul_add(std::f64::consts::LOG2_E, ROUND) - ROUND;
    let r = (-n).mul_add(LN_2[1], (-n).mul_add(LN_2[0], inside));
    let mut sum = TAYLOR[0];
    for c in &TAYLOR[1..] {
        sum = sum.mul_add(r, *c);
    }
    let sum = (sum * r).mul_add(r, r) + 1.0;
    let normal = if n < -1000.0 { -1000.0 } else { n };
    sum * power_of_two(normal) * power_of_two(n - normal)
}

/// $2^n$ for an integer from -1022 to 1023.
#[inline(always)]
fn power_of_two(n: f64) -> f64 {
    let integer = (n + ROUND).to_bits().wrapping_sub(ROUND.to_bits());
    f64::from_bits(integer.wrapping_add(1023) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two units in the last place of the library's function, from far below the least number up to 700; exact at its ends.
    #[test]
    #[allow(clippy::float_cmp)]
    fn exponentials() {
        let mut worst = 0.0_f64;
        for i in 0..400_000 {
            let x = 700.0 - 0.003_511 * f64::from(i);
            let (seen, expected) = (exp(x), x.exp());
            if expected > 1e-300 {
                worst = worst.max((seen / expected - 1.0).abs());
            } else {
                assert!(
                    (seen - expected).abs() <= 1e-15 * expected + 1e-323,
                    "{x}: {seen:e} {expected:e}"
                );
            }
        }
        assert!(worst <= 2.0 * f64::EPSILON, "{worst:e}");
        assert_eq!(
            (exp(0.0), exp(f64::NEG_INFINITY), exp(-1e9)),
            (1.0, 0.0, 0.0)
        );
        assert!(exp(f64::NAN).is_nan());
        for x in [1e-300, -1e-17, 1e-9, -1e-5] {
            assert!((exp(x) - f64::exp(x)).abs() <= f64::EPSILON);
        }
    }

    /// A loop gives the bits of its steps.
    #[test]
    fn loops_and_steps() {
        let x: Vec<f64> = (0..1003).map(|i| -0.37 * f64::from(i)).collect();
        let mut seen = vec![0.0; x.len()];
        widest(|| seen.iter_mut().zip(&x).for_each(|(e, x)| *e = exp(*x)));
        assert!(
            seen.iter()
                .zip(&x)
                .all(|(e, x)| e.to_bits() == exp(*x).to_bits())
        );
    }
}
