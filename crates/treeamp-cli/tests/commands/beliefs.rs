//! Beliefs of model files: blocks, and what `check` refuses as `run` does.

use super::*;

/// Rows of two components, each the sum of two unknown ones, seen through noise.
const ROWS: &str = r#"[[factor]]
kind = "gaussian"
size = [40, 2]
output = "x"
[[factor]]
kind = "gaussian"
variance = 0.5
size = [40, 2]
output = "u"
[[factor]]
kind = "sum"
inputs = ["x", "u"]
output = "z"
[[factor]]
kind = "gaussian_noise"
variance = 0.1
input = "z"
output = "y"
[variables.x]
belief = "BELIEF"
[variables.u]
belief = "BELIEF"
[variables.z]
belief = "BELIEF"
"#;

/// A Gaussian tree is the same whatever the beliefs, but for how much of its covariance they hold.
#[test]
fn block_beliefs_in_a_file() {
    let folder = Folder::new("blocks");
    let run = |belief: &str| -> serde_json::Value {
        let model = folder.file("m.toml", &ROWS.replace("BELIEF", belief));
        assert!(works(&["check", text(&model)]).contains("good"), "{belief}");
        let json = works(&["run", text(&model), "--json"]);
        serde_json::from_str(&json).expect("JSON")
    };
    let [block, plain] = ["block(2)", "isotropic"].map(run);
    for name in ["x", "u", "z"] {
        for what in ["mse", "variance"] {
            let of = |run: &serde_json::Value| {
                let value = &run["variables"][name][what];
                value.as_f64().expect("a number")
            };
            // one precision is all there is to a row here: both are exact, to rounding
            let (a, b) = (of(&block), of(&plain));
            assert!((a - b).abs() < 1e-12 * b, "{name} {what}: {a} {b}");
        }
    }
    assert_eq!(block["variables"]["x"]["shape"], serde_json::json!([40, 2]));
}

/// A vector behind a matrix.
const VECTOR: &str = r#"[[factor]]
kind = "gaussian"
size = 40
output = "x"
[[factor]]
kind = "linear"
matrix = { ensemble = "gaussian", alpha = 1.5 }
input = "x"
output = "z"
[[factor]]
kind = "gaussian_noise"
variance = 0.1
input = "z"
output = "y"
[variables.x]
belief = "BELIEF"
"#;

/// Beliefs that a factor, a shape or the memory do not allow: `check` says what `run` says.
#[test]
fn beliefs_that_are_refused() {
    let folder = Folder::new("refused-beliefs");
    let full = VECTOR
        .replace("size = 40", "size = 20000")
        .replace("1.5", "0.001")
        .replace("BELIEF", "full");
    let [blocks, unknown] = ["block(3)", "blok(2)"].map(|b| ROWS.replace("BELIEF", b));
    let penalty = "[[factor]]\nkind = \"l1\"\nsize = 4\noutput = \"x\"\n[[factor]]\nkind = \"gaussian_noise\"\n\
         input = \"x\"\noutput = \"y\"\n[observe]\ny = \"y.csv\"\n[variables.x]\nbelief = \"full\"\n";
    folder.file("y.csv", "1\n2\n3\n4\n");
    for (model, complaint) in [
        (
            blocks,
            "blocks of 3 do not divide the rows of variable `x`: expected a divisor of 2",
        ),
        (
            VECTOR.replace("BELIEF", "block(2)"),
            "factor `linear` does not support block(2) beliefs on variable `x`: expected one of isotropic, diagonal, full",
        ),
        (unknown, "did you mean `block(n)`?"),
        // ten matrices of 20000² numbers, of messages and moments
        (
            full.clone(),
            "full beliefs on variable `x` of shape (20000) do not fit in memory",
        ),
        (full.clone(), "would take 3200"),
        (
            full.replace("20000", "40000"),
            "got 40000: one matrix would take 12800000000 bytes",
        ),
        (
            penalty.to_owned(),
            "factor `l1` does not support full beliefs on variable `x`: expected one of isotropic, diagonal",
        ),
    ] {
        let model = folder.file("m.toml", &model);
        let said = fails(2, &["check", text(&model)]);
        assert!(said.contains(complaint), "{complaint}\n{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(said, fails(2, &["run", text(&model)]));
    }
}
