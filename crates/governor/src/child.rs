// SPDX-License-Identifier: GPL-2.0-only
//! Processes that may misbehave, from outside: reading from one, looking whether it gets on, ending it.
#![expect(unsafe_code, reason = "looks after processes by system calls")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::time::Duration;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use crate::position::Position;

/// How often the parent looks after a child that it waits for, ms.
const LOOK_MS: i32 = 100;
/// Looks at a child that has answered until it is ended.
const PATIENT_LOOKS: u32 = 300;
/// Looks without progress, and with hardly any CPU time used, after which a child is given up.
const STILL_LOOKS: u32 = 600;
/// So much CPU time for each look is hardly any, ns: a hundredth of it.
const STILL_NS: u64 = 1_000_000;

/// A child and the end of the pipe that it writes to.
pub(crate) struct Child {
    pid: libc::pid_t,
    pipe: File,
    /// How it ended, once that is known.
    status: Option<i32>,
    /// The most memory that it ever had, bytes; 0 until it has ended.
    most_memory: u64,
}

impl Child {
    /// `pid` is our child, not waited for, and holds the other end of `pipe`.
    pub(crate) fn new(pid: libc::pid_t, pipe: File) -> Self {
        Self { pid, pipe, status: None, most_memory: 0 }
    }

    /// Waits a moment for something to read: true if there was, false at the end, nothing if nothing came.
    pub(crate) fn read(&mut self, into: &mut Vec<u8>) -> Option<bool> {
        self.read_within(into, LOOK_MS)
    }

    pub(crate) fn read_within(&mut self, into: &mut Vec<u8>, timeout_ms: i32) -> Option<bool> {
        let mut ready = libc::pollfd { fd: self.pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        if unsafe { libc::poll(&raw mut ready, 1, timeout_ms) } <= 0 {
            return None;
        }
        let mut buffer = [0; 1 << 16];
        match self.pipe.read(&mut buffer) {
            Ok(0) => Some(false),
            Ok(n) => {
                into.extend_from_slice(buffer.get(..n).unwrap_or_default());
                Some(true)
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => None,
            Err(_) => Some(false),
        }
    }

    /// CPU time used, ns.
    fn cpu_time_ns(&self) -> u64 {
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

    /// How it ended; nothing if it did not end by itself. The pipe is closed, so it is about to, or it closed the pipe itself and is
    /// beyond help. One that has `answered` is given more time: on a busy machine a large process takes long to end.
    pub(crate) fn wait(&mut self, answered: bool) -> Option<i32> {
        // A pipe is closed a few microseconds before its process can be waited for.
        let waits = (0..16).map(|doubled| Duration::from_micros(20 << doubled));
        let more = if answered { PATIENT_LOOKS } else { 0 };
        for wait in waits.chain((0..more).map(|_| Duration::from_millis(LOOK_MS.unsigned_abs().into()))) {
            if let Some(status) = self.reap(libc::WNOHANG) {
                return Some(status);
            }
            std::thread::sleep(wait);
        }
        self.end();
        None
    }

    pub(crate) fn end(&mut self) {
        if self.status.is_some() {
            return;
        }
        // SAFETY: it is our child and not reaped, so the number is its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        while self.reap(0).is_none() {}
    }

    /// Whether it has ended, with `options` of the call. It is left to be reaped.
    fn ended(&self, options: i32) -> bool {
        // SAFETY: our own child; the structure is written by the call, and zeros say that nothing ended.
        unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            let options = options | libc::WEXITED | libc::WNOWAIT;
            let id = libc::id_t::from(self.pid.unsigned_abs());
            match libc::waitid(libc::P_PID, id, &raw mut about, options) {
                0 => about.si_pid() == self.pid,
                _ => std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD),
            }
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended(libc::WNOHANG)
    }

    fn reap(&mut self, options: i32) -> Option<i32> {
        if self.status.is_none() && self.ended(options) {
            let mut status = 0;
            // SAFETY: our own child, which has ended and is not reaped, so that its number is still the one of its group; status and
            // usage are written by the call.
            unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                libc::kill(-self.pid, libc::SIGKILL);
                libc::wait4(self.pid, &raw mut status, 0, &raw mut usage);
                self.most_memory = usage.ru_maxrss.unsigned_abs() * 1024;
            }
            self.status = Some(status);
        }
        self.status
    }

    /// The most memory that it had, bytes; known when it has ended.
    pub(crate) fn most_memory(&self) -> u64 {
        self.most_memory
    }
}

/// From here on this process is killed where it starts another one or a program, sends a signal to another, or reaches into one.
///
/// A governor does none of it. One that starts processes without end would be faster than they can be ended, and take the machine down.
/// Where the kernel has no such filter, as in an emulator of another architecture, it goes on without.
pub(crate) fn forbid_others() {
    let Ok(arch) = std::env::consts::ARCH.try_into() else { return };
    let filter = rules()
        .and_then(|rules| SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::KillProcess, arch));
    if let Some(filter) = filter.ok().and_then(|filter| BpfProgram::try_from(filter).ok()) {
        let _without = seccompiler::apply_filter(&filter);
    }
}

