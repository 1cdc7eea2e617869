//! The few SVG elements that charts need, written as text.

use std::fmt::{Display, Write as _};

const FONT: &str = "Helvetica, Arial, sans-serif";

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

/// A document in the making.
#[derive(Debug)]
pub(super) struct Svg {
    out: String,
}

impl Svg {
    /// A white page. The title is what a screen reader says.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut svg = Self { out: String::new() };
        svg.push(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\" role=\"img\" font-family=\"{FONT}\" fill=\"#222222\">",
            w = Px(width),
            h = Px(height),
        ));
        svg.push(format_args!("<title>{}</title>", Escaped(title)));
        svg.push(format_args!(
            "<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>",
            Px(width),
            Px(height)
        ));
        svg
    }

    fn push(&mut self, element: impl Display) {
        // writing to a string cannot fail
        let _ = writeln!(self.out, "{element}");
    }

    pub fn text(&mut self, x: f64, y: f64, style: &Text, text: &str) {
        self.raw_text(x, y, style, Escaped(text));
    }

    /// $10^k$, or $c \times 10^k$.
    pub fn power(&mut self, x: f64, y: f64, style: &Text, base: &str, exponent: i32) {
        let small = Px(style.size * 0.75);
        let rise = Px(-style.size * 0.4);
        let sign = if exponent < 0 { "−" } else { "" };
        let k = exponent.unsigned_abs();
        let markup = format!(
            "{}<tspan dy=\"{rise}\" font-size=\"{small}\">{sign}{k}</tspan>",
            Escaped(base)
        );
        self.raw_text(x, y, style, markup);
    }

    fn raw_text(&mut self, x: f64, y: f64, style: &Text, content: impl Display) {
        let (px, py, size) = (Px(x), Px(y), Px(style.size));
        let weight = if style.bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let turn = if style.vertical {
            format!(" transform=\"rotate(-90 {px} {py})\"")
        } else {
            String::new()
        };
        self.push(format_args!(
            "<text x=\"{px}\" y=\"{py}\" font-size=\"{size}\"{weight}{anchor}{turn}>{content}</text>"
        ));
    }

    pub fn frame(&mut self, x: f64, y: f64, width: f64, height: f64, ink: &str) {
        self.push(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{ink}\"/>",
            Px(x),
            Px(y),
            Px(width),
            Px(height)
        ));
    }

    /// A PNG image, given in base 64, with sharp pixels.
    pub fn image(&mut self, at: (f64, f64), size: (f64, f64), data: &str) {
        self.push(format_args!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"/>",
            Px(at.0),
            Px(at.1),
            Px(size.0),
            Px(size.1)
        ));
    }

    /// A path from its drawing commands; nothing when there are none.
    pub fn path(&mut self, commands: &str, stroke: Stroke, fill: &str) {
        if commands.is_empty() {
            return;
        }
        let dash = if stroke.dashed {
            " stroke-dasharray=\"6 4\""
        } else {
            ""
        };
        let ends = if stroke.round {
            " stroke-linecap=\"round\" stroke-linejoin=\"round\""
        } else {
            ""
        };
        self.push(format_args!(
            "<path d=\"{}\" fill=\"{fill}\" stroke=\"{}\" stroke-width=\"{}\"{dash}{ends}/>",
            commands.trim_end(),
            stroke.ink,
            Px(stroke.width)
        ));
    }

    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }
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

/// The width of a text in Helvetica, to a few per cent.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'f' | 't' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | ' '
        | '(' | ')' | 'r' => 0.3,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.87,
        c if c.is_uppercase() => 0.7,
        c if c.is_ascii() => 0.56,
        _ => 0.65,
    };
    size * text.chars().map(em).sum::<f64>()
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
    fn lengths_are_short() {
        assert_eq!(Px(1.0 / 3.0).to_string(), "0.33");
        assert_eq!(Px(-0.001).to_string(), "0");
        assert_eq!(Px(12.0).to_string(), "12");
    }

    #[test]
    fn an_empty_path_is_not_drawn() {
        let mut svg = Svg::new(10.0, 10.0, "");
        let before = svg.out.len();
        svg.path("", Stroke::thin("#000"), "none");
        assert_eq!(svg.out.len(), before);
    }
}
