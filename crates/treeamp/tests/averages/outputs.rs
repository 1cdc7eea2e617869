//! Outputs behind noise: reference values of their averages, by direct integration (`oracle/generate/output_averages.py`), and lists of variances.

use super::common::oracle;
use super::separable::{bayes, mismatched};
use super::{close, field, rule};
use serde_json::Value;
use treeamp::extend::*;
use treeamp::factor::Averaged;
use treeamp::prelude::*;

/// A law by its name and parameters.
fn law(named: &Value) -> Box<dyn Factor> {
    let x = oracle::floats(&Value::Array(named.as_array().unwrap()[1..].to_vec()));
    match named[0].as_str().unwrap() {
        "gaussian" => Box::new(GaussianLikelihood::new(x[0]).unwrap().unspecified()),
        "student_t_noise" => Box::new(StudentTNoise::new(x[0], x[1]).unwrap().unspecified()),
        "logistic" => Box::new(LogisticLikelihood::default().unspecified()),
        "probit" => Box::new(ProbitLikelihood::new(x[0], x[1]).unwrap().unspecified()),
        "poisson" => Box::new(PoissonLikelihood.unspecified()),
        "poisson_softplus" => Box::new(PoissonSoftplusLikelihood.unspecified()),
        "negative_binomial" => Box::new(NegativeBinomial::new(x[0]).unwrap().unspecified()),
        "laplace_noise" => Box::new(LaplaceNoise::new(x[0]).unwrap().unspecified()),
        "outlier_noise" => Box::new(OutlierNoise::new(x[0], x[1], x[2]).unwrap().unspecified()),
        "quantised" => Box::new(Quantised::new(x[0], &x[1..]).unwrap().unspecified()),
        "censored" => Box::new(Censored::new(x[0], x[1]).unwrap().unspecified()),
        "heteroscedastic_noise" => Box::new(HeteroscedasticNoise::new(&x).unwrap().unspecified()),
        "rician_modulus" if x[0] > 0.0 => Box::new(RicianModulus::new(x[0]).unwrap().unspecified()),
        "rician_modulus" => Box::new(ModulusLikelihood.unspecified()),
        other => panic!("{other}"),
    }
}

/// References are good to 1e-9, and so is either of two nested integrals.
#[test]
fn averages_of_outputs_behind_noise() {
    let file = oracle::own("output_averages.json");
    let records = file["records"].as_array().unwrap();
    assert_eq!(records.len(), 32);
    let mut worst = [0.0_f64; 4];
    for record in records {
        let (student, teacher) = (law(&record["student"]), law(&record["teacher"]));
        let [m_hat, q_hat, tau_hat, tau0_hat] = oracle::floats(&record["fields"])[..] else {
            panic!("{record}");
        };
        let at = field(m_hat, q_hat, tau_hat);
        let same = record["student"] == record["teacher"];
        let teacher = if same { &student } else { &teacher };
        let (o, potential) = mismatched(&*student, &**teacher, at, tau0_hat);
        let expected = oracle::floats(&record["values"]);
        let seen = [o.m, o.v, o.err, potential];
        for (k, (x, y)) in seen.iter().zip(&expected).enumerate() {
            let error = (x - y).abs() / y.abs().max(0.1);
            worst[k] = worst[k].max(error);
            assert!(error < 5e-9, "{record}: {seen:?} {expected:?}");
        }
    }
    println!("largest errors {worst:?}");
}

/// What is left to know of an output where its input is known, by the averages of state evolution at a sharp field or in closed form.
#[test]
fn entropies_of_the_noise() {
    let file = oracle::own("noise_entropies.json");
    let records = file["records"].as_array().unwrap();
    assert_eq!(records.len(), 26);
    let mut worst = 0.0_f64;
    for record in records {
        let law = law(&record["law"]);
        let (tau, expected) = (record["tau"].as_f64(), record["entropy"].as_f64());
        let expected = expected.unwrap();
        let found = law.noise_entropy_at(tau.unwrap()).unwrap();
        assert!(!law.is_noiseless());
        worst = worst.max((found - expected).abs());
        assert!((found - expected).abs() < 5e-9, "{record}: {found}");
    }
    println!("largest error {worst:e}");
    let noiseless = [
        Box::new(GaussianLikelihood::new(0.0).unwrap().unspecified()) as Box<dyn Factor>,
        Box::new(ModulusLikelihood.unspecified()),
        Box::new(PhaseLikelihood.unspecified()),
    ];
    for law in noiseless {
        assert!(law.is_noiseless() && law.noise_entropy_at(1.0).is_none());
    }
}

/// Equal variances are one law, and the order does not count.
#[test]
fn lists_of_variances() {
    let listed = |v: &[f64]| HeteroscedasticNoise::new(v).unwrap().unspecified();
    let plain = GaussianLikelihood::new(0.3).unwrap().unspecified();
    for m_hat in [1e-3, 0.5, 30.0, 1e6] {
        let ((one, a), (two, b)) = (
            bayes(&plain, m_hat, 1.5),
            bayes(&listed(&[0.3; 5]), m_hat, 1.5),
        );
        close(one.m, two.m, 1e-14);
        close(one.v, two.v, 1e-14);
        close(one.err, two.err, 1e-14);
        close(a, b, 1e-14);
        assert_eq!(
            bayes(&listed(&[0.1, 0.4, 0.1]), m_hat, 1.5),
            bayes(&listed(&[0.4, 0.1, 0.1]), m_hat, 1.5)
        );
    }
    // lists of other lengths have no pairs
    let (two, three) = (listed(&[0.1, 0.2]), listed(&[0.1, 0.2, 0.3]));
    let fields = [field(1.0, 1.0, 1.0)];
    let at = Averaged {
        fields: &fields,
        tau0_hat: &[1.0],
    };
    let refused = rule(&two).overlaps(&three, at, 0).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the student has 2 components of their own laws, and the teacher 3"
    );
}
