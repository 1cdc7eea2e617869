//! Comma-separated numbers: one line per row, fields in quotes where they need them (RFC 4180).

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Array;

const EMPTY: &str = "expected numbers, got an empty file";
const ONLY_HEADER: &str = "expected numbers, got only a header";

/// The fields of a line, and its number. A field in quotes may hold separators, line ends and doubled quotes.
type Record<'t> = (usize, Vec<Cow<'t, str>>);

/// The lines of a table that are not blank.
struct Records<'t> {
    rest: &'t str,
    line: usize,
}

/// Separators are commas, semicolons or tabs.
fn separates(c: char) -> bool {
    matches!(c, ',' | ';' | '\t')
}

impl<'t> Records<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            rest: text.trim_start_matches('\u{feff}'),
            line: 1,
        }
    }

    /// The next field, and whether it is the last of its line.
    fn field(&mut self) -> Result<(Cow<'t, str>, bool), String> {
        let inner = self.rest.trim_start_matches(' ');
        let (field, rest) = if let Some(quoted) = inner.strip_prefix('"') {
            self.quoted(quoted)?
        } else {
            let end = inner.find(|c| separates(c) || c == '\n');
            let (field, rest) = inner.split_at(end.unwrap_or(inner.len()));
            (Cow::Borrowed(field.trim()), rest)
        };
        let mut behind = rest.chars();
        let last = !behind.next().is_some_and(separates);
        self.rest = behind.as_str();
        self.line += usize::from(last);
        Ok((field, last))
    }

    /// What stands up to the closing quote, and the text from the separator or line end behind it.
    fn quoted(&mut self, text: &'t str) -> Result<(Cow<'t, str>, &'t str), String> {
        let mut from = 0;
        let end = loop {
            let Some(quote) = text[from..].find('"').map(|k| from + k) else {
                return Err(format!("line {}: a quote is never closed", self.line));
            };
            if !text[quote + 1..].starts_with('"') {
                break quote;
            }
            from = quote + 2;
        };
        let rest = text[end + 1..].trim_start_matches([' ', '\r']);
        if !(rest.is_empty() || rest.starts_with(|c| separates(c) || c == '\n')) {
            let line = self.line;
            return Err(format!(
                "line {line}: expected a separator behind a closing quote, got `{}`",
                short(rest.lines().next().unwrap_or_default())
            ));
        }
        let field = &text[..end];
        self.line += field.matches('\n').count();
        let plain = if field.contains('"') {
            Cow::Owned(field.replace("\"\"", "\""))
        } else {
            Cow::Borrowed(field)
        };
        Ok((plain, rest))
    }
}

impl<'t> Iterator for Records<'t> {
    type Item = Result<Record<'t>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let line = self.line;
            let mut fields = Vec::new();
            loop {
                match self.field() {
                    Ok((field, last)) => {
                        fields.push(field);
                        if last {
                            break;
                        }
                    }
                    Err(reason) => {
                        self.rest = "";
                        return Some(Err(reason));
                    }
                }
            }
            if fields.len() > 1 || !fields[0].is_empty() {
                return Some(Ok((line, fields)));
            }
        }
        None
    }
}

fn text_of(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|e| format!("expected text, got bytes: {e}"))
}

fn number(field: &str) -> Option<f64> {
    field.trim().parse().ok()
}

/// One column is a vector, several are a matrix.
pub fn decode(bytes: &[u8]) -> Result<Array, String> {
    let mut values = Vec::new();
    let mut columns = None;
    let mut rows = 0;
    for record in Records::new(text_of(bytes)?) {
        let (line, fields) = record?;
        let first = columns.is_none();
        let n = *columns.get_or_insert(fields.len());
        if n != fields.len() {
            let got = fields.len();
            return Err(format!("line {line}: expected {n} numbers, got {got}"));
        }
        if first && is_header(&fields) {
            continue;
        }
        for field in &fields {
            let bad = || format!("line {line}: expected a number, got `{}`", short(field));
            values.push(number(field).ok_or_else(bad)?);
        }
        rows += 1;
    }
    let shape = match (rows, columns) {
        (_, None) => return Err(EMPTY.to_owned()),
        (0, _) => return Err(ONLY_HEADER.to_owned()),
        (_, Some(1)) => vec![rows],
        (_, Some(n)) => vec![rows, n],
    };
    Array::real(shape, values)
}

