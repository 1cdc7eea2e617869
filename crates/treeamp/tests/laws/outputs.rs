//! Labels, counts and noises: extreme beliefs, modes, and outputs that cannot be.

use treeamp::catalog::likelihoods::{
    Censored, HeteroscedasticNoise, LaplaceNoise, LogisticLikelihood, NegativeBinomial,
    OutlierNoise, PoissonLikelihood, PoissonSoftplusLikelihood, ProbitLikelihood, Quantised,
    RicianModulus, StudentTNoise,
};
use treeamp::prelude::*;
use treeamp::scalar::ScalarLikelihood;

/// $0 < v \le 1/a$ where the law is log-concave, from weak to sharp beliefs and at fields of up to $10^6$ deviations; the excess is what
/// is left of $A$.
fn check<L: ScalarLikelihood<Output = f64>>(law: &L, y: f64, log_concave: bool) {
    for power in -12..=12 {
        let a = 10_f64.powi(power);
        for field in [0.0, 1e-3, 0.7, -3.0, 40.0, -1e3, 1e6, -1e6] {
            let b = field * a.sqrt();
            let t = law.tilted(y, a, b);
            let what = format!("{law:?} at y = {y:e}, {a:e}, {b:e}: {t:?}");
            assert!(t.log_z.is_finite() && t.mean.is_finite(), "{what}");
            assert!(t.variance > 0.0 && t.variance.is_finite(), "{what}");
            // quadrature is good to 1e-8 or better
            let bounded = t.variance * a <= 1.0 + 1e-9;
            assert!(bounded || !log_concave, "{what}");
            let excess = law.excess(y, a, b);
            let scale = t.log_z.abs().max(b * b / a).max(1.0);
            let difference = t.log_z - 0.5 * b * b / a - 0.5 * (std::f64::consts::TAU / a).ln();
            assert!(
                (excess - difference).abs() <= 1e-9 * scale,
                "{what}: {excess}"
            );
        }
    }
}

/// The objective falls on both sides of the mode, whose derivative in $b$ is the inverse curvature.
fn check_mode<L: ScalarLikelihood<Output = f64>>(law: &L, y: f64) {
    for (a, b) in [(0.3, 0.2), (1.0, -4.0), (5.0, 12.0), (40.0, -3.0)] {
        let (z, slope) = law.mode(y, a, b).unwrap();
        let objective = |z: f64| law.log_density(y, z) - 0.5 * a * z * z + b * z;
        for step in [1e-4, 1e-2, 1.0] {
            for other in [z - step, z + step] {
                let rise = objective(other) - objective(z);
                assert!(
                    rise <= 1e-12 * objective(z).abs().max(1.0),
                    "{law:?} at {a}, {b}: {z}"
                );
            }
        }
        let h = 1e-5;
        let mode = |b: f64| law.mode(y, a, b).unwrap().0;
        let measured = (mode(b + h) - mode(b - h)) / (2.0 * h);
        assert!(
            (measured - slope).abs() < 1e-6,
            "{law:?} at {a}, {b}: {measured} {slope}"
        );
    }
}

#[test]
fn extreme_beliefs() {
    for y in [1.0, -1.0] {
        check(&LogisticLikelihood::default(), y, true);
        check(&LogisticLikelihood::new(0.2).unwrap(), y, false);
        check(&LogisticLikelihood::new(0.9).unwrap(), y, false);
        check(&ProbitLikelihood::new(0.3, 0.0).unwrap(), y, true);
        check(&ProbitLikelihood::new(0.3, 0.2).unwrap(), y, false);
    }
    for y in [0.0, 1.0, 40.0, 1e6] {
        check(&PoissonLikelihood, y, true);
        check(&PoissonSoftplusLikelihood, y, true);
        check(&NegativeBinomial::new(0.3).unwrap(), y, true);
        check(&NegativeBinomial::new(40.0).unwrap(), y, true);
    }
    for y in [0.0, 1.0, 2.0] {
        check(&Quantised::new(0.2, &[-0.5, 0.7]).unwrap(), y, true);
    }
    for y in [-0.3, 2.0] {
        check(&Censored::new(-0.3, 0.4).unwrap(), y, true);
    }
    for y in [0.0, -3.0, 1e4] {
        check(&LaplaceNoise::new(0.7).unwrap(), y, true);
        check(&StudentTNoise::new(3.0, 0.7).unwrap(), y, false);
        check(&OutlierNoise::new(0.2, 30.0, 0.1).unwrap(), y, false);
    }
}

