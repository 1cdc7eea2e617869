//! One linear piece of a teacher's channel in the plane of the fields, in units of their noise.

use super::Field;
use super::channel::{X, Z};
use crate::math::special::normal_density;
use crate::math::truncated_normal::{End, Quadratic, truncated_quadratic};
use crate::scalar::Piece;

/// A piece in the plane of the fields: signals on it lie on a straight line, and noise is of unit variance in all directions.
pub(super) struct PieceLine {
    pub piece: Piece,
    /// How far a unit of $z$ goes.
    pub length: f64,
    /// The direction of the piece.
    pub along: [f64; 2],
    /// The output at $z = 0$.
    pub offset: f64,
}

/// The signals of a piece seen at one place along it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    /// $p_i(t)$.
    pub density: f64,
    /// Means of $z$ and $x$ given the place and the piece.
    pub mean: [f64; 2],
    /// Their variances.
    pub variance: [f64; 2],
}

/// $\hat m/\sqrt{\hat q}$; zero for a field that tells nothing.
fn clarity(at: &Field) -> f64 {
    if at.m_hat == 0.0 {
        0.0
    } else {
        at.m_hat / at.q_hat.sqrt()
    }
}

impl PieceLine {
    pub fn new(piece: &Piece, at: &[Field; 2]) -> Self {
        let [kz, kx] = [clarity(&at[Z]), clarity(&at[X])];
        let step = [kz, kx * piece.slope];
        let length = step[0].hypot(step[1]);
        let along = match (length > 0.0, at[Z].is_silent()) {
            (true, _) => step.map(|s| s / length),
            // nothing is seen along the piece: any direction with noise will do
            (false, true) => [0.0, 1.0],
            (false, false) => [1.0, 0.0],
        };
        Self {
            piece: *piece,
            length,
            along,
            offset: kx * piece.offset,
        }
    }

    /// The output of the piece at $z$, finite at the ends of a flat one.
    fn value(&self, z: f64) -> f64 {
        if self.piece.slope == 0.0 {
            self.piece.offset
        } else {
            self.piece.slope.mul_add(z, self.piece.offset)
        }
    }

    /// $p_i(t)$ and the signals there; `tilt` is $\hat\tau_0$ of both ends.
    pub fn slice(&self, t: f64, tilt: [f64; 2], log_z0: f64) -> Slice {
        let (slope, length) = (self.piece.slope, self.length);
        let a = length.mul_add(length, tilt[X].mul_add(slope * slope, tilt[Z]));
        let border = |z: f64| {
            let pull = tilt[Z].mul_add(z, tilt[X] * slope * self.value(z));
            End {
                place: z,
                slope: length.mul_add(t - length * z, -pull),
            }
        };
        let exponent = Quadratic {
            a,
            vertex: length.mul_add(t, -tilt[X] * slope * self.piece.offset) / a,
            lo: border(self.piece.start),
            hi: border(self.piece.end),
        };
        let Some(part) = truncated_quadratic(exponent) else {
            return Slice {
                density: f64::NAN,
                mean: [0.0; 2],
                variance: [0.0; 2],
            };
        };
        let z = part.anchor;
        let x = self.value(z);
        let height = -0.5 * (tilt[Z] * z).mul_add(z, tilt[X] * x * x) - log_z0;
        Slice {
            density: height.exp() * normal_density(t - length * z) * part.mass,
            mean: [part.mean, self.value(part.mean)],
            variance: [part.variance, slope * slope * part.variance],
        }
    }
}
