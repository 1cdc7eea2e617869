//! Diagonal beliefs where isotropic ones lose.

use super::*;

/// Sparse regression with columns of scales from 1e-2 to 1e2: an isotropic belief must call the average of what is known about
/// strong and weak columns the precision of all of them.
#[test]
fn diagonal_beliefs_see_columns_of_different_scales() {
    let (rows, cols, delta) = (60, 100, 1e-2);
    let (mut isotropic, mut diagonal) = (0.0, 0.0);
    for seed in 0..20 {
        let plain = gaussian_matrix(rows, cols, 100 + seed);
        // the scales are in no order with respect to anything
        let scale =
            |j: usize| 10.0_f64.powf(4.0 * ((7 * j) % cols) as f64 / (cols - 1) as f64 - 2.0);
        let w = Matrix::from_fn(rows, cols, |i, j| plain.get(i, j) * scale(j)).unwrap();
        let mut errors = [0.0; 2];
        for (error, structure) in errors
            .iter_mut()
            .zip([Structure::Isotropic, Structure::Diagonal])
        {
            let model = (source(GaussBernoulli::new(0.2, 0.0, 1.0).unwrap().iid(cols))
                >> var("x").belief(structure)
                >> Linear::new(w.clone()).unwrap()
                >> var("z")
                >> GaussianNoise::new(delta).unwrap()
                >> var("y"))
            .build()
            .unwrap();
            let sample = model.sample(seed).unwrap();
            let observed = model.condition("y", sample.get("y").unwrap()).unwrap();
            let report = infer(&observed);
            *error = mse(report.mean("x").unwrap(), sample.get("x").unwrap());
        }
        isotropic += errors[0] / 20.0;
        diagonal += errors[1] / 20.0;
    }
    println!("MSE: isotropic {isotropic:.4}, diagonal {diagonal:.4}");
    assert!(diagonal < 0.9 * isotropic, "{diagonal} against {isotropic}");
}

/// An image behind a mask: the one variance of isotropic beliefs averages pixels that are seen and pixels that are not, and the report says so.
#[test]
fn a_mask_before_isotropic_beliefs_is_noted() {
    let observed: Vec<bool> = (0..12).map(|i| i % 3 == 0).collect();
    let run = |mask: Vec<bool>, structure: Structure| {
        let m = mask.iter().filter(|seen| **seen).count();
        let x = var("x").belief(structure);
        let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(12)) >> x;
        let model = model >> Mask::new(mask) >> var("z").belief(structure);
        let model = model >> GaussianNoise::new(0.01).unwrap() >> var("y");
        let tree = model.build().unwrap();
        let tree = tree.condition("y", &vec![0.5; m]).unwrap();
        let report = ExpectationPropagation.on(&tree).unwrap();
        report.run(&mut ()).unwrap().notes
    };
    let notes = run(observed.clone(), Structure::Isotropic);
    let [(factor, note)] = &notes[..] else {
        panic!("{notes:?}")
    };
    assert_eq!(factor, "mask");
    assert!(
        note.contains("sees 4 of 12 components of `x`") && note.contains("diagonal"),
        "{note}"
    );
    assert_eq!(run(observed, Structure::Diagonal), []);
    assert_eq!(run(vec![true; 12], Structure::Isotropic), []);
}
