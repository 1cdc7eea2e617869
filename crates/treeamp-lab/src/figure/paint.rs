//! Figures as PNG: the same elements as in the SVG, painted.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash,
    Transform,
};

use super::svg::{Element, Image};

/// More pixels than this are a mistake, not a picture.
const LARGEST: f64 = 2e8;

/// Paints the elements at `scale` pixels per unit.
pub fn paint(size: (f64, f64), elements: &[Element], scale: f64) -> Result<Vec<u8>, String> {
    let (width, height) = ((size.0 * scale).ceil(), (size.1 * scale).ceil());
    if !(width >= 1.0 && height >= 1.0 && width * height <= LARGEST) {
        return Err(format!(
            "a picture of {width} x {height} pixels cannot be painted"
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked"
    )]
    let (w, h) = (width as u32, height as u32);
    let mut pixmap = Pixmap::new(w, h).ok_or("the picture does not fit in memory")?;
    pixmap.fill(Color::WHITE);
    #[expect(clippy::cast_possible_truncation, reason = "a scale")]
    let transform = Transform::from_scale(scale as f32, scale as f32);
    for element in elements {
        draw(&mut pixmap, element, transform);
    }
    pixmap.encode_png().map_err(|e| e.to_string())
}

fn draw(pixmap: &mut Pixmap, element: &Element, transform: Transform) {
    if let Some(image) = &element.image {
        draw_image(pixmap, image, transform);
        return;
    }
    let Some(path) = parse(&element.commands) else {
        return;
    };
    if let Some(color) = hex(&element.fill) {
        let mut paint = Paint::default();
        paint.set_color(color);
        paint.anti_alias = true;
        pixmap.fill_path(&path, &paint, FillRule::Winding, transform, None);
    }
    if let (Some(color), true) = (hex(element.stroke.ink), element.stroke.width > 0.0) {
        let mut paint = Paint::default();
        paint.set_color(color);
        paint.anti_alias = true;
        #[expect(clippy::cast_possible_truncation, reason = "a width")]
        let mut stroke = Stroke {
            width: element.stroke.width as f32,
            ..Stroke::default()
        };
        if element.stroke.round {
            stroke.line_cap = LineCap::Round;
            stroke.line_join = LineJoin::Round;
        }
        if element.stroke.dashed {
            stroke.dash = StrokeDash::new(vec![6.0, 4.0], 0.0);
        }
        pixmap.stroke_path(&path, &paint, &stroke, transform, None);
    }
}

/// Every pixel of an image is a rectangle: sharp at any scale.
fn draw_image(pixmap: &mut Pixmap, image: &Image, transform: Transform) {
    let (dx, dy) = image.pixel_size();
    for (i, [r, g, b]) in image.pixels.iter().enumerate() {
        let (row, column) = (i / image.columns, i % image.columns);
        let (x, y) = (
            image.corner.0 + dx * column as f64,
            image.corner.1 + dy * row as f64,
        );
        #[expect(clippy::cast_possible_truncation, reason = "places on a page")]
        let rect = tiny_skia::Rect::from_xywh(x as f32, y as f32, dx as f32, dy as f32);
        if let Some(rect) = rect {
            let mut paint = Paint::default();
            paint.set_color_rgba8(*r, *g, *b, 255);
            paint.anti_alias = false;
            pixmap.fill_rect(rect, &paint, transform, None);
        }
    }
}

/// `#rrggbb`; anything else is no paint.
fn hex(text: &str) -> Option<Color> {
    let digits = text.strip_prefix('#').filter(|d| d.len() == 6)?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    let [_, r, g, b] = value.to_be_bytes();
    Some(Color::from_rgba8(r, g, b, 255))
}

/// The drawing commands that figures use: M L H V Q C and h v l c z.
fn parse(commands: &str) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut at = (0.0_f32, 0.0_f32);
    let mut start = at;
    let mut rest = commands.trim();
    while let Some(command) = rest.chars().next() {
        rest = &rest[command.len_utf8()..];
        let end = rest
            .find(|c: char| c.is_ascii_alphabetic() && c != 'e')
            .unwrap_or(rest.len());
        let numbers: Vec<f32> = rest[..end]
            .split([' ', ','])
            .filter(|n| !n.is_empty())
            .map(|n| n.parse().ok())
            .collect::<Option<_>>()?;
        rest = &rest[end..];
        match (command, numbers.as_slice()) {
            ('M', [x, y]) => {
                path.move_to(*x, *y);
                at = (*x, *y);
                start = at;
            }
            ('z', []) => {
                path.close();
                at = start;
            }
            (c, n) => {
                let relative = c.is_ascii_lowercase();
                let base = if relative { at } else { (0.0, 0.0) };
                let point = |i: usize| (base.0 + n[i], base.1 + n[i + 1]);
                match (c.to_ascii_uppercase(), n.len()) {
                    ('H', 1) => at.0 = base.0 + n[0],
                    ('V', 1) => at.1 = base.1 + n[0],
                    ('L', 2) => at = point(0),
                    ('Q', 4) => {
                        let (p, q) = (point(0), point(2));
                        path.quad_to(p.0, p.1, q.0, q.1);
                        at = q;
                        continue;
                    }
                    ('C', 6) => {
                        let (p, q, r) = (point(0), point(2), point(4));
                        path.cubic_to(p.0, p.1, q.0, q.1, r.0, r.1);
                        at = r;
                        continue;
                    }
                    _ => return None,
                }
                path.line_to(at.0, at.1);
            }
        }
    }
    path.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_understood() {
        for commands in [
            "M0 0L1 1",
            "M1 2h3v-4h-3z",
            "M0 0Q1 1 2 0C1 2 3 4 5 6z",
            "M1 1V5M2 2H7",
        ] {
            assert!(parse(commands).is_some(), "{commands}");
        }
        for commands in ["M0", "A1 2", "L1 1 x"] {
            assert!(parse(commands).is_none(), "{commands}");
        }
    }

    #[test]
    fn colours_are_understood() {
        assert_eq!(hex("#ff0000"), Some(Color::from_rgba8(255, 0, 0, 255)));
        assert!(hex("none").is_none() && hex("#12").is_none());
    }
}
