//! Entropic potentials at ordinary and at extreme fields, and the entropies of models built on them.

use std::f64::consts::{E, TAU};

use crate::common::{glm, limit_glm};
use treeamp::algorithms::state_evolution::{Start, mutual_information};
use treeamp::belief::OverlapFields;
use treeamp::extend::*;
use treeamp::factor::Averaged;
use treeamp::prelude::*;

fn sparse(rho: f64) -> SeparablePrior<GaussBernoulli> {
    GaussBernoulli::new(rho, 0.0, 1.0).unwrap().limit()
}

fn fields(m_hat: &[f64], tau0_hat: &[f64]) -> Vec<OverlapFields> {
    let pairs = m_hat.iter().zip(tau0_hat);
    pairs
        .map(|(m, t)| OverlapFields {
            m_hat: *m,
            q_hat: *m,
            tau_hat: *t,
        })
        .collect()
}

fn entropic(factor: &dyn Factor, m_hat: &[f64], tau0_hat: &[f64]) -> f64 {
    let fields = fields(m_hat, tau0_hat);
    let at = Averaged {
        fields: &fields,
        tau0_hat,
    };
    let rule = factor.ensemble().unwrap();
    let tau = |p| (1.0, rule.second_moment(tau0_hat, p).unwrap());
    let ports: Vec<(f64, f64)> = (0..m_hat.len()).map(tau).collect();
    rule.entropic_potential(factor, at, &ports).unwrap()
}

/// $\sum\frac12\hat m\tau - \bar A + A^{(0)}$, by its definition.
fn by_difference(factor: &dyn Factor, m_hat: &[f64], tau0_hat: &[f64]) -> f64 {
    let fields = fields(m_hat, tau0_hat);
    let at = Averaged {
        fields: &fields,
        tau0_hat,
    };
    let rule = factor.ensemble().unwrap();
    let signal: f64 = (0..m_hat.len())
        .map(|p| 0.5 * m_hat[p] * rule.second_moment(tau0_hat, p).unwrap())
        .sum();
    signal - rule.potential(factor, at).unwrap() + rule.prior_potential(tau0_hat).unwrap()
}

/// The native formulas are the definition.
#[test]
fn entropic_potentials_are_their_definition() {
    let one: [Box<dyn Factor>; 7] = [
        Box::new(sparse(0.3)),
        Box::new(Binary::new(0.3).unwrap().limit()),
        Box::new(GaussianPrior::new(0.7, 2.0).unwrap().limit()),
        Box::new(PiecewiseLinear::sign().likelihood().unwrap().unspecified()),
        Box::new(PiecewiseLinear::relu().likelihood().unwrap().unspecified()),
        Box::new(PiecewiseLinear::abs().likelihood().unwrap().unspecified()),
        Box::new(GaussianLikelihood::new(0.2).unwrap().unspecified()),
    ];
    for factor in &one {
        for (m_hat, tau0_hat) in [(0.02, 0.8), (0.7, 0.3), (3.0, 0.8), (200.0, 0.8)] {
            let (ours, exact) = (
                entropic(&**factor, &[m_hat], &[tau0_hat]),
                by_difference(&**factor, &[m_hat], &[tau0_hat]),
            );
            // both are integrals good to 1e-9 of m̂τ
            let gap = (ours - exact).abs();
            assert!(
                gap < 1e-9 * (1.0 + m_hat),
                "{} {m_hat} {tau0_hat}: {ours} {exact}",
                factor.name()
            );
        }
    }
    let two: [Box<dyn Factor>; 5] = [
        Box::new(PiecewiseLinear::relu()),
        Box::new(PiecewiseLinear::abs()),
        Box::new(GaussianNoise::new(0.3).unwrap()),
        Box::new(Duplicate::new(1).unwrap()),
        Box::new(Sum::new(1).unwrap()),
    ];
    for factor in &two {
        for m_hat in [[0.3, 0.4], [2.0, 0.1], [0.1, 30.0], [40.0, 25.0]] {
            let (ours, exact) = (
                entropic(&**factor, &m_hat, &[0.8, 0.0]),
                by_difference(&**factor, &m_hat, &[0.8, 0.0]),
            );
            let gap = (ours - exact).abs();
            assert!(
                gap < 1e-7 * (1.0 + m_hat[0] + m_hat[1]),
                "{} {m_hat:?}: {ours} {exact}",
                factor.name()
            );
        }
    }
}

