//! The entropic potential of a separable channel.

use std::cell::Cell;

use super::channel::{Pair, X, Z};
use super::channel_rule::{second_moments, teacher_at};
use super::{Field, POTENTIAL, Sums, circular_channel, entropy, is_symmetric, per_component};
use crate::error::FactorError;
use crate::factor::Averaged;
use crate::scalar::{ScalarView, Symmetry};

/// $H$ at fields that averages can take: the excess is averaged over the tilts of the ends that are
/// [clear](entropy::CLEAR).
pub(super) fn entropic(channel: &dyn ScalarView, at: Averaged<'_>) -> Result<f64, FactorError> {
    let t0 = teacher_at(channel, at.tau0_hat)?;
    let tau0 = second_moments(&t0);
    let field = |end: usize| Field::new(&at.fields[end], at.tau0_hat[end], true);
    let fields = [field(Z)?, field(X)?];
    let clear = [Z, X].map(|i| fields[i].m_hat * tau0[i] > entropy::CLEAR);
    let ends = [Z, X].map(|i| {
        if clear[i] {
            entropy::of_tilt(&fields[i], tau0[i])
        } else {
            0.5 * fields[i].m_hat * tau0[i]
        }
    });
    let whole = per_component(channel) * t0.log_z;
    if channel.symmetry() == Symmetry::Circular {
        let pair = circular_channel::Pair {
            student: channel,
            teacher: channel,
            at: fields.map(|f| Field { excess: true, ..f }),
            end: X,
            log_z0: t0.log_z,
            tau0,
            sharp: clear,
        };
        let sums = Sums(pair.average()).checked(&fields[X])?;
        // per real component of z, which has two for every one of x
        return Ok(whole - sums.0[POTENTIAL] + ends[Z] + 0.5 * ends[X]);
    }
    let mut pair = Pair {
        student: channel,
        teacher: channel,
        at: fields.map(|f| Field { excess: true, ..f }),
        target: None,
        log_z0: t0.log_z,
        tau0,
        sharp: clear,
        bayes: true,
        symmetric: is_symmetric(channel, channel),
        k: Cell::new(1.0),
    };
    let table = pair.tabulated(channel, true);
    if let Some(table) = &table {
        (pair.teacher, pair.student) = (&**table, &**table);
    }
    let sums = Sums(pair.average()).checked(&fields[X])?;
    Ok(whole - sums.0[POTENTIAL] + ends[Z] + ends[X])
}
