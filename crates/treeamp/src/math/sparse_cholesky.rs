//! Sparse Cholesky factors $P = L L^T$ of symmetric matrices of one pattern, and their selected inverses: the entries of $P^{-1}$ on the pattern of
//! $L$, by Takahashi's recursion. Rows are eliminated in the order of a nested dissection, found once.
//!
//! With $\ell_k = L_{kj}/L_{jj}$ and $Z = P^{-1}$, columns from the last to the first:
//! $Z_{rj} = -\sum_{k > j}\ell_k Z_{rk}$ and $Z_{jj} = L_{jj}^{-2} - \sum_{k > j}\ell_k Z_{kj}$. Only entries on the pattern enter.
//!
//! Reference: Erisman and Tinney, "On computing certain elements of the inverse of a sparse matrix", Commun. ACM 18 (1975).

use std::cmp::Ordering;

/// Parts of so few rows are not divided further.
const LEAF: usize = 8;
/// A pivot below this fraction of its diagonal entry, times the number of rows, is rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// No place.
const NONE: u32 = u32::MAX;

/// The pattern of a factor: column $j$ has the rows `rows[starts[j]..starts[j + 1]]`, its own first.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// Place of every row in the order of elimination.
    place: Vec<u32>,
    starts: Vec<usize>,
    rows: Vec<u32>,
    /// Products that a factorisation takes.
    work: f64,
}

/// The neighbours of every row.
type Graph = [Vec<u32>];

#[allow(clippy::cast_possible_truncation)] // patterns of less than 2^32 rows
fn short(i: usize) -> u32 {
    i as u32
}

impl Pattern {
    /// Of a symmetric matrix with entries between neighbours and on its diagonal.
    pub fn new(graph: &Graph) -> Self {
        let n = graph.len();
        let order = dissected(graph);
        let mut place = vec![0; n];
        order
            .iter()
            .enumerate()
            .for_each(|(k, i)| place[*i as usize] = short(k));
        let (mut starts, mut rows) = (vec![0], Vec::new());
        // the first row below the diagonal of a column is where its pattern goes on
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut seen = vec![NONE; n];
        let mut work = 0.0;
        for j in 0..n {
            let own = short(j);
            let first = rows.len();
            rows.push(own);
            seen[j] = own;
            let near = graph[order[j] as usize].iter().map(|i| place[*i as usize]);
            let earlier = std::mem::take(&mut children[j]);
            let below = earlier
                .iter()
                .flat_map(|c| starts[*c as usize]..starts[*c as usize + 1]);
            let below: Vec<u32> = below.map(|q: usize| rows[q]).collect();
            for r in near.chain(below) {
                if r > own && seen[r as usize] != own {
                    seen[r as usize] = own;
                    rows.push(r);
                }
            }
            rows[first..].sort_unstable();
            if let Some(parent) = rows.get(first + 1) {
                children[*parent as usize].push(own);
            }
            work += ((rows.len() - first) as f64).powi(2);
            starts.push(rows.len());
        }
        Self {
            place,
            starts,
            rows,
            work,
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.place.len()
    }

    /// Entries of the factor.
    pub fn entries(&self) -> usize {
        self.rows.len()
    }

    /// Products that a factorisation takes.
    pub fn work(&self) -> f64 {
        self.work
    }

    /// Where the entry of two rows is stored; `None` outside of the pattern.
    pub fn slot(&self, i: usize, j: usize) -> Option<usize> {
        let (p, q) = (self.place[i], self.place[j]);
        let column = p.min(q) as usize;
        let range = self.starts[column]..self.starts[column + 1];
        let found = self.rows[range.clone()].binary_search(&p.max(q)).ok()?;
        Some(range.start + found)
    }

    /// The factor of the matrix with these entries on the pattern, zero where it has none; `None` unless it is positive definite beyond rounding.
    pub fn factor(&self, mut entries: Vec<f64>) -> Option<Factor<'_>> {
        let n = self.len();
        let cut = ROUNDING * n as f64;
        let mut column = vec![0.0; n];
        // columns whose next row is this one, and where they have it
        let (mut waiting, mut next) = (vec![NONE; n], vec![NONE; n]);
        let mut at = vec![0; n];
        for j in 0..n {
            let range = self.starts[j]..self.starts[j + 1];
            for q in range.clone() {
                column[self.rows[q] as usize] = entries[q];
            }
            let diagonal = column[j];
            let mut k = waiting[j];
            while k != NONE {
                let (start, after) = (at[k as usize], next[k as usize]);
                let end = self.starts[k as usize + 1];
                let share = entries[start];
                for (row, l) in self.rows[start..end].iter().zip(&entries[start..end]) {
                    column[*row as usize] -= share * l;
                }
                self.wait(k, start + 1, &mut waiting, &mut next, &mut at);
                k = after;
            }
            if !(column[j] > cut * diagonal) || !column[j].is_finite() {
                return None;
            }
            let root = column[j].sqrt();
            entries[range.start] = root;
            for q in range.start + 1..range.end {
                entries[q] = column[self.rows[q] as usize] / root;
            }
            self.wait(short(j), range.start + 1, &mut waiting, &mut next, &mut at);
        }
        Some(Factor {
            pattern: self,
            l: entries,
        })
    }

