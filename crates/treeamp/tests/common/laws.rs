//! Laws of reference values, by the names that records have for them: those of the catalogue, or of tramp as
//! `python/tramp_names.json` has them.

use std::sync::Arc;

use serde_json::Value;
use treeamp::catalog::{Argument, Arguments, Module, ParameterKind, Role, module};
use treeamp::factor::Factor;

/// The table of names.
fn table() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/tramp_names.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap()
}

/// `GaussBernoulliPrior` is `gauss_bernoulli`, and what is no class is a name.
fn catalogue_name(class: &str, group: &str) -> String {
    let mut name = String::new();
    for c in class.chars() {
        if c.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(c.to_lowercase());
    }
    name.trim_end_matches(&format!("_{group}")).to_owned()
}

/// The module of a class of a group (`prior`, `channel` or `likelihood`) with its entry in the table, if it is in the catalogue.
fn found(class: &str, group: &str, table: &Value) -> Option<(&'static Module, Value)> {
    let class = class.split('(').next().unwrap();
    let own = table["laws"][group].as_object().unwrap();
    let entry = own.iter().find(|(_, entry)| entry["class"] == class);
    let name = entry.map_or_else(|| catalogue_name(class, group), |(name, _)| name.clone());
    let roles = match group {
        "prior" => [Role::Prior, Role::Penalty],
        _ => [Role::Channel, Role::Likelihood],
    };
    // a prior and a likelihood may share their name in records
    let own = module(&name).filter(|m| roles.contains(&m.role));
    let module = own.or_else(|| module(&format!("{name}_{group}")))?;
    Some((module, entry.map_or(Value::Null, |(_, e)| e.clone())))
}

/// The name in the catalogue of a parameter.
fn parameter(entry: &Value, name: &str) -> String {
    let by_value = |key: &str, name: &str| {
        let map = entry[key].as_object()?;
        map.iter().find(|(_, v)| *v == name).map(|(k, _)| k.clone())
    };
    let recorded = entry["recorded"][name].as_str().map(str::to_owned);
    // another name of a parameter is one in Python
    let name = by_value("also", name).unwrap_or_else(|| name.to_owned());
    recorded
        .or_else(|| by_value("parameters", &name))
        .unwrap_or(name)
}

/// The law of a record on one component, with its parameters; none if it is not in the catalogue. An unknown parameter is an error.
pub fn made(class: &str, group: &str, parameters: &Value) -> Option<Arc<dyn Factor>> {
    let table = table();
    let (module, entry) = found(class, group, &table)?;
    let mut arguments = Arguments::new();
    if module.parameter("size").is_some() {
        arguments = arguments.sized([1]);
    }
    for (name, value) in parameters.as_object().into_iter().flatten() {
        let name = parameter(&entry, name);
        let Some(parameter) = module.parameter(&name) else {
            panic!("{class}: {} has no parameter `{name}`", module.name);
        };
        let number = |x: &Value| {
            x.as_f64()
                .unwrap_or_else(|| panic!("{class}: {name} = {x}"))
        };
        let value = match parameter.kind {
            ParameterKind::Number => Argument::Number(number(value)),
            ParameterKind::Numbers => {
                Argument::Numbers(value.as_array().unwrap().iter().map(number).collect())
            }
            kind => panic!("{class}: {name} is a {kind}"),
        };
        arguments = arguments.with(parameter.name, value);
    }
    // an interval whose ends are not told has none
    if module.name == "interval" {
        let ends = [("lower", f64::NEG_INFINITY), ("upper", f64::INFINITY)];
        let told = |end: &str| {
            parameters
                .as_object()
                .is_some_and(|p| p.keys().any(|k| parameter(&entry, k) == end))
        };
        for (end, x) in ends {
            if !told(end) {
                arguments = arguments.with(end, x);
            }
        }
    }
    let made = module.make(&arguments);
    Some(made.unwrap_or_else(|e| panic!("{class} {parameters}: {e}")))
}

/// A likelihood of a record, whose output is observed and not told.
pub fn observed(class: &str, parameters: &Value) -> Option<Arc<dyn Factor>> {
    let law = made(class, "likelihood", parameters)?.observe_unspecified();
    Some(
        law.unwrap()
            .unwrap_or_else(|| panic!("{class} has no likelihood")),
    )
}
