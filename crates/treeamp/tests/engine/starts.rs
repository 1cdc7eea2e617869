//! Where a run starts: given, noisy and warm messages.

use super::*;

#[test]
fn damping_and_starts_lead_to_the_same_fixed_point() {
    let (model, truth) = regression(400, 3);
    let plain = ExpectationPropagation
        .on(&model)
        .unwrap()
        .tolerance(1e-9)
        .run(&mut ())
        .unwrap();
    assert!(plain.termination.is_converged());
    assert!(mse(plain.mean("x").unwrap(), &truth) < 0.02);
    let edge = |d: f64| Damping::PerEdge(vec![("linear".into(), "x".into(), d)]);
    let given = EdgeMessage {
        factor: "linear".into(),
        variable: "x".into(),
        precision: 5.0,
        linear: truth.iter().map(|x| 5.0 * x).collect(),
    };
    let starts = [
        (Damping::Constant(0.4), Initial::Flat),
        (edge(0.5), Initial::Flat),
        (
            Damping::None,
            Initial::Constant {
                precision: 1.0,
                linear: 0.5,
            },
        ),
        (
            Damping::None,
            Initial::Noisy {
                precision: 1.0,
                mean: 0.0,
                std: 1.0,
                seed: 0,
            },
        ),
        (Damping::None, Initial::Given(vec![given])),
    ];
    for (damping, initial) in starts {
        let engine = ExpectationPropagation
            .on(&model)
            .unwrap()
            .tolerance(1e-9)
            .max_sweeps(500);
        let report = engine
            .damping(damping)
            .initial(initial.clone())
            .run(&mut ())
            .unwrap();
        assert!(
            report.termination.is_converged(),
            "{initial:?}: {}",
            report.termination
        );
        let gap = mse(report.mean("x").unwrap(), plain.mean("x").unwrap()).sqrt();
        assert!(gap < 1e-6, "{initial:?}: {gap:e}");
        let evidence = report.log_evidence().unwrap() - plain.log_evidence().unwrap();
        assert!(evidence.abs() < 1e-5, "{initial:?}: {evidence:e}");
    }
}

#[test]
fn noisy_starts_depend_on_the_seed_alone() {
    let (model, _) = regression(100, 2);
    let run = |seed| {
        let initial = Initial::Noisy {
            precision: 1.0,
            mean: 0.0,
            std: 3.0,
            seed,
        };
        let engine = ExpectationPropagation
            .on(&model)
            .unwrap()
            .initial(initial)
            .max_sweeps(2);
        engine.run(&mut ()).unwrap().mean("x").unwrap().to_vec()
    };
    assert_eq!(run(0), run(0));
    assert_ne!(run(0), run(1));
}

#[test]
fn warm_starts_continue() {
    let (model, _) = regression(200, 3);
    let cold = infer(&model);
    let first = ExpectationPropagation
        .on(&model)
        .unwrap()
        .max_sweeps(5)
        .run(&mut ())
        .unwrap();
    assert_eq!(first.termination, Termination::SweepLimit);
    let rest = ExpectationPropagation
        .on(&model)
        .unwrap()
        .warm_start(&first)
        .run(&mut ())
        .unwrap();
    assert!(rest.termination.is_converged());
    assert!(
        rest.sweeps <= cold.sweeps - 3,
        "{} after {}",
        rest.sweeps,
        cold.sweeps
    );
    assert!(mse(rest.mean("x").unwrap(), cold.mean("x").unwrap()).sqrt() < 1e-6);
    // at the fixed point, two sweeps are enough to see that nothing changes
    let again = ExpectationPropagation
        .on(&model)
        .unwrap()
        .warm_start(&rest)
        .run(&mut ())
        .unwrap();
    assert!(again.sweeps <= 2, "{}", again.sweeps);
    let messages: &Messages<Gaussian> = &again.messages;
    assert_eq!(messages.iter().count(), 4);
    assert!(messages.get("linear", "x").unwrap().precision.scalar() > 0.0);
    assert!(messages.get("linear", "nobody").is_none());
}

#[test]
fn a_warm_start_of_another_size_is_refused() {
    let three = infer(&noisy(3));
    let two = noisy(2);
    let engine = ExpectationPropagation.on(&two).unwrap().warm_start(&three);
    let text = engine.run(&mut ()).unwrap_err().to_string();
    assert!(text.contains("expected 2 components, got 3"), "{text}");
}

#[test]
fn an_edge_given_twice_is_refused() {
    let tree = noisy(2);
    let edge = ("gaussian".to_owned(), "x".to_owned(), 0.1);
    let damping = Damping::PerEdge(vec![edge.clone(), edge]);
    let text = ExpectationPropagation
        .on(&tree)
        .unwrap()
        .damping(damping)
        .run(&mut ());
    assert!(text.unwrap_err().to_string().contains("once per edge"));
}
