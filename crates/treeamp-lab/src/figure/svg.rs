//! The few SVG elements that charts need, written as text.

use std::fmt::{Display, Write as _};

use super::font;

/// Where a text lies relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text {
    size: f64,
    bold: bool,
    anchor: Anchor,
    vertical: bool,
}

impl Text {
    pub fn new(size: f64) -> Self {
        Self {
            size,
            bold: false,
            anchor: Anchor::Start,
            vertical: false,
        }
    }

    pub fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    pub fn anchor(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    /// Read from below.
    pub fn vertical(mut self) -> Self {
        self.vertical = true;
        self
    }
}

/// How a path is stroked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stroke {
    pub ink: &'static str,
    pub width: f64,
    pub dashed: bool,
    /// Round ends: a segment without length becomes a dot.
    pub round: bool,
}

impl Stroke {
    pub fn thin(ink: &'static str) -> Self {
        Self {
            ink,
            width: 1.0,
            dashed: false,
            round: false,
        }
    }
}

/// Something on the page: a path, or an image in its place.
#[derive(Debug, Clone)]
pub(super) struct Element {
    pub commands: String,
    pub stroke: Stroke,
    pub fill: String,
    /// The text whose outlines it is.
    pub label: Option<String>,
    pub image: Option<Image>,
}

/// A raster of colours on the page, rows from the top.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub corner: (f64, f64),
    pub size: (f64, f64),
    pub columns: usize,
    pub pixels: Vec<[u8; 3]>,
}

impl Image {
    /// Width and height of a pixel.
    pub fn pixel_size(&self) -> (f64, f64) {
        let columns = self.columns.max(1);
        let rows = self.pixels.len().div_ceil(columns).max(1);
        (self.size.0 / columns as f64, self.size.1 / rows as f64)
    }
}

/// A document in the making.
#[derive(Debug)]
pub(super) struct Svg {
    size: (f64, f64),
    title: String,
    elements: Vec<Element>,
}

const TEXT_INK: &str = "#222222";

impl Svg {
    /// A white page. The title is what a screen reader says.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        Self {
            size: (width, height),
            title: title.to_owned(),
            elements: Vec::new(),
        }
    }

    pub fn text(&mut self, x: f64, y: f64, style: &Text, text: &str) {
        self.runs(x, y, style, &lowered(text, style.size), text.to_owned());
    }

    /// $10^k$, or $c \times 10^k$.
    pub fn power(&mut self, x: f64, y: f64, style: &Text, base: &str, exponent: i32) {
        let sign = if exponent < 0 { "−" } else { "" };
        let power = format!("{sign}{}", exponent.unsigned_abs());
        let runs = [
            (base, style.size, 0.0),
            (&power, 0.75 * style.size, 0.4 * style.size),
        ];
        self.runs(x, y, style, &runs, format!("{base}^{exponent}"));
    }

    /// Texts one after the other, each with its size and how far it is raised.
    fn runs(&mut self, x: f64, y: f64, style: &Text, runs: &[(&str, f64, f64)], label: String) {
        let widths = runs
            .iter()
            .map(|(text, size, _)| font::width(text, *size, style.bold));
        let whole: f64 = widths.clone().sum();
        let mut at = match style.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -0.5 * whole,
            Anchor::End => -whole,
        };
        let mut commands = String::new();
        for ((text, size, rise), width) in runs.iter().zip(widths) {
            let start = if style.vertical {
                (x - rise, y - at)
            } else {
                (x + at, y - rise)
            };
            font::outline(
                &mut commands,
                start,
                *size,
                style.bold,
                style.vertical,
                text,
            );
            at += width;
        }
        let no_stroke = Stroke {
            width: 0.0,
            ..Stroke::thin("none")
        };
        self.elements.push(Element {
            commands,
            stroke: no_stroke,
            fill: TEXT_INK.to_owned(),
            label: Some(label),
            image: None,
        });
    }

    pub fn frame(&mut self, x: f64, y: f64, width: f64, height: f64, ink: &'static str) {
        let (w, h) = (Px(width), Px(height));
        let commands = format!("M{} {}h{w}v{h}h-{w}z", Px(x), Px(y));
        self.path(&commands, Stroke::thin(ink), "none");
    }

    /// A path from its drawing commands; nothing when there are none.
    pub fn path(&mut self, commands: &str, stroke: Stroke, fill: &str) {
        if commands.is_empty() {
            return;
        }
        self.elements.push(Element {
            commands: commands.trim_end().to_owned(),
            stroke,
            fill: fill.to_owned(),
            label: None,
            image: None,
        });
    }

    /// An image.
    pub fn image(&mut self, image: Image) {
        let stroke = Stroke::thin("none");
        self.elements.push(Element {
            commands: String::new(),
            stroke,
            fill: "none".to_owned(),
            label: None,
            image: Some(image),
        });
    }

    /// As an SVG document.
    pub fn finish(self) -> String {
        let (w, h) = (Px(self.size.0), Px(self.size.1));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" role=\"img\">\n<title>{}</title>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n",
            Escaped(&self.title)
        );
        for element in &self.elements {
            // writing to a string cannot fail
            let _ = writeln!(out, "{element}");
        }
        out + "</svg>\n"
    }

    /// As a PNG, `scale` pixels per unit.
    pub fn paint(&self, scale: f64) -> Result<Vec<u8>, String> {
        super::paint::paint(self.size, &self.elements, scale)
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(image) = &self.image {
            return write_image(f, image);
        }
        write!(f, "<path d=\"{}\" fill=\"{}\"", self.commands, self.fill)?;
        if let Some(label) = &self.label {
            return write!(f, " aria-label=\"{}\"/>", Escaped(label));
        }
        let Stroke { ink, width, .. } = self.stroke;
        write!(f, " stroke=\"{ink}\" stroke-width=\"{}\"", Px(width))?;
        if self.stroke.dashed {
            f.write_str(" stroke-dasharray=\"6 4\"")?;
        }
        if self.stroke.round {
            f.write_str(" stroke-linecap=\"round\" stroke-linejoin=\"round\"")?;
        }
        f.write_str("/>")
    }
}

