// SPDX-License-Identifier: GPL-2.0-only
//! A governor's process, asked and waited for.
//!
//! Both sides look at a counter for a while, since to wait in the kernel costs more than a decision. Where the other side gets no
//! processor meanwhile, they soon look less.
#![expect(unsafe_code, reason = "waits for another process by system calls")]

use std::io;
use std::os::fd::AsRawFd as _;
use std::process::{Command, Stdio};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::shared::{Memory, Question};
use super::turn::Turn;
use crate::child::{Bounds, Child, LOOK_MS, Watch, signal_name};
use crate::memfd::code_file;
use crate::position::Stage;

/// Looks at the counter before waiting in the kernel, where the other side has a processor of its own: some tens of us.
const MOST_SPINS: u32 = 2_000;
/// The same where it has none.
const FEW_SPINS: u32 = 8;
/// Questions after which it is tried again whether it has one.
const TRIED_EVERY: u32 = 1_024;
/// The kernel wakes us without an answer so often before we look after the process.
const WOKEN_FOR_NOTHING: u32 = 1_000;
/// The first wait for an answer, ms; a process that ends is noticed after it.
const FIRST_WAIT_MS: i32 = 1;

/// A process is given up that has used so many times the patience, s ...
const SLOW: u64 = 4;
/// ... and took so long for a question on average, ns of CPU time. Kernels' governors take less than a thousandth of it.
const SLOW_NS: u64 = 1_000_000;

/// Why there is no answer.
pub(super) enum Gone {
    /// It was ended by a signal, in words.
    Crashed(String),
    /// It is given up: a sentence about it without a subject.
    Stuck(String),
    /// It ended, or wrote over what both see: a sentence.
    Lost(String),
}

/// A process that answers questions.
pub(super) struct Process {
    child: Child,
    pub(super) memory: Memory,
    bounds: Bounds,
    asked: u32,
    spins: u32,
}

impl Process {
    /// Starts `program`, up to its first question.
    pub(super) fn start(program: &[u8], bounds: Bounds) -> Result<Self, Gone> {
        let lost = |what: &'static str| move |e: io::Error| Gone::Lost(format!("{what}: {e}"));
        let memory = Memory::new().map_err(lost("no memory to share with its process"))?;
        let filter = filter().map_err(|why| Gone::Lost(format!("no filter for its system calls: {why}")))?;
        memory.prepare(&filter);
        memory.put_stage(Stage::Load as u32);
        let no_process = "no process for it (needs /proc and memory files that may be executed)";
        let mut file = code_file().map_err(lost(no_process))?;
        io::Write::write_all(&mut file, program).map_err(lost(no_process))?;
        let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
        command.env_clear().stdin(Stdio::from(memory.file().map_err(lost(no_process))?));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = Child::new(&command.spawn().map_err(lost(no_process))?);
        let mut process = Self { child, memory, bounds, asked: 1, spins: MOST_SPINS };
        process.spins = process.most_spins();
        process.wait()?;
        match process.memory.start_error() {
            0 => Ok(process),
            errno => {
                let why = io::Error::from_raw_os_error(errno);
                Err(Gone::Lost(format!("its system calls cannot be filtered ({why}), so it is not run")))
            }
        }
    }

    /// Asks, and waits for the answer.
    #[inline]
    pub(super) fn ask(&mut self, question: Question, arg: [u64; 3]) -> Result<(), Gone> {
        self.memory.put(question, arg);
        self.asked = self.asked.wrapping_add(1);
        let turns = self.memory.turns();
        turns.asked.store(self.asked, Ordering::SeqCst);
        if turns.sleeps.load(Ordering::SeqCst) != 0 {
            wake(turns.asked);
        }
        self.wait()
    }

