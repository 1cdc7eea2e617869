//! Answers that must not mislead: students, variances, evidences, data that do not belong to the model.

use super::*;

/// Thresholds, diagrams and landscapes are those of Bayes-optimal inference: a file with a student is refused.
#[test]
fn students_have_no_thresholds() {
    for name in ["lasso", "mismatched"] {
        let model = models().join(format!("{name}.toml"));
        let model = text(&model);
        let cases: [&[&str]; 3] = [
            &["threshold", model, "--between", "0.1:0.9"],
            &[
                "plot",
                "phases",
                model,
                "--x",
                "rho=0.1,0.2",
                "--y",
                "alpha=0.1:0.9:3",
                "-o",
                "never.svg",
            ],
            &["plot", "landscape", model, "-o", "never.svg"],
        ];
        for arguments in cases {
            let said = fails(2, arguments);
            assert!(
                said.contains("`student`") && said.contains("a mismatched student has none"),
                "{said}"
            );
            assert!(
                said.contains("treeamp predict") && said.lines().count() == 1,
                "{said}"
            );
        }
    }
}

/// A Gaussian model whose columns have very different scales: variances of the components differ, and are known exactly.
fn scales(folder: &Folder, belief: &str) -> PathBuf {
    folder.file("w.csv", "1,0,0\n0,2,0\n0,0,4\n");
    folder.file("y.csv", "1\n2\n3\n");
    let model = format!(
        "[[factor]]\nkind = \"gaussian\"\nsize = 3\noutput = \"x\"\n\n\
         [[factor]]\nkind = \"linear\"\nmatrix = \"w.csv\"\ninput = \"x\"\noutput = \"z\"\n\n\
         [[factor]]\nkind = \"gaussian_noise\"\nvariance = 1.0\ninput = \"z\"\noutput = \"y\"\n\n\
         [observe]\ny = \"y.csv\"\n\n[variables.x]\nbelief = \"{belief}\"\n"
    );
    folder.file(&format!("{belief}.toml"), &model)
}

/// Files say whether a variance is that of a component or the average of all: 1/2, 1/5 and 1/17 here.
#[test]
fn variances_say_whose_they_are() {
    let folder = Folder::new("variances");
    let exact = [1.0 / 2.0, 1.0 / 5.0, 1.0 / 17.0];
    let average = exact.iter().sum::<f64>() / 3.0;
    let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-9, "{x} {y}");
    for belief in ["isotropic", "diagonal", "full"] {
        let model = scales(&folder, belief);
        let [npz, csv] = ["npz", "csv"].map(|e| folder.path(&format!("{belief}.{e}")));
        let table = works(&["run", text(&model), "--output", text(&npz)]);
        assert!(
            table.contains("belief") && table.contains(belief),
            "{table}"
        );
        works(&["run", text(&model), "--output", text(&csv)]);
        let variance = read(&format!("{}:x_variance", npz.display())).expect("the variance");
        let lines = fs::read_to_string(&csv).expect("the table");
        let lines: Vec<Vec<&str>> = lines.lines().map(|l| l.split(',').collect()).collect();
        assert_eq!(
            lines[0],
            [
                "variable",
                "index",
                "mean",
                "variance",
                "std",
                "belief",
                "inclusion"
            ]
        );
        for i in 0..3 {
            let line = &lines[i + 1];
            assert_eq!(line[5], belief);
            let answer: f64 = line[3].parse().expect("a number");
            near(
                answer,
                if belief == "isotropic" {
                    average
                } else {
                    exact[i]
                },
            );
            near(line[4].parse().expect("a number"), answer.sqrt());
            if belief != "isotropic" {
                near(variance.values[i], exact[i]);
            }
        }
        if belief == "isotropic" {
            assert_eq!(variance.shape, Vec::<usize>::new());
            near(variance.values[0], average);
        }
        let covariance = read(&format!("{}:x_covariance", npz.display()));
        assert_eq!(covariance.is_ok(), belief == "full");
        if let Ok(covariance) = covariance {
            assert_eq!(covariance.shape, [3, 3]);
            near(covariance.values[4], exact[1]);
        }
    }
}

