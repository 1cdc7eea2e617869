//! A grey picture with a title: an array as an image, embedded as PNG.

use super::svg::{Anchor, Svg, Text};

/// Height of the title.
const TITLE: f64 = 20.0;

/// An array drawn as a grey image, dark for low values.
#[derive(Debug, Clone)]
pub struct Picture {
    title: String,
    rows: usize,
    cols: usize,
    values: Vec<f64>,
    range: Option<(f64, f64)>,
}

impl Picture {
    /// An image of `rows` by `cols` values, row-major; missing values are white, further ones left out.
    #[must_use]
    pub fn new(title: impl Into<String>, rows: usize, cols: usize, values: &[f64]) -> Self {
        Self {
            title: title.into(),
            rows,
            cols,
            values: values.to_vec(),
            range: None,
        }
    }

    /// The values of black and of white; by default the smallest and the largest.
    #[must_use]
    pub fn range(mut self, black: f64, white: f64) -> Self {
        self.range = Some((black, white));
        self
    }

    /// Draws it into the rectangle at `origin`, as large as it fits, with square pixels.
    pub(super) fn draw(&self, svg: &mut Svg, origin: (f64, f64), size: (f64, f64)) {
        let unit =
            (size.0 / self.cols.max(1) as f64).min((size.1 - TITLE) / self.rows.max(1) as f64);
        let (width, height) = (unit * self.cols as f64, unit * self.rows as f64);
        let left = origin.0 + 0.5 * (size.0 - width);
        let title = Text::new(13.0).bold().anchor(Anchor::Middle);
        svg.text(
            origin.0 + 0.5 * size.0,
            origin.1 + 10.0,
            &title,
            &self.title,
        );
        svg.image(
            (left, origin.1 + TITLE),
            (width, height),
            &base64(&self.png()),
        );
    }

    /// Grey levels, row by row.
    fn levels(&self) -> Vec<u8> {
        let finite = || self.values.iter().copied().filter(|v| v.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let (black, white) = self.range.unwrap_or((low, high));
        let level = |i: usize| match self.values.get(i) {
            Some(v) if v.is_finite() && white > black => {
                let at = ((v - black) / (white - black)).clamp(0.0, 1.0);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in 0..=255
                let grey = (255.0 * at).round() as u8;
                grey
            }
            _ => 255,
        };
        (0..self.rows * self.cols).map(level).collect()
    }

    /// An eight-bit grey PNG whose data are stored, not compressed.
    fn png(&self) -> Vec<u8> {
        let mut raw = Vec::with_capacity(self.rows * (self.cols + 1));
        for row in self.levels().chunks(self.cols.max(1)) {
            raw.push(0); // no filter
            raw.extend(row);
        }
        let side = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes();
        let mut header = [side(self.cols), side(self.rows)].concat();
        header.extend([8, 0, 0, 0, 0]); // eight bits, grey
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(&mut png, *b"IHDR", &header);
        chunk(&mut png, *b"IDAT", &stored(&raw));
        chunk(&mut png, *b"IEND", &[]);
        png
    }
}

/// A zlib stream of stored blocks.
fn stored(raw: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks: Vec<&[u8]> = raw.chunks(0xffff).collect();
    for (i, block) in blocks.iter().enumerate() {
        out.push(u8::from(i + 1 == blocks.len()));
        let len = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.extend(len.to_le_bytes());
        out.extend((!len).to_le_bytes());
        out.extend(*block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in raw {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    out.extend(((b << 16) | a).to_be_bytes());
    out
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    png.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    let start = png.len();
    png.extend(kind);
    png.extend(data);
    let mut crc = u32::MAX;
    for byte in &png[start..] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    png.extend((!crc).to_be_bytes());
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |w, i| {
            (w << 8) | u32::from(*three.get(i).unwrap_or(&0))
        });
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= three.len() {
                letter as char
            } else {
                '='
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standard_one() {
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
        assert_eq!(base64(b"fooba"), "Zm9vYmE=");
        assert_eq!(base64(b"foob"), "Zm9vYg==");
    }

    #[test]
    fn levels_run_from_black_to_white() {
        let picture = Picture::new("", 2, 2, &[0.0, 1.0, f64::NAN, 0.5]);
        assert_eq!(picture.levels(), [0, 255, 255, 128]);
        assert_eq!(picture.range(-1.0, 1.0).levels(), [128, 255, 255, 191]);
    }

    #[test]
    fn a_chunk_ends_with_its_check_sum() {
        let mut png = Vec::new();
        chunk(&mut png, *b"IEND", &[]);
        // the end of every PNG file
        assert_eq!(
            png,
            [0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82]
        );
    }
}
