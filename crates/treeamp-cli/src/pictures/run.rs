//! A run: its signals and its convergence.

use treeamp::belief::{Element, SignalSpec};
use treeamp_lab::experiment::{Alignment, BySweep};
use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Raster, Series};
use treeamp_lab::spec::ModelFile;

use super::outcome::Outcome;
use super::{A_HEURISTIC, AT_SYMMETRIC_POINT};

/// A variable of a run, with what the model file knows of its components.
#[derive(Debug)]
pub struct Shown<'r> {
    run: Outcome<'r>,
    variable: &'r str,
    /// Their names, where they are few enough to be read.
    names: Vec<String>,
    /// Neighbours have nothing to do with each other.
    exchangeable: bool,
}

impl<'r> Shown<'r> {
    /// A variable of a run of this file.
    pub fn new(file: &ModelFile, run: Outcome<'r>, variable: &'r str) -> Self {
        /// More names than this cannot stand side by side.
        const READABLE: usize = 40;
        let count = spec(&run, variable).map_or(0, |s| s.count());
        let names = file.component_names(variable).unwrap_or_default();
        let fits = names.len() == count && count <= READABLE;
        Self {
            run,
            variable,
            names: if fits { names } else { Vec::new() },
            exchangeable: file.is_exchangeable(),
        }
    }

    /// The run.
    pub fn run(&self) -> &Outcome<'r> {
        &self.run
    }

    /// The variable.
    pub fn variable(&self) -> &str {
        self.variable
    }

    /// The axis of the components.
    fn axis(&self) -> Axis {
        Axis::linear("component").integer().named(&self.names)
    }
}

/// A picture shows this many components at most.
const SHOWN: usize = 1000;
/// Of a signal with more components that are not zero than this, stems would be a thicket: a scatter shows it.
const STEMS: usize = 150;
/// A scatter shows this many components at most.
const SCATTERED: usize = 5000;

/// True and recovered values of a variable: side by side where few are not zero, else against each other.
pub fn signal(shown: &Shown<'_>) -> Option<Panel> {
    let (run, variable) = (&shown.run, shown.variable);
    let spec = spec(run, variable).ok()?;
    let (mean, note) = aligned(run, variable, spec.element)?;
    let truth = run.truth(variable);
    let recovered = format!("{}{note}", run.word());
    if let Some(truth) = truth.filter(|t| t.iter().filter(|x| **x != 0.0).count() > STEMS) {
        let bars = deviations(run, variable, &mean);
        return Some(scatter(variable, truth, &mean, &recovered, bars));
    }
    let place = |x: &[f64]| -> Vec<(f64, f64)> {
        let points = x.iter().take(SHOWN).enumerate();
        points.map(|(i, x)| (i as f64, *x)).collect()
    };
    let title = if mean.len() > SHOWN {
        format!("{variable}, the first {SHOWN} components")
    } else {
        variable.to_owned()
    };
    let mut panel = Panel::new(title, shown.axis(), Axis::linear("value"));
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
    let bars = deviations(run, variable, &mean);
    let name = match &bars {
        Some(_) => format!("{recovered}, ± one standard deviation"),
        None => recovered,
    };
    let marks = Series::marks(name, place(&mean)).ink(Ink::Blue);
    let marks = marks.size(if mean.len() <= STEMS { 6.0 } else { 3.0 });
    Some(panel.series(marks.bars(bars.into_iter().flatten())))
}

/// Recovered against true values.
fn scatter(
    variable: &str,
    truth: &[f64],
    mean: &[f64],
    recovered: &str,
    bars: Option<Vec<(f64, f64)>>,
) -> Panel {
    let points = truth.iter().copied().zip(mean.iter().copied());
    let points: Vec<(f64, f64)> = points.take(SCATTERED).collect();
    let (low, high) = range(truth);
    let title = if mean.len() > SCATTERED {
        format!("{variable}, the first {SCATTERED} components")
    } else {
        variable.to_owned()
    };
    let name = match &bars {
        Some(_) => format!("{recovered}, ± one standard deviation"),
        None => recovered.to_owned(),
    };
    let marks = Series::marks(name, points).ink(Ink::Blue).size(3.0);
    let marks = marks.bars(bars.into_iter().flatten());
    Panel::new(title, Axis::linear("true"), Axis::linear("recovered"))
        .series(Series::line("equal", [(low, low), (high, high)]).ink(Ink::Grey))
        .series(marks)
}

