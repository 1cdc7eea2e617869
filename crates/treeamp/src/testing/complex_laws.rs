//! Checks of complex scalar laws: $\nabla_b A = r$, $\frac12\Delta_b A = v$, $-2\partial_a A = |r|^2 + 2v$, the defining integral over the
//! plane, draws.

use num_complex::Complex;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::laws::Outcome;
use crate::math::quadrature::rule16;
use crate::scalar::{Elem, ScalarChannel, ScalarLikelihood, ScalarPrior, Tilt, Tilted, TiltedPair};

/// Precisions and linear terms of the moderate points at which identities are checked.
const POINTS: [(f64, f64, f64); 6] = [
    (0.7, 0.0, 0.0),
    (0.5, 0.4, -0.3),
    (1.3, -1.1, 0.2),
    (2.0, 3.0, 2.0),
    (6.0, 0.5, -9.0),
    (20.0, -7.0, 1.0),
];
/// Draws in the comparison of samples with moments.
const DRAWS: usize = 20_000;

fn points() -> impl Iterator<Item = (f64, Complex<f64>)> {
    POINTS
        .into_iter()
        .map(|(a, re, im)| (a, Complex::new(re, im)))
}

/// Every check of a complex prior.
///
/// # Errors
/// The first identity that fails.
pub fn check_complex_prior<P: ScalarPrior<Complex<f64>>>(law: &P) -> Outcome {
    let rest = law.tilted(0.0, Complex::ZERO);
    near("A(0, 0)", rest.log_z, 0.0, 1e-12)?;
    for (a, b) in points() {
        let at = |e: String| format!("{} at a = {a}, b = {b}: {e}", P::NAME);
        let t = law.tilted(a, b);
        check_complex_value(&t).map_err(at)?;
        check_cheap(&t, law.moments(a, b)).map_err(at)?;
        check_derivatives(|a, b| law.tilted(a, b), a, b).map_err(at)?;
        let excess = t.log_z - 0.5 * b.norm_sqr() / a - (std::f64::consts::TAU / a).ln();
        near(
            "excess",
            law.excess(a, b),
            excess,
            1e-12 * (1.0 + excess.abs()),
        )
        .map_err(at)?;
        let weigh = |x: Complex<f64>| {
            let d = x - t.mean;
            let w = (x.dot(b) - 0.5 * a * x.norm_sqr() - t.log_z).exp();
            [w, w * d.re, w * d.im, w * d.norm_sqr()]
        };
        let reach = 12.0 * rest.variance.sqrt();
        let density = |x: Complex<f64>| weigh(x).map(|w| w * law.log_density(x).exp());
        let mut sum = over_plane(&density, rest.mean, reach);
        for (x, p) in law.atoms() {
            let part = weigh(x);
            (0..4).for_each(|k| sum[k] += p * part[k]);
        }
        compare(sum, t.variance).map_err(at)?;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let draws: Vec<Complex<f64>> = (0..DRAWS).map(|_| law.sample(&mut rng)).collect();
    check_draws(&draws, &rest).map_err(|e| format!("{}: {e}", P::NAME))
}

/// Every check of a likelihood of a complex signal at the observations `ys`, but for the defining integral: an
/// output without noise leaves a curve, and its law has a test of its own.
///
/// # Errors
/// The first identity that fails.
pub fn check_complex_likelihood<L>(law: &L, ys: &[L::Output]) -> Outcome
where
    L: ScalarLikelihood<Complex<f64>>,
{
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for y in ys {
        law.check(*y).map_err(|e| format!("{}: {e}", L::NAME))?;
        for (a, b) in points() {
            let at = |e: String| format!("{} at y = {y:?}, a = {a}, b = {b}: {e}", L::NAME);
            let t = law.tilted(*y, a, b);
            check_complex_value(&t).map_err(at)?;
            check_cheap(&t, law.moments(*y, a, b)).map_err(at)?;
            check_derivatives(|a, b| law.tilted(*y, a, b), a, b).map_err(at)?;
            let excess = t.log_z - 0.5 * b.norm_sqr() / a - (std::f64::consts::TAU / a).ln();
            let scale = 1.0 + t.log_z.abs();
            near("excess", law.excess(*y, a, b), excess, 1e-12 * scale).map_err(at)?;
            law.check(law.sample(b, &mut rng)).map_err(at)?;
        }
    }
    require(law.check(L::Output::from_real(f64::NAN)).is_err(), || {
        format!("{} accepts NaN", L::NAME)
    })
}

/// Every check of a channel from complex to real; `ys` are outputs at which its likelihood is compared with it.
///
/// # Errors
/// The first identity that fails.
pub fn check_complex_channel<C>(law: &C, ys: &[f64]) -> Outcome
where
    C: ScalarChannel<In = Complex<f64>, Out = f64>,
{
    for (az, bz) in points() {
        for (ax, bx) in [
            (0.0, 0.0),
            (0.8, 0.0),
            (1.3, -2.1),
            (2.0, 3.0),
            (20.0, 17.0),
        ] {
            let (z, x) = (Tilt { a: az, b: bz }, Tilt { a: ax, b: bx });
            let at = |e: String| format!("{} at z {z:?}, x {x:?}: {e}", law.name());
            let t = law.tilted(z, x);
            check_complex_value(&end_z(&t)).map_err(at)?;
            check_derivatives(|a, b| end_z(&law.tilted(Tilt { a, b }, x)), az, bz).map_err(at)?;
            check_output_end(law, z, x, &t).map_err(at)?;
            check_channel_integral(law, z, x, &t).map_err(at)?;
            for over in [
                [false, false],
                [true, false],
                [false, ax > 0.0],
                [true, ax > 0.0],
            ] {
                let (_, excess) = law.tilted_with_excess(z, x, over);
                let mut expected = t.log_z;
                if over[0] {
                    expected -= 0.5 * bz.norm_sqr() / az + (std::f64::consts::TAU / az).ln();
                }
                if over[1] {
                    expected -= 0.5 * bx * bx / ax + 0.5 * (std::f64::consts::TAU / ax).ln();
                }
                let scale = 1.0 + t.log_z.abs() + bz.norm_sqr() / az;
                near("excess", excess, expected, 1e-12 * scale).map_err(at)?;
            }
        }
        for y in ys {
            check_limit(law, Tilt { a: az, b: bz }, *y)?;
        }
    }
    Ok(())
}

/// What must hold at any finite point: no NaN, a variance that is not negative.
///
/// # Errors
/// What does not hold.
pub fn check_complex_value(t: &Tilted<Complex<f64>>) -> Outcome {
    let divergent = t.log_z == f64::INFINITY && t.variance == f64::INFINITY;
    let finite = t.log_z.is_finite() && t.variance.is_finite();
    require(Elem::is_finite(t.mean) && (finite || divergent), || {
        format!("not finite: {t:?}")
    })?;
    require(t.variance >= 0.0, || format!("negative variance: {t:?}"))
}

fn end_z(t: &TiltedPair<Complex<f64>, f64>) -> Tilted<Complex<f64>> {
    Tilted {
        log_z: t.log_z,
        mean: t.mean_z,
        variance: t.variance_z,
    }
}

fn check_cheap(t: &Tilted<Complex<f64>>, (mean, variance): (Complex<f64>, f64)) -> Outcome {
    let scale = t.mean.norm().max(t.variance.sqrt());
    near("moments' mean", (mean - t.mean).norm(), 0.0, 1e-13 * scale)?;
    near(
        "moments' variance",
        variance,
        t.variance,
        1e-13 * t.variance,
    )
}

/// A derivative by five-point differences.
fn slope(g: &dyn Fn(f64) -> f64, h: f64) -> f64 {
    (8.0 * (g(h) - g(-h)) - (g(2.0 * h) - g(-2.0 * h))) / (12.0 * h)
}

/// $\nabla A = r$, half the divergence of $r$ is $v$, and $-2\partial_a A = |r|^2 + 2v$.
fn check_derivatives(
    f: impl Fn(f64, Complex<f64>) -> Tilted<Complex<f64>>,
    a: f64,
    b: Complex<f64>,
) -> Outcome {
    let t = f(a, b);
    let second = t.mean.norm_sqr() + 2.0 * t.variance;
    let step = 0.005 / t.variance.sqrt().max(1.0);
    let step_a = (0.005 / second.max(1.0)).min(0.1 * a);
    let noise = |h: f64| 1e-14 * (1.0 + t.log_z.abs()) / h;
    let scale = t.mean.norm().max(t.variance.sqrt());
    let mut divergence = 0.0;
    for (way, r) in [
        (Complex::new(1.0, 0.0), t.mean.re),
        (Complex::new(0.0, 1.0), t.mean.im),
    ] {
        let rise = slope(&|h| f(a, b + way.scale(h)).log_z, step);
        near("dA/db against r", rise, r, 1e-5 * scale + noise(step))?;
        divergence += slope(&|h| f(a, b + way.scale(h)).mean.dot(way), step);
    }
    let rounding = 1e-14 * scale / step;
    let half = 0.5 * divergence;
    near(
        "dr/db against v",
        half,
        t.variance,
        1e-5 * t.variance + rounding,
    )?;
    let fall = -2.0 * slope(&|h| f(a + h, b).log_z, step_a);
    near(
        "-2 dA/da against |r|² + 2v",
        fall,
        second,
        1e-5 * second + noise(step_a),
    )
}

/// $\partial A/\partial b_x = r_x$ and $\partial r_x/\partial b_x = v_x$.
fn check_output_end<C>(
    law: &C,
    z: Tilt<Complex<f64>>,
    x: Tilt,
    t: &TiltedPair<Complex<f64>, f64>,
) -> Outcome
where
    C: ScalarChannel<In = Complex<f64>, Out = f64>,
{
    let step = 0.005 / t.variance_x.sqrt().max(1.0);
    let moved = |h: f64| law.tilted(z, Tilt { a: x.a, b: x.b + h });
    let noise = 1e-14 * (1.0 + t.log_z.abs()) / step;
    let scale = t.mean_x.abs().max(t.variance_x.sqrt());
    let rise = slope(&|h| moved(h).log_z, step);
    near("dA/dbx against rx", rise, t.mean_x, 1e-5 * scale + noise)?;
    let rise = slope(&|h| moved(h).mean_x, step);
    near(
        "drx/dbx against vx",
        rise,
        t.variance_x,
        1e-5 * t.variance_x + noise,
    )
}

/// The defining integral over the plane, for a channel without noise.
fn check_channel_integral<C>(
    law: &C,
    z: Tilt<Complex<f64>>,
    x: Tilt,
    t: &TiltedPair<Complex<f64>, f64>,
) -> Outcome
where
    C: ScalarChannel<In = Complex<f64>, Out = f64>,
{
    let f = |u: Complex<f64>| {
        let Some(out) = law.map(u) else {
            return [f64::NAN; 6];
        };
        let exponent = u.dot(z.b) - 0.5 * z.a * u.norm_sqr() + x.b * out - 0.5 * x.a * out * out;
        let w = (exponent - t.log_z).exp();
        let (d, e) = (u - t.mean_z, out - t.mean_x);
        [w, w * d.re, w * d.im, w * d.norm_sqr(), w * e, w * e * e]
    };
    let reach = t.mean_z.norm() + 14.0 * (t.variance_z + t.variance_x).sqrt();
    let sum = over_plane(&f, Complex::ZERO, reach);
    compare([sum[0], sum[1], sum[2], sum[3]], t.variance_z)?;
    near("mean of x", sum[4] / t.variance_x.sqrt(), 0.0, 1e-8)?;
    near("variance of x", sum[5], t.variance_x, 1e-8 * t.variance_x)
}

/// The likelihood as the limit of the channel under a belief in $x$ of width $\epsilon$ at $y$.
fn check_limit<C>(law: &C, z: Tilt<Complex<f64>>, y: f64) -> Outcome
where
    C: ScalarChannel<In = Complex<f64>, Out = f64>,
{
    const EPSILON: f64 = 1e-5;
    let Some(likelihood) = law.likelihood() else {
        return Ok(());
    };
    let a = EPSILON.powi(-2);
    let (pair, excess) = law.tilted_with_excess(z, Tilt { a, b: a * y }, [false, true]);
    let t = likelihood.tilted(y, z.a, z.b);
    let at = |e: String| format!("{} at y = {y}, z {z:?}: {e}", law.name());
    // the belief smears the likelihood by ε², times its curvature
    let tolerance = 1e-6 * (1.0 + z.a + z.b.norm_sqr());
    near("limit of A", excess, t.log_z, tolerance).map_err(at)?;
    near("limit of r", (pair.mean_z - t.mean).norm(), 0.0, tolerance).map_err(at)?;
    near("limit of v", pair.variance_z, t.variance, tolerance).map_err(at)
}

/// $\int f$ over the disc of this radius, in polar coordinates around its centre: lengths by panels, angles by the
/// midpoint rule, which converges exponentially for a periodic integrand.
fn over_plane<const K: usize>(
    f: &dyn Fn(Complex<f64>) -> [f64; K],
    centre: Complex<f64>,
    reach: f64,
) -> [f64; K] {
    const ANGLES: u32 = 128;
    const PANELS: u32 = 30;
    let width = reach / f64::from(PANELS);
    let arc = std::f64::consts::TAU / f64::from(ANGLES);
    let rays: Vec<Complex<f64>> = (0..ANGLES)
        .map(|i| Complex::from_polar(1.0, arc * (f64::from(i) + 0.5)))
        .collect();
    let rule = rule16();
    let mut sum = [0.0; K];
    for panel in 0..PANELS {
        for (node, weight) in rule.nodes.iter().zip(&rule.weights) {
            let r = width * (f64::from(panel) + node);
            for ray in &rays {
                let values = f(centre + Elem::scale(*ray, r));
                (0..K).for_each(|k| sum[k] += width * weight * r * arc * values[k]);
            }
        }
    }
    sum
}

fn check_draws(draws: &[Complex<f64>], rest: &Tilted<Complex<f64>>) -> Outcome {
    let n = draws.len() as f64;
    let check = |name: &str, values: &dyn Fn(&Complex<f64>) -> f64, exact: f64| {
        let average = draws.iter().map(values).sum::<f64>() / n;
        let spread = draws
            .iter()
            .map(|x| (values(x) - average).powi(2))
            .sum::<f64>()
            / n;
        near(name, average, exact, 6.0 * (spread / n).sqrt() + 1e-12)
    };
    check("real part of draws", &|x| x.re - rest.mean.re, 0.0)?;
    check("imaginary part of draws", &|x| x.im - rest.mean.im, 0.0)?;
    let square = |x: &Complex<f64>| 0.5 * (x - rest.mean).norm_sqr();
    check("variance of draws", &square, rest.variance)?;
    let skew = |x: &Complex<f64>| (x.re - rest.mean.re) * (x.im - rest.mean.im);
    check("covariance of the parts of draws", &skew, 0.0)
}

fn compare(sum: [f64; 4], variance: f64) -> Outcome {
    // the angles resolve a tilt of a few dozen to 1e-8
    let sd = variance.sqrt().max(1e-150);
    near("integral: mass", sum[0], 1.0, 1e-8)?;
    near("integral: real part", sum[1] / sd, 0.0, 1e-8)?;
    near("integral: imaginary part", sum[2] / sd, 0.0, 1e-8)?;
    near(
        "integral: variance",
        0.5 * sum[3],
        variance,
        1e-8 * variance,
    )
}

fn near(name: &str, got: f64, expected: f64, tolerance: f64) -> Outcome {
    require((got - expected).abs() <= tolerance, || {
        format!("{name}: {got} instead of {expected} (tolerance {tolerance:.1e})")
    })
}

fn require(condition: bool, message: impl FnOnce() -> String) -> Outcome {
    if condition { Ok(()) } else { Err(message()) }
}
