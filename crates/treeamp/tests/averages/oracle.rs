//! Averages of separable factors against reference values in the folder `TREEAMP_ORACLE`.
//!
//! Values by direct integration are met to $10^{-7}$ ($10^{-5}$ from precision $10^8$ on), values of another program to
//! $10^{-5}$. A record that contradicts the consistency check stored beside it is not a reference.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{laws, oracle};
use serde_json::Value;
use treeamp::belief::OverlapFields;
use treeamp::extend::Factor;
use treeamp::factor::Averaged;
use treeamp::prelude::*;

fn records(group: &str) -> Option<Vec<Value>> {
    let all = oracle::json("modules_se.json")?;
    Some(all[group].as_array().unwrap().clone())
}

fn num(v: &Value, name: &str) -> Option<f64> {
    v.get(name).and_then(Value::as_f64)
}

fn get(v: &Value, name: &str, default: f64) -> f64 {
    num(v, name).unwrap_or(default)
}

/// Parameters that the name of a class has: `GaussianLikelihood(var=.5)`.
fn parameters(class: &str, given: &Value) -> Value {
    let Some((_, text)) = class.trim_end_matches(')').split_once('(') else {
        return given.clone();
    };
    let (name, value) = text.split_once('=').unwrap();
    serde_json::json!({ name: value.parse::<f64>().unwrap() })
}

fn prior(class: &str, given: &Value) -> Arc<dyn Factor> {
    let made = laws::made(class, "prior", given);
    made.unwrap_or_else(|| panic!("no prior {class} in the catalogue"))
}

fn likelihood(class: &str, given: &Value) -> Arc<dyn Factor> {
    let made = laws::observed(class, &parameters(class, given));
    made.unwrap_or_else(|| panic!("no likelihood {class} in the catalogue"))
}

/// The worst relative error of each kind of law.
#[derive(Default)]
struct Worst(BTreeMap<String, f64>);

impl Worst {
    #[track_caller]
    fn compare(&mut self, what: &str, got: f64, want: f64, tolerance: f64, noise: f64) {
        let gap = (got - want).abs();
        assert!(
            gap <= tolerance * want.abs() + noise,
            "{what}: {got:e}, reference {want:e}, relative {:e}",
            gap / want.abs()
        );
        let relative = (gap - noise).max(0.0) / want.abs().max(f64::MIN_POSITIVE);
        let worst = self.0.entry(what.to_owned()).or_default();
        *worst = worst.max(relative);
    }

    fn print(&self, group: &str) {
        for (what, worst) in &self.0 {
            println!("{group} {what}: {worst:.1e}");
        }
    }
}

/// The record disagrees with its own consistency check.
fn contradicts_itself(direct: &Value) -> bool {
    let v = get(direct, "v", 0.0);
    let check = num(direct, "check_v_from_2dI/da").or(num(direct, "check_tau_minus_2dA/da"));
    check.is_some_and(|c| (c - v).abs() > 1e-3 * v.abs() + 1e-9)
}

#[test]
fn bayes_optimal() {
    for (group, is_prior) in [("priors", true), ("likelihoods", false)] {
        let mut worst = Worst::default();
        let (mut compared, mut refused) = (0, 0);
        let Some(records) = records(group) else {
            return;
        };
        for r in records {
            let class = r["cls"].as_str().unwrap();
            // that of complex signals is compared in their own test
            if class == "ModulusLikelihood" {
                continue;
            }
            let f = if is_prior {
                prior(class, &r["params"])
            } else {
                likelihood(class, &r["params"])
            };
            if contradicts_itself(&r["direct"]) {
                println!("{class} contradicts its own check: {}", r["direct"]);
                refused += 1;
                continue;
            }
            let (m_hat, tau0_hat) = if is_prior {
                (num(&r, "ax").unwrap(), 0.0)
            } else {
                let own = 1.0 / num(&r, "tau_z").unwrap();
                (num(&r, "az").unwrap() - own, own)
            };
            let at = Averaged {
                fields: &[OverlapFields {
                    m_hat,
                    q_hat: m_hat,
                    tau_hat: tau0_hat,
                }],
                tau0_hat: &[tau0_hat],
            };
            let e = f.ensemble().unwrap();
            let ov = e.overlaps(&*f, at, 0).unwrap();
            let a = e.potential(&*f, at).unwrap();
            let d = &r["direct"];
            let tolerance = if m_hat >= 1e8 { 1e-5 } else { 1e-7 };
            worst.compare(
                &format!("{class} v"),
                ov.v,
                get(d, "v", f64::NAN),
                tolerance,
                0.0,
            );
            worst.compare(
                &format!("{class} m"),
                ov.m,
                get(d, "m", f64::NAN),
                tolerance,
                0.0,
            );
            // the reference is a difference of terms of the size of m_hat tau0
            let noise = 1e-11 * m_hat * ov.tau0;
            worst.compare(
                &format!("{class} A"),
                a,
                get(d, "A", f64::NAN),
                tolerance,
                noise,
            );
            compared += 1;
        }
        worst.print(group);
        println!("{group}: {compared} records compared, {refused} refused");
        assert!(refused <= 1);
    }
}

