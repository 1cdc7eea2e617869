//! Products of hidden matrices of few columns.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::belief::Gaussian;
use treeamp::factor::{Context, Incoming, Request, Workspace};
use treeamp::metrics;
use treeamp::prelude::*;

use crate::declarations::{message, says};

/// $Y = \sqrt{\mathrm{snr}/N}\,x x^T + W$, each pair once.
fn wigner(prior: Fragment, snr: f64) -> Tree {
    let tree = prior
        >> LowRankGram::new(1).unwrap()
        >> var("z")
        >> GaussianNoise::new(1.0 / snr).unwrap()
        >> var("y");
    tree.build().unwrap()
}

fn full() -> bool {
    std::env::var_os("TREEAMP_FULL").is_some()
}

fn spins(n: usize) -> Fragment {
    source(Binary::new(0.5).unwrap().iid(n)) >> var("x")
}

fn run(model: &Tree, truth: &Sample) -> Posterior {
    let posterior = model.condition("y", truth.get("y").unwrap()).unwrap();
    let engine = ExpectationPropagation.on(&posterior).unwrap();
    engine.run(&mut ()).unwrap()
}

fn overlap(x: &[f64], r: &[f64]) -> f64 {
    x.iter().zip(r).map(|(x, r)| x * r).sum::<f64>() / x.len() as f64
}

/// Mean and standard error.
fn summary(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (square / n).sqrt())
}

/// Overlap and evidence of runs are those of the theory: 0.618448 at snr 2. Evidences are compared with those of the noise alone at the true
/// spins, $\frac1N\ln\frac{p(y)}{p(y \mid x)} = -I/N$, because the noise itself varies by more.
#[test]
fn spins_have_the_overlap_and_the_evidence_of_the_theory() {
    let (n, seeds) = if full() { (2000, 20) } else { (600, 6) };
    let model = wigner(spins(n), 2.0);
    let limit = wigner(source(Binary::new(0.5).unwrap().limit()) >> var("x"), 2.0);
    let limit = limit.expect("y").unwrap();
    let theory = StateEvolution::new(&limit).unwrap();
    let theory = theory.starting_with(&["x"], 1e-3).unwrap().run().unwrap();
    let m = theory.overlaps("x").unwrap().m;
    assert!((m - 0.618_448).abs() < 1e-6, "{m}");
    let information = theory.information(&limit).unwrap();
    let information = information.mutual_information().unwrap();
    let (mut overlaps, mut gaps) = (Vec::new(), Vec::new());
    for seed in 0..seeds {
        let truth = model.sample(seed).unwrap();
        let report = run(&model, &truth);
        assert!(report.termination.is_converged(), "{}", report.termination);
        let [(factor, note)] = &report.notes[..] else {
            panic!("{:?}", report.notes)
        };
        assert!(factor == "low_rank_gram" && note.contains("leading directions"));
        let (x, r) = (truth.get("x").unwrap(), report.mean("x").unwrap());
        overlaps.push(overlap(x, r).abs());
        let pairs = truth.get("y").unwrap().iter().zip(truth.get("z").unwrap());
        let noise: f64 = pairs
            .map(|(y, z)| -(y - z).powi(2) - 0.5 * std::f64::consts::PI.ln())
            .sum();
        gaps.push((noise - report.log_evidence().unwrap()) / n as f64);
    }
    let ((mean, error), (gap, gap_error)) = (summary(&overlaps), summary(&gaps));
    println!(
        "overlap {mean:.4} ± {error:.4}, theory {m:.4}; information {gap:.4} ± {gap_error:.4}, theory {information:.4}"
    );
    assert!((mean - m).abs() < 3.0 * error, "{mean} ± {error}, {m}");
    // finite sizes are seen in the information at N = 600, by about 1/N of the pairs
    let shift = 1.0 / (n as f64).sqrt() * 0.5;
    assert!((gap - information).abs() < 3.0 * gap_error + shift * information);
}

