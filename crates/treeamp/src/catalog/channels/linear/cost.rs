//! What a linear channel costs, from its sizes alone. The one place to change when the algebra of `structured.rs`, of the decompositions
//! or of the iterative solution changes.
//!
//! With the smaller side $s$ and the larger one $l$ of the operator on real storage, and $P$ columns:
//!
//! | beliefs and operator | set-up | sweep |
//! |---|---|---|
//! | independent entries | | two products |
//! | isotropic or blocks, a matrix | $2s^2l + 4s^3$ | four products of $s \times (m + n)$ |
//! | isotropic, a fast transform | | four transforms |
//! | isotropic, all others | a hundred products | two solutions of a hundred products |
//! | diagonal, few entries | | two messages of twenty times the products of the sparse factor |
//! | diagonal or full | | two messages of $4s^2l + 3s^3$ |

use super::{Linear, Z, by_modes, choice};
use crate::belief::{SignalSpec, Structure};
use crate::factor::{Cost, Route};

/// Products of an iterative solution, and of the estimate of a spectrum.
const PRODUCTS: f64 = 100.0;
/// Operations for an entry of a matrix that multiplies a vector.
const ENTRY: f64 = 8.0;
/// Dense operations in the time of one product of a sparse factorisation, selected inverse included.
const SPARSE: f64 = 20.0;

impl Linear {
    pub(super) fn cost_between(&self, ports: &[SignalSpec]) -> Cost {
        let operator = self.operator();
        let (n, m) = (
            operator.input().len() as f64,
            operator.output().len() as f64,
        );
        let (s, l) = (n.min(m), n.max(m));
        let columns = self.columns(ports[Z].len()) as f64;
        let product = columns * operator.product_cost();
        let stored = if operator.decomposes() {
            8.0 * n * m
        } else {
            0.0
        };
        if self.expects_iid(ports) {
            return Cost {
                set_up: 0.0,
                sweep: 2.0 * product,
                bytes: stored,
            };
        }
        let has = |structure| ports.iter().any(|p| p.structure == structure);
        let isotropic = ports.iter().all(|p| by_modes(p.structure));
        // the pattern is found only where it is used
        let sparse = if isotropic || has(Structure::Full) {
            None
        } else {
            self.sparse_side()
        };
        if let Some(sparse) = sparse {
            return Cost {
                set_up: SPARSE * sparse.work(),
                sweep: 2.0 * SPARSE * sparse.work(),
                bytes: 8.0 * sparse.len() as f64,
            };
        }
        if !isotropic {
            let made = if operator.decomposes() {
                0.0
            } else {
                n * product
            };
            return Cost {
                set_up: made,
                sweep: 2.0 * (4.0 * s * s * l + 3.0 * s * s * s),
                bytes: 8.0 * (2.0 * n * m + 4.0 * s * s),
            };
        }
        if operator.decomposes() {
            return Cost {
                set_up: 2.0 * s * s * l + 4.0 * s * s * s,
                sweep: 2.0 * ENTRY * columns * s * (n + m),
                bytes: stored + 8.0 * s * (n + m),
            };
        }
        match operator.singular_system() {
            Ok(Some(_)) => Cost {
                set_up: 0.0,
                sweep: 4.0 * product,
                bytes: 8.0 * 4.0 * columns * (n + m),
            },
            _ => Cost {
                set_up: PRODUCTS * product,
                sweep: 2.0 * PRODUCTS * product,
                bytes: 8.0 * 8.0 * columns * (n + m),
            },
        }
    }

    /// The route for independent entries is asked for, and nothing that is known without a test of the entries speaks against it.
    fn expects_iid(&self, ports: &[SignalSpec]) -> bool {
        let operator = self.operator();
        let simple = |p: &SignalSpec| choice::is_simple(p.structure);
        let large = operator.output().len().max(operator.input().len()) >= choice::SMALL;
        let may = match self.inner.route {
            Route::Exact => false,
            Route::Iid | Route::IidOnly => true,
            Route::Auto => large && operator.heuristic().is_none(),
        };
        may && ports.iter().all(simple)
    }
}
