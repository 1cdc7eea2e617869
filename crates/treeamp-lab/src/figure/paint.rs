//! Figures as PNG: the same elements as in the SVG, painted.

use tiny_skia::{
    Color, ColorU8, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke,
    StrokeDash, Transform,
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
        if let Some(image) = &element.image {
            draw_image(&mut pixmap, image, scale);
        } else {
            draw(&mut pixmap, element, transform);
        }
    }
    pixmap.encode_png().map_err(|e| e.to_string())
}

fn draw(pixmap: &mut Pixmap, element: &Element, transform: Transform) {
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

/// Every pixel of an image is a rectangle: sharp at any scale. Neighbours share the pixel where one ends and the other begins, so that
/// there is no gap between them.
fn draw_image(pixmap: &mut Pixmap, image: &Image, scale: f64) {
    let (dx, dy) = image.pixel_size();
    let rows = image.pixels.len().div_ceil(image.columns.max(1));
    let edges = |from: f64, step: f64, count: usize, end: u32| -> Vec<usize> {
        let edge = |k: usize| {
            let place = (scale * (from + step * k as f64)).round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "clamped"
            )]
            let pixel = place.clamp(0.0, f64::from(end)) as usize;
            pixel
        };
        (0..=count).map(edge).collect()
    };
    let (width, height) = (pixmap.width(), pixmap.height());
    let x = edges(image.corner.0, dx, image.columns, width);
    let y = edges(image.corner.1, dy, rows, height);
    let page = pixmap.pixels_mut();
    for (i, [r, g, b]) in image.pixels.iter().enumerate() {
        let (row, column) = (i / image.columns, i % image.columns);
        let ink = ColorU8::from_rgba(*r, *g, *b, 255).premultiply();
        for line in y[row]..y[row + 1] {
            let start = line * width as usize;
            page[start + x[column]..start + x[column + 1]].fill(ink);
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

    /// At a scale where pixels of the image end between those of the page, every one of the page is covered.
    #[test]
    fn images_have_no_gaps() {
        for columns in [7, 96, 101] {
            let image = Image {
                corner: (3.3, 2.7),
                size: (340.0, 320.0),
                columns,
                pixels: vec![[0, 0, 0]; columns * 5],
            };
            let mut pixmap = Pixmap::new(1032, 972).expect("a page");
            pixmap.fill(Color::WHITE);
            draw_image(&mut pixmap, &image, 2.7);
            let white = |x: u32, y: u32| pixmap.pixel(x, y).is_some_and(|p| p.red() > 0);
            let inside = (10..=925).flat_map(|x| (9..=870).map(move |y| (x, y)));
            assert_eq!(
                inside.filter(|(x, y)| white(*x, *y)).count(),
                0,
                "{columns}"
            );
        }
    }

    #[test]
    fn colours_are_understood() {
        assert_eq!(hex("#ff0000"), Some(Color::from_rgba8(255, 0, 0, 255)));
        assert!(hex("none").is_none() && hex("#12").is_none());
    }
}
