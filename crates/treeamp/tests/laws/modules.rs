//! The entries of the catalogue: what they say of names, domains, defaults and signals is true.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::ModelError;
use treeamp::catalog::{Arguments, Domain, Module, ParameterKind, Role, Signals, module, modules};
use treeamp::scalar::{Tilt, Tilted};
use treeamp::testing::laws::{check_value, end_x, end_z, extreme_tilt};

/// A module on a few components, with one more argument.
fn made_with(module: &Module, name: &str, x: f64) -> treeamp::catalog::Made {
    let sized = module.parameter("size").is_some();
    let arguments = if sized {
        Arguments::new().sized([2, 3])
    } else {
        Arguments::new()
    };
    module.make(&arguments.with(name, x))
}

#[test]
fn names_are_unique_and_all_is_said() {
    let mut names: Vec<&str> = modules()
        .flat_map(|m| [&[m.name][..], m.aliases].concat())
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
    for m in modules() {
        assert!(!m.summary.is_empty() && !m.formula.is_empty() && !m.tex.is_empty());
        assert!(m.parameters.iter().all(|p| !p.doc.is_empty()), "{}", m.name);
        let starts = matches!(m.role, Role::Prior | Role::Penalty);
        assert_eq!(m.parameter("size").is_some(), starts, "{}", m.name);
        assert!(m.aliases.iter().all(|a| module(a).unwrap().name == m.name));
    }
}

/// Every module can be made of its defaults, and its instance has the arity of its role.
#[test]
fn every_module_has_an_example() {
    for m in modules() {
        let factor = m.example().unwrap_or_else(|e| panic!("{}: {e}", m.name));
        let starts = matches!(m.role, Role::Prior | Role::Penalty);
        assert_eq!(factor.arity().inputs == 0, starts, "{}", m.name);
        let supports = m.supports().unwrap();
        let energy = [Role::Penalty, Role::Loss].contains(&m.role);
        let known = supports.contains(&"sampling") || energy;
        assert!(known && supports.contains(&"inference"), "{}", m.name);
        let observed = supports.contains(&"likelihood");
        assert!(observed || m.role != Role::Likelihood, "{}", m.name);
    }
}

/// Numbers at the borders of a domain and beyond.
const PLACES: [f64; 9] = [
    f64::NEG_INFINITY,
    -2.5,
    -1e-300,
    0.0,
    0.7,
    1.0,
    2.5,
    f64::INFINITY,
    f64::NAN,
];

/// A number is refused where its domain does not have it, by an error that names it, and taken where it has.
#[test]
fn domains_are_those_of_the_constructors() {
    for m in modules() {
        let numbers = m.parameters.iter();
        for p in numbers.filter(|p| p.kind == ParameterKind::Number) {
            for x in PLACES {
                let outcome = made_with(m, p.name, x).map(|_| ());
                // the ends of an interval are bounded by one another too
                let ends = [Domain::Extended, Domain::Ordered].contains(&p.domain);
                if p.domain.contains(x) && !ends {
                    assert_eq!(outcome, Ok(()), "{}.{} = {x}", m.name, p.name);
                }
                if !p.domain.contains(x) {
                    let Err(ModelError::Parameter { name, .. }) = outcome else {
                        panic!("{}.{} = {x}: {outcome:?}", m.name, p.name);
                    };
                    let blamed = name == p.name || p.domain == Domain::Extended;
                    assert!(blamed, "{}.{} = {x}: {name}", m.name, p.name);
                }
            }
        }
    }
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let prior = module("gauss_bernoulli").unwrap();
    let refusal = |arguments: Arguments| prior.make(&arguments).unwrap_err().to_string();
    assert_eq!(
        refusal(Arguments::new()),
        "gauss_bernoulli: parameter `size` must be given, got nothing"
    );
    assert_eq!(
        refusal(Arguments::new().sized([3]).with("rho", vec![0.1])),
        "gauss_bernoulli: parameter `rho` must be a number, got [0.1]"
    );
    assert_eq!(
        refusal(Arguments::new().sized([3]).with("sparsity", 0.1)),
        "gauss_bernoulli: parameter `name` must be among size, rho, mean, variance, got sparsity"
    );
    let gradient = module("gradient").unwrap();
    let wrong = gradient.make(&Arguments::new().with("boundary", "open"));
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "gradient: parameter `boundary` must be periodic, neumann or zero, got open"
    );
}

