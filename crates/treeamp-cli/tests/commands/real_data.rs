//! From a table to an answer: columns by their names, standardised, with an intercept.

use super::*;

/// Coefficients of the model that is shipped: means and standard deviations are those of the sum over all 1024 supports
/// (computed in numpy), to the accuracy of expectation propagation on ten correlated columns.
#[test]
fn real_data_have_a_standard_deviation_for_every_coefficient() {
    let means = [
        -0.0002, -0.1370, 0.3285, 0.2005, -0.1371, 0.0399, -0.0950, 0.0455, 0.3454, 0.0080,
    ];
    let stds = [
        0.0119, 0.0397, 0.0407, 0.0393, 0.1488, 0.1149, 0.0898, 0.0822, 0.0733, 0.0242,
    ];
    let inclusions = [
        0.1042, 0.9904, 1.0, 1.0, 0.6716, 0.4313, 0.6440, 0.4251, 1.0, 0.1853,
    ];
    let folder = Folder::new("real");
    let (csv, svg) = (folder.path("r.csv"), folder.path("r.svg"));
    let model = models().join("real_data.toml");
    works(&["run", text(&model), "--output", text(&csv)]);
    let lines = fs::read_to_string(&csv).expect("the table");
    for (i, line) in lines.lines().skip(1).take(10).enumerate() {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells[0], cells[5]), ("x", "diagonal"));
        let number = |k: usize| cells[k].parse::<f64>().expect("a number");
        assert!((number(2) - means[i]).abs() < 0.015, "{line}: {}", means[i]);
        assert!((number(4) - stds[i]).abs() < 0.015, "{line}: {}", stds[i]);
        // probabilities of columns that stand in for each other (tc, ldl, hdl) are off by most
        let gap = (number(6) - inclusions[i]).abs();
        assert!(gap < 0.1, "{line}: {}", inclusions[i]);
    }
    let table = works(&["run", text(&model)]);
    let bmi = table.lines().find(|l| l.trim_start().starts_with("bmi"));
    let bmi: Vec<&str> = bmi.expect("a line").split_whitespace().collect();
    assert_eq!(bmi.len(), 4, "name, mean, std, probability: {bmi:?}");
    assert!(table.contains("P(not zero)") && table.contains("expected not zero  6."));
    // the same numbers in JSON and in arrays
    let answer = works(&["run", text(&model), "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let x = &answer["variables"]["x"];
    assert_eq!(x["components"][2], "bmi");
    let npz = folder.path("r.npz");
    works(&["run", text(&model), "--output", text(&npz)]);
    for (name, key) in [
        ("x_std", "std"),
        ("x_inclusion", "inclusion"),
        ("x_mean", "mean"),
    ] {
        let array = read(&format!("{}:{name}", npz.display())).expect("an array");
        let listed = x[key].as_array().expect("a list");
        let listed = listed.iter().map(|v| v.as_f64().expect("a number"));
        assert_eq!(array.values, listed.collect::<Vec<f64>>(), "{name}");
    }
    works(&["plot", "run", text(&model), "--output", text(&svg)]);
    let picture = fs::read_to_string(&svg).expect("the picture");
    assert!(picture.contains("± one standard deviation"));
    assert!(picture.contains("probability that it is not zero"));
}

/// A straight line, y = 2 + 3 a, beside a column that is not used.
fn line(folder: &Folder, matrix: &str, observed: &str, n: usize) -> PathBuf {
    folder.file("t.csv", "\"a\",b,y\n0,1,2\n1,-1,5\n2,1,8\n3,-1,11\n");
    let text = format!(
        "[[factor]]\nkind = \"gaussian\"\nsize = {n}\nvariance = 1e6\noutput = \"x\"\n\n\
         [[factor]]\nkind = \"linear\"\nmatrix = {matrix}\ninput = \"x\"\noutput = \"z\"\n\n\
         [[factor]]\nkind = \"gaussian_noise\"\nvariance = 1e-6\ninput = \"z\"\noutput = \"y\"\n\n\
         [observe]\ny = {observed}\n"
    );
    folder.file("line.toml", &text)
}

fn coefficients(folder: &Folder, model: &Path) -> Vec<f64> {
    let csv = folder.path("x.csv");
    works(&["run", text(model), "--output", text(&csv), "--force"]);
    let lines = fs::read_to_string(&csv).expect("the table");
    let own = lines.lines().filter(|l| l.starts_with("x,"));
    own.map(|l| {
        l.split(',')
            .nth(2)
            .and_then(|m| m.parse().ok())
            .expect("a number")
    })
    .collect()
}

#[test]
fn columns_are_taken_by_their_names() {
    let folder = Folder::new("columns_by_name");
    let near = |found: Vec<f64>, expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(x, y)| (x - y).abs() < 1e-3),
            "{found:?} {expected:?}"
        );
    };
    let y = "\"t.csv:y\"";
    let model = line(&folder, "{ file = \"t.csv:-y\", intercept = true }", y, 3);
    near(coefficients(&folder, &model), &[3.0, 0.0, 2.0]);
    let model = line(&folder, "{ file = \"t.csv:b, a\", intercept = true }", y, 3);
    near(coefficients(&folder, &model), &[0.0, 3.0, 2.0]);
    // the correlation of a and b is -1 / sqrt(5), and y is a but for its scale
    let both = "{ file = \"t.csv:y\", standardise = true }";
    let model = line(
        &folder,
        "{ file = \"t.csv:a,b\", standardise = true }",
        both,
        2,
    );
    near(coefficients(&folder, &model), &[1.0, 0.0]);
    for (matrix, observed, complaint) in [
        (
            "\"t.csv:a,c\"",
            y,
            "there is no column `c`: the file has a, b, y",
        ),
        (
            "{ file = \"t.csv:a,b\", scale = true }",
            y,
            "there is no key `scale`: expected one of file, standardise, intercept",
        ),
        (
            "{ file = \"t.csv:a,b\", standardise = 1 }",
            y,
            "expected true or false, got 1",
        ),
        (
            "\"t.csv:a,b\"",
            "{ file = \"t.csv:y\", intercept = true }",
            "intercept",
        ),
        ("\"t.csv:a,b\"", "\"t.csv:q\"", "there is no column `q`"),
    ] {
        let model = line(&folder, matrix, observed, 2);
        let said = fails(2, &["run", text(&model)]);
        assert!(said.contains(complaint), "{said}");
    }
    folder.file("n.csv", "1,2\n3,4\n");
    let said = fails(2, &["run", text(&line(&folder, "\"n.csv:a,b\"", y, 2))]);
    assert!(said.contains("expected a header"), "{said}");
    folder.file("w.csv", "a,b\n1,2\n1,x\n");
    let said = fails(2, &["run", text(&line(&folder, "\"w.csv:a,b\"", y, 2))]);
    assert!(
        said.contains("line 3, column `b`: expected a number, got `x`"),
        "{said}"
    );
    folder.file("c.csv", "a,b\n1,2\n1,3\n");
    let said = fails(
        2,
        &[
            "run",
            text(&line(
                &folder,
                "{ file = \"c.csv:a,b\", standardise = true }",
                y,
                2,
            )),
        ],
    );
    assert!(said.contains("column `a` is constant"), "{said}");
}

