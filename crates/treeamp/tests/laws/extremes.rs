//! Priors and likelihoods by quadrature and of several parameters, at random parameters, outputs and beliefs of the whole range:
//! precisions from $10^{-12}$ to $10^{12}$, fields of up to $10^6$ deviations, counts of up to $10^6$.
//!
//! $2 \cdot 10^3$ draws per law, or $10^6$ with `TREEAMP_FULL=1`.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::Complex;
use treeamp::extend::ScalarLoss;
use treeamp::prelude::*;
use treeamp::scalar::{ScalarLikelihood, ScalarPrior, Tilted};

fn draws() -> usize {
    let full = std::env::var("TREEAMP_FULL").is_ok_and(|v| v == "1");
    if full { 1_000_000 } else { 2_000 }
}

fn size(rng: &mut dyn Rng, low: f64, high: f64) -> f64 {
    10f64.powf(rng.random_range(low..high))
}

fn real(rng: &mut dyn Rng) -> f64 {
    let x = size(rng, -3.0, 4.0);
    if rng.random::<bool>() { x } else { -x }
}

fn count(rng: &mut dyn Rng) -> f64 {
    if rng.random::<bool>() {
        f64::from(rng.random_range(0_u32..5))
    } else {
        size(rng, 0.0, 6.0).floor()
    }
}

fn label(rng: &mut dyn Rng) -> f64 {
    if rng.random::<bool>() { 1.0 } else { -1.0 }
}

/// A precision, and a field of so many deviations.
fn belief(rng: &mut dyn Rng) -> (f64, f64) {
    let a = size(rng, -12.0, 12.0);
    let field = size(rng, -3.0, 6.0) * label(rng);
    (a, field * a.sqrt())
}

/// Finite, with a positive variance that is at most $1/a$ of a log-concave law.
fn check(t: Tilted, a: f64, log_concave: bool, what: &dyn Fn() -> String) {
    let finite = t.log_z.is_finite() && t.mean.is_finite() && t.variance.is_finite();
    assert!(finite && t.variance >= 0.0, "{}: {t:?}", what());
    // laws by quadrature are good to 1e-8
    let bounded = t.variance > 0.0 && t.variance * a <= 1.0 + 1e-8;
    assert!(bounded || !log_concave, "{}: {t:?}", what());
}

fn prior<P: ScalarPrior>(log_concave: bool, law: impl Fn(&mut dyn Rng) -> Result<P, ModelError>) {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for _ in 0..draws() {
        let law = law(&mut rng).unwrap();
        let (a, b) = belief(&mut rng);
        let t = law.tilted(a, b);
        let what = || format!("{law:?} at {a:e}, {b:e}");
        check(t, a, log_concave, &what);
        let (low, high) = law.support();
        assert!((low..=high).contains(&t.mean), "{}: {t:?}", what());
    }
}

fn output<L>(log_concave: bool, law: impl Fn(&mut dyn Rng) -> (Result<L, ModelError>, f64))
where
    L: ScalarLikelihood<Output = f64>,
{
    let mut rng = ChaCha8Rng::seed_from_u64(32);
    for _ in 0..draws() {
        let (law, y) = law(&mut rng);
        let law = law.unwrap();
        law.check(y).unwrap();
        let (a, b) = belief(&mut rng);
        let what = || format!("{law:?} at y = {y:e}, {a:e}, {b:e}");
        check(law.tilted(y, a, b), a, log_concave, &what);
    }
}

#[test]
fn priors() {
    prior(false, |rng| {
        StudentT::new(size(rng, -0.5, 2.0), real(rng), size(rng, -3.0, 3.0))
    });
    prior(false, |rng| {
        RegularisedHorseshoe::new(size(rng, -4.0, 2.0), size(rng, -2.0, 3.0))
    });
    prior(false, |rng| {
        SpikeStudentT::new(rng.random(), size(rng, -0.5, 2.0), size(rng, -3.0, 3.0))
    });
    prior(true, |rng| {
        LogisticPrior::new(real(rng), size(rng, -3.0, 3.0))
    });
    prior(true, |rng| {
        Gamma::new(1.0 + size(rng, -3.0, 3.0), size(rng, -3.0, 3.0))
    });
    prior(false, |rng| {
        Gamma::new(size(rng, -1.5, 0.0), size(rng, -3.0, 3.0))
    });
}

