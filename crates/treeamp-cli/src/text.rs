//! Tables and numbers as text.

/// A table with a header, columns aligned: the first to the left, the others to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column).map(|c| c.chars().count()));
        cells
            .chain([header[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let mut line = String::from(" ");
        for (i, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
            let cell = match i {
                0 => [" ", *cell, &padding],
                _ => ["  ", &padding, *cell],
            };
            line += &cell.concat();
        }
        line.trim_end().to_owned() + "\n"
    };
    let mut text = line(header);
    for row in rows {
        text += &line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text
}

/// The title of a model above its tables, if it has one.
pub fn heading(title: &str) -> String {
    if title.is_empty() {
        return String::new();
    }
    format!("{title}\n\n")
}

/// Names and values, one line each.
pub fn pairs(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or(0) + 2;
    let lines = pairs
        .iter()
        .map(|(name, value)| format!("  {name:<width$}{value}\n"));
    lines.collect()
}

/// A text in indented lines of at most so many letters; formulas between `$` stay whole.
pub fn wrapped(text: &str, width: usize) -> String {
    let (mut done, mut line, mut in_formula) = (String::new(), String::new(), false);
    for word in text.split_whitespace() {
        let is_full = line.chars().count() + 1 + word.chars().count() > width;
        if !line.is_empty() && is_full && !in_formula {
            done.extend(["  ", &line, "\n"]);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        in_formula ^= word.matches('$').count() % 2 == 1;
    }
    if !line.is_empty() {
        done.extend(["  ", &line, "\n"]);
    }
    done
}

/// A number with four digits.
pub fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if x.is_finite() && (1e-3..1e5).contains(&x.abs()) {
        let digits = format!("{x:.5}");
        return digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned();
    }
    format!("{x:.3e}")
}

/// A residual: its size is what counts.
pub fn residual(x: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    format!("{x:.1e}")
}

/// So many sweeps.
pub fn sweeps(n: usize) -> String {
    match n {
        1 => "1 sweep".to_owned(),
        n => format!("{n} sweeps"),
    }
}

/// A number for JSON: infinities and NaN have no form there, so they are texts.
pub fn number(x: f64) -> serde_json::Value {
    serde_json::Number::from_f64(x).map_or_else(
        || serde_json::Value::String(x.to_string()),
        serde_json::Value::Number,
    )
}
