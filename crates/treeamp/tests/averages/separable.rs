//! State evolution of separable factors: identities, closed forms, extreme points.

use std::f64::consts::PI;

use super::opaque::Opaque;
use super::{close, field, rule, slope};
use treeamp::belief::{OverlapFields, Overlaps};
use treeamp::catalog::observed;
use treeamp::extend::*;
use treeamp::factor::Averaged;
use treeamp::prelude::*;
use treeamp::{for_each_channel, for_each_prior};

pub fn bayes(f: &dyn Factor, m_hat: f64, tau0_hat: f64) -> (Overlaps, f64) {
    mismatched(f, f, field(m_hat, m_hat, tau0_hat), tau0_hat)
}

pub fn mismatched(
    student: &dyn Factor,
    teacher: &dyn Factor,
    at: OverlapFields,
    tau0_hat: f64,
) -> (Overlaps, f64) {
    let at = Averaged {
        fields: &[at],
        tau0_hat: &[tau0_hat],
    };
    let e = rule(student);
    assert!(e.pairs_with(teacher));
    let failed = |e: FactorError| -> ! { panic!("{} at {at:?}: {e}", student.name()) };
    (
        e.overlaps(teacher, at, 0).unwrap_or_else(|e| failed(e)),
        e.potential(teacher, at).unwrap_or_else(|e| failed(e)),
    )
}

type Dyn = Box<dyn Factor>;

fn priors() -> Vec<Dyn> {
    let mut list: Vec<Dyn> = Vec::new();
    macro_rules! push {
        ($($name:ident $(($module:path))? => $law:expr;)*) => { $(list.push(Box::new($law.unwrap().iid(3)));)* };
    }
    for_each_prior!(push);
    list
}

pub fn outputs() -> Vec<(&'static str, PiecewiseLinear)> {
    vec![
        ("sign", PiecewiseLinear::sign()),
        ("abs", PiecewiseLinear::abs()),
        (
            "asymmetric_abs",
            PiecewiseLinear::asymmetric_abs(0.4).unwrap(),
        ),
        ("relu", PiecewiseLinear::relu()),
        ("leaky_relu", PiecewiseLinear::leaky_relu(0.1).unwrap()),
        ("hard_tanh", PiecewiseLinear::hard_tanh()),
        ("hard_sigmoid", PiecewiseLinear::hard_sigmoid(1.5).unwrap()),
        ("door", PiecewiseLinear::symmetric_door(0.8).unwrap()),
    ]
}

fn likelihoods() -> Vec<Dyn> {
    let mut list: Vec<Dyn> = outputs()
        .into_iter()
        .map(|(_, c)| Box::new(observed(&c).unwrap().unspecified()) as Dyn)
        .collect();
    list.push(Box::new(
        GaussianLikelihood::new(0.3).unwrap().unspecified(),
    ));
    list.push(Box::new(
        GaussianLikelihood::new(0.0).unwrap().unspecified(),
    ));
    list.push(Box::new(
        observed(&Activation::tanh()).unwrap().unspecified(),
    ));
    list.extend(random_outputs());
    list
}

/// Labels, counts and noises.
fn random_outputs() -> Vec<Dyn> {
    let variances = HeteroscedasticNoise::new(&[0.1, 2.0, 0.1, 0.6]).unwrap();
    vec![
        Box::new(LogisticLikelihood::default().unspecified()),
        Box::new(ProbitLikelihood::new(0.4, 0.1).unwrap().unspecified()),
        Box::new(PoissonLikelihood.unspecified()),
        Box::new(PoissonSoftplusLikelihood.unspecified()),
        Box::new(LaplaceNoise::new(0.6).unwrap().unspecified()),
        Box::new(StudentTNoise::new(3.0, 0.7).unwrap().unspecified()),
        Box::new(OutlierNoise::new(0.3, 9.0, 0.1).unwrap().unspecified()),
        Box::new(NegativeBinomial::new(1.5).unwrap().unspecified()),
        Box::new(Quantised::new(0.2, &[-0.5, 0.7]).unwrap().unspecified()),
        Box::new(Censored::new(-0.3, 0.4).unwrap().unspecified()),
        Box::new(variances.unspecified()),
    ]
}

