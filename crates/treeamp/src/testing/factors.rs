//! Conformance of any factor with an expectation propagation rule, the catalogue's and yours:
//! the derivatives of its log-partition are the moments its messages imply.

use crate::belief::{Gaussian, Message as _, Moments, SignalSpec};
use crate::factor::{Context, Factor, Incoming};

/// Checks at one set of incoming messages (proper, of any structure, dense blocks in natural form), for every port $i$:
///
/// - $\partial A/\partial b_i = r_i$ along the direction of $r_i$ and along $b_i$,
/// - $-2\,\partial A/\partial a_i = r_i^T D r_i + \mathrm{tr}\,D v_i$ along directions $D$ of the structure: the identity, and
///   one with entries of all sizes,
/// - the message is what the moments say: the belief of both has mean $r_i$ and covariance $v_i$,
/// - the excess is the log-partition less the potentials of the incoming messages.
///
/// # Errors
/// A sentence about the first identity that fails beyond `tolerance` (relative).
pub fn check_factor(
    factor: &dyn Factor,
    specs: &[SignalSpec],
    incoming: &[Gaussian],
    tolerance: f64,
) -> Result<(), String> {
    let name = factor.name();
    let rule = factor
        .posterior()
        .ok_or(format!("{name}: no expectation propagation rule"))?;
    factor
        .check_beliefs(specs)
        .map_err(|e| format!("{name}, port {}: expected {}", e.port, e.supported))?;
    let slots: Vec<usize> = (0..incoming.len()).collect();
    factor.prepare().map_err(|e| format!("{name}: {e}"))?;
    let mut work = factor.workspace(specs);
    let mut value = |messages: &[Gaussian]| {
        let mut context = Context::new(Incoming::new(messages, &slots), &mut work);
        rule.log_partition(&mut context)
            .map_err(|e| format!("{name}: {e}"))
    };
    let base = value(incoming)?;
    for (port, spec) in specs.iter().enumerate() {
        let mut moments = Moments::zeros(spec);
        let mut workspace = factor.workspace(specs);
        let mut context = Context::new(Incoming::new(incoming, &slots), &mut workspace);
        rule.moments(&mut context, port, &mut moments)
            .map_err(|e| e.to_string())?;
        check_linear(name, port, incoming, &moments, &mut value, tolerance)?;
        check_precision(name, port, incoming, &moments, &mut value, tolerance)?;
        let own = &incoming[port];
        let mut message = own.clone();
        rule.message(&mut context, port, &mut message)
            .map_err(|e| e.to_string())?;
        message.add_assign(own);
        let mut belief = Moments::zeros(spec);
        message
            .moments_into(&mut belief)
            .map_err(|e| format!("{name}, port {port}: {e}"))?;
        check_belief(name, port, &belief, &moments)?;
    }
    let mut workspace = factor.workspace(specs);
    let mut context = Context::new(Incoming::new(incoming, &slots), &mut workspace);
    let excess = rule
        .excess(&mut context)
        .map_err(|e| format!("{name}: {e}"))?;
    let own: f64 = incoming.iter().map(Gaussian::own_potential).sum();
    close(
        name,
        0,
        "excess",
        excess,
        base - own,
        base.abs().max(own.abs()).max(1.0),
        1e-10,
    )
}

type Value<'a> = dyn FnMut(&[Gaussian]) -> Result<f64, String> + 'a;

fn check_linear(
    name: &str,
    port: usize,
    incoming: &[Gaussian],
    moments: &Moments,
    value: &mut Value<'_>,
    tolerance: f64,
) -> Result<(), String> {
    let (r, v) = (&moments.mean, moments.average_variance());
    let n = r.len() as f64;
    for direction in [r.clone(), incoming[port].linear.clone()] {
        let norm = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
        if norm == 0.0 {
            continue;
        }
        // a step of 1e-3 standard deviations of the tilted law, in the units of b
        let h = 1e-3 / (v * n).sqrt() / norm;
        let shifted = |s: f64| {
            let mut messages = incoming.to_vec();
            for (b, d) in messages[port].linear.iter_mut().zip(&direction) {
                *b += s * h * d;
            }
            messages
        };
        let slope = (value(&shifted(1.0))? - value(&shifted(-1.0))?) / (2.0 * h);
        let expected: f64 = direction.iter().zip(r).map(|(d, r)| d * r).sum();
        let scale = expected.abs().max(norm * (v * n).sqrt());
        close(name, port, "dA/db", slope, expected, scale, tolerance)?;
    }
    Ok(())
}

fn check_precision(
    name: &str,
    port: usize,
    incoming: &[Gaussian],
    moments: &Moments,
    value: &mut Value<'_>,
    tolerance: f64,
) -> Result<(), String> {
    let n = moments.mean.len();
    let mut directions = vec![moments.variance.clone(), moments.variance.clone()];
    directions[0].set_identity(1.0);
    if moments.variance.data().len() == 1 {
        directions.pop();
    } else {
        directions[1].fill_with(|i, j| ((1 + i) as f64 * (1 + j) as f64).cos());
    }
    for direction in directions {
        let entries = || (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let second = |(i, j): (usize, usize)| {
            let spread = match moments.variance.data() {
                [v] if i == j => *v,
                _ => moments.variance.entry(i, j),
            };
            direction.entry(i, j) * (moments.mean[i] * moments.mean[j] + spread)
        };
        let expected: f64 = entries().map(second).sum();
        let scale: f64 = entries().map(|at| second(at).abs()).sum();
        let h = 1e-4 / scale.max(f64::MIN_POSITIVE);
        let tightened = |s: f64| {
            let mut messages = incoming.to_vec();
            let data = messages[port].precision.data_mut().iter_mut();
            data.zip(direction.data())
                .for_each(|(a, d)| *a += s * h * d);
            messages
        };
        let slope = -(value(&tightened(1.0))? - value(&tightened(-1.0))?) / h;
        close(name, port, "-2 dA/da", slope, expected, scale, tolerance)?;
    }
    Ok(())
}

fn check_belief(
    name: &str,
    port: usize,
    belief: &Moments,
    moments: &Moments,
) -> Result<(), String> {
    let v = moments.average_variance();
    for (x, y) in belief.variance.data().iter().zip(moments.variance.data()) {
        let scale = if moments.variance.data().len() == 1 {
            *y
        } else {
            v
        };
        close(name, port, "variance of the belief", *x, *y, scale, 1e-10)?;
    }
    for (x, y) in belief.mean.iter().zip(&moments.mean) {
        let scale = y.abs().max(v.sqrt());
        close(name, port, "mean of the belief", *x, *y, scale, 1e-10)?;
    }
    Ok(())
}

fn close(
    name: &str,
    port: usize,
    what: &str,
    got: f64,
    expected: f64,
    scale: f64,
    tolerance: f64,
) -> Result<(), String> {
    if (got - expected).abs() <= tolerance * scale {
        return Ok(());
    }
    Err(format!(
        "{name}, port {port}: {what} is {got:e}, expected {expected:e}"
    ))
}
