//! State evolution of structured operators and shape channels: exact where everything is Gaussian,
//! labelled and measured where it is a heuristic, and the teacher's moments of gradient trees.

use crate::common::{self, infer};
use treeamp::extend::SeparablePrior;
use treeamp::prelude::*;

fn gaussian(shape: Vec<usize>) -> SeparablePrior<GaussianPrior> {
    GaussianPrior::new(0.0, 1.3).unwrap().shaped(shape)
}

/// Variances of a Gaussian model do not depend on the data: theory and run agree to rounding.
fn exact_on_gaussian_models(name: &str, chain: Fragment) {
    let model = (chain >> GaussianNoise::new(0.2).unwrap() >> var("y"))
        .build()
        .unwrap();
    let y = model.sample(1).unwrap().get("y").unwrap().to_vec();
    let run = infer(&model.condition("y", &y).unwrap());
    let tree = model.expect("y").unwrap();
    let theory = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    for v in tree.variables() {
        let (ours, exact) = (
            theory.variance(&v.name).unwrap(),
            run.variance(&v.name).unwrap(),
        );
        assert!(
            (ours / exact - 1.0).abs() < 1e-9,
            "{name}, {}: {ours} {exact}",
            v.name
        );
    }
    assert!(!theory.is_heuristic(), "{name}: {:?}", theory.heuristics);
}

#[test]
fn gaussian_models_are_exact() {
    let start = |shape: &[usize]| source(gaussian(shape.to_vec())) >> var("x");
    let mask: Vec<bool> = (0..24).map(|i| (i * i) % 7 < 3).collect();
    exact_on_gaussian_models(
        "blur",
        start(&[6, 4]) >> Convolution::gaussian_blur(0.6).unwrap() >> var("z"),
    );
    exact_on_gaussian_models(
        "gradient",
        start(&[6, 4]) >> Gradient::periodic() >> var("z"),
    );
    exact_on_gaussian_models(
        "mask",
        start(&[6, 4]) >> Mask::new(mask.clone()) >> var("z"),
    );
    exact_on_gaussian_models("real dft", start(&[6, 4]) >> RealDft >> var("z"));
    let parts = MaskedDft::new(mask);
    exact_on_gaussian_models(
        "masked dft",
        start(&[24]) >> parts >> var("c") >> Reshape::parts() >> var("z"),
    );
    exact_on_gaussian_models("reshape", start(&[6, 4]) >> Reshape::to([24]) >> var("z"));
    let two = (source(gaussian(vec![3])) >> var("a")) + (source(gaussian(vec![5])) >> var("b"));
    exact_on_gaussian_models(
        "concatenate",
        two >> Concatenate::new(2).unwrap() >> var("z"),
    );
}

fn sparse_prior(n: usize, rho: f64) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, 0.0, 1.0).unwrap().iid(n)
}

/// A sparse signal under a subsampled real transform: the label, and how far the runs are from it.
#[test]
fn structured_operators_are_labelled() {
    let n = 2000;
    let mut rng = common::rng(5);
    let mask: Vec<bool> = (0..n)
        .map(|_| rand::RngExt::random::<f64>(&mut rng) < 0.6)
        .collect();
    let chain = source(sparse_prior(n, 0.2))
        >> var("x")
        >> RealDft
        >> var("c")
        >> Mask::new(mask)
        >> var("z");
    let model = (chain >> GaussianNoise::new(0.01).unwrap() >> var("y"))
        .build()
        .unwrap();
    let theory = StateEvolution::new(&model.expect("y").unwrap())
        .unwrap()
        .fixed_point()
        .unwrap();
    assert!(theory.is_heuristic());
    assert!(
        theory.heuristics.iter().any(|h| h.contains("`real_dft`")),
        "{:?}",
        theory.heuristics
    );
    let errors: Vec<f64> = (0..4)
        .map(|seed| {
            let truth = model.sample(seed).unwrap();
            let tree = model.condition("y", truth.get("y").unwrap()).unwrap();
            let run = infer(&tree);
            common::mse(run.mean("x").unwrap(), truth.get("x").unwrap())
        })
        .collect();
    let mean = errors.iter().sum::<f64>() / 4.0;
    println!(
        "masked Fourier: errors {errors:.4?}, predicted {:.2e}",
        theory.mse("x").unwrap()
    );
    // four draws of 2000 components scatter by some percent
    assert!(
        (mean / theory.mse("x").unwrap() - 1.0).abs() < 0.15,
        "{mean}"
    );
}

/// Two activations that are summed, and a chain in which matrices separate everything.
#[test]
fn laws_that_meet_are_labelled() {
    let n = 30;
    let linear = |seed| Linear::new(common::gaussian_matrix(n, n, seed)).unwrap();
    let expert = |k: u64| {
        source(sparse_prior(n, 0.3))
            >> var(&format!("x{k}"))
            >> linear(k)
            >> var(&format!("z{k}"))
            >> PiecewiseLinear::relu()
            >> var(&format!("a{k}"))
    };
    let noise = || GaussianNoise::new(0.1).unwrap();
    let committee =
        (expert(1) + expert(2) >> Sum::new(2).unwrap() >> var("s") >> noise() >> var("y"))
            .build()
            .unwrap();
    let theory = StateEvolution::new(&committee.expect("y").unwrap())
        .unwrap()
        .run()
        .unwrap();
    assert!(
        theory.heuristics.len() == 1 && theory.heuristics[0].contains("rotationally"),
        "{:?}",
        theory.heuristics
    );
    let one = (expert(1) >> linear(3) >> var("s") >> noise() >> var("y"))
        .build()
        .unwrap();
    let theory = StateEvolution::new(&one.expect("y").unwrap())
        .unwrap()
        .run()
        .unwrap();
    assert!(!theory.is_heuristic(), "{:?}", theory.heuristics);
}