/// Principal components find a Gaussian signal from the same noise on, and nothing more is known of its direction.
#[test]
fn a_gaussian_signal_is_its_leading_direction() {
    let n = 400;
    let gaussian = |n: usize| source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n));
    let model = wigner(gaussian(n) >> var("x"), 3.0);
    let truth = model.sample(1).unwrap();
    let report = run(&model, &truth);
    let r = report.mean("x").unwrap();
    // B x = λ x for the matrix of the pairs
    let y = truth.get("y").unwrap();
    let mut product = vec![0.0; n];
    let mut at = 0;
    for i in 0..n {
        for j in i + 1..n {
            product[i] += y[at] * r[j];
            product[j] += y[at] * r[i];
            at += 1;
        }
    }
    let eigenvalue = overlap(&product, r) / overlap(r, r);
    let residual: f64 = product
        .iter()
        .zip(r)
        .map(|(p, r)| (p - eigenvalue * r).powi(2))
        .sum();
    let size: f64 = product.iter().map(|p| p * p).sum();
    // a row that does not pair with itself is the only difference
    assert!(residual < 1e-3 * size, "{residual} of {size}");
}

#[test]
fn rectangular_products_follow_the_theory() {
    let (m, n, delta) = (600, 300, 0.5);
    let sides = |m: Fragment, n: Fragment| {
        m + n
            >> LowRankFactorization::new(1).unwrap()
            >> var("z")
            >> GaussianNoise::new(delta).unwrap()
            >> var("y")
    };
    let gaussian = || GaussianPrior::new(0.0, 1.0).unwrap();
    let spin = || Binary::new(0.5).unwrap();
    let model = sides(
        source(gaussian().iid(m)) >> var("u"),
        source(spin().iid(n)) >> var("v"),
    );
    let model = model.build().unwrap();
    let limit = sides(
        source(gaussian().limit()) >> var("u"),
        source(spin().limit_of(0.5)) >> var("v"),
    );
    let limit = limit.build().unwrap().expect("y").unwrap();
    let theory = StateEvolution::new(&limit).unwrap();
    let theory = theory.starting_with(&["u", "v"], 1e-3).unwrap();
    let theory = theory.run().unwrap();
    let mut found = [Vec::new(), Vec::new()];
    for seed in 0..6 {
        let truth = model.sample(seed).unwrap();
        let report = run(&model, &truth);
        assert!(report.termination.is_converged(), "{}", report.termination);
        for (name, found) in ["u", "v"].iter().zip(&mut found) {
            let mse = metrics::mse_up_to_sign(report.mean(name).unwrap(), truth.get(name).unwrap());
            found.push(mse.unwrap());
        }
        // entries of Z have beliefs of their own
        let z = metrics::mse(report.mean("z").unwrap(), truth.get("z").unwrap()).unwrap();
        let claimed = report.variance("z").unwrap();
        assert!((z / claimed - 1.0).abs() < 0.2, "{z} {claimed}");
    }
    for (name, found) in ["u", "v"].iter().zip(&found) {
        let ((mean, error), predicted) = (summary(found), theory.mse(name).unwrap());
        println!("{name}: {mean:.4} ± {error:.4}, theory {predicted:.4}");
        assert!((mean - predicted).abs() < 3.0 * error + 0.01, "{name}");
    }
}

/// The messages that reach a factor and those that it sent, in the order of its ports.
fn around(report: &Posterior, posterior: &Tree, factor: &str) -> (Vec<Gaussian>, Vec<Gaussian>) {
    let node = posterior
        .factors()
        .iter()
        .find(|f| f.name == factor)
        .unwrap();
    let ends = node.edges.iter().map(|e| posterior.variable_at(*e));
    let both = ends.map(|variable| {
        let names = variable.edges.iter().map(|e| &posterior.factor_at(*e).name);
        let other = names.into_iter().find(|f| *f != factor).unwrap();
        let get = |f: &str| report.messages.get(f, &variable.name).unwrap().clone();
        (get(other), get(factor))
    });
    both.unzip()
}

