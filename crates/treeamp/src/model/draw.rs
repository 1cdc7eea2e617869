//! The factor graph as DOT and as SVG: circles for variables, squares for factors, a grey circle for
//! what was observed.

use std::fmt::Write as _;

use super::tree::Tree;
use crate::belief::SignalSpec;

/// Distances of the drawing, in pixels.
const COLUMN: f64 = 105.0;
const ROW: f64 = 92.0;
const MARGIN: f64 = 60.0;
const RADIUS: f64 = 21.0;
const HALF_SIDE: f64 = 12.0;
/// The longest name that fits a circle.
const INSIDE: usize = 7;

/// A node of a drawing and its place in it, in pixels from the upper left corner.
#[derive(Clone, Debug)]
pub struct DrawnNode {
    /// Name of the variable or factor.
    pub label: String,
    /// Small text next to it: the shape of a variable.
    pub note: String,
    /// What it is.
    pub kind: NodeKind,
    /// Distance of its centre from the left.
    pub x: f64,
    /// Distance of its centre from the top.
    pub y: f64,
    column: usize,
    row: f64,
}

impl DrawnNode {
    /// Its label on one line, or on two where neighbours would touch otherwise, cut behind the underscore nearest to the middle.
    #[must_use]
    pub fn lines(&self) -> Vec<&str> {
        let middle = self.label.len() / 2;
        let ends = self.label.match_indices('_').map(|(i, _)| i + 1);
        match ends.min_by_key(|end| end.abs_diff(middle)) {
            Some(end) if self.label.len() > 12 => vec![&self.label[..end], &self.label[end..]],
            _ => vec![&self.label],
        }
    }

    /// It is the name of a variable that is too long for its circle, and is written above it.
    #[must_use]
    pub fn is_above(&self) -> bool {
        self.kind != NodeKind::Factor && self.label.chars().count() > INSIDE
    }
}

/// What a node of a drawing stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A hidden variable, drawn as a circle.
    Variable,
    /// What was observed, drawn as a grey circle.
    Observed,
    /// A factor, drawn as a square.
    Factor,
}

/// The factor graph with a place for every node: generation runs from left to right.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The nodes.
    pub nodes: Vec<DrawnNode>,
    /// Lines between nodes, in the direction of generation.
    pub links: Vec<(usize, usize)>,
    /// Size of the drawing, width and height in pixels.
    pub size: (f64, f64),
}

impl Tree {
    /// The factor graph in the DOT language of graphviz.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let drawing = self.drawing();
        let mut dot = String::from("digraph treeamp {\n  rankdir=LR;\n");
        for (i, node) in drawing.nodes.iter().enumerate() {
            let style = match node.kind {
                NodeKind::Variable => "shape=circle",
                NodeKind::Observed => "shape=circle, style=filled, fillcolor=lightgrey",
                NodeKind::Factor => "shape=square",
            };
            let label = escape_dot(&node.label);
            let note = escape_dot(&node.note);
            let _ = writeln!(
                dot,
                "  n{i} [{style}, label=\"{label}\", xlabel=\"{note}\"];"
            );
        }
        for (from, to) in &drawing.links {
            let _ = writeln!(dot, "  n{from} -> n{to};");
        }
        dot.push_str("}\n");
        dot
    }

    /// The factor graph as a self-contained SVG picture.
    #[must_use]
    pub fn to_svg(&self) -> String {
        self.drawing().render()
    }

    /// The factor graph with a place for every node, as [`Self::to_svg`] draws it.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let offset = self.variables.len();
        let mut nodes: Vec<DrawnNode> = self
            .variables
            .iter()
            .map(|v| DrawnNode::new(&v.name, v.spec.to_string(), NodeKind::Variable))
            .collect();
        nodes.extend(
            self.factors
                .iter()
                .map(|f| DrawnNode::new(&f.name, String::new(), NodeKind::Factor)),
        );
        let mut links: Vec<(usize, usize)> = Vec::new();
        for e in &self.edges {
            match e.direction {
                super::Direction::Forward => links.push((offset + e.factor, e.variable)),
                super::Direction::Backward => links.push((e.variable, offset + e.factor)),
            }
        }
        // a likelihood holds an observation: draw it behind its factor, named where `condition` did
        let mut names = self.observed.iter().map(|(n, _)| n.as_str());
        for (f, node) in self.factors.iter().enumerate() {
            if node.inputs == node.edges.len() {
                let input = &self.variables[self.edges[node.edges[0]].variable];
                let name = names.next().unwrap_or("y");
                let element = node.factor.observed_element().unwrap_or(input.spec.element);
                let seen = SignalSpec {
                    element,
                    ..input.spec.clone()
                };
                nodes.push(DrawnNode::new(name, seen.to_string(), NodeKind::Observed));
                links.push((offset + f, nodes.len() - 1));
            }
        }
        let mut drawing = Drawing {
            nodes,
            links,
            size: (0.0, 0.0),
        };
        drawing.place();
        drawing
    }
}

impl DrawnNode {
    fn new(label: &str, note: String, kind: NodeKind) -> Self {
        Self {
            label: label.to_owned(),
            note,
            kind,
            x: 0.0,
            y: 0.0,
            column: 0,
            row: 0.0,
        }
    }
}

