//! The names of a variable's components, where they are the columns of a data file.

use treeamp::catalog::ParameterKind;

use super::argument::locate;
use super::matrix::INTERCEPT;
use super::node::{Content, Entry};
use super::{FactorEntry, ModelFile};
use crate::data;

impl ModelFile {
    /// Which components are neighbours has no meaning: every module has a limit of large sizes, which those of images and series have not, and
    /// matrices are random, or tables whose columns have names.
    #[must_use]
    pub fn is_exchangeable(&self) -> bool {
        let table = |f: &FactorEntry| {
            let mut inputs = f.inputs.iter();
            inputs.any(|v| self.component_names(v).is_some())
        };
        let mut factors = self.factors.iter();
        factors.all(|f| f.module.limit && (!f.takes_data() || table(f)))
    }

    /// The columns of the data file that multiplies a variable: the names of its components, with `intercept` at the end where one is added.
    /// `None` where no matrix with a header does.
    #[must_use]
    pub fn component_names(&self, variable: &str) -> Option<Vec<String>> {
        let takes = |f: &&FactorEntry| f.inputs.len() == 1 && f.inputs[0] == variable;
        self.factors.iter().filter(takes).find_map(|factor| {
            let of_matrix = |e: &&Entry| {
                let parameter = factor.module.parameter(&e.key);
                parameter.is_some_and(|p| p.kind == ParameterKind::Matrix)
            };
            let entry = factor.arguments.iter().find(of_matrix)?;
            let (file, intercept) = match &entry.node.content {
                Content::Text(file) => (file, false),
                Content::Table(own) => {
                    let file = own.iter().find_map(|e| match &e.node.content {
                        Content::Text(file) if e.key == "file" => Some(file),
                        _ => None,
                    })?;
                    let added = |e: &Entry| {
                        e.key == "intercept" && matches!(e.node.content, Content::Flag(true))
                    };
                    (file, own.iter().any(added))
                }
                _ => return None,
            };
            let path = locate(&self.folder(), file);
            let mut names = data::column_names(&path.to_string_lossy())?;
            if intercept {
                names.push(INTERCEPT.to_owned());
            }
            Some(names)
        })
    }
}

impl FactorEntry {
    /// Its matrix is a data file.
    fn takes_data(&self) -> bool {
        self.arguments.iter().any(|e| {
            let parameter = self.module.parameter(&e.key);
            let file = match &e.node.content {
                Content::Text(_) => true,
                Content::Table(own) => own.iter().any(|e| e.key == "file"),
                _ => false,
            };
            file && parameter.is_some_and(|p| p.kind == ParameterKind::Matrix)
        })
    }
}
