//! The arguments of a factor: from a setting, from the file, or the defaults.

use treeamp::catalog::{Argument, Parameter, ParameterKind};

use super::argument::Value;
use super::build::Setting;
use super::file::{Reader, path};
use super::matrix::{ENSEMBLES, MatrixSource, Table};
use super::nearest::unknown;
use super::node::{Content, Entry, Node};
use super::{FactorEntry, ModelFile, SpecError};

impl ModelFile {
    /// What is said of the parameters of a factor, by the setting or by the file; the others have their defaults.
    pub(super) fn values(
        &self,
        entry: &FactorEntry,
        setting: &Setting,
    ) -> Result<Vec<(&'static Parameter, Value)>, SpecError> {
        let mut values = Vec::new();
        for parameter in entry.module.parameters {
            let given = entry.arguments.iter().find(|e| e.key == parameter.name);
            let own = setting.get(&path(entry.label(), parameter.name));
            let line = given.map_or(entry.line, |e| e.line);
            let key = path(&path("factor", entry.label()), parameter.name);
            let value = match (own, given) {
                (Some(x), _) => self.number_as(x, parameter, line, &key)?,
                (None, Some(e)) => self.argument(e, parameter, entry, setting)?,
                (None, None) if parameter.default.is_some() => continue,
                (None, None) => {
                    let reason = format!("expected {}, got nothing", wanted(parameter.kind));
                    return Err(self.error(entry.line, &key, reason));
                }
            };
            if let Some(reason) = too_large(parameter.name, &value) {
                return Err(self.error(line, &key, reason));
            }
            values.push((parameter, value));
        }
        Ok(values)
    }

    /// A number of the setting in place of a parameter.
    fn number_as(
        &self,
        x: f64,
        parameter: &Parameter,
        line: usize,
        key: &str,
    ) -> Result<Value, SpecError> {
        match parameter.kind {
            ParameterKind::Number => Some(Value::Plain(Argument::Number(x))),
            ParameterKind::Numbers => Some(Value::Plain(Argument::Numbers(vec![x]))),
            ParameterKind::Count => whole(x).map(|n| Value::Plain(Argument::Count(n))),
            ParameterKind::Axis => index(x).map(|n| Value::Plain(Argument::Count(n))),
            ParameterKind::Size => whole(x).map(|n| Value::Size(vec![n])),
            ParameterKind::Shape => whole(x).map(|n| Value::Plain(Argument::Shape(vec![n]))),
            ParameterKind::Choice(_)
            | ParameterKind::Matrix
            | ParameterKind::Data
            | ParameterKind::Mask => None,
        }
        .ok_or_else(|| {
            let reason = format!("expected {}, got {x}", wanted(parameter.kind));
            self.error(line, key, reason)
        })
    }

    /// A value of the file; a text stands for a parameter of that name.
    fn argument(
        &self,
        entry: &Entry,
        parameter: &Parameter,
        factor: &FactorEntry,
        setting: &Setting,
    ) -> Result<Value, SpecError> {
        let key = path(&path("factor", factor.label()), &entry.key);
        let refuse = |node: &Node| {
            let expected = wanted(parameter.kind);
            let mut reason = format!("expected {expected}, got {}", node.describe());
            // a text that names a number: say which
            if let Ok(Some(x)) = self.number(node, &key, setting)
                && let Content::Text(name) = &node.content
            {
                // all digits of a large number say less than its exponent
                let x = if x.abs() < 1e15 {
                    x.to_string()
                } else {
                    format!("{x:e}")
                };
                reason = format!("expected {expected}, got `{name}` = {x}");
            }
            self.error(node.line, &key, reason)
        };
        let number = |node: &Node| {
            self.number(node, &key, setting)?
                .ok_or_else(|| refuse(node))
        };
        let node = &entry.node;
        let sizes = || {
            let size = |node: &Node| whole(number(node)?).ok_or_else(|| refuse(node));
            match &node.content {
                Content::List(list) => list.iter().map(size).collect::<Result<Vec<_>, _>>(),
                _ => Ok(vec![size(node)?]),
            }
        };
        Ok(Value::Plain(match (parameter.kind, &node.content) {
            (ParameterKind::Number, _) => Argument::Number(number(node)?),
            (ParameterKind::Count, _) => {
                Argument::Count(whole(number(node)?).ok_or_else(|| refuse(node))?)
            }
            (ParameterKind::Axis, _) => {
                Argument::Count(index(number(node)?).ok_or_else(|| refuse(node))?)
            }
            (ParameterKind::Size, _) => return Ok(Value::Size(sizes()?)),
            (ParameterKind::Shape, _) => Argument::Shape(sizes()?),
            (ParameterKind::Numbers, Content::List(list)) => {
                Argument::Numbers(list.iter().map(number).collect::<Result<_, _>>()?)
            }
            (ParameterKind::Numbers, Content::Text(file)) if self.is_file(file, setting) => {
                return Ok(Value::File(file.clone()));
            }
            (ParameterKind::Numbers, _) => Argument::Numbers(vec![number(node)?]),
            (ParameterKind::Choice(words), Content::Text(word)) => {
                if !words.contains(&word.as_str()) {
                    return Err(self.error(node.line, &key, unknown("choice", word, words)));
                }
                Argument::Word(word.clone())
            }
            (ParameterKind::Matrix, _) => {
                return Ok(Value::Matrix(self.matrix(node, factor, &key, setting)?));
            }
            (ParameterKind::Data | ParameterKind::Mask, Content::Text(file)) => {
                return Ok(Value::File(file.clone()));
            }
            (ParameterKind::Choice(_) | ParameterKind::Data | ParameterKind::Mask, _) => {
                return Err(refuse(node));
            }
        }))
    }

