//! Numerics that have never heard of a graph.
