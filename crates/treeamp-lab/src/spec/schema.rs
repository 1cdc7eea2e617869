//! The JSON schema of model files, for editors, made from the catalogue.

use serde_json::{Value, json};

use treeamp::catalog::{Module, Parameter, ParameterKind, Preset, Role, modules};

use super::matrix::ENSEMBLES;
use super::run_options::RUN_NUMBERS;

/// The JSON schema of a model file.
#[must_use]
pub fn schema() -> Value {
    let number = json!({ "type": ["number", "string"] });
    let variants: Vec<Value> = modules().map(factor).collect();
    let numbers = RUN_NUMBERS.map(|name| (name.to_owned(), json!({ "type": "number" })));
    let mut run: serde_json::Map<String, Value> = numbers.into_iter().collect();
    let damping = json!({ "anyOf": [
        { "enum": ["adaptive", "none"] },
        { "type": "number", "minimum": 0, "exclusiveMaximum": 1 },
    ] });
    run.insert("damping".to_owned(), damping);
    let step = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 });
    let steps = json!({ "type": "array", "items": step, "minItems": 1 });
    run.insert("steps".to_owned(), steps);
    let fallback = json!({ "enum": ["automatic", "forced", "forbidden"] });
    run.insert("fallback".to_owned(), fallback);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "treeamp model file",
        "type": "object",
        "additionalProperties": false,
        "required": ["factor"],
        "properties": {
            "title": { "type": "string" },
            "description": { "type": "string" },
            "parameters": {
                "description": "named numbers that factors refer to and a grid can change",
                "type": "object",
                "additionalProperties": { "type": "number" },
            },
            "student": {
                "description": "parameters of a mismatched student that differ from the teacher's",
                "type": "object",
                "additionalProperties": { "type": "number" },
                "properties": { "factor": {
                    "description": "factors that it has in place of those with the same inputs and outputs",
                    "$ref": "#/properties/factor",
                } },
            },
            "run": {
                "type": "object",
                "additionalProperties": false,
                "properties": Value::Object(run),
            },
            "variables": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": { "belief": { "type": "string", "pattern": r"^(isotropic|diagonal|full|block\([1-9][0-9]*\))$" } },
                },
            },
            "observe": {
                "description": "observed variables: a data file (.npy, .npz, .csv), or \"sample\"",
                "type": "object",
                "additionalProperties": { "oneOf": [
                    { "type": "string" },
                    data_table(&["standardise"]),
                ] },
            },
            "factor": {
                "type": "array",
                "minItems": 1,
                "items": { "type": "object", "required": ["kind"], "oneOf": variants },
            },
        },
        "$defs": {
            "number": number,
            "names": { "type": "array", "items": { "type": "string" } },
            "matrix": {
                "oneOf": [
                    { "type": "string", "description": "a data file" },
                    data_table(&["standardise", "intercept"]),
                    {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["ensemble", "alpha"],
                        "properties": {
                            "ensemble": { "enum": ENSEMBLES },
                            "alpha": { "$ref": "#/$defs/number" },
                            "seed": { "type": "integer" },
                        },
                    },
                ],
            },
        },
    })
}

/// A data file with what is done to its columns.
fn data_table(flags: &[&str]) -> Value {
    let flags = flags
        .iter()
        .map(|f| ((*f).to_owned(), json!({ "type": "boolean" })));
    let file = ("file".to_owned(), json!({ "type": "string" }));
    let properties: serde_json::Map<String, Value> = flags.chain([file]).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["file"],
        "properties": properties,
    })
}

fn factor(module: &Module) -> Value {
    let mut properties = serde_json::Map::new();
    let kind = if module.aliases.is_empty() {
        json!({ "const": module.name, "description": module.formula })
    } else {
        let names = [&[module.name][..], module.aliases].concat();
        json!({ "enum": names, "description": module.formula })
    };
    properties.insert("kind".into(), kind);
    properties.insert("name".into(), json!({ "type": "string" }));
    let mut required = vec!["kind"];
    if matches!(module.role, Role::Channel | Role::Likelihood | Role::Loss) {
        properties.insert("input".into(), json!({ "type": "string" }));
        properties.insert("inputs".into(), json!({ "$ref": "#/$defs/names" }));
    }
    properties.insert("output".into(), json!({ "type": "string" }));
    properties.insert("outputs".into(), json!({ "$ref": "#/$defs/names" }));
    for p in module.parameters {
        properties.insert(p.name.into(), parameter(p));
        if p.default.is_none() {
            required.push(p.name);
        }
    }
    json!({
        "title": module.name,
        "description": module.summary,
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn parameter(p: &Parameter) -> Value {
    let number = json!({ "$ref": "#/$defs/number" });
    let list = json!({ "type": "array", "items": number });
    let mut value = match p.kind {
        ParameterKind::Number | ParameterKind::Count | ParameterKind::Axis => number,
        ParameterKind::Numbers | ParameterKind::Size | ParameterKind::Shape => {
            json!({ "oneOf": [number, list] })
        }
        ParameterKind::Choice(words) => json!({ "enum": words }),
        ParameterKind::Matrix => json!({ "$ref": "#/$defs/matrix" }),
        ParameterKind::Data | ParameterKind::Mask => json!({ "type": "string" }),
    };
    value["description"] = json!(p.meaning());
    match p.default {
        None => {}
        Some(Preset::Number(x)) => value["default"] = json!(x),
        Some(Preset::Count(n)) => value["default"] = json!(n),
        Some(Preset::Numbers(x)) => value["default"] = json!(x),
        Some(Preset::Word(word)) => value["default"] = json!(word),
    }
    value
}
