//! The JSON schema of model files, for editors, made from the catalogue.

use serde_json::{Value, json};

use super::matrix::ENSEMBLES;
use super::module::{Fallback, Module, Parameter, ParameterKind, Role};
use super::modules::modules;
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
                "description": "parameters that a mismatched student believes to be different",
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
                "additionalProperties": { "type": "string" },
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

fn factor(module: &Module) -> Value {
    let mut properties = serde_json::Map::new();
    properties.insert(
        "kind".into(),
        json!({ "const": module.kind, "description": module.formula }),
    );
    properties.insert("name".into(), json!({ "type": "string" }));
    let mut required = vec!["kind"];
    if module.role == Role::Channel {
        properties.insert("input".into(), json!({ "type": "string" }));
        properties.insert("inputs".into(), json!({ "$ref": "#/$defs/names" }));
    }
    properties.insert("output".into(), json!({ "type": "string" }));
    properties.insert("outputs".into(), json!({ "$ref": "#/$defs/names" }));
    for p in module.parameters {
        properties.insert(p.name.into(), parameter(p));
        if p.fallback == Fallback::Required {
            required.push(p.name);
        }
    }
    json!({
        "title": module.kind,
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
        ParameterKind::Number | ParameterKind::Count => number,
        ParameterKind::Numbers | ParameterKind::Shape => json!({ "oneOf": [number, list] }),
        ParameterKind::Matrix => json!({ "$ref": "#/$defs/matrix" }),
        ParameterKind::Data => json!({ "type": "string" }),
    };
    value["description"] = json!(p.doc);
    match p.fallback {
        Fallback::Required => {}
        Fallback::Number(x) => value["default"] = json!(x),
        Fallback::Count(n) => value["default"] = json!(n),
        Fallback::Numbers(x) => value["default"] = json!(x),
    }
    value
}
