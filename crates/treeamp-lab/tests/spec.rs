//! Model files: what is declared is built, and what is wrong is named with its file, line and key.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::catalog::modules;
use treeamp::prelude::*;
use treeamp_lab::ensemble;
use treeamp_lab::experiment::instance;
use treeamp_lab::spec::{ModelFile, Scale, Setting, schema};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const SPARSE: &str = r#"title = "Sparse regression"

[parameters]
n = 200
alpha = 0.5
rho = 0.1
noise = 0.01

[[factor]]
kind = "gauss_bernoulli"
size = "n"
rho = "rho"
output = "x"

[[factor]]
kind = "linear"
matrix = { ensemble = "gaussian", alpha = "alpha", seed = 3 }
input = "x"
output = "z"

[[factor]]
kind = "gaussian_noise"
variance = "noise"
input = "z"
output = "y"

[observe]
y = "sample"
"#;

const FINITE: Scale = Scale::Finite { seed: 0 };

#[test]
fn a_file_is_the_tree_it_declares() -> Outcome {
    let file = ModelFile::parse("sparse.toml", SPARSE)?;
    let tree = file.tree(&Setting::new(), FINITE)?;
    let by_hand = (source(GaussBernoulli::new(0.1, 0.0, 1.0)?.iid(200))
        >> var("x")
        >> Linear::new(ensemble::gaussian(100, 200, 3)?)?
        >> var("z")
        >> GaussianNoise::new(0.01)?
        >> var("y"))
    .build()?;
    let (ours, theirs) = (tree.sample(5)?, by_hand.sample(5)?);
    for variable in ["x", "z", "y"] {
        assert_eq!(ours.get(variable)?, theirs.get(variable)?);
    }
    // a setting changes parameters, and numbers of factors by name
    let setting = Setting::new().with("n", 40.0).with("linear.alpha", 2.0);
    let tree = file.tree(&setting, FINITE)?;
    assert_eq!(tree.variables()[0].spec.shape, [40]);
    assert_eq!(tree.variables()[1].spec.shape, [80]);
    // and the same file is the model of the theory
    let limit = file.tree(&Setting::new(), Scale::Limit)?.expect("y")?;
    let limit = StateEvolution::new(&limit)?.fixed_point()?;
    let by_hand = (source(GaussBernoulli::new(0.1, 0.0, 1.0)?.limit())
        >> var("x")
        >> LinearEnsemble::gaussian(0.5)?
        >> var("z")
        >> GaussianNoise::new(0.01)?
        >> var("y"))
    .build()?
    .expect("y")?;
    let by_hand = StateEvolution::new(&by_hand)?.fixed_point()?;
    // the ratios are 200 and 100 instead of 1 and 0.5: rounding only
    let (ours, theirs) = (limit.mse("x")?, by_hand.mse("x")?);
    assert!((ours - theirs).abs() < 1e-12 * theirs, "{ours} {theirs}");
    Ok(())
}

#[test]
fn ensembles_without_a_seed_follow_the_run() -> Outcome {
    let text = SPARSE.replace(", seed = 3", "");
    let file = ModelFile::parse("sparse.toml", &text)?;
    let draw = |seed| -> Result<Vec<f64>, Box<dyn std::error::Error>> {
        let tree = file.tree(&Setting::new(), Scale::Finite { seed })?;
        Ok(tree.sample(1)?.get("z")?.to_vec())
    };
    assert_eq!(draw(4)?, draw(4)?);
    assert_ne!(draw(4)?, draw(5)?);
    Ok(())
}

