//! Parts of a sweep, for schedulers that run many processes.

use super::{Cell, SweepError};

/// Part `k` of `n`: every `n`-th cell, so that parts take about equally long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    part: usize,
    of: usize,
}

impl Shard {
    /// Everything in one part.
    pub const WHOLE: Self = Self { part: 1, of: 1 };

    /// Reads `k/n`, from `1/n` to `n/n`.
    ///
    /// # Errors
    /// [`SweepError::Grid`].
    pub fn parse(text: &str) -> Result<Self, SweepError> {
        let numbers = text.split_once('/').and_then(|(k, n)| {
            let (part, of) = (k.trim().parse().ok()?, n.trim().parse().ok()?);
            (1..=of).contains(&part).then_some(Self { part, of })
        });
        numbers.ok_or_else(|| SweepError::Grid {
            axis: "shard".to_owned(),
            expected: "k/n with k from 1 to n".to_owned(),
            got: format!("`{text}`"),
        })
    }

    /// It is a part, not the whole.
    #[must_use]
    pub fn is_part(self) -> bool {
        self.of > 1
    }

    /// Its cells.
    #[must_use]
    pub fn of(self, cells: &[Cell]) -> Vec<Cell> {
        let mine = cells.iter().filter(|c| c.index % self.of == self.part - 1);
        mine.cloned().collect()
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}