/// $m + v = \tau_0$, `q = m`, $\tfrac12 v = \partial I/\partial\hat m$.
fn check_bayes(f: &dyn Factor, m_hat: f64, tau0_hat: f64) {
    let (ov, _) = bayes(f, m_hat, tau0_hat);
    close(ov.m + ov.v, ov.tau0, 1e-9);
    close(ov.q(), ov.m, 1e-9);
    close(ov.tau(), ov.tau0, 1e-9);
    let e = rule(f);
    let tau0 = e.second_moment(&[tau0_hat], 0).unwrap();
    close(tau0, ov.tau0, 1e-14);
    let free = e.prior_potential(&[tau0_hat]).unwrap();
    let information = |h: f64| 0.5 * (m_hat + h) * tau0 - bayes(f, m_hat + h, tau0_hat).1 + free;
    let v = 2.0 * slope(&information, 1e-3 * m_hat);
    assert!((v - ov.v).abs() < 1e-7 * tau0, "{}: {v} {}", f.name(), ov.v);
}

#[test]
fn bayes_optimal_identities() {
    for f in priors() {
        for (m_hat, tau0_hat) in [(0.02, 0.0), (0.7, 0.3), (20.0, 0.0), (1e3, 0.1)] {
            check_bayes(&*f, m_hat, tau0_hat);
        }
    }
    for f in likelihoods() {
        for (m_hat, tau0_hat) in [(0.02, 0.6), (0.7, 1.0), (20.0, 2.0)] {
            check_bayes(&*f, m_hat, tau0_hat);
        }
    }
}

#[test]
fn a_copy_of_the_teacher_is_bayes_optimal() {
    for (f, g) in priors().iter().zip(&priors()) {
        for m_hat in [1e-3, 0.5, 30.0, 1e6] {
            let (own, a) = bayes(&**f, m_hat, 0.0);
            let (other, b) = mismatched(&**f, &**g, field(m_hat, m_hat, 0.0), 0.0);
            close(own.m, other.m, 1e-8);
            close(own.v, other.v, 1e-8);
            close(own.err, other.err, 1e-8);
            close(a, b, 1e-8);
        }
    }
    for (f, g) in likelihoods().iter().zip(&likelihoods()) {
        for m_hat in [1e-3, 0.5, 30.0, 1e6] {
            let (own, a) = bayes(&**f, m_hat, 1.5);
            let (other, b) = mismatched(&**f, &**g, field(m_hat, m_hat, 1.5), 1.5);
            close(own.m, other.m, 1e-8);
            close(own.v, other.v, 1e-8);
            assert!((own.err - other.err).abs() < 1e-8 * own.err + 1e-15 * own.tau0);
            close(a, b, 1e-8);
        }
    }
}

/// $\partial\bar A/\partial\hat m = m$, $-2\,\partial\bar A/\partial\hat q = q$, $-2\,\partial\bar A/\partial\hat\tau = \tau$.
fn check_gradient(student: &dyn Factor, teacher: &dyn Factor, at: OverlapFields, tau0_hat: f64) {
    let (ov, _) = mismatched(student, teacher, at, tau0_hat);
    let potential = |m: f64, q: f64, t: f64| {
        let moved = field(at.m_hat + m, at.q_hat + q, at.tau_hat + t);
        mismatched(student, teacher, moved, tau0_hat).1
    };
    let names = (student.name(), teacher.name());
    let same = |x: f64, y: f64| assert!((x - y).abs() < 1e-7, "{names:?}: {x} {y}");
    same(slope(&|h| potential(h, 0.0, 0.0), 2e-3), ov.m);
    same(-2.0 * slope(&|h| potential(0.0, h, 0.0), 2e-3), ov.q());
    same(-2.0 * slope(&|h| potential(0.0, 0.0, h), 2e-3), ov.tau());
}