impl Drawing {
    fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.links
            .iter()
            .filter_map(move |(a, b)| match (*a == node, *b == node) {
                (true, _) => Some(*b),
                (_, true) => Some(*a),
                _ => None,
            })
    }

    /// Columns by the longest path from a source, rows by averaging over neighbours.
    fn place(&mut self) {
        for _ in 0..self.nodes.len() {
            for (a, b) in &self.links {
                self.nodes[*b].column = self.nodes[*b].column.max(self.nodes[*a].column + 1);
            }
        }
        // a source stands right before what it produces
        for i in 0..self.nodes.len() {
            let is_source = self.links.iter().all(|(_, b)| *b != i);
            let next = self
                .links
                .iter()
                .filter(|(a, _)| *a == i)
                .map(|(_, b)| self.nodes[*b].column);
            if let Some(first) = next.min().filter(|_| is_source) {
                self.nodes[i].column = first - 1;
            }
        }
        let columns = self.nodes.iter().map(|n| n.column).max().unwrap_or(0);
        let mut order: Vec<Vec<usize>> = (0..=columns)
            .map(|c| {
                (0..self.nodes.len())
                    .filter(|i| self.nodes[*i].column == c)
                    .collect()
            })
            .collect();
        for _ in 0..24 {
            for column in &mut order {
                self.spread(column);
            }
            for column in order.iter_mut().rev() {
                self.spread(column);
            }
        }
        self.measure(columns);
    }

    /// Pixels from columns and rows.
    fn measure(&mut self, columns: usize) {
        let rows = self.nodes.iter().map(|n| n.row);
        let top = rows.clone().fold(f64::INFINITY, f64::min);
        let bottom = rows.fold(f64::NEG_INFINITY, f64::max);
        for node in &mut self.nodes {
            node.x = MARGIN + node.column as f64 * COLUMN;
            node.y = MARGIN + (node.row - top) * ROW;
        }
        self.size = (
            2.0 * MARGIN + columns as f64 * COLUMN,
            2.0 * MARGIN + (bottom - top).max(0.0) * ROW,
        );
    }

    /// Orders one column by the average row of the neighbours and keeps a distance of one row.
    fn spread(&mut self, column: &mut [usize]) {
        let target = |i: usize| {
            let rows: Vec<f64> = self.neighbours(i).map(|j| self.nodes[j].row).collect();
            if rows.is_empty() {
                0.0
            } else {
                rows.iter().sum::<f64>() / rows.len() as f64
            }
        };
        let mut wanted: Vec<(f64, usize)> = column.iter().map(|i| (target(*i), *i)).collect();
        wanted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut rows: Vec<f64> = Vec::with_capacity(wanted.len());
        for (row, _) in &wanted {
            let least = rows.last().map_or(f64::NEG_INFINITY, |r: &f64| r + 1.0);
            rows.push(row.max(least));
        }
        let shift = wanted.iter().map(|w| w.0).sum::<f64>() / wanted.len().max(1) as f64
            - rows.iter().sum::<f64>() / rows.len().max(1) as f64;
        for (slot, ((_, i), row)) in column.iter_mut().zip(wanted.iter().zip(&rows)) {
            *slot = *i;
            self.nodes[*i].row = row + shift;
        }
    }

    fn render(&self) -> String {
        let (width, height) = self.size;
        let at = |n: &DrawnNode| (n.x, n.y);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"Helvetica, Arial, sans-serif\" \
             text-anchor=\"middle\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        for (a, b) in &self.links {
            let ((x1, y1), (x2, y2)) = (at(&self.nodes[*a]), at(&self.nodes[*b]));
            let _ = writeln!(
                svg,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
                 stroke=\"#333\" stroke-width=\"1.3\"/>"
            );
        }
        for node in &self.nodes {
            let (x, y) = at(node);
            render_node(&mut svg, node, x, y);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn render_node(svg: &mut String, node: &DrawnNode, x: f64, y: f64) {
    if node.kind == NodeKind::Factor {
        let (left, top, side) = (x - HALF_SIDE, y - HALF_SIDE, 2.0 * HALF_SIDE);
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{side}\" height=\"{side}\" \
             fill=\"#2b4c7e\" stroke=\"#333\"/>"
        );
        for (k, line) in node.lines().iter().enumerate() {
            let y = y + HALF_SIDE + 13.0 + 11.0 * k as f64;
            let line = escape_xml(line);
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"10.5\" fill=\"#2b4c7e\">{line}</text>"
            );
        }
        return;
    }
    let fill = if node.kind == NodeKind::Observed {
        "#d0d0d0"
    } else {
        "white"
    };
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\" fill=\"{fill}\" stroke=\"#333\" \
         stroke-width=\"1.3\"/>"
    );
    let mut name = |line: &str, y: f64, size: u32| {
        let line = escape_xml(line);
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" font-style=\"italic\">{line}</text>"
        );
    };
    let mut top = y - RADIUS - 7.0;
    if node.is_above() {
        for line in node.lines().iter().rev() {
            name(line, top, 10);
            top -= 11.0;
        }
    } else {
        let size = if node.label.chars().count() > 4 {
            10
        } else {
            14
        };
        name(&node.label, y + 0.35 * f64::from(size), size);
    }
    let note = escape_xml(&node.note);
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{top:.1}\" font-size=\"10\" fill=\"#555\">{note}</text>"
    );
}

fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn escape_dot(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', " ")
}
