//! Total variation with isotropic beliefs (section 2.9): denoising and deblurring in one and two dimensions against a
//! dual and a primal-dual method, classification, and the recorded run.

use crate::common::{gaussian_matrix, mse, normals, oracle, relative_gap, seen};
use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;
use treeamp::operator::{Boundary, CircularConvolution, Filter, applied};
use treeamp::prelude::*;

/// Minimisers agree to this fraction of the scale of the signal.
const MINIMISER: f64 = 1e-6;

/// The neighbour of entry `i` along an axis; itself or none at a border.
fn next(shape: &[usize], axis: usize, i: usize, boundary: Boundary) -> Option<usize> {
    let stride: usize = shape[axis + 1..].iter().product();
    if i / stride % shape[axis] + 1 < shape[axis] {
        return Some(i + stride);
    }
    match boundary {
        Boundary::Periodic => Some(i + stride - shape[axis] * stride),
        Boundary::Neumann => Some(i),
        Boundary::Zero => None,
    }
}

/// $\nabla x$, by hand.
fn gradient(shape: &[usize], x: &[f64], boundary: Boundary) -> Vec<f64> {
    let at = |axis: usize, i: usize| next(shape, axis, i, boundary).map_or(0.0, |j| x[j]) - x[i];
    let axes = 0..shape.len();
    axes.flat_map(|a| (0..x.len()).map(move |i| (a, i)))
        .map(|(a, i)| at(a, i))
        .collect()
}

/// $\nabla^T p$, from the same neighbours.
fn adjoint(shape: &[usize], p: &[f64], boundary: Boundary) -> Vec<f64> {
    let n: usize = shape.iter().product();
    let mut out = vec![0.0; n];
    for (k, p) in p.iter().enumerate() {
        let (axis, i) = (k / n, k % n);
        if let Some(j) = next(shape, axis, i, boundary) {
            out[j] += p;
        }
        out[i] -= p;
    }
    out
}

/// Each group $p_n$ into the ball of this radius.
fn project(p: &mut [f64], n: usize, radius: f64) {
    for i in 0..n {
        let size = p[i..].iter().step_by(n).map(|p| p * p).sum::<f64>().sqrt();
        if size > radius {
            p[i..]
                .iter_mut()
                .step_by(n)
                .for_each(|p| *p *= radius / size);
        }
    }
}

/// $\min_x \frac{1}{2\Delta}\|y - x\|^2 + \lambda\sum_n\|(\nabla x)_n\|$ by its dual, $x = y - \Delta\nabla^T p$ with $\|p_n\| \le \lambda$:
/// accelerated projected gradients, restarted when they turn.
fn by_dual(shape: &[usize], y: &[f64], delta: f64, strength: f64, boundary: Boundary) -> Vec<f64> {
    let n = y.len();
    let primal = |p: &[f64]| -> Vec<f64> {
        let back = adjoint(shape, p, boundary);
        y.iter().zip(back).map(|(y, b)| y - delta * b).collect()
    };
    let size = shape.len() * n;
    let step = 1.0 / (4.0 * shape.len() as f64 * delta);
    let (mut p, mut q, mut t) = (vec![0.0; size], vec![0.0; size], 1.0_f64);
    for _ in 0..100_000 {
        let slope = gradient(shape, &primal(&q), boundary);
        let mut new: Vec<f64> = q.iter().zip(&slope).map(|(q, g)| q + step * g).collect();
        project(&mut new, n, strength);
        let turn: f64 = (0..size).map(|i| (q[i] - new[i]) * (new[i] - p[i])).sum();
        let moved = new
            .iter()
            .zip(&p)
            .fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()));
        let (momentum, follow) = if turn > 0.0 {
            (0.0, 1.0)
        } else {
            let follow = 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt());
            ((t - 1.0) / follow, follow)
        };
        q = new
            .iter()
            .zip(&p)
            .map(|(x, y)| x + momentum * (x - y))
            .collect();
        (p, t) = (new, follow);
        if moved < 1e-15 * strength {
            break;
        }
    }
    primal(&p)
}

