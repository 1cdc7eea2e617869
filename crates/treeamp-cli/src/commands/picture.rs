//! The picture of a law: the density of a prior, and how it shrinks what is seen through noise; what outputs of a likelihood say of their
//! input, and what is estimated from them.

use std::sync::Arc;

use treeamp::belief::{Gaussian, SignalSpec};
use treeamp::catalog::{Arguments, Module, Preset, Role, Signals};
use treeamp::extend::Factor;
use treeamp::factor::Site;
use treeamp::scalar::{OutputMeasure, ScalarView, Tilt};
use treeamp_lab::figure::{Axis, Figure, Ink, Panel, Series};

use crate::exit::Failure;

/// Points of a curve.
const POINTS: u32 = 400;
/// Deviations of the law on either side of its mean.
const REACH: f64 = 4.0;
/// Signal-to-noise ratios of the shrinkage curves.
const RATIOS: [f64; 3] = [0.3, 3.0, 30.0];

/// Inputs of a likelihood, from minus this to this.
const INPUTS: f64 = 5.0;
/// What is seen of the other member of a group.
const OTHERS: [f64; 3] = [0.0, 1.0, 3.0];
/// A precision at which the envelope of a loss is the loss, to what a picture shows.
const CERTAIN: f64 = 1e9;
/// Outputs of a likelihood that are drawn at most.
const OUTPUTS: usize = 4;

/// The line along which an estimate is what was given.
fn unchanged(name: &str, places: impl Iterator<Item = f64>) -> Series {
    let line = Series::line(name, places.map(|x| (x, x)));
    line.dashed().ink(Ink::Grey)
}

/// Mean and deviation; of a law without a second moment, those under a weak belief.
fn extent(law: &dyn ScalarView) -> Option<(f64, f64)> {
    let rest = law.prior(Tilt { a: 0.0, b: 0.0 })?;
    let seen = if rest.variance.is_finite() {
        rest
    } else {
        law.prior(Tilt { a: 1.0, b: 0.0 })?
    };
    let deviation = seen.variance.sqrt();
    Some((seen.mean, if deviation > 0.0 { deviation } else { 1.0 }))
}

/// The name with the formula, in letters that figures have.
fn title(module: &Module) -> String {
    let formula = module.formula.replace('∝', "proportional to");
    format!("{}: {formula}", module.name)
}

/// The parameters of the law that is drawn: its defaults.
fn values(module: &Module) -> String {
    let values = module.parameters.iter().filter_map(|p| match p.default? {
        Preset::Numbers([]) => None,
        value => Some(format!("{} = {value}", p.name)),
    });
    let values: Vec<String> = values.collect();
    if values.is_empty() {
        return String::new();
    }
    format!(" at {}", values.join(", "))
}

/// The density of a prior along these places and its own landmarks, with vertical edges where its support ends.
fn density(
    law: &dyn ScalarView,
    places: impl Iterator<Item = f64>,
    deviation: f64,
) -> Vec<(f64, f64)> {
    let (low, high) = law.support();
    let inside = |x: f64| {
        // at an end, from within
        let within = 1e-9 * deviation;
        law.density(x.max(low + within).min(high - within))
    };
    let mut places: Vec<f64> = places.collect();
    let (first, last) = (places[0], places[places.len() - 1]);
    // some have a pole there
    let beside = [0.0, 1e-3, -1e-3, 1e-2, -1e-2].map(|d| d * deviation);
    let marks = law.landmarks(None).into_iter().map(|mark| mark.place);
    let marks = marks.flat_map(|place| beside.map(|d| place + d));
    places.extend(marks.filter(|x| *x > first && *x < last));
    places.extend([low, high].into_iter().filter(|x| *x > first && *x < last));
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut points = Vec::new();
    for x in places {
        let height = inside(x).filter(|p| p.is_finite());
        if x <= low || x > high {
            points.push((x, 0.0));
        }
        if x >= low && x <= high {
            points.extend(height.map(|p| (x, p)));
        }
        if x >= high && points.last().is_some_and(|(_, p)| *p > 0.0) {
            points.push((x, 0.0));
        }
    }
    points
}