/// At a fixed point the log-partition is stationary in what was sent, and its derivatives are the moments of rows and the means of entries.
fn check_derivatives(model: &Tree, truth: &Sample, factor: &str, entries: f64) {
    let posterior = model.condition("y", truth.get("y").unwrap()).unwrap();
    let engine = ExpectationPropagation.on(&posterior).unwrap();
    let report = engine
        .tolerance(1e-10)
        .max_sweeps(5000)
        .run(&mut ())
        .unwrap();
    assert!(
        report.termination.is_converged(),
        "{} {:e}",
        report.termination,
        report.residual()
    );
    let (incoming, sent) = around(&report, &posterior, factor);
    let index = posterior
        .factors()
        .iter()
        .position(|f| f.name == factor)
        .unwrap();
    let node = &posterior.factors()[index];
    let rule = node.factor.posterior().unwrap();
    let ports: Vec<usize> = (0..incoming.len()).collect();
    let mut workspace: Workspace = posterior.workspace(index);
    let mut value = |incoming: &[Gaussian], sent: &[Gaussian]| {
        let mut context = Context {
            incoming: Incoming::new(incoming, &ports),
            sent: Some(Incoming::new(sent, &ports)),
            request: Request::default(),
            workspace: &mut workspace,
        };
        rule.log_partition(&mut context).unwrap()
    };
    let last = ports.len() - 1;
    for port in &ports {
        let name = &posterior.variable_at(node.edges[*port]).name;
        let moments = report.marginal(name).unwrap();
        for stride in [1, 7] {
            // the linear parts of some components, and the precision of all
            let h = 1e-5
                / incoming[*port]
                    .precision
                    .mean_diagonal()
                    .abs()
                    .max(1.0)
                    .sqrt();
            let mut slope = |change: &dyn Fn(&mut Gaussian, f64), own: bool| {
                let mut at = |s: f64| {
                    let (mut incoming, mut sent) = (incoming.clone(), sent.clone());
                    change(
                        if own {
                            &mut sent[*port]
                        } else {
                            &mut incoming[*port]
                        },
                        s * h,
                    );
                    value(&incoming, &sent)
                };
                (at(1.0) - at(-1.0)) / (2.0 * h)
            };
            let tilt = |m: &mut Gaussian, h: f64| {
                m.linear.iter_mut().step_by(stride).for_each(|b| *b += h);
            };
            let expected: f64 = moments.mean.iter().step_by(stride).sum();
            let scale: f64 = moments.mean.iter().step_by(stride).map(|x| x.abs()).sum();
            let found = slope(&tilt, false);
            assert!(
                (found - expected).abs() < 1e-5 * scale,
                "{name}: {found} {expected}"
            );
            // what it sends to Z is made, not stationary
            if *port < last {
                let still = slope(&tilt, true);
                assert!(still.abs() < 1e-5 * scale, "{name}: {still} of {scale}");
            }
        }
        let tighten = |m: &mut Gaussian, h: f64| {
            let mut one = m.clone();
            one.precision.set_identity(h);
            let added = m.precision.data_mut().iter_mut().zip(one.precision.data());
            added.for_each(|(a, h)| *a += h);
        };
        let h = 1e-5;
        let mut at = |s: f64| {
            let mut incoming = incoming.clone();
            tighten(&mut incoming[*port], s * h);
            value(&incoming, &sent)
        };
        let found = -(at(1.0) - at(-1.0)) / h;
        let expected = moments.second_moment() * moments.mean.len() as f64;
        // the variance of an entry is V/(1 + aV) by its message, and V by the potential
        let tolerance = if *port < last { 1e-5 } else { entries };
        assert!(
            (found - expected).abs() < tolerance * expected,
            "{name}: {found} {expected}"
        );
    }
}

