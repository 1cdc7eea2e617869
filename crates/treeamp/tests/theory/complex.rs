//! State evolution of complex laws: reductions, thresholds, agreement with runs. The averages of every law are checked in
//! `tests/laws/complex.rs`, through the catalogue.

use crate::common::{self, infer, oracle};
use treeamp::algorithms::state_evolution::mutual_information;
use treeamp::algorithms::state_evolution::phases::{
    Phase, Search, algorithmic_threshold, information_threshold, phase_report, weak_recovery,
};
use treeamp::belief::{OverlapFields, Overlaps};
use treeamp::extend::{Factor, ScalarPrior};
use treeamp::factor::Averaged;
use treeamp::operator::{ComplexDense, ComplexOnReal};
use treeamp::prelude::*;

fn bayes(m_hat: f64, tau0_hat: f64) -> OverlapFields {
    OverlapFields {
        m_hat,
        q_hat: m_hat,
        tau_hat: tau0_hat,
    }
}

/// Overlaps and potential of a factor that is its own teacher.
fn average(
    factor: &dyn Factor,
    fields: &[OverlapFields],
    tau0_hat: &[f64],
    port: usize,
) -> (Overlaps, f64) {
    let rule = factor.ensemble().unwrap();
    let at = Averaged { fields, tau0_hat };
    let overlaps = rule.overlaps(factor, at, port).unwrap();
    (overlaps, rule.potential(factor, at).unwrap())
}

/// A real law on the parts is averaged as the real law; a fully dense sparse prior as the Gaussian.
#[test]
fn reductions() {
    for m_hat in [0.0, 1e-6, 0.5, 30.0, 1e6] {
        let fields = [bayes(m_hat, 0.0)];
        let real = GaussBernoulli::new(0.3, 0.2, 1.0).unwrap();
        let one = average(&real.limit(), &fields, &[0.0], 0);
        let two = average(&PartsPrior::new(real).limit(), &fields, &[0.0], 0);
        assert_eq!(one, two);
        let dense = CircularGaussBernoulli::new(1.0, 1.4).unwrap().limit();
        let gaussian = CircularGaussian::new(1.4).unwrap().limit();
        let (one, two) = (
            average(&dense, &fields, &[0.0], 0),
            average(&gaussian, &fields, &[0.0], 0),
        );
        assert!(
            (one.0.v / two.0.v - 1.0).abs() < 1e-10,
            "{m_hat}: {one:?} {two:?}"
        );
        assert!(
            (one.1 - two.1).abs() < 1e-9 * two.1.abs().max(1e-9),
            "{m_hat}: {one:?} {two:?}"
        );
    }
}

/// The sixteen letters of a square, averaged over the plane, are two independent alphabets; also for a student who is mistaken, and where nearly nothing
/// or nearly everything is seen.
#[test]
fn a_square_constellation_is_that_of_its_parts() {
    let square = Qam::points(16).unwrap();
    let letters = square.atoms();
    let [re, im] = [0, 1].map(|part| {
        let of = |(x, _): &(treeamp::Complex<f64>, f64)| [x.re, x.im][part];
        letters.iter().map(of).collect::<Vec<f64>>()
    });
    let plane = ComplexAlphabet::new(&re, &im, &[]).unwrap().limit();
    let parts = square.limit();
    let mistaken = |m_hat: f64, noise: f64| OverlapFields {
        m_hat,
        q_hat: noise * m_hat,
        tau_hat: 0.1,
    };
    let sizes = [1e-7, 1e-3, 0.1, 1.0, 10.0, 60.0, 200.0, 600.0, 1e4, 1e9];
    let exact = sizes.map(|m_hat| (bayes(m_hat, 0.0), 0.0));
    let tilted = [0.3, 30.0].map(|m_hat| (bayes(m_hat, 0.4), 0.4));
    let wrong = [(0.2, 0.5), (5.0, 3.0), (80.0, 0.7)].map(|(m, q)| (mistaken(m, q), 0.2));
    for (field, tau0_hat) in exact.into_iter().chain(tilted).chain(wrong) {
        let fields = [field];
        let (one, two) = (
            average(&plane, &fields, &[tau0_hat], 0),
            average(&parts, &fields, &[tau0_hat], 0),
        );
        let close = |what: &str, p: f64, q: f64, floor: f64| {
            let gap = (p - q).abs() / q.abs().max(floor);
            assert!(gap < 1e-9, "{what} at {field:?}: {p:e} {q:e}, {gap:e}");
        };
        close("tau0", one.0.tau0, two.0.tau0, 0.0);
        close("m", one.0.m, two.0.m, 1e-12);
        close("v", one.0.v, two.0.v, 1e-16);
        close("err", one.0.err, two.0.err, 1e-12);
        close("A", one.1, two.1, 1e-5 * field.m_hat.min(1.0));
        if tau0_hat == 0.0 {
            let at = Averaged {
                fields: &fields,
                tau0_hat: &[0.0],
            };
            let ports = [(one.0.tau0, 1.0)];
            let [p, q] = [&plane as &dyn Factor, &parts].map(|factor| {
                let rule = factor.ensemble().unwrap();
                rule.entropic_potential(factor, at, &ports).unwrap()
            });
            close("H", p, q, 1e-3);
        }
    }
}

