//! Singular values with their multiplicities.

/// The singular values of an operator in the layout of its coordinates.
///
/// Mode $i$ takes `lanes` consecutive real numbers per column and stands for a number of real degrees
/// of freedom, its multiplicity: 2 for a complex coefficient, 1 for one that a symmetry makes real.
#[derive(Debug, Clone)]
pub struct Modes {
    /// One per mode, or a single one shared by all.
    values: Vec<f64>,
    count: usize,
    lanes: usize,
    /// Multiplicity of mode $i$ is `pattern[i % pattern.len()]`.
    pattern: Vec<u8>,
    /// The sum of the multiplicities, of all modes and of those with $s > 0$.
    total: f64,
    rank: f64,
    mean_square: f64,
    extremes: (f64, f64),
    /// $U$ is square: the modes, zeros included, span the output.
    spans_output: bool,
}

impl Modes {
    /// Modes with a value each, in a layout of `lanes` numbers per mode and multiplicities that
    /// repeat with the length of `pattern`. Zeros are allowed; `outputs` is the number of real outputs.
    #[must_use]
    pub fn new(values: Vec<f64>, lanes: usize, pattern: &[f64], outputs: usize) -> Self {
        let count = values.len();
        Self::build(values, count, lanes, pattern, outputs)
    }

    /// `count` modes that share one singular value, each as many real degrees of freedom as `lanes`.
    #[must_use]
    pub fn constant(value: f64, count: usize, lanes: usize, outputs: usize) -> Self {
        Self::build(vec![value], count, lanes, &[lanes as f64], outputs)
    }

    fn build(
        values: Vec<f64>,
        count: usize,
        lanes: usize,
        pattern: &[f64],
        outputs: usize,
    ) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // one, two, or the lanes
        let small = |w: &f64| *w as u8;
        let mut modes = Self {
            values,
            count,
            lanes,
            pattern: pattern.iter().map(small).collect(),
            total: 0.0,
            rank: 0.0,
            mean_square: 0.0,
            extremes: (0.0, 0.0),
            spans_output: false,
        };
        modes.total = modes.sum(|_| 1.0);
        modes.rank = modes.sum(|s| if s > 0.0 { 1.0 } else { 0.0 });
        modes.mean_square = modes.sum(|s| s * s) / modes.total.max(1.0);
        let ends = (f64::INFINITY, 0.0_f64);
        modes.extremes = modes
            .values
            .iter()
            .fold(ends, |(l, h), s| (l.min(*s), h.max(*s)));
        modes.spans_output = (modes.total - outputs as f64).abs() < 0.5;
        modes
    }

    /// The same modes whose zeros have no place in the output, unless all outputs are seen.
    #[must_use]
    pub fn without_output_zeros(mut self, outputs: usize) -> Self {
        self.spans_output = (self.rank - outputs as f64).abs() < 0.5;
        self
    }

    /// Number of modes in the layout.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Real numbers per mode and column.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Real numbers in the layout, per column.
    #[must_use]
    pub fn layout_len(&self) -> usize {
        self.count * self.lanes
    }

    /// Real degrees of freedom, zeros included, per column.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Real degrees of freedom with $s > 0$, per column.
    #[must_use]
    pub fn rank(&self) -> f64 {
        self.rank
    }

    /// The average of $s^2$ over the modes.
    #[must_use]
    pub fn mean_square(&self) -> f64 {
        self.mean_square
    }

    /// The smallest and the largest singular value.
    #[must_use]
    pub fn extremes(&self) -> (f64, f64) {
        self.extremes
    }

    /// The modes span the output, so that $U$ is square.
    #[must_use]
    pub fn spans_output(&self) -> bool {
        self.spans_output
    }

    /// The singular value of mode $i$.
    #[must_use]
    pub fn value(&self, i: usize) -> f64 {
        self.values[if self.values.len() == 1 { 0 } else { i }]
    }

    /// The real degrees of freedom of mode $i$.
    #[must_use]
    pub fn multiplicity(&self, i: usize) -> f64 {
        f64::from(self.pattern[i % self.pattern.len()])
    }

    /// Singular values and multiplicities, equal ones merged when all are equal.
    pub fn weighted(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let merged = self.values.len() == 1;
        let copies = if merged { self.count as f64 } else { 1.0 };
        let values = self.values.iter().zip(self.pattern.iter().cycle());
        values.map(move |(s, w)| (*s, f64::from(*w) * copies))
    }

    /// $\sum_k f(s_k)$ over real degrees of freedom of one column, in blocks of fixed length.
    pub fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        if self.values.len() == 1 {
            // only uniform patterns share a value
            return self.count as f64 * f64::from(self.pattern[0]) * f(self.values[0]);
        }
        let period = self.pattern.len();
        let block = period * 1024_usize.div_ceil(period);
        let blocks = self.values.chunks(block).map(|values| {
            let weights = self.pattern.iter().cycle();
            values
                .iter()
                .zip(weights)
                .map(|(s, w)| f64::from(*w) * f(*s))
                .sum::<f64>()
        });
        blocks.sum()
    }
}