#[test]
fn gradients_of_the_potential() {
    let teachers: [Dyn; 2] = [
        Box::new(GaussBernoulli::new(0.3, 0.2, 1.5).unwrap().iid(3)),
        Box::new(Binary::new(0.4).unwrap().iid(3)),
    ];
    for teacher in &teachers {
        for student in priors() {
            check_gradient(&*student, &**teacher, field(1.3, 0.9, 0.4), 0.2);
            check_gradient(&*student, &**teacher, field(0.4, 2.0, 0.1), 0.0);
        }
    }
    for f in likelihoods() {
        let at = field(1.3, 0.9, 0.7);
        let teacher = &*f;
        check_gradient(&*f, teacher, at, 1.2);
    }
    // other laws on the two sides
    let sign = observed(&PiecewiseLinear::sign()).unwrap().unspecified();
    let door = observed(&PiecewiseLinear::symmetric_door(0.8).unwrap()).unwrap();
    let noise = GaussianLikelihood::new(0.5).unwrap().unspecified();
    let leaky = observed(&PiecewiseLinear::leaky_relu(0.3).unwrap()).unwrap();
    let relu = observed(&PiecewiseLinear::relu()).unwrap().unspecified();
    let abs = observed(&PiecewiseLinear::abs()).unwrap().unspecified();
    check_gradient(&sign, &door.unspecified(), field(1.3, 0.9, 0.7), 1.2);
    let leaky = leaky.unspecified();
    for teacher in [&sign as &dyn Factor, &relu, &leaky, &abs, &noise] {
        check_gradient(&noise, teacher, field(1.3, 0.9, 0.7), 1.2);
        check_gradient(&leaky, teacher, field(1.3, 0.9, 0.7), 1.2);
    }
    check_gradient(&abs, &relu, field(1.3, 0.9, 0.7), 1.2);
}

#[test]
fn closed_forms_agree_with_quadrature() {
    // the wrapper hides that the law is Gaussian
    let law = GaussianPrior::new(0.4, 1.7).unwrap();
    let (closed, integrated) = (law.iid(3), Opaque(law).iid(3));
    let teachers: Vec<Dyn> = priors();
    for teacher in &teachers {
        for at in [
            field(1e-3, 2e-3, 0.0),
            field(0.7, 1.1, 0.2),
            field(50.0, 30.0, 0.0),
            field(1e5, 2e5, 3.0),
        ] {
            let (x, a) = mismatched(&closed, &**teacher, at, 0.1);
            let (y, b) = mismatched(&integrated, &**teacher, at, 0.1);
            close(x.m, y.m, 1e-9);
            close(x.v, y.v, 1e-9);
            close(x.err, y.err, 1e-8);
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()));
        }
    }
    let law = |v| GaussianLikelihood::new(v).unwrap();
    for (noise, noise0) in [(0.3, 0.3), (0.3, 0.1), (0.0, 0.0), (0.2, 0.0)] {
        let (closed, teacher) = (law(noise).unspecified(), law(noise0).unspecified());
        let integrated = Opaque(law(noise)).unspecified();
        for at in [
            field(0.0, 0.0, 0.8),
            field(0.7, 1.1, 0.2),
            field(1e5, 2e5, 3.0),
        ] {
            let (x, a) = mismatched(&closed, &teacher, at, 0.9);
            let (y, b) = mismatched(&integrated, &teacher, at, 0.9);
            close(x.m, y.m, 1e-9);
            close(x.v, y.v, 1e-9);
            assert!((x.err - y.err).abs() < 1e-8 * x.err + 1e-14);
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()));
        }
    }
}

#[test]
fn faint_potentials_keep_their_digits() {
    // 40-digit integration of E A
    let factor = GaussBernoulli::new(1e-3, 0.0, 1.4).unwrap().iid(3);
    close(
        bayes(&factor, 1e-4, 0.0).1,
        4.899_999_614_552_687_7e-15,
        1e-9,
    );
    let factor = GaussBernoulli::new(0.05, 0.0, 1.0).unwrap().iid(3);
    close(bayes(&factor, 1e-4, 0.0).1, 6.249_979_209_048_633e-12, 1e-9);
}

