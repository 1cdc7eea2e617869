//! Every linear operator: adjoint, singular system, spectrum, and its channel against the same map as
//! a dense matrix. The list is the catalogue's.

use std::sync::Arc;

use crate::common::{self, glm, matrix_of, normals};
use treeamp::Complex;
use treeamp::belief::SignalSpec;
use treeamp::extend::{Factor, Gaussian, Site};
use treeamp::operator::{
    Boundary, Composition, DiagonalScaling, FiniteDifference, LanczosOptions, LinearOperator,
    MatrixFree, Stack, applied, dot_test, estimated_spectrum,
};
use treeamp::prelude::*;
use treeamp::testing::factors::check_factor;

fn message(len: usize, precision: f64, seed: u64) -> Gaussian {
    let mut m = Gaussian::flat(&SignalSpec::real([len]));
    m.precision.set_scalar(precision);
    let scale = if precision == f64::INFINITY {
        1.0
    } else {
        precision.abs().sqrt()
    };
    m.linear = normals(len, seed).iter().map(|b| scale * b).collect();
    m
}

/// Both outgoing messages, and the log-partition.
fn messages(channel: &Linear, incoming: &[Gaussian; 2]) -> ([Gaussian; 2], f64) {
    let specs = [
        channel.operator().input().clone(),
        channel.operator().output().clone(),
    ];
    let mut site = Site::new(channel, &specs, incoming.to_vec());
    let out = [0, 1].map(|port| site.message(port).unwrap());
    (out, site.log_partition().unwrap())
}

/// $a + a'$ and the mean of a belief.
fn belief(incoming: &Gaussian, out: &Gaussian) -> (f64, Vec<f64>) {
    let a = incoming.precision.scalar() + out.precision.scalar();
    let parts = incoming.linear.iter().zip(&out.linear);
    (a, parts.map(|(b, c)| (b + c) / a).collect())
}

fn check(name: &str, operator: impl LinearOperator) {
    dot_test(&operator, 7).unwrap_or_else(|e| panic!("{name}: {e}"));
    let w = matrix_of(&operator);
    let (n, m) = (operator.input().len(), operator.output().len());
    let exact = Spectrum::of(&w).unwrap();
    let direct = operator.singular_system().unwrap().is_some();
    let (channel, reference) = (Linear::of(operator), Linear::new(w).unwrap());
    let spectrum = channel.spectrum().unwrap();
    assert!((spectrum.alpha() - exact.alpha()).abs() < 1e-12, "{name}");
    assert!(
        (spectrum.rank() - exact.rank()).abs() < 1e-12,
        "{name}: {} {}",
        spectrum.rank(),
        exact.rank()
    );
    for gamma in [0.1, 3.0, 100.0] {
        let gap = spectrum.shannon(gamma) - exact.shannon(gamma);
        assert!(gap.abs() < 1e-10, "{name}: spectrum off by {gap:e}");
    }
    // direct formulas to rounding; conjugate gradients stop at a residual of 1e-12, which the condition
    // number (up to 1e9 at the last precisions) turns into errors of up to 1e-6
    let tolerance = if direct { 1e-10 } else { 1e-6 };
    let largest = exact.nodes().iter().fold(0.0_f64, |m, (l, _)| m.max(*l));
    let negative = (0.5, -0.2 / largest);
    for (az, ax) in [(1.0, 0.7), (0.2, 40.0), (30.0, 0.1), negative, (1e-3, 1e5)] {
        let incoming = [message(n, az, 1), message(m, ax, 2)];
        let (ours, value) = messages(&channel, &incoming);
        let (theirs, expected) = messages(&reference, &incoming);
        for port in [0, 1] {
            let (a, mean) = belief(&incoming[port], &ours[port]);
            let (b, place) = belief(&incoming[port], &theirs[port]);
            let gap = common::relative_gap(&mean, &place);
            assert!(
                gap < tolerance,
                "{name}, port {port} at {az}, {ax}: means off by {gap:e}"
            );
            assert!(
                (a / b - 1.0).abs() < tolerance,
                "{name}, port {port} at {az}, {ax}: {a} {b}"
            );
            let gap = common::relative_gap(&ours[port].linear, &theirs[port].linear);
            assert!(
                gap < 1e3 * tolerance,
                "{name}, port {port} at {az}, {ax}: messages off by {gap:e}"
            );
        }
        let scale = expected.abs().max(1.0);
        assert!(
            (value - expected).abs() < tolerance * scale,
            "{name}: {value} {expected}"
        );
    }
    conforms(name, &channel);
    if direct {
        knows_its_output(name, &channel, &reference);
    }
}

