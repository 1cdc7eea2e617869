//! Approximate message passing as a route of the linear channel, against its exact route.

use faer::Mat;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use treeamp::engine::Messages;
use treeamp::extend::*;
use treeamp::operator::{ComplexDense, MatrixFree};
use treeamp::prelude::*;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn gaussian(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let scale = 1.0 / (cols as f64).sqrt();
    Mat::from_fn(rows, cols, |_, _| scale * normal(rng))
}

fn sparse(n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let each = (0..n).map(|i| if i % 10 == 0 { normal(rng) } else { 0.0 });
    each.collect()
}

/// Sparse regression: the tree with observations, and the signal.
fn regression(w: Mat<f64>, noise: f64, route: Route, seed: u64) -> (Tree, Vec<f64>) {
    let rng = &mut ChaCha8Rng::seed_from_u64(1000 + seed);
    let w = Matrix::new(w).unwrap();
    let x = sparse(w.cols(), rng);
    let mut y = vec![0.0; w.rows()];
    w.apply(&x, 1, &mut y);
    y.iter_mut().for_each(|y| *y += noise.sqrt() * normal(rng));
    let prior = GaussBernoulli::new(0.1, 0.0, 1.0).unwrap().iid(w.cols());
    let model = source(prior)
        >> var("x")
        >> Linear::new(w).unwrap().by(route)
        >> var("z")
        >> GaussianNoise::new(noise).unwrap()
        >> var("y");
    let tree = model.build().unwrap().condition("y", &y).unwrap();
    (tree, x)
}

fn run(tree: &Tree) -> Result<Posterior, RunError> {
    ExpectationPropagation.on(tree)?.run(&mut ())
}

fn mean_square(x: &[f64], y: &[f64]) -> f64 {
    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum();
    square / x.len() as f64
}

/// The run took the route for independent entries.
fn assert_iid(report: &Posterior) {
    assert!(report.termination.is_converged(), "{}", report.termination);
    let taken: Vec<Route> = report.routes.iter().map(|r| r.route).collect();
    assert!(
        !taken.is_empty() && taken.iter().all(|r| *r == Route::Iid),
        "{:?}",
        report.routes
    );
}

/// Both routes of a tree agree: means to a fraction of the scale, variances relatively, evidences in nats.
fn assert_alike(exact: &Tree, iid: &Tree, (means, variances, nats): (f64, f64, f64)) {
    let (exact, iid) = (run(exact).unwrap(), run(iid).unwrap());
    assert!(exact.termination.is_converged());
    assert_iid(&iid);
    for name in exact.variables() {
        let (r, s) = (exact.mean(name).unwrap(), iid.mean(name).unwrap());
        let scale = r.iter().map(|r| r * r).sum::<f64>() / r.len() as f64;
        let apart = (mean_square(r, s) / scale).sqrt();
        assert!(apart < means, "means of `{name}`: {apart:.1e}");
        let ratio = iid.variance(name).unwrap() / exact.variance(name).unwrap();
        assert!(
            (ratio - 1.0).abs() < variances,
            "variances of `{name}`: {ratio}"
        );
    }
    let gap = exact.log_evidence().unwrap() - iid.log_evidence().unwrap();
    assert!(gap.abs() < nats, "evidences: {gap}");
}

#[test]
fn both_routes_agree_on_independent_entries() -> Outcome {
    let mut squares = 0.0;
    for seed in 0..3 {
        let w = gaussian(500, 1000, &mut ChaCha8Rng::seed_from_u64(seed));
        let (exact, _) = regression(w.clone(), 0.01, Route::Exact, seed);
        let (iid, _) = regression(w, 0.01, Route::Iid, seed);
        let (exact, iid) = (run(&exact)?, run(&iid)?);
        assert_iid(&iid);
        assert!(exact.routes.is_empty());
        squares += mean_square(exact.mean("x")?, iid.mean("x")?) / 3.0;
        let gap = exact.log_evidence()? - iid.log_evidence()?;
        assert!(gap.abs() < 1.0, "evidences {gap} apart");
        let ratio = iid.variance("x")? / exact.variance("x")?;
        assert!((ratio - 1.0).abs() < 0.01, "variances {ratio}");
    }
    assert!(squares.sqrt() < 1e-4, "{:e}", squares.sqrt());
    Ok(())
}

