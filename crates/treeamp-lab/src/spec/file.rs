//! A model file, read and checked, but not built.

use std::path::{Path, PathBuf};

use treeamp::catalog::{Module, Parameter, ParameterKind, Preset, module};
use treeamp::engine::{Damping, Fallback};

use super::SpecError;
use super::matrix::Table;
use super::nearest::{unknown, unknown_module};
use super::node::{Content, Entry, Node, parse};
use crate::data;

/// A model file.
#[derive(Debug, Clone)]
pub struct ModelFile {
    /// The file, for messages.
    pub name: String,
    /// What the model is.
    pub title: String,
    /// More about it.
    pub description: String,
    /// Named numbers that factors refer to, in the order of the file.
    pub parameters: Vec<(String, f64)>,
    /// The factors, in the order of the file.
    pub factors: Vec<FactorEntry>,
    /// Variables with beliefs of their own: name, structure, line.
    pub(super) beliefs: Vec<(String, treeamp::belief::Structure, usize)>,
    /// The structure that a run gives to all beliefs, in place of those.
    pub(super) belief_of_run: Option<treeamp::belief::Structure>,
    /// What is observed, and where its values come from.
    pub observations: Vec<Observation>,
    /// The parameters of a mismatched student that differ from the teacher's.
    pub student: Vec<(String, f64)>,
    /// The factors that a mismatched student has in place of the teacher's.
    pub student_factors: Vec<FactorEntry>,
    /// The options of a run that are numbers: name and value.
    pub run: Vec<(String, f64)>,
    /// The damping of a run.
    pub damping: Option<Damping>,
    /// Whether its fallback may take over.
    pub fallback: Option<Fallback>,
    /// The text itself.
    pub text: String,
}

/// A factor as it is declared.
#[derive(Debug, Clone)]
pub struct FactorEntry {
    /// Its module.
    pub module: &'static Module,
    /// A name of its own.
    pub name: Option<String>,
    /// The variables it takes.
    pub inputs: Vec<String>,
    /// The variables it gives.
    pub outputs: Vec<String>,
    /// The line it starts on.
    pub line: usize,
    pub(super) arguments: Vec<Entry>,
}

/// A variable that is observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// The variable.
    pub variable: String,
    /// A data file, or `None` for values drawn from the model itself.
    pub data: Option<String>,
    /// The values get mean zero and variance one.
    pub standardise: bool,
    /// The line.
    pub line: usize,
}

impl FactorEntry {
    /// What it is called in `name.parameter`: its own name, or that of its module.
    #[must_use]
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(self.module.name)
    }
}

