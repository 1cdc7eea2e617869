//! Charts as SVG, with nothing but text: panels in a row, each with axes, ticks, a legend, series
//! and shaded bands.
//!
//! Drawn for paper as much as for screens: series differ in darkness and in shape, so a figure stays
//! readable in grey. A legend stands above its panel and covers no data. Points that cannot be placed
//! (NaN, infinity, zero on a logarithmic axis) are left out; a line has a gap there.
//!
//! ```
//! use treeamp_lab::figure::{Axis, Figure, Mark, Panel, Series};
//!
//! let error = [(0.0, 1.0), (1.0, 0.1), (2.0, 0.02)];
//! let panel = Panel::new("Error", Axis::linear("sweep").integer(), Axis::log("mean squared error"))
//!     .series(Series::line("measured", error).mark(Mark::Dot));
//! let svg = Figure::new("A run").panel(panel).to_svg();
//! assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
//! ```

mod axis;
mod band;
mod panel;
mod picture;
mod scale;
mod series;
mod svg;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

pub use axis::Axis;
pub use panel::Panel;
pub use picture::Picture;
pub use series::{Ink, Mark, Series};
use svg::{Anchor, Svg, Text};

/// Outer margin, and gap between panels.
const MARGIN: f64 = 18.0;
/// Height of the figure's title.
const TITLE: f64 = 26.0;

/// What stands in a row.
#[derive(Debug, Clone)]
enum Cell {
    Chart(Panel),
    Picture(Picture),
}

/// A row of panels and pictures under a title.
#[derive(Debug, Clone)]
pub struct Figure {
    title: String,
    panels: Vec<Cell>,
    panel_size: (f64, f64),
}

impl Figure {
    /// An empty figure.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            panels: Vec::new(),
            panel_size: (480.0, 340.0),
        }
    }

    /// Adds a panel to the right.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(Cell::Chart(panel));
        self
    }

    /// Adds a picture to the right.
    #[must_use]
    pub fn picture(mut self, picture: Picture) -> Self {
        self.panels.push(Cell::Picture(picture));
        self
    }

    /// Width and height of each panel, labels included (480 x 340). At least 200 x 160.
    #[must_use]
    pub fn panel_size(mut self, width: f64, height: f64) -> Self {
        self.panel_size = (width.max(200.0), height.max(160.0));
        self
    }

    /// The figure as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let (width, height) = self.panel_size;
        let columns = self.panels.len().max(1) as f64;
        let total = MARGIN + columns * (width + MARGIN);
        let mut svg = Svg::new(total, MARGIN + TITLE + height + 4.0, &self.title);
        let title = Text::new(15.0).bold().anchor(Anchor::Middle);
        svg.text(total / 2.0, MARGIN + 10.0, &title, &self.title);
        for (i, panel) in self.panels.iter().enumerate() {
            let x = MARGIN + i as f64 * (width + MARGIN);
            let at = (x, MARGIN + TITLE);
            match panel {
                Cell::Chart(panel) => panel.draw(&mut svg, at, self.panel_size),
                Cell::Picture(picture) => picture.draw(&mut svg, at, self.panel_size),
            }
        }
        svg.finish()
    }

    /// Writes the figure to a file, which is replaced when it exists.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        std::fs::write(path, self.to_svg())
    }
}