    fn wait(&mut self) -> Result<(), Gone> {
        let turns = self.memory.turns();
        if self.asked % TRIED_EVERY == 0 {
            self.spins = self.most_spins();
        }
        for _ in 0..self.spins {
            if turns.answered.load(Ordering::Acquire) == self.asked {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.spins = (self.spins / 2).max(FEW_SPINS);
        turns.spins.store(self.spins, Ordering::Relaxed);
        turns.host_sleeps.store(1, Ordering::SeqCst);
        let answered = self.wait_in_the_kernel();
        self.memory.turns().host_sleeps.store(0, Ordering::Relaxed);
        answered
    }

    fn most_spins(&self) -> u32 {
        let most = if Turn::is_here() { MOST_SPINS } else { FEW_SPINS };
        self.memory.turns().spins.store(most, Ordering::Relaxed);
        most
    }

    #[cold]
    fn wait_in_the_kernel(&mut self) -> Result<(), Gone> {
        let mut watch = Watch::new(self.bounds.patience_s);
        let (mut wait_ms, mut woken) = (FIRST_WAIT_MS, 0);
        loop {
            let turns = self.memory.turns();
            let answered = turns.answered.load(Ordering::SeqCst);
            if answered == self.asked {
                return if wait_ms == FIRST_WAIT_MS { Ok(()) } else { self.is_fast() };
            }
            if answered != self.asked.wrapping_sub(1) {
                self.child.end();
                return Err(Gone::Lost("it answered what was not asked".to_owned()));
            }
            let came_to_an_end = wait_for(turns.answered, answered, wait_ms);
            if came_to_an_end {
                woken += 1;
                if woken < WOKEN_FOR_NOTHING {
                    continue;
                }
                woken = 0;
            }
            if self.child.has_ended() && turns.answered.load(Ordering::SeqCst) != self.asked {
                return Err(self.ended());
            }
            if let Some(why) = watch.look(&self.child, if came_to_an_end { 0 } else { wait_ms }) {
                self.child.end();
                return Err(Gone::Stuck(why));
            }
            wait_ms = (2 * wait_ms).min(LOOK_MS);
        }
    }

    /// Gives it up where it takes long for all that it is asked.
    fn is_fast(&mut self) -> Result<(), Gone> {
        let used_ns = self.child.cpu_time_ns();
        if used_ns / 1_000_000_000 < SLOW * self.bounds.patience_s
            || used_ns / u64::from(self.asked) < SLOW_NS
        {
            return Ok(());
        }
        self.child.end();
        let (s, ms) = (used_ns / 1_000_000_000, used_ns / 1_000_000 / u64::from(self.asked));
        Err(Gone::Stuck(format!("takes {ms} ms for each decision, after {s} s of CPU time")))
    }

    /// How it ended.
    fn ended(&mut self) -> Gone {
        let status = self.child.reap();
        if libc::WIFSIGNALED(status) {
            return Gone::Crashed(signal_name(libc::WTERMSIG(status)));
        }
        Gone::Lost("its process ended without an answer".to_owned())
    }
}

/// Wakes who waits for `counter` to change.
fn wake(counter: &AtomicU32) {
    // SAFETY: the counter is there.
    unsafe { libc::syscall(libc::SYS_futex, counter.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// Waits while `counter` is `value`, at most so many ms; false where it was all that time.
fn wait_for(counter: &AtomicU32, value: u32, most_ms: i32) -> bool {
    let nanoseconds = i64::from(most_ms) * 1_000_000;
    // SAFETY: zeros are a time.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    time.tv_sec = (nanoseconds / 1_000_000_000) as libc::time_t;
    time.tv_nsec = (nanoseconds % 1_000_000_000) as libc::c_long;
    // SAFETY: counter and time are there.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_futex,
            counter.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            &raw const time,
            ptr::null::<u32>(),
            0,
        )
    };
    failed == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ETIMEDOUT)
}

/// All that a governor's process may ask of the kernel: to wait for the next question, without an end of its own choosing, and to
/// wake who waits for the answer. Anything else ends it.
fn filter() -> Result<Vec<u64>, String> {
    let said = |e: seccompiler::BackendError| e.to_string();
    let arch = std::env::consts::ARCH.try_into().map_err(said)?;
    let is = |argument, length, value: u64| {
        SeccompCondition::new(argument, length, SeccompCmpOp::Eq, value).map_err(said)
    };
    let operation = |value: i32| is(1, SeccompCmpArgLen::Dword, value.unsigned_abs().into());
    let waits = vec![operation(libc::FUTEX_WAIT)?, is(3, SeccompCmpArgLen::Qword, 0)?];
    let wakes = vec![operation(libc::FUTEX_WAKE)?];
    let rules =
        [waits, wakes].into_iter().map(SeccompRule::new).collect::<Result<Vec<_>, _>>().map_err(said)?;
    let rules = [(libc::SYS_futex, rules)].into();
    let filter =
        SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch).map_err(said)?;
    let program: BpfProgram = filter.try_into().map_err(said)?;
    let instruction = |i: &seccompiler::sock_filter| {
        let ([a, b], [c, d, e, f]) = (i.code.to_ne_bytes(), i.k.to_ne_bytes());
        u64::from_ne_bytes([a, b, i.jt, i.jf, c, d, e, f])
    };
    Ok(program.iter().map(instruction).collect())
}
