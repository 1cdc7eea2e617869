//! What a state at rest is: the one answer that decides whether a run has converged.

use super::Objective;
use crate::belief::Structure;
use crate::error::RunError;
use crate::model::Tree;

/// What an algorithm says of a state at which its run has come to rest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// A fixed point.
    Settled,
    /// A fixed point at which every variance has vanished, and no factor contradicts the signal.
    ExactRecovery,
    /// Every variance has vanished, at a signal that a factor contradicts.
    Contradicted(Contradiction),
    /// The variance of one variable vanishes while others stay, or its whole signal does, and the Bethe free energy has no limit there:
    /// $F \approx c + s\ln v$. The means are where the run happened to be.
    Collapsed {
        /// The variable.
        variable: String,
        /// What was seen.
        why: String,
        /// Its beliefs have one precision for all components: another for each may help.
        isotropic: bool,
    },
    /// The state rests, and is no fixed point all the same.
    NotStationary {
        /// Plain sweeps lead away from it. Otherwise precisions have grown until nothing moves.
        moving: bool,
        /// What was seen.
        why: String,
    },
    /// A linear channel took the route for independent entries, and its matrix has others: the exact route rests elsewhere.
    NotIid {
        /// The channel.
        factor: String,
        /// What was seen.
        why: String,
    },
    /// The energy falls without bound: there is no minimiser.
    Unbounded {
        /// The factor whose energy falls.
        factor: String,
        /// Its variable.
        variable: String,
    },
    /// The energy falls for ever towards an infimum that no point attains, as that of logistic labels which a plane separates: there is no
    /// minimiser.
    InfimumNotAttained {
        /// The factor whose energy falls.
        factor: String,
        /// Its variable.
        variable: String,
    },
    /// Constraints that do not hold together: there is no point with a finite energy.
    Infeasible {
        /// The factor whose energy is not finite where the others meet.
        factor: String,
    },
}

impl Verdict {
    /// That of a run which collapsed at this variable.
    pub(crate) fn collapsed(tree: &Tree, variable: &str, why: &str) -> Self {
        let found = tree.variable(variable).ok();
        let structure = found.map(|i| tree.variables()[i].spec.structure);
        Self::Collapsed {
            variable: variable.to_owned(),
            why: why.to_owned(),
            isotropic: structure == Some(Structure::Isotropic),
        }
    }

    /// The state is a fixed point, and an answer.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Settled | Self::ExactRecovery)
    }

    /// One word for it: `settled`, `exact_recovery`, `contradicted`, `collapsed`, `not_stationary`, `not_iid`, `unbounded`,
    /// `infimum_not_attained`, `infeasible`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::ExactRecovery => "exact_recovery",
            Self::Contradicted(_) => "contradicted",
            Self::Collapsed { .. } => "collapsed",
            Self::NotStationary { .. } => "not_stationary",
            Self::NotIid { .. } => "not_iid",
            Self::Unbounded { .. } => "unbounded",
            Self::InfimumNotAttained { .. } => "infimum_not_attained",
            Self::Infeasible { .. } => "infeasible",
        }
    }

    /// The factor that it names.
    #[must_use]
    pub fn factor(&self) -> Option<&str> {
        match self {
            Self::Contradicted(Contradiction { factor, .. })
            | Self::NotIid { factor, .. }
            | Self::Unbounded { factor, .. }
            | Self::InfimumNotAttained { factor, .. }
            | Self::Infeasible { factor } => Some(factor),
            _ => None,
        }
    }

    /// The variable that it names.
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Collapsed { variable, .. }
            | Self::Unbounded { variable, .. }
            | Self::InfimumNotAttained { variable, .. } => Some(variable),
            _ => None,
        }
    }

    /// Why a state with this verdict has no evidence, or no least energy; `None` where the verdict allows one.
    pub(super) fn objection(&self) -> Option<RunError> {
        let not_reached = |what: &str| RunError::NotReached {
            what: what.to_owned(),
            termination: self.to_string(),
        };
        match self {
            Self::Settled | Self::ExactRecovery => None,
            Self::Contradicted(_) => Some(not_reached("a signal that every factor allows")),
            Self::NotStationary { .. } => Some(not_reached("a fixed point")),
            Self::NotIid { .. } => Some(not_reached("the fixed point of the exact route")),
            Self::InfimumNotAttained { .. } => Some(not_reached("a minimiser")),
            Self::Collapsed { variable, why, .. } => Some(RunError::WithoutLimit {
                what: "the objective".to_owned(),
                variable: variable.clone(),
                why: why.clone(),
            }),
            Self::Unbounded { factor, variable } => Some(RunError::NoMinimum {
                factor: factor.clone(),
                variable: variable.clone(),
            }),
            Self::Infeasible { factor } => Some(RunError::Infeasible {
                factor: factor.clone(),
                energy: f64::INFINITY,
            }),
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Settled => f.write_str("settled"),
            Self::ExactRecovery => f.write_str("perfect recovery"),
            Self::Contradicted(found) => write!(f, "{found}"),
            Self::Collapsed {
                variable,
                isotropic,
                ..
            } => {
                write!(
                    f,
                    "collapsed at variable `{variable}`: its variance vanishes, wherever its mean is, and the Bethe free energy falls \
                     without bound. Another start or damping may help"
                )?;
                f.write_str(match isotropic {
                    true => {
                        "; diagonal beliefs help where some components are certain and others are not \
                         (`with_beliefs` of the model, `--belief diagonal`)"
                    }
                    false => "",
                })
            }
            Self::NotStationary { why, .. } => {
                write!(f, "at rest, but not at a fixed point: {why}")
            }
            Self::NotIid { factor, why } => {
                write!(
                    f,
                    "at rest, but not where the exact route of factor `{factor}` is: {why}"
                )
            }
            Self::Unbounded { factor, variable } => write!(
                f,
                "the energy of factor `{factor}` falls without bound along variable `{variable}`: there is no minimiser"
            ),
            Self::InfimumNotAttained { factor, variable } => write!(
                f,
                "infimum not attained: the energy of factor `{factor}` falls for ever along variable `{variable}`, to a limit that no point has \
                 (as that of labels which a plane separates). A penalty or prior on what leads to `{variable}` makes a minimiser"
            ),
            Self::Infeasible { factor } => write!(
                f,
                "infeasible: the energy of factor `{factor}` is not finite where the other factors meet"
            ),
        }
    }
}

