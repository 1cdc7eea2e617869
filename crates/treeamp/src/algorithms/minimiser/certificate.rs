//! The certificate of a minimiser: its primal-dual gap.
//!
//! At messages $(a, b)$ every factor has its mode $u$, and at every edge a slope $g = b - au \in \partial E_f(u)$, so that Fenchel's
//! equality gives its conjugate there, $E_f^*(g) = g^Tu - E_f(u)$. For any point $x$ that satisfies the channels,
//!
//! $$E(x) \ge D + \sum_v g_v^T x_v,\qquad D = -\sum_f E_f^*(g_f),\qquad g_v = \sum_{e \ni v} g_e,$$
//!
//! where $g_v$ vanishes at a minimiser. With the point $\hat x$ that the messages stand for, $E(\hat x) - D$ bounds the distance from the least
//! energy up to what is left of the slopes.

use super::point::{Solution, energy_at, scrambled};
use crate::algorithms::map::MaximumAPosteriori;
use crate::belief::{Gaussian, Moments};
use crate::engine::graph::Graph;
use crate::engine::{Algorithm as _, Verdict};
use crate::error::{FactorError, RunError};
use crate::factor::{Incoming, PosteriorRule, ProximalRule};
use crate::math::ROUNDING;
use crate::model::{Edge, Tree};

/// A minimiser has its energy to this fraction of the sum of all energies.
pub(in crate::algorithms) const ENERGY: f64 = 1e-8;
/// Slopes may be left over that could lower the energy by the square root of that, times this: along a direction of curvature $c$ a slope $g$ is
/// $g/c$ away from the minimum, and $g^2/2c$ above it.
const SLOPE: f64 = 0.01;
/// Slopes that, with their rounding, might change the energy by more than this fraction in any direction do not tell.
const RESOLVED: f64 = 1e-3;

/// What messages say about the distance of their point from a minimiser. All numbers are relative to the sum of all energies.
pub(in crate::algorithms) struct Certificate {
    /// $|E(\hat x) - D|$; infinite where the point is not feasible.
    pub gap: f64,
    /// $\sum_v\|g_v\|\|\hat x_v\|$: how much slopes that do not cancel could lower the energy along the point.
    slopes: f64,
    /// The same with the rounding of slopes, and as far as the channels may bring every variable.
    resolution: f64,
    /// The point, or the factor that does not allow it.
    pub point: Result<Solution, RunError>,
}

impl Certificate {
    /// # Errors
    /// A factor without a mode at these messages.
    pub fn of(tree: &Tree, messages: &[Gaussian]) -> Result<Self, FactorError> {
        let point = Solution::of(tree, messages);
        let modes = modes(tree, messages)?;
        if modes.iter().flat_map(|m| &m.mean).any(|x| !x.is_finite()) {
            return Err(FactorError::Improper("a mode is not finite".to_owned()));
        }
        let slopes = Slopes::of(tree, messages, &modes);
        let (dual, mut scale) = (bethe(tree, messages)? + slopes.correction, 0.0);
        for node in tree.factors() {
            let ports = node.edges.iter().map(|e| modes[*e].mean.as_slice());
            let energy = energy_at(node, &ports.collect::<Vec<_>>());
            // a constraint that modes leave by a rounding has no energy to compare with
            scale += Some(energy.abs()).filter(|e| e.is_finite()).unwrap_or(0.0);
        }
        let quadratic = quadratic(tree, messages, &modes);
        let gap = point.as_ref().map_or(f64::INFINITY, |point| {
            let size: f64 = point.energies.iter().map(|(_, e)| e.abs()).sum();
            // where the least energy is zero, what is left of it is the rounding of places
            let rounding = point.change_of_energies(tree, ROUNDING) / ENERGY;
            relative((point.energy() - dual).abs(), size + rounding)
        });
        Ok(Self {
            gap: if gap.is_nan() { f64::INFINITY } else { gap },
            slopes: relative(slopes.left, scale + quadratic),
            resolution: relative(slopes.far, scale + quadratic),
            point,
        })
    }

    /// The point is a minimiser to this relative gap.
    pub fn holds(&self, gap: f64) -> bool {
        self.gap <= gap && self.slopes <= SLOPE * gap.sqrt() && self.resolution <= RESOLVED
    }

    /// Why it does not hold.
    pub fn objection(&self, gap: f64) -> Option<Verdict> {
        let limit = SLOPE * gap.sqrt();
        let why = match &self.point {
            Err(RunError::Infeasible { factor, .. }) => {
                let factor = factor.clone();
                return Some(Verdict::Infeasible { factor });
            }
            Err(other) => other.to_string(),
            Ok(_) if !(self.gap <= gap) => {
                format!("the relative primal-dual gap is {:.1e}", self.gap)
            }
            Ok(_) if !(self.slopes <= limit) => format!(
                "slopes that do not cancel could lower the energy by {:.1e} of it",
                self.slopes
            ),
            Ok(_) if !(self.resolution <= RESOLVED) => {
                "precisions have grown until slopes are lost beside them".to_owned()
            }
            Ok(_) => return None,
        };
        Some(Verdict::NotStationary { moving: false, why })
    }
}

/// 0/0 is zero: nothing is left of nothing.
fn relative(part: f64, whole: f64) -> f64 {
    if part == 0.0 { 0.0 } else { part / whole }
}

/// What the slopes of all factors add up to.
struct Slopes {
    /// $\sum_e\frac12a_e(\|u_e\|^2 - \|x_v\|^2)$ with the place $x_v$ of all messages, beyond the rounding of places.
    correction: f64,
    left: f64,
    far: f64,
}

