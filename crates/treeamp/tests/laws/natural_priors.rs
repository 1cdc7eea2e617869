//! Natural priors: $A_f[\lambda] = A_z[\lambda + \lambda_0] - A_z[\lambda_0]$ with the log-partitions of the variables written out.

use treeamp::extend::*;
use treeamp::prelude::*;

const POINTS: [(f64, f64); 5] = [
    (0.0, 0.0),
    (0.3, -1.2),
    (2.0, 4.0),
    (10.0, 0.5),
    (0.01, 3.0),
];

/// Log-partitions agree to this: both are sums of a few logarithms.
const TOLERANCE: f64 = 1e-12;

fn real(a: f64, b: f64) -> f64 {
    0.5 * b * b / a + 0.5 * (std::f64::consts::TAU / a).ln()
}

fn close(what: &str, got: f64, expected: f64, tolerance: f64) {
    let scale = expected.abs().max(1.0);
    assert!(
        (got - expected).abs() < tolerance * scale,
        "{what}: {got} is not {expected}"
    );
}

#[test]
fn real_and_sparse_variables() {
    let (a0, b0, eta) = (1.7, 0.6, 0.9);
    let gaussian = NaturalPrior::real(a0, b0).unwrap();
    let sparse = NaturalPrior::sparse(a0, b0, eta).unwrap();
    let with_zero = |a: f64, b: f64| (eta.exp() + real(a, b).exp()).ln();
    for (a, b) in POINTS {
        let expected = real(a + a0, b + b0) - real(a0, b0);
        close("real", gaussian.tilted(a, b).log_z, expected, TOLERANCE);
        let expected = with_zero(a + a0, b + b0) - with_zero(a0, b0);
        close("sparse", sparse.tilted(a, b).log_z, expected, TOLERANCE);
    }
}

/// Log-odds of hundreds are probabilities that round to 0 or 1: the law knows better, at tilts that bring it back.
#[test]
fn sparse_variables_beyond_probabilities() {
    let (a0, b0) = (1.7, 0.6);
    for eta in [-2000.0, -300.0, -40.0, 40.0, 300.0, 2000.0] {
        let law = NaturalPrior::sparse(a0, b0, eta).unwrap();
        let with_zero = |a: f64, b: f64| {
            let (x, y) = (eta, real(a, b));
            x.max(y) + (-(x - y).abs()).exp().ln_1p()
        };
        for (a, b) in [
            (0.0, 0.0),
            (0.3, 40.0),
            (2.0, -80.0),
            (1e200, 3.0),
            (5.0, 170.0),
        ] {
            let expected = with_zero(a + a0, b + b0) - with_zero(a0, b0);
            let t = law.tilted(a, b);
            close("sparse", t.log_z, expected, TOLERANCE);
            // p(x ≠ 0) = e^{A_real - A_sparse}
            let full = (real(a + a0, b + b0) - with_zero(a + a0, b + b0)).exp();
            let mean = full * (b + b0) / (a + a0);
            close("sparse mean", t.mean, mean, 1e-10);
            assert!(t.variance >= 0.0 && t.variance.is_finite());
        }
    }
}

#[test]
fn binary_variables() {
    let b0 = 0.35;
    let law = NaturalPrior::binary(b0).unwrap();
    let two = |b: f64| (2.0 * b.cosh()).ln();
    for (a, b) in POINTS {
        close(
            "binary",
            law.tilted(a, b).log_z,
            two(b + b0) - two(b0) - 0.5 * a,
            TOLERANCE,
        );
        close(
            "binary mean",
            law.tilted(a, b).mean,
            (b + b0).tanh(),
            TOLERANCE,
        );
    }
}

/// $\ln\int_l^u e^{-\frac12 a x^2 + b x}dx$ by Simpson's rule.
fn bounded(lower: f64, upper: f64, a: f64, b: f64) -> f64 {
    let n = 200_000;
    let h = (upper - lower) / f64::from(n);
    let value = |i: i32| {
        let x = lower + h * f64::from(i);
        let weight = if i == 0 || i == n {
            1.0
        } else {
            f64::from(2 + 2 * (i % 2))
        };
        weight * (x * (b - 0.5 * a * x)).exp()
    };
    ((0..=n).map(value).sum::<f64>() * h / 3.0).ln()
}

#[test]
fn interval_and_positive_variables() {
    let (a0, b0) = (1.7, 0.6);
    let interval = NaturalPrior::interval(-0.5, 1.5, a0, b0).unwrap();
    let positive = NaturalPrior::positive(a0, b0).unwrap();
    for (a, b) in POINTS {
        let difference =
            |lower, upper| bounded(lower, upper, a + a0, b + b0) - bounded(lower, upper, a0, b0);
        // Simpson's rule errs by the fourth power of 1e-4
        close(
            "interval",
            interval.tilted(a, b).log_z,
            difference(-0.5, 1.5),
            1e-11,
        );
        close(
            "positive",
            positive.tilted(a, b).log_z,
            difference(0.0, 20.0),
            1e-10,
        );
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = [
        NaturalPrior::real(0.0, 1.0).is_err(),
        NaturalPrior::real(1.0, f64::NAN).is_err(),
        NaturalPrior::binary(f64::INFINITY).is_err(),
        NaturalPrior::sparse(-1.0, 0.0, 0.0).is_err(),
        NaturalPrior::sparse(1.0, 0.0, f64::NAN).is_err(),
        NaturalPrior::interval(1.0, 0.0, 1.0, 0.0).is_err(),
        NaturalPrior::positive(f64::INFINITY, 0.0).is_err(),
    ];
    assert_eq!(refused, [true; 7]);
}

/// A field that probabilities cannot hold still loses to stronger evidence.
#[test]
fn strong_fields_are_no_certainty() {
    for (field, b) in [(20.0, -50.0), (17.0, -17.0), (300.0, -400.0), (-20.0, 50.0)] {
        let t = NaturalPrior::binary(field).unwrap().tilted(1.0, b);
        let c: f64 = field + b;
        assert!((t.mean - c.tanh()).abs() < 1e-15, "{field} {b}: {}", t.mean);
        // A = ln(2 cosh c) - ln(2 cosh h) - a/2
        let log_cosh = |x: f64| x.abs() + (-2.0 * x.abs()).exp().ln_1p();
        let exact = log_cosh(c) - log_cosh(field) - 0.5;
        assert!((t.log_z - exact).abs() < 1e-12 * exact.abs().max(1.0));
    }
}