/// One column of a table is a matrix of one column.
#[test]
fn one_column_is_a_matrix() {
    let folder = Folder::new("one_column");
    folder.file("t.csv", "\"age, in years\",price\n1,2.5\n2,4.5\n3,7\n");
    let model = |matrix: &str| {
        folder.file(
            "m.toml",
            &format!(
                "[[factor]]\nkind = \"gaussian\"\nsize = 1\noutput = \"x\"\n\n\
                 [[factor]]\nkind = \"linear\"\nmatrix = {matrix}\ninput = \"x\"\noutput = \"z\"\n\n\
                 [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.5\ninput = \"z\"\noutput = \"y\"\n\n\
                 [observe]\ny = \"t.csv:price\"\n"
            ),
        )
    };
    // the posterior mean of a slope with prior variance one: sum(ax) / (sum(aa) + 0.5)
    let slope = (2.5 + 9.0 + 21.0) / (14.0 + 0.5);
    for matrix in [
        "\"t.csv:age, in years\"",
        "{ file = 't.csv:\"age, in years\"' }",
    ] {
        let answer = works(&["run", text(&model(matrix)), "--json"]);
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        let mean = answer["variables"]["x"]["mean"][0]
            .as_f64()
            .expect("a number");
        assert!((mean - slope).abs() < 1e-9, "{mean} against {slope}");
    }
    let said = fails(2, &["run", text(&model("\"t.csv\""))]);
    assert!(said.contains("expected 1 columns"), "{said}");
}

