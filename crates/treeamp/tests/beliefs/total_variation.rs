//! TV-VAMP: a full belief on x, isotropic ones elsewhere.

use super::*;
use treeamp::operator::{
    Boundary, CircularConvolution, Filter, FiniteDifference, LinearOperator, applied,
};

/// Mean $\eta(b/a)$ and variance $\langle\nabla\cdot\eta\rangle/a$ of the soft threshold of groups of `d`, which run along the
/// first axis.
fn soft((strength, d): (f64, usize), a: f64, b: &[f64]) -> (Vec<f64>, f64) {
    let count = b.len() / d;
    let norm = |n: usize| {
        b[n..]
            .iter()
            .step_by(count)
            .map(|b| b * b)
            .sum::<f64>()
            .sqrt()
    };
    let kept = |n: usize| (1.0 - strength / norm(n)).max(0.0);
    let slope = |n: usize| {
        let across = (d as f64 - 1.0) * kept(n);
        across + if kept(n) > 0.0 { 1.0 } else { 0.0 }
    };
    let v = (0..count).map(slope).sum::<f64>() / (b.len() as f64 * a);
    let mean = b.iter().enumerate().map(|(i, b)| kept(i % count) * b / a);
    (mean.collect(), v)
}

/// One step of TV-VAMP (section 2.9 of the paper) from $a_{z\to K}, b_{z\to K}$: the messages $K\to z$ and $f\to z$, and
/// $r_x^K$.
#[allow(clippy::type_complexity)]
fn tv_vamp(
    (a, y, k): (&Mat<f64>, &[f64], &Mat<f64>),
    (delta, penalty): (f64, (f64, usize)),
    (a_zk, b_zk): (f64, &[f64]),
) -> ((f64, Vec<f64>), (f64, Vec<f64>), Vec<f64>) {
    let times = |m: &Mat<f64>, x: &[f64]| -> Vec<f64> {
        (0..m.nrows())
            .map(|i| (0..m.ncols()).map(|j| m[(i, j)] * x[j]).sum())
            .collect()
    };
    let n_z = k.nrows() as f64;
    let p = Mat::from_fn(a.ncols(), a.ncols(), |i, j| {
        let data: f64 = (0..a.nrows()).map(|r| a[(r, i)] * a[(r, j)]).sum();
        let penalty: f64 = (0..k.nrows()).map(|r| k[(r, i)] * k[(r, j)]).sum();
        data / delta + a_zk * penalty
    });
    let sigma = p.partial_piv_lu().inverse();
    let data = times(&a.transpose().to_owned(), y);
    let pull = times(&k.transpose().to_owned(), b_zk);
    let b: Vec<f64> = data.iter().zip(&pull).map(|(d, p)| d / delta + p).collect();
    let r_x = times(&sigma, &b);
    let r_z = times(k, &r_x);
    let spread = k * &sigma * k.transpose();
    let v_z = (0..k.nrows()).map(|i| spread[(i, i)]).sum::<f64>() / n_z;
    let a_zf = 1.0 / v_z - a_zk;
    let b_zf: Vec<f64> = r_z.iter().zip(b_zk).map(|(r, b)| r / v_z - b).collect();
    let (r_f, v_f) = soft(penalty, a_zf, &b_zf);
    let b_new = r_f.iter().zip(&b_zf).map(|(r, b)| r / v_f - b).collect();
    ((a_zf, b_zf), (1.0 / v_f - a_zf, b_new), r_x)
}

/// The gradient of an array, and as a matrix.
fn gradient(shape: &[usize], boundary: Boundary) -> (FiniteDifference, Mat<f64>) {
    let operator = FiniteDifference::new(&SignalSpec::real(shape.to_vec()), boundary).unwrap();
    let k = as_matrix(shape.iter().product(), &operator);
    (operator, k)
}

