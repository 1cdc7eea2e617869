//! Bad input of operators: typed errors that name what was expected and what came.

use crate::common::seen;
use treeamp::Complex;
use treeamp::belief::SignalSpec;
use treeamp::extend::Factor;
use treeamp::operator::{
    CircularConvolution, Filter, MultiChannelConvolution, SubSampledDft, SubSampling,
};
use treeamp::prelude::*;

fn kernel(shape: &[usize], entry: f64) -> Filter {
    Filter::Kernel {
        shape: shape.to_vec(),
        entries: vec![entry; shape.iter().product()],
    }
}

fn says(error: &ModelError, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|w| text.contains(w)), "{text}");
    // no message quotes another
    assert_eq!(text.matches("got").count(), 1, "{text}");
}

fn chain(channel: impl Factor) -> Result<Tree, ModelError> {
    (source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([4, 6]))
        >> var("x")
        >> channel
        >> var("z"))
    .build()
}

#[test]
fn kernels() {
    let image = SignalSpec::real([4, 6]);
    let refuse = |filter: &Filter| CircularConvolution::new(&image, filter).unwrap_err();
    says(
        &refuse(&kernel(&[3], 1.0)),
        &["kernel", "axes", "2", "got 1"],
    );
    says(
        &refuse(&kernel(&[5, 2], 1.0)),
        &["kernel", "no larger", "[5, 2]"],
    );
    // every kind of kernel, on every kind of signal
    let (shape, ones) = (vec![4, 7], vec![1.0; 28]);
    let centred = Filter::CentredKernel {
        shape: shape.clone(),
        entries: ones.clone(),
    };
    says(&refuse(&centred), &["kernel", "no larger", "[4, 7]"]);
    let entries = ones.iter().map(|x| Complex::new(*x, 1.0)).collect();
    let large = Filter::ComplexKernel { shape, entries };
    let complex = SignalSpec::complex([4, 6]);
    let error = CircularConvolution::new(&complex, &large).unwrap_err();
    says(&error, &["kernel", "no larger", "[4, 7]"]);
    let lines = SignalSpec::real([1, 8]);
    let large = MultiChannelConvolution::new(&lines, &[9], &[vec![vec![1.0; 9]]]);
    says(&large.unwrap_err(), &["kernel", "no larger", "[9]"]);
    says(&refuse(&kernel(&[2, 2], f64::NAN)), &["kernel", "finite"]);
    says(
        &refuse(&kernel(&[2, 2], 1e200)),
        &["kernel", "squares", "4e200"],
    );
    let complex = Filter::ComplexKernel {
        shape: vec![1, 1],
        entries: vec![Complex::I],
    };
    says(
        &refuse(&complex),
        &["kernel", "real on a real signal", "complex"],
    );
    says(
        &chain(Convolution::new(kernel(&[3], 1.0))).unwrap_err(),
        &["convolution", "kernel", "axes"],
    );
    let line = SignalSpec::real([1, 8]);
    let large = MultiChannelConvolution::new(&line, &[2], &[vec![vec![1e200, 0.0]]]);
    says(&large.unwrap_err(), &["kernel", "squares"]);
}

#[test]
fn masks() {
    let image = SignalSpec::real([4, 6]);
    says(
        &SubSampling::new(&image, &[true; 23]).unwrap_err(),
        &["mask", "24", "23"],
    );
    says(
        &SubSampling::new(&image, &[false; 24]).unwrap_err(),
        &["mask", "at least one", "nothing"],
    );
    for spec in [&image, &SignalSpec::complex([4, 6])] {
        says(
            &SubSampledDft::new(spec, &[true; 25]).unwrap_err(),
            &["mask", "24", "25"],
        );
        says(
            &SubSampledDft::new(spec, &[false; 24]).unwrap_err(),
            &["mask", "at least one", "nothing"],
        );
    }
    let all = vec![true; 24];
    assert!(chain(Mask::new(all.clone()).of_shape([4, 6])).is_ok());
    let turned = chain(Mask::new(all.clone()).of_shape([6, 4])).unwrap_err();
    says(&turned, &["mask", "[4, 6]", "[6, 4]"]);
    let turned = chain(MaskedDft::new(all).of_shape([24])).unwrap_err();
    says(&turned, &["mask", "[4, 6]", "[24]"]);
    says(
        &chain(Mask::new(vec![true; 3])).unwrap_err(),
        &["mask", "24", "got 3"],
    );
}

#[test]
fn observations() {
    let nan = GaussianLikelihood::new(0.1)
        .unwrap()
        .observed(vec![0.0, f64::NAN]);
    says(&nan.unwrap_err(), &["`y`", "finite", "NaN at index 1"]);
    let none = GaussianLikelihood::new(0.1).unwrap().observed(Vec::new());
    says(&none.unwrap_err(), &["`y`", "at least one", "empty"]);
    let negative = ModulusLikelihood.observed(vec![0.5, -1.0]);
    says(
        &negative.unwrap_err(),
        &["`y`", "from 0 up", "-1 at index 1"],
    );
    let signal = || source(CircularGaussian::new(1.0).unwrap().iid(3)) >> var("x");
    let noisy = signal() >> GaussianNoise::new(0.1).unwrap() >> var("y");
    let model = noisy.build().unwrap();
    let error = model.condition("y", &[1.0; 3]).unwrap_err();
    says(&error, &["`y`", "3 complex values", "got 3 real ones"]);
    assert!(model.condition("y", &[1.0; 6]).is_ok());
    let seen = seen(0.1, &[1.0; 3]);
    let error = (signal() >> seen).build().unwrap_err();
    says(&error, &["complex"]);
    let real = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(3)) >> var("x");
    let noisy = real >> GaussianNoise::new(0.1).unwrap() >> var("y");
    let error = noisy
        .build()
        .unwrap()
        .condition("y", &[Complex::I; 3])
        .unwrap_err();
    says(&error, &["`y`", "real values", "complex"]);
}
