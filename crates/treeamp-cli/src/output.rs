//! What a command writes: text on the standard output, and files, which replace existing ones only with `--force`.

use std::io::Write;
use std::path::Path;

use treeamp_lab::data::write_whole;

use crate::exit::Failure;

/// Writes to the standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    write!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// Says something on the standard error, in a line of its own.
pub fn note(text: &str) {
    // no channel is left to report that this cannot be written
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Warns of something that is allowed, and is probably not meant.
pub fn warn(text: &str) {
    note(&format!("warning: {text}"));
}

/// Refuses an output that exists, before any work is done.
pub fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if !force && path.exists() {
        let text = format!("{} exists already; --force replaces it", path.display());
        return Err(Failure::Usage(text));
    }
    Ok(())
}

/// Refuses a file whose name does not say what will be in it.
pub fn check_name(path: &Path, endings: &[&str]) -> Result<(), Failure> {
    let own = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    if own.is_some_and(|own| endings.contains(&own.as_str())) {
        return Ok(());
    }
    let known: Vec<String> = endings.iter().map(|e| format!(".{e}")).collect();
    let text = format!(
        "{}: expected a name that ends in {}",
        path.display(),
        known.join(" or ")
    );
    Err(Failure::Usage(text))
}

/// Refuses a report whose name is not that of a page, or that exists.
pub fn check_report(path: &Path, force: bool) -> Result<(), Failure> {
    check_name(path, &["html", "htm"])?;
    refuse_existing(path, force)
}

/// Writes a file whole, or not at all.
pub fn save(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_whole(path, bytes).map_err(|error| Failure::writing(path, &error))
}
