// SPDX-License-Identifier: GPL-2.0-only
//! The start of a governor's process: it has nothing of the host but the memory that both share, and may make three system calls.
#![expect(unsafe_code, reason = "makes a process that shares memory, and gives up everything else in it")]

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use crate::abi::Control;
use crate::region::{Part, Region};
use crate::turns::spins;

/// Data that a new process needs before it gives the copy of the host's memory back.
struct Start<'r> {
    parent: libc::pid_t,
    region: &'r Region,
    /// The sanitizer's shadow of the stack.
    shadow: Option<Part>,
    filter: Option<BpfProgram>,
}

/// Starts the process of the governor in `region`, which waits for its first call.
///
/// # Errors
/// The system starts none.
pub(crate) fn process(region: &Region, shadow: Option<Part>) -> io::Result<libc::pid_t> {
    if !has_filters() {
        // Then the governor's process may open files, but not this one's memory and descriptors, unless it is root's.
        // SAFETY: a plain system call.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
    }
    // SAFETY: a plain system call.
    let parent = unsafe { libc::getpid() };
    let start = Start { parent, region, shadow, filter: filter() };
    let (kept, shadow) = (region.all(), shadow.unwrap_or(Part { at: 0, len: 0 }));
    let mut control = Control::new(spins());
    let parts = [(shadow.at, shadow.at + shadow.len), (kept.at, kept.at + kept.len)];
    control.keep(if shadow.len == 0 { &parts[1..] } else { &parts });
    // SAFETY: the control block is the beginning of the region, and nobody else has it yet.
    unsafe { region.control().write(control) };
    on_spawner_thread(&start)
}

/// Starts it on a thread that ends with the host: the kernel ends a process with the thread that started it (`PR_SET_PDEATHSIG`).
fn on_spawner_thread(start: &Start<'_>) -> io::Result<libc::pid_t> {
    struct Request(*const c_void, mpsc::Sender<io::Result<libc::pid_t>>);
    // SAFETY: the sender waits for the answer, and what it shares may be used on any thread.
    unsafe impl Send for Request {}

    static SPAWNER: Mutex<Option<(libc::pid_t, mpsc::Sender<Request>)>> = Mutex::new(None);
    let (to, answer) = mpsc::channel();
    let request = Request(ptr::from_ref(start).cast(), to);
    {
        let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
        // A fork of this process has the variable, but not the thread.
        if spawner.as_ref().is_none_or(|(owner, _)| *owner != start.parent) {
            let (to, requests) = mpsc::channel::<Request>();
            std::thread::Builder::new().name("governors".to_owned()).spawn(move || {
                for Request(start, to) in requests {
                    // SAFETY: valid until the answer is sent.
                    let _gone = to.send(unsafe { clone_twice(&*start.cast()) });
                }
            })?;
            *spawner = Some((start.parent, to));
        }
        let sent = spawner.as_ref().map(|(_, to)| to.send(request));
        if !matches!(sent, Some(Ok(()))) {
            return Err(io::Error::other("the thread that starts processes has ended"));
        }
    }
    answer.recv().unwrap_or_else(|e| Err(io::Error::other(e)))
}

/// Memory that the process in between shares with the host.
struct Between<'s> {
    start: &'s Start<'s>,
    pid: libc::pid_t,
    errno: c_int,
}

/// Clones the process from one in between that shares the host's memory: there the kernel forgets where the C library keeps the area of
/// restartable sequences, which it would go on writing to, and the new process inherits that.
fn clone_twice(start: &Start<'_>) -> io::Result<libc::pid_t> {
    const ROOM: usize = 1 << 16;
    let mut stack = vec![0_u128; ROOM / 16];
    let mut between = Between { start, pid: -1, errno: 0 };
    // SAFETY: the stack and `between` outlive the child, which ends before clone returns (CLONE_VFORK).
    let between_pid = unsafe {
        libc::clone(
            in_between,
            stack.as_mut_ptr().add(stack.len()).cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut between).cast(),
        )
    };
    if between_pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut status = 0;
    // SAFETY: our own child, which has ended.
    unsafe { libc::waitpid(between_pid, &raw mut status, 0) };
    if between.pid < 0 { Err(io::Error::from_raw_os_error(between.errno)) } else { Ok(between.pid) }
}