/// The Bethe sum at messages that are all changed by a fraction along a direction.
fn objective_at(tree: &Tree, edges: &[(String, String, Gaussian)]) -> f64 {
    let engine = ExpectationPropagation.on(tree).unwrap();
    let engine = engine.start_from(Messages::new(edges.to_vec()));
    engine.initial_objective().unwrap().total
}

#[test]
fn the_bethe_sum_is_stationary_at_the_fixed_point_alone() -> Outcome {
    let w = gaussian(150, 300, &mut ChaCha8Rng::seed_from_u64(7));
    let (tree, _) = regression(w, 0.01, Route::IidOnly, 7);
    let engine = ExpectationPropagation
        .on(&tree)?
        .tolerance(1e-11)
        .max_sweeps(1000);
    let report = engine.run(&mut ())?;
    assert_iid(&report);
    let settled: Vec<(String, String, Gaussian)> = report
        .messages
        .iter()
        .map(|(f, v, m)| (f.to_owned(), v.to_owned(), m.clone()))
        .collect();
    let total = report.log_evidence()?;
    assert!((objective_at(&tree, &settled) - total).abs() < 1e-7);
    let slope = |at: &[(String, String, Gaussian)], edge: usize, precision: bool| {
        let h = 1e-4;
        let moved = |h: f64| {
            let mut edges = at.to_vec();
            let message = &mut edges[edge].2;
            if precision {
                let a = message.precision.scalar();
                message.precision.set_scalar(a * (1.0 + h));
            } else {
                let shift = |(i, b): (usize, &mut f64)| *b *= 1.0 + h * (i % 3) as f64;
                message.linear.iter_mut().enumerate().for_each(shift);
            }
            objective_at(&tree, &edges)
        };
        (moved(h) - moved(-h)) / (2.0 * h)
    };
    let mut elsewhere = settled.clone();
    for (_, _, message) in &mut elsewhere {
        let shift = |(i, b): (usize, &mut f64)| *b *= 1.0 + 0.1 * (i % 2) as f64;
        message.linear.iter_mut().enumerate().for_each(shift);
    }
    assert_eq!(settled.len(), 4);
    for (edge, (factor, _, _)) in settled.iter().enumerate() {
        for precision in [true, false] {
            // h^2 times a third derivative of about the number of components
            let here = slope(&settled, edge, precision);
            assert!(here.abs() < 1e-3, "{factor}, edge {edge}: {here}");
        }
        let there = slope(&elsewhere, edge, false);
        assert!(there.abs() > 0.1, "{factor}, edge {edge}: {there}");
    }
    Ok(())
}

#[test]
fn damping_and_few_sweeps_are_as_on_the_exact_route() -> Outcome {
    let w = gaussian(300, 600, &mut ChaCha8Rng::seed_from_u64(3));
    let (tree, _) = regression(w, 0.01, Route::IidOnly, 3);
    let plain = run(&tree)?;
    let damped = ExpectationPropagation
        .on(&tree)?
        .damping(0.3)
        .run(&mut ())?;
    assert_iid(&damped);
    assert!(mean_square(plain.mean("x")?, damped.mean("x")?).sqrt() < 1e-5);
    let few = ExpectationPropagation
        .on(&tree)?
        .max_sweeps(5)
        .tolerance(0.0);
    let few = few.run(&mut ())?;
    assert_eq!((few.sweeps, few.routes[0].route), (5, Route::Iid));
    // one more sweep from the end stays there
    let warm = ExpectationPropagation
        .on(&tree)?
        .warm_start(&plain)
        .run(&mut ())?;
    assert!(warm.sweeps < 5, "{}", warm.sweeps);
    Ok(())
}

