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
    assert!(said.contains("another configuration: `data`"), "{said}");
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
