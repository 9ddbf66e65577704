// SPDX-License-Identifier: GPL-2.0-only
//! A governor's own process, and calls into it.
//!
//! Both sides share a [`Region`]. A call is written there, and then it is the other side's turn: whoever waits looks for its turn for
//! some microseconds, and then sleeps until the other one wakes it. A call that has no answer is not waited for before the next one. Where
//! the governor crashes, or does not return, that is kept, and it is asked no more.
#![expect(unsafe_code, reason = "writes calls into shared memory, and looks after a process by system calls")]

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::GovernorError;
use crate::abi::{Control, GOVERNORS_TURN, HOSTS_TURN, SLEEPS};
use crate::child::{Child, Here, Together, Watch, signal_name};
use crate::failure::FirstFailure;
use crate::position::Place;
use crate::region::{Part, Region};
use crate::spawn;
use crate::turns::{self, spins};

/// The first time that the host sleeps without looking after the process, and the longest, which is below a second.
const FIRST_SLEEP: Duration = Duration::from_millis(1);
const LONGEST_SLEEP: Duration = Duration::from_millis(100);
/// Calls in which nobody looks for a turn after looks that were in vain, at most: there is no CPU for the other side. Both are on one
/// CPU then, where to change between them takes some microseconds.
const MOST_BLIND: u32 = 4095;
/// A first look is so many times as long as others: the other side has to be woken on a CPU that may be asleep.
const FIRST_LOOK: u32 = 10;
/// After so many looks that were not in vain there is a CPU for each side.
const SEEN: u32 = 64;

