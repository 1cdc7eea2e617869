//! Averages over teachers with heavy tails, down to where they hardly have a second moment, against reference values
//! (`oracle/data/heavy_tails.json`, 22 digits).

use crate::common::oracle;
use treeamp::belief::OverlapFields;
use treeamp::extend::Factor;
use treeamp::factor::Averaged;
use treeamp::prelude::*;

/// Relative error: the averages are taken to 1e-10, and tails are powers known to their last digits.
const TOLERANCE: f64 = 1e-10;

fn near(found: f64, exact: f64, what: &str) {
    let error = (found / exact - 1.0).abs();
    assert!(error < TOLERANCE, "{what}: {found:e} {exact:e}, {error:e}");
}

#[test]
fn averages_over_heavy_tails() {
    let file = oracle::own("heavy_tails.json");
    let (mut optimal, mut students) = (0, 0);
    for record in file["records"].as_array().unwrap() {
        let number = |name: &str| record[name].as_f64().unwrap();
        let (df, scale) = (number("df"), number("scale"));
        let teacher = StudentT::new(df, 0.0, scale).unwrap().iid(1);
        let tau0 = scale * scale * df / (df - 2.0);
        if record["kind"] == "optimal" {
            optimal += 1;
            let m_hat = number("m_hat");
            let fields = [OverlapFields {
                m_hat,
                q_hat: m_hat,
                tau_hat: 0.0,
            }];
            let at = Averaged {
                fields: &fields,
                tau0_hat: &[0.0],
            };
            let rule = teacher.ensemble().unwrap();
            let found = rule.overlaps(&teacher, at, 0).unwrap();
            near(found.v, number("v"), &format!("v at {df}, {m_hat}"));
            near(found.m, tau0 - number("v"), &format!("m at {df}, {m_hat}"));
            let information = rule
                .entropic_potential(&teacher, at, &[(1.0, tau0)])
                .unwrap();
            near(
                information,
                number("information"),
                &format!("information at {df}, {m_hat}"),
            );
            let potential = rule.potential(&teacher, at).unwrap();
            near(
                potential,
                0.5 * m_hat * tau0 - number("information"),
                &format!("potential at {df}, {m_hat}"),
            );
        } else {
            students += 1;
            let [m_hat, q_hat, tau_hat] = [0, 1, 2].map(|i| record["fields"][i].as_f64().unwrap());
            let fields = [OverlapFields {
                m_hat,
                q_hat,
                tau_hat,
            }];
            let at = Averaged {
                fields: &fields,
                tau0_hat: &[0.0],
            };
            let student: Box<dyn Factor> = match record["student"].as_str().unwrap() {
                "laplace" => Box::new(Laplace::new(0.0, 0.7).unwrap().iid(1)),
                "binary" => Box::new(Binary::new(0.5).unwrap().iid(1)),
                other => panic!("{other}"),
            };
            let found = student
                .ensemble()
                .unwrap()
                .overlaps(&teacher, at, 0)
                .unwrap();
            let what = format!("{} at {df}", student.name());
            near(found.m, number("m"), &format!("m of {what}"));
            near(found.v, number("v"), &format!("v of {what}"));
            near(found.err, number("err"), &format!("err of {what}"));
        }
    }
    assert_eq!((optimal, students), (18, 6));
}
