//! Phase diagrams: impossible, hard and easy, with boundaries from the threshold routines.

use treeamp_lab::figure::{Axis, Figure, Ink, Mark, Panel, Raster, Series};

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

/// The diagram.
pub fn figure(title: &str, names: (&str, &str), columns: &[Column], rows: &[f64]) -> Figure {
    let mut pixels = Vec::new();
    for y in rows.iter().rev() {
        pixels.extend(columns.iter().map(|c| shade(phase(c, *y))));
    }
    let raster = Raster::colours(columns.len(), pixels);
    // a pixel is centred at its value
    let range = |values: &[f64]| {
        let (first, last) = (values[0], values[values.len() - 1]);
        let half = 0.5 * (last - first) / (values.len().max(2) - 1) as f64;
        (first - half, last + half)
    };
    let xs: Vec<f64> = columns.iter().map(|c| c.x).collect();
    let line = |f: fn(&Column) -> Option<f64>| -> Vec<(f64, f64)> {
        columns
            .iter()
            .map(|c| (c.x, f(c).unwrap_or(f64::NAN)))
            .collect()
    };
    let (x, y) = (range(&xs), range(rows));
    let panel = Panel::new(
        "impossible below the first line, hard between, easy above",
        Axis::linear(names.0).range(x.0, x.1),
        Axis::linear(names.1).range(y.0, y.1),
    )
    .background(raster, x, y)
    .series(
        Series::line("information-theoretic", line(|c| c.information))
            .ink(Ink::Black)
            .dashed(),
    )
    .series(
        Series::line("algorithmic", line(|c| c.algorithmic))
            .ink(Ink::Blue)
            .mark(Mark::Dot)
            .size(3.0),
    );
    Figure::new(title).panel(panel).panel_size(560.0, 460.0)
}