/// What is replaced, by what, and what is then said.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "[parameters]",
        "[parameter]",
        "sparse.toml:3: `parameter`: there is no key `parameter`; did you mean `parameters`?",
    ),
    (
        "n = 200",
        "n = \"many\"",
        "sparse.toml:4: `parameters.n`: expected a finite number, got the text `many`",
    ),
    (
        "n = 200",
        "n = nan",
        "sparse.toml:4: `parameters.n`: expected a finite number, got NaN",
    ),
    ("n = 200", "n = = 2", "sparse.toml:4: extra `=`"),
    (
        "gauss_bernoulli",
        "gauss_bernouli",
        "sparse.toml:10: `factor.kind`: there is no module `gauss_bernouli`; did you mean `gauss_bernoulli`?",
    ),
    (
        "size = \"n\"",
        "sise = \"n\"",
        "sparse.toml:11: `factor.gauss_bernoulli.sise`: there is no key `sise`; did you mean `size`?",
    ),
    (
        "size = \"n\"\n",
        "",
        "`factor.gauss_bernoulli.size`: expected a positive integer or a list of them, got nothing",
    ),
    (
        "size = \"n\"",
        "size = \"m\"",
        "sparse.toml:11: `factor.gauss_bernoulli.size`: there is no parameter `m`",
    ),
    (
        "size = \"n\"",
        "size = 2.5",
        "sparse.toml:11: `factor.gauss_bernoulli.size`: expected a positive integer or a list of them, got 2.5",
    ),
    (
        "size = \"n\"",
        "size = -3",
        "expected a positive integer or a list of them, got -3",
    ),
    (
        "size = \"n\"",
        "size = 999999999999",
        "sparse.toml:11: `factor.gauss_bernoulli.size`: expected at most 1e9 entries, got 9.99999999999e11",
    ),
    (
        "size = \"n\"",
        "size = [100000, 100000]",
        "sparse.toml:11: `factor.gauss_bernoulli.size`: expected at most 1e9 entries, got 1e10",
    ),
    (
        "n = 200",
        "n = 2e9",
        "sparse.toml:11: `factor.gauss_bernoulli.size`: expected at most 1e9 entries, got 2e9",
    ),
    (
        "kind = \"gaussian_noise\"\nvariance = \"noise\"",
        "kind = \"duplicate\"\ncopies = 99999999999",
        "sparse.toml:23: `factor.duplicate.copies`: expected at most 10000, got 99999999999",
    ),
    (
        "kind = \"gaussian_noise\"\nvariance = \"noise\"",
        "kind = \"sum\"\nterms = 10001",
        "sparse.toml:23: `factor.sum.terms`: expected at most 10000, got 10001",
    ),
    (
        "[observe]",
        "[variables.x]\nbelief = \"full\"\n[observe]",
        "sparse.toml:27: `variables.x.belief`: expected at most 31622 components for `full`, got 40000",
    ),
    (
        "\"gaussian\", alpha = \"alpha\"",
        "\"features_relu\", alpha = \"alpha\"",
        "of at most 31622 columns for random features, got 40000",
    ),
    (
        "rho = \"rho\"",
        "rho = 1.5",
        "sparse.toml:12: `factor.gauss_bernoulli.rho`: `rho` must be",
    ),
    (
        "n = 200",
        "n = 0",
        "sparse.toml:11: `factor.gauss_bernoulli.size`: expected a positive integer or a list of them, got `n` = 0",
    ),
    (
        "n = 200",
        "n = 1e300",
        "sparse.toml:11: `factor.gauss_bernoulli.size`: expected a positive integer or a list of them, got `n` = 1e300",
    ),
    (
        "noise = 0.01",
        "noise = -1",
        "sparse.toml:23: `factor.gaussian_noise.variance`: `variance` must be",
    ),
    (
        "rho = \"rho\"",
        "rho = [1]",
        "sparse.toml:12: `factor.gauss_bernoulli.rho`: expected a number, got a list",
    ),
    (
        "\"gaussian\", alpha",
        "\"gausian\", alpha",
        "sparse.toml:17: `factor.linear.matrix.ensemble`: there is no ensemble `gausian`; did you mean `gaussian`?",
    ),
    (
        "alpha = \"alpha\", ",
        "",
        "sparse.toml:17: `factor.linear.matrix.alpha`: expected rows per column, got nothing",
    ),
    (
        "alpha = \"alpha\", ",
        "alpha = -1, ",
        "sparse.toml:17: `factor.linear.matrix`: `alpha` must be positive, got -1",
    ),
    (
        "{ ensemble = \"gaussian\", alpha = \"alpha\", seed = 3 }",
        "\"nowhere.npy\"",
        "sparse.toml:17: `factor.linear.matrix`: nowhere.npy: ",
    ),
    (
        "{ ensemble = \"gaussian\", alpha = \"alpha\", seed = 3 }",
        "7",
        "sparse.toml:17: `factor.linear.matrix`: expected a data file or",
    ),
    (
        "input = \"x\"",
        "input = \"w\"",
        "`factor.linear`: its input `w` is never produced: expected a factor with `w` as its output",
    ),
    (
        "input = \"x\"",
        "input = 3",
        "sparse.toml:18: `factor.input`: expected the name of a variable, got 3",
    ),
    (
        "input = \"x\"",
        "inputs = [\"x\", \"x2\"]",
        "its input `x2` is never produced",
    ),
    (
        "input = \"x\"\n",
        "",
        "sparse.toml:16: `factor.linear.input`: expected 1 input, got 0",
    ),
    (
        "[observe]",
        "[student]\nrho_ = 1\n[observe]",
        "there is no parameter `rho_`; did you mean `rho`?",
    ),
    (
        "[observe]",
        "[run]\nmax_sweep = 1\n[observe]",
        "there is no option `max_sweep`; did you mean `max_sweeps`?",
    ),
    (
        "[observe]",
        "[variables.q]\nbelief = \"full\"\n[observe]",
        "`variables.q`: there is no variable `q`",
    ),
    (
        "[observe]",
        "[variables.x]\nbelief = \"fulll\"\n[observe]",
        "there is no belief `fulll`; did you mean `full`?",
    ),
];

