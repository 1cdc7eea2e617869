//! Recorded runs that diverged elsewhere settle here.

use std::collections::BTreeMap;
use std::path::Path;
use treeamp::extend::*;

use super::common::{npz, oracle, seen};
use super::*;

/// The arrays of a recorded run, if it left any.
fn record(root: &Path, name: &str) -> Option<BTreeMap<String, npz::Array>> {
    let path = root.join("models_ep").join(format!("{name}.npz"));
    path.exists().then(|| npz::read(&path))
}

fn matrix(a: &npz::Array) -> Linear {
    Linear::new(Matrix::from_rows(a.shape[0], a.shape[1], &a.data).unwrap()).unwrap()
}

fn signs(y: &[f64]) -> SeparableLikelihood<PiecewiseLikelihood> {
    let like = PiecewiseLinear::sign().likelihood().unwrap();
    like.observed(y.to_vec()).unwrap()
}

fn gaussian(variance: f64, y: &[f64]) -> impl Factor {
    seen(variance, y)
}

/// The model of a record, from the arrays of its inputs.
fn recorded(inputs: &str, arrays: &BTreeMap<String, npz::Array>) -> Tree {
    let y = &arrays["y"].data;
    let standard = GaussianPrior::new(0.0, 1.0).unwrap();
    let model = match inputs {
        "sparse_regression" => {
            let prior = GaussBernoulli::new(0.05, 0.0, 1.0).unwrap().iid(400);
            chain(prior, matrix(&arrays["A"]), gaussian(0.01, y))
        }
        "perceptron" => {
            let prior = Binary::new(0.5).unwrap().iid(300);
            chain(prior, matrix(&arrays["A"]), signs(y))
        }
        "sparse_gradient" => {
            let n = y.len();
            let jumps = GaussBernoulli::new(0.04, 0.0, 1.0).unwrap().shaped([1, n]);
            source(standard.iid(n))
                >> var("x")
                >> (branch(gaussian(0.01, y)) + (branch(Gradient::periodic()) + jumps >> var("z")))
        }
        "tv_denoise_L21" => {
            let penalty = L21::new(1.0).unwrap().at_end();
            source(standard.shaped([32, 32]))
                >> var("x")
                >> (branch(gaussian(0.5, y)) + Gradient::periodic() >> var("z") >> penalty)
        }
        "committee_sgn" => {
            let expert = |k: usize| {
                source(Binary::new(0.6).unwrap().iid(200))
                    >> var(&format!("x_{k}"))
                    >> matrix(&arrays["F"])
                    >> var(&format!("z_{k}"))
                    >> PiecewiseLinear::sign()
                    >> var(&format!("a_{k}"))
            };
            expert(0) + expert(1) + expert(2) >> Sum::new(3).unwrap() >> var("a") >> signs(y)
        }
        other => panic!("no model for the record `{other}`"),
    };
    model.build().unwrap()
}

/// Errors of variables by what they are called up to an underscore: the experts of a committee are one, on average.
fn errors<'a>(errors: impl Iterator<Item = (&'a str, f64)>) -> BTreeMap<&'a str, f64> {
    let mut groups: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (variable, error) in errors {
        let group = variable.split('_').next().unwrap_or(variable);
        let sum = groups.entry(group).or_default();
        *sum = (sum.0 + error, sum.1 + 1.0);
    }
    groups.into_iter().map(|(g, (e, n))| (g, e / n)).collect()
}

