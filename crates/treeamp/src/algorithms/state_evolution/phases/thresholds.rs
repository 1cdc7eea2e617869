//! Critical ratios of a family of models.

use std::cell::Cell;
use std::ops::{ControlFlow, RangeInclusive};

use super::super::{BayesOptimal, StateEvolution};
use super::dimension::surplus;
use super::map::{Curve, Curves, SignalMap};
use super::{Family, Phase, Search, phase_report_at, unknowns};
use crate::belief::OverlapFields;
use crate::engine::SweepView;
use crate::error::RunError;
use crate::factor::Averaged;
use crate::model::Tree;

/// A push small enough for linear stability.
const TINY: f64 = 1e-14;
/// Sweeps after which the fastest direction dominates a slight overlap, at the latest.
const SLOW: usize = 24;
/// A growth that changes by less than this in a sweep, relative, is that of the fastest direction.
const SETTLED: f64 = 1e-9;
/// A slight overlap, in units of $\tau_0$: a larger one grows otherwise, a smaller one is lost in rounding.
const SLIGHT: RangeInclusive<f64> = 1e-20..=1e-8;
/// An overlap of this fraction of $\tau_0$ is one.
const SOME: f64 = 1e-12;

/// The ratio above which a slight overlap grows: linear stability of the uninformed point, without
/// waiting for a fixed point. All thresholds are also found of a parameter that makes the model harder (a density, a noise): the
/// transition then lies below it.
///
/// # Errors
/// [`RunError::NotDefined`] when the uninformed point is informative by itself (odd outputs, a signal
/// with a mean), with the factor that makes it so; [`RunError::NoTransition`] when it lies outside the range.
pub fn weak_recovery(family: &Family<'_>, signal: &str, search: Search) -> Result<f64, RunError> {
    either_way(family, signal, &search, &|family| {
        search.root("the weak-recovery threshold", |alpha| {
            let tree = family(alpha)?;
            symmetric(&tree, signal)?;
            let trace = overlaps(&tree, signal, TINY, SLOW)?;
            // growth per sweep once the fastest direction dominates
            Ok(growth(&trace).unwrap_or(0.0) - 1.0)
        })
    })
}

/// Sweeps after which the errors at both ends of a range tell which of them is the harder.
const BRIEF: usize = 200;

/// A threshold of a family that grows easier with its parameter, or of one that grows harder (a density, a noise), which is searched
/// from its other end.
fn either_way(
    family: &Family<'_>,
    signal: &str,
    search: &Search,
    threshold: &dyn Fn(&Family<'_>) -> Result<f64, RunError>,
) -> Result<f64, RunError> {
    search.check()?;
    let error = |alpha: f64| -> Result<f64, RunError> {
        let tree = family(alpha)?;
        let theory = StateEvolution::new(&tree)?.max_sweeps(BRIEF);
        let theory = theory.starting_with(&unknowns(&tree, signal), search.points.push)?;
        let o = theory.run()?.overlaps(signal)?;
        Ok(o.mse() / o.tau0)
    };
    // an error there is one of the search as well
    let falls = matches!(
        (error(search.low), error(search.high)),
        (Ok(low), Ok(high)) if low + search.points.same < high
    );
    let turned = |alpha: f64| {
        if falls {
            search.low + search.high - alpha
        } else {
            alpha
        }
    };
    let last = Cell::new(f64::NAN);
    let found = threshold(&|alpha| {
        last.set(turned(alpha));
        family(turned(alpha))
    });
    match found {
        Ok(alpha) => Ok(turned(alpha)),
        Err(RunError::NotReached { what, termination }) => Err(RunError::NotReached {
            what: format!("{what} at {}", last.get()),
            termination: format!(
                "{termination} (`max_sweeps` is {})",
                search.points.max_sweeps
            ),
        }),
        Err(other) => Err(other),
    }
}

/// The last factor by which the overlap grew.
fn growth(trace: &[f64]) -> Option<f64> {
    match trace {
        [.., x, y] if *x > 0.0 => Some(y / x),
        _ => None,
    }
}

/// The overlap $m$ of the signal after each sweep, relative to $\tau_0$, from a start with the given knowledge.
fn overlaps(
    tree: &Tree,
    signal: &str,
    knowledge: f64,
    sweeps: usize,
) -> Result<Vec<f64>, RunError> {
    let mut overlaps = Vec::new();
    let mut watch = |view: &SweepView<'_, BayesOptimal>| {
        let before = growth(&overlaps);
        overlaps.push(view.marginal(signal).map_or(0.0, |p| p.0.m / p.0.tau0));
        // in the first sweeps the start itself is seen, and later on an overlap that is slight no more
        let settled = match (before, growth(&overlaps)) {
            (Some(x), Some(y)) => (x - y).abs() < SETTLED * y,
            _ => false,
        };
        let slight = overlaps.last().is_some_and(|m| SLIGHT.contains(m));
        if view.sweep > 4 && (settled || !slight) {
            return ControlFlow::Break("the growth has settled".to_owned());
        }
        ControlFlow::Continue(())
    };
    let mut theory = StateEvolution::new(tree)?.max_sweeps(sweeps).tolerance(0.0);
    if knowledge > 0.0 {
        theory = theory.starting_with(&unknowns(tree, signal), knowledge)?;
    }
    theory.observed_by(&mut watch)?;
    Ok(overlaps)
}

