//! The unitary DFT $x = F z$ of a real signal under a law on its coefficients, every number of which is there twice.
//!
//! Coefficients of a real $z$ come in conjugate pairs: they are a space of half the dimension, on which
//! $a_x\|x\|^2 = a_x\|F z\|^2 = a_x\|z\|^2$. Messages are turned, $a_{f\to x} = a_z$, $b_{f\to x} = F b_z$ and back with $F^T$,
//! as by a rotation: each number of a pair holds half of what is known of it. Moments of single numbers would
//! count both in full, and beliefs would feed on themselves.

use std::sync::Arc;

use rand::Rng;
use treeamp::FactorError;
use treeamp::belief::{Gaussian, SignalSpec};
use treeamp::error::ShapeError;
use treeamp::factor::{Arity, Context, Factor, GenerativeRule, PosteriorRule, Workspace};
use treeamp::operator::{LinearOperator, UnitaryDft};

/// The channel before it is bound to its signal.
#[derive(Debug)]
pub struct PairedDft;

/// The channel on a signal.
#[derive(Debug)]
struct Bound {
    operator: UnitaryDft,
}

fn on(input: &SignalSpec) -> Result<UnitaryDft, ShapeError> {
    UnitaryDft::new(input).map_err(|e| ShapeError {
        port: 0,
        expected: "a real signal".to_owned(),
        got: e.to_string(),
    })
}

impl Factor for PairedDft {
    fn name(&self) -> &'static str {
        "paired_dft"
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![on(&inputs[0])?.output().clone()])
    }

    fn bind(&self, inputs: &[SignalSpec]) -> Result<Option<Arc<dyn Factor>>, ShapeError> {
        let operator = on(&inputs[0])?;
        Ok(Some(Arc::new(Bound { operator })))
    }
}

impl Factor for Bound {
    fn name(&self) -> &'static str {
        "paired_dft"
    }

    fn arity(&self) -> Arity {
        PairedDft.arity()
    }

    fn output_specs(&self, _: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(vec![self.operator.output().clone()])
    }

    fn workspace(&self, _: &[SignalSpec]) -> Workspace {
        Workspace::new(vec![0.0_f64; self.operator.scratch_len(1)])
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl PosteriorRule for Bound {
    fn message(
        &self,
        context: &mut Context<'_>,
        target: usize,
        out: &mut Gaussian,
    ) -> Result<(), FactorError> {
        let other = context.incoming.get(1 - target);
        let work = context.workspace.get::<Vec<f64>>()?;
        if target == 1 {
            self.operator.apply(&other.linear, &mut out.linear, work);
        } else {
            self.operator.adjoint(&other.linear, &mut out.linear, work);
        }
        out.precision.set_scalar(other.precision.scalar());
        Ok(())
    }

    fn log_partition(&self, _: &mut Context<'_>) -> Result<f64, FactorError> {
        let why = "a law on coefficients that come in conjugate pairs has no evidence: take RealDFTChannel";
        Err(FactorError::Unsupported(why.to_owned()))
    }
}

impl GenerativeRule for Bound {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        let mut scratch = vec![0.0; self.operator.scratch_len(1)];
        self.operator
            .apply(inputs[0], &mut outputs[0], &mut scratch);
    }
}
