//! From a declaration to a validated tree: `Fragment -> Tree`, observations, samples, drawings.

mod assemble;
mod condition;
mod describe;
mod draw;
mod fragment;
mod sample;
mod tree;

pub use assemble::TreeBuilder;
pub use draw::{Drawing, DrawnNode, NodeKind};
pub use fragment::{Fragment, IntoFragment, Var, branch, named, source, var};
pub use sample::Sample;
pub(crate) use sample::as_complex;
pub use tree::{Direction, Edge, FactorNode, Tree, Variable};