/// $\min_x \frac{1}{2\Delta}\|y - Ax\|^2 + \lambda\sum_n\|(\nabla x)_n\|$ for a dense $A$ by a primal-dual method (Chambolle and Pock).
fn by_primal_dual(a: &Mat<f64>, shape: &[usize], y: &[f64], delta: f64, strength: f64) -> Vec<f64> {
    let n = y.len();
    let boundary = Boundary::Periodic;
    // step sizes with τσ‖∇‖² < 1
    let norm = 4.0 * shape.len() as f64;
    let (tau, sigma) = (0.3, 0.99 / (0.3 * norm));
    let gram = a.transpose() * a;
    let inverse = Mat::from_fn(n, n, |i, j| tau / delta * gram[(i, j)] + f64::from(i == j));
    let inverse = inverse.partial_piv_lu().inverse();
    let pull: Vec<f64> = (0..n)
        .map(|i| tau / delta * (0..n).map(|k| a[(k, i)] * y[k]).sum::<f64>())
        .collect();
    let (mut x, mut p) = (vec![0.0; n], vec![0.0; shape.len() * n]);
    for _ in 0..60_000 {
        let back = adjoint(shape, &p, boundary);
        let right: Vec<f64> = (0..n).map(|i| x[i] - tau * back[i] + pull[i]).collect();
        let new: Vec<f64> = (0..n)
            .map(|i| (0..n).map(|j| inverse[(i, j)] * right[j]).sum())
            .collect();
        let ahead: Vec<f64> = new.iter().zip(&x).map(|(u, v)| 2.0 * u - v).collect();
        let slope = gradient(shape, &ahead, boundary);
        p.iter_mut().zip(&slope).for_each(|(p, g)| *p += sigma * g);
        project(&mut p, n, strength);
        let moved = new
            .iter()
            .zip(&x)
            .fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()));
        x = new;
        if moved < 1e-15 {
            break;
        }
    }
    x
}

/// Plateaus of 1 and -1/2.
fn plateaus(shape: &[usize]) -> Vec<f64> {
    let n: usize = shape.iter().product();
    let last = shape[shape.len() - 1];
    let level = |i: usize| {
        let (row, column) = (i / last, i % last);
        let lower = shape.len() > 1 && row * 2 / shape[0] == 1;
        if (column * 3 / last == 1) == lower {
            -0.5
        } else {
            1.0
        }
    };
    (0..n).map(level).collect()
}

fn noisy(x: &[f64], noise: f64, seed: u64) -> Vec<f64> {
    x.iter()
        .zip(normals(x.len(), seed))
        .map(|(x, e)| x + noise * e)
        .collect()
}

fn denoising(shape: &[usize], y: &[f64], delta: f64, strength: f64, boundary: Boundary) -> Tree {
    let like = seen(delta, y);
    let penalty = L21::new(strength).unwrap().at_end();
    let model = source(Quadratic::free().shaped(shape))
        >> var("x")
        >> (branch(like) + Gradient::with_boundary(boundary) >> var("z") >> penalty);
    model.build().unwrap()
}

fn deblurring(shape: &[usize], y: &[f64], delta: f64, strength: f64, boundary: Boundary) -> Tree {
    let like = seen(delta, y);
    let penalty = L21::new(strength).unwrap().at_end();
    let model = source(Quadratic::free().shaped(shape))
        >> var("x")
        >> ((branch(Convolution::new(blur(shape).1)) >> var("a") >> like)
            + (branch(Gradient::with_boundary(boundary)) >> var("z") >> penalty));
    model.build().unwrap()
}

fn check(tree: &Tree, reference: &[f64], what: &str) {
    for fallback in [Fallback::Automatic, Fallback::Forced] {
        let engine = MaximumAPosteriori.on(tree).unwrap().fallback(fallback);
        let report = engine.run(&mut ()).unwrap();
        let what = format!("{what} {fallback:?}");
        assert!(
            report.termination.is_converged(),
            "{what}: {}",
            report.termination
        );
        let solution = report.solution(tree).unwrap();
        let gap = relative_gap(solution.point("x").unwrap(), reference);
        assert!(gap < MINIMISER, "{what}: {gap:.1e} from the reference");
        let (energy, bethe) = (solution.energy(), report.least_energy().unwrap());
        assert!(
            (energy - bethe).abs() < 1e-8 * energy,
            "{what}: {energy}, {bethe}"
        );
    }
}

#[test]
fn denoising_agrees_with_a_dual_method() {
    for shape in [vec![64], vec![12, 16], vec![4, 5, 6]] {
        for boundary in [Boundary::Periodic, Boundary::Neumann, Boundary::Zero] {
            for strength in [0.1, 1.0, 4.0] {
                let y = noisy(&plateaus(&shape), 0.3, 3);
                let reference = by_dual(&shape, &y, 0.1, strength, boundary);
                let tree = denoising(&shape, &y, 0.1, strength, boundary);
                check(
                    &tree,
                    &reference,
                    &format!("{shape:?} {boundary:?} {strength}"),
                );
            }
        }
    }
}

