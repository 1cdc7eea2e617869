//! Options, and what is said of wrong ones.

use super::*;

// ---- options and starts ----

#[test]
fn a_message_without_negative_precision_keeps_the_mean() {
    let message = |a: f64, b: [f64; 2]| {
        let mut m = Gaussian::flat(&SignalSpec::real([2]));
        m.precision.set_scalar(a);
        m.linear.copy_from_slice(&b);
        m
    };
    let (cavity, told) = (message(3.0, [1.0, 2.0]), message(-1.0, [0.5, -1.0]));
    let mut lifted = told.clone();
    lifted.lift(&cavity);
    assert_eq!(lifted.precision.scalar(), 0.0);
    for i in 0..2 {
        let before = f64::midpoint(cavity.linear[i], told.linear[i]);
        let after = (cavity.linear[i] + lifted.linear[i]) / 3.0;
        // two roundings of numbers of order one
        assert!((before - after).abs() < 1e-15);
    }
    // nothing to lift: a positive precision, a pin, a belief that is no belief
    for (cavity, told) in [
        (message(3.0, [1.0, 2.0]), message(1.0, [0.5, -1.0])),
        (
            message(f64::INFINITY, [1.0, 2.0]),
            message(-1.0, [0.5, -1.0]),
        ),
        (message(0.5, [1.0, 2.0]), message(-1.0, [0.5, -1.0])),
    ] {
        let mut same = told.clone();
        same.lift(&cavity);
        assert_eq!(same.precision.scalar(), told.precision.scalar());
        assert_eq!(same.linear, told.linear);
    }
}

#[test]
fn positive_precisions_change_nothing_where_none_is_negative() {
    let (model, _) = regression(200, 3);
    let run = |positive: bool| {
        let options = Options {
            damping: Damping::Constant(0.2),
            positive,
            ..Options::default()
        };
        let engine = ExpectationPropagation.on(&model).unwrap().options(options);
        engine.run(&mut ()).unwrap().mean("x").unwrap().to_vec()
    };
    assert_eq!(run(true), run(false));
}

/// A forced fallback comes after two sweeps, or after fewer if no more are allowed.
#[test]
fn a_forced_fallback_keeps_to_the_sweep_limit() {
    let (model, _) = regression(40, 5);
    for (limit, sweeps) in [(1, 1), (2, 2), (50, 2)] {
        let engine = ExpectationPropagation.on(&model).unwrap();
        let engine = engine.max_sweeps(limit).fallback(Fallback::Forced);
        let report = engine.run(&mut ()).unwrap();
        assert_eq!(report.sweeps, sweeps);
        assert!(report.termination.is_converged(), "{limit}");
    }
}

#[test]
fn bad_options_are_named() {
    let (model, _) = regression(20, 4);
    let engine = || ExpectationPropagation.on(&model).unwrap();
    let say = |e: Engine<'_, ExpectationPropagation>| e.run(&mut ()).unwrap_err().to_string();
    assert_eq!(
        say(engine().damping(1.0)),
        "option `damping` must be in [0, 1), got 1"
    );
    assert_eq!(
        say(engine().damping(-0.1)),
        "option `damping` must be in [0, 1), got -0.1"
    );
    assert!(say(engine().damping(f64::NAN)).contains("NaN"));
    assert_eq!(
        say(engine().max_sweeps(0)),
        "option `max_sweeps` must be at least 1, got 0"
    );
    assert!(say(engine().tolerance(f64::NAN)).contains("`tolerance`"));
    let infinite = Initial::Constant {
        precision: f64::INFINITY,
        linear: 0.0,
    };
    assert!(say(engine().initial(infinite)).contains("`initial`"));
    let edge = Damping::PerEdge(vec![("linear".into(), "y".into(), 0.5)]);
    let text = say(engine().damping(edge));
    assert!(
        text.contains("`linear`") && text.contains("linear - x"),
        "{text}"
    );
    let short = EdgeMessage {
        factor: "linear".into(),
        variable: "x".into(),
        precision: 1.0,
        linear: vec![1.0; 3],
    };
    let text = say(engine().initial(Initial::Given(vec![short])));
    assert_eq!(text, "message linear -> x: expected 20 components, got 3");
}

#[test]
fn beliefs_that_a_factor_lacks_are_refused() {
    let model = (source(Binary::new(0.3).unwrap().iid(3))
        >> var("x").belief(Structure::Full)
        >> GaussianNoise::new(0.1).unwrap()
        >> var("y"))
    .build()
    .unwrap();
    let text = ExpectationPropagation.on(&model).unwrap_err().to_string();
    // the law is not Gaussian, and noise wants the same belief on both sides
    for word in ["`binary`", "full", "`x`", "isotropic", "`gaussian_noise`"] {
        assert!(text.contains(word), "{text}");
    }
}

/// Options out of range name the option, and the edge.
#[test]
fn a_wrong_damping_names_its_edge() {
    let (posterior, _) = regression(20, 4);
    let edges = vec![("linear".to_owned(), "x".to_owned(), 1.3)];
    let engine = ExpectationPropagation.on(&posterior).unwrap();
    let error = engine.damping(Damping::PerEdge(edges)).run(&mut ());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`damping`") && error.contains("linear - x"),
        "{error}"
    );
    for (name, damping) in [("adaptive", Damping::Adaptive), ("none", Damping::None)] {
        assert_eq!(name.parse::<Damping>().unwrap(), damping);
    }
    assert_eq!("0.25".parse::<Damping>().unwrap(), Damping::Constant(0.25));
    assert!("1".parse::<Damping>().is_err() && "always".parse::<Fallback>().is_err());
    assert_eq!("forced".parse::<Fallback>().unwrap(), Fallback::Forced);
}
