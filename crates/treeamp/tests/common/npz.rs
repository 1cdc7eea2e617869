//! Reads arrays of doubles from `.npz` files (stored or deflated).

use std::collections::BTreeMap;
use std::path::Path;

/// An array and its shape, row-major.
#[derive(Debug, Clone)]
pub struct Array {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

/// All arrays of a file, by name.
pub fn read(path: &Path) -> BTreeMap<String, Array> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let u16_at = |i: usize| usize::from(u16::from_le_bytes([bytes[i], bytes[i + 1]]));
    let u32_at = |i: usize| u16_at(i) + 65536 * u16_at(i + 2);
    // end of central directory, then one entry per file
    let end = (0..=bytes.len() - 22)
        .rev()
        .find(|i| bytes[*i..].starts_with(b"PK\x05\x06"))
        .unwrap();
    let mut at = u32_at(end + 16);
    let mut arrays = BTreeMap::new();
    for _ in 0..u16_at(end + 10) {
        let (method, packed) = (u16_at(at + 10), u32_at(at + 20));
        let (name_len, extra, comment) = (u16_at(at + 28), u16_at(at + 30), u16_at(at + 32));
        let name = String::from_utf8_lossy(&bytes[at + 46..at + 46 + name_len]).into_owned();
        let local = u32_at(at + 42);
        let start = local + 30 + u16_at(local + 26) + u16_at(local + 28);
        let data = &bytes[start..start + packed];
        let raw = match method {
            0 => data.to_vec(),
            8 => miniz_oxide::inflate::decompress_to_vec(data).unwrap(),
            other => panic!("{name}: compression method {other}"),
        };
        arrays.insert(name.trim_end_matches(".npy").to_owned(), npy(&name, &raw));
        at += 46 + name_len + extra + comment;
    }
    arrays
}

fn npy(name: &str, raw: &[u8]) -> Array {
    assert!(raw.starts_with(b"\x93NUMPY"), "{name}: not a npy file");
    let header_len = usize::from(u16::from_le_bytes([raw[8], raw[9]]));
    let header = String::from_utf8_lossy(&raw[10..10 + header_len]).into_owned();
    let shape: Vec<usize> = header
        .split("'shape': (")
        .nth(1)
        .and_then(|s| s.split(')').next())
        .unwrap()
        .split(',')
        .filter_map(|n| n.trim().parse().ok())
        .collect();
    let body = &raw[10 + header_len..];
    let data: Vec<f64> = if header.contains("<f8") {
        body.chunks_exact(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect()
    } else if header.contains("<i8") {
        let ints = body
            .chunks_exact(8)
            .map(|b| i64::from_le_bytes(b.try_into().unwrap()));
        ints.map(|i| i as f64).collect()
    } else if header.contains("<f4") {
        let floats = body
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        floats.map(f64::from).collect()
    } else {
        body.iter().map(|b| f64::from(*b)).collect()
    };
    if header.contains("'fortran_order': True") && shape.len() == 2 {
        let (rows, cols) = (shape[0], shape[1]);
        let data = (0..rows * cols)
            .map(|k| data[(k % cols) * rows + k / cols])
            .collect();
        return Array { shape, data };
    }
    Array { shape, data }
}
