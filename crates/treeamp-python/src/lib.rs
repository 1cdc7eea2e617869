//! The native half of the Python package `treeamp`: the module `treeamp._lib`. Glue only: what decides
//! something is in the library or in `python/treeamp`.

// the arguments of functions that Python calls are extracted for them, and owned
#![allow(clippy::needless_pass_by_value)]

mod array;
mod catalog;
mod custom;
mod custom_law;
mod ensemble;
mod error;
mod evolution;
mod factor;
mod minimum;
mod operator;
mod options;
mod paired;
mod penalty;
mod phases;
mod ports;
mod posterior;
mod rows;
mod run;
mod starts;
mod sweep;
mod tree;
mod watch;

use pyo3::prelude::*;

#[pymodule(name = "_lib")]
mod module {
    #[pymodule_export]
    use super::catalog::{
        channel, complex_convolution, complex_gaussian_likelihood, complex_linear, convolution,
        linear, linear_ensemble, modules, paired_dft, piecewise, prior, reshape, rotation,
        spectrum_ensemble,
    };
    #[pymodule_export]
    use super::custom::custom;
    #[pymodule_export]
    use super::custom_law::activation;
    #[pymodule_export]
    use super::ensemble::{random_features, random_matrix};
    #[pymodule_export]
    use super::evolution::{Evolution, evolution_objective_at, state_evolution};
    #[pymodule_export]
    use super::factor::Factor;
    #[pymodule_export]
    use super::minimum::{Minimum, energy_objective_at, maximum_a_posteriori};
    #[pymodule_export]
    use super::operator::{array_matrix, matrix_free, sparse_linear};
    #[pymodule_export]
    use super::penalty::{check_penalty, custom_penalty};
    #[pymodule_export]
    use super::phases::{
        heuristics, l1_threshold, l1_transition, landscape, mutual_information,
        noiseless_linear_threshold, phase_report, threshold,
    };
    #[pymodule_export]
    use super::posterior::{Posterior, expectation_propagation, objective_at};
    #[pymodule_export]
    use super::rows::{mixture_rows, row_law};
    #[pymodule_export]
    use super::starts::{push, restarts, spectral_estimate};
    #[pymodule_export]
    use super::sweep::{Journal, Sweep, write_whole};
    #[pymodule_export]
    use super::tree::{Tree, build};
    #[pymodule_export]
    use super::watch::Snapshot;

    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
