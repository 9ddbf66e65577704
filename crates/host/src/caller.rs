// SPDX-License-Identifier: GPL-2.0-only
//! The program that called the command of this thread.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::OsString;
use std::panic::resume_unwind;
use std::sync::Arc;

use idlewise_chart::PageData;
use idlewise_governor::CallerGovernor;
use idlewise_report::Report;

use crate::failure::Failure;
use crate::outcome::{Kept, Outcome};

/// Hears what is being done, how much of it is done, and of how much; false ends the call.
pub type Listener = Arc<dyn Fn(&str, u64, u64) -> bool + Send + Sync>;

/// Hears a warning at once.
pub type WarningListener = Arc<dyn Fn(&str) + Send + Sync>;

/// How a command is called.
#[derive(Clone, Default)]
pub struct Call {
    /// The arguments, the command first, as a shell would give them.
    pub words: Vec<OsString>,
    /// Whether charts may be asked for later.
    pub charts: bool,
    /// Hears how far it is.
    pub listener: Option<Listener>,
    /// Hears warnings, which are in the outcome, too.
    pub warned: Option<WarningListener>,
    /// Governors that the program has itself, for options to name.
    pub governors: Vec<Arc<dyn CallerGovernor>>,
}

/// What the calling program wants, and what there is so far.
struct Caller {
    call: Call,
    outcome: Outcome,
}

thread_local! {
    // A command delivers on the thread that it was called on.
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// The listener ended the call.
struct Ended;

/// From now on a program called the command of this thread.
pub fn begin(mut call: Call) {
    idlewise_governor::offer(std::mem::take(&mut call.governors));
    CALLER.set(Some(Caller { call, outcome: Outcome::default() }));
}

/// What came of the call. Nobody called any more.
#[must_use]
pub fn end() -> Outcome {
    idlewise_governor::offer(Vec::new());
    CALLER.take().map(|caller| caller.outcome).unwrap_or_default()
}

/// Whether it is the listener who ended the call that panicked so.
#[must_use]
pub fn is_end(panic: &(dyn Any + Send)) -> bool {
    panic.is::<Ended>()
}

fn with<T>(use_it: impl FnOnce(&mut Caller) -> T) -> Option<T> {
    CALLER.with_borrow_mut(|caller| caller.as_mut().map(use_it))
}

/// Whether a program called the command that runs on this thread.
pub fn is_called() -> bool {
    with(|_| ()).is_some()
}

/// The arguments of the call, if a program called.
pub fn words() -> Option<Vec<String>> {
    with(|c| c.call.words.iter().map(|w| w.to_string_lossy().into_owned()).collect())
}

/// Whether the program may ask for charts.
pub fn wants_charts() -> bool {
    with(|c| c.call.charts).unwrap_or(false)
}

/// Keeps a result; false where no program called.
pub fn keep(
    report: &Report,
    json: impl FnOnce() -> Result<String, String>,
    about: impl FnOnce() -> Vec<(String, String)>,
) -> Result<bool, Failure> {
    if !is_called() {
        return Ok(false);
    }
    let kept = Kept { json: json()?, report: report.clone(), about: about() };
    with(|c| c.outcome.result = Some(kept));
    Ok(true)
}

/// Keeps all that text can show of a result.
pub fn keep_details(report: Report) {
    with(|c| c.outcome.details = Some(report));
}

/// Keeps what charts are made of.
pub fn keep_page(data: &PageData) {
    with(|c| c.outcome.page = Some(data.clone()));
}

/// Keeps a warning, and passes it on; false where no program called.
pub fn keep_warning(what: &str) -> bool {
    with(|c| {
        c.outcome.warnings.push(what.to_owned());
        c.call.warned.iter().for_each(|warned| warned(what));
    })
    .is_some()
}

/// Keeps what would be printed; false where no program called.
pub fn keep_said(bytes: &[u8]) -> bool {
    with(|c| c.outcome.said.push_str(&String::from_utf8_lossy(bytes))).is_some()
}

/// Who hears of progress, if a program called.
pub fn listener() -> Option<Listener> {
    with(|c| c.call.listener.clone()).flatten()
}

/// Tells the listener how far `what` is, on whatever thread; the call ends here if it says so.
pub fn step(listener: &Listener, what: &str, done: u64, of: u64) {
    if !listener(what, done, of) {
        // No message: it is what was asked for.
        resume_unwind(Box::new(Ended));
    }
}
