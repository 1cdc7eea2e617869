//! Conformance of any factor with an expectation propagation rule, the catalogue's and yours:
//! the derivatives of its log-partition are the moments its messages imply.

use crate::belief::{Gaussian, Moments, SignalSpec};
use crate::factor::{Factor, Incoming};

/// Checks at one set of incoming messages (proper, isotropic), for every port $i$:
///
/// - $\partial A/\partial b_i = r_i$ along the direction of $r_i$ and along $b_i$,
/// - $-2\,\partial A/\partial a_i = \|r_i\|^2 + n\,v_i$,
/// - the message is what the moments say: $a_i + a_i' = 1/v_i$, $b_i + b_i' = r_i/v_i$,
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
    let slots: Vec<usize> = (0..incoming.len()).collect();
    let mut work = vec![0.0; factor.workspace_len(specs)];
    factor.prepare().map_err(|e| format!("{name}: {e}"))?;
    let mut value = |messages: &[Gaussian]| {
        rule.log_partition(Incoming::new(messages, &slots), &mut work)
            .map_err(|e| format!("{name}: {e}"))
    };
    let base = value(incoming)?;
    for (port, spec) in specs.iter().enumerate() {
        let n = spec.len() as f64;
        let mut moments = Moments::zeros(spec);
        let mut scratch = vec![0.0; factor.workspace_len(specs)];
        let view = Incoming::new(incoming, &slots);
        rule.moments(view, port, &mut moments, &mut scratch)
            .map_err(|e| e.to_string())?;
        let (r, v) = (&moments.mean, moments.average_variance());
        let own = &incoming[port];
        for direction in [r.clone(), own.linear.clone()] {
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
        let square: f64 = r.iter().map(|r| r * r).sum::<f64>() + n * v;
        let h = 1e-4 / square.max(f64::MIN_POSITIVE);
        let tightened = |s: f64| {
            let mut messages = incoming.to_vec();
            let a = messages[port].precision.scalar();
            messages[port].precision.set_scalar(a + s * h);
            messages
        };
        let slope = -(value(&tightened(1.0))? - value(&tightened(-1.0))?) / h;
        close(name, port, "-2 dA/da", slope, square, square, tolerance)?;
        let mut message = own.clone();
        rule.message(view, port, &mut message, &mut scratch)
            .map_err(|e| e.to_string())?;
        let total = own.precision.scalar() + message.precision.scalar();
        close(
            name,
            port,
            "precision of the belief",
            total,
            1.0 / v,
            1.0 / v,
            1e-10,
        )?;
        for (i, r) in r.iter().enumerate() {
            let mean = (own.linear[i] + message.linear[i]) / total;
            close(
                name,
                port,
                "mean of the belief",
                mean,
                *r,
                r.abs().max(v.sqrt()),
                1e-10,
            )?;
        }
    }
    let mut scratch = vec![0.0; factor.workspace_len(specs)];
    let excess = rule
        .excess(Incoming::new(incoming, &slots), &mut scratch)
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
