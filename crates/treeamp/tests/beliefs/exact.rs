//! Full beliefs on Gaussian trees against the dense joint Gaussian.

use super::*;
use treeamp::extend::*;
use treeamp::factor::Site;

/// Chains of two dense channels, wide, square, tall and rank deficient, through full beliefs.
#[test]
fn chains_of_dense_channels_are_exact() {
    for (n, m, k) in [(6, 4, 3), (5, 5, 5), (4, 9, 3), (4, 9, 12), (7, 3, 8)] {
        for deficient in [false, true] {
            let w1 = if deficient {
                deficient_matrix(m, n, 2, 7)
            } else {
                gaussian_matrix(m, n, 1)
            };
            let w2 = gaussian_matrix(k, m, 2);
            let y = normals(k, 3);
            let tree = (source(GaussianPrior::new(0.3, 1.4).unwrap().iid(n))
                >> var("x").full()
                >> Linear::new(w1.clone()).unwrap()
                >> var("u").full()
                >> Linear::new(w2.clone()).unwrap()
                >> var("v").full()
                >> seen(0.2, &y))
            .build()
            .unwrap();
            let report = infer(&tree);
            let (f1, f2) = (mat(&w1), mat(&w2) * mat(&w1));
            let exact = joint(&vec![(0.3, 1.4); n], &f2, &vec![0.2; k], &y);
            exact.check(&report, "x", &Mat::identity(n, n));
            exact.check(&report, "u", &f1);
            exact.check(&report, "v", &f2);
            exact.check_evidence(&report);
            // on a chain everything is known after one sweep, and the second finds nothing new
            assert!(report.sweeps <= 2, "{} sweeps", report.sweeps);
        }
    }
}

/// The joint Gaussian of $x\sim\mathcal N(m, v)$ and $y = Hx + \mathcal N(0, \Delta)$ from the singular values of
/// $(H/\sqrt\Delta;\ 1/\sqrt v) = USV^T$, which errs by their condition and not by its square:
/// $\Sigma = VS^{-2}V^T$, and the misfit of the evidence is what is left of a least squares problem.
fn stable_joint((m, v): (f64, f64), h: &Mat<f64>, delta: f64, y: &[f64]) -> Joint {
    let (rows, n) = (h.nrows(), h.ncols());
    let stacked = Mat::from_fn(rows + n, n, |i, j| {
        if i < rows {
            h[(i, j)] / delta.sqrt()
        } else {
            f64::from(u8::from(i - rows == j)) / v.sqrt()
        }
    });
    let target = Mat::from_fn(rows + n, 1, |i, _| {
        if i < rows {
            y[i] / delta.sqrt()
        } else {
            m / v.sqrt()
        }
    });
    let svd = stacked.thin_svd().unwrap();
    let (u, s, w) = (svd.U(), svd.S().column_vector(), svd.V());
    let seen = u.transpose() * &target;
    let mean = (0..n).map(|i| (0..n).map(|k| w[(i, k)] * seen[(k, 0)] / s[k]).sum());
    let mean: Vec<f64> = mean.collect();
    let entry = |i: usize, j: usize| (0..n).map(|k| w[(i, k)] * w[(j, k)] / (s[k] * s[k])).sum();
    let left = |i: usize| {
        let fit: f64 = (0..n).map(|j| stacked[(i, j)] * mean[j]).sum();
        (target[(i, 0)] - fit).powi(2)
    };
    let misfit: f64 = (0..rows + n).map(left).sum();
    // ln det(Δ + v H Hᵀ) = ln det Δ + ln det v + 2 Σ ln s
    let volume = rows as f64 * (std::f64::consts::TAU * delta).ln() + n as f64 * v.ln();
    let logs: f64 = s.iter().map(|s| 2.0 * s.ln()).sum();
    Joint {
        mean,
        covariance: Mat::from_fn(n, n, entry),
        evidence: -0.5 * (misfit + volume + logs),
    }
}

