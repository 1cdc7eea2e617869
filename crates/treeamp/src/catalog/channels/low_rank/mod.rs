//! Products of two hidden matrices of few columns: $Z = U V^T/\sqrt N$, and $Z = X X^T/\sqrt N$ of one.
//!
//! $U$ has $M$ rows, $V$ and $X$ have $N$, of $r$ components each. The messages are the approximate message passing of Lesieur, Krzakala and
//! Zdeborová. Entries of $Z$ are of order $1/\sqrt N$, so that whatever sees them is its expansion about zero, a Gaussian message with the score
//! $b_{ij}$ and the precision $a_{ij}$ ([decision 13]). With means $\hat u_i$ and covariances $\Sigma_i$ of rows, from what comes in and what was
//! sent last, primes for the other side, and $\hat u_i^-$ the mean of the update before:
//!
//! - $M_i = \frac1N\sum_j a_{ij}(\hat v_j\hat v_j^T + \Sigma'_j)$ and $K_i = \frac1N\sum_j b_{ij}^2\,\Sigma'_j$,
//! - to $u_i$: $A_i = M_i - K_i$ and $B_i = \frac1{\sqrt N}\sum_j b_{ij}\hat v_j - K_i\hat u_i^-$,
//! - to $z_{ij}$: variance $V_{ij} = \frac1N[\hat u_i^T\Sigma'_j\hat u_i + \hat v_j^T\Sigma_i\hat v_j + \mathrm{tr}\,\Sigma_i\Sigma'_j]$ and
//!   mean $\mu_{ij} - V_{ij}(b_{ij} - a_{ij}\mu_{ij})$ with $\mu_{ij} = \hat u_i^T\hat v_j/\sqrt N + b_{ij}\,\mathrm{tr}\,\Sigma_i\Sigma'_j/N$,
//! - $A_f$ is the extremum over means and covariances of
//!   $\sum_i[b_i^T\hat u_i - \frac12\mathrm{tr}\,a_i(\hat u_i\hat u_i^T + \Sigma_i) + \frac12\ln\det 2\pi e\Sigma_i] + (\text{the same of } v) +
//!   \sum_{ij}[b_{ij}\frac{\hat u_i^T\hat v_j}{\sqrt N} - \frac{a_{ij}}{2N}\mathrm{tr}(\hat u_i\hat u_i^T + \Sigma_i)(\hat v_j\hat v_j^T + \Sigma'_j) +
//!   \frac{b_{ij}^2}{2N}\mathrm{tr}\,\Sigma_i\Sigma'_j]$.
//!
//! Isotropic beliefs take averages: of $a$ and $b^2$ over all entries where that on $Z$ is, of $A_i$ over rows and components where that on
//! rows is. In the symmetric case sums go over pairs $i < j$, each once.
//!
//! [decision 13]: https://github.com/treeamp/treeamp/blob/main/docs/decisions/0013-low-rank-products.md

mod amp;
mod gram;
mod potential;
mod product;
mod rows;
mod side;
mod start;
mod theory;
mod uv;

use self::amp::LowRankWork;
use self::product::Layout;
use crate::belief::{SignalSpec, Structure};
use crate::error::{ModelError, ShapeError, parameter};
use crate::factor::BeliefError;

pub use self::gram::LowRankGram;
pub use self::uv::LowRankFactorization;

/// Beliefs that both know.
const STRUCTURES: &[Structure] = &[
    Structure::Isotropic,
    Structure::Diagonal,
    Structure::Block { dim: 0 },
];

/// What a report says of a start that was chosen by default.
const START: &str =
    "all rows were alike, a fixed point: the run began at the leading directions of the scores";

fn check_rank(name: &str, rank: usize) -> Result<(), ModelError> {
    if rank == 0 {
        return Err(parameter(name, "rank", "at least 1", 0));
    }
    Ok(())
}

/// The rows of a matrix of `rank` columns; a vector is one of one column.
fn rows_of(spec: &SignalSpec, rank: usize, port: usize) -> Result<usize, ShapeError> {
    let refuse = |expected: String| ShapeError {
        port,
        expected,
        got: format!("shape {spec}"),
    };
    let real = spec.element == crate::belief::Element::Real;
    if spec.ratio.is_some() {
        return if real {
            Ok(0)
        } else {
            Err(refuse("a real signal".to_owned()))
        };
    }
    let rows = match (spec.shape.as_slice(), rank) {
        ([n], 1) if real => *n,
        ([n, r], _) if real && *r == rank => *n,
        (_, 1) => return Err(refuse("real shape (n) or (n, 1)".to_owned())),
        _ => return Err(refuse(format!("real shape (n, {rank})"))),
    };
    if rank > rows {
        return Err(refuse(format!("at least {rank} rows, as many as the rank")));
    }
    Ok(rows)
}

/// Blocks on rows are as large as the rank, and entries of $Z$ have none.
fn check_ports(rank: usize, ports: &[SignalSpec]) -> Result<(), BeliefError> {
    crate::factor::each_supported(STRUCTURES, ports)?;
    let z = ports.len() - 1;
    for (port, spec) in ports.iter().enumerate() {
        let fits = match spec.structure {
            Structure::Block { dim } => port < z && dim == rank,
            _ => true,
        };
        if !fits {
            let supported = if port == z {
                "isotropic, diagonal".to_owned()
            } else {
                format!("isotropic, diagonal, block({rank}): blocks of the rank")
            };
            return Err(BeliefError { port, supported });
        }
    }
    Ok(())
}

/// What both have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LowRank {
    rank: usize,
    symmetric: bool,
}

