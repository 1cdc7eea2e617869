//! The model as text.

use std::fmt::Write as _;

use super::tree::Tree;

impl Tree {
    /// The factor graph as text, one line per factor in topological order.
    ///
    /// ```text
    /// 2 variables, 3 factors, observed: y
    ///   gauss_bernoulli [rho=0.05, mean=0, variance=1] -> x (1000)
    ///   x (1000) -> linear [500 x 1000] -> z (500)
    ///   z (500) -> gaussian_likelihood [noise_variance=0.01]
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        let mut text = format!(
            "{} variable{}, {} factor{}",
            self.variables.len(),
            plural(self.variables.len()),
            self.factors.len(),
            plural(self.factors.len()),
        );
        if !self.observed.is_empty() {
            let names: Vec<&str> = self.observed.iter().map(|(n, _)| n.as_str()).collect();
            let _ = write!(text, ", observed: {}", names.join(", "));
        }
        text.push('\n');
        for f in &self.order {
            let node = &self.factors[*f];
            let label = |e: &usize| {
                let v = &self.variables[self.edges[*e].variable];
                let belief = match v.spec.structure {
                    crate::belief::Structure::Isotropic => String::new(),
                    other => format!(" {other}"),
                };
                format!("{} {}{belief}", v.name, v.spec)
            };
            let (inputs, outputs) = node.edges.split_at(node.inputs);
            let inputs: Vec<String> = inputs.iter().map(label).collect();
            let outputs: Vec<String> = outputs.iter().map(label).collect();
            let mut parts = vec![];
            if !inputs.is_empty() {
                parts.push(inputs.join(" + "));
            }
            let summary = node.factor.summary();
            let summary = if summary.is_empty() {
                summary
            } else {
                format!(" [{summary}]")
            };
            parts.push(format!("{}{summary}", node.name));
            if !outputs.is_empty() {
                parts.push(outputs.join(" + "));
            }
            let _ = writeln!(text, "  {}", parts.join(" -> "));
        }
        text
    }
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}
