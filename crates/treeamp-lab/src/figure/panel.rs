//! A panel: title, legend, two axes, and series.

use std::fmt::Write as _;

use super::axis::Axis;
use super::band::{Band, shade};
use super::picture::Raster;
use super::scale::{Label, Scale, Tick};
use super::series::{Bar, Series};
use super::svg::{Anchor, Px, Stroke, Svg, Text, text_width};

const TITLE_SIZE: f64 = 13.0;
const LABEL_SIZE: f64 = 12.0;
const TICK_SIZE: f64 = 11.0;
const LEGEND_ROW: f64 = 18.0;
/// Length of the sample in the legend, and the space around it.
const SAMPLE: f64 = 22.0;
const GAP: f64 = 6.0;
const GRID: &str = "#e4e4e4";
const FRAME: &str = "#555555";

/// A chart with its axes.
#[derive(Debug, Clone)]
pub struct Panel {
    title: String,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    bands: Vec<Band>,
    raster: Option<(Raster, Extent)>,
    grey_bar: Option<(f64, f64)>,
    labels: Vec<(String, f64, f64)>,
}

/// What part of a panel a raster fills.
#[derive(Debug, Clone, Copy)]
enum Extent {
    /// All of it, without axes and with square pixels.
    Alone,
    /// A range of each axis.
    Ranges { x: (f64, f64), y: (f64, f64) },
}

/// The rectangle of the data.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn right(&self) -> f64 {
        self.left + self.width
    }

    fn bottom(&self) -> f64 {
        self.top + self.height
    }

    fn across(&self, at: f64) -> f64 {
        self.left + at * self.width
    }

    fn up(&self, at: f64) -> f64 {
        self.bottom() - at * self.height
    }
}

