// SPDX-License-Identifier: GPL-2.0-only
//! A governor's own process, and calls into it.
//!
//! Both sides share a [`Region`]. A call is written there, and then it is the other side's turn: whoever waits looks for its turn for
//! some microseconds, and then sleeps until the other one wakes it. Where the governor crashes, or does not return, that is kept, and it
//! is asked no more.
#![expect(unsafe_code, reason = "writes calls into shared memory, and looks after a process by system calls")]

use std::ptr;
use std::sync::atomic::Ordering;

use crate::GovernorError;
use crate::abi::{Control, GOVERNORS_TURN, HOSTS_TURN, SLEEPS};
use crate::birth;
use crate::child::{Child, Watch, signal_name};
use crate::position::{FirstFailure, Place};
use crate::region::{Part, Region};
use crate::turns::{self, spins};

/// The first time that the host sleeps without looking after the process, and the longest, ms.
const FIRST_SLEEP_MS: u32 = 1;
const LONGEST_SLEEP_MS: u32 = 100;
/// Calls without a look for a turn after looks that were in vain, at most: there is no CPU for the other side.
const MOST_BLIND: u32 = 255;

/// A governor's process, which lives as long as this.
pub(crate) struct Process {
    /// Goes before the memory.
    child: Child,
    pub(crate) region: Region,
    /// What errors call the governor.
    label: String,
    patience_s: u64,
    failure: FirstFailure,
    failed: bool,
    /// How many calls the next look in vain costs, and how many of these are left.
    blind: u32,
    blind_left: u32,
}

impl Process {
    /// Starts one for the object in `region`; `shadow` is memory that its sanitizer needs.
    pub(crate) fn new(
        region: Region,
        shadow: Option<Part>,
        label: String,
        patience_s: u64,
        failure: FirstFailure,
    ) -> Result<Self, GovernorError> {
        let pid = birth::process(&region, shadow)
            .map_err(|e| GovernorError::Lost { id: label.clone(), why: format!("no process for it: {e}") })?;
        let child = Child::new(pid);
        Ok(Self { child, region, label, patience_s, failure, failed: false, blind: 0, blind_left: 0 })
    }

    /// Whether it has failed: then what it gives means nothing.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    /// Calls a function of the object; `place` is where that is for a message. 0 when it has failed.
    #[inline]
    pub(crate) fn call(&mut self, place: Place, function: usize, arguments: [usize; 3]) -> usize {
        if self.failed {
            return 0;
        }
        turns::take();
        let control = self.region.control();
        // SAFETY: the control block is mapped as long as the region; it is the host's turn, and what the governor writes there
        // meanwhile of its own accord is any number.
        unsafe {
            (&raw mut (*control).function).write_volatile(function as _);
            (&raw mut (*control).arguments).write_volatile(arguments.map(|argument| argument as _));
        }
        self.hand_over();
        if self.blind_left > 0 || !self.is_back_soon() {
            self.slow(place);
        } else {
            self.blind = 0;
        }
        // SAFETY: as above.
        unsafe { (&raw const (*control).result).read_volatile() as usize }
    }

    fn turn(&self) -> &std::sync::atomic::AtomicU32 {
        let control: *const Control = self.region.control();
        // SAFETY: mapped as long as `self`; an atomic may be written to by others.
        unsafe { &(*control).turn }
    }

    #[inline]
    fn hand_over(&self) {
        let before = self.turn().swap(GOVERNORS_TURN, Ordering::AcqRel);
        if before & SLEEPS != 0 {
            // SAFETY: wakes whoever sleeps at this address.
            unsafe {
                libc::syscall(libc::SYS_futex, ptr::from_ref(self.turn()), libc::FUTEX_WAKE, 1);
            }
        }
    }

    /// Looks for a moment whether it is the host's turn again.
    #[inline]
    fn is_back_soon(&self) -> bool {
        for _ in 0..spins() {
            if self.turn().load(Ordering::Acquire) & GOVERNORS_TURN == 0 {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// The other side was not back at once: both sleep while they wait for some calls, before they try again.
    #[cold]
    fn slow(&mut self, place: Place) {
        if self.blind_left > 0 {
            self.blind_left -= 1;
        } else {
            self.blind = (self.blind * 2 + 1).min(MOST_BLIND);
            self.blind_left = self.blind;
        }
        self.wait(place);
        let spins = if self.blind_left > 0 { 0 } else { spins() };
        // SAFETY: the control block is mapped as long as the region.
        unsafe { (&raw mut (*self.region.control()).spins).write_volatile(spins) };
    }

    /// Sleeps until it is the host's turn again, or the process has failed.
    #[cold]
    fn wait(&mut self, place: Place) {
        let mut watch = Watch::new(self.patience_s);
        let mut sleep_ms = FIRST_SLEEP_MS;
        loop {
            let turn = self.turn().load(Ordering::Acquire);
            if turn & GOVERNORS_TURN == 0 {
                return;
            }
            let sleeping = GOVERNORS_TURN | SLEEPS;
            // Fails where it is the host's turn by now; then there is nothing to wait for.
            let _ = self.turn().compare_exchange(turn, sleeping, Ordering::AcqRel, Ordering::Acquire);
            let pause = libc::timespec { tv_sec: 0, tv_nsec: i64::from(sleep_ms) * 1_000_000 };
            // SAFETY: waits at an address that is mapped, for no longer than `pause`.
            let woken = unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    ptr::from_ref(self.turn()),
                    libc::FUTEX_WAIT,
                    sleeping,
                    &raw const pause,
                )
            };
            if woken == 0 || self.turn().load(Ordering::Acquire) & GOVERNORS_TURN == 0 {
                continue;
            }
            if let Some(why) = self.failure_of(&mut watch, sleep_ms == LONGEST_SLEEP_MS, place) {
                self.failure.keep(why);
                self.failed = true;
                self.child.end();
                self.turn().store(HOSTS_TURN, Ordering::Release);
                return;
            }
            sleep_ms = (sleep_ms * 2).min(LONGEST_SLEEP_MS);
        }
    }

    fn failure_of(&mut self, watch: &mut Watch, look: bool, place: Place) -> Option<GovernorError> {
        let (id, at) = (self.label.clone(), place.describe());
        if let Some(status) = self.child.ended() {
            return Some(if libc::WIFSIGNALED(status) {
                GovernorError::Crashed { id, signal: signal_name(libc::WTERMSIG(status)), at }
            } else {
                let code = libc::WEXITSTATUS(status);
                GovernorError::Lost {
                    id,
                    why: format!("its process ended by itself, with status {code}, {at}"),
                }
            });
        }
        let why = if look { watch.look(&self.child) } else { None };
        why.map(|why| GovernorError::Stuck { id, why, at })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        turns::leave();
    }
}
