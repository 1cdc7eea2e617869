//! A range of the horizontal axis, shaded over the whole height of a panel.

use std::fmt::Write as _;

use super::svg::{Px, Stroke, Svg};

const FILL: &str = "#f0f0f0";
const HATCH: &str = "#cfcfcf";
const EDGE: &str = "#8a8a8a";
/// Horizontal distance of the hatching.
const STEP: f64 = 9.0;

/// A shaded range.
#[derive(Debug, Clone)]
pub(super) struct Band {
    pub name: String,
    pub low: f64,
    pub high: f64,
}

/// Shades a rectangle: light, hatched and with edges at both sides, so that it is neither a line nor
/// the grid, with colours or without.
pub(super) fn shade(svg: &mut Svg, corner: (f64, f64), size: (f64, f64)) {
    let ((left, top), (width, height)) = (corner, size);
    if !(width > 0.0 && height > 0.0) {
        return;
    }
    let bottom = top + height;
    let (l, t, w, h) = (Px(left), Px(top), Px(width), Px(height));
    let no_edge = Stroke {
        width: 0.0,
        ..Stroke::thin("none")
    };
    svg.path(&format!("M{l} {t}h{w}v{h}h-{w}z"), no_edge, FILL);
    let mut hatch = String::new();
    // rising lines, by where they meet the bottom edge or its continuation to the left
    let mut foot = -height + STEP;
    while foot < width {
        let (from, to) = (foot.max(0.0), (foot + height).min(width));
        // writing to a string cannot fail
        let _ = write!(
            hatch,
            "M{} {}L{} {}",
            Px(left + from),
            Px(bottom - (from - foot)),
            Px(left + to),
            Px(bottom - (to - foot))
        );
        foot += STEP;
    }
    svg.path(&hatch, Stroke::thin(HATCH), "none");
    let edges = format!("M{l} {t}v{h}M{} {t}v{h}", Px(left + width));
    svg.path(&edges, Stroke::thin(EDGE), "none");
}