/// Ends at a fixed point, with errors no larger than the best of all sweeps that the record shows. Experts of a committee
/// are compared on average: one that swings passes by good values of one of them while the others are at their worst
/// (0.766 on the first, where the fixed point has 0.784). The first alone is compared with where the record ends.
fn settles(name: &str, model: &Tree, arrays: &BTreeMap<String, npz::Array>) {
    let report = run(model, Damping::default());
    let known = |v: &&str| report.mean(v).is_ok();
    let truths = arrays.keys().filter_map(|key| key.strip_prefix("true_"));
    let variables: Vec<&str> = truths.filter(known).collect();
    let truth = |v: &str| arrays[&format!("true_{v}")].data.as_slice();
    let own = |v: &str| common::mse(report.mean(v).unwrap(), truth(v));
    let ours = errors(variables.iter().map(|v| (*v, own(v))));
    println!(
        "{name}: {} after {} sweeps, {:?}, errors {ours:.4?}",
        report.termination,
        report.sweeps,
        report.fallback.as_ref().map(|f| f.method)
    );
    let ended = &report.termination;
    assert!(ended.is_converged(), "{name}: {ended}");
    assert!(!ours.is_empty(), "{name} has no truth");
    for trace in ["trace_mse_", "fix_trace_mse_"] {
        let at = |v: &str| arrays[&format!("{trace}{v}")].data.as_slice();
        for sweep in 0..at(variables[0]).len() {
            let theirs = errors(variables.iter().map(|v| (*v, at(v)[sweep])));
            for (group, error) in &ours {
                let other = theirs[group];
                assert!(*error <= other, "{name}, {group}: {error} > {other}");
            }
        }
    }
    for end in ["r_", "fix_r_"] {
        let first = variables[0];
        let theirs = common::mse(&arrays[&format!("{end}{first}")].data, truth(first));
        assert!(own(first) <= theirs, "{name}, {first}: {theirs}");
    }
}

/// Every recorded run that was rolled back, or that failed, settles with default options.
#[test]
fn recorded_runs_that_diverged_settle() {
    let Some(root) = oracle::folder() else {
        return;
    };
    let index = std::fs::read_to_string(root.join("models_ep/index.json")).unwrap();
    let index: Vec<serde_json::Value> = serde_json::from_str(&index).unwrap();
    let names: Vec<&str> = index.iter().map(|r| r["name"].as_str().unwrap()).collect();
    let diverged = |r: &&serde_json::Value| {
        let restored = |s: &serde_json::Value| s.as_str().is_some_and(|s| s.contains("restoring"));
        let reasons = r["stop_reason"].as_array();
        !r["error"].is_null() || reasons.is_some_and(|reasons| reasons.iter().any(restored))
    };
    let mut found = Vec::new();
    for name in index
        .iter()
        .filter(diverged)
        .map(|r| r["name"].as_str().unwrap())
    {
        // variants are named after the record that holds their inputs
        let bases = names.iter().filter(|n| name.starts_with(**n));
        let inputs = bases.min_by_key(|n| n.len()).unwrap();
        let base = record(&root, inputs).unwrap();
        let arrays = record(&root, name);
        let mut all = base.clone();
        all.extend(arrays.unwrap_or_default());
        settles(name, &recorded(inputs, &base), &all);
        found.push(name);
    }
    assert!(
        found.len() >= 7 && found.contains(&"committee_sgn"),
        "{found:?}"
    );
}

/// A decoder of 784 pixels, and the output of its record: all of them in noise, or half of them.
fn decoded(root: &Path, name: &str) -> (Tree, BTreeMap<String, npz::Array>) {
    let weights = npz::read(&root.join("vae_mnist.npz"));
    let arrays = record(root, name).unwrap();
    let y = &arrays["y"].data;
    let bias = |key: &str| Bias::new(weights[key].data.clone()).unwrap();
    let pixels = source(GaussianPrior::new(0.0, 1.0).unwrap().iid(20))
        >> var("z_0")
        >> matrix(&weights["W1"])
        >> var("Wz_1")
        >> bias("b1")
        >> var("b_1")
        >> PiecewiseLinear::leaky_relu(0.0).unwrap()
        >> var("z_1")
        >> matrix(&weights["W2"])
        >> var("Wz_2")
        >> bias("b2")
        >> var("b_2")
        >> PiecewiseLinear::hard_tanh()
        >> var("x");
    let Some(keep) = arrays.get("keep") else {
        return ((pixels >> gaussian(4.0, y)).build().unwrap(), arrays);
    };
    let kept: Vec<usize> = (0..784).filter(|i| keep.data[*i] != 0.0).collect();
    let mask = |i: usize, j: usize| if kept[i] == j { 1.0 } else { 0.0 };
    let mask = Linear::new(Matrix::from_fn(kept.len(), 784, mask).unwrap()).unwrap();
    let model = pixels >> mask >> var("zz") >> gaussian(0.01, y);
    (model.build().unwrap(), arrays)
}

