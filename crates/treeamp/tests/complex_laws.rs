//! Every complex law of the catalogue passes every conformance check; extreme parameters; reference values.
#![allow(clippy::unwrap_used)]

use treeamp::testing::complex_laws::{
    check_complex_channel, check_complex_likelihood, check_complex_prior,
};
use treeamp::testing::laws::Outcome;

macro_rules! test_priors {
    ($($name:ident => $law:expr,)*) => {
        mod prior {
            $(#[test]
            fn $name() -> super::Outcome {
                super::check_complex_prior(&$law.map_err(|e| e.to_string())?)
            })*
        }
    };
}

macro_rules! test_likelihoods {
    ($($name:ident => $law:expr, $ys:expr;)*) => {
        mod likelihood {
            $(#[test]
            fn $name() -> super::Outcome {
                let law: Result<_, treeamp::ModelError> = $law;
                super::check_complex_likelihood(&law.map_err(|e| e.to_string())?, &$ys)
            })*
        }
    };
}

macro_rules! test_channels {
    ($($name:ident => $law:expr, $ys:expr;)*) => {
        mod channel {
            $(#[test]
            fn $name() -> super::Outcome {
                let law: Result<_, treeamp::ModelError> = $law;
                super::check_complex_channel(&law.map_err(|e| e.to_string())?, &$ys)
            })*
        }
    };
}

treeamp::for_each_complex_prior!(test_priors);
treeamp::for_each_complex_likelihood!(test_likelihoods);
treeamp::for_each_complex_channel!(test_channels);
