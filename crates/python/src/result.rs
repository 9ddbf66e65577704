// SPDX-License-Identifier: GPL-2.0-only
//! What a command came to, for Python.

use std::fs::File;
use std::io::Cursor;
use std::path::PathBuf;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_ipc::reader::FileReader;
use idlewise_cli::Form;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

/// What a command came to.
#[pyclass(frozen)]
pub(crate) struct Outcome(pub(crate) idlewise_cli::Outcome);

fn refused(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(why.to_string())
}

#[pymethods]
impl Outcome {
    /// Whether a comparison found no difference, and a check no violation.
    #[getter]
    fn same(&self) -> bool {
        self.0.same
    }

    /// Why it was not done, or not all of it; else None.
    #[getter]
    fn failure(&self) -> Option<&str> {
        self.0.failure.as_deref()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// What the command prints besides a result.
    #[getter]
    fn said(&self) -> &str {
        &self.0.said
    }

    /// The result as JSON, the same bytes as `--format json` prints; None where there is none.
    #[getter]
    fn json(&self) -> Option<&str> {
        self.0.json()
    }

    /// The result in a form of `--format`.
    fn encode<'p>(&self, py: Python<'p>, form: &str) -> PyResult<Bound<'p, PyBytes>> {
        let form: Form = form.parse().map_err(refused)?;
        let bytes = py.detach(|| self.0.encode(form)).map_err(refused)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Everything that the text can show.
    fn details(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.details()).map_err(refused)
    }

    /// A page with all charts, for a browser.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.page()).map_err(refused)
    }

    fn svg(&self, py: Python<'_>, chart: &str) -> PyResult<String> {
        py.detach(|| self.0.svg(chart)).map_err(refused)
    }

    fn png<'p>(&self, py: Python<'p>, chart: &str) -> PyResult<Bound<'p, PyBytes>> {
        let bytes = py.detach(|| self.0.png(chart)).map_err(refused)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The table of the result as a stream of Arrow's C data interface, which takes the columns without a copy.
    fn arrow_stream<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyCapsule>> {
        let bytes = py.detach(|| self.0.encode(Form::Arrow)).map_err(refused)?;
        capsule(py, FileReader::try_new(Cursor::new(bytes), None).map_err(refused)?)
    }
}

/// The batches of an Arrow file as such a stream, each read when it is asked for.
#[pyfunction]
pub(crate) fn file_stream(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyCapsule>> {
    let failed = |why: &dyn std::fmt::Display| refused(format!("{}: {why}", path.display()));
    let file = File::open(&path).map_err(|e| failed(&e))?;
    capsule(py, FileReader::try_new_buffered(file, None).map_err(|e| failed(&e))?)
}

fn capsule(
    py: Python<'_>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new(py, stream, Some(c"arrow_array_stream".to_owned()))
}
