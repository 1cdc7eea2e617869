//! Losses of observed outputs: the proximal map is the minimiser, and outputs that cannot be are refused.

use treeamp::extend::ScalarLoss;
use treeamp::prelude::*;

/// The objective rises on both sides of the mode, whose derivative in $b$ is what it says where it is smooth.
fn check<L: ScalarLoss>(law: &L, outputs: &[f64]) {
    for &y in outputs {
        for a in [1e-6, 0.3, 2.0, 1e6] {
            for field in [-30.0, -2.0, -0.5, 0.0, 0.2, 1.0, 1.7, 40.0] {
                let b = field * f64::max(a, 1.0);
                let (z, slope) = law.proximal(y, a, b);
                let objective = |z: f64| law.energy(y, z) + 0.5 * a * z * z - b * z;
                let scale = objective(z).abs().max(0.5 * a * z * z).max(1.0);
                for step in [1e-4, 1e-2, 1.0, 10.0] {
                    for other in [z - step, z + step] {
                        let fall = objective(z) - objective(other);
                        assert!(fall <= 1e-13 * scale, "{law:?} at {y}, {a}, {b}: {z}");
                    }
                }
                assert!((0.0..=1.0 / a).contains(&slope));
                let h = 1e-6 * a.max(1.0);
                let mode = |b: f64| law.proximal(y, a, b).0;
                let sides = [mode(b + h) - z, z - mode(b - h)].map(|d| d / h);
                let smooth = (sides[0] - sides[1]).abs() < 1e-3 / a;
                let near = (sides[0] - slope).abs() < 1e-3 / a;
                assert!(
                    near || !smooth,
                    "{law:?} at {y}, {a}, {b}: {sides:?} {slope}"
                );
            }
        }
        assert!(law.check(y).is_ok() && law.check(f64::NAN).is_err());
    }
}

#[test]
fn proximal_maps_are_minimisers() {
    macro_rules! each {
        ($($name:ident($module:path) => $law:expr, $ys:expr;)*) => {$( check(&$law.unwrap(), &$ys); )*};
    }
    treeamp::for_each_loss!(each);
}

#[test]
fn what_cannot_be_is_named() {
    let named = |e: Result<(), ModelError>| e.unwrap_err().to_string();
    assert_eq!(
        named(Hinge::new(0.0).map(|_| ())),
        "hinge: parameter `strength` must be positive and finite, got 0"
    );
    assert_eq!(
        named(Huber::new(1.0, f64::NAN).map(|_| ())),
        "huber: parameter `threshold` must be positive and finite, got NaN"
    );
    assert_eq!(
        named(Quantile::new(1.0, 1.2).map(|_| ())),
        "quantile: parameter `quantile` must be between 0 and 1, without these, got 1.2"
    );
    let model = source(Quadratic::new(1.0, 0.0).unwrap().iid(3))
        >> var("z")
        >> LossChannel::new(SquaredHinge::new(1.0).unwrap())
        >> var("y");
    let text = model.build().unwrap().condition("y", &[1.0, 2.0, -1.0]);
    let text = text.unwrap_err().to_string();
    assert!(text.contains("+1 or -1, got 2 at index 1"), "{text}");
}
