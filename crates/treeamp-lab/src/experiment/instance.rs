//! One instance of a model: a truth drawn from it, or data, and the posterior.

use treeamp::ModelError;
use treeamp::algorithms::state_evolution::check_second_moments;
use treeamp::belief::{Element, SignalSpec};
use treeamp::model::{Direction, Sample, Tree};

use super::ExperimentError;
use crate::data::Array;
use crate::spec::{FactorEntry, ModelFile, Scale, Setting};

/// A model with its observations.
#[derive(Debug, Clone)]
pub struct Instance {
    /// What the observations were drawn from; `None` for data.
    pub truth: Option<Sample>,
    /// Why they cannot be a teacher of theory: a law that they were drawn from has no second moment.
    pub no_theory: Option<String>,
    /// The student's model given the observations.
    pub posterior: Tree,
    /// What was observed.
    pub observed: Vec<Observed>,
}

/// The values of an observed variable.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The variable.
    pub variable: String,
    /// Its shape and kind.
    pub spec: SignalSpec,
    /// Its values, row-major; complex ones as interleaved pairs.
    pub values: Vec<f64>,
    /// The variable whose components it shows one by one, through noise or an activation.
    pub seen_through: Option<String>,
    /// Which components of the image it shows, where a mask hides the others.
    pub mask: Option<Vec<bool>>,
}

/// The variable that a channel on components shows as `name`: before and after it was observed.
fn seen_through(name: &str, before: &Tree, after: &Tree) -> Option<String> {
    let output = &before.variables()[before.variable(name).ok()?];
    let [edge] = output.edges[..] else {
        return None;
    };
    let channel = &before.factors()[before.edges()[edge].factor];
    let [input] = channel.edges[..channel.inputs] else {
        return None;
    };
    let input = &before.variables()[before.edges()[input].variable].name;
    let index = after.variable(input).ok()?;
    let mut likelihoods = after.variables()[index].edges.iter().map(|e| {
        let edge = &after.edges()[*e];
        &after.factors()[edge.factor]
    });
    let by_components =
        likelihoods.any(|f| f.inputs == 1 && f.edges.len() == 1 && f.factor.scalar().is_some());
    by_components.then(|| input.clone())
}

/// What is observed: what the file says, or else every variable that nothing follows.
fn observed(file: &ModelFile, tree: &Tree) -> Vec<String> {
    if !file.observations.is_empty() {
        let names = file.observations.iter().map(|o| o.variable.clone());
        return names.collect();
    }
    let leaf = |edges: &[usize]| {
        let all = edges.iter().map(|e| tree.edges()[*e]);
        edges.len() == 1
            && all
                .clone()
                .all(|e| e.direction == Direction::Forward && tree.factors()[e.factor].inputs > 0)
    };
    let leaves = tree.variables().iter().filter(|v| leaf(&v.edges));
    leaves.map(|v| v.name.clone()).collect()
}

/// Complex data of a real variable would pass for twice as many real ones, and an image on its side for another one.
/// Axes of length one do not count, and a plain list of all values, row by row, fits any shape.
fn fits(array: &Array, name: &str, tree: &Tree) -> Result<(), String> {
    let Some(variable) = tree.variables().iter().find(|v| v.name == name) else {
        return Ok(());
    };
    if array.complex && variable.spec.element == Element::Real {
        return Err("expected real values, got complex ones".to_owned());
    }
    let long = |shape: &[usize]| -> Vec<usize> {
        let axes = shape.iter().copied();
        axes.filter(|n| *n != 1).collect()
    };
    let (wanted, got) = (&variable.spec.shape, &array.shape);
    // complex values may also stand as real and imaginary part, on an axis more
    let parts = !array.complex && variable.spec.element == Element::Complex;
    if !parts && long(got).len() > 1 && long(got) != long(wanted) {
        return Err(format!(
            "expected an array of shape {wanted:?}, got one of shape {got:?}"
        ));
    }
    Ok(())
}

/// The instance of a seed: everything random in it follows from that.
///
/// # Errors
/// A file that is wrong, data that cannot be read or do not fit, a model that cannot be sampled.
pub fn instance(
    file: &ModelFile,
    setting: &Setting,
    seed: u64,
) -> Result<Instance, ExperimentError> {
    at_scale(file, setting, Scale::Finite { seed }, seed)
}

/// An instance of the same shapes and kinds of values, with stand-ins in the places of random matrices: it is there at once, at any
/// size, for checks and estimates.
///
/// # Errors
/// As [`instance`].
pub fn outline(file: &ModelFile, setting: &Setting) -> Result<Instance, ExperimentError> {
    at_scale(file, setting, Scale::Outline, 0)
}