/// Chains of three, four and five dense channels of every aspect. What a later channel says about an earlier variable is nearly
/// singular after three square ones: an evidence that inverts it loses its digits.
#[test]
fn evidences_of_long_chains_are_exact() {
    let shapes: [&[usize]; 8] = [
        &[10, 10, 10, 10],
        &[6, 8, 8, 6],
        &[4, 30, 4, 30],
        &[10, 10, 10, 10, 10],
        &[20, 10, 20, 10, 20],
        &[6, 3, 8, 3, 9],
        &[10, 10, 10, 10, 10, 10],
        &[4, 30, 4, 30, 4, 30],
    ];
    for (sizes, seed) in shapes
        .iter()
        .flat_map(|s| (0..5).map(move |seed| (*s, seed)))
    {
        let (n, m) = (sizes[0], sizes[sizes.len() - 1]);
        let y = normals(m, seed + 50);
        let mut model = source(GaussianPrior::new(0.3, 1.4).unwrap().iid(n)) >> var("x0").full();
        let mut maps = vec![Mat::<f64>::identity(n, n)];
        for (i, pair) in sizes.windows(2).enumerate() {
            let w = gaussian_matrix(pair[1], pair[0], 1000 * seed + i as u64);
            maps.push(mat(&w) * &maps[i]);
            let next = var(&format!("x{}", i + 1)).full();
            model = model >> Linear::new(w).unwrap() >> next;
        }
        for delta in [0.01, 0.1] {
            let tree = (model.clone() >> seen(delta, &y)).build().unwrap();
            let report = infer(&tree);
            let last = &maps[maps.len() - 1];
            let exact = stable_joint((0.3, 1.4), last, delta, &y);
            for (i, map) in maps.iter().enumerate() {
                exact.check(&report, &format!("x{i}"), map);
            }
            exact.check_evidence(&report);
        }
    }
}

/// A tree with a branch, noise inside, a bias, and channels of every aspect.
#[test]
fn trees_of_dense_channels_are_exact() {
    let n = 5;
    let (w1, w2, w3) = (
        gaussian_matrix(8, n, 1),
        gaussian_matrix(3, n, 2),
        deficient_matrix(4, 8, 3, 3),
    );
    let shift = normals(8, 9);
    let (y2, y3) = (normals(3, 4), normals(4, 5));
    let tree = (source(GaussianPrior::new(-0.2, 0.8).unwrap().iid(n))
        >> var("x").full()
        >> ((branch(Linear::new(w1.clone()).unwrap())
            >> var("u").full()
            >> Bias::new(shift.clone()).unwrap()
            >> var("s").full()
            >> GaussianNoise::new(0.3).unwrap()
            >> var("t").full()
            >> Linear::new(w3.clone()).unwrap()
            >> var("v").full()
            >> seen(0.5, &y3))
            + (branch(Linear::new(w2.clone()).unwrap()) >> var("w").full() >> seen(0.1, &y2))))
    .build()
    .unwrap();
    let report = infer(&tree);
    // base variables: x, the bias as 8 constants, the noise inside
    let mut base = vec![(-0.2, 0.8); n];
    base.extend(shift.iter().map(|c| (*c, 0.0)));
    base.extend(vec![(0.0, 0.3); 8]);
    let total = base.len();
    let place = |rows: usize, f: &dyn Fn(usize, usize) -> f64| Mat::from_fn(rows, total, f);
    let x = place(n, &|i, j| f64::from(u8::from(i == j)));
    let u = mat(&w1) * &x;
    let s = &u + place(8, &|i, j| f64::from(u8::from(j == n + i)));
    let t = &s + place(8, &|i, j| f64::from(u8::from(j == n + 8 + i)));
    let v = mat(&w3) * &t;
    let w = mat(&w2) * &x;
    let h = Mat::from_fn(
        7,
        total,
        |i, j| if i < 4 { v[(i, j)] } else { w[(i - 4, j)] },
    );
    let noise: Vec<f64> = (0..7).map(|i| if i < 4 { 0.5 } else { 0.1 }).collect();
    let y: Vec<f64> = y3.iter().chain(&y2).copied().collect();
    let exact = joint(&base, &h, &noise, &y);
    for (name, f) in [("x", x), ("u", u), ("s", s), ("t", t), ("v", v), ("w", w)] {
        exact.check(&report, name, &f);
    }
    exact.check_evidence(&report);
}