#[test]
fn the_potential_has_the_moments_as_derivatives() {
    let gauss = || GaussianPrior::new(0.0, 1.0).unwrap();
    let noise = || GaussianNoise::new(0.4).unwrap();
    let bernoulli = || GaussBernoulli::new(0.5, 0.2, 1.0).unwrap();
    let gram = |x: Fragment| {
        let tree = x >> LowRankGram::new(1).unwrap() >> var("z") >> noise() >> var("y");
        tree.build().unwrap()
    };
    let model = gram(source(bernoulli().iid(100)) >> var("x"));
    check_derivatives(&model, &model.sample(2).unwrap(), "low_rank_gram", 0.15);
    let model = gram(source(bernoulli().iid(100)) >> var("x").diagonal());
    check_derivatives(&model, &model.sample(2).unwrap(), "low_rank_gram", 0.15);
    let uv = |u: Fragment, v: Fragment, z: treeamp::model::Var| {
        let tree = u + v >> LowRankFactorization::new(1).unwrap() >> z >> noise() >> var("y");
        tree.build().unwrap()
    };
    let sides = |d: bool| {
        let (u, v) = (var("u"), var("v"));
        let (u, v) = if d {
            (u.diagonal(), v.diagonal())
        } else {
            (u, v)
        };
        (
            source(gauss().iid(90)) >> u,
            source(bernoulli().shaped([120, 1])) >> v,
        )
    };
    let (u, v) = sides(false);
    let model = uv(u, v, var("z"));
    check_derivatives(&model, &model.sample(3).unwrap(), "low_rank", 0.15);
    let (u, v) = sides(true);
    let model = uv(u, v, var("z"));
    check_derivatives(&model, &model.sample(3).unwrap(), "low_rank", 0.15);
    let (u, v) = sides(false);
    let model = uv(u, v, var("z").diagonal());
    check_derivatives(&model, &model.sample(3).unwrap(), "low_rank", 0.15);
}

/// Rows of two correlated components, with a matrix each.
#[test]
fn blocks_of_rank_two() {
    let rows = || {
        let one = (0.7, vec![0.2, 0.0], vec![1.2, 0.3, 0.3, 0.8]);
        let other = (0.3, vec![-0.2, 0.1], vec![0.3, 0.0, 0.0, 0.5]);
        MixtureRow::new(&[one, other]).unwrap().rows(200)
    };
    let model = source(rows())
        >> var("x").block(2)
        >> LowRankGram::new(2).unwrap()
        >> var("z")
        >> GaussianNoise::new(0.1).unwrap()
        >> var("y");
    let model = model.build().unwrap();
    let truth = model.sample(1).unwrap();
    check_derivatives(&model, &truth, "low_rank_gram", 0.15);
    let report = run(&model, &truth);
    assert!(report.termination.is_converged(), "{}", report.termination);
    let (r, x) = (report.mean("x").unwrap(), truth.get("x").unwrap());
    let error = metrics::mse_up_to_rotation(r, x, 2).unwrap();
    let claimed = report.variance("x").unwrap();
    println!("rank two: error {error:.4}, claimed {claimed:.4}");
    assert!(error < 1.5 * claimed && claimed < 0.2);
}

/// Three groups of a dense graph by its Gaussian equivalent: rows are one-hot, and the names of groups are lost.
#[test]
fn communities_are_found_up_to_their_names() {
    let one_hot = |k: usize| {
        let mean: Vec<f64> = (0..3).map(|l| f64::from(u8::from(k == l))).collect();
        (1.0 / 3.0, mean, vec![0.0; 9])
    };
    let law = MixtureRow::new(&[one_hot(0), one_hot(1), one_hot(2)]).unwrap();
    let model = source(law.rows(300))
        >> var("x").block(3)
        >> LowRankGram::new(3).unwrap()
        >> var("z")
        >> GaussianNoise::new(0.05).unwrap()
        >> var("y");
    let model = model.build().unwrap();
    let truth = model.sample(4).unwrap();
    let report = run(&model, &truth);
    let (r, x) = (report.mean("x").unwrap(), truth.get("x").unwrap());
    let error = metrics::mse_up_to_permutation(r, x, 3).unwrap();
    println!(
        "communities: {} {} error {error:.4}",
        report.termination, report.sweeps
    );
    assert!(report.termination.is_converged());
    assert!(
        error < 0.25 * 2.0 / 9.0 && report.notes.len() == 1,
        "{error}"
    );
}

