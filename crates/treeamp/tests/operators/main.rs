//! Linear operators, their spectra and shape channels: conformance, solutions, runs, theory, errors.
#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::print_stdout)]

mod catalogue;
#[path = "../common/mod.rs"]
mod common;
mod errors;
mod iid;
mod kept;
mod large;
mod narrow;
mod runs;
mod shapes;
mod solutions;
mod spectrum;
mod theory;

use treeamp::belief::SignalSpec;
use treeamp::operator::MatrixFree;

/// A convolution with three numbers, given as functions.
fn three_taps(line: &SignalSpec) -> MatrixFree {
    let kernel = [0.5, -0.3, 0.2];
    let shifted = move |z: &[f64], out: &mut [f64], sign: usize| {
        let n = z.len();
        for (i, o) in out.iter_mut().enumerate() {
            *o = kernel
                .iter()
                .enumerate()
                .map(|(k, h)| h * z[(i + n - sign * k + (1 - sign) * k) % n])
                .sum();
        }
    };
    let forward = move |z: &[f64], o: &mut [f64]| shifted(z, o, 1);
    let backward = move |x: &[f64], o: &mut [f64]| shifted(x, o, 0);
    MatrixFree::new("kernel", line, line, forward, backward).unwrap()
}
