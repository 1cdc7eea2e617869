//! Products with the linear parts of the messages on $Z$: every entry is read once per sweep and side.

/// The entries of $Z$: a matrix row by row, or the pairs $i < j$ of a symmetric one, row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    Rectangular { rows: usize, columns: usize },
    Pairs { n: usize },
}

impl Layout {
    /// $N$ of the factor $1/\sqrt N$: the columns of $Z$.
    pub fn columns(self) -> usize {
        match self {
            Self::Rectangular { columns, .. } => columns,
            Self::Pairs { n } => n,
        }
    }

    /// Where row `i` starts; the first entry of a row of pairs is $(i, i+1)$.
    fn start(self, i: usize) -> usize {
        match self {
            Self::Rectangular { columns, .. } => i * columns,
            Self::Pairs { n } => i * (2 * n - i - 1) / 2,
        }
    }

    /// Row `i`, and the column of its first entry.
    fn row<T>(self, i: usize, entries: &[T]) -> (&[T], usize) {
        let (range, first) = self.range(i);
        (&entries[range], first)
    }

    /// The entries of row `i`, and the column of the first.
    pub fn range(self, i: usize) -> (std::ops::Range<usize>, usize) {
        let start = self.start(i);
        match self {
            Self::Rectangular { columns, .. } => (start..start + columns, 0),
            Self::Pairs { n } => (start..start + n - 1 - i, i + 1),
        }
    }

    /// Calls `f` with the place and the entry of everything that meets row `j` of $V$ (or of $U$, `of_first`).
    pub fn line(self, j: usize, of_first: bool, mut f: impl FnMut(usize, usize)) {
        match self {
            Self::Rectangular { columns, .. } if of_first => {
                (0..columns).for_each(|i| f(i, j * columns + i));
            }
            Self::Rectangular { rows, columns } => {
                (0..rows).for_each(|i| f(i, i * columns + j));
            }
            Self::Pairs { n } => {
                (0..j).for_each(|i| f(i, self.start(i) + j - i - 1));
                (j + 1..n).for_each(|i| f(i, self.start(j) + i - j - 1));
            }
        }
    }

    pub fn rows(self) -> usize {
        match self {
            Self::Rectangular { rows, .. } => rows,
            Self::Pairs { n } => n,
        }
    }

    /// The lengths of what a product takes and gives.
    pub fn ends(self, transposed: bool) -> (usize, usize) {
        if transposed {
            (self.rows(), self.columns())
        } else {
            (self.columns(), self.rows())
        }
    }
}

/// A dot product in eight sums: independent of anything but the length.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, ys) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: f64 = xs
        .remainder()
        .iter()
        .zip(ys.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in xs.zip(ys) {
        for k in 0..8 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// The dot product of `b` with `x`, while `b` times `factor` is added to `y`.
fn dot_and_add(b: &[f64], x: &[f64], factor: f64, y: &mut [f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (bs, xs) = (b.chunks_exact(8), x.chunks_exact(8));
    let (b_rest, x_rest) = (bs.remainder(), xs.remainder());
    let mut ys = y.chunks_exact_mut(8);
    for ((b, x), y) in bs.zip(xs).zip(ys.by_ref()) {
        for k in 0..8 {
            sums[k] += b[k] * x[k];
            y[k] += factor * b[k];
        }
    }
    let mut rest = 0.0;
    for ((b, x), y) in b_rest.iter().zip(x_rest).zip(ys.into_remainder()) {
        rest += b * x;
        *y += factor * b;
    }
    sums.iter().sum::<f64>() + rest
}

/// $B V$ (`transposed`: $B^T U$) of the entries $B$ with the columns of a matrix, column by column, and $\|B\|^2$ over the entries, which
/// are read once. Of pairs, $B$ is symmetric with a diagonal of zeros.
pub(super) fn multiply(
    layout: Layout,
    entries: &[f64],
    transposed: bool,
    x: &[f64],
    out: &mut [f64],
) -> f64 {
    let (from, to) = layout.ends(transposed);
    out.fill(0.0);
    let mut square = 0.0;
    for i in 0..layout.rows() {
        let (row, first) = layout.row(i, entries);
        square += dot(row, row);
        let columns = x.chunks_exact(from).zip(out.chunks_exact_mut(to));
        for (x, out) in columns {
            match (layout, transposed) {
                (Layout::Rectangular { .. }, false) => out[i] = dot(row, x),
                (Layout::Rectangular { .. }, true) => {
                    let each = out.iter_mut().zip(row);
                    each.for_each(|(o, b)| *o += x[i] * b);
                }
                (Layout::Pairs { .. }, _) => {
                    let sum = dot_and_add(row, &x[first..], x[i], &mut out[first..]);
                    out[i] += sum;
                }
            }
        }
    }
    square
}

/// The mean of the squares of the entries.
pub(super) fn mean_square(entries: &[f64]) -> f64 {
    dot(entries, entries) / (entries.len() as f64).max(1.0)
}