/// Laws on the plane, at precisions and fields of the same range.
#[test]
fn planes() {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for _ in 0..draws() {
        let (a, field) = belief(&mut rng);
        let b = Complex::from_polar(field.abs(), rng.random_range(0.0..6.2));
        let p: f64 = rng.random_range(0.01..0.99);
        let variances = [size(&mut rng, -6.0, 6.0), size(&mut rng, -6.0, 6.0)];
        let mixture = CircularGaussianMixture::new(&[p, 1.0 - p], &variances).unwrap();
        let rician = RicianModulus::new(size(&mut rng, -6.0, 6.0)).unwrap();
        let parts = [real(&mut rng), real(&mut rng)];
        let alphabet = ComplexAlphabet::new(&parts, &[0.0, parts[0]], &[p, 1.0 - p]).unwrap();
        let qam = Qam::points(4_usize.pow(rng.random_range(1..7))).unwrap();
        let y = size(&mut rng, -3.0, 4.0);
        for (name, t, positive) in [
            (mixture.parameters(), mixture.tilted(a, b), true),
            (rician.parameters(), rician.tilted(y, a, b), true),
            (alphabet.parameters(), alphabet.tilted(a, b), false),
            (qam.parameters(), qam.tilted(a, b), false),
        ] {
            let finite = t.log_z.is_finite() && t.mean.norm().is_finite();
            let spread = t.variance > 0.0 || (!positive && t.variance >= 0.0);
            assert!(
                finite && spread && t.variance.is_finite(),
                "{name:?} {variances:?} {parts:?} {y:e} at {a:e}, {b}: {t:?}"
            );
        }
    }
}

#[test]
fn labels() {
    output(true, |rng| (LogisticLikelihood::new(0.0), label(rng)));
    output(false, |rng| {
        (LogisticLikelihood::new(rng.random()), label(rng))
    });
    output(true, |rng| {
        (ProbitLikelihood::new(size(rng, -6.0, 4.0), 0.0), label(rng))
    });
    output(false, |rng| {
        (
            ProbitLikelihood::new(size(rng, -6.0, 4.0), rng.random()),
            label(rng),
        )
    });
}

#[test]
fn counts() {
    output(true, |rng| (Ok(PoissonLikelihood), count(rng)));
    output(true, |rng| (Ok(PoissonSoftplusLikelihood), count(rng)));
    output(true, |rng| {
        (NegativeBinomial::new(size(rng, -2.0, 4.0)), count(rng))
    });
}

#[test]
fn noises() {
    output(true, |rng| {
        (LaplaceNoise::new(size(rng, -3.0, 3.0)), real(rng))
    });
    output(false, |rng| {
        (
            StudentTNoise::new(size(rng, -0.5, 2.0), size(rng, -3.0, 3.0)),
            real(rng),
        )
    });
    output(false, |rng| {
        let (near, far) = (size(rng, -6.0, 4.0), size(rng, -6.0, 6.0));
        (OutlierNoise::new(near, far, rng.random()), real(rng))
    });
    output(true, |rng| {
        (
            HeteroscedasticNoise::new(&[size(rng, -6.0, 6.0)]),
            real(rng),
        )
    });
}

#[test]
fn cells() {
    output(true, |rng| {
        let low = real(rng);
        let edges = [low, low + size(rng, -3.0, 3.0)];
        let cell = f64::from(rng.random_range(0_u32..3));
        (Quantised::new(size(rng, -6.0, 4.0), &edges), cell)
    });
    output(true, |rng| {
        let low = real(rng);
        let y = if rng.random() {
            low
        } else {
            low + size(rng, -2.0, 3.0)
        };
        (Censored::new(low, size(rng, -6.0, 4.0)), y)
    });
}

