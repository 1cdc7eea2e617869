//! Runs recorded models and prints their results to the last bit, for another front end to compare with:
//! `run  variable  sweeps  bits of the variance  hash of the bits of the mean`, and the bits of the evidence.
//!
//! The arrays of the models are in the folder given: `run.array.f64` holds the number of axes, their
//! lengths, and the entries, all as doubles.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use treeamp::belief::Element;
use treeamp::extend::*;
use treeamp::operator::{ComplexDense, Filter};
use treeamp::prelude::*;

/// The arrays of one run.
struct Record {
    folder: PathBuf,
    name: &'static str,
}

/// An array and its shape, row-major.
struct Array {
    shape: Vec<usize>,
    data: Vec<f64>,
}

impl Record {
    fn get(&self, array: &str) -> Array {
        let path = self.folder.join(format!("{}.{array}.f64", self.name));
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let words = bytes.chunks_exact(8);
        let mut words = words.map(|b| f64::from_le_bytes(b.try_into().unwrap()));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small and whole
        let mut length = || words.next().unwrap() as usize;
        let axes = length();
        let shape = (0..axes).map(|_| length()).collect();
        Array {
            shape,
            data: words.collect(),
        }
    }
}

/// FNV-1a on 64-bit words.
fn hash(values: &[f64]) -> u64 {
    values.iter().fold(0xcbf2_9ce4_8422_2325, |h, x| {
        (h ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3)
    })
}

fn tell(run: &str, model: &Tree, damping: f64, sweeps: usize) {
    let engine = ExpectationPropagation.on(model).unwrap();
    let report = engine
        .damping(damping)
        .fallback(Fallback::Forbidden)
        .max_sweeps(sweeps)
        .run(&mut ())
        .unwrap();
    for (variable, name) in model.variables().iter().zip(report.variables()) {
        let (mut mean, v) = (
            report.mean(name).unwrap().to_vec(),
            report.variance(name).unwrap(),
        );
        if variable.spec.element == Element::Complex {
            // all real parts first, as arrays of other languages have them
            let part = |k: usize| mean.iter().skip(k).step_by(2).copied();
            mean = part(0).chain(part(1)).collect();
        }
        if let Some(n) = variable.spec.pairs {
            mean = symmetric(n, &mean);
        }
        let (sweeps, mean) = (report.sweeps, hash(&mean));
        println!("{run}\t{name}\t{sweeps}\t{:016x}\t{mean:016x}", v.to_bits());
    }
    let evidence = report.log_evidence().map_or(0, f64::to_bits);
    println!("{run}\tevidence\t{}\t{evidence:016x}\t", report.sweeps);
}

/// The symmetric matrix of the pairs of `n`, its diagonal zero, as arrays of other languages have it.
fn symmetric(n: usize, pairs: &[f64]) -> Vec<f64> {
    let mut whole = vec![0.0; n * n];
    let places = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    for ((i, j), x) in places.zip(pairs) {
        (whole[i * n + j], whole[j * n + i]) = (*x, *x);
    }
    whole
}

fn low_rank_models(at: &impl Fn(&'static str) -> Record) {
    let prior = |n: usize| GaussianPrior::new(0.1, 1.0).unwrap().shaped([n, 1]);
    let noise = || GaussianNoise::new(0.1).unwrap();
    let model = source(prior(100)) >> var("z") >> LowRankGram::new(1).unwrap() >> var("x");
    let model = (model >> noise() >> var("y")).build().unwrap();
    let y = at("low_rank_gram").get("y").data;
    tell(
        "low_rank_gram",
        &model.condition("y", &y).unwrap(),
        0.0,
        200,
    );
    let model = (source(prior(60)) >> var("u")) + (source(prior(80)) >> var("v"));
    let model = model >> LowRankFactorization::new(1).unwrap() >> var("x") >> noise() >> var("y");
    let y = at("low_rank_uv").get("y").data;
    let model = model.build().unwrap().condition("y", &y).unwrap();
    tell("low_rank_uv", &model, 0.0, 200);
}

fn linear(a: &Array) -> Linear {
    Linear::new(Matrix::from_rows(a.shape[0], a.shape[1], &a.data).unwrap()).unwrap()
}

fn sparse(rho: f64, mean: f64, n: usize) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, mean, 1.0).unwrap().iid(n)
}

fn gaussian(variance: f64, y: &Array) -> SeparableLikelihood<GaussianLikelihood> {
    let law = GaussianLikelihood::new(variance).unwrap();
    law.observed(y.data.clone()).unwrap()
}

fn seen(channel: &PiecewiseLinear, y: &[f64]) -> SeparableLikelihood<PiecewiseLikelihood> {
    let law = channel.likelihood().unwrap();
    law.observed(y.to_vec()).unwrap()
}

fn glm(arrays: &Record, prior: impl Factor, likelihood: impl Factor) -> Tree {
    (source(prior) >> var("x") >> linear(&arrays.get("A")) >> var("z") >> likelihood)
        .build()
        .unwrap()
}

