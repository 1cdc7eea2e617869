//! The free entropy against the error of a signal.

use treeamp::algorithms::state_evolution::Place;
use treeamp::algorithms::state_evolution::phases::{FixedPoint, PhaseReport};
use treeamp_lab::experiment::phase_name;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};

/// The curve, with the fixed points on it.
pub fn figure(title: &str, signal: &str, places: &[Place], report: &PhaseReport) -> Figure {
    let curve = places.iter().map(|p| (p.mse, p.free_entropy));
    let phase = phase_name(report.phase);
    let mut panel = Panel::new(
        format!("{phase} phase: higher is likelier, and runs climb from the right"),
        Axis::log(format!("mean squared error of {signal}")),
        Axis::linear("free entropy"),
    )
    .series(Series::line("free entropy", curve).ink(Ink::Blue));
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
