// SPDX-License-Identifier: GPL-2.0-only
//! What a command came to, for Python.

use std::fs::File;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_ipc::reader::FileReader;
use idlewise_cli::Form;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

use crate::governor::Shared;

/// What a command came to.
#[pyclass(frozen)]
pub(crate) struct Outcome {
    pub(crate) outcome: idlewise_cli::Outcome,
    /// What governors in Python have raised.
    pub(crate) shared: Arc<Shared>,
}

fn refused(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(why.to_string())
}

#[pymethods]
impl Outcome {
    /// Whether a comparison found no difference, and a check no violation.
    #[getter]
    fn same(&self) -> bool {
        self.outcome.same
    }

    /// Why it was not done, or not all of it; else None.
    #[getter]
    fn failure(&self) -> Option<&str> {
        self.outcome.failure.as_deref()
    }

    /// The exception of a governor in Python that is the reason of `failure`, or None.
    #[getter]
    fn cause(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let error = self.shared.cause(py, self.failure()?)?;
        Some(error.into_value(py).into_any())
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.outcome.warnings.clone()
    }

    /// What the command prints besides a result.
    #[getter]
    fn said(&self) -> &str {
        &self.outcome.said
    }

    /// The result as JSON, the same bytes as `--format json` prints; None where there is none.
    #[getter]
    fn json(&self) -> Option<&str> {
        self.outcome.json()
    }

    /// The result in a form of `--format`.
    fn encode<'p>(&self, py: Python<'p>, form: &str) -> PyResult<Bound<'p, PyBytes>> {
        let form: Form = form.parse().map_err(refused)?;
        let bytes = py.detach(|| self.outcome.encode(form)).map_err(refused)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Everything that the text can show.
    fn details(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.outcome.details()).map_err(refused)
    }

    /// A page with all charts, for a browser.
    fn page(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.outcome.page()).map_err(refused)
    }

    fn svg(&self, py: Python<'_>, chart: &str) -> PyResult<String> {
        py.detach(|| self.outcome.svg(chart)).map_err(refused)
    }

    /// The table of the result as a stream of Arrow's C data interface, which takes the columns without a copy.
    fn arrow_stream<'p>(&self, py: Python<'p>) -> PyResult<Bound<'p, PyCapsule>> {
        let bytes = py.detach(|| self.outcome.encode(Form::Arrow)).map_err(refused)?;
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