#[test]
fn recovers_without_noise() -> Outcome {
    let w = gaussian(350, 600, &mut ChaCha8Rng::seed_from_u64(11));
    let (tree, x) = regression(w, 0.0, Route::IidOnly, 11);
    let report = run(&tree)?;
    assert_iid(&report);
    assert!(mean_square(report.mean("x")?, &x) < 1e-10);
    Ok(())
}

#[test]
fn a_classifier_two_layers_and_columns() -> Outcome {
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let w = Linear::new(Matrix::new(gaussian(1500, 800, rng))?)?;
    let classifier = |route: Route| -> Result<Tree, ModelError> {
        let prior = source(GaussianPrior::new(0.0, 1.0)?.iid(800));
        (prior >> var("x") >> w.by(route) >> var("z") >> PiecewiseLinear::sign() >> var("y"))
            .build()
    };
    let y = classifier(Route::Exact)?.sample(1)?;
    let y = y.get("y")?.to_vec();
    let tree = |route| classifier(route).and_then(|t| t.condition("y", &y));
    assert_alike(&tree(Route::Exact)?, &tree(Route::Iid)?, (1e-2, 0.02, 1.0));

    let (first, second) = (gaussian(700, 600, rng), gaussian(900, 700, rng));
    let first = Linear::new(Matrix::new(first)?)?;
    let second = Linear::new(Matrix::new(second)?)?;
    let layers = |route: Route| -> Result<Tree, ModelError> {
        let prior = source(GaussianPrior::new(0.0, 1.0)?.iid(600));
        let hidden = prior
            >> var("x")
            >> named("A", first.by(route))
            >> var("u")
            >> PiecewiseLinear::leaky_relu(0.5)?
            >> var("v");
        let model = hidden
            >> named("B", second.by(route))
            >> var("z")
            >> GaussianNoise::new(0.01)?
            >> var("y");
        model.build()
    };
    let y = layers(Route::Exact)?.sample(2)?.get("y")?.to_vec();
    let tree = |route| layers(route).and_then(|t| t.condition("y", &y));
    assert_alike(&tree(Route::Exact)?, &tree(Route::Iid)?, (1e-2, 0.02, 1.0));

    // every column of a matrix, through one belief
    let w = Linear::new(Matrix::new(gaussian(300, 600, rng))?)?;
    let columns = |route: Route| -> Result<Tree, ModelError> {
        let prior = source(GaussBernoulli::new(0.1, 0.0, 1.0)?.shaped([600, 3]));
        (prior >> var("x") >> w.by(route) >> var("z") >> GaussianNoise::new(0.01)? >> var("y"))
            .build()
    };
    let y = columns(Route::Exact)?.sample(3)?.get("y")?.to_vec();
    let tree = |route| columns(route).and_then(|t| t.condition("y", &y));
    assert_alike(&tree(Route::Exact)?, &tree(Route::Iid)?, (1e-2, 0.02, 1.0));
    Ok(())
}

