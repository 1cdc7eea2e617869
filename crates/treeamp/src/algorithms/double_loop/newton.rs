//! The last stretch of the double loop: Newton's method on the sweep itself.
//!
//! A sweep maps messages $x$ to $g(x)$, and at a fixed point $f = g - x$ vanishes, also where sweeps swing away from it: where
//! an eigenvalue of $g'$ is below $-1$. The outer loop comes near to such a point and then crawls. Newton's step solves
//! $f'(x)\,s = -f(x)$ by GMRES, each product $f'v$ being one more sweep. Natural parameters of each message count relative to
//! its own.

use crate::belief::Gaussian;
use crate::engine::Watch;
use crate::math::anderson::dot;

/// Newton steps, products in each, and the fraction of $f$ that a solution may leave.
const STEPS: usize = 12;
const PRODUCTS: usize = 40;
const LEFT: f64 = 0.05;
/// A derivative is taken over this, relative: sweeps are exact to about its square.
const SPAN: f64 = 1e-6;
/// A step is halved so many times until $\|f\|$ falls.
const HALVINGS: usize = 5;
/// Messages of more numbers than this are left to the outer loop: the memory would be forty times theirs.
const LARGEST: usize = 1 << 17;

/// Where a sweep leads from, and what it changes there.
struct Place {
    x: Vec<f64>,
    f: Vec<f64>,
    norm: f64,
    residual: f64,
}

/// Newton's method from some messages.
pub(super) struct Newton<'w> {
    watch: &'w mut dyn Watch<Gaussian>,
    /// Room for messages, and those that stay as they are: pins.
    messages: Vec<Gaussian>,
    /// What a number is divided by, one per block of precisions or of linear parts.
    scales: Vec<f64>,
    pub sweeps: usize,
}

fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

/// `y + t x`.
fn along(y: &[f64], t: f64, x: &[f64]) -> Vec<f64> {
    y.iter().zip(x).map(|(y, x)| y + t * x).collect()
}

impl<'w> Newton<'w> {
    /// From these messages; none where they are too many.
    pub fn new(messages: &[Gaussian], watch: &'w mut dyn Watch<Gaussian>) -> Option<Self> {
        let numbers = |m: &Gaussian| m.linear.len() + m.precision.data().len();
        if messages.iter().map(numbers).sum::<usize>() > LARGEST {
            return None;
        }
        let size = |x: &[f64]| Some(norm(x)).filter(|n| *n > 0.0).unwrap_or(1.0);
        let free = messages.iter().filter(|m| !m.is_pinned());
        let scales = free.flat_map(|m| [size(m.precision.data()), size(&m.linear)]);
        Some(Self {
            scales: scales.collect(),
            messages: messages.to_vec(),
            watch,
            sweeps: 0,
        })
    }

    /// Goes on until a sweep moves the moments by less than the tolerance, and leaves the messages there; gives that
    /// residual. None, and the messages as they were, where it does not get there.
    pub fn settle(&mut self, messages: &mut [Gaussian], tolerance: f64) -> Option<f64> {
        let mut here = self.look(gather(&self.messages, &self.scales))?;
        for _ in 0..STEPS {
            if here.residual < tolerance {
                scatter(&here.x, &self.scales, &mut self.messages);
                messages.clone_from_slice(&self.messages);
                return Some(here.residual);
            }
            let step = self.step(&here)?;
            here = self.search(&here, &step)?;
        }
        None
    }

    /// A sweep from here.
    fn look(&mut self, x: Vec<f64>) -> Option<Place> {
        scatter(&x, &self.scales, &mut self.messages);
        self.sweeps += 1;
        let residual = self.watch.sweep(&mut self.messages)?;
        let g = gather(&self.messages, &self.scales);
        // a message that has become a pin leaves nothing to solve for
        if g.len() != x.len() {
            return None;
        }
        let f = along(&g, -1.0, &x);
        let norm = norm(&f);
        let place = Place {
            x,
            f,
            norm,
            residual,
        };
        norm.is_finite().then_some(place)
    }