fn complex_phase_retrieval(w: LinearEnsemble) -> Result<Tree, RunError> {
    let chain = source(CircularGaussian::new(1.0)?.limit()) >> var("x") >> w >> var("z");
    Ok((chain >> Modulus >> var("y")).build()?.expect("y")?)
}

fn real_phase_retrieval(w: LinearEnsemble) -> Result<Tree, RunError> {
    let chain = source(GaussianPrior::new(0.0, 1.0)?.limit()) >> var("x") >> w >> var("z");
    Ok((chain >> PiecewiseLinear::abs() >> var("y"))
        .build()?
        .expect("y")?)
}

fn between(low: f64, high: f64) -> Search {
    Search::between(low, high).tolerance(1e-3)
}

fn near(what: &str, got: f64, expected: f64) {
    println!("{what}: {got:.4} (expected {expected})");
    assert!(
        (got - expected).abs() < 2e-3,
        "{what}: {got} instead of {expected}"
    );
}

/// Maillard, Loureiro, Krzakala and Zdeborova, Phase retrieval in high dimensions (2020): weak recovery and algorithmic
/// thresholds.
#[test]
fn thresholds_of_complex_phase_retrieval() {
    let family = |alpha: f64| complex_phase_retrieval(LinearEnsemble::gaussian(alpha)?);
    near(
        "weak recovery",
        weak_recovery(&family, "x", between(0.5, 2.0)).unwrap(),
        1.0,
    );
    let threshold =
        algorithmic_threshold(&family, "x", Search::between(2.01, 2.1).tolerance(2e-4)).unwrap();
    near("algorithmic", threshold, 2.0270);
    // two real unknowns against one modulus each
    near(
        "information",
        information_threshold(&family, "x", between(1.5, 2.5)).unwrap(),
        2.0,
    );
    let hard = phase_report(&family(2.015).unwrap(), "x").unwrap();
    assert_eq!(hard.phase, Phase::Hard);
}

#[test]
fn thresholds_of_a_real_orthogonal_matrix() {
    let family = |alpha: f64| real_phase_retrieval(LinearEnsemble::orthogonal(alpha)?);
    near(
        "weak recovery",
        weak_recovery(&family, "x", between(1.1, 2.0)).unwrap(),
        1.5,
    );
    let threshold =
        algorithmic_threshold(&family, "x", Search::between(1.51, 1.65).tolerance(2e-4)).unwrap();
    near("algorithmic", threshold, 1.5835);
}

/// Weak recovery of complex phase retrieval: 2 for unitary columns, and gamma/(1 + gamma) for a product of Gaussians
/// through a layer of gamma N.
#[test]
fn thresholds_of_other_complex_ensembles() {
    let unitary = |alpha: f64| complex_phase_retrieval(LinearEnsemble::orthogonal(alpha)?);
    near(
        "unitary",
        weak_recovery(&unitary, "x", between(1.1, 3.0)).unwrap(),
        2.0,
    );
    for gamma in [0.5, 2.0] {
        let product =
            |alpha: f64| complex_phase_retrieval(LinearEnsemble::gaussian_product(alpha, gamma)?);
        let found = weak_recovery(&product, "x", between(0.1, 2.0)).unwrap();
        near("product", found, gamma / (1.0 + gamma));
    }
}

