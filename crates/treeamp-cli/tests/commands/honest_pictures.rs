//! Pictures that must not mislead: runs that failed, exact recoveries, lost signs, other domains, missing transitions.

use super::*;

/// What a picture says, and how its command ended.
fn drawn(folder: &Folder, arguments: &[&str]) -> (String, Output) {
    let path = folder.path("picture.svg");
    let output = treeamp(&[arguments, &["--output", text(&path), "--force"]].concat());
    let svg = fs::read_to_string(&path).unwrap_or_default();
    (svg, output)
}

fn model(name: &str) -> String {
    models().join(format!("{name}.toml")).display().to_string()
}

#[test]
fn runs_that_failed_say_so() {
    let folder = Folder::new("failed_pictures");
    let file = model("perceptron");
    let short = ["--set", "n=60", "--max-sweeps", "2"];
    for what in ["run", "signals", "convergence"] {
        let (svg, output) = drawn(&folder, &[&["plot", what, &file][..], &short].concat());
        assert_eq!(output.status.code(), Some(1), "{what}");
        assert!(svg.contains("did not converge"), "{what}");
        let said = stdout(&output);
        assert!(
            said.contains("ended") && !said.contains("ended    converged"),
            "{said}"
        );
        let (svg, output) = drawn(
            &folder,
            &["plot", what, &file, "--set", "n=60", "--set", "alpha=3"],
        );
        assert_eq!(output.status.code(), Some(0), "{what}");
        assert!(!svg.contains("did not converge"), "{what}");
    }
}

/// A line of the picture stands where the error is zero, and the axis has a zero.
#[test]
fn exact_recoveries_stay_on_the_picture() {
    let folder = Folder::new("zeros");
    let table = folder.file(
        "t.csv",
        "alpha,source,seed,mse_x,status,reason\n0.1,EP,0,0.5,ok,\n0.2,EP,0,0,ok,\n0.2,EP,1,0,ok,\n0.3,EP,0,1e-40,ok,\n",
    );
    let (svg, _) = drawn(&folder, &["plot", "curve", text(&table), "--log"]);
    assert!(svg.contains("mean squared error of x") && svg.contains("median and quartiles"));
    // three places, of which two are at zero; a circle is closed by a z, one more is in the legend
    let circles: usize = svg
        .split("<path")
        .filter(|p| p.contains("stroke=\"#e07b1a\""))
        .map(|p| p.matches('z').count())
        .sum();
    assert_eq!(circles, 4, "{svg}");
}

/// Means of an even model are shown with the sign of the truth, and the picture says so.
#[test]
fn lost_signs_are_turned() {
    let folder = Folder::new("signs");
    let file = model("phase_retrieval");
    let mut turned = 0;
    for seed in 0..6 {
        let seed = seed.to_string();
        let set = [
            "--set",
            "n=60",
            "--set",
            "alpha=2",
            "--start-noise",
            "0.1",
            "--seed",
            &seed,
        ];
        let answer = works(&[&["run", &file, "--json"][..], &set].concat());
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        let error = |name: &str| answer["variables"]["x"][name].as_f64().expect("a number");
        let flipped = error("sign_mse") < 0.5 * error("mse");
        let (svg, _) = drawn(&folder, &[&["plot", "run", &file][..], &set].concat());
        assert_eq!(svg.contains("its sign turned to the truth"), flipped);
        let (svg, _) = drawn(
            &folder,
            &[&["plot", "convergence", &file][..], &set].concat(),
        );
        assert_eq!(svg.contains("up to its sign"), flipped);
        turned += usize::from(flipped);
    }
    assert!((1..6).contains(&turned), "{turned} of 6 had the other sign");
}

