//! Outputs of rows, $p(Y \mid Z) = \prod_m p(y_m \mid z_m)$ with $z_m \in \mathbb R^K$: one number from the $K$ fields of a row.

use std::fmt::Debug;
use std::sync::Arc;

use rand::Rng;

use super::row_average::propagated;
use super::rows::check_rows;
use crate::belief::{RowMatrix, SignalSpec, Structure};
use crate::error::{FactorError, ShapeError};
use crate::factor::{
    Arity, BeliefError, Factor, GenerativeRule, PosteriorRule, RowAveraged, RowEnsembleRule,
    RowEstimate, downcast,
};
use crate::math::dense::{Congruence, inverse_of, log_det_of, square_root};
use crate::math::quadrature::normal::{Line, average_at_random, average_line, average_plane};

/// The seed of averages at random.
const SEED: u64 = 0;
/// Negative eigenvalues of $T_0 - V$ within this fraction of $T_0$ are the rounding of averages.
const ROUNDING: f64 = 1e-8;
/// An output changes within so many standard deviations of an edge.
const SIDES: f64 = 7.0;
/// A field tells no more than this much, relative to what is known already.
const CERTAIN: f64 = 1e-12;

/// What an output $y$ makes of a row of fields $z \sim \mathcal N(\omega, V)$.
#[derive(Debug, Clone, PartialEq)]
pub struct RowTilt {
    /// $\ln Z$, $Z = \int dz\,p(y \mid z)\,\mathcal N(z; \omega, V)$; $-\infty$ of an output that cannot be.
    pub log_z: f64,
    /// $g = \partial_\omega\ln Z$: the mean of the fields is $\omega + V g$.
    pub gradient: Vec<f64>,
    /// $\partial_\omega g^T$, row by row: their covariance is $V + V\,\partial_\omega g^T\,V$.
    pub hessian: Vec<f64>,
}

impl RowTilt {
    /// All zero, for rows of `dim` fields.
    #[must_use]
    pub fn zeros(dim: usize) -> Self {
        Self {
            log_z: 0.0,
            gradient: vec![0.0; dim],
            hessian: vec![0.0; dim * dim],
        }
    }

    /// All zero.
    pub fn set_zero(&mut self) {
        self.log_z = 0.0;
        self.gradient.fill(0.0);
        self.hessian.fill(0.0);
    }
}

/// A law of one output given a row of $K$ fields, for discrete outputs.
///
/// Expectation propagation and state evolution need the same function of $(y, V, \omega)$: the first at the observations, the second
/// averaged over $\omega \sim \mathcal N(0, T_0 - V)$ and $y \sim Z$.
pub trait RowLikelihood: Debug + Clone + PartialEq + Send + Sync + 'static {
    /// Catalogue name.
    const NAME: &'static str;

    /// $K$, the number of fields.
    fn dim(&self) -> usize;

    /// The values that an output may have.
    fn labels(&self) -> Vec<f64>;

    /// $\ln Z$ of a label with a positive definite $V$ (row by row), its gradient and its Hessian in $\omega$.
    ///
    /// # Errors
    /// When it cannot be computed.
    fn tilted(
        &self,
        y: f64,
        v: &[f64],
        omega: &[f64],
        out: &mut RowTilt,
    ) -> Result<(), FactorError>;

    /// [`tilted`](Self::tilted) of every label, in the order of [`labels`](Self::labels): override it where they share work.
    ///
    /// # Errors
    /// As [`tilted`](Self::tilted).
    fn tilted_each(
        &self,
        v: &[f64],
        omega: &[f64],
        out: &mut [RowTilt],
    ) -> Result<(), FactorError> {
        let mut pairs = self.labels().into_iter().zip(out);
        pairs.try_for_each(|(y, out)| self.tilted(y, v, omega, out))
    }

    /// $\ln p(y \mid z)$ at known fields.
    fn log_probability(&self, y: f64, z: &[f64]) -> f64;

    /// A draw of the output.
    fn sample(&self, rng: &mut dyn Rng, z: &[f64]) -> f64;

    /// Values of a field at which the output changes, the same for each: quadrature looks there.
    fn edges(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The entropy $H[y \mid z]$ of its noise: zero of a function, `None` where it depends on the fields.
    fn noise_entropy(&self) -> Option<f64> {
        Some(0.0)
    }

    /// It neglects how fields covary, on the way in and out: its blocks are diagonal.
    fn is_diagonal(&self) -> bool {
        false
    }

    /// A short text of its parameters.
    fn summary(&self) -> String {
        format!("{} fields", self.dim())
    }

    /// The channel from rows to outputs.
    fn channel(self) -> RowChannel<Self> {
        RowChannel { law: self }
    }
}

/// A law of outputs of rows, not observed yet.
#[derive(Debug, Clone, PartialEq)]
pub struct RowChannel<L> {
    law: L,
}

