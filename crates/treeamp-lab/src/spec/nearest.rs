//! The nearest known name, for whoever mistyped one.

/// The number of letters to insert, delete, replace or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The shortest name that begins with this one, or else the shortest that has it inside.
fn completed<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let shortest = |fits: &dyn Fn(&str) -> bool| {
        let fitting = known.iter().copied().filter(|k| fits(k));
        fitting.min_by_key(|k| k.len())
    };
    // a letter or two are in too many names
    let begins = shortest(&|k| name.len() >= 2 && k.starts_with(name));
    begins.or_else(|| shortest(&|k| name.len() >= 3 && k.contains(name)))
}

/// A known name close enough to be meant: one that this is a part of, or one that differs by a few letters.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // a name of any length is compared, but not a whole file in one key
    if name.chars().count() > 64 {
        return None;
    }
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(whole) = completed(name, &known) {
        return Some(whole);
    }
    let scored = known.into_iter().map(|k| (distance(name, k), k));
    let (score, best) = scored.min_by_key(|(score, _)| *score)?;
    (score <= 1 + name.chars().count() / 3).then_some(best)
}

/// `expected one of ..., got ...`, with the nearest known name.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let name: String = name.chars().take(64).collect();
    match nearest(&name, known.iter().copied()) {
        Some(near) => format!("there is no {what} `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("there is no {what} `{name}`: there are none here"),
        None => format!(
            "there is no {what} `{name}`: expected one of {}",
            known.join(", ")
        ),
    }
}

/// What to say of a name that no module has.
#[must_use]
pub fn unknown_module(name: &str) -> String {
    let names = treeamp::catalog::modules().flat_map(|m| [&[m.name][..], m.aliases].concat());
    unknown("module", name, &names.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let known = ["gauss_bernoulli", "gaussian", "binary", "size"];
        assert_eq!(nearest("gaus_bernouli", known), Some("gauss_bernoulli"));
        assert_eq!(nearest("gaussain", known), Some("gaussian"));
        assert_eq!(nearest("szie", known), Some("size"));
        // a part of a name, although another name is nearer by letters
        assert_eq!(
            nearest("gaus", ["abs", "gauss_bernoulli", "gaussian"]),
            Some("gaussian")
        );
        assert_eq!(
            nearest("noise", ["bias", "gaussian_noise"]),
            Some("gaussian_noise")
        );
        assert_eq!(nearest("s", known), None);
        assert_eq!(nearest("temperature", known), None);
        assert_eq!(nearest("x", []), None);
    }
}