impl Panel {
    /// An empty panel.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            bands: Vec::new(),
            raster: None,
            grey_bar: None,
            labels: Vec::new(),
        }
    }

    /// Writes a text at a place of the axes, centred, over everything else.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>, x: f64, y: f64) -> Self {
        self.labels.push((text.into(), x, y));
        self
    }

    /// Puts a bar beside a picture: what black and white stand for.
    #[must_use]
    pub fn grey_bar(mut self, black: f64, white: f64) -> Self {
        self.grey_bar = Some((black, white));
        self
    }

    /// A photograph or the like: no axes, and pixels that are squares.
    #[must_use]
    pub fn picture(title: impl Into<String>, raster: Raster) -> Self {
        Self {
            raster: Some((raster, Extent::Alone)),
            ..Self::new(title, Axis::linear(""), Axis::linear(""))
        }
    }

    /// It is one of those.
    pub(super) fn is_picture(&self) -> bool {
        matches!(self.raster, Some((_, Extent::Alone)))
    }

    /// What it shows: its title, or what its vertical axis counts.
    pub(super) fn described(&self) -> &str {
        if self.title.is_empty() {
            &self.y.label
        } else {
            &self.title
        }
    }

    /// Puts a raster behind the series, over a range of each axis; its first row lies at the upper end.
    #[must_use]
    pub fn background(mut self, raster: Raster, x: (f64, f64), y: (f64, f64)) -> Self {
        self.raster = Some((raster, Extent::Ranges { x, y }));
        self
    }

    /// Adds a series, drawn over those before it.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Shades a range of the horizontal axis, behind all series. An infinite end reaches the edge of the
    /// panel; a range that is empty or NaN is not drawn.
    #[must_use]
    pub fn band(mut self, name: impl Into<String>, low: f64, high: f64) -> Self {
        let name = name.into();
        self.bands.push(Band { name, low, high });
        self
    }

    /// Draws the panel into the rectangle at `origin`.
    pub(super) fn draw(&self, svg: &mut Svg, origin: (f64, f64), size: (f64, f64)) {
        if let Some((raster, Extent::Alone)) = &self.raster {
            return self.draw_picture(svg, raster, origin, size);
        }
        let points = || self.series.iter().flat_map(|s| &s.points);
        let ends = self.bands.iter().flat_map(|b| [b.low, b.high]);
        let (behind_x, behind_y) = self.background_ends();
        let x = self
            .x
            .scale(points().map(|p| p.0).chain(ends).chain(behind_x));
        let stands = self.series.iter().any(Series::stands);
        let bars = self.series.iter().flat_map(Series::bar_ends);
        // stems need the zero they stand on
        let others = bars.chain(stands.then_some(0.0));
        let y = self
            .y
            .scale(points().map(|p| p.1).chain(others).chain(behind_y));
        let rows = self.legend_rows(size.0);
        let head = self.title_height() + LEGEND_ROW * rows.len() as f64 + GAP;
        // names stand upright, and need the room of the longest
        let foot = 44.0 + self.x.longest_name(TICK_SIZE);
        let height = (size.1 - head - foot).max(40.0);
        let y_ticks = y.ticks(whole(height / 45.0));
        let widest = y_ticks.iter().map(label_width).fold(0.0, f64::max);
        let left = 22.0 + widest + GAP;
        let width = (size.0 - left - 8.0).max(40.0);
        let area = Area {
            left: origin.0 + left,
            top: origin.1 + head,
            width,
            height,
        };
        let x_ticks = self.x.ticks(&x, whole(width / 75.0));

        let title = Text::new(TITLE_SIZE).bold();
        svg.text(area.left, origin.1 + 10.0, &title, &self.title);
        self.draw_legend(svg, &rows, area.left, origin.1 + self.title_height());
        self.draw_background(svg, &area, x, y);
        self.draw_bands(svg, &area, x);
        draw_grid(svg, &area, &x_ticks, &y_ticks);
        self.draw_series(svg, &area, x, y);
        for (text, at, height) in &self.labels {
            if let (Some(at), Some(height)) = (x.place(*at), y.place(*height)) {
                let style = Text::new(TITLE_SIZE).bold().anchor(Anchor::Middle);
                svg.text(
                    area.across(at),
                    area.up(height) + 0.36 * TITLE_SIZE,
                    &style,
                    text,
                );
            }
        }
        svg.frame(area.left, area.top, area.width, area.height, FRAME);
        draw_tick_labels(svg, &area, &x_ticks, &y_ticks, self.x.is_named());
        let label = Text::new(LABEL_SIZE).anchor(Anchor::Middle);
        svg.text(
            area.across(0.5),
            area.bottom() + foot - 8.0,
            &label,
            &self.x.label,
        );
        svg.text(
            origin.0 + 10.0,
            area.up(0.5),
            &label.vertical(),
            &self.y.label,
        );
    }

    /// No title takes no room.
    fn title_height(&self) -> f64 {
        if self.title.is_empty() { 0.0 } else { 14.0 }
    }

    /// The corners of the background, which the axes must reach.
    fn background_ends(&self) -> (Vec<f64>, Vec<f64>) {
        match &self.raster {
            Some((_, Extent::Ranges { x, y })) => (vec![x.0, x.1], vec![y.0, y.1]),
            _ => (Vec::new(), Vec::new()),
        }
    }

    fn draw_background(&self, svg: &mut Svg, area: &Area, x: Scale, y: Scale) {
        let Some((raster, Extent::Ranges { x: xs, y: ys })) = &self.raster else {
            return;
        };
        let ends = (x.place(xs.0), x.place(xs.1), y.place(ys.0), y.place(ys.1));
        if let (Some(left), Some(right), Some(low), Some(high)) = ends {
            let corner = (area.across(left), area.up(high));
            let size = ((right - left) * area.width, (high - low) * area.height);
            raster.draw(svg, corner, size);
        }
    }

    /// A raster alone, as large as fits.
    fn draw_picture(&self, svg: &mut Svg, raster: &Raster, origin: (f64, f64), size: (f64, f64)) {
        let title = Text::new(TITLE_SIZE).bold();
        svg.text(origin.0, origin.1 + 10.0, &title, &self.title);
        let beside = if self.grey_bar.is_some() { 56.0 } else { 0.0 };
        let (width, height) = (size.0 - beside, size.1 - 14.0 - GAP);
        let width = width.min(height * raster.aspect());
        let shown = (width, width / raster.aspect());
        let corner = (origin.0, origin.1 + 14.0 + GAP);
        raster.draw(svg, corner, shown);
        svg.frame(corner.0, corner.1, shown.0, shown.1, FRAME);
        if let Some(range) = self.grey_bar {
            let area = Area {
                left: corner.0 + shown.0 + 2.0 * GAP,
                top: corner.1,
                width: 10.0,
                height: shown.1,
            };
            draw_grey_bar(svg, &area, range);
        }
    }

    fn draw_bands(&self, svg: &mut Svg, area: &Area, x: Scale) {
        for band in &self.bands {
            if let (Some(low), Some(high)) = (x.nearest(band.low), x.nearest(band.high)) {
                let width = (high - low) * area.width;
                shade(svg, (area.across(low), area.top), (width, area.height));
            }
        }
    }

    fn draw_series(&self, svg: &mut Svg, area: &Area, x: Scale, y: Scale) {
        let base = y.place(0.0).map_or(area.bottom(), |at| area.up(at));
        for (i, series) in self.series.iter().enumerate() {
            let placed: Vec<Option<(f64, f64)>> = series
                .points
                .iter()
                .map(|(px, py)| Some((area.across(x.place(*px)?), area.up(y.place(*py)?))))
                .collect();
            let bars: Vec<Option<Bar>> = placed
                .iter()
                .zip(&series.bars)
                .map(|(at, (low, high))| {
                    Some(Bar {
                        x: (*at)?.0,
                        low: area.up(y.nearest(*low)?),
                        high: area.up(y.nearest(*high)?),
                        ends: (y.place(*low).is_some(), y.place(*high).is_some()),
                    })
                })
                .collect();
            series.draw_bars(svg, i, &bars);
            series.draw(svg, i, &placed, base);
        }
    }

    /// The names of the series, then of the bands.
    fn names(&self) -> impl Iterator<Item = &str> {
        let series = self.series.iter().map(|s| s.name.as_str());
        series.chain(self.bands.iter().map(|b| b.name.as_str()))
    }

    /// The named series and bands in rows that fit the width, each with its distance from the left.
    /// Bands count on from the series.
    pub(super) fn legend_rows(&self, width: f64) -> Vec<Vec<(usize, f64)>> {
        let mut rows: Vec<Vec<(usize, f64)>> = Vec::new();
        let mut free = 0.0;
        let named = self.names().enumerate().filter(|(_, n)| !n.is_empty());
        for (i, name) in named {
            let entry = SAMPLE + GAP + text_width(name, LABEL_SIZE) + 3.0 * GAP;
            match rows.last_mut() {
                Some(row) if free + entry <= width - 60.0 => row.push((i, free)),
                _ => {
                    rows.push(vec![(i, 0.0)]);
                    free = 0.0;
                }
            }
            free += entry;
        }
        rows
    }

    fn draw_legend(&self, svg: &mut Svg, rows: &[Vec<(usize, f64)>], left: f64, top: f64) {
        let names: Vec<&str> = self.names().collect();
        for (k, row) in rows.iter().enumerate() {
            let y = top + LEGEND_ROW * (k as f64 + 0.5);
            for (i, offset) in row {
                let x = left + offset;
                match self.series.get(*i) {
                    Some(series) => series.draw_sample(svg, *i, (x, y), SAMPLE),
                    None => shade(svg, (x, y - 6.0), (SAMPLE, 12.0)),
                }
                let style = Text::new(LABEL_SIZE);
                svg.text(x + SAMPLE + GAP, y + 0.36 * LABEL_SIZE, &style, names[*i]);
            }
        }
    }
}