    /// A text that names no parameter, and has the dot of a file's ending.
    fn is_file(&self, text: &str, setting: &Setting) -> bool {
        let named = setting.get(text).is_some() || self.parameters.iter().any(|(n, _)| n == text);
        !named && text.contains('.')
    }

    /// A number, or the parameter that a text names.
    fn number(&self, node: &Node, key: &str, setting: &Setting) -> Result<Option<f64>, SpecError> {
        let Content::Text(name) = &node.content else {
            return Ok(node.number());
        };
        if let Some(x) = setting.get(name) {
            return Ok(Some(x));
        }
        let found = self.parameters.iter().find(|(n, _)| n == name);
        let found = found.map(|(_, x)| Some(*x));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.parameters.iter().map(|(n, _)| n.as_str()).collect();
            self.error(node.line, key, unknown("parameter", name, &names))
        })
    }

    fn matrix(
        &self,
        node: &Node,
        factor: &FactorEntry,
        key: &str,
        setting: &Setting,
    ) -> Result<MatrixSource, SpecError> {
        let entries = match &node.content {
            Content::Text(file) => return Ok(MatrixSource::File(Table::plain(file))),
            Content::Table(entries) => entries,
            _ => {
                let reason = format!(
                    "expected a data file or {{ ensemble = ..., alpha = ... }}, got {}",
                    node.describe()
                );
                return Err(self.error(node.line, key, reason));
            }
        };
        if entries.iter().any(|e| e.key == "file") {
            let table = Reader::new(&self.name).data_table(entries, key)?;
            return Ok(MatrixSource::File(table));
        }
        let mut source = (None, setting.get(&path(factor.label(), "alpha")), None);
        for e in entries {
            let key = path(key, &e.key);
            let number = || -> Result<f64, SpecError> {
                let bad = || {
                    self.error(
                        e.line,
                        &key,
                        format!("expected a number, got {}", e.node.describe()),
                    )
                };
                self.number(&e.node, &key, setting)?.ok_or_else(bad)
            };
            match e.key.as_str() {
                "ensemble" => {
                    let Content::Text(name) = &e.node.content else {
                        let got = e.node.describe();
                        let reason = format!("expected the name of an ensemble, got {got}");
                        return Err(self.error(e.line, &key, reason));
                    };
                    if !ENSEMBLES.contains(&name.as_str()) {
                        let reason = unknown("ensemble", name, &ENSEMBLES);
                        return Err(self.error(e.line, &key, reason));
                    }
                    source.0 = Some(name.clone());
                }
                "alpha" => source.1 = Some(source.1.map_or_else(number, Ok)?),
                "seed" => {
                    let Content::Integer(seed) = e.node.content else {
                        let reason = format!("expected an integer, got {}", e.node.describe());
                        return Err(self.error(e.line, &key, reason));
                    };
                    source.2 = Some(seed.cast_unsigned());
                }
                other => {
                    let known = ["ensemble", "alpha", "seed"];
                    return Err(self.error(e.line, &key, unknown("key", other, &known)));
                }
            }
        }
        match source {
            (Some(kind), Some(alpha), seed) => Ok(MatrixSource::Ensemble { kind, alpha, seed }),
            (None, _, _) => Err(self.error(
                node.line,
                &path(key, "ensemble"),
                "expected the name of an ensemble, got nothing",
            )),
            (_, None, _) => Err(self.error(
                node.line,
                &path(key, "alpha"),
                "expected rows per column, got nothing",
            )),
        }
    }
}

/// What a parameter must be, for a message.
fn wanted(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Count => "a positive integer".to_owned(),
        ParameterKind::Size | ParameterKind::Shape => {
            "a positive integer or a list of them".to_owned()
        }
        other => format!("a {other}"),
    }
}

/// More entries than this, 8 GB of them, are a mistake in the file.
pub(super) const LARGEST_ARRAY: f64 = 1e9;
/// More wires of one factor than this are a mistake in the file.
const LARGEST_COUNT: usize = 10_000;

/// What to say of a size or a count that no memory holds.
fn too_large(name: &str, value: &Value) -> Option<String> {
    let entries =
        |n: f64| (n > LARGEST_ARRAY).then(|| format!("expected at most 1e9 entries, got {n:e}"));
    match value {
        // the pieces of a split stand side by side
        Value::Plain(Argument::Shape(sizes)) if name == "sizes" => {
            entries(sizes.iter().map(|n| *n as f64).sum())
        }
        Value::Plain(Argument::Shape(shape)) | Value::Size(shape) => {
            entries(shape.iter().map(|n| *n as f64).product())
        }
        Value::Plain(Argument::Count(n)) if *n > LARGEST_COUNT => {
            Some(format!("expected at most {LARGEST_COUNT}, got {n}"))
        }
        _ => None,
    }
}

/// A number that counts from zero.
fn index(x: f64) -> Option<usize> {
    whole(x + 1.0).map(|n| n - 1)
}

/// A number that counts something.
fn whole(x: f64) -> Option<usize> {
    /// Beyond this `f64` does not count any more.
    const LARGEST: f64 = 9e15;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked"
    )]
    ((1.0..=LARGEST).contains(&x) && x.fract() == 0.0).then_some(x as usize)
}
