//! State evolution: order parameters of rows, and what they make of the fields on $Z$.
//!
//! With $m, q, v$ of the rows of the other side, from what comes in and what was sent last, and the fields $\hat m, \hat q, \hat\tau$ of an entry:
//! to a row, $\hat m' = \gamma\hat m m$, $\hat q' = \gamma\hat q q$ and $\hat\tau' = \gamma\hat\tau(q + v)$, with $\gamma$ the rows of the
//! other side over $N$. To an entry, with the moments of both sides and $\tau = q + v$: $m_w = \frac rN m_u m_v$, $q_w = \frac rN q_u q_v$ and
//! $V = \frac rN(\tau_u\tau_v - q_u q_v)$. The log-partition of the [module](super), averaged, has per entry
//! $\frac rN[\hat m m_u m_v + \hat q(q_u v_v + v_u q_v + \frac12 v_u v_v) - \frac12(\hat q + \hat\tau)\tau_u\tau_v]$.
//!
//! Where only what comes in is given, the sides are those of a fixed point, the one that knows most: a state that is stable is at it.

use std::f64::consts::{E, TAU};

use super::LowRank;
use crate::belief::{OverlapFields, Overlaps, SignalSpec};
use crate::error::{FactorError, brief};
use crate::factor::Averaged;

/// Columns of $Z$ in the limit, in place of infinitely many. What is left of it is its inverse, relative, and only where an output is averaged over
/// entries of that size.
const LIMIT: f64 = 1e6;

/// Steps to the fixed point of both sides, and how near they come to it, relative.
pub(super) const STEPS: usize = 100_000;
pub(super) const STILL: f64 = 1e-15;

/// The sizes at the ports.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sizes {
    rank: f64,
    /// $N$.
    pub columns: f64,
    /// Rows of the other side over $N$, for every side.
    pub shares: [f64; 2],
    pub sides: usize,
    /// Entries of $Z$ and components of the last side per component of the first one.
    pub entries: f64,
    pub last: f64,
}

impl LowRank {
    /// The sizes for these inputs.
    pub fn sizes(self, inputs: &[SignalSpec]) -> Sizes {
        let rank = self.rank as f64;
        let limit = inputs[0].ratio.is_some();
        let end = inputs[inputs.len() - 1].relative_size();
        let size = |spec: &SignalSpec| {
            let unit = if limit { LIMIT / end } else { 1.0 / rank };
            unit * spec.relative_size()
        };
        let (first, last) = (size(&inputs[0]), size(&inputs[inputs.len() - 1]));
        let (shares, entries) = if self.symmetric {
            let others = if limit { first } else { first - 1.0 };
            ([others / first; 2], 0.5 * others / rank)
        } else {
            ([1.0, first / last], last / rank)
        };
        Sizes {
            rank,
            columns: last,
            shares,
            sides: inputs.len(),
            entries,
            last: last / first,
        }
    }

    /// The size of $Z$ in the limit, for the size of the first side.
    pub fn limit_entries(self, first: f64) -> f64 {
        let share = if self.symmetric { 0.5 } else { 1.0 };
        share * first * LIMIT / self.rank as f64
    }
}

/// The moments of a side: $m$, $q$ and $v$ per component, and the teacher's $\tau_0$.
#[derive(Debug, Clone, Copy)]
struct Moments {
    m: f64,
    q: f64,
    v: f64,
    tau0: f64,
}

impl Moments {
    fn of(field: OverlapFields, tau0: f64) -> Result<Self, FactorError> {
        let a = field.a();
        if !(a > 0.0) {
            return Err(FactorError::Improper(format!(
                "the precision {} on rows leaves a negative variance",
                brief(a)
            )));
        }
        if a == f64::INFINITY {
            return Ok(Self {
                m: tau0,
                q: tau0,
                v: 0.0,
                tau0,
            });
        }
        let gain = field.m_hat / a;
        Ok(Self {
            m: gain * tau0,
            q: gain * gain * tau0 + field.q_hat / (a * a),
            v: 1.0 / a,
            tau0,
        })
    }

    fn tau(&self) -> f64 {
        self.q + self.v
    }
}

fn plus(x: OverlapFields, y: OverlapFields) -> OverlapFields {
    OverlapFields {
        m_hat: x.m_hat + y.m_hat,
        q_hat: x.q_hat + y.q_hat,
        tau_hat: x.tau_hat + y.tau_hat,
    }
}

/// $\tau_0$ of a side: what the tilts of a Bayesian network leave of it.
fn tau0_of(at: Averaged<'_>, side: usize) -> f64 {
    1.0 / at.tau0_hat[side]
}

/// $E[b\hat u - \frac a2(\hat u^2 + v)] + \frac12\ln 2\pi e v$ of what comes in, beside what was sent.
fn rows(field: OverlapFields, sent: OverlapFields, side: &Moments) -> f64 {
    if side.v == 0.0 {
        return 0.0;
    }
    let pull = field.m_hat * (field.m_hat + sent.m_hat) * side.tau0 + field.q_hat;
    pull * side.v - 0.5 * field.a() * side.tau() + 0.5 * (TAU * E * side.v).ln()
}

