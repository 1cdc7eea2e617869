//! A sweep allocates nothing: a run of many sweeps makes as many allocations as a run of few.
#![allow(unsafe_code, clippy::unwrap_used)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{glm, linear, seen};
use treeamp::prelude::*;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations from the end of sweep `from` to the end of sweep `to`.
fn allocations(model: &Tree, from: usize, to: usize) -> usize {
    let (mut start, mut end) = (0, 0);
    let mut watch = |view: &SweepView<'_, ExpectationPropagation>| {
        let count = COUNT.with(Cell::get);
        if view.sweep == from {
            start = count;
        }
        if view.sweep == to {
            end = count;
        }
        std::ops::ControlFlow::Continue(())
    };
    let engine = ExpectationPropagation
        .on(model)
        .unwrap()
        .tolerance(0.0)
        .damping(0.3);
    let report = engine.max_sweeps(to).run(&mut watch).unwrap();
    assert_eq!(report.sweeps, to, "{}", report.termination);
    end - start
}

#[test]
fn sparse_regression_sweeps_do_not_allocate() {
    for (m, n) in [(150, 300), (300, 150), (100, 100)] {
        let model = glm(
            GaussBernoulli::new(0.3, 0.0, 1.0).unwrap().iid(n),
            linear(m, n, 1),
            GaussianNoise::new(0.01).unwrap(),
        )
        .build()
        .unwrap();
        let y = model.sample(0).unwrap().get("y").unwrap().to_vec();
        assert_eq!(allocations(&model.condition("y", &y).unwrap(), 1, 30), 0);
    }
}

/// Operators with transforms, and one solved by iteration.
#[test]
fn sweeps_through_operators_do_not_allocate() {
    use treeamp::belief::SignalSpec;
    use treeamp::operator::{Boundary, MatrixFree};
    let y = common::normals(96, 1);
    let like = |y: &[f64]| seen(0.1, y);
    let start = || source(GaussBernoulli::new(0.3, 0.0, 1.0).unwrap().shaped([8, 12])) >> var("x");
    let smooth = || source(GaussianPrior::new(0.0, 1.0).unwrap().shaped([8, 12])) >> var("x");
    let mask: Vec<bool> = (0..96).map(|i| (i * i) % 7 < 3).collect();
    let seen = mask.iter().filter(|m| **m).count();
    let image = SignalSpec::real([8, 12]);
    let sum = |x: &[f64], out: &mut [f64], step: usize| {
        let next = x.iter().cycle().skip(step);
        let places = out.iter_mut().zip(x.iter().zip(next));
        places.for_each(|(out, (x, next))| *out = x + 0.5 * next);
    };
    let forward = move |z: &[f64], out: &mut [f64]| sum(z, out, 1);
    let backward = move |x: &[f64], out: &mut [f64]| sum(x, out, 95);
    let neighbours = MatrixFree::new("neighbours", &image, &image, forward, backward).unwrap();
    let models = [
        start() >> Convolution::gaussian_blur(0.5).unwrap() >> var("z") >> like(&y),
        start() >> RealDft >> var("c") >> Mask::new(mask) >> var("z") >> like(&y[..seen]),
        start()
            >> Dft
            >> var("c")
            >> Reshape::parts()
            >> var("z")
            >> like(&[&y[..], &y[..]].concat()),
        // a Gaussian signal: nothing improper, and no sentence about it
        smooth() >> Gradient::periodic() >> var("z") >> like(&[&y[..], &y[..]].concat()),
        smooth()
            >> Gradient::with_boundary(Boundary::Neumann)
            >> var("z")
            >> like(&[&y[..], &y[..]].concat()),
        smooth()
            >> Gradient::with_boundary(Boundary::Zero)
            >> var("z")
            >> like(&[&y[..], &y[..]].concat()),
        smooth() >> Linear::of(neighbours) >> var("z") >> like(&y),
    ];
    for (i, model) in models.into_iter().enumerate() {
        assert_eq!(allocations(&model.build().unwrap(), 1, 12), 0, "model {i}");
    }
}

#[test]
fn a_tree_with_everything_does_not_allocate() {
    let n = 20;
    let rotation = Rotation::new(common::rotation_matrix(n, 1)).unwrap();
    let experts = (source(Binary::new(0.6).unwrap().iid(n))
        >> var("x1")
        >> linear(n, n, 2)
        >> var("z1")
        >> PiecewiseLinear::relu()
        >> var("a1"))
        + (source(Positive::new(0.0, 1.0).unwrap().iid(n))
            >> var("x2")
            >> rotation
            >> var("z2")
            >> Activation::tanh()
            >> var("a2"))
        + (source(Exponential::new(1.0).unwrap().iid(n))
            >> var("x3")
            >> Bias::new(vec![0.5; n]).unwrap()
            >> var("a3"));
    let like = |v: f64| seen(v, &vec![0.7; n]);
    let model = (experts
        >> Sum::new(3).unwrap()
        >> var("a")
        >> (branch(like(0.5))
            + (branch(Duplicate::new(2).unwrap())
                >> (var("d1") + var("d2"))
                >> (branch(like(1.0)) + like(2.0)))
            + (branch(PiecewiseLinear::hard_tanh()) >> var("h") >> like(0.3))))
    .build()
    .unwrap();
    assert_eq!(allocations(&model, 1, 6), 0);
}

#[test]
fn complex_sweeps_do_not_allocate() {
    use treeamp::operator::ComplexDense;
    let (m, n) = (60, 40);
    let (re, im) = (
        common::gaussian_matrix(m, n, 1),
        common::gaussian_matrix(m, n, 2),
    );
    let w = ComplexMatrix::from_parts(&re, &im).unwrap();
    let chain = source(CircularGaussBernoulli::new(0.5, 1.0).unwrap().iid(n))
        >> var("x")
        >> Linear::of(ComplexDense::new(w))
        >> var("z");
    let seen = chain.clone() >> GaussianNoise::new(0.1).unwrap() >> var("y");
    let model = seen.build().unwrap();
    let y = model.sample(0).unwrap().get("y").unwrap().to_vec();
    assert_eq!(allocations(&model.condition("y", &y).unwrap(), 1, 20), 0);
    let noisy = chain >> Modulus >> var("u") >> GaussianNoise::new(0.1).unwrap() >> var("y");
    let model = noisy.build().unwrap();
    let y = model.sample(0).unwrap().get("y").unwrap().to_vec();
    assert_eq!(allocations(&model.condition("y", &y).unwrap(), 1, 6), 0);
}