#[test]
fn modes_are_highest() {
    for y in [1.0, -1.0] {
        check_mode(&LogisticLikelihood::default(), y);
        check_mode(&LogisticLikelihood::new(1.0).unwrap(), y);
    }
    for y in [0.0, 3.0, 2000.0] {
        check_mode(&PoissonLikelihood, y);
        check_mode(&PoissonSoftplusLikelihood, y);
        check_mode(&NegativeBinomial::new(1.5).unwrap(), y);
    }
    check_mode(&LaplaceNoise::new(0.7).unwrap(), 0.4);
    for y in [1.0, -1.0] {
        check_mode(&ProbitLikelihood::new(0.4, 0.0).unwrap(), y);
        check_mode(&ProbitLikelihood::new(0.4, 1.0).unwrap(), y);
    }
    for y in [0.0, 1.0, 2.0] {
        check_mode(&Quantised::new(0.2, &[-0.5, 0.7]).unwrap(), y);
        check_mode(&Quantised::new(1e-4, &[-0.5, 0.7]).unwrap(), y);
    }
    for y in [-0.3, 0.9] {
        check_mode(&Censored::new(-0.3, 0.4).unwrap(), y);
    }
}

/// Intervals behind noise, at beliefs and noises from weak to sharp: the mode is highest, and its derivative is between 0 and $1/a$, and
/// $1/a$ where the output tells nothing.
#[test]
fn modes_of_intervals_at_extremes() {
    for noise in [1e-10, 1e-4, 1.0, 1e8] {
        let cells = Quantised::new(noise, &[-0.5, 0.7]).unwrap();
        for y in [0.0, 1.0, 2.0] {
            for power in -12..=12 {
                let a = 10_f64.powi(power);
                for field in [0.0, 0.3, -2.0, 40.0, -1e6, 1e6] {
                    let b = field * a.sqrt();
                    let (z, slope) = cells.mode(y, a, b).unwrap();
                    let what =
                        format!("noise {noise:e}, cell {y} at {a:e}, {b:e}: {z:e} {slope:e}");
                    assert!(z.is_finite() && slope > 0.0, "{what}");
                    assert!(slope * a <= 1.0 + 1e-12, "{what}");
                    let objective = |z: f64| cells.log_density(y, z) - 0.5 * a * z * z + b * z;
                    let size = cells.log_density(y, z).abs().max(b * b / a).max(1.0);
                    for step in [0.1, 1.0] {
                        for other in [z - step * slope.sqrt(), z + step * slope.sqrt()] {
                            let rise = objective(other) - objective(z);
                            assert!(rise <= 1e-13 * size, "{what}: {rise:e}");
                        }
                    }
                }
            }
        }
    }
    let told_nothing = Quantised::new(1e-10, &[-0.5, 0.7]).unwrap();
    assert_eq!(told_nothing.mode(1.0, 1e-6, 1e-7), Some((0.1, 1e6)));
}

