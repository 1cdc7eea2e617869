//! Sparse regression end to end by both routes of its linear channel, against the products that nobody can avoid: two for every sweep
//! that the route for independent entries makes. From a matrix and observations to means, variances and evidence.
#![allow(missing_docs, clippy::print_stdout)]

mod harness;

use harness::{Contestant, Outcome, gaussian, heading, line, medians, normals, time};
use treeamp::prelude::*;

fn main() -> Outcome {
    heading("Sparse regression end to end (rho 0.1, noise 0.01, M = N/2, one thread)");
    for (n, rounds) in [(250, 31), (500, 31), (1000, 15), (2000, 7), (4000, 3)] {
        compare(n, rounds)?;
    }
    Ok(())
}

fn compare(n: usize, rounds: usize) -> Outcome {
    let m = n / 2;
    let w = gaussian(m, n, 0);
    let (x, noise) = (normals(n, 1), normals(m, 2));
    let signal: Vec<f64> = x
        .iter()
        .enumerate()
        .map(|(i, x)| if i % 10 == 0 { *x } else { 0.0 })
        .collect();
    let mut y = vec![0.0; m];
    w.apply(&signal, 1, &mut y);
    y.iter_mut().zip(&noise).for_each(|(y, e)| *y += 0.1 * e);
    let run = |w: Matrix, route: Route| -> Result<Posterior, Box<dyn std::error::Error>> {
        let prior = GaussBernoulli::new(0.1, 0.0, 1.0)?.iid(n);
        let channel = Linear::new(w)?.by(route);
        let model = source(prior) >> var("x") >> channel >> var("z");
        let model = (model >> GaussianNoise::new(0.01)? >> var("y")).build()?;
        Ok(ExpectationPropagation
            .on(&model.condition("y", &y)?)?
            .run(&mut ())?)
    };
    let sweeps = run(w.clone(), Route::Iid)?.sweeps;
    let products = || {
        let (mut z, mut out) = (signal.clone(), vec![0.0; m]);
        for _ in 0..sweeps {
            w.apply(&z, 1, &mut out);
            w.apply_transpose(&out, 1, &mut z);
        }
        z[0]
    };
    let by = |route: Route| -> Contestant<'_> {
        let (w, run) = (&w, &run);
        Box::new(move || {
            let w = w.clone();
            time(|| run(w, route).map(|r| r.sweeps).ok())
        })
    };
    let mut contestants: [Contestant<'_>; 4] = [
        Box::new(|| time(products)),
        by(Route::Iid),
        by(Route::Auto),
        by(Route::Exact),
    ];
    let times = medians(rounds, &mut contestants);
    line(
        &format!("products of {sweeps} sweeps, N = {n}"),
        times[0],
        "",
    );
    for (name, seconds) in ["iid", "auto", "exact"].iter().zip(&times[1..]) {
        let ratio = format!("{:.2} times the products", seconds / times[0]);
        line(&format!("route {name}, N = {n}"), *seconds, &ratio);
    }
    Ok(())
}
