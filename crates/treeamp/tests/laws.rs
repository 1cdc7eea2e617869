//! Every law of the catalogue passes every conformance check.

use treeamp::testing::laws::{Outcome, check_channel, check_likelihood, check_prior};

macro_rules! test_priors {
    ($($name:ident => $law:expr,)*) => {
        mod prior {
            $(#[test]
            fn $name() -> super::Outcome {
                super::check_prior(&$law.map_err(|e| e.to_string())?)
            })*
        }
    };
}

macro_rules! test_likelihoods {
    ($($name:ident => $law:expr, $ys:expr;)*) => {
        mod likelihood {
            $(#[test]
            fn $name() -> super::Outcome {
                super::check_likelihood(&$law.map_err(|e| e.to_string())?, &$ys)
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
                super::check_channel(&law.map_err(|e| e.to_string())?, &$ys)
            })*
        }
    };
}

treeamp::for_each_prior!(test_priors);
treeamp::for_each_likelihood!(test_likelihoods);
treeamp::for_each_channel!(test_channels);
