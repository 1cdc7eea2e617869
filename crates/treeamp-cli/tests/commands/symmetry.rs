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
