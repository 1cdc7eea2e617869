//! Comma-separated numbers: one line per row.

use std::fmt::Write as _;

use super::Array;

/// One column is a vector, several are a matrix. Separators are commas, semicolons or tabs.
pub fn decode(bytes: &[u8]) -> Result<Array, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| format!("expected text, got bytes: {e}"))?;
    let text = text.trim_start_matches('\u{feff}');
    let mut values = Vec::new();
    let mut columns = None;
    let mut rows = 0;
    let lines = text.lines().enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let fields = || line.split([',', ';', '\t']).map(str::trim);
        let numbers: Vec<Option<f64>> = fields().map(|f| f.parse().ok()).collect();
        let header = rows == 0 && columns.is_none() && numbers.iter().all(Option::is_none);
        match columns {
            None => columns = Some(numbers.len()),
            Some(n) if n != numbers.len() => {
                let got = numbers.len();
                return Err(format!("line {}: expected {n} numbers, got {got}", at + 1));
            }
            Some(_) => {}
        }
        if header {
            continue;
        }
        for (number, field) in numbers.into_iter().zip(fields()) {
            let bad = || format!("line {}: expected a number, got `{}`", at + 1, short(field));
            values.push(number.ok_or_else(bad)?);
        }
        rows += 1;
    }
    let shape = match (rows, columns) {
        (_, None) => return Err("expected numbers, got an empty file".to_owned()),
        (0, _) => return Err("expected numbers, got only a header".to_owned()),
        (_, Some(1)) => vec![rows],
        (_, Some(n)) => vec![rows, n],
    };
    Array::real(shape, values)
}

fn short(field: &str) -> String {
    field.chars().take(40).collect()
}

/// One line per entry of the first axis; complex numbers as two columns each.
pub fn encode(array: &Array) -> Vec<u8> {
    let rows = array.shape.first().copied().unwrap_or(1).max(1);
    let width = (array.values.len() / rows).max(1);
    let mut text = String::new();
    for row in array.values.chunks(width) {
        for (i, x) in row.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            // writing to a string cannot fail
            let _ = write!(text, "{comma}{x:?}");
        }
        text.push('\n');
    }
    text.into_bytes()
}
