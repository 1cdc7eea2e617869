//! Diagonal beliefs on operators with few entries: messages and evidence from sparse factors are those of dense algebra.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::belief::{Gaussian, SignalSpec, Structure};
use treeamp::extend::Factor;
use treeamp::factor::Site;
use treeamp::operator::{
    Boundary, FiniteDifference, LinearOperator, SparseMatrix, SubSampling, applied,
};
use treeamp::prelude::*;

const Z: usize = 0;
const X: usize = 1;

/// The same operator as a matrix.
fn dense(operator: &dyn LinearOperator) -> Linear {
    let (m, n) = (operator.output().len(), operator.input().len());
    let column = |j: usize| {
        let mut unit = vec![0.0; n];
        unit[j] = 1.0;
        applied(operator, &unit)
    };
    let columns: Vec<Vec<f64>> = (0..n).map(column).collect();
    Linear::new(Matrix::from_fn(m, n, |i, j| columns[j][i]).unwrap()).unwrap()
}

fn spec(n: usize, structure: Structure) -> SignalSpec {
    SignalSpec {
        structure,
        ..SignalSpec::real([n])
    }
}

/// Precisions over four decades. Over six, the differences $1 - a_x v$ to the output, which both ways have, keep fewer than eight digits of the smallest precisions.
fn message(spec: &SignalSpec, rng: &mut dyn Rng) -> Gaussian {
    let mut message = Gaussian::flat(spec);
    for a in message.precision.data_mut() {
        *a = 10_f64.powf(rng.random_range(-2.0..2.0));
    }
    for b in &mut message.linear {
        *b = rng.random_range(-3.0..3.0);
    }
    message
}

fn near(what: &str, one: &[f64], other: &[f64]) {
    let finite = other.iter().filter(|x| x.is_finite());
    let scale = finite.fold(0.0_f64, |s, x| s.max(x.abs()));
    for (i, (p, q)) in one.iter().zip(other).enumerate() {
        // an empty row pins its output
        let gap = (p - q).abs() / q.abs().max(1e-6 * scale);
        assert!(p == q || gap < 1e-8, "{what}, {i}: {p:e} {q:e}, {gap:e}");
    }
}

/// Messages to both sides and the log-partition less those of the messages.
fn compare(what: &str, sparse: &Linear, dense: &Linear, messages: &[Gaussian; 2]) {
    let specs = [Z, X].map(|port| spec(messages[port].len(), messages[port].structure()));
    let [mut one, mut other] =
        [sparse, dense].map(|channel| Site::new(channel as &dyn Factor, &specs, messages.to_vec()));
    for port in [Z, X] {
        let (p, q) = (one.message(port).unwrap(), other.message(port).unwrap());
        near(
            &format!("{what}: a to {port}"),
            p.precision.data(),
            q.precision.data(),
        );
        near(&format!("{what}: b to {port}"), &p.linear, &q.linear);
    }
    let (p, q) = (one.excess().unwrap(), other.excess().unwrap());
    assert!((p - q).abs() < 1e-8 * q.abs(), "{what}: {p} {q}");
}

fn drawn(rows: usize, cols: usize, rng: &mut dyn Rng) -> SparseMatrix {
    let each = (0..rows).flat_map(|i| [i, i, i]);
    let triplets: Vec<(usize, usize, f64)> = each
        .map(|i| (i, rng.random_range(0..cols), rng.random_range(-1.0..1.0)))
        .collect();
    SparseMatrix::from_triplets(rows, cols, &triplets).unwrap()
}

#[test]
fn sparse_messages_are_those_of_dense_algebra() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let image = SignalSpec::real([9, 11]);
    let mask: Vec<bool> = (0..99).map(|i| i % 3 != 1).collect();
    let gradient = |boundary| Linear::of(FiniteDifference::new(&image, boundary).unwrap());
    let channels = [
        ("periodic", gradient(Boundary::Periodic)),
        ("neumann", gradient(Boundary::Neumann)),
        ("zero", gradient(Boundary::Zero)),
        ("mask", Linear::of(SubSampling::new(&image, &mask).unwrap())),
        ("tall", Linear::of(drawn(160, 120, &mut rng))),
        ("wide", Linear::of(drawn(120, 160, &mut rng))),
    ];
    let pairs = [
        [Structure::Diagonal, Structure::Diagonal],
        [Structure::Isotropic, Structure::Diagonal],
        [Structure::Diagonal, Structure::Isotropic],
    ];
    for (name, channel) in &channels {
        let operator = channel.operator();
        assert!(operator.entries().is_some());
        let plain = dense(operator);
        let lengths = [operator.input().len(), operator.output().len()];
        for structures in pairs {
            let of = |port: usize| spec(lengths[port], structures[port]);
            let messages = [of(Z), of(X)].map(|spec| message(&spec, &mut rng));
            let what = format!("{name} {structures:?}");
            compare(&what, channel, &plain, &messages);
            if structures == pairs[0] {
                // precisions below zero, as far as the others allow
                let mut messages = messages;
                let a = messages[X].precision.data_mut();
                (0..a.len()).step_by(7).for_each(|i| a[i] = -1e-5);
                compare(&format!("{what}, negative"), channel, &plain, &messages);
            }
        }
    }
}

/// What is not a belief is refused as dense algebra does, and an exact output as long as a matrix of this size is not made.
#[test]
fn what_sparse_factors_refuse() {
    let outcome = |side: usize, change: &dyn Fn(&mut Gaussian)| {
        let image = SignalSpec::real([side, side]);
        let channel = Linear::of(FiniteDifference::new(&image, Boundary::Periodic).unwrap());
        let n = side * side;
        let specs = [n, 2 * n].map(|n| spec(n, Structure::Diagonal));
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut messages = vec![message(&specs[0], &mut rng), message(&specs[1], &mut rng)];
        change(&mut messages[X]);
        let said = Site::new(&channel, &specs, messages).message(Z);
        said.map_err(|e| e.to_string())
    };
    let improper = outcome(12, &|x| x.precision.data_mut()[3] = -1e9);
    assert!(improper.unwrap_err().contains("leave a negative variance"));
    let pinned = |x: &mut Gaussian| x.precision.data_mut()[3] = f64::INFINITY;
    assert!(outcome(12, &pinned).is_ok());
    let said = outcome(80, &pinned).unwrap_err();
    assert!(said.contains("dense matrix of 12800 x 6400"), "{said}");
}
