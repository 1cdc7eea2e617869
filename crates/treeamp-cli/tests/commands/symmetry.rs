//! Output for models with symmetries, and of predictions that are heuristics.

use super::*;

fn json(arguments: &[&str]) -> serde_json::Value {
    serde_json::from_str(&works(arguments)).expect("JSON")
}

/// A complex signal is found up to its phase, which the plain error and the error up to the sign do not see.
#[test]
fn errors_of_complex_signals_are_up_to_the_phase() {
    let file = models().join("complex_phase_retrieval.toml");
    let answer = json(&["run", text(&file), "--set", "n=150", "--json"]);
    let error = |name: &str| answer["variables"]["x"][name].as_f64().expect("a number");
    assert!(error("phase_mse") < 1e-8, "{answer}");
    assert!(error("mse") > 1e-2 && error("sign_mse") > 1e-2, "{answer}");
    // the modulus is real: it has no phase
    assert!(
        answer["variables"]["y"].get("phase_mse").is_none(),
        "{answer}"
    );
}

/// The table of an even output is at the symmetric point; the phase below it is not.
#[test]
fn the_symmetric_point_is_named() {
    let file = models().join("complex_phase_retrieval.toml");
    assert_eq!(
        json(&["predict", text(&file), "--json"])["symmetric_point"],
        true
    );
    assert!(works(&["predict", text(&file)]).contains("symmetric point"));
    let odd = models().join("perceptron.toml");
    assert_eq!(
        json(&["predict", text(&odd), "--json"])["symmetric_point"],
        false
    );
}

#[test]
fn heuristic_predictions_say_so() {
    let blurred = models().join("star_field.toml");
    let reasons = json(&["predict", text(&blurred), "--json"]);
    let first = reasons["heuristics"][0].as_str().expect("a reason");
    assert!(works(&["predict", text(&blurred)]).contains(first));
    let exact = models().join("sparse_regression.toml");
    let none = json(&["predict", text(&exact), "--json"]);
    assert_eq!(none["heuristics"], serde_json::json!([]));
}

/// Kernels of complex numbers are for complex signals, and said to be so.
#[test]
fn complex_kernels_are_for_complex_signals() {
    let folder = Folder::new("complex_kernel");
    let kernel = Array {
        shape: vec![2],
        values: vec![1.0, 0.0, 0.0, 0.5],
        complex: true,
    };
    fs::write(folder.path("k.npy"), encode_npy(&kernel)).expect("the kernel");
    let model = |prior: &str| {
        format!(
            "[[factor]]\nkind = \"{prior}\"\nsize = 8\noutput = \"x\"\n\n\
             [[factor]]\nkind = \"convolution\"\nkernel = \"k.npy\"\ninput = \"x\"\noutput = \"z\"\n\n\
             [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.1\ninput = \"z\"\noutput = \"y\"\n\n\
             [observe]\ny = \"sample\"\n"
        )
    };
    let complex = folder.file("complex.toml", &model("circular_gaussian"));
    works(&["run", text(&complex)]);
    let real = folder.file("real.toml", &model("gaussian"));
    let said = fails(2, &["run", text(&real)]);
    assert!(said.contains("complex"), "{said}");
}

/// Units of a committee that specialise: the run is at the branch that theory finds from knowledge, up to the order of units.
#[test]
fn units_specialise_in_theory_and_in_runs() {
    let file = models().join("committee_block.toml");
    let more = ["--set", "alpha=4", "--tolerance", "1e-5", "--json"];
    let theory = json(&[&["predict", text(&file)][..], &more].concat());
    let branch = |k: usize, name: &str| theory["branches"][k][name].as_f64().expect("a number");
    // equal units, from nothing, from knowledge
    assert!(branch(0, "mse") > branch(1, "mse") + 0.1, "{theory}");
    assert!(
        (branch(1, "mse") - branch(2, "mse")).abs() < 1e-3,
        "{theory}"
    );
    assert!(
        branch(1, "free_entropy") > branch(0, "free_entropy"),
        "{theory}"
    );
    let answer = json(&[&["run", text(&file), "--set", "n=300"][..], &more].concat());
    let error = answer["variables"]["w"]["permutation_mse"]
        .as_f64()
        .expect("a number");
    assert_eq!(answer["converged"], true, "{answer}");
    assert!((error - branch(1, "mse")).abs() < 0.06, "{error} {theory}");
}