/// Flipped labels are not log-concave; without noise the mode is the projection on a cell, which moves with the belief strictly inside.
#[test]
fn outputs_without_noise_or_a_mode() {
    assert_eq!(
        ProbitLikelihood::new(0.4, 0.1).unwrap().mode(1.0, 1.0, 0.0),
        None
    );
    let flipped = ProbitLikelihood::new(0.0, 0.1).unwrap();
    assert_eq!(flipped.mode(1.0, 1.0, 0.0), None);
    let sign = ProbitLikelihood::new(0.0, 0.0).unwrap();
    assert_eq!(sign.mode(1.0, 2.0, -3.0), Some((0.0, 0.0)));
    assert_eq!(sign.mode(-1.0, 2.0, -3.0), Some((-1.5, 0.5)));
    let cells = Quantised::new(0.0, &[0.0, 1.0]).unwrap();
    assert_eq!(cells.mode(1.0, 2.0, 5.0), Some((1.0, 0.0)));
    assert_eq!(cells.mode(2.0, 2.0, 5.0), Some((2.5, 0.5)));
    // without a belief any point of a cell is one
    assert_eq!(cells.mode(2.0, 0.0, 0.0).unwrap().1, f64::INFINITY);
    assert_eq!(
        StudentTNoise::new(3.0, 1.0).unwrap().mode(1.0, 1.0, 0.0),
        None
    );
}

/// Outputs that cannot be are named with their index.
#[test]
fn impossible_outputs_are_refused() {
    let text = |e: ModelError| e.to_string();
    let label = LogisticLikelihood::default().observed([1.0, -1.0, 0.5]);
    assert_eq!(
        text(label.unwrap_err()),
        "logistic: parameter `y` must be +1 or -1, got 0.5 at index 2"
    );
    for (count, expected) in [
        (-1.0, "a count 0, 1, 2, ..., got -1"),
        (2.5, "a count 0, 1, 2, ..., got 2.5"),
        (1e300, "a count of at most 2^53, got 1e300"),
    ] {
        let refused = text(PoissonLikelihood.observed([3.0, count]).unwrap_err());
        let expected = format!("poisson: parameter `y` must be {expected} at index 1");
        assert_eq!(refused, expected);
        assert!(PoissonSoftplusLikelihood.observed([count]).is_err());
    }
    let cell = Quantised::new(0.1, &[0.0, 1.0])
        .unwrap()
        .observed([2.0, 3.0]);
    assert_eq!(
        text(cell.unwrap_err()),
        "quantised: parameter `y` must be a cell 0, ..., 2, got 3 at index 1"
    );
    let below = Censored::new(0.5, 1.0).unwrap().observed([0.5, 0.4]);
    assert_eq!(
        text(below.unwrap_err()),
        "censored: parameter `y` must be a finite number from 0.5 up, got 0.4 at index 1"
    );
    let modulus = RicianModulus::new(1.0).unwrap().observed([0.0]);
    assert!(text(modulus.unwrap_err()).ends_with("got 0 at index 0"));
    let nan = LaplaceNoise::new(1.0).unwrap().observed([0.0, f64::NAN]);
    assert!(text(nan.unwrap_err()).ends_with("got NaN at index 1"));
}

#[test]
fn parameters_out_of_range_are_named() {
    let refusals = [
        ProbitLikelihood::new(-1.0, 0.0).map(|_| ()),
        ProbitLikelihood::new(1.0, 1.5).map(|_| ()),
        LaplaceNoise::new(0.0).map(|_| ()),
        StudentTNoise::new(-2.0, 1.0).map(|_| ()),
        StudentTNoise::new(2.0, f64::INFINITY).map(|_| ()),
        OutlierNoise::new(0.0, 1.0, 0.1).map(|_| ()),
        OutlierNoise::new(1.0, 1.0, -0.1).map(|_| ()),
        NegativeBinomial::new(0.0).map(|_| ()),
        Quantised::new(0.1, &[0.0, 0.0]).map(|_| ()),
        Censored::new(f64::NAN, 1.0).map(|_| ()),
        RicianModulus::new(0.0).map(|_| ()),
    ];
    let expected = [
        "probit: parameter `noise_variance` must be non-negative and finite, got -1",
        "probit: parameter `flip_probability` must be in [0, 1], got 1.5",
        "laplace_noise: parameter `scale` must be positive, from 1e-100 to 1e100, got 0",
        "student_t_noise: parameter `df` must be positive and at most 1e6 (beyond, the law is a Gaussian one), got -2",
        "student_t_noise: parameter `scale` must be positive, from 1e-100 to 1e100, got inf",
        "outlier_noise: parameter `variance` must be positive and finite, got 0",
        "outlier_noise: parameter `outlier_probability` must be in [0, 1], got -0.1",
        "negative_binomial: parameter `dispersion` must be positive and finite, got 0",
        "quantised: parameter `edges` must be finite and ascending, got 0 at index 1",
        "censored: parameter `threshold` must be finite, got NaN",
        "rician_modulus: parameter `noise_variance` must be positive and finite, got 0",
    ];
    for (refusal, expected) in refusals.into_iter().zip(expected) {
        assert_eq!(refusal.unwrap_err().to_string(), expected);
    }
}