fn conforms(name: &str, channel: &Linear) {
    let specs = [
        channel.operator().input().clone(),
        channel.operator().output().clone(),
    ];
    let incoming: Vec<Gaussian> = specs
        .iter()
        .zip([0.8, 1.3])
        .zip([3, 4])
        .map(|((s, a), seed)| message(s.len(), a, seed))
        .collect();
    // A is quadratic: central differences are exact up to rounding
    check_factor(channel, &specs, &incoming, 1e-6).unwrap_or_else(|e| panic!("{name}: {e}"));
}

/// A noiseless output: the same exact posterior as with the dense matrix.
fn knows_its_output(name: &str, channel: &Linear, reference: &Linear) {
    let (n, m) = (
        channel.operator().input().len(),
        channel.operator().output().len(),
    );
    let mut pin = message(m, f64::INFINITY, 0);
    pin.linear = applied(channel.operator(), &normals(n, 5));
    let incoming = [message(n, 0.6, 6), pin];
    let rule = |c: &Linear, port: usize| {
        let specs = [c.operator().input().clone(), c.operator().output().clone()];
        let mut site = Site::new(c, &specs, incoming.to_vec());
        site.message(port).unwrap()
    };
    for port in [0, 1] {
        let (ours, theirs) = (rule(channel, port), rule(reference, port));
        let (a, b) = (ours.precision.scalar(), theirs.precision.scalar());
        let same = a.to_bits() == b.to_bits(); // both infinite, or both zero
        assert!(same || (a / b - 1.0).abs() < 1e-9, "{name}: {a} {b}");
        let gap = common::relative_gap(&ours.linear, &theirs.linear);
        assert!(
            gap < 1e-8 || theirs.is_flat(),
            "{name}, port {port}: off by {gap:e}"
        );
    }
}

macro_rules! conformance {
    ($($name:ident => $instance:expr,)*) => {
        $(#[test] fn $name() { check(stringify!($name), $instance.unwrap()); })*
    };
}

treeamp::for_each_operator!(conformance);

/// Lengths that are odd, even and one, in up to three dimensions, real and complex.
#[test]
fn gradients_of_every_shape_and_boundary() {
    for boundary in [Boundary::Periodic, Boundary::Neumann, Boundary::Zero] {
        for shape in [
            vec![2],
            vec![7],
            vec![8],
            vec![5, 4],
            vec![1, 6],
            vec![3, 2, 4],
        ] {
            for input in [SignalSpec::real(shape.clone()), SignalSpec::complex(shape)] {
                let w = FiniteDifference::new(&input, boundary).unwrap();
                assert!(w.singular_system().unwrap().is_some());
                check(&format!("{input}, {boundary:?}"), w);
            }
        }
    }
    // with other boundaries one entry has no difference
    for input in [SignalSpec::real([1]), SignalSpec::complex([1])] {
        let w = FiniteDifference::new(&input, Boundary::Zero).unwrap();
        check(&format!("{input}"), w);
    }
}

/// With a zero beyond the last entry: $W = U S V^T$ with orthonormal columns on both sides, and $S$ its singular values.
#[test]
fn a_gradient_with_a_zero_end_has_orthonormal_modes() {
    for shape in [
        vec![1],
        vec![2],
        vec![9],
        vec![10],
        vec![64],
        vec![4, 7],
        vec![3, 4, 5],
    ] {
        for input in [
            SignalSpec::real(shape.clone()),
            SignalSpec::complex(shape.clone()),
        ] {
            let operator = FiniteDifference::new(&input, Boundary::Zero).unwrap();
            let w = matrix_of(&operator);
            let system = operator.singular_system().unwrap().unwrap();
            let modes = system.modes();
            let (n, m) = (input.len(), operator.output().len());
            assert_eq!(modes.layout_len(), n);
            assert_eq!(modes.rank(), n as f64);
            assert_eq!(modes.spans_output(), shape.len() == 1);
            let mut scratch = vec![f64::NAN; system.scratch_len(1)];
            let before = operator.transforms();
            let (mut u, mut v) = (Vec::new(), Vec::new());
            for k in 0..n {
                let unit: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i == k))).collect();
                let (mut right, mut left) = (vec![0.0; n], vec![0.0; m]);
                system.to_input(&mut unit.clone(), &mut right, &mut scratch);
                system.to_output(&mut unit.clone(), &mut left, &mut scratch);
                for (side, back) in [(&right, 0), (&left, 1)] {
                    let mut out = vec![0.0; n];
                    match back {
                        0 => system.analyse_input(side, &mut out, &mut scratch),
                        _ => system.analyse_output(side, &mut out, &mut scratch),
                    }
                    let gap = common::relative_gap(&out, &unit);
                    assert!(gap < 1e-12, "{input}, mode {k}: not itself by {gap:e}");
                }
                u.push(left);
                v.push(right);
            }
            assert_eq!(operator.transforms() - before, 4 * n);
            let dot = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(x, y)| x * y).sum() };
            for k in 0..n {
                for l in 0..n {
                    let one = f64::from(u8::from(k == l));
                    for side in [&u, &v] {
                        let gap = dot(&side[k], &side[l]) - one;
                        assert!(gap.abs() < 1e-12, "{input}, modes {k}, {l}: {gap:e}");
                    }
                }
            }
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let value = |k: usize| modes.value(k / modes.lanes());
                let sum: f64 = (0..n).map(|k| u[k][i] * value(k) * v[k][j]).sum();
                let gap = sum - w.get(i, j);
                assert!(gap.abs() < 1e-12, "{input}, entry {i}, {j}: {gap:e}");
            }
        }
    }
}