/// Sparse complex signals from complex noisy measurements: the run makes the error that the theory predicts.
#[test]
fn theory_matches_runs() {
    let (n, m, delta) = (600, 420, 0.01);
    let matrix = |seed: u64| {
        let part = |s| common::gaussian_matrix(m, n, s);
        let (re, im) = (part(seed), part(seed + 50));
        let half = std::f64::consts::FRAC_1_SQRT_2;
        ComplexMatrix::from_fn(m, n, |i, j| {
            Complex::new(half * re.get(i, j), half * im.get(i, j))
        })
        .unwrap()
    };
    let noise = || GaussianNoise::new(delta).unwrap();
    let prior = || CircularGaussBernoulli::new(0.2, 1.0).unwrap();
    let alpha = m as f64 / n as f64;
    let chain = source(prior().limit()) >> var("x") >> LinearEnsemble::gaussian(alpha).unwrap();
    let theory = (chain >> var("z") >> noise() >> var("y"))
        .build()
        .unwrap()
        .expect("y")
        .unwrap();
    let predicted = StateEvolution::new(&theory)
        .unwrap()
        .fixed_point()
        .unwrap()
        .mse("x")
        .unwrap();
    let mut total = 0.0;
    let seeds = 4;
    for seed in 0..seeds {
        let chain =
            source(prior().iid(n)) >> var("x") >> Linear::of(ComplexDense::new(matrix(seed)));
        let model = (chain >> var("z") >> noise() >> var("y")).build().unwrap();
        let truth = model.sample(seed).unwrap();
        let observed = model.condition("y", truth.get("y").unwrap()).unwrap();
        let report = infer(&observed);
        assert!(report.termination.is_converged());
        total += treeamp::metrics::mse(report.mean("x").unwrap(), truth.get("x").unwrap()).unwrap();
    }
    let found = total / seeds as f64;
    println!("mse {found:.3e}, predicted {predicted:.3e}");
    // four draws of 600 components, of which 120 count: three standard errors
    assert!(
        (found / predicted - 1.0).abs() < 0.15,
        "{found} {predicted}"
    );
}

/// The modulus behind noise, from an overlap: a message $b = \hat m z_0 + \sqrt{\hat m}\,\xi$ of the output's to its input, and four sweeps from there.
#[test]
fn the_noisy_modulus_matches_runs() {
    let (n, m, m_hat, sweeps) = (400, 1000, 2.0_f64, 4);
    let output = || OutputChannel::new("rician_modulus", RicianModulus::new(0.05).unwrap());
    let start = |linear: Vec<f64>| {
        Initial::Given(vec![EdgeMessage {
            factor: "rician_modulus".to_owned(),
            variable: "z".to_owned(),
            precision: m_hat,
            linear,
        }])
    };
    let alpha = m as f64 / n as f64;
    let chain = source(CircularGaussian::new(1.0).unwrap().limit()) >> var("x");
    let chain = chain >> LinearEnsemble::gaussian(alpha).unwrap() >> var("z");
    let theory = (chain >> output() >> var("y")).build().unwrap();
    let theory = theory.expect("y").unwrap();
    let evolution = StateEvolution::new(&theory).unwrap().tolerance(0.0);
    let evolution = evolution.initial(start(vec![0.0])).max_sweeps(sweeps);
    let predicted = evolution.run().unwrap().mse("x").unwrap();
    let (mut found, seeds) = (Vec::new(), 6);
    for seed in 0..seeds {
        let part = |s| common::gaussian_matrix(m, n, s);
        let (re, im) = (part(seed), part(seed + 50));
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let matrix = ComplexMatrix::from_fn(m, n, |i, j| {
            Complex::new(half * re.get(i, j), half * im.get(i, j))
        });
        let chain = source(CircularGaussian::new(1.0).unwrap().iid(n)) >> var("x");
        let chain = chain >> Linear::of(ComplexDense::new(matrix.unwrap())) >> var("z");
        let model = (chain >> output() >> var("y")).build().unwrap();
        let truth = model.sample(seed).unwrap();
        let noise = common::normals(2 * m, 31_000 + seed);
        let signal = truth.get("z").unwrap().iter().zip(&noise);
        let b = signal.map(|(z, xi)| m_hat * z + m_hat.sqrt() * xi);
        let observed = model.condition("y", truth.get("y").unwrap()).unwrap();
        let engine = ExpectationPropagation.on(&observed).unwrap().tolerance(0.0);
        let engine = engine.initial(start(b.collect())).max_sweeps(sweeps);
        let report = engine.run(&mut ()).unwrap();
        found.push(common::mse(
            report.mean("x").unwrap(),
            truth.get("x").unwrap(),
        ));
    }
    let mean = found.iter().sum::<f64>() / seeds as f64;
    let spread: f64 = found.iter().map(|x| (x - mean).powi(2)).sum();
    let error = (spread / (seeds * (seeds - 1)) as f64).sqrt();
    println!("mse {mean:.5} ± {error:.5}, predicted {predicted:.5}");
    assert!(
        (mean - predicted).abs() < 3.0 * error + 2.0 / n as f64,
        "{mean} ± {error}: {predicted}"
    );
    assert!(
        error < 0.05 * predicted && predicted < 0.5,
        "{error} {predicted}"
    );
}

