//! Every factor, in every structure it claims.

use super::*;
use treeamp::extend::*;
use treeamp::factor::Site;
use treeamp::testing::factors::check_factor;

const KINDS: [Structure; 3] = [Structure::Isotropic, Structure::Diagonal, Structure::Full];
const ALL: [Structure; 4] = [
    Structure::Isotropic,
    Structure::Diagonal,
    Structure::Full,
    Structure::Block { dim: 3 },
];

#[test]
fn linear_channels_conform_in_every_structure() {
    let n = [SignalSpec::real([6])];
    for on_z in KINDS {
        for on_x in KINDS {
            for rows in [1, 4, 6] {
                let channel = linear(rows, 6, 1);
                check_structures(&channel, &n, &[on_z, on_x]);
            }
            // outputs that W does not reach: a full belief there is in moment form
            let tall = linear(9, 6, 1);
            let deficient = Linear::new(deficient_matrix(5, 6, 3, 4)).unwrap();
            check_structures(&tall, &n, &[on_z, on_x]);
            check_structures(&deficient, &n, &[on_z, on_x]);
        }
    }
}

#[test]
fn gaussian_factors_conform_in_every_structure() {
    let n = [SignalSpec::real([6])];
    for s in ALL {
        check_structures(&GaussianNoise::new(0.3).unwrap(), &n, &[s, s]);
        check_structures(&GaussianNoise::new(0.0).unwrap(), &n, &[s, s]);
        check_structures(&Bias::new(normals(6, 3)).unwrap(), &n, &[s, s]);
        check_structures(&Duplicate::new(2).unwrap(), &n, &[s, s, s]);
        check_structures(&Reshape::to([2, 3]), &n, &[s, s]);
        check_structures(&GaussianPrior::new(0.4, 1.7).unwrap().iid(6), &[], &[s]);
        check_structures(&seen(0.3, &normals(6, 4)), &n, &[s]);
    }
}

#[test]
fn sums_pieces_and_rotations_conform_in_every_structure_they_take() {
    let n = SignalSpec::real([6]);
    let bound = |factor: &dyn Factor, inputs: &[SignalSpec]| {
        let bound = factor.bind(inputs).unwrap();
        bound.expect("it depends on the shapes")
    };
    for s in ALL {
        let sum = Sum::new(2).unwrap();
        check_structures(&sum, &[n.clone(), n.clone()], &[s; 3]);
    }
    for s in KINDS {
        let parts = [SignalSpec::real([2]), SignalSpec::real([4])];
        let join = bound(&Concatenate::new(2).unwrap(), &parts);
        check_structures(&*join, &parts, &[s; 3]);
        let whole = [n.clone()];
        let split = bound(&Split::new(vec![2, 4]).unwrap(), &whole);
        check_structures(&*split, &whole, &[s; 3]);
    }
    for s in [Structure::Isotropic, Structure::Full] {
        let turn = Rotation::new(rotation_matrix(6, 5)).unwrap();
        check_structures(&turn, std::slice::from_ref(&n), &[s; 2]);
    }
}

/// Every prior of the catalogue conforms with a precision per component, and with equal ones it says component by
/// component what the law says.
#[test]
fn laws_conform_with_diagonal_beliefs() {
    let mut spec = SignalSpec::real([4]);
    spec.structure = Structure::Diagonal;
    macro_rules! priors {
        ($($name:ident $(($module:path))? => $law:expr;)*) => {$(
            let law = $law.unwrap();
            let factor = law.clone().iid(4);
            check_structures(&factor, &[], &[Structure::Diagonal]);
            let a = 1.3;
            let mut message = Gaussian::flat(&spec);
            message.set_precision(a);
            message.linear = vec![-1.0, 0.2, 0.7, 2.5];
            let specs = std::slice::from_ref(&spec);
            let moments = Site::new(&factor, specs, vec![message.clone()]).moments(0).unwrap();
            for (i, b) in message.linear.iter().enumerate() {
                let t = law.tilted(a, *b);
                assert!((moments.mean[i] - t.mean).abs() <= 1e-15 * t.mean.abs().max(1.0), stringify!($name));
                let v = moments.variance.entry(i, i);
                assert!((v - t.variance).abs() <= 1e-15 * t.variance.max(1.0), stringify!($name));
            }
        )*};
    }
    treeamp::for_each_prior!(priors);
    macro_rules! likelihoods {
        ($($name:ident $(($module:path))? => $law:expr, [$($y:expr),*];)*) => {$(
            let y = [$($y),*];
            let factor = $law.unwrap().observed(y.to_vec()).unwrap();
            // an output that pins its input has no derivatives
            if !["noiseless", "tanh"].contains(&stringify!($name)) {
                check_structures(&factor, &[SignalSpec::real([y.len()])], &[Structure::Diagonal]);
            }
        )*};
    }
    treeamp::for_each_likelihood!(likelihoods);
    macro_rules! channels {
        ($($name:ident $(($module:path))? => $law:expr, [$($y:expr),*];)*) => {$(
            let made: Result<_, ModelError> = $law;
            let channel = made.unwrap();
            for ends in [[Structure::Diagonal; 2], [Structure::Diagonal, Structure::Isotropic]] {
                let specs = specs_with(&channel, &[SignalSpec::real([3])], &ends);
                let messages: Vec<Gaussian> =
                    specs.iter().enumerate().map(|(i, s)| proper_message(s, 1.0, 5 + i as u64)).collect();
                // laws by quadrature are good to 1e-7 of their derivatives
                check_factor(&channel, &specs, &messages, 1e-5).unwrap();
            }
        )*};
    }
    treeamp::for_each_channel!(channels);
}
