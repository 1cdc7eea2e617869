//! Charts as SVG and PNG: panels in a row, each with axes, ticks, a legend, series
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
mod font;
mod paint;
mod panel;
mod picture;
mod scale;
mod series;
mod svg;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use crate::data::write_whole;

pub use axis::Axis;
pub use font::missing_letter;
pub use panel::Panel;
pub use picture::Raster;
pub use series::{Ink, Mark, Series};
use svg::{Anchor, Svg, Text};

/// Outer margin, and gap between panels.
const MARGIN: f64 = 18.0;
/// Height of the figure's title.
const TITLE: f64 = 26.0;
/// Size of its letters.
const TITLE_SIZE: f64 = 15.0;

/// Panels side by side; more stand in rows below.
const ACROSS: usize = 4;

/// Rows of panels under a title.
#[derive(Debug, Clone)]
pub struct Figure {
    title: String,
    panels: Vec<Panel>,
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

    /// Adds a panel to the right, or in a new row where one is full.
    #[must_use]
    pub fn panel(mut self, panel: Panel) -> Self {
        self.panels.push(panel);
        self
    }

    /// Width and height of each panel, labels included (480 x 340). At least 200 x 160.
    #[must_use]
    pub fn panel_size(mut self, width: f64, height: f64) -> Self {
        self.panel_size = (width.max(200.0), height.max(160.0));
        self
    }

    /// Some panel is a photograph or the like.
    #[must_use]
    pub fn has_pictures(&self) -> bool {
        self.panels.iter().any(Panel::is_picture)
    }

    /// What it shows, in words: its title, or else those of its panels.
    #[must_use]
    pub fn described(&self) -> String {
        if !self.title.is_empty() {
            return self.title.clone();
        }
        let panels: Vec<&str> = self.panels.iter().map(Panel::described).collect();
        panels.join(", ")
    }

    /// The elements of the page.
    fn draw(&self) -> Svg {
        let (width, height) = self.panel_size;
        let columns = self.panels.len().clamp(1, ACROSS) as f64;
        let rows = self.panels.len().div_ceil(ACROSS).max(1) as f64;
        let total = MARGIN + columns * (width + MARGIN);
        let top = if self.title.is_empty() {
            MARGIN
        } else {
            MARGIN + TITLE
        };
        let foot = top + rows * height + (rows - 1.0) * MARGIN + 4.0;
        let mut svg = Svg::new(total, foot, &self.described());
        // a title that is wider than the page is written smaller
        let fits = (total - 2.0 * MARGIN) / font::width(&self.title, TITLE_SIZE, true).max(1.0);
        let size = TITLE_SIZE * fits.min(1.0);
        let title = Text::new(size).bold().anchor(Anchor::Middle);
        if !self.title.is_empty() {
            svg.text(total / 2.0, MARGIN + 10.0, &title, &self.title);
        }
        for (i, panel) in self.panels.iter().enumerate() {
            let (row, column) = ((i / ACROSS) as f64, (i % ACROSS) as f64);
            let x = MARGIN + column * (width + MARGIN);
            let y = top + row * (height + MARGIN);
            panel.draw(&mut svg, (x, y), self.panel_size);
        }
        svg
    }

    /// The figure as an SVG document; its text is drawn as outlines, so that no font is needed.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.draw().finish()
    }

    /// The figure as a PNG, with `scale` pixels per unit of the SVG (2 is sharp on most screens, 4 on paper).
    ///
    /// # Errors
    /// A scale that is not positive, or that makes the picture too large.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, String> {
        self.draw().paint(scale)
    }

    /// Writes the figure to a file, as PNG when its name ends in `.png` and as SVG otherwise. A file that
    /// exists is replaced, whole or not at all.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        /// Sharp on paper.
        const SCALE: f64 = 3.0;
        let path = path.as_ref();
        let png = path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("png"));
        let bytes = if png {
            self.to_png(SCALE).map_err(io::Error::other)?
        } else {
            self.to_svg().into_bytes()
        };
        write_whole(path, &bytes)
    }
}