#[test]
fn sharp_outputs_reach_their_limits() {
    // one of two sides: the variance of a half normal, and the loss near the knees ~ m^{-1/2}
    for (name, channel) in outputs() {
        let factor = observed(&channel).unwrap().unspecified();
        for m_hat in [1e4, 1e6, 1e8, 1e10] {
            let (ov, potential) = bayes(&factor, m_hat, 1.0);
            close(ov.m + ov.v, 1.0, 1e-9);
            assert!(ov.v >= 0.0 && ov.v < 1.1 / m_hat, "{name}");
            assert!(potential.is_finite());
        }
    }
}

#[test]
fn nothing_is_seen_of_the_input() {
    let zero = field(0.0, 0.0, 0.8);
    for (name, channel) in outputs() {
        let factor = observed(&channel).unwrap().unspecified();
        let (ov, _) = mismatched(&factor, &factor, zero, 0.8);
        close(ov.m + ov.v, 1.25, 1e-9);
        if matches!(name, "abs" | "door") {
            assert_eq!(ov.m, 0.0, "{name}");
            assert_eq!(ov.err, 0.0);
        }
        if name == "sign" {
            close(ov.m, 1.25 * 2.0 / PI, 1e-12);
        }
        // and hardly anything
        let (little, _) = bayes(&factor, 1e-9, 0.8);
        assert!((little.v - ov.v).abs() < 1e-7);
    }
    for f in priors() {
        let (ov, a) = mismatched(&*f, &*f, field(0.0, 0.0, 0.3), 0.3);
        close(a, rule(&*f).prior_potential(&[0.3]).unwrap(), 1e-14);
        close(ov.m + ov.v, ov.tau0, 1e-12);
    }
}

#[test]
fn a_field_without_noise() {
    // b = 2 x0 for a binary teacher: two values of b
    let (teacher, student) = (Binary::new(0.3).unwrap(), Positive::new(0.1, 1.0).unwrap());
    let at = |b: f64| student.tilted(0.7, b);
    let (plus, minus) = (at(2.0), at(-2.0));
    let (ov, a) = mismatched(&student.iid(3), &teacher.iid(3), field(2.0, 0.0, 0.7), 0.0);
    close(ov.m, 0.3 * plus.mean - 0.7 * minus.mean, 1e-10);
    close(ov.v, 0.3 * plus.variance + 0.7 * minus.variance, 1e-10);
    close(a, 0.3 * plus.log_z + 0.7 * minus.log_z, 1e-10);
}

fn at<'a>(fields: &'a [OverlapFields], tau0_hat: &'a [f64]) -> Averaged<'a> {
    Averaged { fields, tau0_hat }
}

#[test]
fn what_cannot_be_averaged_is_said() {
    let sign = observed(&PiecewiseLinear::sign()).unwrap().unspecified();
    let abs = observed(&PiecewiseLinear::abs()).unwrap().unspecified();
    let prior = Binary::new(0.5).unwrap().iid(2);
    let one = [field(1.0, 1.0, 1.0)];
    let e = rule(&abs).overlaps(&sign, at(&one, &[1.0]), 0).unwrap_err();
    assert!(matches!(e, FactorError::Contradiction(_)), "{e}");
    let e = rule(&abs)
        .overlaps(&prior, at(&one, &[1.0]), 0)
        .unwrap_err();
    assert!(matches!(e, FactorError::Unsupported(_)), "{e}");
    assert!(!rule(&abs).pairs_with(&prior) && !rule(&prior).pairs_with(&abs));
    for bad in [
        field(1.0, -1.0, 0.0),
        field(f64::NAN, 1.0, 0.0),
        field(1.0, 1.0, f64::NAN),
    ] {
        let e = rule(&prior).overlaps(&prior, at(&[bad], &[0.0]), 0);
        assert!(matches!(e, Err(FactorError::Improper(_))));
    }
    let e = rule(&sign)
        .overlaps(&sign, at(&one, &[0.0]), 0)
        .unwrap_err();
    assert!(matches!(e, FactorError::Improper(_)), "{e}");
    let gaussian = GaussianPrior::new(0.0, 1.0).unwrap().iid(2);
    let e = rule(&gaussian)
        .overlaps(&gaussian, at(&[field(1.0, 1.0, -3.0)], &[0.0]), 0)
        .unwrap_err();
    assert!(e.is_recoverable(), "{e}");
    // without data there is theory, and no algorithm
    assert!(sign.posterior().is_none() && sign.y().is_empty());
    assert_eq!(sign.output_specs(&[SignalSpec::real([7])]).unwrap(), []);
}

