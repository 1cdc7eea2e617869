//! Averages over outputs of additive noise ask for a law of $y - z$ many times at one precision. There it is three functions of
//! $c = b - ay$ alone: the excess $X$, the gain $g = (E[z] - y)/c$ and the variance, all even. They are smooth in $u = \mathrm{asinh}(c/c_0)$, and
//! stand in tables of polynomials, made where they are asked for.

use std::sync::OnceLock;

use crate::math::quadrature::rule16;
use crate::math::special::HALF_LN_2PI;
use crate::scalar::{Landmark, OutputMeasure, Parity, ScalarView, Tilt, Tilted};

/// Functions in the table.
const FUNCTIONS: usize = 3;
/// Cells of $u$ of length one; beyond them, at $10^{17}$ times the scale of the law, it is asked itself.
const CELLS: usize = 40;
/// Last coefficients of a polynomial that is good, relative to the function.
const RESOLVED: f64 = 1e-12;
/// Halvings of a cell.
const DEPTH: u32 = 8;

/// Legendre coefficients of the functions on a piece of a cell.
struct Piece {
    low: f64,
    width: f64,
    coefficients: [[f64; 16]; FUNCTIONS],
}

impl Piece {
    fn at(&self, u: f64) -> [f64; FUNCTIONS] {
        let x = 2.0 * (u - self.low) / self.width - 1.0;
        let (mut p, mut before) = (1.0, 0.0);
        let mut sums = [0.0; FUNCTIONS];
        for k in 0..16 {
            for (sum, row) in sums.iter_mut().zip(&self.coefficients) {
                *sum += row[k] * p;
            }
            let n = k as f64;
            (p, before) = (((2.0 * n + 1.0) * x * p - n * before) / (n + 1.0), p);
        }
        sums
    }
}

/// A likelihood of additive noise at one precision.
pub(super) struct Tabulated<'a> {
    law: &'a dyn ScalarView,
    a: f64,
    /// $c_0$.
    scale: f64,
    cells: [OnceLock<Vec<Piece>>; CELLS],
}

impl<'a> Tabulated<'a> {
    /// `None` unless the law says that it is one of additive noise that is worth it.
    pub fn new(law: &'a dyn ScalarView, a: f64) -> Option<Self> {
        if !law.is_tabulated() || !(a > 0.0) {
            return None;
        }
        let rest = law.likelihood(0.0, Tilt { a, b: 0.0 })?;
        let scale = 1.0 / rest.variance.sqrt();
        let fits = scale > 0.0 && scale.is_finite();
        fits.then(|| Self {
            law,
            a,
            scale,
            cells: std::array::from_fn(|_| OnceLock::new()),
        })
    }

    /// The three functions, by the law itself.
    fn exact(&self, c: f64) -> Option<[f64; FUNCTIONS]> {
        let tilt = Tilt { a: self.a, b: c };
        let both = self.law.likelihood_with_excess(0.0, tilt);
        let (t, excess) = if let Some(both) = both {
            both
        } else {
            let excess = self.law.likelihood_excess(0.0, tilt)?;
            (self.law.likelihood(0.0, tilt)?, excess)
        };
        Some([excess, t.mean / c, t.variance])
    }

    fn piece(&self, low: f64, width: f64) -> Option<(Piece, bool)> {
        let rule = rule16();
        let mut values = [[0.0; 16]; FUNCTIONS];
        for (i, node) in rule.nodes.iter().enumerate() {
            let c = self.scale * width.mul_add(*node, low).sinh();
            let found = self.exact(c)?;
            (0..FUNCTIONS).for_each(|f| values[f][i] = found[f]);
        }
        let size = |row: &[f64; 16]| row.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // the excess is a logarithm: absolute where it is small
        let floors = [1.0, 0.0, 0.0];
        let resolved = (0..FUNCTIONS)
            .all(|f| rule.tail_size(&values[f]) <= RESOLVED * size(&values[f]).max(floors[f]));
        let mut coefficients = [[0.0; 16]; FUNCTIONS];
        for (i, node) in rule.nodes.iter().enumerate() {
            let x = 2.0 * node - 1.0;
            let (mut p, mut before) = (1.0, 0.0);
            for k in 0..16 {
                let n = k as f64;
                for f in 0..FUNCTIONS {
                    coefficients[f][k] += (2.0 * n + 1.0) * rule.weights[i] * p * values[f][i];
                }
                (p, before) = (((2.0 * n + 1.0) * x * p - n * before) / (n + 1.0), p);
            }
        }
        let piece = Piece {
            low,
            width,
            coefficients,
        };
        Some((piece, resolved))
    }

    /// The pieces of a cell, in ascending order; none where the law fails.
    fn pieces(&self, low: f64) -> Vec<Piece> {
        let (mut done, mut todo) = (Vec::new(), vec![(low, 1.0, 0)]);
        while let Some((low, width, depth)) = todo.pop() {
            match self.piece(low, width) {
                None => return Vec::new(),
                Some((piece, resolved)) if resolved || depth == DEPTH => done.push(piece),
                Some(_) => {
                    let half = 0.5 * width;
                    todo.push((low + half, half, depth + 1));
                    todo.push((low, half, depth + 1));
                }
            }
        }
        done
    }

    /// The three functions.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cell of the table"
    )]
    fn functions(&self, c: f64) -> Option<[f64; FUNCTIONS]> {
        let u = (c.abs() / self.scale).asinh();
        if !(u < CELLS as f64) {
            return self.exact(c);
        }
        let pieces = self.cells[u as usize].get_or_init(|| self.pieces(u.floor()));
        let found = pieces.iter().find(|p| u < p.low + p.width);
        found.or(pieces.last()).map(|piece| piece.at(u))
    }
}

impl ScalarView for Tabulated<'_> {
    fn likelihood(&self, y: f64, z: Tilt) -> Option<Tilted> {
        if (z.a - self.a).abs() > 0.0 {
            return self.law.likelihood(y, z);
        }
        let c = (-z.a).mul_add(y, z.b);
        let [excess, gain, variance] = self.functions(c)?;
        Some(Tilted {
            log_z: excess + 0.5 * z.b * (z.b / z.a) + HALF_LN_2PI - 0.5 * z.a.ln(),
            mean: c.mul_add(gain, y),
            variance,
        })
    }

    fn likelihood_excess(&self, y: f64, z: Tilt) -> Option<f64> {
        if (z.a - self.a).abs() > 0.0 {
            return self.law.likelihood_excess(y, z);
        }
        let c = (-z.a).mul_add(y, z.b);
        self.functions(c).map(|found| found[0])
    }

    fn outputs(&self) -> Option<OutputMeasure> {
        self.law.outputs()
    }

    fn map(&self, z: f64) -> Option<f64> {
        self.law.map(z)
    }

    fn check_output(&self, y: f64) -> Result<(), String> {
        self.law.check_output(y)
    }

    fn landmarks(&self, y: Option<f64>) -> Vec<Landmark> {
        self.law.landmarks(y)
    }

    fn parity(&self) -> Option<Parity> {
        self.law.parity()
    }
}