/// The points of a complex law that has only these: its own, or all pairs of those of its two parts.
fn constellation(law: &dyn ScalarView, is_complex: bool) -> Vec<(f64, f64)> {
    let values = law.constellation();
    if !values.is_empty() {
        return values.into_iter().map(|(x, _)| (x.re, x.im)).collect();
    }
    let masses = law.point_masses();
    let mass: f64 = masses.iter().map(|(_, p)| p).sum();
    if !is_complex || mass < 1.0 - 1e-9 {
        return Vec::new();
    }
    let pairs = masses
        .iter()
        .flat_map(|(re, _)| masses.iter().map(|(im, _)| (*re, *im)));
    pairs.collect()
}

/// A prior itself: its density, and its point masses as stems.
fn law_itself(
    law: &dyn ScalarView,
    module: &Module,
    places: impl Iterator<Item = f64>,
    deviation: f64,
) -> Panel {
    let curve = density(law, places, deviation);
    let points = constellation(law, module.signals == Signals::Complex);
    let at = values(module);
    if !points.is_empty() {
        let axes = [Axis::linear("real part"), Axis::linear("imaginary part")];
        let [re, im] = axes.map(Axis::with_zero);
        return Panel::new(format!("values{at}"), re, im).series(Series::marks("", points));
    }
    let masses = law.point_masses().into_iter().filter(|(_, p)| *p > 0.0);
    let masses: Vec<(f64, f64)> = masses.collect();
    let is_continuous = curve.iter().any(|(_, p)| *p > 0.0);
    let (title, axis) = match (is_continuous, masses.is_empty()) {
        (true, true) => ("density", "p(x)"),
        (true, false) => ("density and point masses", "p(x), mass"),
        _ => ("point masses", "mass"),
    };
    let title = format!("{title}{at}");
    let mut panel = Panel::new(title, Axis::linear("x"), Axis::linear(axis));
    if is_continuous {
        let name = if masses.is_empty() { "" } else { "density" };
        panel = panel.series(Series::line(name, curve));
    }
    if !masses.is_empty() {
        let name = if is_continuous { "mass" } else { "" };
        panel = panel.series(Series::stems(name, masses));
    }
    panel
}

/// What the outputs of a likelihood or a loss say of one input, for some outputs.
fn seen_outputs(factor: &dyn Factor) -> Vec<(f64, Arc<dyn Factor>)> {
    // which outputs there are is known of the law of an output
    let law = factor.observe_unspecified().ok().flatten();
    let law = law.as_deref().unwrap_or(factor);
    let mut candidates = match law.scalar().and_then(ScalarView::outputs) {
        Some(OutputMeasure::Finite(values)) => values,
        Some(OutputMeasure::Counts) => vec![0.0, 1.0, 4.0, 16.0],
        Some(OutputMeasure::PushForward { atoms, .. }) => {
            [&atoms[..], &[-1.0, 0.0, 1.0, 3.0]].concat()
        }
        _ => vec![-1.0, 0.0, 1.0],
    };
    candidates.sort_by(f64::total_cmp);
    let mut seen: Vec<(f64, Arc<dyn Factor>)> = Vec::new();
    for y in candidates {
        let is_new = seen.iter().all(|(other, _)| (y - other).abs() > 0.0);
        // an output of the plane on its real axis
        let observed = [&[y][..], &[y, 0.0]].map(|y| factor.observe(y).ok().flatten());
        if let Some(law) = observed.into_iter().find_map(|law| law)
            && is_new
        {
            seen.push((y, law));
        }
    }
    seen.truncate(OUTPUTS);
    seen
}

