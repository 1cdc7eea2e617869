//! Checks of a law's averages over its own teacher, what state evolution is made of: identities between overlaps and
//! potentials, and the same averages over draws. For real and complex laws; overlaps and potentials are per real component.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::laws::Outcome;
use crate::belief::{OverlapFields, Overlaps};
use crate::factor::{Averaged, EnsembleRule, Factor};
use crate::scalar::{Elem, ScalarChannel, ScalarLikelihood, ScalarPrior, Tilt};
use crate::separable::{IidLaw, ObservedLaw};

/// Draws of the teacher that an average is compared with.
const DRAWS: usize = 60_000;
/// Standard errors that the two may differ by.
const ERRORS: f64 = 5.0;
/// Fields at which identities are checked.
const FIELDS: [f64; 4] = [0.01, 0.3, 2.0, 40.0];
/// A student who is mistaken about the noise, so that $m$, $q$ and $\tau - v$ are three numbers.
const MISTAKEN: OverlapFields = OverlapFields {
    m_hat: 0.9,
    q_hat: 0.6,
    tau_hat: 0.8,
};
/// The teacher's $\hat\tau_0$ on the input of a likelihood or a channel.
const TAU0_HAT: f64 = 0.8;

/// Every check of a prior's averages.
///
/// # Errors
/// The first identity that fails, or an average that is not that of draws.
pub fn check_prior_average<E: Elem, P: ScalarPrior<E>>(law: &P) -> Outcome {
    let factor = law.clone().limit();
    check_average(&factor, &[0.0], &[1.0])?;
    let fields = [MISTAKEN];
    let at = Averaged {
        fields: &fields,
        tau0_hat: &[0.0],
    };
    compare(&factor, at, |rng| {
        let x0 = law.sample(rng);
        let t = law.tilted(MISTAKEN.a(), seen(x0, MISTAKEN, rng));
        let port = per_component(x0, t.mean, t.variance);
        (vec![port], t.log_z / E::REAL_LEN as f64)
    })
}

/// Every check of a likelihood's averages over Gaussian inputs, if it says how its outputs are distributed.
///
/// # Errors
/// The first identity that fails, or an average that is not that of draws.
pub fn check_likelihood_average<E: Elem, L: ScalarLikelihood<E>>(law: &L) -> Outcome {
    if law.outputs().is_none() {
        return Ok(());
    }
    let factor = law.clone().unspecified();
    check_average(&factor, &[TAU0_HAT], &[1.0])?;
    let fields = [MISTAKEN];
    let at = Averaged {
        fields: &fields,
        tau0_hat: &[TAU0_HAT],
    };
    compare(&factor, at, |rng| {
        let z0 = normal::<E>(rng).scale(TAU0_HAT.sqrt().recip());
        let y = law.sample(z0, rng);
        let t = law.tilted(y, MISTAKEN.a(), seen(z0, MISTAKEN, rng));
        let port = per_component(z0, t.mean, t.variance);
        (vec![port], t.log_z / E::REAL_LEN as f64)
    })
}

/// Every check of a channel's averages over Gaussian inputs, at both of its ends.
///
/// # Errors
/// The first identity that fails, or an average that is not that of draws.
pub fn check_channel_average<C: ScalarChannel + Factor>(law: &C) -> Outcome {
    let size = C::Out::REAL_LEN as f64 / C::In::REAL_LEN as f64;
    let tau0_hat = [TAU0_HAT, 0.0];
    check_average(law, &tau0_hat, &[1.0, size])?;
    let fields = [
        MISTAKEN,
        OverlapFields {
            m_hat: 0.5,
            q_hat: 0.7,
            tau_hat: 0.1,
        },
    ];
    let at = Averaged {
        fields: &fields,
        tau0_hat: &tau0_hat,
    };
    compare(law, at, |rng| {
        let z0 = normal::<C::In>(rng).scale(TAU0_HAT.sqrt().recip());
        let x0 = ScalarChannel::sample(law, z0, rng);
        let (bz, bx) = (seen(z0, fields[0], rng), seen(x0, fields[1], rng));
        let tilt = |at: usize| fields[at].a();
        let (a, b) = (tilt(0), bz);
        let t = law.tilted(Tilt { a, b }, Tilt { a: tilt(1), b: bx });
        let ends = vec![
            per_component(z0, t.mean_z, t.variance_z),
            per_component(x0, t.mean_x, t.variance_x),
        ];
        (ends, t.log_z / C::In::REAL_LEN as f64)
    })
}

