//! State evolution: what expectation propagation will do in the limit of large sizes, predicted from
//! the same tree (Tree-AMP paper, section 3).

mod alike;
mod bayes_optimal;
mod conjugate;
mod divergence;
mod evolution;
mod gibbs;
mod heuristic;
mod information;
mod landscape;
mod mutual_information;
pub mod phases;
mod replica_symmetric;
mod rows;
mod teacher;
mod theory;

pub use bayes_optimal::BayesOptimal;
pub use conjugate::Conjugate;
pub use evolution::{Evolution, OrderParameters, Prediction};
pub use gibbs::{Gibbs, gibbs, linear_dual_information};
pub use heuristic::heuristics;
pub use information::Information;
pub use landscape::{Place, landscape, landscape_watched};
pub use mutual_information::{MutualInformation, Start, mutual_information, mutual_information_at};
pub use replica_symmetric::ReplicaSymmetric;
pub use rows::{BayesOptimalRows, RowField, RowPrediction};
pub use teacher::{
    SecondMoment, Teacher, TeacherMoments, check_second_moments, not_a_bayesian_network,
};
pub use theory::{EvolutionBuilder, MismatchedEvolution, RowEvolution, StateEvolution, Theory};
