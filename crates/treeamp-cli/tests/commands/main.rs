//! The commands on model files: what they print, what they leave, how they fail.

mod beliefs;
mod cost;
mod curves;
mod documented;
mod honest_pictures;
mod mistakes;
mod modes;
mod pictures;
mod real_data;
mod reports;
mod runs;
mod sweeps;
mod symmetry;
mod truthful;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use treeamp_lab::data::{Array, encode_npy, read};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("treeamp-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_treeamp"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn treeamp(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output of a command that must work.
fn works(arguments: &[&str]) -> String {
    let output = treeamp(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

/// The complaint of a command that must fail with this code.
fn fails(code: i32, arguments: &[&str]) -> String {
    let output = treeamp(arguments);
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stderr(&output)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn small(folder: &Folder) -> PathBuf {
    let model = fs::read_to_string(models().join("sparse_regression.toml")).expect("the model");
    folder.file("small.toml", &model.replace("n = 1000", "n = 100"))
}