#[test]
fn complex_signals_and_diagonal_beliefs() -> Outcome {
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    let (re, im) = (gaussian(350, 600, rng), gaussian(350, 600, rng));
    let w = ComplexMatrix::from_parts(&Matrix::new(re)?, &Matrix::new(im)?)?;
    let w = Linear::of(ComplexDense::new(w));
    let complex = |route: Route| -> Result<Tree, ModelError> {
        let prior = source(CircularGaussBernoulli::new(0.1, 1.0)?.iid(600));
        (prior >> var("x") >> w.by(route) >> var("z") >> GaussianNoise::new(0.01)? >> var("y"))
            .build()
    };
    let y = complex(Route::Exact)?.sample(3)?.get("y")?.to_vec();
    let tree = |route| complex(route).and_then(|t| t.condition("y", &y));
    assert_alike(&tree(Route::Exact)?, &tree(Route::Iid)?, (1e-2, 0.02, 1.0));

    // variances of their own at the input, whose average reaches the channel
    let w = Linear::new(Matrix::new(gaussian(300, 500, rng))?)?;
    let diagonal = |route: Route| -> Result<Tree, ModelError> {
        let prior = source(GaussBernoulli::new(0.1, 0.0, 1.0)?.iid(500));
        let model = prior >> var("x").diagonal() >> w.by(route) >> var("z").diagonal();
        (model >> GaussianNoise::new(0.01)? >> var("y")).build()
    };
    let y = diagonal(Route::Exact)?.sample(4)?.get("y")?.to_vec();
    let tree = |route| diagonal(route).and_then(|t| t.condition("y", &y));
    let (exact, iid) = (run(&tree(Route::Exact)?)?, run(&tree(Route::Iid)?)?);
    assert_iid(&iid);
    let apart = mean_square(exact.mean("x")?, iid.mean("x")?).sqrt();
    assert!(apart < 0.01, "{apart}");
    let variances = |r: &Posterior| -> Vec<f64> {
        let x = r.marginal("x").unwrap();
        x.variance.diagonal().collect()
    };
    let (v, u) = (variances(&exact), variances(&iid));
    let average = v.iter().sum::<f64>() / u.iter().sum::<f64>();
    assert!((average - 1.0).abs() < 0.05, "{average}");
    assert!(u.iter().any(|u| *u > 3.0 * u.min(v[1])));
    Ok(())
}

/// Singular values spread geometrically over a factor.
fn geometric(rows: usize, cols: usize, spread: f64, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let svd = gaussian(rows, cols, rng).thin_svd().unwrap();
    let k = rows.min(cols);
    let mut s = Mat::zeros(k, k);
    for i in 0..k {
        s[(i, i)] = spread.powf(-(i as f64) / (k as f64 - 1.0));
    }
    svd.U() * s * svd.V().transpose()
}

fn others(rows: usize, cols: usize) -> Vec<(&'static str, Mat<f64>)> {
    let rng = &mut ChaCha8Rng::seed_from_u64(21);
    let mut correlated = gaussian(rows, cols, rng);
    for j in 1..cols {
        for i in 0..rows {
            correlated[(i, j)] =
                0.5 * correlated[(i, j - 1)] + 0.75_f64.sqrt() * correlated[(i, j)];
        }
    }
    let mut unequal = gaussian(rows, cols, rng);
    for i in 0..rows {
        let scale = (0.5 * normal(rng)).exp();
        (0..cols).for_each(|j| unequal[(i, j)] *= scale);
    }
    let shift = 1.0 / (cols as f64).sqrt();
    let plain = gaussian(rows, cols, rng);
    let shifted = Mat::from_fn(rows, cols, |i, j| plain[(i, j)] + shift);
    let mut all = vec![
        ("correlated columns", correlated),
        ("condition 10", geometric(rows, cols, 10.0, rng)),
        ("condition 10000", geometric(rows, cols, 1e4, rng)),
        ("unequal rows", unequal),
        ("mean one", shifted),
        ("orthogonal rows", geometric(rows, cols, 1.0, rng)),
    ];
    for (_, w) in &mut all {
        let scale = (rows as f64 / w.squared_norm_l2()).sqrt();
        *w = Mat::from_fn(rows, cols, |i, j| scale * w[(i, j)]);
    }
    all
}

#[test]
fn other_matrices_take_the_exact_route_and_say_so() -> Outcome {
    for (name, w) in others(300, 600) {
        let (exact, x) = regression(w.clone(), 0.01, Route::Exact, 0);
        let exact = run(&exact)?;
        for route in [Route::Iid, Route::Auto] {
            let report = run(&regression(w.clone(), 0.01, route, 0).0)?;
            assert!(
                report.termination.is_converged(),
                "{name}: {}",
                report.termination
            );
            let [taken] = &report.routes[..] else {
                panic!("{name}: {:?}", report.routes)
            };
            assert_eq!(taken.route, Route::Exact, "{name}, {route}");
            assert!(
                taken.why.contains("independent"),
                "{name}, {route}: {}",
                taken.why
            );
            let error = |r: &Posterior| mean_square(r.mean("x").unwrap(), &x);
            let decibels = 10.0 * (error(&report) / error(&exact)).log10();
            assert!(decibels.abs() < 0.1, "{name}, {route}: {decibels} dB");
            let ratio = report.variance("x")? / exact.variance("x")?;
            assert!((ratio - 1.0).abs() < 0.05, "{name}, {route}: {ratio}");
        }
        // the same without a way out is no answer
        let (only, _) = regression(w, 0.01, Route::IidOnly, 0);
        match run(&only) {
            Ok(report) => assert!(!report.termination.is_converged(), "{name}"),
            Err(error) => assert!(error.to_string().contains("independent"), "{name}: {error}"),
        }
    }
    Ok(())
}

