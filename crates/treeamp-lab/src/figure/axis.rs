//! Axes: from the data to a range, from the range to ticks that a reader likes.

/// Numbers beyond this are treated as not finite: their differences would overflow.
const LARGEST: f64 = 1e300;
/// Numbers below this are zero.
const SMALLEST: f64 = 1e-300;
/// Free space at each end, as a fraction of the axis.
const PADDING: f64 = 0.04;

/// An axis: its label and its scale. The range is that of the data unless given.
#[derive(Debug, Clone)]
pub struct Axis {
    pub(super) label: String,
    log: bool,
    integer: bool,
    range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            log: false,
            integer: false,
            range: None,
        }
    }

    /// A logarithmic axis. Numbers that are not positive have no place on it.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            log: true,
            ..Self::linear(label)
        }
    }

    /// Ticks at integers only.
    #[must_use]
    pub fn integer(mut self) -> Self {
        self.integer = true;
        self
    }

    /// Fixes the range, which must be finite, and positive on a logarithmic axis; otherwise the
    /// data decide as usual.
    #[must_use]
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// The scale for these data.
    pub(super) fn scale(&self, data: impl Iterator<Item = f64>) -> Scale {
        let usable = |x: &f64| x.abs() < LARGEST && (!self.log || *x > SMALLEST);
        let given = self.range.filter(|(a, b)| usable(a) && usable(b) && a < b);
        let padding = if given.is_some() { 0.0 } else { PADDING };
        let (low, high) = given.unwrap_or_else(|| {
            let whole = data.filter(usable).fold(None, |range, x| match range {
                None => Some((x, x)),
                Some((a, b)) => Some((x.min(a), x.max(b))),
            });
            widen(whole, self.log)
        });
        let (low, high) = if self.log {
            (low.log10(), high.log10())
        } else {
            (low, high)
        };
        let pad = padding * (high - low);
        Scale {
            low: low - pad,
            high: high + pad,
            log: self.log,
            integer: self.integer,
        }
    }
}

/// A range that has a width: around a constant, and something for no data at all.
fn widen(range: Option<(f64, f64)>, log: bool) -> (f64, f64) {
    match (range, log) {
        (None, true) => (0.1, 10.0),
        (None, false) => (0.0, 1.0),
        (Some((a, b)), true) if b / a < 1.0 + 1e-9 => (a / 10.0, b * 10.0),
        (Some((a, b)), false) if b - a <= 1e-9 * a.abs().max(b.abs()) || b - a < SMALLEST => {
            let half = if a.abs() < SMALLEST {
                1.0
            } else {
                0.5 * a.abs()
            };
            (a - half, b + half)
        }
        (Some(range), _) => range,
    }
}

/// A resolved axis; `low` and `high` are exponents of ten when it is logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    integer: bool,
}

/// The text at a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Label {
    /// A minor tick has none.
    None,
    Plain(String),
    /// `base` to the power of `exponent`, `base` ending in 10.
    Power {
        base: String,
        exponent: i32,
    },
}

/// A tick, placed as a fraction of the axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub at: f64,
    pub label: Label,
}

impl Scale {
    /// The place of a number as a fraction of the axis, `None` when it has none. Numbers outside
    /// the range (which only a given range leaves out) have none either.
    pub fn place(&self, x: f64) -> Option<f64> {
        let x = if self.log { x.log10() } else { x };
        let at = (x - self.low) / (self.high - self.low);
        (-1e-9..=1.0 + 1e-9).contains(&at).then_some(at)
    }