/// No field is a number.
fn is_header(fields: &[Cow<'_, str>]) -> bool {
    fields.iter().all(|f| number(f).is_none())
}

/// The names of the columns in the first line.
fn header<'t>(records: &mut Records<'t>) -> Result<Vec<Cow<'t, str>>, String> {
    let (_, fields) = records.next().ok_or(EMPTY)??;
    if is_header(&fields) {
        return Ok(fields);
    }
    Err("expected a header with the names of the columns, got numbers".to_owned())
}

/// The places of wanted columns: `y`, `a,b`, or `-y` for all others. A name with a comma stands in quotes, unless it is all that is wanted.
fn chosen(header: &[Cow<'_, str>], wanted: &str) -> Result<Vec<usize>, String> {
    let place = |name: &str| {
        let mut found = (0..header.len()).filter(|k| header[*k].trim() == name.trim());
        let first = found.next();
        match (first, found.count()) {
            (Some(k), 0) => Ok(k),
            (None, _) => Err(format!(
                "there is no column `{}`: the file has {}",
                name.trim(),
                header.join(", ")
            )),
            (_, more) => Err(format!(
                "{} columns are called `{}`: expected names that differ",
                more + 1,
                name.trim()
            )),
        }
    };
    if header.iter().any(|h| h.trim() == wanted.trim()) {
        return Ok(vec![place(wanted)?]);
    }
    let places = |list: &str| -> Result<Vec<usize>, String> {
        let Some(names) = Records::new(list).next() else {
            return Ok(vec![place(list)?]);
        };
        names?.1.iter().map(|name| place(name)).collect()
    };
    if let Some(others) = wanted.strip_prefix('-') {
        let left_out = places(others)?;
        let kept = (0..header.len()).filter(|k| !left_out.contains(k));
        return Ok(kept.collect());
    }
    places(wanted)
}

/// The names of the wanted columns, or of all; `None` where there is no header, or not these columns.
pub fn names(bytes: &[u8], wanted: Option<&str>) -> Option<Vec<String>> {
    let header = header(&mut Records::new(text_of(bytes).ok()?)).ok()?;
    let all = || Some((0..header.len()).collect());
    let places: Vec<usize> = wanted.map_or_else(all, |w| chosen(&header, w).ok())?;
    let names = places.into_iter().map(|k| header[k].trim().to_owned());
    Some(names.collect())
}

/// Columns of a table with a header: `y`, `a,b`, or `-y` for all others. One column is a vector, several are a matrix.
pub fn columns(bytes: &[u8], wanted: &str) -> Result<Array, String> {
    let mut records = Records::new(text_of(bytes)?);
    let header = header(&mut records)?;
    let chosen = chosen(&header, wanted)?;
    if let Some(k) = (1..chosen.len()).find(|k| chosen[..*k].contains(&chosen[*k])) {
        let name = header[chosen[k]].trim();
        return Err(format!("column `{name}` is chosen twice: expected it once"));
    }
    let mut values = Vec::new();
    let mut rows = 0;
    for record in records {
        let (line, fields) = record?;
        if fields.len() != header.len() {
            let (n, got) = (header.len(), fields.len());
            return Err(format!("line {line}: expected {n} values, got {got}"));
        }
        for k in &chosen {
            let bad = || {
                let (name, field) = (&header[*k], short(&fields[*k]));
                format!("line {line}, column `{name}`: expected a number, got `{field}`")
            };
            values.push(number(&fields[*k]).ok_or_else(bad)?);
        }
        rows += 1;
    }
    let shape = match (rows, chosen.len()) {
        (0, _) => return Err(ONLY_HEADER.to_owned()),
        (_, 1) => vec![rows],
        (_, n) => vec![rows, n],
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