/// A number of a domain, of any size; the ends of some.
fn drawn(domain: Domain, rng: &mut dyn Rng) -> f64 {
    let size = 10f64.powf(rng.random_range(-6.0..4.0));
    match domain {
        Domain::Positive | Domain::NotNegative => size,
        Domain::Unit => match rng.random_range(0..10) {
            0 => 0.0,
            1 => 1.0,
            2 => 10f64.powf(rng.random_range(-300.0..0.0)),
            _ => rng.random::<f64>(),
        },
        Domain::InsideUnit => rng.random_range(1e-9..1.0),
        _ if rng.random::<bool>() => -size,
        _ => size,
    }
}

/// Three numbers of a domain, each in it, and together where that says something of them.
fn drawn_list(domain: Domain, rng: &mut dyn Rng) -> Vec<f64> {
    if domain == Domain::Probabilities {
        let p = rng.random_range(1e-9..0.5);
        return vec![p, 0.5 - p, 0.5];
    }
    let mut list: Vec<f64> = (0..3).map(|_| drawn(domain, rng)).collect();
    if domain == Domain::Ordered {
        list.sort_unstable_by(f64::total_cmp);
    }
    list
}

/// Arguments from anywhere in their domains.
fn anywhere(m: &Module, rng: &mut dyn Rng) -> Arguments {
    let mut arguments = Arguments::new();
    for p in m.parameters {
        arguments = match p.kind {
            ParameterKind::Size => arguments.sized([1]),
            ParameterKind::Number => arguments.with(p.name, drawn(p.domain, rng)),
            ParameterKind::Numbers => arguments.with(p.name, drawn_list(p.domain, rng)),
            _ => arguments,
        };
    }
    arguments
}

/// Modules of numbers and lists of them, on real components.
fn of_numbers(role: Role) -> impl Iterator<Item = &'static Module> {
    let kinds = [
        ParameterKind::Number,
        ParameterKind::Numbers,
        ParameterKind::Size,
    ];
    modules().filter(move |m| {
        let real = matches!(m.signals, Signals::Real | Signals::Any);
        let plain = m.parameters.iter().all(|p| kinds.contains(&p.kind));
        m.role == role && real && plain && m.example().unwrap().scalar().is_some()
    })
}

const LINE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

fn draws() -> usize {
    let full = std::env::var("TREEAMP_FULL").is_ok_and(|v| v == "1");
    if full { 200_000 } else { 2000 }
}

/// Every real prior, at parameters from anywhere in their domains and extreme tilts.
#[test]
fn priors_are_sane_at_random() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let mut laws = 0;
    for m in of_numbers(Role::Prior) {
        laws += 1;
        let mut made = 0;
        for _ in 0..draws() {
            let arguments = anywhere(m, &mut rng);
            // ends of an interval in the wrong order
            let Ok(factor) = m.make(&arguments) else {
                continue;
            };
            made += 1;
            let tilt = extreme_tilt(&mut rng);
            let t = factor.scalar().unwrap().prior(tilt).unwrap();
            let outcome = check_value(t, LINE);
            let law = format!("{} {}", m.name, factor.summary());
            assert!(outcome.is_ok(), "{law} at {tilt:?}: {outcome:?}");
        }
        assert!(made > draws() / 4, "{}: {made}", m.name);
    }
    assert!(laws >= 12, "{laws} priors");
}

/// Any finite number, of either sign and any size.
fn anything(rng: &mut dyn Rng) -> f64 {
    let x = match rng.random_range(0..4) {
        0 => 0.0,
        1 => 10f64.powf(rng.random_range(-3.0..3.0)),
        _ => 10f64.powf(rng.random_range(-307.0..307.0)),
    };
    if rng.random::<bool>() { x } else { -x }
}

