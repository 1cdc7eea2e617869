//! Reference values: the project's own, and external ones in the folder that `TREEAMP_ORACLE` names. A test without the
//! latter says so on the terminal.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::npz::{self, Array};
use serde_json::Value;

/// The folder of external values, or none and a line that names the test. It goes straight to the standard error: what a passing test
/// prints is captured. `./test` counts these lines.
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TREEAMP_ORACLE").filter(|folder| !folder.is_empty());
    if folder.is_none() {
        let (thread, program) = (std::thread::current(), env!("CARGO_CRATE_NAME"));
        let test = thread.name().unwrap_or("a test");
        let line = format!("SKIPPED {program}: {test}: TREEAMP_ORACLE is not set\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    folder.map(PathBuf::from)
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// A file of external records.
pub fn json(file: &str) -> Option<Value> {
    Some(read(&folder()?.join(file)))
}

/// A file of the project's own records, which are always there.
pub fn own(file: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracle/data");
    read(&Path::new(folder).join(file))
}

/// The arrays of a recorded run.
pub fn run(name: &str) -> Option<BTreeMap<String, Array>> {
    let path = folder()?.join("models_ep").join(format!("{name}.npz"));
    Some(npz::read(&path))
}

/// All numbers of a value, row by row.
pub fn floats(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(rows) => rows.iter().flat_map(floats).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}
