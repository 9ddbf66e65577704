// SPDX-License-Identifier: GPL-2.0-only
//! Sweeps whose parts are computed elsewhere: `python/idlewise/dask.py`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use idlewise_cli::Call;
use idlewise_collect::{NamedRecordings, RecordingFile, listed};
use idlewise_sweep::{KnownCase, PartFailure, Parts, RecordingHere, SentCode, Workplace, parts_of};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::ThreadPoolBuilder;

use crate::attend::{Heard, attend, defect, reason};
use crate::governor::Shared;

fn wrong(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(why.to_string())
}

/// Why a part has no lines: whether it is its recording, and in words.
type Failure = (bool, String);

/// The parts of the sweep that a command asks for, which keeps results in a folder; or why there are none.
#[pyfunction]
#[pyo3(signature = (words, progress=None))]
pub(crate) fn sweep_parts(
    py: Python<'_>,
    words: Vec<OsString>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Option<SweepParts>, Option<String>)> {
    let work = move |listener, _| {
        let call = Call { words, listener: Some(listener), ..Call::default() };
        parts_of(|| idlewise_cli::call(call))
    };
    let (outcome, parts) =
        attend(py, &Heard { progress, warned: None }, &Arc::new(Shared::default()), false, work)?;
    Ok((parts.map(|parts| SweepParts(Mutex::new(parts))), outcome.failure))
}

/// The files that are named, as JSON in and out.
#[pyfunction]
pub(crate) fn sweep_recordings(py: Python<'_>, named: &str) -> PyResult<String> {
    let named: Vec<NamedRecordings> = serde_json::from_str(named).map_err(wrong)?;
    let files = py.detach(|| listed(&named)).map_err(wrong)?;
    serde_json::to_string(&files).map_err(wrong)
}

/// The cases of a sweep's result.
pub(crate) fn known_cases(json: &str) -> PyResult<Vec<KnownCase>> {
    serde_json::from_str(json).map_err(wrong)
}

/// A sweep whose parts are computed elsewhere.
#[pyclass(frozen)]
pub(crate) struct SweepParts(Mutex<Parts>);

impl SweepParts {
    fn with<T>(&self, use_it: impl FnOnce(&mut Parts) -> T) -> T {
        use_it(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl SweepParts {
    /// What is to be computed, for workplaces.
    fn order(&self) -> PyResult<String> {
        self.with(|parts| parts.order()).map_err(wrong)
    }

    /// Compiled code of governors that do not ship with idlewise, by its content.
    fn code<'p>(&self, py: Python<'p>) -> PyResult<BTreeMap<String, Bound<'p, PyBytes>>> {
        let code = self.with(|parts| parts.code()).map_err(wrong)?;
        Ok(code.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect())
    }

    /// The recordings of the request, as it has them.
    #[getter]
    fn recordings(&self) -> Vec<OsString> {
        // Python's own paths would make s3:/ of s3://.
        self.with(|parts| {
            parts.request().recordings.iter().map(|path| path.clone().into_os_string()).collect()
        })
    }

    /// Machines that each recording is replayed on.
    #[getter]
    fn platforms(&self) -> usize {
        self.with(|parts| parts.request().platforms.len().max(1))
    }

    #[getter]
    fn settings(&self) -> u64 {
        self.with(|parts| parts.settings())
    }

    /// What setting number `n` is called.
    fn setting(&self, n: u64) -> PyResult<String> {
        self.with(|parts| parts.setting(n)).map_err(wrong)
    }

    /// Whether the facts of a case are still to be found, and the first and last but one of settings that are still to run.
    fn todo(&self, case: &str) -> PyResult<(bool, Vec<(u64, u64)>)> {
        let todo = self.with(|parts| parts.todo(case)).map_err(wrong)?;
        Ok((todo.facts, todo.settings.into_iter().map(|range| (range.start, range.end)).collect()))
    }

    /// Keeps what `worker` computed of a case; gives the file.
    fn keep(&self, py: Python<'_>, case: &str, lines: &str, worker: &str) -> PyResult<PathBuf> {
        py.detach(|| self.with(|parts| parts.keep(case, lines, worker)))
            .map_err(|e| PyOSError::new_err(e.to_string()))
    }
}

/// Where parts of a sweep are computed, each on one thread.
#[pyclass(frozen)]
pub(crate) struct SweepWorkplace(Workplace);

#[pymethods]
impl SweepWorkplace {
    #[new]
    fn new(order: &str, code: SentCode, folder: PathBuf) -> PyResult<Self> {
        Ok(Self(Workplace::of(order, &code, &folder).map_err(wrong)?))
    }

    /// Reads a recording, which is at `here`, for what its results are kept by: JSON in and out.
    fn read(&self, py: Python<'_>, file: &str, here: PathBuf) -> PyResult<String> {
        let file: RecordingFile = serde_json::from_str(file).map_err(wrong)?;
        let recording = RecordingHere { file: &file, here: &here };
        let read = alone(py, || self.0.read(&recording))?;
        serde_json::to_string(&read).map_err(wrong)
    }

    /// Runs settings from `start` to before `end` on a recording, on machine number `platform`: lines, or why there are none.
    #[expect(clippy::too_many_arguments, reason = "as a part is named")]
    fn run(
        &self,
        py: Python<'_>,
        file: &str,
        here: PathBuf,
        platform: usize,
        key: &str,
        start: u64,
        end: u64,
        facts: bool,
    ) -> PyResult<(Option<String>, Option<Failure>)> {
        let file: RecordingFile = serde_json::from_str(file).map_err(wrong)?;
        let recording = RecordingHere { file: &file, here: &here };
        Ok(match alone(py, || self.0.run(&recording, platform, key, start..end, facts))? {
            Ok(lines) => (Some(lines), None),
            Err(PartFailure::Recording(why)) => (None, Some((true, why))),
            Err(PartFailure::Other(why)) => (None, Some((false, why))),
        })
    }
}

/// Does `work` on one thread: who runs several parts at a time has as many.
fn alone<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let done = py.detach(|| {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
        Ok::<_, String>(catch_unwind(AssertUnwindSafe(|| pool.install(work))))
    });
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(panic)) => Err(defect(&reason(&*panic))),
        Err(why) => Err(PyOSError::new_err(format!("no thread can be started: {why}"))),
    }
}