#[test]
fn every_mistake_is_named_with_its_line_and_key() {
    for (from, to, complaint) in MISTAKES {
        assert!(SPARSE.contains(from), "{from}");
        let text = SPARSE.replacen(from, to, 1);
        let text = if complaint.contains("31622") {
            let wide = text.replace("n = 200", "n = 40000");
            wide.replace("alpha = 0.5", "alpha = 0.001")
        } else {
            text
        };
        let outcome = ModelFile::parse("sparse.toml", &text);
        let outcome = outcome.and_then(|file| file.tree(&Setting::new(), FINITE));
        let error = outcome.expect_err(to).to_string();
        assert!(error.starts_with("sparse.toml"), "{error}");
        assert!(error.contains(complaint), "{complaint}\n{error}");
    }
    let file = ModelFile::parse("sparse.toml", SPARSE).expect("a good file");
    let error = file
        .tree(&Setting::new().with("rh", 0.1), FINITE)
        .expect_err("no such parameter");
    assert!(
        error
            .to_string()
            .contains("there is no parameter `rh`; did you mean `rho`?"),
        "{error}"
    );
    assert!(ModelFile::parse("empty.toml", "").is_err());
    let missing = ModelFile::read("nowhere.toml").expect_err("no such file");
    assert!(missing.unreadable && missing.to_string().starts_with("nowhere.toml"));
}

#[test]
fn every_module_can_be_made_and_is_in_the_schema() -> Outcome {
    let schema = schema();
    let variants = schema["properties"]["factor"]["items"]["oneOf"].as_array();
    let variants = variants.ok_or("no variants")?;
    assert_eq!(variants.len(), modules().count());
    for (module, variant) in modules().zip(variants) {
        let supports = module.supports()?;
        // a penalty is no law, and has a mode only
        let known = supports.contains(&"sampling") || supports.contains(&"mode");
        assert!(known, "{}", module.name);
        let kind = &variant["properties"]["kind"];
        assert!(kind["const"] == module.name || kind["enum"][0] == module.name);
        for p in module.parameters {
            assert!(!p.doc.is_empty() && variant["properties"][p.name].is_object());
        }
    }
    Ok(())
}

/// Phases of a complex signal: a law of outputs alone.
const PHASES: &str = r#"[[factor]]
kind = "circular_gaussian"
size = 20
output = "x"
[[factor]]
kind = "linear"
matrix = { ensemble = "complex_gaussian", alpha = 4 }
input = "x"
output = "z"
[[factor]]
kind = "phase"
input = "z"
output = "y"
[observe]
y = "sample"
"#;