/// The theory of a penalty is that of its minimiser, and the picture says that it is no curve of sweeps.
#[test]
fn the_theory_of_a_penalty_is_a_fixed_point() {
    let folder = Folder::new("penalty_theory");
    let set = ["--set", "n=100"];
    let theory = |name: &str| {
        drawn(
            &folder,
            &[&["plot", "convergence", &model(name)][..], &set].concat(),
        )
        .0
    };
    assert!(theory("lasso").contains("fixed point of state evolution"));
    let bayes = theory("sparse_regression");
    assert!(bayes.contains("state evolution") && !bayes.contains("fixed point"));
}

/// A picture shows one variable, and the command says which others there are.
#[test]
fn what_is_not_shown_is_named() {
    let folder = Folder::new("shown");
    let file = model("sparse_regression");
    for (signal, other) in [("x", "z"), ("z", "x")] {
        let set = ["--set", "n=60", "--signal", signal];
        let (svg, output) = drawn(&folder, &[&["plot", "run", &file][..], &set].concat());
        let said = stdout(&output);
        let line = format!("shown    {signal}; --signal draws {other}");
        assert!(said.contains(&line), "{said}");
        // only the prior of x has a point mass
        assert_eq!(svg.contains("inclusion probability"), signal == "x");
    }
}

/// Observations are drawn over a signal only where they are values of its components.
#[test]
fn other_domains_have_a_panel_of_their_own() {
    let folder = Folder::new("domains");
    let panels = |svg: &str| svg.matches(">component<").count();
    let (own, _) = drawn(
        &folder,
        &["plot", "signals", &model("sparse_fourier"), "--signal", "z"],
    );
    let (other, _) = drawn(
        &folder,
        &["plot", "signals", &model("sparse_fourier"), "--signal", "x"],
    );
    let labels = |svg: &str| svg.matches("component").count();
    assert!(panels(&own) + labels(&own) < panels(&other) + labels(&other));
}

