//! Curves of sweeps: one for every parameter that varies, and nothing drawn that is no result.

use super::*;

const HEADER: &str = "rho,alpha,source,seed,mse_x,converged,ended,heuristic,status,reason\n";

/// A picture of a table, and what its command says.
fn curve(folder: &Folder, rows: &str, more: &[&str]) -> (String, Output) {
    let table = folder.file("t.csv", &format!("{HEADER}{rows}"));
    let path = folder.path("t.svg");
    let output = treeamp(
        &[
            &["plot", "curve", text(&table), "-o", text(&path), "--force"],
            more,
        ]
        .concat(),
    );
    (fs::read_to_string(&path).unwrap_or_default(), output)
}

/// The theory of two sparsities is two lines, in a panel each.
#[test]
fn every_other_parameter_has_a_panel() {
    let folder = Folder::new("curves_by");
    let row =
        |rho: f64, alpha: f64| format!("{rho},{alpha},SE,0,{},true,converged,,ok,\n", rho * alpha);
    let rows: String = [0.1, 0.6]
        .into_iter()
        .flat_map(|rho| [0.3, 0.5, 0.7].map(|alpha| row(rho, alpha)))
        .collect();
    let (svg, _) = curve(&folder, &rows, &[]);
    assert!(svg.contains("ρ = 0.1") && svg.contains("ρ = 0.6"), "{svg}");
    let (given, _) = curve(&folder, &rows, &["--x", "alpha", "--by", "rho"]);
    assert_eq!(svg, given);
    // along the other one, too
    let (svg, _) = curve(&folder, &rows, &["--x", "rho"]);
    assert_eq!(svg.matches("aria-label=\"α = ").count(), 3);
}

/// Rows that did not converge are crosses under a name of their own, and no part of the medians.
#[test]
fn rows_that_did_not_converge_are_apart() {
    let folder = Folder::new("curves_unsettled");
    let good = "0.1,0.3,EP,0,0.1,true,converged,,ok,\n0.1,0.5,EP,0,0.05,true,converged,,ok,\n";
    let lost =
        "0.1,0.5,EP,1,0.9,false,sweep limit reached,,ok,\n0.1,0.3,EP,1,,,,,failed,no memory\n";
    let (svg, output) = curve(&folder, good, &[]);
    assert!(!svg.contains("did not converge") && !stdout(&output).contains("did not converge"));
    let (svg, output) = curve(&folder, &format!("{good}{lost}"), &[]);
    assert!(
        svg.contains("expectation propagation, did not converge"),
        "{svg}"
    );
    assert!(
        !svg.contains("standard error"),
        "the other seed is no second one"
    );
    let said = stdout(&output);
    assert!(said.contains("did not converge  1 of 4 rows"), "{said}");
    assert!(said.contains("failed            1 of 4 rows"), "{said}");
}

/// What no axis has a place for is refused, and a panel without results says so.
#[test]
fn nothing_is_drawn_of_nothing() {
    let folder = Folder::new("curves_empty");
    let good = "0.1,0.3,EP,0,-0.1,true,converged,,ok,\n0.1,0.5,EP,0,0.05,true,converged,,ok,\n";
    let failed = "0.6,0.3,EP,0,,,,,failed,no memory\n";
    let (_, output) = curve(&folder, good, &["--y", "ended"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("expected numbers in the column `ended`"));
    let (_, output) = curve(&folder, good, &["--log"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no place for the 1 negative values of `mse_x`"));
    let (_, output) = curve(&folder, failed, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("failed 1 of 1 rows"),
        "{}",
        stderr(&output)
    );
    let (svg, _) = curve(&folder, &format!("{good}{failed}"), &[]);
    assert!(svg.contains("ρ = 0.6: nothing to draw"), "{svg}");
}

/// A theory that is not exact says so in the table of a sweep and in its picture.
#[test]
fn a_heuristic_theory_is_called_one() {
    let folder = Folder::new("curves_heuristic");
    let table = folder.path("s.csv");
    let file = models().join("committee.toml");
    let sweep = [
        "sweep",
        text(&file),
        "--grid",
        "alpha=2",
        "--by",
        "se",
        "-o",
    ];
    works(&[&sweep[..], &[text(&table)]].concat());
    let lines = fs::read_to_string(&table).expect("the table");
    assert!(
        lines.contains("heuristic") && lines.contains("rotationally invariant"),
        "{lines}"
    );
    let row = "0.1,0.3,SE,0,0.1,true,converged,factor `f`: a reason,ok,\n";
    assert!(
        curve(&folder, row, &[])
            .0
            .contains("state evolution, a heuristic here")
    );
    let exact = "0.1,0.3,SE,0,0.1,true,converged,,ok,\n";
    assert!(!curve(&folder, exact, &[]).0.contains("heuristic"));
}

/// The summary of a sweep counts the rows that did not converge.
#[test]
fn a_sweep_counts_what_did_not_converge() {
    let folder = Folder::new("sweep_unsettled");
    let file = small(&folder);
    let sweep = |name: &str, more: &[&str]| {
        let table = folder.path(name);
        let sweep = [
            "sweep",
            text(&file),
            "--grid",
            "alpha=0.3,0.5",
            "--by",
            "ep",
            "-o",
        ];
        works(&[&sweep[..], &[text(&table)], more].concat())
    };
    assert!(sweep("a.csv", &["--max-sweeps", "2"]).contains("did not converge  2\n"));
    assert!(!sweep("b.csv", &[]).contains("did not converge"));
}

/// One number under two names is not two axes.
#[test]
fn two_names_of_one_number_are_not_two_axes() {
    let folder = Folder::new("two_names");
    let file = small(&folder);
    let table = folder.path("t.csv");
    let said = fails(
        2,
        &[
            "sweep",
            text(&file),
            "--grid",
            "alpha=0.3,0.5",
            "--grid",
            "linear.alpha=0.2,0.4",
            "-o",
            text(&table),
        ],
    );
    assert!(
        said.contains("`alpha` and `linear.alpha` are the same thing"),
        "{said}"
    );
    assert!(!folder.path("t.csv.journal").exists());
}
