//! From a model file and a setting of its parameters to a tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use treeamp::belief::{SignalSpec, Structure};
use treeamp::catalog::ParameterKind;
use treeamp::error::ModelError;
use treeamp::factor::Factor;
use treeamp::model::{Tree, TreeBuilder};

use super::argument::{Place, locate};
use super::error::MakeError;
use super::file::path;
use super::nearest::unknown;
use super::node::{Content, Entry};
use super::resolve::LARGEST_ARRAY;
use super::{FactorEntry, ModelFile, SpecError};
use crate::data;

/// How large a model is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// With its sizes; ensembles without a seed of their own are drawn from this one.
    Finite {
        /// The seed.
        seed: u64,
    },
    /// With its sizes, and stand-ins in the places of random matrices: it can be checked, sampled and observed at once, and not be run.
    Outline,
    /// In the limit of large sizes, for theory: only ratios matter.
    Limit,
}

/// Values that replace those of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Setting {
    values: BTreeMap<String, f64>,
}

impl Setting {
    /// The file's own values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With another value of a parameter (`rho`) or of a factor's (`linear.alpha`).
    #[must_use]
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.values.insert(name.to_owned(), value);
        self
    }

    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values.iter().map(|(name, x)| (name.as_str(), *x))
    }

    /// A value, if it is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }
}

impl ModelFile {
    /// The tree, with nothing observed.
    ///
    /// # Errors
    /// [`SpecError`] with file, line and key.
    pub fn tree(&self, setting: &Setting, scale: Scale) -> Result<Tree, SpecError> {
        self.check_setting(setting)?;
        let variables = self.variables();
        let stray =
            |(name, _, _): &&(String, Structure, usize)| !variables.contains(&name.as_str());
        if let Some((name, _, line)) = self.beliefs.iter().find(stray) {
            let reason = unknown("variable", name, &variables);
            return Err(self.error(*line, &path("variables", name), reason));
        }
        let mut builder = TreeBuilder::new();
        for name in variables {
            let belief = self.beliefs.iter().find(|(n, _, _)| n == name);
            builder.variable_with(name, belief.map_or(Structure::Isotropic, |(_, s, _)| *s));
        }
        for (entry, factor) in self.factors.iter().zip(self.make(setting, scale)?) {
            let Some(factor) = factor else {
                return Err(self.dangling(entry));
            };
            self.check_wires(entry, factor.as_ref())?;
            let inputs: Vec<&str> = entry.inputs.iter().map(String::as_str).collect();
            let outputs: Vec<&str> = entry.outputs.iter().map(String::as_str).collect();
            builder.shared_factor(entry.name.as_deref(), factor, &inputs, &outputs);
        }
        let tree = builder.build();
        let tree = tree.map_err(|e| self.error(0, "", e.to_string()))?;
        self.check_beliefs(&tree)?;
        Ok(tree)
    }

    /// A factor has as many inputs and outputs as its module takes.
    fn check_wires(&self, entry: &FactorEntry, factor: &dyn Factor) -> Result<(), SpecError> {
        let arity = factor.arity();
        let sides = [
            ("input", arity.inputs, entry.inputs.len()),
            ("output", arity.outputs, entry.outputs.len()),
        ];
        match sides.into_iter().find(|(_, wanted, got)| wanted != got) {
            None => Ok(()),
            Some((side, wanted, got)) => {
                let s = if wanted == 1 { "" } else { "s" };
                let key = path(&path("factor", entry.label()), &format!("{side}{s}"));
                let reason = format!("expected {wanted} {side}{s}, got {got}");
                Err(self.error(entry.line, &key, reason))
            }
        }
    }

    /// An input that no factor produces, or that needs itself.
    fn dangling(&self, entry: &FactorEntry) -> SpecError {
        let produced = |v: &&String| self.factors.iter().any(|f| f.outputs.contains(v));
        let reason = match entry.inputs.iter().find(|v| !produced(v)) {
            Some(v) => format!(
                "its input `{v}` is never produced: expected a factor with `{v}` as its output, such as a prior"
            ),
            None => format!(
                "its input `{}` is never produced: expected a prior at the start of its chain",
                entry.inputs.join("`, `")
            ),
        };
        self.error(entry.line, &path("factor", entry.label()), reason)
    }

