//! The shape of a signal, what its components are, and how a belief on it is structured.

use std::fmt;
use std::str::FromStr;

use crate::error::{ModelError, ShapeError, parameter};

/// What one component of a signal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Element {
    /// A real number.
    #[default]
    Real,
    /// A complex number, stored as an interleaved pair.
    Complex,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Complex => "complex",
        })
    }
}

/// The covariance structure of a Gaussian belief, a property of the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Structure {
    /// One precision shared by all components.
    #[default]
    Isotropic,
    /// One precision per component.
    Diagonal,
    /// One `dim` x `dim` matrix per row of `dim` components.
    Block {
        /// Size of a block.
        dim: usize,
    },
    /// A full matrix.
    Full,
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Isotropic => f.write_str("isotropic"),
            Self::Diagonal => f.write_str("diagonal"),
            Self::Block { dim } => write!(f, "block({dim})"),
            Self::Full => f.write_str("full"),
        }
    }
}

/// `isotropic`, `diagonal`, `full` or `block(3)`, as [`Structure`] prints itself.
impl FromStr for Structure {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let text = text.trim();
        let inside = text
            .strip_prefix("block(")
            .and_then(|t| t.strip_suffix(')'));
        match (text, inside.map(|n| n.trim().parse())) {
            ("isotropic", _) => Ok(Self::Isotropic),
            ("diagonal", _) => Ok(Self::Diagonal),
            ("full", _) => Ok(Self::Full),
            (_, Some(Ok(dim))) => Ok(Self::Block { dim }),
            _ => {
                let expected = "isotropic, diagonal, full or block(n)";
                Err(parameter("belief", "structure", expected, text))
            }
        }
    }
}

impl Structure {
    /// The same kind of belief: blocks of any size are one kind.
    #[must_use]
    pub fn same_kind(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// The size of the dense blocks on a signal of `len` real components; none for isotropic and
    /// diagonal beliefs.
    #[must_use]
    pub fn block_dim(self, len: usize) -> Option<usize> {
        match self {
            Self::Isotropic | Self::Diagonal => None,
            Self::Block { dim } => Some(dim),
            Self::Full => Some(len),
        }
    }

    /// The numbers that a matrix of this structure on `len` real components stores.
    #[must_use]
    pub fn stored_count(self, len: usize) -> u128 {
        let wide = len as u128;
        match self {
            Self::Isotropic => 1,
            Self::Diagonal => wide,
            Self::Block { dim } => wide * dim as u128,
            Self::Full => wide * wide,
        }
    }

    /// The same as a size; saturates.
    #[must_use]
    pub fn stored_len(self, len: usize) -> usize {
        usize::try_from(self.stored_count(len)).unwrap_or(usize::MAX)
    }
}

/// Shape, element type and belief structure of one variable.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalSpec {
    /// Shape, row-major; the last axis runs fastest.
    pub shape: Vec<usize>,
    /// Real or complex components.
    pub element: Element,
    /// Structure of the beliefs.
    pub structure: Structure,
    /// The size relative to some reference, for a variable that exists only in the limit; its shape
    /// is then empty.
    pub ratio: Option<f64>,
    /// The components are the pairs $i < j$ of a symmetric matrix with this many rows, row by row.
    pub pairs: Option<usize>,
}

impl SignalSpec {
    /// A real signal with isotropic beliefs.
    #[must_use]
    pub fn real(shape: impl Into<Vec<usize>>) -> Self {
        Self {
            shape: shape.into(),
            element: Element::Real,
            structure: Structure::Isotropic,
            ratio: None,
            pairs: None,
        }
    }

    /// A symmetric matrix of `n` rows without its diagonal: its entries $(i, j)$ with $i < j$, row by row, each once.
    #[must_use]
    pub fn pairs(n: usize) -> Self {
        Self {
            pairs: Some(n),
            ..Self::real([n * n.saturating_sub(1) / 2])
        }
    }

    /// A complex signal with isotropic beliefs: two real numbers per component, interleaved.
    #[must_use]
    pub fn complex(shape: impl Into<Vec<usize>>) -> Self {
        Self {
            element: Element::Complex,
            ..Self::real(shape)
        }
    }

    /// A real signal in the limit of infinite size, `ratio` times the size of some reference.
    #[must_use]
    pub fn limit(ratio: f64) -> Self {
        Self {
            ratio: Some(ratio),
            ..Self::real(vec![])
        }
    }

    /// The number of real components, or the ratio of a signal that exists only in the limit, doubled
    /// for a complex one.
    #[must_use]
    pub fn relative_size(&self) -> f64 {
        match (self.ratio, self.element) {
            (Some(ratio), Element::Real) => ratio,
            (Some(ratio), Element::Complex) => 2.0 * ratio,
            (None, _) => self.len() as f64,
        }
    }

    /// Number of components; saturates for a shape that no memory can hold.
    #[must_use]
    pub fn count(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape
            .iter()
            .fold(1, |n: usize, d| n.saturating_mul(*d))
    }

    /// Number of real numbers: twice the components of a complex signal.
    #[must_use]
    pub fn len(&self) -> usize {
        match self.element {
            Element::Real => self.count(),
            Element::Complex => self.count().saturating_mul(2),
        }
    }

    /// There is no component.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The same shape and element: what two ends of an edge must agree on.
    #[must_use]
    pub fn same_signal(&self, other: &Self) -> bool {
        let same_ratio = match (self.ratio, other.ratio) {
            (None, None) => true,
            (Some(x), Some(y)) => (x - y).abs() <= 1e-9 * x.abs(),
            _ => false,
        };
        self.shape == other.shape && self.element == other.element && same_ratio
    }
}

/// Parameters of this shape stand beside the components of the signal at a factor's first port. In the limit they are a sample.
///
/// # Errors
/// The two shapes, where they differ.
pub(crate) fn fits(
    shape: Option<&[usize]>,
    what: &str,
    signal: &SignalSpec,
) -> Result<(), ShapeError> {
    match shape {
        Some(shape) if signal.ratio.is_none() && shape != signal.shape => Err(ShapeError {
            port: 0,
            expected: format!("shape {}, that of {what}", SignalSpec::real(shape)),
            got: format!("shape {signal}"),
        }),
        _ => Ok(()),
    }
}

impl fmt::Display for SignalSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ratio) = self.ratio {
            let kind = match self.element {
                Element::Real => "",
                Element::Complex => "complex ",
            };
            return write!(f, "{kind}(limit, ratio {ratio})");
        }
        let dims: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
        match self.element {
            Element::Real => write!(f, "({})", dims.join(", ")),
            Element::Complex => write!(f, "complex ({})", dims.join(", ")),
        }
    }
}
