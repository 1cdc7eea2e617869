//! Information: I-MMSE, gradients of potentials, additivity over the tree, teacher moments.

use crate::common::{glm, limit_glm};
use treeamp::algorithms::state_evolution::mutual_information;
use treeamp::belief::OverlapFields;
use treeamp::extend::*;
use treeamp::factor::Averaged;
use treeamp::math::special::log_normal_cdf;
use treeamp::prelude::*;

fn sparse(rho: f64) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, 0.0, 1.0).unwrap().limit()
}

fn regression(alpha: f64, delta: f64) -> Tree {
    limit_glm(sparse(0.2), alpha, GaussianNoise::new(delta).unwrap()).unwrap()
}

/// $dI/d(1/\Delta) = \frac12\alpha\,\mathrm{mmse}_z$: the information grows as fast as the error allows.
#[test]
fn i_mmse_of_a_model() {
    for (alpha, delta) in [(0.5, 0.1), (1.5, 0.02)] {
        let at = |precision: f64| {
            let tree = regression(alpha, 1.0 / precision);
            let theory = StateEvolution::new(&tree).unwrap().tolerance(1e-12);
            let evolution = theory.fixed_point().unwrap();
            let information = evolution
                .information(&tree)
                .unwrap()
                .mutual_information()
                .unwrap();
            (information, evolution.mse("z").unwrap())
        };
        let (p, h) = (1.0 / delta, 1e-3 / delta);
        let slope = (at(p + h).0 - at(p - h).0) / (2.0 * h);
        let mmse = at(p).1;
        assert!(
            (slope / (0.5 * alpha * mmse) - 1.0).abs() < 1e-4,
            "{slope} {mmse}"
        );
    }
}

/// Every factor: $\partial_{\hat m_i} H_k = \frac12\alpha_i v_i$, the local I-MMSE relation.
#[test]
fn i_mmse_of_every_factor() {
    let noise = GaussianNoise::new(0.3).unwrap();
    let linear = LinearEnsemble::gaussian(0.7).unwrap();
    let relu = PiecewiseLinear::relu();
    let sum = Sum::new(2).unwrap();
    let prior = sparse(0.3);
    let sign = PiecewiseLinear::sign().likelihood().unwrap().unspecified();
    let seen = GaussianLikelihood::new(0.2).unwrap().unspecified();
    // factor, τ̂0 at the ports, sizes of the ports
    let cases: [(&dyn Factor, Vec<f64>, Vec<f64>); 7] = [
        (&prior, vec![0.0], vec![1.0]),
        (&sign, vec![0.8], vec![1.0]),
        (&seen, vec![0.8], vec![1.0]),
        (&noise, vec![0.8, 0.0], vec![1.0, 1.0]),
        (&linear, vec![0.8, 0.0], vec![1.0, 0.7]),
        (&relu, vec![0.8, 0.0], vec![1.0, 1.0]),
        (&sum, vec![0.8, 0.5, 0.0], vec![1.0, 1.0, 1.0]),
    ];
    for (factor, tau0_hat, sizes) in cases {
        let rule = factor.ensemble().unwrap();
        let ports: Vec<(f64, f64)> = (0..sizes.len())
            .map(|p| (sizes[p], rule.second_moment(&tau0_hat, p).unwrap()))
            .collect();
        let base: Vec<f64> = (0..sizes.len()).map(|p| 1.3 + 0.4 * p as f64).collect();
        let fields = |m: &[f64]| -> Vec<OverlapFields> {
            let pairs = m.iter().zip(&tau0_hat);
            pairs
                .map(|(m, t)| OverlapFields {
                    m_hat: *m,
                    q_hat: *m,
                    tau_hat: *t,
                })
                .collect()
        };
        let entropy = |m: &[f64]| {
            let fields = fields(m);
            let at = Averaged {
                fields: &fields,
                tau0_hat: &tau0_hat,
            };
            rule.entropic_potential(factor, at, &ports).unwrap()
        };
        for p in 0..base.len() {
            let h = 1e-3;
            let mut shifted = base.clone();
            shifted[p] += h;
            let up = entropy(&shifted);
            shifted[p] -= 2.0 * h;
            let slope = (up - entropy(&shifted)) / (2.0 * h);
            let at = fields(&base);
            let at = Averaged {
                fields: &at,
                tau0_hat: &tau0_hat,
            };
            let v = rule.overlaps(factor, at, p).unwrap().v;
            let expected = 0.5 * sizes[p] * v;
            let name = factor.name();
            assert!(
                (slope - expected).abs() < 1e-5 * expected,
                "{name} {p}: {slope} {expected}"
            );
        }
    }
}

