//! Text as outlines of a font that travels with the library, so that a figure looks the same everywhere.

use std::fmt::Write as _;
use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::svg::Px;

static REGULAR: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(include_bytes!("../../assets/sans-regular.ttf"), 0).ok());
static BOLD: LazyLock<Option<Face<'static>>> =
    LazyLock::new(|| Face::parse(include_bytes!("../../assets/sans-bold.ttf"), 0).ok());

fn face(bold: bool) -> Option<&'static Face<'static>> {
    let face = if bold { &BOLD } else { &REGULAR };
    face.as_ref()
}

/// The glyphs of a text with their places, in units of the size, and the width of the whole. A letter that the
/// font lacks is an empty box, of the width of one.
fn layout(text: &str, bold: bool) -> (Vec<(GlyphId, f64)>, f64) {
    let Some(face) = face(bold) else {
        return (Vec::new(), 0.0);
    };
    let em = f64::from(face.units_per_em());
    let mut at = 0.0;
    let mut glyphs = Vec::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        let glyph = face.glyph_index(c).unwrap_or_default();
        glyphs.push((glyph, at));
        at += f64::from(face.glyph_hor_advance(glyph).unwrap_or(0)) / em;
    }
    (glyphs, at)
}

/// The first letter of a text that figures have no outline for.
#[must_use]
pub fn missing_letter(text: &str) -> Option<char> {
    let face = face(true)?;
    text.chars().find(|c| face.glyph_index(*c).is_none())
}

/// The width of a text.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    size * layout(text, bold).1
}

/// Draws outlines turned and scaled into place.
struct Pen<'a> {
    out: &'a mut String,
    origin: (f64, f64),
    scale: f64,
    vertical: bool,
}

impl Pen<'_> {
    /// From the font's units, which count upwards, to the page's.
    fn place(&self, x: f32, y: f32) -> (Px, Px) {
        let (x, y) = (self.scale * f64::from(x), self.scale * f64::from(y));
        let (dx, dy) = if self.vertical { (-y, -x) } else { (x, -y) };
        (Px(self.origin.0 + dx), Px(self.origin.1 + dy))
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        // writing to a string cannot fail
        let _ = write!(self.out, "M{x} {y}");
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        let _ = write!(self.out, "L{x} {y}");
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        let _ = write!(self.out, "Q{x1} {y1} {x} {y}");
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        let _ = write!(self.out, "C{x1} {y1} {x2} {y2} {x} {y}");
    }

    fn close(&mut self) {
        self.out.push('z');
    }
}

/// Adds the outlines of a text that starts at a point, on its base line.
pub fn outline(
    out: &mut String,
    start: (f64, f64),
    size: f64,
    bold: bool,
    vertical: bool,
    text: &str,
) {
    let Some(face) = face(bold) else {
        return;
    };
    for (glyph, at) in layout(text, bold).0 {
        let origin = if vertical {
            (start.0, start.1 - size * at)
        } else {
            (start.0 + size * at, start.1)
        };
        let mut pen = Pen {
            out: &mut *out,
            origin,
            scale: size / f64::from(face.units_per_em()),
            vertical,
        };
        face.outline_glyph(glyph, &mut pen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fonts_have_the_letters_that_figures_use() {
        for bold in [false, true] {
            let face = face(bold).expect("the font that is compiled in");
            for c in "αβγδΔλμρστω−×²≤≥→éüß0123456789%".chars() {
                assert!(face.glyph_index(c).is_some(), "{c}");
            }
            assert!(width("mm", 12.0, bold) > width("ii", 12.0, bold));
        }
    }

    #[test]
    fn outlines_are_where_the_text_is() {
        let mut across = String::new();
        outline(&mut across, (100.0, 50.0), 10.0, false, false, "l");
        assert!(
            across.starts_with("M10") && across.ends_with('z'),
            "{across}"
        );
        let mut up = String::new();
        outline(&mut up, (100.0, 50.0), 10.0, false, true, "l");
        assert_ne!(across, up);
        // a letter the font lacks is drawn, too
        let mut missing = String::new();
        outline(&mut missing, (0.0, 0.0), 10.0, false, false, "\u{4e2d}");
        assert!(!missing.is_empty());
    }
}
