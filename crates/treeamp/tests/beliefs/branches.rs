//! Full beliefs where branches meet or part: sums, concatenations and splits of Gaussian trees are exact.

use super::*;

/// Rows of the identity that pick base variables `from` to `from + rows`.
fn pick(rows: usize, from: usize, total: usize) -> Mat<f64> {
    Mat::from_fn(rows, total, |i, j| f64::from(u8::from(j == from + i)))
}

fn prior(mean: f64, variance: f64, n: usize) -> Fragment {
    source(GaussianPrior::new(mean, variance).unwrap().iid(n))
}

/// The output `b` of a tall channel, which has no precision matrix.
fn hidden(tall: &Matrix) -> Fragment {
    let channel = Linear::new(tall.clone()).unwrap();
    prior(-0.1, 0.6, 2) >> var("q").full() >> channel >> var("b").full()
}

/// A whole seen through a channel.
fn tree(whole: Fragment, w: &Matrix, y: &[f64]) -> Tree {
    let channel = Linear::new(w.clone()).unwrap();
    let model = whole >> channel >> var("z").full() >> seen(0.2, y);
    model.build().unwrap()
}

/// A plain term and one that is the output of a tall channel, which has no precision matrix, seen through a wide or a tall
/// channel: the sum has then no covariance in what comes back, or has one.
#[test]
fn sums_are_exact() {
    for outputs in [2, 4, 7] {
        let (tall, w) = (gaussian_matrix(4, 2, 1), gaussian_matrix(outputs, 4, 2));
        let y = normals(outputs, 3);
        let whole = (prior(0.3, 1.4, 4) >> var("x").full())
            + hidden(&tall)
            + (prior(0.2, 0.5, 4) >> var("c").full())
            >> Sum::new(3).unwrap()
            >> var("s").full();
        let report = infer(&tree(whole, &w, &y));
        let mut base = vec![(0.3, 1.4); 4];
        base.extend(vec![(-0.1, 0.6); 2]);
        base.extend(vec![(0.2, 0.5); 4]);
        let (x, q, c) = (pick(4, 0, 10), pick(2, 4, 10), pick(4, 6, 10));
        let b = mat(&tall) * &q;
        let s = &x + &b + &c;
        let z = mat(&w) * &s;
        let exact = joint(&base, &z, &vec![0.2; outputs], &y);
        for (name, f) in [("x", x), ("q", q), ("b", b), ("c", c), ("s", s), ("z", z)] {
            exact.check(&report, name, &f);
        }
        exact.check_evidence(&report);
    }
}

/// Rows of block beliefs add one by one.
#[test]
fn sums_of_blocks_are_exact() {
    let y = normals(6, 5);
    let tree = ((prior(0.3, 1.4, 6) >> var("x").block(2))
        + (prior(0.1, 0.7, 6) >> var("c").block(2))
        >> Sum::new(2).unwrap()
        >> var("s").block(2)
        >> seen(0.2, &y))
    .build()
    .unwrap();
    let report = infer(&tree);
    let mut base = vec![(0.3, 1.4); 6];
    base.extend(vec![(0.1, 0.7); 6]);
    let (x, c) = (pick(6, 0, 12), pick(6, 6, 12));
    let s = &x + &c;
    let exact = joint(&base, &s, &[0.2; 6], &y);
    let gap = relative_gap(report.mean("x").unwrap(), &exact.mean[..6]);
    assert!(gap < 1e-12, "{gap:e}");
    exact.check_evidence(&report);
}

/// Pieces with and without a precision matrix, along both axes.
#[test]
fn concatenations_are_exact() {
    for outputs in [2, 7, 9] {
        let (tall, w) = (gaussian_matrix(4, 2, 1), gaussian_matrix(outputs, 7, 2));
        let y = normals(outputs, 3);
        let whole = (prior(0.3, 1.4, 3) >> var("x").full()) + hidden(&tall)
            >> Concatenate::new(2).unwrap()
            >> var("s").full();
        let report = infer(&tree(whole, &w, &y));
        let mut base = vec![(0.3, 1.4); 3];
        base.extend(vec![(-0.1, 0.6); 2]);
        let (x, q) = (pick(3, 0, 5), pick(2, 3, 5));
        let b = mat(&tall) * &q;
        let s = Mat::from_fn(7, 5, |i, j| if i < 3 { x[(i, j)] } else { b[(i - 3, j)] });
        let z = mat(&w) * &s;
        let exact = joint(&base, &z, &vec![0.2; outputs], &y);
        for (name, f) in [("x", x), ("q", q), ("b", b), ("s", s), ("z", z)] {
            exact.check(&report, name, &f);
        }
        exact.check_evidence(&report);
    }
}

