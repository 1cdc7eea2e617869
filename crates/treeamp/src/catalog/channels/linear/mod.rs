//! The linear channel $x = W z$ of any [`LinearOperator`]: a dense matrix, on a vector or on every
//! column of an $N \times P$ matrix, or an operator that is never a matrix.
//!
//! An operator with a singular system is solved mode by mode, at the cost of its transforms; the
//! others by conjugate gradients (file `iterative.rs`), for outputs with some noise: an output that is
//! known exactly is refused there.
//!
//! With $W = U S V^T$, $\lambda = s^2$, $w = 1/(a_z + a_x\lambda)$ and tildes for coordinates in
//! $U$ and $V$ (one mode $k$ of $K = \min(M, N)$ at a time):
//!
//! - $v_z = \frac1N[\sum_k w + (N-K)/a_z]$, $\quad a_{f\to z} = \frac{1}{v_z}\,\frac1N\sum_k a_x\lambda w$,
//! - $v_x = \frac1M\sum_k \lambda w$, $\quad a_{f\to x} = d_x/v_x$, $\; d_x = \frac1M[\sum_k a_z w + M - K]$,
//! - $b_{f\to z} = a_{f\to z}\hat z + \frac{1}{v_z} V\,[s w(\tilde b_x - a_x s\tilde{\hat z})]$, the
//!   innovation form with $\hat z = b_z/a_z$,
//! - $b_{f\to x} = \frac{1}{v_x} U[a_z w s\tilde{\hat z} + (d_x - a_z w)\tilde{\hat x}]$ with
//!   $\hat x = b_x/a_x$ when $K = M$.
//!
//! None of them subtracts numbers that are nearly equal, so they hold for precisions of 1e12, and
//! have limits when $x$ is pinned (a noiseless observation).
//!
//! Block beliefs, one matrix per row of an $N \times K$ signal, are averaged over rows (file `blocks.rs`).
//!
//! A matrix whose entries are independent needs none of this: on that [`Route`] the channel is
//! approximate message passing (file `iid.rs`), if expectation propagation runs and the tests of `choice.rs` and
//! `certificate.rs` allow it.

mod average;
mod bidiagonal;
mod blocks;
mod certificate;
mod choice;
mod cost;
mod ensemble;
mod extrinsic;
mod iid;
mod iterative;
mod ladder;
mod messages;
mod posterior;
mod resolvent;
mod rows;
mod sparse;
mod spread;
mod structured;
mod work;

use std::sync::{Arc, OnceLock};

use faer::{Mat, MatRef};
use rand::Rng;

use self::bidiagonal::Bidiagonal;
use self::blocks::BlockWork;
pub use self::ensemble::LinearEnsemble;
use self::iid::IidWork;
use self::iterative::Solve;
use self::ladder::Iterative;
pub use self::ladder::IterativeOptions;
use self::sparse::{Sparse, SparseSide};
use self::structured::{Structured, has_column_rank};
use self::work::{IterativeWork, ModesWork};
use crate::belief::{Element, Gaussian, SignalSpec, Structure};
use crate::catalog::arguments::MatrixArgument;
use crate::catalog::module::{Module, Parameter, ParameterKind, Preset, Signals};
use crate::error::{FactorError, ModelError, ShapeError, parameter};
use crate::factor::{
    Arity, BeliefError, Cost, EnsembleRule, Factor, GenerativeRule, PosteriorRule, ProximalRule,
    Route, RouteChoice, RowEnsembleRule, Workspace, each_supported, gaussian_proximal_rule,
};
use crate::math::decomposition::Decomposition;
use crate::math::matrix::Matrix;
use crate::math::spectrum::Spectrum;
use crate::operator::{ComplexDense, ComplexOnReal, Dense, LinearOperator, applied, dot_test};

/// Any number would do; the test must say the same every time.
const DOT_TEST_SEED: u64 = 0;
/// Entries of a matrix that a sparse operator is written as without a plan: 128 MiB.
const UNPLANNED: usize = 1 << 24;
const Z: usize = 0;
const X: usize = 1;