/// Gradients with another boundary, groups along another axis, another name.
const BOUNDARY: &str = r#"[[factor]]
kind = "l2"
size = [3, 4]
output = "x"
[[factor]]
kind = "gradient"
boundary = "neumann"
input = "x"
output = "g"
[[factor]]
kind = "gaussian_blur"
sigma = [0.5, 1.0]
input = "g"
output = "h"
"#;

#[test]
fn outputs_alone_are_observed() -> Outcome {
    let file = ModelFile::parse("phases.toml", PHASES)?;
    let tree = file.tree(&Setting::new(), FINITE)?;
    let refused = ExpectationPropagation.on(&tree).expect_err("not observed");
    assert!(refused.to_string().contains("phase"), "{refused}");
    let truth = tree.sample(1)?;
    let seen = tree.condition("y", truth.get("y")?)?;
    let report = ExpectationPropagation.on(&seen)?.run(&mut ())?;
    assert!(report.termination.is_converged());
    let limit = file.tree(&Setting::new(), Scale::Limit)?.expect("y")?;
    assert!(StateEvolution::new(&limit).is_ok());
    Ok(())
}

#[test]
fn boundaries_axes_and_other_names() -> Outcome {
    let other = BOUNDARY.replace("sigma = [0.5, 1.0]", "sigma = [0.5, 0.7, 1.0]");
    let file = ModelFile::parse("boundary.toml", &other)?;
    assert_eq!(file.factors[0].label(), "quadratic");
    assert!(file.tree(&Setting::new(), FINITE).is_ok());
    let wrong = BOUNDARY.replace("neumann", "neuman");
    let error = ModelFile::parse("boundary.toml", &wrong)?.tree(&Setting::new(), FINITE);
    let error = error.expect_err("no such boundary").to_string();
    let answer = "boundary.toml:7: `factor.gradient.boundary`: there is no choice `neuman`; did you mean `neumann`?";
    assert_eq!(error, answer);
    let groups = r#"[[factor]]
kind = "l21"
size = [4, 2]
axis = 1
output = "x"
"#;
    assert!(
        ModelFile::parse("groups.toml", groups)?
            .tree(&Setting::new(), FINITE)
            .is_ok()
    );
    Ok(())
}

/// Several outputs and inputs, and a list of numbers.
const WIRES: &str = r#"[parameters]
n = 4
[[factor]]
kind = "gaussian_mixture"
size = ["n"]
weights = [0.5, 0.5]
means = [-1, 1]
variances = [1.0, 0.5]
output = "x"
[[factor]]
kind = "duplicate"
copies = 2
input = "x"
outputs = ["a", "b"]
[[factor]]
kind = "gaussian_noise"
variance = 0.5
input = "a"
output = "y"
[[factor]]
kind = "binary"
size = "n"
output = "s"
[[factor]]
kind = "sum"
terms = 2
inputs = ["b", "s"]
output = "c"
[[factor]]
kind = "gaussian_noise"
input = "c"
output = "w"
"#;

/// Operators of arrays, and a student.
const ARRAYS: &str = r#"[parameters]
n = 4
width = 1.5
[[factor]]
kind = "gaussian"
size = [2, "n"]
output = "x"
[[factor]]
kind = "gaussian_blur"
sigma = "width"
input = "x"
output = "u"
[[factor]]
kind = "reshape"
shape = 8
input = "u"
output = "r"
[[factor]]
kind = "split"
sizes = [3, 5]
input = "r"
outputs = ["a", "b"]
[[factor]]
kind = "gaussian"
size = 2
output = "v"
[[factor]]
kind = "concatenate"
inputs_count = 2
inputs = ["b", "v"]
output = "c"
[[factor]]
kind = "gaussian_noise"
variance = 0.1
input = "c"
output = "y"
[[factor]]
kind = "gaussian_noise"
input = "a"
output = "t"
[variables.x]
belief = "diagonal"
[student]
width = 2
[[student.factor]]
kind = "gauss_bernoulli"
size = 2
output = "v"
[run]
max_sweeps = 5
"#;