fn at_scale(
    file: &ModelFile,
    setting: &Setting,
    scale: Scale,
    seed: u64,
) -> Result<Instance, ExperimentError> {
    let assumed = file.student_setting(setting);
    let mut posterior = file.of_student().tree(&assumed, scale)?;
    let names = observed(file, &posterior);
    for name in &names {
        let known = posterior.variable(name);
        known.map_err(|e| file.observation_error(name, &e.to_string()))?;
    }
    let from_data = |name: &str| {
        file.observations
            .iter()
            .any(|o| o.variable == name && o.data.is_some())
    };
    let (truth, no_theory) = if names.iter().all(|name| from_data(name)) {
        (None, None)
    } else {
        let teacher = file.tree(setting, scale)?;
        let refused = check_second_moments(&teacher).err();
        (Some(teacher.sample(seed)?), refused.map(|e| e.to_string()))
    };
    let mut observed = Vec::new();
    for name in names {
        let drawn = truth.as_ref().filter(|_| !from_data(&name));
        let values = match (file.observed_values(&name)?, drawn) {
            (Some(array), None) => {
                fits(&array, &name, &posterior)
                    .map_err(|reason| file.observation_error(&name, &reason))?;
                array.values
            }
            (_, Some(sample)) => sample.get(&name)?.to_vec(),
            (None, None) => continue,
        };
        let refuse = |e: ModelError| {
            let reason = match e {
                ModelError::Observation { reason, .. } => reason,
                other => other.to_string(),
            };
            file.observation_error(&name, &reason)
        };
        let index = posterior.variable(&name).map_err(refuse)?;
        let spec = posterior.variables()[index].spec.clone();
        let conditioned = posterior.condition(&name, &values).map_err(refuse)?;
        let seen_through = seen_through(&name, &posterior, &conditioned);
        let mask = seen_through
            .as_ref()
            .and_then(|input| file.mask_before(input));
        observed.push(Observed {
            variable: name,
            spec,
            values,
            seen_through,
            mask,
        });
        posterior = conditioned;
    }
    Ok(Instance {
        truth,
        no_theory,
        posterior,
        observed,
    })
}

/// The model of the theory, with its observations expected: in the limit of large sizes, or at its own size when it
/// has an operator that exists at a size only, or a product of low rank, whose entries and their number have no limit of their own.
///
/// # Errors
/// A file that is wrong, a module without a limit, beliefs without a theory.
pub fn theory(file: &ModelFile, setting: &Setting) -> Result<Tree, ExperimentError> {
    let low_rank = |f: &FactorEntry| f.module.name.starts_with("low_rank");
    let own_size = file.factors.iter().any(low_rank);
    theory_at(file, setting, own_size)
}

/// In the limit where there is one, unless the model's own size is asked for.
fn theory_at(file: &ModelFile, setting: &Setting, own_size: bool) -> Result<Tree, ExperimentError> {
    if let Some(error) = file.without_theory() {
        return Err(error.into());
    }
    // a structured operator has a size, and then everything has
    let limit = file.factors.iter().all(|f| f.module.limit);
    let scale = if limit && !own_size {
        Scale::Limit
    } else {
        Scale::Finite { seed: 0 }
    };
    let mut tree = file.tree(setting, scale)?;
    for name in observed(file, &tree) {
        let expected = tree.expect(&name);
        tree = expected.map_err(|e| file.observation_error(&name, &e.to_string()))?;
    }
    Ok(tree)
}

/// The model of the theory for a question that only Bayes-optimal inference has an answer to: `what` is asked for. It is that of large sizes, as
/// transitions are, wherever there is a limit.
///
/// # Errors
/// As [`theory`], and a file with a `[student]`, whose theory has no such answer.
pub fn bayes_optimal_theory(
    file: &ModelFile,
    setting: &Setting,
    what: &str,
) -> Result<Tree, ExperimentError> {
    if file.is_mismatched() {
        let reason = format!(
            "{what} is that of Bayes-optimal inference, and a mismatched student has none: `treeamp predict` and `treeamp sweep --by se` \
             have its error; a file without [student] has the Bayes-optimal answer"
        );
        return Err(file.student_error(reason).into());
    }
    theory_at(file, setting, false)
}

/// The model of a mismatched student in the limit; `None` when it is the teacher's.
///
/// # Errors
/// A file that is wrong, a module without a limit.
pub fn theory_student(
    file: &ModelFile,
    setting: &Setting,
) -> Result<Option<Tree>, ExperimentError> {
    if !file.is_mismatched() {
        return Ok(None);
    }
    theory(&file.of_student(), &file.student_setting(setting)).map(Some)
}
