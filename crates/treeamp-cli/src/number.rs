//! Numbers on the command line, with their ranges.

use treeamp::belief::Structure;
use treeamp::engine::{Damping, Fallback};
use treeamp::error::RunError;
use treeamp_lab::sweep::Shard;

fn real(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}

fn when(x: f64, ok: bool, expected: &str) -> Result<f64, String> {
    if ok {
        Ok(x)
    } else {
        Err(format!("expected {expected}"))
    }
}

/// A number in [0, 1].
pub fn fraction(text: &str) -> Result<f64, String> {
    let x = real(text)?;
    when(x, (0.0..=1.0).contains(&x), "a number in [0, 1]")
}

/// An option that the library reads from its name, with the library's word on what is wrong.
fn named<T: std::str::FromStr<Err = RunError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| match error {
        RunError::Option { expected, .. } => format!("expected {expected}"),
        other => other.to_string(),
    })
}

/// `adaptive`, `none`, or a number in [0, 1).
pub fn damping(text: &str) -> Result<Damping, String> {
    named(text)
}

/// The part of the new messages that a sweep takes.
pub fn step(text: &str) -> Result<f64, String> {
    let x = real(text)?;
    when(x, x > 0.0 && x <= 1.0, "numbers in (0, 1]")
}

/// `automatic`, `forced` or `forbidden`.
pub fn fallback(text: &str) -> Result<Fallback, String> {
    named(text)
}

/// `isotropic`, `diagonal`, `full` or `block(n)`.
pub fn belief(text: &str) -> Result<Structure, String> {
    let known = "expected isotropic, diagonal, full or block(n)";
    text.parse().map_err(|_| known.to_owned())
}

/// A finite number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    let x = real(text)?;
    when(x, x > 0.0 && x.is_finite(), "a finite number above 0")
}

/// A relative gap: between zero and one.
pub fn gap(text: &str) -> Result<f64, String> {
    let x = real(text)?;
    when(x, x > 0.0 && x < 1.0, "a number in (0, 1)")
}

/// One of the parts of a sweep.
pub fn shard(text: &str) -> Result<Shard, String> {
    Shard::parse(text).map_err(|_| "expected k/n with k from 1 to n".to_owned())
}

/// A variance: finite and not negative.
pub fn variance(text: &str) -> Result<f64, String> {
    let x = real(text)?;
    when(x, x >= 0.0 && x.is_finite(), "a finite number, 0 or more")
}

/// An integer of at least one.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("expected an integer, 1 or more".to_owned()),
    }
}

/// A number of bytes, also as `4e9`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let x = positive(text)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates"
    )]
    Ok(x as u64)
}

/// Any integer is a seed: it counts modulo $2^{64}$.
pub fn seed(text: &str) -> Result<u64, String> {
    let refuse = || "expected an integer".to_owned();
    let x: i128 = text.parse().map_err(|_| refuse())?;
    u64::try_from(x.rem_euclid(1 << 64)).map_err(|_| refuse())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(fraction("1"), Ok(1.0));
        assert!(fraction("1.01").is_err() && fraction("nan").is_err() && fraction("x").is_err());
        assert_eq!(damping("0.5"), Ok(Damping::Constant(0.5)));
        assert_eq!(damping("adaptive"), Ok(Damping::Adaptive));
        assert_eq!(damping("none"), Ok(Damping::None));
        let refused = damping("1").expect_err("no damping");
        assert_eq!(refused, "expected adaptive, none or a number in [0, 1)");
        assert!(damping("-0.1").is_err() && damping("some").is_err());
        assert_eq!(step("1"), Ok(1.0));
        assert!(step("0").is_err() && step("1.01").is_err() && step("NaN").is_err());
        assert_eq!(fallback("forced"), Ok(Fallback::Forced));
        assert_eq!(
            fallback("always"),
            Err("expected automatic, forced or forbidden".to_owned())
        );
        assert!(positive("0").is_err() && positive("inf").is_err());
        assert_eq!(gap("1e-5"), Ok(1e-5));
        assert!(gap("0").is_err() && gap("1").is_err() && gap("nan").is_err());
        assert_eq!(variance("0"), Ok(0.0));
        assert!(variance("-1e-9").is_err() && variance("NaN").is_err());
        assert_eq!(count("12"), Ok(12));
        assert!(count("0").is_err() && count("-3").is_err() && count("1.5").is_err());
    }

    #[test]
    fn any_integer_is_a_seed() {
        assert_eq!(seed("0"), Ok(0));
        assert_eq!(seed("-1"), Ok(u64::MAX));
        assert_eq!(seed("18446744073709551617"), Ok(1));
        assert!(seed("1e3").is_err());
    }
}