/// An output enters by its score and its precision at zero: Laplace noise of scale $s$ is Gaussian noise of variance $s^2$, also with isotropic
/// beliefs on entries.
#[test]
fn outputs_are_their_expansions_about_zero() {
    let n = 400;
    let scale = 0.6;
    let spins = || spins(n) >> LowRankGram::new(1).unwrap();
    let laplace = || OutputChannel::new("laplace_noise", LaplaceNoise::new(scale).unwrap());
    let model = (spins() >> var("z") >> laplace() >> var("y"))
        .build()
        .unwrap();
    let each = (spins() >> var("z").diagonal() >> laplace() >> var("y"))
        .build()
        .unwrap();
    let limit = wigner(
        source(Binary::new(0.5).unwrap().limit()) >> var("x"),
        1.0 / (scale * scale),
    );
    let limit = limit.expect("y").unwrap();
    let theory = StateEvolution::new(&limit).unwrap();
    let theory = theory.starting_with(&["x"], 1e-3).unwrap().run().unwrap();
    let m = theory.overlaps("x").unwrap().m;
    let (mut shared, mut own) = (Vec::new(), Vec::new());
    for seed in 0..5 {
        let truth = model.sample(seed).unwrap();
        for (model, found) in [(&model, &mut shared), (&each, &mut own)] {
            let report = run(model, &truth);
            assert!(report.termination.is_converged(), "{}", report.termination);
            found.push(overlap(truth.get("x").unwrap(), report.mean("x").unwrap()).abs());
        }
    }
    for found in [shared, own] {
        let (mean, error) = summary(&found);
        println!("laplace: {mean:.4} ± {error:.4}, theory {m:.4}");
        assert!((mean - m).abs() < 3.0 * error + 0.01);
    }
}

/// Entries may be hidden: those of a smooth function that is seen through noise tell as much as its slope at zero says.
#[test]
fn entries_can_be_inner_variables() {
    let n = 80;
    let model = spins(n)
        >> LowRankGram::new(1).unwrap()
        >> var("z")
        >> Activation::tanh()
        >> var("a")
        >> GaussianNoise::new(0.2).unwrap()
        >> var("y");
    let model = model.build().unwrap();
    let truth = model.sample(1).unwrap();
    let report = run(&model, &truth);
    assert!(report.termination.is_converged(), "{}", report.termination);
    let m = overlap(truth.get("x").unwrap(), report.mean("x").unwrap()).abs();
    println!("behind tanh: overlap {m:.4}");
    assert!(m > 0.9, "{m}");
}

#[test]
fn bad_input_is_refused() {
    says(
        &message(&LowRankGram::new(0).unwrap_err()),
        &["rank", "at least 1"],
    );
    let gram = |rank: usize, n: usize| {
        let gaussian = GaussianPrior::new(0.0, 1.0).unwrap();
        source(gaussian.shaped([n, rank]))
            >> var("x")
            >> LowRankGram::new(rank).unwrap()
            >> var("z")
    };
    says(
        &message(&gram(5, 3).build().unwrap_err()),
        &["low_rank_gram", "at least 5 rows"],
    );
    let noise = || GaussianNoise::new(0.5).unwrap();
    let model = (gram(1, 4) >> noise() >> var("y")).build().unwrap();
    let mut y = vec![0.5; 16];
    assert!(model.condition("y", &y).is_ok());
    y[1] = 0.7;
    says(
        &message(&model.condition("y", &y).unwrap_err()),
        &["symmetric matrix", "0.7 at (0, 1)", "0.5 at (1, 0)"],
    );
    says(
        &message(&model.condition("y", &[0.0; 5]).unwrap_err()),
        &["6 values, one per pair", "4 x 4", "got 5"],
    );
    // blocks of another size than the rank
    let wide = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([6, 2])) >> var("u");
    let rows = MixtureRow::new(&[(1.0, vec![0.0; 2], vec![1.0, 0.0, 0.0, 1.0])]).unwrap();
    let blocks = source(rows.rows(5)) >> var("v").block(1);
    let blocks = wide + blocks >> LowRankFactorization::new(2).unwrap() >> var("z") >> noise();
    let model = (blocks >> var("y")).build().unwrap();
    let model = model.condition("y", &[0.1; 30]).unwrap();
    let refusal = ExpectationPropagation.on(&model).unwrap_err();
    says(&message(&refusal), &["block(2)"]);
    // outputs without the derivatives
    let seen = |output: PiecewiseLinear, y: f64| {
        let model = (gram(1, 4) >> output >> var("y")).build().unwrap();
        let model = model.condition("y", &[y; 6]).unwrap();
        message(&ExpectationPropagation.on(&model).unwrap_err())
    };
    for text in [
        seen(PiecewiseLinear::sign(), 1.0),
        seen(PiecewiseLinear::abs(), 0.3),
        seen(PiecewiseLinear::relu(), 0.3),
    ] {
        says(
            &text,
            &[
                "low_rank_gram",
                "twice differentiable at zero",
                "without noise",
            ],
        );
    }
    let model = gram(1, 4) >> PiecewiseLinear::relu() >> var("a") >> noise() >> var("y");
    let model = model.build().unwrap().condition("y", &[0.3; 6]).unwrap();
    says(
        &message(&ExpectationPropagation.on(&model).unwrap_err()),
        &["twice differentiable at zero", "a step or a knee"],
    );
    let model = gram(1, 4)
        .build()
        .unwrap()
        .condition("z", &[0.3; 6])
        .unwrap();
    says(
        &message(&ExpectationPropagation.on(&model).unwrap_err()),
        &["twice differentiable at zero", "without noise"],
    );
}

