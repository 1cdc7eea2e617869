//! The command line of treeamp.
fn main() {}
