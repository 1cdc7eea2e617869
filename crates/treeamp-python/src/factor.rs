//! One module, asked alone: its scalar law on arrays, its messages, its averages.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use treeamp::algorithms::state_evolution::gibbs;
use treeamp::belief::{Gaussian, OverlapFields, SignalSpec};
use treeamp::factor::{Averaged, Factor as AnyFactor};
use treeamp::scalar::{Piece, ScalarView, Tilt};

use crate::array::{Flat as Array, flat, pairs, signal, slice};
use crate::error::{model_message, run_error};
use crate::ports::Shaped;

type Input<'py> = PyReadonlyArray1<'py, f64>;
/// $(\hat m, \hat q, \hat\tau)$ of one port.
type Fields = (f64, f64, f64);

/// A native module.
#[pyclass(frozen, module = "treeamp._lib")]
#[derive(Clone)]
pub struct Factor {
    pub inner: Arc<dyn AnyFactor>,
    /// Which ports are complex; none if it is empty.
    pub complex: Vec<bool>,
}

impl Factor {
    pub fn new(factor: impl AnyFactor) -> Self {
        Self {
            inner: Arc::new(factor),
            complex: Vec::new(),
        }
    }

    /// A module with complex signals at some of its ports.
    pub fn complex(factor: impl AnyFactor, ports: &[bool]) -> Self {
        Self {
            inner: Arc::new(factor),
            complex: ports.to_vec(),
        }
    }
}

fn fields(given: &[Fields]) -> Vec<OverlapFields> {
    given
        .iter()
        .map(|(m_hat, q_hat, tau_hat)| OverlapFields {
            m_hat: *m_hat,
            q_hat: *q_hat,
            tau_hat: *tau_hat,
        })
        .collect()
}

fn same_len(arrays: &[&[f64]]) -> PyResult<usize> {
    let n = arrays[0].len();
    if arrays.iter().all(|x| x.len() == n) {
        return Ok(n);
    }
    Err(PyValueError::new_err("expected arrays of one length"))
}

/// The law of an entry of arrays whose last axes are those of the signal.
fn of_component<'a>(
    law: &'a dyn ScalarView,
    each: &'a [Box<dyn ScalarView>],
    entry: usize,
) -> &'a dyn ScalarView {
    match each {
        [] => law,
        _ => each[entry % each.len()].as_ref(),
    }
}

impl Factor {
    /// The laws of components that differ in more than their output; none where all are alike.
    fn components(&self, law: &dyn ScalarView, n: usize) -> PyResult<Vec<Box<dyn ScalarView>>> {
        let Some(count) = law.components() else {
            return Ok(Vec::new());
        };
        if !n.is_multiple_of(count) {
            let text = format!("{}: expected {count} components, got {n}", self.name());
            return Err(model_message(text));
        }
        Ok((0..count).filter_map(|i| law.component(i)).collect())
    }
}

#[pymethods]
impl Factor {
    /// Catalogue name.
    #[getter(name)]
    fn py_name(&self) -> &str {
        self.name()
    }

    /// Parameters as text.
    #[getter]
    fn summary(&self) -> String {
        self.inner.summary()
    }

    /// Numbers of inputs and outputs.
    #[getter]
    fn arity(&self) -> (usize, usize) {
        let arity = self.inner.arity();
        (arity.inputs, arity.outputs)
    }