/// Where the penalty leaves no difference at all, the image is its mean.
#[test]
fn a_penalty_that_is_too_strong_leaves_a_constant() {
    for shape in [vec![64], vec![12, 16]] {
        let y = noisy(&plateaus(&shape), 0.3, 3);
        let mean = vec![y.iter().sum::<f64>() / y.len() as f64; y.len()];
        let tree = denoising(&shape, &y, 0.1, 1000.0, Boundary::Periodic);
        check(&tree, &mean, &format!("{shape:?}"));
    }
}

/// Settled, at the least energy that either way finds: it is what the other has, and what the objective says.
fn settles(tree: &Tree, what: &str) {
    let mut least = f64::INFINITY;
    for fallback in [Fallback::Forced, Fallback::Automatic] {
        let engine = MaximumAPosteriori.on(tree).unwrap().fallback(fallback);
        let report = engine.run(&mut ()).unwrap();
        let steps = report.fallback.as_ref().map_or(0, |d| d.evaluations);
        let what = format!("{what} {fallback:?}, {steps} evaluations");
        assert!(report.termination.is_converged(), "{what}");
        let energy = report.solution(tree).unwrap().energy();
        let bethe = report.least_energy().unwrap();
        assert!((energy - bethe).abs() <= 1e-8 * energy, "{what}: {bethe}");
        // both are within 1e-8 of the same
        let gap = (energy - least).abs();
        assert!(least.is_infinite() || gap <= 2e-8 * energy, "{what}: {gap}");
        least = energy;
    }
}

/// From no penalty at all to one that leaves nothing, on sharp and on blurred images, at a size where the splitting has some
/// work. With Neumann boundaries and a strength of 20 sweeps run away: their precisions grow, and nothing moves any more.
#[test]
fn images_settle_at_any_strength() {
    let full = std::env::var("TREEAMP_FULL").is_ok();
    let shape = if full { [32, 32] } else { [16, 16] };
    let y = noisy(&plateaus(&shape), 0.1, 3);
    let strengths = [1e-10, 1e-5, 0.1, 1.0, 9.0, 20.0, 50.0, 200.0, 1000.0];
    for boundary in [Boundary::Periodic, Boundary::Neumann, Boundary::Zero] {
        for strength in strengths {
            let what = format!("{boundary:?} {strength}");
            let sharp = denoising(&shape, &y, 0.01, strength, boundary);
            settles(&sharp, &what);
            settles(
                &deblurring(&shape, &y, 0.01, strength, boundary),
                &format!("blurred {what}"),
            );
        }
    }
    let shape = [32, 32];
    let y = noisy(&plateaus(&shape), 0.1, 3);
    settles(
        &denoising(&shape, &y, 0.01, 20.0, Boundary::Neumann),
        "runaway",
    );
}

/// Sizes at which a run takes some seconds.
#[test]
fn large_images_settle() {
    if std::env::var("TREEAMP_FULL").is_err() {
        return;
    }
    let shape = [64, 64];
    let y = noisy(&plateaus(&shape), 0.1, 3);
    for strength in [20.0, 200.0] {
        let tree = denoising(&shape, &y, 0.01, strength, Boundary::Periodic);
        settles(&tree, &format!("{strength}"));
    }
}

/// A relative gap ends a run as soon as its certificate holds: the energy is above the least by no more, in fewer steps.
#[test]
fn a_relative_gap_is_kept() {
    let shape = [24, 24];
    let y = noisy(&plateaus(&shape), 0.1, 3);
    let tree = denoising(&shape, &y, 0.01, 9.0, Boundary::Neumann);
    let engine = || {
        MaximumAPosteriori
            .on(&tree)
            .unwrap()
            .fallback(Fallback::Forced)
    };
    let least = engine().run(&mut ()).unwrap();
    let (least, steps) = (
        least.solution(&tree).unwrap().energy(),
        least.fallback.unwrap().steps,
    );
    let mut before = 0;
    for gap in [1e-2, 1e-4, 1e-6] {
        let report = engine().gap(gap).run(&mut ()).unwrap();
        let above = report.solution(&tree).unwrap().energy() / least - 1.0;
        let now = report.fallback.unwrap().steps;
        println!("{gap:e}: {above:.1e} in {now} of {steps} steps");
        // the least energy itself is known to 1e-8
        assert!(above <= gap && above > -1e-8, "{gap:e}: {above:e}");
        assert!(before < now && now < steps, "{before} {now} {steps}");
        before = now;
    }
    for gap in [0.0, -1.0, 1.0, f64::NAN] {
        let refused = engine().gap(gap).run(&mut ()).unwrap_err();
        assert!(refused.to_string().contains("`gap`"), "{refused}");
    }
}

