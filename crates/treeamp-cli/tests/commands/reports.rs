//! Reports in one HTML file: what was asked for, by which version, and everything that came of it.

use super::*;

fn page(name: &str, arguments: &[&str]) -> String {
    let folder = Folder::new(name);
    let html = folder.path("r.html");
    works(&[&["run"][..], arguments, &["--report", text(&html)]].concat());
    fs::read_to_string(&html).expect("the report")
}

#[test]
fn options_version_and_components_are_in_it() {
    let model = models().join("real_data.toml");
    let page = page(
        "html_options",
        &[text(&model), "--set", "rho=0.4", "--max-sweeps", "150"],
    );
    assert!(page.contains(&format!("treeamp {}", env!("CARGO_PKG_VERSION"))));
    for (name, value) in [("set", "rho = 0.4"), ("max-sweeps", "150"), ("seed", "0")] {
        let row = format!("<tr><td>{name}</td><td>{value}</td></tr>");
        assert!(page.contains(&row), "{row}");
    }
    // every coefficient, under the name of its column
    for column in ["age", "bmi", "glu"] {
        assert!(page.contains(&format!("<tr><td>{column}</td>")), "{column}");
    }
    assert!(page.contains("<th>P(not zero)</th>"));
    // tables scroll by themselves
    let tables = page.matches("<table>").count();
    assert_eq!(page.matches("<div class=\"wide\"><table>").count(), tables);
}

#[test]
fn images_are_images() {
    let model = models().join("star_field.toml");
    let page = page("html_images", &[text(&model)]);
    let alt =
        "<img alt=\"true x, observed y, recovered x\" src=\"data:image/png;base64,iVBORw0KGgo";
    assert!(page.contains(alt), "three pictures, as a PNG");
    assert!(!page.contains("crispEdges"), "and not as paths");
}

/// Every picture says what it is, to those who do not see it too.
#[test]
fn pictures_have_titles() {
    for name in ["star_field", "real_data"] {
        let model = models().join(format!("{name}.toml"));
        let page = page(&format!("html_titles_{name}"), &[text(&model)]);
        let vectors: Vec<&str> = page.split("<svg").skip(1).collect();
        assert!(!vectors.is_empty());
        for svg in vectors {
            let title = svg
                .split_once("<title>")
                .and_then(|(_, t)| t.split_once('<'));
            assert!(title.is_some_and(|(t, _)| !t.is_empty()), "{name}");
        }
        assert!(page.contains("<td>expected not zero</td>"), "{name}");
    }
}