impl Sizes {
    /// What goes to a row from the moments of the other side.
    fn to_row(&self, side: usize, other: &Moments, z: OverlapFields) -> OverlapFields {
        let share = self.shares[side];
        OverlapFields {
            m_hat: share * z.m_hat * other.m,
            q_hat: share * z.q_hat * other.q,
            tau_hat: share * z.tau_hat * other.tau(),
        }
    }

    /// What goes to an entry.
    fn to_entry(&self, u: &Moments, v: &Moments) -> OverlapFields {
        let share = self.rank / self.columns;
        let tau0 = u.tau0 * v.tau0;
        let variance = u.q * v.v + u.v * v.tau();
        let (m, q) = (u.m * v.m, u.q * v.q);
        if variance == 0.0 {
            return OverlapFields {
                m_hat: f64::INFINITY,
                q_hat: f64::INFINITY,
                tau_hat: 0.0,
            };
        }
        let q_hat = (q - m * (m / tau0)) / variance / (share * variance);
        OverlapFields {
            m_hat: m / tau0 / (share * variance),
            q_hat,
            tau_hat: 1.0 / (share * variance) - q_hat,
        }
    }

    /// The message to `target`, from what comes in and what was sent.
    pub fn message(
        &self,
        at: Averaged<'_>,
        sent: &[OverlapFields],
        target: usize,
    ) -> Result<OverlapFields, FactorError> {
        let z = at.fields[self.sides];
        let side = |k: usize| Moments::of(plus(at.fields[k], sent[k]), tau0_of(at, k));
        if target < self.sides {
            let other = side(self.sides - 1 - target)?;
            return Ok(self.to_row(target, &other, z));
        }
        Ok(self.to_entry(&side(0)?, &side(self.sides - 1)?))
    }

    /// The moments of both sides at the fixed point that knows most.
    fn sides(&self, at: Averaged<'_>) -> Result<[Moments; 2], FactorError> {
        let z = at.fields[self.sides];
        let tau0 = [tau0_of(at, 0), tau0_of(at, self.sides - 1)];
        let known = |tau0: f64| Moments {
            m: tau0,
            q: tau0,
            v: 0.0,
            tau0,
        };
        let mut sides = tau0.map(known);
        for _ in 0..STEPS {
            let before = sides;
            for k in 0..self.sides {
                let other = sides[self.sides - 1 - k];
                let field = plus(at.fields[k], self.to_row(k, &other, z));
                sides[k] = Moments::of(field, tau0[k])?;
            }
            if self.sides == 1 {
                sides[1] = sides[0];
            }
            let moved = |k: usize| (sides[k].v - before[k].v).abs() > STILL * sides[k].v;
            if !moved(0) && !moved(1) {
                break;
            }
        }
        Ok(sides)
    }

    pub fn overlaps(&self, at: Averaged<'_>, target: usize) -> Result<Overlaps, FactorError> {
        let [u, v] = self.sides(at)?;
        let (side, tau0) = if target < self.sides {
            let side = if target == 0 { u } else { v };
            (side, side.tau0)
        } else {
            let tau0 = self.rank / self.columns * u.tau0 * v.tau0;
            let field = plus(at.fields[target], self.to_entry(&u, &v));
            (Moments::of(field, tau0)?, tau0)
        };
        Ok(Overlaps {
            m: side.m,
            v: side.v,
            err: side.q - side.m * (side.m / tau0),
            tau0,
        })
    }

    /// $\bar A$ per component of the first side.
    pub fn potential(&self, at: Averaged<'_>) -> Result<f64, FactorError> {
        let [u, v] = self.sides(at)?;
        let z = at.fields[self.sides];
        let mut value = rows(at.fields[0], self.to_row(0, &v, z), &u);
        if self.sides == 2 {
            value += self.last * rows(at.fields[1], self.to_row(1, &u, z), &v);
        }
        let fit = z.m_hat * u.m * v.m + z.q_hat * (u.q * v.v + u.v * v.q + 0.5 * u.v * v.v);
        let entry = fit - 0.5 * z.a() * u.tau() * v.tau();
        Ok(value + self.entries * self.rank / self.columns * entry)
    }

    /// The teacher's $\tau_0$ at a port.
    pub fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
        self.untilted(tau0_hat)?;
        if target < self.sides {
            return Ok(1.0 / tau0_hat[target]);
        }
        Ok(self.rank / (self.columns * tau0_hat[0] * tau0_hat[self.sides - 1]))
    }

    /// The teacher's $A^{(0)}$ per component of the first side.
    pub fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
        self.untilted(tau0_hat)?;
        let volume = |k: usize| 0.5 * (TAU / tau0_hat[k]).ln();
        Ok(volume(0)
            + if self.sides == 2 {
                self.last * volume(1)
            } else {
                0.0
            })
    }

    /// Nothing weighs on the entries of a teacher but what they make.
    fn untilted(&self, tau0_hat: &[f64]) -> Result<(), FactorError> {
        if tau0_hat[self.sides] == 0.0 {
            return Ok(());
        }
        Err(FactorError::Unsupported(
            "a prior on the entries of a product of hidden matrices has no state evolution"
                .to_owned(),
        ))
    }
}
