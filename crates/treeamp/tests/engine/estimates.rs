//! What a run costs, from its sizes; inclusion probabilities against Bayes' rule.

use super::*;
use treeamp::belief::Element;
use treeamp::engine::Estimate;
use treeamp::extend::{Factor, LinearOperator as _};
use treeamp::operator::StandIn;

fn observed_image(side: usize, belief: Structure) -> Tree {
    let mut builder = TreeBuilder::new();
    builder.variable_with("x", belief);
    builder.variable_with("z", belief);
    builder.variable("y");
    let prior = GaussianPrior::new(0.0, 4.0).unwrap();
    builder.factor(prior.shaped([side, side]), &[], &["x"]);
    builder.factor(GaussianNoise::new(0.01).unwrap(), &["x"], &["y"]);
    builder.factor(Gradient::periodic(), &["x"], &["z"]);
    let spikes = GaussBernoulli::new(0.05, 0.0, 0.3).unwrap();
    builder.factor(spikes.shaped([2, side, side]), &[], &["z"]);
    let tree = builder.build().unwrap();
    tree.condition("y", &vec![0.0; side * side]).unwrap()
}

/// A regression with a matrix that is not drawn.
fn regression(rows: usize, belief: Structure) -> Tree {
    let mut builder = TreeBuilder::new();
    builder.variable_with("x", belief);
    builder.variable_with("z", belief);
    builder.variable("y");
    let spikes = GaussBernoulli::new(0.05, 0.0, 0.3).unwrap();
    builder.factor(spikes.iid(2 * rows), &[], &["x"]);
    let w = StandIn::new(rows, 2 * rows, Element::Real, Element::Real).unwrap();
    builder.factor(Linear::of(w), &["x"], &["z"]);
    builder.factor(GaussianNoise::new(0.01).unwrap(), &["z"], &["y"]);
    let tree = builder.build().unwrap();
    tree.condition("y", &vec![0.0; rows]).unwrap()
}

/// Diagonal beliefs on a matrix are dense algebra, whose cost grows with the third power of its side.
#[test]
fn dense_beliefs_are_dear() {
    let seconds = |rows, belief| Estimate::of(&regression(rows, belief)).sweep_seconds();
    let cheap = seconds(2304, Structure::Isotropic);
    let dear = seconds(2304, Structure::Diagonal);
    assert!(cheap < 0.1 && dear > 5.0, "{cheap} and {dear} s");
    let ratio = dear / seconds(576, Structure::Diagonal);
    assert!((50.0..80.0).contains(&ratio), "4^3 = 64 times, got {ratio}");
    let estimate = Estimate::of(&regression(2304, Structure::Diagonal));
    assert_eq!(estimate.dearest(), Some("linear"));
    let said = estimate.to_string();
    assert!(
        said.contains("s a sweep (nearly all in `linear`)"),
        "{said}"
    );
    assert!(estimate.bytes > 1e8, "{said}");
}

/// Those on an image with its gradient are a sparse factorisation, whose cost grows with the power 3/2 of the pixels.
#[test]
fn sparse_beliefs_are_cheap() {
    let seconds = |side| Estimate::of(&observed_image(side, Structure::Diagonal)).sweep_seconds();
    let (small, large) = (seconds(24), seconds(48));
    assert!((1e-3..0.1).contains(&large), "{large} s");
    let ratio = large / small;
    assert!((5.0..13.0).contains(&ratio), "2^3 = 8 times, got {ratio}");
}

/// An estimate is of the right order: within a factor of a hundred of what was measured, on any machine and load.
#[test]
fn estimates_are_of_the_right_order() {
    let tree = observed_image(20, Structure::Diagonal);
    let estimate = Estimate::of(&tree).sweep_seconds();
    let clock = std::time::Instant::now();
    let engine = ExpectationPropagation.on(&tree).unwrap();
    let engine = engine.fallback(Fallback::Forbidden).damping(Damping::None);
    let report = engine.tolerance(0.0).max_sweeps(2).run(&mut ()).unwrap();
    let measured = clock.elapsed().as_secs_f64() / report.sweeps as f64;
    let ratio = measured / estimate;
    assert!(
        (0.01..100.0).contains(&ratio),
        "{measured} s, {estimate} s estimated"
    );
}

/// A stand-in for a matrix costs what the matrix does, passes the same checks, and cannot be run.
#[test]
fn stand_ins_are_checked_and_not_run() {
    let model = |channel: Linear| {
        let prior = GaussBernoulli::new(0.1, 0.0, 1.0).unwrap();
        let noise = GaussianNoise::new(0.01).unwrap();
        let tree = glm(prior.iid(60), channel, noise).build().unwrap();
        tree.condition("y", &[0.0; 30]).unwrap()
    };
    let stand_in = StandIn::new(30, 60, Element::Real, Element::Real).unwrap();
    assert_eq!(stand_in.output().len(), 30);
    let (drawn, outline) = (model(linear(30, 60, 0)), model(Linear::of(stand_in)));
    assert_eq!(Estimate::of(&drawn), Estimate::of(&outline));
    let options = Options::default();
    ExpectationPropagation.check(&outline, &options).unwrap();
    MaximumAPosteriori
        .check(&outline, &options)
        .expect_err("a Gauss-Bernoulli prior has no mode");
    let refused = ExpectationPropagation.on(&outline).unwrap_err().to_string();
    assert!(refused.contains("not drawn"), "{refused}");
    // the limit counts without anything being decomposed
    let dense = observed_image(20, Structure::Diagonal);
    let small = Options {
        memory_limit: 1000,
        ..Options::default()
    };
    let refused = ExpectationPropagation.check(&dense, &small);
    assert!(matches!(refused, Err(RunError::Memory { .. })));
}