/// A matrix of noise alone, symmetric: its pairs are those of the packed form.
#[test]
fn a_whole_matrix_is_its_pairs() {
    let n = 5;
    let model = wigner(spins(n), 1.0);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut pairs, mut whole) = (Vec::new(), vec![9.0; n * n]);
    for i in 0..n {
        for j in i + 1..n {
            let y: f64 = StandardNormal.sample(&mut rng);
            pairs.push(y);
            (whole[i * n + j], whole[j * n + i]) = (y, y);
        }
    }
    let evidence = |y: &[f64]| {
        let tree = model.condition("y", y).unwrap();
        let report = ExpectationPropagation.on(&tree).unwrap();
        report
            .max_sweeps(3)
            .run(&mut ())
            .unwrap()
            .mean("x")
            .unwrap()
            .to_vec()
    };
    assert_eq!(evidence(&pairs), evidence(&whole));
}

/// Watches every sweep, and looks at everything.
struct Looks;

impl Observer<ExpectationPropagation> for Looks {
    fn after_sweep(
        &mut self,
        view: &SweepView<'_, ExpectationPropagation>,
    ) -> std::ops::ControlFlow<String> {
        let z = view.marginal("z").unwrap();
        assert!(z.mean.iter().any(|r| *r != 0.0) || view.sweep == 1);
        std::ops::ControlFlow::Continue(())
    }
}

/// Behind Gaussian noise nothing hears what the product says of its entries: sweeps leave it out, and the report has it all the same.
#[test]
fn what_nobody_reads_is_made_at_the_end() {
    let model = wigner(spins(200), 3.0);
    let truth = model.sample(3).unwrap();
    let posterior = model.condition("y", truth.get("y").unwrap()).unwrap();
    let engine = || ExpectationPropagation.on(&posterior).unwrap();
    for damping in [Damping::Adaptive, Damping::Constant(0.3)] {
        let unwatched = engine().damping(damping.clone()).run(&mut ()).unwrap();
        let watched = engine().damping(damping).run(&mut Looks).unwrap();
        assert!(unwatched.termination.is_converged());
        assert_eq!(watched.sweeps, unwatched.sweeps);
        for name in ["x", "z"] {
            assert_eq!(watched.mean(name), unwatched.mean(name));
            assert_eq!(watched.variance(name), unwatched.variance(name));
        }
        assert_eq!(watched.log_evidence(), unwatched.log_evidence());
        // the trace knows what was made
        let of_z = posterior.variables().iter().position(|v| v.name == "z");
        let last = |report: &Posterior| report.variances.last().unwrap()[of_z.unwrap()];
        assert!(last(&unwatched).is_nan());
        assert!((last(&watched) / watched.variance("z").unwrap() - 1.0).abs() < 1e-3);
    }
}
