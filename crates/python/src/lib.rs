// SPDX-License-Identifier: GPL-2.0-only
//! The native part of the Python package: commands as calls, results as tables. Names, types and defaults are in
//! `python/idlewise`.

mod governor;
mod result;
mod signal;
mod view;

use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use idlewise_cli::{Call, Listener};
use idlewise_governor::CallerGovernor;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use governor::{Given, PythonGovernor, Shared};
use result::Outcome;
use view::{CpuView, InputsView, StateView};

/// How often Python's signals are handled, and progress is passed on.
const PULSE: Duration = Duration::from_millis(50);
/// Bytes of the stack of a call: as much as a main thread has.
const STACK: usize = 8 << 20;

/// How far a call is: what, done, of.
type Step = (String, u64, u64);

/// Runs a command: its name and arguments as a shell would give them, which may name `governors`. `progress` is called with
/// (what, done, of) on the calling thread, while the work goes on without the GIL. An exception there, or Ctrl-C, ends the work at
/// its next step.
#[pyfunction]
#[pyo3(signature = (words, charts, progress=None, governors=Vec::new()))]
fn call(
    py: Python<'_>,
    words: Vec<OsString>,
    charts: bool,
    progress: Option<Py<PyAny>>,
    governors: Vec<Given>,
) -> PyResult<Outcome> {
    let shared = Arc::new(Shared::default());
    let at: Arc<Mutex<Option<Step>>> = Arc::default();
    let listener: Listener = {
        let (shared, at) = (Arc::clone(&shared), Arc::clone(&at));
        Arc::new(move |what, done, of| {
            *at.lock().unwrap_or_else(PoisonError::into_inner) = Some((what.to_owned(), done, of));
            !shared.ended.load(Ordering::Relaxed)
        })
    };
    let (tell, done) = channel();
    let runs_python = !governors.is_empty();
    let own = |given| Arc::new(PythonGovernor::of(given, &shared)) as Arc<dyn CallerGovernor>;
    let governors = governors.into_iter().map(own).collect();
    let call = Call { words, charts, listener: Some(listener), governors };
    let work = thread::Builder::new().name("idlewise".to_owned()).stack_size(STACK);
    let work = work.spawn(move || {
        let outcome = idlewise_cli::call(call);
        // Nobody waits where Ctrl-C was pressed.
        let _ = tell.send(outcome);
    })?;
    // Another thread may wait for it, so it is under a lock.
    let done = Mutex::new(done);
    let next = || done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PULSE);
    let mut told: Option<Step> = None;
    loop {
        match py.detach(next) {
            Ok(outcome) => return Ok(Outcome { outcome, shared }),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let why = work.join().err().map_or_else(String::new, |panic| reason(&*panic));
                return Err(PyRuntimeError::new_err(format!("a defect in idlewise: {why}")));
            }
        }
        let now = at.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let heard = py.check_signals().and_then(|()| match (&progress, now) {
            (Some(progress), Some(now)) if told.as_ref() != Some(&now) => {
                told = Some(now.clone());
                progress.call1(py, now).map(drop)
            }
            _ => Ok(()),
        });
        if let Err(why) = heard {
            shared.ended.store(true, Ordering::Relaxed);
            // No thread may be in Python when that ends.
            while runs_python && matches!(py.detach(next), Err(RecvTimeoutError::Timeout)) {
                shared.interrupt(py)?;
            }
            return Err(why);
        }
    }
}

/// What a panic said.
fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[pymodule]
fn _idlewise(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<Outcome>()?;
    m.add_class::<CpuView>()?;
    m.add_class::<InputsView>()?;
    m.add_class::<StateView>()?;
    m.add_function(wrap_pyfunction!(call, m)?)?;
    m.add_function(wrap_pyfunction!(result::file_stream, m)?)?;
    m.add_function(wrap_pyfunction!(signal::pelt, m)?)?;
    m.add_function(wrap_pyfunction!(signal::walt, m)?)
}