/// A linear channel. Clones share the operator and its decomposition, which is computed once, when an
/// algorithm first plans on it.
#[derive(Debug, Clone)]
pub struct Linear {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    operator: Arc<dyn LinearOperator>,
    /// The same operator, if it is a dense matrix.
    dense: Option<Arc<Dense>>,
    options: IterativeOptions,
    /// The route that was asked for, the one that is taken, and what both rest on.
    route: Route,
    choice: OnceLock<RouteChoice>,
    square_norm: OnceLock<Result<f64, FactorError>>,
    bidiagonal: OnceLock<Bidiagonal>,
    iterative: OnceLock<Result<Iterative, FactorError>>,
    spectrum: OnceLock<Option<Spectrum>>,
    /// The operator as a matrix, for beliefs that are not isotropic.
    matrix: OnceLock<Mat<f64>>,
    /// The pattern of sparse factors, where the operator has few entries.
    sparse: OnceLock<Option<SparseSide>>,
    /// Whether its adjoint is one.
    tested: OnceLock<Result<(), FactorError>>,
}

impl Linear {
    /// Catalogue name of the dense channel; other operators have their own.
    pub const NAME: &'static str = Dense::NAME;

    /// The channel $x = W z$ of a dense matrix.
    ///
    /// # Errors
    /// Never: a [`Matrix`] is valid by construction. The signature leaves room for checks.
    pub fn new(w: Matrix) -> Result<Self, ModelError> {
        let dense = Arc::new(Dense::new(w));
        let operator: Arc<dyn LinearOperator> = Arc::clone(&dense) as _;
        let options = IterativeOptions::default();
        Ok(Self::built(operator, Some(dense), options, Route::Exact))
    }

    /// The channel $x = W z$ of an operator.
    #[must_use]
    pub fn of(operator: impl LinearOperator) -> Self {
        Self::shared(Arc::new(operator))
    }

    /// The channel of an operator that others hold too.
    #[must_use]
    pub fn shared(operator: Arc<dyn LinearOperator>) -> Self {
        Self::built(operator, None, IterativeOptions::default(), Route::Exact)
    }