/// A model without a theory is swept without it; what is about theory alone says why there is none.
#[test]
fn diagonal_beliefs_have_no_theory_and_say_so() {
    let folder = Folder::new("no_theory");
    let model = models().join("real_data.toml");
    let table = folder.path("t.csv");
    let start = ["sweep", text(&model), "--output", text(&table)];
    let sweep = |more: &[&str]| treeamp(&[&start[..], &["--grid", "rho=0.2,0.5"], more].concat());
    let output = sweep(&[]);
    assert!(output.status.success());
    let why = "there is no theory of diagonal beliefs";
    assert!(stderr(&output).contains(&format!("theory is left out: {why}")));
    let lines = fs::read_to_string(&table).expect("a table");
    assert!(
        !lines.contains("failed") && lines.lines().count() == 3,
        "{lines}"
    );
    let picture = folder.path("p.svg");
    let threshold = [
        "threshold",
        text(&model),
        "--of",
        "rho",
        "--between",
        "0.1:0.9",
    ];
    for command in [
        &["predict", text(&model)][..],
        &threshold,
        &[
            "plot",
            "landscape",
            text(&model),
            "--output",
            text(&picture),
        ],
        &[
            &start[..],
            &["--grid", "rho=0.2,0.5", "--by", "se", "--force"],
        ]
        .concat(),
    ] {
        let said = fails(2, command);
        assert!(said.contains(why), "{command:?}: {said}");
    }
}

/// Results carry the names of the columns they belong to.
#[test]
fn coefficients_keep_their_names() {
    let folder = Folder::new("named_coefficients");
    let model = models().join("real_data.toml");
    let csv = folder.path("c.csv");
    works(&["run", text(&model), "--output", text(&csv)]);
    let lines = fs::read_to_string(&csv).expect("the table");
    let lines: Vec<Vec<&str>> = lines.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(lines[0].last(), Some(&"component"));
    assert_eq!((lines[3][1], lines[3].last()), ("2", Some(&"bmi")));
    // the products have no names
    let product = lines.iter().find(|l| l[0] == "z").expect("a line");
    assert_eq!(product.last(), Some(&""));
}

/// Names of columns: one column has a table, a repeated or taken name is refused, a constant column is called by its own.
#[test]
fn columns_are_called_by_their_names() {
    let folder = Folder::new("names");
    let y = "\"t.csv:y\"";
    let one = line(&folder, "\"t.csv:a\"", y, 1);
    let table = works(&["run", text(&one)]);
    assert!(
        table.lines().any(|l| l.trim_start().starts_with("a ")),
        "{table}"
    );
    let twice = line(&folder, "\"t.csv:a,a\"", y, 2);
    assert!(fails(2, &["run", text(&twice)]).contains("column `a` is chosen twice"));
    let constant = line(&folder, "{ file = \"c.csv:-y\", standardise = true }", y, 2);
    folder.file("c.csv", "intercept,b,y\n1,1,2\n2,1,5\n3,1,8\n4,1,11\n");
    let said = fails(2, &["run", text(&constant)]);
    assert!(said.contains("column `b` is constant"), "{said}");
    let taken = line(&folder, "{ file = \"c.csv:-y\", intercept = true }", y, 3);
    let said = fails(2, &["run", text(&taken)]);
    assert!(
        said.contains("a column is called `intercept` already"),
        "{said}"
    );
}

/// More named components than a table has room for: the output says where they are.
#[test]
fn many_columns_are_pointed_to() {
    let folder = Folder::new("many_names");
    let names: Vec<String> = (0..61).map(|k| format!("c{k}")).collect();
    let row = |k: usize| -> String {
        let values = (0..61).map(|j| if j == k { "1" } else { "0" });
        values.collect::<Vec<_>>().join(",") + ",1\n"
    };
    let rows: String = (0..61).map(row).collect();
    let model = line(&folder, "\"m.csv:-y\"", "\"m.csv:y\"", 61);
    folder.file("m.csv", &format!("{},y\n{rows}", names.join(",")));
    let said = works(&["run", text(&model)]);
    assert!(said.contains("61 of x, under their names"), "{said}");
}
