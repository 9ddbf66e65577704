// SPDX-License-Identifier: GPL-2.0-only
//! How a governor's process is born: it has nothing of ours but the memory that it shares, and may call next to nothing.
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

/// What a new process needs to know; its memory is a copy of this one's until it has begun.
struct Start<'r> {
    parent: libc::pid_t,
    region: &'r Region,
    /// The sanitizer's shadow of the stack.
    shadow: Option<Part>,
    filter: Option<BpfProgram>,
}

/// Makes the process of the governor in `region`, which waits for its first call.
///
/// # Errors
/// The system makes none.
pub(crate) fn process(region: &Region, shadow: Option<Part>) -> io::Result<libc::pid_t> {
    // SAFETY: a plain system call.
    let parent = unsafe { libc::getpid() };
    let start = Start { parent, region, shadow, filter: filter() };
    let (kept, shadow) = (region.all(), shadow.unwrap_or(Part { at: 0, len: 0 }));
    let mut control = Control::new(spins());
    let parts = [(shadow.at, shadow.at + shadow.len), (kept.at, kept.at + kept.len)];
    control.keep(if shadow.len == 0 { &parts[1..] } else { &parts });
    // SAFETY: the control block is the beginning of the region, and nobody else has it yet.
    unsafe { region.control().write(control) };
    on_the_nursery(&start)
}

/// A process dies with the thread that made it (`PR_SET_PDEATHSIG`), so all are made by one thread, which lives as long as this
/// process.
fn on_the_nursery(start: &Start<'_>) -> io::Result<libc::pid_t> {
    struct Wish(*const c_void, mpsc::Sender<io::Result<libc::pid_t>>);
    // SAFETY: whoever sends a wish waits until it is granted, and shares nothing that must stay on a thread.
    unsafe impl Send for Wish {}

    static NURSERY: Mutex<Option<(libc::pid_t, mpsc::Sender<Wish>)>> = Mutex::new(None);
    let (to, granted) = mpsc::channel();
    let wish = Wish(ptr::from_ref(start).cast(), to);
    {
        let mut nursery = NURSERY.lock().unwrap_or_else(PoisonError::into_inner);
        // A fork of this process has the variable, but not the thread.
        if nursery.as_ref().is_none_or(|(owner, _)| *owner != start.parent) {
            let (to, wishes) = mpsc::channel::<Wish>();
            std::thread::Builder::new().name("nursery".to_owned()).spawn(move || {
                for Wish(start, granted) in wishes {
                    // SAFETY: valid until the answer is sent.
                    let _gone = granted.send(unsafe { bear(&*start.cast()) });
                }
            })?;
            *nursery = Some((start.parent, to));
        }
        let sent = nursery.as_ref().map(|(_, to)| to.send(wish));
        if !matches!(sent, Some(Ok(()))) {
            return Err(io::Error::other("the thread that makes processes has ended"));
        }
    }
    granted.recv().unwrap_or_else(|e| Err(io::Error::other(e)))
}

/// A way station between this process and the new one.
struct Between<'s> {
    start: &'s Start<'s>,
    pid: libc::pid_t,
    errno: c_int,
}

/// Makes the process by one in between that shares our memory: in such a one the kernel forgets where the C library keeps the numbers
/// of restartable sequences, which it would go on writing to, and the new process inherits that.
fn bear(start: &Start<'_>) -> io::Result<libc::pid_t> {
    const ROOM: usize = 1 << 16;
    let mut stack = vec![0_u128; ROOM / 16];
    let mut between = Between { start, pid: -1, errno: 0 };
    // SAFETY: the stack and `between` outlive the child, which ends before clone returns (CLONE_VFORK).
    let way = unsafe {
        libc::clone(
            halfway,
            stack.as_mut_ptr().add(stack.len()).cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
            (&raw mut between).cast(),
        )
    };
    if way < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut status = 0;
    // SAFETY: our own child, which has ended.
    unsafe { libc::waitpid(way, &raw mut status, 0) };
    if between.pid < 0 { Err(io::Error::from_raw_os_error(between.errno)) } else { Ok(between.pid) }
}

extern "C" fn halfway(between: *mut c_void) -> c_int {
    // SAFETY: `bear` waits, and so nobody else uses it.
    let between = unsafe { &mut *between.cast::<Between<'_>>() };
    let stack = between.start.region.stack();
    // SAFETY: the new process has its own copy of all that `born` uses, and runs on the region's stack.
    unsafe {
        between.pid = libc::clone(
            born,
            (stack.at + stack.len) as *mut c_void,
            libc::CLONE_PARENT | libc::SIGCHLD,
            ptr::from_ref(between.start).cast_mut().cast(),
        );
        between.errno = *libc::__errno_location();
        libc::_exit(0)
    }
}

/// The new process, from here on. It makes plain system calls only.
extern "C" fn born(start: *mut c_void) -> c_int {
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
        let life: extern "C" fn(*mut Control) -> ! =
            std::mem::transmute::<usize, extern "C" fn(*mut Control) -> !>(start.region.life);
        life(start.region.control())
    }
}

/// The whole pages that a part is on: no two segments of an object share one.
fn page_of(part: Part) -> Part {
    // SAFETY: asks for a constant.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let (from, to) = (part.at / page * page, (part.at + part.len).div_ceil(page) * page);
    Part { at: from, len: to - from }
}

/// It needs none: what it shares is mapped.
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

/// What the process may call: what it must to wait for its turn. For all else the kernel ends it.
fn filter() -> Option<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().ok()?;
    let allowed = [libc::SYS_futex, libc::SYS_munmap, libc::SYS_exit_group];
    let rules = allowed.into_iter().map(|call| (call, Vec::new())).collect();
    let filter = SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch).ok()?;
    BpfProgram::try_from(filter).ok()
}
