//! Rasters: photographs and maps of phases, drawn pixel by pixel.

use super::svg::{Image, Svg};

/// A grid of colours, rows from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    columns: usize,
    pixels: Vec<[u8; 3]>,
}

impl Raster {
    /// Grey levels, from black at the first end of `range` to white at the other. Values beyond are cut off; NaN
    /// is shown in red.
    #[must_use]
    pub fn grey(columns: usize, values: &[f64], range: (f64, f64)) -> Self {
        let width = range.1 - range.0;
        let pixel = |x: &f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped"
            )]
            let level = (255.0 * ((x - range.0) / width).clamp(0.0, 1.0)).round() as u8;
            if x.is_nan() {
                [200, 30, 30]
            } else {
                [level; 3]
            }
        };
        Self::colours(columns, values.iter().map(pixel).collect())
    }

    /// Colours as red, green and blue.
    #[must_use]
    pub fn colours(columns: usize, pixels: Vec<[u8; 3]>) -> Self {
        let columns = columns.max(1);
        Self { columns, pixels }
    }

    /// Width over height.
    pub(super) fn aspect(&self) -> f64 {
        let rows = self.pixels.len().div_ceil(self.columns).max(1);
        self.columns as f64 / rows as f64
    }

    /// Draws it into a rectangle.
    pub(super) fn draw(&self, svg: &mut Svg, corner: (f64, f64), size: (f64, f64)) {
        svg.image(Image {
            corner,
            size,
            columns: self.columns,
            pixels: self.pixels.clone(),
        });
    }
}
