//! What runs cost, and how far they are.

use std::io::{BufRead as _, BufReader};
use std::time::Instant;

use treeamp::engine::Estimate;
use treeamp_lab::experiment::{instance, outline};
use treeamp_lab::spec::{ModelFile, Setting};

use super::*;

/// The matrix would have 2e8 entries, and its decomposition would take minutes.
#[test]
fn check_answers_at_once_at_any_size() {
    let model = models().join("sparse_regression.toml");
    let clock = Instant::now();
    let said = works(&["check", text(&model), "--set", "n=20000"]);
    assert!(
        clock.elapsed() < Duration::from_secs(5),
        "{:?}",
        clock.elapsed()
    );
    assert!(
        said.contains("minutes of set-up") && said.contains("`linear`"),
        "{said}"
    );
    assert!(said.contains(" GB"), "{said}");
}

/// A diagonal belief on an image of 48 x 48 costs more than an isotropic one, and far from what dense algebra does.
#[test]
fn costs_follow_beliefs() {
    let folder = Folder::new("dear");
    let image = |belief: &str| {
        let zeros = vec!["0"; 48].join(",") + "\n";
        folder.file("y.csv", &zeros.repeat(48));
        let model = format!(
            "[[factor]]\nkind = \"gaussian\"\nsize = [48, 48]\noutput = \"x\"\n\n\
             [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.01\ninput = \"x\"\noutput = \"y\"\n\n\
             [[factor]]\nkind = \"gradient\"\ninput = \"x\"\noutput = \"z\"\n\n\
             [[factor]]\nkind = \"gauss_bernoulli\"\nsize = [2, 48, 48]\nrho = 0.1\noutput = \"z\"\n\n\
             [observe]\ny = \"y.csv\"\n\n[variables.x]\nbelief = \"{belief}\"\n\n[variables.z]\nbelief = \"{belief}\"\n"
        );
        let answer = works(&["check", text(&folder.file("image.toml", &model)), "--json"]);
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        answer["cost"]["sweep_seconds"].as_f64().expect("a number")
    };
    let (cheap, dear) = (image("isotropic"), image("diagonal"));
    assert!(cheap < dear && dear < 0.1, "{cheap} and {dear} s");
}

/// Stand-ins for random matrices cost what the matrices do, and give the same shapes and kinds of values.
#[test]
fn outlines_cost_what_instances_do() {
    for file in fs::read_dir(models()).expect("the models") {
        let path = file.expect("a file").path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let model = ModelFile::read(&path).expect("a model");
        let sized = model.adjustable().iter().any(|n| n == "n");
        let drawn = !["sparse_gradient", "total_variation", "real_data"]
            .iter()
            .any(|n| path.ends_with(format!("{n}.toml")));
        let mut setting = Setting::new();
        if sized && drawn {
            setting = setting.with("n", 60.0);
        }
        let real = instance(&model, &setting, 0).expect("an instance");
        let outline = outline(&model, &setting).expect("an outline");
        let (real, outline) = (&real.posterior, &outline.posterior);
        assert_eq!(
            Estimate::of(real),
            Estimate::of(outline),
            "{}",
            path.display()
        );
        let specs = |tree: &treeamp::model::Tree| -> Vec<String> {
            let variables = tree.variables().iter();
            variables
                .map(|v| format!("{} {}", v.name, v.spec))
                .collect()
        };
        assert_eq!(specs(real), specs(outline));
    }
}

fn full(folder: &Folder, size: usize, run: &str) -> PathBuf {
    let model = format!(
        "[[factor]]\nkind = \"gaussian\"\nsize = {size}\noutput = \"x\"\n\n\
         [[factor]]\nkind = \"gaussian_noise\"\nvariance = 0.1\ninput = \"x\"\noutput = \"y\"\n\n\
         {run}\n\n[variables.x]\nbelief = \"full\"\n"
    );
    folder.file("full.toml", &model)
}

/// A run that will be long says so before it starts.
#[test]
fn long_runs_say_so() {
    let folder = Folder::new("long");
    for (size, long) in [(1200, true), (50, false)] {
        let model = full(&folder, size, "");
        let output = treeamp(&["run", text(&model)]);
        assert!(output.status.success());
        let said = stderr(&output);
        assert_eq!(said.contains("estimated cost: "), long, "{said}");
        assert_eq!(said.contains("a sweep (nearly all in `x`)"), long, "{said}");
    }
}