/// Identities of any factor that is its own teacher. `sizes` are the numbers of real components at the ports relative to
/// the first, $\alpha_i$:
///
/// - $m + v = \tau_0$, $q = m$ and $\partial\bar A/\partial\hat m = \frac12\alpha m$ in the Bayes-optimal setting,
/// - $\partial\bar A/\partial\hat m = \alpha m$, $-2\,\partial\bar A/\partial\hat q = \alpha q$, $-2\,\partial\bar A/\partial\hat\tau = \alpha\tau$ for any
///   student,
/// - $H = \sum_i\frac12\alpha_i\hat m_i\tau_i - \bar A + A^{(0)}$,
/// - what stays unknown of the variable of a single port is $\lim a v$.
///
/// # Errors
/// The first identity that fails, or a factor without state evolution.
pub fn check_average(factor: &dyn Factor, tau0_hat: &[f64], sizes: &[f64]) -> Outcome {
    let name = factor.name().to_owned();
    let Some(rule) = factor.ensemble() else {
        return Err(format!("`{name}` has no state evolution"));
    };
    let case = Case {
        factor,
        rule,
        tau0_hat,
        sizes,
    };
    for m_hat in FIELDS {
        let at = |e: String| format!("`{name}` at a field of {m_hat}: {e}");
        case.bayes_optimal(m_hat).map_err(at)?;
    }
    case.mistaken().map_err(|e| format!("`{name}`: {e}"))?;
    if sizes.len() > 1 {
        return Ok(());
    }
    let far = 1e9;
    let o = case.overlaps(&[bayes(far, tau0_hat[0])], 0)?;
    let dimension = rule.unknown_dimension(tau0_hat, 0);
    let dimension = dimension.map_err(|e| e.to_string())?;
    // logarithms over the precision, or the width of a transition
    near("unknown dimension", far * o.v, dimension, 1e-3)
}

struct Case<'a> {
    factor: &'a dyn Factor,
    rule: &'a dyn EnsembleRule,
    tau0_hat: &'a [f64],
    sizes: &'a [f64],
}

impl Case<'_> {
    fn overlaps(&self, fields: &[OverlapFields], port: usize) -> Result<Overlaps, String> {
        let tau0_hat = self.tau0_hat;
        let at = Averaged { fields, tau0_hat };
        let found = self.rule.overlaps(self.factor, at, port);
        found.map_err(|e| e.to_string())
    }

    fn potential(&self, fields: &[OverlapFields]) -> f64 {
        let tau0_hat = self.tau0_hat;
        let at = Averaged { fields, tau0_hat };
        self.rule.potential(self.factor, at).unwrap_or(f64::NAN)
    }

    /// The slope of the potential when `change` moves the fields of a port by so much.
    fn slope(
        &self,
        fields: &[OverlapFields],
        port: usize,
        h: f64,
        change: &dyn Fn(&mut OverlapFields, f64),
    ) -> f64 {
        let moved = |by: f64| {
            let mut fields = fields.to_vec();
            change(&mut fields[port], by);
            self.potential(&fields)
        };
        (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h)
    }

    fn bayes_optimal(&self, m_hat: f64) -> Outcome {
        let fields: Vec<OverlapFields> = self.tau0_hat.iter().map(|t| bayes(m_hat, *t)).collect();
        let mut ports = Vec::new();
        for (port, size) in self.sizes.iter().enumerate() {
            let o = self.overlaps(&fields, port)?;
            let tau0 = self.rule.second_moment(self.tau0_hat, port);
            let tau0 = tau0.map_err(|e| e.to_string())?;
            near("tau0", o.tau0, tau0, 1e-10 * tau0)?;
            near("m + v", o.m + o.v, tau0, 1e-8 * tau0)?;
            near("q", o.q(), o.m, 1e-8 * tau0)?;
            let h = 1e-3 * m_hat;
            let rise = self.slope(&fields, port, h, &|f, by| {
                f.m_hat += by;
                f.q_hat += by;
            });
            // potentials are good to some 1e-12, averages over two ports to 1e-10
            let noise = if self.sizes.len() == 1 { 1e-11 } else { 1e-9 };
            let allowed = 1e-6 * tau0 + noise / h;
            near("dA/dm", rise, 0.5 * size * o.m, allowed)?;
            ports.push((*size, tau0));
        }
        let at = Averaged {
            fields: &fields,
            tau0_hat: self.tau0_hat,
        };
        let entropy = self.rule.entropic_potential(self.factor, at, &ports);
        let free = self.rule.prior_potential(self.tau0_hat);
        let (Ok(entropy), Ok(free)) = (entropy, free) else {
            return Err("no entropic potential".to_owned());
        };
        let signal: f64 = ports.iter().map(|(a, t)| 0.5 * a * m_hat * t).sum();
        let difference = signal - self.potential(&fields) + free;
        near("H", entropy, difference, 1e-8 * (1.0 + signal))
    }

    fn mistaken(&self) -> Outcome {
        let fields: Vec<OverlapFields> = self.sizes.iter().map(|_| MISTAKEN).collect();
        for (port, size) in self.sizes.iter().enumerate() {
            let o = self.overlaps(&fields, port)?;
            let slope =
                |change: &dyn Fn(&mut OverlapFields, f64)| self.slope(&fields, port, 5e-3, change);
            let allowed = 1e-6 * (1.0 + o.tau());
            let rise = slope(&|f, by| f.m_hat += by);
            near("mistaken: dA/dm", rise, size * o.m, allowed)?;
            let fall = -2.0 * slope(&|f, by| f.q_hat += by);
            near("mistaken: -2 dA/dq", fall, size * o.q(), allowed)?;
            let fall = -2.0 * slope(&|f, by| f.tau_hat += by);
            near("mistaken: -2 dA/dtau", fall, size * o.tau(), allowed)?;
        }
        Ok(())
    }
}

