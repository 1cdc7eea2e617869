//! Axes: a label, and the way from the data to a range that has a width.

use super::scale::{Label, Scale, Tick};
use super::svg::text_width;

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
    zero: bool,
    range: Option<(f64, f64)>,
    names: Vec<String>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            log: false,
            integer: false,
            zero: false,
            range: None,
            names: Vec::new(),
        }
    }

    /// A logarithmic axis. Numbers that are not positive have no place on it.
    pub fn log(label: impl Into<String>) -> Self {
        Self {
            log: true,
            ..Self::linear(label)
        }
    }

    /// Gives zeros a place at the lower end of a logarithmic axis, marked 0, as errors of exact recoveries need it. What
    /// is below the rounding of the largest number counts as zero.
    #[must_use]
    pub fn with_zero(mut self) -> Self {
        self.zero = self.log;
        self
    }

    /// Ticks at integers only.
    #[must_use]
    pub fn integer(mut self) -> Self {
        self.integer = true;
        self
    }

    /// Names in place of the integers from zero; long ones are cut.
    #[must_use]
    pub fn named<T: AsRef<str>>(mut self, names: &[T]) -> Self {
        /// A longer name would take the room of the picture.
        const LONGEST: usize = 20;
        let cut = |name: &T| {
            let name = name.as_ref();
            match name.char_indices().nth(LONGEST) {
                None => name.to_owned(),
                Some((end, _)) => format!("{}…", &name[..end]),
            }
        };
        self.names = names.iter().map(cut).collect();
        self.integer()
    }

    /// About `count` ticks of a scale of this axis, or one for every name.
    pub(super) fn ticks(&self, scale: &Scale, count: usize) -> Vec<Tick> {
        if self.names.is_empty() {
            return scale.ticks(count);
        }
        let named = self.names.iter().enumerate();
        let ticks = named.filter_map(|(k, name)| {
            let label = Label::Plain(name.clone());
            scale.place(k as f64).map(|at| Tick { at, label })
        });
        ticks.collect()
    }

    /// The room that upright names take beyond that of numbers.
    pub(super) fn longest_name(&self, size: f64) -> f64 {
        let widths = self.names.iter().map(|name| text_width(name, size));
        let longest = widths.fold(0.0, f64::max);
        (longest - size).max(0.0)
    }

    /// Its ticks have names.
    pub(super) fn is_named(&self) -> bool {
        !self.names.is_empty()
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
        let data: Vec<f64> = data.collect();
        let largest = data.iter().copied().filter(|x| x.abs() < LARGEST);
        let rounding = f64::EPSILON * largest.fold(0.0, f64::max);
        let is_zero = |x: &f64| self.zero && (0.0..=rounding).contains(x);
        let zeros = data.iter().any(is_zero);
        let data = data.into_iter().filter(|x| !is_zero(x));
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
        // zeros stand a decade below the smallest number, or a tenth of the axis
        let low = if zeros {
            low - ((high - low) / 10.0).max(1.0)
        } else {
            low
        };
        let pad = padding * (high - low);
        Scale {
            low: low - pad,
            high: high + pad,
            log: self.log,
            integer: self.integer,
            zero: zeros.then_some((rounding, low)),
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

#[cfg(test)]
mod tests {
    use super::*;

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
                let ticks = scale.ticks(6);
                assert!(!ticks.is_empty() && ticks.len() < 60, "{data:?} {scale:?}");
            }
        }
    }

    /// Exact recoveries stay on the picture, below everything else.
    #[test]
    fn zeros_have_a_place_where_they_are_asked_for() {
        let data = [0.0, 1e-3, 1.0, 1e-40];
        let scale = Axis::log("error").with_zero().scale(data.into_iter());
        let place = |x: f64| scale.place(x).expect("a place");
        assert!(place(0.0) > 0.0 && place(0.0) < place(1e-3) && place(1e-3) < place(1.0));
        assert!((place(1e-40) - place(0.0)).abs() < 1e-12);
        assert_eq!(scale.place(-1.0), None);
        let ticks = scale.ticks(6);
        assert_eq!(
            ticks[0].label,
            super::super::scale::Label::Plain("0".to_owned())
        );
        assert!((ticks[0].at - place(0.0)).abs() < 1e-12 && ticks[1].at > ticks[0].at);
        // nothing changes where there is none, and nothing but zeros is an axis too
        let plain = Axis::log("error").scale([1e-3, 1.0].into_iter());
        let asked = Axis::log("error")
            .with_zero()
            .scale([1e-3, 1.0].into_iter());
        assert_eq!(plain, asked);
        let only = Axis::log("error").with_zero().scale([0.0, 0.0].into_iter());
        assert!(only.place(0.0).is_some() && !only.ticks(6).is_empty());
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
