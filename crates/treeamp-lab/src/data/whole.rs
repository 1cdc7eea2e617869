//! Files that are written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file under a name of its own and then moves it into place, so that nobody ever sees half
/// of it and a failure leaves what was there before.
///
/// # Errors
/// What the system says, a full disk for instance.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    let path = path.as_ref();
    let Some(name) = path.file_name() else {
        let text = "expected the name of a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    };
    // a device or pipe has no half: it is written straight
    if fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        return fs::write(path, bytes);
    }
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // the first error is reported
        let _ = fs::remove_file(&temporary);
    }
    written
}
