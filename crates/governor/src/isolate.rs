// SPDX-License-Identifier: GPL-2.0-only
//! A process of its own for code that is not ours.
//!
//! [`Governor::run`] forks. The child has everything that the parent has, by copy-on-write, so a decision there costs
//! what it costs here; only the answer travels, through a pipe. What foreign code breaks, it breaks in the child. On a
//! page that both see, the child keeps what it is doing, so that the parent can say where it ended. The child may have so much
//! memory and time and no more, and start nothing.
#![expect(unsafe_code, reason = "forks, and shares a page with the child")]

use std::any::Any;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::{Incoming, assert_travels_once, framed};
use crate::child::{self, Bounds, Child, Watch, signal_name};
use crate::object::loader;
use crate::of_caller::CallerGovernor;
use crate::position::{FirstFailure, Position, Reports};
use crate::{Governor, GovernorError, Instance};

/// Loads instances of one governor where it is allowed to run: in a process of its own if it is foreign.
#[derive(Clone, Copy, Debug)]
pub struct Loader<'a> {
    governor: &'a Governor,
    reports: Reports<'a>,
}

impl<'a> Loader<'a> {
    /// The same process for another governor, or for the same in another build.
    #[must_use]
    pub fn of<'b>(&self, other: &'b Governor) -> Loader<'b>
    where
        'a: 'b,
    {
        Loader { governor: other, reports: self.reports }
    }

    /// As [`Instance::load`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        Instance::of(self.governor, tick_period_ns, false, self.reports)
    }

    /// As [`Instance::load_explaining`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load_explaining(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        Instance::of(self.governor, tick_period_ns, true, self.reports)
    }
}

impl Governor {
    /// Does `job` with this governor. A foreign one runs in a child process: `job` finds all memory as it is now, and nothing but
    /// its result comes back. One of ours, or of the calling program, runs right here.
    ///
    /// In a child `job` must not wait for other threads, since there are none, and must not print. It should do all that the
    /// governor is wanted for: a fork costs about as much as ten thousand decisions.
    ///
    /// # Errors
    /// What `job` gives, [`GovernorError::Misbehaved`], and for a foreign governor that it crashed, did not come back, took too
    /// much, or that no process can be made.
    ///
    /// # Panics
    /// Where assertions are on: the result is of a type that cannot travel ([`assert_travels`](crate::assert_travels)). That
    /// holds for governors of ours too, so that no test of one with ours alone can miss it.
    pub fn run<T, F>(&self, job: F) -> Result<T, GovernorError>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
    {
        if cfg!(debug_assertions) {
            assert_travels_once::<T>();
        }
        match (self.own_of_caller(), self.bounds()) {
            (Some(own), _) => in_the_caller(self, &**own, job),
            (None, None) => job(&Loader { governor: self, reports: Reports::default() }),
            (None, Some(bounds)) => isolated(self, bounds, job),
        }
    }
}

/// A governor that the calling program has runs right here; where it goes wrong, nothing that `job` gives counts.
fn in_the_caller<T, F>(governor: &Governor, own: &dyn CallerGovernor, job: F) -> Result<T, GovernorError>
where
    F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
{
    let failure = FirstFailure::default();
    let (mut job, mut result) = (Some(job), None);
    own.during(&mut || {
        let reports = Reports { position: None, failure: Some(&failure) };
        result = job.take().map(|job| job(&Loader { governor, reports }));
    });
    match (failure.take(), result) {
        (Some(why), _) => Err(why),
        (None, Some(result)) => result,
        (None, None) => {
            Err(GovernorError::Lost { id: governor.label(), why: "the program did not run it".to_owned() })
        }
    }
}