/// The information about a signal is that about its linear image, and both are what the measurements
/// know; a variable behind noise is known less well.
#[test]
fn information_about_each_variable() {
    let tree = regression(0.8, 0.05);
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let all = evolution
        .information(&tree)
        .unwrap()
        .mutual_information()
        .unwrap();
    let about_x = mutual_information(&tree, "x").unwrap().value;
    println!("I(x, z; y) = {all:.6}, I(x; y) = {about_x:.6}");
    assert!((about_x - all).abs() < 1e-3, "{about_x} {all}");
    let chain = glm(
        GaussianPrior::new(0.0, 1.0).unwrap().limit(),
        GaussianNoise::new(0.5).unwrap(),
        GaussianNoise::new(0.1).unwrap(),
    );
    let chain = chain.build().unwrap().expect("y").unwrap();
    let exact = |signal: f64, noise: f64| 0.5 * (1.0 + signal / noise).ln();
    let about = |v: &str| mutual_information(&chain, v).unwrap().value;
    assert!(
        (about("x") - exact(1.0, 0.6)).abs() < 1e-6,
        "{}",
        about("x")
    );
    assert!(
        (about("z") - exact(1.5, 0.1)).abs() < 1e-6,
        "{}",
        about("z")
    );
}

#[test]
fn noiseless_outputs_have_no_mutual_information() {
    let tree = limit_glm(sparse(0.2), 0.5, PiecewiseLinear::relu()).unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let information = evolution.information(&tree).unwrap();
    assert!(information.entropy.is_finite());
    let text = information.mutual_information().unwrap_err().to_string();
    assert!(
        text.contains("not defined") && text.contains("noiseless output"),
        "{text}"
    );
}

/// A finite Gaussian model: entropy and information are determinants.
#[test]
fn gaussian_models_are_exact() {
    for alpha in [0.4, 1.0, 2.5] {
        let tree = limit_glm(
            GaussianPrior::new(0.0, 2.0).unwrap().limit(),
            alpha,
            GaussianNoise::new(0.1).unwrap(),
        )
        .unwrap();
        let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
        let spectrum = Spectrum::marchenko_pastur(alpha).unwrap();
        let exact = 0.5 * spectrum.shannon(2.0 / 0.1);
        let information = evolution.information(&tree).unwrap();
        let ours = information.mutual_information().unwrap();
        assert!((ours - exact).abs() < 1e-9, "{alpha}: {ours} {exact}");
        assert!((evolution.mse("x").unwrap() - 2.0 * spectrum.eta(20.0)).abs() < 1e-9);
        // the free entropy is the same number, with its decomposition
        let objective = evolution.free_entropy().unwrap();
        assert!((information.entropy + objective.total).abs() < 1e-9);
        assert_eq!(objective.factors.len(), 3);
    }
}

