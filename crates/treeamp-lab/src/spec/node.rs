//! The content of a TOML file with the line of everything.

use serde_json::json;
use toml::de::{DeTable, DeValue};

/// A value and the line it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub line: usize,
    pub content: Content,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Node>),
    Table(Vec<Entry>),
    Date,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub line: usize,
    pub node: Node,
}

impl Node {
    /// What it is, for a message.
    pub fn describe(&self) -> String {
        match &self.content {
            Content::Text(text) => {
                format!("the text `{}`", text.chars().take(60).collect::<String>())
            }
            Content::Integer(i) => i.to_string(),
            Content::Number(x) => x.to_string(),
            Content::Flag(flag) => flag.to_string(),
            Content::List(_) => "a list".to_owned(),
            Content::Table(_) => "a table".to_owned(),
            Content::Date => "a date".to_owned(),
        }
    }

    /// As JSON, without lines.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.content {
            Content::Text(text) => json!(text),
            Content::Integer(i) => json!(i),
            Content::Number(x) => json!(x),
            Content::Flag(flag) => json!(flag),
            Content::List(list) => list.iter().map(Self::to_json).collect(),
            Content::Table(entries) => {
                let pairs = entries.iter().map(|e| (e.key.clone(), e.node.to_json()));
                serde_json::Value::Object(pairs.collect())
            }
            Content::Date => serde_json::Value::Null,
        }
    }

    /// As a number.
    pub fn number(&self) -> Option<f64> {
        match self.content {
            Content::Integer(i) => Some(i as f64),
            Content::Number(x) => Some(x),
            _ => None,
        }
    }
}

/// Parses a whole file, or says what is wrong on which line.
pub fn parse(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let lines = Lines::new(text);
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        (lines.of(at), error.message().to_owned())
    })?;
    convert_table(table.get_ref(), &lines)
}

/// From a byte to its line.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        Self(ends.map(|(at, _)| at).collect())
    }

    fn of(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }
}

fn convert_table(table: &DeTable<'_>, lines: &Lines) -> Result<Vec<Entry>, (usize, String)> {
    let mut keys: Vec<_> = table.iter().collect();
    // in the order of the file
    keys.sort_by_key(|(key, _)| key.span().start);
    keys.into_iter()
        .map(|(key, value)| {
            let line = lines.of(key.span().start);
            Ok(Entry {
                key: key.get_ref().to_string(),
                line,
                node: convert(
                    value.get_ref(),
                    lines.of(value.span().start).max(line),
                    lines,
                )?,
            })
        })
        .collect()
}

fn convert(value: &DeValue<'_>, line: usize, lines: &Lines) -> Result<Node, (usize, String)> {
    let content = match value {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Integer(i) => {
            let parsed = i64::from_str_radix(i.as_str(), i.radix());
            Content::Integer(
                parsed.map_err(|_| (line, format!("the integer {} is too large", i.as_str())))?,
            )
        }
        DeValue::Float(x) => {
            let parsed = x.as_str().parse();
            Content::Number(
                parsed.map_err(|_| (line, format!("expected a number, got {}", x.as_str())))?,
            )
        }
        DeValue::Boolean(flag) => Content::Flag(*flag),
        DeValue::Datetime(_) => Content::Date,
        DeValue::Array(list) => {
            let nodes = list
                .iter()
                .map(|v| convert(v.get_ref(), lines.of(v.span().start), lines));
            Content::List(nodes.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Content::Table(convert_table(table, lines)?),
    };
    Ok(Node { line, content })
}
