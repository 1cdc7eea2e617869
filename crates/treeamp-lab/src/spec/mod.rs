//! Model files: a tree declared in TOML, by the names of the catalogue.
//!
//! ```
//! use treeamp_lab::spec::{ModelFile, Scale, Setting};
//! let text = r#"
//!     [parameters]
//!     n = 100
//!     rho = 0.1
//!
//!     [[factor]]
//!     kind = "gauss_bernoulli"
//!     size = "n"
//!     rho = "rho"
//!     output = "x"
//!
//!     [[factor]]
//!     kind = "gaussian_noise"
//!     variance = 0.01
//!     input = "x"
//!     output = "y"
//! "#;
//! let file = ModelFile::parse("model.toml", text)?;
//! let setting = Setting::new().with("rho", 0.2);
//! let tree = file.tree(&setting, Scale::Finite { seed: 0 })?;
//! assert_eq!(tree.variables().len(), 2);
//! # Ok::<(), treeamp_lab::spec::SpecError>(())
//! ```

mod aliases;
mod argument;
mod build;
mod columns;
mod error;
mod file;
mod matrix;
mod nearest;
mod node;
mod resolve;
mod run_options;
mod schema;
mod student;
mod warnings;

pub use build::{Scale, Setting};
pub use error::SpecError;
pub use file::{FactorEntry, ModelFile, Observation};
pub use nearest::unknown_module;
pub use schema::schema;