/// A signal with two priors is not a Bayesian network: moments iterate, and the law has a
/// normalisation.
#[test]
fn a_teacher_with_two_priors_is_normalised() {
    let mut builder = TreeBuilder::new();
    builder.variable("x").variable("z");
    builder
        .factor(
            GaussBernoulli::new(0.3, 0.0, 2.0).unwrap().limit(),
            &[],
            &["x"],
        )
        .factor(GaussianPrior::new(0.0, 0.5).unwrap().limit(), &[], &["x"])
        .factor(GaussianNoise::new(0.1).unwrap(), &["x"], &["z"])
        .factor(
            GaussianLikelihood::new(0.2).unwrap().unspecified(),
            &["z"],
            &[],
        );
    let tree = builder.build().unwrap();
    let teacher = Teacher::new(&tree).unwrap();
    // p(x) ∝ [0.7 δ + 0.3 N(0, 2)] N(0, 0.5)
    let tau = std::f64::consts::TAU;
    let spike = 0.7 / (tau * 0.5).sqrt();
    let slab = 0.3 / (tau * 2.5_f64).sqrt();
    let exact = (spike + slab).ln();
    let moment = slab / (spike + slab) * (2.0 * 0.5 / 2.5);
    assert!(
        (teacher.tau0[0] - moment).abs() < 1e-10,
        "{} {moment}",
        teacher.tau0[0]
    );
    assert!((teacher.tau0[1] - moment - 0.1).abs() < 1e-10);
    assert!(
        (teacher.normalisation - exact).abs() < 1e-9,
        "{} {exact}",
        teacher.normalisation
    );
    // its entropies would be off by a constant that no factor knows, and are not told
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let matched = MismatchedEvolution::new(&tree, &tree).unwrap();
    let refusals = [
        evolution.entropy().unwrap_err(),
        evolution.information(&tree).unwrap_err(),
        mutual_information(&tree, "x").unwrap_err(),
        matched.fixed_point().unwrap().entropy().unwrap_err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, RunError::NotDefined { .. }), "{refusal}");
        let text = refusal.to_string();
        let why = "not a Bayesian network: `x` comes from `gauss_bernoulli` and `gaussian`";
        assert!(text.contains(why), "{text}");
    }
    // a Bayesian network needs no iteration, and is normalised
    let teacher = Teacher::new(&regression(0.5, 0.1)).unwrap();
    assert!(teacher.normalisation == 0.0);
    assert!((teacher.tau0[0] - 0.2).abs() < 1e-14 && (teacher.tau0[1] - 0.2).abs() < 1e-14);
}

#[test]
fn missing_rules_and_unreached_points_are_said() {
    let rows = MixtureRow::new(&[(1.0, vec![0.0, 0.0], vec![1.0, 0.0, 0.0, 1.0])]).unwrap();
    let model = source(rows.rows(4)) >> var("u").block(2) >> GaussianNoise::new(0.1).unwrap();
    let tree = (model >> var("y")).build().unwrap().expect("y").unwrap();
    let text = StateEvolution::new(&tree).unwrap_err().to_string();
    assert!(
        text.contains("`mixture_row`") && text.contains("ensemble"),
        "{text}"
    );
    let tree = regression(0.5, 1e-3);
    let theory = StateEvolution::new(&tree).unwrap().max_sweeps(2);
    assert!(!theory.run().unwrap().is_converged());
    let text = theory.fixed_point().unwrap_err().to_string();
    assert!(
        text.contains("fixed point") && text.contains("sweep limit"),
        "{text}"
    );
}

/// A start is the precision of something seen, and entropies are those of a fixed point.
#[test]
fn starts_and_points_that_make_no_sense_are_refused() {
    let tree = regression(0.5, 1e-3);
    let theory = || StateEvolution::new(&tree).unwrap();
    let text = theory()
        .starting_from(&[("x", -1.0)])
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("not negative") && text.contains("-1 on x"),
        "{text}"
    );
    for initial in [
        Initial::Constant {
            precision: -2.0,
            linear: 0.0,
        },
        Initial::Given(vec![EdgeMessage {
            factor: "gauss_bernoulli".into(),
            variable: "x".into(),
            precision: -2.0,
            linear: vec![0.0],
        }]),
    ] {
        let text = theory().initial(initial).run().unwrap_err().to_string();
        assert!(
            text.contains("not negative") && text.contains("-2"),
            "{text}"
        );
    }
    let mismatched = || MismatchedEvolution::new(&tree, &tree).unwrap();
    let given = mismatched().starting_from(&[("x", -1.0)]).unwrap_err();
    assert!(given.to_string().contains("-1 on x"), "{given}");
    let constant = Initial::Constant {
        precision: -2.0,
        linear: 0.0,
    };
    let text = mismatched()
        .initial(constant)
        .run()
        .unwrap_err()
        .to_string();
    assert!(text.contains("not negative"), "{text}");
    assert!(theory().informed(&["nobody"]).is_err());
    let short = theory().max_sweeps(2).run().unwrap();
    let text = short.information(&tree).unwrap_err().to_string();
    assert!(
        text.contains("entropies") && text.contains("sweep limit"),
        "{text}"
    );
}