    /// Column `k` waits for the row of its entry at `start`.
    fn wait(&self, k: u32, start: usize, waiting: &mut [u32], next: &mut [u32], at: &mut [usize]) {
        if start < self.starts[k as usize + 1] {
            let row = self.rows[start] as usize;
            at[k as usize] = start;
            next[k as usize] = waiting[row];
            waiting[row] = k;
        }
    }
}

/// $L$.
pub(crate) struct Factor<'a> {
    pattern: &'a Pattern,
    l: Vec<f64>,
}

impl Factor<'_> {
    /// $\ln\det P$.
    pub fn log_det(&self) -> f64 {
        let diagonal = self.pattern.starts[..self.pattern.len()].iter();
        2.0 * diagonal.map(|q| self.l[*q].ln()).sum::<f64>()
    }

    /// $P^{-1}b$.
    pub fn solve(&self, b: &[f64]) -> Vec<f64> {
        let Pattern {
            place,
            starts,
            rows,
            ..
        } = self.pattern;
        let n = place.len();
        let mut y = vec![0.0; n];
        place.iter().zip(b).for_each(|(k, b)| y[*k as usize] = *b);
        for j in 0..n {
            let range = starts[j]..starts[j + 1];
            y[j] /= self.l[range.start];
            let own = y[j];
            for q in range.start + 1..range.end {
                y[rows[q] as usize] -= self.l[q] * own;
            }
        }
        for j in (0..n).rev() {
            let below = starts[j] + 1..starts[j + 1];
            let known: f64 = below.map(|q| self.l[q] * y[rows[q] as usize]).sum();
            y[j] = (y[j] - known) / self.l[starts[j]];
        }
        place.iter().map(|k| y[*k as usize]).collect()
    }

    /// $P^{-1}$ on the pattern.
    pub fn selected_inverse(&self) -> Vec<f64> {
        let Pattern { starts, rows, .. } = self.pattern;
        let n = self.pattern.len();
        let mut z = vec![0.0; rows.len()];
        let mut place = vec![NONE; n];
        let (mut shares, mut sums): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        for j in (0..n).rev() {
            let (first, below) = (starts[j], starts[j] + 1..starts[j + 1]);
            let root = self.l[first];
            shares.clear();
            shares.extend(self.l[below.clone()].iter().map(|l| l / root));
            sums.clear();
            sums.resize(shares.len(), 0.0);
            for (t, row) in rows[below.clone()].iter().enumerate() {
                place[*row as usize] = short(t);
            }
            for t in 0..shares.len() {
                let k = rows[below.start + t] as usize;
                let share = shares[t];
                let mut own = share * z[starts[k]];
                for q in starts[k] + 1..starts[k + 1] {
                    let s = place[rows[q] as usize];
                    if s != NONE {
                        sums[s as usize] += share * z[q];
                        own += shares[s as usize] * z[q];
                    }
                }
                sums[t] += own;
            }
            let mut diagonal = 1.0 / (root * root);
            for t in 0..shares.len() {
                z[below.start + t] = -sums[t];
                diagonal += shares[t] * sums[t];
                place[rows[below.start + t] as usize] = NONE;
            }
            z[first] = diagonal;
        }
        z
    }
}