/// A recorded decoder, which had not settled at the end of the record, settles with default options, and its pixels are no
/// farther from the truth than in the best of its sweeps.
#[test]
fn a_recorded_decoder_settles() {
    let Some(root) = oracle::folder() else {
        return;
    };
    let (tree, arrays) = decoded(&root, "vae_denoise_delta4");
    let report = run(&tree, Damping::default());
    let error = common::mse(report.mean("x").unwrap(), &arrays["true_x"].data);
    let recorded = arrays["trace_mse_x"].data.iter();
    let best = recorded.copied().fold(f64::INFINITY, f64::min);
    println!(
        "{}, {:?}, error {error:.4}, recorded {best:.4}",
        report.termination,
        report.fallback.as_ref().map(|f| (f.method, f.evaluations))
    );
    assert!(report.termination.is_converged(), "{}", report.termination);
    assert!(error <= best, "{error} {best}");
}

/// What is returned is the best of what was tried: of both recorded decoders no worse than plain sweeps, nor than a damping of 0.5, in no more than ten
/// times their work.
#[test]
fn recorded_decoders_are_no_worse_than_their_sweeps() {
    let Some(root) = oracle::folder() else {
        return;
    };
    for name in ["vae_denoise_delta4", "vae_inpaint_uniform50"] {
        let (tree, arrays) = decoded(&root, name);
        let error = |r: &Posterior| common::mse(r.mean("x").unwrap(), &arrays["true_x"].data);
        let work = |r: &Posterior| -> usize { r.attempts.iter().map(|a| a.evaluations).sum() };
        let told = |r: &Posterior, start: std::time::Instant| {
            let (end, error, work) = (&r.termination, error(r), work(r));
            println!(
                "{name}: {end}, error {error:.4}, {work} evaluations, {:?}",
                start.elapsed()
            );
        };
        let start = std::time::Instant::now();
        let ours = run(&tree, Damping::default());
        told(&ours, start);
        let mut sweeps = 0;
        for damping in [Damping::None, Damping::Constant(0.5)] {
            let start = std::time::Instant::now();
            let engine = ExpectationPropagation.on(&tree).unwrap().damping(damping);
            let plain = engine.fallback(Fallback::Forbidden).run(&mut ()).unwrap();
            told(&plain, start);
            assert!(error(&ours) <= error(&plain), "{name}");
            sweeps += work(&plain);
        }
        assert!(
            work(&ours) <= 10 * sweeps,
            "{name}: {} {sweeps}",
            work(&ours)
        );
    }
}

/// Half of its pixels in little noise do not settle with a constant damping either, not in 8000 sweeps of 0.2 or 0.25: the run says
/// at which bound it is, and has no evidence.
#[test]
fn a_recorded_decoder_that_does_not_settle_says_so() {
    let Some(root) = oracle::folder() else {
        return;
    };
    let (tree, _) = decoded(&root, "vae_inpaint_uniform50");
    let report = run(&tree, Damping::default());
    println!("{}", report.termination);
    let bound = matches!(report.termination, Termination::FallbackLimit { .. });
    assert!(bound || report.termination.is_converged());
    assert_eq!(
        report.log_evidence().is_ok(),
        report.termination.is_converged()
    );
}