/// Whether the log-evidence, as the Bethe objective gives it, has a limit at a state at rest: what stands beside its [`Verdict`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EvidenceLimit {
    /// It is a number: no variance vanishes, or it settles as one does.
    Finite,
    /// It is infinite: the observations have an infinite density, as noiseless ones that repeat each other.
    Infinite,
    /// It grows with every sweep as all variances vanish, as where noiseless continuous outputs are those of a signal that is known exactly.
    Diverging {
        /// What was seen.
        why: String,
    },
    /// It depends on how far the variance $v$ of one variable has vanished beside others that stay: $A \approx c - s\ln v$.
    DependsOnWidth {
        /// The variable.
        variable: String,
        /// What was seen.
        why: String,
    },
    /// It could not be computed: rounding leaves no digit of it, or a factor has no log-partition at this state.
    NotComputed,
}

impl EvidenceLimit {
    /// There is a finite limit: the log-evidence is a number.
    #[must_use]
    pub fn exists(&self) -> bool {
        *self == Self::Finite
    }

    /// One word for it: `finite`, `infinite`, `diverging`, `depends_on_width`, `not_computed`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Finite => "finite",
            Self::Infinite => "infinite",
            Self::Diverging { .. } => "diverging",
            Self::DependsOnWidth { .. } => "depends_on_width",
            Self::NotComputed => "not_computed",
        }
    }

    /// The limit of an objective where no variance vanishes, or that has settled as one does.
    pub(super) fn of(objective: &Result<Objective, RunError>) -> Self {
        match objective {
            Ok(objective) if objective.total == f64::INFINITY => Self::Infinite,
            Ok(objective) if objective.total.is_finite() => Self::Finite,
            _ => Self::NotComputed,
        }
    }
}

/// The log-evidence of a state at rest, and whether it has a limit there.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// Whether it has a limit.
    pub limit: EvidenceLimit,
    /// The objective, or why there is none.
    pub objective: Result<Objective, RunError>,
}

impl Evidence {
    /// That of an objective where no variance vanishes, or that has settled as one does.
    pub(super) fn settled(objective: Result<Objective, RunError>) -> Self {
        let limit = EvidenceLimit::of(&objective);
        Self { limit, objective }
    }

    /// It grows with every sweep.
    pub(super) fn diverging(why: String) -> Self {
        let error = RunError::NotDefined {
            what: "the objective at perfect recovery".to_owned(),
            why: why.clone(),
        };
        Self {
            limit: EvidenceLimit::Diverging { why },
            objective: Err(error),
        }
    }

    /// It depends on the width of a variable whose variance vanishes.
    pub(super) fn depends_on_width(variable: &str, why: String) -> Self {
        let variable = variable.to_owned();
        let error = RunError::WithoutLimit {
            what: "the objective".to_owned(),
            variable: variable.clone(),
            why: why.clone(),
        };
        Self {
            limit: EvidenceLimit::DependsOnWidth { variable, why },
            objective: Err(error),
        }
    }
}

/// A factor that contradicts a signal of which a run is certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The factor.
    pub factor: String,
    /// How it does.
    pub kind: ContradictionKind,
}

/// How a factor contradicts a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContradictionKind {
    /// The factor excludes it.
    Excluded,
    /// Its noise would have to be larger than it is, by more than chance explains.
    Implausible,
}

impl std::fmt::Display for Contradiction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "contradicted by factor `{}`: ", self.factor)?;
        f.write_str(match self.kind {
            ContradictionKind::Excluded => {
                "the run is certain of a signal that the factor excludes"
            }
            ContradictionKind::Implausible => {
                "the run is certain of a signal from which the observations are further than the noise allows: a wrong fixed \
                 point (another damping or start may help), or a noise variance that is set too small"
            }
        })
    }
}
