//! As much of the ZIP format as `.npz` files use: stored or deflated members, no encryption.

use std::ops::Range;

use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

/// Deflate makes nothing smaller than about a 1032nd of itself.
const LARGEST_EXPANSION: usize = 1032;

/// One file of an archive.
pub struct Member {
    pub name: String,
    deflated: bool,
    packed: Range<usize>,
    pub len: usize,
    crc: u32,
}

impl Member {
    /// Its name without `.npy`.
    pub fn array_name(&self) -> &str {
        self.name.strip_suffix(".npy").unwrap_or(&self.name)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..)?.first_chunk::<2>()?;
    Some(usize::from(u16::from_le_bytes(*word)))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*word) as usize)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<usize> {
    let word = bytes.get(at..)?.first_chunk::<8>()?;
    usize::try_from(u64::from_le_bytes(*word)).ok()
}

/// The files of an archive, from its central directory.
pub fn members(bytes: &[u8]) -> Result<Vec<Member>, String> {
    let refuse = || "expected a .npz archive, got something else or half of one".to_owned();
    let last = bytes.len().checked_sub(22).ok_or_else(refuse)?;
    // the end record has a comment of at most 65535 bytes behind it
    let end = (last.saturating_sub(65_535)..=last)
        .rev()
        .find(|i| bytes[*i..].starts_with(b"PK\x05\x06"))
        .ok_or_else(refuse)?;
    let entries = u16_at(bytes, end + 10).ok_or_else(refuse)?;
    let mut at = u32_at(bytes, end + 16).ok_or_else(refuse)?;
    let mut members = Vec::new();
    for _ in 0..entries {
        let (member, next) = entry(bytes, at).ok_or_else(refuse)??;
        members.push(member);
        at = next;
    }
    // members that share their bytes would make the content larger than any file
    let packed: usize = members.iter().map(|m| m.packed.len()).sum();
    if packed > bytes.len() {
        return Err(refuse());
    }
    Ok(members)
}

/// One entry of the central directory, and where the next one starts.
fn entry(bytes: &[u8], at: usize) -> Option<Result<(Member, usize), String>> {
    if !bytes.get(at..)?.starts_with(b"PK\x01\x02") {
        return None;
    }
    let (flags, method) = (u16_at(bytes, at + 8)?, u16_at(bytes, at + 10)?);
    let crc = u32::try_from(u32_at(bytes, at + 16)?).ok()?;
    let (mut packed, mut len) = (u32_at(bytes, at + 20)?, u32_at(bytes, at + 24)?);
    let (name_len, extra) = (u16_at(bytes, at + 28)?, u16_at(bytes, at + 30)?);
    let comment = u16_at(bytes, at + 32)?;
    let mut local = u32_at(bytes, at + 42)?;
    let extra_at = at + 46 + name_len;
    let name = String::from_utf8_lossy(bytes.get(at + 46..extra_at)?).into_owned();
    // sizes beyond four gigabytes stand in the extra field, in this order
    let mut wide = wide_sizes(bytes.get(extra_at..extra_at + extra)?).into_iter();
    for field in [&mut len, &mut packed, &mut local] {
        if *field == u32::MAX as usize {
            *field = wide.next()?;
        }
    }
    if flags & 1 != 0 || !(method == 0 || method == 8) {
        let text = format!("`{name}`: expected a stored or deflated file, got another kind");
        return Some(Err(text));
    }
    let header = bytes
        .get(local..)
        .filter(|h| h.starts_with(b"PK\x03\x04"))?;
    let start = local + 30 + u16_at(header, 26)? + u16_at(header, 28)?;
    let packed = start..start.checked_add(packed)?;
    bytes.get(packed.clone())?;
    let member = Member {
        name,
        deflated: method == 8,
        packed,
        len,
        crc,
    };
    Some(Ok((member, extra_at + extra + comment)))
}

