//! Updates at seeded points off any grid: against references, and against one another.

use super::{field, piecewise_channels};
use crate::common::oracle::{self, floats};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::belief::{OverlapFields, Overlaps};
use treeamp::catalog::observed;
use treeamp::error::FactorError;
use treeamp::extend::{Factor, ScalarChannel};
use treeamp::factor::Averaged;
use treeamp::prelude::*;

type Law = PiecewiseLinear;

/// The teacher's own tilts: a standard normal input.
const TAU0_HAT: [f64; 2] = [1.0, 0.0];

/// A student, a teacher, and their fields.
struct Draw {
    student: usize,
    teacher: usize,
    fields: [OverlapFields; 2],
}

/// Pairs of laws with $\hat m$ from 0.01 to $10^8$, $\hat q$ within a factor of five of it, and a student that errs about its own prior by
/// up to a factor of three.
fn draws(seed: u64) -> impl Iterator<Item = Draw> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let (student, teacher) = (rng.random_range(0..8), rng.random_range(0..8));
        let mut power = |low: f64, high: f64| 10_f64.powf(rng.random_range(low..high));
        let fields = TAU0_HAT.map(|tau0_hat| {
            let (m_hat, noise, tilt) = (power(-2.0, 8.0), power(-0.7, 0.7), power(-0.5, 0.5));
            field(m_hat, m_hat * noise, tau0_hat * tilt)
        });
        Draw {
            student,
            teacher,
            fields,
        }
    })
}

/// $m, v, \mathrm{err}$ of an end, or the potential.
fn update(
    student: &Law,
    teacher: &Law,
    fields: &[OverlapFields; 2],
    end: Option<usize>,
) -> [f64; 3] {
    let at = Averaged {
        fields,
        tau0_hat: &TAU0_HAT,
    };
    let rule = student.ensemble().unwrap();
    match end {
        Some(end) => {
            let o = rule.overlaps(teacher, at, end).unwrap();
            [o.m, o.v, o.err]
        }
        None => [rule.potential(teacher, at).unwrap(), 0.0, 0.0],
    }
}

fn size(small: usize, full: usize) -> usize {
    match std::env::var_os("TREEAMP_FULL") {
        Some(_) => full,
        None => small,
    }
}

/// The student is the teacher, and is not known to be: other averages, over the teacher's signals instead of its law, with the same values.
/// (Where another piece begins that is not the likelier one, the copy of `asymmetric_abs` was off by up to 6e-4.)
#[test]
fn bayes_optimal_updates_are_those_of_a_copy() {
    let laws = piecewise_channels();
    let mut worst = 0.0_f64;
    for mut draw in draws(11).take(size(120, 1500)) {
        for (f, tau0_hat) in draw.fields.iter_mut().zip(TAU0_HAT) {
            (f.q_hat, f.tau_hat) = (f.m_hat, tau0_hat);
        }
        let (law, copy) = (&laws[draw.student], laws[draw.student].clone());
        let [z, x] = draw.fields.map(|f| f.m_hat);
        for end in [0, 1] {
            let own = update(law, law, &draw.fields, Some(end));
            let other = update(law, &copy, &draw.fields, Some(end));
            for (k, (a, b)) in own.iter().zip(other).enumerate().take(2) {
                // variances below 1e-16 of the signal are certainty
                let error = (a - b).abs() / (b.abs() + 1e-14);
                worst = worst.max(error);
                let name = ScalarChannel::name(law);
                assert!(
                    error < 1e-6,
                    "{name} at {z:e}, {x:e}, end {end}, {k}: {a:e} {b:e}"
                );
            }
        }
    }
    println!("largest relative difference {worst:.1e}");
}

/// A student of its own: overlaps that are possible, $m^2 \le q\tau_0$, and a finite potential.
#[test]
fn mismatched_updates() {
    let laws = piecewise_channels();
    for draw in draws(7).take(size(100, 400)) {
        // another object, also where both are one law
        let (student, teacher) = (&laws[draw.student], laws[draw.teacher].clone());
        let at = Averaged {
            fields: &draw.fields,
            tau0_hat: &TAU0_HAT,
        };
        let rule = student.ensemble().unwrap();
        for end in [0, 1] {
            possible(&rule.overlaps(&teacher, at, end).unwrap());
        }
        assert!(rule.potential(&teacher, at).unwrap().is_finite());
    }
}

#[track_caller]
fn possible(o: &Overlaps) {
    assert!(o.v >= 0.0 && o.err >= 0.0 && o.err.is_finite(), "{o:?}");
    assert!(o.m * o.m <= o.q() * o.tau0 * (1.0 + 1e-9), "{o:?}");
}

/// A likelihood of two inputs for one output whose field knows nothing of the signal: its overlap is zero up to rounding.
#[test]
fn likelihoods_that_know_nothing() {
    let factor = observed(&PiecewiseLinear::abs()).unwrap().unspecified();
    let teachers = [PiecewiseLinear::abs(), PiecewiseLinear::relu()];
    for (q_hat, tau_hat, tau0_hat) in [(8.6, -2.4, 10.0), (1.0, 1.0, 1.0)] {
        let fields = [field(0.0, q_hat, tau_hat)];
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[tau0_hat],
        };
        for teacher in &teachers {
            let teacher = observed(teacher).unwrap().unspecified();
            let o = factor
                .ensemble()
                .unwrap()
                .overlaps(&teacher, at, 0)
                .unwrap();
            assert!(o.m.abs() < 1e-9 * o.tau0, "{o:?}");
        }
    }
}

