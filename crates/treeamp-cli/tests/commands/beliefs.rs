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

/// Sparse differences of an image collapse with one precision for all of them; the message names the option with which they do not.
#[test]
fn a_collapse_is_one_option_away_from_an_answer() {
    let folder = Folder::new("collapse");
    let mut state = 1_u32;
    let mut noise = || {
        // twelve uniform numbers have variance one
        let uniform = (0..12).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 24)
        });
        uniform.sum::<f64>() - 6.0
    };
    let rows = (0..20).map(|i| {
        let row = (0..20).map(|j| {
            let inside = (2..8).contains(&i) && (3..12).contains(&j);
            let x = if inside { 1.0 } else { 0.0 };
            format!("{}", x + 0.1 * noise())
        });
        row.collect::<Vec<_>>().join(",") + "\n"
    });
    folder.file("y.csv", &rows.collect::<String>());
    let model = "[[factor]]\nkind = \"gaussian\"\nsize = [20, 20]\nvariance = 4.0\noutput = \"x\"\n\n\
         [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.01\ninput = \"x\"\noutput = \"y\"\n\n\
         [[factor]]\nkind = \"gradient\"\ninput = \"x\"\noutput = \"z\"\n\n\
         [[factor]]\nkind = \"gauss_bernoulli\"\nsize = [2, 20, 20]\nrho = 0.1\nvariance = 0.3\noutput = \"z\"\n\n\
         [observe]\ny = \"y.csv\"\n";
    let model = folder.file("image.toml", model);
    let run = |more: &[&str]| {
        let output = treeamp(&[&["run", text(&model), "--json"], more].concat());
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (output.status.code(), answer)
    };
    let (code, one) = run(&[]);
    assert_eq!(
        (code, one["verdict"].as_str()),
        (Some(1), Some("collapsed"))
    );
    assert_eq!(one["evidence_limit"], "depends_on_width");
    let said = one["ended"].as_str().expect("a sentence");
    assert!(said.contains("--belief diagonal"), "{said}");
    let (code, each) = run(&["--belief", "diagonal"]);
    assert_eq!((code, each["verdict"].as_str()), (Some(0), Some("settled")));
    assert_eq!(each["variables"]["x"]["belief"], "diagonal");
    let said = fails(2, &["run", text(&model), "--belief", "cubic"]);
    assert!(
        said.contains("isotropic, diagonal, full or block(n)"),
        "{said}"
    );
}
