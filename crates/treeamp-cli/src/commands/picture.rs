//! The picture of a prior: its density, and how it shrinks what is seen through noise.

use treeamp::catalog::Module;
use treeamp::scalar::{ScalarView, Tilt};
use treeamp_lab::figure::{Axis, Figure, Panel, Series};

use crate::exit::Failure;

/// Points of a curve.
const POINTS: u32 = 400;
/// Deviations of the law on either side of its mean.
const REACH: f64 = 4.0;
/// Signal-to-noise ratios of the shrinkage curves.
const RATIOS: [f64; 3] = [0.3, 3.0, 30.0];

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

/// The density and the shrinkage curve of a prior with its defaults; of a penalty, its shrinkage alone.
pub fn picture(module: &Module) -> Result<Figure, Failure> {
    let refused = || {
        let text = "there is no picture of it: --picture shows priors and penalties of components";
        Failure::Usage(format!("{} ({}): {text}", module.name, module.role))
    };
    let factor = module.example().map_err(|e| Failure::Run(e.to_string()))?;
    let law = factor.scalar().ok_or_else(refused)?;
    let (mean, deviation) = extent(law).ok_or_else(refused)?;
    let places = || {
        (0..=POINTS).map(move |i| {
            let t = 2.0 * f64::from(i) / f64::from(POINTS) - 1.0;
            (t * REACH).mul_add(deviation, mean)
        })
    };
    let mut figure = Figure::new(title(module));
    // seen through noise of the width of a pixel: point masses are narrow peaks
    let pixel = (2.0 * REACH * deviation / f64::from(POINTS)).powi(-2);
    let density = |x: f64| {
        let tilt = Tilt {
            a: pixel,
            b: pixel * x,
        };
        Some((x, law.prior_excess(tilt)?.exp()))
    };
    if module.role == treeamp::catalog::Role::Prior {
        let panel = Panel::new("density", Axis::linear("x"), Axis::linear("p(x)"));
        figure = figure.panel(panel.series(Series::line("", places().filter_map(density))));
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
    let same = places().map(|x| (x, x));
    Ok(figure.panel(panel.series(Series::line("", same).dashed())))
}

#[cfg(test)]
mod tests {
    use treeamp::catalog::{Module, Role, modules};
    use treeamp_lab::figure::missing_letter;

    use super::title;

    #[test]
    fn titles_have_letters() {
        let drawn = |m: &&Module| matches!(m.role, Role::Prior | Role::Penalty);
        for module in modules().filter(drawn) {
            assert_eq!(missing_letter(&title(module)), None, "{}", module.name);
        }
    }
}