/// One variance per observation: another number of either is refused, and so is a variance that is none, with its index.
#[test]
fn variances_per_observation() {
    let law = HeteroscedasticNoise::new(&[0.5, 2.0, 0.1]).unwrap();
    let refused = law.observed([1.0, 2.0]).unwrap_err().to_string();
    let expected = "heteroscedastic_noise: parameter `y` must be 3 observations, one per parameter of the law, got 2";
    assert_eq!(refused, expected);
    let negative = HeteroscedasticNoise::new(&[0.5, 2.0, -0.1]).unwrap_err();
    let expected = "heteroscedastic_noise: parameter `variances` must be positive and finite, got -0.1 at index 2";
    assert_eq!(negative.to_string(), expected);
    assert!(HeteroscedasticNoise::new(&[]).is_err());
}

/// Beside weak beliefs the edge of a label or of a count of zero is a step. An edge behind which nothing is left is where the quadrature ends,
/// and must be seen there: logistic labels step at zero, to the order of $a$, and $e^{-e^z}$ at $-\gamma$, the mean of its edge.
#[test]
fn soft_edges_beside_weak_beliefs_are_steps() {
    const EULER: f64 = 0.577_215_664_901_532_9;
    let step = ProbitLikelihood::new(0.0, 0.0).unwrap();
    for power in [-9, -10, -11, -12] {
        let a = 10_f64.powi(power);
        for tenth in -50..=50 {
            let b = 0.1 * f64::from(tenth) * a.sqrt();
            let near = |ours: f64, theirs: f64, what: &str| {
                // the second moment of an edge, a few units, next to the square of the distance over which the belief falls there
                let gap = (ours / theirs - 1.0).abs();
                let most = 1e-8 + 20.0 * (a + b * b);
                assert!(gap < most, "{what} at {a:e}, {b:e}: {ours} {theirs}");
            };
            let (label, known) = (
                LogisticLikelihood::default().tilted(1.0, a, b),
                step.tilted(1.0, a, b),
            );
            near(label.log_z.exp(), known.log_z.exp(), "mass of a label");
            near(label.variance, known.variance, "variance of a label");
            let count = PoissonLikelihood.tilted(0.0, a, b);
            let known = step.tilted(-1.0, a, b + a * EULER);
            let shift = -0.5 * a * EULER * EULER - b * EULER;
            near(
                (count.log_z - shift).exp(),
                known.log_z.exp(),
                "mass of a count",
            );
            near(count.variance, known.variance, "variance of a count");
        }
    }
}

/// Far from the centre of a heavy tail the mean is that of the belief, to all digits: $b/a + (y - b/a)\,E[1/(1 + aV)]$, where the second part is
/// $\frac{\nu + 1}{a(y - b/a)}$ to leading order.
#[test]
fn means_far_from_a_heavy_tail() {
    for (df, y, a, b) in [
        (1.0, 1e6, 1e12, -3e6),
        (1.0, 1e6, 1e6, 5.0),
        (2.5, 1e4, 1e9, 1.0),
    ] {
        let law = StudentTNoise::new(df, 1.0).unwrap();
        let t = law.tilted(y, a, b);
        let expected = b / a + (df + 1.0) / (a * (y - b / a));
        let gap = (t.mean / expected - 1.0).abs();
        assert!(gap < 1e-8, "{df} {y} {a:e} {b}: {} {expected}", t.mean);
    }
}