/// The ends of a channel may have different beliefs: with a full one on x, z of any kind is exact on the diagonal.
#[test]
fn mixed_ends_agree_on_gaussian_chains() {
    for (rows, cols) in [(4, 7), (7, 4), (5, 5)] {
        let w = gaussian_matrix(rows, cols, 11);
        let y = normals(rows, 12);
        let exact = joint(&vec![(0.1, 2.0); cols], &mat(&w), &vec![0.3; rows], &y);
        let kinds = [Structure::Isotropic, Structure::Diagonal, Structure::Full];
        for (on_x, on_z) in kinds
            .iter()
            .flat_map(|x| kinds.iter().map(move |z| (*x, *z)))
        {
            let tree = (source(GaussianPrior::new(0.1, 2.0).unwrap().iid(cols))
                >> var("x").belief(on_x)
                >> Linear::new(w.clone()).unwrap()
                >> var("z").belief(on_z)
                >> seen(0.3, &y))
            .build()
            .unwrap();
            let report = infer(&tree);
            let gap = relative_gap(report.mean("x").unwrap(), &exact.mean);
            assert!(gap < 1e-10, "{on_x} {on_z}: {gap:e}");
            let v: Vec<f64> = report.marginal("x").unwrap().variance.diagonal().collect();
            let own: Vec<f64> = (0..cols).map(|i| exact.covariance[(i, i)]).collect();
            if on_x == Structure::Isotropic {
                let mean = own.iter().sum::<f64>() / cols as f64;
                assert!((v[0] / mean - 1.0).abs() < 1e-10, "{on_x} {on_z}");
            } else {
                assert!(relative_gap(&v, &own) < 1e-10, "{on_x} {on_z}");
            }
            // one Gaussian channel between constant messages: the evidence is exact whatever the beliefs
            exact.check_evidence(&report);
        }
    }
}

/// Messages in natural and in moment form add in any order, and agree with the dense product.
#[test]
fn messages_of_both_forms_add() {
    let n = 4;
    let mut spec = SignalSpec::real([n]);
    spec.structure = Structure::Full;
    let natural = proper_message(&spec, 1.0, 1);
    // the output of a tall channel: rank 2
    let w = gaussian_matrix(n, 2, 3);
    let mut inner = SignalSpec::real([2]);
    inner.structure = Structure::Full;
    let store = vec![proper_message(&inner, 2.0, 4), Gaussian::flat(&spec)];
    let channel = Linear::new(w.clone()).unwrap();
    let specs = [inner.clone(), spec.clone()];
    let moments = Site::new(&channel, &specs, store.clone())
        .message(1)
        .unwrap();
    assert!(moments.has_moments());
    // a likelihood of low rank: no covariance of its own
    let mut singular = Gaussian::flat(&spec);
    let direction = normals(n, 5);
    singular
        .precision
        .fill_with(|i, j| direction[i] * direction[j]);
    singular.linear.clone_from(&direction);
    let all = [&natural, &moments, &singular];
    let mut first: Option<Moments> = None;
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut total = Gaussian::flat(&spec);
        order
            .iter()
            .for_each(|k| treeamp::engine::Message::add_assign(&mut total, all[*k]));
        let mut out = Moments::zeros(&spec);
        total.moments_into(&mut out).unwrap();
        // in coordinates of the two inputs everything is natural
        let reference = first.get_or_insert_with(|| {
            let back = |m: &Gaussian| {
                let a = Mat::from_fn(n, n, |i, j| m.precision.entry(i, j));
                (mat(&w).transpose() * &a * mat(&w), m.linear.clone())
            };
            let own = &store[0];
            let mut a = Mat::from_fn(2, 2, |i, j| own.precision.entry(i, j));
            let mut b = own.linear.clone();
            for m in [&natural, &singular] {
                let (da, db) = back(m);
                a += da;
                for (j, b) in b.iter_mut().enumerate() {
                    *b += (0..n).map(|i| w.get(i, j) * db[i]).sum::<f64>();
                }
            }
            let (mean, covariance) = gaussian_posterior(&a, &b);
            let mut out = Moments::zeros(&spec);
            w.apply(&mean, 1, &mut out.mean);
            let spread = mat(&w) * covariance * mat(&w).transpose();
            out.variance.fill_with(|i, j| spread[(i, j)]);
            out
        });
        assert!(relative_gap(&out.mean, &reference.mean) < 1e-12);
        assert!(relative_gap(out.variance.data(), reference.variance.data()) < 1e-12);
    }
}