#[test]
fn an_l1_norm_of_the_gradient_is_the_anisotropic_variant() {
    // one dimension: both are the same
    let y = noisy(&plateaus(&[64]), 0.3, 3);
    let like = seen(0.1, &y);
    let model = source(Quadratic::free().iid(64))
        >> var("x")
        >> (branch(like) + Gradient::periodic() >> var("z") >> L1::new(1.0).unwrap().at_end());
    let reference = by_dual(&[64], &y, 0.1, 1.0, Boundary::Periodic);
    check(&model.build().unwrap(), &reference, "l1");
}

/// Circular blur with the weights 0.2, 0.6, 0.2 along every axis.
fn blur(shape: &[usize]) -> (Mat<f64>, Filter) {
    let n: usize = shape.iter().product();
    let weight = |i: usize, j: usize| -> f64 {
        let mut product = 1.0;
        for axis in 0..shape.len() {
            let stride: usize = shape[axis + 1..].iter().product();
            let gap = (i / stride + shape[axis] - j / stride % shape[axis]) % shape[axis];
            product *= match gap {
                0 => 0.6,
                g if g == 1 || g == shape[axis] - 1 => 0.2,
                _ => 0.0,
            };
        }
        product
    };
    let kernel = [0.2, 0.6, 0.2];
    let entries = match shape.len() {
        1 => kernel.to_vec(),
        _ => kernel.iter().flat_map(|x| kernel.map(|y| x * y)).collect(),
    };
    let filter = Filter::CentredKernel {
        shape: vec![3; shape.len()],
        entries,
    };
    (Mat::from_fn(n, n, weight), filter)
}

#[test]
fn deblurring_agrees_with_a_primal_dual_method() {
    for (shape, strength) in [(vec![48], 0.5), (vec![8, 9], 0.3)] {
        let (a, _) = blur(&shape);
        let x0 = plateaus(&shape);
        let n = x0.len();
        let sharp: Vec<f64> = (0..n)
            .map(|i| (0..n).map(|j| a[(i, j)] * x0[j]).sum())
            .collect();
        let y = noisy(&sharp, 0.1, 4);
        let reference = by_primal_dual(&a, &shape, &y, 0.1, strength);
        let tree = deblurring(&shape, &y, 0.1, strength, Boundary::Periodic);
        check(&tree, &reference, &format!("{shape:?}"));
    }
}

/// A Bayesian sign likelihood with a penalty on the gradient, in expectation propagation: all-MAP would be minimised by
/// zero. The penalty knows that the weights are plateaus, and finds their direction better than a Gaussian prior alone, on
/// every draw. The curvature of a penalty jumps with its active set: without smoothed penalties one run in four ends in a small
/// cycle around a fixed point that does not exist.
#[test]
fn classification_with_a_penalty_on_the_gradient() {
    let (n, m) = (100, 60);
    let mut settled = 0;
    for seed in 0..20 {
        let w = gaussian_matrix(m, n, 10 + seed);
        let x0 = plateaus(&[n]);
        let z = |i: usize| (0..n).map(|j| w.get(i, j) * x0[j]).sum::<f64>();
        let y: Vec<f64> = (0..m).map(|i| z(i).signum()).collect();
        let sign = || {
            let law = treeamp::catalog::observed(&PiecewiseLinear::sign()).unwrap();
            branch(Linear::new(w.clone()).unwrap()) >> var("u") >> law.observed(y.clone()).unwrap()
        };
        let prior = || GaussianPrior::new(0.0, 1.0).unwrap().iid(n);
        let plain = (source(prior()) >> var("x") >> sign()).build().unwrap();
        let jumps = L21::new(2.0).unwrap().at_end();
        let model = source(prior())
            >> var("x")
            >> (sign() + (branch(Gradient::periodic()) >> var("z") >> jumps));
        let penalised = model.build().unwrap();
        let mut overlap = |tree: &Tree| {
            let report = ExpectationPropagation
                .on(tree)
                .unwrap()
                .max_sweeps(500)
                .run(&mut ())
                .unwrap();
            // diverging would be another matter than not settling
            assert!(!matches!(report.termination, Termination::Diverging(_)));
            let penalised = tree.variables().len() == 3;
            settled += usize::from(penalised && report.termination.is_converged());
            assert!(report.log_evidence().unwrap().is_finite());
            let x = report.mean("x").unwrap();
            let dot: f64 = x.iter().zip(&x0).map(|(x, y)| x * y).sum();
            let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert!(norm(x) > 0.1);
            dot / (norm(x) * norm(&x0))
        };
        let (with, without) = (overlap(&penalised), overlap(&plain));
        let what = format!("{with} with the penalty, {without} without");
        assert!(with > without + 0.1, "{what}");
    }
    assert_eq!(settled, 20, "runs that settled");
}

