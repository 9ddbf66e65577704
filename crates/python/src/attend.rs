// SPDX-License-Identifier: GPL-2.0-only
//! Work for Python on a thread of its own, which hears of Ctrl-C. Python hears of progress and warnings meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use idlewise_cli::{Listener, WarningListener};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::governor::Shared;
use crate::place::refusal;

/// How often Python's signals are handled, and progress is passed on.
const PULSE: Duration = Duration::from_millis(50);
/// Bytes of the stack of a call: as much as a main thread has.
const STACK: usize = 8 << 20;

/// How often, a millisecond apart, Python looks at its end whether the calls of other threads stand still.
const LAST_LOOKS: u32 = 2_000;

/// Python is ending, so no thread may wait for it any more.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Threads of Python's that are in a call, and those of them that stand still since Python ends.
static ATTENDING: AtomicUsize = AtomicUsize::new(0);
static STANDING: AtomicUsize = AtomicUsize::new(0);
/// Python ends: the threads of its own that are in a call stand still, since none may come back into Python. To be called by atexit.
#[pyfunction]
pub(crate) fn ending(py: Python<'_>) {
    ENDING.store(true, Ordering::SeqCst);
    py.detach(|| {
        let moving = |_: &u32| ATTENDING.load(Ordering::SeqCst) > STANDING.load(Ordering::SeqCst);
        (0..LAST_LOOKS).take_while(moving).for_each(|_| thread::sleep(Duration::from_millis(1)));
    });
}

/// Counts a thread of Python's as in a call.
struct Attending;

impl Attending {
    fn begin() -> Self {
        ATTENDING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Attending {
    fn drop(&mut self) {
        ATTENDING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How far a call is: what, done, of.
type Step = (String, u64, u64);

/// What Python wants to hear of while it waits.
#[derive(Default)]
pub(crate) struct Heard {
    /// Called with (what, done, of).
    pub(crate) progress: Option<Py<PyAny>>,
    /// Called with the text of each warning.
    pub(crate) warned: Option<Py<PyAny>>,
}

/// Does `work` on a thread of its own, and listens meanwhile. `work` gets what it tells of progress and warnings.
pub(crate) fn attend<T: Send + 'static>(
    py: Python<'_>,
    heard: &Heard,
    shared: &Arc<Shared>,
    runs_python: bool,
    work: impl FnOnce(Listener, Option<WarningListener>) -> T + Send + 'static,
) -> PyResult<T> {
    if let Some(why) = refusal() {
        return Err(PyRuntimeError::new_err(why));
    }
    let _attending = Attending::begin();
    let at: Arc<Mutex<Option<Step>>> = Arc::default();
    let listener: Listener = {
        let (shared, at) = (Arc::clone(shared), Arc::clone(&at));
        Arc::new(move |what, done, of| {
            *at.lock().unwrap_or_else(PoisonError::into_inner) = Some((what.to_owned(), done, of));
            !shared.ended.load(Ordering::Relaxed)
        })
    };
    let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
    let warned = heard.warned.as_ref().map(|_| {
        let warnings = Arc::clone(&warnings);
        Arc::new(move |what: &str| {
            warnings.lock().unwrap_or_else(PoisonError::into_inner).push(what.to_owned());
        }) as WarningListener
    });
    let warn = || -> PyResult<()> {
        let all = std::mem::take(&mut *warnings.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(warned) = &heard.warned else { return Ok(()) };
        all.into_iter().try_for_each(|text| warned.call1(py, (text,)).map(drop))
    };
    let (tell, done) = channel();
    let thread = thread::Builder::new().name("idlewise".to_owned()).stack_size(STACK);
    let thread = thread.spawn(move || {
        let outcome = work(listener, warned);
        // Nobody waits where Ctrl-C was pressed.
        let _ = tell.send(outcome);
    })?;
    // Another thread may wait for it, so it is under a lock.
    let done = Mutex::new(done);
    let next = || {
        let next = done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(PULSE);
        if ENDING.load(Ordering::SeqCst) {
            STANDING.fetch_add(1, Ordering::SeqCst);
            loop {
                thread::park();
            }
        }
        next
    };
    let mut told: Option<Step> = None;
    loop {
        match py.detach(next) {
            Ok(outcome) => return warn().map(|()| outcome),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let why = thread.join().err().map_or_else(String::new, |panic| reason(&*panic));
                return Err(defect(&why));
            }
        }
        let now = at.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let went = py.check_signals().and_then(|()| warn()).and_then(|()| match (&heard.progress, now) {
            (Some(progress), Some(now)) if told.as_ref() != Some(&now) => {
                told = Some(now.clone());
                progress.call1(py, now).map(drop)
            }
            _ => Ok(()),
        });
        if let Err(why) = went {
            shared.ended.store(true, Ordering::Relaxed);
            // No thread may be in Python when that ends.
            while runs_python && matches!(py.detach(next), Err(RecvTimeoutError::Timeout)) {
                shared.interrupt(py)?;
            }
            return Err(why);
        }
    }
}

pub(crate) fn defect(why: &str) -> PyErr {
    PyRuntimeError::new_err(format!("a defect in idlewise: {why}"))
}

/// What a panic said.
pub(crate) fn reason(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}