/// Very sharp fields: a discrete law has told its entropy, a law with a density tells $-h$ and the log of the
/// precision, a mixture of both according to its weights.
#[test]
fn sharp_fields_have_closed_forms() {
    let h2 = |p: f64| -p * p.ln() - (1.0 - p) * (1.0 - p).ln();
    let rho = 0.25;
    let binary = Binary::new(0.3).unwrap().limit();
    let sign = PiecewiseLinear::sign().likelihood().unwrap().unspecified();
    let relu = PiecewiseLinear::relu().likelihood().unwrap().unspecified();
    let abs = PiecewiseLinear::abs().likelihood().unwrap().unspecified();
    let density = 0.5 * (TAU * E).ln();
    for m_hat in [1e12_f64, 1e14, 1e16, 1e20, 1e26] {
        // what the field does not resolve is within a few of its deviations from a spike or a knee
        let resolved = m_hat.min(1e16);
        let unresolved = 10.0 * (resolved.ln() / resolved).sqrt();
        let log = 0.5 * m_hat.ln();
        let ln2 = 2.0_f64.ln();
        let cases: [(&dyn Factor, f64, f64, f64); 5] = [
            (&binary, 0.0, h2(0.3), 1e-9),
            (&sparse(rho), 0.0, h2(rho) + rho * log, unresolved),
            (&sign, 1.0, log, unresolved),
            // the output is its sign, and the input where it is positive
            (&relu, 1.0, 0.5 * (density + log), unresolved),
            // the sign is all that the output hides
            (&abs, 1.0, density, unresolved),
        ];
        for (factor, tau0_hat, exact, allowed) in cases {
            let ours = entropic(factor, &[m_hat], &[tau0_hat]);
            let name = factor.name();
            assert!(
                (ours - exact).abs() < allowed,
                "{name} {m_hat:e}: {ours} {exact}"
            );
        }
        // a hidden ReLU: its output alone, its input alone, both (half the inputs are then seen twice)
        let channel = PiecewiseLinear::relu();
        let cases = [
            ([0.0, m_hat], ln2 + 0.5 * (log - ln2)),
            ([m_hat, 0.0], log),
            ([m_hat, m_hat], log + 0.25 * ln2),
        ];
        for (fields, exact) in cases {
            let ours = entropic(&channel, &fields, &[1.0, 0.0]);
            // the growth beyond 1e16 is measured there, to 1e-6
            let allowed = unresolved + 1e-6 * (log - 0.5 * 1e16_f64.ln()).max(0.0);
            assert!((ours - exact).abs() < allowed, "{fields:?}: {ours} {exact}");
        }
    }
}

fn limit(prior: impl Factor, alpha: f64, output: impl Factor) -> Tree {
    limit_glm(prior, alpha, output).unwrap()
}

fn noise(delta: f64) -> GaussianNoise {
    GaussianNoise::new(delta).unwrap()
}

fn unit() -> SeparablePrior<GaussianPrior> {
    GaussianPrior::new(0.0, 1.0).unwrap().limit()
}

/// $I(x, z; y)$ at the fixed point.
fn total(tree: &Tree) -> f64 {
    let evolution = StateEvolution::new(tree).unwrap().fixed_point().unwrap();
    let information = evolution.information(tree).unwrap();
    // the free entropy is the same number, with the opposite sign
    let gap = evolution.entropy().unwrap() - information.entropy;
    let size: f64 = information.factors.iter().map(|t| t.value.abs()).sum();
    assert!(gap.abs() < 1e-13 * (1.0 + size), "{gap:e}");
    information.mutual_information().unwrap()
}

