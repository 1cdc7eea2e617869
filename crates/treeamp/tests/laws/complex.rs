//! Every complex law of the catalogue passes every conformance check, of the law and of its averages in state evolution;
//! extreme parameters; reference values.

use treeamp::testing::averages::{
    check_channel_average, check_likelihood_average, check_prior_average,
};
use treeamp::testing::complex_laws::{
    check_complex_channel, check_complex_likelihood, check_complex_prior,
};
use treeamp::testing::laws::Outcome;

macro_rules! test_priors {
    ($($name:ident $(($module:path))? => $law:expr;)*) => {
        mod prior {
            $(#[test]
            fn $name() -> super::Outcome {
                let law = $law.map_err(|e| e.to_string())?;
                super::check_complex_prior(&law)?;
                super::check_prior_average::<treeamp::Complex<f64>, _>(&law)
            })*
        }
    };
}

macro_rules! test_likelihoods {
    ($($name:ident $(($module:path))? => $law:expr, $ys:expr;)*) => {
        mod likelihood {
            $(#[test]
            fn $name() -> super::Outcome {
                let law: Result<_, treeamp::ModelError> = $law;
                let law = law.map_err(|e| e.to_string())?;
                super::check_complex_likelihood(&law, &$ys)?;
                super::check_likelihood_average::<treeamp::Complex<f64>, _>(&law)
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
                let law = law.map_err(|e| e.to_string())?;
                super::check_complex_channel(&law, &$ys)?;
                super::check_channel_average(&law)
            })*
        }
    };
}

treeamp::for_each_complex_prior!(test_priors);
treeamp::for_each_complex_likelihood!(test_likelihoods);
treeamp::for_each_complex_channel!(test_channels);

mod extremes {
    use crate::common::oracle;
    use rand::{RngExt, SeedableRng};
    use treeamp::Complex;
    use treeamp::extend::*;
    use treeamp::prelude::*;
    use treeamp::scalar::ScalarLikelihood;
    use treeamp::testing::complex_laws::check_complex_value;
    use treeamp::testing::laws::extreme_tilt;

