// SPDX-License-Identifier: GPL-2.0-only
//! Processes that may misbehave, from outside: looking whether one gets on, ending it.
#![expect(unsafe_code, reason = "looks after processes by system calls")]

use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

/// Looks without progress, and with hardly any CPU time used, after which a child is given up.
const STILL_LOOKS: u32 = 600;
/// So much CPU time for each look is hardly any, ns: a hundredth of the time between two.
const STILL_NS: u64 = 1_000_000;

/// How long several calls may last together, s, if they take hardly any CPU time; and how many times their CPU time on a machine whose
/// processors are busy.
const LONGEST_S: u64 = 60;
const BUSY: u64 = 4;

/// The CPU that somebody is on: that one alone, or all others.
#[derive(Clone, Copy)]
pub(crate) enum Here {
    Only,
    Not,
}

/// A process that [`limit`] was given to writes no larger file, bytes: a hundred times what a governor compiles to.
const LARGEST_FILE: u64 = 1 << 29;

/// A child, which ends with this.
pub(crate) struct Child {
    pid: libc::pid_t,
    /// How it ended, once that is known.
    status: Option<i32>,
}

impl Child {
    /// `pid` is our child, not waited for.
    pub(crate) fn new(pid: libc::pid_t) -> Self {
        Self { pid, status: None }
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

    /// Sets its CPUs: the one that the caller runs on, or all others of the caller. Does nothing if there are no others, or more than fit
    /// into a set.
    pub(crate) fn runs_on(&self, here: Here) {
        const SIZE: usize = size_of::<libc::cpu_set_t>();
        // SAFETY: the sets are valid, and the number of a CPU is compared with their size.
        unsafe {
            let Some(cpu) = usize::try_from(libc::sched_getcpu()).ok().filter(|cpu| *cpu < SIZE * 8) else {
                return;
            };
            let mut cpus: libc::cpu_set_t = std::mem::zeroed();
            match here {
                Here::Only => libc::CPU_SET(cpu, &mut cpus),
                Here::Not if libc::sched_getaffinity(0, SIZE, &raw mut cpus) != 0 => return,
                Here::Not => libc::CPU_CLR(cpu, &mut cpus),
            }
            libc::sched_setaffinity(self.pid, SIZE, &raw const cpus);
        }
    }

    pub(crate) fn end(&mut self) {
        if self.status.is_some() {
            return;
        }
        // SAFETY: it is our child and not reaped, so the number is its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        while self.reap(0).is_none() {}
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.reap(libc::WNOHANG)
    }

    fn reap(&mut self, options: i32) -> Option<i32> {
        if self.status.is_none() {
            // SAFETY: our own child; the structure is written by the call, and zeros say that nothing ended. It is left to be
            // reaped, so that its number is still the one of its group when that is ended.
            let ended = unsafe {
                let mut about: libc::siginfo_t = std::mem::zeroed();
                let id = libc::id_t::from(self.pid.unsigned_abs());
                match libc::waitid(libc::P_PID, id, &raw mut about, options | libc::WEXITED | libc::WNOWAIT) {
                    0 => about.si_pid() == self.pid,
                    _ => std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD),
                }
            };
            if ended {
                let mut status = 0;
                // SAFETY: as above.
                unsafe {
                    libc::kill(-self.pid, libc::SIGKILL);
                    libc::waitpid(self.pid, &raw mut status, 0);
                }
                self.status = Some(status);
            }
        }
        self.status
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
    /// CPU time for one step, s.
    pub(crate) patience_s: u64,
    /// Memory of its process, bytes.
    pub(crate) memory: u64,
}

/// The reason to give up a child that took so much CPU time.
fn does_not_return(spent_ns: u64) -> String {
    format!("does not return, after {} s of CPU time", spent_ns / 1_000_000_000)
}

/// Looks between calls whether several of them take no longer together than one may.
pub(crate) struct Together {
    patience_s: u64,
    since_ns: u64,
    began: Instant,
}

impl Together {
    /// All calls from now on may take `patience_s` seconds of CPU time, and a minute if they sleep.
    pub(crate) fn new(child: &Child, patience_s: u64) -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "how long somebody waits is real time; no result depends on it"
        )]
        let began = Instant::now();
        Self { patience_s, since_ns: child.cpu_time_ns(), began }
    }

    /// Why the child should be given up, if so.
    pub(crate) fn look(&self, child: &Child) -> Option<String> {
        let spent_ns = child.cpu_time_ns().saturating_sub(self.since_ns);
        if spent_ns / 1_000_000_000 >= self.patience_s {
            return Some(does_not_return(spent_ns));
        }
        let longest_s = LONGEST_S.max(self.patience_s.saturating_mul(BUSY));
        (self.began.elapsed().as_secs() >= longest_s).then(|| "is blocked".to_owned())
    }
}

/// Looks whether a child returns.
#[derive(Default)]
pub(crate) struct Watch {
    patience_s: u64,
    /// CPU time at the first look, ns.
    since_ns: Option<u64>,
    looks: u32,
}

impl Watch {
    /// A child may take `patience_s` seconds of CPU time.
    pub(crate) fn new(patience_s: u64) -> Self {
        Self { patience_s, ..Self::default() }
    }

    /// Why the child should be given up, if so.
    pub(crate) fn look(&mut self, child: &Child) -> Option<String> {
        let used_ns = child.cpu_time_ns();
        let spent_ns = used_ns.saturating_sub(*self.since_ns.get_or_insert(used_ns));
        self.looks += 1;
        if spent_ns / 1_000_000_000 >= self.patience_s {
            return Some(does_not_return(spent_ns));
        }
        let sleeps = spent_ns < STILL_NS * u64::from(self.looks);
        (sleeps && self.looks >= STILL_LOOKS).then(|| "is blocked".to_owned())
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
        limit(libc::RLIMIT_FSIZE, LARGEST_FILE);
        // SAFETY: as above.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(limits) };
}

/// Kills the process group of `leader`, one that was not waited for: a compiler with all that it started.
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
        libc::SIGSYS => "SIGSYS: it made a system call, which no governor does".to_owned(),
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGKILL => "SIGKILL: killed from outside, or out of memory".to_owned(),
        other => format!("signal {other}"),
    }
}
