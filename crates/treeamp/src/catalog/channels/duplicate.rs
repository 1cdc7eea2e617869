//! Copies $x_1 = \dots = x_k = z$: natural parameters add, as on a variable.

use rand::Rng;

use crate::belief::Message as _;
use crate::belief::{Gaussian, SignalSpec, Structure, product_excess};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{
    ALL_STRUCTURES, Arity, BeliefError, Context, EnsembleRule, Factor, GaussianFactor,
    GenerativeRule, PosteriorRule, ProximalRule, all_alike, gaussian_ensemble_rule,
    gaussian_proximal_rule,
};

/// Copies of one input.
#[derive(Debug, Clone)]
pub struct Duplicate {
    copies: usize,
}

impl Duplicate {
    /// Catalogue name.
    pub const NAME: &'static str = "duplicate";

    /// `copies` outputs equal to the input.
    ///
    /// # Errors
    /// No copy at all.
    pub fn new(copies: usize) -> Result<Self, ModelError> {
        if copies == 0 {
            return Err(parameter(Self::NAME, "copies", "at least 1", 0));
        }
        Ok(Self { copies })
    }
}

impl Duplicate {
    /// One copy: the identity.
    pub(super) fn once() -> Self {
        Self { copies: 1 }
    }
}

impl Factor for Duplicate {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: self.copies,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![inputs[0].clone(); self.copies])
    }

    fn structures(&self) -> &'static [Structure] {
        ALL_STRUCTURES
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        all_alike(ALL_STRUCTURES, ports)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn gaussian_average(&self) -> Option<GaussianFactor> {
        Some(self.average())
    }

    fn passes_exact(&self, _: &[SignalSpec], _: usize, _: usize) -> bool {
        true
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn proximal(&self) -> Option<&dyn ProximalRule> {
        Some(self)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl PosteriorRule for Duplicate {
    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let incoming = context.incoming;
        out.set_flat();
        for port in (0..incoming.len()).filter(|p| *p != target) {
            out.add_assign(incoming.get(port));
        }
        Ok(())
    }

    /// $A = A_z[\sum a, \sum b]$: the log-partition of all messages on one variable.
    fn log_partition(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let plain = |m: &Gaussian| m.structure() == Structure::Isotropic && !m.is_pinned();
        if !incoming.iter().all(plain) {
            let own: f64 = incoming.iter().map(Gaussian::own_potential).sum();
            return Ok(self.excess(context)? + own);
        }
        let mut total = incoming.get(0).clone();
        incoming.iter().skip(1).for_each(|m| total.add_assign(m));
        Ok(total.log_partition())
    }

    fn excess(&self, context: &mut Context<'_>) -> Result<f64, FactorError> {
        let incoming = context.incoming;
        let mut total = incoming.get(0).clone();
        Ok(product_excess(incoming.iter(), &mut total))
    }
}

impl GenerativeRule for Duplicate {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        for x in outputs {
            x.copy_from_slice(inputs[0]);
        }
    }
}

impl Duplicate {
    /// One scalar at every port.
    pub(super) fn average(&self) -> GaussianFactor {
        GaussianFactor::copies(self.copies + 1)
    }
}

gaussian_ensemble_rule!(
    Duplicate,
    |_, a, target| {
        a.iter()
            .enumerate()
            .filter(|(p, _)| *p != target)
            .map(|(_, a)| a)
            .sum()
    },
    |_, a| a.iter().sum::<f64>().ln()
);

gaussian_proximal_rule!(Duplicate, |_| true, |_, _| 0.0);