impl ModelFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`SpecError`] with file, line and key.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SpecError> {
        /// A model is text: more than this is another kind of file.
        const LARGEST: u64 = 1 << 24;
        let path = path.as_ref();
        let name = path.display().to_string();
        let unreadable = |reason: String| SpecError {
            file: name.clone(),
            line: 0,
            key: String::new(),
            reason,
            unreadable: true,
        };
        let bytes = data::read_at_most(path, LARGEST).map_err(|e| unreadable(e.to_string()))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| unreadable("expected a text, got bytes that are not UTF-8".to_owned()))?;
        Self::parse(&name, &text)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`SpecError`] with file, line and key.
    pub fn parse(name: &str, text: &str) -> Result<Self, SpecError> {
        let reader = Reader { name };
        let entries = parse(text).map_err(|(line, reason)| reader.error(line, "", reason))?;
        let mut file = Self {
            name: name.to_owned(),
            title: String::new(),
            description: String::new(),
            parameters: Vec::new(),
            factors: Vec::new(),
            beliefs: Vec::new(),
            belief_of_run: None,
            observations: Vec::new(),
            student: Vec::new(),
            student_factors: Vec::new(),
            run: Vec::new(),
            damping: None,
            fallback: None,
            text: text.to_owned(),
        };
        for entry in &entries {
            match entry.key.as_str() {
                "title" => file.title = reader.text(entry, "")?,
                "description" => file.description = reader.text(entry, "")?,
                "parameters" => file.parameters = reader.numbers(entry)?,
                "student" => reader.student(entry, &mut file)?,
                "run" => reader.options(entry, &mut file)?,
                "variables" => file.beliefs = reader.beliefs(entry)?,
                "observe" => file.observations = reader.observations(entry)?,
                "factor" => file.factors = reader.factors(entry)?,
                other => {
                    let known = [
                        "title",
                        "description",
                        "parameters",
                        "variables",
                        "factor",
                        "observe",
                        "student",
                        "run",
                    ];
                    return Err(reader.error(entry.line, other, unknown("key", other, &known)));
                }
            }
        }
        if file.factors.is_empty() {
            let reason = "expected at least one [[factor]], got none".to_owned();
            return Err(reader.error(0, "", reason));
        }
        file.check_student(&entries)?;
        Ok(file)
    }

    /// What the file declares, as JSON: its tables without comments, title and description, on which no result depends.
    #[must_use]
    pub fn content(&self) -> serde_json::Value {
        // read before, so that it can be read again
        let entries = parse(&self.text).unwrap_or_default().into_iter();
        let entries = entries.filter(|e| e.key != "title" && e.key != "description");
        let pairs = entries.map(|e| (e.key.clone(), e.node.to_json()));
        serde_json::Value::Object(pairs.collect())
    }

    /// The folder that data files are relative to.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        let parent = Path::new(&self.name).parent();
        parent.map(Path::to_owned).unwrap_or_default()
    }

    /// An option of `[run]` that is a number.
    #[must_use]
    pub fn run_option(&self, name: &str) -> Option<f64> {
        self.run.iter().find(|(n, _)| n == name).map(|(_, x)| *x)
    }

    /// It gives no variable a belief that is not isotropic.
    #[must_use]
    pub fn has_isotropic_beliefs(&self) -> bool {
        let isotropic = treeamp::belief::Structure::Isotropic;
        self.beliefs.iter().all(|(_, s, _)| *s == isotropic)
    }

    /// The file as it stands when a run gives all beliefs this structure: what theory there is follows from that, not from `[variables]`.
    #[must_use]
    pub fn with_beliefs(mut self, structure: Option<treeamp::belief::Structure>) -> Self {
        if let Some(structure) = structure {
            self.belief_of_run = Some(structure);
            self.beliefs.clear();
        }
        self
    }

    pub(super) fn error(&self, line: usize, key: &str, reason: impl Into<String>) -> SpecError {
        Reader { name: &self.name }.error(line, key, reason.into())
    }

    /// The names that a grid can change: parameters, and numbers of factors as `label.key`.
    #[must_use]
    pub fn adjustable(&self) -> Vec<String> {
        let own = self.parameters.iter().map(|(name, _)| name.clone());
        let factors = self.factors.iter().chain(&self.student_factors);
        let factors = factors.flat_map(|f| {
            let numeric = |p: &&Parameter| match p.kind {
                ParameterKind::Number
                | ParameterKind::Count
                | ParameterKind::Axis
                | ParameterKind::Size
                | ParameterKind::Shape => true,
                // one number for all
                ParameterKind::Numbers => matches!(p.default, Some(Preset::Numbers([_]))),
                _ => false,
            };
            let keys = f.module.parameters.iter().filter(numeric);
            let mut keys: Vec<String> = keys.map(|p| format!("{}.{}", f.label(), p.name)).collect();
            if f.module
                .parameters
                .iter()
                .any(|p| p.kind == ParameterKind::Matrix)
            {
                keys.push(format!("{}.alpha", f.label()));
            }
            keys
        });
        own.chain(factors).collect()
    }
}

/// Reads entries, with errors that name the file.
pub(super) struct Reader<'a> {
    name: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(name: &'a str) -> Self {
        Self { name }
    }
}

