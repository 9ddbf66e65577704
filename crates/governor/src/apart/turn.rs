// SPDX-License-Identifier: GPL-2.0-only
//! Whose processes may look at a counter instead of waiting in the kernel: a thread that asks and the process that answers need a
//! processor each. More of them than half of the processors take processors from each other, and are slower together than one
//! after the other.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

/// A job begins without a turn after so long: it may be what the one that has it waits for.
const LONGEST: Duration = Duration::from_secs(1);

/// Turns that are taken.
static TAKEN: Mutex<usize> = Mutex::new(0);
static GIVEN_BACK: Condvar = Condvar::new();

thread_local! {
    /// This thread has a turn.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// A thread's leave to spin, for one job.
pub(crate) struct Turn {
    is_own: bool,
}

impl Turn {
    /// Waits for one. A job in another job of the same thread has that one's.
    pub(crate) fn take() -> Self {
        let most = most();
        if HERE.get() || most == 0 {
            return Self { is_own: false };
        }
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = GIVEN_BACK.wait_timeout_while(taken, LONGEST, |taken| *taken >= most);
        let (mut taken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        let is_own = !timeout.timed_out();
        if is_own {
            *taken += 1;
            HERE.set(true);
        }
        Self { is_own }
    }

    /// Whether this thread has one.
    pub(super) fn is_here() -> bool {
        HERE.get()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.is_own {
            HERE.set(false);
            *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
            GIVEN_BACK.notify_one();
        }
    }
}

/// Turns that there are.
fn most() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| available_parallelism().map_or(0, |processors| processors.get() / 2))
}