/// The process in between: it clones the governor's as a child of the host, and ends.
extern "C" fn in_between(between: *mut c_void) -> c_int {
    // SAFETY: `clone_twice` waits, and so nothing else uses it.
    let between = unsafe { &mut *between.cast::<Between<'_>>() };
    let stack = between.start.region.stack();
    // SAFETY: the new process has its own copy of all that `child` uses, and runs on the region's stack.
    unsafe {
        between.pid = libc::clone(
            child,
            (stack.at + stack.len) as *mut c_void,
            libc::CLONE_PARENT | libc::SIGCHLD,
            ptr::from_ref(between.start).cast_mut().cast(),
        );
        between.errno = *libc::__errno_location();
        libc::_exit(0)
    }
}

/// The main function of the new process. It makes plain system calls only.
extern "C" fn child(start: *mut c_void) -> c_int {
    // SAFETY: this process has a copy of it.
    let start = unsafe { &*start.cast::<Start<'_>>() };
    let gives_up = |step: c_int| -> ! {
        // SAFETY: ends this process.
        unsafe { libc::_exit(step) }
    };
    // SAFETY: system calls on this process alone; what is protected and mapped is memory that it has for itself.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The parent may have died before; then somebody else is it.
        if libc::getppid() != start.parent {
            gives_up(1);
        }
        // Where no filter keeps it from starting something, that belongs to its group, and goes when it goes.
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        close_files();
        let protect = |part: Part, to| libc::mprotect(part.at as *mut c_void, part.len, to) == 0;
        for protected in &start.region.protected {
            let executed = if protected.executed { libc::PROT_EXEC } else { 0 };
            let page = page_of(protected.part);
            if !protect(page, libc::PROT_READ | executed) {
                gives_up(2);
            }
        }
        if !protect(start.region.guard(), libc::PROT_NONE) {
            gives_up(3);
        }
        if let Some(shadow) = start.shadow {
            let at = libc::mmap(
                shadow.at as *mut c_void,
                shadow.len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            );
            if at as usize != shadow.at {
                gives_up(4);
            }
        }
        // Where the kernel has no filters, as in an emulator of another architecture, it goes on without.
        if let Some(filter) = &start.filter {
            let _without = seccompiler::apply_filter(filter);
        }
        let entry: extern "C" fn(*mut Control) -> ! =
            std::mem::transmute::<usize, extern "C" fn(*mut Control) -> !>(start.region.entry);
        entry(start.region.control())
    }
}

/// Pages with a part on them: no two segments of an object share one.
fn page_of(part: Part) -> Part {
    // SAFETY: asks for a constant.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let (from, to) = (part.at / page * page, (part.at + part.len).div_ceil(page) * page);
    Part { at: from, len: to - from }
}

/// Closes all files: what the process shares is mapped.
fn close_files() {
    // SAFETY: system calls on this process's own descriptors, which nothing uses any more.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) == 0 {
            return;
        }
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        let most = c_int::try_from(limit.rlim_cur).unwrap_or(c_int::MAX).min(1 << 20);
        for fd in 0..most {
            libc::close(fd);
        }
    }
}

/// Whether the kernel has filters of system calls: then it reads the one at the address that it is given, where there is none.
fn has_filters() -> bool {
    // SAFETY: no filter is given, so nothing is changed.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, ptr::null::<c_void>()) };
    set == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT)
}

/// The filter of system calls: those that waiting for a turn needs; for any other the kernel ends the process.
fn filter() -> Option<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().ok()?;
    let allowed = [libc::SYS_futex, libc::SYS_munmap, libc::SYS_exit_group];
    let rules = allowed.into_iter().map(|call| (call, Vec::new())).collect();
    let filter = SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch).ok()?;
    BpfProgram::try_from(filter).ok()
}