/// Blocks that are not the columns of the matrix.
#[test]
fn blocks_of_another_size_are_refused() {
    let folder = Folder::new("blocks");
    let model = fs::read_to_string(models().join("committee_block.toml")).expect("the model");
    for (block, words) in [("block(4)", "a divisor of 2"), ("block(1)", "block(2)")] {
        let other = folder.file("other.toml", &model.replace("block(2)", block));
        let said = fails(2, &["run", text(&other), "--set", "n=40"]);
        assert!(said.contains(words), "{said}");
    }
    let units = folder.file("units.toml", &model.replace("units = 2", "units = 3"));
    let said = fails(2, &["run", text(&units), "--set", "n=40"]);
    assert!(said.contains("rows of 3 fields"), "{said}");
}

/// Products of low rank have entries whose size and number go with the model's: theory and runs of one table are on one scale.
#[test]
fn products_of_low_rank_have_the_sizes_of_the_model() {
    let folder = Folder::new("low_rank_scales");
    let table = folder.path("t.csv");
    let file = models().join("spiked_matrix.toml");
    let start = [
        "sweep",
        text(&file),
        "--set",
        "n=200",
        "--output",
        text(&table),
    ];
    works(&[&start[..], &["--grid", "noise=0.2"]].concat());
    let lines = fs::read_to_string(&table).expect("a table");
    let lines: Vec<Vec<&str>> = lines.lines().map(|l| l.split(',').collect()).collect();
    let of = |name: &str| {
        let k = lines[0].iter().position(|h| *h == name).expect("a column");
        let number = |row: usize| lines[row][k].parse::<f64>().expect("a number");
        (number(1), number(2))
    };
    assert_eq!((lines[1][1], lines[2][1]), ("EP", "SE"));
    // where nothing is known of the signs, an entry of variance 1 / n is seen through noise of variance 0.2
    let (run, theory) = of("mse_z");
    assert!(
        (theory * (200.0 + 1.0 / 0.2) - 1.0).abs() < 1e-6,
        "{theory}"
    );
    assert!(run < theory && run > 0.01 * theory, "{run} {theory}");
    // (n - 1) / 2 entries per sign: the run's evidence differs by the information on a sign, at most ln 2, and by the squares of its own
    // noise, of which half a nat is one standard deviation
    let (run, theory) = of("entropy");
    assert!((run - theory).abs() < 2f64.ln() + 1.0, "{run} {theory}");
}

/// Transitions are those of large sizes: signs in a matrix can be told from a noise variance of one downwards, whatever the size in the file.
#[test]
fn transitions_of_low_rank_are_in_the_limit() {
    let file = models().join("spiked_matrix.toml");
    let start = ["threshold", text(&file), "--of", "noise", "--kind", "weak"];
    let answer = json(
        &[
            &start[..],
            &["--between", "0.5:1.5", "--set", "n=50", "--json"],
        ]
        .concat(),
    );
    let found = answer["thresholds"]["weak"]["value"].as_f64();
    // to the tolerance of the search
    assert!((found.expect("a number") - 1.0).abs() < 1e-4, "{answer}");
}

/// The symmetric point is known by where the least knowledge leads, also where no phase is: next to a transition.
#[test]
fn the_symmetric_point_needs_no_phase() {
    let file = models().join("complex_phase_retrieval.toml");
    for alpha in ["alpha=1.5", "alpha=2", "alpha=3"] {
        let answer = json(&["predict", text(&file), "--set", alpha, "--json"]);
        assert_eq!(answer["symmetric_point"], true, "{alpha}");
        let away = answer["mse_away_from_it"].as_f64().expect("a number");
        assert!(away < 0.9, "{alpha}: {away}");
    }
    // below weak recovery nothing leads away
    let answer = json(&["predict", text(&file), "--set", "alpha=0.8", "--json"]);
    assert_eq!(answer["symmetric_point"], false, "{answer}");
}

/// A run that ends where it began says how to push it; one that was pushed does not.
#[test]
fn a_run_that_learns_nothing_says_how_to_push_it() {
    let file = models().join("symmetric_door.toml");
    let even = ["run", text(&file), "--set", "p_plus=0.5", "--set", "n=200"];
    let said = works(&even);
    assert!(
        said.contains("all means are zero") && said.contains("--start-noise"),
        "{said}"
    );
    let pushed = works(&[&even[..], &["--start-noise", "0.1"]].concat());
    assert!(!pushed.contains("all means are zero"), "{pushed}");
    let odd = works(&["run", text(&file), "--set", "n=200"]);
    assert!(!odd.contains("all means are zero"), "{odd}");
}
