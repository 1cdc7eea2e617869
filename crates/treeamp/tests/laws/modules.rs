//! The entries of the catalogue: what they say of names, domains, defaults and signals is true.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use treeamp::ModelError;
use treeamp::catalog::{
    Argument, Arguments, Domain, Module, Parameter, ParameterKind, Role, Signals, module, modules,
};
use treeamp::testing::laws::{check_value, extreme_tilt};

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
                    let blamed = name.ends_with(p.name) || p.domain == Domain::Extended;
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

/// A number of a domain, of any size; of a list, as many as there are by default.
fn drawn(p: &Parameter, rng: &mut dyn Rng) -> f64 {
    let size = 10f64.powf(rng.random_range(-3.0..3.0));
    match p.domain {
        Domain::Positive | Domain::NotNegative => size,
        Domain::Unit | Domain::Probabilities => rng.random::<f64>(),
        _ if rng.random::<bool>() => -size,
        _ => size,
    }
}

/// Every real prior of numbers, at parameters from anywhere in their domains and extreme tilts.
#[test]
fn priors_are_sane_at_random() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let of_numbers = |m: &&Module| {
        let kinds = [ParameterKind::Number, ParameterKind::Size];
        m.role == Role::Prior
            && m.signals == Signals::Real
            && m.parameters.iter().all(|p| kinds.contains(&p.kind))
    };
    for m in modules().filter(of_numbers) {
        let mut made = 0;
        for _ in 0..2000 {
            let mut arguments = Arguments::new().sized([1]);
            for p in m.parameters.iter().filter(|p| p.name != "size") {
                arguments = arguments.with(p.name, Argument::Number(drawn(p, &mut rng)));
            }
            // ends of an interval in the wrong order
            let Ok(factor) = m.make(&arguments) else {
                continue;
            };
            made += 1;
            let tilt = extreme_tilt(&mut rng);
            let law = factor.scalar().unwrap();
            let t = law.prior(tilt).unwrap();
            let line = (f64::NEG_INFINITY, f64::INFINITY);
            let outcome = check_value(t, line);
            assert!(outcome.is_ok(), "{} at {tilt:?}: {outcome:?}", m.name);
        }
        assert!(made > 500, "{}: {made}", m.name);
    }
}
