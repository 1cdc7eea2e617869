//! Log-concave priors: $0 < v \le 1/a$ from weak to sharp beliefs, at fields of up to $10^6$ deviations, and modes that rise nowhere.

use treeamp::catalog::priors::{Exponential, Gamma, Laplace, LogisticPrior, Uniform};
use treeamp::scalar::ScalarPrior;

fn check<P: ScalarPrior>(law: &P) {
    let rest = law.tilted(0.0, 0.0);
    for power in -12..=12 {
        let a = 10_f64.powi(power);
        let deviation = 1.0 / (1.0 / a + rest.variance).sqrt();
        for field in [0.0, 1e-3, 0.7, -3.0, 40.0, -1e3, 1e6, -1e6] {
            // b/a is that many deviations away from the mean
            let b = a * (rest.mean + field / deviation);
            let t = law.tilted(a, b);
            let what = format!("{law:?} at {a:e}, {b:e}: {t:?}");
            assert!(t.log_z.is_finite() && t.mean.is_finite(), "{what}");
            assert!(t.variance > 0.0 && t.variance * a <= 1.0 + 1e-9, "{what}");
            let excess = law.excess(a, b);
            let scale = t.log_z.abs().max(b * b / a).max(1.0);
            let difference = t.log_z - 0.5 * b * b / a - 0.5 * (std::f64::consts::TAU / a).ln();
            assert!(
                (excess - difference).abs() <= 1e-12 * scale,
                "{what}: {excess}"
            );
        }
    }
}

/// The objective falls on both sides of the mode, whose derivative in $b$ is the inverse curvature.
fn check_mode<P: ScalarPrior>(law: &P) {
    for (a, b) in [
        (0.3, 0.2),
        (1.0, -4.0),
        (5.0, 12.0),
        (40.0, -3.0),
        (0.0, 0.5),
    ] {
        let (x, slope) = law.mode(a, b).unwrap();
        let objective = |x: f64| law.log_density(x) - 0.5 * a * x * x + b * x;
        for step in [1e-4, 1e-2, 1.0] {
            for y in [x - step, x + step] {
                assert!(
                    objective(y) <= objective(x) + 1e-12,
                    "{law:?} at {a}, {b}: {x}"
                );
            }
        }
        let h = 1e-6;
        let (low, high) = (law.mode(a, b - h).unwrap().0, law.mode(a, b + h).unwrap().0);
        assert!(
            ((high - low) / (2.0 * h) - slope).abs() < 1e-6,
            "{law:?} at {a}, {b}"
        );
    }
}

#[test]
fn variances_are_at_most_those_of_the_belief() {
    check(&Exponential::new(0.8).unwrap());
    for (mean, scale) in [(0.0, 1.0), (3.0, 1e-3), (-0.2, 1e3)] {
        check(&Laplace::new(mean, scale).unwrap());
        check(&Uniform::new(mean, mean + scale).unwrap());
        check(&LogisticPrior::new(mean, scale).unwrap());
        check(&Gamma::new(3.0, scale).unwrap());
    }
}

#[test]
fn modes_are_highest() {
    check_mode(&Laplace::new(0.3, 0.7).unwrap());
    check_mode(&Laplace::new(-2.0, 1.5).unwrap());
    check_mode(&Uniform::new(-0.8, 1.7).unwrap());
    check_mode(&LogisticPrior::new(-0.8, 0.6).unwrap());
    check_mode(&Gamma::new(2.5, 1.5).unwrap());
}