fn linear_models(at: &impl Fn(&'static str) -> Record) {
    let arrays = at("sparse_regression");
    let model = glm(
        &arrays,
        sparse(0.05, 0.0, 400),
        gaussian(0.01, &arrays.get("y")),
    );
    tell("sparse_regression", &model, 0.0, 200);
    tell("sparse_regression_damp0.1", &model, 0.1, 1000);
    tell("sparse_regression_nosvd", &model, 0.0, 200);
    let arrays = at("compressed_sensing");
    let model = glm(
        &arrays,
        sparse(0.5, 0.0, 400),
        gaussian(1e-10, &arrays.get("y")),
    );
    tell("compressed_sensing", &model, 0.0, 200);
    let arrays = at("perceptron");
    let binary = Binary::new(0.5).unwrap().iid(300);
    let sign = seen(&PiecewiseLinear::sign(), &arrays.get("y").data);
    tell("perceptron", &glm(&arrays, binary, sign), 0.0, 40);
    let arrays = at("phase_retrieval_real");
    let abs = seen(&PiecewiseLinear::abs(), &arrays.get("y").data);
    let model = glm(&arrays, sparse(0.6, 0.01, 300), abs);
    tell("phase_retrieval_real", &model, 0.3, 200);
    let arrays = at("relu_glm");
    let relu = seen(&PiecewiseLinear::relu(), &arrays.get("y").data);
    tell(
        "relu_glm",
        &glm(&arrays, sparse(0.5, 0.0, 150), relu),
        0.0,
        100,
    );
    let arrays = at("leaky_glm");
    let leaky = PiecewiseLinear::leaky_relu(0.1).unwrap();
    let leaky = seen(&leaky, &arrays.get("y").data);
    tell(
        "leaky_glm",
        &glm(&arrays, sparse(0.5, 0.0, 150), leaky),
        0.0,
        100,
    );
}

fn deep_models(at: &impl Fn(&'static str) -> Record) {
    let arrays = at("two_layer_relu");
    let prior = GaussianPrior::new(0.0, 1.0).unwrap().iid(100);
    let model = source(prior)
        >> var("x")
        >> linear(&arrays.get("W1"))
        >> var("z1")
        >> PiecewiseLinear::relu()
        >> var("h")
        >> linear(&arrays.get("W2"))
        >> var("z2")
        >> gaussian(0.01, &arrays.get("y"));
    tell("two_layer_relu", &model.build().unwrap(), 0.0, 200);
    let arrays = at("committee_sgn");
    let expert = |k: usize| {
        source(Binary::new(0.6).unwrap().iid(200))
            >> var(&format!("x_{k}"))
            >> linear(&arrays.get("F"))
            >> var(&format!("z_{k}"))
            >> PiecewiseLinear::sign()
            >> var(&format!("a_{k}"))
    };
    let model = expert(0) + expert(1) + expert(2)
        >> Sum::new(3).unwrap()
        >> var("a")
        >> seen(&PiecewiseLinear::sign(), &arrays.get("y").data);
    let model = model.build().unwrap();
    tell("committee_sgn", &model, 0.0, 100);
    tell("committee_sgn_damp0.3", &model, 0.3, 100);
}

fn decoders(at: &impl Fn(&'static str) -> Record) {
    let w = at("vae_mnist");
    let decoder = || {
        source(GaussianPrior::new(0.0, 1.0).unwrap().iid(20))
            >> var("z_0")
            >> linear(&w.get("W1"))
            >> var("Wz_1")
            >> Bias::new(w.get("b1").data).unwrap()
            >> var("b_1")
            >> PiecewiseLinear::leaky_relu(0.0).unwrap()
            >> var("z_1")
            >> linear(&w.get("W2"))
            >> var("Wz_2")
            >> Bias::new(w.get("b2").data).unwrap()
            >> var("b_2")
            >> PiecewiseLinear::hard_tanh()
            >> var("z_2")
    };
    let arrays = at("vae_denoise_delta4");
    let model = (decoder() >> gaussian(4.0, &arrays.get("y")))
        .build()
        .unwrap();
    tell("vae_denoise_delta4", &model, 0.5, 60);
    let arrays = at("vae_inpaint_uniform50");
    let keep = arrays.get("keep").data;
    let kept: Vec<usize> = (0..784).filter(|i| keep[*i] != 0.0).collect();
    let mask = |i: usize, j: usize| if kept[i] == j { 1.0 } else { 0.0 };
    let mask = Linear::new(Matrix::from_fn(kept.len(), 784, mask).unwrap()).unwrap();
    let model = decoder() >> mask >> var("zz") >> gaussian(0.01, &arrays.get("y"));
    tell("vae_inpaint_uniform50", &model.build().unwrap(), 0.5, 100);
}

fn complex_models(at: &impl Fn(&'static str) -> Record) {
    let arrays = at("phase_retrieval_complex");
    let part = |name: &str| {
        let a = arrays.get(name);
        Matrix::from_rows(a.shape[0], a.shape[1], &a.data).unwrap()
    };
    let f = ComplexMatrix::from_parts(&part("F_re"), &part("F_im")).unwrap();
    let prior = PartsPrior::new(GaussBernoulli::new(0.5, 0.01, 1.0).unwrap()).iid(f.cols());
    let modulus = ModulusLikelihood.observed(arrays.get("y").data).unwrap();
    let channel = Linear::of(ComplexDense::new(f));
    let model = source(prior) >> var("x") >> channel >> var("z") >> modulus;
    tell("phase_retrieval_complex", &model.build().unwrap(), 0.3, 200);
}

fn operators(at: &impl Fn(&'static str) -> Record) {
    let y = at("deconv2d_gaussian").get("y");
    let prior = GaussianPrior::new(0.0, 1.0)
        .unwrap()
        .shaped(y.shape.clone());
    let blur = Convolution::new(Filter::GaussianBlur(vec![2.0, 2.0]));
    let model = source(prior) >> var("x") >> blur >> var("z") >> gaussian(0.1, &y);
    tell("deconv2d_gaussian", &model.build().unwrap(), 0.0, 100);
    let y = at("sparse_gradient").get("y");
    let n = y.data.len();
    let jumps = GaussBernoulli::new(0.04, 0.0, 1.0).unwrap().shaped([1, n]);
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(n))
        >> var("x")
        >> (branch(gaussian(0.01, &y)) + (branch(Gradient::periodic()) + jumps >> var("z")));
    let model = model.build().unwrap();
    tell("sparse_gradient", &model, 0.1, 1000);
    let z = at("sparse_fft").get("y");
    let waves = GaussBernoulli::new(0.02, 0.0, 2.0 * 18.75).unwrap();
    let waves = waves.iid(z.data.len());
    let fourier = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(z.data.len()))
        >> var("x")
        >> (branch(gaussian(0.1, &z)) + (branch(RealDft) + waves >> var("z")));
    let fourier = fourier.build().unwrap();
    tell("sparse_fft", &fourier, 0.1, 1000);
    tell("sparse_fft_tol1e-6", &fourier, 0.0, 1000);
    tell("sparse_gradient_tol1e-6", &model, 0.3, 1000);
}

/// Total variation: the place and the curvature of every variable, and the objective.
fn penalised_models(at: &impl Fn(&'static str) -> Record) {
    let run = "tv_denoise_L21";
    let y = at(run).get("y");
    let penalty = L21::new(1.0).unwrap();
    let penalty = penalty.shaped([&[y.shape.len()], y.shape.as_slice()].concat());
    let prior = GaussianPrior::new(0.0, 1.0).unwrap();
    let model = source(prior.shaped(y.shape.clone()))
        >> var("x")
        >> (branch(gaussian(0.5, &y)) + (branch(Gradient::periodic()) + penalty >> var("z")));
    let model = model.build().unwrap();
    let report = MaximumAPosteriori.on(&model).unwrap().run(&mut ()).unwrap();
    let solution = report.solution(&model).unwrap();
    for name in report.variables() {
        let v = report.marginal(name).unwrap().inverse_curvature.to_bits();
        let (sweeps, place) = (report.sweeps, hash(solution.point(name).unwrap()));
        println!("{run}\t{name}\t{sweeps}\t{v:016x}\t{place:016x}");
    }
    let objective = (-report.least_energy().unwrap()).to_bits();
    println!("{run}\tevidence\t{}\t{objective:016x}\t", report.sweeps);
}

fn own_models(at: &impl Fn(&'static str) -> Record) {
    for k in ["own_0", "own_1", "own_2", "own_3"] {
        let arrays = at(k);
        let (a, y, binary) = (arrays.get("A"), arrays.get("y"), arrays.get("binary").data);
        let (n, damping) = (a.shape[1], arrays.get("damping").data[0]);
        let prior = if binary[0] > 0.0 {
            source(Binary::new(0.7).unwrap().iid(n))
        } else {
            source(sparse(0.2, 0.1, n))
        };
        let chain = prior >> var("x") >> linear(&a) >> var("z");
        let model = if arrays.get("sign").data[0] > 0.0 {
            chain >> seen(&PiecewiseLinear::sign(), &y.data)
        } else {
            chain >> gaussian(0.09, &y)
        };
        tell(k, &model.build().unwrap(), damping, 400);
    }
}

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("the folder of the arrays"));
    let at = |name: &'static str| Record {
        folder: folder.clone(),
        name,
    };
    own_models(&at);
    if Path::new(&folder).join("sparse_regression.A.f64").exists() {
        linear_models(&at);
        low_rank_models(&at);
        deep_models(&at);
        decoders(&at);
        operators(&at);
        complex_models(&at);
        penalised_models(&at);
    }
}
