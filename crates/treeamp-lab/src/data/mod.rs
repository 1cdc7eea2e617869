//! Arrays in files: `.npy`, `.npz` and `.csv`, read without trust and written whole or not at all.
//!
//! No reader executes or unpickles anything, and none allocates more than the file can hold.

mod array;
mod csv;
mod error;
mod limit;
mod npy;
mod whole;
mod zip;

use std::path::Path;

pub use array::Array;
pub use error::DataError;
pub use limit::read_at_most;
pub use whole::write_whole;

/// The largest file that is read, 16 GiB.
const LARGEST: u64 = 1 << 34;

/// Reads an array from a file by its extension. An array of an `.npz` file is named after a colon,
/// `data.npz:y`, unless the file holds only one; so are columns of a `.csv` with a header: `table.csv:y`, `table.csv:a,b`, or
/// `table.csv:-y` for all but `y`; a name with a comma stands in quotes.
///
/// # Errors
/// [`DataError`], naming the file and the place in it.
pub fn read(path: &str) -> Result<Array, DataError> {
    let (file, member) = split(path);
    let file = Path::new(file);
    let fail = |reason: String| DataError::Content {
        path: path.to_owned(),
        reason,
    };
    if !["npy", "npz", "csv"].iter().any(|e| has_extension(file, e)) {
        let reason = "expected a name that ends in .npy, .npz or .csv";
        return Err(fail(reason.to_owned()));
    }
    let unreadable = |source| DataError::File {
        path: file.to_owned(),
        source,
    };
    limit::regular(file).map_err(unreadable)?;
    let bytes = read_at_most(file, LARGEST).map_err(unreadable)?;
    let array = if has_extension(file, "npy") {
        npy::decode(&bytes)
    } else if has_extension(file, "npz") {
        pick(&bytes, member)
    } else {
        match member {
            Some(columns) => csv::columns(&bytes, columns),
            None => csv::decode(&bytes),
        }
    };
    array.map_err(fail)
}

/// The names of the columns that [`read`] takes from a `.csv` file with a header, in their order; `None` of any other file.
#[must_use]
pub fn column_names(path: &str) -> Option<Vec<String>> {
    let (file, member) = split(path);
    let file = Path::new(file);
    if !has_extension(file, "csv") || limit::regular(file).is_err() {
        return None;
    }
    csv::names(&read_at_most(file, LARGEST).ok()?, member)
}

/// The file of a path, and the array behind its colon.
fn split(path: &str) -> (&str, Option<&str>) {
    let holds = |file: &str| {
        let mut endings = ["npz", "csv"].iter();
        endings.any(|e| has_extension(Path::new(file), e))
    };
    let mut colons = path.match_indices(':').map(|(k, _)| k);
    match colons.find(|k| holds(&path[..*k])) {
        Some(k) => (&path[..k], Some(&path[k + 1..])),
        None => (path, None),
    }
}

/// It is a table of columns: one of them alone is still a column.
pub(crate) fn is_table(path: &str) -> bool {
    has_extension(Path::new(split(path).0), "csv")
}

/// A number that changes with the content of a data file: FNV-1a of 64 bits, as 16 hexadecimal digits. It tells
/// another file from the same one, not a forged one.
///
/// # Errors
/// [`DataError`] when the file cannot be read.
pub fn digest(path: &str) -> Result<String, DataError> {
    let file = Path::new(split(path).0);
    let fail = |source| DataError::File {
        path: file.to_owned(),
        source,
    };
    limit::digest(file, LARGEST).map_err(fail)
}

/// Decodes the bytes of an `.npy` file.
///
/// # Errors
/// What was expected and what came.
pub fn decode_npy(bytes: &[u8]) -> Result<Array, String> {
    npy::decode(bytes)
}

/// Decodes the arrays of an `.npz` file, with their names.
///
/// # Errors
/// What was expected and what came.
pub fn decode_npz(bytes: &[u8]) -> Result<Vec<(String, Array)>, String> {
    let members = zip::members(bytes)?;
    members
        .iter()
        .map(|m| {
            let array = member_array(bytes, m).map_err(|e| format!("`{}`: {e}", m.name))?;
            Ok((m.array_name().to_owned(), array))
        })
        .collect()
}

/// Decodes comma-separated numbers; a first line that is not numbers is a header.
///
/// # Errors
/// What was expected and what came, with the line.
pub fn decode_csv(bytes: &[u8]) -> Result<Array, String> {
    csv::decode(bytes)
}

/// The bytes of an `.npy` file.
#[must_use]
pub fn encode_npy(array: &Array) -> Vec<u8> {
    npy::encode(array)
}

/// The bytes of an `.npz` file, not compressed; the same arrays give the same bytes.
///
/// # Errors
/// Arrays of four gigabytes or more, which the format cannot hold.
pub fn encode_npz(arrays: &[(&str, &Array)]) -> Result<Vec<u8>, String> {
    zip::encode(
        arrays
            .iter()
            .map(|(name, array)| (format!("{name}.npy"), npy::encode(array))),
    )
}

/// Comma-separated numbers, one line per row, with all their digits.
#[must_use]
pub fn encode_csv(array: &Array) -> Vec<u8> {
    csv::encode(array)
}

/// One array of an archive: the named one, or the only one.
fn pick(bytes: &[u8], member: Option<&str>) -> Result<Array, String> {
    let members = zip::members(bytes)?;
    let names = || {
        let names: Vec<&str> = members.iter().map(zip::Member::array_name).collect();
        names.join(", ")
    };
    let found = match (member, members.as_slice()) {
        (Some(name), all) => all
            .iter()
            .find(|m| m.array_name() == name)
            .ok_or_else(|| format!("there is no array `{name}`: the file has {}", names()))?,
        (None, [only]) => only,
        (None, _) => {
            let all = names();
            return Err(format!(
                "expected one array, or a name after a colon; the file has {all}"
            ));
        }
    };
    member_array(bytes, found)
}

/// The array of a member. Its header is inflated first: a member that is not as long as its header says is refused
/// before the rest is.
fn member_array(bytes: &[u8], member: &zip::Member) -> Result<Array, String> {
    let start = zip::start(bytes, member, npy::LONGEST_HEADER)?;
    let claimed = npy::claimed(&start)?;
    if claimed != member.len {
        let got = member.len;
        return Err(format!(
            "expected {claimed} bytes, as its header says, got {got}"
        ));
    }
    npy::decode(&zip::content(bytes, member)?)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(extension))
}
