//! Set-up of a dense linear channel against what it cannot do without: the smaller Gram matrix and
//! its symmetric eigenproblem, done with faer alone.
#![allow(missing_docs)]

mod harness;

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::solvers::SelfAdjointEigen;
use faer::{Accum, Mat, Par, Side};
use harness::{Contestant, gaussian, heading, line, medians, time};
use treeamp::prelude::*;

fn main() {
    heading("Set-up of a linear channel (median of 15, one thread)");
    for (rows, cols) in [(500, 1000), (1000, 500), (1000, 1000)] {
        let w = gaussian(rows, cols, 0);
        let mut contestants: [Contestant<'_>; 2] = [
            Box::new(|| {
                let w = w.clone();
                time(|| {
                    let channel = Linear::new(w).expect("a matrix is valid");
                    channel.decomposition().expect("it converges").rank()
                })
            }),
            Box::new(|| time(|| bare(&w))),
        ];
        let times = medians(15, &mut contestants);
        line(&format!("faer alone, {rows} x {cols}"), times[1], "");
        let ratio = format!("{:.2} times faer alone", times[0] / times[1]);
        line(&format!("Linear, {rows} x {cols}"), times[0], &ratio);
    }
}

/// The Gram matrix of the smaller side and its eigenvectors.
fn bare(w: &Matrix) -> Mat<f64> {
    let wide = w.rows() <= w.cols();
    let a = if wide { w.view() } else { w.view().transpose() };
    let mut gram = Mat::<f64>::zeros(a.nrows(), a.nrows());
    matmul(
        gram.as_mut(),
        BlockStructure::TriangularLower,
        Accum::Replace,
        a,
        BlockStructure::Rectangular,
        a.transpose(),
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    let eigen = SelfAdjointEigen::new(gram.as_ref(), Side::Lower).expect("it converges");
    eigen.U().to_owned()
}