/// The loss at an input: its Moreau envelope beside a belief that is next to certain.
fn energy_at(law: &dyn Factor, z: f64) -> Option<f64> {
    let spec = SignalSpec::real([1]);
    let mut belief = Gaussian::flat(&spec);
    belief.set_precision(CERTAIN);
    belief.linear[0] = CERTAIN * z;
    let (_, excess) = Site::new(law, &[spec], vec![belief]).envelope().ok()?;
    Some(-excess)
}

/// The first component of the minimiser of a loss or a penalty beside a belief of precision one.
fn mode_beside(law: &dyn Factor, shape: &[usize], b: &[f64]) -> Option<f64> {
    let spec = SignalSpec::real(shape);
    let mut belief = Gaussian::flat(&spec);
    belief.set_precision(1.0);
    belief.linear.copy_from_slice(b);
    let found = Site::new(law, &[spec], vec![belief]).mode(0).ok()?;
    found.mean.first().copied()
}

/// The likelihood of inputs at some outputs, or the loss, and the estimate beside a belief of precision one.
fn of_outputs(module: &Module, factor: &dyn Factor) -> Option<Figure> {
    let places = || (0..=POINTS).map(|i| INPUTS * (2.0 * f64::from(i) / f64::from(POINTS) - 1.0));
    let is_loss = module.role == Role::Loss;
    let (name, height) = if is_loss {
        ("loss", "E(z; x)")
    } else {
        ("likelihood", "p(x | z)")
    };
    let at_defaults = format!("{name}{}", values(module));
    let mut itself = Panel::new(at_defaults, Axis::linear("z"), Axis::linear(height));
    let mut estimates = Panel::new(
        "estimate, beside a belief of precision 1",
        Axis::linear("mean of the belief"),
        Axis::linear("estimate of z"),
    );
    let (mut has_height, mut has_estimate) = (false, false);
    for (y, law) in seen_outputs(factor) {
        let name = format!("x = {y}");
        let view = law.scalar();
        let height = |z: f64| match view {
            Some(view) => view.output_log_density(y, z).map(f64::exp),
            None => energy_at(&*law, z),
        };
        let curve: Vec<(f64, f64)> = places()
            .filter_map(|z| Some((z, height(z).filter(|p| p.is_finite())?)))
            .collect();
        if curve.iter().any(|(_, p)| *p > 0.0) {
            itself = itself.series(Series::line(&name, curve));
            has_height = true;
        }
        let estimate = |b: f64| {
            let tilt = Tilt { a: 1.0, b };
            let Some(view) = view else {
                return Some((b, mode_beside(&*law, &[1], &[b])?));
            };
            let found = view.likelihood(y, tilt)?;
            found.variance.is_finite().then_some((b, found.mean))
        };
        let curve: Vec<(f64, f64)> = places().filter_map(estimate).collect();
        has_estimate |= !curve.is_empty();
        estimates = estimates.series(Series::line(name, curve));
    }
    let mut figure = Figure::new(title(module));
    if has_height {
        figure = figure.panel(itself);
    }
    let estimates = estimates.series(unchanged("mean of the belief", places()));
    has_estimate.then(|| figure.panel(estimates))
}

/// The shrinkage of one of two members of a group by a penalty that couples them.
fn of_group(module: &Module) -> Option<Figure> {
    const SHAPE: [usize; 2] = [2, 1];
    let factor = module.make(&Arguments::new().sized(SHAPE)).ok()?;
    let places = || (0..=POINTS).map(|i| INPUTS * (2.0 * f64::from(i) / f64::from(POINTS) - 1.0));
    let mut panel = Panel::new(
        "shrinkage of one of two members of a group, at precision 1",
        Axis::linear("what is seen of it"),
        Axis::linear("estimate"),
    );
    for other in OTHERS {
        let curve = places().map(|b| Some((b, mode_beside(&*factor, &SHAPE, &[b, other])?)));
        let curve: Option<Vec<(f64, f64)>> = curve.collect();
        panel = panel.series(Series::line(
            format!("the other is seen at {other}"),
            curve?,
        ));
    }
    let panel = panel.series(unchanged("as seen", places()));
    Some(Figure::new(title(module)).panel(panel))
}