/// Axes that are transformed in four steps: some coefficients against their definition, and back. Lengths with every kind
/// of rest: a square, twice a square, fifteen times one; odd; none (a prime), which has the direct plan.
#[test]
fn long_transforms_are_transforms() {
    for (shape, complex) in [
        (vec![1 << 16], true),
        (vec![1 << 15], true),
        (vec![1 << 16], false),
        (vec![1 << 17], false),
        (vec![135 * 135 * 15], true),
        (vec![135 * 135 * 15], false),
        (vec![32_771], false),
        (vec![2, 1 << 15], false),
        (vec![1 << 14, 3], true),
        (vec![1 << 15, 2], false),
    ] {
        let n: usize = shape.iter().product();
        let x = normals(2 * n, 3);
        let (signal, input) = if complex {
            (x.clone(), SignalSpec::complex(shape.clone()))
        } else {
            let real = x.iter().step_by(2).copied().collect();
            (real, SignalSpec::real(shape.clone()))
        };
        let all = vec![true; n];
        let dft = treeamp::operator::SubSampledDft::new(&input, &all).unwrap();
        let out = applied(&dft, &signal);
        let at = |k: usize| Complex::new(out[2 * k], out[2 * k + 1]);
        for k in [0, 1, 7, n / 3, n / 2, n - 1] {
            let direct = coefficient(&shape, k, |i| {
                let im = if complex { x[2 * i + 1] } else { 0.0 };
                Complex::new(x[2 * i], im)
            });
            let gap = (at(k) - direct).norm();
            // the definition sums 1e5 terms of order one
            assert!(gap < 1e-11, "{shape:?}, {k}: off by {gap:e}");
        }
        let mut scratch = vec![0.0; dft.scratch_len(1)];
        let mut back = vec![0.0; signal.len()];
        dft.adjoint(&out, &mut back, &mut scratch);
        let gap = common::relative_gap(&back, &signal);
        assert!(gap < 1e-14, "{shape:?}: not unitary by {gap:e}");
    }
}