/// The recorded run: a Gaussian prior, noise of variance 1/2 and a gradient penalty of strength one on 32 x 32 pixels. Ours
/// is the minimiser, its energy no higher than any recorded state.
#[test]
fn the_recorded_run_has_no_lower_energy() {
    let Some(file) = oracle::run("tv_denoise_L21") else {
        return;
    };
    let y = &file["y"].data;
    let like = seen(0.5, y);
    let penalty = L21::new(1.0).unwrap().at_end();
    let model = source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([32, 32]))
        >> var("x")
        >> (branch(like) + Gradient::periodic() >> var("z") >> penalty);
    let tree = model.build().unwrap();
    if std::env::var("TREEAMP_FULL").is_ok() {
        // |x|²/2 + |y - x|² = 3/2 |x - 2y/3|² + |y|²/3: denoising of 2y/3 with noise 1/3
        let shrunk: Vec<f64> = y.iter().map(|y| 2.0 / 3.0 * y).collect();
        let reference = by_dual(&[32, 32], &shrunk, 1.0 / 3.0, 1.0, Boundary::Periodic);
        check(&tree, &reference, "recorded run");
    }
    let energy = |x: &[f64]| -> f64 {
        let n = x.len();
        let z = gradient(&[32, 32], x, Boundary::Periodic);
        let fit: f64 = x
            .iter()
            .zip(y)
            .map(|(x, y)| 0.5 * x * x + (x - y).powi(2))
            .sum();
        let norms = (0..n).map(|i| z[i].hypot(z[n + i]));
        fit + norms.sum::<f64>()
    };
    let report = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
    let solution = report.solution(&tree).unwrap();
    assert!(report.termination.is_converged());
    let (x, least) = (solution.point("x").unwrap(), solution.energy());
    assert!((energy(x) - least).abs() < 1e-9 * least);
    for recorded in ["r_x", "fix_r_x"] {
        let other = &file[recorded].data;
        let (theirs, gap) = (energy(other), mse(x, other).sqrt());
        println!("{recorded}: energy {theirs} against {least}, distance {gap:.1e}");
        assert!(
            least <= theirs + 1e-9 * theirs,
            "{recorded}: {least} > {theirs}"
        );
    }
}

/// A wide blur hides most of the signal, and precisions may run away from it: the splitting alone ends at the energy that sweeps find.
#[test]
fn a_wide_blur_has_one_minimum() {
    let shape = [12, 12];
    let filter = Filter::GaussianBlur(vec![2.0]);
    let blur = || CircularConvolution::new(&SignalSpec::real(shape), &filter).unwrap();
    let bar = |i: usize| f64::from(u8::from((3..6).contains(&(i % 12))));
    let signal: Vec<f64> = (0..144).map(bar).collect();
    let noise = normals(144, 4);
    let seen = applied(&blur(), &signal);
    let y: Vec<f64> = seen.iter().zip(noise).map(|(z, e)| z + 0.02 * e).collect();
    for strength in [5.0, 50.0] {
        let data = GaussianLikelihood::new(4e-4).unwrap().observed(y.clone());
        let model = source(Quadratic::free().shaped(shape))
            >> var("x")
            >> ((branch(Linear::of(blur())) >> var("a") >> data.unwrap())
                + (branch(Gradient::with_boundary(Boundary::Periodic))
                    >> var("z")
                    >> L21::new(strength).unwrap().at_end()));
        let tree = model.build().unwrap();
        let [swept, split] = [Fallback::Automatic, Fallback::Forced].map(|fallback| {
            let run = MaximumAPosteriori.on(&tree).unwrap().fallback(fallback);
            run.run(&mut ()).unwrap().solution(&tree).unwrap().energy()
        });
        // both have their minimiser to 1e-6
        assert!((swept / split - 1.0).abs() < 1e-6, "{swept} {split}");
    }
}
