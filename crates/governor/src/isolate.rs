// SPDX-License-Identifier: GPL-2.0-only
//! A process of its own for code that is not ours.
//!
//! [`Governor::run`] forks. The child has everything that the parent has, by copy-on-write, so a decision there costs
//! what it costs here; only the answer travels, through a pipe. What foreign code breaks, it breaks in the child. On a
//! page that both see, the child keeps what it is doing, so that the parent can say where it ended.
#![expect(unsafe_code, reason = "forks, and shares a page with the child")]

use std::any::Any;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::FromRawFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::child::{Child, Watch, signal_name};
use crate::object::loader;
use crate::{Governor, GovernorError, Instance};

/// What a child is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Our own code.
    Host,
    Load,
    Init,
    Enable,
    Select,
    Reflect,
}

impl Stage {
    const ALL: [Self; 6] = [Self::Host, Self::Load, Self::Init, Self::Enable, Self::Select, Self::Reflect];
}

/// Where a child is, in memory that the parent sees.
#[derive(Debug, Default)]
pub(crate) struct Position {
    stage: AtomicU32,
    cpu: AtomicU32,
    decision: AtomicU64,
}

impl Position {
    #[inline]
    pub(crate) fn tell(&self, stage: Stage, cpu: u32, decision: u64) {
        self.cpu.store(cpu, Ordering::Relaxed);
        self.decision.store(decision, Ordering::Relaxed);
        self.stage(stage);
    }

    #[inline]
    pub(crate) fn stage(&self, stage: Stage) {
        self.stage.store(stage as u32, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> (u32, u32, u64) {
        let (stage, cpu) = (self.stage.load(Ordering::Relaxed), self.cpu.load(Ordering::Relaxed));
        (stage, cpu, self.decision.load(Ordering::Relaxed))
    }

    /// In words, for a sentence that ends with it.
    fn describe(&self) -> String {
        let (stage, cpu, decision) = self.read();
        match Stage::ALL.get(stage as usize) {
            Some(Stage::Load) => "while it was loaded".to_owned(),
            Some(Stage::Init) => "in its initcall".to_owned(),
            Some(Stage::Enable) => format!("in enable, CPU {cpu}"),
            Some(Stage::Select) => format!("in select, CPU {cpu}, decision {decision}"),
            Some(Stage::Reflect) => format!("in reflect, CPU {cpu}, decision {decision}"),
            Some(Stage::Host) | None => format!(
                "outside of its functions, after CPU {cpu}, decision {decision}: it may have written over memory that is not its own"
            ),
        }
    }
}

/// Loads instances of one governor where it is allowed to run: in a process of its own if it is foreign.
#[derive(Clone, Copy, Debug)]
pub struct Loader<'a> {
    governor: &'a Governor,
    position: Option<&'static Position>,
}

impl Loader<'_> {
    /// As [`Instance::load`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        Instance::of(self.governor, tick_period_ns, false, self.position)
    }

    /// As [`Instance::load_explaining`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load_explaining(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        Instance::of(self.governor, tick_period_ns, true, self.position)
    }
}

impl Governor {
    /// Does `job` with this governor. A foreign one runs in a child process: `job` finds all memory as it is now, and nothing but
    /// its result comes back. One of ours runs right here.
    ///
    /// In a child `job` must not wait for other threads, since there are none, and must not print. It should do all that the
    /// governor is wanted for: a fork costs about as much as ten thousand decisions.
    ///
    /// # Errors
    /// What `job` gives, and for a foreign governor that it crashed, did not come back, or that no process can be made.
    pub fn run<T, F>(&self, job: F) -> Result<T, GovernorError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
    {
        match self.patience_s() {
            None => job(&Loader { governor: self, position: None }),
            Some(patience_s) => isolated(self, patience_s, job),
        }
    }
}

