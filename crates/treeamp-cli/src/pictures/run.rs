//! A run: its signals and its convergence.

use treeamp::belief::{Element, SignalSpec};
use treeamp_lab::experiment::Inference;
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Raster, Series};

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
        let mut points = place(truth);
        let all = points.len();
        points.retain(|(_, x)| *x != 0.0);
        let name = if points.len() < all {
            "true, where not zero"
        } else {
            "true"
        };
        panel = panel.series(Series::stems(name, points).ink(Ink::Orange).size(6.0));
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

/// True, observed and recovered values of a variable: observations in the same panel where they have its size, or
/// else in one of their own.
pub fn signals(run: &Inference, variable: &str, title: &str) -> Result<Figure, String> {
    let spec = spec(run, variable)?;
    let points = |x: &[f64]| -> Vec<(f64, f64)> {
        let step = if spec.element == Element::Complex {
            2
        } else {
            1
        };
        let real = x.iter().step_by(step).take(SHOWN).enumerate();
        real.map(|(i, x)| (i as f64, *x)).collect()
    };
    let axes = || (Axis::linear("component").integer(), Axis::linear("value"));
    let panel = |title: String| Panel::new(title, axes().0, axes().1);
    let part = match spec.element {
        Element::Real => "",
        Element::Complex => ", real part",
    };
    let mut main = panel(format!("{variable}{part}"));
    let mut figure = Figure::new(title);
    for observed in &run.observed {
        let name = format!("observed, {}", observed.variable);
        let marks = |name: &str| {
            Series::marks(name, points(&observed.values))
                .ink(Ink::Grey)
                .mark(Mark::Cross)
                .size(4.0)
        };
        if observed.spec.same_signal(&spec) {
            main = main.series(marks(&name));
        } else {
            figure = figure.panel(panel(name).series(marks("observed")));
        }
    }
    if let Some(truth) = truth(run, variable) {
        main = main.series(
            Series::line("true", points(truth))
                .ink(Ink::Orange)
                .size(4.0),
        );
    }
    let mean = run.report.mean(variable).map_err(|e| e.to_string())?;
    main = main.series(Series::line("recovered", points(mean)).ink(Ink::Blue));
    Ok(figure.panel(main))
}

/// True, observed and recovered image, in grey levels of the truth where it is known.
pub fn images(run: &Inference, variable: &str, title: &str) -> Result<Figure, String> {
    let spec = spec(run, variable)?;
    let [_, columns] = spec.shape[..] else {
        return Err(format!(
            "`{variable}`: expected an image, with two axes, got the shape {spec}; `plot signals` draws vectors"
        ));
    };
    let mean = run.report.mean(variable).map_err(|e| e.to_string())?;
    let truth = truth(run, variable);
    let range = range(&modulus(truth.unwrap_or(mean), spec.element));
    let mut figure = Figure::new(title);
    let picture = |name: String, columns: usize, values: &[f64], element: Element| {
        let values = modulus(values, element);
        let own = if name == "observed" {
            self::range(&values)
        } else {
            range
        };
        Panel::picture(name, Raster::grey(columns, &values, own))
    };
    if let Some(truth) = truth {
        figure = figure.panel(picture("true".to_owned(), columns, truth, spec.element));
    }
    for observed in &run.observed {
        if let [_, columns] = observed.spec.shape[..] {
            let (values, element) = (&observed.values, observed.spec.element);
            figure = figure.panel(picture("observed".to_owned(), columns, values, element));
        }
    }
    figure = figure.panel(picture("recovered".to_owned(), columns, mean, spec.element));
    Ok(figure.panel_size(320.0, 320.0))
}

/// The errors of runs after every sweep, and the predicted one.
pub fn errors(title: &str, variable: &str, runs: &[Vec<f64>], predicted: Option<&[f64]>) -> Figure {
    let points = |trace: &[f64]| -> Vec<(f64, f64)> {
        let numbered = trace.iter().enumerate();
        numbered.map(|(i, e)| (i as f64 + 1.0, *e)).collect()
    };
    let mut panel = Panel::new(
        "",
        Axis::linear("sweep").integer(),
        Axis::log(format!("mean squared error of {variable}")),
    );
    if let Some(predicted) = predicted {
        let line = Series::line("state evolution", points(predicted));
        panel = panel.series(line.ink(Ink::Black).size(2.5));
    }
    let all: Vec<(f64, f64)> = runs.iter().flat_map(|trace| points(trace)).collect();
    let name = match runs.len() {
        1 => "expectation propagation".to_owned(),
        n => format!("expectation propagation, {n} seeds"),
    };
    let marks = Series::marks(name, all).ink(Ink::Orange);
    Figure::new(title).panel(panel.series(marks.mark(Mark::Circle).size(6.0)))
}

fn spec(run: &Inference, variable: &str) -> Result<SignalSpec, String> {
    let tree = &run.posterior;
    let index = tree.variable(variable).map_err(|e| e.to_string())?;
    Ok(tree.variables()[index].spec.clone())
}

fn truth<'r>(run: &'r Inference, variable: &str) -> Option<&'r [f64]> {
    run.truth.as_ref().and_then(|s| s.get(variable).ok())
}

/// Real values as they are, complex ones by their modulus.
fn modulus(values: &[f64], element: Element) -> Vec<f64> {
    match element {
        Element::Real => values.to_vec(),
        Element::Complex => values.chunks(2).map(|c| c[0].hypot(c[1])).collect(),
    }
}

/// The range of the values, not empty.
fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if high > low {
        (low, high)
    } else {
        (low - 0.5, low + 0.5)
    }
}
