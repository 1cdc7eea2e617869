//! Thresholds, diagrams and pictures.

use super::*;

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
    let expected = [
        "0.2,0.1,impossible,",
        "0.2,0.2,hard,",
        "0.2,0.5,easy,",
        "0.8,0.5,impossible,",
    ];
    check_diagram("phases", "rho=0.2,0.5,0.8", "alpha=0.1:0.9:9", expected);
}

/// The diagram of compressed sensing over two axes has these lines in its table.
fn check_diagram(name: &str, x: &str, y: &str, expected: [&str; 4]) {
    let model = models().join("compressed_sensing.toml");
    let folder = Folder::new(name);
    let (picture, table) = (folder.path("p.svg"), folder.path("p.csv"));
    let axes = ["plot", "phases", text(&model), "--x", x, "--y", y];
    let files = ["--output", text(&picture), "--table", text(&table)];
    works(&[&axes[..], &files].concat());
    let table = fs::read_to_string(&table).expect("the table");
    for line in expected {
        assert!(
            table.lines().any(|l| l.starts_with(line)),
            "{line}\n{table}"
        );
    }
}

/// A column that is easy, or impossible, all over is a column as any other.
#[test]
fn a_diagram_may_have_columns_without_a_transition() {
    let expected = [
        "0.05,0.5,easy,",
        "0.05,0.9,easy,",
        "0.95,0.5,impossible,",
        "0.95,0.9,impossible,",
    ];
    check_diagram("columns", "rho=0.05,0.95", "alpha=0.5,0.9", expected);
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
    labels(&svg, &["hard phase", "free entropy", "informed start"]);
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