/// Reference averages of the modulus by an independent quadrature, found through `TREEAMP_ORACLE`.
#[test]
fn reference_averages_of_the_modulus() {
    let Some(all) = oracle::json("modules_se.json") else {
        return;
    };
    let mut seen = 0;
    for record in all["likelihoods"].as_array().unwrap() {
        if record["cls"] != "ModulusLikelihood" {
            continue;
        }
        seen += 1;
        let (a, tau) = (
            record["az"].as_f64().unwrap(),
            record["tau_z"].as_f64().unwrap(),
        );
        let truth = |key: &str| record["direct"][key].as_f64().unwrap();
        let factor = ModulusLikelihood.unspecified();
        let fields = [bayes(a - 1.0 / tau, 1.0 / tau)];
        let (o, potential) = average(&factor, &fields, &[1.0 / tau], 0);
        // their quadrature is good to 1e-8, and its potential has a logarithm at the end
        let near = |what: &str, got: f64, exact: f64| {
            assert!(
                (got - exact).abs() <= 2e-8 * exact.abs().max(1e-2),
                "{what} {got} {record}"
            );
        };
        near("v", o.v, truth("v"));
        near("m", o.m, truth("m"));
        near("A", potential, truth("A"));
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[1.0 / tau],
        };
        let rule = Factor::ensemble(&factor).unwrap();
        let entropy = rule.entropic_potential(&factor, at, &[(1.0, tau)]).unwrap();
        near("H", entropy, truth("H"));
    }
    assert!(seen > 0);
}

/// The information of a Gaussian model per real component is that of its modes, $\\frac12 E\\ln(1 + \\lambda s/\\Delta)$.
#[test]
fn information_of_a_complex_gaussian_model() {
    let (s, delta, alpha) = (1.3, 0.2, 1.4);
    let chain = source(CircularGaussian::new(s).unwrap().limit()) >> var("x");
    let w = LinearEnsemble::gaussian(alpha).unwrap();
    let noise = GaussianNoise::new(delta).unwrap();
    let tree = (chain >> w >> var("z") >> noise >> var("y"))
        .build()
        .unwrap()
        .expect("y")
        .unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let found = evolution
        .information(&tree)
        .unwrap()
        .mutual_information()
        .unwrap();
    let spectrum = Spectrum::marchenko_pastur(alpha).unwrap();
    let exact = 0.5 * spectrum.shannon(s / delta);
    assert!((found - exact).abs() < 1e-8, "{found} {exact}");
}

/// A complex matrix on a real signal: the ensemble has the spectrum of a draw, and twice the outputs count.
#[test]
fn complex_matrices_on_real_signals_in_the_limit() {
    let (n, m) = (300, 240);
    let (re, im) = (
        common::gaussian_matrix(m, n, 1),
        common::gaussian_matrix(m, n, 2),
    );
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let w = ComplexMatrix::from_fn(m, n, |i, j| {
        Complex::new(half * re.get(i, j), half * im.get(i, j))
    });
    let draw = Linear::of(ComplexOnReal::new(w.unwrap()).unwrap());
    let ensemble = LinearEnsemble::complex_gaussian_on_real(0.8).unwrap();
    let (one, two) = (draw.spectrum().unwrap(), ensemble.spectrum().unwrap());
    assert!((one.alpha() - two.alpha()).abs() < 1e-12);
    for gamma in [0.1, 1.0, 10.0] {
        // one draw fluctuates by less than 1/n
        assert!((one.eta(gamma) - two.eta(gamma)).abs() < 5e-3, "{gamma}");
    }
    let real = source(GaussianPrior::new(0.0, 1.0).unwrap().limit()) >> var("x");
    let tree = (real >> ensemble.clone() >> var("z")).build().unwrap();
    assert_eq!(
        tree.variables()[1].spec.to_string(),
        "complex (limit, ratio 0.8)"
    );
    assert!((tree.variables()[1].spec.relative_size() - 1.6).abs() < 1e-12);
    let complex = source(CircularGaussian::new(1.0).unwrap().limit()) >> var("x");
    assert!((complex >> ensemble >> var("z")).build().is_err());
}