/// Gaussian models are log-determinants, at any noise and any ratio; a discrete signal that is known has told
/// its entropy.
#[test]
fn models_with_next_to_no_noise_are_exact() {
    for alpha in [0.4, 1.0, 1.35, 1e4] {
        for delta in [1e-2, 1e-12, 1e-14, 1e-20] {
            let tree = limit(unit(), alpha, noise(delta));
            let spectrum = Spectrum::marchenko_pastur(alpha).unwrap();
            let exact = 0.5 * spectrum.shannon(1.0 / delta);
            // terms of size 30 α are added up
            let allowed = 1e-13 * (100.0 + 30.0 * alpha);
            let ours = total(&tree);
            assert!(
                (ours - exact).abs() < allowed,
                "{alpha} {delta:e}: {ours} {exact}"
            );
            for variable in ["x", "z"] {
                let about = mutual_information(&tree, variable).unwrap();
                assert_eq!(about.start, Start::Either);
                let gap = (about.value - exact).abs();
                assert!(
                    gap < 10.0 * allowed,
                    "{variable} {alpha} {delta:e}: {gap:e}"
                );
            }
            if alpha >= 1.0 {
                let tree = limit(Binary::new(0.5).unwrap().limit(), alpha, noise(delta));
                let ours = total(&tree);
                // the disorder of sharp fields is known to 1e-10
                assert!(
                    (ours - 2.0_f64.ln()).abs() < 1e-9 + 10.0 * allowed,
                    "{ours}"
                );
            }
        }
    }
}

/// Without noise the differential entropy of the outputs is that of their spectrum.
#[test]
fn noiseless_outputs_have_their_differential_entropy() {
    let alpha = 0.4;
    let tree = limit(unit(), alpha, noise(0.0));
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    let ours = evolution.information(&tree).unwrap().entropy;
    // h(Wx) = 1/2 ln det 2πe W W^T, over the positive eigenvalues
    let spectrum = Spectrum::marchenko_pastur(alpha).unwrap();
    let exact = spectrum.expect(|l| {
        if l > 0.0 {
            0.5 * (TAU * E * l).ln()
        } else {
            0.0
        }
    });
    assert!((ours - exact).abs() < 1e-10, "{ours} {exact}");
    // a signal that is recovered leaves outputs without a density
    let tree = limit(sparse(0.2), 0.9, noise(0.0));
    let evolution = StateEvolution::new(&tree).unwrap().fixed_point().unwrap();
    assert!(evolution.mse("x").unwrap() < 1e-12);
    let text = evolution.information(&tree).unwrap_err().to_string();
    assert!(
        text.contains("diverges") && text.contains("noiseless"),
        "{text}"
    );
}

/// Hidden channels: noise behind noise, copies, sums.
#[test]
fn hidden_gaussian_channels_are_exact() {
    for (inner, outer) in [(0.3, 0.1), (1e-14, 1e-20), (1e-20, 1e-14), (1e-16, 0.5)] {
        let chain = glm(unit(), noise(inner), noise(outer));
        let chain = chain.build().unwrap().expect("y").unwrap();
        let about = |v: &str| mutual_information(&chain, v).unwrap().value;
        let (x, z) = (
            0.5 * (1.0_f64 / (inner + outer)).ln_1p(),
            0.5 * ((1.0 + inner) / outer).ln_1p(),
        );
        // logs of 1e20 and more are added up
        assert!((about("x") - x).abs() < 1e-12 * 100.0, "{} {x}", about("x"));
        assert!((about("z") - z).abs() < 1e-12 * 100.0, "{} {z}", about("z"));
        let sum = (source(unit()) >> var("u")) + (source(unit()) >> var("w"));
        let sum = sum >> Sum::new(2).unwrap() >> var("z") >> noise(outer) >> var("y");
        let sum = sum.build().unwrap().expect("y").unwrap();
        let exact = 0.5 * (2.0_f64 / outer).ln_1p();
        assert!(
            (total(&sum) - exact).abs() < 1e-10,
            "{} {exact}",
            total(&sum)
        );
        let about = mutual_information(&sum, "u").unwrap().value;
        let exact = 0.5 * (1.0_f64 / (1.0 + outer)).ln_1p();
        assert!((about - exact).abs() < 1e-10, "{about} {exact}");
    }
}

