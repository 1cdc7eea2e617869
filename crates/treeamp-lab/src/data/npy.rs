//! The `.npy` format: a magic word, a header written as a Python dictionary, and the raw numbers.

use super::Array;
use super::array::count;

const MAGIC: &[u8] = b"\x93NUMPY";

/// What the header says.
struct Header {
    kind: Kind,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
}

#[derive(Clone, Copy)]
enum Kind {
    Float(usize),
    Complex(usize),
    Signed(usize),
    Unsigned(usize),
    Bool,
}

impl Kind {
    /// Bytes of one number.
    fn size(self) -> usize {
        match self {
            Self::Float(n) | Self::Complex(n) | Self::Signed(n) | Self::Unsigned(n) => n,
            Self::Bool => 1,
        }
    }
}

/// More than this is no header: a few axes take a hundred bytes.
pub const LONGEST_HEADER: usize = 1 << 16;

/// The length of a whole file, by its header alone.
pub fn claimed(start: &[u8]) -> Result<usize, String> {
    let (header, rest) = split(start)?;
    let header = parse_header(header)?;
    let data = count(&header.shape).and_then(|n| n.checked_mul(header.kind.size()));
    let whole = data.and_then(|n| n.checked_add(start.len() - rest.len()));
    whole.ok_or_else(|| format!("expected a shape that fits memory, got {:?}", header.shape))
}

/// Numbers of any ordinary type as `f64`. Integers that `f64` cannot hold exactly are refused.
pub fn decode(bytes: &[u8]) -> Result<Array, String> {
    let (header, data) = split(bytes)?;
    let header = parse_header(header)?;
    let entries = count(&header.shape);
    let needed = entries.and_then(|n| n.checked_mul(header.kind.size()));
    if needed != Some(data.len()) {
        return Err(format!(
            "expected the {} bytes of an array of shape {:?}, got {}",
            needed.map_or("too many".to_owned(), |n| n.to_string()),
            header.shape,
            data.len()
        ));
    }
    let complex = matches!(header.kind, Kind::Complex(_));
    let mut values = numbers(&header, data)?;
    if header.fortran && header.shape.len() > 1 {
        values = row_major(&header.shape, &values, if complex { 2 } else { 1 });
    }
    Array::new(header.shape, values, complex)
}

fn split(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    let refuse = || "expected the header of a .npy file, got something else".to_owned();
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(refuse)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(refuse)?;
    let (len, rest) = match version[0] {
        1 => {
            let (len, rest) = rest.split_first_chunk::<2>().ok_or_else(refuse)?;
            (usize::from(u16::from_le_bytes(*len)), rest)
        }
        2 | 3 => {
            let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(refuse)?;
            (u32::from_le_bytes(*len) as usize, rest)
        }
        other => {
            return Err(format!(
                "expected a .npy file of version 1 to 3, got {other}"
            ));
        }
    };
    let (header, data) = rest.split_at_checked(len).ok_or_else(refuse)?;
    Ok((std::str::from_utf8(header).map_err(|_| refuse())?, data))
}

/// `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`
fn parse_header(text: &str) -> Result<Header, String> {
    let value = |key: &str| -> Result<&str, String> {
        let missing = || format!("expected `{key}` in the header, got `{}`", brief(text));
        let at = text.find(&format!("'{key}'")).ok_or_else(missing)?;
        let rest = &text[at + key.len() + 2..];
        Ok(rest
            .trim_start()
            .strip_prefix(':')
            .ok_or_else(missing)?
            .trim_start())
    };
    let descr = value("descr")?;
    let descr = descr
        .strip_prefix('\'')
        .and_then(|d| d.split('\'').next())
        .ok_or_else(|| format!("expected one type of numbers, got `{}`", brief(descr)))?;
    let order = value("fortran_order")?;
    let fortran = if order.starts_with("True") {
        true
    } else if order.starts_with("False") {
        false
    } else {
        let got = brief(order);
        return Err(format!(
            "expected True or False for `fortran_order`, got `{got}`"
        ));
    };
    let shape = value("shape")?;
    let inside = shape.strip_prefix('(').and_then(|s| s.split_once(')'));
    let (inside, _) =
        inside.ok_or_else(|| format!("expected a shape in the header, got `{}`", brief(shape)))?;
    let dims = inside.split(',').map(str::trim).filter(|d| !d.is_empty());
    let shape: Result<Vec<usize>, String> = dims
        .map(|d| {
            let parsed = d.parse();
            parsed.map_err(|_| format!("expected a shape in the header, got `{}`", brief(inside)))
        })
        .collect();
    let shape = shape?;
    if shape.len() > 32 {
        return Err(format!("expected at most 32 axes, got {}", shape.len()));
    }
    let (kind, big_endian) = parse_kind(descr)?;
    Ok(Header {
        kind,
        big_endian,
        fortran,
        shape,
    })
}

