//! Nanoseconds per component of every scalar law in the catalogue, through the message of its factor.
#![allow(missing_docs)]

mod harness;

use harness::{Contestant, Outcome, heading, line, medians, normals, time};
use std::time::Instant;
use treeamp::extend::{Factor, Gaussian};
use treeamp::factor::{Context, Incoming};
use treeamp::prelude::*;

/// Components.
const N: usize = 10_000;
/// Fewer for laws that take long, at least 3.
const ROUNDS: f64 = 21.0;
/// Seconds to spend on each message.
const BUDGET: f64 = 1.0;

fn main() -> Outcome {
    heading("Time per component of a message (10000 components, one thread)");
    macro_rules! priors {
        ($($name:ident $(($module:path))? => $law:expr;)*) => {
            $(measure(concat!("prior ", stringify!($name)), &$law?.iid(N), &["x"])?;)*
        };
    }
    treeamp::for_each_prior!(priors);
    macro_rules! likelihoods {
        ($($name:ident $(($module:path))? => $law:expr, [$($y:expr),*];)*) => {
            $(
                let y: Vec<f64> = [$($y),*].iter().copied().cycle().take(N).collect();
                measure(concat!("likelihood ", stringify!($name)), &$law?.observed(y)?, &["z"])?;
            )*
        };
    }
    treeamp::for_each_likelihood!(likelihoods);
    macro_rules! channels {
        ($($name:ident $(($module:path))? => $law:expr, [$($y:expr),*];)*) => {
            $(
                let law: Result<_, ModelError> = $law;
                measure(concat!("channel ", stringify!($name)), &law?, &["z", "x"])?;
            )*
        };
    }
    treeamp::for_each_channel!(channels);
    measure(
        "channel gaussian_noise",
        &GaussianNoise::new(0.1)?,
        &["z", "x"],
    )?;
    Ok(())
}

/// Times the message to every port, at precisions and fields of order one.
fn measure(name: &str, factor: &dyn Factor, ports: &[&str]) -> Outcome {
    let rule = factor.posterior().ok_or("no expectation propagation")?;
    let spec = SignalSpec::real([N]);
    let incoming: Vec<Gaussian> = (0..ports.len())
        .map(|port| {
            let mut message = Gaussian::flat(&spec);
            message.precision.set_scalar(1.5 + 0.5 * port as f64);
            message.linear = normals(N, port as u64);
            message
        })
        .collect();
    let slots: Vec<usize> = (0..ports.len()).collect();
    let specs = vec![spec.clone(); ports.len()];
    for (target, port) in ports.iter().enumerate() {
        let mut out = Gaussian::flat(&spec);
        let mut work = factor.workspace(&specs);
        let clock = Instant::now();
        let messages = Incoming::new(&incoming, &slots);
        let mut context = Context::new(messages, &mut work);
        rule.message(&mut context, target, &mut out)?;
        let rounds = (BUDGET / clock.elapsed().as_secs_f64()).clamp(3.0, ROUNDS);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rounds = rounds as usize;
        let mut contestants: [Contestant<'_>; 1] = [Box::new(|| {
            time(|| rule.message(&mut context, target, &mut out))
        })];
        let seconds = medians(rounds, &mut contestants)[0];
        line(&format!("{name}, to {port}"), seconds / N as f64, "");
    }
    Ok(())
}