/// Variances of abs students of such fields, sharper than the signal by far (`oracle/generate/unseen_students.py`): doubts about the sign decay
/// as the inverse output only.
#[test]
fn sharp_fields_that_know_nothing() {
    let student = observed(&PiecewiseLinear::abs()).unwrap().unspecified();
    for (teacher, q_hat, expected) in [
        (PiecewiseLinear::relu(), 18_269.8, 2.354_684_315_610e-3),
        (PiecewiseLinear::abs(), 3_341.1, 1.100_789_713_379e-2),
    ] {
        let teacher = observed(&teacher).unwrap().unspecified();
        let fields = [field(0.0, q_hat, 0.5)];
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[1.0],
        };
        let rule = student.ensemble().unwrap();
        let v = rule.overlaps(&teacher, at, 0).unwrap().v;
        assert!((v / expected - 1.0).abs() < 1e-9, "{v:e} {expected:e}");
    }
}

/// Likelihoods facing one another.
#[test]
fn mismatched_likelihoods() {
    let laws = piecewise_channels();
    let mut averaged = 0;
    for draw in draws(3).take(size(400, 6000)) {
        let law = |i: usize| observed(&laws[i]).unwrap().unspecified();
        let (student, teacher) = (law(draw.student), law(draw.teacher));
        let at = Averaged {
            fields: &draw.fields[..1],
            tau0_hat: &TAU0_HAT[..1],
        };
        match student.ensemble().unwrap().overlaps(&teacher, at, 0) {
            Ok(o) => possible(&o),
            Err(FactorError::Contradiction(_)) => continue,
            Err(other) => panic!("{other}"),
        }
        averaged += 1;
    }
    assert!(averaged > 50, "{averaged}");
}

/// One field: priors facing one another, at random fields. Overlaps are finite and satisfy $m^2 \le q\tau_0$.
#[test]
fn mismatched_priors() {
    let mut laws = Vec::new();
    macro_rules! each {
        ($($name:ident $(($module:path))? => $law:expr;)*) => { $(
            laws.push(Box::new($law.unwrap().iid(3)) as Box<dyn Factor>);
        )* };
    }
    treeamp::for_each_prior!(each);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..size(300, 5000) {
        let student = &laws[rng.random_range(0..laws.len())];
        let teacher = &laws[rng.random_range(0..laws.len())];
        let mut power = |low: f64, high: f64| 10_f64.powf(rng.random_range(low..high));
        let (m_hat, noise) = (power(-2.0, 8.0), power(-0.7, 0.7));
        let fields = [field(m_hat, m_hat * noise, 0.0)];
        let at = Averaged {
            fields: &fields,
            tau0_hat: &[0.0],
        };
        let rule = student.ensemble().unwrap();
        println!("{} of {} at {m_hat:e}", student.name(), teacher.name());
        possible(&rule.overlaps(teacher.as_ref(), at, 0).unwrap());
    }
}

/// A student of sign, which knows two outputs: $v_x = E[\cosh^{-2}(b_x + \frac12\ln\frac{\Phi(\beta)}{\Phi(-\beta)})]$, $\beta = b_z/\sqrt{a_z}$, over the signal and both
/// noises. At a sharp input only signals within a few deviations of zero count, and where the output contradicts them the student gives in
/// far from there. References by Gauss-Legendre panels in all three variables (`oracle/generate/sign_students.py`).
#[test]
fn sign_students_at_sharp_inputs() {
    let cases = [
        (
            PiecewiseLinear::leaky_relu(0.1).unwrap(),
            [
                field(
                    88_503_067.482_445_5,
                    177_416_213.812_056_7,
                    0.587_731_374_835_279_9,
                ),
                field(5_363.672_957_659_25, 7_858.221_611_554_245, 0.0),
            ],
            2.079_717_511_367e-5,
        ),
        (
            PiecewiseLinear::abs(),
            [
                field(
                    46_267_587.285_451_53,
                    229_200_081.728_826_76,
                    1.837_594_652_470_507,
                ),
                field(37.883_069_536_534_48, 80.363_552_999_088_21, 0.0),
            ],
            1.390_057_452_602e-4,
        ),
    ];
    let student = PiecewiseLinear::sign();
    for (teacher, fields, expected) in cases {
        let [_, v, _] = update(&student, &teacher, &fields, Some(1));
        assert!((v / expected - 1.0).abs() < 1e-9, "{v:e} {expected:e}");
    }
}

/// References $m, v, \mathrm{err}$ of both ends: nested adaptive integration over $b_z$ and $b_x$, and integration along and across the teacher's
/// pieces without the shortcuts of the library, both at a tolerance of 1e-12. Only draws where these two agree to 1e-9; for students of two outputs,
/// which the library averages in another way, the latter alone.
#[test]
fn mismatched_updates_against_references() {
    let (laws, file) = (piecewise_channels(), oracle::own("mismatched_updates.json"));
    let tolerance = file["tolerance"].as_f64().unwrap();
    let records = file["records"].as_array().unwrap();
    assert_eq!(records.len(), 17);
    let mut worst = 0.0_f64;
    for record in records {
        let i = usize::try_from(record["draw"].as_u64().unwrap()).unwrap();
        let draw = draws(7).nth(i).unwrap();
        let (student, teacher) = (&laws[draw.student], &laws[draw.teacher]);
        assert_eq!(record["student"], ScalarChannel::name(student));
        assert_eq!(record["teacher"], ScalarChannel::name(teacher));
        for end in [0, 1] {
            let expected = floats(&record["ends"][end]);
            let seen = update(student, &teacher.clone(), &draw.fields, Some(end));
            for (x, y) in seen.iter().zip(&expected) {
                let error = (x - y).abs() / y;
                worst = worst.max(error);
                assert!(
                    error < tolerance,
                    "draw {i}, end {end}: {seen:?} {expected:?}"
                );
            }
        }
    }
    println!("largest relative error {worst:.1e}");
}
