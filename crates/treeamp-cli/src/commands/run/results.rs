//! Means, variances and inclusion probabilities in files.

use std::path::Path;

use treeamp::belief::{Element, SignalSpec, Structure};
use treeamp::extend::Moments;
use treeamp::model::Tree;
use treeamp_lab::data::{self, Array};
use treeamp_lab::experiment::Inference;
use treeamp_lab::spec::ModelFile;
use treeamp_lab::sweep::{Row, Value};

use crate::exit::Failure;

/// The forms of a result file.
pub enum Form {
    Npz,
    Csv,
}

/// The form of a file, by its name.
pub fn form(path: &Path) -> Result<Form, Failure> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("npz") => Ok(Form::Npz),
        Some("csv") => Ok(Form::Csv),
        _ => {
            let text = format!(
                "{}: expected a name that ends in .npz or .csv",
                path.display()
            );
            Err(Failure::Usage(text))
        }
    }
}

/// Means and variances of every variable.
pub fn results(path: &Path, file: &ModelFile, run: &Inference) -> Result<Vec<u8>, Failure> {
    match form(path)? {
        Form::Npz => npz(run),
        Form::Csv => csv(file, run),
    }
}

fn npz(run: &Inference) -> Result<Vec<u8>, Failure> {
    let mut arrays = Vec::new();
    for variable in run.posterior.variables() {
        let (name, spec) = (&variable.name, &variable.spec);
        let moments = run.report.marginal(name)?;
        let complex = spec.element == Element::Complex;
        let mean = Array::new(spec.shape.clone(), moments.mean.clone(), complex);
        arrays.push((format!("{name}_mean"), mean));
        let variance = variance(moments, spec);
        let std = variance.clone().map(|mut v| {
            v.values.iter_mut().for_each(|x| *x = x.sqrt());
            v
        });
        arrays.push((format!("{name}_variance"), variance));
        arrays.push((format!("{name}_std"), std));
        if let Some(inclusion) = run.inclusion(name)? {
            let inclusion = Array::real(spec.shape.clone(), inclusion);
            arrays.push((format!("{name}_inclusion"), inclusion));
        }
        if let Some(covariance) = covariance(moments) {
            arrays.push((format!("{name}_covariance"), covariance));
        }
    }
    let arrays = arrays.into_iter().map(|(name, array)| Ok((name, array?)));
    let arrays: Vec<(String, Array)> = arrays.collect::<Result<_, _>>().map_err(Failure::Run)?;
    let arrays: Vec<(&str, &Array)> = arrays.iter().map(|(n, a)| (n.as_str(), a)).collect();
    data::encode_npz(&arrays).map_err(Failure::Run)
}

/// A single number where the belief has only one, else one for every component; of a complex one the average of its
/// parts'.
fn variance(moments: &Moments, spec: &SignalSpec) -> Result<Array, String> {
    let v = &moments.variance;
    if v.structure() == Structure::Isotropic {
        return Array::real(Vec::new(), vec![v.mean_diagonal()]);
    }
    let diagonal: Vec<f64> = v.diagonal().collect();
    let parts = (diagonal.len() / spec.count().max(1)).max(1);
    let average = |part: &[f64]| part.iter().sum::<f64>() / parts as f64;
    let averages = diagonal.chunks(parts).map(average);
    Array::real(spec.shape.clone(), averages.collect())
}

/// The covariance matrix, or those of the blocks, one after the other.
fn covariance(moments: &Moments) -> Option<Result<Array, String>> {
    let v = &moments.variance;
    let dim = v.structure().block_dim(v.dim())?;
    let shape = match v.structure() {
        Structure::Full => vec![dim, dim],
        _ => vec![v.dim() / dim, dim, dim],
    };
    Some(Array::real(shape, v.data().to_vec()))
}

/// The variables whose components have names, which are columns of data, with these names.
pub fn names_of(file: &ModelFile, tree: &Tree) -> Vec<(String, Vec<String>)> {
    let variables = tree.variables().iter();
    let named = variables.filter_map(|v| {
        let names = file.component_names(&v.name)?;
        (names.len() == v.spec.len()).then(|| (v.name.clone(), names))
    });
    named.collect()
}

fn csv(file: &ModelFile, run: &Inference) -> Result<Vec<u8>, Failure> {
    let named = names_of(file, &run.posterior);
    let mut text = String::from("variable,index,mean,variance,std,belief,inclusion");
    text += if named.is_empty() {
        "\n"
    } else {
        ",component\n"
    };
    for variable in run.posterior.variables() {
        let moments = run.report.marginal(&variable.name)?;
        let v = &moments.variance;
        let belief = v.structure().to_string();
        let average = v.mean_diagonal();
        let inclusion = run.inclusion(&variable.name)?;
        let parts = (moments.mean.len() / variable.spec.count().max(1)).max(1);
        let names = named.iter().find(|(v, _)| *v == variable.name);
        let mut own = (v.structure() != Structure::Isotropic).then(|| v.diagonal());
        for (i, mean) in moments.mean.iter().enumerate() {
            let variance = own.as_mut().and_then(Iterator::next).unwrap_or(average);
            let row = Row::new()
                .with("variable", variable.name.as_str())
                .with("index", i)
                .with("mean", *mean)
                .with("variance", variance)
                .with("std", variance.sqrt())
                .with("belief", belief.as_str());
            let row = match &inclusion {
                Some(p) => row.with("inclusion", p[i / parts]),
                None => row.with("inclusion", Value::Missing),
            };
            let row = match names {
                Some((_, names)) => row.with("component", names[i].as_str()),
                None if named.is_empty() => row,
                None => row.with("component", Value::Missing),
            };
            let cells: Vec<String> = row.iter().map(|(_, value)| value.to_csv()).collect();
            text += &(cells.join(",") + "\n");
        }
    }
    Ok(text.into_bytes())
}
