//! What is allowed in a model file, and is probably not meant.

use treeamp::catalog::ParameterKind;

use super::node::{Content, Node};
use super::{FactorEntry, ModelFile};

impl ModelFile {
    /// Parameters that nothing refers to, and matrices drawn at random beside data.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let unused = self.parameters.iter().filter(|(name, _)| !self.uses(name));
        let unused =
            unused.map(|(name, _)| format!("parameter `{name}` is not used by any factor"));
        let data = self.observations.iter().find(|o| o.data.is_some());
        let drawn = data.into_iter().flat_map(|observation| {
            let (variable, file) = (&observation.variable, observation.data.iter());
            let file: String = file.cloned().collect();
            let random = self.factors.iter().filter(|f| f.is_random());
            random.map(move |f| {
                let label = f.label();
                format!(
                    "`{variable}` is read from {file}, but the matrix of `{label}` is drawn at random: \
                     expected `matrix` to be a data file"
                )
            })
        });
        unused.chain(drawn).collect()
    }

    /// Some argument of a factor is a text of this name.
    fn uses(&self, name: &str) -> bool {
        let factors = self.factors.iter().chain(&self.student_factors);
        let mut arguments = factors.flat_map(|f| &f.arguments);
        arguments.any(|e| mentions(&e.node, name) > 0)
    }
}

impl FactorEntry {
    /// Its matrix comes from an ensemble.
    fn is_random(&self) -> bool {
        let drawn = |node: &Node| match &node.content {
            Content::Table(entries) => !entries.iter().any(|e| e.key == "file"),
            _ => false,
        };
        self.arguments.iter().any(|e| {
            let kind = self.module.parameter(&e.key).map(|p| p.kind);
            kind == Some(ParameterKind::Matrix) && drawn(&e.node)
        })
    }
}

/// How often a text of this name stands in a value.
pub(super) fn mentions(node: &Node, name: &str) -> usize {
    match &node.content {
        Content::Text(text) => usize::from(text == name),
        Content::List(list) => list.iter().map(|n| mentions(n, name)).sum(),
        Content::Table(entries) => entries.iter().map(|e| mentions(&e.node, name)).sum(),
        _ => 0,
    }
}