/// One standard deviation to either side, where every component has its own, and they are few enough to be seen.
fn deviations(run: &Outcome<'_>, variable: &str, mean: &[f64]) -> Option<Vec<(f64, f64)>> {
    let stds = run.deviations(variable).filter(|_| mean.len() <= STEMS)?;
    let bars = mean.iter().zip(stds).map(|(m, s)| (m - s, m + s));
    Some(bars.collect())
}

/// Residual and variances, sweep by sweep.
pub fn convergence(run: &Outcome<'_>) -> Panel {
    /// More lines cannot be distinguished.
    const LINES: usize = 4;
    const MARKS: [Mark; LINES] = [Mark::Dot, Mark::Circle, Mark::Square, Mark::Cross];
    let residuals = run.trace.iter().map(|r| (r.sweep as f64, r.residual));
    let (names, variances) = run.variances();
    let title = match (run.fallback, run.converged) {
        (Some(method), true) => format!("Convergence: the sweeps before the {method}"),
        (None, true) => "Convergence".to_owned(),
        (_, false) => "Did not converge".to_owned(),
    };
    let title = match names.len() {
        n if n > LINES => format!("{title}, the first {LINES} of {n} variables"),
        _ => title,
    };
    let mut panel = Panel::new(
        title,
        Axis::linear("sweep").integer(),
        Axis::log(if names.is_empty() {
            "residual"
        } else {
            "residual, variance"
        })
        .with_zero(),
    )
    .series(Series::line("residual", residuals).ink(Ink::Grey).dashed());
    for (i, name) in names.iter().enumerate().take(LINES) {
        let points = variances.iter().enumerate();
        let points = points.map(|(sweep, v)| (sweep as f64 + 1.0, v[i]));
        // what nobody followed has none
        let points: Vec<(f64, f64)> = points.filter(|(_, v)| !v.is_nan()).collect();
        if points.is_empty() {
            continue;
        }
        panel = panel.series(
            Series::line(format!("variance of {name}"), points)
                .mark(MARKS[i])
                .size(4.0),
        );
    }
    panel
}

/// The title of a picture of a run: it says where the run did not converge.
fn heading(run: &Outcome<'_>, title: &str) -> String {
    if run.converged {
        return title.to_owned();
    }
    let said = "state of a run that did not converge";
    if title.is_empty() {
        return said.to_owned();
    }
    format!("{title}: {said}")
}

/// The probability that a component is not zero, where the prior has a point mass there.
fn inclusion(shown: &Shown<'_>) -> Option<Panel> {
    let (run, variable) = (&shown.run, shown.variable);
    let all = run.inclusion(variable)?;
    let title = match all.len() {
        n if n > SHOWN => format!("{variable}, the first {SHOWN} components"),
        _ => variable.to_owned(),
    };
    let points = all.into_iter().take(SHOWN).enumerate();
    let points: Vec<(f64, f64)> = points.map(|(i, p)| (i as f64, p)).collect();
    let vertical = Axis::linear("probability that it is not zero").range(-0.03, 1.03);
    let panel = Panel::new(title, shown.axis(), vertical);
    let few = points.len() <= STEMS;
    let series = if few {
        Series::stems("inclusion probability", points).size(6.0)
    } else {
        Series::marks("inclusion probability", points).size(3.0)
    };
    Some(panel.series(series.ink(Ink::Blue)))
}

/// The figures of a report: images where there are some, else the signals, inclusion probabilities and convergence of the first variable.
pub fn of_report(file: &ModelFile, run: Outcome<'_>) -> Vec<Figure> {
    let name = run.posterior.variables()[0].name.as_str();
    match images(&run, name, "") {
        Ok(pictures) => vec![pictures, Figure::new("").panel(convergence(&run))],
        Err(_) => vec![figure(&Shown::new(file, run, name), "")],
    }
}

/// The signals of one variable, its inclusion probabilities and the convergence. Other variables are not shown, and the figure says so.
pub fn figure(shown: &Shown<'_>, title: &str) -> Figure {
    let run = &shown.run;
    let mut figure = Figure::new(heading(run, title));
    if let Some(panel) = signal(shown) {
        figure = figure.panel(panel);
    }
    if let Some(panel) = inclusion(shown) {
        figure = figure.panel(panel);
    }
    figure.panel(convergence(run))
}

