//! What a run costs, before it: operations and memory of every factor, and a sentence on them.

use std::fmt;

use super::start::structured_bytes;
use super::{Engine, Options};
use crate::engine::Algorithm;
use crate::factor::Cost;
use crate::model::{Tree, Variable};

/// What a run on a tree costs, to an order of magnitude: estimated from sizes, nothing is computed for it.
///
/// Displayed it is a phrase, such as "about 30 s of set-up and about 14 s a sweep (nearly all in `gradient`), 1 GB".
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// What each factor costs, and each variable with a dense belief, by name.
    pub parts: Vec<(String, Cost)>,
    /// Bytes of messages, beliefs, matrices and what is worked in.
    pub bytes: f64,
}

impl Estimate {
    /// Of expectation propagation on a tree; sweeps of other algorithms on data cost as much.
    #[must_use]
    pub fn of(tree: &Tree) -> Self {
        /// Numbers that are held for every component of an isotropic variable: messages, a way back, moments.
        const HELD: f64 = 12.0;
        let costs = tree.factors().iter().enumerate();
        let factors =
            costs.map(|(f, node)| (node.name.clone(), node.factor.cost(&tree.port_specs(f))));
        let variables = tree.variables().iter();
        let dense = variables.filter_map(|v| Some((v.name.clone(), dense_belief(v)?)));
        let parts: Vec<(String, Cost)> = factors.chain(dense).collect();
        let numbers: f64 = tree.variables().iter().map(|v| v.spec.len() as f64).sum();
        let structured: u128 = structured_bytes(tree, &Options::default())
            .iter()
            .fold(0, |t, b| t.saturating_add(*b));
        let own: f64 = parts.iter().map(|(_, c)| c.bytes).sum();
        Self {
            parts,
            bytes: 8.0 * HELD * numbers + own.max(structured as f64),
        }
    }

    /// All parts together.
    #[must_use]
    pub fn total(&self) -> Cost {
        self.parts
            .iter()
            .fold(Cost::default(), |total, (_, c)| total + *c)
    }

    /// Seconds before the first sweep.
    #[must_use]
    pub fn set_up_seconds(&self) -> f64 {
        Cost::seconds(self.total().set_up)
    }

    /// Seconds of a sweep.
    #[must_use]
    pub fn sweep_seconds(&self) -> f64 {
        Cost::seconds(self.total().sweep)
    }

    /// The part that takes most of the time of set-up and ten sweeps, where it takes over nine tenths of it.
    #[must_use]
    pub fn dearest(&self) -> Option<&str> {
        let work = |c: &Cost| c.set_up + 10.0 * c.sweep;
        let (name, most) = self
            .parts
            .iter()
            .max_by(|(_, a), (_, b)| work(a).total_cmp(&work(b)))?;
        (work(most) > 0.9 * work(&self.total())).then_some(name.as_str())
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set_up = self.set_up_seconds();
        if set_up > 0.1 * self.sweep_seconds() {
            write!(f, "{} of set-up and ", duration(set_up))?;
        }
        write!(f, "{} a sweep", duration(self.sweep_seconds()))?;
        if let Some(name) = self.dearest() {
            write!(f, " (nearly all in `{name}`)")?;
        }
        write!(f, ", {}", size(self.bytes))
    }
}

/// Blocks are inverted for every message and for the moments: $3 d^3$ operations each.
fn dense_belief(variable: &Variable) -> Option<Cost> {
    let len = variable.spec.len();
    let dim = variable.spec.structure.block_dim(len)? as f64;
    let inversions = (variable.edges.len() + 1) as f64 * len as f64 / dim;
    Some(Cost {
        sweep: 3.0 * inversions * dim.powi(3),
        ..Cost::default()
    })
}

/// A time in a unit that suits it.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => "less than a millisecond".to_owned(),
        s if s < 1.0 => format!("about {} ms", rounded(1e3 * s)),
        s if s < 120.0 => format!("about {} s", rounded(s)),
        s if s < 7200.0 => format!("about {} minutes", rounded(s / 60.0)),
        s => format!("about {} hours", rounded(s / 3600.0)),
    }
}

/// Memory in a unit that suits it.
fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e6 => "less than a megabyte".to_owned(),
        b if b < 1e9 => format!("{} MB", rounded(b / 1e6)),
        b => format!("{} GB", rounded(b / 1e9)),
    }
}

/// One digit, two from ten on.
fn rounded(x: f64) -> String {
    let unit = 10_f64.powf((x.log10().floor() - 1.0).max(0.0));
    let x = (x / unit).round() * unit;
    format!("{x:.0}")
}

impl<A: Algorithm> Engine<'_, A> {
    /// What the run costs, to an order of magnitude.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        Estimate::of(self.tree)
    }
}