/// An operator on `n` numbers as a matrix.
fn as_matrix(n: usize, operator: &dyn LinearOperator) -> Mat<f64> {
    let unit = |j: usize| {
        (0..n)
            .map(|i| f64::from(u8::from(i == j)))
            .collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..n).map(|j| applied(operator, &unit(j))).collect();
    Mat::from_fn(columns[0].len(), n, |i, j| columns[j][i])
}

/// A level of 1 in the middle, -1/2 around it, and noise.
fn noisy_step(n: usize, a: &Matrix, delta: f64) -> Vec<f64> {
    let level = |i: usize| {
        if (n / 3..2 * n / 3 + 1).contains(&i) {
            1.0
        } else {
            -0.5
        }
    };
    let truth: Vec<f64> = (0..n).map(level).collect();
    let mut y = vec![0.0; n];
    a.apply(&truth, 1, &mut y);
    let noisy = y.iter_mut().zip(normals(n, 5));
    noisy.for_each(|(y, e)| *y += delta.sqrt() * e);
    y
}

/// Every sweep on this tree is one step of TV-VAMP, and where it ends, the belief on x is the printed mean.
fn follows(
    tree: &Tree,
    law: &str,
    data: (&Mat<f64>, &[f64], &Mat<f64>),
    parameters: (f64, (f64, usize)),
    sweeps: usize,
) {
    let place = |f: &str, v: &str| tree.edge(f, v).unwrap();
    let (forth, back) = (place("K", "z"), place(law, "z"));
    let mut last: Option<(f64, Vec<f64>)> = None;
    let mut steps = 0;
    let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
        let read = |e: usize| {
            let m = &view.messages()[e];
            (m.precision.scalar(), m.linear.clone())
        };
        // the first sweep brings A's message to x
        if let Some((a_zk, b_zk)) = last.as_ref().filter(|_| view.sweep > 1) {
            let (to_z, from_f, _) = tv_vamp(data, parameters, (*a_zk, b_zk));
            for (ours, printed) in [(read(forth), to_z), (read(back), from_f)] {
                let gap = (ours.0 / printed.0 - 1.0).abs();
                assert!(gap < 1e-12, "sweep {}: {gap:e}", view.sweep);
                let gap = relative_gap(&ours.1, &printed.1);
                assert!(gap < 1e-12, "sweep {}: {gap:e}", view.sweep);
            }
            steps += 1;
        }
        last = Some(read(back));
        std::ops::ControlFlow::Continue(())
    };
    let start = EdgeMessage {
        factor: law.into(),
        variable: "z".into(),
        precision: 1.0,
        linear: vec![0.0],
    };
    let report = ExpectationPropagation
        .on(tree)
        .unwrap()
        .initial(Initial::Given(vec![start]))
        .damping(Damping::None)
        .fallback(Fallback::Forbidden)
        .tolerance(1e-10)
        .max_sweeps(sweeps)
        .run(&mut watch)
        .unwrap();
    println!("{law}: {steps} steps, {}", report.termination);
    assert!(steps > 10, "{steps} steps, {}", report.termination);
    assert!(report.fallback.is_none());
    let (a_zk, b_zk) = last.unwrap();
    let (_, _, r_x) = tv_vamp(data, parameters, (a_zk, &b_zk));
    let gap = relative_gap(report.mean("x").unwrap(), &r_x);
    assert!(gap < 1e-9, "{gap:e}");
}

/// A full belief on x and an isotropic one on z: every sweep is one step of TV-VAMP, for denoising (A the identity) and for
/// a blur, under the gradient with Neumann and with periodic boundaries, both singular.
#[test]
fn full_beliefs_on_x_make_tv_vamp() {
    let n = 24;
    let blur = Matrix::from_fn(n, n, |i, j| (-0.5 * (i as f64 - j as f64).powi(2)).exp()).unwrap();
    let identity = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j))).unwrap();
    for (a, boundary) in [(&identity, Boundary::Neumann), (&blur, Boundary::Periodic)] {
        let (delta, strength) = (0.05_f64, 1.5);
        let y = noisy_step(n, a, delta);
        let (operator, k) = gradient(&[n], boundary);
        let tree = (source(Quadratic::free().iid(n))
            >> var("x").full()
            >> ((named("K", Linear::of(operator))
                >> var("z")
                >> L1::new(strength).unwrap().at_end())
                + (named("A", Linear::new(a.clone()).unwrap()) >> var("a") >> seen(delta, &y))))
        .build()
        .unwrap();
        follows(&tree, "l1", (&mat(a), &y, &k), (delta, (strength, 1)), 60);
    }
}

