//! Grids, streams, journals and tables, shared with the command line's sweeps.

use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use treeamp_lab::sweep::{
    Axis, Grid, Journal as NativeJournal, Record, Row, SweepError, Table, Value, stream_seed,
};

fn raise(error: SweepError) -> PyErr {
    match error {
        SweepError::File { .. } | SweepError::Busy { .. } => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A scalar of Python; numpy's have been converted before.
fn to_value(x: &Bound<'_, PyAny>, name: &str) -> PyResult<Value> {
    if x.is_none() {
        return Ok(Value::Missing);
    }
    if x.is_instance_of::<PyBool>() {
        return Ok(Value::Flag(x.extract()?));
    }
    if x.is_instance_of::<PyInt>() {
        let exact = x.extract::<i64>().map(Value::Integer);
        return exact.or_else(|_| Ok(Value::Text(x.str()?.to_string())));
    }
    if x.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(x.extract()?));
    }
    if x.is_instance_of::<PyString>() {
        return Ok(Value::Text(x.extract()?));
    }
    let got = x.get_type().name()?.to_string();
    let text = format!("`{name}` must be a number, a text, a truth value or None, got {got}");
    Err(PyTypeError::new_err(text))
}

fn to_python(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Missing => py.None(),
        Value::Flag(flag) => PyBool::new(py, *flag).to_owned().into_any().unbind(),
        Value::Integer(i) => i.into_pyobject(py)?.into_any().unbind(),
        Value::Number(x) => PyFloat::new(py, *x).into_any().unbind(),
        Value::Text(text) => PyString::new(py, text).into_any().unbind(),
    })
}

/// Columns and lines of a table, as Python has them.
type Lines = (Vec<String>, Vec<Vec<Py<PyAny>>>);

/// One line of results: names and values.
type Pairs<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// A grid of parameters and seeds.
#[pyclass(frozen, module = "treeamp._lib")]
pub struct Sweep {
    grid: Grid,
    /// Parameters that are the same in all cells, and part of their streams.
    fixed: Vec<(String, Value)>,
}

#[pymethods]
impl Sweep {
    #[new]
    #[pyo3(signature = (axes, seeds, fixed=Vec::new()))]
    fn new(
        axes: Vec<(String, Vec<Bound<'_, PyAny>>)>,
        seeds: Vec<u64>,
        fixed: Pairs<'_>,
    ) -> PyResult<Self> {
        let axes = axes
            .into_iter()
            .map(|(name, values)| {
                let values = values.iter().map(|x| to_value(x, &name));
                Ok(Axis {
                    values: values.collect::<PyResult<_>>()?,
                    name,
                })
            })
            .collect::<PyResult<Vec<_>>>()?;
        let grid = Grid::new(axes, seeds).map_err(raise)?;
        let fixed = fixed.into_iter().map(|(name, x)| {
            let value = to_value(&x, &name)?;
            Ok((name, value))
        });
        Ok(Self {
            grid,
            fixed: fixed.collect::<PyResult<_>>()?,
        })
    }

    /// `(key, seed, stream seed, places of the values on their axes)` of every cell, in order.
    #[getter]
    fn cells(&self) -> Vec<(String, u64, u64, Vec<usize>)> {
        let place = |(axis, value): (&Axis, &Value)| {
            axis.values
                .iter()
                .position(|v| v == value)
                .unwrap_or_default()
        };
        let cells = self.grid.cells().iter().map(|cell| {
            let values = cell.parameters.iter().map(|(_, value)| value);
            let places = self.grid.axes().iter().zip(values).map(place);
            (
                cell.key.clone(),
                cell.seed,
                stream_seed(cell.seed, &[&cell.parameters[..], &self.fixed].concat()),
                places.collect(),
            )
        });
        cells.collect()
    }

    /// The table of the finished cells: columns and lines.
    fn table(&self, py: Python<'_>, journal: &Journal) -> PyResult<Lines> {
        let table = self.of(journal);
        let line = |row: &Vec<Value>| row.iter().map(|v| to_python(py, v)).collect();
        let rows = table.rows.iter().map(line).collect::<PyResult<_>>()?;
        Ok((table.columns, rows))
    }
}

impl Sweep {
    fn of(&self, journal: &Journal) -> Table {
        Table::of(&self.grid, &journal.records())
    }
}

/// Finished cells: in a file that another process cannot write at the same time, or in memory.
#[pyclass(module = "treeamp._lib")]
pub struct Journal {
    file: Option<NativeJournal>,
    memory: Vec<Record>,
}

#[pymethods]
impl Journal {
    #[new]
    #[pyo3(signature = (path=None, configuration="{}", resume=true))]
    fn new(path: Option<&str>, configuration: &str, resume: bool) -> PyResult<Self> {
        let bad = |e: serde_json::Error| PyValueError::new_err(e.to_string());
        let configuration = serde_json::from_str(configuration).map_err(bad)?;
        let file = path.map(|p| {
            if resume {
                NativeJournal::open(p, &configuration)
            } else {
                NativeJournal::start(p, &configuration)
            }
        });
        Ok(Self {
            file: file.transpose().map_err(raise)?,
            memory: Vec::new(),
        })
    }

    /// Whether a cell is finished; one that failed is not, and will be tried again.
    fn has(&self, key: &str) -> bool {
        let remembered = || self.memory.iter().any(|r| r.key == key && r.rows.is_ok());
        match &self.file {
            Some(file) => file.finished(key).is_some_and(|r| r.rows.is_ok()),
            None => remembered(),
        }
    }

    /// The cells that are finished and did not fail.
    #[getter]
    fn finished(&self) -> Vec<String> {
        let done = self.records().into_iter().filter(|r| r.rows.is_ok());
        done.map(|r| r.key).collect()
    }

    /// Adds a finished cell: its lines, or why it failed.
    #[pyo3(signature = (key, rows, seconds))]
    fn append(&mut self, key: &str, rows: Vec<Pairs<'_>>, seconds: f64) -> PyResult<()> {
        let rows = rows.iter().map(|pairs| {
            let mut row = Row::new();
            for (name, x) in pairs {
                row.set(name, to_value(x, name)?);
            }
            Ok(row)
        });
        let rows = rows.collect::<PyResult<_>>()?;
        self.add(key, Ok(rows), seconds)
    }

    /// Adds a cell that failed.
    fn fail(&mut self, key: &str, reason: String, seconds: f64) -> PyResult<()> {
        self.add(key, Err(reason), seconds)
    }

    /// Closes the file; another process may then write it.
    fn close(&mut self) {
        if let Some(file) = self.file.take() {
            self.memory = file.records().cloned().collect();
        }
    }
}

impl Journal {
    fn add(&mut self, key: &str, rows: Result<Vec<Row>, String>, seconds: f64) -> PyResult<()> {
        let record = Record {
            key: key.to_owned(),
            rows,
            seconds,
        };
        if let Some(file) = &mut self.file {
            return file.append(&record).map_err(raise);
        }
        self.memory.push(record);
        Ok(())
    }

    fn records(&self) -> Vec<Record> {
        match &self.file {
            Some(file) => file.records().cloned().collect(),
            None => self.memory.clone(),
        }
    }
}

/// Writes a file whole or not at all.
#[pyfunction]
pub fn write_whole(path: &str, text: &str) -> PyResult<()> {
    treeamp_lab::data::write_whole(path, text.as_bytes())
        .map_err(|e| PyOSError::new_err(format!("cannot write {path}: {e}")))
}