/// True, observed and recovered values of a variable: observations in the same panel where they are values of its own
/// components, or else in one of their own. Only neighbours that have to do with each other are joined by lines.
pub fn signals(shown: &Shown<'_>, title: &str) -> Result<Figure, String> {
    let (run, variable) = (&shown.run, shown.variable);
    let spec = spec(run, variable)?;
    let mut figure = Figure::new(heading(run, title));
    let mut own = Vec::new();
    for observed in run.observed {
        let name = format!("observed, {}", observed.variable);
        let marks = |name: &str| {
            let points = places(&observed.values, observed.spec.element);
            let marks = Series::marks(name, points).ink(Ink::Grey);
            marks.mark(Mark::Cross).size(4.0)
        };
        let shares = observed.seen_through.as_deref() == Some(variable) && !shown.exchangeable;
        if shares && observed.spec.same_signal(&spec) {
            own.push(marks(&name));
        } else {
            let axis = Axis::linear("component").integer();
            let panel = Panel::new(heads(&name, &observed.spec), axis, Axis::linear("value"));
            figure = figure.panel(panel.series(marks("observed")));
        }
    }
    let main = if shown.exchangeable && spec.element == Element::Real {
        signal(shown)
    } else {
        side_by_side(shown, &spec, own)
    };
    let main = main.ok_or_else(|| format!("there is no variable `{variable}`"))?;
    Ok(figure.panel(main))
}

/// True and recovered values along the components, over what is drawn already; neighbours are joined by lines.
fn side_by_side(shown: &Shown<'_>, spec: &SignalSpec, drawn: Vec<Series>) -> Option<Panel> {
    let (run, variable) = (&shown.run, shown.variable);
    let joined = shown.names.is_empty() && !shown.exchangeable;
    let curve = |name: String, values: &[f64]| {
        let points = places(values, spec.element);
        if joined {
            Series::line(name, points)
        } else {
            Series::marks(name, points).size(4.0)
        }
    };
    let title = heads(variable, spec);
    let mut panel = Panel::new(title, shown.axis(), Axis::linear("value"));
    for series in drawn {
        panel = panel.series(series);
    }
    if let Some(truth) = run.truth(variable) {
        let line = curve("true".to_owned(), truth).size(4.0);
        panel = panel.series(line.ink(Ink::Orange));
    }
    let (mean, note) = aligned(run, variable, spec.element)?;
    let mut line = curve(format!("{}{note}", run.word()), &mean);
    if let Some(bars) = deviations(run, variable, &mean).filter(|_| spec.element == Element::Real) {
        line = line.bars(bars);
    }
    Some(panel.series(line.ink(Ink::Blue)))
}

/// The first values and where they stand; of complex ones the real parts.
fn places(values: &[f64], element: Element) -> Vec<(f64, f64)> {
    let step = if element == Element::Complex { 2 } else { 1 };
    let real = values.iter().step_by(step).take(SHOWN).enumerate();
    real.map(|(i, x)| (i as f64, *x)).collect()
}

/// A title that says what part of a signal is shown.
fn heads(name: &str, spec: &SignalSpec) -> String {
    let part = match spec.element {
        Element::Real => "",
        Element::Complex => ", real part",
    };
    match spec.count() {
        n if n > SHOWN => format!("{name}{part}, the first {SHOWN} of {n} components"),
        _ => format!("{name}{part}"),
    }
}

/// True, observed and recovered image, in grey levels of the truth where it is known.
pub fn images(run: &Outcome<'_>, variable: &str, title: &str) -> Result<Figure, String> {
    let spec = spec(run, variable)?;
    let [_, columns] = spec.shape[..] else {
        return Err(format!(
            "`{variable}`: expected an image, with two axes, got the shape {spec}; `plot signals` draws vectors"
        ));
    };
    let (mean, note) = aligned(run, variable, spec.element)
        .ok_or_else(|| format!("there is no variable `{variable}`"))?;
    let truth = run.truth(variable);
    let shared = range(&modulus(truth.unwrap_or(&mean), spec.element));
    let mut figure = Figure::new(heading(run, title));
    let picture = |name: String, columns: usize, values: &[f64], own: Option<(f64, f64)>| {
        let own = own.unwrap_or_else(|| range(values));
        Panel::picture(name, Raster::grey(columns, values, own)).grey_bar(own.0, own.1)
    };
    if let Some(truth) = truth {
        let values = modulus(truth, spec.element);
        figure = figure.panel(picture(
            format!("true {variable}"),
            columns,
            &values,
            Some(shared),
        ));
    }
    for observed in run.observed {
        let values = modulus(&observed.values, observed.spec.element);
        let name = format!("observed {}", observed.variable);
        if let [_, columns] = observed.spec.shape[..] {
            figure = figure.panel(picture(name, columns, &values, None));
        } else if let Some(mask) = &observed.mask
            && mask.len() == spec.count()
        {
            // what a mask hides has no value, and is drawn in a colour of its own
            let whole = spread(mask, &values);
            let own = range(&values);
            figure = figure.panel(picture(
                format!("{name}, hidden in red"),
                columns,
                &whole,
                Some(own),
            ));
        }
    }
    let values = modulus(&mean, spec.element);
    let name = match run.word() {
        "mode" => format!("mode of {variable}{note}"),
        word => format!("{word} {variable}{note}"),
    };
    figure = figure.panel(picture(name, columns, &values, Some(shared)));
    Ok(figure.panel_size(340.0, 320.0))
}

