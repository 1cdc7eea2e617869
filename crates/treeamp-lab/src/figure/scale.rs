//! A resolved axis: places of numbers, and ticks that a reader likes.

/// A resolved axis; `low` and `high` are exponents of ten when it is logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
    pub integer: bool,
    /// On a logarithmic axis: numbers from zero to the first of these stand at the second.
    pub zero: Option<(f64, f64)>,
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
        let x = self.along(x);
        let at = (x - self.low) / (self.high - self.low);
        (-1e-9..=1.0 + 1e-9).contains(&at).then_some(at)
    }

    /// The nearest place on the axis; `None` for NaN only.
    pub fn nearest(&self, x: f64) -> Option<f64> {
        if x.is_nan() {
            return None;
        }
        let x = self.along(if self.log { x.max(0.0) } else { x });
        Some(((x - self.low) / (self.high - self.low)).clamp(0.0, 1.0))
    }

    /// A number as the axis counts it.
    fn along(&self, x: f64) -> f64 {
        match self.zero {
            Some((largest, at)) if (0.0..=largest).contains(&x) => at,
            _ if self.log => x.log10(),
            _ => x,
        }
    }

    /// About `count` labelled ticks, in increasing order.
    pub fn ticks(&self, count: usize) -> Vec<Tick> {
        let mut ticks = self.number_ticks(count);
        if let Some(at) = self.zero.and_then(|_| self.place(0.0)) {
            // numbers begin well above the zero
            let apart = 0.05;
            ticks.retain(|t| t.at > at + apart);
            let label = Label::Plain("0".to_owned());
            ticks.insert(0, Tick { at, label });
        }
        ticks
    }

    fn number_ticks(&self, count: usize) -> Vec<Tick> {
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
    use super::super::Axis;
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
}
