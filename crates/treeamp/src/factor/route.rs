//! Routes through a linear channel: its exact messages, or approximate message passing, which needs no decomposition where the
//! entries of the matrix are independent.

use std::fmt;
use std::str::FromStr;

use crate::error::{ModelError, parameter};

/// The route that a linear channel is asked to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Route {
    /// The exact messages of expectation propagation: by a decomposition, or by conjugate gradients.
    #[default]
    Exact,
    /// Approximate message passing, for a matrix whose entries are independent: two products a sweep. A matrix that plainly is not
    /// of that kind, a run that does not settle, and one whose end is not that of the exact route are run by the exact route.
    Iid,
    /// The same, and never the exact route: what speaks against it is an error or the end of the run.
    IidOnly,
    /// As [`Iid`](Self::Iid) where the matrix is large and tests of its entries and of its spectrum allow it, the exact route elsewhere.
    Auto,
}

impl Route {
    /// The words of all routes.
    pub const WORDS: &'static [&'static str] = &["exact", "iid", "iid_only", "auto"];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Iid => "iid",
            Self::IidOnly => "iid_only",
            Self::Auto => "auto",
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Route {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let all = [Self::Exact, Self::Iid, Self::IidOnly, Self::Auto];
        all.into_iter()
            .find(|r| r.word() == text)
            .ok_or_else(|| parameter("linear", "route", Self::WORDS.join(", "), text))
    }
}

/// The route that a factor would take, before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteChoice {
    /// Approximate message passing for independent entries, and not the exact messages.
    pub iid: bool,
    /// The exact route is forbidden.
    pub only: bool,
    /// Why.
    pub why: String,
}

/// The route that a factor took in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteReport {
    /// The factor.
    pub factor: String,
    /// [`Route::Exact`] or [`Route::Iid`].
    pub route: Route,
    /// Why.
    pub why: String,
}