fn parse_kind(descr: &str) -> Result<(Kind, bool), String> {
    let refuse = || format!("expected numbers, got the type `{}`", brief(descr));
    let mut letters = descr.chars();
    let big_endian = match letters.next() {
        Some('<' | '|' | '=') => false,
        Some('>') => true,
        _ => return Err(refuse()),
    };
    let kind = match letters.as_str() {
        "f4" => Kind::Float(4),
        "f8" => Kind::Float(8),
        "c8" => Kind::Complex(8),
        "c16" => Kind::Complex(16),
        "i1" => Kind::Signed(1),
        "i2" => Kind::Signed(2),
        "i4" => Kind::Signed(4),
        "i8" => Kind::Signed(8),
        "u1" => Kind::Unsigned(1),
        "u2" => Kind::Unsigned(2),
        "u4" => Kind::Unsigned(4),
        "u8" => Kind::Unsigned(8),
        "b1" => Kind::Bool,
        _ => return Err(refuse()),
    };
    Ok((kind, big_endian))
}

fn numbers(header: &Header, data: &[u8]) -> Result<Vec<f64>, String> {
    let word = |bytes: &[u8]| -> u64 {
        // at most eight bytes, in the file's order
        let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
        if header.big_endian {
            bytes.iter().fold(0, add)
        } else {
            bytes.iter().rev().fold(0, add)
        }
    };
    #[expect(clippy::cast_possible_truncation, reason = "a word of four bytes")]
    let float = |bytes: &[u8]| match bytes.len() {
        4 => f64::from(f32::from_bits(word(bytes) as u32)),
        _ => f64::from_bits(word(bytes)),
    };
    let size = header.kind.size();
    match header.kind {
        Kind::Float(_) => Ok(data.chunks_exact(size).map(float).collect()),
        Kind::Complex(_) => Ok(data.chunks_exact(size / 2).map(float).collect()),
        Kind::Bool => Ok(data.iter().map(|b| f64::from(u8::from(*b != 0))).collect()),
        Kind::Unsigned(_) => data
            .chunks_exact(size)
            .map(|b| exact(word(b).into()))
            .collect(),
        Kind::Signed(_) => {
            let unused = 64 - 8 * size;
            let signed = |b: &[u8]| (word(b) << unused).cast_signed() >> unused;
            data.chunks_exact(size)
                .map(|b| exact(signed(b).into()))
                .collect()
        }
    }
}

/// An integer as `f64`, without loss.
fn exact(i: i128) -> Result<f64, String> {
    if i.unsigned_abs() > 1 << 53 {
        return Err(format!("expected integers below 2^53, got {i}"));
    }
    Ok(i as f64)
}

/// From column-major to row-major order; `parts` numbers belong together.
fn row_major(shape: &[usize], values: &[f64], parts: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(values.len());
    let mut index = vec![0; shape.len()];
    for _ in 0..values.len() / parts {
        // the first axis runs fastest in the file
        let at = index
            .iter()
            .zip(shape)
            .rev()
            .fold(0, |at, (i, d)| at * d + i);
        out.extend_from_slice(&values[parts * at..parts * (at + 1)]);
        for (i, d) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *d {
                break;
            }
            *i = 0;
        }
    }
    out
}

pub fn encode(array: &Array) -> Vec<u8> {
    let kind = if array.complex { "<c16" } else { "<f8" };
    let dims: Vec<String> = array.shape.iter().map(ToString::to_string).collect();
    // a tuple of one has a comma
    let comma = if dims.len() == 1 { "," } else { "" };
    let dims = dims.join(", ") + comma;
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({dims}), }}");
    // the numbers start at a multiple of 64 bytes
    let padding = 63 - (MAGIC.len() + 4 + header.len()) % 64;
    header += &" ".repeat(padding);
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(
        u16::try_from(header.len())
            .unwrap_or(u16::MAX)
            .to_le_bytes(),
    );
    bytes.extend(header.as_bytes());
    bytes.extend(array.values.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

fn brief(text: &str) -> String {
    text.chars().take(60).collect()
}