/// A limit may lie above the default of 2 GiB.
#[test]
fn memory_may_be_allowed() {
    let folder = Folder::new("memory");
    let allowed = full(&folder, 8000, "[run]\nmemory_limit = 1e11");
    works(&["check", text(&allowed)]);
    // modes take isotropic beliefs alone, and say so whatever the limit
    let isotropic = "does not support full beliefs on variable `x`: expected isotropic ones";
    for command in [vec!["check", "--map"], vec!["run", "--map"]] {
        let said = fails(2, &[&command[..], &[text(&allowed)]].concat());
        assert!(said.contains(isotropic), "{said}");
    }
    let refused = full(&folder, 8000, "");
    assert!(fails(2, &["check", text(&refused)]).contains("memory_limit"));
}

/// Progress is for terminals; with `--progress` it is lines on the standard error, with the time left.
#[test]
fn progress_is_shown_where_it_is_asked_for() {
    let folder = Folder::new("progress");
    let small = small(&folder);
    let (small, table) = (text(&small), folder.path("t.csv"));
    let picture = folder.path("p.svg");
    let (table, picture) = (text(&table), text(&picture));
    let sensing = models().join("compressed_sensing.toml");
    let sensing = text(&sensing);
    let cases: [(&[&str], &str); 7] = [
        (&["predict", small], "fixed points of x"),
        (&["run", small], "sweep 1 of at most 200"),
        (
            &[
                "sweep",
                small,
                "--grid",
                "alpha=0.5,0.6",
                "-o",
                table,
                "--force",
            ],
            "4/4 cells; after Ctrl-C the same command goes on",
        ),
        (
            &["threshold", sensing, "--between", "0.1:0.9"],
            "values of alpha",
        ),
        (
            &["plot", "convergence", small, "-o", picture, "--force"],
            "0/1 runs",
        ),
        (
            &[
                "plot",
                "landscape",
                small,
                "--places",
                "5",
                "-o",
                picture,
                "--force",
            ],
            "/5 places",
        ),
        (
            &[
                "plot",
                "phases",
                sensing,
                "--x",
                "rho=0.2,0.3",
                "--y",
                "alpha=0.1:0.9:3",
                "-o",
                picture,
                "--force",
            ],
            "2/2 columns",
        ),
    ];
    for (arguments, line) in cases {
        let silent = stderr(&treeamp(arguments));
        assert!(!silent.contains(line), "{arguments:?}: {silent}");
        let shown = treeamp(&[arguments, &["--progress"]].concat());
        assert!(shown.status.success());
        let said = stderr(&shown);
        assert!(said.contains(line), "{arguments:?}: {said}");
        // what the command prints is the same
        assert!(!stdout(&shown).contains(line));
    }
}

/// What a run costs is said before a large matrix is drawn, and then what is being done.
#[test]
fn the_estimate_comes_before_the_matrix() {
    let model = models().join("sparse_regression.toml");
    let mut child = command(&["--progress", "run", text(&model), "--set", "n=12000"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let said: Vec<String> = said.map_while(Result::ok).take(2).collect();
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
    assert!(said[0].starts_with("estimated cost: "), "{said:?}");
    assert!(said[1].starts_with("drawing the instance"), "{said:?}");
}

/// Beliefs that no memory holds are refused before anything is drawn or decomposed.
#[test]
fn memory_is_refused_before_the_work() {
    let folder = Folder::new("memory_first");
    let file = models().join("sparse_regression.toml");
    let (table, picture) = (folder.path("t.csv"), folder.path("p.svg"));
    let full = ["--belief", "full", "--set", "n=20000"];
    let commands: [&[&str]; 4] = [
        &["run", text(&file)],
        &[
            "sweep",
            text(&file),
            "--by",
            "ep",
            "--grid",
            "rho=0.1",
            "-o",
            text(&table),
        ],
        &["plot", "run", text(&file), "-o", text(&picture)],
        &["plot", "convergence", text(&file), "-o", text(&picture)],
    ];
    for command in commands {
        let clock = Instant::now();
        let output = treeamp(&[command, &full].concat());
        assert!(!output.status.success());
        assert!(
            stderr(&output).contains("GB") || stderr(&output).contains("bytes"),
            "{}",
            stderr(&output)
        );
        assert!(
            clock.elapsed() < Duration::from_secs(5),
            "{command:?}: {:?}",
            clock.elapsed()
        );
    }
}

/// `check` takes the beliefs that `run` takes.
#[test]
fn check_takes_beliefs() {
    let file = models().join("sparse_regression.toml");
    let cost = |more: &[&str]| {
        let answer = works(&[&["check", text(&file), "--json"][..], more].concat());
        let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
        answer["cost"]["bytes"].as_f64().expect("a number")
    };
    assert!(cost(&["--belief", "diagonal"]) > cost(&[]));
    let said = fails(
        2,
        &["check", text(&file), "--belief", "full", "--set", "n=20000"],
    );
    assert!(said.contains("memory"), "{said}");
}