/// No more is known than there is to know: in the hard phase the uninformed fixed point claims more.
#[test]
fn mutual_information_belongs_to_the_true_fixed_point() {
    let ln2 = 2.0_f64.ln();
    let at = |alpha: f64| {
        let tree = limit(
            Binary::new(0.5).unwrap().limit(),
            alpha,
            PiecewiseLinear::sign(),
        );
        ["x", "z"].map(|v| mutual_information(&tree, v).unwrap())
    };
    for (alpha, start) in [
        (1.2, Start::Uninformed),
        (1.35, Start::Informed),
        (1.6, Start::Either),
    ] {
        for about in at(alpha) {
            println!("{alpha}: {about:?}");
            assert_eq!(about.start, start);
            // the fields of the pinned variable are resolved to 1e-8
            assert!(about.value <= ln2 + 1e-8, "{alpha}: {about:?}");
            match start {
                Start::Uninformed => {
                    assert!(about.value < ln2 - 1e-2);
                    assert!((about.value - about.attained).abs() < 1e-12);
                }
                Start::Informed => {
                    assert!((about.value - ln2).abs() < 1e-8);
                    // what the uninformed fixed point alone gives
                    assert!((about.attained - 0.732_547).abs() < 1e-5);
                }
                Start::Either => assert!((about.value - ln2).abs() < 1e-8),
                Start::Between => unreachable!("none of the three is one"),
            }
        }
    }
}

/// Behind a deterministic network everything is known about a variable that is known about all of them.
#[test]
fn deterministic_layers_lose_nothing() {
    let model = source(sparse(0.3))
        >> var("x")
        >> LinearEnsemble::gaussian(2.0).unwrap()
        >> var("u")
        >> PiecewiseLinear::relu()
        >> var("h")
        >> noise(1e-2)
        >> var("y");
    let tree = model.build().unwrap().expect("y").unwrap();
    let all = total(&tree);
    // a known output of a channel is resolved to 1e-8 of its size, and leaves that much of its atoms open
    for (variable, allowed) in [("x", 1e-10), ("u", 1e-10), ("h", 1e-6)] {
        let about = mutual_information(&tree, variable).unwrap().value;
        println!("I({variable}) - I = {:e}", about - all);
        assert!((about - all).abs() < allowed, "{variable}: {about} {all}");
    }
}

/// Pieces of a whole: the definition, with their shares.
#[test]
fn concatenated_signals_have_their_entropy() {
    let prior = |n: usize, v: f64| source(GaussianPrior::new(0.0, v).unwrap().iid(n));
    let pieces = (prior(10, 1.0) >> var("u")) + (prior(20, 4.0) >> var("w"));
    let model = pieces >> Concatenate::new(2).unwrap() >> var("x") >> noise(0.1) >> var("y");
    let tree = model.build().unwrap().expect("y").unwrap();
    let node = tree.factors().iter().find(|f| f.edges.len() == 3).unwrap();
    let (factor, rule) = (node.factor.as_ref(), node.factor.ensemble().unwrap());
    let tau0_hat = [1.0, 0.25, 0.0];
    let shares = [1.0 / 3.0, 2.0 / 3.0, 1.0];
    let fields = fields(&[0.3, 2.0, 5.0], &tau0_hat);
    let at = Averaged {
        fields: &fields,
        tau0_hat: &tau0_hat,
    };
    let ports: Vec<(f64, f64)> = (0..3)
        .map(|p| (shares[p], rule.second_moment(&tau0_hat, p).unwrap()))
        .collect();
    let signal: f64 = (0..3)
        .map(|p| 0.5 * ports[p].0 * fields[p].m_hat * ports[p].1)
        .sum();
    let exact =
        signal - rule.potential(factor, at).unwrap() + rule.prior_potential(&tau0_hat).unwrap();
    let ours = rule.entropic_potential(factor, at, &ports).unwrap();
    assert!((ours - exact).abs() < 1e-13, "{ours} {exact}");
}