#[test]
fn posterior_sparsity() {
    let law = |rho| GaussBernoulli::new(rho, 0.1, 2.0).unwrap().iid(3);
    let (own, other) = (law(0.2), law(0.4));
    for m_hat in [0.0, 1e-3, 1.0, 1e3, 1e8] {
        let at = Averaged {
            fields: &[field(m_hat, m_hat, 0.0)],
            tau0_hat: &[0.0],
        };
        close(own.posterior_sparsity(&own, at).unwrap(), 0.2, 1e-9);
        let seen = own.posterior_sparsity(&other, at).unwrap();
        assert!((0.19..0.41).contains(&seen));
    }
    let sharp = Averaged {
        fields: &[field(1e10, 1e10, 0.0)],
        tau0_hat: &[0.0],
    };
    let seen = own.posterior_sparsity(&other, sharp).unwrap();
    assert!((seen - 0.4).abs() < 1e-3);
}

/// Every law with an atom at zero has a sparsity, and in the Bayes-optimal case it is the mass outside the atom.
#[test]
fn posterior_sparsity_of_other_laws() {
    let circular = CircularGaussBernoulli::new(0.3, 2.0).unwrap().iid(3);
    let wider = CircularGaussBernoulli::new(0.3, 6.0).unwrap().iid(3);
    let mixture = GaussianMixture::new(&[0.6, 0.4], &[0.0, 0.5], &[0.0, 1.0]);
    let mixture = mixture.unwrap().iid(3);
    for m_hat in [0.0, 1e-3, 1.0, 1e3, 1e6] {
        let at = Averaged {
            fields: &[field(m_hat, m_hat, 0.0)],
            tau0_hat: &[0.0],
        };
        close(
            circular.posterior_sparsity(&circular, at).unwrap(),
            0.3,
            1e-8,
        );
        close(mixture.posterior_sparsity(&mixture, at).unwrap(), 0.4, 1e-8);
    }
    let at = Averaged {
        fields: &[field(1.0, 1.0, 0.0)],
        tau0_hat: &[0.0],
    };
    // larger signals than expected are held present more often
    assert!(circular.posterior_sparsity(&wider, at).unwrap() > 0.32);
    let dense = GaussianPrior::new(0.0, 1.0).unwrap().iid(3);
    let text = dense
        .posterior_sparsity(&dense, at)
        .unwrap_err()
        .to_string();
    assert!(text.contains("no atom at zero"), "{text}");
}

/// $m + v = \tau_0$ at fields from none to $10^{10}$, for every prior and every piecewise linear output.
#[test]
fn priors_and_likelihoods_at_all_fields() {
    let mut all: Vec<(Dyn, f64)> = priors().into_iter().map(|f| (f, 0.0)).collect();
    all.extend(outputs().into_iter().map(|(_, channel)| {
        let law = observed(&channel).unwrap();
        (Box::new(law.unspecified()) as Dyn, 1.0)
    }));
    for (f, tau0_hat) in &all {
        for m_hat in [0.0, 1e-4, 0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e6, 1e8, 1e10] {
            let at = Averaged {
                fields: &[field(m_hat, m_hat, *tau0_hat)],
                tau0_hat: &[*tau0_hat],
            };
            let ov = rule(&**f).overlaps(&**f, at, 0).unwrap();
            close(ov.m + ov.v, ov.tau0, 1e-9);
        }
    }
}

#[test]
fn every_channel_has_a_theory() {
    fn valid<T>(law: Result<T, ModelError>) -> T {
        law.unwrap()
    }
    macro_rules! each {
        ($($name:ident $(($module:path))? => $law:expr, $y:expr;)*) => { $({
            let f = valid($law);
            assert!(rule(&f).pairs_with(&f), stringify!($name));
            assert!(Factor::scalar(&f).is_some());
        })* };
    }
    for_each_channel!(each);
}
