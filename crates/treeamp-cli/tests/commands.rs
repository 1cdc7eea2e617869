//! The commands on model files: what they print, what they leave, how they fail.

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

#[test]
fn every_model_can_be_checked_described_and_predicted() {
    let folder = fs::read_dir(models()).expect("the models");
    let mut files: Vec<PathBuf> = folder.map(|f| f.expect("a file").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "toml"));
    files.sort();
    assert!(files.len() >= 10);
    for file in &files {
        assert!(works(&["check", text(file)]).contains("good"));
        assert!(works(&["describe", text(file), "--observed"]).contains("observed:"));
        assert!(works(&["describe", text(file), "--form", "svg"]).contains("</svg>"));
        assert!(works(&["describe", text(file), "--form", "dot"]).contains("graph"));
        // penalties have no theory as a teacher; the committee takes ten seconds
        let long = file.ends_with("committee.toml") && std::env::var_os("TREEAMP_FULL").is_none();
        if !file.ends_with("total_variation.toml") && !long {
            predictions_make_sense(file);
        }
    }
    let table = works(&[
        "predict",
        text(&models().join("perceptron.toml")),
        "--set",
        "alpha=1.35",
    ]);
    assert!(
        table.contains("phase of x") && table.contains("hard"),
        "{table}"
    );
}