impl Reader<'_> {
    pub(super) fn error(&self, line: usize, key: &str, reason: String) -> SpecError {
        SpecError {
            file: self.name.to_owned(),
            line,
            key: key.chars().take(64).collect(),
            reason,
            unreadable: false,
        }
    }

    pub(super) fn expected(&self, node: &Node, key: &str, what: &str) -> SpecError {
        self.error(
            node.line,
            key,
            format!("expected {what}, got {}", node.describe()),
        )
    }

    fn text(&self, entry: &Entry, prefix: &str) -> Result<String, SpecError> {
        match &entry.node.content {
            Content::Text(text) => Ok(text.clone()),
            _ => Err(self.expected(&entry.node, &path(prefix, &entry.key), "a text")),
        }
    }

    pub(super) fn table<'e>(
        &self,
        entry: &'e Entry,
        prefix: &str,
    ) -> Result<&'e [Entry], SpecError> {
        match &entry.node.content {
            Content::Table(entries) => Ok(entries),
            _ => Err(self.expected(&entry.node, &path(prefix, &entry.key), "a table")),
        }
    }

    /// Every key is known.
    pub(super) fn known(
        &self,
        entries: &[Entry],
        prefix: &str,
        what: &str,
        known: &[&str],
    ) -> Result<(), SpecError> {
        match entries.iter().find(|e| !known.contains(&e.key.as_str())) {
            None => Ok(()),
            Some(e) => {
                let reason = unknown(what, &e.key, known);
                Err(self.error(e.line, &path(prefix, &e.key), reason))
            }
        }
    }

    fn numbers(&self, entry: &Entry) -> Result<Vec<(String, f64)>, SpecError> {
        let entries = self.table(entry, "")?.iter();
        entries.map(|e| self.number(&entry.key, e)).collect()
    }

    pub(super) fn number(&self, prefix: &str, e: &Entry) -> Result<(String, f64), SpecError> {
        let number = e.node.number().filter(|x| x.is_finite());
        let refuse = || self.expected(&e.node, &path(prefix, &e.key), "a finite number");
        Ok((e.key.clone(), number.ok_or_else(refuse)?))
    }

    fn beliefs(
        &self,
        entry: &Entry,
    ) -> Result<Vec<(String, treeamp::belief::Structure, usize)>, SpecError> {
        use treeamp::belief::Structure;
        let mut beliefs = Vec::new();
        for variable in self.table(entry, "")? {
            let prefix = path("variables", &variable.key);
            let entries = self.table(variable, "variables")?;
            self.known(entries, &prefix, "key", &["belief"])?;
            for e in entries {
                let text = self.text(e, &prefix)?;
                let structure: Structure = text.parse().map_err(|_| {
                    let known = ["isotropic", "diagonal", "full", "block(n)"];
                    let reason = unknown("belief", &text, &known);
                    self.error(e.line, &path(&prefix, &e.key), reason)
                })?;
                beliefs.push((variable.key.clone(), structure, variable.line));
            }
        }
        Ok(beliefs)
    }

    fn observations(&self, entry: &Entry) -> Result<Vec<Observation>, SpecError> {
        let one = |e: &Entry| {
            let source = match &e.node.content {
                Content::Table(entries) => {
                    let key = path("observe", &e.key);
                    self.known(entries, &key, "key", &["file", "standardise"])?;
                    self.data_table(entries, &key)?
                }
                _ => Table::plain(&self.text(e, "observe")?),
            };
            Ok(Observation {
                variable: e.key.clone(),
                data: (source.file != "sample").then_some(source.file),
                standardise: source.standardise,
                line: e.line,
            })
        };
        self.table(entry, "")?.iter().map(one).collect()
    }

    /// `{ file = "table.csv:-y", standardise = true, intercept = true }`.
    pub(super) fn data_table(&self, entries: &[Entry], key: &str) -> Result<Table, SpecError> {
        self.known(entries, key, "key", &["file", "standardise", "intercept"])?;
        let mut table = Table::plain("");
        for e in entries {
            let flag = || match e.node.content {
                Content::Flag(flag) => Ok(flag),
                _ => Err(self.expected(&e.node, &path(key, &e.key), "true or false")),
            };
            match e.key.as_str() {
                "standardise" => table.standardise = flag()?,
                "intercept" => table.intercept = flag()?,
                _ => table.file = self.text(e, key)?,
            }
        }
        Ok(table)
    }

    pub(super) fn factors(&self, entry: &Entry) -> Result<Vec<FactorEntry>, SpecError> {
        let Content::List(list) = &entry.node.content else {
            return Err(self.expected(
                &entry.node,
                "factor",
                "a list of tables, each under [[factor]]",
            ));
        };
        list.iter().map(|node| self.factor(node)).collect()
    }

    fn factor(&self, node: &Node) -> Result<FactorEntry, SpecError> {
        let Content::Table(entries) = &node.content else {
            return Err(self.expected(node, "factor", "a table"));
        };
        let find = |key: &str| entries.iter().find(|e| e.key == key);
        let line = entries.first().map_or(node.line, |e| e.line);
        let Some(kind) = find("kind") else {
            let reason = "expected the name of a module, got nothing".to_owned();
            return Err(self.error(line, "factor.kind", reason));
        };
        let kind_name = self.text(kind, "factor")?;
        let module = module(&kind_name)
            .ok_or_else(|| self.error(kind.line, "factor.kind", unknown_module(&kind_name)))?;
        let own = module.parameters.iter().map(|p| p.name);
        let wiring = ["kind", "name", "input", "inputs", "output", "outputs"];
        let known: Vec<&str> = wiring.into_iter().chain(own).collect();
        self.known(entries, &format!("factor.{kind_name}"), "key", &known)?;
        let name = find("name").map(|e| self.text(e, "factor")).transpose()?;
        Ok(FactorEntry {
            module,
            name,
            inputs: self.wires(find("input"), find("inputs"))?,
            outputs: self.wires(find("output"), find("outputs"))?,
            line,
            arguments: entries
                .iter()
                .filter(|e| !wiring.contains(&e.key.as_str()))
                .cloned()
                .collect(),
        })
    }

    /// `input = "z"` or `inputs = ["z1", "z2"]`.
    fn wires(&self, one: Option<&Entry>, many: Option<&Entry>) -> Result<Vec<String>, SpecError> {
        let name = |entry: &Entry, node: &Node| match &node.content {
            Content::Text(text) => Ok(text.clone()),
            _ => Err(self.expected(node, &path("factor", &entry.key), "the name of a variable")),
        };
        match (one, many) {
            (None, None) => Ok(Vec::new()),
            (Some(entry), None) => Ok(vec![name(entry, &entry.node)?]),
            (None, Some(entry)) => match &entry.node.content {
                Content::List(list) => list.iter().map(|node| name(entry, node)).collect(),
                _ => Err(self.expected(
                    &entry.node,
                    &path("factor", &entry.key),
                    "a list of variables",
                )),
            },
            (Some(_), Some(entry)) => {
                let reason = "expected one variable or a list of them, got both".to_owned();
                Err(self.error(entry.line, &path("factor", &entry.key), reason))
            }
        }
    }
}

/// A key under another.
pub(super) fn path(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        return key.to_owned();
    }
    format!("{prefix}.{key}")
}