    fn built(
        operator: Arc<dyn LinearOperator>,
        dense: Option<Arc<Dense>>,
        options: IterativeOptions,
        route: Route,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                operator,
                dense,
                options,
                route,
                choice: OnceLock::new(),
                square_norm: OnceLock::new(),
                bidiagonal: OnceLock::new(),
                iterative: OnceLock::new(),
                spectrum: OnceLock::new(),
                matrix: OnceLock::new(),
                sparse: OnceLock::new(),
                tested: OnceLock::new(),
            }),
        }
    }

    /// The same channel with other options of the iterative solution; they do nothing for an operator
    /// with a singular system.
    ///
    /// # Errors
    /// An option out of range.
    pub fn iterative(&self, options: IterativeOptions) -> Result<Self, ModelError> {
        options.check()?;
        let operator = Arc::clone(&self.inner.operator);
        let dense = self.inner.dense.clone();
        Ok(Self::built(operator, dense, options, self.inner.route))
    }

    /// The same channel, asked to take a route. It shares the matrix and its decomposition.
    ///
    /// ```
    /// use treeamp::prelude::*;
    /// let w = Matrix::from_fn(2, 4, |i, j| if (i + j) % 3 == 0 { 1.0 } else { -1.0 })?;
    /// let channel = Linear::new(w)?.by(Route::Iid);
    /// # Ok::<(), ModelError>(())
    /// ```
    #[must_use]
    pub fn by(&self, route: Route) -> Self {
        let Inner {
            operator,
            dense,
            options,
            ..
        } = &*self.inner;
        Self::built(Arc::clone(operator), dense.clone(), *options, route)
    }

    /// The dot test, once, on everything but a matrix: an operator of one's own may have a wrong adjoint.
    fn tested(&self) -> Result<(), FactorError> {
        if self.inner.dense.is_some() || self.operator().is_tested() {
            return Ok(());
        }
        let test = || {
            let outcome = dot_test(self.operator(), DOT_TEST_SEED);
            outcome.map_err(|error| FactorError::Failed(error.to_string()))
        };
        self.inner.tested.get_or_init(test).clone()
    }

    /// The operator.
    #[must_use]
    pub fn operator(&self) -> &dyn LinearOperator {
        self.inner.operator.as_ref()
    }

    /// The matrix of a dense channel.
    #[must_use]
    pub fn matrix(&self) -> Option<&Matrix> {
        self.inner.dense.as_ref().map(|d| d.matrix())
    }

    /// The decomposition of a dense channel, computed on first use.
    ///
    /// # Errors
    /// When it does not converge, or the channel is not dense.
    pub fn decomposition(&self) -> Result<&Decomposition, FactorError> {
        let none = || FactorError::Unsupported("its operator is not a dense matrix".to_owned());
        self.inner.dense.as_ref().ok_or_else(none)?.decomposition()
    }

    /// $E x^2 = \frac{\|W\|_F^2}{M}\,\tau_z$ when the components of $z$ are uncorrelated. NaN when the spectrum
    /// cannot be had.
    #[must_use]
    pub fn second_moment(&self, tau_z: f64) -> f64 {
        if let Ok(square_norm) = self.square_norm() {
            return tau_z * square_norm / self.operator().output().len() as f64;
        }
        let known = self.spectrum();
        known.map_or(f64::NAN, |s| tau_z * s.mean() / s.alpha())
    }

    /// The operator on real storage as a matrix, column by column.
    fn dense_matrix(&self) -> MatRef<'_, f64> {
        if let Some(w) = self.matrix() {
            return w.view();
        }
        let make = || {
            let operator = self.operator();
            let (n, m) = (operator.input().len(), operator.output().len());
            let mut unit = vec![0.0; n];
            let columns: Vec<Vec<f64>> = (0..n)
                .map(|j| {
                    unit.fill(0.0);
                    unit[j] = 1.0;
                    applied(operator, &unit)
                })
                .collect();
            Mat::from_fn(m, n, |i, j| columns[j][i])
        };
        self.inner.matrix.get_or_init(make).as_ref()
    }

    /// The pattern of sparse factors; `None` of an operator that is better solved by dense algebra.
    fn sparse_side(&self) -> Option<&SparseSide> {
        let make = || SparseSide::of(self.operator());
        self.inner.sparse.get_or_init(make).as_ref()
    }

    /// The sparse solution, where a belief is not isotropic and none is full or exactly known.
    fn sparse<'a>(&'a self, z: &'a Gaussian, x: &'a Gaussian) -> Option<Sparse<'a>> {
        if !has_structure(z, x) {
            return None;
        }
        Sparse::new(self.sparse_side()?, z, x)
    }

    /// The dense solution, where a belief is not isotropic.
    ///
    /// # Errors
    /// A sparse operator between beliefs of which one is exactly known, where the matrix would be too large: planned for was the factor alone.
    fn structured<'a>(
        &'a self,
        z: &'a Gaussian,
        x: &'a Gaussian,
    ) -> Result<Option<Structured<'a>>, FactorError> {
        if !has_structure(z, x) {
            return Ok(None);
        }
        let full = [z, x].iter().any(|m| m.structure() == Structure::Full);
        let entries = z.len().saturating_mul(x.len());
        if !full && entries > UNPLANNED && self.sparse_side().is_some() {
            return Err(FactorError::Unsupported(format!(
                "diagonal beliefs on a sparse operator beside an exactly known input or output, which takes a dense matrix of {} x {}: expected \
                 noise there, or isotropic beliefs",
                x.len(),
                z.len()
            )));
        }
        Ok(Some(Structured {
            w: self.dense_matrix(),
            z,
            x,
        }))
    }

    fn known(&self) -> Result<&Iterative, FactorError> {
        let make = || Iterative::new(self.operator(), &self.inner.options);
        self.inner
            .iterative
            .get_or_init(make)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The spectrum of an operator without a singular system.
    fn estimated(&self) -> Result<&Spectrum, FactorError> {
        self.known()?.spectrum(self.operator(), &self.inner.options)
    }

    fn iterate<'a>(
        &'a self,
        z: &'a Gaussian,
        x: &'a Gaussian,
        work: &'a mut IterativeWork,
    ) -> Result<Solve<'a>, FactorError> {
        let known = self.known()?;
        Solve::new(self.operator(), known, self.inner.options, [z, x], work)
    }

    /// Columns of a signal of so many real numbers.
    fn columns(&self, len: usize) -> usize {
        len / self.operator().input().len()
    }

    /// Its entry in the catalogue.
    pub const MODULE: Module = Module {
        name: Self::NAME,
        summary: "a matrix",
        formula: "x = W z",
        tex: r"x = W z",
        parameters: &[
            Parameter::required(
                "matrix",
                ParameterKind::Matrix,
                "W: a data file, or an ensemble with alpha rows per column",
            )
            .called("W"),
            Parameter::required(
                "route",
                ParameterKind::Choice(Route::WORDS),
                "how expectation propagation goes through it: by exact messages, or for independent entries by approximate message \
                 passing",
            )
            .or(Preset::Word("exact")),
            Parameter::required(
                "precision",
                ParameterKind::Choice(&["f64", "f32"]),
                "how entries are stored: in 64 bits, or in 32, which is half the memory for products",
            )
            .or(Preset::Word("f64")),
        ],
        signals: Signals::Any,
        constructor: |a| {
            let channel = match a.matrix("matrix")? {
                MatrixArgument::Real(w) if a.word("precision")? == "f32" => Self::new(w.narrow()?)?,
                MatrixArgument::Real(w) => Self::new(w.clone())?,
                MatrixArgument::Complex(_) if a.word("precision")? == "f32" => {
                    let got = "f32 for a complex matrix";
                    return Err(parameter(Self::NAME, "precision", "f64", got));
                }
                MatrixArgument::Complex(w) if a.is_complex() => {
                    Self::of(ComplexDense::new(w.clone()))
                }
                MatrixArgument::Complex(w) => Self::of(ComplexOnReal::new(w.clone())?),
                MatrixArgument::StandIn(shape) => Self::of(shape.clone()),
                // theory: the spectrum is that of the ensemble, whatever the route
                MatrixArgument::Limit(ensemble) => return a.channel(ensemble.clone()),
            };
            a.channel(channel.by(a.word("route")?.parse()?))
        },
        ..Module::CHANNEL
    };
}

