//! What is refused before the first sweep, and in which words.

use super::*;

#[test]
fn structures_are_read_and_written() {
    for s in ["isotropic", "diagonal", "full", "block(3)"] {
        assert_eq!(s.parse::<Structure>().unwrap().to_string(), s);
    }
    for s in ["block", "block(x)", "block(-1)", "dense", ""] {
        let text = s.parse::<Structure>().unwrap_err().to_string();
        assert!(text.contains("block(n)"), "{text}");
    }
}

#[test]
fn blocks_must_divide_the_rows() {
    for dim in [0, 2, 4] {
        let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 3]))
            >> var("u").block(dim)
            >> seen(0.1, &[0.0; 12]))
        .build();
        let error = model.unwrap_err();
        assert!(
            matches!(error, ModelError::BlockSize { row: 3, .. }),
            "{error}"
        );
        for word in ["`u`", "(4, 3)", "divisor of 3", &dim.to_string()] {
            assert!(error.to_string().contains(word), "{error}");
        }
    }
}

#[test]
fn all_factors_that_refuse_a_belief_are_named() {
    let model = (source(GaussBernoulli::new(0.3, 0.0, 1.0).unwrap().iid(4))
        >> var("x").full()
        >> linear(3, 4, 1)
        >> var("z").full()
        >> PiecewiseLinear::sign()
        >> var("y"))
    .build()
    .unwrap()
    .condition("y", &[1.0, -1.0, 1.0])
    .unwrap();
    let error = ExpectationPropagation.on(&model).unwrap_err();
    let RunError::Belief { refused } = &error else {
        panic!("{error}");
    };
    assert_eq!(refused.len(), 2);
    for word in [
        "`gauss_bernoulli`",
        "`sign`",
        "`x`",
        "`z`",
        "isotropic, diagonal",
    ] {
        assert!(error.to_string().contains(word), "{error}");
    }
    // rows of another length than the blocks
    let rows = MixtureRow::one_hot(&[0.5, 0.5]).unwrap().rows(3);
    let model = (source(rows) >> var("u").block(1) >> seen(0.1, &[0.0; 6]))
        .build()
        .unwrap();
    let text = ExpectationPropagation.on(&model).unwrap_err().to_string();
    assert!(
        text.contains("block(2)") && text.contains("block(1)"),
        "{text}"
    );
    // several columns share one isotropic belief
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 2]))
        >> var("x").diagonal()
        >> linear(3, 4, 1)
        >> var("z")
        >> seen(0.1, &[0.0; 6]))
    .build()
    .unwrap();
    let text = ExpectationPropagation.on(&model).unwrap_err().to_string();
    assert!(text.contains("2 columns"), "{text}");
}

#[test]
fn beliefs_that_do_not_fit_in_memory_are_refused() {
    let n = 100_000;
    let model = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x").full()
        >> seen(0.1, &vec![0.0; n]))
    .build()
    .unwrap();
    // by the planner
    let error = ExpectationPropagation.on(&model).unwrap_err();
    // two messages, a way back for each, its marginal, three to tell oscillations by, and one of each to work in
    let expected = 8 * (2 + 2 + 6) * (n * n + n) as u128;
    match &error {
        RunError::Memory {
            bytes,
            limit,
            variable,
            ..
        } => {
            assert_eq!(
                (*bytes, *limit, variable.as_str()),
                (expected, 2 << 30, "x")
            );
        }
        other => panic!("{other}"),
    }
    assert!(error.to_string().contains(&expected.to_string()), "{error}");
    let small = (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(4))
        >> var("x").full()
        >> seen(0.1, &[0.0; 4]))
    .build()
    .unwrap();
    let engine = ExpectationPropagation.on(&small).unwrap().memory_limit(100);
    assert!(matches!(
        engine.run(&mut ()),
        Err(RunError::Memory { limit: 100, .. })
    ));
    // a limit of one's own is known to the planner, whichever way it differs
    let options = |memory_limit| Options {
        memory_limit,
        ..Options::default()
    };
    let refused = ExpectationPropagation.on_with(&small, options(100));
    assert!(matches!(refused, Err(RunError::Memory { limit: 100, .. })));
    let options = options(u64::MAX);
    assert!(ExpectationPropagation.on_with(&model, options).is_ok());
}

#[test]
fn what_knows_isotropic_beliefs_only_says_so() {
    let w = gaussian_matrix(3, 4, 1);
    let model = |s: Structure| {
        (source(GaussBernoulli::new(0.3, 0.0, 1.0).unwrap().iid(4))
            >> var("x").belief(s)
            >> Linear::new(w.clone()).unwrap()
            >> var("z")
            >> seen(0.1, &[0.1, 0.2, 0.3]))
        .build()
        .unwrap()
    };
    let diagonal = model(Structure::Diagonal);
    let theory = StateEvolution::new(&diagonal).and_then(|s| s.fixed_point());
    let error = theory.unwrap_err();
    assert!(matches!(error, RunError::AlgorithmBelief { .. }), "{error}");
    let theory = MismatchedEvolution::new(&diagonal, &diagonal).and_then(|s| s.fixed_point());
    let error = theory.unwrap_err();
    assert!(matches!(error, RunError::AlgorithmBelief { .. }), "{error}");
    // the double loop takes components apart
    let full = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(3))
        >> var("x").full()
        >> seen(0.1, &[0.1, 0.2, 0.3]);
    let full = full.build().unwrap();
    let engine = ExpectationPropagation.on(&full).unwrap();
    let error = engine.fallback(Fallback::Forced).run(&mut ()).unwrap_err();
    assert!(
        error.to_string().contains("`x` has full beliefs"),
        "{error}"
    );
    // messages of another structure to start from
    let isotropic = model(Structure::Isotropic);
    let report = infer(&isotropic);
    let engine = ExpectationPropagation
        .on(&diagonal)
        .unwrap()
        .warm_start(&report);
    let error = engine.run(&mut ()).unwrap_err();
    assert!(matches!(error, RunError::MessageBelief { .. }), "{error}");
}

