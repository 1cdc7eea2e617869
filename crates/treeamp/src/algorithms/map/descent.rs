//! Energies without a lower bound. Plain steps of a splitting then go on for ever, all of them alike: $x_{k+1} - x_k \to d$
//! with an energy that falls along $d$ as far as one looks. Accelerated ones leap to where nothing has digits, and find that
//! factors agree there.

use super::agreement::solution_of;
use super::solution::{Solution, believed, undetermined};
use super::steps::Splitting;
use crate::belief::{Gaussian, mean_square};
use crate::engine::graph::Graph;
use crate::error::RunError;
use crate::model::{Edge, Tree};

/// Plain steps after which a direction is looked at: it comes near the limit as fast as steps would come near a minimiser.
const STEPS: [usize; 5] = [30, 100, 300, 1000, 3000];
/// Precisions of the steps, one after the other: how fast that is depends on them.
const PRECISIONS: [f64; 3] = [1.0, 1e-3, 1e-6];
/// How far along, in multiples of the largest place, and how much of its first slope the energy must keep.
const REACHES: [f64; 3] = [1.0, 10.0, 1e3];
const KEPT: f64 = 0.5;
/// A fall that counts, as a fraction of the energies.
const FALL: f64 = 1e-6;

/// What plain steps say about the end of a run.
pub(super) enum Verdict {
    /// The energy of a factor falls without bound along its variable.
    Falls { factor: String, variable: String },
    /// They came to a lower energy.
    Above,
    /// Nothing.
    Open,
}

/// Whether there is a direction along which the energy falls as far as one looks, and to less than where a run ended, or on
/// from there.
///
/// # Errors
/// A factor that fails.
pub(super) fn verdict(tree: &Tree, ended: &[Gaussian]) -> Result<Verdict, RunError> {
    let end = solution_of(tree, ended).ok();
    let mut above = false;
    for precision in PRECISIONS {
        if let Some(factor) = fall_at(tree, precision, end.as_ref(), &mut above)? {
            return Ok(named(tree, factor));
        }
    }
    Ok(if above { Verdict::Above } else { Verdict::Open })
}

/// The factor that falls most along the way of plain steps at a precision, or from there through the end of a run; and whether
/// that end is above their energy.
fn fall_at(
    tree: &Tree,
    precision: f64,
    end: Option<&Solution>,
    above: &mut bool,
) -> Result<Option<usize>, RunError> {
    let flat = |e: &Edge| Gaussian::flat(&tree.variables()[e.variable].spec);
    let mut messages: Vec<Gaussian> = tree.edges().iter().map(flat).collect();
    let mut splitting = Splitting::new(tree, &messages);
    splitting.set_precision(precision);
    for steps in STEPS {
        while splitting.evaluations < steps {
            splitting.step()?;
        }
        let mut place = || {
            splitting.step()?;
            splitting.messages_into(&mut messages)?;
            // a constraint on the other side of a penalty holds where the messages meet
            let met = || believed(tree, &Graph::new(tree, &messages).places());
            Ok::<_, RunError>(solution_of(tree, &messages).or_else(|_| met()).ok())
        };
        let (Some(here), Some(next)) = (place()?, place()?) else {
            continue;
        };
        *above |= end.is_some_and(|e| e.is_above(here.energy()));
        let steady = Ray::new(tree, &here, &next).fall();
        let steady = steady.filter(|(_, low)| end.is_none_or(|e| e.is_above(*low)));
        let leap = || {
            let ray = Ray::new(tree, &here, end?);
            ray.fall().filter(|_| ray.goes_on())
        };
        if let Some((factor, _)) = steady.or_else(leap) {
            return Ok(Some(factor));
        }
    }
    Ok(None)
}

fn named(tree: &Tree, factor: usize) -> Verdict {
    let node = &tree.factors()[factor];
    let variable = tree.edges()[node.edges[0]].variable;
    Verdict::Falls {
        factor: node.name.clone(),
        variable: tree.variables()[variable].name.clone(),
    }
}

impl Solution {
    fn size(&self) -> f64 {
        self.energies.iter().map(|(_, e)| e.abs()).sum()
    }

    fn is_above(&self, energy: f64) -> bool {
        self.energy() - energy > FALL * self.size()
    }
}

/// From one place through another, by the variables that no channel makes of others.
struct Ray<'a> {
    tree: &'a Tree,
    from: &'a Solution,
    direction: Vec<Option<Vec<f64>>>,
    /// The step at which it has gone as far as the largest place.
    unit: f64,
}

impl<'a> Ray<'a> {
    fn new(tree: &'a Tree, from: &'a Solution, through: &Solution) -> Self {
        let places = || from.places().iter().zip(undetermined(tree));
        let pairs = places().zip(through.places());
        let direction: Vec<Option<Vec<f64>>> = pairs
            .map(|((x, free), y)| free.then(|| y.iter().zip(x).map(|(y, x)| y - x).collect()))
            .collect();
        let largest = |squares: &mut dyn Iterator<Item = f64>| squares.fold(0.0, f64::max).sqrt();
        let size = largest(&mut places().filter(|p| p.1).map(|(x, _)| mean_square(x)));
        let step = largest(&mut direction.iter().flatten().map(|d| mean_square(d)));
        Self {
            tree,
            from,
            direction,
            unit: size / step,
        }
    }

    fn energies(&self, step: f64) -> Vec<f64> {
        let moved = |(x, d): (&Vec<f64>, &Option<Vec<f64>>)| {
            let d = d.as_ref()?;
            Some(x.iter().zip(d).map(|(x, d)| x + step * d).collect())
        };
        let pairs = self.from.places().iter().zip(&self.direction);
        self.from
            .energies_from(self.tree, pairs.map(moved).collect())
    }

    /// The factor that falls most and the energy at the far end, if the energy falls all along and keeps its slope.
    fn fall(&self) -> Option<(usize, f64)> {
        if !(self.unit > 0.0 && self.unit.is_finite()) {
            return None;
        }
        let start: Vec<f64> = self.from.energies.iter().map(|(_, e)| *e).collect();
        let (mut last, mut at, mut first) = (self.from.energy(), 0.0, None);
        let mut far = Vec::new();
        for reach in REACHES {
            let step = reach * self.unit;
            far = self.energies(step);
            let energy: f64 = far.iter().sum();
            let slope = (last - energy) / (step - at);
            let least = first.map_or(0.0, |first: f64| KEPT * first);
            if !(slope > least) {
                return None;
            }
            first = first.or(Some(slope));
            (last, at) = (energy, step);
        }
        let size: f64 = far.iter().map(|e| e.abs()).sum();
        let falls = start.iter().zip(&far).map(|(start, far)| start - far);
        let most = falls.enumerate().max_by(|x, y| x.1.total_cmp(&y.1))?;
        (self.from.energy() - last > FALL * size).then_some((most.0, last))
    }

    /// The energy falls further beyond the second place.
    fn goes_on(&self) -> bool {
        let sum = |step: f64| -> (f64, f64) {
            let all = self.energies(step);
            (all.iter().sum(), all.iter().map(|e| e.abs()).sum())
        };
        let ((there, size), (beyond, _)) = (sum(1.0), sum(2.0));
        there - beyond > FALL * size
    }
}