/// What no governor may call, and with which first argument: none given, with any.
fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    /// Numbers of x32, whose calls have those of x86-64.
    const X32: i64 = 0x4000_0000;
    let starting =
        [libc::SYS_clone, libc::SYS_clone3, libc::SYS_execve, libc::SYS_execveat, libc::SYS_io_uring_setup];
    #[cfg(target_arch = "x86_64")]
    let starting = starting.into_iter().chain([libc::SYS_fork, libc::SYS_vfork]);
    let starting = starting.into_iter().flat_map(|call| [call, call | X32]);
    let reaching =
        [libc::SYS_kill, libc::SYS_pidfd_send_signal, libc::SYS_ptrace, libc::SYS_process_vm_writev];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        starting.chain(reaching).map(|call| (call, Vec::new())).collect();
    // SAFETY: asks for a number.
    let (own, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    let own = u64::from(own.unsigned_abs());
    let first = |op, value| SeccompCondition::new(0, SeccompCmpArgLen::Dword, op, value);
    let not = |value| Ok(vec![SeccompRule::new(vec![first(SeccompCmpOp::Ne, value)?])?]);
    // abort and raise send to the process itself.
    for call in [libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo] {
        rules.insert(call, not(own)?);
    }
    rules.insert(libc::SYS_tkill, not(thread.unsigned_abs())?);
    let (of_itself, of_own) = (first(SeccompCmpOp::Ne, 0)?, first(SeccompCmpOp::Ne, own)?);
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![of_itself, of_own])?]);
    let outlives = first(SeccompCmpOp::Eq, u64::from(libc::PR_SET_PDEATHSIG.unsigned_abs()))?;
    rules.insert(libc::SYS_prctl, vec![SeccompRule::new(vec![outlives])?]);
    Ok(rules)
}

/// What a foreign governor may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// CPU time for one step, s.
    pub(crate) patience_s: u64,
    /// Memory beyond what this process has, bytes.
    pub(crate) memory: u64,
}

/// Memory of a process, bytes.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// Of all its mappings.
    pub(crate) size: u64,
    /// Of these, what is there.
    pub(crate) resident: u64,
}

/// What this process has now; `None` where there is no /proc.
pub(crate) fn memory_of_this_process() -> Option<Memory> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = text.split_whitespace().map(|n| n.parse::<u64>());
    let (size, resident) = (pages.next()?.ok()?, pages.next()?.ok()?);
    // SAFETY: asks for a constant.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.unsigned_abs();
    Some(Memory { size: size * page, resident: resident * page })
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// Looks whether a child gets on.
#[derive(Default)]
pub(crate) struct Watch {
    patience_s: u64,
    /// Where it was at the last look.
    last: (u32, u32, u64),
    quiet: Quiet,
}

/// Since when it has not got on.
#[derive(Default)]
struct Quiet {
    /// CPU time then, ns.
    since_ns: Option<u64>,
    looks: u32,
}

impl Watch {
    /// A child may take `patience_s` seconds of CPU time without getting on.
    pub(crate) fn new(patience_s: u64) -> Self {
        Self { patience_s, ..Self::default() }
    }

    /// It was heard of.
    pub(crate) fn gets_on(&mut self) {
        self.quiet = Quiet::default();
    }

    /// Why the child should be given up, if so.
    pub(crate) fn look(&mut self, child: &Child, position: &Position) -> Option<String> {
        let (now, used_ns) = (position.read(), child.cpu_time_ns());
        if now != self.last || self.quiet.since_ns.is_none() {
            (self.last, self.quiet) = (now, Quiet { since_ns: Some(used_ns), looks: 0 });
            return None;
        }
        self.quiet.looks += 1;
        let spent_ns = used_ns.saturating_sub(self.quiet.since_ns.unwrap_or(used_ns));
        if spent_ns / 1_000_000_000 >= self.patience_s {
            return Some(format!("does not return, after {} s of CPU time", spent_ns / 1_000_000_000));
        }
        let sleeps = spent_ns < STILL_NS * u64::from(self.quiet.looks);
        (sleeps && self.quiet.looks >= STILL_LOOKS).then(|| "is blocked".to_owned())
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
            "SIGSYS: it tried to start a process or a program, to send a signal, or another call that no governor makes"
                .to_owned()
        }
        libc::SIGABRT => "SIGABRT".to_owned(),
        libc::SIGKILL => "SIGKILL: killed from outside, or out of memory".to_owned(),
        other => format!("signal {other}"),
    }
}
