//! The route of a run: by approximate message passing where linear channels take it, and by the exact one where they do not, or
//! where the first does not lead to its end.

use super::{Algorithm, Engine, Fallback, Observer, Options, Probe, Report, Termination, Verdict};
use crate::belief::Gaussian;
use crate::error::RunError;
use crate::factor::{Route, RouteChoice, RouteReport};

impl<A: Algorithm> Engine<'_, A> {
    /// Runs by approximate message passing where factors take it. A run that does not settle there, or whose end the exact route would
    /// not confirm, is made again by that one, unless a factor forbids it.
    pub(super) fn by_route(&self, observer: &mut impl Observer<A>) -> Result<Report<A>, RunError> {
        let choices = self.choices();
        if choices.is_empty() {
            return self.walk(observer);
        }
        let reason = if !choices.iter().any(|(_, choice)| choice.iid) {
            None
        } else if !A::HAS_ROUTES {
            Some(format!("{} has exact messages only", A::NAME))
        } else if self.options.exact {
            Some("asked for".to_owned())
        } else if self.options.fallback == Fallback::Forced {
            Some("a fallback was asked for, which needs exact messages".to_owned())
        } else {
            // the exact route is there for a run that does not settle: nothing else takes over from it
            let options = Options {
                fallback: Fallback::Forbidden,
                ..self.options.clone()
            };
            let mut report = self.with(options).walk(observer)?;
            let reason = self.leaves(&report, &choices);
            if reason.is_none() {
                report.routes = route_reports(choices, None);
                if !matches!(report.termination, Termination::Converged { .. }) {
                    let taken = report.routes.iter_mut().filter(|r| r.route == Route::Iid);
                    taken.for_each(|r| r.why += "; its end was not compared with the exact route");
                }
                return Ok(report);
            }
            reason
        };
        let options = Options {
            exact: true,
            ..self.options.clone()
        };
        let mut report = self.with(options).walk(observer)?;
        report.routes = route_reports(choices, reason.as_deref());
        Ok(report)
    }

    /// Why a run by approximate message passing is to be made again by the exact route.
    fn leaves(&self, report: &Report<A>, choices: &[(String, RouteChoice)]) -> Option<String> {
        if choices.iter().any(|(_, choice)| choice.iid && choice.only) {
            return None;
        }
        match &report.termination {
            Termination::Converged { .. } | Termination::Stopped(_) => None,
            // a run without a tolerance was asked for its sweeps
            Termination::SweepLimit if self.options.tolerance == 0.0 => None,
            Termination::Rejected(Verdict::NotIid { why, .. }) => Some(why.clone()),
            other => Some(format!(
                "approximate message passing did not settle: {other}"
            )),
        }
    }

    /// What the factors with a choice would do.
    fn choices(&self) -> Vec<(String, RouteChoice)> {
        let nodes = self.tree.factors().iter().enumerate();
        let choice = nodes.filter_map(|(f, node)| {
            let choice = node.factor.route(&self.tree.port_specs(f))?;
            Some((node.name.clone(), choice))
        });
        choice.collect()
    }

    /// The same run with other options.
    pub(super) fn with(&self, options: Options) -> Self {
        Engine {
            tree: self.tree,
            algorithm: self.algorithm.clone(),
            plan: self.plan.clone(),
            options,
            warm: self.warm.clone(),
        }
    }
}

/// What a report says of the routes; `exact` is why all took the exact one.
fn route_reports(choices: Vec<(String, RouteChoice)>, exact: Option<&str>) -> Vec<RouteReport> {
    let each = choices.into_iter().map(|(factor, choice)| {
        let (route, why) = match exact {
            Some(why) if choice.iid => (Route::Exact, why.to_owned()),
            None if choice.iid => (Route::Iid, choice.why),
            _ => (Route::Exact, choice.why),
        };
        RouteReport { factor, route, why }
    });
    each.collect()
}

impl<A: Algorithm<Message = Gaussian>> Probe<'_, '_, A> {
    /// The factor on an approximate route whose messages are not those of the exact one at this state, and why.
    ///
    /// # Errors
    /// A factor that cannot tell.
    pub fn route_objection(&mut self) -> Result<Option<(String, String)>, RunError> {
        let (engine, state) = (self.engine, &mut *self.state);
        if !state.adjusted.request.iid {
            return Ok(None);
        }
        for (f, node) in engine.tree.factors().iter().enumerate() {
            let Some(rule) = node.factor.posterior() else {
                continue;
            };
            engine.plan.refresh(f, &mut state.store);
            let workspace = &mut state.workspaces[f];
            let mut context = engine.context(f, &state.store, state.adjusted.request, workspace);
            let found = rule.route_objection(&mut context);
            let found = found.map_err(|source| RunError::Factor {
                factor: node.name.clone(),
                source,
            })?;
            if let Some(why) = found {
                return Ok(Some((node.name.clone(), why)));
            }
        }
        Ok(None)
    }
}
