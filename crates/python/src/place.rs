// SPDX-License-Identifier: GPL-2.0-only
//! Where a call can be made: not within a governor that a call runs, and not in a process that has none of the threads.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that made the first call; 0 before.
static FIRST_PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// This thread runs a governor that is written in Python.
    static IN_GOVERNOR: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one that runs a governor in Python while `job` runs.
pub(crate) fn in_governor(job: &mut dyn FnMut()) {
    let before = IN_GOVERNOR.replace(true);
    job();
    IN_GOVERNOR.set(before);
}

/// Why no call can be made here.
pub(crate) fn refusal() -> Option<&'static str> {
    if IN_GOVERNOR.get() {
        return Some(
            "idlewise was called by a governor that a call of idlewise runs, which would wait for itself; compute what it needs before",
        );
    }
    let own = std::process::id();
    let first = FIRST_PROCESS.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed);
    first.is_err_and(|first| first != own).then_some(
        "this process was forked from one that had called idlewise, and has none of its threads; start it by spawn or forkserver \
         (multiprocessing.get_context(\"spawn\")), or fork before the first call",
    )
}