#[test]
fn damped_messages_that_rest_elsewhere_are_rejected() -> Outcome {
    let all = others(300, 600);
    let (_, w) = all
        .into_iter()
        .find(|(name, _)| *name == "correlated columns")
        .unwrap();
    let (exact, _) = regression(w.clone(), 0.01, Route::Exact, 0);
    let (tree, _) = regression(w, 0.01, Route::IidOnly, 0);
    let damped = ExpectationPropagation
        .on(&tree)?
        .damping(0.5)
        .max_sweeps(500)
        .run(&mut ())?;
    let Termination::Rejected(verdict) = &damped.termination else {
        panic!("{}", damped.termination)
    };
    assert_eq!(
        (verdict.kind(), verdict.factor()),
        ("not_iid", Some("linear"))
    );
    assert!(damped.log_evidence().is_err());
    // and would have been a wrong answer
    let ratio = damped.variance("x")? / run(&exact)?.variance("x")?;
    assert!((ratio - 1.0).abs() > 0.1, "{ratio}");
    Ok(())
}

#[test]
fn independent_entries_are_seldom_refused() -> Outcome {
    let mut refused = 0;
    let ports = [SignalSpec::real([600]), SignalSpec::real([300])];
    for seed in 0..60 {
        let rng = &mut ChaCha8Rng::seed_from_u64(500 + seed);
        let w = gaussian(300, 600, rng);
        let w = match seed % 3 {
            0 => w,
            1 => Mat::from_fn(300, 600, |i, j| w[(i, j)].signum()),
            // four fifths zeros
            _ => Mat::from_fn(300, 600, |i, j| {
                if (w[(i, j)] * 1e4).fract().abs() < 0.2 {
                    w[(i, j)]
                } else {
                    0.0
                }
            }),
        };
        let choice = Linear::new(Matrix::new(w)?)?.by(Route::Auto).route(&ports);
        refused += usize::from(!choice.is_some_and(|c| c.iid));
    }
    assert!(refused <= 2, "{refused} of 60");
    Ok(())
}

#[test]
fn small_or_structured_is_exact_by_itself() -> Outcome {
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let (tree, _) = regression(gaussian(50, 100, rng), 0.01, Route::Auto, 0);
    let report = run(&tree)?;
    assert_eq!(report.routes[0].route, Route::Exact);
    assert!(
        report.routes[0].why.contains("decomposed"),
        "{}",
        report.routes[0].why
    );
    let large = Linear::new(Matrix::new(gaussian(300, 600, rng))?)?;
    let spec = |n: usize| SignalSpec::real([n]);
    let ports = [spec(600), spec(300)];
    assert!(large.route(&ports).is_none());
    assert!(large.by(Route::Auto).route(&ports).is_some_and(|c| c.iid));
    // an option of the run stands above what was declared
    let (tree, _) = regression(gaussian(300, 600, rng), 0.01, Route::IidOnly, 0);
    let asked = ExpectationPropagation.on(&tree)?.exact(true).run(&mut ())?;
    assert_eq!(
        (asked.routes[0].route, asked.routes[0].why.as_str()),
        (Route::Exact, "asked for")
    );
    Ok(())
}