/// Refuses a model whose uninformed point knows something of the signal, and says why it does.
fn symmetric(tree: &Tree, signal: &str) -> Result<(), RunError> {
    // in the second sweep every factor has heard every other
    let trace = overlaps(tree, signal, 0.0, 2)?;
    if trace.iter().all(|m| *m <= SOME) {
        return Ok(());
    }
    let mut reasons = Vec::new();
    let teacher = StateEvolution::new(tree)?.teacher().clone();
    for (k, node) in tree.factors().iter().enumerate() {
        let (Some(rule), [edge]) = (node.factor.ensemble(), node.edges.as_slice()) else {
            continue;
        };
        let tau0_hat = &teacher.to_factor[k];
        let silent = [OverlapFields {
            m_hat: 0.0,
            q_hat: 0.0,
            tau_hat: tau0_hat[0],
        }];
        let at = Averaged {
            fields: &silent,
            tau0_hat,
        };
        let o = rule.overlaps(node.factor.as_ref(), at, 0);
        if !o.is_ok_and(|o| o.m > SOME * o.tau0) {
            continue;
        }
        let (variable, factor) = (
            &tree.variables()[tree.edges()[*edge].variable].name,
            &node.name,
        );
        reasons.push(if node.inputs == 0 {
            format!("`{variable}` has a mean under its prior `{factor}`")
        } else {
            format!("the output `{factor}` is not even in `{variable}`")
        });
    }
    if reasons.is_empty() {
        reasons.push("a channel gives its output a mean".to_owned());
    }
    Err(RunError::NotDefined {
        what: "a weak-recovery transition".to_owned(),
        why: format!(
            "the uninformed point already has an overlap with `{signal}` at any ratio, because {}",
            reasons.join(" and ")
        ),
    })
}

/// The ratio above which the uninformed start reaches the informed fixed point: the end of the hard
/// phase. Where outputs are continuous and without noise it is that above which the uninformed start recovers the signal, also where no hard
/// phase comes before it. Nothing is iterated for noiseless linear measurements, where their number must exceed the supremum over $s$ of
/// $s\,\mathrm{mmse}(s)$, nor for a prior, a matrix of independent entries and an output, where every fixed point has
/// its ratio; the options of the fixed points are for other trees.
///
/// # Errors
/// [`RunError::NoTransition`] when there is none in the range;
/// [`RunError::NotReached`] when a fixed point near it is not reached within the sweep limit.
pub fn algorithmic_threshold(
    family: &Family<'_>,
    signal: &str,
    search: Search,
) -> Result<f64, RunError> {
    either_way(family, signal, &search, &|family| {
        disappearance(family, signal, search)
    })
}

/// [`algorithmic_threshold`] of a family that grows easier with its parameter.
fn disappearance(family: &Family<'_>, signal: &str, search: Search) -> Result<f64, RunError> {
    let (points, curves) = (&search.points, Curves::default());
    let above = |alpha: f64| {
        let tree = family(alpha)?;
        let map = SignalMap::new(&tree, signal, &curves)?;
        match map.margin()? {
            Some(_) => Ok((map.recovers(points)?, None)),
            None => map.agrees(points),
        }
    };
    let guess = guess(family, signal, search, &curves, Curve::algorithmic)?;
    search.around(guess, "the algorithmic threshold", above)
}

/// Trees whose curve is asked for a threshold.
const GUESSES: usize = 4;