fn isolated<T, F>(governor: &Governor, patience_s: u64, job: F) -> Result<T, GovernorError>
where
    T: Serialize + DeserializeOwned,
    F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
{
    let lost = |why: String| GovernorError::Lost { id: governor.label(), why };
    let no_process = |what: &str| lost(format!("{what}: {}", std::io::Error::last_os_error()));
    let parent = std::process::id();
    let (page, mut child) = {
        // Also keeps the page, and the end of the pipe that is written, out of children that others make meanwhile.
        let guard = loader();
        let page = SharedPage::new().ok_or_else(|| no_process("no memory to share with its process"))?;
        let (from, to) = pipe().ok_or_else(|| no_process("no pipe to its process"))?;
        // SAFETY: the child runs only what `child` runs, see there.
        match unsafe { libc::fork() } {
            -1 => return Err(no_process("no process for it")),
            0 => {
                drop(guard);
                drop(from);
                child(parent, to, || job(&Loader { governor, position: Some(page.position()) }))
            }
            pid => {
                page.keep_from_others();
                (page, Child::new(pid, from))
            }
        }
    };
    let mut watch = Watch::new(patience_s);
    let mut answer = Vec::new();
    let at = || page.position().describe();
    loop {
        match child.read(&mut answer) {
            Some(true) => watch.gets_on(),
            Some(false) => break,
            None if child.has_ended() => {
                // Only what it started itself still holds the pipe; what it wrote before is all there is.
                while child.read_within(&mut answer, 0) == Some(true) {}
                break;
            }
            None => {
                if let Some(why) = watch.look(&child, page.position()) {
                    child.end();
                    return Err(GovernorError::Stuck { id: governor.label(), why, at: at() });
                }
            }
        }
    }
    let Some(status) = child.wait() else {
        return Err(lost(format!("its process closed the way back of its answer {}", at())));
    };
    if libc::WIFSIGNALED(status) {
        let signal = signal_name(libc::WTERMSIG(status));
        return Err(GovernorError::Crashed { id: governor.label(), signal, at: at() });
    }
    match postcard::from_bytes::<Result<Result<T, GovernorError>, String>>(&answer) {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(lost(format!("its process gave up {}: {panic}", at()))),
        Err(_) => Err(lost(format!("its process ended without an answer {}", at()))),
    }
}

/// The child's life: does `job`, writes its result into `to`, ends.
///
/// There is one thread. Locks that other threads of the parent held are held for ever, so nothing here or in a job may print or use
/// the thread pool; memory is allocated as usual, since the C library's fork takes care of that. Should a job panic, the hook may
/// print it, or wait for a lock until the parent loses patience; its words get to the parent in the first case.
fn child<T: Serialize>(parent: u32, mut to: File, job: impl FnOnce() -> Result<T, GovernorError>) -> ! {
    let own = std::process::id();
    // SAFETY: plain system calls on this process alone.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // What it starts belongs to its group, and goes when it goes.
        libc::setpgid(0, 0);
        // It may have died before; then somebody else is the parent.
        if libc::getppid().unsigned_abs() != parent {
            libc::_exit(1);
        }
        // Neither a file nor a pipe to a program shall get a picture of a crash that is reported anyway.
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
    let answer = catch_unwind(AssertUnwindSafe(job)).map_err(|panic| panic_text(&*panic));
    if std::process::id() != own {
        // A governor that forks comes back twice; one answer is enough.
        // SAFETY: as below.
        unsafe { libc::_exit(1) }
    }
    let done = postcard::to_stdvec(&answer).is_ok_and(|bytes| to.write_all(&bytes).is_ok());
    // SAFETY: ends this process at once: no destructor, no exit handler, no buffer of the parent's is flushed twice.
    unsafe { libc::_exit(i32::from(!done)) }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// A page that parent and child share.
struct SharedPage(*mut Position);

impl SharedPage {
    const SIZE: usize = 4096;

    fn new() -> Option<Self> {
        // SAFETY: a new mapping of no file.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                Self::SIZE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        // Zeros are a valid position.
        (page != libc::MAP_FAILED).then(|| Self(page.cast()))
    }

    /// Children that are made from now on do not have it, so that what runs wild there cannot write over it.
    fn keep_from_others(&self) {
        // SAFETY: the mapping of `new`.
        unsafe { libc::madvise(self.0.cast(), Self::SIZE, libc::MADV_DONTFORK) };
    }

    /// The child never unmaps the page; the parent uses it no longer than `self`.
    fn position(&self) -> &'static Position {
        // SAFETY: mapped, large enough, aligned, made of atomics only. In the parent no reference leaves `isolated`.
        unsafe { &*self.0 }
    }
}

impl Drop for SharedPage {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, once.
        unsafe { libc::munmap(self.0.cast(), Self::SIZE) };
    }
}

/// A pipe: the end to read from and the end to write to.
fn pipe() -> Option<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors, which are new and owned by nobody else.
    unsafe {
        (libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) == 0)
            .then(|| (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}