/// The density and the shrinkage curve of a prior with its defaults; of a penalty, its shrinkage alone. The likelihood and the
/// estimates of some outputs.
pub fn picture(module: &Module) -> Result<Figure, Failure> {
    let refused = || {
        let text = "there is no picture of it: --picture shows priors, penalties, likelihoods and losses of components";
        Failure::Usage(format!("{} ({}): {text}", module.name, module.role))
    };
    let factor = module.example().map_err(|e| Failure::Run(e.to_string()))?;
    if matches!(module.role, Role::Likelihood | Role::Loss) {
        return of_outputs(module, &*factor).ok_or_else(refused);
    }
    let Some(law) = factor.scalar() else {
        let group = (module.role == Role::Penalty).then(|| of_group(module));
        return group.flatten().ok_or_else(refused);
    };
    let (mean, deviation) = extent(law).ok_or_else(refused)?;
    let places = || {
        (0..=POINTS).map(move |i| {
            let t = 2.0 * f64::from(i) / f64::from(POINTS) - 1.0;
            (t * REACH).mul_add(deviation, mean)
        })
    };
    let mut figure = Figure::new(title(module));
    if module.role == Role::Prior {
        figure = figure.panel(law_itself(law, module, places(), deviation));
    }
    let mut panel = Panel::new(
        "shrinkage",
        Axis::linear("what is seen"),
        Axis::linear("estimate"),
    );
    for ratio in RATIOS {
        let a = ratio / (deviation * deviation);
        let curve = places().filter_map(|x| Some((x, law.prior(Tilt { a, b: a * x })?.mean)));
        panel = panel.series(Series::line(format!("signal to noise {ratio}"), curve));
    }
    Ok(figure.panel(panel.series(unchanged("as seen", places()))))
}

#[cfg(test)]
mod tests {
    use treeamp::catalog::{Module, Role, modules};
    use treeamp_lab::figure::missing_letter;

    use treeamp::prelude::{GaussBernoulli, IidLaw, Uniform};

    use super::{density, title};

    /// A uniform law has vertical edges and a flat top; point masses are not part of the density.
    #[test]
    fn densities_are_drawn_as_they_are() {
        let places = || (0..=40).map(|i| 0.1 * f64::from(i) - 2.0);
        let uniform = Uniform::new(-0.95, 1.05).map(|law| law.iid(1));
        let curve = density(&uniform.expect("in order"), places(), 0.5);
        let heights: Vec<f64> = curve.iter().map(|(_, p)| *p).collect();
        assert!(
            heights
                .iter()
                .all(|p| p.abs() < 1e-12 || (p - 0.5).abs() < 1e-12),
            "{heights:?}"
        );
        for edge in [-0.95, 1.05] {
            let at_edge: Vec<f64> = curve
                .iter()
                .filter(|(x, _)| (x - edge).abs() < 1e-12)
                .map(|(_, p)| *p)
                .collect();
            assert_eq!(at_edge.len(), 2, "{at_edge:?}");
            assert!((at_edge[0] - at_edge[1]).abs() > 0.4, "{at_edge:?}");
        }
        let sparse = GaussBernoulli::new(0.5, 0.0, 1.0)
            .map(|law| law.iid(1))
            .expect("a law");
        let top = density(&sparse, places(), 0.7)
            .iter()
            .map(|(_, p)| *p)
            .fold(0.0, f64::max);
        assert!(
            (top - 0.5 / std::f64::consts::TAU.sqrt()).abs() < 1e-12,
            "{top}"
        );
    }

    #[test]
    fn titles_have_letters() {
        let roles = [Role::Prior, Role::Penalty, Role::Likelihood, Role::Loss];
        let drawn = |m: &&Module| roles.contains(&m.role);
        for module in modules().filter(drawn) {
            assert_eq!(missing_letter(&title(module)), None, "{}", module.name);
        }
    }
}