    /// Every value that is set has one place in the file.
    fn check_setting(&self, setting: &Setting) -> Result<(), SpecError> {
        let known = self.adjustable();
        if let Some(name) = setting.values.keys().find(|n| !known.contains(n)) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(self.error(0, name, unknown("parameter", name, &known)));
        }
        let named = |name: &&String| known.iter().filter(|k| k == name).count();
        if let Some(name) = setting.values.keys().find(|n| named(n) > 1) {
            let label = name.split('.').next().unwrap_or(name);
            let reason = format!(
                "{} factors are called `{label}`: give each a `name` of its own",
                named(&name)
            );
            return Err(self.error(0, name, reason));
        }
        Ok(())
    }

    /// Why the model has no state evolution, which is about beliefs that are isotropic, or one matrix for all rows; `None` where it may have one.
    #[must_use]
    pub fn without_theory(&self) -> Option<SpecError> {
        let of_run = self
            .belief_of_run
            .filter(|s| *s != Structure::Isotropic)
            .map(|structure| self.error(0, "belief", no_theory(structure)));
        if of_run.is_some() {
            return of_run;
        }
        let own = |s: Structure| matches!(s, Structure::Diagonal | Structure::Full);
        let (name, structure, line) = self.beliefs.iter().find(|(_, s, _)| own(*s))?;
        let key = path(&path("variables", name), "belief");
        Some(self.error(*line, &key, no_theory(*structure)))
    }

    /// A full belief is a square matrix of its own.
    fn check_beliefs(&self, tree: &Tree) -> Result<(), SpecError> {
        for (name, structure, line) in &self.beliefs {
            let variable = tree.variables().iter().find(|v| v.name == *name);
            let len = variable.map_or(0, |v| v.spec.len());
            if *structure == Structure::Full && (len as f64).powi(2) > LARGEST_ARRAY {
                let key = path(&path("variables", name), "belief");
                let bytes = 8.0 * (len as f64).powi(2);
                let reason = format!(
                    "expected at most 31622 components for `full`, got {len}: one matrix would take {bytes} bytes"
                );
                return Err(self.error(*line, &key, reason));
            }
        }
        Ok(())
    }

    /// The factors, each made when the sizes of its inputs are known; `None` where they never are.
    fn make(
        &self,
        setting: &Setting,
        scale: Scale,
    ) -> Result<Vec<Option<Arc<dyn Factor>>>, SpecError> {
        let folder = self.folder();
        let seed = match scale {
            Scale::Finite { seed } => seed,
            Scale::Outline | Scale::Limit => 0,
        };
        let mut specs: BTreeMap<&str, SignalSpec> = BTreeMap::new();
        let mut made = vec![None; self.factors.len()];
        while let Some(k) = (0..made.len()).find(|k| {
            let mut inputs = self.factors[*k].inputs.iter();
            made[*k].is_none() && inputs.all(|v| specs.contains_key(v.as_str()))
        }) {
            let entry = &self.factors[k];
            let inputs = entry.inputs.iter().filter_map(|v| specs.get(v.as_str()));
            let inputs: Vec<SignalSpec> = inputs.cloned().collect();
            let values = self.values(entry, setting)?;
            let place = Place {
                inputs: &inputs,
                scale,
                folder: &folder,
                // two ensembles of one model are independent
                seed: seed.wrapping_add(k as u64),
            };
            let arguments = place.arguments(values);
            let factor = arguments.and_then(|a| Ok(entry.module.make(&a)?));
            let factor = factor.map_err(|e| self.blame(entry, e))?;
            // where the wiring is wrong, the tree says so later
            let fits = factor.arity().inputs == inputs.len();
            let outputs = fits.then(|| factor.output_specs(&inputs).ok()).flatten();
            let outputs = outputs.unwrap_or_default();
            let unknown = || SignalSpec::real([1]);
            for (i, name) in entry.outputs.iter().enumerate() {
                let spec = outputs.get(i).cloned().unwrap_or_else(unknown);
                let belief = self.beliefs.iter().find(|(n, _, _)| n == name);
                let structure = belief.map_or(Structure::Isotropic, |(_, s, _)| *s);
                specs
                    .entry(name)
                    .or_insert(SignalSpec { structure, ..spec });
            }
            made[k] = Some(factor);
        }
        Ok(made)
    }

    /// The key of a factor that an error is about, with its line.
    fn blame(&self, entry: &FactorEntry, error: MakeError) -> SpecError {
        let at = |key: &str, reason: String| {
            let given = entry.arguments.iter().find(|e| e.key == key);
            let line = given.map_or(entry.line, |e| e.line);
            let key = path(&path("factor", entry.label()), key);
            self.error(line, &key, reason)
        };
        let own = entry.module.parameters;
        match error {
            MakeError::Data { key, source } => SpecError {
                unreadable: matches!(source, data::DataError::File { .. }),
                ..at(key, source.to_string())
            },
            MakeError::Model(ModelError::Parameter {
                name,
                expected,
                got,
                ..
            }) if own.iter().any(|p| names(name, p.name)) => {
                // the library calls the variance of noise by a longer name than the file
                let exact = own.iter().find(|p| p.name == name);
                let key = exact.or_else(|| own.iter().find(|p| names(name, p.name)));
                let key = key.map_or(name, |p| p.name);
                at(key, format!("`{key}` must be {expected}, got {got}"))
            }
            MakeError::Model(error) => {
                if let Some(matrix) = own.iter().find(|p| p.kind == ParameterKind::Matrix) {
                    let reason = match error {
                        ModelError::Parameter {
                            name,
                            expected,
                            got,
                            ..
                        } => format!("`{name}` must be {expected}, got {got}"),
                        other => other.to_string(),
                    };
                    return at(matrix.name, reason);
                }
                let key = path("factor", entry.label());
                self.error(entry.line, &key, error.to_string())
            }
        }
    }

    /// An error of an observed variable: its line and key, and its data file.
    pub(crate) fn observation_error(&self, variable: &str, reason: &str) -> SpecError {
        let found = self.observations.iter().find(|o| o.variable == variable);
        let file = found.and_then(|o| o.data.as_deref());
        let reason = match file {
            Some(file) => format!("{file}: {reason}"),
            None => reason.to_owned(),
        };
        let line = found.map_or(0, |o| o.line);
        self.error(line, &path("observe", variable), reason)
    }

    /// The data files that the model names, each once, with a [`digest`](data::digest) of the content; `None` for one
    /// that cannot be read.
    #[must_use]
    pub fn data_files(&self) -> BTreeMap<String, Option<String>> {
        let observed = self.observations.iter().filter_map(|o| o.data.clone());
        let factors = self.factors.iter().chain(&self.student_factors);
        let arguments = factors.flat_map(|f| {
            let of_file = |e: &&Entry| {
                let kind = f.module.parameter(&e.key).map(|p| p.kind);
                let files = [
                    ParameterKind::Matrix,
                    ParameterKind::Data,
                    ParameterKind::Mask,
                ];
                kind.is_some_and(|kind| files.contains(&kind))
            };
            f.arguments
                .iter()
                .filter(of_file)
                .filter_map(|e| match &e.node.content {
                    Content::Text(file) => Some(file.clone()),
                    Content::Table(own) => own.iter().find_map(|e| match &e.node.content {
                        Content::Text(file) if e.key == "file" => Some(file.clone()),
                        _ => None,
                    }),
                    _ => None,
                })
        });
        let folder = self.folder();
        let digest = |file: String| {
            let digest = data::digest(&locate(&folder, &file).to_string_lossy()).ok();
            (file, digest)
        };
        observed.chain(arguments).map(digest).collect()
    }

    /// The mask whose output this variable is.
    pub(crate) fn mask_before(&self, variable: &str) -> Option<Vec<bool>> {
        let makes = |f: &&FactorEntry| f.module.name == "mask" && f.outputs == [variable];
        let factor = self.factors.iter().find(makes)?;
        let of_mask = |e: &&Entry| {
            let parameter = factor.module.parameter(&e.key);
            parameter.is_some_and(|p| p.kind == ParameterKind::Mask)
        };
        let entry = factor.arguments.iter().find(of_mask)?;
        let Content::Text(file) = &entry.node.content else {
            return None;
        };
        let array = data::read(&locate(&self.folder(), file).to_string_lossy()).ok()?;
        Some(array.values.iter().map(|x| *x != 0.0).collect())
    }

    /// The names of the variables, in the order in which factors mention them.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self
            .factors
            .iter()
            .flat_map(|f| f.inputs.iter().chain(&f.outputs))
        {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The values of an observation that comes from a file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn observed_values(&self, variable: &str) -> Result<Option<data::Array>, SpecError> {
        let found = self.observations.iter().find(|o| o.variable == variable);
        let Some((file, line, standardise)) =
            found.and_then(|o| Some((o.data.as_ref()?, o.line, o.standardise)))
        else {
            return Ok(None);
        };
        let full = locate(&self.folder(), file);
        let array = data::read(&full.to_string_lossy()).map_err(|e| SpecError {
            unreadable: matches!(e, data::DataError::File { .. }),
            ..self.error(line, &path("observe", variable), e.to_string())
        })?;
        if !standardise {
            return Ok(Some(array));
        }
        let names = data::column_names(&full.to_string_lossy()).unwrap_or_default();
        let array = array.standardised(&names);
        let array = array.map_err(|e| self.observation_error(variable, &e))?;
        Ok(Some(array))
    }
}

fn no_theory(structure: Structure) -> String {
    format!(
        "there is no theory of {structure} beliefs: state evolution has one number for all components, in the limit of large sizes"
    )
}

/// The library's name of a parameter is the file's, or ends in it.
fn names(library: &str, file: &str) -> bool {
    let front = library.strip_suffix(file);
    front.is_some_and(|front| front.is_empty() || front.ends_with('_'))
}