/// The information about `x` of a complex signal behind a matrix, by its own formula and as the entropy of the measurements less that of the noise.
fn information_about(prior: impl Factor, output: impl Factor) -> f64 {
    let chain = source(prior) >> var("x") >> LinearEnsemble::gaussian(0.8).unwrap() >> var("z");
    let tree = (chain >> output >> var("y")).build().unwrap();
    let tree = tree.expect("y").unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let information = evolution.information(&tree).unwrap();
    let whole = information.mutual_information().unwrap();
    let about = mutual_information(&tree, "x").unwrap().value;
    // fixed points to 1e-9, entropies of two nested integrals to a few 1e-8
    assert!((whole - about).abs() < 1e-6, "{whole} {about}");
    about
}

/// A mixture of one component, and a sparse law without zeros, are the plain law; what all priors tell is what the entropies say.
#[test]
fn complex_signals_have_an_information() {
    let noise = || GaussianNoise::new(0.05).unwrap();
    let plain = information_about(CircularGaussian::new(1.3).unwrap().limit(), noise());
    let one = CircularGaussianMixture::new(&[1.0], &[1.3]).unwrap();
    let dense = CircularGaussBernoulli::new(1.0, 1.3).unwrap();
    let same = [
        information_about(one.limit(), noise()),
        information_about(dense.limit(), noise()),
    ];
    for other in same {
        assert!((other - plain).abs() < 1e-8, "{other} {plain}");
    }
    let two = CircularGaussianMixture::new(&[0.3, 0.7], &[2.0, 0.1]).unwrap();
    let sparse = CircularGaussBernoulli::new(0.3, 1.3).unwrap();
    for known in [
        information_about(two.limit(), noise()),
        information_about(sparse.limit(), noise()),
        information_about(Qam::points(16).unwrap().limit(), noise()),
    ] {
        assert!(known > 0.1 && known < plain, "{known} {plain}");
    }
}

/// The modulus behind noise, and behind noise after it: informations of a hidden length that no difference of large numbers can give.
#[test]
fn noisy_moduli_have_an_information() {
    for noise in [0.01, 0.5] {
        let output = OutputChannel::new("rician_modulus", RicianModulus::new(noise).unwrap());
        let prior = CircularGaussian::new(1.0).unwrap();
        let chain = source(prior.limit()) >> var("x") >> output >> var("y");
        let tree = chain.build().unwrap().expect("y").unwrap();
        let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
        let information = evolution.information(&tree).unwrap();
        let whole = information.mutual_information().unwrap();
        let about = mutual_information(&tree, "x").unwrap().value;
        assert!((whole - about).abs() < 1e-6, "{whole} {about}");
        // |x + n| is a Rayleigh length: its entropy, per real component of x, is known
        let (variance, euler) = (1.0 + noise, 0.577_215_664_901_532_9);
        let length = 1.0 + 0.5 * (variance / 2.0_f64).ln() + 0.5 * euler;
        let entropy = 0.5 * length;
        assert!(
            (information.entropy - entropy).abs() < 1e-8,
            "{} {entropy}",
            information.entropy
        );
    }
    let (modulus, noise) = (
        treeamp::catalog::channels::Modulus,
        GaussianNoise::new(0.3).unwrap(),
    );
    let chain = source(CircularGaussian::new(1.0).unwrap().limit()) >> var("x");
    let chain = chain >> modulus >> var("u") >> noise >> var("y");
    let tree = chain.build().unwrap().expect("y").unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let information = evolution.information(&tree).unwrap();
    let whole = information.mutual_information().unwrap();
    let about = mutual_information(&tree, "x").unwrap().value;
    assert!((whole - about).abs() < 1e-6, "{whole} {about}");
}