/// Outputs of rows that are observed, or known to be observed for theory.
#[derive(Debug, Clone, PartialEq)]
pub struct RowOutputs<L> {
    law: L,
    y: Vec<f64>,
}

impl<L> RowOutputs<L> {
    /// The law of one output.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The observations; empty if they are not given.
    pub fn observations(&self) -> &[f64] {
        &self.y
    }
}

const BLOCKS: &[Structure] = &[Structure::Block { dim: 0 }];

impl<L: RowLikelihood> RowChannel<L> {
    fn observed(&self, y: &[f64]) -> Arc<dyn Factor> {
        Arc::new(RowOutputs {
            law: self.law.clone(),
            y: y.to_vec(),
        })
    }
}

impl<L: RowLikelihood> Factor for RowChannel<L> {
    fn name(&self) -> &str {
        L::NAME
    }

    fn summary(&self) -> String {
        self.law.summary()
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        downcast::<Self>(other).is_some_and(|other| other == self)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 1,
        }
    }

    fn output_specs(&self, inputs: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        let z = &inputs[0];
        if z.ratio.is_some() {
            return Ok(vec![SignalSpec {
                structure: Structure::Isotropic,
                ..z.clone()
            }]);
        }
        match z.shape.split_last() {
            Some((last, rows)) if *last == self.law.dim() && !rows.is_empty() => {
                Ok(vec![SignalSpec::real(rows.to_vec())])
            }
            _ => Err(ShapeError {
                port: 0,
                expected: format!("rows of {} fields, shape (M, {0})", self.law.dim()),
                got: format!("shape {z}"),
            }),
        }
    }

    fn structures(&self) -> &'static [Structure] {
        BLOCKS
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        check_rows(self.law.dim(), ports)
    }

    fn observe(&self, y: &[f64]) -> Result<Option<Arc<dyn Factor>>, String> {
        let labels = self.law.labels();
        let known = |y: &f64| labels.iter().any(|l| l.total_cmp(y).is_eq());
        match y.iter().find(|y| !known(y)) {
            None => Ok(Some(self.observed(y))),
            Some(y) => Err(format!("expected one of {labels:?}, got {y}")),
        }
    }

    fn observe_unspecified(&self) -> Result<Option<Arc<dyn Factor>>, String> {
        Ok(Some(self.observed(&[])))
    }

    fn generator(&self) -> Option<&dyn GenerativeRule> {
        Some(self)
    }
}

impl<L: RowLikelihood> GenerativeRule for RowChannel<L> {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], rng: &mut dyn Rng) {
        let rows = inputs[0].chunks_exact(self.law.dim());
        for (y, z) in outputs[0].iter_mut().zip(rows) {
            *y = self.law.sample(rng, z);
        }
    }
}

impl<L: RowLikelihood> Factor for RowOutputs<L> {
    fn name(&self) -> &str {
        L::NAME
    }

    fn summary(&self) -> String {
        self.law.summary()
    }

    fn same_law(&self, other: &dyn Factor) -> bool {
        downcast::<Self>(other).is_some_and(|other| other.law == self.law)
    }

    fn arity(&self) -> Arity {
        Arity {
            inputs: 1,
            outputs: 0,
        }
    }

    fn output_specs(&self, _: &[SignalSpec]) -> Result<Vec<SignalSpec>, ShapeError> {
        Ok(Vec::new())
    }

    fn structures(&self) -> &'static [Structure] {
        BLOCKS
    }

    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        check_rows(self.law.dim(), ports)
    }

    fn posterior(&self) -> Option<&dyn PosteriorRule> {
        Some(self)
    }

    fn row_ensemble(&self) -> Option<&dyn RowEnsembleRule> {
        Some(self)
    }

    fn heuristic(&self) -> Option<&'static str> {
        let why = "it neglects how the fields of a row covary";
        self.law.is_diagonal().then_some(why)
    }

    fn noise_entropy(&self) -> Option<f64> {
        self.law.noise_entropy()
    }
}

/// $G = E\,g\,g^T$ and $E\ln Z$ over $\omega \sim \mathcal N(0, T_0 - V)$ and $y \sim Z$, with the standard errors of $G$.
struct Averages {
    g: RowMatrix,
    log_z: f64,
    error: RowMatrix,
}

/// $V = (T_0^{-1} + \hat Q)^{-1}$ and a square root $R$ of $T_0 - V = T_0\hat Q V$.
fn split(at: RowAveraged<'_>) -> Result<(RowMatrix, RowMatrix, Vec<f64>), FactorError> {
    let (q_hat, tau0) = (at.q_hat[0].as_mat(), at.tau0[0].as_mat());
    let precision = inverse_of(tau0)? + q_hat;
    let v = inverse_of(precision.as_ref())?;
    let seen = RowMatrix::from_mat((tau0 * q_hat * &v).as_ref());
    let rounding = ROUNDING * at.tau0[0].mean_diagonal();
    let improper = || FactorError::Improper("a field has a negative eigenvalue".to_owned());
    let r = square_root(seen.as_mat(), rounding).ok_or_else(improper)?;
    let precision = RowMatrix::from_mat(precision.as_ref());
    Ok((precision, RowMatrix::from_mat(v.as_ref()), r))
}