fn isolated<T, F>(governor: &Governor, bounds: Bounds, job: F) -> Result<T, GovernorError>
where
    T: Serialize + DeserializeOwned,
    F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
{
    let lost = |why: String| GovernorError::Lost { id: governor.label(), why };
    let no_process = |what: &str| lost(format!("{what}: {}", std::io::Error::last_os_error()));
    let parent = std::process::id();
    let now = child::memory_of_this_process();
    let room = now.map(|now| now.size.saturating_add(bounds.memory));
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
                let position = page.position();
                child(parent, to, room, || {
                    job(&Loader { governor, reports: Reports { position: Some(position), failure: None } })
                })
            }
            pid => {
                page.keep_from_others();
                (page, Child::new(pid, from))
            }
        }
    };
    let mut watch = Watch::new(bounds.patience_s);
    let mut answer = Incoming::default();
    let at = || page.position().describe();
    loop {
        match child.read(&mut answer.bytes) {
            Some(true) => {
                watch.gets_on();
                match answer.body() {
                    Ok(None) => {}
                    Ok(Some(_)) => break,
                    Err(why) => {
                        child.end();
                        return Err(GovernorError::Stuck { id: governor.label(), why, at: at() });
                    }
                }
            }
            Some(false) => break,
            None if child.has_ended() => {
                // Only what it started itself still holds the pipe; what it wrote before is all there is.
                while answer.body() == Ok(None) && child.read_within(&mut answer.bytes, 0) == Some(true) {}
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
    let answered = matches!(answer.body(), Ok(Some(_)));
    let Some(status) = child.wait(answered) else {
        return Err(lost(format!("its process closed the way back of its answer {}", at())));
    };
    if libc::WIFSIGNALED(status) {
        let taken = child.most_memory().saturating_sub(now.map_or(0, |now| now.resident));
        if taken >= bounds.memory / 4 * 3 {
            let why =
                format!("takes too much memory: the limit is {} MiB (IDLEWISE_MEMORY)", bounds.memory >> 20);
            return Err(GovernorError::Stuck { id: governor.label(), why, at: at() });
        }
        let signal = signal_name(libc::WTERMSIG(status));
        return Err(GovernorError::Crashed { id: governor.label(), signal, at: at() });
    }
    let body = match answer.body() {
        Ok(Some(body)) => body,
        Ok(None) => return Err(lost(format!("its process ended without an answer {}", at()))),
        Err(why) => return Err(GovernorError::Stuck { id: governor.label(), why, at: at() }),
    };
    match postcard::from_bytes::<Result<Result<T, GovernorError>, String>>(body) {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(lost(format!("its process gave up {}: {panic}", at()))),
        Err(e) => Err(lost(format!("its answer of {} bytes cannot be read ({e}) {}", body.len(), at()))),
    }
}

/// The child's life: does `job`, writes its result into `to`, ends.
///
/// There is one thread. Locks that other threads of the parent held are held for ever, so nothing here or in a job may print or use
/// the thread pool; memory is allocated as usual, since the C library's fork takes care of that. Should a job panic, the hook may
/// print it, or wait for a lock until the parent loses patience; its words get to the parent in the first case.
fn child<T: Serialize>(
    parent: u32,
    mut to: File,
    room: Option<u64>,
    job: impl FnOnce() -> Result<T, GovernorError>,
) -> ! {
    let own = std::process::id();
    // What it prints is no result of ours, and a terminal would obey it.
    let nowhere = File::options().write(true).open("/dev/null");
    // SAFETY: plain system calls on this process alone.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // Where no filter keeps it from starting something, that belongs to its group, and goes when it goes.
        libc::setpgid(0, 0);
        // It may have died before; then somebody else is the parent.
        if libc::getppid().unsigned_abs() != parent {
            libc::_exit(1);
        }
        // Neither a file nor a pipe to a program shall get a picture of a crash that is reported anyway.
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        for fd in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
            if let Some(nowhere) = nowhere.as_ref().ok().filter(|_| to.as_raw_fd() != fd) {
                libc::dup2(nowhere.as_raw_fd(), fd);
            }
        }
        if let Some(room) = room {
            libc::setrlimit(libc::RLIMIT_AS, &libc::rlimit { rlim_cur: room, rlim_max: room });
        }
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
    let written = postcard::to_stdvec(&answer).or_else(|e| {
        // Without serialising `T`, which is what failed.
        postcard::to_stdvec(&Err::<(), _>(format!("its answer cannot be written: {e}")))
    });
    let done = written.is_ok_and(|body| to.write_all(&framed(&body)).is_ok());
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