/// A sparse gradient is no Bayesian network: the teacher's moments are iterated, and the theory runs.
#[test]
fn gradient_trees_have_teacher_moments() {
    // two differences per pixel: atoms at zero would make the law of an image degenerate, so narrow peaks
    let peaks = |width: f64| GaussianMixture::new(&[0.7, 0.3], &[0.0, 0.0], &[width, 1.0]).unwrap();
    for (shape, width) in [(vec![400], 0.0), (vec![12, 15], 0.05)] {
        let n: usize = shape.iter().product();
        let mut differences = vec![shape.len()];
        differences.extend(&shape);
        let sparse = peaks(width).shaped(differences);
        let see = GaussianLikelihood::new(0.1).unwrap().unspecified();
        let tree = (source(GaussianPrior::new(0.0, 1.0).unwrap().shaped(shape))
            >> var("x")
            >> (branch(see) + (branch(Gradient::periodic()) + sparse >> var("z"))))
        .build()
        .unwrap();
        let teacher = Teacher::new(&tree).unwrap();
        let theory = StateEvolution::new(&tree).unwrap().run().unwrap();
        println!(
            "{n}: tau0 {:?}, A_N {}, {} with v_x {:.3e}",
            teacher.tau0,
            teacher.normalisation,
            theory.termination(),
            theory.variance("x").unwrap()
        );
        assert!(theory.is_heuristic());
        // the sparse law pulls the second moment below the prior's, and seeing pulls it further
        assert!(teacher.tau0[0] < 1.0 && teacher.tau0.iter().all(|t| *t > 0.0));
        assert!(theory.is_converged(), "{}", theory.termination());
        assert!(theory.variance("x").unwrap() < 1.0 / (1.0 / teacher.tau0[0] + 10.0) * 1.001);
    }
}

/// Every operator of the catalogue, real and complex: a Gaussian model, where the theory is exact.
mod operators {
    use treeamp::belief::Element;
    use treeamp::operator::LinearOperator;

    use super::*;

    fn check(name: &str, operator: impl LinearOperator) {
        let shape = operator.input().shape.clone();
        let signal = match operator.input().element {
            Element::Real => source(gaussian(shape)) >> var("x"),
            Element::Complex => {
                source(CircularGaussian::new(1.3).unwrap().shaped(shape)) >> var("x")
            }
        };
        exact_on_gaussian_models(name, signal >> Linear::of(operator) >> var("z"));
    }

    macro_rules! conformance {
        ($($name:ident => $instance:expr,)*) => {
            $(#[test] fn $name() { check(stringify!($name), $instance.unwrap()); })*
        };
    }

    treeamp::for_each_operator!(conformance);
}

/// Every shape channel, with several inputs, real and complex.
#[test]
fn shape_channels_are_exact() {
    let real = |n: usize, name: &str| source(gaussian(vec![n])) >> var(name);
    let complex =
        |n: usize, name: &str| source(CircularGaussian::new(1.3).unwrap().iid(n)) >> var(name);
    exact_on_gaussian_models(
        "concatenate three",
        real(3, "a") + real(5, "b") + real(2, "c") >> Concatenate::new(3).unwrap() >> var("z"),
    );
    exact_on_gaussian_models(
        "concatenate complex",
        complex(3, "a") + complex(4, "b") >> Concatenate::new(2).unwrap() >> var("z"),
    );
    exact_on_gaussian_models(
        "reshape complex",
        complex(6, "a") >> Reshape::to([2, 3]) >> var("z"),
    );
    exact_on_gaussian_models("parts", complex(6, "a") >> Reshape::parts() >> var("z"));
    let noise = |v: f64| GaussianNoise::new(v).unwrap();
    for (name, signal) in [("real", real(8, "a")), ("complex", complex(8, "a"))] {
        let two = |channel: Fragment| {
            (channel
                >> (var("b") + var("c"))
                >> ((branch(noise(0.2)) >> var("y")) + (branch(noise(0.7)) >> var("t"))))
            .build()
            .unwrap()
        };
        let split = two(signal.clone() >> Split::new(vec![3, 5]).unwrap());
        let duplicate = two(signal >> Duplicate::new(2).unwrap());
        for (what, model) in [("split", split), ("duplicate", duplicate)] {
            let truth = model.sample(1).unwrap();
            let seen = model.condition("y", truth.get("y").unwrap()).unwrap();
            let seen = seen.condition("t", truth.get("t").unwrap()).unwrap();
            let run = infer(&seen);
            let tree = model.expect("y").unwrap().expect("t").unwrap();
            let theory = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
            for v in tree.variables() {
                let ratio = theory.variance(&v.name).unwrap() / run.variance(&v.name).unwrap();
                assert!(
                    (ratio - 1.0).abs() < 1e-9,
                    "{name} {what}, {}: {ratio}",
                    v.name
                );
            }
        }
    }
}
