//! Energies without a minimiser: differences of iterates then come to a direction along which the energy falls for ever, without a lower bound
//! or towards an infimum that no point attains.

use super::point::{Solution, undetermined};
use crate::belief::mean_square;
use crate::model::Tree;

/// How far the energy is looked at, in multiples of the largest place, and how much of its first slope it must keep.
const REACHES: [f64; 3] = [1.0, 10.0, 1e3];
/// Where it loses its slope, it must not rise up to here: no penalty that counts holds it.
const FARTHEST: f64 = 1e12;
const KEPT: f64 = 0.5;
/// A fall that counts, as a fraction of the energies.
const FALL: f64 = 1e-6;

/// An energy that falls as far as one looks.
#[derive(Debug)]
pub(super) struct Fall {
    /// The factor whose energy falls most.
    pub factor: String,
    pub variable: String,
    /// Its slope is lost: it falls to an infimum.
    pub to_infimum: bool,
    /// The largest place where it began.
    pub size: f64,
}

/// From one point through another, by the variables that no channel makes of others.
struct Ray<'a> {
    tree: &'a Tree,
    from: &'a Solution,
    direction: Vec<Option<Vec<f64>>>,
    /// The largest place, and the step at which it has gone as far.
    size: f64,
    unit: f64,
}

/// Where the sum of all energies falls as far as one looks from one point through another.
pub(super) fn falls(tree: &Tree, from: &Solution, through: &Solution) -> Option<Fall> {
    let ray = Ray::new(tree, from, through);
    let (factor, to_infimum) = ray.fall()?;
    let node = &tree.factors()[factor];
    let variable = &tree.variables()[tree.edges()[node.edges[0]].variable];
    Some(Fall {
        factor: node.name.clone(),
        variable: variable.name.clone(),
        to_infimum,
        size: ray.size,
    })
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
            size,
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

    /// The factor that falls most, if the energy falls all along, and whether it loses its slope there.
    fn fall(&self) -> Option<(usize, bool)> {
        if !(self.unit > 0.0 && self.unit.is_finite()) {
            return None;
        }
        let start: Vec<f64> = self.from.energies.iter().map(|(_, e)| *e).collect();
        let (mut last, mut at, mut first) = (self.from.energy(), 0.0, None);
        let mut kept = true;
        let mut far = Vec::new();
        for reach in REACHES {
            let step = reach * self.unit;
            far = self.energies(step);
            let energy: f64 = far.iter().sum();
            let slope = (last - energy) / (step - at);
            if !(slope >= 0.0) {
                return None;
            }
            kept &= slope > first.map_or(0.0, |first: f64| KEPT * first);
            first = first.or(Some(slope));
            (last, at) = (energy, step);
        }
        if !kept {
            let farthest: f64 = self.energies(FARTHEST * self.unit).iter().sum();
            if !(farthest <= last) {
                return None;
            }
        }
        // what is left of energies that fall to nothing is no measure
        let before = start.iter().filter(|_| !kept);
        let size: f64 = far.iter().chain(before).map(|e| e.abs()).sum();
        let falls = start.iter().zip(&far).map(|(start, far)| start - far);
        let most = falls.enumerate().max_by(|x, y| x.1.total_cmp(&y.1))?;
        (self.from.energy() - last > FALL * size).then_some((most.0, !kept))
    }
}