/// What a draw says about the overlaps $m$, $q$, $v$ of a port.
type Sample = [f64; 3];

/// Overlaps and potential against means over draws, by their measured standard errors.
fn compare(
    factor: &dyn Factor,
    at: Averaged<'_>,
    mut draw: impl FnMut(&mut ChaCha8Rng) -> (Vec<Sample>, f64),
) -> Outcome {
    let name = factor.name();
    let Some(rule) = factor.ensemble() else {
        return Err(format!("`{name}` has no state evolution"));
    };
    let text = |e: crate::FactorError| format!("`{name}`: {e}");
    let mut expected = Vec::new();
    for port in 0..at.fields.len() {
        let o = rule.overlaps(factor, at, port).map_err(text)?;
        expected.extend([o.m, o.q(), o.v]);
    }
    expected.push(rule.potential(factor, at).map_err(text)?);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (mut sum, mut square) = (vec![0.0; expected.len()], vec![0.0; expected.len()]);
    for _ in 0..DRAWS {
        let (ports, log_z) = draw(&mut rng);
        let values = ports.into_iter().flatten().chain([log_z]);
        for ((value, e), (sum, square)) in
            values.zip(&expected).zip(sum.iter_mut().zip(&mut square))
        {
            *sum += value - e;
            *square += (value - e).powi(2);
        }
    }
    let n = DRAWS as f64;
    for (i, (sum, square)) in sum.iter().zip(&square).enumerate() {
        let error = (square / n / n).sqrt();
        let what = ["m", "q", "v"]
            .get(i % 3)
            .filter(|_| i + 1 < expected.len());
        let what = what.map_or("potential".to_owned(), |w| format!("{w} of port {}", i / 3));
        let text = |e: String| format!("`{name}`, over draws: {e}");
        let rounding = 1e-10 * expected[i].abs();
        let allowed = ERRORS * error + rounding;
        near(&what, sum / n + expected[i], expected[i], allowed).map_err(text)?;
    }
    Ok(())
}

fn bayes(m_hat: f64, tau_hat: f64) -> OverlapFields {
    OverlapFields {
        m_hat,
        q_hat: m_hat,
        tau_hat,
    }
}

fn normal<E: Elem>(rng: &mut ChaCha8Rng) -> E {
    let parts: [f64; 2] = [0, 1].map(|_| StandardNormal.sample(rng));
    E::view(&parts[..E::REAL_LEN])[0]
}

/// $b = \hat m x_0 + \sqrt{\hat q}\,\xi$.
fn seen<E: Elem>(x0: E, fields: OverlapFields, rng: &mut ChaCha8Rng) -> E {
    let noise = normal::<E>(rng).scale(-fields.q_hat.sqrt());
    x0.scale(fields.m_hat).minus(noise)
}

fn per_component<E: Elem>(x0: E, mean: E, variance: f64) -> Sample {
    let d = E::REAL_LEN as f64;
    [x0.dot(mean) / d, mean.norm_sqr() / d, variance]
}

fn near(name: &str, got: f64, expected: f64, tolerance: f64) -> Outcome {
    if (got - expected).abs() <= tolerance {
        return Ok(());
    }
    Err(format!(
        "{name}: {got} instead of {expected} (tolerance {tolerance:.1e})"
    ))
}