#[test]
fn mismatched() {
    for (group, is_prior) in [("priors_RS", true), ("likelihoods_RS", false)] {
        let mut worst = Worst::default();
        let Some(records) = records(group) else {
            return;
        };
        for r in records {
            let (t, s) = (
                r["teacher"].as_str().unwrap(),
                r["student"].as_str().unwrap(),
            );
            let (teacher, student) = if is_prior {
                (
                    prior(t, &r["teacher_params"]),
                    prior(s, &r["student_params"]),
                )
            } else {
                (likelihood(t, &Value::Null), likelihood(s, &Value::Null))
            };
            let fields = [OverlapFields {
                m_hat: num(&r, "m_hat").unwrap(),
                q_hat: num(&r, "q_hat").unwrap(),
                tau_hat: num(&r, "tau_hat").unwrap(),
            }];
            let tau0_hat = [num(&r, "tau0_hat").unwrap()];
            let at = Averaged {
                fields: &fields,
                tau0_hat: &tau0_hat,
            };
            let e = student.ensemble().unwrap();
            if s == "AbsLikelihood" {
                // |z| = -1 has probability zero, although y tanh(b y) can be computed there
                let refused = e.overlaps(&*teacher, at, 0);
                assert!(matches!(refused, Err(FactorError::Contradiction(_))));
                continue;
            }
            let ov = e.overlaps(&*teacher, at, 0).unwrap();
            // a penalty is no law, and has no potential
            let a = e.is_law().then(|| e.potential(&*teacher, at).unwrap());
            let d = &r["tramp"];
            let seen = [("v", ov.v), ("m", ov.m), ("q", ov.q())];
            for (name, got) in seen.into_iter().chain(a.map(|a| ("A", a))) {
                let want = num(d, name).unwrap();
                worst.compare(&format!("{t} / {s} {name}"), got, want, 1e-5, 0.0);
            }
        }
        worst.print(group);
    }
}

#[test]
fn channels() {
    let Some(records) = records("channels") else {
        return;
    };
    let mut worst = Worst::default();
    for r in records {
        let class = r["cls"].as_str().unwrap();
        let f = laws::made(class, "channel", &r["params"]).unwrap_or_else(|| panic!("{class}"));
        let own = 1.0 / num(&r, "tau_z").unwrap();
        let (m_z, m_x) = (num(&r, "az").unwrap() - own, num(&r, "ax").unwrap());
        let field = |m_hat: f64, tau_hat: f64| OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat,
        };
        let at = Averaged {
            fields: &[field(m_z, own), field(m_x, 0.0)],
            tau0_hat: &[own, 0.0],
        };
        let e = f.ensemble().unwrap();
        let z = e.overlaps(&*f, at, 0).unwrap();
        let x = e.overlaps(&*f, at, 1).unwrap();
        let a = e.potential(&*f, at).unwrap();
        let d = &r["direct"];
        let tau_x = num(&r, "tau_x").unwrap();
        let pairs = [("vz", z.v), ("vx", x.v), ("A", a)];
        for (name, got) in pairs {
            let want = num(d, name).unwrap();
            worst.compare(&format!("{class} {name}"), got, want, 1e-7, 0.0);
        }
        worst.compare(&format!("{class} tau_x"), x.tau0, tau_x, 1e-12, 0.0);
    }
    worst.print("channels");
}

/// Matrices of independent entries, by their closed forms.
#[test]
fn linear_ensembles() {
    let Some(records) = records("linear") else {
        return;
    };
    let mut worst = Worst::default();
    let mut compared = 0;
    for r in records {
        let Some(alpha) = num(&r, "alpha") else {
            continue; // a given operator: tests of operators
        };
        let f = LinearEnsemble::gaussian(alpha).unwrap();
        let tau = num(&r, "tau_z").unwrap();
        let (az, ax) = (num(&r, "az").unwrap(), num(&r, "ax").unwrap());
        let field = |m_hat: f64, tau_hat: f64| OverlapFields {
            m_hat,
            q_hat: m_hat,
            tau_hat,
        };
        let at = Averaged {
            fields: &[field(az - 1.0 / tau, 1.0 / tau), field(ax, 0.0)],
            tau0_hat: &[1.0 / tau, 0.0],
        };
        let e = Factor::ensemble(&f).unwrap();
        let [z, x] = [0, 1].map(|end| e.overlaps(&f, at, end).unwrap());
        let ports = [(1.0, z.tau0), (alpha, x.tau0)];
        let information = e.entropic_potential(&f, at, &ports).unwrap();
        let tolerance = if ax >= 1e8 { 1e-5 } else { 1e-7 };
        for (name, got) in [("vz", z.v), ("vx", x.v), ("I", information)] {
            let want = num(&r["direct"], name).unwrap();
            worst.compare(&format!("alpha {alpha} {name}"), got, want, tolerance, 0.0);
        }
        compared += 1;
    }
    worst.print("linear");
    assert_eq!(compared, 19);
}

/// The precision at which a prior leaves a given variance, and $I - \frac12av$ there.
#[test]
fn dual_maps() {
    let Some(records) = records("dual") else {
        return;
    };
    let mut worst = Worst::default();
    let mut compared = 0;
    for r in records {
        let class = r["cls"].as_str().unwrap();
        let f = prior(class, &r["params"]);
        let (a, v) = (num(&r["tramp"], "ax").unwrap(), num(&r, "vx").unwrap());
        let fields = [OverlapFields {
            m_hat: a,
            q_hat: a,
            tau_hat: 0.0,
        }];
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[0.0],
        };
        let e = f.ensemble().unwrap();
        let o = e.overlaps(&*f, at, 0).unwrap();
        let information = e.entropic_potential(&*f, at, &[(1.0, o.tau0)]).unwrap();
        let dual = num(&r["tramp"], "I_dual").unwrap();
        worst.compare(&format!("{class} v"), o.v, v, 1e-5, 0.0);
        let seen = information - 0.5 * a * o.v;
        worst.compare(&format!("{class} I"), seen, dual, 1e-5, 0.0);
        compared += 1;
    }
    worst.print("dual");
    assert_eq!(compared, 12);
}