#[test]
fn what_the_route_does_not_take() -> Outcome {
    let rng = &mut ChaCha8Rng::seed_from_u64(2);
    let w = Linear::new(Matrix::new(gaussian(40, 60, rng))?)?;
    let full = |route: Route| -> Result<Tree, ModelError> {
        let prior = source(GaussianPrior::new(0.0, 1.0)?.iid(60));
        let model = prior >> var("x").full() >> w.by(route) >> var("z") >> GaussianNoise::new(0.1)?;
        (model >> var("y")).build()?.condition("y", &[0.5; 40])
    };
    let error = ExpectationPropagation
        .on(&full(Route::IidOnly)?)
        .unwrap_err();
    assert!(error.to_string().contains("isotropic, diagonal"), "{error}");
    let report = run(&full(Route::Iid)?)?;
    assert_eq!(report.routes[0].route, Route::Exact);
    assert!(
        report.routes[0].why.contains("full"),
        "{}",
        report.routes[0].why
    );

    // an operator that does not know its norms
    let line = SignalSpec::real([30]);
    let copy = |z: &[f64], out: &mut [f64]| out.copy_from_slice(z);
    let free = Linear::of(MatrixFree::new("copy", &line, &line, copy, copy)?);
    let error = free.by(Route::IidOnly).prepare().unwrap_err();
    assert!(
        error.to_string().contains("norms of the columns"),
        "{error}"
    );
    assert!(
        !free
            .by(Route::Iid)
            .route(&[line.clone(), line])
            .unwrap()
            .iid
    );

    let zero = Linear::new(Matrix::from_fn(3, 4, |_, _| 0.0)?)?;
    assert!(zero.by(Route::IidOnly).prepare().is_err());
    let error = "fast".parse::<Route>().unwrap_err().to_string();
    assert!(
        error.contains("exact, iid, iid_only, auto") && error.contains("fast"),
        "{error}"
    );

    // a mode is found by exact messages, whatever was declared
    let model = source(L1::new(0.1)?.iid(60)) >> var("x") >> w.by(Route::Iid) >> var("z");
    let model = (model >> GaussianNoise::new(0.1)? >> var("y")).build()?;
    let report = MaximumAPosteriori
        .on(&model.condition("y", &[0.5; 40])?)?
        .run(&mut ())?;
    assert_eq!(report.routes[0].route, Route::Exact);
    Ok(())
}

#[test]
fn a_matrix_that_someone_else_holds() -> Outcome {
    let w = gaussian(300, 600, &mut ChaCha8Rng::seed_from_u64(4));
    let rows: Vec<f64> = (0..300)
        .flat_map(|i| (0..600).map(move |j| (i, j)))
        .map(|at| w[at])
        .collect();
    let held = std::sync::Arc::new(rows.clone());
    let shared = Matrix::shared(300, 600, held.clone())?;
    let own = Matrix::new(w)?;
    assert_eq!(shared, own);
    assert_eq!(shared.get(7, 11), own.get(7, 11));
    // one owner here and one there: no copy was made
    assert_eq!(std::sync::Arc::strong_count(&held), 2);
    let ((a, b), (c, d)) = (shared.square_norms(), own.square_norms());
    let alike = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() < 1e-12);
    assert!(alike(&a, &c) && alike(&b, &d) && a.len() == 300 && b.len() == 600);
    let x: Vec<f64> = (0..600).map(|j| f64::from(j).sin()).collect();
    let (mut y, mut z) = (vec![0.0; 300], vec![0.0; 300]);
    shared.apply(&x, 1, &mut y);
    own.apply(&x, 1, &mut z);
    assert!(alike(&y, &z));
    // and the exact route decomposes it where it is
    let decomposed = Linear::new(shared)?;
    assert!(decomposed.decomposition()?.rank() == 300);
    let mut bad = rows;
    bad[600 + 2] = f64::NAN;
    let error = Matrix::shared(300, 600, std::sync::Arc::new(bad.clone())).unwrap_err();
    assert!(
        error.to_string().contains("NaN at row 1, column 2"),
        "{error}"
    );
    assert!(Matrix::shared(300, 500, std::sync::Arc::new(bad)).is_err());
    assert!(Matrix::shared(0, 5, std::sync::Arc::new(Vec::new())).is_err());
    Ok(())
}
