// SPDX-License-Identifier: GPL-2.0-only
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustix::process::{Pid, Signal, kill_process_group};

/// Ends a session from another thread: what runs is killed, then the session restores everything and returns.
#[derive(Debug, Default)]
pub struct Stop {
    asked: AtomicBool,
    child: AtomicU32,
}

impl Stop {
    /// A session that goes on.
    #[must_use]
    pub const fn new() -> Self {
        Self { asked: AtomicBool::new(false), child: AtomicU32::new(0) }
    }

    /// Ends the session after the run that is under way.
    pub fn now(&self) {
        self.asked.store(true, Ordering::SeqCst);
        self.kill();
    }

    pub(super) fn is_set(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    pub(super) fn watch(&self, child: u32) {
        self.child.store(child, Ordering::SeqCst);
        // Asked for between the last look and now.
        if self.is_set() {
            self.kill();
        }
    }

    pub(super) fn forget(&self) {
        self.child.store(0, Ordering::SeqCst);
    }

    fn kill(&self) {
        let child = self.child.load(Ordering::SeqCst).cast_signed();
        if let Some(pid) = Pid::from_raw(child) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
