//! Runs, predictions, and what every command has in common.

use super::*;

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
        // penalties have no theory as a teacher, diagonal beliefs none at all; the committee takes ten seconds
        let long = file.ends_with("committee.toml") && std::env::var_os("TREEAMP_FULL").is_none();
        let without = ["total_variation.toml", "real_data.toml"];
        if !without.iter().any(|name| file.ends_with(name)) && !long {
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

/// The models whose reference runs need damping by hand settle with the defaults of the library.
#[test]
fn models_settle_without_damping_by_hand() {
    for name in ["committee", "phase_retrieval", "symmetric_door"] {
        let path = models().join(format!("{name}.toml"));
        let file = fs::read_to_string(&path).expect("the model");
        assert!(!file.contains("damping"), "{name}");
        for seed in ["0", "1"] {
            let run = [
                "run",
                text(&path),
                "--set",
                "n=300",
                "--seed",
                seed,
                "--json",
            ];
            let json: serde_json::Value = serde_json::from_str(&works(&run)).expect("JSON");
            assert_eq!(json["converged"], true, "{name}: {json}");
            assert!(json["no_fallback"].is_null(), "{name}");
        }
    }
}

/// A damping with which a run is still on its way at its limit is followed by an adaptive one.
#[test]
fn a_damping_that_does_not_settle_is_followed_by_an_adaptive_one() {
    let model = models().join("sparse_regression.toml");
    let run = |fallback: &str| {
        let sets = ["--set", "n=100", "--set", "rho=0.2", "--damping", "0.8"];
        let options = ["--fallback", fallback, "--json"];
        let all = [&["run", text(&model)], &sets[..], &options].concat();
        let answer = stdout(&treeamp(&all));
        serde_json::from_str::<serde_json::Value>(&answer).expect("JSON")
    };
    let [alone, followed] = ["forbidden", "automatic"].map(run);
    assert_eq!(alone["converged"], false, "{alone}");
    assert!(alone["restarted"].is_null());
    assert_eq!(followed["converged"], true, "{followed}");
    assert_eq!(followed["restarted"], "sweep limit reached");
}

/// A theory of a mismatched student that starts again says so.
#[test]
fn a_prediction_that_starts_again_says_so() {
    let model = models().join("mismatched.toml");
    let run = |damping: &str| works(&["predict", text(&model), "--damping", damping, "--json"]);
    let parsed = |answer: String| serde_json::from_str::<serde_json::Value>(&answer).expect("JSON");
    let [strong, little] = ["0.99", "0.1"].map(|d| parsed(run(d)));
    assert_eq!(strong["restarted"], "sweep limit reached", "{strong}");
    assert_eq!(strong["converged"], true);
    assert!(little["restarted"].is_null(), "{little}");
    let answer = works(&["predict", text(&model), "--damping", "0.99"]);
    assert!(answer.contains("started again"), "{answer}");
}

/// Damping and fallback by their names, on the command line and in the file.
#[test]
fn damping_and_fallback_have_names() {
    let model = models().join("sparse_regression.toml");
    let ends = |arguments: &[&str]| {
        let all = [
            &["run", text(&model), "--set", "n=200", "--json"],
            arguments,
        ]
        .concat();
        let json: serde_json::Value = serde_json::from_str(&works(&all)).expect("JSON");
        (json["sweeps"].as_u64(), json["fallback"]["method"].clone())
    };
    assert_eq!(ends(&["--damping", "adaptive"]), ends(&[]));
    assert_eq!(ends(&["--damping", "none"]), ends(&["--damping", "0"]));
    assert!(ends(&["--damping", "0.7"]).0 > ends(&["--damping", "none"]).0);
    assert_eq!(ends(&["--steps", "1"]), ends(&["--damping", "none"]));
    assert_eq!(ends(&["--steps", "0.3"]), ends(&["--damping", "0.7"]));
    assert_ne!(ends(&["--steps", "1,0.3"]), ends(&["--steps", "1"]));
    let forced = ends(&["--fallback", "forced"]);
    assert_eq!(forced, (Some(2), serde_json::json!("double loop")));
    assert!(ends(&["--fallback", "forbidden"]).1.is_null());
    let folder = Folder::new("fallback");
    let plain = fs::read_to_string(&model).expect("the model");
    let declared =
        plain.clone() + "\n[run]\nmax_sweeps = 300\ndamping = \"none\"\nfallback = \"forced\"\n";
    let file = folder.file("m.toml", &declared);
    let json = works(&["run", text(&file), "--set", "n=200", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["fallback"]["method"], "double loop");
    let sweeps = |options: &str| {
        let file = folder.file("s.toml", &format!("{plain}\n[run]\n{options}\n"));
        let json = works(&["run", text(&file), "--set", "n=200", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        json["sweeps"].as_u64()
    };
    let stepped = sweeps("steps = [1, 0.3]");
    assert_eq!(stepped, ends(&["--steps", "1,0.3"]).0);
    for (options, wrong) in [
        (
            "steps = [0.0]",
            "expected a list of numbers in (0, 1], got 0",
        ),
        ("steps = []", "expected at least one step, got none"),
        (
            "steps = 0.5",
            "expected a list of numbers in (0, 1], got 0.5",
        ),
        (
            "damping = 0.5\nsteps = [0.5]",
            "expected `damping` or `steps`, got both",
        ),
    ] {
        let file = folder.file("s.toml", &format!("{plain}\n[run]\n{options}\n"));
        let answer = fails(2, &["run", text(&file)]);
        assert!(answer.contains(wrong), "{options}: {answer}");
    }
    let help = works(&["run", "--help"]);
    for word in [
        "adaptive|none|NUMBER",
        "--steps <NUMBERS>",
        "automatic|forced|forbidden",
        "double loop",
    ] {
        assert!(help.contains(word), "{word}");
    }
}

/// A file asks for a route, and the run says which one was taken, and why.
#[test]
fn a_run_says_which_route_it_took() {
    let folder = Folder::new("route");
    let plain = fs::read_to_string(models().join("sparse_regression.toml")).expect("the model");
    let json = |matrix: &str, route: &str| -> serde_json::Value {
        let linear = format!("kind = \"linear\"\nroute = \"{route}\"");
        let file = plain.replace("kind = \"linear\"", &linear);
        let file = file.replace(
            "ensemble = \"gaussian\"",
            &format!("ensemble = \"{matrix}\""),
        );
        let file = folder.file("m.toml", &file);
        let answer = works(&["run", text(&file), "--set", "n=600", "--json"]);
        serde_json::from_str(&answer).expect("JSON")
    };
    let taken = |json: &serde_json::Value| json["routes"][0]["route"].clone();
    for route in ["iid", "iid_only", "auto"] {
        let json = json("gaussian", route);
        assert_eq!(taken(&json), "iid", "{route}: {json}");
        assert_eq!(json["routes"][0]["factor"], "linear");
    }
    assert_eq!(json("gaussian", "exact")["routes"], serde_json::json!([]));
    for route in ["iid", "auto"] {
        let json = json("orthogonal", route);
        assert_eq!(taken(&json), "exact", "{route}: {json}");
        let why = json["routes"][0]["why"].as_str().expect("a reason");
        assert!(why.contains("independent entries"), "{route}: {why}");
        assert_eq!(json["converged"], true);
    }
    let file = folder.file(
        "m.toml",
        &plain.replace("kind = \"linear\"", "kind = \"linear\"\nroute = \"iid\""),
    );
    let table = works(&["run", text(&file), "--set", "n=600"]);
    assert!(table.contains("iid through `linear`: declared"), "{table}");
    let table = works(&["run", text(&file), "--set", "n=600", "--exact"]);
    assert!(
        table.contains("exact through `linear`: asked for"),
        "{table}"
    );
    let only = plain.replace(
        "kind = \"linear\"",
        "kind = \"linear\"\nroute = \"iid_only\"",
    );
    let only = only.replace("\"gaussian\"", "\"orthogonal\"");
    let file = folder.file("m.toml", &only);
    let output = treeamp(&["run", text(&file), "--set", "n=600"]);
    assert_eq!(output.status.code(), Some(1));
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(
        answer.contains("exact route of factor `linear`"),
        "{answer}"
    );
    let file = folder.file(
        "m.toml",
        &plain.replace("kind = \"linear\"", "kind = \"linear\"\nroute = \"fast\""),
    );
    let answer = fails(2, &["run", text(&file)]);
    assert!(
        answer.contains("fast") && answer.contains("iid_only"),
        "{answer}"
    );
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
    assert_eq!((mean.shape, variance.shape), (vec![100], vec![]));
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
            "m.toml:8: `factor.linear.matrix`: y.csv: expected 2 columns, one per component of the input, got 3 x 1",
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

/// The picture of every law can be drawn: priors, penalties, likelihoods and losses of components.
#[test]
fn pictures_of_laws() {
    use treeamp::catalog::{Role, Signals};
    let folder = Folder::new("laws");
    for m in treeamp::catalog::modules() {
        if m.role == Role::Channel {
            continue;
        }
        let file = folder.path(&format!("{}.svg", m.name));
        if m.signals == Signals::Rows {
            // a law of several fields has no curve
            let said = fails(2, &["modules", m.name, "--picture", text(&file)]);
            assert!(said.contains("there is no picture"), "{said}");
            continue;
        }
        works(&["modules", m.name, "--picture", text(&file)]);
        let drawn = fs::read_to_string(&file).expect("a picture");
        assert!(
            drawn.contains("</svg>") && !drawn.contains("NaN"),
            "{}",
            m.name
        );
        // counts far apart, and not only those next to zero
        let counts = ["poisson", "poisson_softplus", "negative_binomial"];
        let spread = ["x = 0", "x = 1", "x = 4", "x = 16"];
        if counts.contains(&m.name) {
            assert!(spread.iter().all(|y| drawn.contains(y)), "{}", m.name);
        }
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
    let listed = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("circular_gauss_bernoulli") && words.next() == Some("prior")
    };
    assert!(list.lines().any(listed), "{list}");
    let schema: serde_json::Value =
        serde_json::from_str(&works(&["modules", "--schema"])).expect("JSON");
    assert!(schema["properties"]["factor"].is_object());
    let modules: serde_json::Value =
        serde_json::from_str(&works(&["modules", "--json"])).expect("JSON");
    assert!(modules.as_array().is_some_and(|m| m.len() > 20));
    // defaults are numbers where they are
    let defaults = |kind: &str| {
        let mut all = modules.as_array().expect("a list").iter();
        let module = all.find(|m| m["kind"] == kind).expect("a module");
        let parameters = module["parameters"].as_array().expect("a list").iter();
        let defaults: Vec<_> = parameters.map(|p| p["default"].clone()).collect();
        serde_json::Value::Array(defaults)
    };
    let expected = serde_json::json!([null, 0.5, 0, 1]);
    assert_eq!(defaults("gauss_bernoulli"), expected);
    // no weights are equal ones
    let expected = serde_json::json!([null, [], [-1, 1], [1, 1]]);
    assert_eq!(defaults("gaussian_mixture"), expected);
    assert_eq!(defaults("gradient"), serde_json::json!(["periodic"]));
    let answer = works(&["modules", "gauss_bernoulli"]);
    assert!(answer.contains("default 0.5: fraction"), "{answer}");
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
    let answer = works(&["run", text(&model), "--restarts", "3", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let starts = answer["starts"].as_array().expect("a list");
    let all: usize = starts
        .iter()
        .map(|s| s["starts"].as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(all, 4, "{answer}");
    // the signal is found up to its sign, and that is the best
    let error = answer["variables"]["x"]["sign_mse"]
        .as_f64()
        .expect("a number");
    assert!(error < 1e-8, "{error}");
    let table = works(&["run", text(&model), "--restarts", "3"]);
    assert!(
        table.contains("starts") && table.contains("push, seed"),
        "{table}"
    );
}

/// Why there is no evidence is one plain sentence.
#[test]
fn exact_recovery_without_noise_has_no_evidence() {
    let file = models().join("compressed_sensing.toml");
    let said = works(&["run", text(&file), "--set", "n=100", "--set", "alpha=0.9"]);
    let line = said.lines().find(|l| l.contains("log-evidence"));
    let line = line.expect("a line");
    assert!(
        line.contains("none: the data determine the signal exactly"),
        "{line}"
    );
}
