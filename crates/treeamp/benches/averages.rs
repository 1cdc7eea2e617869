//! Time of one update of state evolution: the median and the slowest of a thousand, at random fields.
//!
//! Laws are those of the catalogue: a third of the updates are of priors, a third of likelihoods, a third of channels (either end, or
//! the potential). $\hat m$ lies between 0.01 and $10^8$; a mismatched student has $\hat q$ within a factor of five of it, and errs
//! about its own prior by up to a factor of three.
#![allow(missing_docs, clippy::print_stdout)]

mod harness;

use harness::{Outcome, heading, time};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::belief::OverlapFields;
use treeamp::error::FactorError;
use treeamp::extend::*;
use treeamp::factor::Averaged;
use treeamp::prelude::*;

/// Updates of either setting.
const UPDATES: usize = 1000;

/// The laws of one kind, all of them scalar.
struct Kind {
    name: &'static str,
    laws: Vec<Box<dyn Factor>>,
    /// The teacher's own tilts: a standard normal input.
    tau0_hat: &'static [f64],
}

fn kinds() -> Result<[Kind; 3], ModelError> {
    let (mut priors, mut likelihoods, mut channels) = (Vec::new(), Vec::new(), Vec::new());
    macro_rules! prior {
        ($($name:ident $(($module:path))? => $law:expr;)*) => {
            $(priors.push(Box::new($law?.iid(3)) as Box<dyn Factor>);)*
        };
    }
    treeamp::for_each_prior!(prior);
    macro_rules! likelihood {
        ($($name:ident $(($module:path))? => $law:expr, [$($y:expr),*];)*) => {
            $(likelihoods.push(Box::new($law?.unspecified()) as Box<dyn Factor>);)*
        };
    }
    treeamp::for_each_likelihood!(likelihood);
    macro_rules! channel {
        ($($name:ident $(($module:path))? => $law:expr, [$($y:expr),*];)*) => {
            $(
                let law: Result<_, ModelError> = $law;
                channels.push(Box::new(law?) as Box<dyn Factor>);
            )*
        };
    }
    treeamp::for_each_channel!(channel);
    let kind = |name, laws, tau0_hat| Kind {
        name,
        laws,
        tau0_hat,
    };
    Ok([
        kind("prior", priors, &[0.0]),
        kind("likelihood", likelihoods, &[1.0]),
        kind("channel", channels, &[1.0, 0.0]),
    ])
}

/// The time of one update, and a word on it.
type Timed = (f64, String);

/// One update of a kind of law; `None` for a pair that has none: outputs that the student holds impossible.
fn update(
    kind: &Kind,
    bayes: bool,
    rng: &mut ChaCha8Rng,
) -> Result<Option<Timed>, Box<dyn std::error::Error>> {
    let student = kind.laws[rng.random_range(0..kind.laws.len())].as_ref();
    let other = kind.laws[rng.random_range(0..kind.laws.len())].as_ref();
    let teacher = if bayes { student } else { other };
    let mut power = |low: f64, high: f64| 10_f64.powf(rng.random_range(low..high));
    let mut fields = Vec::new();
    for tau0_hat in kind.tau0_hat {
        let (m_hat, noise, tilt) = (power(-2.0, 8.0), power(-0.7, 0.7), power(-0.5, 0.5));
        fields.push(OverlapFields {
            m_hat,
            q_hat: if bayes { m_hat } else { m_hat * noise },
            tau_hat: if bayes { *tau0_hat } else { tau0_hat * tilt },
        });
    }
    let target = rng.random_range(0..=kind.tau0_hat.len());
    let rule = student.ensemble().ok_or("no state evolution")?;
    if !rule.pairs_with(teacher) {
        return Ok(None);
    }
    let at = Averaged {
        fields: &fields,
        tau0_hat: kind.tau0_hat,
    };
    let mut outcome = Ok(());
    let seconds = time(|| {
        outcome = if target < kind.tau0_hat.len() {
            rule.overlaps(teacher, at, target).map(|_| ())
        } else {
            rule.potential(teacher, at).map(|_| ())
        };
    });
    let fields: Vec<String> = fields.iter().map(|f| format!("{:.2e}", f.m_hat)).collect();
    let word = format!(
        "{} of {} at {}, port {target}",
        student.name(),
        teacher.name(),
        fields.join(", ")
    );
    match outcome {
        Ok(()) => Ok(Some((seconds.as_secs_f64(), word))),
        Err(FactorError::Contradiction(_)) => Ok(None),
        Err(error) => Err(format!("{word}: {error}").into()),
    }
}

fn line(name: &str, times: &mut [Timed]) {
    times.sort_by(|x, y| x.0.total_cmp(&y.0));
    let at = |percent: usize| 1e3 * times[(times.len() - 1) * percent / 100].0;
    let (_, slowest) = &times[times.len() - 1];
    println!(
        "  {name:<12} {:>5} updates: median {:>8.3} ms, 90% {:>8.3}, 99% {:>8.3}, slowest {:>8.3} ms ({slowest})",
        times.len(),
        at(50),
        at(90),
        at(99),
        at(100)
    );
}

fn main() -> Outcome {
    let kinds = kinds()?;
    for bayes in [true, false] {
        heading(if bayes {
            "Bayes-optimal updates"
        } else {
            "Mismatched updates"
        });
        let mut all = Vec::new();
        for (i, kind) in kinds.iter().enumerate() {
            let mut rng = ChaCha8Rng::seed_from_u64(i as u64);
            let mut times = Vec::new();
            while times.len() < UPDATES.div_ceil(kinds.len()) {
                match update(kind, bayes, &mut rng) {
                    Ok(timed) => times.extend(timed),
                    Err(error) => println!("  failed: {error}"),
                }
            }
            line(kind.name, &mut times);
            all.append(&mut times);
        }
        line("all", &mut all);
    }
    Ok(())
}