    /// About `count` labelled ticks, in increasing order.
    pub fn ticks(&self, count: usize) -> Vec<Tick> {
        let count = count.clamp(2, 20);
        if !self.log {
            return self.nice(self.low, self.high, count);
        }
        let (first, last) = (self.low.ceil(), self.high.floor());
        if last - first < 1.0 {
            return self.within_a_decade(count);
        }
        let every = ((last - first) / count as f64).ceil().max(1.0);
        let minor = every < 2.0 && last - first <= 8.0;
        let mut ticks = Vec::new();
        let mut power = (self.low / every).floor() * every;
        while power <= last {
            let base = "10".to_owned();
            let exponent = to_i32(power);
            self.push(
                &mut ticks,
                10f64.powf(power),
                Label::Power { base, exponent },
            );
            for digit in 2..10 {
                if minor {
                    self.push(
                        &mut ticks,
                        f64::from(digit) * 10f64.powf(power),
                        Label::None,
                    );
                }
            }
            power += every;
        }
        ticks
    }

    /// At most one power of ten in sight: 1, 2 and 5 times powers of ten, or multiples of a step when
    /// even those are too far apart.
    fn within_a_decade(&self, count: usize) -> Vec<Tick> {
        let mut ticks = Vec::new();
        let mut labels = 0;
        for exponent in to_i32(self.low.floor())..=to_i32(self.high.floor()) {
            for digit in 1..10 {
                let x = f64::from(digit) * 10f64.powi(exponent);
                let labelled = [1, 2, 5].contains(&digit);
                labels += usize::from(labelled && self.place(x).is_some());
                let label = match (labelled, (-3..5).contains(&exponent)) {
                    (false, _) => Label::None,
                    (true, true) => Label::Plain(x.to_string()),
                    (true, false) => scientific(x, exponent),
                };
                self.push(&mut ticks, x, label);
            }
        }
        if labels < 3 {
            return self.nice(10f64.powf(self.low), 10f64.powf(self.high), count);
        }
        ticks
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn nice(&self, low: f64, high: f64, count: usize) -> Vec<Tick> {
        let rough = (high - low) / count as f64;
        let mut exponent = rough.log10().floor();
        let mut digit = match rough / 10f64.powf(exponent) {
            m if m < 1.5 => 1.0,
            m if m < 3.5 => 2.0,
            m if m < 7.5 => 5.0,
            _ => 10.0,
        };
        if digit > 9.0 {
            (digit, exponent) = (1.0, exponent + 1.0);
        }
        if self.integer && exponent < 0.0 {
            (digit, exponent) = (1.0, 0.0);
        }
        let step = digit * 10f64.powf(exponent);
        let exponent = to_i32(exponent);
        let largest = low.abs().max(high.abs());
        let plain = largest < 1e6 && exponent >= -4;
        let mut ticks = Vec::new();
        let start = (low / step).ceil();
        for k in 0..=2 * count {
            let x = (start + k as f64) * step;
            if x > high {
                break;
            }
            let x = if x.abs() < 1e-9 * step { 0.0 } else { x };
            let label = if plain {
                let decimals = usize::try_from(-exponent).unwrap_or(0);
                Label::Plain(minus(&format!("{x:.decimals$}")))
            } else {
                scientific(x, exponent)
            };
            self.push(&mut ticks, x, label);
        }
        ticks
    }

    fn push(&self, ticks: &mut Vec<Tick>, x: f64, label: Label) {
        if let Some(at) = self.place(x) {
            ticks.push(Tick { at, label });
        }
    }
}

/// $c \cdot 10^k$ with as many digits as the last digit of the step asks for.
fn scientific(x: f64, last: i32) -> Label {
    if x == 0.0 {
        return Label::Plain("0".to_owned());
    }
    let exponent = to_i32((x.abs() * (1.0 + 1e-12)).log10().floor());
    let decimals = usize::try_from(exponent - last).unwrap_or(0).min(15);
    let c = x / 10f64.powi(exponent);
    Label::Power {
        base: minus(&format!("{c:.decimals$}·10")),
        exponent,
    }
}

/// A true minus sign.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}

/// Exponents lie within 400 of zero.
#[expect(
    clippy::cast_possible_truncation,
    reason = "exponents of finite numbers are small"
)]
fn to_i32(x: f64) -> i32 {
    x.round_ties_even().clamp(-400.0, 400.0) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, data: &[f64], count: usize) -> Vec<String> {
        let ticks = axis.scale(data.iter().copied()).ticks(count);
        assert!(ticks.windows(2).all(|w| w[0].at < w[1].at));
        assert!(ticks.iter().all(|t| (-1e-9..=1.0 + 1e-9).contains(&t.at)));
        let text = |t: Tick| match t.label {
            Label::None => None,
            Label::Plain(text) => Some(text),
            Label::Power { base, exponent } => Some(format!("{base}^{exponent}")),
        };
        ticks.into_iter().filter_map(text).collect()
    }

    #[test]
    fn linear_ticks_are_round() {
        let axis = Axis::linear("x");
        assert_eq!(
            labels(&axis, &[0.0, 1000.0], 5),
            ["0", "200", "400", "600", "800", "1000"]
        );
        assert_eq!(labels(&axis, &[-0.25, 0.25], 3), ["−0.2", "0.0", "0.2"]);
        assert_eq!(labels(&axis, &[0.0, 2e-5], 2), ["0", "1·10^-5", "2·10^-5"]);
        assert_eq!(
            labels(&axis, &[0.0, 3e7], 3),
            ["0", "1·10^7", "2·10^7", "3·10^7"]
        );
    }

    #[test]
    fn integer_ticks_stay_integers() {
        let axis = Axis::linear("sweep").integer();
        assert_eq!(labels(&axis, &[0.0, 3.0], 10), ["0", "1", "2", "3"]);
        assert_eq!(labels(&axis, &[1.0, 1.0], 10), ["1"]);
    }

    #[test]
    fn log_ticks_are_powers_or_plain() {
        let axis = Axis::log("error");
        let powers = ["10^-4", "10^-3", "10^-2", "10^-1", "10^0"];
        assert_eq!(labels(&axis, &[1e-4, 1.0], 6), powers);
        assert_eq!(labels(&axis, &[1e-30, 1.0], 3).len(), 3);
        assert_eq!(
            labels(&axis, &[2.5e-3, 0.06], 5),
            ["0.005", "0.01", "0.02", "0.05"]
        );
        assert!(labels(&axis, &[1.1, 1.3], 5).len() >= 3);
    }

    #[test]
    fn degenerate_data_have_axes() {
        let hard: [&[f64]; 10] = [
            &[],
            &[0.0],
            &[-0.0, 0.0],
            &[5.0, 5.0],
            &[-1e-310, 1e-310],
            &[f64::NAN],
            &[f64::INFINITY, f64::NEG_INFINITY],
            &[-1e308, 1e308],
            &[1.0, 1.0 + 1e-15],
            &[1e299, -1e299],
        ];
        for data in hard {
            for axis in [
                Axis::linear("x"),
                Axis::log("x"),
                Axis::linear("x").integer(),
            ] {
                let scale = axis.scale(data.iter().copied());
                assert!(scale.low < scale.high, "{data:?} {scale:?}");
                assert!(!labels(&axis, data, 6).is_empty(), "{data:?} {scale:?}");
            }
        }
    }

    #[test]
    fn what_has_no_place_has_none() {
        let log = Axis::log("x").scale([1.0, 10.0].into_iter());
        assert_eq!(log.place(0.0), None);
        assert_eq!(log.place(-1.0), None);
        assert_eq!(log.place(f64::NAN), None);
        assert!(log.place(10.0).is_some_and(|at| at < 1.0));
        let given = Axis::linear("x").range(0.0, 1.0).scale([5.0].into_iter());
        assert_eq!(given.place(0.5), Some(0.5));
        assert_eq!(given.place(2.0), None);
        // a range without width is no range
        assert!(
            Axis::linear("x")
                .range(1.0, 1.0)
                .scale([5.0].into_iter())
                .place(5.0)
                .is_some()
        );
    }
}