#[test]
fn a_diagram_without_a_transition_says_so() {
    let folder = Folder::new("no_transition");
    let axes = ["--x", "rho=0.3,0.4", "--y"];
    let diagram = |file: &str, y: &str| {
        let (svg, output) = drawn(
            &folder,
            &[&["plot", "phases", file][..], &axes, &[y]].concat(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        svg
    };
    let none = diagram(&model("sparse_regression"), "alpha=0.1:0.3:3");
    assert!(
        none.contains("easy everywhere: no transition") && !none.contains("algorithmic threshold")
    );
    let some = diagram(&model("compressed_sensing"), "alpha=0.1:0.9:9");
    assert!(!some.contains("no transition") && some.contains("algorithmic threshold"));
    for name in ["impossible", "hard", "easy", "ρ", "α"] {
        assert!(some.contains(name), "{name}");
    }
}

/// The prediction of an even output rests at the symmetric point: tables and pictures say so.
#[test]
fn sweeps_name_the_symmetric_point() {
    let folder = Folder::new("symmetric");
    let table = folder.path("t.csv");
    let file = model("complex_phase_retrieval");
    works(&[
        "sweep",
        &file,
        "--grid",
        "alpha=3",
        "--by",
        "se",
        "-o",
        text(&table),
    ]);
    let lines = fs::read_to_string(&table).expect("the table");
    assert!(
        lines
            .lines()
            .next()
            .is_some_and(|l| l.contains("symmetric_point")),
        "{lines}"
    );
    let (svg, _) = drawn(&folder, &["plot", "curve", text(&table), "--y", "mse_x"]);
    assert!(
        svg.contains("at the symmetric point, which a push leads away from"),
        "{svg}"
    );
    let odd = folder.path("odd.csv");
    works(&[
        "sweep",
        &model("perceptron"),
        "--grid",
        "alpha=0.5",
        "--by",
        "se",
        "-o",
        text(&odd),
    ]);
    assert!(
        !fs::read_to_string(&odd)
            .expect("the table")
            .contains("symmetric_point")
    );
}

/// Even outputs: the theory rests where nothing is known, and the picture says that a push leads away from there.
#[test]
fn the_theory_of_sweeps_names_the_symmetric_point() {
    let folder = Folder::new("symmetric_sweeps");
    for (name, symmetric) in [
        ("complex_phase_retrieval", true),
        ("sparse_regression", false),
    ] {
        let file = model(name);
        let arguments = ["plot", "convergence", &file, "--set", "n=60"];
        let (svg, output) = drawn(&folder, &arguments);
        let said = "state evolution at the symmetric point, which a push leads away from";
        assert_eq!(svg.contains(said), symmetric, "{name}");
        let said = stdout(&output);
        assert_eq!(said.contains("at the symmetric point"), symmetric, "{said}");
    }
}

/// Without being told, a curve is of the parameter that varies, and of the error up to a sign that runs lost; what is told is drawn.
#[test]
fn a_curve_finds_its_columns() {
    let folder = Folder::new("columns");
    let start = "rho,noise,source,seed,mse_x,sign_mse_x,status,reason\n";
    let kept = "0.1,1,EP,0,0.2,0.2,ok,\n0.2,1,EP,0,0.3,0.3,ok,\n";
    let lost = "0.3,1,EP,0,2.45,0.1,ok,\n";
    let plain = folder.file("plain.csv", &format!("{start}{kept}"));
    let signs = folder.file("signs.csv", &format!("{start}{kept}{lost}"));
    let curve = |table: &Path, more: &[&str]| {
        let (svg, output) = drawn(
            &folder,
            &[&["plot", "curve", text(table)][..], more].concat(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        (svg, stderr(&output))
    };
    let (svg, said) = curve(&plain, &[]);
    assert!(svg.contains("aria-label=\"ρ\"") && !svg.contains("up to its sign"));
    assert_eq!(said, "");
    let (svg, said) = curve(&signs, &[]);
    assert!(svg.contains("mean squared error of x, up to its sign"));
    assert_eq!(said, "");
    let (svg, said) = curve(&signs, &["--y", "mse_x"]);
    assert!(!svg.contains("up to its sign"));
    assert!(said.contains("--y sign_mse_x"), "{said}");
}

/// An exact recovery stands at an error of zero, or is named where its free entropy has no bound.
#[test]
fn exact_recoveries_of_a_landscape_are_there() {
    let folder = Folder::new("landscape_ends");
    let places = ["--places", "12"];
    let landscape = |name: &str, more: &[&str]| {
        let file = model(name);
        let arguments = [&["plot", "landscape", &file][..], &places, more].concat();
        let (svg, output) = drawn(&folder, &arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        svg
    };
    let finite = landscape("perceptron", &["--set", "alpha=1.35"]);
    assert!(finite.contains("aria-label=\"0\""), "a place for zero");
    assert!(!finite.contains("without bound"));
    let diverging = landscape("phase_retrieval", &[]);
    assert!(diverging.contains("informed start: exact recovery, of free entropy without bound"));
}

/// Lines join neighbours that have to do with each other; other components are scattered, and named where they have names.
#[test]
fn components_are_joined_only_where_they_are_neighbours() {
    let folder = Folder::new("joined");
    let signals = |name: &str, set: &[&str]| {
        let file = model(name);
        drawn(&folder, &[&["plot", "signals", &file][..], set].concat()).0
    };
    let dense = signals("perceptron", &["--set", "n=400"]);
    assert!(dense.contains("aria-label=\"equal\""), "a scatter");
    let many = signals("perceptron", &["--set", "n=1200"]);
    assert!(many.contains("the first 1000 of"), "of the observations");
    let order = signals("sparse_gradient", &[]);
    assert!(!order.contains("aria-label=\"equal\""));
    for what in ["signals", "run"] {
        let (svg, _) = drawn(&folder, &["plot", what, &model("real_data")]);
        assert!(
            svg.contains("± one standard deviation"),
            "{what}: marks with bars"
        );
        for name in ["age", "bmi", "glu"] {
            assert!(
                svg.contains(&format!("aria-label=\"{name}\"")),
                "{what}: {name}"
            );
        }
    }
}

/// Sweeps of several attempts are told apart, and the picture ends where the run does.
#[test]
fn attempts_and_the_end_of_a_fallback_are_marked() {
    let folder = Folder::new("attempts");
    let convergence = |name: &str, set: &[&str]| {
        let file = model(name);
        drawn(
            &folder,
            &[&["plot", "convergence", &file][..], set].concat(),
        )
        .0
    };
    let several = convergence("phase_retrieval", &[]);
    assert!(several.contains("another attempt begins"));
    assert!(several.contains("end of the fallback"));
    let one = convergence("sparse_regression", &["--set", "n=100"]);
    assert!(!one.contains("another attempt") && !one.contains("fallback"));
}

/// Where theory is left out of a picture, the command says why; beliefs of the command line count as those of the file.
#[test]
fn theory_that_is_left_out_is_missed_aloud() {
    let folder = Folder::new("left_out");
    let file = small(&folder);
    let diagonal = ["--belief", "diagonal"];
    let (svg, output) = drawn(
        &folder,
        &[&["plot", "convergence", text(&file)][..], &diagonal].concat(),
    );
    assert!(!svg.contains("state evolution"));
    let said = stdout(&output);
    assert!(
        said.contains("left out: ") && said.contains("no theory of diagonal beliefs"),
        "{said}"
    );
    let said = fails(2, &[&["predict", text(&file)][..], &diagonal].concat());
    assert!(said.contains("no theory of diagonal beliefs"), "{said}");
    let table = folder.path("t.csv");
    let sweep = [
        "sweep",
        text(&file),
        "--grid",
        "alpha=0.3",
        "-o",
        text(&table),
    ];
    works(&[&sweep[..], &diagonal].concat());
    let lines = fs::read_to_string(&table).expect("the table");
    assert!(lines.contains(",EP,") && !lines.contains(",SE,"), "{lines}");
}

/// A theory that is not exact in the limit says so beside runs.
#[test]
fn a_heuristic_is_named_beside_runs() {
    let folder = Folder::new("heuristic_sweeps");
    let set = ["--set", "n=100", "--max-sweeps", "20"];
    let (svg, output) = drawn(
        &folder,
        &[&["plot", "convergence", &model("committee")][..], &set].concat(),
    );
    assert!(svg.contains("a heuristic here"));
    assert!(stdout(&output).contains("heuristic"), "{}", stdout(&output));
}

/// A threshold that is not in the frame is not drawn in it, and a legend names the lines that are there.
#[test]
fn a_diagram_draws_the_thresholds_inside_it() {
    let folder = Folder::new("frame");
    let diagram = |name: &str, x: &str, y: &str| {
        let file = model(name);
        drawn(&folder, &["plot", "phases", &file, "--x", x, "--y", y]).0
    };
    let one = diagram("compressed_sensing", "rho=0.1:0.9:2", "alpha=0.1:0.9:5");
    assert!(one.contains("algorithmic threshold"));
    assert!(!one.contains("information-theoretic threshold"));
}

/// Where a threshold leaves the frame, its line crosses the edge on the way to where it is; what the table has is the threshold itself.
#[test]
fn a_line_leaves_the_frame_where_the_threshold_does() {
    let folder = Folder::new("leaves");
    let file = model("symmetric_door");
    let table = folder.path("t.csv");
    let axes = ["--x", "width=0.3,0.54", "--y", "alpha=0.5:3:3"];
    let more = ["--tolerance", "1e-2", "--table", text(&table)];
    drawn(
        &folder,
        &[&["plot", "phases", &file][..], &axes, &more].concat(),
    );
    let lines = fs::read_to_string(&table).expect("the table");
    let first = lines.lines().nth(1).and_then(|l| l.rsplit(',').next());
    let threshold: f64 = first.and_then(|x| x.parse().ok()).expect("a number");
    assert!((threshold - 3.524).abs() < 0.02, "{threshold}");
}
