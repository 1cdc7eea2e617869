//! The pictures of runs, sweeps and phase diagrams.

pub mod curve;
pub mod landscape;
pub mod outcome;
pub mod phases;
pub mod run;

/// What theory is drawn where it rests at a point that the least knowledge leads away from.
pub const AT_SYMMETRIC_POINT: &str =
    "state evolution at the symmetric point, which a push leads away from";

/// What stands behind the name of a theory that is not exact in the limit.
pub const A_HEURISTIC: &str = ", a heuristic here";

/// A parameter or a column of a table as papers write it.
pub fn symbol(name: &str) -> String {
    let greek = [
        ("alpha", "α"),
        ("beta", "β"),
        ("gamma", "γ"),
        ("delta", "δ"),
        ("lambda", "λ"),
        ("rho", "ρ"),
        ("sigma", "σ"),
        ("noise", "noise variance Δ"),
    ];
    if let Some((_, symbol)) = greek.iter().find(|(n, _)| *n == name) {
        return (*symbol).to_owned();
    }
    let columns = [
        ("sign_mse_", "mean squared error of ", ", up to its sign"),
        ("phase_mse_", "mean squared error of ", ", up to its phase"),
        (
            "permutation_mse_",
            "mean squared error of ",
            ", up to the order of its units",
        ),
        ("mse_", "mean squared error of ", ""),
        ("variance_", "posterior variance of ", ""),
        ("nonzero_", "components of ", " that are not zero"),
    ];
    for (prefix, before, after) in columns {
        if let Some(variable) = name.strip_prefix(prefix) {
            return format!("{before}{variable}{after}");
        }
    }
    match name {
        "p_plus" => "p₊".to_owned(),
        "log_evidence" => "log-evidence".to_owned(),
        "entropy" => "entropy per component".to_owned(),
        other => other.to_owned(),
    }
}
