//! Sweeps: identical whatever happens on the way.

use super::*;

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
    let difference = "another configuration: `data.steps.csv` is";
    assert!(
        said.contains(difference) && said.contains("--force"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
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

/// A column of a table, by the name in its header.
fn column(table: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(table).expect("a table");
    let mut lines = text.lines().map(|l| l.split(',').map(str::to_owned));
    let header: Vec<String> = lines.next().expect("a header").collect();
    let k = header.iter().position(|h| h == name).expect("the column");
    lines.map(|l| l.collect::<Vec<_>>()[k].clone()).collect()
}

/// The instance of a cell depends on its seed and on all parameters, not on where they are given; `run --cell` repeats it.
#[test]
fn a_cell_is_the_same_in_every_grid_and_alone() {
    let folder = Folder::new("cell");
    let model = small(&folder);
    let sweep = |name: &str, more: &[&str]| {
        let output = folder.path(name);
        let start = [
            "sweep",
            text(&model),
            "--by",
            "ep",
            "--output",
            text(&output),
        ];
        works(&[&start[..], more].concat());
        output
    };
    let one = sweep("1.csv", &["--grid", "alpha=0.4,0.8", "--set", "rho=0.125"]);
    let two = sweep(
        "2.csv",
        &[
            "--grid",
            "rho=0.125,0.25",
            "--grid",
            "n=100",
            "--grid",
            "alpha=0.8",
            "--seed",
            "0",
        ],
    );
    let [of_one, of_two] = [&one, &two].map(|t| column(t, "mse_x"));
    assert_eq!(of_one[1], of_two[0]);
    assert_ne!(of_one[0], of_one[1]);
    let alone = works(&[
        "run",
        text(&model),
        "--set",
        "alpha=0.8",
        "--set",
        "rho=0.125",
        "--seed",
        "0",
        "--cell",
        "--json",
    ]);
    let answer: serde_json::Value = serde_json::from_str(&alone).expect("JSON");
    let mse: f64 = of_one[1].parse().expect("a number");
    assert_eq!(answer["variables"]["x"]["mse"].as_f64(), Some(mse));
    let evidence: f64 = column(&one, "log_evidence")[1].parse().expect("a number");
    assert_eq!(answer["log_evidence"].as_f64(), Some(evidence));
}

#[test]
fn seeds_are_added_and_titles_do_not_matter() {
    let folder = Folder::new("seeds");
    let model = small(&folder);
    let [table, whole] = ["t.csv", "whole.csv"].map(|n| folder.path(n));
    let sweep = |output: &Path, more: &[&str]| {
        let start = [
            "sweep",
            text(&model),
            "--grid",
            "alpha=0.4,0.8",
            "--output",
            text(output),
        ];
        treeamp(&[&start[..], more].concat())
    };
    let first = sweep(&table, &["--seeds", "2"]);
    assert!(
        stderr(&first).contains("after Ctrl-C the same command goes on"),
        "{}",
        stderr(&first)
    );
    // another title, a comment, another order of keys
    let said = fs::read_to_string(&model).expect("the model");
    let said = said.replace("title = \"", "# for the paper\ntitle = \"Another: ");
    assert!(said.contains("Another: "));
    fs::write(&model, said).expect("a file");
    let more = sweep(&table, &["--seeds", "2", "--seed", "1"]);
    assert!(more.status.success(), "{}", stderr(&more));
    assert!(
        stderr(&more).contains("has 6 of 8 cells already"),
        "{}",
        stderr(&more)
    );
    assert_eq!(
        column(&table, "seed"),
        ["0", "1", "2", "0", "0", "1", "2", "0"]
    );
    // fewer seeds take nothing away
    let fewer = sweep(&table, &["--seeds", "1"]);
    assert!(fewer.status.success());
    assert!(stderr(&fewer).contains("the table has all 3 of them"));
    sweep(&whole, &["--seeds", "3"]);
    assert_eq!(
        fs::read(&table).expect("a table"),
        fs::read(&whole).expect("a table")
    );
    // other options are named as they are written
    let other = sweep(&table, &["--damping", "0.5"]);
    let said = stderr(&other);
    assert_eq!(other.status.code(), Some(2));
    assert!(
        said.contains("`options.damping` is 0.5 now and nothing there; --force"),
        "{said}"
    );
    // a number that was changed by hand
    let journal = folder.path("t.csv.journal");
    let lines = fs::read_to_string(&journal).expect("the journal");
    let changed = lines.replacen("[\"mse_x\",0.0", "[\"mse_x\",0.9", 1);
    assert_ne!(lines, changed);
    fs::write(&journal, changed).expect("a file");
    let said = stderr(&sweep(&table, &[]));
    assert!(said.contains("checksum does not match"), "{said}");
    assert!(sweep(&table, &["--seeds", "3", "--force"]).status.success());
    assert_eq!(
        fs::read(&table).expect("a table"),
        fs::read(&whole).expect("a table")
    );
}

/// Both parts have runs and predictions.
#[test]
fn parts_of_a_sweep_are_alike() {
    let folder = Folder::new("parts");
    let model = small(&folder);
    for part in ["1", "2"] {
        let output = folder.path("t.csv");
        let shard = format!("{part}/2");
        let grid = [
            "--grid",
            "alpha=0.3:0.9:4",
            "--output",
            text(&output),
            "--shard",
            &shard,
        ];
        works(&[&["sweep", text(&model)][..], &grid].concat());
        let journal = folder.path(&format!("t.csv.{part}-of-2.journal"));
        let lines = fs::read_to_string(journal).expect("the journal");
        for source in ["EP", "SE"] {
            let key = format!("\\\"source\\\"=\\\"{source}\\\"");
            assert_eq!(
                lines.matches(&key).count(),
                2,
                "{source} in part {part}: {lines}"
            );
        }
    }
}

/// What went wrong is said at the end, with the cells.
#[test]
fn failed_cells_say_why() {
    let folder = Folder::new("failed");
    let model = small(&folder);
    let output = folder.path("t.csv");
    let grid = [
        "--grid",
        "rho=0.1,1.5,2.5",
        "--by",
        "ep",
        "--output",
        text(&output),
    ];
    let arguments = [&["sweep", text(&model), "--set", "rho=0.5"][..], &grid].concat();
    let out = treeamp(&arguments);
    let (said, warned) = (stdout(&out), stderr(&out));
    assert!(out.status.success(), "{warned}");
    assert!(said.contains("failed  2"), "{said}");
    assert!(
        said.contains("rho = 1.5, source = EP") && said.contains("`rho` must be"),
        "{said}"
    );
    assert!(
        warned.contains("warning: `rho` is set and varied"),
        "{warned}"
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

/// A cell has one stream however its numbers are written: as part of a range, typed, or under the factor's name of a parameter. What is
/// written down of it is the seed that was given.
#[test]
fn a_cell_has_one_stream_under_all_its_names() {
    let folder = Folder::new("names_of_cells");
    let model = small(&folder);
    let run = |more: &[&str]| -> serde_json::Value {
        let start = ["run", text(&model), "--seed", "4", "--cell", "--json"];
        serde_json::from_str(&works(&[&start[..], more].concat())).expect("JSON")
    };
    let error = |answer: &serde_json::Value| answer["variables"]["x"]["mse"].as_f64();
    let typed = run(&["--set", "alpha=0.6"]);
    assert_eq!((&typed["seed"], &typed["cell"]), (&4.into(), &true.into()));
    assert_eq!(error(&run(&["--set", "linear.alpha=0.6"])), error(&typed));
    let both = ["--set", "alpha=0.3", "--set", "linear.alpha=0.6"];
    assert_eq!(error(&run(&both)), error(&typed));
    let table = folder.path("t.csv");
    let grid = ["--grid", "alpha=0.2:0.8:4", "--by", "ep", "--seed", "4"];
    let start = ["sweep", text(&model), "--output", text(&table)];
    works(&[&start[..], &grid].concat());
    let in_range = column(&table, "mse_x")[2].parse().ok();
    assert_eq!(in_range, error(&typed));
    let page = folder.path("r.html");
    run(&["--report", text(&page)]);
    let page = fs::read_to_string(page).expect("the report");
    for (name, value) in [("seed", "4"), ("cell", "yes")] {
        let row = format!("<tr><td>{name}</td><td>{value}</td></tr>");
        assert!(page.contains(&row), "{row}");
    }
    // a parameter that something else refers to as well is another thing than the number of one factor
    let own = fs::read_to_string(&model).expect("the model");
    let own = own.replace("variance = \"noise\"", "variance = \"alpha\"");
    fs::write(&model, own).expect("a file");
    let one = run(&["--set", "linear.alpha=0.6"]);
    assert_ne!(error(&one), error(&run(&["--set", "alpha=0.6"])));
}

/// A sweep to which lower seeds come later ends in the table of all at once, and a value that the file has is no other configuration.
#[test]
fn a_journal_forgets_in_what_order_it_grew() {
    let folder = Folder::new("order");
    let model = small(&folder);
    let (grown, whole) = (folder.path("grown.csv"), folder.path("whole.csv"));
    let sweep = |table: &Path, more: &[&str]| {
        let start = [
            "sweep",
            text(&model),
            "--grid",
            "alpha=0.4,0.6",
            "-o",
            text(table),
        ];
        works(&[&start[..], more].concat())
    };
    sweep(&grown, &["--seed", "2"]);
    sweep(&grown, &["--seeds", "2", "--set", "rho=0.05"]);
    sweep(&whole, &["--seeds", "3"]);
    let read = |path: &Path| fs::read_to_string(path).expect("the table");
    assert_eq!(read(&grown), read(&whole));
    // another value is another sweep
    let start = [
        "sweep",
        text(&model),
        "--grid",
        "alpha=0.4,0.6",
        "-o",
        text(&grown),
    ];
    fails(2, &[&start[..], &["--set", "rho=0.06"]].concat());
}

/// Runs have the expected number of components that are not zero in their rows, as modes have theirs; failed cells are named plainly.
#[test]
fn rows_count_what_is_not_zero() {
    let folder = Folder::new("nonzero");
    let model = small(&folder);
    let table = folder.path("t.csv");
    let start = ["sweep", text(&model), "--by", "ep", "-o", text(&table)];
    let said = works(&[&start[..], &["--grid", "alpha=-1,0.6"]].concat());
    assert!(
        said.contains("alpha = -1.0, source = EP, seed = 0: "),
        "{said}"
    );
    assert!(said.contains("`alpha` must be positive, got -1"), "{said}");
    let expected: f64 = column(&table, "nonzero_x")[1].parse().expect("a number");
    let run = [
        "run",
        text(&model),
        "--set",
        "alpha=0.6",
        "--cell",
        "--json",
    ];
    let answer: serde_json::Value = serde_json::from_str(&works(&run)).expect("JSON");
    let all = answer["variables"]["x"]["inclusion"]
        .as_array()
        .expect("a list");
    let sum: f64 = all.iter().filter_map(serde_json::Value::as_f64).sum();
    assert!((sum - expected).abs() < 1e-9, "{sum} {expected}");
}