/// Laws that are not log-concave but for some of their parameters have a mode at those.
#[test]
fn convex_special_cases_have_a_mode() {
    use treeamp::catalog::likelihoods::OutlierNoise;
    use treeamp::catalog::priors::{
        GaussBernoulli, GaussianMixture, NonnegativeGaussianMixture, SpikeLaplace,
    };
    use treeamp::scalar::ScalarLikelihood;
    check_mode(&SpikeLaplace::new(1.0, 0.7).unwrap());
    check_mode(&GaussBernoulli::new(1.0, 0.4, 2.0).unwrap());
    check_mode(&GaussianMixture::new(&[1.0], &[-0.5], &[1.5]).unwrap());
    check_mode(&NonnegativeGaussianMixture::new(&[1.0], &[0.3], &[0.8]).unwrap());
    let refused = [
        SpikeLaplace::new(0.9, 0.7).unwrap().mode(1.0, 0.5),
        GaussBernoulli::new(0.9, 0.4, 2.0).unwrap().mode(1.0, 0.5),
        GaussianMixture::new(&[0.5, 0.5], &[-0.5, 1.0], &[1.5, 1.0])
            .unwrap()
            .mode(1.0, 0.5),
    ];
    assert_eq!(refused, [None; 3]);
    // noise of one variance d: (y/d + b)/(1/d + a)
    for (own, far, probability, only) in [
        (0.5, 8.0, 0.0, 0.5),
        (0.5, 8.0, 1.0, 8.0),
        (2.0, 2.0, 0.3, 2.0),
    ] {
        let law = OutlierNoise::new(own, far, probability).unwrap();
        let (z, slope) = law.mode(1.5, 0.7, -0.2).unwrap();
        let precision = 1.0 / only + 0.7;
        assert!(
            (z - (1.5 / only - 0.2) / precision).abs() < 1e-14,
            "{law:?}"
        );
        assert!((slope - 1.0 / precision).abs() < 1e-14, "{law:?}");
    }
    let mixed = OutlierNoise::new(0.5, 8.0, 0.3).unwrap();
    assert_eq!(mixed.mode(1.5, 0.7, -0.2), None);
}

/// At large shapes and counts logarithms of large numbers cancel: densities against sums over all of it, or a Gaussian limit.
#[test]
fn densities_at_far_parameters_have_digits() {
    use treeamp::catalog::likelihoods::{NegativeBinomial, PoissonLikelihood};
    use treeamp::catalog::priors::StudentT;
    use treeamp::scalar::ScalarLikelihood;
    let close = |ours: f64, theirs: f64, most: f64, what: &str| {
        assert!((ours - theirs).abs() < most, "{what}: {ours} {theirs}");
    };
    // about the top a gamma law of shape k and rate k/2 is normal of mean 2 and variance 4/k, up to the skewness 2/sqrt(k): exactly there, its
    // log-density is -ln(8 pi / k)/2 - 1/(12 k)
    let k = 1e9;
    let gamma = Gamma::new(k, 0.5 * k).unwrap();
    let normal = -0.5 * (std::f64::consts::TAU * 4.0 / k).ln();
    close(gamma.log_density(2.0), normal, 1e-9, "gamma");
    // of counts y = mu: -ln(2 pi y)/2 - 1/(12 y)
    let y: f64 = 1e12;
    let top = -0.5 * (std::f64::consts::TAU * y).ln();
    let poisson = PoissonLikelihood.log_density(y, y.ln());
    // y times the square of the rounding of its logarithm, which is of the order of 1e-15 * 28
    close(poisson, top, 1e-12, "poisson");
    // a negative binomial of large dispersion is Poisson's, up to y²/k
    let limit = NegativeBinomial::new(1e15).unwrap();
    for y in [0.0, 3.0, 50.0] {
        let poisson = PoissonLikelihood.log_density(y, 1.5);
        close(limit.log_density(y, 1.5), poisson, 1e-11, "counts");
    }
    // up to (x⁴ - 2x² - 1)/(4 df) of its Gaussian limit
    let (df, x) = (1e6, 1.3_f64);
    let student = StudentT::new(df, 0.0, 1.0).unwrap().log_density(x);
    let normal = -0.5 * x * x - 0.5 * std::f64::consts::TAU.ln();
    let next = (x.powi(4) - 2.0 * x * x - 1.0) / (4.0 * df);
    close(student, normal + next, 1e-9, "student");
}

