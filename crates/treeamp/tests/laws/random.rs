//! Laws at random points of their whole range: values finite, variances positive, means in the support.
//!
//! $10^4$ draws per law, or $10^6$ with `TREEAMP_FULL=1`. These are laws at parameters that were trouble once, with what is known of
//! their supports; `modules.rs` goes through the whole catalogue.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::catalog::channels::{Activation, PiecewiseLinear};
use treeamp::catalog::likelihoods::GaussianLikelihood;
use treeamp::catalog::priors::{
    Binary, Exponential, FiniteAlphabet, GaussBernoulli, GaussianMixture, GaussianPrior, Interval,
    Laplace, NonnegativeGaussianMixture, Positive, SpikeLaplace, Uniform,
};
use treeamp::scalar::{ScalarChannel, ScalarLikelihood, ScalarPrior, Tilt, Tilted};
use treeamp::testing::laws::{check_value, end_x, end_z, extreme_tilt};

const LINE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

fn draws() -> usize {
    let full = std::env::var("TREEAMP_FULL").is_ok_and(|v| v == "1");
    if full { 1_000_000 } else { 10_000 }
}

fn size(rng: &mut dyn Rng, low: f64, high: f64) -> f64 {
    10f64.powf(rng.random_range(low..high))
}

fn real(rng: &mut dyn Rng) -> f64 {
    let x = size(rng, -6.0, 4.0);
    if rng.random::<bool>() { x } else { -x }
}

fn probability(rng: &mut dyn Rng) -> f64 {
    match rng.random_range(0..10) {
        0 => 0.0,
        1 => 1.0,
        2 => size(rng, -300.0, 0.0),
        _ => rng.random::<f64>(),
    }
}

/// Finite anywhere in the range; `positive` where no exact variance underflows.
fn check(t: Tilted, support: (f64, f64), positive: bool, what: &dyn Fn() -> String) {
    let outcome = check_value(t, support);
    assert!(outcome.is_ok(), "{}: {outcome:?}", what());
    assert!(t.log_z.is_finite(), "{}: diverges", what());
    assert!(!positive || t.variance > 0.0, "{}: {t:?}", what());
}

fn check_prior<P: ScalarPrior>(positive: bool, law: impl Fn(&mut dyn Rng) -> P) {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for _ in 0..draws() {
        let law = law(&mut rng);
        let Tilt { a, b } = extreme_tilt(&mut rng);
        let t = law.tilted(a, b);
        check(t, law.support(), positive, &|| {
            format!("{law:?} at a = {a:e}, b = {b:e}")
        });
        let (mean, variance) = law.moments(a, b);
        assert!(
            mean == t.mean && variance == t.variance,
            "{law:?} at {a:e}, {b:e}: moments differ"
        );
    }
}

fn check_likelihood<L>(positive: bool, law: impl Fn(&mut dyn Rng) -> (L, f64))
where
    L: ScalarLikelihood<Output = f64>,
{
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for _ in 0..draws() {
        let (law, y) = law(&mut rng);
        law.check(y).unwrap();
        let Tilt { a, b } = extreme_tilt(&mut rng);
        let t = law.tilted(y, a, b);
        let what = || format!("{law:?} at y = {y:e}, a = {a:e}, b = {b:e}");
        check(t, law.support(y), positive, &what);
        let (mean, variance) = law.moments(y, a, b);
        assert!(
            mean == t.mean && variance == t.variance,
            "{}: moments differ",
            what()
        );
    }
}

fn check_channel<C>(range: (f64, f64), law: impl Fn(&mut dyn Rng) -> C)
where
    C: ScalarChannel<In = f64, Out = f64>,
{
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    for i in 0..draws() {
        let law = law(&mut rng);
        let (z, mut x) = (extreme_tilt(&mut rng), extreme_tilt(&mut rng));
        if i % 10 == 0 {
            x = Tilt { a: 0.0, b: 0.0 };
        }
        let t = law.tilted(z, x);
        let what = || format!("{law:?} at z {z:?}, x {x:?}");
        check(end_z(t), LINE, true, &what);
        check(end_x(t), range, false, &what);
    }
}

