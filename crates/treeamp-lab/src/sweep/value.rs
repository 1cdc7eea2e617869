//! The values of parameters and results: what a cell of a table can hold.

use serde_json::{Map, Number, json};

/// A value in a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Missing,
    /// A truth value.
    Flag(bool),
    /// An integer.
    Integer(i64),
    /// A number; infinities and NaN are kept as they are.
    Number(f64),
    /// A text.
    Text(String),
}

/// A non-finite number has no JSON form of its own: it is an object with this key.
const NOT_FINITE: &str = "number";

impl Value {
    /// As JSON, such that [`from_json`](Self::from_json) gives the same value, to the last bit.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Missing => serde_json::Value::Null,
            Self::Flag(flag) => json!(flag),
            Self::Integer(i) => json!(i),
            Self::Number(x) => Number::from_f64(*x).map_or_else(
                || json!({ NOT_FINITE: x.to_string() }),
                serde_json::Value::Number,
            ),
            Self::Text(text) => json!(text),
        }
    }

    /// From JSON; `None` for lists and other objects.
    #[must_use]
    pub fn from_json(value: &serde_json::Value) -> Option<Self> {
        Some(match value {
            serde_json::Value::Null => Self::Missing,
            serde_json::Value::Bool(flag) => Self::Flag(*flag),
            serde_json::Value::Number(n) => match n.as_i64() {
                Some(i) => Self::Integer(i),
                None => Self::Number(n.as_f64()?),
            },
            serde_json::Value::String(text) => Self::Text(text.clone()),
            serde_json::Value::Object(map) if map.len() == 1 => {
                Self::Number(map.get(NOT_FINITE)?.as_str()?.parse().ok()?)
            }
            _ => return None,
        })
    }

    /// As a number, where it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(x) => Some(*x),
            Self::Integer(i) => Some(*i as f64),
            _ => None,
        }
    }

    /// The one spelling of a parameter: `1` and `1.0` are the same cell.
    pub(super) fn canonical(&self) -> String {
        /// Integers below this are exact as `f64`.
        const EXACT: i64 = 1 << 53;
        match self {
            Self::Integer(i) if (-EXACT..=EXACT).contains(i) => {
                Self::Number(*i as f64).to_json().to_string()
            }
            other => other.to_json().to_string(),
        }
    }

    /// As it stands in a comma-separated file: quoted where needed, numbers with all their digits.
    #[must_use]
    pub fn to_csv(&self) -> String {
        match self {
            Self::Missing => String::new(),
            Self::Flag(flag) => flag.to_string(),
            Self::Integer(i) => i.to_string(),
            // whole numbers without a point, others in the shortest form that reads back the same
            Self::Number(x) if x.fract() == 0.0 && x.abs() < 1e15 => format!("{x}"),
            Self::Number(x) => {
                Number::from_f64(*x).map_or_else(|| x.to_string().to_lowercase(), |n| n.to_string())
            }
            Self::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => text.clone(),
        }
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Self {
        Self::Number(x)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Self {
        i64::try_from(n).map_or(Self::Number(n as f64), Self::Integer)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// One line of results: named values in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    columns: Vec<(String, Value)>,
}

impl Row {
    /// An empty line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more value; a name that is there already gets the new value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets a value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        match self.columns.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => self.columns.push((name.to_owned(), value)),
        }
    }

    /// The value under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.columns.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// As a JSON list of pairs: an object would lose the order.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let pairs = self.columns.iter().map(|(n, v)| json!([n, v.to_json()]));
        serde_json::Value::Array(pairs.collect())
    }

    pub(super) fn from_json(value: &serde_json::Value) -> Option<Self> {
        let pairs = value.as_array()?.iter().map(|pair| {
            let [name, value] = pair.as_array()?.as_slice() else {
                return None;
            };
            Some((name.as_str()?.to_owned(), Value::from_json(value)?))
        });
        Some(Self {
            columns: pairs.collect::<Option<_>>()?,
        })
    }
}

/// The first key whose values differ, with both, for a message. Objects are compared key by key.
pub(super) fn first_difference(
    expected: &Map<String, serde_json::Value>,
    got: &Map<String, serde_json::Value>,
) -> Option<String> {
    difference_under("", expected, got)
}

fn difference_under(
    prefix: &str,
    expected: &Map<String, serde_json::Value>,
    got: &Map<String, serde_json::Value>,
) -> Option<String> {
    let keys = expected.keys().chain(got.keys());
    let (key, e, g) = keys
        .map(|key| (key, expected.get(key), got.get(key)))
        .find(|(_, e, g)| e != g)?;
    let name = format!("{prefix}{key}");
    if let (Some(serde_json::Value::Object(e)), Some(serde_json::Value::Object(g))) = (e, g) {
        return difference_under(&format!("{name}."), e, g);
    }
    let show = |value: Option<&serde_json::Value>| value.map_or("nothing".into(), brief);
    Some(format!("`{name}` is {} now and {} there", show(e), show(g)))
}

fn brief(value: &serde_json::Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 80 {
        return text;
    }
    text.chars().take(77).collect::<String>() + "..."
}
