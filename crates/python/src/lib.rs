// SPDX-License-Identifier: GPL-2.0-only
//! The native part of the Python package: commands as calls, results as tables. Names, types and defaults are in
//! `python/idlewise`.

mod attend;
mod governor;
mod place;
mod result;
mod signal;
mod sweep;
mod view;

use std::ffi::OsString;
use std::sync::Arc;

use idlewise_cli::Call;
use idlewise_governor::CallerGovernor;
use pyo3::prelude::*;

use attend::{Heard, attend};
use governor::{Given, PythonGovernor, Shared};
use result::Outcome;
use view::{CpuView, InputsView, StateView};

/// Runs a command: its name and arguments as a shell would give them, which may name `governors`. `progress` is called with
/// (what, done, of) on the calling thread, while the work goes on without the GIL. An exception there, or Ctrl-C, ends the work at
/// its next step. `cases` are what a sweep has instead of recordings, as JSON. `warned` is called with the text of each warning, at once.
#[pyfunction]
#[pyo3(signature = (words, charts, progress=None, governors=Vec::new(), cases=None, warned=None))]
fn call(
    py: Python<'_>,
    words: Vec<OsString>,
    charts: bool,
    progress: Option<Py<PyAny>>,
    governors: Vec<Given>,
    cases: Option<&str>,
    warned: Option<Py<PyAny>>,
) -> PyResult<Outcome> {
    let shared = Arc::new(Shared::default());
    let runs_python = !governors.is_empty();
    let own = |given| Arc::new(PythonGovernor::of(given, &shared)) as Arc<dyn CallerGovernor>;
    let governors = governors.into_iter().map(own).collect();
    let cases = cases.map(sweep::known_cases).transpose()?;
    let heard = Heard { progress, warned };
    let outcome = attend(py, &heard, &shared, runs_python, move |listener, warned| {
        let call = Call { words, charts, listener: Some(listener), warned, governors };
        match cases {
            Some(cases) => idlewise_sweep::with_known(cases, || idlewise_cli::call(call)),
            None => idlewise_cli::call(call),
        }
    })?;
    Ok(Outcome { outcome, shared })
}

#[pymodule]
fn _idlewise(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<Outcome>()?;
    m.add_class::<CpuView>()?;
    m.add_class::<InputsView>()?;
    m.add_class::<StateView>()?;
    m.add_class::<sweep::SweepParts>()?;
    m.add_class::<sweep::SweepWorkplace>()?;
    m.add_function(wrap_pyfunction!(call, m)?)?;
    m.add_function(wrap_pyfunction!(attend::ending, m)?)?;
    m.add_function(wrap_pyfunction!(sweep::sweep_parts, m)?)?;
    m.add_function(wrap_pyfunction!(sweep::sweep_recordings, m)?)?;
    m.add_function(wrap_pyfunction!(result::file_stream, m)?)?;
    m.add_function(wrap_pyfunction!(signal::pelt, m)?)?;
    m.add_function(wrap_pyfunction!(signal::walt, m)?)
}