/// The eight-byte sizes of an extra field.
fn wide_sizes(mut extra: &[u8]) -> Vec<usize> {
    while let (Some(id), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let Some(body) = extra.get(4..4 + len) else {
            break;
        };
        if id == 1 {
            return (0..len / 8).filter_map(|i| u64_at(body, 8 * i)).collect();
        }
        extra = &extra[4 + len..];
    }
    Vec::new()
}

/// The first bytes of a file of the archive, `most` of them at most.
pub fn start(bytes: &[u8], member: &Member, most: usize) -> Result<Vec<u8>, String> {
    let packed = bytes.get(member.packed.clone()).unwrap_or_default();
    let most = most.min(member.len);
    if !member.deflated {
        return Ok(packed[..most.min(packed.len())].to_vec());
    }
    match decompress_to_vec_with_limit(packed, most) {
        Ok(all) => Ok(all),
        // there is more: as was to be expected
        Err(error) if error.status == TINFLStatus::HasMoreOutput => Ok(error.output),
        Err(error) => Err(format!("expected deflated data: {error}")),
    }
}

/// The bytes of a file of the archive.
pub fn content(bytes: &[u8], member: &Member) -> Result<Vec<u8>, String> {
    let packed = bytes.get(member.packed.clone()).unwrap_or_default();
    let name = &member.name;
    let content = if member.deflated {
        if member.len > packed.len().saturating_mul(LARGEST_EXPANSION) {
            let (len, got) = (member.len, packed.len());
            return Err(format!(
                "`{name}`: {len} bytes cannot come out of {got} deflated ones"
            ));
        }
        decompress_to_vec_with_limit(packed, member.len)
            .map_err(|e| format!("`{name}`: expected deflated data: {e}"))?
    } else {
        packed.to_vec()
    };
    if content.len() != member.len || crc32(&content) != member.crc {
        return Err(format!(
            "`{name}`: the data are damaged (length or checksum differ)"
        ));
    }
    Ok(content)
}

/// The checksum of the format, polynomial 0xEDB88320.
fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0_u32; 256];
    for (value, entry) in (0_u32..).zip(&mut table) {
        *entry = (0..8).fold(value, |c, _| {
            if c & 1 == 1 {
                0xEDB8_8320 ^ c >> 1
            } else {
                c >> 1
            }
        });
    }
    !bytes.iter().fold(u32::MAX, |c, b| {
        let low = c.to_le_bytes()[0] ^ b;
        table[usize::from(low)] ^ c >> 8
    })
}

/// An archive of stored files, without dates.
pub fn encode(files: impl Iterator<Item = (String, Vec<u8>)>) -> Result<Vec<u8>, String> {
    let too_large =
        |_| "the arrays are too large for an .npz file: four gigabytes at most".to_owned();
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    let mut entries = 0_u16;
    for (name, content) in files {
        let local = u32::try_from(bytes.len()).map_err(too_large)?;
        let len = u32::try_from(content.len()).map_err(too_large)?;
        let name_len = u16::try_from(name.len()).map_err(too_large)?;
        // version 2.0, no flags, stored, the first date there is (1980-01-01), checksum, sizes, name
        let mut common = Vec::new();
        for word in [20_u16, 0, 0, 0, 0x21] {
            common.extend(word.to_le_bytes());
        }
        for word in [crc32(&content), len, len] {
            common.extend(word.to_le_bytes());
        }
        common.extend(name_len.to_le_bytes());
        common.extend([0, 0]);
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend(name.as_bytes());
        bytes.extend(&content);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(local.to_le_bytes());
        directory.extend(name.as_bytes());
        entries = entries.checked_add(1).ok_or("more than 65535 arrays")?;
    }
    let start = u32::try_from(bytes.len()).map_err(too_large)?;
    let len = u32::try_from(directory.len()).map_err(too_large)?;
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([entries.to_le_bytes(), entries.to_le_bytes()].concat());
    bytes.extend([len.to_le_bytes(), start.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    Ok(bytes)
}
