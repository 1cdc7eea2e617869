//! The loss $E(z; y)$ of an input at an observed output.

use std::fmt::Debug;

/// A convex energy of one component at an observed output, known by its proximal map. It is not a law: outputs cannot be drawn from it.
pub trait ScalarLoss: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Catalogue name.
    const NAME: &'static str;

    /// The mode $\mathrm{argmin}_z\{E(z; y) + \tfrac12 a z^2 - bz\}$ and its derivative in $b$, for $a > 0$.
    fn proximal(&self, y: f64, a: f64, b: f64) -> (f64, f64);

    /// $E(z; y)$.
    fn energy(&self, y: f64, z: f64) -> f64;

    /// Says what is wrong with an output that it does not take.
    ///
    /// # Errors
    /// A phrase of the form "expected ..., got ...".
    fn check(&self, y: f64) -> Result<(), String>;

    /// The parameters by name, for descriptions.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
