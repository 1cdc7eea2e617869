//! Whole figures, with data that are hard to draw.

use super::{Axis, Figure, Mark, Panel, Series};

fn svg(panel: Panel) -> String {
    Figure::new("t").panel(panel).to_svg()
}

#[test]
fn degenerate_data_are_drawn_without_panic() {
    let nan = f64::NAN;
    let hard: [&[(f64, f64)]; 6] = [
        &[],
        &[(0.0, 0.0)],
        &[(1.0, 3.0), (2.0, 3.0)],
        &[(nan, 1.0), (1.0, nan), (nan, nan)],
        &[(0.0, f64::INFINITY), (1.0, -1.0)],
        &[(-1e308, -1e308), (1e308, 1e308)],
    ];
    for points in hard {
        for y in [Axis::linear("y"), Axis::log("y")] {
            let panel = Panel::new("p", Axis::linear("x"), y)
                .series(Series::line("l", points.to_vec()).mark(Mark::Cross))
                .series(Series::stems("s", points.to_vec()))
                .series(Series::marks("m", points.to_vec()));
            let text = svg(panel);
            assert!(
                !text.contains("NaN") && !text.contains("inf"),
                "{points:?}: {text}"
            );
        }
    }
    assert!(svg(Panel::new("", Axis::linear(""), Axis::log(""))).ends_with("</svg>\n"));
    assert!(Figure::new("none").to_svg().ends_with("</svg>\n"));
}

#[test]
fn a_line_has_a_gap_where_a_point_is_missing() {
    let points = [(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0), (3.0, 4.0)];
    let panel = Panel::new("p", Axis::linear("x"), Axis::linear("y"))
        .series(Series::line("", points).dashed());
    let text = svg(panel);
    let line = text
        .lines()
        .find(|l| l.contains("stroke-dasharray"))
        .unwrap_or_default();
    let path = line.split('"').nth(1).unwrap_or_default();
    assert_eq!(path.matches('M').count(), 2, "{line}");
    assert_eq!(path.matches('L').count(), 1, "{line}");
}

#[test]
fn names_are_escaped_and_long_legends_wrap() {
    let mut panel = Panel::new("a < b", Axis::linear("x & y"), Axis::linear("\"z\""));
    for _ in 0..6 {
        panel = panel.series(Series::line(
            "a rather long name <of> a series",
            [(0.0, 1.0)],
        ));
    }
    assert!(panel.legend_rows(480.0).len() > 2);
    let text = svg(panel);
    assert!(text.contains("a &lt; b") && text.contains("x &amp; y"));
    assert!(!text.contains("<of>"));
}