/// A penalty has no evidence, in runs as in predictions and sweeps.
#[test]
fn penalties_have_no_evidence() {
    let folder = Folder::new("evidence");
    let model = models().join("lasso.toml");
    let run = ["run", text(&model), "--set", "n=60"];
    let said = works(&run);
    let reason = "not defined: factor `l1` is not a probability distribution";
    assert!(said.contains(reason), "{said}");
    let json = works(&[&run[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(
        json["log_evidence"].is_null() && json["log_evidence_reason"] == reason,
        "{json}"
    );
    let table = folder.path("t.csv");
    works(&[
        "sweep",
        text(&model),
        "--set",
        "n=60",
        "--grid",
        "alpha=0.6",
        "--by",
        "ep",
        "-o",
        text(&table),
    ]);
    let header = fs::read_to_string(&table).expect("the table");
    assert!(
        !header.contains("log_evidence") && !header.contains("entropy"),
        "{header}"
    );
}

/// The energy of a minimiser is one number wherever it stands.
#[test]
fn energies_of_runs_and_sweeps_agree() {
    let folder = Folder::new("energy");
    let model = models().join("lasso.toml");
    let table = folder.path("t.csv");
    let set = ["--set", "n=60", "--map"];
    works(
        &[
            &[
                "sweep",
                text(&model),
                "--grid",
                "alpha=0.6",
                "--by",
                "ep",
                "-o",
                text(&table),
            ][..],
            &set,
        ]
        .concat(),
    );
    let alone = works(&[&["run", text(&model), "--cell", "--json"][..], &set].concat());
    let alone: serde_json::Value = serde_json::from_str(&alone).expect("JSON");
    let text = fs::read_to_string(&table).expect("the table");
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    let cell = |name: &str| {
        let k = lines[0]
            .iter()
            .position(|h| *h == name)
            .expect("the column");
        lines[1][k].parse::<f64>().expect("a number")
    };
    assert_eq!(alone["energy"].as_f64(), Some(cell("energy")));
    assert_eq!(
        alone["variables"]["x"]["nonzero"].as_f64(),
        Some(cell("nonzero_x"))
    );
    assert!((1.0..60.0).contains(&cell("nonzero_x")));
}

/// What is allowed and probably not meant is warned of: a random matrix beside data, a parameter without use.
#[test]
fn suspicious_models_are_warned_of() {
    let folder = Folder::new("warnings");
    folder.file("y.csv", "1\n2\n");
    let model = |seed: &str| {
        format!(
            "[parameters]\nspare = 1\nn = 4\n\n\
             [[factor]]\nkind = \"gaussian\"\nsize = \"n\"\noutput = \"x\"\n\n\
             [[factor]]\nkind = \"linear\"\nmatrix = {{ ensemble = \"gaussian\", alpha = 0.5{seed} }}\ninput = \"x\"\noutput = \"z\"\n\n\
             [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.1\ninput = \"z\"\noutput = \"y\"\n\n\
             [observe]\ny = \"y.csv\"\n"
        )
    };
    let random = folder.file("random.toml", &model(""));
    for command in ["run", "check"] {
        let said = stderr(&treeamp(&[command, text(&random)]));
        assert!(
            said.contains("warning") && said.contains("parameter `spare` is not used"),
            "{said}"
        );
        assert!(
            said.contains("`y` is read from y.csv, but the matrix of `linear` is drawn at random"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 2, "{said}");
    }
    // a matrix with a seed of its own is always the same one, and not that of the data either
    let seeded = folder.file(
        "seeded.toml",
        &model(", seed = 3").replace("spare = 1\n", ""),
    );
    let said = stderr(&treeamp(&["run", text(&seeded)]));
    assert!(
        said.contains("the matrix of `linear` is drawn at random"),
        "{said}"
    );
    for entry in fs::read_dir(models()).expect("the models") {
        let path = entry.expect("a model").path();
        if path.extension().is_some_and(|e| e == "toml") {
            assert_eq!(
                stderr(&treeamp(&["check", text(&path)])),
                "",
                "{}",
                path.display()
            );
        }
    }
    let prior = folder.file(
        "prior.toml",
        "[[factor]]\nkind = \"gaussian\"\nsize = 4\noutput = \"x\"\n",
    );
    let said = stderr(&treeamp(&["run", text(&prior)]));
    assert!(said.contains("warning: nothing is observed"), "{said}");
}

/// An image on its side has as many values, and is not the image; a plain list of them is.
#[test]
fn shapes_of_data_are_checked() {
    let folder = Folder::new("shapes");
    let model = folder.file(
        "m.toml",
        "[[factor]]\nkind = \"gaussian\"\nsize = [2, 3]\noutput = \"x\"\n\n\
         [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.1\ninput = \"x\"\noutput = \"y\"\n\n\
         [observe]\ny = \"y.npy\"\n",
    );
    let save = |shape: &[usize]| {
        let values = (0..6).map(f64::from).collect();
        let array = Array::real(shape.to_vec(), values).expect("an array");
        fs::write(folder.path("y.npy"), encode_npy(&array)).expect("a file");
        treeamp(&["run", text(&model)])
    };
    for good in [&[2, 3][..], &[6], &[2, 1, 3], &[6, 1]] {
        let output = save(good);
        assert!(output.status.success(), "{good:?}: {}", stderr(&output));
    }
    let said = stderr(&save(&[3, 2]));
    assert!(
        said.contains("y.npy: expected an array of shape [2, 3], got one of shape [3, 2]"),
        "{said}"
    );
    // a device never ends
    #[cfg(unix)]
    {
        let endless = folder.path("zero.csv");
        std::os::unix::fs::symlink("/dev/zero", &endless).expect("a link");
        let text_of = fs::read_to_string(&model).expect("the model");
        fs::write(&model, text_of.replace("y.npy", "zero.csv")).expect("a file");
        let said = fails(3, &["run", text(&model)]);
        assert!(said.contains("zero.csv: expected a regular file"), "{said}");
        fs::write(&model, text_of.replace("y.npy", "/dev/zero")).expect("a file");
        let said = fails(2, &["run", text(&model)]);
        assert!(
            said.contains("expected a name that ends in .npy, .npz or .csv"),
            "{said}"
        );
    }
}

/// One precision for all differences of an image collapses: that is no convergence, and the end says what may help.
#[test]
fn a_collapse_ends_with_one_and_says_what_may_help() {
    let folder = Folder::new("collapse");
    let pixel = |k: usize| {
        let (i, j) = (k / 24, k % 24);
        let level = f64::from((3..10).contains(&i) && (4..20).contains(&j));
        level + 0.14 * ((97 * i + 31 * j * j) as f64).sin()
    };
    let y = Array::new(vec![24, 24], (0..576).map(pixel).collect(), false).expect("an array");
    fs::write(folder.path("y.npy"), encode_npy(&y)).expect("a file");
    let model = r#"
[[factor]]
kind = "gaussian"
size = [24, 24]
variance = 4.0
output = "x"

[[factor]]
kind = "gaussian_noise"
variance = 0.01
input = "x"
output = "y"

[[factor]]
kind = "gradient"
input = "x"
output = "z"

[[factor]]
kind = "gauss_bernoulli"
size = [2, 24, 24]
rho = 0.05
variance = 0.3
output = "z"

[observe]
y = "y.npy"
"#;
    let file = folder.file("collapse.toml", model);
    let output = treeamp(&["run", text(&file)]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(said.contains("collapsed at variable `z`"), "{said}");
    assert!(said.contains("diagonal beliefs") && said.contains("Another start"));
}

/// A law without a second moment can be drawn from, and cannot be the teacher of a theory: `check` says so, and `predict` refuses it.
#[test]
fn teachers_without_a_second_moment_are_said_to_be_none() {
    let folder = Folder::new("heavy");
    let chain = |prior: &str, rest: &str| {
        format!(
            "[[factor]]\nkind = {prior}\nsize = 50\noutput = \"x\"\n\n\
             [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.5\ninput = \"x\"\noutput = \"y\"\n\n\
             [observe]\ny = \"sample\"\n{rest}"
        )
    };
    let cauchy = "\"student_t\"\ndf = 1.0";
    let heavy = folder.file("heavy.toml", &chain(cauchy, ""));
    let said = works(&["check", text(&heavy)]);
    for word in [
        "good for `run`, not for `predict`",
        "`x`",
        "`student_t`",
        "df=1",
        "no finite second moment",
    ] {
        assert!(said.contains(word), "{said}");
    }
    let said = fails(2, &["predict", text(&heavy)]);
    assert!(
        said.contains(
            "`x` of factor `student_t` (df=1, mean=0, scale=1) has no finite second moment"
        ),
        "{said}"
    );
    works(&["run", text(&heavy)]);
    let student = format!("\n[[student.factor]]\nkind = {cauchy}\nsize = 50\noutput = \"x\"\n");
    let good = folder.file("good.toml", &chain("\"gaussian\"", &student));
    assert!(works(&["check", text(&good)]).contains(": good: "));
    works(&["predict", text(&good)]);
}