/// A threshold read off the curve of the largest ratio, for families that vary the ratio alone; where other parts of the tree vary with it, off
/// that of the last guess.
fn guess(
    family: &Family<'_>,
    signal: &str,
    search: Search,
    curves: &Curves,
    threshold: impl Fn(&Curve) -> Option<f64>,
) -> Result<Option<f64>, RunError> {
    let mut at = search.high;
    for _ in 0..GUESSES {
        let tree = family(at)?;
        let map = SignalMap::new(&tree, signal, curves)?;
        let Some(curve) = map.ratio_curve() else {
            return Ok(None);
        };
        let Some(ratio) = threshold(curve) else {
            return Ok(None);
        };
        // the ratio of the tree grows as the parameter does, or nearly so
        let next = at * (ratio / curve.ratio());
        if !(next >= search.low && next <= search.high) {
            return Ok(None);
        }
        if (next - at).abs() <= 0.1 * search.tolerance {
            return Ok(Some(next));
        }
        at = next;
    }
    Ok(Some(at))
}

/// The ratio at which a second, informed fixed point appears: the start of the hard (or impossible)
/// phase. For noiseless continuous outputs perfect recovery becomes stable where they outnumber the unknowns.
///
/// # Errors
/// [`RunError::NotDefined`] when both starts lead to one fixed point all over the range; else as [`algorithmic_threshold`].
pub fn informed_threshold(
    family: &Family<'_>,
    signal: &str,
    search: Search,
) -> Result<f64, RunError> {
    either_way(family, signal, &search, &|family| {
        appearance(family, signal, search)
    })
}

/// [`informed_threshold`] of a family that grows easier with its parameter.
fn appearance(family: &Family<'_>, signal: &str, search: Search) -> Result<f64, RunError> {
    let (points, curves) = (&search.points, Curves::default());
    let above = |alpha: f64| {
        let tree = family(alpha)?;
        let map = SignalMap::new(&tree, signal, &curves)?;
        if let Some(margin) = map.margin()? {
            if map.recovers(points)? {
                return Ok((false, None));
            }
            if margin > 0.0 {
                return Ok((true, None));
            }
        }
        let (one, error) = map.agrees(points)?;
        Ok((!one, error))
    };
    let what = "the informed threshold";
    let guess = guess(family, signal, search, &curves, Curve::informed)?;
    match search.around(guess, what, above) {
        // not above the range: nothing is beyond a transition that the family does not have
        Err(RunError::NoTransition {
            low,
            high,
            holds: false,
            ..
        }) => Err(RunError::NotDefined {
            what: what.to_owned(),
            why: format!(
                "the uninformed and the informed start lead to one fixed point at all ratios that were looked at between {low} and {high}"
            ),
        }),
        found => found,
    }
}

/// The ratio above which the data determine the better fixed point: where the entropies of the two
/// cross. For noiseless continuous outputs it is where the outputs outnumber the unknowns, exactly.
///
/// # Errors
/// As [`algorithmic_threshold`].
pub fn information_threshold(
    family: &Family<'_>,
    signal: &str,
    search: Search,
) -> Result<f64, RunError> {
    either_way(family, signal, &search, &|family| {
        let curves = Curves::default();
        let determined = |alpha: f64| {
            let tree = family(alpha)?;
            let teacher = StateEvolution::new(&tree)?.teacher().clone();
            if let (Some(surplus), _) = surplus(&tree, &teacher, signal)? {
                return Ok(surplus > 0.0);
            }
            // one fixed point is the true one
            let map = SignalMap::new(&tree, signal, &curves)?;
            if map.ratio_curve().is_some_and(Curve::agrees) {
                return Ok(true);
            }
            Ok(phase_report_at(&tree, signal, &search.points)?.phase != Phase::Impossible)
        };
        let what = "the information-theoretic threshold";
        let missed = match search.bisect(what, determined) {
            Err(missed @ RunError::NoTransition { .. }) => missed,
            found => return found,
        };
        // where two fixed points exist only in a narrow range, that range is where to look
        let ends = (
            appearance(family, signal, search),
            disappearance(family, signal, search),
        );
        let (Ok(from), Ok(to)) = ends else {
            return Err(missed);
        };
        let narrow = Search {
            low: (from - search.tolerance).max(search.low),
            high: (to + search.tolerance).min(search.high),
            ..search
        };
        match narrow.bisect(what, determined) {
            Err(RunError::NoTransition { .. } | RunError::Option { .. }) => Err(missed),
            found => found,
        }
    })
}
