//! Checks of scalar laws: $\partial_b A = r$, $\partial_b^2 A = v$, $-2\partial_a A = r^2 + v$, the defining integral, draws.
//!
//! ```
//! use treeamp::{catalog::priors::Binary, testing::laws::check_prior};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! check_prior(&Binary::new(0.3)?)?;
//! # Ok(()) }
//! ```

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::math::mixture::height;
use crate::math::quadrature::integrate;
use crate::scalar::{ScalarChannel, ScalarLikelihood, ScalarPrior, Tilt, Tilted, TiltedPair};

/// Nothing, or what is wrong and where.
pub type Outcome = Result<(), String>;

/// Precisions and linear terms of the moderate points at which identities are checked.
const POINTS: [(f64, f64); 6] = [
    (0.7, 0.0),
    (0.5, 0.4),
    (1.3, -1.1),
    (2.0, 3.0),
    (6.0, -9.0),
    (20.0, 7.0),
];
/// Draws in the comparison of samples with moments.
const DRAWS: usize = 20_000;

/// Every check of a prior.
///
/// # Errors
/// The first identity that fails.
pub fn check_prior<P: ScalarPrior>(law: &P) -> Outcome {
    let at_rest = law.tilted(0.0, 0.0).log_z;
    near("A(0, 0)", at_rest, 0.0, 1e-12)?;
    let atoms: f64 = law.atoms().iter().map(|(_, p)| p).sum();
    require((0.0..=1.0 + 1e-12).contains(&atoms), || {
        format!("atoms weigh {atoms}")
    })?;
    for (a, b) in POINTS {
        let at = |e: String| format!("{} at a = {a}, b = {b}: {e}", P::NAME);
        let f = |a: f64, b: f64| law.tilted(a, b);
        check_value(f(a, b), law.support()).map_err(at)?;
        check_cheap_moments(f(a, b), law.moments(a, b)).map_err(at)?;
        check_derivatives(f, a, b).map_err(at)?;
        check_integral(
            f(a, b),
            a,
            b,
            |x| law.log_density(x),
            &law.atoms(),
            &window(law),
        )
        .map_err(at)?;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let draws: Vec<f64> = (0..DRAWS).map(|_| law.sample(&mut rng)).collect();
    let (low, high) = law.support();
    let outside = draws.iter().find(|x| !(low..=high).contains(*x));
    require(outside.is_none(), || {
        format!("{}: draw {outside:?} outside the support", P::NAME)
    })?;
    let t = law.tilted(0.0, 0.0);
    check_draws(&draws, t.mean, t.variance).map_err(|e| format!("{}: {e}", P::NAME))
}

/// Every check of a likelihood at the observations `ys`.
///
/// The defining integral is compared where $p(y \mid z)$ is a function of $z$; an output that leaves
/// points only is compared through its channel, by [`check_channel`].
///
/// # Errors
/// The first identity that fails.
pub fn check_likelihood<L: ScalarLikelihood<Output = f64>>(law: &L, ys: &[f64]) -> Outcome {
    for &y in ys {
        law.check(y).map_err(|e| format!("{}: {e}", L::NAME))?;
        for (a, b) in POINTS {
            let at = |e: String| format!("{} at y = {y}, a = {a}, b = {b}: {e}", L::NAME);
            let f = |a: f64, b: f64| law.tilted(y, a, b);
            check_value(f(a, b), law.support(y)).map_err(at)?;
            check_cheap_moments(f(a, b), law.moments(y, a, b)).map_err(at)?;
            check_derivatives(f, a, b).map_err(at)?;
            let (low, high) = law.support(y);
            if low < high
                && (0..200).any(|i| law.log_density(y, 0.05 * f64::from(i) - 5.0).is_finite())
            {
                let breaks = cells(b / a, 1.0 / a.sqrt(), (low, high));
                check_integral(f(a, b), a, b, |z| law.log_density(y, z), &[], &breaks)
                    .map_err(at)?;
            }
        }
    }
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for i in 0..200 {
        let z = 0.05 * f64::from(i) - 5.0;
        law.check(law.sample(z, &mut rng))
            .map_err(|e| format!("{} drawn at {z}: {e}", L::NAME))?;
    }
    require(law.check(f64::NAN).is_err(), || {
        format!("{} accepts NaN", L::NAME)
    })
}

/// Every check of a real channel; `ys` are outputs at which its likelihood is compared with it.
///
/// The defining integral is compared for channels without noise.
///
/// # Errors
/// The first identity that fails.
pub fn check_channel<C>(law: &C, ys: &[f64]) -> Outcome
where
    C: ScalarChannel<In = f64, Out = f64>,
{
    for (az, bz) in POINTS {
        for (ax, bx) in POINTS.into_iter().chain([(0.0, 0.0)]) {
            let (z, x) = (Tilt { a: az, b: bz }, Tilt { a: ax, b: bx });
            let at = |e: String| format!("{} at z {z:?}, x {x:?}: {e}", law.name());
            let pair = law.tilted(z, x);
            let line = (f64::NEG_INFINITY, f64::INFINITY);
            check_value(end_z(pair), line).map_err(at)?;
            check_value(end_x(pair), line).map_err(at)?;
            check_derivatives(|a, b| end_z(law.tilted(Tilt { a, b }, x)), az, bz).map_err(at)?;
            if ax > 0.0 {
                check_derivatives(|a, b| end_x(law.tilted(z, Tilt { a, b })), ax, bx)
                    .map_err(at)?;
            }
            check_channel_integral(law, z, x).map_err(at)?;
        }
        for &y in ys {
            let tilt = Tilt { a: az, b: bz };
            check_limit(law, tilt, y)
                .map_err(|e| format!("{} at y = {y}, z {tilt:?}: {e}", law.name()))?;
        }
    }
    Ok(())
}

/// What must hold at any finite point: no NaN, a variance that is not negative, a mean in the support;
/// or the value of a divergent integral, whole.
///
/// # Errors
/// What does not hold.
pub fn check_value(t: Tilted, (low, high): (f64, f64)) -> Outcome {
    let divergent = t.log_z == f64::INFINITY && t.variance == f64::INFINITY;
    let finite = t.log_z.is_finite() && t.variance.is_finite();
    require(t.mean.is_finite() && (finite || divergent), || {
        format!("not finite: {t:?}")
    })?;
    require(t.variance >= 0.0, || format!("negative variance: {t:?}"))?;
    require((low..=high).contains(&t.mean), || {
        format!("{t:?} outside {low}..{high}")
    })
}

/// The moments of the input of a channel, with the joint log-partition.
// public for the tests of this crate, which look at both ends of channels
#[doc(hidden)]
#[must_use]
pub fn end_z(t: TiltedPair) -> Tilted {
    Tilted {
        log_z: t.log_z,
        mean: t.mean_z,
        variance: t.variance_z,
    }
}

/// The moments of the output of a channel, with the joint log-partition.
// as the other end
#[doc(hidden)]
#[must_use]
pub fn end_x(t: TiltedPair) -> Tilted {
    Tilted {
        log_z: t.log_z,
        mean: t.mean_x,
        variance: t.variance_x,
    }
}

fn check_cheap_moments(t: Tilted, (mean, variance): (f64, f64)) -> Outcome {
    near(
        "moments' mean",
        mean,
        t.mean,
        1e-13 * t.mean.abs().max(t.variance.sqrt()),
    )?;
    near(
        "moments' variance",
        variance,
        t.variance,
        1e-13 * t.variance,
    )
}

/// $\partial_b A = r$, $\partial_b r = v$ and $-2\partial_a A = r^2 + v$ by five-point differences, with steps in units
/// of the scale on which $A$ varies.
fn check_derivatives(f: impl Fn(f64, f64) -> Tilted, a: f64, b: f64) -> Outcome {
    let t = f(a, b);
    let second = t.second_moment();
    let step_b = 0.005 / t.variance.sqrt().max(1.0);
    let step_a = (0.005 / second.max(1.0)).min(0.1 * a);
    let slope = |g: &dyn Fn(f64) -> f64, h: f64| {
        (8.0 * (g(h) - g(-h)) - (g(2.0 * h) - g(-2.0 * h))) / (12.0 * h)
    };
    let noise = |h: f64| 1e-14 * (1.0 + t.log_z.abs()) / h;
    let scale = t.mean.abs().max(t.variance.sqrt());
    let in_b = slope(&|h| f(a, b + h).log_z, step_b);
    near(
        "dA/db against r",
        in_b,
        t.mean,
        1e-5 * scale + noise(step_b),
    )?;
    let mean_in_b = slope(&|h| f(a, b + h).mean, step_b);
    let rounding = 1e-14 * scale / step_b;
    near(
        "dr/db against v",
        mean_in_b,
        t.variance,
        1e-5 * t.variance + rounding,
    )?;
    let in_a = -2.0 * slope(&|h| f(a + h, b).log_z, step_a);
    near(
        "-2 dA/da against r² + v",
        in_a,
        second,
        1e-5 * second + noise(step_a),
    )
}

/// $A$, $r$ and $v$ against $\int p(x)\, e^{-\frac12 a x^2 + b x}$ with its atoms.
fn check_integral(
    t: Tilted,
    a: f64,
    b: f64,
    log_density: impl Fn(f64) -> f64,
    atoms: &[(f64, f64)],
    breaks: &[f64],
) -> Outcome {
    let weigh = |x: f64, w: f64| {
        let d = x - t.mean;
        [w, w * d, w * d * d]
    };
    let f = |x: f64| weigh(x, (log_density(x) + height(a, b, x) - t.log_z).exp());
    let mut sum = integrate(f, breaks, 1e-12);
    for &(x, p) in atoms {
        let part = weigh(x, p * (height(a, b, x) - t.log_z).exp());
        (0..3).for_each(|k| sum[k] += part[k]);
    }
    compare("integral", sum, t.variance, 1e-9)
}

/// The same for both ends of a channel without noise, $x = \varphi(z)$ being its draw.
fn check_channel_integral<C>(law: &C, z: Tilt, x: Tilt) -> Outcome
where
    C: ScalarChannel<In = f64, Out = f64>,
{
    let draw = |z: f64, seed| law.sample(z, &mut ChaCha8Rng::seed_from_u64(seed));
    if (draw(0.3, 1) - draw(0.3, 2)).abs() > 0.0 {
        return Ok(());
    }
    let t = law.tilted(z, x);
    let f = |u: f64| {
        let out = draw(u, 0);
        let (du, dx) = (u - t.mean_z, out - t.mean_x);
        let w = (height(z.a, z.b, u) + height(x.a, x.b, out) - t.log_z).exp();
        [w, w * du, w * du * du, w * dx, w * dx * dx]
    };
    // wide enough for tilts that push z away from its belief
    let line = (f64::NEG_INFINITY, f64::INFINITY);
    let sum = integrate(f, &cells(z.b / z.a, 1.0 / z.a.sqrt(), line), 1e-12);
    compare(
        "integral over z",
        [sum[0], sum[1], sum[2]],
        t.variance_z,
        1e-9,
    )?;
    compare(
        "integral over x",
        [sum[0], sum[3], sum[4]],
        t.variance_x,
        1e-9,
    )
}

/// The likelihood as the limit of the channel under a belief in $x$ of width $\epsilon$ at $y$.
fn check_limit<C>(law: &C, z: Tilt, y: f64) -> Outcome
where
    C: ScalarChannel<In = f64, Out = f64>,
{
    const EPSILON: f64 = 1e-5;
    let Some(likelihood) = law.likelihood() else {
        return Ok(());
    };
    let precision = EPSILON.powi(-2);
    let pair = law.tilted(
        z,
        Tilt {
            a: precision,
            b: precision * y,
        },
    );
    let exact = likelihood.tilted(y, z.a, z.b);
    // the density of a continuous y against the mass of an atom
    let atom =
        (-50..=50).any(|i| likelihood.log_density(y, 0.1 * f64::from(i) + 0.03).abs() < 1e-9);
    let unit = if atom {
        1.0
    } else {
        (precision / std::f64::consts::TAU).sqrt()
    };
    let log_z = pair.log_z - 0.5 * precision * y * y + unit.ln();
    near("A against the channel's limit", log_z, exact.log_z, 3e-3)?;
    let scale = exact.mean.abs().max(exact.variance.sqrt()).max(1.0);
    near(
        "r against the channel's limit",
        pair.mean_z,
        exact.mean,
        3e-3 * scale,
    )?;
    near(
        "v against the channel's limit",
        pair.variance_z,
        exact.variance,
        3e-3 * scale * scale,
    )
}

/// Means and second moments of draws, within six of their standard errors.
fn check_draws(draws: &[f64], mean: f64, variance: f64) -> Outcome {
    let n = draws.len() as f64;
    for (name, power, exact) in [("mean", 1, 0.0), ("variance", 2, variance)] {
        let values = draws.iter().map(|x| (x - mean).powi(power));
        let average = values.clone().sum::<f64>() / n;
        let spread = values.map(|v| (v - average).powi(2)).sum::<f64>() / n;
        near(
            &format!("{name} of draws"),
            average,
            exact,
            6.0 * (spread / n).sqrt() + 1e-12,
        )?;
    }
    Ok(())
}

/// A window on all the mass of a prior: forty standard deviations of the law itself, cut in cells.
fn window<P: ScalarPrior>(law: &P) -> Vec<f64> {
    let rest = law.tilted(0.0, 0.0);
    cells(rest.mean, rest.variance.sqrt(), law.support())
}

/// `center` ± 40 `width` inside the support, in cells of half a width.
fn cells(center: f64, width: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let mut list: Vec<f64> = (-80..=80)
        .map(|i| {
            (0.5 * f64::from(i))
                .mul_add(width, center)
                .max(low)
                .min(high)
        })
        .collect();
    list.dedup();
    list
}

fn compare(name: &str, sum: [f64; 3], variance: f64, tolerance: f64) -> Outcome {
    near(&format!("{name}: mass"), sum[0], 1.0, tolerance)?;
    near(
        &format!("{name}: mean"),
        sum[1] / variance.sqrt().max(1e-150),
        0.0,
        tolerance,
    )?;
    near(
        &format!("{name}: variance"),
        sum[2],
        variance,
        tolerance * variance,
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

/// A belief in the range where laws must hold: $a$ log-uniform in $[10^{-8}, 10^{12}]$, $|b|$ in
/// $[10^{-6}, 10^{6}]$ with either sign.
// public for the tests of this crate, which draw such points for the whole catalogue
#[doc(hidden)]
pub fn extreme_tilt(rng: &mut dyn Rng) -> Tilt {
    let a = 10f64.powf(rng.random_range(-8.0..12.0));
    let size = 10f64.powf(rng.random_range(-6.0..6.0));
    Tilt {
        a,
        b: if rng.random::<bool>() { size } else { -size },
    }
}
