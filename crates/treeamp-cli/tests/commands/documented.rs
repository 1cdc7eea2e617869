//! Every command that the help, the README and the documentation show is run, at a smaller size.

use super::*;

/// The commands of the program, and those of `plot`.
const COMMANDS: [&[&str]; 18] = [
    &[],
    &["demo"],
    &["run"],
    &["predict"],
    &["threshold"],
    &["sweep"],
    &["merge"],
    &["plot"],
    &["plot", "curve"],
    &["plot", "run"],
    &["plot", "signals"],
    &["plot", "images"],
    &["plot", "convergence"],
    &["plot", "landscape"],
    &["plot", "phases"],
    &["describe"],
    &["modules"],
    &["check"],
];

/// The command of a line, without its comment and what its output is piped into.
fn shown(line: &str) -> Option<Vec<String>> {
    let rest = line.trim().strip_prefix("treeamp ")?;
    let rest = rest.split("  ").next()?.split(['|', '>']).next()?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// The same at a size that takes no time: fewer values on an axis, smaller signals.
fn smaller(mut arguments: Vec<String>) -> Vec<String> {
    for argument in &mut arguments {
        let parts: Vec<&str> = argument.split(':').collect();
        if let [low, high, _] = parts[..]
            && argument.contains('=')
        {
            *argument = format!("{low}:{high}:2");
        }
    }
    let sized = ["run", "sweep", "plot"].contains(&arguments[0].as_str());
    let drawn = |a: &String| {
        let data = ["total_variation", "sparse_gradient", "real_data"];
        !data.iter().any(|d| a.contains(d))
    };
    let model = arguments.iter().any(|a| a.contains(".toml") && drawn(a));
    if sized && model {
        arguments.extend(["--set".to_owned(), "n=60".to_owned()]);
    }
    if arguments[0] == "demo" {
        arguments.extend(["--n".to_owned(), "60".to_owned()]);
    }
    arguments
}

/// A folder with the models, a model `m.toml`, and the table of a sweep.
fn workplace(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::create_dir(folder.path("models")).expect("a folder");
    for entry in fs::read_dir(models()).expect("the models") {
        let path = entry.expect("a file").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        fs::copy(&path, folder.path("models").join(name)).expect("a copy");
    }
    fs::copy(
        models().join("sparse_regression.toml"),
        folder.path("m.toml"),
    )
    .expect("a copy");
    let sweep = [
        "sweep",
        "m.toml",
        "--grid",
        "alpha=0.4,0.8",
        "--grid",
        "rho=0.1,0.2",
        "--set",
        "n=60",
    ];
    carry_out(&folder, &sweep.map(str::to_owned));
    folder
}

fn carry_out(folder: &Folder, arguments: &[String]) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = command(&arguments)
        .current_dir(&folder.0)
        .output()
        .expect("the program starts");
    let code = output.status.code();
    // an example of a mistake
    let wrong = arguments.contains(&"rho=1.5");
    // a small run, or one without damping, need not settle
    let settles = code == Some(0) || code == Some(1) && stderr(&output).is_empty();
    assert!(
        if wrong { code == Some(2) } else { settles },
        "{arguments:?}: {}",
        stderr(&output)
    );
}

#[test]
fn every_command_of_the_help_works() {
    let mut seen = 0;
    for names in COMMANDS {
        let folder = workplace("help");
        let help = works(&[names, &["--help"]].concat());
        assert!(help.contains("treeamp "), "{names:?} has examples");
        for line in help.lines().filter(|l| l.starts_with("  treeamp ")) {
            let Some(arguments) = shown(line).filter(|a| !a.contains(&"...".to_owned())) else {
                continue;
            };
            carry_out(&folder, &[smaller(arguments), vec![]].concat());
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

/// The first model of docs/model-files.md under all commands of its table, and the README's commands in their order.
#[test]
fn every_command_of_the_documents_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = workplace("documents");
    let guide = fs::read_to_string(root.join("docs/model-files.md")).expect("the guide");
    let blocks: Vec<&str> = guide.split("```").skip(1).step_by(2).collect();
    let tables = blocks.iter().filter_map(|b| b.strip_prefix("toml\n"));
    let tables: Vec<&str> = tables.collect();
    let [model, more, student] = tables[..] else {
        panic!("three blocks of TOML, got {}", tables.len());
    };
    folder.file("FILE.toml", model);
    folder.file("more.toml", &format!("{model}\n{more}"));
    folder.file("student.toml", &format!("{model}\n{student}"));
    let mut seen = 0;
    for line in guide.lines().filter(|l| l.starts_with("| `treeamp ")) {
        let shown = line
            .trim_start_matches("| `")
            .split('`')
            .next()
            .and_then(shown);
        let arguments = shown.unwrap_or_default();
        if !arguments.contains(&"FILE".to_owned()) {
            continue;
        }
        let of_penalty = arguments.contains(&"--map".to_owned());
        let file = if of_penalty {
            "student.toml"
        } else {
            "FILE.toml"
        };
        let named = arguments.into_iter();
        let named = named.map(|a| if a == "FILE" { file.to_owned() } else { a });
        let output = ["--output".to_owned(), format!("{seen}.csv")];
        let mut named = smaller(named.collect());
        if named[0] == "sweep" {
            named.extend(output);
        }
        carry_out(&folder, &named);
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
    for arguments in guide.lines().filter_map(shown) {
        carry_out(&folder, &smaller(arguments));
        seen += 1;
    }
    assert!(seen >= 10, "{seen}");
    // the further tables belong to the same model
    for name in ["more.toml", "student.toml"] {
        for what in ["check", "run"] {
            carry_out(&folder, &smaller(vec![what.to_owned(), name.to_owned()]));
        }
    }
    let readme = fs::read_to_string(root.join("README.md")).expect("the README");
    let lines: Vec<Vec<String>> = readme
        .lines()
        .filter_map(shown)
        .filter(|a| a.len() > 1)
        .collect();
    assert!(lines.len() >= 4);
    let folder = workplace("readme");
    for name in ["sweep.csv", "sweep.csv.journal"] {
        fs::remove_file(folder.path(name)).expect("a file");
    }
    for arguments in lines {
        carry_out(&folder, &smaller(arguments));
    }
}
