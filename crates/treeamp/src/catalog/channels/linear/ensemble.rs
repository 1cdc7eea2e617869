//! A linear channel known by its spectrum alone: a matrix ensemble in the limit. And the ensemble
//! rule that it shares with the dense channel.

use std::sync::Arc;

use super::average::{Average, prior_potential, second_moment};
use super::{Linear, rows};
use crate::belief::{Element, OverlapFields, Overlaps, RowMatrix, SignalSpec, Structure};
use crate::error::{FactorError, ModelError, ShapeError};
use crate::factor::{
    Arity, Averaged, BeliefError, EnsembleRule, Factor, RowAveraged, RowEnsembleRule, RowEstimate,
    all_alike,
};
use crate::math::spectrum::Spectrum;

/// A linear channel $x = W z$ with $W$ from an ensemble, in the limit of infinite size. For theory
/// only: there is no matrix to run on.
///
/// A complex signal meets a complex matrix of the same spectrum: independent entries with $E|W_{ij}|^2 = 1/N$, or
/// Haar unitary rows or columns.
#[derive(Debug, Clone)]
pub struct LinearEnsemble {
    spectrum: Arc<Spectrum>,
    /// A complex matrix on a real signal: twice as many real outputs as rows.
    on_real: bool,
}

impl LinearEnsemble {
    /// Catalogue name.
    pub const NAME: &'static str = "linear_ensemble";

    /// Any spectrum.
    #[must_use]
    pub fn new(spectrum: Spectrum) -> Self {
        Self {
            spectrum: Arc::new(spectrum),
            on_real: false,
        }
    }

    /// A complex Gaussian matrix on a real signal, $E|W_{ij}|^2 = 1/N$ and $\alpha = M/N$ complex outputs per real input.
    /// It is a real matrix of $2M$ rows with entries of variance $1/2N$.
    ///
    /// # Errors
    /// A ratio that is not positive.
    pub fn complex_gaussian_on_real(alpha: f64) -> Result<Self, ModelError> {
        let twice = Spectrum::marchenko_pastur(2.0 * alpha)?;
        let nodes = twice.nodes().iter().map(|(l, w)| (0.5 * l, *w)).collect();
        Ok(Self {
            on_real: true,
            ..Self::new(Spectrum::from_nodes(nodes, 2.0 * alpha)?)
        })
    }

    /// Independent entries of variance $1/N$.
    ///
    /// # Errors
    /// A ratio that is not positive.
    pub fn gaussian(alpha: f64) -> Result<Self, ModelError> {
        Spectrum::marchenko_pastur(alpha).map(Self::new)
    }

    /// A product of two Gaussian matrices through a layer of $K = \gamma N$
    /// ([`Spectrum::gaussian_product`]).
    ///
    /// # Errors
    /// A ratio that is not positive.
    pub fn gaussian_product(alpha: f64, gamma: f64) -> Result<Self, ModelError> {
        Spectrum::gaussian_product(alpha, gamma).map(Self::new)
    }

    /// A Haar matrix with orthogonal rows ($\alpha \le 1$) or orthogonal columns ($\alpha \ge 1$).
    ///
    /// # Errors
    /// A ratio that is not positive.
    pub fn orthogonal(alpha: f64) -> Result<Self, ModelError> {
        if alpha > 1.0 {
            Spectrum::column_orthogonal(alpha).map(Self::new)
        } else {
            Spectrum::row_orthogonal(alpha).map(Self::new)
        }
    }
}

impl Factor for LinearEnsemble {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn summary(&self) -> String {
        format!("alpha: {}", self.spectrum.alpha())
    }