/// The same in two dimensions, with the group penalty of an image's gradient: for denoising and for a blur. Where damping is given, here none,
/// corners stay sharp, as in the printed equations; else they are softened after eight turns of the active fraction, so that the run
/// settles.
#[test]
fn full_beliefs_on_an_image_make_tv_vamp() {
    let (shape, n) = ([4, 6], 24);
    let spec = SignalSpec::real(shape.to_vec());
    let kernel = |side: f64| {
        let row = [side, 1.0 - 2.0 * side, side];
        let (shape, entries) = (vec![3, 3], row.iter().flat_map(|x| row.map(|y| x * y)));
        let entries = entries.collect();
        CircularConvolution::new(&spec, &Filter::CentredKernel { shape, entries }).unwrap()
    };
    // no blur at all, and one with the weights 0.2, 0.6, 0.2 along both axes
    for side in [0.0, 0.2] {
        for boundary in [Boundary::Neumann, Boundary::Periodic] {
            let (delta, strength) = (0.05_f64, 1.5);
            let blur = as_matrix(n, &kernel(side));
            let entry = |i: usize, j: usize| blur[(i, j)];
            let y = noisy_step(n, &Matrix::from_fn(n, n, entry).unwrap(), delta);
            let (operator, k) = gradient(&shape, boundary);
            let tree = (source(Quadratic::free().shaped(shape))
                >> var("x").full()
                >> ((named("K", Linear::of(operator))
                    >> var("z")
                    >> L21::new(strength).unwrap().at_end())
                    + (named("A", Linear::of(kernel(side))) >> var("a") >> seen(delta, &y))))
            .build()
            .unwrap();
            let parameters = (delta, (strength, 2));
            follows(&tree, "l21", (&blur, &y, &k), parameters, 60);
        }
    }
}

/// The minimiser of $\frac1{2\Delta}\|y - x\|^2 + \lambda\sum_n\|(Kx)_n\|$ by its dual, $x = y - \Delta K^Tp$ with $\|p_n\| \le \lambda$: projected
/// gradients with momentum, which starts again when the dual rises.
fn dual_method(k: &Mat<f64>, y: &[f64], delta: f64, strength: f64) -> Vec<f64> {
    let (rows, n) = (k.nrows(), k.ncols());
    let count = rows / 2;
    let place = |p: &[f64]| -> Vec<f64> {
        let pull = |j: usize| (0..rows).map(|i| k[(i, j)] * p[i]).sum::<f64>();
        (0..n).map(|j| y[j] - delta * pull(j)).collect()
    };
    let value = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    // the norm of a gradient in two dimensions is below the root of eight
    let step = 1.0 / (8.0 * delta);
    let (mut p, mut q, mut momentum) = (vec![0.0; rows], vec![0.0; rows], 1.0_f64);
    let mut lowest = f64::INFINITY;
    for _ in 0..20_000 {
        let x = place(&q);
        let moved = |i: usize| q[i] + step * (0..n).map(|j| k[(i, j)] * x[j]).sum::<f64>();
        let mut next: Vec<f64> = (0..rows).map(moved).collect();
        for g in 0..count {
            let shrink = (strength / next[g].hypot(next[g + count])).min(1.0);
            next[g] *= shrink;
            next[g + count] *= shrink;
        }
        let now = value(&place(&next));
        let again = now > lowest;
        lowest = now;
        let faster = if again {
            1.0
        } else {
            0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt())
        };
        let carry = if again {
            0.0
        } else {
            (momentum - 1.0) / faster
        };
        let gaps = next.iter().zip(&p).map(|(x, old)| (x - old).abs());
        let rest = gaps.fold(0.0, f64::max) < 1e-13 * strength;
        q = next
            .iter()
            .zip(&p)
            .map(|(x, old)| x + carry * (x - old))
            .collect();
        (p, momentum) = (next, faster);
        if rest {
            break;
        }
    }
    place(&p)
}