/// $P(x \ne 0 \mid y) = \rho\,\mathcal N(y; 0, 1 + \Delta) / p(y)$ of one number behind noise.
#[test]
fn inclusion_is_that_of_bayes() {
    let (rho, noise) = (0.3, 0.2);
    let y = [0.0, 0.5, -1.0, 4.0];
    let normal = |y: f64, v: f64| (-0.5 * y * y / v).exp() / v.sqrt();
    let exact = y.map(|y| {
        let (on, off) = (rho * normal(y, 1.0 + noise), (1.0 - rho) * normal(y, noise));
        on / (on + off)
    });
    for structure in [Structure::Diagonal, Structure::Isotropic] {
        let mut builder = TreeBuilder::new();
        builder.variable_with("x", structure).variable("y");
        let prior = GaussBernoulli::new(rho, 0.0, 1.0).unwrap();
        builder.factor(prior.iid(4), &[], &["x"]);
        builder.factor(GaussianNoise::new(noise).unwrap(), &["x"], &["y"]);
        let tree = builder.build().unwrap().condition("y", &y).unwrap();
        let report = ExpectationPropagation.on(&tree).unwrap();
        let report = report.run(&mut ()).unwrap();
        let found = report.inclusion(&tree, "x").unwrap().unwrap();
        for (p, q) in found.iter().zip(exact) {
            assert!((p - q).abs() < 1e-12, "{structure}: {p} {q}");
        }
        assert!(report.inclusion(&tree, "q").is_err());
    }
}

/// Every prior with a point mass at zero has them, whatever its other part; those without one have none.
#[test]
fn inclusion_is_that_of_any_point_mass() {
    fn of(prior: impl Factor) -> Option<Vec<f64>> {
        let model = source(prior) >> var("x") >> GaussianNoise::new(0.1).unwrap() >> var("y");
        let tree = model.build().unwrap();
        let tree = tree.condition("y", &[0.0, 3.0]).unwrap();
        let report = ExpectationPropagation.on(&tree).unwrap();
        let report = report.run(&mut ()).unwrap();
        report.inclusion(&tree, "x").unwrap()
    }
    let small = |p: Option<Vec<f64>>| {
        let p = p.unwrap();
        assert!(p[0] < 0.4 && p[1] > 0.99, "{p:?}");
    };
    small(of(SpikeLaplace::new(0.3, 1.0).unwrap().iid(2)));
    small(of(SpikeStudentT::new(0.3, 3.0, 1.0).unwrap().iid(2)));
    let alphabet = FiniteAlphabet::new(&[0.0, 3.0], &[0.5, 0.5]).unwrap();
    small(of(alphabet.iid(2)));
    assert_eq!(of(Laplace::new(0.0, 1.0).unwrap().iid(2)), None);
    assert_eq!(of(GaussianPrior::new(0.0, 1.0).unwrap().iid(2)), None);
}

/// Outputs without noise tell every component exactly: it is zero, up to rounding, or it is not.
#[test]
fn exactly_known_components_are_zero_or_not() {
    let prior = GaussBernoulli::new(0.3, 0.0, 1.0).unwrap();
    let noise = GaussianNoise::new(0.0).unwrap();
    let (tree, truth) = drawn(glm(prior.iid(40), linear(40, 40, 0), noise), 0);
    let report = ExpectationPropagation.on(&tree).unwrap();
    let report = report.run(&mut ()).unwrap();
    assert!(report.variance("x").unwrap() < 1e-12);
    let found = report.inclusion(&tree, "x").unwrap().unwrap();
    for (p, x) in found.iter().zip(&truth) {
        let q = f64::from(u8::from(*x != 0.0));
        assert!((p - q).abs() < 1e-3, "{p} of {x}");
    }
}

/// Complex components: the modulus counts.
#[test]
fn inclusion_of_complex_components() {
    let (rho, noise) = (0.3, 0.2);
    let prior = CircularGaussBernoulli::new(rho, 1.0).unwrap();
    let model = source(prior.iid(2)) >> var("x") >> GaussianNoise::new(noise).unwrap() >> var("y");
    let y = [Complex::new(0.3, -0.4), Complex::new(0.0, 2.0)];
    let tree = model.build().unwrap().condition("y", &y).unwrap();
    let report = ExpectationPropagation.on(&tree).unwrap();
    let report = report.run(&mut ()).unwrap();
    let found = report.inclusion(&tree, "x").unwrap().unwrap();
    // variances are per real component
    let normal = |square: f64, v: f64| (-0.5 * square / v).exp() / v;
    for (p, y) in found.iter().zip(y) {
        let square = y.norm_sqr();
        let on = rho * normal(square, 1.0 + noise);
        let q = on / (on + (1.0 - rho) * normal(square, noise));
        assert!((p - q).abs() < 1e-12, "{p} {q}");
    }
}