    /// State evolution knows a linear channel by its spectrum.
    fn same_law(&self, other: &dyn Factor) -> bool {
        self.spectrum().is_some() && self.spectrum() == other.spectrum()
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        if self.on_real && inputs[0].element == Element::Complex {
            return Err(ShapeError {
                port: 0,
                expected: "a real signal in the limit".to_owned(),
                got: format!("shape {}", inputs[0]),
            });
        }
        if let Some(ratio) = inputs[0].ratio {
            if self.on_real {
                let half = 0.5 * ratio * self.spectrum.alpha();
                return Ok(vec![SignalSpec {
                    element: Element::Complex,
                    ..SignalSpec::limit(half)
                }]);
            }
            return Ok(vec![SignalSpec {
                element: inputs[0].element,
                ..SignalSpec::limit(ratio * self.spectrum.alpha())
            }]);
        }
        let expected = "a signal in the limit".to_owned();
        Err(ShapeError {
            port: 0,
            expected,
            got: format!("shape {}", inputs[0]),
        })
    }

    /// Isotropic beliefs, or the same block for every row at both ends.
    fn structures(&self) -> &'static [Structure] {
        &[Structure::Isotropic, Structure::Block { dim: 0 }]
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        all_alike(self.structures(), ports)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn row_ensemble(&self) -> Option<&dyn RowEnsembleRule> {
        Some(self)
    }

    fn spectrum(&self) -> Option<&Spectrum> {
        Some(&self.spectrum)
    }
}

/// The rule of any factor with a spectrum.
macro_rules! ensemble_rule_from_spectrum {
    ($channel:ty) => {
        impl EnsembleRule for $channel {
            fn pairs_with(&self, teacher: &dyn Factor) -> bool {
                self.spectrum().is_some() && self.spectrum() == teacher.spectrum()
            }

            fn second_moment(&self, tau0_hat: &[f64], target: usize) -> Result<f64, FactorError> {
                Ok(second_moment(known(self)?, tau0_hat, target))
            }

            fn prior_potential(&self, tau0_hat: &[f64]) -> Result<f64, FactorError> {
                Ok(prior_potential(known(self)?, tau0_hat))
            }

            fn overlaps(
                &self,
                _: &dyn Factor,
                at: Averaged<'_>,
                target: usize,
            ) -> Result<Overlaps, FactorError> {
                let average = Average::new(known(self)?, at);
                average.check()?;
                Ok(average.overlaps(target))
            }

            fn extrinsic_precision(
                &self,
                at: Averaged<'_>,
                target: usize,
            ) -> Result<Option<f64>, FactorError> {
                let average = Average::new(known(self)?, at);
                average.check()?;
                Ok(Some(average.extrinsic(target)))
            }

            fn towards_known(
                &self,
                at: Averaged<'_>,
                target: usize,
            ) -> Result<Option<OverlapFields>, FactorError> {
                let average = Average::new(known(self)?, at);
                average.check()?;
                Ok((target == 1)
                    .then(|| average.towards_known_output())
                    .flatten())
            }

            fn entropic_potential(
                &self,
                _: &dyn Factor,
                at: Averaged<'_>,
                _: &[(f64, f64)],
            ) -> Result<f64, FactorError> {
                let average = Average::new(known(self)?, at);
                average.check()?;
                Ok(average.information())
            }

            fn potential(&self, _: &dyn Factor, at: Averaged<'_>) -> Result<f64, FactorError> {
                let average = Average::new(known(self)?, at);
                average.check()?;
                Ok(average.potential())
            }
        }

        impl RowEnsembleRule for $channel {
            fn second_moment(
                &self,
                inputs: &[RowMatrix],
                _: usize,
            ) -> Result<RowMatrix, FactorError> {
                Ok(rows::second_moment(known(self)?, inputs))
            }

            fn field(
                &self,
                at: RowAveraged<'_>,
                target: usize,
            ) -> Result<RowEstimate, FactorError> {
                rows::field(known(self)?, at, target)
            }

            fn potential(&self, at: RowAveraged<'_>) -> Result<f64, FactorError> {
                rows::potential(known(self)?, at)
            }
        }
    };
}

ensemble_rule_from_spectrum!(Linear);
ensemble_rule_from_spectrum!(LinearEnsemble);

fn known(factor: &impl Factor) -> Result<&Spectrum, FactorError> {
    factor
        .spectrum()
        .ok_or_else(|| FactorError::Failed("its spectrum could not be computed".to_owned()))
}
