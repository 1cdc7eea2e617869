//! Phase diagrams: impossible, hard and easy, with boundaries from the threshold routines.

use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Raster, Series};

use super::symbol;

/// What is known of one column of a diagram: the two transitions, where they lie in the range.
#[derive(Debug, Clone)]
pub struct Column {
    /// The parameter of the horizontal axis.
    pub x: f64,
    /// Where the data start to determine the signal.
    pub information: Option<f64>,
    /// Where an uninformed run starts to find it.
    pub algorithmic: Option<f64>,
}

/// A phase, by its name in tables.
pub fn phase(column: &Column, y: f64) -> &'static str {
    let above = |threshold: Option<f64>| threshold.is_some_and(|t| y >= t);
    if above(column.algorithmic) {
        "easy"
    } else if above(column.information) {
        "hard"
    } else {
        "impossible"
    }
}

/// Shades that stay apart in grey.
fn shade(phase: &str) -> [u8; 3] {
    match phase {
        "easy" => [250, 250, 245],
        "hard" => [214, 205, 190],
        _ => [150, 158, 170],
    }
}

/// The phases, in the order of their names in a diagram.
const PHASES: [&str; 3] = ["impossible", "hard", "easy"];
/// Pixels of a diagram along each axis.
const PIXELS: usize = 400;

/// The diagram: areas are bounded by the computed lines, joined between the columns.
pub fn figure(title: &str, names: (&str, &str), columns: &[Column], rows: &[f64]) -> Figure {
    let (first, last) = (&columns[0], &columns[columns.len() - 1]);
    let (x, y) = ((first.x, last.x), (rows[0], rows[rows.len() - 1]));
    let at = |range: (f64, f64), k: usize| {
        range.0 + (range.1 - range.0) * (k as f64 + 0.5) / PIXELS as f64
    };
    let across: Vec<Column> = (0..PIXELS).map(|k| between(columns, at(x, k), y)).collect();
    let mut pixels = Vec::new();
    for k in (0..PIXELS).rev() {
        pixels.extend(across.iter().map(|c| shade(phase(c, at(y, k)))));
    }
    let raster = Raster::colours(PIXELS, pixels);
    let line = |f: fn(&Column) -> Option<f64>| boundary(columns, f, y);
    let areas = PHASES.map(|name| (name, middle(name, &across, y)));
    let found: Vec<&str> = areas
        .iter()
        .filter(|(_, m)| m.is_some())
        .map(|(n, _)| *n)
        .collect();
    let head = match found[..] {
        [one] => format!("{one} everywhere: no transition in this range"),
        _ => String::new(),
    };
    let mut panel = Panel::new(
        head,
        Axis::linear(symbol(names.0)).range(x.0, x.1),
        Axis::linear(symbol(names.1)).range(y.0, y.1),
    )
    .background(raster, x, y);
    let lines = [
        Series::line("information-theoretic threshold", line(|c| c.information))
            .ink(Ink::Black)
            .dashed(),
        Series::line("algorithmic threshold", line(|c| c.algorithmic))
            .ink(Ink::Blue)
            .mark(Mark::Dot)
            .size(3.0),
    ];
    if found.len() > 1 {
        panel = lines.into_iter().fold(panel, Panel::series);
    }
    for (name, place) in areas {
        if let Some((at, height)) = place {
            panel = panel.label(name, at, height);
        }
    }
    Figure::new(title).panel(panel).panel_size(560.0, 460.0)
}

/// A threshold along the columns. One beyond the range lies at its end beside one inside, as areas have it, and is left out elsewhere.
fn boundary(
    columns: &[Column],
    f: fn(&Column) -> Option<f64>,
    range: (f64, f64),
) -> Vec<(f64, f64)> {
    let inside = |k: usize| {
        let value = columns.get(k).and_then(f);
        value.is_some_and(|t| (range.0..=range.1).contains(&t))
    };
    let place = |(k, c): (usize, &Column)| {
        let beside = inside(k) || inside(k + 1) || (k > 0 && inside(k - 1));
        let value = f(c).filter(|_| beside);
        (c.x, value.map_or(f64::NAN, |t| t.clamp(range.0, range.1)))
    };
    columns.iter().enumerate().map(place).collect()
}

/// The thresholds at a place between two columns: on the straight line between theirs. One beyond the range counts as
/// at its end.
fn between(columns: &[Column], x: f64, range: (f64, f64)) -> Column {
    let right = columns
        .partition_point(|c| c.x < x)
        .clamp(1, columns.len() - 1);
    let (a, b) = (&columns[right - 1], &columns[right]);
    let weight = ((x - a.x) / (b.x - a.x)).clamp(0.0, 1.0);
    let line = |f: fn(&Column) -> Option<f64>| {
        let [low, high] = [f(a)?, f(b)?].map(|t| t.clamp(range.0, range.1));
        Some(low + weight * (high - low))
    };
    Column {
        x,
        information: line(|c| c.information),
        algorithmic: line(|c| c.algorithmic),
    }
}

/// The middle of a phase: of its highest column, the most central one of those nearly as high. Areas too low for a name
/// have none.
fn middle(name: &str, across: &[Column], range: (f64, f64)) -> Option<(f64, f64)> {
    let ends = |c: &Column| -> Option<(f64, f64)> {
        Some(match name {
            "impossible" => (f64::NEG_INFINITY, lowest(c)?),
            "hard" => (lowest(c)?, c.algorithmic?),
            _ => (c.algorithmic?, f64::INFINITY),
        })
    };
    // a name at the edge would cross the frame
    let margin = across.len() / 8;
    let inner = across.iter().enumerate().skip(margin);
    let inner = inner.take(across.len() - 2 * margin);
    let spans = inner.filter_map(|(k, c)| {
        let (low, high) = ends(c)?;
        let (low, high) = (low.clamp(range.0, range.1), high.clamp(range.0, range.1));
        let from_centre = (k as f64 / across.len() as f64 - 0.5).abs();
        let place = (c.x, 0.5 * (low + high));
        Some((place, high - low, (high - low) * (1.0 - from_centre)))
    });
    let (place, height, _) = spans.max_by(|a, b| a.2.total_cmp(&b.2))?;
    (height > 0.04 * (range.1 - range.0)).then_some(place)
}

/// Where the impossible phase ends.
fn lowest(column: &Column) -> Option<f64> {
    match (column.information, column.algorithmic) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    }
}
