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
    assert!(report.rounded.is_empty());
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
                + (named("A", Linear::new(a.clone()).unwrap())
                    >> var("a")
                    >> gaussian(delta, &y))))
        .build()
        .unwrap();
        follows(&tree, "l1", (&mat(a), &y, &k), (delta, (strength, 1)), 60);
    }
}

/// The same in two dimensions, with the group penalty of an image's gradient whose corners stay sharp, as in the printed
/// equations: for denoising and for a blur. By default they are softened after eight turns of the active fraction, so that the
/// run settles.
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
                    >> L21::new(strength).unwrap().at_end().sharp())
                    + (named("A", Linear::of(kernel(side))) >> var("a") >> gaussian(delta, &y))))
            .build()
            .unwrap();
            let parameters = (delta, (strength, 2));
            follows(&tree, "l21", (&blur, &y, &k), parameters, 60);
        }
    }
}
