//! Spectra and their transforms: closed forms, finite matrices, and the identities of the Tree-AMP
//! paper's appendix.

use crate::common::{conditioned_matrix, gaussian_matrix};
use treeamp::belief::OverlapFields;
use treeamp::extend::*;
use treeamp::factor::Averaged;
use treeamp::prelude::*;

/// $\eta(\gamma) = 1 - \frac{1}{4\gamma}F(\gamma)$ with
/// $F = (\sqrt{\gamma(1+\sqrt\alpha)^2 + 1} - \sqrt{\gamma(1-\sqrt\alpha)^2 + 1})^2$.
fn eta(gamma: f64, alpha: f64) -> f64 {
    let root = |sign: f64| (gamma * (1.0 + sign * alpha.sqrt()).powi(2) + 1.0).sqrt();
    1.0 - (root(1.0) - root(-1.0)).powi(2) / (4.0 * gamma)
}

const ALPHAS: [f64; 7] = [0.05, 0.3, 0.9, 1.0, 1.1, 3.0, 20.0];

#[test]
fn marchenko_pastur_has_its_closed_forms() {
    for alpha in ALPHAS {
        let s = Spectrum::marchenko_pastur(alpha).unwrap();
        assert!((s.expect(|_| 1.0) - 1.0).abs() < 1e-13);
        assert!((s.mean() - alpha).abs() < 1e-13 * alpha, "{alpha}");
        assert!(
            (s.expect(|l| l * l) - alpha * (1.0 + alpha)).abs() < 1e-12 * alpha * (1.0 + alpha)
        );
        assert!((s.rank() - alpha.min(1.0)).abs() < 1e-13);
        for gamma in [1e-6, 1e-2, 1.0, 1e3, 1e8, 1e12] {
            let (ours, exact) = (s.eta(gamma), eta(gamma, alpha));
            // the closed form itself loses digits at the ends
            assert!(
                (ours - exact).abs() < 1e-9 * exact.max(1e-3),
                "{alpha} {gamma}: {ours} {exact}"
            );
            // γ V'(γ) = 1 - η(γ)
            let h = 1e-4;
            let up = s.shannon(gamma * (1.0 + h)) - s.shannon(gamma * (1.0 - h));
            let slope = up / (2.0 * h);
            assert!((slope - (1.0 - ours)).abs() < 1e-6, "{alpha} {gamma}");
        }
        // R(s) = α/(1 - s), J* = α/2 (ln(α/u) + u/α - 1)
        for t in [1e-3, 0.1, 1.0, 4.0] {
            // beyond E 1/λ the transform does not exist
            if alpha > 1.0 && t > 0.9 / (alpha - 1.0) {
                continue;
            }
            let r = s.r_transform(-t);
            assert!(
                (r - alpha / (1.0 + t)).abs() < 1e-8 * alpha,
                "{alpha} {t}: {r}"
            );
            let j = s.integrated_r(t);
            assert!(
                (j - 0.5 * alpha * t.ln_1p()).abs() < 1e-8 * alpha.max(1.0),
                "{alpha} {t}"
            );
        }
        for share in [0.999, 0.8, 0.3] {
            // u below the smallest reachable ratio does not exist either
            let u = share * alpha;
            let smallest = if alpha > 1.0 { alpha - 1.0 } else { 0.0 };
            if u <= 1.001 * smallest {
                continue;
            }
            let exact = 0.5 * alpha * ((alpha / u).ln() + u / alpha - 1.0);
            let ours = s.dual_integrated_r(u);
            assert!(
                (ours - exact).abs() < 1e-8 * exact.max(1e-3),
                "{alpha} {share}: {ours} {exact}"
            );
        }
    }
}

