//! What is drawn inside a panel: points joined by a line, marked, or standing on stems.

use std::fmt::Write as _;

use super::svg::{Px, Stroke, Svg};

/// Width of the caps of error bars.
const CAP: f64 = 5.0;

/// The inks, each of another darkness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Nearly black.
    Black,
    /// Dark blue.
    Blue,
    /// Orange, of middle darkness.
    Orange,
    /// Light green.
    Green,
    /// Grey.
    Grey,
}

impl Ink {
    /// What a panel gives to series that do not choose, in turn.
    pub(super) const TURN: [Ink; 4] = [Ink::Blue, Ink::Orange, Ink::Green, Ink::Black];

    pub(super) fn hex(self) -> &'static str {
        match self {
            Self::Black => "#1a1a1a",
            Self::Blue => "#12427e",
            Self::Orange => "#e07b1a",
            Self::Green => "#a9d6b9",
            Self::Grey => "#9a9a9a",
        }
    }
}

/// The mark at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A filled disc.
    Dot,
    /// An open circle.
    Circle,
    /// An open square.
    Square,
    /// A cross.
    Cross,
}

/// An error bar in place; an end is capped unless it lies outside the panel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar {
    pub x: f64,
    pub low: f64,
    pub high: f64,
    pub ends: (bool, bool),
}

/// Named points and how they are drawn.
#[derive(Debug, Clone)]
pub struct Series {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) bars: Vec<(f64, f64)>,
    ink: Option<Ink>,
    line: bool,
    dashed: bool,
    stems: bool,
    mark: Option<Mark>,
    size: f64,
}