/// $c_k = \frac{1}{\sqrt N}\sum_n x_n e^{-2\pi i k\cdot n}$, one number at a time.
fn coefficient(shape: &[usize], k: usize, x: impl Fn(usize) -> Complex<f64>) -> Complex<f64> {
    let n: usize = shape.iter().product();
    let sum: Complex<f64> = (0..n)
        .map(|i| {
            let (mut i_left, mut k_left, mut turns) = (i, k, 0.0);
            for len in shape.iter().rev() {
                // exact remainders: an angle of 1e9 turns has no digits left
                turns += ((i_left % len) * (k_left % len) % len) as f64 / *len as f64;
                i_left /= len;
                k_left /= len;
            }
            x(i) * Complex::cis(-std::f64::consts::TAU * turns)
        })
        .sum();
    sum / (n as f64).sqrt()
}

/// An operator of one's own whose adjoint is half of what it should be.
#[derive(Debug)]
struct HalfAdjoint(treeamp::belief::SignalSpec);

impl treeamp::operator::LinearOperator for HalfAdjoint {
    fn name(&self) -> &'static str {
        "mine"
    }

    fn input(&self) -> &treeamp::belief::SignalSpec {
        &self.0
    }

    fn output(&self) -> &treeamp::belief::SignalSpec {
        &self.0
    }

    fn apply(&self, z: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.iter_mut().zip(z).for_each(|(o, z)| *o = 2.0 * z);
    }

    fn adjoint(&self, x: &[f64], out: &mut [f64], _: &mut [f64]) {
        out.copy_from_slice(x);
    }
}

#[test]
fn a_wrong_adjoint_is_found_before_the_first_sweep() {
    use treeamp::prelude::*;
    let operator = HalfAdjoint(SignalSpec::real([5]));
    let model = glm(
        GaussianPrior::new(0.0, 1.0).unwrap().iid(5),
        Linear::of(operator),
        GaussianNoise::new(0.1).unwrap(),
    )
    .build()
    .unwrap();
    let observed = model.condition("y", &[1.0; 5]).unwrap();
    let error = ExpectationPropagation
        .on(&observed)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`mine`") && error.contains("dot test"),
        "{error}"
    );
}

#[test]
fn a_wrong_adjoint_is_found_in_a_composition_and_by_an_estimate() {
    let line = SignalSpec::real([5]);
    let good = || Arc::new(DiagonalScaling::new(&line, vec![2.0; 5]).unwrap());
    let wrong = || Arc::new(HalfAdjoint(line.clone()));
    let inner = Composition::new(vec![good() as _, wrong() as _]).unwrap();
    let error = dot_test(&inner, 0).unwrap_err().to_string();
    assert!(error.contains("`composition, part 2: mine`"), "{error}");
    let outer = Stack::new(vec![Arc::new(inner) as _, good() as _]).unwrap();
    let error = dot_test(&outer, 0).unwrap_err().to_string();
    let path = "`stack, part 1: composition, part 2: mine`";
    assert!(error.contains(path), "{error}");
    let error = estimated_spectrum(&HalfAdjoint(line), LanczosOptions::default());
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("`mine`") && error.contains("dot test"),
        "{error}"
    );
}

/// Squares of 1e200 are no numbers: that says nothing about an adjoint.
#[test]
fn the_dot_test_knows_large_entries_from_wrong_ones() {
    let line = SignalSpec::real([50]);
    let scaled = |entry: f64| DiagonalScaling::new(&line, vec![entry; 50]).unwrap();
    for entry in [1e-300, 1e-200, 0.0, 1e160, 1e200, 1e300] {
        dot_test(&scaled(entry), 0).unwrap_or_else(|e| panic!("{entry}: {e}"));
    }
    // some of fifty normal numbers are above one
    let error = dot_test(&scaled(f64::MAX), 0).unwrap_err();
    assert!(
        matches!(&error, ModelError::Overflow { operator } if operator == "diagonal"),
        "{error}"
    );
    assert!(error.to_string().contains("overflow"), "{error}");
    let shift = |size: f64| {
        let forward = move |z: &[f64], o: &mut [f64]| {
            (0..50).for_each(|i| o[i] = size * z[(i + 1) % 50]);
        };
        let backward = move |x: &[f64], o: &mut [f64]| {
            (0..50).for_each(|i| o[i] = size * x[i]);
        };
        MatrixFree::new("shift", &line, &line, forward, backward)
    };
    for size in [1e-250, 1.0, 1e250] {
        let error = shift(size).unwrap_err();
        assert!(
            matches!(error, ModelError::Adjoint { .. }),
            "{size}: {error}"
        );
    }
}