/// No panic and no NaN anywhere, at magnitudes where even the exact answer overflows.
#[test]
fn no_finite_input_gives_nan() {
    let mut rng = ChaCha8Rng::seed_from_u64(14);
    let mut tilt = || Tilt {
        a: anything(&mut rng),
        b: anything(&mut rng),
    };
    let points: Vec<(Tilt, Tilt)> = (0..draws() / 2).map(|_| (tilt(), tilt())).collect();
    let sane = |t: &Tilted| {
        let nan = t.log_z.is_nan() || t.mean.is_nan() || t.variance.is_nan();
        !nan && t.variance >= 0.0
    };
    let priors = of_numbers(Role::Prior).chain(of_numbers(Role::Channel));
    let mut values = 0;
    for m in priors.chain(of_numbers(Role::Likelihood)) {
        let factor = m.example().unwrap();
        // an output that it can have
        let seen = |y: &f64| Some((*y, factor.observe(&[*y]).ok().flatten()?));
        let observed = [1.0, 0.5].iter().find_map(seen);
        // smooth activations are integrated: a few points
        let every = if m.role == Role::Prior { 1 } else { 20 };
        for (z, x) in points.iter().step_by(every) {
            let law = factor.scalar().unwrap();
            let mut all: Vec<Tilted> = law.prior(*x).into_iter().collect();
            if let Some(pair) = law.channel(*z, *x) {
                all.extend([end_z(pair), end_x(pair)]);
            }
            if let Some((y, law)) = &observed {
                all.extend(law.scalar().and_then(|law| law.likelihood(*y, *z)));
            }
            for t in &all {
                assert!(sane(t), "{} at z {z:?}, x {x:?}: {t:?}", m.name);
            }
            values += all.len();
        }
    }
    assert!(values > 12 * points.len(), "{values}");
}

/// Lists without weights have equal ones, and a number that is not allowed is named with its index.
#[test]
fn lists_of_mixtures_and_alphabets() {
    use treeamp::prelude::*;
    let half = [0.5, 0.5];
    let values = [-1.0, 2.0];
    let same = [
        FiniteAlphabet::new(&values, &[]) == FiniteAlphabet::new(&values, &half),
        GaussianMixture::new(&[], &values, &half) == GaussianMixture::new(&half, &values, &half),
        NonnegativeGaussianMixture::new(&[], &values, &half)
            == NonnegativeGaussianMixture::new(&half, &values, &half),
        CircularGaussianMixture::new(&[], &half) == CircularGaussianMixture::new(&half, &half),
        ComplexAlphabet::new(&values, &half, &[]) == ComplexAlphabet::new(&values, &half, &half),
    ];
    assert_eq!(same, [true; 5]);
    let wrong = [1.0, f64::NAN];
    let refusals = [
        FiniteAlphabet::new(&wrong, &[]).map(drop),
        GaussianMixture::new(&[], &wrong, &half).map(drop),
        GaussianMixture::new(&[], &half, &wrong).map(drop),
        NonnegativeGaussianMixture::new(&[], &wrong, &half).map(drop),
        NonnegativeGaussianMixture::new(&[], &half, &[1.0, 0.0]).map(drop),
        CircularGaussianMixture::new(&[], &[1.0, -1.0]).map(drop),
        ComplexAlphabet::new(&half, &wrong, &[]).map(drop),
    ];
    for said in refusals.map(|r| r.unwrap_err().to_string()) {
        assert!(said.contains("at index 1"), "{said}");
    }
    assert!(FiniteAlphabet::new(&[], &[]).is_err() && GaussianMixture::new(&[], &[], &[]).is_err());
    for q in [0.0, 1.0, -0.1, f64::NAN] {
        let said = Quantile::new(1.0, q).unwrap_err().to_string();
        assert!(said.contains("`quantile`"), "{said}");
    }
}

/// The output of a flat region is certain, also where next to nothing is known of the input and its variance overflows.
#[test]
fn flat_regions_of_an_unknown_input() {
    let z = Tilt {
        a: 0.0,
        b: 5.7e-185,
    };
    let x = Tilt { a: 2.1e47, b: 0.0 };
    let law = module("relu").unwrap().example().unwrap();
    let pair = law.scalar().unwrap().channel(z, x).unwrap();
    assert!(
        pair.variance_x >= 0.0 && pair.variance_x < 1e-40,
        "{pair:?}"
    );
    assert!(
        pair.mean_x.abs() < 1e-20 && pair.log_z.is_finite(),
        "{pair:?}"
    );
}