impl Series {
    fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points: points.into_iter().collect(),
            bars: Vec::new(),
            ink: None,
            line: false,
            dashed: false,
            stems: false,
            mark: None,
            size: 6.0,
        }
    }

    /// It has no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Points joined by a line.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            line: true,
            ..Self::new(name, points)
        }
    }

    /// Points alone, as discs.
    pub fn marks(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self::new(name, points).mark(Mark::Dot)
    }

    /// Open circles on stems that rise from zero.
    pub fn stems(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            stems: true,
            ..Self::new(name, points).mark(Mark::Circle)
        }
    }

    /// Marks the points.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// The diameter of the marks (6).
    #[must_use]
    pub fn size(mut self, size: f64) -> Self {
        self.size = size;
        self
    }

    /// Breaks the line into dashes.
    #[must_use]
    pub fn dashed(mut self) -> Self {
        self.dashed = true;
        self
    }

    /// Chooses the ink; otherwise the panel does.
    #[must_use]
    pub fn ink(mut self, ink: Ink) -> Self {
        self.ink = Some(ink);
        self
    }

    /// Error bars: the lowest and the highest value at each point, in the order of the points. A bar
    /// that leaves the panel (at zero on a logarithmic axis, say) ends at its edge, without a cap.
    #[must_use]
    pub fn bars(mut self, ranges: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.bars = ranges.into_iter().collect();
        self
    }

    /// The ends of the error bars.
    pub(super) fn bar_ends(&self) -> impl Iterator<Item = f64> {
        let bars = self.bars.iter().take(self.points.len());
        bars.flat_map(|(low, high)| [*low, *high])
    }

    fn hex(&self, turn: usize) -> &'static str {
        self.ink.unwrap_or(Ink::TURN[turn % Ink::TURN.len()]).hex()
    }

    /// Draws error bars that are already in place.
    pub(super) fn draw_bars(&self, svg: &mut Svg, turn: usize, bars: &[Option<Bar>]) {
        let mut path = String::new();
        let left = |x: f64| Px(x - CAP / 2.0);
        for bar in bars.iter().flatten() {
            let (low, high) = (Px(bar.low), Px(bar.high));
            // writing to a string cannot fail
            let _ = write!(path, "M{} {low}V{high}", Px(bar.x));
            if bar.ends.0 {
                let _ = write!(path, "M{} {low}h{CAP}", left(bar.x));
            }
            if bar.ends.1 {
                let _ = write!(path, "M{} {high}h{CAP}", left(bar.x));
            }
        }
        let stroke = Stroke {
            width: 1.2,
            ..Stroke::thin(self.hex(turn))
        };
        svg.path(&path, stroke, "none");
    }

    /// It stands on stems.
    pub(super) fn stands(&self) -> bool {
        self.stems
    }

    /// Draws how it looks, `length` wide, starting at a point at half height: a line along it, marks
    /// in the middle.
    pub(super) fn draw_sample(&self, svg: &mut Svg, turn: usize, start: (f64, f64), length: f64) {
        let (x, y) = start;
        let middle = Some((x + length / 2.0, y));
        let ends = [Some((x, y)), Some((x + length, y))];
        if self.line {
            let bare = Self {
                mark: None,
                ..self.clone_style()
            };
            bare.draw(svg, turn, &ends, y);
        }
        if !self.bars.is_empty() {
            let bar = Bar {
                x: x + length / 2.0,
                low: y + 7.0,
                high: y - 7.0,
                ends: (true, true),
            };
            self.draw_bars(svg, turn, &[Some(bar)]);
        }
        let marks = Self {
            line: false,
            ..self.clone_style()
        };
        marks.draw(svg, turn, &[middle], y + 6.0);
    }

    /// The same look, without points.
    fn clone_style(&self) -> Self {
        Self {
            name: String::new(),
            points: Vec::new(),
            bars: Vec::new(),
            ..*self
        }
    }

    /// Draws points that are already in place, `None` where one could not be placed. Stems rise
    /// from `base`.
    pub(super) fn draw(
        &self,
        svg: &mut Svg,
        turn: usize,
        points: &[Option<(f64, f64)>],
        base: f64,
    ) {
        let ink = self.hex(turn);
        let (mut line, mut stems, mut marks) = (String::new(), String::new(), String::new());
        let mut pen_down = false;
        for point in points {
            let Some((x, y)) = *point else {
                pen_down = false;
                continue;
            };
            let (px, py) = (Px(x), Px(y));
            let command = if pen_down { 'L' } else { 'M' };
            pen_down = true;
            // writing to a string cannot fail
            let _ = write!(line, "{command}{px} {py}");
            let _ = write!(stems, "M{px} {}V{py}", Px(base));
            if let Some(mark) = self.mark {
                self.outline(mark, x, y, &mut marks);
            }
        }
        if self.stems {
            svg.path(&stems, Stroke::thin(ink), "none");
        }
        if self.line {
            let stroke = Stroke {
                width: 1.8,
                dashed: self.dashed,
                round: !self.dashed,
                ..Stroke::thin(ink)
            };
            svg.path(&line, stroke, "none");
        }
        let filled = self.mark == Some(Mark::Dot);
        let stroke = Stroke {
            width: if filled { self.size } else { 1.4 },
            round: filled,
            ..Stroke::thin(ink)
        };
        let open_on_line = self.line && self.mark != Some(Mark::Cross) && !filled;
        svg.path(
            &marks,
            stroke,
            if open_on_line { "#ffffff" } else { "none" },
        );
    }

    fn outline(&self, mark: Mark, x: f64, y: f64, out: &mut String) {
        let r = self.size / 2.0;
        let (left, top, d) = (Px(x - r), Px(y - r), Px(2.0 * r));
        let _ = match mark {
            // a segment without length and with round ends
            Mark::Dot => write!(out, "M{} {}h0", Px(x), Px(y)),
            Mark::Circle => {
                // four cubics; 0.5523 r is where their handles end
                let (k, y) = (Px(0.5523 * r), Px(y));
                let r = Px(r);
                let rest = Px(0.4477 * r.0);
                write!(
                    out,
                    "M{left} {y}c0 -{k} {rest} -{r} {r} -{r}c{k} 0 {r} {rest} {r} {r}\
                     c0 {k} -{rest} {r} -{r} {r}c-{k} 0 -{r} -{rest} -{r} -{r}z"
                )
            }
            Mark::Square => write!(out, "M{left} {top}h{d}v{d}h-{d}z"),
            Mark::Cross => write!(out, "M{left} {top}l{d} {d}M{left} {}l{d} -{d}", Px(y + r)),
        };
    }
}