/// Prior and noise variances apart by $10^{12}$. The reference is by the smaller matrix, as a sum of squares: the dense
/// covariance of the outputs would have lost four digits itself.
#[test]
fn extreme_scales_stay_exact() {
    for (n, m, k) in [(3, 6, 4), (4, 4, 4), (2, 5, 7)] {
        for (v0, delta) in [(1e6_f64, 1e-6), (1e-6, 1e6), (1.0, 1e-9), (1e6, 1e6)] {
            let (w1, w2) = (gaussian_matrix(m, n, 1), gaussian_matrix(k, m, 2));
            let f2 = mat(&w2) * mat(&w1);
            let x = normals(n, 4);
            // outputs that the model can make, up to its noise
            let noise = normals(k, 3);
            let y: Vec<f64> = (0..k)
                .map(|i| {
                    let z: f64 = (0..n).map(|j| f2[(i, j)] * v0.sqrt() * x[j]).sum();
                    z + f64::sqrt(delta) * noise[i]
                })
                .collect();
            let p = Mat::from_fn(n, n, |i, j| {
                let gram: f64 = (0..k).map(|r| f2[(r, i)] * f2[(r, j)]).sum();
                v0 / delta * gram + if i == j { 1.0 } else { 0.0 }
            });
            let b: Vec<f64> = (0..n)
                .map(|i| (0..k).map(|r| f2[(r, i)] * y[r]).sum::<f64>() * v0.sqrt() / delta)
                .collect();
            let (c, _) = gaussian_posterior(&p, &b);
            let rest: f64 = (0..k)
                .map(|r| {
                    let z: f64 = (0..n).map(|j| f2[(r, j)] * v0.sqrt() * c[j]).sum();
                    (y[r] - z).powi(2) / delta
                })
                .sum();
            let fit = rest + c.iter().map(|c| c * c).sum::<f64>();
            let volume = k as f64 * (std::f64::consts::TAU * delta).ln() + p.determinant().ln();
            let evidence = -0.5 * (fit + volume);
            let mean: Vec<f64> = c.iter().map(|c| c * v0.sqrt()).collect();
            for structure in [Structure::Full, Structure::Diagonal, Structure::Isotropic] {
                let tree = (source(GaussianPrior::new(0.0, v0).unwrap().iid(n))
                    >> var("x").full()
                    >> Linear::new(w1.clone()).unwrap()
                    >> var("u").full()
                    >> Linear::new(w2.clone()).unwrap()
                    >> var("v").belief(structure)
                    >> seen(delta, &y))
                .build()
                .unwrap();
                let report = infer(&tree);
                let a = report.log_evidence().unwrap();
                let off = relative_gap(report.mean("x").unwrap(), &mean);
                assert!(
                    off < 1e-10,
                    "{n} {m} {k} {v0:e} {delta:e} {structure}: {off:e}"
                );
                // A residual y - Wx of size √Δ is known to ε|y|, and its square over Δ to 2ε√(v₀/Δ) per output. A message of
                // low rank has no potential of its own: terms of order |y|²/Δ meet in the sum.
                let lost = if m > k {
                    v0 / delta
                } else {
                    (v0 / delta).sqrt()
                };
                let rounding = 4.0 * f64::EPSILON * k as f64 * lost;
                let tolerance = 1e-10 * evidence.abs().max(1.0) + rounding;
                let gap = (a - evidence).abs();
                assert!(
                    gap < tolerance,
                    "{n} {m} {k} {v0:e} {delta:e} {structure}: {gap:e}"
                );
            }
        }
    }
}

/// Noise of a variance per observation, behind a matrix: exact with full beliefs in the signal and diagonal ones in the output.
#[test]
fn variances_per_observation_are_exact() {
    let (rows, cols) = (7, 4);
    let w = gaussian_matrix(rows, cols, 51);
    let y = normals(rows, 52);
    let variances: Vec<f64> = (0..7).map(|i| 10_f64.powi(i - 4)).collect();
    let exact = joint(&vec![(0.1, 1.5); cols], &mat(&w), &variances, &y);
    let noise = HeteroscedasticNoise::new(&variances).unwrap();
    let tree = (source(GaussianPrior::new(0.1, 1.5).unwrap().iid(cols))
        >> var("x").full()
        >> Linear::new(w).unwrap()
        >> var("z").diagonal()
        >> noise.observed(y).unwrap())
    .build()
    .unwrap();
    let report = infer(&tree);
    assert!(relative_gap(report.mean("x").unwrap(), &exact.mean) < 1e-10);
    exact.check_evidence(&report);
}