#[test]
fn parameters_out_of_range_are_named() {
    use treeamp::catalog::priors::{
        CircularGaussianMixture, ComplexAlphabet, FiniteAlphabet, NonnegativeGaussianMixture, Qam,
        SpikeLaplace, SpikeStudentT,
    };
    let refusals = [
        Laplace::new(0.0, 0.0).map(|_| ()).unwrap_err(),
        Uniform::new(2.0, 1.0).map(|_| ()).unwrap_err(),
        Uniform::new(0.0, f64::INFINITY).map(|_| ()).unwrap_err(),
        FiniteAlphabet::new(&[1.0, 1.0], &[0.5, 0.5])
            .map(|_| ())
            .unwrap_err(),
        FiniteAlphabet::new(&[1.0], &[0.5, 0.5])
            .map(|_| ())
            .unwrap_err(),
        SpikeLaplace::new(1.5, 1.0).map(|_| ()).unwrap_err(),
        SpikeStudentT::new(0.5, 0.0, 1.0).map(|_| ()).unwrap_err(),
        LogisticPrior::new(0.0, -1.0).map(|_| ()).unwrap_err(),
        Gamma::new(1.0, 0.0).map(|_| ()).unwrap_err(),
        CircularGaussianMixture::new(&[1.0], &[-2.0])
            .map(|_| ())
            .unwrap_err(),
        Qam::points(8).map(|_| ()).unwrap_err(),
        ComplexAlphabet::new(&[1.0, 1.0], &[2.0, 2.0], &[0.5, 0.5])
            .map(|_| ())
            .unwrap_err(),
        ComplexAlphabet::new(&[1.0, 0.0], &[2.0, f64::NAN], &[0.5, 0.5])
            .map(|_| ())
            .unwrap_err(),
        ComplexAlphabet::new(&[1.0, 0.0], &[2.0], &[1.0])
            .map(|_| ())
            .unwrap_err(),
        ComplexAlphabet::new(&[1.0, 0.0], &[2.0, 0.0], &[1.5, -0.5])
            .map(|_| ())
            .unwrap_err(),
        FiniteAlphabet::new(&[1.0, 0.0], &[0.5, 0.6])
            .map(|_| ())
            .unwrap_err(),
        NonnegativeGaussianMixture::new(&[1.0], &[0.0], &[0.0])
            .map(|_| ())
            .unwrap_err(),
    ];
    let expected = [
        "laplace: parameter `scale` must be positive, from 1e-100 to 1e100, got 0",
        "uniform: parameter `low` must be below high = 1, got 2",
        "uniform: parameter `high` must be finite, of size at most 1e150, got inf",
        "finite_alphabet: parameter `values` must be distinct, got 1 at indices 0 and 1",
        "finite_alphabet: parameter `weights` must be as many as values, or none, got 1 values, 2 weights",
        "spike_laplace: parameter `rho` must be in [0, 1], got 1.5",
        "spike_student_t: parameter `df` must be positive and at most 1e6 (beyond, the law is a Gaussian one), got 0",
        "logistic_prior: parameter `scale` must be positive, from 1e-100 to 1e100, got -1",
        "gamma: parameter `rate` must be positive and finite, got 0",
        "circular_gaussian_mixture: parameter `variances` must be positive and finite, got -2 at index 0",
        "qam: parameter `order` must be a power of 4 from 4 to 65536, got 8",
        "complex_alphabet: parameter `real` must be distinct values, got 1+2i again at index 1",
        "complex_alphabet: parameter `imaginary` must be finite, got NaN at index 1",
        "complex_alphabet: parameter `real` must be at least one, and as many as imaginary, got 2 real, 1 imaginary, 1 weights",
        "complex_alphabet: parameter `weights` must be positive with sum one, got -0.5 at index 1",
        "finite_alphabet: parameter `weights` must be positive with sum one, got a sum of 1.1",
        "nonnegative_gaussian_mixture: parameter `variances` must be positive and finite, got 0 at index 0",
    ];
    let got: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    assert_eq!(got, expected);
}