/// Grey levels from black at the bottom to white, with the numbers they stand for.
fn draw_grey_bar(svg: &mut Svg, area: &Area, (black, white): (f64, f64)) {
    let levels: Vec<f64> = (0..64).rev().map(f64::from).collect();
    let raster = Raster::grey(1, &levels, (0.0, 63.0));
    raster.draw(svg, (area.left, area.top), (area.width, area.height));
    svg.frame(area.left, area.top, area.width, area.height, FRAME);
    let scale = Axis::linear("").range(black, white).scale([].into_iter());
    let beside = Text::new(TICK_SIZE);
    for tick in scale.ticks(whole(area.height / 60.0)) {
        let y = area.up(tick.at) + 0.36 * TICK_SIZE;
        draw_label(svg, area.right() + GAP, y, &beside, &tick.label);
    }
}

/// Lines across the area at labelled ticks, short strokes at the others.
fn draw_grid(svg: &mut Svg, area: &Area, x_ticks: &[Tick], y_ticks: &[Tick]) {
    let (mut grid, mut minor) = (String::new(), String::new());
    // writing to a string cannot fail
    for tick in x_ticks {
        let (x, bottom) = (Px(area.across(tick.at)), Px(area.bottom()));
        let _ = match tick.label {
            Label::None => write!(minor, "M{x} {bottom}v-4"),
            _ => write!(grid, "M{x} {bottom}V{}", Px(area.top)),
        };
    }
    for tick in y_ticks {
        let (left, y) = (Px(area.left), Px(area.up(tick.at)));
        let _ = match tick.label {
            Label::None => write!(minor, "M{left} {y}h4"),
            _ => write!(grid, "M{left} {y}H{}", Px(area.right())),
        };
    }
    svg.path(&grid, Stroke::thin(GRID), "none");
    svg.path(&minor, Stroke::thin(FRAME), "none");
}

fn draw_tick_labels(svg: &mut Svg, area: &Area, x_ticks: &[Tick], y_ticks: &[Tick], upright: bool) {
    let (below, right, down) = if upright {
        let below = Text::new(TICK_SIZE).anchor(Anchor::End);
        (below.vertical(), 0.36 * TICK_SIZE, GAP)
    } else {
        (Text::new(TICK_SIZE).anchor(Anchor::Middle), 0.0, 16.0)
    };
    for tick in x_ticks {
        draw_label(
            svg,
            area.across(tick.at) + right,
            area.bottom() + down,
            &below,
            &tick.label,
        );
    }
    let beside = Text::new(TICK_SIZE).anchor(Anchor::End);
    for tick in y_ticks {
        let y = area.up(tick.at) + 0.36 * TICK_SIZE;
        draw_label(svg, area.left - GAP, y, &beside, &tick.label);
    }
}

fn draw_label(svg: &mut Svg, x: f64, y: f64, style: &Text, label: &Label) {
    match label {
        Label::None => {}
        Label::Plain(text) => svg.text(x, y, style, text),
        Label::Power { base, exponent } => svg.power(x, y, style, base, *exponent),
    }
}

fn label_width(tick: &Tick) -> f64 {
    match &tick.label {
        Label::None => 0.0,
        Label::Plain(text) => text_width(text, TICK_SIZE),
        Label::Power { base, exponent } => {
            text_width(base, TICK_SIZE) + text_width(&exponent.to_string(), 0.75 * TICK_SIZE)
        }
    }
}

/// A number of ticks.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few, never negative"
)]
fn whole(x: f64) -> usize {
    x.clamp(2.0, 20.0) as usize
}
