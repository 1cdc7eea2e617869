//! Total variation in two dimensions, where a gradient leaves half of its components free.

use super::*;

/// Means of total variation among Gaussian factors are its mode, whatever the variances. Settling is not enough, for
/// precisions that grow without end also stop a run: the duality gap tells.
#[test]
fn total_variation_in_two_dimensions_settles_at_its_mode() {
    let seeds = if full() { 20 } else { 3 };
    let cases = [
        ("total variation 2d", (30.0, 0.01)),
        ("total variation 2d, much noise", (3.0, 0.1)),
    ];
    for (name, parameters) in cases {
        for seed in 0..seeds {
            let case = suite::case(name, seed);
            let ours = run(&case.posterior, Damping::default());
            assert!(ours.termination.is_converged(), "{name}, seed {seed}");
            assert!(ours.sweeps <= 200, "{name}, seed {seed}: {}", ours.sweeps);
            // fewer than half of the differences are free: variances are those of a smoothed penalty, which is told
            let done = ours.fallback.as_ref().unwrap();
            assert!(done.smoothing.is_some(), "{name}, seed {seed}");
            let gap = suite::duality_gap(&ours, parameters);
            println!(
                "{name}, seed {seed}: {} sweeps, duality gap {gap:.1e}",
                ours.sweeps
            );
            // of a state that stopped on its way it is above 3e-4
            assert!(
                (-1e-12..1e-5).contains(&gap),
                "{name}, seed {seed}: {gap:e}"
            );
        }
    }
}

/// $\frac12\|x\|^2 + \frac1{2\Delta}\|y - x\|^2 + \lambda\|Gx\|_1$.
fn energy(x: &[f64], y: &[f64], (strength, noise): (f64, f64)) -> f64 {
    let n = 24;
    let next = |k: usize| [(k + n) % (n * n), k / n * n + (k + 1) % n];
    let one = |k: usize| {
        let jumps: f64 = next(k).iter().map(|m| (x[*m] - x[k]).abs()).sum();
        0.5 * x[k] * x[k] + (x[k] - y[k]).powi(2) / (2.0 * noise) + strength * jumps
    };
    (0..n * n).map(one).sum()
}

/// The minimisation is no worse than the mean, whose distance from the minimum the duality gap bounds.
#[test]
fn the_minimiser_of_total_variation_in_two_dimensions_is_the_mode() {
    for (name, parameters) in [
        ("total variation 2d", (30.0, 0.01)),
        ("total variation 2d, much noise", (3.0, 0.1)),
    ] {
        for seed in 0..2 {
            let case = suite::case(name, seed);
            let mean = run(&case.posterior, Damping::default());
            let y = mean.messages.get("gaussian_likelihood", "x").unwrap();
            let y: Vec<f64> = y.linear.iter().map(|b| b * parameters.1).collect();
            let tree = &case.posterior;
            let minimum = MaximumAPosteriori.on(tree).unwrap().run(&mut ()).unwrap();
            let solution = minimum.solution(tree).unwrap();
            let energy = |x: &[f64]| energy(x, &y, parameters);
            let (ours, bound) = (
                energy(solution.point("x").unwrap()),
                energy(mean.mean("x").unwrap()),
            );
            println!("{name}, seed {seed}: {ours:.8} against {bound:.8}");
            assert!(ours <= bound * (1.0 + 1e-9), "{name}, seed {seed}");
        }
    }
}

/// Where the penalty wins everywhere, the gradient is zero and its precision grows without end. The run settles at the mean of
/// the data: a signal that vanishes is not measured by its own size.
#[test]
fn a_flat_image_settles() {
    let n = 24;
    let y = common::normals(n * n, 3);
    let like = GaussianLikelihood::new(1.0).unwrap();
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped(vec![n, n]))
        >> var("x")
        >> (branch(like.observed(y.clone()).unwrap())
            + (branch(Gradient::periodic()) + L1::new(10.0).unwrap().shaped([2, n, n])
                >> var("z")));
    let report = run(&model.build().unwrap(), Damping::default());
    assert!(report.termination.is_converged(), "{}", report.termination);
    // prior and likelihood have the same precision
    let level = 0.5 * y.iter().sum::<f64>() / (n * n) as f64;
    let x = report.mean("x").unwrap();
    // the run settles to 1e-6 of the signal, whose variance is about 1
    assert!(x.iter().all(|x| (x - level).abs() < 1e-5));
}
