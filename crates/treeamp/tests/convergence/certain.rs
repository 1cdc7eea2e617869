//! The double loop where it is needed most, and certainty that is none.

use super::evidence::perceptron;
use super::*;

/// Signs of a binary signal have a probability: its logarithm is never positive, wherever a forced double loop ends, and
/// whatever the damping of the two sweeps before it.
#[test]
fn a_forced_double_loop_of_a_perceptron_ends_well() {
    let seeds = if full() { 0..8 } else { 0..2 };
    for seed in seeds {
        let (posterior, _) = perceptron(100, 170, seed);
        for damping in [
            Damping::Adaptive,
            Damping::Constant(0.3),
            Damping::Constant(0.9),
        ] {
            let engine = ExpectationPropagation.on(&posterior).unwrap();
            let engine = engine.damping(damping.clone()).fallback(Fallback::Forced);
            let report = engine.run(&mut ()).unwrap();
            let done = report.fallback.as_ref().unwrap();
            let energies = done.free_energy.len();
            println!(
                "{seed} {damping:?}: {}, {} evaluations",
                done.end, done.evaluations
            );
            assert!(report.variance("x").unwrap() >= 0.0 && energies > 0);
            assert!(report.mean("x").unwrap().iter().all(|r| r.is_finite()));
            assert!(done.free_energy.iter().all(|f| f.is_finite()));
            match report.log_evidence() {
                // a certain signal among 2^100: rounding of as many logarithms
                Ok(evidence) => assert!(evidence < 1e-9, "{seed}: {evidence}"),
                Err(error) => assert!(!report.termination.is_converged(), "{seed}: {error}"),
            }
        }
    }
}

/// A run is not called a recovery where it is certain of a signal whose signs are not those that were seen.
/// (Sweeps of seed 24 come to be certain of one.)
#[test]
fn certainty_against_the_data_is_no_recovery() {
    let seeds: Vec<u64> = if full() {
        (0..100).collect()
    } else {
        vec![15, 18, 19, 24]
    };
    let mut recovered = 0;
    for seed in seeds {
        let (posterior, _) = perceptron(100, 150, seed);
        let report = run(&posterior, Damping::default());
        if report.termination
            != (Termination::Converged {
                perfect_recovery: true,
            })
        {
            continue;
        }
        recovered += 1;
        let w = common::gaussian_matrix(150, 100, seed);
        let x = report.mean("x").unwrap();
        let evidence = report.log_evidence().unwrap();
        // one signal of 2^100
        assert!(
            (evidence + 100.0 * std::f64::consts::LN_2).abs() < 1e-6,
            "{seed}: {evidence}"
        );
        let z = report.mean("z").unwrap();
        let row = |i: usize| (0..100).map(|j| w.get(i, j) * x[j]).sum::<f64>();
        assert!((0..150).all(|i| (row(i) - z[i]).abs() < 1e-9), "{seed}");
    }
    assert!(recovered >= 3);
}

/// A student who believes in no noise at all has a fixed point, and the double loop finds it within its bound.
#[test]
fn far_too_little_noise_has_a_fixed_point() {
    for (rho, noise, seed) in [(0.1, 1e-8, 0), (0.1, 1e-8, 1), (0.01, 1e-6, 1)] {
        let model = |rho: f64, noise: f64| {
            glm(
                GaussBernoulli::new(rho, 0.0, 1.0).unwrap().iid(200),
                linear(120, 200, seed),
                GaussianNoise::new(noise).unwrap(),
            )
        };
        let sample = model(0.1, 0.01).build().unwrap().sample(seed).unwrap();
        let student = model(rho, noise).build().unwrap();
        let posterior = student.condition("y", sample.get("y").unwrap()).unwrap();
        let report = run(&posterior, Damping::default());
        let done = report.fallback.as_ref().unwrap();
        println!(
            "{rho} {noise} {seed}: {}, {} evaluations",
            done.end, done.evaluations
        );
        assert_eq!(done.end, FallbackEnd::Stationary);
        assert!(done.sweep_residual.unwrap() < 1e-6);
    }
}

/// A discrete image with sparse differences: plain sweeps come to be certain of a wrong one, from which the observations are further than their noise
/// allows. That is no recovery; smaller steps find the image.
#[test]
fn certainty_that_the_noise_does_not_allow_is_no_recovery() {
    let (rows, columns) = (40, 50);
    let inside = |r: usize, c: usize| {
        (5..15).contains(&r) && (20..40).contains(&c)
            || (20..35).contains(&r) && (15..45).contains(&c)
    };
    let level = |i: usize| {
        if inside(i / columns, i % columns) {
            1.0
        } else {
            -1.0
        }
    };
    let image: Vec<f64> = (0..rows * columns).map(level).collect();
    for seed in 0..3 {
        let noise = common::normals(image.len(), seed);
        let pairs = image.iter().zip(noise);
        let y: Vec<f64> = pairs.map(|(x, e)| x + 0.1_f64.sqrt() * e).collect();
        let sparse = GaussBernoulli::new(0.045, 0.0, 4.0).unwrap();
        let data = GaussianLikelihood::new(0.1).unwrap().observed(y);
        let model = source(Binary::new(0.33).unwrap().shaped([rows, columns]))
            >> var("x")
            >> (branch(data.unwrap())
                + (branch(Gradient::periodic()) + sparse.shaped([2, rows, columns]) >> var("g")));
        let tree = model.build().unwrap();
        for damping in [Damping::Adaptive, Damping::None] {
            let report = run(&tree, damping.clone());
            let wrong = report.mean("x").unwrap().iter().zip(&image);
            let wrong = wrong.filter(|(r, x)| *r * *x <= 0.0).count();
            println!("{seed} {damping:?}: {wrong} wrong, {}", report.termination);
            if report.termination.is_converged() {
                assert!(wrong * 100 < image.len(), "{seed} {damping:?}: {wrong}");
            } else {
                let text = report.termination.to_string();
                assert!(
                    text.contains("noise variance that is set too small"),
                    "{text}"
                );
            }
        }
    }
}
