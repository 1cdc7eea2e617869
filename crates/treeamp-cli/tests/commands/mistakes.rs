//! Mistakes: each named with its file, line and key.

use super::*;

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
        (
            2,
            vec!["run", model, "--damping", "1"],
            "expected adaptive, none or a number in [0, 1)",
        ),
        (
            2,
            vec!["run", model, "--fallback", "always"],
            "expected automatic, forced or forbidden",
        ),
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
        (2, vec!["modules", "gaus"], "did you mean `gaussian`?"),
        (
            2,
            vec!["modules", "logistic", "--picture", "never.svg"],
            "logistic (likelihood): there is no picture of it",
        ),
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
            "total_variation.toml: factor `quadratic`: a penalty is not a probability distribution",
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