/// A signal that is known exactly through a noiseless output: JSON has no infinity.
#[test]
fn an_infinite_evidence_is_null_with_a_reason() {
    let folder = Folder::new("evidence");
    let model = folder.file(
        "m.toml",
        "[[factor]]\nkind = \"binary\"\nsize = 50\noutput = \"x\"\n[[factor]]\nkind = \"linear\"\n\
         matrix = { ensemble = \"gaussian\", alpha = 2.0 }\ninput = \"x\"\noutput = \"y\"\n",
    );
    let output = treeamp(&["run", text(&model), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(json["log_evidence"].is_null(), "{json}");
    assert!(json["log_evidence_reason"].is_string(), "{json}");
}

#[test]
fn a_sweep_report_tells_what_was_swept() {
    let folder = Folder::new("report");
    let (model, table, html) = (small(&folder), folder.path("t.csv"), folder.path("t.html"));
    let grid = [
        "--grid",
        "alpha=0.4,0.8",
        "--set",
        "rho=0.125",
        "--seeds",
        "2",
        "--seed",
        "7",
    ];
    let files = ["--output", text(&table), "--report", text(&html)];
    works(&[&["sweep", text(&model)][..], &grid, &files].concat());
    let page = fs::read_to_string(&html).expect("the report");
    for cell in ["rho = 0.125", "alpha=0.4,0.8", "2, from 7"] {
        assert!(page.contains(&format!("<td>{cell}</td>")), "{cell}");
    }
}

#[test]
fn a_journal_of_other_data_is_refused() {
    let folder = Folder::new("digest");
    let model = fs::read_to_string(models().join("sparse_gradient.toml")).expect("the model");
    let model = folder.file("m.toml", &model);
    let steps = fs::read_to_string(models().join("steps.csv")).expect("the data");
    folder.file("steps.csv", &steps);
    let table = folder.path("t.csv");
    let grid = [
        "--grid",
        "rho=0.04,0.1",
        "--by",
        "ep",
        "--output",
        text(&table),
    ];
    let arguments = [&["sweep", text(&model)][..], &grid].concat();
    works(&arguments);
    works(&arguments);
    folder.file("steps.csv", &steps.replacen('0', "1", 1));
    let said = fails(2, &arguments);
    assert!(said.contains("another configuration: `data`"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Errors do not exceed the second moments, and an information is not negative, or there is a reason.
fn predictions_make_sense(file: &Path) {
    let json = works(&["predict", text(file), "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let number = |v: &serde_json::Value| v.as_f64().unwrap_or(f64::NAN);
    for (name, row) in json["variables"].as_object().expect("variables") {
        let (mse, power) = (number(&row["mse"]), number(&row["second_moment"]));
        // a student who is wrong can do worse than the prior, but these do not
        assert!(
            mse >= 0.0 && mse <= power,
            "{}: {name}: {row}",
            file.display()
        );
    }
    let information = &json["mutual_information"];
    let reason = &json["reasons"]["mutual_information"];
    assert!(
        information.as_f64().is_some_and(|i| i >= 0.0) || reason.is_string(),
        "{}: {json}",
        file.display()
    );
}

/// Two priors that meet in one variable: the law has a constant that no factor knows.
#[test]
fn a_model_that_is_not_a_bayesian_network_has_no_entropy() {
    let said = works(&["predict", text(&models().join("sparse_gradient.toml"))]);
    let reason = "not defined: the model is not a Bayesian network: `z` comes from `gradient` and `gauss_bernoulli`";
    assert_eq!(said.matches(reason).count(), 2, "{said}");
    assert!(!said.contains("nats"), "{said}");
}

#[test]
fn a_run_leaves_its_results() {
    let folder = Folder::new("run");
    let model = small(&folder);
    let (npz, csv) = (folder.path("r.npz"), folder.path("r.csv"));
    let html = folder.path("r.html");
    let table = works(&[
        "run",
        text(&model),
        "--output",
        text(&npz),
        "--report",
        text(&html),
    ]);
    assert!(
        table.contains("log-evidence") && table.contains("converged"),
        "{table}"
    );
    works(&["run", text(&model), "--output", text(&csv)]);
    let mean = read(&format!("{}:x_mean", npz.display())).expect("the mean");
    let variance = read(&format!("{}:x_variance", npz.display())).expect("the variance");
    assert_eq!((mean.shape, variance.shape), (vec![100], vec![100]));
    let lines = fs::read_to_string(&csv).expect("the table");
    // x has 100 components, z 50
    assert_eq!(lines.lines().count(), 151);
    let first: Vec<&str> = lines.lines().nth(1).expect("a line").split(',').collect();
    assert_eq!(first[2].parse(), Ok(mean.values[0]));
    let page = fs::read_to_string(&html).expect("the report");
    assert!(page.contains("gauss_bernoulli") && page.matches("<svg").count() == 2);
    assert!(
        !page.contains("http://")
            || page.matches("http://").count()
                == page.matches("http://www.w3.org/2000/svg").count()
    );

    let json = works(&["run", text(&model), "--json", "--seed", "-3"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["converged"], true);
    assert!(
        json["variables"]["x"]["mse"]
            .as_f64()
            .is_some_and(|x| x > 0.0 && x < 0.1)
    );

    // what exists is kept
    let kept = fs::read(&npz).expect("the results");
    let complaint = fails(
        2,
        &["run", text(&model), "--seed", "9", "--output", text(&npz)],
    );
    assert!(complaint.contains("exists already; --force"), "{complaint}");
    assert_eq!(kept, fs::read(&npz).expect("the results"));
    works(&[
        "run",
        text(&model),
        "--seed",
        "9",
        "--output",
        text(&npz),
        "--force",
    ]);
    assert_ne!(kept, fs::read(&npz).expect("the results"));
}

#[test]
fn data_come_from_files() {
    let folder = Folder::new("data");
    folder.file("w.csv", "1,0\n0,2\n1,1\n");
    folder.file("y.csv", "1.0\n-2.0\n0.0\n");
    let model = r#"
[[factor]]
kind = "gaussian"
size = 2
output = "x"
[[factor]]
kind = "linear"
matrix = "w.csv"
input = "x"
output = "z"
[[factor]]
kind = "gaussian_noise"
variance = 0.5
input = "z"
output = "y"
[observe]
y = "y.csv"
"#;
    folder.file("wide.csv", "1,0,0\n0,2,0\n1,1,0\n");
    folder.file("holes.csv", "1,nan\n0,2\n1,1\n");
    let complex = Array::new(vec![2], vec![1.0; 4], true).expect("an array");
    fs::write(folder.path("complex.npy"), encode_npy(&complex)).expect("a file");
    let file = folder.file("m.toml", model);
    let out = folder.path("out.npz");
    let table = works(&["run", text(&file), "--output", text(&out)]);
    assert!(table.contains("unknown"), "the truth is not known: {table}");
    // (1 + W'W/0.5) x = W'y/0.5, by hand: [[5, 2], [2, 11]] x = [2, -8]
    let mean = read(&format!("{}:x_mean", out.display()))
        .expect("the mean")
        .values;
    for (x, exact) in mean.iter().zip([38.0 / 51.0, -44.0 / 51.0]) {
        assert!((x - exact).abs() < 1e-9, "{mean:?}");
    }
    for (from, to, complaint) in [
        ("y.csv", "nowhere.csv", "m.toml:17: `observe.y`"),
        ("w.csv", "nowhere.npy", "m.toml:8: `factor.linear.matrix`"),
        (
            "w.csv",
            "y.csv",
            "m.toml:8: `factor.linear.matrix`: y.csv: expected a matrix of two axes, got 1",
        ),
        (
            "w.csv",
            "wide.csv",
            "m.toml:8: `factor.linear.matrix`: wide.csv: expected 2 columns, one per component of the input, got 3 x 3",
        ),
        (
            "w.csv",
            "holes.csv",
            "m.toml:8: `factor.linear.matrix`: holes.csv: expected finite values, got NaN at index 1",
        ),
        (
            "y.csv",
            "complex.npy",
            "m.toml:17: `observe.y`: complex.npy: expected real values, got complex ones",
        ),
        ("y = ", "q = ", "m.toml:17: `observe.q`: "),
    ] {
        let bad = folder.file("bad.toml", &model.replace(from, to));
        let code = if to.starts_with("nowhere") { 3 } else { 2 };
        let said = fails(code, &["check", text(&bad)]);
        assert!(
            said.contains(&complaint.replace("m.toml", "bad.toml")),
            "{said}"
        );
    }
    folder.file("y.csv", "1.0\nnan\n0.0\n");
    let said = fails(2, &["run", text(&file)]);
    assert!(
        said.contains("m.toml:17: `observe.y`: y.csv: expected finite values, got NaN at index 1"),
        "{said}"
    );
    folder.file("y.csv", "1.0\n");
    let said = fails(2, &["run", text(&file)]);
    assert!(
        said.contains("m.toml:17: `observe.y`: y.csv: expected 3 values, got 1"),
        "{said}"
    );
}

/// Each fails with its code, and one line that says why.
fn complain(cases: &[(i32, Vec<&str>, &str)]) {
    for (code, arguments, complaint) in cases {
        let said = fails(*code, arguments);
        assert!(said.contains(complaint), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn mistakes_are_named() {
    let model = models().join("sparse_regression.toml");
    let model = text(&model);
    complain(&[
        (3, vec!["run", "nowhere.toml"], "nowhere.toml"),
        (
            2,
            vec!["run", model, "--set", "rh=0.1"],
            "did you mean `rho`?",
        ),
        (2, vec!["run", model, "--set", "rho=1.5"], "`rho` must be"),
        (2, vec!["run", model, "--set", "rho"], "expected name=value"),
        (2, vec!["run", model, "--output", "x.txt"], ".npz or .csv"),
        (
            2,
            vec!["sweep", model, "--grid", "alph=1,2"],
            "did you mean `alpha`?",
        ),
        (
            2,
            vec!["sweep", model, "--grid", "alpha=1:2"],
            "start:stop:count",
        ),
        (
            2,
            vec!["sweep", model, "--grid", "alpha=1,2", "--shard", "3/2"],
            "k/n",
        ),
        (
            2,
            vec!["threshold", model, "--between", "2:1"],
            "low below high",
        ),
        (2, vec!["modules", "gausian"], "did you mean `gaussian`?"),
        (
            2,
            vec!["predict", model, "--signal", "q"],
            "there is no variable `q`",
        ),
        (
            2,
            vec!["plot", "run", model, "--output", "x.pdf"],
            ".svg or .png",
        ),
        (
            3,
            vec!["plot", "curve", "nowhere.csv", "--output", "x.svg"],
            "nowhere.csv",
        ),
        (
            3,
            vec!["merge", "nowhere.journal", "--output", "x.csv"],
            "nowhere.journal",
        ),
        (
            3,
            vec!["describe", model, "--output", "/nowhere/x.svg"],
            "/nowhere/x.svg",
        ),
    ]);
}

#[test]
fn mistakes_in_values_and_models_are_named() {
    let folder = Folder::new("mistakes");
    let header = folder.file("header.csv", "alpha,mse_x,source\n");
    let header = text(&header);
    let [model, penalties, committee] = ["sparse_regression", "total_variation", "committee"]
        .map(|m| models().join(format!("{m}.toml")));
    let [model, penalties, committee] = [&model, &penalties, &committee].map(|m| text(m));
    complain(&[
        (
            2,
            vec!["run", model, "--set", "n=0"],
            "expected a size or list of sizes, got `n` = 0",
        ),
        (
            2,
            vec!["run", model, "--set", "noise=-1"],
            "`factor.gaussian_noise.variance`: `variance` must be",
        ),
        (
            2,
            vec!["run", committee, "--set", "binary.p_plus=0.3"],
            "2 factors are called `binary`: give each a `name` of its own",
        ),
        (
            2,
            vec!["plot", "curve", header, "--output", "x.svg"],
            "header.csv: expected rows, got only a header",
        ),
        (
            2,
            vec!["predict", penalties],
            "total_variation.toml: factor `quadratic`: a penalty is no law",
        ),
        (
            2,
            vec![
                "plot",
                "phases",
                model,
                "--x",
                "rho=0.1:1.9:3",
                "--y",
                "alpha=0.1:0.9:3",
                "-o",
                "x.svg",
            ],
            "`rho` must be",
        ),
        (
            2,
            vec![
                "plot",
                "phases",
                model,
                "--x",
                "rho=0.1,0.2",
                "--y",
                "rho=0.1,0.2",
                "-o",
                "x.svg",
            ],
            "expected two parameters, got `rho` twice",
        ),
    ]);
}

#[test]
fn files_without_an_end_and_full_disks() {
    let model = models().join("sparse_regression.toml");
    let model = text(&model);
    // a file that never ends
    if Path::new("/dev/zero").exists() {
        let said = fails(3, &["check", "/dev/zero"]);
        assert!(
            said.contains("/dev/zero: expected at most 16777216 bytes"),
            "{said}"
        );
    }
    // a full disk
    if Path::new("/dev/full").exists() {
        let said = fails(
            3,
            &[
                "describe",
                model,
                "--form",
                "svg",
                "--output",
                "/dev/full",
                "--force",
            ],
        );
        assert!(said.contains("cannot write /dev/full"), "{said}");
    }
}

#[test]
fn a_sweep_is_the_same_for_any_number_of_threads_and_parts() {
    let folder = Folder::new("sweep");
    let model = small(&folder);
    let grid = [
        "--grid",
        "alpha=0.3:0.9:3",
        "--grid",
        "rho=0.1,0.2",
        "--seeds",
        "3",
    ];
    let sweep = |name: &str, more: &[&str]| {
        let output = folder.path(name);
        let mut arguments = vec!["sweep", text(&model), "--output", text(&output)];
        arguments.extend(grid);
        arguments.extend(more);
        works(&arguments);
        output
    };
    let reference = fs::read(sweep("a.csv", &["--threads", "1"])).expect("the table");
    let lines = String::from_utf8(reference.clone()).expect("text");
    // six points: three runs and a prediction each
    assert_eq!(lines.lines().count(), 1 + 6 * 4);
    assert!(lines.starts_with("alpha,rho,source,seed,mse_x,"), "{lines}");
    assert_eq!(
        reference,
        fs::read(sweep("b.csv", &["--threads", "4"])).expect("the table")
    );
    let parts: Vec<_> = ["1/3", "2/3", "3/3"]
        .map(|part| {
            let output = folder.path("c.csv");
            let mut arguments = vec![
                "sweep",
                text(&model),
                "--output",
                text(&output),
                "--shard",
                part,
            ];
            arguments.extend(grid);
            command(&arguments)
                .stdout(Stdio::null())
                .spawn()
                .expect("the program starts")
        })
        .into_iter()
        .map(|mut child| child.wait().expect("it ends"))
        .collect();
    assert!(parts.iter().all(std::process::ExitStatus::success));
    let journals = ["1", "2", "3"].map(|k| folder.path(&format!("c.csv.{k}-of-3.journal")));
    let merged = folder.path("c.csv");
    let said = fails(
        2,
        &[
            "merge",
            text(&journals[0]),
            text(&journals[1]),
            "--output",
            text(&merged),
        ],
    );
    assert!(said.contains("cells are missing"), "{said}");
    let [one, two, three] = journals.each_ref().map(|j| text(j));
    works(&["merge", three, one, two, "--output", text(&merged)]);
    assert_eq!(reference, fs::read(&merged).expect("the table"));
    // another configuration is refused
    let said = fails(
        2,
        &[
            "sweep",
            text(&model),
            "--grid",
            "alpha=0.5",
            "--output",
            text(&folder.path("a.csv")),
        ],
    );
    assert!(said.contains("another configuration: `grid`"), "{said}");
    // a picture of it
    let picture = folder.path("a.png");
    works(&[
        "plot",
        "curve",
        text(&folder.path("a.csv")),
        "--by",
        "rho",
        "--output",
        text(&picture),
    ]);
    assert!(
        fs::read(&picture)
            .expect("the picture")
            .starts_with(b"\x89PNG")
    );
}

#[test]
fn a_killed_sweep_goes_on() {
    let folder = Folder::new("killed");
    let model = small(&folder);
    let run = |name: &str| {
        let output = folder.path(name);
        let output = text(&output).to_owned();
        let grid = "alpha=0.3:0.9:30";
        [
            "sweep",
            text(&model),
            "--grid",
            grid,
            "--seeds",
            "4",
            "--by",
            "ep",
            "--set",
            "n=300",
            "--output",
            &output,
        ]
        .map(str::to_owned)
    };
    let reference = run("reference.csv");
    works(&reference.each_ref().map(String::as_str));
    let arguments = run("killed.csv");
    let arguments = arguments.each_ref().map(String::as_str);
    let journal = folder.path("killed.csv.journal");
    for wanted in [5, 30, 60] {
        let mut child = command(&arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("the program starts");
        let deadline = Instant::now() + Duration::from_mins(1);
        let lines = || fs::read(&journal).map_or(0, |b| b.split(|b| *b == b'\n').count());
        while lines() < wanted && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        // SIGKILL: nothing can be tidied up
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
        assert!(lines() >= wanted);
    }
    works(&arguments);
    let (table, expected) = (folder.path("killed.csv"), folder.path("reference.csv"));
    assert_eq!(
        fs::read(table).expect("a table"),
        fs::read(expected).expect("a table")
    );
}

#[test]
fn thresholds_and_phases() {
    let model = models().join("compressed_sensing.toml");
    let found = works(&[
        "threshold",
        text(&model),
        "--between",
        "0.05:0.95",
        "--kind",
        "all",
        "--json",
    ]);
    let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
    let value = |kind: &str| found["thresholds"][kind]["value"].as_f64();
    // the published values at rho = 1/2
    assert!(
        value("algorithmic").is_some_and(|x| (x - 0.6857).abs() < 2e-4),
        "{found}"
    );
    assert!(
        value("information").is_some_and(|x| (x - 0.5).abs() < 2e-4),
        "{found}"
    );
    let folder = Folder::new("phases");
    let (picture, table) = (folder.path("p.svg"), folder.path("p.csv"));
    works(&[
        "plot",
        "phases",
        text(&model),
        "--x",
        "rho=0.2,0.5,0.8",
        "--y",
        "alpha=0.1:0.9:9",
        "--output",
        text(&picture),
        "--table",
        text(&table),
    ]);
    let table = fs::read_to_string(&table).expect("the table");
    for line in [
        "0.2,0.1,impossible,",
        "0.2,0.2,hard,",
        "0.2,0.5,easy,",
        "0.8,0.5,impossible,",
    ] {
        assert!(
            table.lines().any(|l| l.starts_with(line)),
            "{line}\n{table}"
        );
    }
}

/// A column that is easy, or impossible, all over is a column as any other.
#[test]
fn a_diagram_may_have_columns_without_a_transition() {
    let model = models().join("compressed_sensing.toml");
    let folder = Folder::new("columns");
    let (picture, table) = (folder.path("p.svg"), folder.path("p.csv"));
    works(&[
        "plot",
        "phases",
        text(&model),
        "--x",
        "rho=0.05,0.95",
        "--y",
        "alpha=0.5,0.9",
        "--output",
        text(&picture),
        "--table",
        text(&table),
    ]);
    let table = fs::read_to_string(&table).expect("the table");
    for line in [
        "0.05,0.5,easy,",
        "0.05,0.9,easy,",
        "0.95,0.5,impossible,",
        "0.95,0.9,impossible,",
    ] {
        assert!(
            table.lines().any(|l| l.starts_with(line)),
            "{line}\n{table}"
        );
    }
}

#[test]
fn every_command_teaches() {
    for name in [
        "demo",
        "run",
        "predict",
        "threshold",
        "sweep",
        "merge",
        "plot",
        "describe",
        "modules",
        "check",
    ] {
        let help = works(&[name, "--help"]);
        assert!(
            help.contains("Examples:") && help.contains("Exit codes:"),
            "{name}"
        );
    }
    for name in [
        "curve",
        "run",
        "signals",
        "images",
        "convergence",
        "landscape",
        "phases",
    ] {
        let help = works(&["plot", name, "--help"]);
        let taught = help.contains("Examples:") && help.contains("Exit codes:");
        assert!(taught, "plot {name}");
        assert!(help.contains(&format!("treeamp plot {name} ")), "{help}");
    }
    // what the examples name exists
    for name in [
        "run",
        "predict",
        "threshold",
        "sweep",
        "plot",
        "describe",
        "check",
    ] {
        let help = works(&[name, "--help"]);
        let words = help
            .split_whitespace()
            .filter_map(|w| w.strip_prefix("models/"));
        for model in words {
            assert!(models().join(model).exists(), "{name}: {model}");
        }
    }
    let list = works(&["modules"]);
    assert!(list.contains("circular_gauss_bernoulli  prior"), "{list}");
    let schema: serde_json::Value =
        serde_json::from_str(&works(&["modules", "--schema"])).expect("JSON");
    assert!(schema["properties"]["factor"].is_object());
    let modules: serde_json::Value =
        serde_json::from_str(&works(&["modules", "--json"])).expect("JSON");
    assert!(modules.as_array().is_some_and(|m| m.len() > 20));
}

#[test]
fn pictures_of_runs_and_of_theory() {
    let folder = Folder::new("pictures");
    let model = small(&folder);
    let model = text(&model);
    let file = |name: &str| models().join(name).display().to_string();
    let picture = |name: &str, arguments: &[&str]| {
        let output = folder.path(name);
        let mut all = arguments.to_vec();
        all.extend(["--output", text(&output)]);
        let said = works(&all);
        assert!(said.contains(name), "{said}");
        fs::read_to_string(&output).expect("a picture")
    };
    let labels = |svg: &str, wanted: &[&str]| {
        for label in wanted {
            assert!(svg.contains(label), "{label}");
        }
    };
    let svg = picture("run.svg", &["plot", "run", model]);
    labels(&svg, &["recovered", "Convergence"]);
    let svg = picture(
        "signals.svg",
        &[
            "plot",
            "signals",
            &file("sparse_fourier.toml"),
            "--signal",
            "z",
        ],
    );
    labels(&svg, &["observed, y", "true", "recovered"]);
    let svg = picture(
        "images.svg",
        &["plot", "images", &file("star_field.toml"), "--set", "n=24"],
    );
    labels(&svg, &["true", "observed", "recovered"]);
    let svg = picture(
        "sweeps.svg",
        &["plot", "convergence", model, "--seeds", "2"],
    );
    labels(&svg, &["state evolution", "2 seeds"]);
    let perceptron = file("perceptron.toml");
    let svg = picture(
        "landscape.svg",
        &[
            "plot",
            "landscape",
            &perceptron,
            "--set",
            "alpha=1.35",
            "--places",
            "30",
        ],
    );
    labels(
        &svg,
        &["hard phase", "free entropy", "reached from the solution"],
    );
    let complaint = fails(
        2,
        &[
            "plot",
            "images",
            model,
            "--output",
            text(&folder.path("no.svg")),
        ],
    );
    assert!(
        complaint.contains("`x`") && complaint.contains("two axes"),
        "{complaint}"
    );
    let complaint = fails(
        2,
        &[
            "plot",
            "landscape",
            &perceptron,
            "--signal",
            "z",
            "-o",
            text(&folder.path("no.svg")),
        ],
    );
    assert!(complaint.contains("`z`"), "{complaint}");
}

#[test]
fn a_curve_shows_the_best_error_and_the_hard_phase() {
    let folder = Folder::new("hard");
    let table = folder.path("t.csv");
    let perceptron = models().join("perceptron.toml");
    works(&[
        "sweep",
        text(&perceptron),
        "--set",
        "n=50",
        "--grid",
        "alpha=1.1,1.3,1.4,1.6",
        "--by",
        "all",
        "--output",
        text(&table),
    ]);
    let rows = fs::read_to_string(&table).expect("the table");
    let hard = rows.lines().filter(|l| l.contains("hard")).count();
    assert_eq!(hard, 2, "{rows}");
    let picture = folder.path("c.svg");
    works(&["plot", "curve", text(&table), "--output", text(&picture)]);
    let svg = fs::read_to_string(&picture).expect("a picture");
    for label in ["state evolution", "Bayes-optimal", "hard phase"] {
        assert!(svg.contains(label), "{label}");
    }
}

#[test]
fn every_command_speaks_json() {
    let folder = Folder::new("json");
    let model = small(&folder);
    let (model, picture) = (text(&model), folder.path("p.svg"));
    let demo = folder.path("d.svg");
    for arguments in [
        &["demo", "--n", "100", "--output", text(&demo)][..],
        &["run", model][..],
        &["predict", model][..],
        &["check", model][..],
        &["describe", model][..],
        &["modules"][..],
        &["modules", "sign"][..],
        &["plot", "run", model, "--output", text(&picture)][..],
        &["threshold", model, "--of", "alpha", "--between", "0.1:0.9"][..],
    ] {
        let mut all = arguments.to_vec();
        all.extend(["--json", "--threads", "1"]);
        let output = treeamp(&all);
        let parsed: Result<serde_json::Value, _> = serde_json::from_slice(&output.stdout);
        assert!(
            parsed.is_ok(),
            "{all:?}: {}{}",
            stdout(&output),
            stderr(&output)
        );
    }
}

#[test]
fn restarts_are_told_apart() {
    let folder = Folder::new("restarts");
    let model = fs::read_to_string(models().join("phase_retrieval.toml")).expect("the model");
    let model = model
        .replace("n = 1000", "n = 200")
        .replace("mean = 0.01", "mean = 0.0")
        .replace("alpha = 1.2", "alpha = 2.0");
    let model = folder.file("pr.toml", &model);
    let told = works(&["run", text(&model), "--restarts", "3", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let starts = told["starts"].as_array().expect("a list");
    let all: usize = starts
        .iter()
        .map(|s| s["starts"].as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(all, 4, "{told}");
    // the signal is found up to its sign, and that is the best
    let error = told["variables"]["x"]["sign_mse"]
        .as_f64()
        .expect("a number");
    assert!(error < 1e-8, "{error}");
    let table = works(&["run", text(&model), "--restarts", "3"]);
    assert!(
        table.contains("starts") && table.contains("push, seed"),
        "{table}"
    );
}

/// Total variation of a piecewise constant signal: its mode has few steps, and the energy of the report is that of the
/// minimiser; a law without a mode is named.
#[test]
fn the_mode_of_a_model() {
    let folder = Folder::new("mode");
    let model = models().join("total_variation.toml");
    let output = folder.path("mode.npz");
    let told = works(&[
        "run",
        text(&model),
        "--map",
        "--json",
        "--output",
        text(&output),
    ]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let energies = told["energies"].as_object().expect("a table");
    let sum: f64 = energies
        .values()
        .filter_map(serde_json::Value::as_f64)
        .sum();
    let energy = told["energy"].as_f64().expect("a number");
    assert!((sum - energy).abs() < 1e-9 * energy.abs());
    let x = read(&format!("{}:x_minimiser", text(&output))).expect("an array");
    let y = read(text(&models().join("steps.csv"))).expect("an array");
    assert_eq!((x.values.len(), y.values.len()), (200, 200));
    // the energy of the minimiser, term by term: noise 0.04, strength 4, periodic differences
    let fit: f64 = x
        .values
        .iter()
        .zip(&y.values)
        .map(|(x, y)| (x - y).powi(2))
        .sum();
    let next = x.values.iter().cycle().skip(1);
    let steps: f64 = x.values.iter().zip(next).map(|(x, y)| (x - y).abs()).sum();
    assert!(
        (fit / 0.08 + 4.0 * steps - energy).abs() < 1e-6 * energy,
        "{energy}"
    );
    let table = works(&["run", text(&model), "--map"]);
    assert!(
        table.contains("energy") && table.contains("not zero"),
        "{table}"
    );
    let law = models().join("sparse_regression.toml");
    let complaint = fails(2, &["run", text(&law), "--map"]);
    assert!(complaint.contains("gauss_bernoulli"), "{complaint}");
}
