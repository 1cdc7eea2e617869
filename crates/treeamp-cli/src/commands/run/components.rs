//! The components of small variables: means, standard deviations, inclusion probabilities.

use serde_json::json;
use treeamp::belief::Structure;
use treeamp_lab::experiment::Inference;
use treeamp_lab::spec::ModelFile;

use crate::exit::Failure;
use crate::text::{number, short};

/// Variables with more components have no table of them: the file of `--output` has all.
const SHOWN: usize = 20;
/// The same where components have names.
const NAMED: usize = 60;
/// JSON lists the components of variables up to this many.
const LISTED: usize = 1000;

/// A table of the components of one variable.
pub struct Components {
    /// The columns; the first is the variable's name.
    pub header: Vec<String>,
    /// A line for every component, with the column of the data file it belongs to.
    pub rows: Vec<Vec<String>>,
}

/// Tables of the variables whose components have a name, a standard deviation of their own or an inclusion probability.
pub fn tables(file: &ModelFile, run: &Inference) -> Result<Vec<Components>, Failure> {
    let mut tables = Vec::new();
    for variable in run.posterior.variables() {
        let (name, count) = (&variable.name, variable.spec.count());
        let real = variable.spec.len() == count;
        let names = file.component_names(name).filter(|n| n.len() == count);
        let fits = match names {
            Some(_) => count <= NAMED,
            None => (2..=SHOWN).contains(&count),
        };
        if !fits || !real {
            continue;
        }
        let v = &run.report.marginal(name)?.variance;
        let isotropic = v.structure() == Structure::Isotropic;
        let inclusion = run.inclusion(name)?;
        if names.is_none() && isotropic && inclusion.is_none() {
            continue;
        }
        let stds = deviations(run, name)?;
        let mean = run.report.mean(name)?;
        let std = if isotropic { "std (average)" } else { "std" };
        let mut header = vec![name.clone(), "mean".to_owned(), std.to_owned()];
        header.extend(inclusion.as_ref().map(|_| "P(not zero)".to_owned()));
        let rows = (0..count).map(|i| {
            let label = names
                .as_ref()
                .map_or_else(|| i.to_string(), |n| n[i].clone());
            let mut row = vec![label, short(mean[i]), short(stds[i])];
            row.extend(inclusion.as_ref().map(|p| short(p[i])));
            row
        });
        tables.push(Components {
            rows: rows.collect(),
            header,
        });
    }
    Ok(tables)
}

/// Where to find the components that have names, and are too many for a table.
pub fn too_many(file: &ModelFile, run: &Inference) -> Option<String> {
    let mut variables = run.posterior.variables().iter();
    let large =
        variables.find(|v| v.spec.count() > NAMED && file.component_names(&v.name).is_some())?;
    Some(format!(
        "{} of {}, under their names in the file of --output (.csv)",
        large.spec.count(),
        large.name
    ))
}

/// The standard deviation of every number of a variable; their average where the belief has one for all.
fn deviations(run: &Inference, name: &str) -> Result<Vec<f64>, Failure> {
    let moments = run.report.marginal(name)?;
    let v = &moments.variance;
    Ok(match v.structure() {
        Structure::Isotropic => vec![v.mean_diagonal().sqrt(); moments.mean.len()],
        _ => v.diagonal().map(f64::sqrt).collect(),
    })
}

/// Means, standard deviations (a single number where there is one for all) and inclusion probabilities of a variable that is not large.
pub fn add_to_json(
    entry: &mut serde_json::Value,
    file: &ModelFile,
    run: &Inference,
    name: &str,
) -> Result<(), Failure> {
    let moments = run.report.marginal(name)?;
    let isotropic = moments.variance.structure() == Structure::Isotropic;
    entry["std"] = json!(null);
    if isotropic {
        entry["std"] = number(moments.variance.mean_diagonal().sqrt());
    }
    if moments.mean.len() > LISTED {
        return Ok(());
    }
    let list = |x: &[f64]| -> serde_json::Value { x.iter().map(|x| number(*x)).collect() };
    entry["mean"] = list(&moments.mean);
    if !isotropic {
        entry["std"] = list(&deviations(run, name)?);
    }
    if let Some(p) = run.inclusion(name)? {
        entry["inclusion"] = list(&p);
    }
    if let Some(names) = file
        .component_names(name)
        .filter(|n| n.len() == moments.mean.len())
    {
        entry["components"] = json!(names);
    }
    Ok(())
}

/// How many components are expected not to be zero, for the lines below the table: the sum of the inclusion probabilities.
pub fn expected(run: &Inference) -> Result<Option<String>, Failure> {
    let mut said = Vec::new();
    for variable in run.posterior.variables() {
        if let Some(p) = run.inclusion(&variable.name)? {
            let sum: f64 = p.iter().sum();
            said.push(format!(
                "{} of {} in {}",
                short(sum),
                p.len(),
                variable.name
            ));
        }
    }
    Ok((!said.is_empty()).then(|| said.join(", ")))
}