    /// Nothing is NaN and variances are positive wherever a tilt may lie.
    #[test]
    fn values_are_sane() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(4);
        let gaussian = CircularGaussian::new(1.3).unwrap();
        let sparse = CircularGaussBernoulli::new(0.1, 2.0).unwrap();
        let mixture = CircularGaussianMixture::new(&[0.2, 0.8], &[30.0, 1e-4]).unwrap();
        let rician = RicianModulus::new(0.3).unwrap();
        let log_uniform =
            |rng: &mut rand_chacha::ChaCha8Rng| 10f64.powf(rng.random_range(-6.0..4.0));
        for _ in 0..4000 {
            let (re, im) = (extreme_tilt(&mut rng), extreme_tilt(&mut rng));
            let (a, b) = (re.a, Complex::new(re.b, im.b));
            let y = log_uniform(&mut rng);
            let phase = Complex::from_polar(1.0, rng.random_range(0.0..6.2));
            let x = extreme_tilt(&mut rng);
            let values = [
                mixture.tilted(a, b),
                rician.tilted(y, a, b),
                gaussian.tilted(a, b),
                sparse.tilted(a, b),
                ModulusLikelihood.tilted(y, a, b),
                PhaseLikelihood.tilted(phase, a, b),
            ];
            for (i, t) in values.iter().enumerate() {
                check_complex_value(t)
                    .map_err(|e| format!("{i} at {a:e}, {b}: {e}"))
                    .unwrap();
                assert!(t.variance > 0.0, "{i} at {a:e}, {b}: {t:?}");
            }
            let t = Modulus.tilted(Tilt { a, b }, x);
            let sane = t.log_z.is_finite() && t.variance_z > 0.0 && t.variance_x > 0.0;
            assert!(sane && t.mean_x > 0.0, "{a:e} {b} {x:?}: {t:?}");
            // a length lies beyond the length of the mean, and the Gaussian factors bound its variance
            assert!(
                t.mean_z.norm() <= t.mean_x * (1.0 + 1e-9),
                "{a:e} {b} {x:?}: {t:?}"
            );
            assert!(
                t.variance_x * (a + x.a) <= 1.0 + 1e-6,
                "{a:e} {b} {x:?}: {t:?}"
            );
        }
    }

    /// The letters of a square constellation, one by one, are that of independent parts; nothing is NaN at extreme tilts.
    #[test]
    fn letters_of_a_square() {
        let square = Qam::points(16).unwrap();
        let letters = square.atoms();
        assert_eq!(letters.len(), 16);
        let real: Vec<f64> = letters.iter().map(|x| x.0.re).collect();
        let imaginary: Vec<f64> = letters.iter().map(|x| x.0.im).collect();
        let weights: Vec<f64> = letters.iter().map(|x| x.1).collect();
        let law = ComplexAlphabet::new(&real, &imaginary, &weights).unwrap();
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(6);
        for _ in 0..2000 {
            let (re, im) = (extreme_tilt(&mut rng), extreme_tilt(&mut rng));
            check_complex_value(&law.tilted(re.a, Complex::new(re.b, im.b))).unwrap();
            let a = rng.random_range(-10.0..100.0);
            let b = Complex::new(rng.random_range(-60.0..60.0), rng.random_range(-60.0..60.0));
            let (t, u) = (law.tilted(a, b), square.tilted(a, b));
            let what = format!("{a:e} {b}: {t:?} {u:?}");
            assert!((t.log_z - u.log_z).abs() <= 1e-12, "{what}");
            assert!((t.mean - u.mean).norm() <= 1e-12, "{what}");
            assert!((t.variance - u.variance).abs() <= 1e-12, "{what}");
        }
        let drawn = law.sample(&mut rng);
        assert!(letters.iter().any(|(x, _)| *x == drawn));
    }

    #[test]
    fn divergent_integrals_say_so() {
        let b = Complex::new(0.4, -1.0);
        assert!(
            CircularGaussian::new(2.0)
                .unwrap()
                .tilted(-0.5, b)
                .log_z
                .is_infinite()
        );
        assert!(
            CircularGaussBernoulli::new(0.1, 2.0)
                .unwrap()
                .tilted(-0.6, b)
                .variance
                .is_infinite()
        );
        assert!(
            PhaseLikelihood
                .tilted(Complex::ONE, -1.0, b)
                .log_z
                .is_infinite()
        );
        assert!(
            PhaseLikelihood
                .tilted(Complex::ONE, 0.0, b)
                .log_z
                .is_infinite()
        );
        assert!(
            PhaseLikelihood
                .tilted(-Complex::ONE, 0.0, b)
                .log_z
                .is_finite()
        );
        assert!(ModulusLikelihood.tilted(2.0, -3.0, b).log_z.is_finite());
        let t = Modulus.tilted(Tilt { a: 0.3, b }, Tilt { a: -0.4, b: 0.0 });
        assert!(t.log_z.is_infinite() && t.variance_x.is_infinite());
        let (mean, variance) = ModulusLikelihood.moments(0.0, 1.0, b);
        assert!(mean == Complex::ZERO && variance == 0.0);
    }

    /// 50-digit integrals of the modulus and the phase (with its Jacobian), found through `TREEAMP_ORACLE`.
    #[test]
    fn reference_values() {
        let Some(all) = oracle::json("modules_ep.json") else {
            return;
        };
        let mut seen = 0;
        for record in all["records"].as_array().unwrap() {
            let class = record["cls"].as_str().unwrap();
            let at = |key: &str| record["point"][key].as_f64().unwrap();
            let truth = |key: &str| record["truth"][key].as_f64().unwrap();
            let near = |what: &str, got: f64, exact: f64, scale: f64| {
                assert!(
                    (got - exact).abs() <= 1e-11 * scale,
                    "{what}: {got:e} {exact:e} {record}"
                );
            };
            if class == "ModulusLikelihood" {
                let t = ModulusLikelihood.tilted(
                    at("y"),
                    at("a"),
                    Complex::new(at("b_re"), at("b_im")),
                );
                let scale = at("y");
                near("r", t.mean.re, truth("r_re"), scale);
                near("r", t.mean.im, truth("r_im"), scale);
                near("v", t.variance, truth("v"), truth("v"));
                near("A", t.log_z, truth("A"), truth("A").abs().max(1.0));
                seen += 1;
            } else if class.starts_with("PhaseLikelihood") {
                let y = Complex::from_polar(1.0, at("theta_y"));
                let t = PhaseLikelihood.tilted(y, at("a"), Complex::new(at("b_re"), at("b_im")));
                near("r", (t.mean - y * truth("rho")).norm(), 0.0, truth("rho"));
                near("v", t.variance, truth("v"), truth("v"));
                near("A", t.log_z, truth("A"), truth("A").abs().max(1.0));
                seen += 1;
            }
        }
        assert!(seen >= 20, "{seen} records");
    }
}