/// One rectangle per run of equal pixels; no blurring between them.
fn write_image(f: &mut std::fmt::Formatter<'_>, image: &Image) -> std::fmt::Result {
    let (dx, dy) = image.pixel_size();
    f.write_str("<g shape-rendering=\"crispEdges\">")?;
    for (row, pixels) in image.pixels.chunks(image.columns.max(1)).enumerate() {
        let mut column = 0;
        for run in pixels.chunk_by(|a, b| a == b) {
            let [r, g, b] = run[0];
            let x = Px(image.corner.0 + dx * column as f64);
            let y = Px(image.corner.1 + dy * row as f64);
            column += run.len();
            // edges, not sizes: a size that is rounded on its own leaves a seam
            let right = Px(image.corner.0 + dx * column as f64);
            let bottom = Px(image.corner.1 + dy * (row + 1) as f64);
            write!(
                f,
                "<path d=\"M{x} {y}H{right}V{bottom}H{x}z\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>"
            )?;
        }
    }
    f.write_str("</g>")
}

/// A text in runs, each with its size and how far it is raised: signs below the line, which the font lacks, are small ones of the line.
fn lowered(text: &str, size: f64) -> Vec<(&str, f64, f64)> {
    let mut runs = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['₊', '₋']) {
        let (before, sign) = rest.split_at(at);
        let small = if sign.starts_with('₊') { "+" } else { "−" };
        runs.push((before, size, 0.0));
        runs.push((small, 0.7 * size, -0.2 * size));
        rest = &sign['₊'.len_utf8()..];
    }
    runs.push((rest, size, 0.0));
    runs
}

/// A length with at most two decimals.
pub(super) struct Px(pub f64);

impl Display for Px {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounded = (self.0 * 100.0).round() / 100.0;
        // no minus zero
        write!(f, "{}", rounded + 0.0)
    }
}

/// Text that cannot be taken for markup. Control characters, which XML forbids, are dropped.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&apos;")?,
                '\u{fffe}' | '\u{ffff}' => {}
                c if c.is_control() => {}
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The width of a text.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    font::width(text, size, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let text = Escaped("a < b & \"c\" > 'd'\u{0}\n").to_string();
        assert_eq!(text, "a &lt; b &amp; &quot;c&quot; &gt; &apos;d&apos;");
    }

    #[test]
    fn signs_below_the_line_are_small() {
        let runs = lowered("p₊ + q₋", 10.0);
        let texts: Vec<&str> = runs.iter().map(|r| r.0).collect();
        assert_eq!(texts, ["p", "+", " + q", "−", ""]);
        assert!(runs[1].1 < 10.0 && runs[1].2 < 0.0);
        // no empty box is left
        for (text, _, _) in runs {
            assert_eq!(font::missing_letter(text), None);
        }
    }

    #[test]
    fn lengths_are_short() {
        assert_eq!(Px(1.0 / 3.0).to_string(), "0.33");
        assert_eq!(Px(-0.001).to_string(), "0");
        assert_eq!(Px(12.0).to_string(), "12");
    }

    #[test]
    fn an_empty_path_is_not_drawn() {
        let mut svg = Svg::new(10.0, 10.0, "");
        svg.path("", Stroke::thin("#000"), "none");
        assert!(svg.elements.is_empty());
    }
}
