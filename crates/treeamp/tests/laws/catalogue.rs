//! Every law of the catalogue passes every conformance check.

use treeamp::testing::laws::{Outcome, check_channel, check_likelihood, check_prior};

macro_rules! test_priors {
    ($($name:ident $(($module:path))? => $law:expr;)*) => {
        mod prior {
            $(#[test]
            fn $name() -> super::Outcome {
                super::check_prior(&$law.map_err(|e| e.to_string())?)
            })*
        }
    };
}

macro_rules! test_likelihoods {
    ($($name:ident $(($module:path))? => $law:expr, $ys:expr;)*) => {
        mod likelihood {
            $(#[test]
            fn $name() -> super::Outcome {
                super::check_likelihood(&$law.map_err(|e| e.to_string())?, &$ys)
            })*
        }
    };
}

macro_rules! test_channels {
    ($($name:ident $(($module:path))? => $law:expr, $ys:expr;)*) => {
        mod channel {
            $(#[test]
            fn $name() -> super::Outcome {
                let law: Result<_, treeamp::ModelError> = $law;
                super::check_channel(&law.map_err(|e| e.to_string())?, &$ys)
            })*
        }
    };
}

treeamp::for_each_prior!(test_priors);
treeamp::for_each_likelihood!(test_likelihoods);
treeamp::for_each_channel!(test_channels);

#[test]
fn guide_shows_the_real_source() {
    let guide = include_str!("../../../../docs/add-a-prior.md");
    assert!(guide.contains(include_str!("../../src/catalog/priors/exponential.rs")));
}

#[test]
fn outputs_that_cannot_be_are_refused() {
    use treeamp::catalog::channels::{Activation, PiecewiseLinear};
    use treeamp::catalog::observed;
    use treeamp::scalar::ScalarLikelihood;
    let refusal = |channel: &PiecewiseLinear, y: f64| {
        observed(channel)
            .map(|law| law.check(y).unwrap_err())
            .unwrap_or_default()
    };
    assert_eq!(
        refusal(&PiecewiseLinear::sign(), 0.5),
        "expected +1 or -1, got 0.5"
    );
    assert_eq!(
        refusal(&PiecewiseLinear::abs(), -1.0),
        "expected a number from 0 up, got -1"
    );
    let hard = PiecewiseLinear::hard_tanh();
    assert_eq!(refusal(&hard, 2.0), "expected a number from -1 to 1, got 2");
    // the slope meets its flat regions up to rounding, which is not told
    for knee in [0.7, 1.5, 2.5, 3.3] {
        let sigmoid = PiecewiseLinear::hard_sigmoid(knee).unwrap();
        let text = "expected a number from 0 to 1, got 2";
        assert_eq!(refusal(&sigmoid, 2.0), text, "knee {knee}");
    }
    let tanh = observed(&Activation::tanh()).map(|law| law.check(1.0).unwrap_err());
    assert_eq!(
        tanh,
        Ok("expected a number strictly between -1 and 1, got 1".to_owned())
    );
}

#[test]
fn regions_must_cover_the_line() {
    use treeamp::catalog::channels::{PiecewiseLinear, Region};
    let region = |start, end| Region {
        start,
        end,
        offset: 0.0,
        slope: 1.0,
    };
    let inf = f64::INFINITY;
    assert!(PiecewiseLinear::new("line", &[region(-inf, 0.0), region(0.0, inf)]).is_ok());
    assert!(PiecewiseLinear::new("none", &[]).is_err());
    assert!(PiecewiseLinear::new("gap", &[region(-inf, 0.0), region(1.0, inf)]).is_err());
    assert!(PiecewiseLinear::new("overlap", &[region(-inf, 1.0), region(0.0, inf)]).is_err());
    assert!(PiecewiseLinear::new("half", &[region(0.0, inf)]).is_err());
    assert!(PiecewiseLinear::new("nan", &[region(-inf, f64::NAN), region(f64::NAN, inf)]).is_err());
}

/// A law that is all atoms has its excess from them: the difference of log-partitions has no digits left at high precision.
#[test]
fn atoms_alone_have_an_excess_without_a_difference() {
    use rand::Rng;
    use treeamp::catalog::priors::Binary;
    use treeamp::scalar::{ScalarPrior, Tilted};

    /// The binary law with the methods that an author must write.
    #[derive(Debug, Clone, PartialEq)]
    struct Plain(Binary);

    impl ScalarPrior for Plain {
        const NAME: &'static str = "plain";
        fn tilted(&self, a: f64, b: f64) -> Tilted {
            self.0.tilted(a, b)
        }
        fn sample(&self, rng: &mut dyn Rng) -> f64 {
            self.0.sample(rng)
        }
        fn log_density(&self, x: f64) -> f64 {
            self.0.log_density(x)
        }
        fn atoms(&self) -> Vec<(f64, f64)> {
            self.0.atoms()
        }
    }

    let law = Binary::new(0.3).unwrap();
    for a in [0.5_f64, 1e3, 1e9, 1e15] {
        for place in [-1.0 - 1.0 / a.sqrt(), 0.2, 1.0] {
            let (got, exact) = (Plain(law).excess(a, a * place), law.excess(a, a * place));
            // rounding of the place, as large as the exponent makes it
            let tolerance = 1e-14 * (1.0 + exact.abs()) + 1e-15 * a.sqrt();
            assert!(
                (got - exact).abs() < tolerance,
                "a = {a:e}: {got} and {exact}"
            );
        }
    }
}