/// The numbers of a text are small, or so large that they must be refused: between them lie sizes that are
/// allowed and take gigabytes.
fn is_modest(text: &str) -> bool {
    let digits = |run: &str| run.len() <= 2 || run.len() > 10;
    let exponent = text
        .as_bytes()
        .windows(2)
        .any(|w| w[0].is_ascii_digit() && w[1].eq_ignore_ascii_case(&b'e'));
    !exponent && text.split(|c: char| !c.is_ascii_digit()).all(digits)
}

/// Damaged files never panic and never ask for the memory that they claim; the long version reads a million.
#[test]
fn no_text_is_trusted() {
    let full = std::env::var_os("TREEAMP_FULL").is_some();
    let rounds = if full { 1_000_000 } else { 10_000 };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let words = [
        "\"n\"",
        "1e999",
        "-1",
        "[[factor]]",
        "[",
        "]",
        "{",
        "}",
        "=",
        "\n",
        "'",
        "size = [1, 2]",
        "999999999999",
        "kind = \"sum\"",
        "inputs = [\"x\", \"z\"]",
        "\u{0}",
        "é",
        "nan",
        "inf",
    ];
    let small = SPARSE.replace("n = 200", "n = 4");
    let seeds = [small.as_str(), WIRES, ARRAYS];
    for text in seeds {
        let file = ModelFile::parse("seed.toml", text).expect("a good file");
        instance(&file, &Setting::new(), 0).expect("a good model");
    }
    let (mut built, mut drawn) = (0, 0);
    for round in 0..rounds {
        let mut text: Vec<char> = seeds[round % seeds.len()].chars().collect();
        for _ in 0..rng.random_range(0..4) {
            let at = rng.random_range(0..=text.len());
            let end = (at + rng.random_range(0..12)).min(text.len());
            match rng.random_range(0..3) {
                0 => drop(text.drain(at..end)),
                1 => drop(text.splice(at..at, words[rng.random_range(0..words.len())].chars())),
                _ => drop(text.splice(at..end, words[rng.random_range(0..words.len())].chars())),
            }
        }
        let text: String = text.into_iter().collect();
        let Ok(file) = ModelFile::parse("fuzz.toml", &text) else {
            continue;
        };
        built += usize::from(file.tree(&Setting::new(), Scale::Limit).is_ok());
        // with its sizes: sampled and conditioned
        drawn += usize::from(is_modest(&text) && instance(&file, &Setting::new(), 0).is_ok());
    }
    assert!(built > rounds / 10, "{built} of {rounds} could be built");
    assert!(drawn > rounds / 10, "{drawn} of {rounds} could be drawn");
}

/// An error names the parameter that was written, not one whose name its own ends in.
#[test]
fn parameters_are_named_as_they_are_written() {
    let file = |kind: &str, wrong: &str| {
        let text = format!(
            "[[factor]]\nkind = \"gaussian\"\nsize = 3\noutput = \"x\"\n\n\
             [[factor]]\nkind = \"{kind}\"\n{wrong}\ninput = \"x\"\noutput = \"y\"\n\n[observe]\ny = \"sample\"\n"
        );
        let file = ModelFile::parse("wrong.toml", &text).expect("it is right");
        let setting = Setting::default();
        let made = file.tree(&setting, Scale::Finite { seed: 0 });
        made.expect_err("it is wrong").to_string()
    };
    for (kind, wrong, name) in [
        (
            "outlier_noise",
            "outlier_variance = -1.0",
            "outlier_variance",
        ),
        ("outlier_noise", "variance = -1.0", "variance"),
        ("probit", "noise_variance = -1.0", "noise_variance"),
        ("quantile", "quantile = 0.0", "quantile"),
        ("quantile", "quantile = 1.0", "quantile"),
        ("logistic", "flip_probability = 1.5", "flip_probability"),
    ] {
        let said = file(kind, wrong);
        let named = format!("`factor.{kind}.{name}`: `{name}` must be");
        assert!(
            said.starts_with("wrong.toml:8: ") && said.contains(&named),
            "{said}"
        );
    }
}