macro_rules! priors {
    ($($name:ident($positive:expr): $law:expr;)*) => {
        mod prior {
            use super::*;
            $(#[test] fn $name() { check_prior($positive, $law); })*
        }
    };
}

priors! {
    gaussian(true): |rng| GaussianPrior::new(real(rng), size(rng, -8.0, 8.0)).unwrap();
    binary(false): |rng| Binary::new(probability(rng)).unwrap();
    gauss_bernoulli(false): |rng| {
        GaussBernoulli::new(probability(rng), real(rng), size(rng, -8.0, 8.0)).unwrap()
    };
    gaussian_mixture(false): |rng| {
        let (p, v) = (rng.random_range(1e-9..0.5), size(rng, -8.0, 8.0));
        let means = [real(rng), real(rng), real(rng)];
        GaussianMixture::new(&[p, 0.5 - p, 0.5], &means, &[v, size(rng, -8.0, 8.0), 0.0]).unwrap()
    };
    positive(true): |rng| Positive::new(real(rng), size(rng, -8.0, 8.0)).unwrap();
    interval(true): |rng| {
        let low = real(rng);
        Interval::new(low, low + size(rng, -8.0, 4.0), real(rng), size(rng, -8.0, 8.0)).unwrap()
    };
    interval_above(true): |rng| {
        Interval::new(real(rng), f64::INFINITY, real(rng), size(rng, -8.0, 8.0)).unwrap()
    };
    exponential(true): |rng| Exponential::new(size(rng, -6.0, 6.0)).unwrap();
    laplace(true): |rng| Laplace::new(real(rng), size(rng, -6.0, 6.0)).unwrap();
    uniform(true): |rng| {
        let low = real(rng);
        Uniform::new(low, low + size(rng, -4.0, 4.0)).unwrap()
    };
    finite_alphabet(false): |rng| {
        let (low, p) = (real(rng), rng.random_range(1e-9..0.5));
        let values = [low, low + size(rng, -4.0, 4.0), low - size(rng, -4.0, 4.0)];
        FiniteAlphabet::new(&values, &[p, 0.5 - p, 0.5]).unwrap()
    };
    spike_laplace(false): |rng| SpikeLaplace::new(probability(rng), size(rng, -6.0, 6.0)).unwrap();
    nonnegative_gaussian_mixture(true): |rng| {
        let (p, v) = (rng.random_range(1e-9..1.0), size(rng, -8.0, 8.0));
        let (means, variances) = ([real(rng), real(rng)], [v, size(rng, -8.0, 8.0)]);
        NonnegativeGaussianMixture::new(&[p, 1.0 - p], &means, &variances).unwrap()
    };
}

macro_rules! likelihoods {
    ($($name:ident($positive:expr): $law:expr;)*) => {
        mod likelihood {
            use super::*;
            $(#[test] fn $name() { check_likelihood($positive, $law); })*
        }
    };
}

/// An activation observed at one of its values, or at the image of a random input.
fn seen(
    law: &PiecewiseLinear,
    rng: &mut dyn Rng,
) -> (treeamp::catalog::likelihoods::PiecewiseLikelihood, f64) {
    let y = law.value(real(rng));
    (law.likelihood().unwrap(), y)
}

likelihoods! {
    gaussian(true): |rng| (GaussianLikelihood::new(size(rng, -12.0, 8.0)).unwrap(), real(rng));
    noiseless(false): |rng| (GaussianLikelihood::new(0.0).unwrap(), real(rng));
    sign(true): |rng| seen(&PiecewiseLinear::sign(), rng);
    abs(false): |rng| seen(&PiecewiseLinear::abs(), rng);
    asymmetric_abs(false): |rng| seen(&PiecewiseLinear::asymmetric_abs(real(rng)).unwrap(), rng);
    relu(false): |rng| seen(&PiecewiseLinear::relu(), rng);
    leaky_relu(false): |rng| seen(&PiecewiseLinear::leaky_relu(real(rng)).unwrap(), rng);
    hard_tanh(false): |rng| seen(&PiecewiseLinear::hard_tanh(), rng);
    hard_sigmoid(false): |rng| seen(&PiecewiseLinear::hard_sigmoid(size(rng, -4.0, 4.0)).unwrap(), rng);
    symmetric_door(true): |rng| seen(&PiecewiseLinear::symmetric_door(size(rng, -8.0, 4.0)).unwrap(), rng);
    tanh(false): |rng| {
        (Activation::tanh().likelihood().unwrap(), rng.random_range(-1.0..1.0_f64).next_up())
    };
    softplus(false): |rng| (Activation::softplus().likelihood().unwrap(), size(rng, -8.0, 6.0));
}

macro_rules! channels {
    ($($name:ident($range:expr): $law:expr;)*) => {
        mod channel {
            use super::*;
            $(#[test] fn $name() { check_channel($range, $law); })*
        }
    };
}

channels! {
    sign((-1.0, 1.0)): |_| PiecewiseLinear::sign();
    abs((0.0, f64::INFINITY)): |_| PiecewiseLinear::abs();
    asymmetric_abs(LINE): |rng| PiecewiseLinear::asymmetric_abs(real(rng)).unwrap();
    relu((0.0, f64::INFINITY)): |_| PiecewiseLinear::relu();
    leaky_relu(LINE): |rng| PiecewiseLinear::leaky_relu(real(rng)).unwrap();
    hard_tanh((-1.0, 1.0)): |_| PiecewiseLinear::hard_tanh();
    hard_sigmoid((0.0, 1.0)): |rng| PiecewiseLinear::hard_sigmoid(size(rng, -4.0, 4.0)).unwrap();
    symmetric_door((-1.0, 1.0)): |rng| PiecewiseLinear::symmetric_door(size(rng, -8.0, 4.0)).unwrap();
    tanh((-1.0, 1.0)): |_| Activation::tanh();
    sigmoid((0.0, 1.0)): |_| Activation::sigmoid();
    softplus((0.0, f64::INFINITY)): |_| Activation::softplus();
}