    /// The longest of the step and its halves that makes $\|f\|$ fall.
    fn search(&mut self, here: &Place, step: &[f64]) -> Option<Place> {
        let mut t = 1.0;
        for _ in 0..HALVINGS {
            let there = self.look(along(&here.x, t, step));
            let falls = |p: &Place| p.norm < (1.0 - 0.3 * t) * here.norm;
            if let Some(there) = there.filter(falls) {
                return Some(there);
            }
            t *= 0.5;
        }
        None
    }

    /// $f'(x)\,v$, as a difference.
    fn product(&mut self, here: &Place, v: &[f64]) -> Option<Vec<f64>> {
        let span = SPAN * norm(&here.x).max(1.0);
        let there = self.look(along(&here.x, span, v))?;
        let pairs = there.f.iter().zip(&here.f);
        Some(pairs.map(|(there, here)| (there - here) / span).collect())
    }

    /// $s$ with $f'(x)\,s \approx -f(x)$: GMRES, with Givens rotations of its Hessenberg matrix.
    fn step(&mut self, here: &Place) -> Option<Vec<f64>> {
        let mut basis: Vec<Vec<f64>> = vec![here.f.iter().map(|f| -f / here.norm).collect()];
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut rotations: Vec<(f64, f64)> = Vec::new();
        let mut left = vec![here.norm];
        for k in 0..PRODUCTS {
            let mut w = self.product(here, &basis[k])?;
            let mut column = Vec::with_capacity(k + 1);
            for v in &basis {
                let h = dot(v, &w);
                w = along(&w, -h, v);
                column.push(h);
            }
            let rest = norm(&w);
            for (i, (c, s)) in rotations.iter().enumerate() {
                let (x, y) = (column[i], column[i + 1]);
                (column[i], column[i + 1]) = (c * x + s * y, c * y - s * x);
            }
            let length = column[k].hypot(rest);
            if !(length > 0.0) {
                break;
            }
            let (c, s) = (column[k] / length, rest / length);
            column[k] = length;
            columns.push(column);
            rotations.push((c, s));
            left.push(-s * left[k]);
            left[k] *= c;
            if left[k + 1].abs() <= LEFT * here.norm {
                break;
            }
            basis.push(w.iter().map(|w| w / rest).collect());
        }
        let weights = back_substitution(&columns, &left)?;
        let mut step = vec![0.0; here.x.len()];
        for (y, v) in weights.iter().zip(&basis) {
            step.iter_mut().zip(v).for_each(|(s, v)| *s += y * v);
        }
        step.iter().all(|s| s.is_finite()).then_some(step)
    }
}

/// The weights of the basis: a triangular system by columns.
fn back_substitution(columns: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let n = columns.len();
    let mut y = right[..n].to_vec();
    for k in (0..n).rev() {
        y[k] /= columns[k][k];
        for i in 0..k {
            y[i] -= columns[k][i] * y[k];
        }
    }
    (n > 0).then_some(y)
}

/// The numbers of the messages that are no pins, divided by their scales.
fn gather(messages: &[Gaussian], scales: &[f64]) -> Vec<f64> {
    let free = messages.iter().filter(|m| !m.is_pinned());
    let blocks = free.flat_map(|m| [m.precision.data(), m.linear.as_slice()]);
    let scaled = blocks.zip(scales);
    scaled
        .flat_map(|(block, scale)| block.iter().map(move |x| x / scale))
        .collect()
}

fn scatter(x: &[f64], scales: &[f64], messages: &mut [Gaussian]) {
    let mut rest = x;
    let free = messages.iter_mut().filter(|m| !m.is_pinned());
    let blocks = free.flat_map(|m| [m.precision.data_mut(), m.linear.as_mut_slice()]);
    for (block, scale) in blocks.zip(scales) {
        let (own, others) = rest.split_at(block.len());
        block.iter_mut().zip(own).for_each(|(m, x)| *m = x * scale);
        rest = others;
    }
}