    /// The rules it offers: `posterior`, `ensemble`, `generator`, `scalar`.
    #[getter]
    fn rules(&self) -> Vec<&'static str> {
        let f = &self.inner;
        [
            (f.posterior().is_some(), "posterior"),
            (f.ensemble().is_some(), "ensemble"),
            (f.generator().is_some(), "generator"),
            (f.scalar().is_some(), "scalar"),
        ]
        .into_iter()
        .filter_map(|(has, name)| has.then_some(name))
        .collect()
    }

    /// The pieces `(start, end, offset, slope)` of a channel that is piecewise linear, in ascending order; none of any other.
    #[getter]
    fn pieces(&self) -> Vec<(f64, f64, f64, f64)> {
        let pieces = match self.inner.scalar() {
            Some(law) => law.pieces(),
            None => Vec::new(),
        };
        let numbers = |p: &Piece| (p.start, p.end, p.offset, p.slope);
        pieces.iter().map(numbers).collect()
    }

    /// $A, r, v$ of a scalar prior, component by component.
    fn prior_law<'py>(
        &self,
        py: Python<'py>,
        a: Input<'py>,
        b: Input<'py>,
    ) -> PyResult<(Array<'py>, Array<'py>, Array<'py>)> {
        let law = self.inner.scalar().ok_or_else(|| self.missing("scalar"))?;
        let (a, b) = (slice(&a)?, slice(&b)?);
        let n = same_len(&[a, b])?;
        let mut out = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for i in 0..n {
            let tilt = Tilt { a: a[i], b: b[i] };
            let t = law.prior(tilt).ok_or_else(|| self.missing("prior"))?;
            (out[0][i], out[1][i], out[2][i]) = (t.log_z, t.mean, t.variance);
        }
        let [log_z, mean, variance] = out;
        Ok((flat(py, log_z), flat(py, mean), flat(py, variance)))
    }

    /// The log-density of a scalar prior, without its point masses, component by component.
    fn prior_log_density<'py>(&self, py: Python<'py>, x: Input<'py>) -> PyResult<Array<'py>> {
        let law = self.inner.scalar().ok_or_else(|| self.missing("scalar"))?;
        let each = slice(&x)?.iter().map(|x| law.log_density(*x));
        let all: Option<Vec<f64>> = each.collect();
        Ok(flat(py, all.ok_or_else(|| self.missing("log-density"))?))
    }

    /// The log-density of the outputs of a scalar likelihood, component by component.
    fn output_log_density<'py>(
        &self,
        py: Python<'py>,
        y: Input<'py>,
        z: Input<'py>,
    ) -> PyResult<Array<'py>> {
        let law = self.inner.scalar().ok_or_else(|| self.missing("scalar"))?;
        let (y, z) = (slice(&y)?, slice(&z)?);
        let mut out = vec![0.0; same_len(&[y, z])?];
        let each = self.components(law, out.len())?;
        for (i, value) in out.iter_mut().enumerate() {
            let law = of_component(law, &each, i);
            let wrong = |e| model_message(format!("{}: y: {e} at index {i}", self.name()));
            law.check_output(y[i]).map_err(wrong)?;
            let found = law.output_log_density(y[i], z[i]);
            *value = found.ok_or_else(|| self.missing("log-density"))?;
        }
        Ok(flat(py, out))
    }

    /// $A, r, v$ of a scalar likelihood, component by component.
    fn likelihood_law<'py>(
        &self,
        py: Python<'py>,
        y: Input<'py>,
        a: Input<'py>,
        b: Input<'py>,
    ) -> PyResult<(Array<'py>, Array<'py>, Array<'py>)> {
        let law = self.inner.scalar().ok_or_else(|| self.missing("scalar"))?;
        let (y, a, b) = (slice(&y)?, slice(&a)?, slice(&b)?);
        let n = same_len(&[y, a, b])?;
        let each = self.components(law, n)?;
        let mut out = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for i in 0..n {
            let law = of_component(law, &each, i);
            let wrong = |e| model_message(format!("{}: y: {e} at index {i}", self.name()));
            law.check_output(y[i]).map_err(wrong)?;
            let t = law
                .likelihood(y[i], Tilt { a: a[i], b: b[i] })
                .ok_or_else(|| self.missing("likelihood"))?;
            (out[0][i], out[1][i], out[2][i]) = (t.log_z, t.mean, t.variance);
        }
        let [log_z, mean, variance] = out;
        Ok((flat(py, log_z), flat(py, mean), flat(py, variance)))
    }

    /// $A, r, v$ of a loss beside beliefs, component by component: at its mode.
    fn loss_law<'py>(
        &self,
        py: Python<'py>,
        y: Input<'py>,
        a: Input<'py>,
        b: Input<'py>,
    ) -> PyResult<(Array<'py>, Array<'py>, Array<'py>)> {
        let (y, a, b) = (slice(&y)?, slice(&a)?, slice(&b)?);
        let n = same_len(&[y, a, b])?;
        let wrong = |e| model_message(format!("{}: y: {e}", self.name()));
        // all at once for the index of one that cannot be
        self.inner.observe(y).map_err(wrong)?;
        let spec = SignalSpec::real([1]);
        let mut out = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for i in 0..n {
            let observed = self.inner.observe(&y[i..=i]).map_err(wrong)?;
            let law = observed.ok_or_else(|| self.missing("observed"))?;
            let mut belief = Gaussian::flat(&spec);
            belief.set_precision(a[i]);
            belief.linear[0] = b[i];
            let mut site = self.site(&law, std::slice::from_ref(&spec), vec![belief])?;
            let found = self.or_raise(site.moments(0))?;
            out[0][i] = self.or_raise(site.log_partition())?;
            (out[1][i], out[2][i]) = (found.mean[0], found.average_variance());
        }
        let [log_z, mean, variance] = out;
        Ok((flat(py, log_z), flat(py, mean), flat(py, variance)))
    }

    /// $A, r_z, v_z, r_x, v_x$ of a scalar channel, component by component.
    fn channel_law<'py>(
        &self,
        py: Python<'py>,
        az: Input<'py>,
        bz: Input<'py>,
        ax: Input<'py>,
        bx: Input<'py>,
    ) -> PyResult<Vec<Array<'py>>> {
        let law = self.inner.scalar().ok_or_else(|| self.missing("scalar"))?;
        let (az, bz, ax, bx) = (slice(&az)?, slice(&bz)?, slice(&ax)?, slice(&bx)?);
        let n = same_len(&[az, bz, ax, bx])?;
        let mut out = vec![vec![0.0; n]; 5];
        for i in 0..n {
            let (z, x) = (Tilt { a: az[i], b: bz[i] }, Tilt { a: ax[i], b: bx[i] });
            let t = law.channel(z, x).ok_or_else(|| self.missing("channel"))?;
            let values = [t.log_z, t.mean_z, t.variance_z, t.mean_x, t.variance_x];
            for (column, value) in out.iter_mut().zip(values) {
                column[i] = value;
            }
        }
        self.or_raise(Ok(()))?;
        Ok(out.into_iter().map(|column| flat(py, column)).collect())
    }

    /// $A$ at isotropic messages `(a, b)`, one per port: a sum over components.
    fn log_partition(&self, messages: Vec<(f64, Shaped<'_>)>) -> PyResult<f64> {
        let (bound, specs, messages) = self.incoming(&messages)?;
        self.or_raise(self.site(&bound, &specs, messages)?.log_partition())
    }

    /// Mean, and variance averaged over the components, of the variable at `port`.
    fn moments<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<(f64, Shaped<'py>)>,
        port: usize,
    ) -> PyResult<(Array<'py>, f64)> {
        self.check_ports(&[messages.len()], port)?;
        let (bound, specs, messages) = self.incoming(&messages)?;
        let out = self.or_raise(self.site(&bound, &specs, messages)?.moments(port))?;
        let variance = out.average_variance();
        Ok((flat(py, self.parts(port, out.mean)), variance))
    }

    /// The message `(a, b)` to the variable at `port`; an infinite `a` pins it at `b`.
    fn message<'py>(
        &self,
        py: Python<'py>,
        messages: Vec<(f64, Shaped<'py>)>,
        port: usize,
    ) -> PyResult<(f64, Array<'py>)> {
        self.check_ports(&[messages.len()], port)?;
        let (bound, specs, messages) = self.incoming(&messages)?;
        let out = self.or_raise(self.site(&bound, &specs, messages)?.message(port))?;
        let linear = self.parts(port, out.linear);
        Ok((out.precision.scalar(), flat(py, linear)))
    }

    /// The same factor on complex signals at all ports.
    fn on_complex(&self) -> Self {
        let arity = self.inner.arity();
        Self {
            inner: Arc::clone(&self.inner),
            complex: vec![true; arity.inputs + arity.outputs],
        }
    }

    /// The factor for inputs of given shapes, where its work depends on them.
    fn bind(&self, shapes: Vec<Vec<usize>>) -> PyResult<Self> {
        let shapes = shapes.iter().enumerate();
        let specs: PyResult<Vec<SignalSpec>> = shapes
            .map(|(port, shape)| signal(shape, self.is_complex(port)))
            .collect();
        let specs = specs?;
        if specs.len() != self.inner.arity().inputs {
            let (name, n) = (self.name(), self.inner.arity().inputs);
            return Err(model_message(format!("factor `{name}` takes {n} inputs")));
        }
        Ok(Self {
            inner: self.bound(&specs)?,
            complex: self.complex.clone(),
        })
    }

    /// The likelihood of an observed output (`None`: observed without values, for theory).
    #[pyo3(signature = (y))]
    fn observe(&self, y: Option<Input<'_>>) -> PyResult<Option<Self>> {
        let inputs = self.inner.arity().inputs;
        let observed = match &y {
            Some(y) if self.is_complex(inputs) => self.inner.observe(&pairs(slice(y)?)),
            Some(y) => self.inner.observe(slice(y)?),
            None => self.inner.observe_unspecified(),
        };
        let observed =
            observed.map_err(|e| model_message(format!("{}: observation: {e}", self.name())))?;
        let complex = self.complex.iter().take(inputs).copied().collect();
        Ok(observed.map(|inner| Self { inner, complex }))
    }

    /// Outputs drawn given inputs, of the lengths given.
    fn sample<'py>(
        &self,
        py: Python<'py>,
        inputs: Vec<Input<'py>>,
        lengths: Vec<usize>,
        seed: u64,
    ) -> PyResult<Vec<Array<'py>>> {
        let missing = || self.missing("generative");
        let rule = self.inner.generator().ok_or_else(missing)?;
        let inputs = inputs.iter().enumerate().map(|(port, x)| {
            let x = slice(x)?;
            Ok(if self.is_complex(port) {
                pairs(x)
            } else {
                x.to_vec()
            })
        });
        let inputs = inputs.collect::<PyResult<Vec<Vec<f64>>>>()?;
        let given: Vec<&[f64]> = inputs.iter().map(Vec::as_slice).collect();
        let mut outputs: Vec<Vec<f64>> = lengths.iter().map(|n| vec![0.0; *n]).collect();
        rule.sample(&given, &mut outputs, &mut ChaCha8Rng::seed_from_u64(seed));
        self.or_raise(Ok(()))?;
        let outputs = outputs.into_iter().enumerate();
        Ok(outputs
            .map(|(k, x)| flat(py, self.parts(given.len() + k, x)))
            .collect())
    }

    /// $E x_0^2$ at `port`, this factor being the teacher's.
    fn second_moment(&self, tau0_hat: Vec<f64>, port: usize) -> PyResult<f64> {
        self.check_ports(&[tau0_hat.len()], port)?;
        self.or_raise(self.average()?.second_moment(&tau0_hat, port))
    }

    /// $A^{(0)}$, this factor being the teacher's.
    fn prior_potential(&self, tau0_hat: Vec<f64>) -> PyResult<f64> {
        self.check_ports(&[tau0_hat.len()], 0)?;
        self.or_raise(self.average()?.prior_potential(&tau0_hat))
    }

    /// $(m, v, q, \tau_0)$ at `port`, this factor being the student's.
    #[pyo3(signature = (given, tau0_hat, port, teacher=None))]
    fn overlaps(
        &self,
        py: Python<'_>,
        given: Vec<Fields>,
        tau0_hat: Vec<f64>,
        port: usize,
        teacher: Option<&Self>,
    ) -> PyResult<(f64, f64, f64, f64)> {
        self.check_ports(&[given.len(), tau0_hat.len()], port)?;
        let (rule, fields) = (self.average()?, fields(&given));
        let teacher = teacher.unwrap_or(self).inner.as_ref();
        if !rule.pairs_with(teacher) {
            let names = format!("`{}` cannot face teacher `{}`", self.name(), teacher.name());
            return Err(model_message(format!("student {names}")));
        }
        let at = Averaged {
            fields: &fields,
            tau0_hat: &tau0_hat,
        };
        let o = self.or_raise(py.detach(|| rule.overlaps(teacher, at, port)))?;
        Ok((o.m, o.v, o.q(), o.tau0))
    }

    /// $\bar A$ per component of the reference port, this factor being the student's.
    #[pyo3(signature = (given, tau0_hat, teacher=None))]
    fn potential(
        &self,
        py: Python<'_>,
        given: Vec<Fields>,
        tau0_hat: Vec<f64>,
        teacher: Option<&Self>,
    ) -> PyResult<f64> {
        self.check_ports(&[given.len(), tau0_hat.len()], 0)?;
        let (rule, fields) = (self.average()?, fields(&given));
        let teacher = teacher.unwrap_or(self).inner.as_ref();
        let at = Averaged {
            fields: &fields,
            tau0_hat: &tau0_hat,
        };
        self.or_raise(py.detach(|| rule.potential(teacher, at)))
    }

    /// $H$, Bayes-optimal; `ports` gives size ratio and second moment of each.
    fn entropic_potential(
        &self,
        py: Python<'_>,
        given: Vec<Fields>,
        tau0_hat: Vec<f64>,
        ports: Vec<(f64, f64)>,
    ) -> PyResult<f64> {
        self.check_ports(&[given.len(), tau0_hat.len(), ports.len()], 0)?;
        let (rule, fields) = (self.average()?, fields(&given));
        let at = Averaged {
            fields: &fields,
            tau0_hat: &tau0_hat,
        };
        self.or_raise(py.detach(|| rule.entropic_potential(self.inner.as_ref(), at, &ports)))
    }

    /// Field, information and potential at which the average variance is `v`.
    fn gibbs(&self, tau0_hat: f64, v: f64) -> PyResult<(f64, f64, f64)> {
        self.average()?;
        let g = gibbs(self.inner.as_ref(), tau0_hat, v).map_err(|e| run_error(&e))?;
        Ok((g.m_hat, g.information, g.potential))
    }

    /// $H[y \mid z]$ per component, where it is defined.
    #[getter]
    fn noise_entropy(&self) -> Option<f64> {
        self.inner.noise_entropy()
    }

    /// Nodes and weights of the spectrum of $W^T W$, and the aspect ratio.
    #[getter]
    fn spectrum(&self) -> Option<(Vec<(f64, f64)>, f64)> {
        let spectrum = self.inner.spectrum()?;
        Some((spectrum.nodes().to_vec(), spectrum.alpha()))
    }

    fn __repr__(&self) -> String {
        format!(
            "<treeamp._lib.Factor {} [{}]>",
            self.name(),
            self.inner.summary()
        )
    }
}
