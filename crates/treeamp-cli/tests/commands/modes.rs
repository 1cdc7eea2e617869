//! Modes: of models, of students with a penalty, and over a grid.

use treeamp_lab::sweep::Table;

use super::*;

/// Total variation of a piecewise constant signal: its mode has few steps, and the energy of the report is that of the
/// minimiser; a law without a mode is named.
#[test]
fn the_mode_of_a_model() {
    let folder = Folder::new("mode");
    let model = models().join("total_variation.toml");
    let output = folder.path("mode.npz");
    let answer = works(&[
        "run",
        text(&model),
        "--map",
        "--json",
        "--output",
        text(&output),
    ]);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let energies = answer["energies"].as_object().expect("a table");
    let sum: f64 = energies
        .values()
        .filter_map(serde_json::Value::as_f64)
        .sum();
    let energy = answer["energy"].as_f64().expect("a number");
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

/// The numbers of a column in the rows of a source.
fn column(table: &Table, source: &str, name: &str) -> Vec<f64> {
    let (of, at) = (
        table.column("source").expect("a column"),
        table.column(name).expect("a column"),
    );
    let rows = table.rows.iter().filter(|r| r[of].to_csv() == source);
    rows.map(|r| r[at].as_number().expect("a number")).collect()
}

/// Minimisers of the lasso over a grid, beside the theory of a student with an l1 penalty.
#[test]
fn a_sweep_of_modes_has_the_errors_of_theory() {
    let folder = Folder::new("modes");
    let (model, output) = (models().join("lasso.toml"), folder.path("t.csv"));
    let sweep = |grid: &str, more: &[&str]| {
        let start = ["sweep", text(&model), "--map", "--set", "n=300"];
        let end = ["--grid", grid, "--force", "--output", text(&output)];
        works(&[&start[..], &end, more].concat());
        let table = fs::read_to_string(&output).expect("the table");
        Table::from_csv(&table).expect("a table")
    };
    let table = sweep("strength=5", &["--seeds", "24"]);
    let (errors, theory) = (
        column(&table, "MAP", "mse_x"),
        column(&table, "SE", "mse_x"),
    );
    assert_eq!((errors.len(), theory.len()), (24, 1));
    let mean = errors.iter().sum::<f64>() / 24.0;
    let spread: f64 = errors.iter().map(|e| (e - mean).powi(2)).sum();
    let error = (spread / (23.0 * 24.0)).sqrt();
    // one comparison: three standard errors are one chance in 150 with 23 degrees of freedom
    assert!(
        (mean - theory[0]).abs() < 3.0 * error,
        "{mean} ± {error}: {theory:?}"
    );
    assert!(error < 0.1 * theory[0], "{error}");
    // the number of the student's own factor is one of the grid: a stronger penalty has more energy at its least
    let table = sweep("l1.strength=2,5,10", &["--by", "ep", "--seed", "3"]);
    let energies = column(&table, "MAP", "energy");
    assert!(energies.len() == 3 && energies.is_sorted(), "{energies:?}");
    let picture = folder.path("t.svg");
    let plot = [
        "plot",
        "curve",
        text(&output),
        "--x",
        "l1.strength",
        "--y",
        "energy",
    ];
    works(&[&plot[..], &["--output", text(&picture)]].concat());
    let picture = fs::read_to_string(&picture).expect("the picture");
    assert!(picture.contains("aria-label=\"mode\""), "{picture}");
}

/// Every penalty that acts on each component can be a student: its minimisers err as predicted, to a third.
#[test]
fn every_penalty_can_be_a_student() {
    let folder = Folder::new("students");
    let lasso = fs::read_to_string(models().join("lasso.toml")).expect("the model");
    let teacher = "kind = \"gauss_bernoulli\"\nsize = \"n\"\nrho = \"rho\"";
    let student = "kind = \"l1\"\nsize = \"n\"\nstrength = \"strength\"";
    for (law, penalty) in [
        ("gaussian", "quadratic\"\nstrength = \"strength"),
        ("positive", "non_negative"),
        ("binary", "box"),
    ] {
        let model = lasso
            .replace(teacher, &format!("kind = \"{law}\"\nsize = \"n\""))
            .replace(student, &format!("size = \"n\"\nkind = \"{penalty}\""));
        let model = folder.file("m.toml", &model);
        let set = ["--set", "alpha=1.5", "--set", "strength=1", "--json"];
        let answer = |command: &[&str]| -> f64 {
            let json = works(&[command, &set].concat());
            let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
            json["variables"]["x"]["mse"].as_f64().expect("a number")
        };
        let run = answer(&["run", text(&model), "--map"]);
        let theory = answer(&["predict", text(&model)]);
        // an error of 1000 components varies by a few per cent: a third tells it from those of other laws
        assert!(
            (run - theory).abs() < 0.33 * theory,
            "{law}: {run} {theory}"
        );
        assert!(works(&["check", text(&model), "--map"]).contains("good"));
    }
}

/// What a student cannot have is named with its line, and what has no mode is refused by `check --map` as by `run --map`.
#[test]
fn students_and_modes_that_are_refused() {
    let folder = Folder::new("refused-students");
    let lasso = fs::read_to_string(models().join("lasso.toml")).expect("the model");
    let own = "strength = \"strength\"\noutput = \"x\"";
    for (by, complaint) in [
        (
            own.replace("\"x\"", "\"q\""),
            "m.toml:30: `student.factor.l1`: expected the inputs and outputs of one factor of the teacher, got those of 0",
        ),
        (
            format!("{own}\n[[student.factor]]\nkind = \"box\"\nsize = \"n\"\noutput = \"x\""),
            "`student.factor.box`: expected the inputs and outputs of one factor of the student, got those of 2",
        ),
        (
            own.replace("strength\"", "strenth\""),
            "did you mean `strength`?",
        ),
        (own.replace("\"strength\"", "-1"), "`strength` must be"),
        (
            own.replace("\"x\"", "\"x\"\n[student]\nrh = 1"),
            "`student.rh`: there is no parameter `rh`",
        ),
    ] {
        let model = folder.file("m.toml", &lasso.replace(own, &by));
        for command in ["check", "run"] {
            let said = fails(2, &[command, text(&model)]);
            assert!(said.contains(complaint), "{complaint}\n{said}");
        }
    }
    let law = models().join("sparse_regression.toml");
    let said = fails(2, &["check", text(&law), "--map"]);
    assert!(said.contains("factor `gauss_bernoulli` has no"), "{said}");
    assert_eq!(said, fails(2, &["run", text(&law), "--map"]));
    let table = folder.path("t.csv");
    let sweep = [
        "sweep",
        text(&law),
        "--map",
        "--by",
        "ep",
        "--grid",
        "rho=0.1",
    ];
    let said = fails(1, &[&sweep[..], &["--output", text(&table)]].concat());
    assert!(
        said.contains("every cell failed") && said.contains("gauss_bernoulli"),
        "{said}"
    );
}

/// Modes have the pictures that means have, and reports show them.
#[test]
fn modes_have_pictures() {
    let folder = Folder::new("mode_pictures");
    let file = models().join("total_variation.toml");
    for what in ["run", "signals"] {
        let path = folder.path(&format!("{what}.svg"));
        works(&["plot", what, text(&file), "--map", "-o", text(&path)]);
        let svg = fs::read_to_string(&path).expect("the picture");
        assert!(
            svg.contains("aria-label=\"mode\"") && !svg.contains("recovered"),
            "{what}"
        );
    }
    let page = folder.path("r.html");
    works(&["run", text(&file), "--map", "--report", text(&page)]);
    let page = fs::read_to_string(&page).expect("the report");
    assert!(page.contains("Pictures") && page.contains("aria-label=\"mode\""));
}