/// Signals of any size are predicted alike: a model in other units is the same model.
#[test]
fn signals_of_any_size_have_a_fixed_point() {
    let run = |prior: Fragment, noise: f64| {
        let tree = limit_glm(prior, 1.5, GaussianNoise::new(noise).unwrap()).unwrap();
        let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
        let information = evolution.information(&tree).unwrap();
        let information = information.mutual_information().unwrap();
        (evolution.mse("x").unwrap(), information)
    };
    let gaussian = |s: f64| source(GaussianPrior::new(0.0, s).unwrap().limit());
    let sparse = |s: f64| source(GaussBernoulli::new(0.5, 0.0, s).unwrap().limit());
    for s in [1e-300, 1e-100, 1e100, 1e300] {
        let same = |(mse, i): (f64, f64), (mse1, i1): (f64, f64)| {
            assert!(
                (mse / s - mse1).abs() < 1e-9 * mse1,
                "{s:e}: {mse:e} {mse1}"
            );
            assert!((i - i1).abs() < 1e-9, "{s:e}: {i} {i1}");
        };
        same(run(gaussian(s), 0.1 * s), run(gaussian(1.0), 0.1));
        // densities of fields and variances must be in range together
        if s.ln().abs() < 250.0 {
            same(run(sparse(s), 0.1 * s), run(sparse(1.0), 0.1));
        }
    }
    // next to nothing, behind ordinary noise: nothing is learnt
    for prior in [gaussian(1e-300), sparse(1e-300)] {
        let (mse, information) = run(prior, 0.1);
        assert!(mse > 4e-301 && mse <= 1.0001e-300, "{mse:e}");
        assert!(information.abs() < 1e-12, "{information:e}");
    }
}

/// The Gibbs form: Legendre transforms of the potentials, with their gradients.
#[test]
fn gibbs_potentials_are_dual() {
    use treeamp::algorithms::state_evolution::{gibbs, linear_dual_information};
    let prior = sparse(0.5);
    let g = |v: f64| gibbs(&prior, 0.0, v).unwrap();
    for v in [0.3, 0.05, 0.01] {
        // dI*/dv = -m̂/2
        let h = 1e-4 * v;
        let slope = (g(v + h).information - g(v - h).information) / (2.0 * h);
        assert!((slope + 0.5 * g(v).m_hat).abs() < 1e-5 * g(v).m_hat, "{v}");
        // I* + ½ m̂ v = ½ m̂ τ0 - Ā, so both transforms agree when A0 = 0
        let at = g(v);
        assert!((at.information - at.potential).abs() < 1e-9 * at.information.abs().max(1.0));
    }
    // recorded: v = 0.05 is reached at 13.590490264, with I* = 0.5732677797
    let at = g(0.05);
    assert!((at.m_hat - 13.590_490_264).abs() < 1e-5, "{}", at.m_hat);
    assert!(
        (at.information - 0.573_267_779_7).abs() < 1e-6,
        "{}",
        at.information
    );
    assert!(
        gibbs(&prior, 0.0, 0.7)
            .unwrap_err()
            .to_string()
            .contains("at most 0.5")
    );
    // the linear channel: I* = sup I - ½ m̂_z v_z - ½ α m̂_x v_x
    let channel = LinearEnsemble::gaussian(0.6).unwrap();
    let rule = channel.ensemble().unwrap();
    let tau0_hat = [0.8, 0.0];
    let fields = [(1.2, 0.8), (3.0, 0.0)].map(|(m, t)| OverlapFields {
        m_hat: m,
        q_hat: m,
        tau_hat: t,
    });
    let at = Averaged {
        fields: &fields,
        tau0_hat: &tau0_hat,
    };
    let v = |port| rule.overlaps(&channel, at, port).unwrap().v;
    let direct = rule
        .entropic_potential(&channel, at, &[(1.0, 1.25), (0.6, 1.25)])
        .unwrap()
        - 0.5 * 1.2 * v(0)
        - 0.5 * 0.6 * 3.0 * v(1);
    let dual = linear_dual_information(channel.spectrum().unwrap(), 1.25, v(0), v(1));
    assert!((direct - dual).abs() < 1e-9, "{direct} {dual}");
}