/// A whole that is the output of a tall channel, or of a square one, taken apart; every piece is seen through a channel of its own.
#[test]
fn splits_are_exact() {
    for n in [2, 5] {
        let (tall, w1, w2) = (
            gaussian_matrix(5, n, 1),
            gaussian_matrix(1, 2, 2),
            gaussian_matrix(4, 3, 3),
        );
        let (y1, y2) = (normals(1, 4), normals(4, 5));
        let tree = (prior(0.3, 1.4, n)
            >> var("x").full()
            >> Linear::new(tall.clone()).unwrap()
            >> var("s").full()
            >> Split::new(vec![2, 3]).unwrap()
            >> ((var("p").full()
                >> Linear::new(w1.clone()).unwrap()
                >> var("u").full()
                >> seen(0.2, &y1))
                + (var("q").full()
                    >> Linear::new(w2.clone()).unwrap()
                    >> var("v").full()
                    >> seen(0.1, &y2))))
        .build()
        .unwrap();
        let report = infer(&tree);
        let s = mat(&tall);
        let (p, q) = (
            Mat::from_fn(2, n, |i, j| s[(i, j)]),
            Mat::from_fn(3, n, |i, j| s[(2 + i, j)]),
        );
        let (u, v) = (mat(&w1) * &p, mat(&w2) * &q);
        let h = Mat::from_fn(5, n, |i, j| if i < 1 { u[(0, j)] } else { v[(i - 1, j)] });
        let y: Vec<f64> = y1.iter().chain(&y2).copied().collect();
        let exact = joint(&vec![(0.3, 1.4); n], &h, &[0.2, 0.1, 0.1, 0.1, 0.1], &y);
        for (name, f) in [
            ("x", Mat::identity(n, n)),
            ("s", s),
            ("p", p),
            ("q", q),
            ("v", v),
        ] {
            exact.check(&report, name, &f);
        }
        exact.check_evidence(&report);
    }
}

/// A rotation of beliefs with a precision matrix, and of those of a tall channel, which have a covariance only.
#[test]
fn rotations_are_exact() {
    for (n, outputs) in [(2, 3), (5, 3), (5, 7)] {
        let (first, r) = (gaussian_matrix(5, n, 1), rotation_matrix(5, 6));
        let w = gaussian_matrix(outputs, 5, 2);
        let y = normals(outputs, 3);
        let whole = prior(0.3, 1.4, n)
            >> var("x").full()
            >> Linear::new(first.clone()).unwrap()
            >> var("b").full()
            >> Rotation::new(r.clone()).unwrap()
            >> var("s").full();
        let report = infer(&tree(whole, &w, &y));
        let b = mat(&first);
        let s = mat(&r) * &b;
        let z = mat(&w) * &s;
        let exact = joint(&vec![(0.3, 1.4); n], &z, &vec![0.2; outputs], &y);
        for (name, f) in [("x", Mat::identity(n, n)), ("b", b), ("s", s), ("z", z)] {
            exact.check(&report, name, &f);
        }
        exact.check_evidence(&report);
    }
}

/// Components of diagonal beliefs add, and are put end to end, one by one: exact where every component is alone.
#[test]
fn diagonal_sums_and_pieces_are_exact() {
    let y = normals(6, 5);
    let sum = ((prior(0.3, 1.4, 6) >> var("x").diagonal())
        + (prior(0.1, 0.7, 6) >> var("c").diagonal())
        >> Sum::new(2).unwrap()
        >> var("s").diagonal()
        >> seen(0.2, &y))
    .build()
    .unwrap();
    let join = ((prior(0.3, 1.4, 2) >> var("x").diagonal())
        + (prior(0.1, 0.7, 4) >> var("c").diagonal())
        >> Concatenate::new(2).unwrap()
        >> var("s").diagonal()
        >> seen(0.2, &y))
    .build()
    .unwrap();
    let both = pick(6, 0, 12) + pick(6, 6, 12);
    let ends = Mat::identity(6, 6);
    for (tree, split, h) in [(&sum, 6, both), (&join, 2, ends)] {
        let report = infer(tree);
        let mut base = vec![(0.3, 1.4); split];
        base.extend(vec![(0.1, 0.7); h.ncols() - split]);
        let exact = joint(&base, &h, &[0.2; 6], &y);
        for (name, mean) in [("x", &exact.mean[..split]), ("c", &exact.mean[split..])] {
            let gap = relative_gap(report.mean(name).unwrap(), mean);
            assert!(gap < 1e-12, "{name}: {gap:e}");
        }
        exact.check_evidence(&report);
    }
}