impl Slopes {
    fn of(tree: &Tree, messages: &[Gaussian], modes: &[Moments]) -> Self {
        let graph = Graph::new(tree, messages);
        let (mut correction, mut left, mut far) = (0.0, 0.0, 0.0);
        let places = graph.places();
        for (variable, reach) in tree.variables().iter().zip(reaches(tree, messages)) {
            let cavities = variable.edges.iter().map(|e| graph.cavity(*e));
            let cavities: Vec<Gaussian> = cavities.collect();
            // an exact place takes any slope
            if cavities.iter().any(Gaussian::is_pinned) {
                continue;
            }
            let mut sum = vec![0.0; variable.spec.len()];
            let (mut rounding, mut size) = (0.0, 0.0_f64);
            for (e, cavity) in variable.edges.iter().zip(&cavities) {
                let (a, mode) = (cavity.precision.scalar(), &modes[*e].mean);
                let parts = sum.iter_mut().zip(cavity.linear.iter().zip(mode));
                parts.for_each(|(g, (b, x))| *g += b - a * x);
                let place = &places[variable.index];
                let pairs = mode.iter().zip(place);
                let work: f64 = pairs.map(|(u, x)| (u - x) * (u + x)).sum();
                // places are known to this fraction of their scale at best, and b - au to this fraction of au
                let hidden = ROUNDING * (square(mode) + square(place));
                correction += 0.5 * a * work.signum() * (work.abs() - hidden).max(0.0);
                rounding += ROUNDING * a.abs() * square(mode).sqrt();
                size = size.max(square(mode));
            }
            let over = (square(&sum).sqrt() - rounding).max(0.0);
            left += over * size.sqrt();
            far += (over + rounding) * size.max(reach).sqrt();
        }
        Self {
            correction,
            left,
            far,
        }
    }
}

fn square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// $\frac12 a\|u\|^2$ of constant messages.
fn quadratic(tree: &Tree, messages: &[Gaussian], modes: &[Moments]) -> f64 {
    let of = |(e, edge): (usize, &Edge)| {
        let rule = tree.factors()[edge.factor].factor.posterior();
        let constant = rule.is_some_and(PosteriorRule::is_constant);
        let a = messages[e].precision.scalar().abs();
        constant.then(|| 0.5 * a * square(&modes[e].mean))
    };
    tree.edges().iter().enumerate().filter_map(of).sum()
}

/// The Bethe objective, summed from excesses, for precisions may be $10^{12}$ times the energies. With
/// $A_f = \max_x\{b^Tx - \frac12a\|x\|^2 - E_f(x)\}$ the dual value is $D = \sum_f(-A_f + \sum_e\frac12a_e\|u_e\|^2)$, which is the Bethe
/// objective where factors agree on places.
fn bethe(tree: &Tree, messages: &[Gaussian]) -> Result<f64, FactorError> {
    let mut total = 0.0;
    for (f, node) in tree.factors().iter().enumerate() {
        let mut site = Graph::new(tree, messages).site(f);
        total -= site.envelope()?.1;
        for (e, cavity) in node.edges.iter().zip(site.messages) {
            let both = [messages[*e].clone(), cavity];
            total += potential(tree, tree.edges()[*e].variable, &both, &[0, 1]);
        }
    }
    for variable in tree.variables() {
        total -= potential(tree, variable.index, messages, &variable.edges);
    }
    Ok(total)
}

fn potential(tree: &Tree, variable: usize, messages: &[Gaussian], edges: &[usize]) -> f64 {
    let variable = &tree.variables()[variable];
    let mut scratch = Gaussian::flat(&variable.spec);
    let incoming = Incoming::new(messages, edges);
    let potential = MaximumAPosteriori.variable_potential(variable, incoming, &mut scratch);
    potential.excess
}

/// How far every variable may go, squared: as far as channels bring it when signals change the signs of half their components. The gradient of
/// an image may be zero, and is not as soon as the image moves.
fn reaches(tree: &Tree, messages: &[Gaussian]) -> Vec<f64> {
    let moved = scrambled(tree, &Graph::new(tree, messages).places());
    let squares = moved.iter().map(|x| square(x));
    let finite = |s: f64| Some(s).filter(|s| s.is_finite()).unwrap_or(0.0);
    squares.map(finite).collect()
}

/// The mode of every factor at every edge, at its cavities.
fn modes(tree: &Tree, messages: &[Gaussian]) -> Result<Vec<Moments>, FactorError> {
    let blank = |e: usize| Moments::zeros(&tree.variable_at(e).spec);
    let mut modes: Vec<Moments> = (0..tree.edges().len()).map(blank).collect();
    for (f, node) in tree.factors().iter().enumerate() {
        let mut site = Graph::new(tree, messages).site(f);
        for (port, e) in node.edges.iter().enumerate() {
            modes[*e] = site.mode(port)?;
        }
    }
    Ok(modes)
}

/// All energies of a tree are convex.
///
/// # Errors
/// The first that is not.
pub(in crate::algorithms) fn check_convex(tree: &Tree) -> Result<(), RunError> {
    let convex = |rule: Option<&dyn ProximalRule>| rule.is_some_and(ProximalRule::is_convex);
    let mut factors = tree.factors().iter();
    match factors.find(|n| !convex(n.factor.proximal())) {
        None => Ok(()),
        Some(node) => Err(RunError::NotDefined {
            what: "a certain fallback".to_owned(),
            why: format!("the energy of factor `{}` is not convex", node.name),
        }),
    }
}
