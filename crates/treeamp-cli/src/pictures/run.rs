//! A run: its signals and its convergence.

use treeamp_lab::experiment::Inference;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Series};

/// A picture shows this many components at most.
const SHOWN: usize = 1000;

/// True and recovered values of a variable.
pub fn signal(run: &Inference, variable: &str) -> Option<Panel> {
    let mean = run.report.mean(variable).ok()?;
    let place = |x: &[f64]| -> Vec<(f64, f64)> {
        let points = x.iter().take(SHOWN).enumerate();
        points.map(|(i, x)| (i as f64, *x)).collect()
    };
    let title = if mean.len() > SHOWN {
        format!("{variable}, the first {SHOWN} components")
    } else {
        variable.to_owned()
    };
    let mut panel = Panel::new(
        title,
        Axis::linear("component").integer(),
        Axis::linear("value"),
    );
    let truth = run
        .truth
        .as_ref()
        .and_then(|sample| sample.get(variable).ok());
    if let Some(truth) = truth {
        panel = panel.series(
            Series::stems("true", place(truth))
                .ink(Ink::Orange)
                .size(6.0),
        );
    }
    Some(
        panel.series(
            Series::marks("recovered", place(mean))
                .ink(Ink::Blue)
                .size(3.0),
        ),
    )
}

/// Residual and variances, sweep by sweep.
pub fn convergence(run: &Inference) -> Panel {
    let report = &run.report;
    let residuals = report.trace.iter().map(|r| (r.sweep as f64, r.residual));
    let mut panel = Panel::new(
        "Convergence",
        Axis::linear("sweep").integer(),
        Axis::log("residual, variance"),
    )
    .series(Series::line("residual", residuals).ink(Ink::Grey).dashed());
    for (i, name) in report.variables().iter().enumerate().take(4) {
        let points = report.variances.iter().enumerate();
        let points = points.map(|(sweep, v)| (sweep as f64 + 1.0, v[i]));
        panel = panel.series(
            Series::line(format!("variance of {name}"), points)
                .mark(Mark::Dot)
                .size(4.0),
        );
    }
    panel
}

/// The signals of the first variable and the convergence.
pub fn figure(run: &Inference, title: &str) -> Figure {
    let mut figure = Figure::new(title);
    let first = run.report.variables().first();
    if let Some(panel) = first.and_then(|name| signal(run, name)) {
        figure = figure.panel(panel);
    }
    figure.panel(convergence(run))
}