/// An order of elimination: both sides of a separator before it, and so on.
fn dissected(graph: &Graph) -> Vec<u32> {
    let n = graph.len();
    let mut search = Search {
        graph,
        part: vec![0; n],
        level: vec![NONE; n],
    };
    // from the last to the first
    let mut order = Vec::with_capacity(n);
    let mut parts = 0;
    let mut todo = vec![(0..n).map(short).collect::<Vec<u32>>()];
    while let Some(rows) = todo.pop() {
        parts += 1;
        rows.iter().for_each(|i| search.part[*i as usize] = parts);
        match search.divided(&rows) {
            Some((separator, sides)) => {
                order.extend(separator);
                todo.extend(sides.into_iter().filter(|side| !side.is_empty()));
            }
            None => order.extend(rows),
        }
    }
    order.reverse();
    order
}

/// Breadth-first levels inside of a part.
struct Search<'a> {
    graph: &'a Graph,
    part: Vec<u32>,
    level: Vec<u32>,
}

impl Search<'_> {
    /// Rows in the order of their levels from `start`, as far as the part is connected.
    fn levels(&mut self, rows: &[u32], start: u32) -> Vec<u32> {
        rows.iter().for_each(|i| self.level[*i as usize] = NONE);
        self.connected(start)
    }

    /// The rows that are connected to `start` and have no level yet.
    fn connected(&mut self, start: u32) -> Vec<u32> {
        let part = self.part[start as usize];
        self.level[start as usize] = 0;
        let mut found = vec![start];
        let mut next = 0;
        while let Some(i) = found.get(next).map(|i| *i as usize) {
            for k in &self.graph[i] {
                if self.part[*k as usize] == part && self.level[*k as usize] == NONE {
                    self.level[*k as usize] = self.level[i] + 1;
                    found.push(*k);
                }
            }
            next += 1;
        }
        found
    }

    /// A separator and what it separates, or the parts of what is not connected; `None` of what is small, or has no middle.
    fn divided(&mut self, rows: &[u32]) -> Option<(Vec<u32>, Vec<Vec<u32>>)> {
        if rows.len() <= LEAF {
            return None;
        }
        // the last row that is found is far from the first
        let mut found = self.levels(rows, rows[0]);
        if found.len() < rows.len() {
            let mut parts = vec![found];
            for i in rows {
                if self.level[*i as usize] == NONE {
                    parts.push(self.connected(*i));
                }
            }
            return Some((Vec::new(), parts));
        }
        for _ in 0..2 {
            let last = *found.last()?;
            found = self.levels(rows, last);
        }
        let middle = self.level[found[found.len() / 2] as usize];
        let last = self.level[*found.last()? as usize];
        if middle == 0 || middle == last {
            return None;
        }
        let (mut separator, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for i in found {
            let part = self.part[i as usize];
            let beyond =
                |k: &u32| self.part[*k as usize] == part && self.level[*k as usize] == middle + 1;
            match self.level[i as usize].cmp(&middle) {
                Ordering::Greater => after.push(i),
                // rows of the middle without a neighbour beyond it need not separate
                Ordering::Equal if self.graph[i as usize].iter().any(beyond) => separator.push(i),
                _ => before.push(i),
            }
        }
        Some((separator, vec![before, after]))
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::{Pattern, short};
    use crate::math::dense::{cholesky, inverse, log_det};

    /// Neighbours on a grid.
    fn grid(rows: usize, cols: usize, periodic: bool) -> Vec<Vec<u32>> {
        let mut graph = vec![Vec::new(); rows * cols];
        let mut join = |i: usize, j: usize| {
            if i != j {
                graph[i].push(short(j));
                graph[j].push(short(i));
            }
        };
        for r in 0..rows {
            for c in 0..cols {
                if periodic || r + 1 < rows {
                    join(r * cols + c, (r + 1) % rows * cols + c);
                }
                if periodic || c + 1 < cols {
                    join(r * cols + c, r * cols + (c + 1) % cols);
                }
            }
        }
        graph
    }

    /// A positive definite matrix on a graph: its Laplacian with uneven weights, and something on the diagonal.
    fn matrix(graph: &[Vec<u32>]) -> Mat<f64> {
        let n = graph.len();
        let mut m = Mat::<f64>::zeros(n, n);
        for i in 0..n {
            m[(i, i)] += 0.1 + 0.01 * (i % 7) as f64;
            for k in &graph[i] {
                let k = *k as usize;
                let weight = 1.0 + ((i + k) % 5) as f64 * 0.3;
                m[(i, k)] -= weight;
                m[(i, i)] += weight;
            }
        }
        m
    }

    fn entries(pattern: &Pattern, m: &Mat<f64>) -> Vec<f64> {
        let mut entries = vec![0.0; pattern.entries()];
        for i in 0..m.nrows() {
            for j in 0..=i {
                match pattern.slot(i, j) {
                    Some(slot) => entries[slot] = m[(i, j)],
                    None => assert!(m[(i, j)].abs() <= 0.0),
                }
            }
        }
        entries
    }

    /// Solutions, determinants and selected entries of the inverse are those of dense algebra.
    #[test]
    fn factors_are_those_of_dense_algebra() {
        let apart: Vec<Vec<u32>> = vec![Vec::new(); 40];
        let graphs = [
            grid(9, 7, false),
            grid(8, 8, true),
            grid(1, 30, false),
            apart,
        ];
        for graph in graphs {
            let (m, pattern) = (matrix(&graph), Pattern::new(&graph));
            let n = m.nrows();
            let dense = cholesky(m.as_ref()).expect("positive definite");
            let expected = inverse(&dense);
            let factor = pattern.factor(entries(&pattern, &m)).expect("the same");
            assert!((factor.log_det() / log_det(&dense) - 1.0).abs() < 1e-12);
            let b: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
            let x = factor.solve(&b);
            let found = factor.selected_inverse();
            for i in 0..n {
                let exact: f64 = (0..n).map(|j| expected[(i, j)] * b[j]).sum();
                assert!((x[i] - exact).abs() < 1e-11, "{} {exact}", x[i]);
                for j in 0..=i {
                    if let Some(slot) = pattern.slot(i, j) {
                        let gap = (found[slot] - expected[(i, j)]).abs();
                        assert!(gap < 1e-12, "{i} {j}: {gap:e}");
                    }
                }
            }
        }
    }

    /// What is not positive definite has no factor.
    #[test]
    fn indefinite_matrices_are_refused() {
        let graph = grid(4, 4, true);
        let (mut m, pattern) = (matrix(&graph), Pattern::new(&graph));
        m[(5, 5)] = -1.0;
        assert!(pattern.factor(entries(&pattern, &m)).is_none());
        m[(5, 5)] = f64::NAN;
        assert!(pattern.factor(entries(&pattern, &m)).is_none());
    }

    /// Dissection keeps the fill of a grid near n log n, and its work near n^1.5.
    #[test]
    fn grids_fill_in_slowly() {
        for (side, periodic) in [(64, false), (64, true)] {
            let pattern = Pattern::new(&grid(side, side, periodic));
            let n = (side * side) as f64;
            let fill = pattern.entries() as f64 / (n * n.log2());
            let work = pattern.work() / n.powf(1.5);
            assert!(
                fill < 4.0 && work < 60.0,
                "{side} {periodic}: {fill} {work}"
            );
        }
    }
}
