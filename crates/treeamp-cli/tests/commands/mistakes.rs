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
            "invalid value '3/2' for '--shard <K/N>': expected k/n with k from 1 to n",
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
            vec!["modules", "linear", "--picture", "never.svg"],
            "linear (channel): there is no picture of it",
        ),
        (
            2,
            vec!["modules", "laplace", "--picture", "never.pdf"],
            "never.pdf: expected a name that ends in .svg or .png",
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

/// An option that does not exist is not to be passed as a value, which no command takes.
#[test]
fn unknown_options_get_no_tip_that_misleads() {
    let model = models().join("sparse_regression.toml");
    for arguments in [
        vec!["run", text(&model), "--tolerence", "1e-3"],
        vec!["plot", "run", text(&model), "--sgnal", "x", "-o", "x.svg"],
    ] {
        let said = fails(2, &arguments);
        assert!(said.contains("unexpected argument") && said.contains("Usage:"));
        assert!(!said.contains("as a value"), "{said}");
    }
    // what is varied cannot be set as well
    let sensing = models().join("compressed_sensing.toml");
    let said = treeamp(&[
        "threshold",
        text(&sensing),
        "--between",
        "0.1:0.9",
        "--set",
        "alpha=2",
    ]);
    assert!(stderr(&said).contains("`alpha` is set and varied"));
}

/// What is wrong is said of the value, not of how to write it; outputs of another kind are refused.
#[test]
fn mistakes_in_options_are_named() {
    let folder = Folder::new("options");
    let model = models().join("sparse_regression.toml");
    let model = text(&model);
    let dangling = folder.file(
        "dangling.toml",
        "[[factor]]\nkind = \"gaussian\"\nsize = 4\noutput = \"x\"\n\n\
         [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.1\ninput = \"q\"\noutput = \"y\"\n",
    );
    let full = folder.file(
        "full.toml",
        "[[factor]]\nkind = \"gaussian\"\nsize = 100\noutput = \"x\"\n\n\
         [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.1\ninput = \"x\"\noutput = \"y\"\n\n\
         [variables.x]\nbelief = \"full\"\n",
    );
    let full = text(&full);
    complain(&[
        (
            2,
            vec!["run", model, "--tolerance", "-1"],
            "expected a finite number, 0 or more",
        ),
        (
            2,
            vec!["run", model, "--max-sweeps", "-1"],
            "expected an integer, 1 or more",
        ),
        (
            2,
            vec!["sweep", model, "--grid", "alpha=1", "--seeds", "-2"],
            "expected an integer, 1 or more",
        ),
        (
            2,
            vec!["threshold", model, "--between", "-1:2"],
            "both positive",
        ),
        (
            2,
            vec!["run", model, "--set", "n=100.5"],
            "expected a positive integer or a list of them, got `n` = 100.5",
        ),
        (
            2,
            vec!["run", model, "--report", "never.pdf"],
            "never.pdf: expected a name that ends in .html",
        ),
        (
            2,
            vec!["sweep", model, "--grid", "alpha=1", "--report", "never.pdf"],
            "expected a name that ends in .html",
        ),
        (
            2,
            vec!["run", text(&dangling)],
            "`factor.gaussian_noise`: its input `q` is never produced: expected a factor with `q` as its output",
        ),
        (
            2,
            vec!["run", full, "--memory-limit", "1000"],
            "(`--memory-limit` of `run`, or `memory_limit` under `[run]`)",
        ),
    ]);
    works(&["run", full, "--memory-limit", "1e7"]);
    assert!(works(&["run", "--help"]).contains("--memory-limit"));
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
            "expected a positive integer or a list of them, got `n` = 0",
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

/// An option that a command takes and does not use is warned of, and one that it uses is not.
#[test]
fn options_without_an_effect_are_warned_of() {
    let model = models().join("compressed_sensing.toml");
    let lasso = models().join("lasso.toml");
    let (model, lasso) = (text(&model), text(&lasso));
    let cases: [(&[&str], &str); 4] = [
        (&["predict", model, "--restarts", "2"], "--restarts"),
        (&["predict", model, "--exact"], "--exact"),
        (&["run", model, "--set", "n=50", "--gap", "1e-3"], "--gap"),
        (
            &["run", lasso, "--set", "n=50", "--map", "--start-noise", "1"],
            "--start-noise",
        ),
    ];
    for (arguments, option) in cases {
        let said = stderr(&treeamp(arguments));
        let warning = format!("warning: {option} has no effect on ");
        assert!(said.contains(&warning), "{arguments:?}: {said}");
    }
    let used = ["run", lasso, "--set", "n=50", "--map", "--gap", "1e-3"];
    assert!(!stderr(&treeamp(&used)).contains("no effect"));
}

/// Options that have no effect, or of which one wins, are named.
#[test]
fn options_that_lose_are_named() {
    let folder = Folder::new("losing_options");
    let model = small(&folder);
    let table = folder.path("t.csv");
    let sweep = [
        "sweep",
        text(&model),
        "--by",
        "ep",
        "--force",
        "--output",
        text(&table),
    ];
    let run = ["run", text(&model)];
    let grid = |axis: &'static str, set: &'static str| {
        [&sweep[..], &["--grid", axis, "--set", set]].concat()
    };
    let twice = "`rho` is set more than once: the last value, 0.2, is taken";
    for (command, warning) in [
        (
            [&run[..], &["--set", "rho=0.1", "--set", "rho=0.2"]].concat(),
            twice,
        ),
        (
            [
                &run[..],
                &["--set", "alpha=0.8", "--set", "linear.alpha=0.9"],
            ]
            .concat(),
            "the value of `linear.alpha`, 0.9, is taken",
        ),
        (
            grid("linear.alpha=0.8,0.9", "alpha=0.5"),
            "`alpha` is set, and `linear.alpha` is varied in its place",
        ),
        (
            grid("alpha=0.8,0.9", "linear.alpha=0.5"),
            "which it stands for, is varied: its values have no effect",
        ),
        (
            [&run[..], &["--memory-limit", "1e9"]].concat(),
            "--memory-limit has no effect on isotropic beliefs",
        ),
    ] {
        let said = stderr(&treeamp(&command));
        assert!(said.contains(warning), "{command:?}: {said}");
    }
    let quiet = [&run[..], &["--set", "rho=0.1", "--set", "linear.alpha=0.9"]].concat();
    assert_eq!(stderr(&treeamp(&quiet)), "");
}

/// With noise, recovery is gradual: there is no transition, and no smaller range has one.
#[test]
fn gradual_recovery_has_no_transition() {
    let file = models().join("sparse_regression.toml");
    let start = ["threshold", text(&file), "--between", "0.5:1.5"];
    let output = treeamp(&start);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    assert!(
        said.contains(
            "no such transition between 0.5 and 1.5: the error of `x` changes continuously"
        ),
        "{said}"
    );
    // an exact recovery at the lower end has begun below it
    let file = models().join("perceptron.toml");
    let output = treeamp(&["threshold", text(&file), "--between", "1.8:2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("already recovered at the lower end"));
}

/// A name says what is in a file, or is refused before any work.
#[test]
fn files_have_the_endings_of_what_is_in_them() {
    let folder = Folder::new("endings");
    let model = small(&folder);
    let (model, table) = (text(&model), folder.path("t.npz"));
    let cases: [(&[&str], &str); 4] = [
        (
            &["sweep", model, "--grid", "alpha=0.5", "-o", "x.npz"],
            ".csv",
        ),
        (
            &["sweep", model, "--grid", "alpha=0.5", "-o", "x.html"],
            ".csv",
        ),
        (&["merge", text(&table), "-o", "x.npz"], ".csv"),
        (&["demo", "--n", "50", "--output", "x.pdf"], ".svg or .png"),
    ];
    for (arguments, ending) in cases {
        let said = fails(2, arguments);
        assert!(
            said.contains(&format!("expected a name that ends in {ending}")),
            "{said}"
        );
    }
}
