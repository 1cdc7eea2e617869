//! Models that many tests build, and how they run them.

use super::gaussian_matrix;
use treeamp::extend::SeparableLikelihood;
use treeamp::model::IntoFragment;
use treeamp::prelude::*;

/// Expectation propagation with its default options.
pub fn infer(posterior: &Tree) -> Posterior {
    let engine = ExpectationPropagation.on(posterior).unwrap();
    engine.run(&mut ()).unwrap()
}

/// A model with its output `y` drawn from it and observed, and the signal `x` behind it.
pub fn drawn(model: Fragment, seed: u64) -> (Tree, Vec<f64>) {
    let model = model.build().unwrap();
    let sample = model.sample(seed).unwrap();
    let posterior = model.condition("y", sample.get("y").unwrap()).unwrap();
    (posterior, sample.get("x").unwrap().to_vec())
}

/// A channel of independent entries of variance `1/cols`.
pub fn linear(rows: usize, cols: usize, seed: u64) -> Linear {
    Linear::new(gaussian_matrix(rows, cols, seed)).unwrap()
}

/// Values seen through Gaussian noise.
pub fn seen(variance: f64, y: &[f64]) -> SeparableLikelihood<GaussianLikelihood> {
    let law = GaussianLikelihood::new(variance).unwrap();
    law.observed(y.to_vec()).unwrap()
}

/// A signal `x`, a channel that makes `z` of it, and what stands at the end: a likelihood, or an output.
pub fn chain(
    prior: impl IntoFragment,
    channel: impl IntoFragment,
    end: impl IntoFragment,
) -> Fragment {
    prior.into_fragment() >> var("x") >> channel >> var("z") >> end
}

/// The same with an output `y`: a generalised linear model.
pub fn glm(
    prior: impl IntoFragment,
    channel: impl IntoFragment,
    output: impl IntoFragment,
) -> Fragment {
    chain(prior, channel, output) >> var("y")
}

/// The same in the limit, with a Gaussian matrix of `alpha` outputs per signal; `y` is expected.
pub fn limit_glm(
    prior: impl IntoFragment,
    alpha: f64,
    output: impl IntoFragment,
) -> Result<Tree, RunError> {
    let model = glm(prior, LinearEnsemble::gaussian(alpha)?, output);
    Ok(model.build()?.expect("y")?)
}