#[test]
fn row_laws_refuse_bad_parameters() {
    let say = |law: Result<MixtureRow, ModelError>| law.unwrap_err().to_string();
    assert!(say(MixtureRow::one_hot(&[0.5, 0.6])).contains("add up to 1"));
    assert!(say(MixtureRow::one_hot(&[])).contains("at least one"));
    assert!(say(MixtureRow::sparse(1.5, &[0.0], &[1.0])).contains("probabilities"));
    assert!(
        say(MixtureRow::gaussian(&[0.0, 0.0], &[1.0, 2.0, 2.0, 1.0])).contains("semi-definite")
    );
    assert!(say(MixtureRow::gaussian(&[0.0, 0.0], &[1.0, 0.5, 0.2, 1.0])).contains("symmetric"));
    assert!(
        say(MixtureRow::gaussian(
            &[0.0, f64::NAN],
            &[1.0, 0.0, 0.0, 1.0]
        ))
        .contains("finite")
    );
}

/// An exact output with fewer numbers than the input leaves a full belief on it without a form: said before the first sweep.
#[test]
fn exact_outputs_of_wide_channels_are_refused_by_the_planner() {
    let model = |rows: usize, noise: f64, structure: Structure| {
        (source(GaussianPrior::new(0.0, 1.0).unwrap().iid(5))
            >> var("x").belief(structure)
            >> linear(rows, 5, 1)
            >> var("z").belief(structure)
            >> seen(noise, &vec![0.1; rows]))
        .build()
        .unwrap()
    };
    let tree = model(3, 0.0, Structure::Full);
    let text = ExpectationPropagation.on(&tree).unwrap_err().to_string();
    assert!(text.contains("`x`") && text.contains("exactly"), "{text}");
    for tree in [
        model(3, 0.1, Structure::Full),
        model(5, 0.0, Structure::Full),
        model(3, 0.0, Structure::Diagonal),
    ] {
        infer(&tree);
    }
}

/// Bytes that no 64 bits count are counted all the same.
#[test]
fn very_large_beliefs_say_how_large() {
    let side = 1_usize << 20;
    let prior = GaussianPrior::new(0.0, 1.0).unwrap().shaped([side, side]);
    let model = (source(prior) >> var("x").full()).build().unwrap();
    let text = ExpectationPropagation.on(&model).unwrap_err().to_string();
    // one message and its cavity, six more: n = 2^40 numbers and n² of them
    let numbers = (1_u128 << 80) + (1 << 40);
    assert!(text.contains(&(8 * 8 * numbers).to_string()), "{text}");
}

/// The same where exactness comes through other channels, or where a matrix loses some of its input: no run begins that the
/// first sweep would break off.
#[test]
fn exact_outputs_are_followed_through_channels() {
    let chain = |matrices: &[Matrix]| {
        let n = matrices[0].cols();
        let mut z = normals(n, 3);
        let mut model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n)) >> var("x0").full();
        for (k, w) in matrices.iter().enumerate() {
            let mut next = vec![0.0; w.rows()];
            w.apply(&z, 1, &mut next);
            z = next;
            let name = format!("x{}", k + 1);
            model = model >> Linear::new(w.clone()).unwrap() >> var(&name).full();
        }
        (model >> seen(0.0, &z)).build().unwrap()
    };
    let shapes = |shapes: &[usize]| {
        let pairs = shapes.windows(2).enumerate();
        let all = pairs.map(|(k, s)| gaussian_matrix(s[1], s[0], 10 + k as u64));
        chain(&all.collect::<Vec<Matrix>>())
    };
    let refused = |tree: &Tree, variable: &str| {
        let error = ExpectationPropagation.on(tree).unwrap_err();
        let RunError::Belief { refused } = &error else {
            panic!("{error}")
        };
        let named: Vec<&str> = refused.iter().map(|r| r.variable.as_str()).collect();
        assert_eq!(named, [variable], "{error}");
    };
    refused(&shapes(&[3, 7, 3, 3]), "x1");
    refused(&shapes(&[6, 4, 4, 4]), "x0");
    refused(&shapes(&[6, 4, 6]), "x0");
    let square = || gaussian_matrix(4, 4, 5);
    let (u, v) = (normals(4, 1), normals(4, 2));
    let one = || Matrix::from_fn(4, 4, |i, j| u[i] * v[j]).unwrap();
    refused(&chain(&[one()]), "x0");
    refused(&chain(&[square(), one()]), "x1");
    refused(&chain(&[one(), square()]), "x0");
    // what determines its input at every step is carried
    for tree in [shapes(&[4, 4, 4]), shapes(&[3, 5, 7])] {
        let report = infer(&tree);
        assert!(relative_gap(report.mean("x0").unwrap(), &normals(tree_len(&tree), 3)) < 1e-8);
    }
}

fn tree_len(tree: &Tree) -> usize {
    tree.variables()[0].spec.len()
}