impl<L: RowLikelihood> RowOutputs<L> {
    /// The averages at one $V$, $\omega = R s$ with a standard normal $s$: by quadrature for one or two fields, at random for more.
    fn averages(&self, v: &RowMatrix, r: &[f64]) -> Result<Averages, FactorError> {
        let k = v.dim();
        let labels = self.law.labels();
        let mut omega = vec![0.0; k];
        let mut tilts = vec![RowTilt::zeros(k); labels.len()];
        let mut failed = None;
        let mut at = |s: &[f64], out: &mut [f64]| {
            for (i, w) in omega.iter_mut().enumerate() {
                *w = (0..k).map(|j| r[i * k + j] * s[j]).sum();
            }
            out.fill(0.0);
            if let Err(error) = self.law.tilted_each(v.data(), &omega, &mut tilts) {
                failed = Some(error);
                return;
            }
            for tilt in &tilts {
                let z = tilt.log_z.exp();
                if z > 0.0 {
                    for i in 0..k {
                        for j in 0..k {
                            out[i * k + j] += z * tilt.gradient[i] * tilt.gradient[j];
                        }
                    }
                    out[k * k] += z * tilt.log_z;
                }
            }
        };
        let (values, errors) = match k {
            1 => {
                let width = v.get(0, 0).sqrt();
                let near = |e: f64| [-SIDES, 0.0, SIDES].map(|k| (e + k * width) / r[0]);
                let places: Vec<f64> = self.law.edges().into_iter().flat_map(near).collect();
                let mut line = |s: f64| {
                    let mut out = [0.0; 2];
                    at(&[s], &mut out);
                    out
                };
                (average_line(&mut line, &places).to_vec(), vec![0.0; 2])
            }
            2 => {
                let line = |i: usize, offset: f64| Line {
                    normal: [r[2 * i], r[2 * i + 1]],
                    offset,
                    width: v.get(i, i).sqrt(),
                };
                let edges = self.law.edges();
                let lines: Vec<Line> = (0..2)
                    .flat_map(|i| edges.iter().map(move |e| line(i, *e)))
                    .collect();
                let mut plane = |s: [f64; 2]| {
                    let mut out = [0.0; 5];
                    at(&s, &mut out);
                    out
                };
                (average_plane(&mut plane, &lines).to_vec(), vec![0.0; 5])
            }
            _ => average_at_random(k, k * k + 1, SEED, &mut at),
        };
        match failed {
            Some(error) => Err(error),
            None => Ok(Averages {
                g: RowMatrix::from_fn(k, |i, j| values[i * k + j]),
                log_z: values[k * k],
                error: RowMatrix::from_fn(k, |i, j| errors[i * k + j]),
            }),
        }
    }
}

impl<L: RowLikelihood> RowEnsembleRule for RowOutputs<L> {
    fn second_moment(&self, _: &[RowMatrix], _: usize) -> Result<RowMatrix, FactorError> {
        Err(FactorError::Unsupported("it has no output".to_owned()))
    }

    /// $\hat Q' = (V - V G V)^{-1} - V^{-1} = G(1 - V G)^{-1}$: with $V^{-1} = C C^T$ and $C^{-1}G C^{-T} = U\mu U^T$ it is
    /// $C U\frac{\mu}{1 - \mu}U^T C^T$.
    fn field(&self, at: RowAveraged<'_>, _: usize) -> Result<RowEstimate, FactorError> {
        let (precision, v, r) = split(at)?;
        let averages = self.averages(&v, &r)?;
        let modes = Congruence::new(precision.as_mat(), averages.g.as_mat())?;
        let rest = |mu: f64| (1.0 - mu).max(CERTAIN);
        let value = modes.map(|mu| mu.max(0.0) / rest(mu));
        // δQ' = W δG Wᵀ with W = C U (1 - μ)⁻¹ Uᵀ C⁻¹, and C⁻¹ = Cᵀ V
        let w = modes.map(|mu| 1.0 / rest(mu)) * v.as_mat();
        Ok(RowEstimate {
            value: RowMatrix::from_mat(value.as_ref()),
            standard_error: propagated(&w, &averages.error),
        })
    }

    /// $\frac12\ln\det 2\pi V + E\ln Z$.
    fn potential(&self, at: RowAveraged<'_>) -> Result<f64, FactorError> {
        let (_, v, r) = split(at)?;
        let volume = v.dim() as f64 * std::f64::consts::TAU.ln() + log_det_of(v.as_mat())?;
        Ok(0.5 * volume + self.averages(&v, &r)?.log_z)
    }
}