/// For independent entries the outgoing precisions are $a_{f\to x} = 1/v_z$ and
/// $a_{f\to z} = \frac{\alpha}{v_z}(1 - \frac{v_x}{v_z})$.
#[test]
fn iid_outgoing_precisions_are_closed() {
    for alpha in ALPHAS {
        let channel = LinearEnsemble::gaussian(alpha).unwrap();
        let rule = channel.ensemble().unwrap();
        for (az, ax) in [(1.0, 1.0), (2.0, 1e-3), (1.5, 1e4), (1.0, 1e10)] {
            let tau0_hat = [1.0, 0.0];
            let fields = [
                OverlapFields {
                    m_hat: az - 1.0,
                    q_hat: az - 1.0,
                    tau_hat: 1.0,
                },
                OverlapFields {
                    m_hat: ax,
                    q_hat: ax,
                    tau_hat: 0.0,
                },
            ];
            let at = Averaged {
                fields: &fields,
                tau0_hat: &tau0_hat,
            };
            let o = |port| rule.overlaps(&channel, at, port).unwrap();
            let (vz, vx) = (o(0).v, o(1).v);
            let to = |port| rule.extrinsic_precision(at, port).unwrap().unwrap();
            assert!((to(1) * vz - 1.0).abs() < 1e-9, "{alpha} {ax}");
            let exact = alpha / vz * (1.0 - vx / vz);
            // the closed form cancels as v_x approaches v_z
            assert!(
                (to(0) / exact - 1.0).abs() < 1e-6,
                "{alpha} {ax}: {} {exact}",
                to(0)
            );
            assert!((1.0 / vz - az - to(0)).abs() < 1e-9 * (1.0 / vz));
            // Bayes-optimal: m = τ0 - v, and E r² = m
            for port in [0, 1] {
                let o = o(port);
                assert!(
                    (o.m + o.v - o.tau0).abs() < 1e-9 * o.tau0,
                    "{alpha} {ax} {port}"
                );
                assert!((o.q() - o.m).abs() < 1e-9 * o.tau0);
            }
        }
    }
}

#[test]
fn finite_matrices_have_their_own_spectrum() {
    for (m, n) in [(40, 60), (60, 40), (50, 50)] {
        let w = gaussian_matrix(m, n, 5);
        let s = Spectrum::of(&w).unwrap();
        assert!((s.mean() - w.square_norm() / n as f64).abs() < 1e-12);
        assert!((s.rank() - (m.min(n) as f64 / n as f64)).abs() < 1e-12);
        assert!((s.expect(|_| 1.0) - 1.0).abs() < 1e-12);
    }
    // a large Gaussian matrix is close to the limit
    let s = Spectrum::of(&gaussian_matrix(400, 800, 6)).unwrap();
    let limit = Spectrum::marchenko_pastur(0.5).unwrap();
    for gamma in [0.1, 1.0, 10.0, 100.0] {
        assert!((s.eta(gamma) - limit.eta(gamma)).abs() < 2e-3);
    }
    let bad = Spectrum::of(&conditioned_matrix(20, 30, 1e6, 7)).unwrap();
    assert!((bad.rank() - 20.0 / 30.0).abs() < 1e-12);
}

#[test]
fn orthogonal_ensembles() {
    let rows = Spectrum::row_orthogonal(0.4).unwrap();
    assert!((rows.eta(3.0) - (0.6 + 0.4 / 4.0)).abs() < 1e-15);
    let columns = Spectrum::column_orthogonal(2.5).unwrap();
    assert!((columns.eta(3.0) - 0.25).abs() < 1e-15);
    assert!((columns.alpha() - 2.5).abs() < 1e-15);
}

#[test]
fn bad_spectra_are_refused() {
    for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let text = Spectrum::marchenko_pastur(alpha).unwrap_err().to_string();
        assert!(
            text.contains("`alpha`") && text.contains("positive"),
            "{text}"
        );
    }
    let text = Spectrum::from_eigenvalues(&[1.0, -0.5], 1.0)
        .unwrap_err()
        .to_string();
    assert!(text.contains("-0.5 at index 1"), "{text}");
    assert!(Spectrum::from_eigenvalues(&[], 1.0).is_err());
    // two of four positive is the most that alpha = 1/2 allows
    assert!(Spectrum::from_eigenvalues(&[1.0, 2.0, 0.0, 0.0], 0.5).is_ok());
    let text = Spectrum::from_eigenvalues(&[1.0, 2.0, 3.0, 0.0], 0.5)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("at most 2 positive") && text.contains("got 3"),
        "{text}"
    );
    assert!(Spectrum::row_orthogonal(1.5).is_err());
    assert!(Spectrum::column_orthogonal(0.5).is_err());
}
