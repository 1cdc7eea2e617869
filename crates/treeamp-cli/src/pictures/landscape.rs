//! The free entropy against the error of a signal.

use treeamp::algorithms::state_evolution::Place;
use treeamp::algorithms::state_evolution::phases::{FixedPoint, PhaseReport};
use treeamp_lab::experiment::phase_name;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};

/// The curve, with the fixed points on it.
pub fn figure(title: &str, signal: &str, places: &[Place], report: &PhaseReport) -> Figure {
    let phase = phase_name(report.phase);
    let mut panel = Panel::new(
        format!("{phase} phase: higher is likelier, and runs climb from the right"),
        Axis::log(format!("mean squared error of {signal}")).with_zero(),
        Axis::linear("free entropy"),
    );
    for series in curves(places) {
        panel = panel.series(series);
    }
    let one = std::slice::from_ref;
    let starts = [
        ("uninformed start", one(&report.uninformed)),
        ("partly informed start", &report.between),
        ("informed start", one(&report.informed)),
    ];
    for (k, (name, points)) in starts.into_iter().enumerate() {
        // the curve rises without bound to an exact recovery: a word is all that there is to show
        let (shown, beyond): (Vec<&FixedPoint>, Vec<&FixedPoint>) =
            points.iter().partition(|p| p.entropy.is_some());
        if !shown.is_empty() {
            let heights = shown.iter().filter_map(|p| Some((p.mse, -p.entropy?)));
            panel = panel.series(mark(k, Series::marks(name, heights)));
        }
        if !beyond.is_empty() {
            let name = format!("{name}: exact recovery, of free entropy without bound");
            panel = panel.series(mark(k, Series::marks(name, [])));
        }
    }
    Figure::new(title).panel(panel).panel_size(620.0, 420.0)
}

/// The marks of the starts, in the order of what they know.
fn mark(start: usize, series: Series) -> Series {
    match start {
        0 => series.ink(Ink::Orange).mark(Mark::Circle).size(9.0),
        1 => series.ink(Ink::Orange).mark(Mark::Dot).size(6.0),
        _ => series.ink(Ink::Black).mark(Mark::Dot).size(6.0),
    }
}

/// The free entropy. Where the rest of the tree has two states, from an uninformed start and from an informed one, there is a curve of
/// each, and the curve beside them goes on from the nearer one: no line crosses the gap between two states.
fn curves(places: &[Place]) -> Vec<Series> {
    let here = |p: &Place| (p.mse, p.free_entropy);
    let gap = (f64::NAN, f64::NAN);
    let (mut plain, mut informed) = (Vec::new(), Vec::new());
    for (k, place) in places.iter().enumerate() {
        if let Some(before) = k.checked_sub(1).map(|k| &places[k]) {
            let nearer = |up: f64, low: &Place, to: &Place| {
                (up - to.free_entropy).abs() < (low.free_entropy - to.free_entropy).abs()
            };
            match (before.informed, place.informed) {
                (Some(up), None) if nearer(up, before, place) => {
                    informed.extend([here(place), gap]);
                    plain.push(gap);
                }
                (None, Some(up)) if nearer(up, place, before) => {
                    informed.extend([gap, here(before)]);
                    plain.push(gap);
                }
                (Some(_), Some(_)) => {}
                _ => informed.push(gap),
            }
        }
        plain.push(here(place));
        informed.push(place.informed.map_or(gap, |up| (place.mse, up)));
    }
    let plain = Series::line("free entropy", plain).ink(Ink::Blue);
    if places.iter().all(|p| p.informed.is_none()) {
        return vec![plain];
    }
    let informed = Series::line("the same, other signals known at the start", informed);
    vec![plain, informed.ink(Ink::Blue).dashed()]
}
