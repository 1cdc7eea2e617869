//! Parts of a sweep, for schedulers that run many processes.

use std::collections::BTreeMap;

use super::{Cell, SweepError};
use crate::hash::fnv1a;

/// Part `k` of `n`. Cells are dealt out in an order without a pattern, each kind by itself, so that parts take
/// about equally long whatever the axes are.
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

    /// Its cells, in their order: as many of every kind as the other parts have, to one.
    #[must_use]
    pub fn of(self, cells: &[Cell], kind: impl Fn(&Cell) -> String) -> Vec<Cell> {
        let mut kinds: BTreeMap<String, Vec<&Cell>> = BTreeMap::new();
        for cell in cells {
            kinds.entry(kind(cell)).or_default().push(cell);
        }
        // the next kind begins with the part where the last one stopped
        let dealt = kinds.into_values().flat_map(|mut same| {
            same.sort_by_cached_key(|c| (fnv1a(c.key.as_bytes()), c.index));
            same
        });
        let mine = dealt.skip(self.part - 1).step_by(self.of);
        let mut mine: Vec<Cell> = mine.cloned().collect();
        mine.sort_by_key(|c| c.index);
        mine
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}