/// The cross-entropy of a wrong student exceeds the entropy, and its terms of divergence are positive.
#[test]
fn wrong_students_pay_a_divergence() {
    let tree = |rho: f64, delta: f64| {
        limit_glm(sparse(rho), 0.8, GaussianNoise::new(delta).unwrap()).unwrap()
    };
    let teacher = tree(0.1, 0.05);
    let entropy = StateEvolution::new(&teacher)
        .unwrap()
        .fixed_point()
        .unwrap()
        .entropy()
        .unwrap();
    for (rho, delta) in [(0.3, 0.05), (0.1, 0.1)] {
        let student = tree(rho, delta);
        let evolution = MismatchedEvolution::new(&teacher, &student)
            .unwrap()
            .run()
            .unwrap();
        let cross = evolution.entropy().unwrap();
        assert!(cross > entropy + 1e-4, "{cross} {entropy}");
        let terms = evolution.divergences(&teacher, &student).unwrap();
        println!("cross-entropy {cross:.5}, entropy {entropy:.5}: {terms:?}");
        assert!(terms.iter().all(|t| t.value > -1e-9));
    }
    let matched = MismatchedEvolution::new(&teacher, &teacher)
        .unwrap()
        .run()
        .unwrap();
    for term in matched.divergences(&teacher, &teacher).unwrap() {
        assert!(term.value.abs() < 1e-7, "{term:?}");
    }
}

/// A hidden smooth activation: with the signal known all that is left is the noise, $I(x; y) = H(y) - \alpha\frac12\ln 2\pi e\Delta$.
#[test]
fn mutual_information_through_a_smooth_activation() {
    let model = source(sparse(0.3))
        >> var("x")
        >> LinearEnsemble::gaussian(0.9).unwrap()
        >> var("z")
        >> Activation::tanh()
        >> var("u")
        >> GaussianNoise::new(0.05).unwrap()
        >> var("y");
    let tree = model.build().unwrap().expect("y").unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let noise = 0.5 * (std::f64::consts::TAU * std::f64::consts::E * 0.05).ln();
    let expected = evolution.information(&tree).unwrap().entropy - 0.9 * noise;
    for variable in ["x", "z", "u"] {
        let found = mutual_information(&tree, variable).unwrap().value;
        // fixed points to 1e-9, and entropies to a few of them
        assert!((found - expected).abs() < 1e-7, "{found} {expected}");
    }
}

/// The information about $z \sim \mathcal N(0, 1.2)$ in one layer of outputs.
fn of_one_layer(outputs: impl Factor) -> f64 {
    let prior = source(GaussianPrior::new(0.0, 1.2).unwrap().limit());
    let tree = (prior >> var("z") >> outputs >> var("y")).build().unwrap();
    let tree = tree.expect("y").unwrap();
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let information = evolution.information(&tree).unwrap();
    let whole = information.mutual_information().unwrap();
    let about = mutual_information(&tree, "z").unwrap().value;
    assert!((whole - about).abs() < 1e-6, "{whole} {about}");
    whole
}

/// $I(z; y) = H[y] - E\,H[y \mid z]$ of labels and cells, whose probabilities are known in closed form.
#[test]
fn noisy_outputs_have_a_mutual_information() {
    // entropies at a known input: oracle/data/noise_entropies.json
    let two = 2.0_f64.ln();
    let logistic = of_one_layer(OutputChannel::new(
        "logistic",
        LogisticLikelihood::default(),
    ));
    assert!((logistic - (two - 0.585_598_560_526_74)).abs() < 1e-8);
    let law = ProbitLikelihood::new(0.4, 0.1).unwrap();
    let flipped = of_one_layer(OutputChannel::new("probit", law));
    assert!((flipped - (two - 0.501_210_014_853_84)).abs() < 1e-8);
    let law = Quantised::new(0.2, &[-0.5, 0.7]).unwrap();
    let cells = of_one_layer(OutputChannel::new("quantised", law));
    let below = |edge: f64| log_normal_cdf(edge / 1.4_f64.sqrt()).exp();
    let (low, high) = (below(-0.5), below(0.7));
    let entropy = |p: f64| -p * p.ln();
    let measured = entropy(low) + entropy(high - low) + entropy(1.0 - high);
    assert!((cells - (measured - 0.472_999_988_961_13)).abs() < 1e-8);
}
