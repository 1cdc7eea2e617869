//! Sweeps through the command line: two threads against one, what the journal costs, and a phase diagram of
//! 64 x 64 points.
#![allow(missing_docs, clippy::print_stdout, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use treeamp_lab::experiment::{RunOptions, Source, row};
use treeamp_lab::spec::{ModelFile, Setting};
use treeamp_lab::sweep::{Axis, Cell, Grid, Journal, run};

/// Cells of a sweep.
const CELLS: usize = 200;
/// Repetitions, of which the middle one counts.
const ROUNDS: usize = 5;

fn main() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let folder = std::env::temp_dir().join(format!("treeamp-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let text = std::fs::read_to_string(models.join("sparse_regression.toml")).expect("the model");
    let model = folder.join("m.toml");
    std::fs::write(&model, text.replace("n = 1000", "n = 400")).expect("a file");
    threads(&model, &folder);
    journal(&model, &folder);
    diagram(&models, &folder);
    let _ = std::fs::remove_dir_all(&folder);
}

fn command(arguments: &[&str]) -> f64 {
    let clock = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_treeamp"))
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .expect("the program starts");
    assert!(status.success(), "{arguments:?}");
    clock.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// One thread and two, in turn.
fn threads(model: &Path, folder: &Path) {
    let output = folder.join("t.csv");
    let seeds = (CELLS / 10).to_string();
    let sweep = |threads: &str| {
        let (model, output) = (text(model), text(&output));
        command(&[
            "sweep",
            &model,
            "--grid",
            "alpha=0.3:0.9:10",
            "--seeds",
            &seeds,
            "--by",
            "ep",
            "--force",
            "--output",
            &output,
            "--threads",
            threads,
        ])
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        one.push(sweep("1"));
        two.push(sweep("2"));
    }
    let (one, two) = (median(one), median(two));
    println!("A sweep of {CELLS} cells of expectation propagation, N = 400 (median of {ROUNDS})");
    println!("  one thread      {one:>8.2} s");
    println!(
        "  two threads     {two:>8.2} s   {:.2} times faster",
        one / two
    );
}

/// The same cells with a journal and progress, and without.
fn journal(model: &Path, folder: &Path) {
    let file = ModelFile::read(model).expect("the model");
    let axis = Axis::parse("alpha=0.3:0.9:10").expect("an axis");
    let seeds = (0..(CELLS / 10) as u64).collect();
    let grid = Grid::new(vec![axis], seeds).expect("a grid");
    let work = |cell: &Cell| {
        let options = RunOptions::default();
        let row = row(&file, &Setting::new(), cell, Source::Ep, &[], &options);
        row.map(|r| vec![r]).map_err(|e| e.to_string())
    };
    let once = |with: bool| {
        let path = folder.join("cells.journal");
        let _ = std::fs::remove_file(&path);
        let clock = Instant::now();
        let mut shown = 0;
        let records = if with {
            let mut journal = Journal::open(&path, &serde_json::Map::new()).expect("a journal");
            run(grid.cells(), 1, Some(&mut journal), work, |p| {
                shown = p.finished;
            })
        } else {
            run(grid.cells(), 1, None, work, |_| {})
        };
        assert_eq!(records.expect("records").len(), CELLS);
        assert!(!with || shown == CELLS);
        clock.elapsed().as_secs_f64()
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        with.push(once(true));
        without.push(once(false));
    }
    let (with, without) = (median(with), median(without));
    println!("The same cells on one thread (median of {ROUNDS})");
    println!("  without journal {without:>8.2} s");
    println!(
        "  with journal    {with:>8.2} s   {:+.2}%",
        100.0 * (with / without - 1.0)
    );
}

/// Compressed sensing, sparsity against ratio.
fn diagram(models: &Path, folder: &Path) {
    let (model, output) = (models.join("compressed_sensing.toml"), folder.join("p.svg"));
    let time = command(&[
        "plot",
        "phases",
        &text(&model),
        "--x",
        "rho=0.05:0.95:64",
        "--y",
        "alpha=0.02:0.98:64",
        "--threads",
        "2",
        "--output",
        &text(&output),
    ]);
    println!("A phase diagram of compressed sensing, 64 x 64 points, two threads\n  {time:.1} s");
}

fn text(path: &Path) -> String {
    PathBuf::from(path).display().to_string()
}