impl Factor for Linear {
    fn name(&self) -> &str {
        self.operator().name()
    }

    fn summary(&self) -> String {
        let operator = self.operator().summary();
        match self.inner.route {
            Route::Exact => operator,
            route => format!("{operator}, route {route}"),
        }
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
        match self.operator().output_for(&inputs[0]) {
            Ok(output) => Ok(vec![output]),
            Err(expected) => Err(ShapeError {
                port: Z,
                expected,
                got: format!("shape {}", inputs[0]),
            }),
        }
    }

    fn structures(&self) -> &'static [Structure] {
        if self.inner.route == Route::IidOnly {
            return &[Structure::Isotropic, Structure::Diagonal];
        }
        &[
            Structure::Isotropic,
            Structure::Diagonal,
            Structure::Block { dim: 0 },
            Structure::Full,
        ]
    }

    /// Any of them on either side of a single column; several columns share one isotropic belief, or have blocks that are as
    /// large as there are columns, on both sides.
    fn check_beliefs(&self, ports: &[SignalSpec]) -> Result<(), BeliefError> {
        each_supported(self.structures(), ports)?;
        let columns = self.columns(ports[Z].len());
        if ports
            .iter()
            .any(|p| p.structure.same_kind(Structure::Block { dim: 0 }))
        {
            let own = Structure::Block { dim: columns };
            let fits = |p: &SignalSpec| p.structure == own && p.element == Element::Real;
            return match ports.iter().position(|p| !fits(p)) {
                None => Ok(()),
                Some(port) => Err(BeliefError {
                    port,
                    supported: if columns > 1 {
                        format!(
                            "isotropic, diagonal, full, or {own} (a row of real numbers) on both sides"
                        )
                    } else {
                        "isotropic, diagonal, full".to_owned()
                    },
                }),
            };
        }
        match ports
            .iter()
            .position(|p| p.structure != Structure::Isotropic)
        {
            Some(port) if columns > 1 => Err(BeliefError {
                port,
                supported: format!("isotropic, on a signal of {columns} columns"),
            }),
            _ => Ok(()),
        }
    }

    /// Fewer exact outputs than inputs, or a matrix that loses some of them, leave an input with no precision in some directions
    /// and no variance in others: a full belief has no form for that.
    fn check_exact(&self, ports: &[SignalSpec], port: usize) -> Result<(), BeliefError> {
        if port == X && ports[Z].structure == Structure::Full && !self.passes_exact(ports, X, Z) {
            let supported = "isotropic or diagonal, where its output is known exactly and does not determine it";
            return Err(BeliefError {
                port: Z,
                supported: supported.to_owned(),
            });
        }
        Ok(())
    }

    /// An output determines the input where the matrix has the rank of its columns.
    fn passes_exact(&self, ports: &[SignalSpec], _: usize, to: usize) -> bool {
        to == X
            || (ports[X].len() >= ports[Z].len()
                && (self.operator().is_stand_in() || has_column_rank(self.dense_matrix())))
    }

    fn workspace(&self, ports: &[SignalSpec]) -> Workspace {
        if self.route(ports).is_some_and(|choice| choice.iid) {
            let columns = self.columns(ports[Z].len());
            return Workspace::new(IidWork::new(self.operator(), columns));
        }
        if matches!(ports[Z].structure, Structure::Block { .. }) {
            let columns = self.columns(ports[Z].len());
            return Workspace::new(BlockWork::new(self, columns));
        }
        if ports.iter().any(|p| p.structure != Structure::Isotropic) {
            return Workspace::none();
        }
        match self.operator().singular_system() {
            Ok(Some(system)) => {
                let columns = self.columns(ports[Z].len());
                Workspace::new(ModesWork::new(self.operator(), system, columns))
            }
            _ => Workspace::new(IterativeWork::new(self.operator())),
        }
    }

    /// The factor of a sparse operator; of another the matrix, its product with a covariance, and a few square matrices.
    fn dense_len(&self, ports: &[SignalSpec]) -> usize {
        let iid = self.route(ports).is_some_and(|choice| choice.iid);
        if iid || ports.iter().all(|p| by_modes(p.structure)) {
            return 0;
        }
        let (n, m) = (ports[Z].len(), ports[X].len());
        let full = ports.iter().any(|p| p.structure == Structure::Full);
        if let Some(sparse) = self.sparse_side().filter(|_| !full) {
            return sparse.len();
        }
        let side = n.min(m);
        let is_matrix = self.matrix().is_some() || self.operator().is_stand_in();
        let rectangles = if is_matrix { 1 } else { 2 };
        let square = side.saturating_mul(side).saturating_mul(4);
        n.saturating_mul(m)
            .saturating_mul(rectangles)
            .saturating_add(square)
    }

    fn ensemble(&self) -> Option<&dyn EnsembleRule> {
        Some(self)
    }

    fn row_ensemble(&self) -> Option<&dyn RowEnsembleRule> {
        Some(self)
    }

    fn spectrum(&self) -> Option<&Spectrum> {
        let make = || {
            let operator = self.operator();
            let alpha = operator.output().len() as f64 / operator.input().len() as f64;
            match operator.singular_system().ok()? {
                Some(system) => {
                    let inputs = operator.input().len() as f64;
                    Some(Spectrum::of_modes(system.modes(), inputs, alpha))
                }
                None => self.estimated().ok().cloned(),
            }
        };
        self.inner.spectrum.get_or_init(make).as_ref()
    }

    fn heuristic(&self) -> Option<&'static str> {
        self.operator().heuristic()
    }

    fn route(&self, ports: &[SignalSpec]) -> Option<RouteChoice> {
        (self.inner.route != Route::Exact).then(|| self.chosen_for(ports))
    }

    fn cost(&self, ports: &[SignalSpec]) -> Cost {
        self.cost_between(ports)
    }

    fn prepare(&self) -> Result<(), FactorError> {
        if self.operator().is_stand_in() {
            let why = "its matrix was not drawn: it can be checked, and not be run";
            return Err(FactorError::Unsupported(why.to_owned()));
        }
        self.tested()?;
        let choice = self.chosen();
        if choice.iid {
            return self.square_norm().map(|_| ());
        }
        if choice.only {
            return Err(FactorError::Unsupported(choice.why.clone()));
        }
        match self.operator().singular_system()? {
            Some(_) => Ok(()),
            None => self.known().map(|_| ()),
        }
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

/// Beliefs that are solved mode by mode.
fn by_modes(structure: Structure) -> bool {
    matches!(structure, Structure::Isotropic | Structure::Block { .. })
}

/// A belief is not isotropic.
fn has_structure(z: &Gaussian, x: &Gaussian) -> bool {
    let isotropic = |m: &Gaussian| m.structure() == Structure::Isotropic;
    !isotropic(z) || !isotropic(x)
}

impl GenerativeRule for Linear {
    fn sample(&self, inputs: &[&[f64]], outputs: &mut [Vec<f64>], _: &mut dyn Rng) {
        outputs[0] = applied(self.operator(), inputs[0]);
    }
}

gaussian_proximal_rule!(Linear, |_| true, |_, _| 0.0);
