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

/// The names of the columns, if the first line is a header.
fn header(text: &str) -> Option<Vec<&str>> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let names = first.split([',', ';', '\t']);
    let names: Vec<&str> = names.map(|f| f.trim().trim_matches('"')).collect();
    let numbers = names.iter().any(|name| name.parse::<f64>().is_ok());
    (!numbers).then_some(names)
}

/// The places of wanted columns: `y`, `a,b`, or `-y` for all others.
fn chosen(header: &[&str], wanted: &str) -> Result<Vec<usize>, String> {
    let place = |name: &str| {
        let found = header.iter().position(|h| *h == name.trim());
        let missing = || {
            format!(
                "there is no column `{}`: the file has {}",
                name.trim(),
                header.join(", ")
            )
        };
        found.ok_or_else(missing)
    };
    if let Some(others) = wanted.strip_prefix('-') {
        let left_out = others.split(',').map(place);
        let left_out = left_out.collect::<Result<Vec<_>, _>>()?;
        let kept = (0..header.len()).filter(|k| !left_out.contains(k));
        return Ok(kept.collect());
    }
    wanted.split(',').map(place).collect()
}

/// The names of the wanted columns, or of all; `None` where there is no header, or not these columns.
pub fn names(bytes: &[u8], wanted: Option<&str>) -> Option<Vec<String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let header = header(text.trim_start_matches('\u{feff}'))?;
    let all = || Some((0..header.len()).collect());
    let places: Vec<usize> = wanted.map_or_else(all, |w| chosen(&header, w).ok())?;
    Some(places.into_iter().map(|k| header[k].to_owned()).collect())
}

/// Columns of a table with a header: `y`, `a,b`, or `-y` for all others. One column is a vector, several are a matrix.
pub fn columns(bytes: &[u8], wanted: &str) -> Result<Array, String> {
    let text = std::str::from_utf8(bytes).map_err(|e| format!("expected text, got bytes: {e}"))?;
    let text = text.trim_start_matches('\u{feff}');
    let no_header = "expected a header with the names of the columns, got numbers";
    let header = header(text).ok_or(no_header)?;
    let chosen = chosen(&header, wanted)?;
    let mut values = Vec::new();
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    let mut rows = 0;
    for (at, line) in lines.skip(1) {
        let fields: Vec<&str> = line.split([',', ';', '\t']).map(str::trim).collect();
        if fields.len() != header.len() {
            let (n, got) = (header.len(), fields.len());
            return Err(format!("line {}: expected {n} values, got {got}", at + 1));
        }
        for k in &chosen {
            let bad = || {
                let (line, name, field) = (at + 1, header[*k], short(fields[*k]));
                format!("line {line}, column `{name}`: expected a number, got `{field}`")
            };
            values.push(fields[*k].parse().map_err(|_| bad())?);
        }
        rows += 1;
    }
    let shape = match chosen.len() {
        1 => vec![rows],
        n => vec![rows, n],
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
