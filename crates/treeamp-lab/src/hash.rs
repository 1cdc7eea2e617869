//! The FNV-1a hash, 64 bits: stable for ever, unlike the standard library's. It tells texts and files apart, and does
//! not withstand forgery.

/// The hash of nothing.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of what was hashed before and further bytes.
pub fn extend(hash: u64, bytes: &[u8]) -> u64 {
    let step = |h: u64, byte: &u8| (h ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(hash, step)
}

/// The hash of some bytes.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    extend(EMPTY, bytes)
}
