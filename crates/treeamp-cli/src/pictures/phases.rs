//! Phase diagrams: impossible, hard and easy, with boundaries from the threshold routines.

use treeamp_lab::figure::{Axis, Figure, Ink, Panel, Raster, Series};

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
        // an area too low for its name
        _ if !found.contains(&"hard") && is_hard(&across, y) => {
            "hard between the two lines".to_owned()
        }
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
        Series::line("algorithmic threshold", line(|c| c.algorithmic)).ink(Ink::Blue),
        // where it was computed
        Series::marks(
            "",
            columns.iter().filter_map(|c| Some((c.x, c.algorithmic?))),
        )
        .ink(Ink::Blue)
        .size(3.0),
    ];
    if found.len() > 1 {
        let drawn = lines.into_iter().filter(|line| !line.is_empty());
        panel = drawn.fold(panel, Panel::series);
    }
    for (name, place) in areas {
        if let Some((at, height)) = place {
            panel = panel.label(name, at, height);
        }
    }
    Figure::new(title).panel(panel).panel_size(560.0, 460.0)
}

/// Somewhere the two thresholds differ.
fn is_hard(across: &[Column], range: (f64, f64)) -> bool {
    let height = |c: &Column| {
        let (low, high) = (lowest(c)?, c.algorithmic?);
        Some(high.clamp(range.0, range.1) - low.clamp(range.0, range.1))
    };
    let heights = across.iter().filter_map(height);
    heights.fold(0.0, f64::max) > 1.0 / PIXELS as f64 * (range.1 - range.0)
}

/// A threshold along the columns, where it lies inside the range.
fn boundary(
    columns: &[Column],
    f: fn(&Column) -> Option<f64>,
    range: (f64, f64),
) -> Vec<(f64, f64)> {
    let inside = |t: f64| (range.0..=range.1).contains(&t);
    let known: Vec<Option<f64>> = columns
        .iter()
        .map(|c| f(c).filter(|t| t.is_finite()))
        .collect();
    if !known.iter().flatten().any(|t| inside(*t)) {
        return Vec::new();
    }
    let mut line = Vec::new();
    for (k, here) in known.iter().enumerate() {
        let x = columns[k].x;
        line.push((x, here.filter(|t| inside(*t)).unwrap_or(f64::NAN)));
        let next = known.get(k + 1).copied().flatten();
        if let (Some(a), Some(b)) = (*here, next)
            && inside(a) != inside(b)
        {
            // where the line to a threshold beyond the frame crosses that
            let outer = if inside(a) { b } else { a };
            let edge = outer.clamp(range.0, range.1);
            line.push((x + (edge - a) / (b - a) * (columns[k + 1].x - x), edge));
        }
    }
    line
}

/// The thresholds at a place between two columns: on the straight line between theirs. One that is beyond the range, nobody knows
/// how far, counts as at its end.
fn between(columns: &[Column], x: f64, range: (f64, f64)) -> Column {
    let right = columns
        .partition_point(|c| c.x < x)
        .clamp(1, columns.len() - 1);
    let (a, b) = (&columns[right - 1], &columns[right]);
    let weight = ((x - a.x) / (b.x - a.x)).clamp(0.0, 1.0);
    let line = |f: fn(&Column) -> Option<f64>| {
        let ends = [f(a)?, f(b)?];
        let [low, high] = ends.map(|t| {
            if t.is_finite() {
                t
            } else {
                t.clamp(range.0, range.1)
            }
        });
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
