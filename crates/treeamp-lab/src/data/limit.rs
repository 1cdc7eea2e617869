//! Files of a size that is known to be bearable.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

/// The bytes of a file, or an error when there are more than `largest`. What the system says of the size is not
/// trusted: a device says 0 and never ends.
///
/// # Errors
/// What the system says, or a file that is too large.
pub fn read_at_most(path: impl AsRef<Path>, largest: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let refuse = |got: String| {
        let text = format!("expected at most {largest} bytes, got {got}");
        io::Error::new(io::ErrorKind::FileTooLarge, text)
    };
    let said = file.metadata()?.len();
    if said > largest {
        return Err(refuse(said.to_string()));
    }
    let mut bytes = Vec::new();
    file.take(largest.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Err(refuse("more".to_owned()));
    }
    Ok(bytes)
}

/// Refuses what is not a regular file: a device or a pipe may never end.
pub fn regular(path: &Path) -> io::Result<()> {
    if std::fs::metadata(path)?.is_file() {
        return Ok(());
    }
    let text = "expected a regular file, got a device, a pipe or a folder";
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

/// FNV-1a of the first `largest` bytes of a file, read piece by piece.
pub fn digest(path: &Path, largest: u64) -> io::Result<String> {
    regular(path)?;
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?.take(largest));
    let mut hash = crate::hash::EMPTY;
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok(format!("{hash:016x}"));
        }
        hash = crate::hash::extend(hash, piece);
        let used = piece.len();
        reader.consume(used);
    }
}
