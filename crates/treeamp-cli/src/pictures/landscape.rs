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
        Axis::log(format!("mean squared error of {signal}")),
        Axis::linear("free entropy"),
    );
    for series in curves(places) {
        panel = panel.series(series);
    }
    let smallest = places.iter().map(|p| p.mse).fold(f64::INFINITY, f64::min);
    // an error of zero is drawn at the end of the curve
    let place = |point: &FixedPoint| {
        let height = -point.entropy?;
        Some((point.mse.max(smallest), height))
    };
    if let Some(point) = place(&report.uninformed) {
        let series = Series::marks("uninformed start", [point]);
        panel = panel.series(series.ink(Ink::Orange).mark(Mark::Circle).size(9.0));
    }
    let between: Vec<_> = report.between.iter().filter_map(place).collect();
    if !between.is_empty() {
        let series = Series::marks("partly informed start", between);
        panel = panel.series(series.ink(Ink::Orange).mark(Mark::Dot).size(6.0));
    }
    if let Some(point) = place(&report.informed) {
        let series = Series::marks("informed start", [point]);
        panel = panel.series(series.ink(Ink::Black).mark(Mark::Dot).size(6.0));
    }
    Figure::new(title).panel(panel).panel_size(620.0, 420.0)
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