/// The values of the components that a mask shows, in their places; the others have none.
fn spread(mask: &[bool], shown: &[f64]) -> Vec<f64> {
    let mut shown = shown.iter();
    let places = mask.iter().map(|seen| seen.then(|| shown.next()).flatten());
    places.map(|x| x.copied().unwrap_or(f64::NAN)).collect()
}

/// The mean of a variable, turned to the truth where the model does not see its sign or phase, and a word on that.
fn aligned(
    run: &Outcome<'_>,
    variable: &str,
    element: Element,
) -> Option<(Vec<f64>, &'static str)> {
    let mean = run.estimate(variable)?;
    let alignment = run.truth(variable).map_or(Alignment::Plain, |truth| {
        Alignment::of(mean, truth, element)
    });
    Some((alignment.turn(mean), alignment.note()))
}

/// The errors of one run.
#[derive(Debug, Clone, Default)]
pub struct Errors {
    /// After every sweep and every step of a fallback.
    pub sweeps: Vec<f64>,
    /// Which of these are the first of another attempt, counted from zero.
    pub begins: Vec<usize>,
    /// At the end, where a fallback led there.
    pub end: Option<f64>,
}

/// The errors of runs after every sweep, where other attempts begin and fallbacks end, and the predicted error.
pub fn errors(
    title: &str,
    (variable, up_to): (&str, &str),
    runs: &[Errors],
    predicted: Option<&BySweep>,
) -> Figure {
    let points = |trace: &[f64]| -> Vec<(f64, f64)> {
        let numbered = trace.iter().enumerate();
        numbered.map(|(i, e)| (i as f64 + 1.0, *e)).collect()
    };
    let mut panel = Panel::new(
        "",
        Axis::linear("sweep").integer(),
        Axis::log(format!("mean squared error of {variable}{up_to}")).with_zero(),
    );
    if let Some(predicted) = predicted {
        let (name, ink) = match (predicted.fixed_point, predicted.symmetric_point) {
            (true, _) => ("fixed point of state evolution", Ink::Black),
            (false, true) => (AT_SYMMETRIC_POINT, Ink::Grey),
            (false, false) => ("state evolution", Ink::Black),
        };
        let name = match predicted.heuristics.len() {
            0 => name.to_owned(),
            _ => format!("{name}{A_HEURISTIC}"),
        };
        let line = Series::line(name, points(&predicted.errors));
        let line = line.ink(ink).size(2.5);
        panel = panel.series(if predicted.fixed_point {
            line.dashed()
        } else {
            line
        });
    }
    let all: Vec<(f64, f64)> = runs.iter().flat_map(|run| points(&run.sweeps)).collect();
    let name = match runs.len() {
        1 => "expectation propagation".to_owned(),
        n => format!("expectation propagation, {n} seeds"),
    };
    let marks = Series::marks(name, all).ink(Ink::Orange);
    panel = panel.series(marks.mark(Mark::Circle).size(6.0));
    let begins = runs.iter().flat_map(|run| {
        let places = run.begins.iter();
        places.filter_map(|k| Some((*k as f64 + 1.0, *run.sweeps.get(*k)?)))
    });
    let ends = runs.iter();
    let ends = ends.filter_map(|run| Some((run.sweeps.len() as f64 + 1.0, run.end?)));
    let more = [
        Series::marks("another attempt begins", begins).mark(Mark::Square),
        Series::marks("end of the fallback", ends).size(7.0),
    ];
    for series in more.into_iter().filter(|s| !s.is_empty()) {
        panel = panel.series(series.ink(Ink::Blue));
    }
    Figure::new(title).panel(panel)
}

fn spec(run: &Outcome<'_>, variable: &str) -> Result<SignalSpec, String> {
    let tree = run.posterior;
    let index = tree.variable(variable).map_err(|e| e.to_string())?;
    Ok(tree.variables()[index].spec.clone())
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

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn values_behind_a_mask_stand_at_their_places() {
        let whole = spread(&[false, true, false, false, true, true], &[1.0, 2.0, 3.0]);
        let shown: Vec<Option<f64>> = whole.iter().map(|x| (!x.is_nan()).then_some(*x)).collect();
        let expected = [None, Some(1.0), None, None, Some(2.0), Some(3.0)];
        assert_eq!(shown, expected);
    }
}
