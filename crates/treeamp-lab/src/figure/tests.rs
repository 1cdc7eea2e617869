//! Whole figures, with data that are hard to draw.

use super::{Axis, Figure, Mark, Panel, Raster, Series};

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
                .series(Series::marks("m", points.to_vec()).bars(points.to_vec()))
                .band("b", points.first().map_or(nan, |p| p.0), f64::INFINITY);
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

/// The drawing commands of the paths with this in their attributes.
fn paths<'a>(text: &'a str, with: &str) -> Vec<&'a str> {
    let lines = text
        .lines()
        .filter(|l| l.starts_with("<path") && l.contains(with));
    lines.filter_map(|l| l.split('"').nth(1)).collect()
}

#[test]
fn a_band_is_shaded_and_named() {
    let panel = |low, high| {
        Panel::new("p", Axis::linear("x").range(0.0, 1.0), Axis::linear("y"))
            .series(Series::line("l", [(0.0, 1.0), (1.0, 2.0)]))
            .band("hard <phase>", low, high)
    };
    let fill = |low, high| {
        let text = svg(panel(low, high));
        assert!(text.contains("hard &lt;phase&gt;"));
        paths(&text, "fill=\"#f0f0f0\"")
            .iter()
            .map(|p| (*p).to_owned())
            .collect::<Vec<_>>()
    };
    // one in the legend and one in the panel, which is wider for a wider range
    let width = |path: &str| -> f64 {
        let after = path.split('h').nth(1).unwrap_or_default();
        after
            .split('v')
            .next()
            .unwrap_or_default()
            .parse()
            .unwrap_or(f64::NAN)
    };
    let (half, quarter) = (fill(0.25, 0.75), fill(0.5, 0.75));
    assert_eq!((half.len(), quarter.len()), (2, 2), "{half:?}");
    assert!(
        (width(&half[1]) - 2.0 * width(&quarter[1])).abs() < 0.05,
        "{half:?} {quarter:?}"
    );
    // cut at the edges
    assert_eq!(fill(f64::NEG_INFINITY, f64::INFINITY), fill(-3.0, 7.0));
    // nothing to shade: the legend alone
    for (low, high) in [(0.7, 0.2), (f64::NAN, 0.5), (2.0, 3.0)] {
        assert_eq!(fill(low, high).len(), 1, "{low} {high}");
    }
    // hatched, for a reader without colours, and behind the series
    let text = svg(panel(0.25, 0.75));
    assert_eq!(paths(&text, "#cfcfcf").len(), 2);
    let (band, line) = (text.rfind("#f0f0f0"), text.rfind("#12427e"));
    assert!(band.is_some() && band < line);
}

#[test]
fn a_band_without_series_sets_the_range() {
    let panel = Panel::new("p", Axis::linear("x"), Axis::linear("y")).band("", 10.0, 20.0);
    let text = svg(panel);
    assert_eq!(paths(&text, "#f0f0f0").len(), 1);
    assert!(text.contains("\"12\"") && text.contains("\"18\""));
}

#[test]
fn error_bars_have_caps_unless_they_leave_the_panel() {
    let bars = |y: Axis, low: f64| {
        let series = Series::marks("", [(0.0, 1.0), (1.0, 1.0), (2.0, f64::NAN)]);
        let series = series.bars([(0.5, 2.0), (low, 2.0), (0.5, 2.0)]);
        let text = svg(Panel::new("p", Axis::linear("x"), y).series(series));
        let found = paths(&text, "stroke-width=\"1.2\"").join("");
        (found.matches('V').count(), found.matches('h').count())
    };
    // two bars, four caps; a point that is not drawn has no bar
    assert_eq!(bars(Axis::log("y"), 0.5), (2, 4));
    assert_eq!(bars(Axis::log("y"), 0.0), (2, 3));
    assert_eq!(bars(Axis::log("y"), f64::NAN), (1, 2));
    assert_eq!(bars(Axis::linear("y"), -1.0), (2, 4));
    assert_eq!(bars(Axis::linear("y").range(0.7, 1.5), 0.5), (2, 0));
    // the legend shows one, too
    let series = Series::marks("m", [(0.0, 1.0)]).bars([(0.5, 2.0)]);
    let text = svg(Panel::new("p", Axis::linear("x"), Axis::log("y")).series(series));
    assert_eq!(paths(&text, "stroke-width=\"1.2\"").len(), 2);
}

#[test]
fn a_figure_can_be_painted() {
    let panel = Panel::new("Error", Axis::linear("sweep"), Axis::log("mse"))
        .series(
            Series::line("a", [(0.0, 1.0), (1.0, 0.1)])
                .mark(Mark::Circle)
                .dashed(),
        )
        .band("hard", 0.2, 0.4);
    let grey = Raster::grey(2, &[0.0, 1.0, 0.5, f64::NAN], (0.0, 1.0));
    let figure = Figure::new("t")
        .panel(panel)
        .panel(Panel::picture("p", grey));
    let png = figure.to_png(2.0).expect("a small picture");
    assert!(png.starts_with(b"\x89PNG"));
    // width and height stand in the header: twice those of the SVG
    let side = |at: usize| u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]);
    assert_eq!((side(16), side(20)), (2 * 1014, 2 * 388));
    for scale in [0.0, -1.0, f64::NAN, 1e9] {
        assert!(figure.to_png(scale).is_err());
    }
    // the picture has square pixels: two by two in a square
    let svg = figure.to_svg();
    for colour in ["#000000", "#ffffff", "#808080", "#c81e1e"] {
        assert!(svg.contains(colour), "{colour}");
    }
}