/// Counts between integers, as sums over many of them need; at some of these Newton's method alone goes to and fro.
#[test]
fn counts_between_integers() {
    let law = NegativeBinomial::new(1.5).unwrap();
    for i in 0..60 {
        let y = 31.5 * 1.2_f64.powi(i);
        for j in -40..40 {
            let b = 5.05 * f64::from(j);
            let t = law.tilted(y, 22.0, b);
            check(t, 22.0, true, &|| format!("{law:?} at y = {y}, 22, {b}"));
        }
    }
}

/// Beside next to nothing the variance of a heavy tail is made of masses of $e^{-38}$ and less: values by Gauss-Legendre panels of 22 digits, five to a
/// decade of $|x|$.
#[test]
fn heavy_tails_beside_weak_beliefs() {
    let law = treeamp::catalog::priors::StudentT::new(2.1, 0.0, 1.0).unwrap();
    for (b, mean, variance) in [
        (0.0, 0.0, 15.380_690_167_044_85),
        (1e-6, 1.548_414_163_302_988e-5, 15.712_592_142_345_32),
        (3e-6, 5.576_812_568_595_271e-5, 37.436_650_765_761_32),
    ] {
        let t = treeamp::scalar::ScalarPrior::tilted(&law, 1e-12, b);
        assert!((t.mean - mean).abs() <= 1e-10 * mean, "{b:e}: {}", t.mean);
        let gap = (t.variance / variance - 1.0).abs();
        assert!(gap < 1e-10, "{b:e}: {gap:e}");
    }
}

/// Parameters as far as counts and variables go: nothing overflows or cancels.
#[test]
fn far_parameters() {
    prior(true, |rng| {
        Gamma::new(size(rng, 3.0, 12.0), size(rng, -6.0, 12.0))
    });
    output(true, |rng| {
        let y = if rng.random() {
            count(rng)
        } else {
            size(rng, 6.0, 15.0).floor()
        };
        (NegativeBinomial::new(size(rng, 3.0, 15.0)), y)
    });
    output(true, |rng| {
        (Ok(PoissonLikelihood), size(rng, 6.0, 15.0).floor())
    });
    let mut rng = ChaCha8Rng::seed_from_u64(33);
    // the rule of a law of so many degrees of freedom has many points
    for _ in 0..draws() / 100 {
        let df = size(&mut rng, 2.0, 6.0);
        let law = StudentT::new(df, real(&mut rng), size(&mut rng, -3.0, 3.0)).unwrap();
        let (a, b) = belief(&mut rng);
        check(law.tilted(a, b), a, false, &|| {
            format!("{law:?} at {a:e}, {b:e}")
        });
    }
}

fn loss<L: ScalarLoss>(law: impl Fn(&mut dyn Rng) -> (Result<L, ModelError>, f64)) {
    let mut rng = ChaCha8Rng::seed_from_u64(34);
    for _ in 0..draws() {
        let (law, y) = law(&mut rng);
        let law = law.unwrap();
        let (a, b) = belief(&mut rng);
        let (z, slope) = law.proximal(y, a, b);
        let what = || format!("{law:?} at y = {y:e}, {a:e}, {b:e}: {z:e}, {slope:e}");
        assert!(z.is_finite(), "{}", what());
        // rounding of 1/(a + curvature)
        let bounded = (0.0..=(1.0 + 1e-15) / a).contains(&slope);
        assert!(bounded, "{}", what());
        let energy = law.energy(y, z);
        assert!(energy.is_finite() && energy >= 0.0, "{} {energy}", what());
    }
}

#[test]
fn losses() {
    loss(|rng| (Hinge::new(size(rng, -6.0, 6.0)), label(rng)));
    loss(|rng| (SquaredHinge::new(size(rng, -6.0, 6.0)), label(rng)));
    loss(|rng| {
        let (strength, threshold) = (size(rng, -6.0, 6.0), size(rng, -6.0, 6.0));
        (Huber::new(strength, threshold), real(rng))
    });
    loss(|rng| {
        let (strength, level) = (size(rng, -6.0, 6.0), rng.random_range(1e-6..1.0));
        (Quantile::new(strength, level), real(rng))
    });
}
