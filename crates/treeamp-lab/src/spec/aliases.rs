//! Two names of one number: a parameter, and the number of a factor that refers to it.

use super::node::{Content, Entry, Node};
use super::warnings::mentions;
use super::{FactorEntry, ModelFile, Setting};

impl ModelFile {
    /// The parameter that a number of a factor (`linear.alpha`) refers to; `None` of a number that stands in the file itself.
    fn parameter_behind(&self, name: &str) -> Option<&str> {
        let (label, key) = name.rsplit_once('.')?;
        let mut labelled = self.all_factors().filter(|f| f.label() == label);
        let factor = labelled.next().filter(|_| labelled.next().is_none())?;
        let Content::Text(parameter) = &factor.number_node(key)?.content else {
            return None;
        };
        let mut own = self.parameters.iter().map(|(n, _)| n.as_str());
        own.find(|n| n == parameter)
    }

    /// The setting with one name for every number: where nothing but a number of one factor refers to a parameter, both names set the same thing,
    /// and the parameter's is taken.
    pub(crate) fn with_one_name_each(&self, setting: &Setting) -> Setting {
        let mut one = Setting::new();
        for (name, value) in setting.iter() {
            if self.only_name(name).is_none() {
                one = one.with(name, value);
            }
        }
        // the number of a factor goes before the parameter behind it
        let renamed = setting.iter();
        let renamed = renamed.filter_map(|(name, x)| Some((self.only_name(name)?, x)));
        renamed.fold(one, |s, (name, x)| s.with(name, x))
    }

    /// What a setting changes, each number under one name: values that the file has itself are left out.
    #[must_use]
    pub fn changes(&self, setting: &Setting) -> Setting {
        let set = self.with_one_name_each(setting);
        let own = |name: &str| self.parameters.iter().find(|(n, _)| n == name);
        let changed = set
            .iter()
            .filter(|(name, x)| own(name).is_none_or(|(_, own)| own.to_bits() != x.to_bits()));
        changed.fold(Setting::new(), |s, (name, x)| s.with(name, x))
    }

    /// The parameter that is the same thing as a number of a factor (`linear.alpha`): nobody else refers to it, and a student has it from the
    /// teacher. `None` of any other name.
    #[must_use]
    pub fn only_name(&self, name: &str) -> Option<&str> {
        let parameter = self.parameter_behind(name)?;
        let arguments = self.all_factors().flat_map(|f| &f.arguments);
        let mentioned: usize = arguments.map(|e| mentions(&e.node, parameter)).sum();
        let assumed = self.student.iter().any(|(n, _)| n == parameter);
        (mentioned == 1 && !assumed).then_some(parameter)
    }

    fn all_factors(&self) -> impl Iterator<Item = &FactorEntry> {
        self.factors.iter().chain(&self.student_factors)
    }
}

impl FactorEntry {
    /// Where the file has a number: an argument, or the ratio of an ensemble.
    fn number_node(&self, key: &str) -> Option<&Node> {
        let find = |entries: &[Entry]| entries.iter().position(|e| e.key == key);
        if let Some(k) = find(&self.arguments) {
            return Some(&self.arguments[k].node);
        }
        self.arguments.iter().find_map(|e| match &e.node.content {
            Content::Table(own) => find(own).map(|k| &own[k].node),
            _ => None,
        })
    }
}