/// A governor's process, which lives as long as this.
pub(crate) struct Process {
    /// Goes before the memory.
    child: RefCell<Child>,
    pub(crate) region: Region,
    /// What errors call the governor.
    label: String,
    patience_s: u64,
    failure: FirstFailure,
    failed: Cell<bool>,
    /// The call that it is about, if nobody has waited for its end.
    posted: Cell<Option<Place>>,
    /// In how many calls nobody looks after the last look in vain, and how many of these are left.
    blind: Cell<u32>,
    blind_left: Cell<u32>,
    /// Looks that were not in vain since then.
    seen: Cell<u32>,
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
        let pid = spawn::process(&region, shadow)
            .map_err(|e| GovernorError::Lost { id: label.clone(), why: format!("no process for it: {e}") })?;
        let child = Child::new(pid);
        Ok(Self {
            child: RefCell::new(child),
            region,
            label,
            patience_s,
            failure,
            failed: Cell::new(false),
            posted: Cell::new(None),
            blind: Cell::new(0),
            blind_left: Cell::new(0),
            seen: Cell::new(0),
        })
    }

    /// Whether it has failed: then what it gives means nothing.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.get()
    }

    /// Calls a function of the object; `place` is where that is for a message. 0 when it has failed.
    #[inline]
    pub(crate) fn call(&self, place: Place, function: usize, arguments: [usize; 3]) -> usize {
        self.post(place, function, arguments);
        self.result()
    }

    /// Calls functions that take and answer nothing one after the other, which have as much time together as one has.
    pub(crate) fn call_all(&self, place: Place, functions: &[usize]) {
        let together = Together::new(&self.child.borrow(), self.patience_s);
        for function in functions {
            self.call(place, *function, [0; 3]);
            if self.failed.get() {
                return;
            }
            let why = together.look(&self.child.borrow());
            if let Some(why) = why {
                self.give_up(GovernorError::Stuck { id: self.label.clone(), why, at: place });
                return;
            }
        }
    }

    /// As [`Process::call`], of a function that may ask once: `answer` writes what it asks for. Gives whether it has asked, too.
    #[inline]
    pub(crate) fn call_that_asks(
        &self,
        place: Place,
        function: usize,
        arguments: [usize; 3],
        answer: impl FnOnce(),
    ) -> (usize, bool) {
        self.begin(place, function, arguments, true);
        self.settle();
        let control = self.region.control();
        // SAFETY: as in `result`. A governor that says that it asks when it has returned gets the answer, and has asked.
        let asks = unsafe { (&raw const (*control).asks).read_volatile() != 0 } && !self.failed.get();
        if asks {
            answer();
            // SAFETY: as in `begin`.
            unsafe {
                (&raw mut (*control).may_ask).write_volatile(0);
                (&raw mut (*control).asks).write_volatile(0);
            }
            self.go_on(place);
        }
        (self.result(), asks)
    }

    /// Waits for the end of a call, and gives its result.
    #[inline]
    fn result(&self) -> usize {
        self.settle();
        if self.failed.get() {
            return 0;
        }
        // SAFETY: the control block is mapped as long as the region; what the governor writes there of its own accord is any number.
        unsafe { (&raw const (*self.region.control()).result).read_volatile() as usize }
    }

    /// Calls a function that answers nothing, and does not wait: the memory is the governor's until [`Process::settle`].
    #[inline]
    pub(crate) fn post(&self, place: Place, function: usize, arguments: [usize; 3]) {
        self.begin(place, function, arguments, false);
    }

    #[inline]
    fn begin(&self, place: Place, function: usize, arguments: [usize; 3], may_ask: bool) {
        self.settle();
        if self.failed.get() {
            return;
        }
        turns::take();
        let control = self.region.control();
        // SAFETY: as in `call`; it is the host's turn.
        unsafe {
            (&raw mut (*control).function).write_volatile(function as _);
            (&raw mut (*control).arguments).write_volatile(arguments.map(|argument| argument as _));
            (&raw mut (*control).may_ask).write_volatile(u32::from(may_ask));
            (&raw mut (*control).asks).write_volatile(0);
        }
        self.go_on(place);
    }

    /// Makes it the governor's turn.
    #[inline]
    fn go_on(&self, place: Place) {
        if self.seen.get() == 0 {
            self.slow(place);
        } else {
            self.hand_over();
            self.posted.set(Some(place));
        }
    }

    /// Waits for the end of what was posted.
    #[inline]
    pub(crate) fn settle(&self) {
        let Some(place) = self.posted.take() else { return };
        if self.is_back_soon(spins()) {
            self.seen.set(self.seen.get().saturating_add(1));
        } else {
            self.wait(place);
            if place.is_short() {
                self.stay_together();
            }
        }
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

    /// Looks so often whether it is the host's turn again.
    #[inline]
    fn is_back_soon(&self, looks: u32) -> bool {
        for _ in 0..looks {
            if self.turn().load(Ordering::Acquire) & GOVERNORS_TURN == 0 {
                return true;
            }
            std::hint::spin_loop();
        }
        false
    }

    /// A call when the last look was in vain: one in which nobody looks, or the first in which both do again.
    #[cold]
    fn slow(&self, place: Place) {
        if self.blind_left.get() > 0 || spins() == 0 {
            self.blind_left.set(self.blind_left.get().saturating_sub(1));
            self.hand_over();
            self.wait(place);
            return;
        }
        self.go_apart();
        self.hand_over();
        if self.is_back_soon(spins() * FIRST_LOOK) {
            self.seen.set(1);
        } else {
            self.wait(place);
            if place.is_short() {
                self.stay_together();
            }
        }
    }

    /// Gives the other side a CPU that is not this one, and lets it look for its turns. The scheduler would leave two that wake each other
    /// on one CPU.
    #[cold]
    fn go_apart(&self) {
        self.set_spins(spins());
        self.child.borrow().runs_on(Here::Not);
    }

    /// The other side was not back soon: it has no CPU, or this one had none. Both are on one from now on, and nobody looks for some calls.
    #[cold]
    fn stay_together(&self) {
        let blind = if self.seen.replace(0) >= SEEN { 0 } else { self.blind.get() };
        let blind = (blind * 2 + 1).min(MOST_BLIND);
        self.blind.set(blind);
        self.blind_left.set(blind);
        self.set_spins(0);
        self.child.borrow().runs_on(Here::Only);
    }

    fn set_spins(&self, spins: u32) {
        // SAFETY: the control block is mapped as long as the region.
        unsafe { (&raw mut (*self.region.control()).spins).write_volatile(spins) };
    }

    /// Sleeps until it is the host's turn again, or the process has failed. Whether it gets on is looked after by the clock, since a
    /// governor may wake the host for nothing.
    #[cold]
    fn wait(&self, place: Place) {
        #[expect(
            clippy::disallowed_methods,
            reason = "how long somebody waits is real time; no result depends on it"
        )]
        let now = Instant::now;
        let mut watch = Watch::new(self.patience_s);
        let mut sleep = FIRST_SLEEP;
        let mut since = now();
        loop {
            let turn = self.turn().load(Ordering::Acquire);
            if turn & GOVERNORS_TURN == 0 {
                return;
            }
            let sleeping = GOVERNORS_TURN | SLEEPS;
            // Fails where it is the host's turn by now; then there is nothing to wait for.
            let _ = self.turn().compare_exchange(turn, sleeping, Ordering::AcqRel, Ordering::Acquire);
            let pause = libc::timespec { tv_sec: 0, tv_nsec: i64::from(sleep.subsec_nanos()) };
            // SAFETY: waits at an address that is mapped, for no longer than `pause`.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    ptr::from_ref(self.turn()),
                    libc::FUTEX_WAIT,
                    sleeping,
                    &raw const pause,
                );
            }
            if self.turn().load(Ordering::Acquire) & GOVERNORS_TURN == 0 || now() - since < sleep {
                continue;
            }
            if let Some(why) = self.failure_of(&mut watch, sleep == LONGEST_SLEEP, place) {
                self.give_up(why);
                return;
            }
            sleep = (sleep * 2).min(LONGEST_SLEEP);
            since = now();
        }
    }

    /// Ends it, and keeps why.
    fn give_up(&self, why: GovernorError) {
        self.failure.keep(why);
        self.failed.set(true);
        self.child.borrow_mut().end();
        self.turn().store(HOSTS_TURN, Ordering::Release);
    }

    fn failure_of(&self, watch: &mut Watch, look: bool, at: Place) -> Option<GovernorError> {
        let id = self.label.clone();
        if let Some(status) = self.child.borrow_mut().ended() {
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
        let why = if look { watch.look(&self.child.borrow()) } else { None };
        why.map(|why| GovernorError::Stuck { id, why, at })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        turns::leave();
    }
}