/// Strong penalties, up to those that leave a constant: precisions then grow until nothing moves, at the minimiser or not. A run
/// that says it has settled is at the minimiser, and the fallback brings every one of them there, with a full belief and with
/// isotropic ones.
#[test]
fn strong_penalties_settle_at_the_minimiser() {
    let (n, delta) = (24, 0.1);
    for (shape, boundary) in [
        ([4, 6], Boundary::Neumann),
        ([4, 6], Boundary::Periodic),
        ([6, 4], Boundary::Neumann),
    ] {
        let (_, k) = gradient(&shape, boundary);
        for (strength, seed) in [12.0, 15.0, 20.0, 50.0]
            .iter()
            .flat_map(|s| (0..3).map(move |seed| (*s, seed)))
        {
            let y = normals(n, 5 + seed);
            let model = |structure: Structure| {
                let branches = (branch(seen(delta, &y)))
                    + (branch(Gradient::with_boundary(boundary))
                        >> var("z")
                        >> L21::new(strength).unwrap().at_end());
                let image = source(Quadratic::free().shaped(shape)) >> var("x").belief(structure);
                (image >> branches).build().unwrap()
            };
            let best = dual_method(&k, &y, delta, strength);
            let what = format!("{shape:?} {boundary:?} {strength} {seed}");
            let report = infer(&model(Structure::Full));
            assert!(
                report.termination.is_converged(),
                "{what}: {}",
                report.termination
            );
            let gap = relative_gap(report.mean("x").unwrap(), &best);
            // sweeps settle to 1e-6
            assert!(gap < 1e-5, "{what}: {gap:.1e} from the minimiser");
            let tree = model(Structure::Isotropic);
            let minimum = MaximumAPosteriori.on(&tree).unwrap().run(&mut ()).unwrap();
            let place = minimum.solution(&tree).unwrap();
            let gap = relative_gap(place.point("x").unwrap(), &best);
            assert!(gap < 1e-6, "{what}: {gap:.1e} from the minimiser");
        }
    }
}

/// The same without the fallback: what is not at the minimiser is not called converged.
#[test]
fn a_rest_that_is_no_minimiser_is_said_to_be_none() {
    let (n, delta, shape) = (24, 0.1, [4, 6]);
    let (_, k) = gradient(&shape, Boundary::Neumann);
    let mut refuted = 0;
    for (strength, seed) in [15.0, 20.0]
        .iter()
        .flat_map(|s| (0..4).map(move |i| (*s, i)))
    {
        let y = normals(n, 5 + seed);
        let tree = (source(Quadratic::free().shaped(shape))
            >> var("x").full()
            >> (branch(seen(delta, &y))
                + (branch(Gradient::with_boundary(Boundary::Neumann))
                    >> var("z")
                    >> L21::new(strength).unwrap().at_end())))
        .build()
        .unwrap();
        let engine = ExpectationPropagation.on(&tree).unwrap();
        let report = engine.fallback(Fallback::Forbidden).run(&mut ()).unwrap();
        if report.termination.is_converged() {
            let best = dual_method(&k, &y, delta, strength);
            let gap = relative_gap(report.mean("x").unwrap(), &best);
            assert!(gap < 1e-5, "{strength} {seed}: {gap:.1e}");
        } else if let Termination::Rejected(Verdict::NotStationary { .. }) = report.termination {
            refuted += 1;
        }
    }
    assert!(refuted > 0);
}
