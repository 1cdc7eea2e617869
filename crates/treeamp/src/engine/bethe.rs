//! The Bethe objective and its decomposition over the tree:
//! $A = \sum_f A_f + \sum_x A_x - \sum_{(f,x)} A_x$, which at a fixed point of expectation
//! propagation is the log-evidence.

/// One term of the decomposition.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The factor, variable or edge (`factor -> variable`).
    pub name: String,
    /// Its potential, a sum over components.
    pub value: f64,
    /// The potential less those of the messages that enter it: the terms the total is summed from.
    pub excess: f64,
}

/// The objective with its terms.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// $A_f$ of every factor.
    pub factors: Vec<Term>,
    /// $A_x$ of every variable.
    pub variables: Vec<Term>,
    /// $A_x$ of every edge, to be subtracted.
    pub edges: Vec<Term>,
    /// The total.
    pub total: f64,
    /// The standard error of the total, from factors whose potential is estimated at random; zero where
    /// everything is computed.
    pub error: f64,
}

impl Objective {
    /// The factor whose log-partition is $-\infty$: it excludes the state.
    #[must_use]
    pub fn excluding_factor(&self) -> Option<&str> {
        let mut factors = self.factors.iter();
        let term = factors.find(|term| term.value == f64::NEG_INFINITY)?;
        Some(&term.name)
    }

    /// The largest of the terms, by which their sum is rounded; `None` where one is infinite.
    pub(super) fn size(&self) -> Option<f64> {
        let terms = self
            .factors
            .iter()
            .chain(&self.variables)
            .chain(&self.edges);
        let size = terms.fold(0.0, |size: f64, t| size.max(t.excess.abs()));
        size.is_finite().then_some(size)
    }

    pub(super) fn new(
        factors: Vec<Term>,
        variables: Vec<Term>,
        edges: Vec<Term>,
        error: f64,
    ) -> Self {
        let sum = |terms: &[Term]| terms.iter().map(|t| t.excess).sum::<f64>();
        let mut total = sum(&factors) + sum(&variables) - sum(&edges);
        let terms = || factors.iter().chain(&variables).chain(&edges);
        if !total.is_finite() && !terms().any(|t| t.excess.is_nan()) {
            // pins on both sides: what the factors say decides, not the order of the infinities
            let impossible = factors.iter().any(|t| t.excess == f64::NEG_INFINITY);
            total = if impossible {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            };
        }
        Self {
            factors,
            variables,
            edges,
            total,
            error,
        }
    }
}
