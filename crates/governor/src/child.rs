// SPDX-License-Identifier: GPL-2.0-only
//! Processes that may misbehave, from outside: looking whether one gets on, ending it.
#![expect(unsafe_code, reason = "looks after processes by system calls")]

use std::os::unix::process::CommandExt as _;
use std::process::{self, Command};
use std::time::Duration;

/// How often the parent looks after a child that it waits for, ms.
pub(crate) const LOOK_MS: i32 = 100;
/// A child that hardly uses the processor is given up after so long, ms.
const STILL_MS: u64 = 60_000;
/// Less than this part of the time is hardly any: a hundredth.
const STILL_SHARE: u64 = 100;

/// A child of this process.
pub(crate) struct Child {
    pid: libc::pid_t,
    /// How it ended, once that is known.
    status: Option<i32>,
}

impl Child {
    /// A process that was just started. Nobody else waits for it.
    pub(crate) fn new(started: &process::Child) -> Self {
        Self { pid: libc::pid_t::try_from(started.id()).unwrap_or(libc::pid_t::MAX), status: None }
    }

    /// CPU time used, ns.
    pub(crate) fn cpu_time_ns(&self) -> u64 {
        // SAFETY: both structures are valid and written by the calls.
        unsafe {
            let mut clock: libc::clockid_t = 0;
            let mut time: libc::timespec = std::mem::zeroed();
            if libc::clock_getcpuclockid(self.pid, &raw mut clock) != 0
                || libc::clock_gettime(clock, &raw mut time) != 0
            {
                return 0;
            }
            time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
        }
    }

    /// Ends it.
    pub(crate) fn end(&mut self) {
        if self.status.is_none() {
            // SAFETY: it is our child and not reaped, so the number is its own.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            self.reap();
        }
    }

    /// Whether it has ended. It is left to be reaped.
    pub(crate) fn has_ended(&self) -> bool {
        if self.status.is_some() {
            return true;
        }
        // SAFETY: our own child; the structure is written by the call, and zeros say that nothing ended.
        unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
            match libc::waitid(libc::P_PID, self.pid.unsigned_abs(), &raw mut about, options) {
                0 => about.si_pid() == self.pid,
                _ => std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD),
            }
        }
    }

    /// Waits until it has ended; how.
    pub(crate) fn reap(&mut self) -> i32 {
        *self.status.get_or_insert_with(|| {
            let mut status = 0;
            // SAFETY: our own child; its status is written by the call. Where nobody tells how it ended, that is 0.
            unsafe {
                while libc::waitpid(self.pid, &raw mut status, 0) < 0
                    && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
                {}
            }
            status
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a foreign governor may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// CPU time for one call, s.
    pub(crate) patience_s: u64,
    /// Memory, bytes.
    pub(crate) memory: u64,
}

/// Looks whether a child that owes an answer gets on.
pub(crate) struct Watch {
    patience_s: u64,
    /// CPU time at the first look, ns.
    since_ns: Option<u64>,
    waited_ms: u64,
}

impl Watch {
    /// A child may take `patience_s` seconds of CPU time for an answer.
    pub(crate) fn new(patience_s: u64) -> Self {
        Self { patience_s, since_ns: None, waited_ms: 0 }
    }

    /// Why the child should be given up, if so; `waited_ms` after the last look.
    pub(crate) fn look(&mut self, child: &Child, waited_ms: i32) -> Option<String> {
        let used_ns = child.cpu_time_ns();
        let spent_ns = used_ns.saturating_sub(*self.since_ns.get_or_insert(used_ns));
        self.waited_ms += u64::from(waited_ms.unsigned_abs());
        if spent_ns / 1_000_000_000 >= self.patience_s {
            return Some(format!("does not return, after {} s of CPU time", spent_ns / 1_000_000_000));
        }
        let sleeps = spent_ns / 1_000_000 * STILL_SHARE < self.waited_ms;
        (sleeps && self.waited_ms >= STILL_MS).then(|| "is blocked".to_owned())
    }
}

/// Gives what `command` starts a process group of its own, at most `time` of CPU time and `memory` bytes, and lets it die
/// with this process.
pub(crate) fn limit(command: &mut Command, time: Duration, memory: u64) {
    command.process_group(0);
    let limits = move || {
        let limit = |what, value| {
            // SAFETY: a plain system call on this process alone.
            unsafe { libc::setrlimit(what, &libc::rlimit { rlim_cur: value, rlim_max: value }) }
        };
        limit(libc::RLIMIT_CPU, time.as_secs());
        limit(libc::RLIMIT_AS, memory);
        // SAFETY: as above.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(limits) };
}

/// Kills a process that [`limit`] gave a group of its own, and all that it started.
pub(crate) fn kill_group(leader: u32) {
    let Ok(leader) = libc::pid_t::try_from(leader) else { return };
    // SAFETY: the leader was not waited for, so the number is still its own.
    unsafe { libc::kill(-leader, libc::SIGKILL) };
}

/// A signal in words.
pub(crate) fn signal_name(signal: i32) -> String {
    match signal {
        libc::SIGSEGV => "SIGSEGV: it used an address that is not its own".to_owned(),
        libc::SIGBUS => "SIGBUS: it used an address that is not there".to_owned(),
        libc::SIGFPE => "SIGFPE: it divided by zero, or a quotient found no room".to_owned(),
        libc::SIGILL => "SIGILL: BUG(), or code that must not be reached".to_owned(),
        libc::SIGSYS => {
            "SIGSYS: it called the system, to open a file or start a process, say; no governor does"
                .to_owned()
        }
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGKILL => "SIGKILL: killed from outside, or out of memory".to_owned(),
        other => format!("signal {other}"),
    }
}