impl LowRank {
    fn layout(self, ports: &[SignalSpec]) -> Layout {
        let rows = |port: usize| ports[port].len() / self.rank;
        if self.symmetric {
            Layout::Pairs { n: rows(0) }
        } else {
            Layout::Rectangular {
                rows: rows(0),
                columns: rows(1),
            }
        }
    }

    fn work(self, ports: &[SignalSpec]) -> LowRankWork {
        let layout = self.layout(ports);
        let (z, sides) = (ports.len() - 1, &ports[..ports.len() - 1]);
        let structures: Vec<Structure> = sides.iter().map(|s| s.structure).collect();
        LowRankWork::new(layout, self.rank, &structures, ports[z].structure)
    }
}

/// What both are as factors, of `$inputs` inputs: all but the shape of the output.
macro_rules! factor_items {
    ($inputs:expr) => {
        fn name(&self) -> &str {
            Self::NAME
        }

        fn summary(&self) -> String {
            format!("rank {}", self.inner.rank)
        }

        fn arity(&self) -> Arity {
            Arity {
                inputs: $inputs,
                outputs: 1,
            }
        }

        fn same_law(&self, other: &dyn Factor) -> bool {
            downcast::<Self>(other).is_some_and(|other| other.inner == self.inner)
        }

        fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
            let sizes = Some(self.inner.sizes(inputs));
            Ok(Some(Arc::new(Self {
                sizes,
                ..self.clone()
            })))
        }

        fn structures(&self) -> &'static [Structure] {
            STRUCTURES
        }

        fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
            check_ports(self.inner.rank, ports)
        }

        fn workspace(&self, ports: &[SignalSpec]) -> Workspace {
            Workspace::new(self.inner.work(ports))
        }

        fn vanishing_port(&self) -> Option<usize> {
            Some($inputs)
        }

        fn posterior(&self) -> Option<&dyn PosteriorRule> {
            Some(self)
        }

        fn ensemble(&self) -> Option<&dyn EnsembleRule> {
            Some(self)
        }

        fn row_ensemble(&self) -> Option<&dyn RowEnsembleRule> {
            Some(self)
        }

        fn generator(&self) -> Option<&dyn GenerativeRule> {
            Some(self)
        }
    };
}
use factor_items;

/// Expectation propagation of either.
macro_rules! posterior_rule {
    ($factor:ty) => {
        impl PosteriorRule for $factor {
            fn message(
                &self,
                context: &mut Context<'_>,
                target: usize,
                out: &mut Gaussian,
            ) -> Result<(), FactorError> {
                let unread = context.request.unread;
                let mut amp = Amp::new(context, Some(target))?;
                if !unread {
                    amp.message(target, out);
                }
                Ok(())
            }

            fn skips_unread(&self, target: usize) -> bool {
                target == self.arity().inputs
            }

            fn note(&self, workspace: &Workspace) -> Option<String> {
                let work = workspace.peek::<LowRankWork>()?;
                work.start.as_ref().map(|_| START.to_owned())
            }

            fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
                let own: f64 = context.incoming.iter().map(Gaussian::own_potential).sum();
                Ok(self.excess(context)? + own)
            }

            fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
                Amp::new(context, None)?.excess()
            }
        }
    };
}
use posterior_rule;

/// State evolution of either.
macro_rules! ensemble_rule {
    ($factor:ty) => {
        impl $factor {
            fn sizes(&self) -> Result<&Sizes, FactorError> {
                let none = || FactorError::Failed("expected a factor of a tree".to_owned());
                self.sizes.as_ref().ok_or_else(none)
            }
        }

        impl EnsembleRule for $factor {
            fn pairs_with(&self, teacher: &dyn Factor) -> bool {
                self.same_law(teacher)
            }

            fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
                self.sizes()?.second_moment(tau0_hat, target)
            }

            fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
                self.sizes()?.prior_potential(tau0_hat)
            }

            fn overlaps(
                &self,
                _: &dyn Factor,
                at: Averaged<'_>,
                target: usize,
            ) -> Result<Overlaps, FactorError> {
                self.sizes()?.overlaps(at, target)
            }

            fn recursion(
                &self,
                at: Averaged<'_>,
                sent: &[OverlapFields],
                target: usize,
            ) -> Result<Option<OverlapFields>, FactorError> {
                self.sizes()?.message(at, sent, target).map(Some)
            }

            fn potential(&self, _: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
                self.sizes()?.potential(at)
            }
        }

        impl RowEnsembleRule for $factor {
            fn second_moment(
                &self,
                inputs: &[RowMatrix],
                _: usize,
            ) -> Result<RowMatrix, FactorError> {
                self.inner.row_second_moment(self.sizes()?, inputs)
            }

            /// Without a last message nothing was sent.
            fn field(
                &self,
                at: RowAveraged<'_>,
                target: usize,
            ) -> Result<RowEstimate, FactorError> {
                let zero = |t: &RowMatrix| RowMatrix::zeros(t.dim());
                let sent: Vec<RowMatrix> = at.tau0.iter().map(zero).collect();
                self.inner.row_message(self.sizes()?, at, &sent, target)
            }

            fn recursion(
                &self,
                at: RowAveraged<'_>,
                sent: &[RowMatrix],
                target: usize,
            ) -> Result<Option<RowEstimate>, FactorError> {
                let sizes = self.sizes()?;
                self.inner.row_message(sizes, at, sent, target).map(Some)
            }

            fn potential(&self, at: RowAveraged<'_>) -> Result<f64, FactorError> {
                self.inner.row_potential(self.sizes()?, at)
            }
        }
    };
}
use ensemble_rule;