/// Values alone make an alphabet, and means and variances a mixture: the weights are equal.
#[test]
fn weights_that_are_not_given_are_equal() {
    let law = |kind: &str, lists: &str| {
        let text = format!("[[factor]]\nkind = \"{kind}\"\nsize = 3\n{lists}\noutput = \"x\"\n");
        let file = ModelFile::parse("equal.toml", &text).expect("it is right");
        let tree = file
            .tree(&Setting::default(), Scale::Finite { seed: 0 })
            .expect("it is right");
        tree.factors()[0].factor.clone()
    };
    let third = "weights = [0.3333333333333333, 0.3333333333333333, 0.3333333333333334]";
    for (kind, lists) in [
        ("finite_alphabet", "values = [-1.0, 0.5, 2.0]"),
        (
            "gaussian_mixture",
            "means = [-1.0, 0.5, 2.0]\nvariances = [1.0, 0.1, 2.0]",
        ),
        (
            "nonnegative_gaussian_mixture",
            "means = [-1.0, 0.5, 2.0]\nvariances = [1.0, 0.1, 2.0]",
        ),
        ("circular_gaussian_mixture", "variances = [1.0, 0.1, 2.0]"),
    ] {
        let (bare, given) = (law(kind, lists), law(kind, &format!("{lists}\n{third}")));
        let tilt = treeamp::scalar::Tilt { a: 0.7, b: 0.4 };
        let moments = |f: &dyn treeamp::extend::Factor| {
            f.scalar()
                .expect("it is right")
                .prior(tilt)
                .expect("it is right")
        };
        let (x, y) = (moments(&*bare), moments(&*given));
        for (x, y) in [
            (x.log_z, y.log_z),
            (x.mean, y.mean),
            (x.variance, y.variance),
        ] {
            assert!((x - y).abs() < 1e-12, "{kind}: {x} {y}");
        }
    }
}

/// Wires that are missing or too many, and observations of what is not there, are named with their line.
#[test]
fn wires_are_named_with_their_line() -> Outcome {
    let said = |text: &str| -> Result<String, Box<dyn std::error::Error>> {
        let file = ModelFile::parse("sparse.toml", text)?;
        let failed = instance(&file, &Setting::new(), 0).err();
        Ok(failed.ok_or("it worked")?.to_string())
    };
    let input = SPARSE.replace("input = \"z\"\n", "");
    let reason = "sparse.toml:22: `factor.gaussian_noise.input`: expected 1 input, got 0";
    assert_eq!(said(&input)?, reason);
    let observed = SPARSE.replace("y = \"sample\"", "q = \"sample\"");
    assert!(
        said(&observed)?.starts_with("sparse.toml:28: `observe.q`: there is no variable `q`"),
        "{}",
        said(&observed)?
    );
    Ok(())
}

/// Numbers beside components are compared by shape, not by their number alone.
#[test]
fn arrays_of_parameters_have_the_shape_of_the_signal() -> Outcome {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("variances_2_by_3.csv");
    std::fs::write(&path, "1,2,3\n4,5,6\n")?;
    let tree = |shape: &str| -> Result<Tree, Box<dyn std::error::Error>> {
        let text = format!(
            "[[factor]]\nkind = \"gaussian\"\nsize = {shape}\noutput = \"x\"\n\n\
             [[factor]]\nkind = \"heteroscedastic_noise\"\nvariances = {path:?}\ninput = \"x\"\noutput = \"y\"\n"
        );
        Ok(ModelFile::parse("shapes.toml", &text)?.tree(&Setting::new(), FINITE)?)
    };
    assert!(tree("[2, 3]").is_ok());
    let refused = tree("[3, 2]").err().ok_or("it worked")?.to_string();
    assert!(
        refused.contains("(2, 3)") && refused.contains("(3, 2)"),
        "{refused}"
    );
    Ok(())
}
