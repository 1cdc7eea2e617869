//! State evolution of a separable channel: the fields of both ends.
