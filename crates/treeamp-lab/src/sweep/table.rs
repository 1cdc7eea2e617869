//! The table of a sweep: parameters, seed, results, and what failed. No times, no dates.

use std::collections::BTreeMap;

use super::{Grid, Record, Row, Value};

/// A table with named columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The names of the columns: parameters, `seed`, results, `status`, `reason`.
    pub columns: Vec<String>,
    /// The lines.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// The finished cells of a grid in its order. A failed cell is one line with its reason.
    #[must_use]
    pub fn of(grid: &Grid, records: &[Record]) -> Self {
        let by_key: BTreeMap<&str, &Record> = records.iter().map(|r| (r.key.as_str(), r)).collect();
        let finished = || {
            let cells = grid.cells().iter();
            cells.filter_map(|cell| by_key.get(cell.key.as_str()).map(|r| (cell, *r)))
        };
        let mut results: Vec<String> = Vec::new();
        let mut known = std::collections::BTreeSet::new();
        let rows = finished().flat_map(|(_, record)| record.rows.iter().flatten());
        for (name, _) in rows.flat_map(Row::iter) {
            if known.insert(name.to_owned()) {
                results.push(name.to_owned());
            }
        }
        let axes = grid.axes().iter().map(|axis| axis.name.clone());
        let columns = axes
            .chain(["seed".to_owned()])
            .chain(results.iter().cloned())
            .chain(["status".to_owned(), "reason".to_owned()]);
        let mut lines = Vec::new();
        for (cell, record) in finished() {
            let start = || {
                let values = cell.parameters.iter().map(|(_, value)| value.clone());
                let seed = i64::try_from(cell.seed)
                    .map_or_else(|_| Value::Text(cell.seed.to_string()), Value::Integer);
                values.chain([seed]).collect::<Vec<_>>()
            };
            let line = |row: Option<&Row>, status: &str, reason: Value| {
                let value = |name: &String| {
                    let found = row.and_then(|row| row.get(name));
                    found.cloned().unwrap_or(Value::Missing)
                };
                let mut line = start();
                line.extend(results.iter().map(value));
                line.extend([Value::from(status), reason]);
                line
            };
            match &record.rows {
                Ok(rows) => {
                    lines.extend(rows.iter().map(|r| line(Some(r), "ok", Value::Missing)));
                }
                Err(reason) => lines.push(line(None, "failed", Value::from(reason.as_str()))),
            }
        }
        Self {
            columns: columns.collect(),
            rows: lines,
        }
    }

    /// The index of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c == name)
    }

    /// As comma-separated values with a header, numbers with all their digits.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let header = self
            .columns
            .iter()
            .map(|c| Value::from(c.as_str()).to_csv());
        let mut text = header.collect::<Vec<_>>().join(",") + "\n";
        for row in &self.rows {
            let line: Vec<String> = row.iter().map(Value::to_csv).collect();
            text += &line.join(",");
            text.push('\n');
        }
        text
    }

    /// Reads what [`to_csv`](Self::to_csv) wrote; what looks like a number is one.
    ///
    /// # Errors
    /// A line with another number of values than the header, or a quote that does not end.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let mut lines = split_csv(text)?.into_iter();
        let columns = lines.next().ok_or("expected a header, got an empty file")?;
        let mut rows = Vec::new();
        for (k, line) in lines.enumerate() {
            if line.len() != columns.len() {
                let (expected, got) = (columns.len(), line.len());
                return Err(format!(
                    "line {}: expected {expected} values, got {got}",
                    k + 2
                ));
            }
            rows.push(line.into_iter().map(read_value).collect());
        }
        Ok(Self { columns, rows })
    }
}

fn read_value(text: String) -> Value {
    match text.as_str() {
        "" => Value::Missing,
        "true" => Value::Flag(true),
        "false" => Value::Flag(false),
        number => match (number.parse(), number.parse()) {
            (Ok(i), _) => Value::Integer(i),
            (_, Ok(x)) => Value::Number(x),
            _ => Value::Text(text),
        },
    }
}

/// Lines of fields; a quoted field may hold commas, line breaks and doubled quotes.
fn split_csv(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut lines = Vec::new();
    let (mut line, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => line.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                line.push(std::mem::take(&mut field));
                lines.push(std::mem::take(&mut line));
            }
            c => field.push(c),
        }
    }
    if quoted {
        return Err("a quoted value does not end".to_owned());
    }
    if !field.is_empty() || !line.is_empty() {
        line.push(field);
        lines.push(line);
    }
    Ok(lines)
}
